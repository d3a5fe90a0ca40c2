"""Minimum makespan as a sparse matrix: the problems of `makespan` and `makespan_bisection`. Tested equal to those.

The makespan is 1 / t, t the largest level that the worst-off job can have if throughput counts in parts of the steps
left: `1 / M = max_X min_m throughput(m, X) / n_m`.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from workbench.papers.gavel.algorithms.sifting import solve
from workbench.papers.gavel.formulations import makespan_bisection as bisection
from workbench.papers.gavel.formulations.allocation import check
from workbench.papers.gavel.formulations.assembly import Rows, ShareGrid, SolvedShares, worst_job
from workbench.papers.gavel.formulations.makespan import NAME, objective
from workbench.papers.gavel.instance import StepsInstance
from workbench.scheduling.solvers import InfeasibleError, Solver, SolverFailedError

TOLERANCE = 1e-9
"""How far rows may be off where they are all that is asked, unless the solver has been told: HiGHS's own 1e-7 took a
makespan that is too short by 6e-7 for one that can be kept."""


def allocate(data: StepsInstance, optimum: str = "vertex", solver: Solver | None = None) -> SolvedShares:
    """The allocation of `gavel.makespan` for data as the policy sees them; equal jobs get equal shares.

    Raises the errors of `workbench.scheduling.solvers`.
    """
    if not data.jobs:
        return SolvedShares.of_nobody(data)
    began = time.perf_counter()
    unit_s = bisection.bracket(data, data.steps)[1]
    grid = ShareGrid.of(data.in_parts(unit_s))
    programme = worst_job(grid, np.ones(len(grid.first)), NAME)
    build_s = time.perf_counter() - began
    point = solve(programme, len(grid.first), optimum, solver)
    shares = check(data, grid.shares(point.values[: len(grid)]), NAME)
    value = objective(data, shares)
    assert value is not None
    bound = None if point.solved.bound is None else unit_s / point.solved.bound
    return SolvedShares(shares, replace(point.solved, objective=value, bound=bound, build_s=build_s))


def bisect(
    data: StepsInstance,
    tolerance: float,
    optimum: str = "vertex",
    solver: Solver | None = None,
    begin: str = "isolated",
) -> SolvedShares:
    """The same by the paper's bisection; begin: the knob `bracket`."""
    if not data.jobs:
        return SolvedShares.of_nobody(data)
    exact = (solver or Solver()).to_within(TOLERANCE)
    unit_s = bisection.bracket(data, data.steps)[1]
    grid = ShareGrid.of(data.in_parts(unit_s))
    rows = Rows(grid)
    classes = len(grid.first)
    first = rows.add(grid.speed_class, grid.speed_column, grid.speed, lower=np.zeros(classes))
    programme = rows.programme(np.zeros(len(grid)), NAME, maximise=True)

    def attempt(makespan_s: float, optimum: str = "vertex") -> bisection.Attempt | None:
        lower = programme.row_lower.copy()
        lower[first:] = unit_s / makespan_s
        try:
            point = solve(replace(programme, row_lower=lower), classes, optimum, exact)
        except InfeasibleError:
            return None
        return bisection.Attempt(grid.shares(point.values), point.solved)

    found = bisection.search(data, data.steps, tolerance, attempt, begin)
    # An interior point is looked for only where there is one: HiGHS's method for it may fail where there is none.
    inside = attempt(found.kept_s, optimum) if optimum != "vertex" else None
    if optimum != "vertex" and inside is None:
        raise SolverFailedError(NAME, f"no {optimum} optimum where there is a vertex", "knob optimum: vertex")
    shares = check(data, found.shares if inside is None else inside.shares, NAME)
    return SolvedShares(shares, found.solved(objective(data, shares)))
