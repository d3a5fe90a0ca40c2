"""How the sparse programmes are solved; large ones with few columns at a time, as most pairs of jobs get no share.

Begin without the columns that may wait, solve, price those left out with the duals of the rows, add the best, and again
until none improves the objective: then the duals prove that the point is optimal for the whole programme. Source:
Bixby, Gregory, Lustig, Marsten, Shanno, "Very Large-Scale Linear Programming" (Operations Research 40, 1992).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

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


@dataclass(frozen=True, eq=False, kw_only=True)
class Siftable(Programme):
    """A programme with columns that may be left out at first: (columns,) bool `late`, with lower limit 0."""

    late: BoolArray


def sift(programme: Programme, late: BoolArray, solver: Solver) -> Point:
    """The optimum of a linear programme, with as many columns more in each turn as there are rows.

    late: (columns,) which may be left out at first, with lower limit 0. Values are of all columns; the report counts
    the iterations and seconds of all turns. A programme that is infeasible without its late columns, or whose solver
    gives no duals, is solved whole. Raises the errors of `workbench.scheduling.solvers`.
    """
    active, seconds, iterations = ~late, 0.0, 0
    while True:
        columns = np.flatnonzero(active)
        try:
            found = solve_matrix(_only(programme, columns), solver)
        except InfeasibleError:
            return solve_matrix(programme, solver)
        seconds, iterations = seconds + found.solved.solve_s, iterations + found.solved.passes
        if found.duals is None:
            return solve_matrix(programme, solver)
        worth = _reduced(programme, found.duals) * (1 if programme.maximise else -1)
        worth[active | (programme.upper <= 0)] = 0.0
        better = np.flatnonzero(worth > IMPROVES * max(1.0, abs(found.solved.value)))
        if not len(better) or found.solved.status != "optimal":
            break
        most = min(len(better), len(programme.row_upper))
        active[better[np.argsort(-worth[better], kind="stable")[:most]]] = True
    values, reduced = np.zeros(len(active)), _reduced(programme, found.duals)
    values[columns] = found.values
    report = replace(found.solved, solve_s=seconds, passes=iterations)
    return Point(values, found.duals, reduced, report)


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


SIMPLEX_UP_TO = 1000
"""Jobs up to which the simplex method is the faster one; above, interior point with crossover."""

SIFT_BY_SIMPLEX_UP_TO = 256
"""The same with pairs, where programmes are solved a few columns at a time."""


def solve_programme(programme: Programme, jobs: int, late: BoolArray, solver: Solver) -> Point:
    """Solve by the method that is fastest at this size, or as the solver's own option says; late: see `sift`.

    A vertex is looked for without pairs first, which come in where they improve the objective: faster, and jobs that
    lose nothing by it keep their GPUs to themselves. There is nothing for presolve to remove.
    """
    if solver.method != "auto":
        return solve_matrix(programme, solver)
    if late.any():
        method: Method = "simplex" if jobs <= SIFT_BY_SIMPLEX_UP_TO else "ipm"
        return sift(programme, late, replace(solver.without_presolve(), method=method))
    method = "simplex" if jobs <= SIMPLEX_UP_TO else "ipm"
    return solve_matrix(programme, replace(solver.without_presolve(), method=method))


def solve(programme: Programme, classes: int, optimum: str = "vertex", solver: Solver | None = None) -> Point:
    """Solve by the method that is fastest at this size, or as the solver's own option says.

    A vertex is looked for without pairs first, which come in where they improve the objective: faster, and jobs that
    lose nothing by it keep their GPUs to themselves.
    """
    point = _solve(programme, classes, optimum, solver or Solver())
    return replace(point, solved=replace(point.solved, made_by="assembly"))


def _solve(programme: Programme, classes: int, optimum: str, solver: Solver) -> Point:
    if solver.method != "auto":
        return solve_matrix(programme, solver)
    # There is nothing for presolve to remove, and without it the interior point lies nearer the centre of the face.
    if optimum == "interior":
        return solve_matrix(programme, replace(solver.without_presolve(), method="interior"))
    if isinstance(programme, Siftable) and not programme.mixed and programme.late.any():
        method: Method = "simplex" if classes <= SIFT_BY_SIMPLEX_UP_TO else "ipm"
        return sift(programme, programme.late, replace(solver.without_presolve(), method=method))
    method = "simplex" if classes <= SIMPLEX_UP_TO else "ipm"
    return solve_matrix(programme, replace(solver.without_presolve(), method=method))
