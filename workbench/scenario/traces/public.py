"""Public traces: downloaded from their authors with a known SHA-256, or taken from a folder of one's own.

`FILES` are those whose hash is known; `ELSEWHERE` says where others are, to be fetched by hand and converted.
`WORKBENCH_DATA` names a folder that has the files already: then nothing is downloaded. `docs/traces.md` tells more.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path

from workbench.base.errors import InputError, Words, WorkbenchError, why

VARIABLE = "WORKBENCH_DATA"
TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class PublicFile:
    """A file whose content is known. file: its place below the folder; format: what `convert --from` takes."""

    name: str
    what: str
    file: str
    url: str
    sha256: str
    size: int
    licence: str
    format: str


@dataclass(frozen=True, slots=True)
class OfferedTrace:
    """A trace that its authors offer, whose hash is not known here: fetched by hand."""

    name: str
    what: str
    url: str
    format: str


_GAVEL = "https://raw.githubusercontent.com/stanford-futuredata/gavel"
_CHRONUS = "https://raw.githubusercontent.com/S-Lab-System-Group/ChronusArtifact"
_FILES = (
    PublicFile(
        "gavel_makespan",
        "Gavel's static trace on its physical cluster, 100 jobs",
        "gavel/minimize_makespan.trace",
        f"{_GAVEL}/1a57defe04986b47e06b9a51a035239cb56e7030/scheduler/traces/physical_cluster/minimize_makespan.trace",
        "b00befc3fc2a62c1776fd70d978065e3fb1ae75fd06b37557f2425fe51556bc5",
        14_099,
        "MIT",
        "gavel",
    ),
    PublicFile(
        "gavel_max_min_fairness",
        "Gavel's continuous trace on its physical cluster, 96 jobs",
        "gavel/max_min_fairness.trace",
        f"{_GAVEL}/master/scheduler/traces/physical_cluster/max_min_fairness.trace",
        "dc13589c23c7b77d37d3d1014ff499e0c1ffca2959ce35d0e4ce70b71247424b",
        14_458,
        "MIT",
        "gavel",
    ),
    PublicFile(
        "gavel_throughputs",
        "Gavel's measured speeds, for --throughputs",
        "gavel/simulation_throughputs.json",
        f"{_GAVEL}/master/scheduler/simulation_throughputs.json",
        "17111f7295f03265fd9e5118d7eba31e3dd9d6e50a2e215c13ad3d3f91f74381",
        1_240_176,
        "MIT",
        "speeds",
    ),
    PublicFile(
        "chronus_philly_mix2",
        "Chronus's trace: Philly under the workload MIX2, 30,940 jobs",
        "chronus/trace_job_Philly_MIX2.csv",
        f"{_CHRONUS}/e79fa4ed8cbce46acdc19754f13c5c3d90f019f0/code/data/exp/trace_job_Philly_MIX2.csv",
        "4eb087e8f1a5d85ee27f8e8375f3912af643fbacb81d121d746950401426148f",
        2_144_514,
        "MIT",
        "chronus",
    ),
    PublicFile(
        "chronus_philly_slo",
        "Chronus's trace: Philly under the workload SLO, 30,940 jobs",
        "chronus/trace_job_Philly_SLO.csv",
        f"{_CHRONUS}/e79fa4ed8cbce46acdc19754f13c5c3d90f019f0/code/data/exp/trace_job_Philly_SLO.csv",
        "180fd7db3eeabe5df705c25259fcec972be2ba7b483887e26ca17e22d96b9f3e",
        1_845_942,
        "MIT",
        "chronus",
    ),
)
_ELSEWHERE = (
    OfferedTrace("philly", "Microsoft's Philly, 2017", "https://github.com/msr-fiddle/philly-traces", "philly"),
    OfferedTrace("helios", "SenseTime's Helios, 2020", "https://github.com/S-Lab-System-Group/HeliosData", "helios"),
    OfferedTrace("tiresias", "Tiresias's examples", "https://github.com/SymbioticLab/Tiresias", "tiresias"),
    OfferedTrace(
        "swf", "Parallel Workloads Archive", "https://www.cs.huji.ac.il/labs/parallel/workload/logs.html", "swf"
    ),
)
FILES = {entry.name: entry for entry in _FILES}
ELSEWHERE = {entry.name: entry for entry in _ELSEWHERE}


def fetch(name: str) -> Path:
    """The path of a public file, content checked: from the folder in `WORKBENCH_DATA`, else downloaded once and kept.

    Raises InputError for a name that is none of `FILES`, WorkbenchError if the file cannot be had or is another one.
    """
    if name in ELSEWHERE:
        entry = ELSEWHERE[name]
        found = Words(f"{entry.what}, whose content is not known here")
        raise InputError("name", found, f"one of {', '.join(FILES)}; fetch it from {entry.url}, then `convert`")
    if name not in FILES:
        raise InputError("name", name, f"one of {', '.join(FILES)}")
    given = os.environ.get(VARIABLE, "")
    return _from_folder(FILES[name], Path(given)) if given else _downloaded(FILES[name])


def _from_folder(entry: PublicFile, folder: Path) -> Path:
    """The file in a folder of the user's, below its group's folder or beside the others."""
    places = [folder / entry.file, folder / Path(entry.file).name]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        expected = f"{' or '.join(map(str, places))} (the file is at {entry.url})"
        raise WorkbenchError(VARIABLE, Words("no such file there"), expected)
    import pooch

    found = pooch.file_hash(str(path), alg="sha256")
    if found != entry.sha256:
        raise WorkbenchError(str(path), Words(f"SHA-256 {found}"), f"SHA-256 {entry.sha256}, as at {entry.url}")
    return path


def _downloaded(entry: PublicFile) -> Path:
    """The file in the user's cache; downloaded if it is not there or is another one. A wrong one is not kept."""
    import pooch

    pooch.get_logger().setLevel(logging.WARNING)
    downloader, folder = pooch.HTTPDownloader(timeout=TIMEOUT_S), pooch.os_cache("workbench")
    try:
        path = pooch.retrieve(entry.url, f"sha256:{entry.sha256}", entry.file, folder, downloader=downloader)
    except ValueError:
        found = Words("a file with another SHA-256; it was not kept")
        raise WorkbenchError(entry.url, found, f"SHA-256 {entry.sha256}") from None
    except OSError as error:
        if not hasattr(error, "response"):  # not one of the connection
            cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
            expected = "a cache folder that can be written to"
            raise WorkbenchError(str(cause.filename or folder), why(cause), expected) from None
        expected = f"a connection, or the file in a folder that {VARIABLE} names"
        raise WorkbenchError(entry.url, _failed(error), expected) from None
    return Path(path)


def _failed(error: OSError) -> Words:
    """What became of a connection: an answer that is none, half of one, or no answer."""
    if getattr(error, "response", None) is not None:
        return why(error)
    name = type(error).__name__
    return Words(f"a download that broke off ({name})" if name == "ChunkedEncodingError" else f"no answer ({name})")
