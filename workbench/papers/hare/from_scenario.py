"""A scenario's jobs as rounds of tasks: the instance that Hare schedules, and which task of the core each task is.

A job has K = tasks_per_round or else gpus tasks in parallel, and ceil(steps / (K k)) rounds of k steps
(`workbench.papers.hare.coarsening`). A step computes for T^c = 1/r(1) on each GPU of a type and then synchronises for
T^s = sync_s or max(0, K/r(K) - 1/r(1)), where r(n) is the believed speed of a gang of n in steps/s. Where K/r(K) is
less than 1/r(1) nothing is left to synchronise, and where the table has no r(1) the time of a gang counts as computing:
`Gathered.notes` says for which models (`workbench.throughput.TaskTimes`). Peak memory of a model rules GPUs out.

In mid-life (`Snapshot.tasks`) an instance has the tasks that have not started: a GPU is free when its task has
computed, and a round whose tasks have all started is a barrier to the next one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from workbench.contract import Knobs
from workbench.decision import Slot, Snapshot, Task
from workbench.job import Job
from workbench.papers.hare.coarsening import MOST_ROUNDS, STEPS_PER_ROUND, parallel_tasks, steps_each
from workbench.papers.hare.instance import Gpu, Instance
from workbench.throughput import TaskRounds, TaskTimes

KNOBS = (MOST_ROUNDS, STEPS_PER_ROUND)


class Note(NamedTuple):
    """Times of a model that are not what its rows say: `clamped` or `from_gang` on these types."""

    model: str
    tasks: int
    note: str
    types: tuple[str, ...]

    def __str__(self) -> str:
        where = f"{self.model} in rounds of {self.tasks} on {', '.join(self.types)}"
        if self.note == "clamped":
            return f"{where}: a gang is faster than its GPUs one by one; no time to synchronise is left"
        return f"{where}: no speed of a GPU alone; a task computes as long as a gang takes for its step"


class _Row(NamedTuple):
    """One job of an instance: what is left of it. open_tasks: of its first round, the numbers that have not started."""

    job: Job
    steps_each: int
    plan: TaskRounds
    first_round: int
    open_tasks: tuple[int, ...]
    arrival_s: float
    barrier_s: float


@dataclass(frozen=True, eq=False)
class Gathered:
    """An instance, and for each of its jobs the steps of a task, the number of its first round, and the tasks of that
    round which have not started.

    models: of the jobs; notes: on their times; stranded: jobs left out, as the nodes on which they run are down.
    """

    instance: Instance
    steps_each: tuple[int, ...]
    first_round: tuple[int, ...]
    open_tasks: tuple[tuple[int, ...], ...]
    models: tuple[str, ...]
    notes: tuple[Note, ...]
    stranded: tuple[str, ...] = ()

    def tasks(self, together: bool = False) -> list[Task]:
        """The core's task for each task of the instance, in its order, without switching; together: those of a round
        start at the same time."""
        found: list[Task] = []
        data = self.instance
        for row, name in enumerate(data.jobs):
            first, each, wide = self.first_round[row], self.steps_each[row], range(int(data.tasks[row]))
            found += [Task(name, first, number, each, 0.0, together) for number in self.open_tasks[row]]
            later = range(first + 1, first + int(data.rounds[row]))
            found += [Task(name, number, task, each, 0.0, together) for number in later for task in wide]
        return found


def instance_of(snapshot: Snapshot, knobs: Knobs) -> Instance:
    """The instance of the tasks that have not started, those of jobs to come included.

    Raises InputError for numbers out of range, CannotRun for a job that runs on no GPU of a node that is up.
    """
    return gather(snapshot, knobs, strand=False).instance


def gather(
    snapshot: Snapshot,
    knobs: Knobs,
    without: frozenset[str] = frozenset(),
    *,
    strand: bool = True,
    together: bool = False,
) -> Gathered:
    """The tasks that have not started, on the GPUs of the nodes that are up, with speeds as believed.

    without: jobs left out; strand: leave out jobs that need nodes that are down, too, for one of their tasks or for all
    of a round `together`. Raises InputError for numbers out of range, CannotRun for a job that no GPU can run.
    """
    gpus = gpus_of(snapshot, up=True)
    left = (*snapshot.jobs.steps_left.tolist(), *(job.steps - job.steps_done for job in snapshot.future))
    jobs = zip((*snapshot.jobs.jobs, *snapshot.future), left, strict=True)
    found = (_row(snapshot, job, steps, knobs) for job, steps in jobs if job.name not in without)
    rows = [row for row in found if row is not None]
    times = _Times(snapshot)
    memory = {model.name: math.nan if model.memory_gb is None else model.memory_gb for model in snapshot.models}
    stranded: tuple[str, ...] = ()
    if strand and not snapshot.nodes.up.all():
        down = gpus_of(snapshot, up=False)

        def waits(row: _Row) -> bool:
            here, there = (_able(row.job, times, each, memory) for each in (gpus, down))
            return here < (parallel_tasks(row.job) if together else 1) <= here + there

        stranded = tuple(row.job.name for row in rows if waits(row))
        rows = [row for row in rows if row.job.name not in set(stranded)]
    of_type = {gpu.accelerator: None for gpu in gpus}
    seconds = [{kind: times.of(row.job, kind) for kind in of_type} for row in rows]
    each = np.array([row.steps_each for row in rows], dtype=float)[:, None]
    train = [[times_of[gpu.accelerator].compute_s for gpu in gpus] for times_of in seconds]
    sync = [[times_of[gpu.accelerator].sync_s for gpu in gpus] for times_of in seconds]
    shape = (len(rows), len(gpus))
    instance = Instance.made(
        np.array(train, dtype=float).reshape(shape) * each,
        np.array(sync, dtype=float).reshape(shape) * each,
        rounds=[row.plan.count - row.first_round for row in rows],
        tasks=[parallel_tasks(row.job) for row in rows],
        weight=[row.job.weight for row in rows],
        arrival_s=[row.arrival_s for row in rows],
        jobs=[row.job.name for row in rows],
        gpus=gpus,
        memory_gb=[memory.get(row.job.model, math.nan) for row in rows],
        free_s=[_free_s(snapshot, gpu.slot) for gpu in gpus],
        first_tasks=[len(row.open_tasks) for row in rows],
        barrier_s=[row.barrier_s for row in rows],
        last_part=[row.plan.whole_steps(row.plan.count - 1) / row.steps_each for row in rows],
    )
    return Gathered(
        instance,
        tuple(row.steps_each for row in rows),
        tuple(row.first_round for row in rows),
        tuple(row.open_tasks for row in rows),
        tuple(row.job.model for row in rows),
        times.notes(),
        stranded,
    )


def step_s(snapshot: Snapshot, job: Job) -> dict[str, float]:
    """Believed seconds of one step of a job's task on each type on which it runs."""
    times = _Times(snapshot)
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


