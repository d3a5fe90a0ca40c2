"""Hare's Algorithm 1 (section 5.2): tasks in the order of their middle completion times, each on a GPU chosen greedily.

1. Starts x^_i come from a relaxation: Hare_Sched_RL where its size allows, else `workbench.papers.hare.fluid`.
2. H_i = max over the GPUs that can run task i of x^_i + T^c_im / 2, the middle completion time; then no less than that
   of any task of an earlier round of its job, so that no task precedes one that it waits for (ours: a safe order).
3. Tasks in the order of (H, job, round, number). A task is ready at its job's arrival, or when all tasks of the round
   before have synchronised, and takes a GPU (line 12) for T^c from the later of ready and free.

Line 12 takes the GPU that is free first, however slow it is on it: `earliest_available`, the paper. `earliest_finish`
(ours) takes the one on which the task has synchronised first; of several the one that became free last, which leaves
the shortest gap. With `insertion` (ours) idle time before tasks that are placed already counts as free, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from workbench.decision import BoolArray, IntArray
from workbench.knob import Knob
from workbench.papers.hare.instance import Instance
from workbench.papers.hare.schedule import Schedule
from workbench.throughput import FloatArray

Rule = Literal["earliest_finish", "earliest_available"]

ASSIGNMENT = Knob(
    "assignment",
    "earliest_finish",
    "Which GPU a task takes: where it has synchronised first, or the one that is free first whatever its speed (the "
    "paper's line 12)",
    kind="str",
    choices=("earliest_finish", "earliest_available"),
    main=True,
)
INSERTION = Knob(
    "insertion",
    False,
    "A task may start in a gap before tasks that are placed already",
    kind="bool",
)
SLACK = 1e-12
"""Part of the time on the clock by which a task may be too long for a gap: sums of seconds are rounded."""


def algorithm_1(
    instance: Instance, start_s: FloatArray, assignment: Rule = "earliest_finish", insertion: bool = False
) -> Schedule:
    """The schedule of Algorithm 1 for the starts x^ (tasks,) of a relaxation."""
    return place(instance, safe_order(instance, middle_s(instance, start_s)), assignment, insertion)


def middle_s(instance: Instance, start_s: FloatArray) -> FloatArray:
    """(tasks,) H_i as printed: the largest of x^_i + T^c_im / 2 over the GPUs that can run the task."""
    longest = np.where(instance.runs, instance.train_s, 0.0).max(axis=1, initial=0.0)
    found: FloatArray = start_s + longest[instance.task_job] * instance.round_part[instance.task_round] / 2.0
    return found


def safe_order(instance: Instance, middle: FloatArray) -> IntArray:
    """Task numbers in the order in which Algorithm 1 takes them; middle: (tasks,) H_i."""
    if not instance.task_count:
        return np.zeros(0, dtype=np.int64)
    latest = np.maximum.reduceat(middle, instance.round_task[:-1])
    for first, last in zip(instance.job_round[:-1].tolist(), instance.job_round[1:].tolist(), strict=True):
        np.maximum.accumulate(latest[first:last], out=latest[first:last])
    before = np.where(instance.round_number > 0, np.roll(latest, 1), -np.inf)
    safe = np.maximum(middle, before[instance.task_round])
    return np.lexsort((np.arange(instance.task_count), instance.task_round, safe))


def place(
    instance: Instance, order: Iterable[int], assignment: Rule = "earliest_finish", insertion: bool = False
) -> Schedule:
    """Lines 5 to 18: every task of `order` on a GPU, none before a task of an earlier round of its job."""
    idle = _Idle(instance.free_s, insertion)
    times = _Times(instance)
    first, arrival = (instance.round_number == 0).tolist(), instance.arrival_s.tolist()
    rounds, round_job = instance.task_round.tolist(), instance.round_job.tolist()
    left, ends = instance.round_tasks.tolist(), [0.0] * len(round_job)
    for job, r in enumerate(instance.job_round[:-1].tolist()):
        ends[r] = float(instance.barrier_s[job])
    gpu, start = np.full(instance.task_count, -1, dtype=np.int64), np.zeros(instance.task_count)
    for task in order:
        r = rounds[task]
        job = round_job[r]
        if not first[r] and left[r - 1]:
            raise ValueError(f"task {task} comes before a task of the round before")
        ready_s = arrival[job] if first[r] else max(ends[r - 1], arrival[job])
        train, both = times.of(job, r)
        gap = idle.soonest(ready_s, train) if assignment == "earliest_available" else idle.best(ready_s, train, both)
        m = idle.gpu[gap]
        gpu[task], start[task] = m, idle.take(gap, ready_s, train[m])
        ends[r] = max(ends[r], start[task] + both[m])
        left[r] -= 1
    if any(left):
        raise ValueError("an order without some of the tasks, or with some of them twice")
    return Schedule(instance, gpu, start)


class _Times:
    """Seconds of a round's tasks on each GPU."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._both = instance.train_s + instance.sync_s
        self._part = instance.round_part.tolist()

    def of(self, job: int, r: int) -> tuple[FloatArray, FloatArray]:
        """(gpus,) T^c and T^c + T^s of a task of round r, infinite where it cannot run."""
        train, both = self._instance.train_s[job], self._both[job]
        return (train, both) if self._part[r] == 1.0 else (train * self._part[r], both * self._part[r])


