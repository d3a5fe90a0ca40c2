"""A schedule of tasks: the GPU and the start of each; what comes of it, and whether it keeps Hare_Sched's limits.

Tasks are numbered as in `HareInstance`: by job, round and task.
"""

from __future__ import annotations

import abc
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.base.errors import Words, WorkbenchError
from workbench.papers.hare.instance import HareInstance


class Completions(abc.ABC):
    """The measures of completion times. instance: the jobs."""

    instance: HareInstance

    @property
    @abc.abstractmethod
    def completion_s(self) -> FloatArray:
        """(jobs,) C_n: when each one's last round has synchronised."""

    @property
    def objective(self) -> float:
        """The objective of Hare_Sched, sum of w_n C_n, in s x weight."""
        return float(self.instance.weight @ self.completion_s)

    @property
    def weighted_jct_s(self) -> float:
        """Sum of w_n (C_n - a_n), in s x weight."""
        return float(self.instance.weight @ (self.completion_s - self.instance.arrival_s))

    @property
    def makespan_s(self) -> float:
        """When the last job completes; 0 without jobs."""
        return float(self.completion_s.max(initial=0.0))


TOLERANCE = 1e-9
"""Part of the time on the clock by which a task may start too early: sums of seconds are rounded."""


def first_to_start(job: IntArray, start_s: FloatArray) -> IntArray:
    """(jobs,) the task of each job that starts first, of equal ones the first. job, start_s: of each task (tasks,)."""
    order = np.lexsort((start_s, job))
    found: IntArray = order[np.unique(job[order], return_index=True)[1]]
    return found


class InvalidSchedule(WorkbenchError):
    """A schedule that breaks a limit of Hare_Sched."""

    status = "invalid_schedule"


class TaskRow(NamedTuple):
    """One task as tables and the command line show it. Rounds and tasks count from 0; synchronised_s = end_s + T^s."""

    job: str
    round: int
    task: int
    gpu: str
    start_s: float
    end_s: float
    synchronised_s: float


@dataclass(frozen=True, eq=False)
class TaskSchedule(Completions):
    """gpu: (tasks,) number of each task's GPU; start_s: (tasks,) x_i. Arrays are read-only.

    A schedule is taken as it is, so that a wrong one can be shown; `check` raises for it.
    """

    instance: HareInstance
    gpu: IntArray
    start_s: FloatArray

    def __post_init__(self) -> None:
        for field, kind in (("gpu", np.int64), ("start_s", np.float64)):
            array = np.array(getattr(self, field), dtype=kind).reshape(self.instance.task_count)
            array.setflags(write=False)
            object.__setattr__(self, field, array)

    # Times -----------------------------------------------------------------------------------------------------------

    @cached_property
    def train_s(self) -> FloatArray:
        """(tasks,) T^c on its GPU, inf where it cannot run."""
        data = self.instance
        found: FloatArray = data.train_s[data.task_job, self.gpu] * data.round_part[data.task_round]
        return found

    @cached_property
    def end_s(self) -> FloatArray:
        """(tasks,) when its GPU is free again: start + T^c."""
        return self.start_s + self.train_s

    @cached_property
    def synchronised_s(self) -> FloatArray:
        """(tasks,) when it has synchronised: start + T^c + T^s."""
        data = self.instance
        found: FloatArray = self.end_s + data.sync_s[data.task_job, self.gpu] * data.round_part[data.task_round]
        return found

    @cached_property
    def round_end_s(self) -> FloatArray:
        """(rounds,) when all tasks of a round have synchronised, those that started before the schedule included."""
        data = self.instance
        if not data.task_count:
            return np.zeros(0)
        ends: FloatArray = np.maximum.reduceat(self.synchronised_s, data.round_task[:-1])
        first = data.job_round[:-1]
        ends[first] = np.maximum(ends[first], data.barrier_s)
        return ends

    @cached_property
    def completion_s(self) -> FloatArray:
        """(jobs,) C_n: when its last round has synchronised."""
        return self.round_end_s[self.instance.job_round[1:] - 1]

    # Limits ----------------------------------------------------------------------------------------------------------

    def check(self, owner: str = "schedule") -> TaskSchedule:
        """The schedule itself; raises InvalidSchedule in the name of `owner`, naming the task, for a broken limit.

        Each task once on a GPU that can run it (5); not before its job arrives (4); not before all tasks of the round
        before have synchronised (7); one task at a time on a GPU (8); and not before the GPU is free.
        """
        data = self.instance
        there = (self.gpu >= 0) & (self.gpu < len(data.gpus))
        self._require(owner, there, self.gpu, f"a GPU from 0 to {len(data.gpus) - 1}")
        self._require(owner, np.isfinite(self.start_s), self.start_s, "a finite start")
        self._require(owner, np.isfinite(self.train_s), self.gpu, "a GPU on which its job can run (5)")
        slack = TOLERANCE * max(1.0, self.makespan_s, data.origin_s)
        soonest = np.maximum(data.arrival_s[data.task_job], data.free_s[self.gpu])
        self._require(owner, self.start_s >= soonest - slack, self.start_s, "no start before arrival (4) or a free GPU")
        before = np.where(data.round_number > 0, np.roll(self.round_end_s, 1), -np.inf)[data.task_round]
        self._require(owner, self.start_s >= before - slack, self.start_s, "no start before the round's barrier (7)")
        order = np.lexsort((self.end_s, self.start_s, self.gpu))
        follows = np.zeros(data.task_count, dtype=bool)
        follows[1:] = self.gpu[order[1:]] == self.gpu[order[:-1]]
        early = follows.copy()
        early[1:] &= self.start_s[order[1:]] < self.end_s[order[:-1]] - slack
        alone = np.ones(data.task_count, dtype=bool)
        alone[order] = ~early
        self._require(owner, alone, self.start_s, "no start before the task before it on its GPU has computed (8)")
        return self

    def _require(self, owner: str, holds: BoolArray, value: npt.NDArray[Any], limit: str) -> None:
        if holds.all():
            return
        task = int(np.argmin(holds))
        raise InvalidSchedule(f"{owner}, {self.name(task)}", value[task].item(), limit)

    def name(self, task: int) -> Words:
        """A task in words."""
        data = self.instance
        job = data.jobs[data.task_job[task]]
        return Words(f"job {job}, round {data.round_number[data.task_round[task]]}, task {data.task_number[task]}")

    # As others read it -----------------------------------------------------------------------------------------------

    @cached_property
    def sequences(self) -> tuple[tuple[int, ...], ...]:
        """For each GPU its tasks in the order in which they start; what the paper sends to its executors."""
        order = np.lexsort((np.arange(self.instance.task_count), self.end_s, self.start_s, self.gpu))
        cuts = np.searchsorted(self.gpu[order], np.arange(len(self.instance.gpus) + 1)).tolist()
        tasks = order.tolist()
        return tuple(tuple(tasks[first:last]) for first, last in itertools.pairwise(cuts))

    @property
    def first_task(self) -> IntArray:
        """(jobs,) the number of each job's task that starts first."""
        return first_to_start(self.instance.task_job, self.start_s)

    def rows(self) -> list[TaskRow]:
        """Every task, in the order of their numbers."""
        data = self.instance
        columns = zip(
            data.task_job.tolist(),
            data.round_number[data.task_round].tolist(),
            data.task_number.tolist(),
            self.gpu.tolist(),
            self.start_s.tolist(),
            self.end_s.tolist(),
            self.synchronised_s.tolist(),
            strict=True,
        )
        return [TaskRow(data.jobs[job], r, i, data.gpus[gpu].name, *times) for job, r, i, gpu, *times in columns]

    def values(self) -> dict[str, Any]:
        """JSON-able, for a `Result`: `tasks`, `completion_s` by job, `weighted_jct_s`, `makespan_s`."""
        return {
            "tasks": [row._asdict() for row in self.rows()],
            "completion_s": dict(zip(self.instance.jobs, self.completion_s.tolist(), strict=True)),
            "weighted_jct_s": self.weighted_jct_s,
            "makespan_s": self.makespan_s,
        }


