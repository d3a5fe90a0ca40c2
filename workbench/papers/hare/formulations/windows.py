"""Between which times a task can start (ours): from arrivals and chains of rounds, and from a schedule already known.

A window never cuts off every optimal schedule. Models of Hare_Sched are the smaller for it and their bounds the better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.papers.hare.algorithms.schedule import TaskSchedule
from workbench.papers.hare.instance import HareInstance

SLACK = 1e-9
"""Added to what a known schedule allows, as a part of it: rounding must not cut that schedule off."""


@dataclass(frozen=True, eq=False)
class Windows:
    """first_s, last_s: (rounds,) earliest and latest start of a round's tasks; end_s: (rounds,) by when they have
    synchronised; soonest_s, latest_s: (jobs,) completion; released_s: when the last job has arrived, the last GPU is
    free and the last barrier has fallen.

    Earliest times hold for every schedule, latest times for some optimal schedule.
    """

    first_s: FloatArray
    last_s: FloatArray
    end_s: FloatArray
    soonest_s: FloatArray
    latest_s: FloatArray
    released_s: float

    @property
    def horizon_s(self) -> float:
        """When the last job has completed."""
        return float(self.latest_s.max(initial=0.0))


def windows(instance: HareInstance, known: TaskSchedule | None = None) -> Windows:
    """The windows; known: a feasible schedule, than which no optimal one is worse."""
    first, soonest = earliest(instance)
    latest = np.full(len(instance.jobs), no_later_than(instance))
    if known is not None and len(instance.jobs):
        others = instance.weight @ soonest - instance.weight * soonest
        latest = np.minimum(latest, (known.objective - others) / instance.weight * (1 + SLACK))
    latest = np.maximum(latest, soonest)
    end = latest[instance.round_job] - tails(instance)
    shortest = (instance.train_s + instance.sync_s).min(axis=1, initial=np.inf)
    last = end - shortest[instance.round_job] * instance.round_part
    return Windows(first, np.maximum(last, first), end, soonest, latest, _released_s(instance))


def earliest(instance: HareInstance) -> tuple[FloatArray, FloatArray]:
    """(rounds,) earliest start of a round and (jobs,) earliest completion: each job alone on all GPUs.

    Exact for a job alone where all its rounds' tasks are to be scheduled; a bound in any case.
    """
    first, soonest = np.zeros(len(instance.round_job)), np.zeros(len(instance.jobs))
    for job in range(len(instance.jobs)):
        now = float(instance.arrival_s[job])
        for r in range(int(instance.job_round[job]), int(instance.job_round[job + 1])):
            first[r] = now
            now = _round_alone(instance, job, r, np.maximum(instance.free_s, now))
            if r == instance.job_round[job]:
                now = max(now, float(instance.barrier_s[job]))
        soonest[job] = now
    return first, soonest


def _round_alone(instance: HareInstance, job: int, r: int, free_s: FloatArray) -> float:
    """When a round has synchronised, at the earliest, on GPUs that do nothing else; free_s: (gpus,) from when on."""
    return _ends_alone(instance, job, int(instance.round_tasks[r]), float(instance.round_part[r]), free_s)


def _ends_alone(instance: HareInstance, job: int, count: int, part: float, free_s: FloatArray) -> float:
    """The same for so many tasks of a job, each a part of a whole one.

    A GPU's k-th task ends no earlier than k T^c after it is free, so that the D-th of all these times is a bound, and
    it is attained: a GPU takes as many tasks as have their times below it.
    """
    where = np.flatnonzero(instance.runs[job])
    train, sync = instance.train_s[job, where] * part, instance.sync_s[job, where] * part
    begin = free_s[where]
    if len(where) > count:  # no more than `count` of the GPUs are used: those on which a first task ends soonest
        best = np.argpartition(begin + train + sync, count - 1)[:count]
        train, sync, begin = train[best], sync[best], begin[best]
    ends = (begin + sync)[:, None] + train[:, None] * np.arange(1, count + 1)
    return float(np.partition(ends.ravel(), count - 1)[count - 1])


def tails(instance: HareInstance) -> FloatArray:
    """(rounds,) seconds from the end of a round to its job's completion, at least: the rounds after it alone."""
    tail, idle = np.zeros(len(instance.round_job)), np.zeros(len(instance.gpus))
    for job in range(len(instance.jobs)):
        first, end = int(instance.job_round[job]), int(instance.job_round[job + 1])
        spans: dict[tuple[int, float], float] = {}
        for r in range(end - 2, first - 1, -1):
            key = (int(instance.round_tasks[r + 1]), float(instance.round_part[r + 1]))
            if key not in spans:
                spans[key] = _round_alone(instance, job, r + 1, idle)
            tail[r] = tail[r + 1] + spans[key]
    return tail


def alone_s(instance: HareInstance) -> FloatArray:
    """(jobs,) seconds of a whole round, at least: alone on all GPUs."""
    found = np.zeros(len(instance.jobs))
    for job in range(len(instance.jobs)):
        found[job] = _ends_alone(instance, job, int(instance.tasks[job]), 1.0, np.zeros(len(instance.gpus)))
    return found


def no_later_than(instance: HareInstance) -> float:
    """A time by which a schedule without needless waiting has ended: whoever waits, waits for a task or a release.

    Backwards from the last completion there is a chain of tasks, each starting when the one before has computed or
    synchronised, to an arrival, a GPU that becomes free or a barrier; no task is in it twice.
    """
    longest = np.where(instance.runs, instance.train_s + instance.sync_s, 0.0).max(axis=1, initial=0.0)
    work = float(longest[instance.round_job] @ (instance.round_tasks * instance.round_part))
    return work + _released_s(instance)


def _released_s(instance: HareInstance) -> float:
    released = (instance.arrival_s, instance.free_s, instance.barrier_s)
    return max(float(times.max(initial=0.0)) for times in released)
