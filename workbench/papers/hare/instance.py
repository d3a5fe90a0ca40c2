"""The data of Hare_Sched (section 5.1): jobs of rounds of parallel tasks, GPUs, and seconds of a task on each GPU.

The paper's letters: N jobs, M GPUs, R_n the rounds of job n, D_r the tasks of round r, a_n the arrival, w_n the weight,
T^c the training time of a task on a GPU, T^s its synchronisation time. Both are the same in every round (Fig. 11), so
that they belong to a job and a GPU. A task holds its GPU for T^c; synchronising overlaps the GPU's next task.

All times are seconds on one clock. Tasks and rounds have numbers over all jobs: by job, then round, then task.

(ours): what a plan needs that begins in mid-life, when some tasks have started already, and rounds of several steps:
`free_s`, `barrier_s`, `first_tasks` and `last_part`. By default they say nothing.

`tasks_left` reads an instance from a snapshot, and which task of the core each task is; `from_snapshot` the instance
alone. A job has K = tasks_per_round or else gpus tasks in parallel, and ceil(steps / (K k)) rounds of k steps
(`workbench.baselines.mechanisms.task_rounds`). A step computes for T^c = 1/r(1) on each GPU of a type and then
synchronises for T^s = sync_s or max(0, K/r(K) - 1/r(1)), where r(n) is the believed speed of a gang of n in steps/s.
Where K/r(K) is less than 1/r(1) nothing is left to synchronise, and where the table has no r(1) the time of a gang
counts as computing: `TasksLeft.notes` says for which models (`workbench.scenario.throughput.TaskTimes`). Peak memory of
a model rules GPUs out.

In mid-life (`Snapshot.tasks`) an instance has the tasks that have not started: a GPU is free when its task has
computed, and a round whose tasks have all started is a barrier to the next one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.base.errors import InputError, Words
from workbench.baselines.mechanisms.task_rounds import (
    BelievedTimes,
    Note,
    RoundsLeft,
    parallel_tasks,
    rounds_left,
    scaled_left,
)
from workbench.scenario.job import Job
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import Slot, Task
from workbench.scheduling.snapshot import Snapshot

MOST_TASKS = 1_000_000
"""Tasks of all jobs together: a run of so many takes about 1 GB and half a minute."""


class CannotRun(InputError):
    """A task that no GPU can run: no schedule exists."""

    status = "infeasible"


class Gpu(NamedTuple):
    """One GPU: slot `number` of its node; memory_gb: None if unknown."""

    name: str
    accelerator: str
    node: str
    number: int = 0
    memory_gb: float | None = None

    @property
    def slot(self) -> Slot:
        """The GPU as the core knows it."""
        return Slot(self.node, self.number)


@dataclass(frozen=True, eq=False)
class HareInstance:
    """One instance of Hare_Sched. Arrays are read-only; `HareInstance.made` fills in what is not said.

    jobs: names; gpus; weight: (jobs,) w_n; arrival_s: (jobs,) a_n, no task starts before; rounds: (jobs,) how many;
    tasks: (jobs,) parallel tasks of a round; train_s: (jobs x gpus) T^c, inf where the job cannot run (also given as
    nan); sync_s: (jobs x gpus) T^s, 0 where the job cannot run; memory_gb: (jobs,) peak of a task, nan if unknown.
    Where it exceeds the GPU's memory, train_s becomes inf.

    (ours) free_s: (gpus,) no task starts on the GPU before; first_tasks: (jobs,) tasks of the first round that are to
    be scheduled, its others have started before; barrier_s: (jobs,) when those have synchronised: no later round
    starts, and the job does not complete, before; last_part: (jobs,) T^c and T^s of the last round's tasks as a part of
    the other rounds' (coarse rounds: fewer steps are left).

    Raises InputError naming the job, the GPU and the field for numbers missing, not finite, not whole or out of range,
    for a job that needs more memory than any GPU has, and CannotRun for a job that no GPU can run.
    """

    jobs: tuple[str, ...]
    gpus: tuple[Gpu, ...]
    weight: FloatArray
    arrival_s: FloatArray
    rounds: IntArray
    tasks: IntArray
    train_s: FloatArray
    sync_s: FloatArray
    memory_gb: FloatArray
    free_s: FloatArray
    first_tasks: IntArray
    barrier_s: FloatArray
    last_part: FloatArray

    def __post_init__(self) -> None:
        for name, names in (("jobs", self.jobs), ("gpus", tuple(gpu.name for gpu in self.gpus))):
            if len(set(names)) < len(names):
                raise InputError(f"Hare, {name}", names, "names that differ")
        rows, columns = (len(self.jobs),), (len(self.gpus),)
        self._take("weight", rows, lambda x: x > 0, "a number > 0")
        for name, shape in (("arrival_s", rows), ("barrier_s", rows), ("free_s", columns)):
            self._take(name, shape, lambda x: x >= 0, "a number of seconds >= 0")
        for name in ("rounds", "tasks"):
            self._take(name, rows, lambda x: x >= 1, f"a whole number of {name} >= 1", whole=True)
        self._take("first_tasks", rows, lambda x: (x >= 1) & (x <= self.tasks), "from 1 to `tasks`", whole=True)
        self._take("last_part", rows, lambda x: (x > 0) & (x <= 1), "a number above 0, at most 1")
        self._take("memory_gb", rows, lambda x: np.isnan(x) | (x >= 0), "a number of GB >= 0", missing=True)
        self._take_times()
        total = float(self.rounds.astype(float) @ self.tasks.astype(float))
        if total > MOST_TASKS:
            raise InputError(
                "Hare, tasks of all jobs", Words(f"{total:.3g}"), f"at most {MOST_TASKS:g}: coarser rounds"
            )

    @classmethod
    def made(
        cls,
        train_s: npt.ArrayLike,
        sync_s: npt.ArrayLike | None = None,
        *,
        rounds: npt.ArrayLike = 1,
        tasks: npt.ArrayLike = 1,
        weight: npt.ArrayLike = 1.0,
        arrival_s: npt.ArrayLike = 0.0,
        jobs: Sequence[str] | None = None,
        gpus: Sequence[Gpu] | int | None = None,
        memory_gb: npt.ArrayLike = math.nan,
        free_s: npt.ArrayLike = 0.0,
        first_tasks: npt.ArrayLike | None = None,
        barrier_s: npt.ArrayLike = 0.0,
        last_part: npt.ArrayLike = 1.0,
    ) -> HareInstance:
        """An instance from arrays or lists; one number stands for all. None in train_s: the job cannot run there.

        jobs: `J1`, `J2`, ... if not named; gpus: their number makes `GPU1`, `GPU2`, ..., each a type and node of its
        own; sync_s: 0 if not given.
        """
        train = np.array(train_s, dtype=float)
        if gpus is None or isinstance(gpus, int):
            count = gpus if gpus is not None else train.shape[1] if train.ndim == 2 else 0
            gpus = tuple(Gpu(f"GPU{k + 1}", f"type{k + 1}", f"node{k + 1}") for k in range(count))
        if not train.size:
            train = train.reshape(len(train), len(gpus))
        count = len(train)
        names = tuple(f"J{i + 1}" for i in range(count)) if jobs is None else tuple(jobs)
        per_round = _each("tasks", tasks, count)
        sync = np.zeros(train.shape) if sync_s is None else np.array(sync_s, dtype=float)
        return cls(
            names,
            tuple(gpus),
            _each("weight", weight, count),
            _each("arrival_s", arrival_s, count),
            _each("rounds", rounds, count),
            per_round,
            train,
            sync,
            _each("memory_gb", memory_gb, count),
            _each("free_s", free_s, len(gpus)),
            per_round.copy() if first_tasks is None else _each("first_tasks", first_tasks, count),
            _each("barrier_s", barrier_s, count),
            _each("last_part", last_part, count),
        )

    def _take(
        self,
        field: str,
        shape: tuple[int, ...],
        fits: Callable[[FloatArray], BoolArray],
        expected: str,
        whole: bool = False,
        missing: bool = False,
    ) -> None:
        """Make a field a read-only array of that shape, its numbers checked."""
        array = np.array(getattr(self, field), dtype=float)
        array = array.reshape(shape) if not array.size and 0 in shape else array
        if array.shape != shape:
            raise InputError(f"Hare, {field}", array.shape, f"an array of shape {shape}")
        bad = ~(np.isfinite(array) | (np.isnan(array) if missing else False)) | ~fits(array)
        bad |= (array != np.rint(array)) | (np.abs(array) > 1e15) if whole else False
        if bad.any():
            spot = tuple(np.argwhere(bad)[0].tolist())
            raise InputError(f"{self._owner(field, spot)}, {field}", float(array[spot]), expected)
        self._keep(field, array.astype(np.int64) if whole else array)

    def _take_times(self) -> None:
        """The two tables of times, and where a job's memory does not fit."""
        shape = (len(self.jobs), len(self.gpus))
        train = np.array(self.train_s, dtype=float)
        sync = np.array(self.sync_s, dtype=float)
        for field, array in (("train_s", train), ("sync_s", sync)):
            if array.shape != shape and not (array.size == 0 and 0 in shape):
                raise InputError(f"Hare, {field}", array.shape, f"an array of shape {shape}")
        train, sync = train.reshape(shape), sync.reshape(shape)
        train[np.isnan(train)] = math.inf
        sync[np.isinf(train) & np.isnan(sync)] = 0.0
        for field, array, bad in (
            ("train_s", train, train < 0),
            ("sync_s", sync, (sync < 0) | ~np.isfinite(sync)),
        ):
            if bad.any():
                spot = tuple(np.argwhere(bad)[0].tolist())
                where = f"job {self.jobs[spot[0]]} on {self.gpus[spot[1]].name}, {field}"
                raise InputError(where, float(array[spot]), "a number of seconds >= 0")
        self._check_memory(train)
        sync[np.isinf(train)] = 0.0
        stuck = np.isinf(train).all(axis=1)
        if stuck.any():
            name = self.jobs[int(np.argmax(stuck))]
            raise CannotRun(f"job {name}, train_s", Words("a task that no GPU can run"), "a time on at least one GPU")
        self._keep("train_s", train)
        self._keep("sync_s", sync)

    def _check_memory(self, train: FloatArray) -> None:
        """Rule out GPUs with less memory than a job's tasks need."""
        memory = np.array([math.nan if gpu.memory_gb is None else gpu.memory_gb for gpu in self.gpus])
        too_small = self.memory_gb[:, None] > memory
        for row in np.flatnonzero(too_small.any(axis=1)).tolist():
            runs = np.isfinite(train[row])
            if not (runs & ~too_small[row]).any() and runs.any():
                most = max(float(memory[k]) for k in np.flatnonzero(runs))
                raise CannotRun(
                    f"job {self.jobs[row]}, memory_gb",
                    float(self.memory_gb[row]),
                    f"at most {most:g} GB, the largest memory of the GPUs on which it runs",
                )
        train[too_small] = math.inf

    def _keep(self, field: str, array: FloatArray | IntArray) -> None:
        array.setflags(write=False)
        object.__setattr__(self, field, array)

    def _owner(self, field: str, spot: tuple[int, ...]) -> str:
        return f"GPU {self.gpus[spot[0]].name}" if field == "free_s" else f"job {self.jobs[spot[0]]}"

    # Where a job may run ---------------------------------------------------------------------------------------------

    @cached_property
    def runs(self) -> BoolArray:
        """(jobs x gpus) whether a job can run on a GPU."""
        return _frozen(np.isfinite(self.train_s))

    @cached_property
    def kind(self) -> IntArray:
        """(gpus,) number of each GPU's type: GPUs with equal times for every job and equal free_s are one type."""
        columns = np.vstack([self.train_s, self.sync_s, self.free_s[None, :]])
        kinds: dict[bytes, int] = {}
        return _frozen(
            np.array([kinds.setdefault(column.tobytes(), len(kinds)) for column in (columns.T + 0.0)], dtype=np.int64)
        )

    @cached_property
    def first_gpu(self) -> IntArray:
        """(types,) the first GPU of each type, which stands for the others: `train_s[:, first_gpu]`."""
        return _frozen(np.unique(self.kind, return_index=True)[1].astype(np.int64))

    @cached_property
    def count(self) -> IntArray:
        """(types,) GPUs of each type."""
        return _frozen(np.bincount(self.kind).astype(np.int64))

    @cached_property
    def origin_s(self) -> float:
        """The earliest time at which a task could start; 0 without jobs."""
        if not self.jobs:
            return 0.0
        return max(float(self.arrival_s.min()), float(self.free_s.min()))

    # Rounds and tasks in one row -------------------------------------------------------------------------------------

    @cached_property
    def round_job(self) -> IntArray:
        """(rounds,) the job of each round, over all jobs."""
        return _frozen(np.repeat(np.arange(len(self.jobs)), self.rounds))

    @cached_property
    def job_round(self) -> IntArray:
        """(jobs + 1,) number of each job's first round, over all jobs; the last entry: how many there are."""
        return _frozen(np.concatenate([[0], np.cumsum(self.rounds)]).astype(np.int64))

    @cached_property
    def round_number(self) -> IntArray:
        """(rounds,) its number within its job, from 0."""
        return _frozen(np.arange(len(self.round_job)) - self.job_round[self.round_job])

    @cached_property
    def round_tasks(self) -> IntArray:
        """(rounds,) tasks to be scheduled in each round."""
        first = self.round_number == 0
        return _frozen(np.where(first, self.first_tasks[self.round_job], self.tasks[self.round_job]))

    @cached_property
    def round_part(self) -> FloatArray:
        """(rounds,) its tasks' times as a part of `train_s` and `sync_s`: 1 but for last rounds."""
        last = self.round_number == self.rounds[self.round_job] - 1
        return _frozen(np.where(last, self.last_part[self.round_job], 1.0))

    @cached_property
    def round_task(self) -> IntArray:
        """(rounds + 1,) number of each round's first task; the last entry: how many tasks there are."""
        return _frozen(np.concatenate([[0], np.cumsum(self.round_tasks)]).astype(np.int64))

    @cached_property
    def task_round(self) -> IntArray:
        """(tasks,) the round of each task, over all jobs."""
        return _frozen(np.repeat(np.arange(len(self.round_job)), self.round_tasks))

    @cached_property
    def task_job(self) -> IntArray:
        """(tasks,) the job of each task."""
        return _frozen(self.round_job[self.task_round])

    @cached_property
    def task_number(self) -> IntArray:
        """(tasks,) its number within its round, from 0; in a round with tasks started before, those come first."""
        started = np.where(self.round_number == 0, self.tasks[self.round_job] - self.first_tasks[self.round_job], 0)
        within = np.arange(len(self.task_round)) - self.round_task[self.task_round]
        return _frozen(within + started[self.task_round])

    @property
    def task_count(self) -> int:
        """Tasks of all rounds of all jobs."""
        return int(self.round_task[-1])

    def task_train_s(self, task: int, gpu: int) -> float:
        """T^c of a task by its number on a GPU, its round's part included; inf where it cannot run."""
        return float(self.train_s[self.task_job[task], gpu] * self.round_part[self.task_round[task]])

    def task_sync_s(self, task: int, gpu: int) -> float:
        """T^s likewise."""
        return float(self.sync_s[self.task_job[task], gpu] * self.round_part[self.task_round[task]])

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot, knobs: Knobs) -> HareInstance:
        """The instance of the tasks that have not started, those of jobs to come included.

        Raises InputError for numbers out of range, CannotRun for a job that runs on no GPU of a node that is up.
        """
        return tasks_left(snapshot, knobs, strand=False).instance


