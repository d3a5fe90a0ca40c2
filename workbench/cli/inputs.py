"""What is typed on the command line, turned into values; whatever is wrong raises InputError naming the option."""

from __future__ import annotations

import importlib.util
import math
import os
import sys
import traceback
from collections.abc import Callable, Container, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.base.errors import NOTHING, InputError, Words, why

if TYPE_CHECKING:
    from workbench.scenario.scenario import Scenario

STANDARD = "-"
MANY_JOBS = 5000


def read_scenario(text: str) -> Scenario:
    """The scenario of a file, of standard input (`-`) or of `preset:NAME`."""
    from workbench.scenario.scenario import Scenario
    from workbench.session.api import load

    if text != STANDARD:
        return load(text)
    try:
        content = sys.stdin.buffer.read().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("standard input", why(error), "a scenario (UTF-8 JSON)") from None
    return Scenario.from_json(content, "standard input")


def require_jobs(scenario: Scenario, text: str) -> None:
    """Raise InputError if there is nothing to run or measure; text: where the scenario is from."""
    if not scenario.jobs:
        raise InputError(f"{called(text)}: jobs", Words("no jobs"), "at least one job: without any nothing runs")


def called(text: str) -> str:
    """What messages call a scenario's source."""
    return "standard input" if text == STANDARD else text


def seconds(option: str) -> Callable[[str], float]:
    """Reads seconds (`7200`) or a duration (`2 h`), at least 0."""
    from workbench.base.units import EXPECTED, parse_duration

    def read(text: str) -> float:
        try:
            found = parse_duration(text)
        except ValueError:
            found = math.nan
        if not 0 <= found < math.inf:
            raise InputError(option, text, f"seconds, or {EXPECTED}")
        return found

    return read


def whole(option: str, least: int = 0) -> Callable[[str], int]:
    """Reads a whole number."""

    def read(text: str) -> int:
        try:
            found = int(text)
        except ValueError:
            found = least - 1
        if found < least:
            raise InputError(option, text, f"a whole number from {least}")
        return found

    return read


WORKERS = "processes that make runs; default: one a core where the runs are long, else 1"


