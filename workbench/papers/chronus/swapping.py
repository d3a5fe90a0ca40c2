"""Better deadlines in a full plan: a job trades its late leases for earlier ones of jobs that can wait.

A trade moves one lease of a job forward: to a lease that has room, or to one of another job's, which takes the late one
instead and still meets the deadline it met. Nobody's reward falls.
"""

from __future__ import annotations

import numpy as np

from workbench.papers.chronus.instance import Instance
from workbench.papers.chronus.plan import LeasePlan
from workbench.scheduling.decision import BoolArray, IntArray

PASSES = 2
"""How often all jobs are tried."""


def swapped(plan: LeasePlan) -> LeasePlan:
    """The plan in which jobs, those that gain most for their GPU time first, have traded for better deadlines."""
    data = plan.instance
    for _ in range(PASSES):
        best = np.array([own[0] if len(own) else data.miss_reward for own in data.rewards])
        gain = (best - plan.earned) / (data.held.max(axis=1) * data.needed)
        has, left, better = np.array(plan.has), np.array(plan.left), False
        due = np.array([data.by[row][step] if step >= 0 else 0 for row, step in enumerate(plan.step.tolist())])
        for row in np.argsort(-gain, kind="stable").tolist():
            for step in range(int(plan.step[row])):
                by = int(data.by[row][step])
                found = _traded(data, row, by, has, left, due)
                if found is not None:
                    has, left = found
                    due[row] = by
                    better = True
                    break
        if not better:
            break
        plan = LeasePlan(data, has, plan.owner)
    return plan


def _traded(
    data: Instance, row: int, by: int, has: BoolArray, left: IntArray, due: IntArray
) -> tuple[BoolArray, IntArray] | None:
    """The plan and what is left over if the job has all its leases by then; None if no trades do that."""
    late = np.flatnonzero(has[row, by:]) + by
    early = np.flatnonzero(~has[row, :by])
    early = early[early >= data.first[row] - 1]
    if len(early) < len(late):
        return None
    has, left = has.copy(), left.copy()
    for lease in late.tolist():
        spot = _trade(data, row, lease, early, has, left, due)
        if spot is None:
            return None
        early = early[early != spot]
    return has, left


def _trade(
    data: Instance, row: int, late: int, early: IntArray, has: BoolArray, left: IntArray, due: IntArray
) -> int | None:
    """The lease for which a job gives its late one, its and the partner's changed in has and left; None if none."""
    held = data.held
    roomy = np.flatnonzero((left[early] >= held[row]).all(axis=1))
    if len(roomy):
        spot = int(early[roomy[0]])
        _move(has, left, held, row, late, spot)
        return spot
    patient = ~has[:, late] & (due > late) & (data.first <= late + 1) & (held <= left[late] + held[row]).all(axis=1)
    patient[row] = False
    if not patient.any():
        return None
    rows = np.flatnonzero(patient)
    for spot in early.tolist():
        able = rows[has[rows, spot] & (held[rows] + left[spot] >= held[row]).all(axis=1)]
        if len(able):
            other = int(able[np.argmin(held[able].max(axis=1))])
            _move(has, left, held, row, late, spot)
            _move(has, left, held, other, spot, late)
            return int(spot)
    return None


def _move(has: BoolArray, left: IntArray, held: IntArray, row: int, start: int, end: int) -> None:
    has[row, start], has[row, end] = False, True
    left[start] += held[row]
    left[end] -= held[row]