def _able(job: Job, times: _Times, gpus: list[Gpu], memory: Mapping[str, float]) -> int:
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


def _row(snapshot: Snapshot, job: Job, steps_left: float, knobs: Knobs) -> _Row | None:
    """What is left of a job to schedule; None if all its tasks have started."""
    view, wide, each = snapshot.tasks, parallel_tasks(job), steps_each(job, knobs)
    started = view.started.get(job.name, frozenset())
    current, barrier_s = view.rounds_done.get(job.name, 0), view.barrier_s.get(job.name, 0.0)
    if current == 0 and not started:
        plan = TaskRounds.of(steps_left, wide, each)
        return _Row(job, each, plan, 0, tuple(range(wide)), job.arrival_s, 0.0)
    plan = TaskRounds.of(job.steps - job.steps_done, wide, each)
    open_tasks = tuple(number for number in range(wide) if (current, number) not in started)
    if open_tasks:
        return _Row(job, each, plan, current, open_tasks, job.arrival_s, barrier_s)
    if current + 1 == plan.count:
        return None
    return _Row(job, each, plan, current + 1, tuple(range(wide)), max(job.arrival_s, barrier_s), 0.0)


class _Times:
    """Seconds of a job's tasks on each type, as believed; asked once for each model, K and sizes."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._known: dict[tuple[str, int, tuple[int, ...], str], TaskTimes] = {}

    def of(self, job: Job, kind: str) -> TaskTimes:
        """Seconds of one step on a GPU of a type."""
        tasks = parallel_tasks(job)
        key = (job.model, tasks, job.sizes, kind)
        if key not in self._known:
            belief, fewest = self._snapshot.belief, self._snapshot.cluster.fewest_nodes

            def steps_per_s(gpus: int) -> float:
                found = belief.steps_per_s(job, kind, gpus, "consolidated", fewest(kind, gpus))
                return found or belief.steps_per_s(job, kind, gpus, "unconsolidated")

            listed = self._snapshot.synchronisation_s.get((job.model, kind, tasks))
            self._known[key] = TaskTimes.of(steps_per_s, tasks, job.sizes, listed)
        return self._known[key]

    def notes(self) -> tuple[Note, ...]:
        """What is not as the rows say, by model, K and kind of note."""
        types: dict[tuple[str, int, str], dict[str, None]] = {}
        for (model, tasks, _, kind), found in self._known.items():
            if found.note:
                types.setdefault((model, tasks, found.note), {})[kind] = None
        return tuple(Note(*key, tuple(kinds)) for key, kinds in types.items())
