"""Starts x^ for Algorithm 1 at any size: all GPUs as one machine that jobs share by Smith's rule (ours).

Hare_Sched_RL is a mixed-integer problem, and its linear forms take seconds at 200 jobs on 160 GPUs, where Algorithm 1
itself has half a second. So its two limits are kept in a form that a queue solves:

- (9) says that the work on the GPUs cannot all end early. Here they are one machine, which does all of job n's tasks in
  p_n = tasks / sum_m (1 / T^c_nm) if it does nothing else, and serves jobs that have arrived by falling w_n / p_n.
- (7) says that a round takes at least q_n = min_m (T^c_nm + T^s_nm). So job n uses at most p_n / (|R_n| q_n) of the
  machine, and the next in line gets what is left.

Round r of job n starts when r / |R_n| of its work is done. That is an order to go by and no bound: GPUs on which each
job is relatively fast do more than one machine of their mean speed.
"""

from __future__ import annotations

from bisect import insort

import numpy as np

from workbench.papers.hare.instance import Instance
from workbench.scenario.throughput import FloatArray

DONE = 1e-9
"""Part of a job's work that may be left when it counts as done (rounding of floating point numbers)."""


def fluid_start_s(instance: Instance) -> FloatArray:
    """(tasks,) x^_i."""
    if not instance.jobs:
        return np.zeros(0)
    work_s, shortest_s = machine_s(instance), (instance.train_s + instance.sync_s).min(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.where(work_s > 0, np.minimum(1.0, work_s / (instance.rounds * shortest_s)), 1.0)
    courses = served(work_s, most, instance.weight, np.maximum(instance.arrival_s, instance.origin_s))
    start = [
        _moments(course, work * np.arange(rounds) / rounds)
        for course, work, rounds in zip(courses, work_s.tolist(), instance.rounds.tolist(), strict=True)
    ]
    job, number = instance.round_job, instance.round_number
    later = np.where(number > 0, instance.barrier_s[job] + (number - 1) * shortest_s[job], 0.0)
    found: FloatArray = np.maximum(np.concatenate(start), later)[instance.task_round]
    return found


def machine_s(instance: Instance) -> FloatArray:
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
        pause, room = (release[comes[number]] if number < len(comes) else np.inf) - now, 1.0
        using: dict[int, float] = {}
        for _, job in line:
            uses = min(part[job], room)
            if uses <= DONE:
                break
            using[job] = uses
            pause, room = min(pause, left[job] / uses), room - uses
        for job, uses in using.items():
            if had.get(job) != uses:
                courses[job].append((now, work[job] - left[job], uses))
            left[job] -= pause * uses
        now, had = now + pause, using
        line = [each for each in line if left[each[1]] > DONE * work[each[1]]]
    return courses


def _moments(course: Course, done: FloatArray) -> FloatArray:
    """When a job on this course has done so much of its work."""
    from_s, before, uses = (np.array(column) for column in zip(*course, strict=True))
    stretch = np.searchsorted(before, done, side="right") - 1
    found: FloatArray = from_s[stretch] + (done - before[stretch]) / uses[stretch]
    return found
