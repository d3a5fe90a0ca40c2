"""Finish-time fairness as a sparse matrix: the problem of `finish_time_fairness`. Tested equal to that statement."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from workbench.papers.gavel.algorithms.finish_time_search import NAME, TriedRho, search
from workbench.papers.gavel.algorithms.sifting import solve
from workbench.papers.gavel.formulations.allocation import check
from workbench.papers.gavel.formulations.assembly import ShareGrid, SolvedShares, worst_job
from workbench.papers.gavel.formulations.finish_time_fairness import FinishTimeInstance
from workbench.scheduling.solvers import Solver


def allocate(
    data: FinishTimeInstance,
    method: str = "newton",
    tolerance: float = 1e-8,
    optimum: str = "vertex",
    solver: Solver | None = None,
) -> SolvedShares:
    """The allocation of `gavel.finish_time_fairness` for data as the policy sees them; equal jobs get equal shares.

    Raises the errors of `workbench.scheduling.solvers`.
    """
    if not data.jobs:
        return replace(SolvedShares.of_nobody(data), by_job={"rho": np.zeros(0)})
    began = time.perf_counter()
    alike = replace(data, weight=np.ones(len(data.jobs)))
    grid = ShareGrid.of(alike, data.steps, data.elapsed_s, data.isolated_s)
    build_s = time.perf_counter() - began

    def attempt(rho: float, where: str = "vertex") -> TriedRho:
        need = (data.steps / data.terms.left_s(rho))[grid.first]
        programme = worst_job(grid, 1.0 / need, NAME)
        point = solve(programme, len(grid.first), where, solver)
        shares = grid.shares(point.values[: len(grid)])
        assert point.duals is not None
        # The rows are divided by what the class needs; members share its price.
        price = np.maximum(point.duals[-len(need) :], 0.0) / need / grid.count
        return TriedRho(
            shares, float(data.rho(shares).max()), float(point.values[-1]), price[grid.member], point.solved
        )

    found = search(data.terms, method, tolerance, attempt)
    shares = found.shares
    if optimum == "interior":
        # Only the last point is the answer; on the way to it vertices are exact.
        shares = attempt(found.largest, optimum).shares
    shares = check(data, shares, NAME)
    rho = data.rho(shares)
    solved = found.solved(float(rho.max()))
    return SolvedShares(shares, replace(solved, build_s=solved.build_s + build_s), {"rho": rho})
