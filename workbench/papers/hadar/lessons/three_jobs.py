"""Fig. 1's three jobs: what the paper draws, and what is feasible for gangs of 3, 2 and 2 on 2 V100, 3 P100 and 1 K80.

The text says that Hadar keeps about 100 % of the 6 GPUs busy in the first two rounds and ends all jobs one round before
Gavel's 6. No set of these gangs fills 6 GPUs, and 5 slots complete at most two of the jobs; 6 slots complete all.
"""

from __future__ import annotations

import itertools

from workbench.papers.hadar.formulations.offline import Offline
from workbench.papers.hadar.formulations.utility import Utility
from workbench.papers.hadar.instance import HadarInstance
from workbench.scheduling.solvers import InfeasibleError

CAPACITY, GANGS, WORK = (2, 3, 1), (3, 2, 2), (80.0, 30.0, 50.0)
RATES = ((40.0, 20.0, 30.0), (5.0, 15.0, 5.0), (10.0, 2.0, 20.0))


def three_jobs(slots: int, utility: str | Utility = "neg_jct") -> HadarInstance:
    """The instance of Fig. 1: J1, J2, J3 are j0, j1, j2; V100, P100, K80 are r0, r1, r2; rates in epochs per slot."""
    return HadarInstance.made(CAPACITY, slots, (0, 0, 0), GANGS, WORK, RATES, utility)


def completed_within(slots: int) -> int:
    """How many of the three jobs can complete within so many slots."""
    return round(Offline().run(three_jobs(slots, "count"), {}).objective or 0.0)


def fewest_slots() -> int:
    """The fewest slots within which all three can complete."""
    for slots in itertools.count(1):
        try:
            Offline().run(three_jobs(slots, "count"), {"require_all": True})
        except InfeasibleError:
            continue
        return slots
    raise AssertionError("unreachable: the jobs complete one after another")