def _each(field: str, values: npt.ArrayLike, count: int) -> npt.NDArray[Any]:
    """(count,) the values, or one number that many times."""
    array = np.array(values, dtype=float)
    if array.ndim == 0:
        return np.full(count, float(array))
    if array.shape != (count,):
        raise InputError(f"Hare, {field}", array.shape, f"a number, or an array of shape {(count,)}")
    return array


def _frozen(array: npt.NDArray[np.generic]) -> npt.NDArray[Any]:
    array.setflags(write=False)
    return array


def next_tasks(data: HareInstance) -> list[tuple[int, int]]:
    """Tasks of a round and of the next round of its job."""
    ends = data.round_task.tolist()
    return [
        (i, j)
        for r in range(len(data.round_job) - 1)
        if data.round_job[r] == data.round_job[r + 1]
        for i in range(ends[r], ends[r + 1])
        for j in range(ends[r + 1], ends[r + 2])
    ]


@dataclass(frozen=True, eq=False)
class TasksLeft:
    """An instance, and what is left of each of its jobs, in the same order.

    notes: on their times; stranded: jobs left out, as the nodes on which they run are down.
    """

    instance: HareInstance
    rows: tuple[RoundsLeft, ...]
    notes: tuple[Note, ...]
    stranded: tuple[str, ...] = ()

    @property
    def steps_each(self) -> tuple[int, ...]:
        """Steps of a task of each job."""
        return tuple(row.steps_each for row in self.rows)

    def tasks(self, together: bool = False) -> list[Task]:
        """The core's task for each task of the instance, in its order; together: those of a round
        start at the same time."""
        return [task for row in self.rows for task in row.tasks(together)]