def in_order(instance: HareInstance, gpu: npt.ArrayLike, order: Iterable[int]) -> TaskSchedule:
    """The schedule in which each task, in this order and on its given GPU, starts as early as it can.

    gpu: (tasks,) number of the GPU of each task; order: every task once, none before one of an earlier round of its
    job. A GPU takes its tasks in that order: gaps are not filled. No start is later than in any schedule with the same
    GPUs and the same order on each.
    """
    on = np.array(gpu, dtype=np.int64).reshape(instance.task_count)
    blank = TaskSchedule(instance, on, np.zeros(instance.task_count))
    times = (blank.train_s, blank.synchronised_s, instance.arrival_s, instance.free_s, instance.barrier_s)
    return TaskSchedule(instance, on, earliest_starts(instance, on, order, *times))


def earliest_starts(
    instance: HareInstance,
    gpu: IntArray,
    order: Iterable[int],
    train: FloatArray,
    both: FloatArray,
    arrival: FloatArray,
    free: FloatArray,
    barrier: FloatArray,
) -> FloatArray:
    """(tasks,) starts as in `in_order`, with times in any unit: train and both (tasks,), T^c and T^c + T^s on its GPU.

    arrival and barrier: (jobs,); free: (gpus,).
    """
    on, rounds, jobs = gpu.tolist(), instance.task_round.tolist(), instance.task_job.tolist()
    first = (instance.round_number == 0).tolist()
    idle, left = free.tolist(), instance.round_tasks.tolist()
    ends = np.where(instance.round_number == 0, barrier[instance.round_job], 0.0).tolist()
    start = np.full(instance.task_count, np.nan)
    for task in order:
        r, m = rounds[task], on[task]
        if not first[r] and left[r - 1]:
            raise ValueError(f"task {task} comes before a task of the round before")
        begin = max(idle[m], float(arrival[jobs[task]]), 0.0 if first[r] else ends[r - 1])
        start[task] = begin
        idle[m] = begin + float(train[task])
        ends[r] = max(ends[r], begin + float(both[task]))
        left[r] -= 1
    if any(left) or np.isnan(start).any():
        raise ValueError("an order without some of the tasks, or with some of them twice")
    return start
