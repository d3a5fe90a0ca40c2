"""Fig. 1's three jobs and its three schedules: oblivious to speeds (a), a GPU for each job (b), tasks interleaved (c).

The text gives the totals, 10.5, 9 and 8.5 s, and the makespans 4.5 s of (a) and 3 s of (c), but not the table of times.
`SECONDS` is one that gives them all, found by search: reconstructed, not the paper's.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from workbench.base.errors import InputError, counted
from workbench.papers.hare.exact import Exact
from workbench.papers.hare.instance import Instance
from workbench.papers.hare.schedule import Schedule, in_order
from workbench.scheduling.solvers import Solver

SECONDS = ((1.5, 2.5, 1.5), (1.5, 2.0, 2.5), (0.5, 1.0, 1.5))
"""Reconstructed seconds of a task of J1, J2 and J3 on GPU1, GPU2 and GPU3."""
MOST_GPUS = 8


def three_jobs() -> Instance:
    """J1 and J2 of one round, J3 of two rounds, each of two tasks; all there from 0, synchronising takes no time."""
    return Instance.made(SECONDS, rounds=(1, 1, 2), tasks=2)


def oblivious(instance: Instance, last: Sequence[int]) -> Schedule:
    """(a): J2 on GPU1 and J3's pairs on GPU2 and GPU3; when both are complete, J1's tasks side by side on GPUs `last`.

    instance: of jobs and rounds as `three_jobs`.
    """
    gpu = np.array([*last, 0, 0, 1, 2, 1, 2])
    before = in_order(instance, gpu, [2, 3, 4, 5, 6, 7, 0, 1])
    start = before.start_s.copy()
    start[:2] = before.completion_s[1:].max()
    return Schedule(instance, gpu, start).check("Fig. 1(a)")


def dedicated(instance: Instance) -> Schedule:
    """(b): the best schedule with a GPU of its own for each job, on which its tasks run one after the other.

    Raises InputError for more jobs than GPUs, and for more than `MOST_GPUS` GPUs: it tries every assignment.
    """
    jobs, gpus = len(instance.jobs), len(instance.gpus)
    if jobs > gpus or gpus > MOST_GPUS:
        found = f"{counted(jobs, 'job')} on {counted(gpus, 'GPU')}"
        raise InputError("Hare, dedicated GPUs", found, f"no more jobs than GPUs, and at most {MOST_GPUS} GPUs")
    tasks = range(instance.task_count)
    every = (
        in_order(instance, np.array(chosen)[instance.task_job], tasks)
        for chosen in itertools.permutations(range(gpus), jobs)
        if all(instance.runs[job, gpu] for job, gpu in enumerate(chosen))
    )
    return min(every, key=lambda schedule: schedule.objective)


def interleaved(instance: Instance, solver: Solver | None = None) -> Schedule:
    """(c): the best schedule, and of those the one that ends first."""
    found = Exact().run(instance, {"then_makespan": True}, solver).values
    at = {gpu.name: number for number, gpu in enumerate(instance.gpus)}
    gpu = [at[task["gpu"]] for task in found["tasks"]]
    return Schedule(instance, np.array(gpu), np.array([task["start_s"] for task in found["tasks"]])).check("Fig. 1(c)")
