"""Scale-adaptive synchronisation (section 2.2.3): a round has as many tasks as there are GPUs for it just then.

A job's next round starts as soon as it may and one GPU is free, with at most the tasks of its own round, all at once;
of the GPUs that are free then it takes the fastest, as many as give the most tasks per second until it has synchronised
(ours). Each task is a task of the job, so that small rounds make more of them. The paper does not use it, as training
at another scale may need more epochs, and nobody can say how many: `more_work` is the part that is added for a job once
a round of it was smaller (ours; 0: none).

Who is next goes by the middle completion time of the job's next task, as in Algorithm 1.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from workbench.base.errors import InputError
from workbench.papers.hare.algorithm import middle_s, safe_order
from workbench.papers.hare.completions import Completions
from workbench.papers.hare.instance import Instance
from workbench.papers.hare.schedule import Row
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import IntArray, Task, TaskView

NOTHING = (np.zeros(0),) * 6


@dataclass(frozen=True, eq=False)
class AdaptiveSchedule(Completions):
    """Tasks in rounds of their own sizes. Arrays (tasks,): job, number of the round, GPU, start, T^c and T^s."""

    instance: Instance
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
        """(jobs,) the number of each job's first task."""
        found: IntArray = np.unique(self.job, return_index=True)[1]
        return found

    def rows(self) -> list[Row]:
        """Every task, as `Schedule.rows` gives them."""
        data, found = self.instance, list[Row]()
        numbers: dict[tuple[int, int], int] = {}
        for i, (job, r, gpu, start) in enumerate(
            zip(self.job.tolist(), self.round.tolist(), self.gpu.tolist(), self.start_s.tolist(), strict=True)
        ):
            number = numbers[job, r] = numbers.get((job, r), -1) + 1
            end_s = start + float(self.train_s[i])
            name = data.gpus[gpu].name
            found.append(Row(data.jobs[job], r, number, name, start, end_s, end_s + float(self.sync_s[i])))
        return found


def place_adaptive(instance: Instance, start_s: FloatArray, more_work: float = 0.0) -> AdaptiveSchedule:
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
