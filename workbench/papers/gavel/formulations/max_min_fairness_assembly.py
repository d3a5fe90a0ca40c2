"""Max-min fairness as a sparse matrix: the problem of `max_min_fairness.build`. Tested equal to that, the statement."""

from __future__ import annotations

import time
from dataclasses import replace

from workbench.papers.gavel.algorithms.sifting import solve
from workbench.papers.gavel.formulations.allocation import check
from workbench.papers.gavel.formulations.assembly import ShareGrid, SolvedShares, worst_job
from workbench.papers.gavel.formulations.max_min_fairness import NAME, objective
from workbench.papers.gavel.instance import AllocationInstance
from workbench.scheduling.solvers import Programme, Solver


def allocate(data: AllocationInstance, optimum: str = "vertex", solver: Solver | None = None) -> SolvedShares:
    """The allocation of `gavel.max_min_fairness` for data as the policy sees them; equal jobs get equal shares.

    Raises the errors of `workbench.scheduling.solvers`.
    """
    if not data.jobs:
        return SolvedShares.of_nobody(data)
    began = time.perf_counter()
    grid = ShareGrid.of(data.relative())
    programme = matrix(grid)
    build_s = time.perf_counter() - began
    point = solve(programme, len(grid.first), optimum, solver)
    shares = check(data, grid.shares(point.values[: len(grid)]), NAME)
    value = objective(data, shares)
    assert value is not None
    return SolvedShares(shares, replace(point.solved, objective=value, build_s=build_s))


def matrix(grid: ShareGrid) -> Programme:
    """The programme: columns X, then t, see `worst_job`."""
    return worst_job(grid, grid.data.scale[grid.first], NAME)
