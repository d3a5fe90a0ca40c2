"""Minimum cost as a sparse matrix: the sum of `min_cost.build`, or the ratio of `min_cost_ratio.build`.

The largest ratio of throughput to cost is found by Dinkelbach's method, a sequence of linear programmes in X itself:
maximise throughput - ratio * cost, take the ratio of what comes out, until nothing better is found. It has nothing in
common with the model's change of variables, to which it is tested equal.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from workbench.papers.gavel.algorithms.sifting import solve
from workbench.papers.gavel.formulations.allocation import check
from workbench.papers.gavel.formulations.assembly import (
    Rows,
    SolvedShares,
    add_floors,
    earnings,
    sum_grid,
    weighted_sum,
)
from workbench.papers.gavel.formulations.max_throughput import value
from workbench.papers.gavel.formulations.min_cost import NAME, by_ratio, worth
from workbench.papers.gavel.formulations.min_cost_ratio import TOLERANCE, objective
from workbench.papers.gavel.instance import PricedInstance
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Knobs
from workbench.scheduling.solvers import Point, Solver, relative_gap

CLOSE = 1e-9
"""Relative gain below which a ratio is the best."""


def largest_ratio(
    data: PricedInstance,
    value: FloatArray,
    name: str,
    floor: FloatArray | None = None,
    optimum: str = "vertex",
    solver: Solver | None = None,
) -> SolvedShares:
    """The allocation with the largest ratio, and among those with the largest throughput; equal jobs get equal shares.

    value: (jobs,) `v_m`; floor: (jobs,) least throughput in steps/s, 0 for none. Raises the errors of
    `workbench.scheduling.solvers`, InfeasibleError if the floors cannot be met.
    """
    if not data.jobs:
        return SolvedShares.of_nobody(data)
    began = time.perf_counter()
    least = np.zeros(len(data.jobs)) if floor is None else floor
    worth = np.broadcast_to(value[:, None], data.speed.shape)
    grid = sum_grid(data, worth, least)
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
    return SolvedShares(shares, solved)


def _ratio(point: Point, gain: FloatArray, cost: FloatArray) -> float:
    """Throughput to cost of a point; 0 if nothing runs, as when no ratio is better than the one before."""
    spent = float(cost @ point.values)
    return float(gain @ point.values) / spent if spent > 0 else 0.0


def allocate(
    data: PricedInstance, knobs: Knobs, name: str = NAME, floor: FloatArray | None = None, solver: Solver | None = None
) -> SolvedShares:
    """The allocation of `gavel.min_cost` for data as the policy sees them; floor: (jobs,) least steps/s, 0 for none."""
    found, optimum = value(data, knobs), str(knobs.get("optimum", "vertex"))
    if by_ratio(knobs):
        return largest_ratio(data, found, name, floor, optimum, solver)
    return weighted_sum(data, worth(data, found), name, floor, optimum, solver)
