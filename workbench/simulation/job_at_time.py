"""One job of a run at one time: what it does, what it holds, what was free, and what the scheduler said and recorded.

Everything is read from the run's tables. `Explained` is what a paper or a baseline adds to that in its own words: the
room names a function `JobAtTime -> Explained` for each of its schedulers (`workbench.scheduling.declared_room.Room`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import BoolArray, IntArray
from workbench.base.errors import InputError
from workbench.base.labels import listed
from workbench.scenario.job import Job
from workbench.simulation.run import Run
from workbench.simulation.schema import Cells

JobState = Literal[
    "not_arrived",
    "waiting",
    "running",
    "restarting",
    "switching",
    "profiled",
    "consolidating",
    "synchronising",
    "holding",
    "refused",
    "finished",
]
OF_KIND: Mapping[str, JobState] = {
    "run": "running",
    "profile": "profiled",
    "consolidate": "consolidating",
    "restart": "restarting",
    "switch": "switching",
    "sync": "synchronising",
    "hold": "holding",
}
"""The state of a job whose GPUs do one of these; of several at once the first counts."""

MOST_LISTED = 8
"""Jobs of a type, or of those that wait, that a text names."""

HOLDS: frozenset[JobState] = frozenset(OF_KIND.values())
"""The states in which a job has GPUs."""


TIE = 1e-9
"""Values that differ by less, relative, count as equal."""


class Fact(NamedTuple):
    """A number or word behind an explanation, with its unit."""

    name: str
    value: float | str
    unit: str = ""


Comes = Literal["before", "after", "equal", ""]


class Ties(NamedTuple):
    """What decides between equal values. rule: in words; rank: by job, the lowest first."""

    rule: str
    rank: Mapping[str, float]


class Order(NamedTuple):
    """What a scheduler puts jobs in order by.

    values: by job; first: the end that comes first, "" where all are chosen together, in no order; at_s: recorded then;
    ties: None where the run does not tell what decides between equal values; says: the asked job's own value in words,
    where a number does not say it; infinite: whose value is infinite.
    """

    label: str
    unit: str
    values: Mapping[str, float]
    first: Literal["highest", "lowest", ""]
    at_s: float
    ties: Ties | None = None
    says: str = ""
    infinite: str = ""

    def place(self, job: str) -> int | None:
        """How many jobs come before one, plus 1; None if it has no value or there is no order. Equal values without
        `ties` share a place."""
        if job not in self.values or not self.first:
            return None
        return 1 + sum(self.before(other, job) for other in self.values)

    def equal(self, one: str, other: str) -> bool:
        """Whether two jobs have the same value; no if either has none."""
        a, b = self.values.get(one), self.values.get(other)
        return a is not None and b is not None and (a == b or math.isclose(a, b, rel_tol=TIE))

    def before(self, one: str, other: str) -> bool:
        """Whether one job comes before another; no if either has no value, or if nobody knows."""
        a, b = self.values.get(one), self.values.get(other)
        if a is None or b is None or not self.first:
            return False
        if self.equal(one, other):
            rank = {} if self.ties is None else self.ties.rank
            return one in rank and other in rank and rank[one] < rank[other]
        return a > b if self.first == "highest" else a < b

    def comes(self, one: str, other: str) -> Comes:
        """Where one job stands to another: before, after, or equal; empty where either has no value or no order is."""
        if one not in self.values or other not in self.values or not self.first:
            return ""
        if self.before(one, other):
            return "before"
        return "after" if not self.equal(one, other) or self.before(other, one) else "equal"


class Link(NamedTuple):
    """One step from what was computed to who holds a GPU: `share`, `rank`, `placement`; in words, with its numbers."""

    step: str
    text: str
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class Explained:
    """What a scheduler's room says of a job at a time.

    binding: the constraint or rule that decided, in words, with its tag in the paper where it has one; order: what jobs
    were put in order by; gang: whether a waiting job needs its GPUs at once, so that it may lack so many free ones;
    links: the steps to its GPUs, or to having none, in the order in which the scheduler takes them; not_on: by type,
    why a job that has GPUs elsewhere has none of that one; anyway: whether a waiting job would wait with more free GPUs
    too.
    """

    sentences: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    binding: str = ""
    order: Order | None = None
    gang: bool = True
    links: tuple[Link, ...] = ()
    not_on: Mapping[str, str] = field(default_factory=dict)
    anyway: bool = False

    def __post_init__(self) -> None:
        sentences: Any = self.sentences
        if isinstance(sentences, str):
            raise InputError("explanation, sentences", sentences, "a tuple of sentences: (RULE, *found.sentences)")


class RecordedReason(NamedTuple):
    """A reason as the scheduler gave it, and when."""

    at_s: float
    code: str
    text: str


class Holder(NamedTuple):
    """A unit that holds GPUs. until_s: the end of this interval of the timeline."""

    job: str
    unit: str
    gpus: Mapping[str, int]
    since_s: float
    until_s: float


class LatestCall(NamedTuple):
    """The latest call of the scheduler."""

    number: int
    time_s: float
    cause: str


def checked_time(run: Any, at: Any) -> float:
    """A time of a run in seconds; raises InputError for what is no run, and for a time that it does not have."""
    if not isinstance(run, Run):
        raise InputError("run", run, "a run (workbench.simulate, or Run.load)")
    if isinstance(at, bool) or not isinstance(at, (int, float)) or not 0 <= at <= run.end_s:
        raise InputError("at", at, f"seconds from 0 to the run's end, {run.end_s:.6g}")
    return float(at)


@dataclass(frozen=True, eq=False)
class JobAtTime:
    """A job of a run at `at_s`. Raises InputError for what is no run, and for a job or time that it does not have.

    elastic: whether the scheduler may give a job another of its `gpu_choices` than the GPUs that it asks for; mixed:
    whether it may give it GPUs of several types at once.
    """

    run: Run
    job: str
    at_s: float
    elastic: bool = True
    mixed: bool = True

    def __post_init__(self) -> None:
        at_s = checked_time(self.run, self.at_s)
        if not isinstance(self.job, str) or self.job not in self.cells.place:
            names = list(self.cells.place)
            raise InputError("job", self.job, f"a job of the run: {', '.join(names[:5])}{' ...' if names[5:] else ''}")
        object.__setattr__(self, "at_s", at_s)

    # The job ---------------------------------------------------------------------------------------------------------

    @cached_property
    def row(self) -> dict[str, Any]:
        """The job's row of the table `jobs`: its whole course."""
        place = self.cells.place[self.job]
        return {name: column[place] for name, column in self.cells.columns("jobs").items()}

    @cached_property
    def spec(self) -> Job:
        """The job as it was submitted."""
        return next(job for job in self.run.scenario.jobs if job.name == self.job)

    @cached_property
    def state(self) -> JobState:
        """What it does now."""
        if self.row["finish_s"] <= self.at_s:
            return "finished"
        if self.row["arrival_s"] > self.at_s:
            return "not_arrived"
        kinds = set(self._column("kind")[self._own])
        busy = next((state for kind, state in OF_KIND.items() if kind in kinds), None)
        if busy is None and self.job in self._refused:
            return "refused"
        return busy or "waiting"

    @cached_property
    def tasks(self) -> bool:
        """Whether the run's jobs are tasks in sequences (Hare)."""
        return self.cells.tasks

    @cached_property
    def spans(self) -> tuple[tuple[float, float], ...]:
        """The times in which it has GPUs, in order, joined where they touch."""
        rows = self.cells.of_job(self.job)
        found: list[tuple[float, float]] = []
        starts, ends = self._column("start_s")[rows], self._column("end_s")[rows]
        for start_s, end_s in sorted(zip(starts.tolist(), ends.tolist(), strict=True)):
            if found and start_s <= found[-1][1]:
                found[-1] = (found[-1][0], max(found[-1][1], end_s))
            else:
                found.append((start_s, end_s))
        return tuple(found)

    @cached_property
    def stretch(self) -> tuple[float, float]:
        """From when to when the job has GPUs, or has none, without a break that contains now; the end may be inf."""
        spans = self.spans
        for start_s, end_s in spans:
            if start_s <= self.at_s < end_s or (self.state in HOLDS and end_s == self.at_s == self.run.end_s):
                return start_s, end_s
        before = [end_s for _, end_s in spans if end_s <= self.at_s]
        after = [start_s for start_s, _ in spans if start_s > self.at_s]
        return max([float(self.row["arrival_s"]), *before]), min(after, default=math.inf)

    @cached_property
    def since_s(self) -> float:
        """Since when it has had these GPUs, or none."""
        begun_s = self.stretch[0]
        changes = self.events("start", "move") if self.state in HOLDS and not self.tasks else []
        return max([begun_s, *(float(event["time_s"]) for event in changes)])

    @cached_property
    def held(self) -> Mapping[str, int]:
        """`{node: GPUs}` that it has now."""
        return dict(Counter(self._column("node")[self._slots(self._own)]))

    @cached_property
    def held_types(self) -> frozenset[str]:
        """Types of the GPUs that it has now."""
        return frozenset(self._column("accelerator")[self._own])

    @cached_property
    def next_start_s(self) -> float | None:
        """When it next gets GPUs in this run, None if it does not."""
        later = [start_s for start_s, _ in self.spans if start_s > self.at_s]
        return min(later, default=None)

    def events(self, *names: str) -> list[dict[str, Any]]:
        """The job's events of these names until now, in order."""
        rows = self._until("events", self.cells.rows("events", "job").get(self.job))
        event, columns = self.cells.column("events", "event"), self.cells.columns("events")
        return [
            {name: column[row : row + 1].tolist()[0] for name, column in columns.items()}
            for row in rows.tolist()
            if event[row] in names
        ]

    # What the scheduler said -----------------------------------------------------------------------------------------

    @cached_property
    def call(self) -> LatestCall | None:
        """The latest call of the scheduler, None before the first."""
        times_s = self.cells.column("decisions", "time_s")
        last = int(times_s.searchsorted(self.at_s, side="right")) - 1
        if last < 0:
            return None
        number, cause = (self.cells.column("decisions", name)[last] for name in ("decision", "cause"))
        return LatestCall(int(number), float(times_s[last]), str(cause))

    @cached_property
    def recorded(self) -> bool:
        """Whether the run has recorded what the latest call went by: `detail` keeps that of the first ones only."""
        most = self.run.detail
        return most is None or self.call is None or self.call.number < most

    @cached_property
    def said(self) -> RecordedReason | None:
        """The latest reason that the scheduler gave for what the job has now; None if it gave none since.

        The reason for tasks in sequences is that of the plan, under which their GPUs come and go.
        """
        if not self.recorded:
            return None
        own = self._until("reasons", self.cells.rows("reasons", "job").get(self.job))
        if not len(own):
            return None
        at_s, code, text = (self.cells.column("reasons", name)[own[-1]] for name in ("time_s", "code", "text"))
        return None if at_s < self.since_s and not self.tasks else RecordedReason(float(at_s), str(code), str(text))

    def signals(self, name: str) -> tuple[float, dict[str, float]] | None:
        """A signal by job, of jobs that are there now, and when it was recorded; None if it was not (`recorded`).

        Recorded last, or where that leaves this job out: last with it, since it has what it has now.
        """
        block = self._signals(name)
        if not len(block):
            return None
        decision, time_s, job, value = (
            self.cells.column("signals", each) for each in ("decision", "time_s", "job", "value")
        )
        mine = self._signals(name, self.job)
        mine = mine[time_s[mine] >= self.since_s]
        own = block[decision[block] == decision[mine[-1] if len(mine) else block[-1]]]
        present = set(self.present)
        values = {name: number for name, number in zip(job[own], value[own].tolist(), strict=True) if name in present}
        return float(time_s[own[-1]]), values

    def signal(self, name: str) -> float | None:
        """The job's own value of a signal as it was last recorded."""
        own = self._signals(name, self.job)
        return float(self.cells.column("signals", "value")[own[-1]]) if len(own) else None

    def of_cluster(self, name: str) -> float | None:
        """A signal of no job in particular (a price of a type) as it was last recorded."""
        block = self._signals(name)
        return float(self.cells.column("signals", "value")[block[-1]]) if len(block) else None

    @cached_property
    def by_arrival(self) -> Ties:
        """The order in which a snapshot has the jobs: by arrival, then as the scenario lists them."""
        names = self.cells.column("jobs", "job")[self.cells.column("jobs", "arrival_s").argsort(kind="stable")]
        return Ties("by arrival, then as listed", {name: float(rank) for rank, name in enumerate(names)})

    def order(
        self, signal: str, label: str, unit: str, first: Literal["highest", "lowest", ""], ties: Ties | None = None
    ) -> Order | None:
        """The order of the jobs by a signal, None if it was not recorded."""
        found = self.signals(signal)
        return None if found is None else Order(label, unit, found[1], first, found[0], ties)

    # The cluster -----------------------------------------------------------------------------------------------------

    @cached_property
    def present(self) -> tuple[str, ...]:
        """The jobs that have arrived and not gone, in the scenario's order."""
        name, arrival_s, finish_s = (self.cells.column("jobs", each) for each in ("job", "arrival_s", "finish_s"))
        there = (arrival_s <= self.at_s) & ~(finish_s <= self.at_s)
        return tuple(each for each in name[there] if each not in self._refused)

    @cached_property
    def waiting(self) -> tuple[str, ...]:
        """The jobs of these that have no GPUs."""
        busy = {*self._column("job")[self._now], *self._column("with_job")[self._now]}
        return tuple(name for name in self.present if name not in busy)

    @cached_property
    def up(self) -> Mapping[str, int]:
        """GPUs of each type on nodes that are up."""
        down = Counter(self._column("accelerator")[self._now[self._column("kind")[self._now] == "down"]])
        return {kind: gpus - down[kind] for kind, gpus in self.run.scenario.cluster.capacity.items()}

    @cached_property
    def free(self) -> Mapping[str, int]:
        """GPUs of each type that nobody holds, on nodes that are up."""
        held = Counter(self._column("accelerator")[self._slots(self._holding)])
        return {kind: gpus - held[kind] for kind, gpus in self.up.items()}

    @cached_property
    def free_on(self) -> Mapping[str, int]:
        """GPUs of each node that is up which nobody holds."""
        rows = self._slots(self._holding)
        held = Counter(self._column("node")[rows])
        down = set(self._column("node")[self._now[self._column("kind")[self._now] == "down"]])
        machines = self.run.scenario.cluster.each_node
        return {node.name: node.gpus - held[node.name] for node in machines if node.name not in down}

    def on_node(self, name: str) -> list[str]:
        """The job of each GPU of a node that somebody holds."""
        rows = self._slots(self._holding)
        return [str(self._column("job")[row]) for row in rows if self._column("node")[row] == name]

    @cached_property
    def holders(self) -> Mapping[str, Mapping[str, int]]:
        """{type: {job: GPUs that it holds}} of all types."""
        rows = self._slots(self._holding)
        found: dict[str, dict[str, int]] = {kind: {} for kind in self.run.scenario.cluster.types}
        for job, kind in zip(self._column("job")[rows], self._column("accelerator")[rows], strict=True):
            found[kind][job] = found[kind].get(job, 0) + 1
        return found

    def placement(self) -> Link:
        """Who holds how many GPUs of each type, what is left, and who waits with how large a gang."""
        parts = []
        for kind, held in self.holders.items():
            who = listed((f"{job} {gpus}" for job, gpus in held.items()), MOST_LISTED) or "nobody"
            parts.append(f"{kind}: {who}, {self.free[kind]} of {self.up[kind]} left")
        gangs = {job.name: job.gpus for job in self.run.scenario.jobs}
        facts = [Fact(f"{kind} left", float(gpus), "GPUs") for kind, gpus in self.free.items()]
        facts += [Fact(f"gang of {name}, which waits", float(gangs[name]), "GPUs") for name in self.waiting]
        line = listed((f"{name} for {gangs[name]}" for name in self.waiting), MOST_LISTED)
        waits = f"; waiting: {line}" if line else ""
        return Link("placement", f"GPUs by type: {'; '.join(parts)}{waits}.", tuple(facts))

    @cached_property
    def has_free_gpus(self) -> bool:
        """Whether its smallest gang could have free GPUs, on whichever nodes: of one type, or of several (`mixed`)."""
        capacity = self.run.scenario.cluster.capacity
        alone = any(capacity[kind] >= gpus for kind, gpus in self.needs.items())
        if (self.mixed or not alone) and sum(self.free.get(kind, 0) for kind in self.usable) >= self.sizes[0]:
            return True
        return any(self.free.get(kind, 0) >= gpus for kind, gpus in self.needs.items())

    @cached_property
    def needs(self) -> Mapping[str, int]:
        """The fewest GPUs with which it may run on each type that it can use."""
        table, job = self.run.scenario.table, self.spec

        def fewest(kind: str) -> int:
            return next((n for n in self.sizes if table.can_run(job.model, kind, n)), self.sizes[0])

        return {kind: fewest(kind) for kind in self.usable}

    @cached_property
    def too_small(self) -> tuple[str, ...]:
        """Types on which it could run, had the cluster as many GPUs of them as it needs.

        None if types may be mixed, which core and policies also allow where no type alone holds a gang.
        """
        capacity = self.run.scenario.cluster.capacity
        small = tuple(kind for kind, gpus in self.needs.items() if capacity[kind] < gpus)
        return () if self.mixed or len(small) == len(self.needs) else small

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of GPUs at once with which it may run, rising."""
        if self.tasks:
            return (1,)
        return tuple(self.spec.sizes) if self.elastic else (self.spec.gpus,)

    @cached_property
    def usable(self) -> Mapping[str, float]:
        """Steps/s of its gang alone on each type on which it can run at one of its sizes, or ran; 0 if not known."""
        table, job = self.run.scenario.table, self.spec
        sizes = {*job.sizes, 1} if self.tasks else set(self.sizes)
        ran = set(self._column("accelerator")[self.cells.of_job(self.job)])
        kinds = self.run.scenario.cluster.types
        able = [kind for kind in kinds if kind in ran or any(table.can_run(job.model, kind, n) for n in sizes)]
        return {kind: table.row(job.model, kind, job.gpus) for kind in able}

    @cached_property
    def others(self) -> tuple[Holder, ...]:
        """Who else holds GPUs that the job could use, the most GPUs first; of types too small for it nobody does."""
        able = {kind for kind in self.usable if kind not in self.too_small}
        units, job, other, kinds = (self._column(name) for name in ("unit", "job", "with_job", "accelerator"))
        parts: dict[tuple[str, str, str], list[int]] = {}
        for row in self._holding.tolist():
            if kinds[row] in able and self.job not in (job[row], other[row]):
                parts.setdefault((units[row], job[row], other[row]), []).append(row)
        found = []
        for (unit, *names), part in parts.items():
            rows = np.array(part)
            counts = dict(Counter(kinds[self._slots(rows)]))
            since_s, until_s = float(self._column("start_s")[rows].min()), float(self._column("end_s")[rows].max())
            found += [Holder(name, unit, counts, since_s, until_s) for name in names if name]
        return tuple(sorted(found, key=lambda each: -sum(each.gpus.values())))

    # Inside ----------------------------------------------------------------------------------------------------------

    @property
    def cells(self) -> Cells:
        """The run's tables as arrays."""
        return self.run.cells

    def _column(self, name: str) -> npt.NDArray[Any]:
        """A column of the timeline."""
        return self.cells.column("timeline", name)

    @cached_property
    def _now(self) -> IntArray:
        """The positions of the intervals of the timeline that contain now (at the run's end: that end with it)."""
        return np.flatnonzero(self._contain_now(slice(None)))

    def _contain_now(self, rows: slice | IntArray) -> BoolArray:
        """Whether intervals of the timeline do."""
        end_s = self._column("end_s")[rows]
        found = (self._column("start_s")[rows] <= self.at_s) & (end_s > self.at_s)
        if self.at_s == self.run.end_s:
            last = np.flatnonzero(end_s == self.at_s)
            gone = set(self.cells.column("jobs", "job")[self.cells.column("jobs", "finish_s") <= self.at_s])
            found[last] = [job not in gone for job in self._column("job")[rows][last]]
        return found

    @cached_property
    def _own(self) -> IntArray:
        """Those of them that are of this job, alone or in a pair."""
        rows = self.cells.of_job(self.job)
        return rows[self._contain_now(rows)]

    @cached_property
    def _holding(self) -> IntArray:
        """Those of them in which a slot is taken: nobody needs it to synchronise."""
        return self._now[self.cells.taken[self._now]]

    def _slots(self, rows: IntArray) -> list[int]:
        """Of intervals of the timeline the first of each slot."""
        slots = zip(self._column("node")[rows], self._column("slot")[rows].tolist(), strict=True)
        first: dict[tuple[str, int], int] = {}
        for row, slot in zip(rows.tolist(), slots, strict=True):
            first.setdefault(slot, row)
        return list(first.values())

    def _until(self, table: str, rows: IntArray | None) -> IntArray:
        """The rows until now of some of a table, which is in order of time."""
        if rows is None:
            return np.empty(0, dtype=np.int64)
        return rows[self.cells.column(table, "time_s")[rows] <= self.at_s]

    @cached_property
    def _refused(self) -> frozenset[str]:
        """The jobs that have been refused by now."""
        refused = self.cells.column("jobs", "verdict") == "refused"
        if not refused.any():
            return frozenset()
        job, time_s = (self.cells.column("events", name) for name in ("job", "time_s"))
        last = {job[row]: time_s[row] for row in self.cells.rows("events", "event").get("verdict", ())}
        return frozenset(
            name for name in self.cells.column("jobs", "job")[refused] if last.get(name, math.inf) <= self.at_s
        )

    def _signals(self, name: str, job: str | None = None) -> IntArray:
        """The rows of a signal that have been recorded by now, or those of a job in it.

        None once decisions are not recorded any more.
        """
        if not self.recorded:
            return np.empty(0, dtype=np.int64)
        if job is None:
            return self._until("signals", self.cells.rows("signals", "signal").get(name))
        return self._until("signals", self.cells.rows("signals", "signal", "job").get((name, job)))


Explainer = Callable[[JobAtTime], Explained]
"""Says of a job at a time what its scheduler went by."""
