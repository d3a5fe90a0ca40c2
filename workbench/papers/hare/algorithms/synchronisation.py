"""The three ways to synchronise a round (section 2.2.3, Fig. 4), so that their schedules can be compared.

- `relaxed` (relaxed scale-fixed, Hare's): a round has a fixed number of tasks, and they run when and where there is
  room, also one after the other on one GPU.
- `scale_fixed`: they start together (Fig. 4a), each on a GPU of its own.
- `scale_adaptive`: a round has as many tasks as there are GPUs for it just then. The scheduler keeps a job's steps as
  they are.

Scale-fixed rounds come in Algorithm 1's order. A round starts when as many GPUs as it has tasks are free, and takes
those on which it has synchronised first (ours; the paper does not say which): of each set of GPUs that are fast enough
for one end, as many as it needs that are free first.

Scale-adaptive, a job's next round starts as soon as it may and one GPU is free, with at most the tasks of its own
round, all at once; of the GPUs that are free then it takes the fastest, as many as give the most tasks per second until
it has synchronised (ours). Each task is a task of the job, so that small rounds make more of them. The paper does not
use it, as training at another scale may need more epochs, and nobody can say how many: `more_work` is the part that is
added for a job once a round of it was smaller (ours; 0: none).

Who is next goes by the middle completion time of the job's next task.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.base.errors import InputError, counted
from workbench.papers.hare.algorithms.list_schedule import algorithm_1, fluid_start_s, middle_s, safe_order
from workbench.papers.hare.algorithms.schedule import Completions, TaskRow, TaskSchedule, first_to_start
from workbench.papers.hare.instance import HareInstance
from workbench.scheduling.decision import Task
from workbench.scheduling.snapshot import TaskView


def place_together(instance: HareInstance, order: Iterable[int]) -> TaskSchedule:
    """Every round as a gang, when the first of its tasks comes in `order`, none before an earlier round of its job.

    Raises InputError naming a job whose rounds have more tasks than there are GPUs that can run it.
    """
    enough(instance)
    free, both = np.array(instance.free_s, dtype=float), instance.train_s + instance.sync_s
    gpu, start = np.full(instance.task_count, -1, dtype=np.int64), np.zeros(instance.task_count)
    rounds, ends = instance.task_round.tolist(), np.full(len(instance.round_job), np.nan)
    for task in order:
        r = rounds[task]
        if not np.isnan(ends[r]):
            continue
        job, begins = int(instance.round_job[r]), bool(instance.round_number[r] == 0)
        ready_s = max(float(instance.arrival_s[job]), 0.0 if begins else float(ends[r - 1]))
        part, width = float(instance.round_part[r]), int(instance.round_tasks[r])
        start_s, taken = _gang(free, ready_s, both[job] * part, width)
        first = int(instance.round_task[r])
        gpu[first : first + width], start[first : first + width] = taken, start_s
        free[taken] = start_s + instance.train_s[job, taken] * part
        ends[r] = max(start_s + float(both[job, taken].max()) * part, float(instance.barrier_s[job]) if begins else 0.0)
    return TaskSchedule(instance, gpu, start)


def enough(instance: HareInstance) -> None:
    """Raise InputError naming a job whose rounds have more tasks than there are GPUs that can run it."""
    able = instance.runs.sum(axis=1)
    for row in np.flatnonzero(able < instance.tasks).tolist():
        expected = f"at most {counted(int(able[row]), 'GPU')} that can run it (relaxed: they go one after the other)"
        raise InputError(
            f"job {instance.jobs[row]}, scale-fixed: tasks that start together", int(instance.tasks[row]), expected
        )


def _gang(free: FloatArray, ready_s: float, both: FloatArray, width: int) -> tuple[float, IntArray]:
    """When and on which GPUs a round has synchronised first; of equal ones those that became free last."""
    could = np.maximum(free, ready_s)
    best: tuple[float, float, float] | None = None
    for slowest in np.unique(both[np.isfinite(both)]).tolist():
        able = both <= slowest
        if able.sum() >= width:
            start_s = float(np.partition(could[able], width - 1)[width - 1])
            if best is None or start_s + slowest < best[0]:
                best = (start_s + slowest, start_s, slowest)
    assert best is not None  # `enough` has counted the GPUs
    _, start_s, slowest = best
    able = np.flatnonzero((both <= slowest) & (could <= start_s))
    return start_s, np.sort(able[np.lexsort((able, -free[able]))][:width])


NOTHING = (np.zeros(0),) * 6


@dataclass(frozen=True, eq=False)
class AdaptiveSchedule(Completions):
    """Tasks in rounds of their own sizes. Arrays (tasks,): job, number of the round, GPU, start, T^c and T^s."""

    instance: HareInstance
    job: IntArray
    round: IntArray
    gpu: IntArray
    start_s: FloatArray
    train_s: FloatArray
    sync_s: FloatArray

    @cached_property
    def completion_s(self) -> FloatArray:
        """(jobs,) when the last round of each has synchronised."""
        found = self.instance.barrier_s.copy()
        np.maximum.at(found, self.job, self.start_s + self.train_s + self.sync_s)
        return found

    @property
    def sequences(self) -> tuple[tuple[int, ...], ...]:
        """For each GPU its tasks in the order in which they start."""
        order = np.lexsort((self.round, self.job, self.start_s, self.gpu))
        cuts = np.searchsorted(self.gpu[order], np.arange(len(self.instance.gpus) + 1)).tolist()
        tasks = order.tolist()
        return tuple(tuple(tasks[first:last]) for first, last in itertools.pairwise(cuts))

    @property
    def first_task(self) -> IntArray:
        """(jobs,) the number of each job's task that starts first."""
        return first_to_start(self.job, self.start_s)

    def rows(self) -> list[TaskRow]:
        """Every task, as `TaskSchedule.rows` gives them."""
        data, found = self.instance, list[TaskRow]()
        numbers: dict[tuple[int, int], int] = {}
        for i, (job, r, gpu, start) in enumerate(
            zip(self.job.tolist(), self.round.tolist(), self.gpu.tolist(), self.start_s.tolist(), strict=True)
        ):
            number = numbers[job, r] = numbers.get((job, r), -1) + 1
            end_s = start + float(self.train_s[i])
            name = data.gpus[gpu].name
            found.append(TaskRow(data.jobs[job], r, number, name, start, end_s, end_s + float(self.sync_s[i])))
        return found


