"""How the sparse programmes are solved; large ones with few columns at a time, as most pairs of jobs get no share.

Begin without the columns that may wait, solve, price those left out with the duals of the rows, add the best, and again
until none improves the objective: then the duals prove that the point is optimal for the whole programme. Source:
Bixby, Gregory, Lustig, Marsten, Shanno, "Very Large-Scale Linear Programming" (Operations Research 40, 1992).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from workbench.papers.gavel.algorithms.centre import centre
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import BoolArray, IntArray
from workbench.scheduling.solvers import (
    Columns,
    InfeasibleError,
    Method,
    Point,
    Programme,
    Solver,
    solve_matrix,
)

IMPROVES = 1e-9
"""A column is added if a unit of it improves the objective by more than this part of it (of 1 if it is smaller)."""


def sift(programme: Programme, late: BoolArray, solver: Solver) -> Point:
    """The optimum of a linear programme, with as many columns more in each turn as there are rows.

    late: (columns,) which may be left out at first, with lower limit 0. Values are of all columns; the report counts
    the iterations and seconds of all turns. A programme that is infeasible without its late columns, or whose solver
    gives no duals, is solved whole. Raises the errors of `workbench.scheduling.solvers`.
    """
    active, seconds, iterations = ~late, 0.0, 0
    sign, best = (1 if programme.maximise else -1), -np.inf
    values = np.zeros(len(active))
    while True:
        columns = np.flatnonzero(active)
        try:
            found = solve_matrix(_only(programme, columns), solver)
        except InfeasibleError:
            return solve_matrix(programme, solver)
        seconds, iterations = seconds + found.solved.solve_s, iterations + found.solved.passes
        if found.duals is None:
            return solve_matrix(programme, solver)
        slack = IMPROVES * max(1.0, abs(found.solved.value))
        if sign * found.solved.value > best + slack:  # otherwise the point with fewer columns is as good
            best, values = sign * found.solved.value, np.zeros(len(active))
            values[columns] = found.values
        worth = sign * _reduced(programme, found.duals)
        worth[active | (programme.upper <= 0)] = 0.0
        better = np.flatnonzero(worth > slack)
        if not len(better) or found.solved.status != "optimal":
            break
        most = min(len(better), len(programme.row_upper))
        active[better[np.argsort(-worth[better], kind="stable")[:most]]] = True
    report = replace(found.solved, solve_s=seconds, passes=iterations)
    return Point(values, found.duals, _reduced(programme, found.duals), report)


def _only(programme: Programme, columns: IntArray) -> Programme:
    """The programme with some of its columns; the others are 0."""
    matrix = programme.matrix
    size = np.diff(matrix.indptr)[columns]
    start = np.concatenate([[0], np.cumsum(size)])
    entry = np.repeat(matrix.indptr[columns] - start[:-1], size) + np.arange(start[-1])
    kept = Columns((matrix.shape[0], len(columns)), start.astype(np.int32), matrix.indices[entry], matrix.data[entry])
    return Programme(
        programme.cost[columns],
        kept,
        programme.row_lower,
        programme.row_upper,
        programme.lower[columns],
        programme.upper[columns],
        maximise=programme.maximise,
        offset=programme.offset,
        name=programme.name,
        made_by=programme.made_by,
    )


def _reduced(programme: Programme, duals: FloatArray) -> FloatArray:
    """(columns,) `cost - matrix' duals`."""
    matrix = programme.matrix
    total = np.concatenate([[0.0], np.cumsum(matrix.data * duals[matrix.indices])])
    reduced: FloatArray = programme.cost - (total[matrix.indptr[1:]] - total[matrix.indptr[:-1]])
    return reduced


def without_implied_limits(programme: Programme) -> Programme:
    """The same without the upper limits of columns that some row implies, of terms none of which can be below 0."""
    matrix, (height, width) = programme.matrix, programme.matrix.shape
    column = np.repeat(np.arange(width), np.diff(matrix.indptr))
    kind = np.ones(height, dtype=bool)
    kind[matrix.indices[(matrix.data < 0) | (programme.lower[column] < 0)]] = False
    of = kind[matrix.indices] & (matrix.data > 0)
    implied = np.full(width, np.inf)
    np.minimum.at(implied, column[of], programme.row_upper[matrix.indices[of]] / matrix.data[of])
    upper = np.where((implied <= programme.upper) & (programme.upper > 0), np.inf, programme.upper)
    return replace(programme, upper=upper)


SIMPLEX_UP_TO = 1000
"""Jobs up to which the simplex method is the faster one; above, interior point with crossover."""

SIFT_BY_SIMPLEX_UP_TO = 256
"""The same with pairs, where programmes are solved a few columns at a time."""


def solve(programme: Programme, jobs: int, late: BoolArray, solver: Solver) -> Point:
    """Solve by the method that is fastest at this size, or as the solver's own option says; late: see `sift`.

    A vertex is looked for without pairs first, which come in where they improve the objective: faster, and jobs that
    lose nothing by it keep their GPUs to themselves. There is nothing for presolve to remove but limits that rows imply
    (X <= 1, by (2)): they would have prices of their own, and draw an interior point away from them.
    """
    programme = without_implied_limits(programme)
    if solver.method == "interior":
        return centre(programme, solve_matrix(programme, solver))
    if solver.method != "auto":
        return solve_matrix(programme, solver)
    if late.any():
        method: Method = "simplex" if jobs <= SIFT_BY_SIMPLEX_UP_TO else "ipm"
        return sift(programme, late, replace(solver.without_presolve(), method=method))
    method = "simplex" if jobs <= SIMPLEX_UP_TO else "ipm"
    return solve_matrix(programme, replace(solver.without_presolve(), method=method))
