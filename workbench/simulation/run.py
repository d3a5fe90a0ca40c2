"""A finished simulation: its inputs, its tables, saved as a folder of JSON and CSV."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

from workbench.base.errors import InputError, Words, WorkbenchError, counted
from workbench.base.files import new_folder
from workbench.base.units import format_duration
from workbench.scenario.scenario import Scenario, read_json
from workbench.simulation.saved_run import (
    FORMAT,
    HEAD,
    SCENARIO_FILE,
    altered,
    digest_of,
    is_result_folder,
    knobs_as_json,
    knobs_from_json,
    read_head,
    read_table,
    strangers,
)
from workbench.simulation.schema import TABLES, WALL_TIMES, Cells
from workbench.version import VERSION

if TYPE_CHECKING:
    import pandas as pd

OWN = "own"
"""The belief of a run whose scheduler was told speeds by an object of the session that made it."""


class _Table:
    """A table of a run, by the name of the attribute."""

    def __set_name__(self, owner: type[Run], name: str) -> None:
        self._name = name

    def __get__(self, run: Run, owner: type[Run]) -> pd.DataFrame:
        return run.table(self._name)


class RunChart(Protocol):
    """A chart with what it shows: a `Drawing` of `analysis.charts`, which this room may not import.

    data: the tables that are drawn, by name; table: the numbers behind them; label: what it shows, in a sentence.
    """

    @property
    def data(self) -> Mapping[str, pd.DataFrame]: ...

    @property
    def table(self) -> pd.DataFrame: ...

    @property
    def label(self) -> str: ...


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """What a scheduler did with a scenario. Columns, meanings and units of the tables: `workbench.simulation.schema`.

    Runs are equal when inputs and tables are, wall times aside. end_s: the time at which the simulation ended; belief:
    the estimator by name that told the scheduler speeds (OWN: an object of the session that made it); until_s, window:
    where it was to end, as given to `workbench.simulate`; detail: how many decisions are recorded with their shares,
    signals and reasons (None: all); charge_decisions: seconds that each decision took, `measured`, or None; code: a
    digest of what the session wrote of the scheduler, empty for a shipped one; drew: whether random numbers were drawn
    while it was made (if not, every seed gives it); slips: what an own formulation most likely did not mean, in
    sentences (neither is kept where it is saved).
    """

    scenario: Scenario
    scheduler: str
    knobs: Mapping[str, Any]
    seed: int
    end_s: float
    cells: Cells
    belief: str = "oracle"
    until_s: float | None = None
    window: tuple[int, int] | None = None
    detail: int | None = None
    charge_decisions: float | str | None = None
    code: str = ""
    drew: bool = True
    slips: tuple[str, ...] = ()

    timeline, jobs, decisions, shares = _Table(), _Table(), _Table(), _Table()
    signals, events, reasons = _Table(), _Table(), _Table()

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
        finish_s, name = self.cells.column("jobs", "finish_s"), self.scenario.name or "an unnamed scenario"
        finished, decisions = np.count_nonzero(~np.isnan(finish_s)), self.cells.count("decisions")
        done = f"{finished} of {counted(len(finish_s), 'job')} finished, {counted(decisions, 'decision')}"
        return f"{self.scheduler} on {name}, seed {self.seed}: {done}, {format_duration(self.end_s, parts=2)} simulated"

    @property
    def conditions(self) -> list[str]:
        """What its measures hold for, in words: the jobs that are measured where not all are, and the time that
        decisions take where they take any."""
        found, charge = [], self.charge_decisions
        if self.window is not None:
            first, last = self.window
            after = counted(len(self.scenario.jobs) - last - 1, "job")
            found.append(
                f"Measured are jobs {first} to {last} by arrival; {counted(first, 'job')} before them for warm-up and "
                f"{after} after them for cool-down run too, and are in no mean."
            )
        if charge is not None:
            took = f"what it took here ({charge})" if isinstance(charge, str) else format_duration(charge)
            found.append(f"Each decision takes {took} of simulated time.")
        return found

    def __repr__(self) -> str:
        return f"<Run: {self.headline()}>"

    def _repr_html_(self) -> str | None:
        return None if Run.page is None else Run.page(self)

    draw: ClassVar[Callable[..., RunChart] | None] = None
    """The chart of its schedule: set there too."""

    def gantt(self, **options: Any) -> RunChart:
        """The schedule as a chart: who held which GPU when; `by="job"`: what each job got (`charts.run_gantt`)."""
        if Run.draw is None:
            raise WorkbenchError("gantt", Words("no charts"), "`import workbench.analysis.metrics` first")
        return Run.draw(self, **options)

    def table(self, name: str) -> pd.DataFrame:
        """A table by name, made when it is first read."""
        return self.cells.frame(name)

    def _head(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in HEAD} | {"knobs": dict(self.knobs), "scenario": self.scenario}

    def key(self) -> str:
        """SHA-256 of scenario, scheduler, all knobs, seed, version, belief, end and own code, see `run_key`."""
        asked = (self.scenario.key(), self.scheduler, self.knobs, self.seed)
        ends: dict[str, Any] = {
            "until_s": self.until_s,
            "window": self.window,
            "charge_decisions": self.charge_decisions,
        }
        return run_key(*asked, belief=self.belief, code=self.code, **ends)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write a folder: run.json, scenario.json, one CSV per table. It appears whole or not at all.

        run.json has digests of what each file says, wall times included, and of itself: equal content has equal ones.
        Raises InputError if the folder exists and `force` is not set, or if it holds anything that is not a saved run.
        """
        head = {k: v for k, v in self._head().items() if k != "scenario"}
        head["knobs"] = knobs_as_json(self.knobs)
        scenario = self.scenario.to_json()
        digests = {SCENARIO_FILE: digest_of(json.loads(scenario)), **self._digests()}
        said = {"format": FORMAT, "key": self.key(), **head, "digests": digests}
        with new_folder(Path(path), is_result_folder, force=force) as folder:
            text = json.dumps({**said, "digest": digest_of(said)}, indent=1, allow_nan=False)
            (folder / "run.json").write_text(text + "\n", encoding="utf-8")
            (folder / SCENARIO_FILE).write_text(scenario, encoding="utf-8")
            for table in TABLES:
                self.table(table.name).to_csv(folder / f"{table.name}.csv", index=False, lineterminator="\r\n")

    def as_message(self) -> dict[str, Any]:
        """The run for JSON, as a process hands it to another; `from_message` reads it back exactly."""
        head = {k: v for k, v in self._head().items() if k != "scenario"} | {"knobs": knobs_as_json(self.knobs)}
        tables = {table.name: table.packed(self.table(table.name)) for table in TABLES}
        return {"head": head, "slips": self.slips, "scenario": self.scenario.to_dict(), "tables": tables}

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> Self:
        """The run of `as_message`."""
        head = message["head"]
        fields = {**head, "knobs": knobs_from_json(head["knobs"])}
        fields["window"] = None if head["window"] is None else tuple(head["window"])
        cells = Cells({table.name: table.unpacked(message["tables"][table.name]) for table in TABLES})
        scenario, said = Scenario.from_dict(message["scenario"], "run"), tuple(message["slips"])
        return cls(scenario=scenario, **fields, cells=cells, slips=said)

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
        head = read_head(folder / "run.json")
        said = read_json(folder / SCENARIO_FILE)
        scenario = Scenario.from_dict(said, str(folder / SCENARIO_FILE))
        cells = Cells({t.name: read_table(folder / f"{t.name}.csv", t.name) for t in TABLES})
        fields = {name: head[name] for name in HEAD} | {"knobs": knobs_from_json(head["knobs"])}
        fields["window"] = None if head["window"] is None else tuple(head["window"])
        run = cls(scenario=scenario, **fields, cells=cells)
        for name, digest in ((SCENARIO_FILE, digest_of(said)), *run._digests().items()):
            if head["digests"].get(name) != digest:
                raise InputError(str(folder / name), altered(name, run), "what was saved with the run (see run.json)")
        for where, value, expected in strangers(run):
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
    charge_decisions: float | str | None = None,
    code: str = "",
) -> str:
    """SHA-256 of all that a run's measures depend on, as 64 hexadecimal digits: runs with the same key are equal.

    scenario: `Scenario.key()`, which leaves out name, description, notes, plan and record; knobs: all of the
    scheduler's, settled; belief: what told it speeds (`Run.belief`); until_s (s), window, charge_decisions:
    as given to `workbench.simulate`; code: `Run.code`. Those that are given are parts of the key, and so is the version
    of the workbench.
    """
    parts: list[Any] = [scenario, scheduler, knobs_as_json(knobs), seed, VERSION]
    ends = {"belief": belief, "until_s": until_s if until_s is None else float(until_s), "window": window}
    ends["charge_decisions"] = float(charge_decisions) if isinstance(charge_decisions, int) else charge_decisions
    given: dict[str, Any] = {name: value for name, value in ends.items() if value is not None}
    if code:
        given["code"] = code
    if given:
        parts.append(given)
    return hashlib.sha256(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _same(a: pd.DataFrame, b: pd.DataFrame) -> bool:
    drop = [name for name in WALL_TIMES if name in a.columns]
    return a.drop(columns=drop).equals(b.drop(columns=drop))