def place_adaptive(instance: HareInstance, start_s: FloatArray, more_work: float = 0.0) -> AdaptiveSchedule:
    """Rounds of as many tasks as there are GPUs, for the starts x^ (tasks,) of a relaxation.

    Raises InputError for work below 0.
    """
    if not 0 <= more_work < math.inf:
        raise InputError("Hare, more_work", more_work, "a number >= 0")
    order = safe_order(instance, middle_s(instance, start_s))
    turn = np.empty(instance.task_count, dtype=np.int64)
    turn[order] = np.arange(instance.task_count)  # the place of each task in Algorithm 1's order
    first = instance.round_task[instance.job_round].tolist()
    own = [last - begin for begin, last in itertools.pairwise(first)]
    line = [(int(turn[task]), job) for job, task in enumerate(first[:-1])]
    heapq.heapify(line)
    ready = instance.arrival_s.tolist()
    done, rounds, total = [0] * len(own), [0] * len(own), own.copy()
    parts = instance.round_part[instance.task_round].tolist()
    most_of = instance.round_tasks[instance.task_round].tolist()
    train_s, sync_s = instance.train_s.tolist(), instance.sync_s.tolist()
    free, both = np.array(instance.free_s, dtype=float), instance.train_s + instance.sync_s
    found: list[tuple[int, int, int, float, float, float]] = []
    while line:
        _, job = heapq.heappop(line)
        most = min(most_of[first[job] + min(done[job], own[job] - 1)], total[job] - done[job])
        begin_s, taken = _free_now(free, ready[job], both[job], most)
        for task, m in enumerate(taken.tolist(), start=done[job]):
            part = parts[first[job] + min(task, own[job] - 1)]  # work that is added is like the last task
            train, sync = train_s[job][m] * part, sync_s[job][m] * part
            found.append((job, rounds[job], m, begin_s, train, sync))
            free[m] = begin_s + train
            ready[job] = max(ready[job], begin_s + train + sync)
        if rounds[job] == 0:
            ready[job] = max(ready[job], float(instance.barrier_s[job]))
        if len(taken) < most and total[job] == own[job]:
            total[job] = math.ceil(own[job] * (1 + more_work))
        done[job], rounds[job] = done[job] + len(taken), rounds[job] + 1
        if done[job] < total[job]:
            heapq.heappush(line, (int(turn[first[job] + min(done[job], own[job] - 1)]), job))
    job_of, round_of, gpu_of, start, trains, syncs = (
        (np.array(column) for column in zip(*found, strict=True)) if found else NOTHING
    )
    numbers = [column.astype(np.int64) for column in (job_of, round_of, gpu_of)]
    return AdaptiveSchedule(instance, numbers[0], numbers[1], numbers[2], start, trains, syncs)


