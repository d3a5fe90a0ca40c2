"""Every limit of a programme as a row of its own, bounds of variables too; and what each is worth on either side.

The best value of a linear programme is piecewise linear in each right-hand side. At a kink there are several duals, of
which the solver's is one: the slope towards less and the one towards more are two numbers. The slope in a direction is
the best `c d` of the programme around the solution: the row that moves, the other rows that are met, which stay, and no
others. How far it holds is the largest step that still gains the slope times the step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.scheduling.solvers.errors import InfeasibleError, SolverFailedError, UnboundedError
from workbench.scheduling.solvers.options import Solver
from workbench.scheduling.solvers.programme import Columns, Point, Programme, Sparse
from workbench.scheduling.solvers.solve import solve_matrix

MET = 1e-7
"""A row is met when less than this is left of it."""
SAME = 1e-6
"""Slopes that differ by less, relative to the larger, are one."""
NOISE = 1e-9
"""Part of the objective by which a step may fall short of its slope: rounding."""
SENSES = {-1: ">=", 0: "=", 1: "<="}


class Rates(NamedTuple):
    """Change of the best value per unit of a right-hand side, towards less and towards more, and how far each holds.

    A rate is infinite where no point is left on that side; its range is then 0.
    """

    left: float
    right: float
    left_range: float
    right_range: float

    @property
    def unique(self) -> bool:
        """Whether both sides agree."""
        least = SAME * max(1e-3, abs(self.left), abs(self.right))
        return self.left == self.right or abs(self.left - self.right) <= least


@dataclass(frozen=True, eq=False)
class LimitRows:
    """The rows of a solved programme: `matrix x`, `sense`, `right`; columns have no bounds of their own.

    matrix: (limits x columns); sense: (limits,) -1 for >=, 0 for =, 1 for <=; right: (limits,); owner: (limits,) number
    of the programme's row, or rows + number of its column for a bound; dual: (limits,) change of the objective per unit
    of `right`, None with integers.
    """

    programme: Programme
    point: Point
    matrix: Columns
    sense: IntArray
    right: FloatArray
    owner: IntArray
    dual: FloatArray | None

    @classmethod
    def of(cls, programme: Programme, point: Point) -> LimitRows:
        """The limits of a programme at a solution: those of its rows, in their order, then those of its columns."""
        columns = programme.matrix.shape[1]
        lower = np.concatenate([programme.row_lower, programme.lower])
        upper = np.concatenate([programme.row_upper, programme.upper])
        owner, sense = _sides(lower, upper)
        right = np.where(sense < 0, lower[owner], upper[owner])
        row, column, entry = _every_entry(programme)
        order = np.argsort(row, kind="stable")
        start, end = (np.searchsorted(row[order], owner, side=side) for side in ("left", "right"))
        number = np.repeat(np.arange(len(owner)), end - start)
        at = order[np.arange(len(number)) + np.repeat(start - np.append(0, np.cumsum(end - start)[:-1]), end - start)]
        matrix = Columns.of(number, column[at], entry[at], (len(owner), columns))
        return cls(programme, point, matrix, sense, right, owner, _duals(programme, point, owner, sense, right))

    @cached_property
    def left(self) -> FloatArray:
        """(limits,) `matrix x` at the solution."""
        return _times(self.matrix, self.point.values)

    @cached_property
    def slack(self) -> FloatArray:
        """(limits,) `|left - right|`."""
        found: FloatArray = np.abs(self.left - self.right)
        return found

    @cached_property
    def met(self) -> BoolArray:
        """(limits,) whether nothing is left of it."""
        found: BoolArray = self.slack < MET
        return found

    @cached_property
    def tight(self) -> BoolArray:
        """(limits,) whether nothing is left of it but rounding in the sizes of its terms: what no step may break."""
        of_terms = replace(self.matrix, data=np.abs(self.matrix.data))
        size = np.maximum(1.0, np.maximum(np.abs(self.right), _times(of_terms, np.abs(self.point.values))))
        found: BoolArray = self.slack < MET * size
        return found

    def moved(self, programme: Programme, number: int, by: float) -> Programme:
        """A programme of this shape with one right-hand side moved; by: inf or -inf takes the limit away."""
        owner, sense = int(self.owner[number]), int(self.sense[number])
        lower = np.concatenate([programme.row_lower, programme.lower])
        upper = np.concatenate([programme.row_upper, programme.upper])
        if sense <= 0:
            lower[owner] = -math.inf if math.isinf(by) else lower[owner] + by
        if sense >= 0:
            upper[owner] = math.inf if math.isinf(by) else upper[owner] + by
        rows = len(programme.row_lower)
        return replace(
            programme,
            row_lower=lower[:rows],
            row_upper=upper[:rows],
            lower=lower[rows:],
            upper=upper[rows:],
            start=None,
        )

    def rates(self, number: int, solver: Solver | None = None) -> Rates:
        """What a limit is worth on either side, by four small programmes. For linear programmes only."""
        solver = replace(solver or Solver(), method="auto", on_progress=None, on_log=None)
        (left, left_range), (right, right_range) = (self._towards(number, step, solver) for step in (-1.0, 1.0))
        return Rates(0.0 - left, right, left_range, right_range)

    def _towards(self, number: int, step: float, solver: Solver) -> tuple[float, float]:
        """Change of the best value per unit of a step, and how many units that holds."""
        try:
            gain = solve_matrix(self._around(number, step), solver).solved.value
        except InfeasibleError:
            return (-math.inf if self.programme.maximise else math.inf), 0.0
        gain = gain if abs(gain) > NOISE else 0.0
        try:
            return gain, max(0.0, solve_matrix(self._stretched(number, step, gain), solver).solved.value)
        except UnboundedError:
            return gain, math.inf

    def _free(self, matrix: Columns, cost: FloatArray, lower: FloatArray, upper: FloatArray) -> Programme:
        columns = len(cost)
        nothing = np.full(columns, math.inf)
        return Programme(cost, matrix, lower, upper, -nothing, nothing, maximise=self.programme.maximise)

    def _around(self, number: int, step: float) -> Programme:
        """The best `c d`: what is tight stays, the one limit moves by `step`, all others are free."""
        to = np.zeros(len(self.sense))
        to[number] = step
        lower = np.where(self.tight & (self.sense <= 0), to, -math.inf)
        upper = np.where(self.tight & (self.sense >= 0), to, math.inf)
        return self._free(self.matrix, self.programme.cost, lower, upper)

    def _stretched(self, number: int, step: float, gain: float) -> Programme:
        """The largest t: all limits hold with the one moved by `step` t, and the objective gains `gain` t."""
        limits, columns = self.matrix.shape
        cost, better = self.programme.cost, 1.0 if self.programme.maximise else -1.0
        entries = np.flatnonzero(cost)
        row = np.concatenate([self.matrix.indices, [number], np.full(len(entries), limits), [limits]])
        column = np.concatenate(
            [np.repeat(np.arange(columns), np.diff(self.matrix.indptr)), [columns], entries, [columns]]
        )
        value = np.concatenate([self.matrix.data, [-step], better * cost[entries], [-better * gain]])
        now = float(cost @ self.point.values)
        lower = np.where(self.sense <= 0, self.right, -math.inf)
        upper = np.where(self.sense >= 0, self.right, math.inf)
        least = better * now - NOISE * max(1.0, abs(now))
        stretch = np.zeros(columns + 1)
        stretch[-1] = 1.0
        found = self._free(
            Columns.of(row, column, value, (limits + 1, columns + 1)),
            stretch,
            np.append(lower, least),
            np.append(upper, math.inf),
        )
        found.lower[-1] = 0.0
        return replace(found, maximise=True)


def _sides(lower: FloatArray, upper: FloatArray) -> tuple[IntArray, IntArray]:
    """Whose limits there are, and their senses: one for an equality, else one for each finite side."""
    every = np.arange(len(lower))
    equal = np.isfinite(lower) & (lower == upper)
    found = every[equal], every[np.isfinite(lower) & ~equal], every[np.isfinite(upper) & ~equal]
    owner = np.concatenate(found)
    sense = np.repeat(
        [0, -1, 1], [equal.sum(), (np.isfinite(lower) & ~equal).sum(), (np.isfinite(upper) & ~equal).sum()]
    )
    order = np.lexsort((sense, owner))
    return owner[order], sense[order]


def _every_entry(programme: Programme) -> tuple[IntArray, IntArray, FloatArray]:
    """Rows, columns and values of the matrix, and below it a 1 for each column."""
    rows, columns = programme.matrix.shape
    matrix = programme.matrix
    row = np.concatenate([matrix.indices, rows + np.arange(columns)]).astype(np.int64)
    column = np.concatenate([np.repeat(np.arange(columns), np.diff(matrix.indptr)), np.arange(columns)])
    return row, column, np.concatenate([matrix.data, np.ones(columns)])


def _duals(
    programme: Programme, point: Point, owner: IntArray, sense: IntArray, right: FloatArray
) -> FloatArray | None:
    """Each limit's dual: a row or column with two limits has it at the nearer one."""
    if point.duals is None or point.reduced is None or programme.mixed:
        return None
    found = np.concatenate([point.duals, point.reduced])[owner]
    better = 1.0 if programme.maximise else -1.0
    # more room in `<=` cannot make the best value worse, nor can less of what `>=` asks for
    found[(sense != 0) & (found * better * sense < 0)] = 0.0
    return found + 0.0


class Sensitivity:
    """A solved linear model, given as a Pyomo model, and the derivatives of its objective.

    With `max c x, l <= A x <= u` the Lagrangian's derivative is `dc x + y (db - dA x)`, y the duals of the rows, b the
    limit that a row stands at (the envelope theorem). It is the derivative where y is the only dual; where there are
    several (degenerate), it is a slope between those of less and of more.
    """

    def __init__(self, model: Any, solver: Solver | None = None) -> None:
        self._programme = _compiled(model)
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
        other = _compiled(changed)
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


def _compiled(model: Any) -> Programme:
    from workbench.scheduling.solvers.compile import compile_model

    return compile_model(model).programme


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