def tasks_left(
    snapshot: Snapshot,
    knobs: Knobs,
    without: frozenset[str] = frozenset(),
    *,
    strand: bool = True,
    together: bool = False,
    scaled: bool = False,
) -> TasksLeft:
    """The tasks that have not started, on the GPUs of the nodes that are up, with speeds as believed.

    without: jobs left out; strand: leave out jobs that need nodes that are down, too, for one of their tasks or for all
    of a round `together`; scaled: rounds have as many tasks as there is room for. Raises InputError for numbers out of
    range, CannotRun for a job that no GPU can run.
    """
    gpus = gpus_of(snapshot, up=True)
    left = (*snapshot.jobs.steps_left.tolist(), *(job.steps - job.steps_done for job in snapshot.future))
    jobs = zip((*snapshot.jobs.jobs, *snapshot.future), left, strict=True)
    found = (
        (scaled_left if scaled else rounds_left)(snapshot, job, steps, knobs)
        for job, steps in jobs
        if job.name not in without
    )
    rows = [row for row in found if row is not None]
    times = BelievedTimes(snapshot)
    memory = {model.name: math.nan if model.memory_gb is None else model.memory_gb for model in snapshot.models}
    stranded: tuple[str, ...] = ()
    if strand and not snapshot.nodes.up.all():
        down = gpus_of(snapshot, up=False)

        def waits(row: RoundsLeft) -> bool:
            here, there = (_able(row.job, times, each, memory) for each in (gpus, down))
            needed = parallel_tasks(row.job) if together else 1
            return here < needed <= here + there or here == 0 < there

        stranded = tuple(row.job.name for row in rows if waits(row))
        rows = [row for row in rows if row.job.name not in set(stranded)]
    column = {kind: number for number, kind in enumerate(dict.fromkeys(gpu.accelerator for gpu in gpus))}
    kind_of = [column[gpu.accelerator] for gpu in gpus]
    seconds = [[times.of(row.job, kind) for kind in column] for row in rows]
    each = np.array([row.steps_each for row in rows], dtype=float)[:, None]
    shape = (len(rows), len(column))
    train = np.array([[of.compute_s for of in found] for found in seconds], dtype=float).reshape(shape)
    sync = np.array([[of.sync_s for of in found] for found in seconds], dtype=float).reshape(shape)
    instance = HareInstance.made(
        (train * each)[:, kind_of],
        (sync * each)[:, kind_of],
        rounds=[row.division.count - row.first_round for row in rows],
        tasks=[parallel_tasks(row.job) for row in rows],
        weight=[row.job.weight for row in rows],
        arrival_s=[row.arrival_s for row in rows],
        jobs=[row.job.name for row in rows],
        gpus=gpus,
        memory_gb=[memory.get(row.job.model, math.nan) for row in rows],
        free_s=[_free_s(snapshot, gpu.slot) for gpu in gpus],
        first_tasks=[len(row.open_tasks) for row in rows],
        barrier_s=[row.barrier_s for row in rows],
        last_part=[row.division.whole_steps(row.division.count - 1) / row.steps_each for row in rows],
    )
    return TasksLeft(instance, tuple(rows), times.notes(), stranded)


