"""A good feasible schedule for the exact models to begin from (ours): a search over the order of the jobs.

The tasks are placed by Algorithm 1's greedy with earliest finish and insertion (`algorithm.place`), job by job. Two
jobs exchange places in the order for as long as that lowers the objective.
"""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np

from workbench.papers.hare.algorithm import algorithm_1, place
from workbench.papers.hare.fluid import fluid_start_s
from workbench.papers.hare.instance import Instance
from workbench.papers.hare.schedule import Schedule

MOST_PLACED = 20_000
"""Tasks that the search places in all: a fraction of a second."""


@lru_cache(maxsize=2)  # a model is built and read with the same one
def known_schedule(instance: Instance) -> Schedule:
    """A feasible schedule: Algorithm 1's, or a better one that the search finds. The same every time."""
    begin = fluid_start_s(instance)
    best = min(
        (algorithm_1(instance, begin, insertion=insertion) for insertion in (False, True)),
        key=lambda schedule: schedule.objective,
    )
    first = begin[instance.round_task[instance.job_round[:-1]]] if instance.jobs else begin
    last = best.completion_s
    trials = MOST_PLACED // max(1, instance.task_count)
    for order in (np.argsort(first, kind="stable").tolist(), np.argsort(last, kind="stable").tolist()):
        found, trials = _exchanged(instance, order, trials)
        best = min(best, found, key=lambda schedule: schedule.objective)
    return best


def _job_by_job(instance: Instance, jobs: list[int]) -> Schedule:
    """Each job's tasks in turn, with insertion."""
    tasks = (range(int(instance.round_task[instance.job_round[job]]), _end(instance, job)) for job in jobs)
    return place(instance, itertools.chain.from_iterable(tasks), insertion=True)


def _end(instance: Instance, job: int) -> int:
    return int(instance.round_task[instance.job_round[job + 1]])


def _exchanged(instance: Instance, jobs: list[int], trials: int) -> tuple[Schedule, int]:
    """The best schedule found from an order of jobs, and the trials that are left."""
    best = _job_by_job(instance, jobs)
    better = True
    while better:
        better = False
        for i, k in itertools.combinations(range(len(jobs)), 2):
            if trials <= 0:
                return best, 0
            trials -= 1
            jobs[i], jobs[k] = jobs[k], jobs[i]
            found = _job_by_job(instance, jobs)
            if found.objective < best.objective * (1 - 1e-12):
                best, better = found, True
            else:
                jobs[i], jobs[k] = jobs[k], jobs[i]
    return best, trials
