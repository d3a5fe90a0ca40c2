"""How the best value of a linear programme changes with its numbers: the derivative that its duals give."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.scenario.throughput import FloatArray
from workbench.scheduling.solvers.compile import compile_model
from workbench.scheduling.solvers.errors import SolverFailedError
from workbench.scheduling.solvers.options import Solver
from workbench.scheduling.solvers.programme import Point, Programme, Sparse
from workbench.scheduling.solvers.solve import solve_matrix


class Sensitivity:
    """A solved linear model, given as a Pyomo model, and the derivatives of its objective.

    With `max c x, l <= A x <= u` the Lagrangian's derivative is `dc x + y (db - dA x)`, y the duals of the rows, b the
    limit that a row stands at (the envelope theorem). It is the derivative where y is the only dual; where there are
    several (degenerate), it is a slope between those of less and of more.
    """

    def __init__(self, model: Any, solver: Solver | None = None) -> None:
        self._programme = compile_model(model).programme
        if self._programme.mixed:
            raise SolverFailedError(model.name, "columns that must be whole", "a linear programme, which has duals")
        self._point: Point = solve_matrix(self._programme, solver)
        if self._point.duals is None:
            raise SolverFailedError(model.name, "a solution without duals", "duals")

    @property
    def objective(self) -> float:
        """The best value."""
        return self._point.solved.value

    def slope(self, changed: Any) -> float:
        """Change of the objective, to first order, from this model to a slightly changed one of the same shape."""
        other = compile_model(changed).programme
        if other.matrix.shape != self._programme.matrix.shape or len(other.matrix.data) != len(
            self._programme.matrix.data
        ):
            raise SolverFailedError(changed.name, "a model of another shape", "the same rows and columns")
        x, y = self._point.values, self._point.duals
        assert y is not None
        activity = _times(self._programme.matrix, x)
        moved = _limit_moved(self._programme, other, activity) - (_times(other.matrix, x) - activity)
        constant = other.offset - self._programme.offset
        return float((other.cost - self._programme.cost) @ x + y[y != 0] @ moved[y != 0] + constant)


def _limit_moved(before: Programme, after: Programme, activity: FloatArray) -> FloatArray:
    """(rows,) by how much the limit moves that each row is nearest to."""
    with np.errstate(invalid="ignore"):  # infinite limits stay where they are
        low, high = activity - before.row_lower, before.row_upper - activity
        moved = np.where(high <= low, after.row_upper - before.row_upper, after.row_lower - before.row_lower)
    return np.nan_to_num(moved, nan=0.0)


def _times(matrix: Sparse, x: FloatArray) -> FloatArray:
    """(rows,) `matrix x`."""
    by_entry = np.repeat(x, np.diff(matrix.indptr)) * matrix.data
    return np.bincount(matrix.indices, by_entry, minlength=matrix.shape[0]).astype(float)
