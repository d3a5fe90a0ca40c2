"""The middle of the optima of a linear programme: where the authors' solver ends (knob `optimum`: interior).

An interior point method without crossover stops somewhere among the optima, and where depends on its start, on the
scale and order of the columns, and on its last steps. The end of the *central path* does not: of the columns and rows
that may leave their limits at all, the point with the largest sum of logarithms of their distances from the limits (the
analytic centre of the face of optima); and each column that is 0 in every optimum as far above it as its price is low.
Such a share means nothing to a policy, but much to the rounds: who has one takes what others leave, and the larger one
first. Source: Wright, "Primal-Dual Interior-Point Methods" (SIAM 1997), chapter 2; the step from the solver's point to
the centre is Newton's method.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import BoolArray
from workbench.scheduling.solvers import Point, Programme

ROWS = 1000
"""Of larger programmes the solver's own point is taken: a step takes the cube of their rows."""

TINY = 1e-7
"""The most that a share may be that is 0 in every optimum."""

LOWEST = 1e-2
"""Its price, relative to the highest, up to which it is as large as that."""

STEPS = 50
CENTRED = 1e-8
"""Decrease that a step of Newton's promises below which the point counts as the centre; so many steps at most."""


ROUNDING = 1e-13
"""What is added to the diagonal of a system whose rows have size 1."""

ROUNDED, LOST = 1e-9, 1e-7
"""Parts of its terms by which a row may be broken, and of the objective that may be lost."""


def centre(programme: Programme, point: Point) -> Point:
    """The middle of the optima, from a point inside them; columns without limits stay where they are.

    Where numbers are too far apart for that, so that limits or the objective would suffer, the solver's point stays.
    """
    if len(programme.row_upper) > ROWS or point.duals is None or point.reduced is None:
        return point
    price = np.abs(point.reduced)
    x, low, high = point.values.copy(), programme.lower, programme.upper
    bound, matrix = np.isfinite(low) & (high > low), _dense(programme)
    at_zero = bound & (x - low < price)
    moves = bound & ~at_zero
    x[high <= low] = low[high <= low]
    x[at_zero] = low[at_zero] + TINY * LOWEST / np.maximum(price[at_zero] / price.max(initial=0.0), LOWEST)
    room = np.stack([programme.row_upper - matrix @ point.values, matrix @ point.values - programme.row_lower])
    side = np.where(room[0] <= room[1], 1.0, -1.0)
    most = np.where(side > 0, programme.row_upper, -programme.row_lower) - side * (matrix[:, ~moves] @ x[~moves])
    free = room.min(axis=0) > np.abs(point.duals)
    x[moves] = _newton(side[:, None] * matrix[:, moves], most, free, x[moves], low[moves])
    loss = float(programme.cost @ (x - point.values)) * (-1 if programme.maximise else 1)
    most_lost = LOST * abs(float(programme.cost @ point.values))
    kept = _broken(programme, matrix, x) <= max(ROUNDED, _broken(programme, matrix, point.values))
    return replace(point, values=x) if kept and loss <= most_lost else point


def _dense(programme: Programme) -> FloatArray:
    matrix = programme.matrix
    full = np.zeros(matrix.shape)
    full[matrix.indices, np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))] = matrix.data
    return full


def _broken(programme: Programme, matrix: FloatArray, x: FloatArray) -> float:
    """By how much a row is broken at most, relative to its terms."""
    value = matrix @ x
    over = np.maximum(value - programme.row_upper, programme.row_lower - value)
    with np.errstate(over="ignore"):  # inf, where all terms are 0 and the limit is not kept
        return float((over / np.maximum(np.abs(matrix) @ np.abs(x), np.finfo(float).tiny)).max(initial=0.0))


def _newton(matrix: FloatArray, sides: FloatArray, free: BoolArray, x: FloatArray, low: FloatArray) -> FloatArray:
    """The x with the largest sum of logarithms of what is above `low`, and of the room of the rows that are free.

    sides: (rows,) the limits of `matrix x`, which the rows that are not free meet.
    """
    sides, x = sides - matrix @ low, x - low
    for _ in range(STEPS):
        left = sides - matrix @ x
        room = np.where(free, left, 0.0)
        # Of the columns the Hessian is 1 / x^2, of the rooms 1 / room^2: what is left is a system of the rows.
        system = (matrix * x**2) @ matrix.T
        system[np.diag_indices_from(system)] += room**2
        size = np.sqrt(np.diag(system))
        size[size == 0] = 1.0
        system = system / size / size[:, None] + ROUNDING * np.eye(len(size))
        price = np.linalg.solve(system, (matrix @ x + room - np.where(free, 0.0, left)) / size) / size
        step = x - x**2 * (matrix.T @ price)
        change = np.where(free, -(matrix @ step), 0.0)
        far = max((-step / x).max(initial=0.0), (-change[free] / room[free]).max(initial=0.0))
        x = x + min(1.0, 0.9 / far if far > 0 else 1.0) * step
        if float(((step / x) ** 2).sum() + ((change[free] / room[free]) ** 2).sum()) <= CENTRED:
            break
    return x + low