class _Idle:
    """Idle time of the GPUs: each one's last stretch, which has no end, and with `insertion` the gaps before.

    gpu, from_s, to_s: one entry per stretch.
    """

    def __init__(self, free_s: FloatArray, insertion: bool) -> None:
        self._insertion = insertion
        self._count = len(free_s)
        self._from = np.array(free_s, dtype=float)
        self._to = np.full(self._count, np.inf)
        self._gpu: IntArray = np.arange(self._count)
        self._view()

    def _view(self) -> None:
        self.gpu, self.from_s, self.to_s = (each[: self._count] for each in (self._gpu, self._from, self._to))

    def best(self, ready_s: float, train: FloatArray, both: FloatArray) -> int:
        """The stretch in which a task has synchronised first; of several the one that begins last."""
        start = np.maximum(self.from_s, ready_s)
        if self._insertion:
            done = np.where(self._fits(start, train[self.gpu]), start + both[self.gpu], np.inf)
        else:
            done = start + both
        ties = (done == done.min()).nonzero()[0]
        return int(ties[self.from_s[ties].argmax()]) if len(ties) > 1 else int(ties[0])

    def soonest(self, ready_s: float, train: FloatArray) -> int:
        """The stretch of the GPU that is free first (line 12); with gaps the one in which the task starts first."""
        if not self._insertion:
            return int(np.where(np.isfinite(train), self.from_s, np.inf).argmin())
        start, seconds = np.maximum(self.from_s, ready_s), train[self.gpu]
        return int(np.where(np.isfinite(seconds) & self._fits(start, seconds), start, np.inf).argmin())

    def _fits(self, start: FloatArray, seconds: FloatArray) -> BoolArray:
        fits: BoolArray = start + seconds <= self.to_s * (1 + SLACK)
        return fits

    def take(self, gap: int, ready_s: float, seconds: float) -> float:
        """Use a stretch from when the task can start; returns when."""
        begins = float(self.from_s[gap])
        start = max(begins, ready_s)
        if self._insertion and start > begins:
            self._add(int(self.gpu[gap]), begins, start)
        self.from_s[gap] = start + seconds
        return start

    def _add(self, gpu: int, from_s: float, to_s: float) -> None:
        if self._count == len(self._gpu):
            self._gpu, self._from, self._to = (np.concatenate([a, a]) for a in (self._gpu, self._from, self._to))
        self._gpu[self._count], self._from[self._count], self._to[self._count] = gpu, from_s, to_s
        self._count += 1
        self._view()
