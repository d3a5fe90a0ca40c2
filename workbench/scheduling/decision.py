"""What a scheduler may see (Snapshot) and what it answers (Decision)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from workbench.base.card import card
from workbench.base.errors import Words, WorkbenchError, counted, shorten
from workbench.base.labels import listed
from workbench.base.text import on_one_line
from workbench.base.units import format_duration
from workbench.scenario.cluster import Cluster
from workbench.scenario.job import Job
from workbench.scenario.scenario import Entity, Model
from workbench.scenario.throughput import FloatArray, Placement
from workbench.scheduling.solvers.report import SolveReport

if TYPE_CHECKING:
    import pandas as pd

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

Unit = str | tuple[str, int] | tuple[str, str]
"""A job, a copy `(job, i)`, or a pair `(job, job)` that shares all its slots."""

Cause = Literal["round", "arrival", "completion", "idle", "lease_end", "fault", "repair", "timer"]
Kind = Literal["run", "profile"]
Verdict = Literal["guaranteed", "best_effort", "refused"]


def members(unit: Unit) -> tuple[str, ...]:
    """Names of the jobs in a unit."""
    if isinstance(unit, str):
        return (unit,)
    return (unit[0], unit[1]) if isinstance(unit[1], str) else (unit[0],)


def is_copy(unit: Unit) -> bool:
    """Whether a unit is one copy `(job, i)` of a job."""
    return not isinstance(unit, str) and not isinstance(unit[1], str)


def unit_name(unit: Unit | Task) -> str:
    """The unit as tables and charts show it: `job`, `job #2` for a copy, `a + b` for a pair, `job #3.1` for task 1 of
    round 3."""
    if isinstance(unit, str):
        return unit
    if isinstance(unit, Task):
        return f"{unit.job} #{unit.round}.{unit.number}"
    return f"{unit[0]} + {unit[1]}" if isinstance(unit[1], str) else f"{unit[0]} #{unit[1]}"


def task_parts(units: pd.Series[str]) -> pd.DataFrame:
    """Columns job, round and task, as text, of the names that `unit_name` gives to tasks; missing for other units."""
    return units.astype(str).str.extract(r"^(?P<job>.*) #(?P<round>\d+)\.(?P<task>\d+)$")


def in_sequences(timeline: pd.DataFrame) -> bool:
    """Whether a run's timeline is of tasks in rounds."""
    ran = timeline.loc[timeline["kind"] == "run", "unit"]
    one = not task_parts(ran.head(1)).isna().to_numpy().any()  # long timelines of other runs are not read to the end
    return len(ran) > 0 and one and not task_parts(ran)["job"].isna().any()


class Assignment(NamedTuple):
    """GPUs for a unit from now until `until_s`, or until its job completes.

    gpus: `{node: GPUs}`; kind: `profile` measures (its steps count unless `steps` is 0); steps: at most so many steps,
    the GPUs are then held idle until `until_s`; tail_s: seconds of consolidation at the end. The same unit on the same
    GPUs again when it ends is a renewal, on others a move, no new assignment a suspension.
    """

    unit: Unit
    gpus: Mapping[str, int]
    until_s: float
    kind: Kind = "run"
    steps: float | None = None
    tail_s: float = 0.0


class Task(NamedTuple):
    """One worker's share of one synchronised round of a job (Hare); rounds and tasks count from 0.

    steps: how many of its steps it does before it synchronises, the same for all tasks of a job: coarse rounds.
    together: it starts only at the same time as all other tasks of its round (scale-fixed synchronisation).
    width: how many tasks its round has, at most the job's K; None: K, as all its rounds then have (scale-adaptive
    synchronisation: a smaller round does the steps of fewer tasks, and more rounds follow).
    """

    job: str
    round: int
    number: int
    steps: int = 1
    together: bool = False
    width: int | None = None


class Slot(NamedTuple):
    """One GPU of a node; slots of a node count from 0."""

    node: str
    number: int


class Switch(NamedTuple):
    """A slot's switch to a task: seconds before the task computes, the reason of the event `switch` that is recorded
    then (no event if empty), and what the slot's GPU holds from now on."""

    switch_s: float = 0.0
    reason: str = ""
    held: Any = None


@runtime_checkable
class Switching(Protocol):
    """What it costs slots to switch to tasks (Hare).

    What a GPU holds is kept by the core as it is given, and None on one that has run no task.
    """

    def begin(self, slot: Slot, task: Task, step_s: float, held: Any) -> Switch:
        """The switch to a task, each of whose steps computes for step_s on the slot; asked when it begins."""
        ...

    def fault(self, held: Any) -> Any:
        """What a GPU holds when its node has failed."""
        ...


class Reason(NamedTuple):
    """Why a job got what it got: a short code, a sentence, and the numbers behind it."""

    code: str
    text: str
    facts: Mapping[str, float | str] = {}


