"""A finished simulation: its inputs, its tables, saved as a folder of JSON and CSV."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args

import pandas as pd

from workbench.base.errors import InputError, Words, WorkbenchError, counted, why
from workbench.base.files import new_folder, parse_json
from workbench.base.units import format_duration
from workbench.scenario.scenario import Scenario, read_json
from workbench.scheduling.solvers.report import MadeBy
from workbench.simulation.schema import KINDS, TABLES, WALL_TIMES, Cells
from workbench.version import VERSION

if TYPE_CHECKING:
    from workbench.analysis.charts import Drawing

FORMAT = "workbench-run/4"
SCENARIO_FILE = "scenario.json"
HEAD = ("scheduler", "knobs", "seed", "end_s", "belief", "until_s", "window", "detail", "code")
"""What run.json says beside the format, the key and the digests; `_HEAD_CHECKS` says what each may be."""
LONGEST = 20
"""Characters of a whole number that a table may hold."""
OWN = "own"
"""The belief of a run whose scheduler was told speeds by an object of the session that made it."""


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """What a scheduler did with a scenario. Columns, meanings and units of the tables: `workbench.simulation.schema`.

    Runs are equal when inputs and tables are, wall times aside. end_s: the time at which the simulation ended; belief:
    the estimator by name that told the scheduler speeds (OWN: an object of the session that made it); until_s, window:
    where it was to end, as given to `workbench.simulate`; detail: how many decisions are recorded with their shares,
    signals and reasons (None: all); code: a digest of what the session wrote of the scheduler, empty for a shipped one.
    """

    scenario: Scenario
    scheduler: str
    knobs: Mapping[str, Any]
    seed: int
    end_s: float
    timeline: pd.DataFrame
    jobs: pd.DataFrame
    decisions: pd.DataFrame
    shares: pd.DataFrame
    signals: pd.DataFrame
    events: pd.DataFrame
    reasons: pd.DataFrame
    belief: str = "oracle"
    until_s: float | None = None
    window: tuple[int, int] | None = None
    detail: int | None = None
    code: str = ""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Run):
            return NotImplemented
        ours, theirs = self._head(), other._head()
        return ours == theirs and all(_same(self.table(t.name), other.table(t.name)) for t in TABLES)

    __hash__ = None  # type: ignore[assignment]

    page: ClassVar[Callable[[Run], str] | None] = None
    """How a run looks in a notebook: set by `workbench.analysis.metrics`, as this room stands below it."""

    def headline(self) -> str:
        """What was run and how far it came, in one line."""
        finished, name = int(self.jobs["finish_s"].notna().sum()), self.scenario.name or "an unnamed scenario"
        done = f"{finished} of {len(self.jobs)} jobs finished, {len(self.decisions)} decisions"
        return f"{self.scheduler} on {name}, seed {self.seed}: {done}, {format_duration(self.end_s, parts=2)} simulated"

    def __repr__(self) -> str:
        return f"<Run: {self.headline()}>"

    def _repr_html_(self) -> str | None:
        return None if Run.page is None else Run.page(self)

    draw: ClassVar[Callable[..., Drawing] | None] = None
    """The chart of its schedule: set there too."""

    def gantt(self, **options: Any) -> Drawing:
        """The schedule as a chart: who held which GPU when; `by="job"`: what each job got (`charts.run_gantt`)."""
        if Run.draw is None:
            raise WorkbenchError("gantt", Words("no charts"), "`import workbench.analysis.metrics` first")
        return Run.draw(self, **options)

    def table(self, name: str) -> pd.DataFrame:
        """A table by name."""
        found: pd.DataFrame = getattr(self, name)
        return found

    @cached_property
    def cells(self) -> Cells:
        """The tables as arrays, kept: what is told of one job at one time is read of these."""
        return Cells({table.name: self.table(table.name) for table in TABLES})

    def _head(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in HEAD} | {"knobs": dict(self.knobs), "scenario": self.scenario}

    def key(self) -> str:
        """SHA-256 of scenario, scheduler, all knobs, seed, version, belief, end and own code, see `run_key`."""
        asked = (self.scenario.key(), self.scheduler, self.knobs, self.seed)
        return run_key(*asked, belief=self.belief, until_s=self.until_s, window=self.window, code=self.code)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write a folder: run.json, scenario.json, one CSV per table. It appears whole or not at all.

        run.json has digests of what each file says, wall times included, and of itself: equal content has equal ones.
        Raises InputError if the folder exists and `force` is not set, or if it holds anything that is not a saved run.
        """
        head = {k: v for k, v in self._head().items() if k != "scenario"}
        head["knobs"] = knobs_as_json(self.knobs)
        scenario = self.scenario.to_json()
        digests = {SCENARIO_FILE: _digest(json.loads(scenario)), **self._digests()}
        told = {"format": FORMAT, "key": self.key(), **head, "digests": digests}
        with new_folder(Path(path), is_result_folder, force=force) as folder:
            text = json.dumps({**told, "digest": _digest(told)}, indent=1, allow_nan=False)
            (folder / "run.json").write_text(text + "\n", encoding="utf-8")
            (folder / SCENARIO_FILE).write_text(scenario, encoding="utf-8")
            for table in TABLES:
                self.table(table.name).to_csv(folder / f"{table.name}.csv", index=False, lineterminator="\r\n")

    def as_message(self) -> dict[str, Any]:
        """The run for JSON, as a process hands it to another; `from_message` reads it back exactly."""
        head = {k: v for k, v in self._head().items() if k != "scenario"} | {"knobs": knobs_as_json(self.knobs)}
        tables = {table.name: table.packed(self.table(table.name)) for table in TABLES}
        return {"head": head, "scenario": self.scenario.to_dict(), "tables": tables}

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> Self:
        """The run of `as_message`."""
        head = message["head"]
        fields = {**head, "knobs": _from_json(head["knobs"])}
        fields["window"] = None if head["window"] is None else tuple(head["window"])
        tables: dict[str, Any] = {table.name: table.unpacked(message["tables"][table.name]) for table in TABLES}
        return cls(scenario=Scenario.from_dict(message["scenario"], "run"), **fields, **tables)

    def _digests(self) -> dict[str, str]:
        return {f"{table.name}.csv": table.digest(self.table(table.name)) for table in TABLES}

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a saved run back exactly.

        Raises InputError naming the file that is missing, malformed or does not say what was saved.
        """
        if not isinstance(path, (str, Path)):
            raise InputError("path", path, "the folder of a saved run")
        folder = Path(path)
        head = _read_head(folder / "run.json")
        said = read_json(folder / SCENARIO_FILE)
        scenario = Scenario.from_dict(said, str(folder / SCENARIO_FILE))
        tables: dict[str, Any] = {t.name: _read_table(folder / f"{t.name}.csv", t.name) for t in TABLES}
        fields = {name: head[name] for name in HEAD} | {"knobs": _from_json(head["knobs"])}
        fields["window"] = None if head["window"] is None else tuple(head["window"])
        run = cls(scenario=scenario, **fields, **tables)
        for name, digest in ((SCENARIO_FILE, _digest(said)), *run._digests().items()):
            if head["digests"].get(name) != digest:
                raise InputError(str(folder / name), _altered(name, run), "what was saved with the run (see run.json)")
        for where, value, expected in _strangers(run):
            raise InputError(f"{folder / where}", value, expected)
        return run


def run_key(
    scenario: str,
    scheduler: str,
    knobs: Mapping[str, Any],
    seed: int,
    *,
    belief: str | None = None,
    until_s: float | None = None,
    window: tuple[int, int] | None = None,
    code: str = "",
) -> str:
    """SHA-256 of all that a run's measures depend on, as 64 hexadecimal digits: runs with the same key are equal.

    scenario: `Scenario.key()`, which leaves out name, description, notes, plan and record; knobs: all of the
    scheduler's, settled; belief: what told it speeds (`Run.belief`); until_s (s), window: as given to
    `workbench.simulate`; code: `Run.code`. Those that are given are parts of the key, and so is the version of the
    workbench.
    """
    parts: list[Any] = [scenario, scheduler, knobs_as_json(knobs), seed, VERSION]
    ends = {"belief": belief, "until_s": until_s if until_s is None else float(until_s), "window": window}
    given: dict[str, Any] = {name: value for name, value in ends.items() if value is not None}
    if code:
        given["code"] = code
    if given:
        parts.append(given)
    return hashlib.sha256(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def knobs_as_json(knobs: Mapping[str, Any]) -> dict[str, Any]:
    """Knob values as JSON has them: an infinite number becomes `{"number": "inf"}`."""
    infinite = {name for name, value in knobs.items() if isinstance(value, float) and not math.isfinite(value)}
    return {name: {"number": str(value)} if name in infinite else value for name, value in knobs.items()}


def is_result_folder(folder: Path) -> bool:
    """Whether a folder holds nothing but what `Run.save` and `Comparison.save` write (or nothing at all)."""
    names = {"run.json", "scenario.json", "table.csv", *(f"{table.name}.csv" for table in TABLES)}
    return all(is_result_folder(e) if e.is_dir() else e.name in names for e in folder.iterdir())


def _from_json(knobs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: float(value["number"]) if isinstance(value, dict) else value for name, value in knobs.items()}


def _digest(value: Any) -> str:
    """SHA-256 of what JSON says, whatever its layout."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _altered(file: str, run: Run) -> Words:
    name = file.removesuffix(".csv")
    what = "the scenario" if file == SCENARIO_FILE else f"the table {name} with {counted(len(run.table(name)), 'row')}"
    return Words(f"another content ({what} has been altered, cut or put together from several runs)")


def _strangers(run: Run) -> Iterator[tuple[str, Any, str]]:
    """What tables name that the scenario or the run does not have: file and column, value, what was expected."""
    cluster, jobs = run.scenario.cluster, [job.name for job in run.scenario.jobs]
    if (found := run.jobs["job"].tolist()) != jobs:
        wrong = next((name for name, job in zip(found, jobs, strict=False) if name != job), Words(f"{len(found)} jobs"))
        yield "jobs.csv: job", wrong, f"the {counted(len(jobs), 'job')} of the scenario in order"
    known, machines = {*jobs, ""}, {machine.name for machine in cluster.machines}

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


def _same(a: pd.DataFrame, b: pd.DataFrame) -> bool:
    drop = [name for name in WALL_TIMES if name in a.columns]
    return a.drop(columns=drop).equals(b.drop(columns=drop))


def _read_head(path: Path) -> dict[str, Any]:
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
    if head.pop("digest") != _digest(head):
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
    "code": (_is_text, "a digest, or nothing"),
    "digests": (lambda value: isinstance(value, dict), "an object with a digest for each file"),
}


def _read_table(path: Path, name: str) -> pd.DataFrame:
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
