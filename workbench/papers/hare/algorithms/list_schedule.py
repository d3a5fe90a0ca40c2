"""Hare's Algorithm 1 (section 5.2): tasks in the order of their middle completion times, each on a GPU chosen greedily.

1. Starts x^_i come from a relaxation: Hare_Sched_RL where its size allows, else `fluid_start_s`.
2. H_i = max over the GPUs that can run task i of x^_i + T^c_im / 2, the middle completion time; then no less than that
   of any task of an earlier round of its job, so that no task precedes one that it waits for (ours: a safe order).
3. Tasks in the order of (H, job, round, number). A task is ready at its job's arrival, or when all tasks of the round
   before have synchronised, and takes a GPU (line 12) for T^c from the later of ready and free.

Line 12 takes the GPU that is free first, however slow it is on it: `earliest_available`, the paper. `earliest_finish`
(ours) takes the one on which the task has synchronised first; of several the one that became free last, which leaves
the shortest gap. With `insertion` (ours) idle time before tasks that are placed already counts as free, too.

Replanning 100 arrivals on 512 GPUs asks for half a million GPUs. So GPUs of few kinds stand in one line each, by when
they become free (`AlikeGpus`). The answers are those of looking at every GPU (`_Idle`), ties included; sums of seconds
that differ by rounding alone are no ties here.

Starts x^ at any size, `fluid_start_s`: all GPUs as one machine that jobs share by Smith's rule (ours). Hare_Sched_RL is
a mixed-integer problem, and its linear forms take seconds at 200 jobs on 160 GPUs, where Algorithm 1 itself has half a
second. So its two limits are kept in a form that a queue solves:

- (9) says that the work on the GPUs cannot all end early. Here they are one machine, which does all of job n's tasks in
  p_n = tasks / sum_m (1 / T^c_nm) if it does nothing else, and serves jobs that have arrived by falling w_n / p_n.
- (7) says that a round takes at least q_n = min_m (T^c_nm + T^s_nm). So job n uses at most p_n / (|R_n| q_n) of the
  machine, and the next in line gets what is left.

Round r of job n starts when r / |R_n| of its work is done. That is an order to go by and no bound: GPUs on which each
job is relatively fast do more than one machine of their mean speed.

The approximation ratio that the paper claims (Theorem 4): alpha = max over tasks of T^c_max / T^c_min and T^s_max /
T^s_min, over the GPUs that can run the task; times of 0 are left aside. The claim is alpha (2 + alpha). Its Lemma 2
applies (9) to the first tasks of the order with Algorithm 1's own assignment, which the relaxation's solution need not
satisfy: it is shown as the paper's claim, beside the ratio of a schedule's objective to the optimum, or to a lower
bound of it, which makes the ratio look larger than it is.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right, insort
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.papers.hare.algorithms.schedule import TaskSchedule
from workbench.papers.hare.instance import HareInstance

DONE = 1e-9
"""Part of a job's work that may be left when it counts as done (rounding of floating point numbers)."""


