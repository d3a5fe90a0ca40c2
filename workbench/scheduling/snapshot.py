"""What a scheduler may see when it is asked: Snapshot, and the Belief that tells it speeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray, IntArray, fixed
from workbench.base.card import card
from workbench.base.errors import Problem, counted, one_of
from workbench.base.labels import listed
from workbench.base.units import format_duration
from workbench.scenario.cluster import Cluster
from workbench.scenario.job import Job
from workbench.scenario.scenario import Entity, Model
from workbench.scenario.throughput import Placement
from workbench.scheduling.decision import Assignment, Cause, Slot, Task, Unit

if TYPE_CHECKING:
    derived = cached_property
else:

    class derived(cached_property):
        """A cached property that whoever fills the view may know, without the lock that Python 3.11 takes."""

        def __get__(self, view, owner=None):
            known, name = view.__dict__, self.attrname
            value = known[name] = known["_read"](name) if "_read" in known else self.func(view)
            return value


class Lazy:
    """A view whose fields are worked out when they are first read, and then kept."""

    def _unknown(self, name: str) -> str:
        """What is said of a name that is not there; names with _ are asked for by Python itself and by notebooks."""
        kind = type(self)
        if name.startswith("_"):
            return f"{kind.__name__} has no {name}"
        known = [*(each.name for each in fields(kind)), *(each for each in dir(kind) if not each.startswith("_"))]  # type: ignore[arg-type]
        elsewhere = f"jobs.jobs[row].{name}" if name in Job.model_fields else ""
        if name == "attributes" and isinstance(self, NodeView):
            elsewhere = "cluster.each_node[row].attributes"
        return str(Problem(kind.__name__, name, elsewhere or one_of(name, known)))

    if not TYPE_CHECKING:  # for which every field is there

        def __getattr__(self, name: str) -> Any:
            """Only for what is not there (yet)."""
            if name not in type(self).__dataclass_fields__ or "_read" not in self.__dict__:
                raise AttributeError(self._unknown(name))
            value = self.__dict__[name] = self.__dict__["_read"](name)
            return value


_new, _fill = object.__new__, vars(Lazy)["__dict__"].__set__
View = TypeVar("View", bound=Lazy)


def later(kind: type[View], read: Callable[[str], Any], known: dict[str, Any]) -> View:
    """A view with some fields `known`, a mapping that it keeps; `read(field)` answers for the others, and raises once
    it cannot any more."""
    view = _new(kind)
    known["_read"] = read
    _fill(view, known)
    return view


ByFree = dict[int, dict[int, int]]
"""`{type: {free GPUs: its nodes}}`, at least one GPU; of the nodes a bit each, the lowest the first of the cluster."""


def by_free(kinds: IntArray, free: IntArray) -> ByFree:
    """The nodes that have free GPUs."""
    found: ByFree = {kind: {} for kind in set(kinds.tolist())}
    for i, (kind, gpus) in enumerate(zip(kinds.tolist(), free.tolist(), strict=True)):
        if gpus > 0:
            found[kind][gpus] = found[kind].get(gpus, 0) | 1 << i
    return found


def sort_anew(nodes: dict[int, int], node: int, before: int, after: int) -> None:
    """A node of a type's `{free GPUs: nodes}` had `before`, has `after`."""
    if before > 0:
        nodes[before] ^= 1 << node
    if after > 0:
        nodes[after] = nodes.get(after, 0) | 1 << node


