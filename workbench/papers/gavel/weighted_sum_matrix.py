"""The largest weighted sum of throughputs as a sparse matrix: several policies of section 4.2 differ in weights only.

A worth is (jobs x types): what one step/s of a job on a type adds to the objective.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from workbench.papers.gavel.allocation import AllocationData, check
from workbench.papers.gavel.matrix import Allocation, Grid, Rows, solve
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.solvers import Programme, Solver


def total(data: AllocationData, worth: FloatArray, shares: FloatArray) -> float:
    """`sum_m sum_{k in C_m} sum_j worth_mj T^m_kj X_kj` of (combinations x types) shares."""
    e = data.entries
    time_of = shares[e.combination, e.kind][e.entry]
    return float((time_of * e.steps_per_s * worth[e.job, e.kind[e.entry]]).sum())


def allocate(
    data: AllocationData,
    worth: FloatArray,
    name: str,
    floor: FloatArray | None = None,
    optimum: str = "vertex",
    solver: Solver | None = None,
) -> Allocation:
    """The allocation with the largest total worth; equal jobs get equal shares.

    data: as the policy sees them; name: of the formulation; floor: (jobs,) least throughput in steps/s, 0 for none.
    Raises the errors of `workbench.scheduling.solvers`, InfeasibleError if the floors cannot be met.
    """
    if not data.jobs:
        return Allocation.of_nobody(data)
    began = time.perf_counter()
    least = np.zeros(len(data.jobs)) if floor is None else floor
    grid = classes(data, worth, least)
    rows = Rows(grid)
    add_floors(rows, least)
    programme = rows.programme(earnings(grid, worth), name, maximise=True)
    build_s = time.perf_counter() - began
    point = solve(programme, len(grid.first), optimum, solver)
    shares = check(data, grid.shares(point.values), name)
    return Allocation(shares, replace(point.solved, objective=total(data, worth, shares), build_s=build_s))


def classes(data: AllocationData, worth: FloatArray, floor: FloatArray) -> Grid:
    """Classes of jobs that are equal in speeds, gang, worth and floor; weights play no part."""
    return Grid.of(replace(data, weight=np.ones(len(data.jobs))), worth, floor)


def earnings(grid: Grid, worth: FloatArray) -> FloatArray:
    """(columns,) worth per unit of each column X, of all members of its classes together."""
    of_class = (worth[grid.first] * grid.count[:, None])[grid.speed_class, grid.kind[grid.speed_column]]
    return np.bincount(grid.speed_column, of_class * grid.speed, minlength=len(grid)).astype(float)


def add_floors(rows: Rows, floor: FloatArray, spare: int | None = None) -> int:
    """Add `throughput / floor >= 1` for each class with a floor; returns the number of the first row.

    spare: the first of as many columns, one for each row, by which the row may fall short.
    """
    grid = rows.grid
    least = floor[grid.first]
    wanted = np.flatnonzero(least > 0)
    row = np.full(len(grid.first), -1)
    row[wanted] = np.arange(len(wanted))
    used = least[grid.speed_class] > 0
    of = grid.speed_class[used]
    row_of, column, value = row[of], grid.speed_column[used], grid.speed[used] / least[of]
    if spare is not None:
        row_of = np.concatenate([row_of, np.arange(len(wanted))])
        column = np.concatenate([column, spare + np.arange(len(wanted))])
        value = np.concatenate([value, np.ones(len(wanted))])
    return rows.add(row_of, column, value, lower=np.ones(len(wanted)))


def limits(data: AllocationData, floor: FloatArray, name: str) -> Programme:
    """Whether the floors can be met: the limits alone, without an objective."""
    grid = classes(data, np.ones(data.speed.shape), floor)
    rows = Rows(grid)
    add_floors(rows, floor)
    return rows.programme(np.zeros(len(grid)), name, maximise=True)