def core_tasks(plan: AdaptiveSchedule, steps_each: Sequence[int], view: TaskView) -> list[Task]:
    """The core's task for each task of a plan, in its order; those of a round start together.

    steps_each: (jobs,) steps of a task. Tasks that a fault has taken from a round that began go first: that round has a
    width, so they are done in it, one by one.
    """
    data, found = plan.instance, dict[int, Task]()
    for job, name in enumerate(data.jobs):
        mine = np.flatnonzero(plan.job == job)
        mine = mine[np.argsort(plan.round[mine], kind="stable")].tolist()
        current, width = view.rounds_done.get(name, 0), view.width.get(name, 0)
        started = {number for _, number in view.started.get(name, ())}
        lost = [number for number in range(width) if number not in started]
        found |= {
            task: Task(name, current, number, steps_each[job], width=width)
            for task, number in zip(mine, lost, strict=False)
        }
        rounds = itertools.groupby(mine[len(lost) :], key=lambda task: int(plan.round[task]))
        for number, (_, members) in enumerate(rounds, start=current + (width > 0)):
            group = list(members)
            found |= {task: Task(name, number, i, steps_each[job], True, len(group)) for i, task in enumerate(group)}
    return [found[task] for task in range(len(plan.job))]


def _free_now(free: FloatArray, ready_s: float, both: FloatArray, most: int) -> tuple[float, IntArray]:
    """When a job's next round can start, and on which of the GPUs that are free then."""
    could = np.where(both < np.inf, np.maximum(free, ready_s), np.inf)
    begin_s = float(could.min())
    there = (could <= begin_s).nonzero()[0]
    if most == 1 or len(there) == 1:
        return begin_s, there[both[there].argmin()][None]
    there = there[np.argsort(both[there], kind="stable")][:most]
    with np.errstate(divide="ignore"):
        rate = np.arange(1, len(there) + 1) / both[there]
    return begin_s, there[: int(len(rate) - np.argmax(rate[::-1]))]


def schedules(
    instance: HareInstance, more_work: float = 0.0, *, scale_fixed: bool = True
) -> Mapping[str, TaskSchedule | AdaptiveSchedule]:
    """The schedule of each way, from the same starts: those of the fluid relaxation.

    scale_fixed: that way, too. Raises InputError for a job with more tasks in a round than GPUs that can run it, which
    cannot be scale-fixed (`together.enough`).
    """
    begin = fluid_start_s(instance)
    found: dict[str, TaskSchedule | AdaptiveSchedule] = {"relaxed": algorithm_1(instance, begin)}
    if scale_fixed:
        found["scale_fixed"] = place_together(instance, safe_order(instance, middle_s(instance, begin)))
    return {**found, "scale_adaptive": place_adaptive(instance, begin, more_work)}
