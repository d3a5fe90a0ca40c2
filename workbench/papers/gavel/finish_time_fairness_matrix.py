"""Finish-time fairness as a sparse matrix: the problem of `finish_time_fairness`. Tested equal to that statement."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from workbench.papers.gavel.allocation import check
from workbench.papers.gavel.finish_time_fairness import FinishTimeData
from workbench.papers.gavel.finish_time_fairness_search import NAME, Tried, search
from workbench.papers.gavel.matrix import Allocation, Grid, solve
from workbench.papers.gavel.worst_job_matrix import worst_job
from workbench.scheduling.solvers import Solver


def allocate(
    data: FinishTimeData,
    method: str = "newton",
    tolerance: float = 1e-8,
    optimum: str = "vertex",
    solver: Solver | None = None,
) -> Allocation:
    """The allocation of `gavel.finish_time_fairness` for data as the policy sees them; equal jobs get equal shares.

    Raises the errors of `workbench.scheduling.solvers`.
    """
    if not data.jobs:
        return replace(Allocation.of_nobody(data), by_job={"rho": np.zeros(0)})
    began = time.perf_counter()
    alike = replace(data, weight=np.ones(len(data.jobs)))
    grid = Grid.of(alike, data.steps, data.elapsed_s, data.isolated_s)
    build_s = time.perf_counter() - began

    def attempt(rho: float, where: str = "vertex") -> Tried:
        need = (data.steps / data.terms.left_s(rho))[grid.first]
        programme = worst_job(grid, 1.0 / need, NAME)
        point = solve(programme, len(grid.first), where, solver)
        shares = grid.shares(point.values[: len(grid)])
        assert point.duals is not None
        # The rows are divided by what the class needs; members share its price.
        price = np.maximum(point.duals[-len(need) :], 0.0) / need / grid.count
        return Tried(shares, float(data.rho(shares).max()), float(point.values[-1]), price[grid.member], point.solved)

    found = search(data.terms, method, tolerance, attempt)
    shares = found.shares
    if optimum == "interior":
        # Only the last point is the answer; on the way to it vertices are exact.
        shares = attempt(found.largest, optimum).shares
    shares = check(data, shares, NAME)
    rho = data.rho(shares)
    solved = found.solved(float(rho.max()))
    return Allocation(shares, replace(solved, build_s=solved.build_s + build_s), {"rho": rho})
