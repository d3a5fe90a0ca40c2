"""Fig. 1: three jobs on three GPUs, and three schedules: oblivious to speeds (a), a GPU for each job (b), tasks
interleaved (c).

The text gives the totals, 10.5, 9 and 8.5 s, and the makespans 4.5 s of (a) and 3 s of (c), but not the table of times.
`SECONDS` is one that gives them all, found by search: reconstructed, not the paper's.
"""

from __future__ import annotations

from workbench.papers.hare.algorithms.studies import ROUNDS, TASKS
from workbench.papers.hare.instance import HareInstance

SECONDS = ((1.5, 2.5, 1.5), (1.5, 2.0, 2.5), (0.5, 1.0, 1.5))
"""Reconstructed seconds of a task of J1, J2 and J3 on GPU1, GPU2 and GPU3."""
TOTALS_S = (10.5, 9.0, 8.5)
"""Sums of completion times of (a), (b) and (c)."""
MAKESPANS_S = {"a": 4.5, "c": 3.0}


def three_jobs() -> HareInstance:
    """J1 and J2 of one round, J3 of two rounds, each of two tasks; all there from 0, synchronising takes no time."""
    return HareInstance.made(SECONDS, rounds=ROUNDS, tasks=TASKS)