def fluid_start_s(instance: HareInstance) -> FloatArray:
    """(tasks,) x^_i."""
    if not instance.jobs:
        return np.zeros(0)
    work_s, shortest_s = machine_s(instance), (instance.train_s + instance.sync_s).min(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.where(work_s > 0, np.minimum(1.0, work_s / (instance.rounds * shortest_s)), 1.0)
    courses = served(work_s, most, instance.weight, np.maximum(instance.arrival_s, instance.origin_s))
    start = [
        _times_s(course, work * np.arange(rounds) / rounds)
        for course, work, rounds in zip(courses, work_s.tolist(), instance.rounds.tolist(), strict=True)
    ]
    job, number = instance.round_job, instance.round_number
    later = np.where(number > 0, instance.barrier_s[job] + (number - 1) * shortest_s[job], 0.0)
    found: FloatArray = np.maximum(np.concatenate(start), later)[instance.task_round]
    return found


def machine_s(instance: HareInstance) -> FloatArray:
    """(jobs,) p_n: seconds in which all GPUs together do a job's work; 0 where its tasks take no time on some GPU."""
    with np.errstate(divide="ignore"):
        tasks_per_s = (1.0 / instance.train_s).sum(axis=1)
    parts = np.bincount(instance.round_job, instance.round_tasks * instance.round_part, minlength=len(instance.jobs))
    found: FloatArray = parts / tasks_per_s
    return found


Course = list[tuple[float, float, float]]
"""A job's stretches on the machine: from when, the work done before, and the part of the machine it has from then."""


def served(work_s: FloatArray, most: FloatArray, weight: FloatArray, release_s: FloatArray) -> list[Course]:
    """How one machine serves each job: the largest weight / work of those released first, each at most its part `most`.

    Equal ones go in the order of the list.
    """
    with np.errstate(divide="ignore"):
        urgency = (-weight / work_s).tolist()
    comes, release = np.argsort(release_s, kind="stable").tolist(), release_s.tolist()
    work, left, part = work_s.tolist(), work_s.tolist(), most.tolist()
    courses: list[Course] = [[] for _ in work]
    line: list[tuple[float, int]] = []
    had: dict[int, float] = {}
    now, number = 0.0, 0
    while number < len(comes) or line:
        if not line:
            now = max(now, release[comes[number]])
        while number < len(comes) and release[comes[number]] <= now:
            insort(line, (urgency[comes[number]], comes[number]))
            number += 1
        pause, unused = (release[comes[number]] if number < len(comes) else np.inf) - now, 1.0
        using: dict[int, float] = {}
        for _, job in line:
            uses = min(part[job], unused)
            if uses <= DONE:
                break
            using[job] = uses
            pause, unused = min(pause, left[job] / uses), unused - uses
        for job, uses in using.items():
            if had.get(job) != uses:
                courses[job].append((now, work[job] - left[job], uses))
            left[job] -= pause * uses
        now, had = now + pause, using
        line = [each for each in line if left[each[1]] > DONE * work[each[1]]]
    return courses


def _times_s(course: Course, done: FloatArray) -> FloatArray:
    """When a job on this course has done so much of its work."""
    from_s, before, uses = (np.array(column) for column in zip(*course, strict=True))
    stretch = np.searchsorted(before, done, side="right") - 1
    found: FloatArray = from_s[stretch] + (done - before[stretch]) / uses[stretch]
    return found


MOST_KINDS = 12
"""With more kinds of GPUs than this looking at every GPU is as quick."""
_Line = list[tuple[float, int]]
"""When each GPU of a kind becomes free, rising, and minus its number: of equal ones the lowest number is last."""


class AlikeGpus:
    """When GPUs become free, by kind."""

    def __init__(self, instance: HareInstance, kinds: list[list[int]], earliest_available: bool) -> None:
        self._instance, self._kinds, self._available = instance, kinds, earliest_available
        free = instance.free_s.tolist()
        self._lines: list[_Line] = [sorted((free[m], -m) for m in kind) for kind in kinds]
        self._times: dict[int, list[tuple[_Line, float, float]]] = {}

    def put(self, job: int, part: float, ready_s: float, count: int) -> tuple[list[int], list[float], float]:
        """Put so many tasks on GPUs, see `IdleTimes`: alike GPUs on which they end alike are taken together."""
        if job not in self._times:
            self._times[job] = self._times_of(job)
        gpus, starts, last_s, by_then = list[int](), list[float](), -math.inf, (ready_s, 1)
        while len(gpus) < count:
            least_s, soonest, alone = math.inf, (0.0, 0), True
            for line, train, both in self._times[job]:
                alike = 0 if self._available else bisect_right(line, by_then)
                if not alike:  # nobody is free by then: the first one, of equal ones the lowest number
                    alike = bisect_right(line, (line[0][0], 1))
                from_s = line[alike - 1][0]
                start_s = ready_s if from_s < ready_s else from_s
                end_s = start_s + both * part
                value_s = from_s if self._available else end_s
                if value_s == least_s:
                    alone = False
                if value_s < least_s or (value_s == least_s and line[alike - 1] > soonest):
                    alone = alone or value_s < least_s
                    least_s, soonest, taken = value_s, line[alike - 1], (line, alike, start_s, train, end_s)
            line, alike, start_s, train, end_s = taken
            free_s = start_s + train * part
            together = min(alike, count - len(gpus)) if alone and free_s > start_s else 1
            found = line[alike - together : alike]
            del line[alike - together : alike]
            if together == 1:
                insort(line, (free_s, found[0][1]))
            else:
                at = bisect_right(line, (free_s, -math.inf))
                among = bisect_right(line, (free_s, 1))
                line[at:among] = sorted([*line[at:among], *((free_s, minus) for _, minus in found)])
            gpus += [-minus for _, minus in reversed(found)]
            starts += [start_s] * together
            last_s = max(last_s, end_s)
        return gpus, starts, last_s

    def _times_of(self, job: int) -> list[tuple[_Line, float, float]]:
        """The line of each kind that can run a job, T^c and T^c + T^s there."""
        train, sync = self._instance.train_s[job], self._instance.sync_s[job]
        return [
            (line, float(train[kind[0]]), float(train[kind[0]] + sync[kind[0]]))
            for line, kind in zip(self._lines, self._kinds, strict=True)
            if train[kind[0]] < math.inf
        ]


def kinds_of(instance: HareInstance) -> list[list[int]]:
    """Numbers of the GPUs that are alike: on which every job takes equally long."""
    train, sync = (table.T.copy() for table in (instance.train_s, instance.sync_s))
    found: dict[tuple[bytes, bytes], list[int]] = {}
    for m in range(len(instance.gpus)):
        found.setdefault((train[m].tobytes(), sync[m].tobytes()), []).append(m)
    return list(found.values())


GpuChoice = Literal["earliest_finish", "earliest_available"]
SLACK = 1e-12
"""Part of the time on the clock by which a task may be too long for a gap: sums of seconds are rounded."""


def algorithm_1(
    instance: HareInstance, start_s: FloatArray, assignment: GpuChoice = "earliest_finish", insertion: bool = False
) -> TaskSchedule:
    """The schedule of Algorithm 1 for the starts x^ (tasks,) of a relaxation."""
    return list_schedule(instance, safe_order(instance, middle_s(instance, start_s)), assignment, insertion)


def middle_s(instance: HareInstance, start_s: FloatArray) -> FloatArray:
    """(tasks,) H_i as printed: the largest of x^_i + T^c_im / 2 over the GPUs that can run the task."""
    longest = np.where(instance.runs, instance.train_s, 0.0).max(axis=1, initial=0.0)
    found: FloatArray = start_s + longest[instance.task_job] * instance.round_part[instance.task_round] / 2.0
    return found


def safe_order(instance: HareInstance, middle: FloatArray) -> IntArray:
    """Task numbers in the order in which Algorithm 1 takes them; middle: (tasks,) H_i."""
    if not instance.task_count:
        return np.zeros(0, dtype=np.int64)
    latest = np.maximum.reduceat(middle, instance.round_task[:-1])
    for first, last in zip(instance.job_round[:-1].tolist(), instance.job_round[1:].tolist(), strict=True):
        np.maximum.accumulate(latest[first:last], out=latest[first:last])
    before = np.where(instance.round_number > 0, np.roll(latest, 1), -np.inf)
    safe = np.maximum(middle, before[instance.task_round])
    return np.lexsort((np.arange(instance.task_count), instance.task_round, safe))


def list_schedule(
    instance: HareInstance, order: npt.ArrayLike, assignment: GpuChoice = "earliest_finish", insertion: bool = False
) -> TaskSchedule:
    """Lines 5 to 18: every task of `order` (tasks,) on a GPU, none before a task of an earlier round of its job."""
    idle = _places(instance, assignment == "earliest_available", insertion)
    first, arrival = (instance.round_number == 0).tolist(), instance.arrival_s.tolist()
    round_job, numbers = instance.round_job.tolist(), np.asarray(order, dtype=np.int64)
    left, part, ends = instance.round_tasks.tolist(), instance.round_part.tolist(), [0.0] * len(round_job)
    for job, r in enumerate(instance.job_round[:-1].tolist()):
        ends[r] = float(instance.barrier_s[job])
    gpus, starts, rounds = list[int](), list[float](), instance.task_round[numbers]
    cuts = np.flatnonzero(np.diff(rounds, prepend=-1, append=-1)).tolist()
    for begin, end in itertools.pairwise(cuts):
        r = rounds.item(begin)
        job = round_job[r]
        if first[r]:
            ready_s = arrival[job]
        elif left[r - 1]:
            raise ValueError(f"task {numbers[begin]} comes before a task of the round before")
        else:
            ready_s = max(ends[r - 1], arrival[job])
        taken, begins, end_s = idle.put(job, part[r], ready_s, end - begin)
        gpus += taken
        starts += begins
        ends[r] = max(ends[r], end_s)
        left[r] -= end - begin
    if any(left):
        raise ValueError("an order without some of the tasks, or with some of them twice")
    turn = np.argsort(numbers, kind="stable")
    return TaskSchedule(instance, np.array(gpus, dtype=np.int64)[turn], np.array(starts)[turn])


class IdleTimes(Protocol):
    """Idle time of the GPUs."""

    def put(self, job: int, part: float, ready_s: float, count: int) -> tuple[list[int], list[float], float]:
        """Put so many tasks, each of `part` of its job's times, on GPUs one after the other.

        Returns the number of the GPU of each, the start of each, and when the last has synchronised.
        """
        ...


def _places(instance: HareInstance, earliest_available: bool, insertion: bool) -> IdleTimes:
    if not insertion:
        kinds = kinds_of(instance)
        if len(kinds) <= MOST_KINDS:
            return AlikeGpus(instance, kinds, earliest_available)
    return _Idle(instance, earliest_available, insertion)


class _Idle:
    """Idle time of the GPUs: each one's last stretch, which has no end, and with `insertion` the gaps before.

    gpu, from_s, to_s: one entry per stretch.
    """

    def __init__(self, instance: HareInstance, earliest_available: bool, insertion: bool) -> None:
        self._train, self._both = instance.train_s, instance.train_s + instance.sync_s
        self._available, self._insertion = earliest_available, insertion
        self._count = len(instance.gpus)
        self._from = np.array(instance.free_s, dtype=float)
        self._to = np.full(self._count, np.inf)
        self._gpu: IntArray = np.arange(self._count)
        self._view()

    def _view(self) -> None:
        self.gpu, self.from_s, self.to_s = (each[: self._count] for each in (self._gpu, self._from, self._to))

    def put(self, job: int, part: float, ready_s: float, count: int) -> tuple[list[int], list[float], float]:
        """See `IdleTimes`."""
        train, both = self._train[job] * part, self._both[job] * part
        gpus, starts, last_s = list[int](), list[float](), -math.inf
        for _ in range(count):
            gap = self._soonest(ready_s, train) if self._available else self._best(ready_s, train, both)
            gpus.append(int(self.gpu[gap]))
            starts.append(self._take(gap, ready_s, float(train[gpus[-1]])))
            last_s = max(last_s, starts[-1] + float(both[gpus[-1]]))
        return gpus, starts, last_s

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


def alpha(instance: HareInstance) -> float:
    """How unequal the GPUs are to the task to which they are most unequal; 1 where all are equal."""
    return max(_spread(instance.train_s, instance), _spread(instance.sync_s, instance))


def _spread(seconds: FloatArray, instance: HareInstance) -> float:
    counts = instance.runs & (seconds > 0)
    rows = counts.any(axis=1)
    if not rows.any():
        return 1.0
    most = np.where(counts, seconds, -np.inf).max(axis=1)[rows]
    least = np.where(counts, seconds, np.inf).min(axis=1)[rows]
    return float((most / least).max())


def claimed(instance: HareInstance) -> float:
    """The ratio of Theorem 4, alpha (2 + alpha)."""
    found = alpha(instance)
    return found * (2.0 + found)
