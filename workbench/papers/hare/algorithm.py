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
from typing import Literal, Protocol

import numpy as np

from workbench.papers.hare.alike import MOST_KINDS, Alike, kinds_of
from workbench.papers.hare.instance import Instance
from workbench.papers.hare.schedule import Schedule
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import BoolArray, IntArray
from workbench.scheduling.knob import Knob

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
    idle = _places(instance, assignment == "earliest_available", insertion)
    first, arrival = (instance.round_number == 0).tolist(), instance.arrival_s.tolist()
    rounds, round_job = instance.task_round.tolist(), instance.round_job.tolist()
    left, part, ends = instance.round_tasks.tolist(), instance.round_part.tolist(), [0.0] * len(round_job)
    for job, r in enumerate(instance.job_round[:-1].tolist()):
        ends[r] = float(instance.barrier_s[job])
    gpu, start = [-1] * instance.task_count, [0.0] * instance.task_count
    for task in order:
        r = rounds[task]
        job = round_job[r]
        if first[r]:
            ready_s = arrival[job]
        elif left[r - 1]:
            raise ValueError(f"task {task} comes before a task of the round before")
        else:
            ready_s = max(ends[r - 1], arrival[job])
        gpu[task], start[task], end_s = idle.put(job, part[r], ready_s)
        ends[r] = max(ends[r], end_s)
        left[r] -= 1
    if any(left):
        raise ValueError("an order without some of the tasks, or with some of them twice")
    return Schedule(instance, np.array(gpu, dtype=np.int64), np.array(start))


class Places(Protocol):
    """Idle time of the GPUs."""

    def put(self, job: int, part: float, ready_s: float) -> tuple[int, float, float]:
        """Put a task of `part` of its job's times on a GPU: its number, the start, and when it has synchronised."""
        ...


def _places(instance: Instance, earliest_available: bool, insertion: bool) -> Places:
    if not insertion:
        kinds = kinds_of(instance)
        if len(kinds) <= MOST_KINDS:
            return Alike(instance, kinds, earliest_available)
    return _Idle(instance, earliest_available, insertion)


class _Idle:
    """Idle time of the GPUs: each one's last stretch, which has no end, and with `insertion` the gaps before.

    gpu, from_s, to_s: one entry per stretch.
    """

    def __init__(self, instance: Instance, earliest_available: bool, insertion: bool) -> None:
        self._train, self._both = instance.train_s, instance.train_s + instance.sync_s
        self._available, self._insertion = earliest_available, insertion
        self._count = len(instance.gpus)
        self._from = np.array(instance.free_s, dtype=float)
        self._to = np.full(self._count, np.inf)
        self._gpu: IntArray = np.arange(self._count)
        self._view()

    def _view(self) -> None:
        self.gpu, self.from_s, self.to_s = (each[: self._count] for each in (self._gpu, self._from, self._to))

    def put(self, job: int, part: float, ready_s: float) -> tuple[int, float, float]:
        """See `Places`."""
        train, both = self._train[job] * part, self._both[job] * part
        gap = self._soonest(ready_s, train) if self._available else self._best(ready_s, train, both)
        m = int(self.gpu[gap])
        start_s = self._take(gap, ready_s, float(train[m]))
        return m, start_s, start_s + float(both[m])

    def _best(self, ready_s: float, train: FloatArray, both: FloatArray) -> int:
        """The stretch in which a task has synchronised first; of several the one that begins last."""
        start = np.maximum(self.from_s, ready_s)
        if self._insertion:
            done = np.where(self._fits(start, train[self.gpu]), start + both[self.gpu], np.inf)
        else:
            done = start + both
        ties = (done == done.min()).nonzero()[0]
        return int(ties[self.from_s[ties].argmax()]) if len(ties) > 1 else int(ties[0])

    def _soonest(self, ready_s: float, train: FloatArray) -> int:
        """The stretch of the GPU that is free first (line 12); with gaps the one in which the task starts first."""
        if not self._insertion:
            return int(np.where(np.isfinite(train), self.from_s, np.inf).argmin())
        start, seconds = np.maximum(self.from_s, ready_s), train[self.gpu]
        return int(np.where(np.isfinite(seconds) & self._fits(start, seconds), start, np.inf).argmin())

    def _fits(self, start: FloatArray, seconds: FloatArray) -> BoolArray:
        fits: BoolArray = start + seconds <= self.to_s * (1 + SLACK)
        return fits

    def _take(self, gap: int, ready_s: float, seconds: float) -> float:
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