def step_s(snapshot: Snapshot, job: Job) -> dict[str, float]:
    """Believed seconds of one step of a job's task on each type on which it runs."""
    times = BelievedTimes(snapshot)
    found = {kind: times.of(job, kind).compute_s for kind in snapshot.types}
    return {kind: seconds for kind, seconds in found.items() if seconds < math.inf}


def gpus_of(snapshot: Snapshot, *, up: bool) -> list[Gpu]:
    """The GPUs of the nodes that are up, or of those that are down, in cluster order."""
    memory = {each.name: each.memory_gb for each in snapshot.cluster.accelerators}
    nodes = zip(
        snapshot.nodes.names,
        snapshot.nodes.kind.tolist(),
        snapshot.nodes.gpus.tolist(),
        snapshot.nodes.up.tolist(),
        strict=True,
    )
    return [
        Gpu(f"{name}/{number}", snapshot.types[kind], name, number, memory[snapshot.types[kind]])
        for name, kind, count, is_up in nodes
        if is_up == up
        for number in range(count)
    ]


def _able(job: Job, times: BelievedTimes, gpus: list[Gpu], memory: Mapping[str, float]) -> int:
    """How many of the GPUs can run a job's tasks."""
    needed = memory.get(job.model, math.nan)
    return sum(
        times.of(job, gpu.accelerator).compute_s < math.inf
        and not (gpu.memory_gb is not None and needed > gpu.memory_gb)
        for gpu in gpus
    )


def _free_s(snapshot: Snapshot, slot: Slot) -> float:
    found = snapshot.tasks.computing.get(slot)
    return max(snapshot.now_s, found[2]) if found is not None else snapshot.now_s
