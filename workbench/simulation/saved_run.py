"""The files of a saved run, read with suspicion: what is missing, malformed, damaged or altered is told by its file.

`Run.save` writes a folder of run.json, scenario.json and a CSV for each table; `Run.load` reads it back.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from workbench.base.errors import InputError, Words, counted, why
from workbench.base.files import parse_json
from workbench.scheduling.solvers.solve_report import MadeBy
from workbench.simulation.schema import KINDS, TABLES

if TYPE_CHECKING:
    import pandas as pd

    from workbench.simulation.run import Run

FORMAT = "workbench-run/6"
"""/6: the belief servers is called nodes."""
SCENARIO_FILE = "scenario.json"
HEAD = ("scheduler", "knobs", "seed", "end_s", "belief", "until_s", "window", "detail", "charge_decisions", "code")
"""What run.json says beside the format, the key and the digests; `_HEAD_CHECKS` says what each may be."""
LONGEST = 20
"""Characters of a whole number that a table may hold."""


def knobs_as_json(knobs: Mapping[str, Any]) -> dict[str, Any]:
    """Knob values as JSON has them: an infinite number becomes `{"number": "inf"}`."""
    infinite = {name for name, value in knobs.items() if isinstance(value, float) and not math.isfinite(value)}
    return {name: {"number": str(value)} if name in infinite else value for name, value in knobs.items()}


def knobs_from_json(knobs: Mapping[str, Any]) -> dict[str, Any]:
    """The knob values that `knobs_as_json` wrote."""
    return {name: float(value["number"]) if isinstance(value, dict) else value for name, value in knobs.items()}


def is_result_folder(folder: Path) -> bool:
    """Whether a folder holds nothing but what `Run.save` and `Comparison.save` write (or nothing at all)."""
    names = {"run.json", "scenario.json", "table.csv", *(f"{table.name}.csv" for table in TABLES)}
    return all(is_result_folder(e) if e.is_dir() else e.name in names for e in folder.iterdir())


def digest_of(value: Any) -> str:
    """SHA-256 of what JSON says, whatever its layout."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def altered(file: str, run: Run) -> Words:
    """In words, that a file of a run does not say what was saved."""
    name = file.removesuffix(".csv")
    what = "the scenario" if file == SCENARIO_FILE else f"the table {name} with {counted(len(run.table(name)), 'row')}"
    return Words(f"another content ({what} has been altered, cut or put together from several runs)")


def strangers(run: Run) -> Iterator[tuple[str, Any, str]]:
    """What tables name that the scenario or the run does not have: file and column, value, what was expected."""
    cluster, jobs = run.scenario.cluster, [job.name for job in run.scenario.jobs]
    if (found := run.jobs["job"].tolist()) != jobs:
        wrong = next((name for name, job in zip(found, jobs, strict=False) if name != job), Words(f"{len(found)} jobs"))
        yield "jobs.csv: job", wrong, f"the {counted(len(jobs), 'job')} of the scenario in order"
    known, machines = {*jobs, ""}, {machine.name for machine in cluster.each_node}

    def is_unit(name: str) -> bool:
        return all(part in known or (part.rpartition(" #")[0] or part) in known for part in name.split(" + "))

    rules: Mapping[str, tuple[Callable[[Any], bool], str]] = {
        "job": (known.__contains__, "a job of the scenario"),
        "with_job": (known.__contains__, "a job of the scenario, or nothing"),
        "unit": (is_unit, "a job of the scenario, a copy, a pair or a task"),
        "node": (machines.__contains__, "a node of the cluster"),
        "accelerator": (set(cluster.types).__contains__, "an accelerator type of the cluster"),
        "kind": (KINDS.__contains__, f"one of {', '.join(KINDS)}"),
        "made_by": (get_args(MadeBy).__contains__, f"one of {', '.join(get_args(MadeBy))}"),
        "decision": (range(len(run.decisions)).__contains__, "the number of a decision of the run"),
    }
    for table in TABLES:
        for column in rules.keys() & set(table.names):
            is_right, expected = rules[column]
            for value in run.table(table.name)[column].unique().tolist():
                if not is_right(value):
                    yield f"{table.name}.csv: {column}", value, expected


def read_head(path: Path) -> dict[str, Any]:
    """What run.json says, checked."""
    try:
        head = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(str(path), why(error), "the run.json of a saved run") from None
    needed = {"format", "key", "digests", "digest", *HEAD}
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        found = head.get("format") if isinstance(head, dict) else head
        raise InputError(str(path), found, f"a run of format {FORMAT}; one of an older version has to be made again")
    if not needed <= set(head):
        raise InputError(
            str(path), Words(f"no {', '.join(sorted(needed - set(head)))}"), "all that a run was made with"
        )
    for name, (is_right, expected) in _HEAD_CHECKS.items():
        if not is_right(head[name]):
            raise InputError(f"{path}: {name}", head[name], expected)
    if head.pop("digest") != digest_of(head):
        raise InputError(str(path), Words("another content (it has been altered)"), "what was saved with the run")
    return head


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or _is_whole(value)


def _is_window(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_whole, value))


def _are_knobs(value: Any) -> bool:
    """Whether it is what `knobs_as_json` writes."""
    infinite = [{"number": number} for number in ("inf", "-inf", "nan")]
    plain = (bool, int, float, str, type(None))
    return isinstance(value, dict) and all(isinstance(each, plain) or each in infinite for each in value.values())


def _or_null(is_right: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or is_right(value)


_HEAD_CHECKS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "scheduler": (_is_text, "the name of a scheduler"),
    "knobs": (_are_knobs, "an object with a number, text, true, false or null for each knob"),
    "seed": (_is_whole, "a whole number"),
    "end_s": (_is_number, "seconds"),
    "belief": (_is_text, "the name of an estimator"),
    "until_s": (_or_null(_is_number), "seconds, or null"),
    "window": (_or_null(_is_window), "two whole numbers, or null"),
    "detail": (_or_null(_is_whole), "a whole number, or null"),
    "charge_decisions": (lambda value: value in (None, "measured") or _is_number(value), "seconds, measured or null"),
    "code": (_is_text, "a digest, or nothing"),
    "digests": (lambda value: isinstance(value, dict), "an object with a digest for each file"),
}


def read_table(path: Path, name: str) -> pd.DataFrame:
    """A table from its CSV, each cell exactly as it was written."""
    import pandas as pd

    table = next(t for t in TABLES if t.name == name)
    try:
        text = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise InputError(str(path), why(error), f"the table {name} of a saved run") from None
    if list(text.columns) != table.names:
        raise InputError(str(path), list(text.columns), "the columns " + ", ".join(table.names))
    columns: dict[str, list[Any]] = {}
    for column in table.columns:
        try:
            columns[column.name] = list(map(_PARSE[column.dtype], text[column.name].tolist()))
        except (KeyError, ValueError) as error:
            raise InputError(f"{path}: {column.name}", Words(error), f"a column of {column.dtype}") from None
    return table.frame(columns)


def _int(text: str) -> int:
    number = int(text) if len(text) <= LONGEST else 2**63
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"a whole number of {len(text)} characters")
    return number


_PARSE: Mapping[str, Callable[[str], Any]] = {
    "str": str,
    "int": _int,
    "float": lambda text: float(text or "nan"),  # Python's reading is exact
    "bool": {"True": True, "False": False}.__getitem__,
}