@dataclass(frozen=True, eq=False, repr=False)
class NodeView(Lazy):
    """Nodes in cluster order. `kind` is the position of the node's type in `Snapshot.types`; GPUs free now,
    whether up."""

    names: tuple[str, ...]
    kind: IntArray
    gpus: IntArray
    free: IntArray
    up: BoolArray

    @cached_property
    def at(self) -> dict[str, int]:
        """Position of each node by name."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def down(self) -> frozenset[str]:
        """Nodes that are not up. Who holds GPUs there runs on a drained one, and nobody else can have them."""
        return frozenset([self.names[i] for i in np.flatnonzero(~self.up).tolist()])

    @cached_property
    def of_kind(self) -> dict[int, list[int]]:
        """Nodes of each type."""
        found: dict[int, list[int]] = {}
        for i, kind in enumerate(self.kind.tolist()):
            found.setdefault(kind, []).append(i)
        return found

    @cached_property
    def largest(self) -> int:
        """GPUs of the largest node."""
        return int(self.gpus.max(initial=0))

    @derived
    def by_free(self) -> ByFree:
        """Nodes that have free GPUs, by type and their number; to be read only."""
        return by_free(self.kind, self.free)

    @derived
    def left(self) -> list[int]:
        """Free GPUs of each type; to be read only."""
        found: list[int] = np.bincount(self.kind, self.free).astype(int).tolist()
        return found

    def __repr__(self) -> str:
        return f"<NodeView: {counted(len(self.names), 'node')}, {self.free.sum()} of {self.gpus.sum()} GPUs free>"


@dataclass(frozen=True, eq=False, repr=False)
class JobView(Lazy):
    """Unfinished jobs in the order of (arrival, position); one entry of each array per job.

    steps_left; attained_s: GPU-seconds held so far, before the scenario began included; waited_s: seconds without GPUs
    since arrival; restarts so far; gpus: the gang; held: GPUs that it holds, in leases that end now too; arrival_s;
    weight; position: in the scenario's list of jobs. jobs: as submitted, `jobs[row].attributes.get("lora_rank")` for a
    scheduler that declares it in `uses`: to ask for another is an InputError.
    """

    jobs: tuple[Job, ...]
    position: IntArray
    steps_left: FloatArray
    attained_s: FloatArray
    waited_s: FloatArray
    restarts: IntArray
    gpus: IntArray
    held: IntArray
    arrival_s: FloatArray
    weight: FloatArray

    @property
    def now(self) -> Sequence[Job]:
        """The jobs, for who decides now: a list that changes afterwards."""
        known = self.__dict__
        found: Sequence[Job] = self.jobs if "jobs" in known or "_read" not in known else known["_read"]("jobs now")
        return found

    @derived
    def waiting(self) -> Sequence[int]:
        """Rows of the jobs that hold no GPUs."""
        found: list[int] = np.flatnonzero(self.held == 0).tolist()
        return found

    def followed_by(self, jobs: Sequence[Job]) -> JobView:
        """With jobs that are still to come behind them, as they will arrive."""
        nothing, here = np.zeros(len(jobs)), len(self.jobs)

        def added(values: Any, more: Iterable[float]) -> Any:
            return fixed(np.concatenate([values, np.array([*more], dtype=values.dtype)]))

        return JobView(
            (*self.jobs, *jobs),
            added(self.position, range(here, here + len(jobs))),
            added(self.steps_left, (job.steps - job.steps_done for job in jobs)),
            added(self.attained_s, nothing),
            added(self.waited_s, nothing),
            added(self.restarts, nothing),
            added(self.gpus, (job.gpus for job in jobs)),
            added(self.held, nothing),
            added(self.arrival_s, (job.arrival_s for job in jobs)),
            added(self.weight, (job.weight for job in jobs)),
        )

    def __len__(self) -> int:
        return len(self.jobs)

    def __repr__(self) -> str:
        return f"<JobView: {self.headline()}>"

    def headline(self) -> str:
        """How many, and the first names."""
        return f"{counted(len(self), 'job')} ({listed(self.names)})" if self.jobs else "no jobs"

    @derived
    def names(self) -> tuple[str, ...]:
        """Names of the jobs."""
        return tuple(map(attrgetter("name"), self.jobs))

    @derived
    def at(self) -> dict[str, int]:
        """Row of each job by name; to be read only."""
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
class LearningBelief(Belief, Protocol):
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

    rounds: how many task rounds of K tasks each job has; rounds_done: of whatever width; tasks_done: tasks of
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
class Snapshot(Lazy):
    """All a scheduler may see at `now_s`, when `cause` asked it.

    The core works out a column when it is read, while the scheduler decides; later it raises RuntimeError, unless it
    was read before (`keep` reads all).

    types: accelerator types of the cluster; nodes: with the GPUs that are free once the leases that end now are gone;
    jobs: arrived and unfinished; leases: assignments in force beyond now; ended: assignments that end now (what a
    renewal would repeat); finished: when jobs completed since the last call; belief: speeds as believed; future: jobs
    still to arrive, only for formulations marked offline; tasks: what runs in sequences; entities: the groups of
    users that jobs name; models: facts of models; synchronisation_s: measured seconds of one synchronisation by (model,
    type, GPUs); in_detail: whether signals and reasons of the decision are recorded, which else need not be worked
    out. In `cluster`, all nodes have speed 1.
    """

    now_s: float
    cause: Cause
    cluster: Cluster
    types: tuple[str, ...]
    nodes: NodeView
    jobs: JobView
    leases: Mapping[Unit, Assignment]
    ended: Mapping[Unit, Assignment]
    finished: Mapping[str, float]
    belief: Belief
    future: tuple[Job, ...] = ()

    def with_future(self) -> Snapshot:
        """As if the jobs to come were there, each with its arrival: for problems that know them ahead."""
        return replace(self, jobs=self.jobs.followed_by(self.future), future=())

    observe: Callable[[], tuple[Observation, ...]] = tuple
    tasks: TaskView = TaskView()
    entities: tuple[Entity, ...] = ()
    models: tuple[Model, ...] = ()
    synchronisation_s: Mapping[tuple[str, str, int], float] = field(default_factory=dict)
    in_detail: bool = True

    def keep(self) -> Self:
        """The same, every column read: it can be looked at after the decision."""
        for view in (self, self.nodes, self.jobs):
            for each in fields(view):
                getattr(view, each.name)
            view.__dict__.pop("_read", None)
        return self

    def headline(self) -> str:
        """When, why and what there is, in a line."""
        at = f"{format_duration(self.now_s, parts=2)} ({self.cause.replace('_', ' ')})"
        return f"{at}: {self.jobs.headline()}, {self.nodes.free.sum()} of {self.capacity.sum()} GPUs free"

    def __repr__(self) -> str:
        return f"<Snapshot at {self.headline()}>"

    def _repr_html_(self) -> str:
        free = np.zeros(len(self.types), dtype=np.int64)
        np.add.at(free, self.nodes.kind, self.nodes.free)
        gpus = (f"{n} of {all_of} {name}" for n, all_of, name in zip(free, self.capacity, self.types, strict=True))
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
    def capacity(self) -> IntArray:
        """GPUs of each type on nodes that are up."""
        up = self.nodes.gpus * self.nodes.up
        return np.bincount(self.nodes.kind, up, len(self.types)).astype(np.int64)