class WorkerType(NamedTuple):
    """What shares of time are shares of: the GPUs of a type, for gangs on the fewest nodes or on more (None: either).

    The two placements of one accelerator type are two worker types with the same GPUs (Gavel, section 3.1).
    """

    accelerator: str
    placement: Placement | None = None

    @property
    def name(self) -> str:
        """As tables and charts show it: `v100`, or `v100 spread` for gangs on more nodes than they need."""
        return f"{self.accelerator} spread" if self.placement == "unconsolidated" else self.accelerator

    @property
    def word(self) -> Placement:
        """The placement whose speeds count: consolidated if there is a choice."""
        return self.placement or "consolidated"


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of time behind a decision: `values[i, j]` of `units[i]` on type `types[j]`.

    kinds: the worker types behind `types`, empty where they are accelerator types.
    """

    units: tuple[Unit, ...]
    types: tuple[str, ...]
    values: FloatArray
    kinds: tuple[WorkerType, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """A scheduler's answer.

    assign: new, renewed and moved assignments; units not named keep the leases they have, and lose those that end now.
    preempt: leases to end at once. sequences: tasks per slot (Hare), switching: what they cost (None:
    nothing). verdicts: admission. shares, signals (`{signal: {job: value}}`), solved (how it was computed; a
    formulation's Result is one) and why are recorded, not executed. next_s: ask again at this time at the latest.
    """

    assign: tuple[Assignment, ...] = ()
    preempt: frozenset[Unit] = frozenset()
    sequences: Mapping[Slot, tuple[Task, ...]] | None = None
    switching: Switching | None = None
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    shares: Shares | None = None
    signals: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    solved: SolveReport | None = None
    why: Mapping[str, Reason] = field(default_factory=dict)
    next_s: float | None = None


class Found:
    """A place and the value that stands there, as errors show it."""

    def __init__(self, where: str, value: Any) -> None:
        self._where, self._value = where, value

    def __repr__(self) -> str:
        return f"{self._where} {self._value!r}"


class InvalidDecision(WorkbenchError):
    """A decision that breaks a limit; it is never repaired silently."""

    status = "invalid_decision"

    def __init__(self, scheduler: str, at_s: float, unit: Unit | None, value: Any, limit: str) -> None:
        who = "" if unit is None else ", " + shorten(Words(on_one_line(unit_name(unit))))
        super().__init__(f"decision of {scheduler} at {at_s:g} s{who}", value, limit)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class NodeView:
    """Nodes in cluster order. `kind` is the position of the node's type in `Snapshot.types`; GPUs free now,
    whether up."""

    names: tuple[str, ...]
    kind: IntArray
    gpus: IntArray
    free: IntArray
    up: BoolArray

    def __repr__(self) -> str:
        return f"<NodeView: {counted(len(self.names), 'node')}, {self.free.sum()} of {self.gpus.sum()} GPUs free>"


@dataclass(frozen=True, eq=False, repr=False)
class JobView:
    """Unfinished jobs in the order of (arrival, position); one entry of each array per job.

    steps_left; attained_s: GPU-seconds held so far, before the scenario began included; waited_s: seconds without GPUs
    since arrival; restarts so far; gpus: the gang; arrival_s; weight; position: in the scenario's list of jobs.
    """

    jobs: tuple[Job, ...]
    position: IntArray
    steps_left: FloatArray
    attained_s: FloatArray
    waited_s: FloatArray
    restarts: IntArray
    gpus: IntArray
    arrival_s: FloatArray
    weight: FloatArray

    def __len__(self) -> int:
        return len(self.jobs)

    def __repr__(self) -> str:
        return f"<JobView: {self.headline()}>"

    def headline(self) -> str:
        """How many, and the first names."""
        return f"{counted(len(self), 'job')} ({listed(self.names)})" if self.jobs else "no jobs"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the jobs."""
        return tuple(job.name for job in self.jobs)

    @cached_property
    def at(self) -> dict[str, int]:
        """Row of each job by name."""
        return {name: row for row, name in enumerate(self.names)}


class Observation(NamedTuple):
    """Steps/s of a unit's member measured over `seconds` of running on `gpus` since the last call."""

    job: str
    unit: Unit
    gpus: Mapping[str, int]
    steps_per_s: float
    seconds: float


class Belief(Protocol):
    """Steps/s as an estimator sees them; 0 where a job cannot run. True rates and node speeds stay in the core."""

    def speeds(self, jobs: JobView, placement: Placement = "consolidated") -> FloatArray:
        """(jobs x types) steps/s of each job's gang on one type."""
        ...

    def steps_per_s(
        self,
        job: Job,
        accelerator: str,
        gpus: int,
        placement: Placement = "consolidated",
        nodes: int | None = None,
    ) -> float:
        """Steps/s of a job on `gpus` GPUs of one type."""
        ...

    def on_nodes(self, job: Job, gpus: Mapping[str, int]) -> float:
        """Steps/s of a job's gang on `{node: GPUs}`."""
        ...

    def pair(
        self, job: Job, other: Job, accelerator: str, placement: Placement = "consolidated"
    ) -> tuple[float, float] | None:
        """Steps/s of two jobs that share their slots on one type; None if they may not."""
        ...


@runtime_checkable
class Learns(Belief, Protocol):
    """A belief that learns from what is measured.

    The core calls it before each snapshot is shown, with that snapshot's observations; a scheduler that is asked sees
    the same speeds for as long as it decides. Such a belief is made anew for every run.
    """

    def learn(self, observations: Sequence[Observation]) -> None:
        """Take note of what was measured since the last call."""
        ...


@dataclass(frozen=True, eq=False)
class TaskView:
    """The jobs that run as tasks in sequence (`Decision.sequences`), and the slots that do so; all empty without any.

    rounds: how many synchronised rounds of K tasks each job has; rounds_done: of whatever width; tasks_done: tasks of
    those; width: tasks of the round it is in, if one of them has started; started: `(round, number)` of the tasks of
    the round it is in that compute, synchronise or are done; the others may be planned anew. computing: `(task,
    start_s, end_s)` on each slot; waiting: the tasks still to start on each slot that sequences hold; barrier_s: when
    the started tasks that compute or synchronise will all have synchronised, by job.
    """

    rounds: Mapping[str, int] = field(default_factory=dict)
    rounds_done: Mapping[str, int] = field(default_factory=dict)
    tasks_done: Mapping[str, int] = field(default_factory=dict)
    width: Mapping[str, int] = field(default_factory=dict)
    started: Mapping[str, frozenset[tuple[int, int]]] = field(default_factory=dict)
    computing: Mapping[Slot, tuple[Task, float, float]] = field(default_factory=dict)
    waiting: Mapping[Slot, tuple[Task, ...]] = field(default_factory=dict)
    barrier_s: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class Snapshot:
    """All a scheduler may see at `now_s`, when `cause` asked it.

    types: accelerator types of the cluster; nodes: with the GPUs that are free once the leases that end now are gone;
    jobs: arrived and unfinished; leases: assignments in force beyond now; ended: assignments that end now (what a
    renewal would repeat); finished: jobs completed since the last call; belief: speeds as believed; future: the jobs
    still to arrive, only for formulations marked offline; tasks: what runs in sequences; entities: the groups of
    users that jobs name; models: facts of models; synchronisation_s: measured seconds of one synchronisation by (model,
    type, GPUs). In `cluster`, all nodes have speed 1.
    """

    now_s: float
    cause: Cause
    cluster: Cluster
    types: tuple[str, ...]
    nodes: NodeView
    jobs: JobView
    leases: Mapping[Unit, Assignment]
    ended: Mapping[Unit, Assignment]
    finished: tuple[str, ...]
    belief: Belief
    future: tuple[Job, ...] = ()
    observe: Callable[[], tuple[Observation, ...]] = tuple
    tasks: TaskView = TaskView()
    entities: tuple[Entity, ...] = ()
    models: tuple[Model, ...] = ()
    synchronisation_s: Mapping[tuple[str, str, int], float] = field(default_factory=dict)

    def headline(self) -> str:
        """When, why and what there is, in a line."""
        at = f"{format_duration(self.now_s, parts=2)} ({self.cause.replace('_', ' ')})"
        return f"{at}: {self.jobs.headline()}, {self.nodes.free.sum()} of {self.workers.sum()} GPUs free"

    def __repr__(self) -> str:
        return f"<Snapshot at {self.headline()}>"

    def _repr_html_(self) -> str:
        free = np.zeros(len(self.types), dtype=np.int64)
        np.add.at(free, self.nodes.kind, self.nodes.free)
        gpus = (f"{n} of {all_of} {name}" for n, all_of, name in zip(free, self.workers, self.types, strict=True))
        rows = [
            ("Free GPUs", ", ".join(gpus)),
            ("Jobs, unfinished", self.jobs.headline()),
            ("Leases beyond now", str(len(self.leases))),
            ("Leases that end now", str(len(self.ended))),
            ("Finished since", listed(self.finished) or "none"),
        ]
        rows += [("Jobs to come", str(len(self.future)))] if self.future else []
        return card(f"Snapshot at {self.headline()}", rows)

    @cached_property
    def observations(self) -> tuple[Observation, ...]:
        """Steps/s measured since the last call."""
        return self.observe()

    @cached_property
    def _speeds(self) -> dict[Placement, FloatArray]:
        return {}

    def speeds(self, placement: Placement = "consolidated") -> FloatArray:
        """(jobs x types) steps/s of each job's gang as believed, to be read only; the belief is asked once."""
        if placement not in self._speeds:
            self._speeds[placement] = self.belief.speeds(self.jobs, placement)
        return self._speeds[placement]

    @cached_property
    def workers(self) -> IntArray:
        """GPUs of each type on nodes that are up."""
        counts = np.zeros(len(self.types), dtype=np.int64)
        np.add.at(counts, self.nodes.kind, np.where(self.nodes.up, self.nodes.gpus, 0))
        return counts
