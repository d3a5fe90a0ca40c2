"""Fig. 1: three jobs on three GPUs, and three schedules: oblivious to speeds (a), a GPU for each job (b), tasks
interleaved (c).

The text gives the totals, 10.5, 9 and 8.5 s, and the makespans 4.5 s of (a) and 3 s of (c), but not the table of times.
`SECONDS` is one that gives them all, found by search: reconstructed, not the paper's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.papers.hare.algorithms.schedule import TaskSchedule, in_order
from workbench.papers.hare.instance import HareInstance

SECONDS = ((1.5, 2.5, 1.5), (1.5, 2.0, 2.5), (0.5, 1.0, 1.5))
"""Reconstructed seconds of a task of J1, J2 and J3 on GPU1, GPU2 and GPU3."""
TOTALS_S = (10.5, 9.0, 8.5)
"""Sums of completion times of (a), (b) and (c)."""
MAKESPANS_S = {"a": 4.5, "c": 3.0}
LAST = (0, 2)
"""Fig. 1(a): the GPUs of J1's tasks, by number."""


def three_jobs() -> HareInstance:
    """J1 and J2 of one round, J3 of two rounds, each of two tasks; all there from 0, synchronising takes no time."""
    return HareInstance.made(SECONDS, rounds=(1, 1, 2), tasks=2)


def oblivious(instance: HareInstance, last: Sequence[int]) -> TaskSchedule:
    """(a): J2 on GPU1 and J3's pairs on GPU2 and GPU3; when both are complete, J1's tasks side by side on GPUs `last`.

    instance: of jobs and rounds as `three_jobs`.
    """
    gpu = np.array([*last, 0, 0, 1, 2, 1, 2])
    before = in_order(instance, gpu, [2, 3, 4, 5, 6, 7, 0, 1])
    start = before.start_s.copy()
    start[:2] = before.completion_s[1:].max()
    return TaskSchedule(instance, gpu, start).check("Fig. 1(a)")
