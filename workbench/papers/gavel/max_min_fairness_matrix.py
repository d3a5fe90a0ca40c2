"""Max-min fairness as a sparse matrix: the problem of `max_min_fairness.build`. Tested equal to that, the statement."""

from __future__ import annotations

import time
from dataclasses import replace

from workbench.papers.gavel.allocation import AllocationData, check
from workbench.papers.gavel.matrix import Allocation, Grid, solve
from workbench.papers.gavel.max_min_fairness import NAME, objective
from workbench.papers.gavel.worst_job_matrix import worst_job
from workbench.scheduling.solvers import Programme, Solver


def allocate(data: AllocationData, optimum: str = "vertex", solver: Solver | None = None) -> Allocation:
    """The allocation of `gavel.max_min_fairness` for data as the policy sees them; equal jobs get equal shares.

    Raises the errors of `workbench.scheduling.solvers`.
    """
    if not data.jobs:
        return Allocation.of_nobody(data)
    began = time.perf_counter()
    grid = Grid.of(data.relative())
    programme = matrix(grid)
    build_s = time.perf_counter() - began
    point = solve(programme, len(grid.first), optimum, solver)
    shares = check(data, grid.shares(point.values[: len(grid)]), NAME)
    value = objective(data, shares)
    assert value is not None
    return Allocation(shares, replace(point.solved, objective=value, build_s=build_s))


def matrix(grid: Grid) -> Programme:
    """The programme: columns X, then t, see `worst_job`."""
    return worst_job(grid, grid.data.scale[grid.first], NAME)