def paying(jobs: int, runs: int) -> int:
    """How many processes pay for so many runs of so many jobs: to start one takes as long as some thousand jobs."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, runs) if jobs * runs > MANY_JOBS else 1


def number(option: str) -> Callable[[str], float]:
    """Reads a finite number."""

    def read(text: str) -> float:
        try:
            found = float(text)
        except ValueError:
            found = math.nan
        if not math.isfinite(found):
            raise InputError(option, text, "a number")
        return found

    return read


def choice(option: str, *choices: str) -> Callable[[str], str]:
    """Reads one of several words."""

    def read(text: str) -> str:
        if text not in choices:
            raise InputError(option, text, "one of " + ", ".join(choices))
        return text

    return read


def window(text: str) -> tuple[int, int]:
    """Reads `30:59`, the numbers of the first and the last job."""
    first, colon, last = text.partition(":")
    if not (colon and first.isdecimal() and last.isdecimal()):
        raise InputError("--window", text, "the first and the last job by number, such as 30:59")
    return int(first), int(last)


def seeds(text: str) -> list[int]:
    """Reads `0:3` (0, 1 and 2), `7`, or several of these between commas."""
    found: list[int] = []
    for part in text.split(","):
        first, colon, end = part.partition(":")
        try:
            low = int(first)
            high = int(end) if colon else low + 1
        except ValueError:
            low = high = -1
        if not 0 <= low < high or high - low > 100_000:
            raise InputError("--seeds", text, "seeds such as 0:3 (for 0, 1 and 2), 7 or 1,5,9")
        found += range(low, high)
    return found


def names(text: str) -> list[str]:
    """Reads names between commas."""
    found = [name.strip() for name in text.split(",")]
    if not all(found):
        raise InputError("--schedulers", text, "names between commas")
    parts = [name.rpartition("=") for name in found]
    return [f"{label}{equals}{a_scheduler(name)}" for label, equals, name in parts]


def a_scheduler(text: str) -> str:
    """Reads the name of a scheduler; FILE.py:NAME runs a file of the user's own, which declares it
    (`workbench.scheduler`, `workbench.formulation`). Only what stands on the command line is run."""
    path, _, name = (part.strip() for part in text.rpartition(":"))
    if not path.endswith(".py"):
        return text
    from workbench.session.registry import is_own

    spec = importlib.util.spec_from_file_location(f"{Path(path).stem} of the command line", path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise InputError(f"--scheduler {path}", Words("no file"), "FILE.py:NAME, a Python file that declares NAME")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    try:
        spec.loader.exec_module(module)
    except InputError:
        raise
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(path)]
        mistake = f"{type(error).__name__}: {error}" + (f" (line {lines[-1]})" if lines else "")
        raise InputError(f"--scheduler {path}", Words(mistake), "a Python file that runs") from error
    if not is_own(name):
        expected = f'a name that the file declares, as above a function @workbench.scheduler("{name or "mine"}")'
        raise InputError(f"--scheduler {path}", name or NOTHING, expected)
    return name


def named(schedulers: Iterable[str]) -> dict[str, str]:
    """Reads `scheduler` or `label=scheduler` each: {label: scheduler}, in order."""
    found: dict[str, str] = {}
    for text in schedulers:
        label, equals, name = (part.strip() for part in text.partition("="))
        if not label or bool(equals) != bool(name) or ":" in label:
            raise InputError("--schedulers", text, "scheduler, or label=scheduler (a label without :)")
        if label in found:
            raise InputError(
                "--schedulers", text, f"{label} once (with other knobs: a={label},b={label} and --set b:...)"
            )
        found[label] = name or label
    return found


def settings(given: Iterable[str]) -> dict[str, str]:
    """Reads `knob=value` each; the scheduler or formulation says which values it takes."""
    found: dict[str, str] = {}
    for text in given:
        knob, equals, value = text.partition("=")
        if not equals or not knob.strip():
            raise InputError("--set", text, "knob=value")
        if knob.strip() in found:
            raise InputError("--set", text, f"one value for {knob.strip()}")
        found[knob.strip()] = value.strip()
    return found


def settings_by_scheduler(given: Iterable[str], offered: Mapping[str, Container[str]]) -> dict[str, dict[str, str]]:
    """Reads `scheduler:knob=value`, or `knob=value` for all that have the knob; what names a scheduler goes first.

    offered: the knobs of each scheduler, by its label.
    """
    for_one: dict[str, list[str]] = {name: [] for name in offered}
    for_all: list[str] = []
    for text in given:
        scheduler, colon, rest = text.partition(":")
        if not colon or "=" in scheduler:
            for_all.append(text)
        elif scheduler in for_one:
            for_one[scheduler].append(rest)
        else:
            raise InputError("--set", text, "a scheduler that is compared, one of " + ", ".join(offered))
    common = settings(for_all)
    for knob, value in common.items():
        if not any(knob in knobs for knobs in offered.values()):
            expected = "a knob that one of the schedulers has (`workbench list NAME` shows them)"
            raise InputError("--set", f"{knob}={value}", f"{expected}: {', '.join(offered)}")
    return {
        name: {**{knob: value for knob, value in common.items() if knob in knobs}, **settings(for_one[name])}
        for name, knobs in offered.items()
    }


def labelled(schedulers: Iterable[str], given: Iterable[str]) -> dict[str, tuple[str, dict[str, str]]]:
    """The scheduler and the knobs of each label: what `named` and `settings_by_scheduler` read."""
    from workbench.session.registry import find_scheduler

    found = named(schedulers)
    offered = {label: {knob.name for knob in find_scheduler(name).knobs} for label, name in found.items()}
    knobs = settings_by_scheduler(given, offered)
    return {label: (name, knobs[label]) for label, name in found.items()}


def check_targets(paths: Mapping[str, Any], *, force: bool, read: Iterable[str | None] = ()) -> None:
    """Raise InputError now rather than after the work if a target (by option) stands already or cannot be written.

    read: files that the command reads, which it never overwrites.
    """
    from workbench.base.files import refuse_to_overwrite
    from workbench.simulation.saved_run import is_result_folder

    taken: dict[Path, str] = {}
    for option, path in paths.items():
        if path is None or path == STANDARD:
            continue
        if not str(path).strip():
            raise InputError(option, path, "the name of a " + ("folder" if option == "--out" else "file"))
        target = Path(path)
        try:
            refuse_to_overwrite(target, force=force)
        except InputError as error:
            raise InputError(f"{option} {path}", error.value, "a new name, or --force to overwrite") from None
        if any(_are_one_file(target, source) for source in read):
            raise InputError(f"{option} {path}", path, "another file than those that are read")
        if target.is_dir() and not (option == "--out" and is_result_folder(target)):
            expected = "an empty folder, or one that an earlier --out made" if option == "--out" else "a file"
            raise InputError(f"{option} {path}", Words("a folder that exists"), expected)
        folder = target.absolute().parent
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise InputError(f"{option} {path}", str(folder), "a folder that exists and can be written to")
        if target.absolute() in taken:
            raise InputError(f"{option} {path}", path, f"another file than {taken[target.absolute()]}")
        taken[target.absolute()] = option


def _are_one_file(target: Path, source: str | None) -> bool:
    """Whether both names are of one file that exists."""
    there = source not in (None, STANDARD) and target.exists() and Path(str(source)).exists()
    return there and target.samefile(str(source))
