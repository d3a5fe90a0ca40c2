"""Max-min fairness as a sparse matrix: the problem of `max_min_fairness.build`, for schedulers that solve it often.

Jobs with equal speeds, weight and gang are one class (exact: averaging the shares of equal jobs changes neither limits
nor the objective), and X <= 1 is left out, since (2) implies it. Tested equal to the Pyomo model, the statement.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from workbench.papers.gavel.max_min_fairness import FairnessData, check, objective
from workbench.solvers import Columns, Method, Programme, Solved, Solver, solve_matrix
from workbench.throughput import FloatArray

SIMPLEX_UP_TO = 1000
"""Classes up to which the simplex method is the faster one; above, interior point with crossover."""


@dataclass(frozen=True, eq=False)
class Allocation:
    """(jobs x types) shares of time, and the report; `solved.objective` is recomputed from them, NaN without jobs."""

    shares: FloatArray
    solved: Solved


def allocate(
    data: FairnessData, heterogeneity_aware: bool = True, optimum: str = "vertex", solver: Solver | None = None
) -> Allocation:
    """The allocation of `gavel.max_min_fairness`, see its knobs; equal jobs get equal shares.

    Raises the errors of `workbench.solvers`.
    """
    if not data.jobs:
        return Allocation(np.zeros(data.speed.shape), Solved("optimal", np.nan, np.nan, None, "none needed"))
    began = time.perf_counter()
    first, member, count = classes(data)
    programme = matrix(data, first, count, heterogeneity_aware)
    build_s = time.perf_counter() - began
    solver = solver or Solver()
    if solver.method == "auto":
        vertex: Method = "simplex" if len(first) <= SIMPLEX_UP_TO else "ipm"
        # There is nothing for presolve to remove, and without it the interior point lies nearer the centre of the face.
        solver = replace(solver, presolve=False, method="interior" if optimum == "interior" else vertex)
    point = solve_matrix(programme, solver)
    shares = np.zeros((len(first), len(data.types)))
    shares[data.can_run[first]] = point.values[:-1]
    shares = check(data, shares[member])
    value = objective(data, shares, heterogeneity_aware)
    assert value is not None
    return Allocation(shares, replace(point.solved, objective=value, build_s=build_s))


def classes(data: FairnessData) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Classes of equal jobs, in the order of their first members: row of the first member, class of each job, sizes."""
    keys = np.column_stack([data.speed, data.weight, data.gang])
    order: dict[bytes, int] = {}
    member = np.array([order.setdefault(key.tobytes(), len(order)) for key in keys], dtype=np.int64)
    _, first, count = np.unique(member, return_index=True, return_counts=True)
    return first, member, count


def matrix(
    data: FairnessData, first: npt.NDArray[np.int64], count: npt.NDArray[np.int64], heterogeneity_aware: bool
) -> Programme:
    """The programme over classes: columns X_kj where class k can run on type j (row-major), then t.

    first: (classes,) row of a member; count: (classes,) members. Rows: (2) of each class, (3) of each type, epigraph of
    each class.
    """
    classes, types = len(first), len(data.types)
    row, kind = np.nonzero(data.can_run[first])
    column = np.arange(len(row))
    gain = data.value(heterogeneity_aware)[first][row, kind]
    use = (count * data.gang[first])[row]
    below = classes + types
    epigraph = below + np.arange(classes)
    entries = Columns.of(
        np.concatenate([row, classes + kind, below + row, epigraph]),
        np.concatenate([column, column, column, np.full(classes, len(row))]),
        np.concatenate([np.ones(len(row)), use, -gain, np.ones(classes)]),
        (below + classes, len(row) + 1),
    )
    return Programme(
        cost=np.append(np.zeros(len(row)), 1.0),
        matrix=entries,
        row_lower=np.full(below + classes, -np.inf),
        row_upper=np.concatenate([np.ones(classes), data.workers, np.zeros(classes)]),
        lower=np.append(np.zeros(len(row)), -np.inf),
        upper=np.full(len(row) + 1, np.inf),
        maximise=True,
        name="gavel.max_min_fairness",
    )
