"""A scenario's jobs as rounds of tasks: the instance that Hare schedules, and which task of the core each task is.

A job has K = tasks_per_round or else gpus tasks in parallel, and ceil(steps / (K k)) rounds of k steps
(`workbench.baselines.mechanisms.coarsening`). A step computes for T^c = 1/r(1) on each GPU of a type and then
synchronises for T^s = sync_s or max(0, K/r(K) - 1/r(1)), where r(n) is the believed speed of a gang of n in steps/s.
Where K/r(K) is less than 1/r(1) nothing is left to synchronise, and where the table has no r(1) the time of a gang
counts as computing: `Gathered.notes` says for which models (`workbench.scenario.throughput.TaskTimes`). Peak memory of
a model rules GPUs out.

In mid-life (`Snapshot.tasks`) an instance has the tasks that have not started: a GPU is free when its task has
computed, and a round whose tasks have all started is a barrier to the next one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from workbench.baselines.mechanisms.coarsening import MOST_ROUNDS, STEPS_PER_ROUND, parallel_tasks
from workbench.baselines.mechanisms.task_rounds import RoundsLeft, rounds_left, scaled_left
from workbench.baselines.mechanisms.task_times import BelievedTimes, Note
from workbench.papers.hare.instance import Gpu, Instance
from workbench.scenario.job import Job
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import Slot, Snapshot, Task

KNOBS = (MOST_ROUNDS, STEPS_PER_ROUND)


@dataclass(frozen=True, eq=False)
class Gathered:
    """An instance, and what is left of each of its jobs, in the same order.

    notes: on their times; stranded: jobs left out, as the nodes on which they run are down.
    """

    instance: Instance
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
    scaled: bool = False,
) -> Gathered:
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
    instance = Instance.made(
        (train * each)[:, kind_of],
        (sync * each)[:, kind_of],
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
    return Gathered(instance, tuple(rows), times.notes(), stranded)


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
