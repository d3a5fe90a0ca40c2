"""From deadlines that jobs are to hit to whole leases: least laxity first, and then what still fits in.

Laxity is the number of leases that a job could still wait. In every lease the jobs with the least are served first, of
equal ones the larger gangs, of these the first in the list; whoever does not fit waits. That is a heuristic: a job may
be too late although a plan exists in which it is not. Then it runs again: without it, or, if it is guaranteed, with it
before all others; if it is late even so, the lifting fails.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.papers.chronus.instance import Instance
from workbench.papers.chronus.plan import LeasePlan
from workbench.scheduling.decision import BoolArray, IntArray

MOST_RUNS = 8
"""How often guaranteed jobs that are late are put first."""
PASSES = 4
"""How often all jobs are tried for a better deadline."""


def lift(data: Instance, target: Sequence[int] | IntArray) -> LeasePlan | None:
    """A plan in which jobs hit the deadline of their target, or a better or later one; None if a guaranteed job fails.

    target: (jobs,) number of the deadline from 0, -1 to be left out. Jobs that are left out, or that ended up late, get
    what still fits in (`improved`).
    """
    wanted = np.where(data.possible, np.asarray(target, dtype=np.int64).reshape(len(data.jobs)), -1)
    if (data.guaranteed & (wanted < 0)).any():
        return None
    first = np.zeros(len(data.jobs), dtype=bool)
    runs = 0
    while True:
        has, late = _least_laxity(data, wanted, first)
        if not late.any():
            return improved(LeasePlan(data, has))
        promised = late & data.guaranteed
        if not promised.any():
            wanted = np.where(late, -1, wanted)
        elif (promised & ~first).any() and runs < MOST_RUNS:
            first |= promised
            runs += 1
        else:
            return None


def _least_laxity(data: Instance, target: IntArray, first: BoolArray) -> tuple[BoolArray, BoolArray]:
    """(jobs x leases) who has which leases, and (jobs,) who is too late for its last deadline.

    A job too late for its target goes for its next deadline.
    """
    by = [own.tolist() for own in data.by]
    step = target.tolist()
    due = np.array([by[row][spot] if spot >= 0 else 0 for row, spot in enumerate(step)], dtype=np.int64)
    left = np.where(target >= 0, data.needed, 0)
    late = np.zeros(len(left), dtype=bool)
    has = np.zeros((len(left), data.leases), dtype=bool)
    held = [tuple(row) for row in data.held.tolist()]
    rank = np.lexsort((-data.held.max(axis=1, initial=0), ~first)).argsort()
    for lease in range(1, data.leases + 1):
        for row in np.flatnonzero((left > 0) & (due - lease + 1 < left)).tolist():
            while step[row] < len(by[row]) - 1 and due[row] - lease + 1 < left[row]:
                step[row] += 1
                due[row] = by[row][step[row]]
            if due[row] - lease + 1 < left[row]:
                late[row], left[row] = True, 0
        waiting = np.flatnonzero((left > 0) & (data.first <= lease))
        if not left.any():
            break
        laxity = np.where(first[waiting], -1, due[waiting] - lease + 1 - left[waiting])
        free = data.free[lease - 1].tolist()
        for row in waiting[np.lexsort((rank[waiting], laxity))].tolist():
            gang = held[row]
            if all(taken <= there for taken, there in zip(gang, free, strict=True)):
                free = [there - taken for taken, there in zip(gang, free, strict=True)]
                has[row, lease - 1] = True
                left[row] -= 1
                if not any(free):
                    break
    late |= left > 0
    has[late] = False
    return has, late


def improved(plan: LeasePlan) -> LeasePlan:
    """The plan in which jobs, those that gain most for their GPU time first, get better deadlines where there is room.

    A job then takes the earliest leases with enough free GPUs, its own among them; nobody else's leases change.
    """
    data, has, free = plan.instance, np.array(plan.has), np.array(plan.left)
    best = np.array([own[0] if len(own) else data.miss_reward for own in data.rewards])
    earned = np.array(plan.earned)
    for _ in range(PASSES):
        gain = (best - earned) / (data.held.max(axis=1) * data.needed)
        better = 0
        for row in np.argsort(-gain, kind="stable").tolist():
            if gain[row] > 0 and data.possible[row]:
                better += _moved(data, row, has, free, earned)
        if not better:
            break
    return LeasePlan(data, has, plan.owner)


def _moved(data: Instance, row: int, has: BoolArray, free: IntArray, earned: np.ndarray) -> bool:
    """Whether a job got a better deadline; has, free and earned are brought up to date."""
    room = ((free + has[row, :, None] * data.held[row]) >= data.held[row]).all(axis=1)
    room[: data.first[row] - 1] = False
    open_leases = np.flatnonzero(room)[: data.needed[row]]
    if len(open_leases) < data.needed[row]:
        return False
    step = int(np.searchsorted(data.by[row], open_leases[-1] + 1))
    if step == len(data.by[row]) or data.rewards[row][step] <= earned[row]:
        return False
    free += has[row, :, None] * data.held[row]
    has[row] = False
    has[row, open_leases] = True
    free[open_leases] -= data.held[row]
    earned[row] = data.rewards[row][step]
    return True
