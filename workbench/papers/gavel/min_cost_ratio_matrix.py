"""The largest ratio of throughput to cost by Dinkelbach's method: the problem of `min_cost_ratio.build`.

A sequence of linear programmes in X itself: maximise throughput - ratio * cost, take the ratio of what comes out, until
nothing better is found. It has nothing in common with the model's change of variables, to which it is tested equal.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from workbench.papers.gavel.allocation import check
from workbench.papers.gavel.matrix import Allocation, Rows, solve
from workbench.papers.gavel.min_cost_ratio import TOLERANCE, objective
from workbench.papers.gavel.prices import PricedData
from workbench.papers.gavel.weighted_sum_matrix import add_floors, classes, earnings
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.solvers import Point, Solver, relative_gap

CLOSE = 1e-9
"""Relative gain below which a ratio is the best."""


def allocate(
    data: PricedData,
    value: FloatArray,
    name: str,
    floor: FloatArray | None = None,
    optimum: str = "vertex",
    solver: Solver | None = None,
) -> Allocation:
    """The allocation with the largest ratio, and among those with the largest throughput; equal jobs get equal shares.

    value: (jobs,) `v_m`; floor: (jobs,) least throughput in steps/s, 0 for none. Raises the errors of
    `workbench.scheduling.solvers`, InfeasibleError if the floors cannot be met.
    """
    if not data.jobs:
        return Allocation.of_nobody(data)
    began = time.perf_counter()
    least = np.zeros(len(data.jobs)) if floor is None else floor
    worth = np.broadcast_to(value[:, None], data.speed.shape)
    grid = classes(data, worth, least)
    gain, cost = earnings(grid, worth), grid.use * data.type_price[grid.kind]

    def best(of: FloatArray, keep: FloatArray | None = None) -> Point:
        rows = Rows(grid)
        add_floors(rows, least)
        # Only the last point is the answer; on the way to it vertices are exact.
        where, by = "vertex", solver
        if keep is not None:
            rows.add(np.zeros(len(grid)), np.arange(len(grid)), keep, lower=[0.0])
            where, by = optimum, (solver or Solver()).to_within(TOLERANCE)
        point = solve(rows.programme(of, name, maximise=True), len(grid.first), where, by)
        points.append(point)
        return point

    points: list[Point] = []
    ratio, better = 0.0, _ratio(best(gain), gain, cost)
    while better > ratio * (1.0 + CLOSE):
        ratio = better
        better = _ratio(best(gain / ratio - cost), gain, cost)
    last = best(gain, (gain / ratio - cost) / cost.min())
    shares = check(data, grid.shares(last.values), name)
    found = objective(data, value, shares)
    solve_s = sum(point.solved.solve_s for point in points)
    solved = replace(
        last.solved,
        objective=found,
        bound=ratio,
        gap=relative_gap(found, ratio),
        build_s=time.perf_counter() - began - solve_s,
        solve_s=solve_s,
        passes=len(points),
    )
    return Allocation(shares, solved)


def _ratio(point: Point, gain: FloatArray, cost: FloatArray) -> float:
    """Throughput to cost of a point; 0 if nothing runs, as when no ratio is better than the one before."""
    spent = float(cost @ point.values)
    return float(gain @ point.values) / spent if spent > 0 else 0.0
