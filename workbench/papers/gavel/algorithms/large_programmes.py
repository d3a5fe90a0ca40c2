"""How the sparse programmes are solved: large ones from the answer to a smaller one.
Where the authors' solver ends, in the middle of the optima, there `centre` goes (knob `optimum`: interior).

With pairs (`sift`): begin without the columns that may wait, as most pairs of jobs get no share, solve, price those
left out with the duals of the rows, add the best, and again until none improves the objective: then the duals prove
that the point is optimal for the whole programme. Source: Bixby, Gregory, Lustig, Marsten, Shanno, "Very Large-Scale
Linear Programming" (Operations Research 40, 1992).

Without (`Sequel`, ours), where a row of each job's own says what it gets: the cluster's few rows have almost the same
prices if one of six jobs, counted six times, is all that there is. Every job begins with the basis of the one of these
that is most like it, and the primal simplex method goes on from there to the optimum of them all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.scheduling.solvers import (
    Columns,
    InfeasibleError,
    KeptProgramme,
    Method,
    Point,
    Programme,
    Solver,
    solve_matrix,
)
from workbench.scheduling.solvers.programme import Positions

IMPROVES = 1e-9
"""A column is added if a unit of it improves the objective by more than this part of it (of 1 if it is smaller)."""

IDLE = 2
"""Of the late columns that are 0, so many for each row stay for the next turn."""


def sift(programme: Programme, late: BoolArray, solver: Solver) -> Point:
    """The optimum of a linear programme, with as many columns more in each turn as there are rows; where a turn was
    better than all before, late columns that are 0 and of least worth leave again.

    late: (columns,) which may be left out at first, with lower limit 0. Values are of all columns; the report counts
    the iterations and seconds of all turns. A programme that is infeasible without its late columns, or whose solver
    gives no duals, is solved whole. Raises the errors of `workbench.scheduling.solvers`.
    """
    active, seconds, iterations = ~late, 0.0, 0
    sign, best, rows = (1 if programme.maximise else -1), -np.inf, len(programme.row_upper)
    values = np.zeros(len(active))
    while True:
        columns = np.flatnonzero(active)
        try:
            found = solve_matrix(programme.only(columns), solver)
        except InfeasibleError:
            return solve_matrix(programme, solver)
        seconds, iterations = seconds + found.solved.solve_s, iterations + found.solved.passes
        if found.duals is None:
            return solve_matrix(programme, solver)
        slack = IMPROVES * max(1.0, abs(found.solved.value))
        worth = sign * _reduced(programme, found.duals)
        if sign * found.solved.value > best + slack:  # otherwise the point with fewer columns is as good
            best, values = sign * found.solved.value, np.zeros(len(active))
            values[columns] = found.values
            idle = np.flatnonzero(active & late & (values <= 0))  # who rises above 0 again comes back by its price
            active[idle[np.argsort(-worth[idle], kind="stable")[IDLE * rows :]]] = False
        worth[active | (programme.upper <= 0)] = 0.0
        better = np.flatnonzero(worth > slack)
        if not len(better) or found.solved.status != "optimal":
            break
        active[better[np.argsort(-worth[better], kind="stable")[:rows]]] = True
    report = replace(found.solved, solve_s=seconds, passes=iterations)
    return Point(values, found.duals, _reduced(programme, found.duals), report)


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


SIMPLEX_UP_TO, BY_A_PART_UP_TO = 1000, 5000
"""Jobs up to which the simplex method is the faster one; and, where it begins from a part of the jobs, up to which it
is; above, interior point with crossover."""

SIFT_BY_SIMPLEX_UP_TO = 256
"""The same with pairs, where programmes are solved a few columns at a time."""

PART = 6
"""One of so many jobs stands for all of them at first."""

NOTHING = 1e-12
"""What counts for 0 where coefficients are compared by their orders of magnitude."""


class Sequel:
    """Large programmes of the same jobs, one after the other: each begins from the basis of the one before."""

    def __init__(self) -> None:
        self._kept: KeptProgramme | None = None

    def solve(self, programme: Programme, jobs: int, solver: Solver) -> Point:
        """The optimum; raises the errors of `workbench.scheduling.solvers`."""
        if self._kept is None:
            self._kept = KeptProgramme(programme, solver)
            self._kept.begin(*basis_by_a_part(programme, jobs, solver))
        else:
            self._kept.change(programme)
        return self._kept.solve()


class _Owners(NamedTuple):
    """Of each column or row: its job, -1 for none; which of its job's it is, and others have places of their own."""

    job: IntArray
    place: IntArray

    @classmethod
    def of(cls, parts: Positions, jobs: int) -> _Owners:
        size, start = sum(map(len, parts.values())), 0
        job, place = np.full(size, -1), np.zeros(size, dtype=np.int64)
        for at in parts.values():
            each, own = len(at), len(at) % jobs == 0
            if own:
                each //= jobs
                job[at] = np.repeat(np.arange(jobs), each)
            place[at] = start + np.arange(len(at)) % each
            start += each
        return cls(job, place)

    def taken_over(self, states: IntArray, kept: IntArray, chosen: IntArray, like: IntArray) -> IntArray:
        """The states of all, from those `kept` of the jobs `chosen`; like: (jobs,) which of these each is to follow."""
        table = np.zeros((len(like) + 1, int(self.place.max()) + 1), dtype=np.int64)
        table[self.job[kept], self.place[kept]] = states
        found: IntArray = table[np.append(chosen[like], -1)[self.job], self.place]
        return found


def part_of(jobs: int) -> IntArray:
    """Positions of those who stand for all."""
    return np.sort(np.random.default_rng(jobs).permutation(jobs)[: jobs // PART])


def basis_by_a_part(programme: Programme, jobs: int, solver: Solver) -> tuple[IntArray, IntArray]:
    """Where columns and rows are to begin: where those of the job that is most like theirs ended, of a part of them."""
    chosen = part_of(jobs)
    columns, rows = _Owners.of(programme.columns, jobs), _Owners.of(programme.rows, jobs)
    there = np.zeros(jobs + 1, dtype=bool)
    there[chosen] = there[-1] = True  # the last is what belongs to no job
    kept = np.flatnonzero(there[columns.job]), np.flatnonzero(there[rows.job])
    small = KeptProgramme(_part(programme, *kept, columns.job >= 0, rows.job < 0, jobs / len(chosen)), solver)
    small.solve()
    like = _most_like(_orders_of_magnitude(programme, columns, rows), chosen)
    by_column, by_row = small.basis()
    return columns.taken_over(by_column, kept[0], chosen, like), rows.taken_over(by_row, kept[1], chosen, like)


def _part(
    programme: Programme, columns: IntArray, rows: IntArray, owned: BoolArray, shared: BoolArray, times: float
) -> Programme:
    """The programme with some of the jobs, each of which counts so many times in the shared rows and in the cost.

    owned: (columns,) those of jobs; shared: (rows,) those of none.
    """
    found = programme.only(columns)
    matrix, column = found.matrix, np.repeat(np.arange(len(columns)), np.diff(found.matrix.indptr))
    new = np.full(len(shared), -1)
    new[rows] = np.arange(len(rows))
    data = matrix.data * np.where(shared[matrix.indices] & owned[columns][column], times, 1.0)
    kept = new[matrix.indices] >= 0
    return replace(
        found,
        cost=found.cost * np.where(owned[columns], times, 1.0),
        matrix=Columns.of(new[matrix.indices[kept]], column[kept], data[kept], (len(rows), len(columns))),
        row_lower=programme.row_lower[rows],
        row_upper=programme.row_upper[rows],
    )


def _orders_of_magnitude(programme: Programme, columns: _Owners, rows: _Owners) -> FloatArray:
    """(jobs x numbers) logarithms of the coefficients in which jobs differ, in one order for all."""
    matrix = programme.matrix
    column = np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
    job = np.maximum(columns.job[column], rows.job[matrix.indices])
    owned = job >= 0
    numbers = np.zeros((int(job.max()) + 1, int(columns.place.max()) + 1, int(rows.place.max()) + 1))
    numbers[job[owned], columns.place[column[owned]], rows.place[matrix.indices[owned]]] = matrix.data[owned]
    differ = (numbers != numbers[0]).any(axis=0)
    return np.log(np.maximum(np.abs(numbers[:, differ]), NOTHING))


def _most_like(numbers: FloatArray, chosen: IntArray) -> IntArray:
    """(jobs,) the position in `chosen` of the job whose numbers are nearest."""
    of = numbers[chosen]
    found: IntArray = ((of**2).sum(axis=1) / 2 - numbers @ of.T).argmin(axis=1)
    return found


def _by_job(programme: Programme, jobs: int) -> bool:
    """Whether jobs differ in rows alone, and each has as many of these, and all of its columns."""
    if any((at < 0).any() for at in programme.columns.values()):  # what an own formulation fixes has none
        return False
    rows = all(name == "capacity" or (len(at) == jobs and (at >= 0).all()) for name, at in programme.rows.items())
    return rows and not programme.cost[programme.columns["share"]].any()


def solve(programme: Programme, jobs: int, late: BoolArray, solver: Solver, sequel: Sequel | None = None) -> Point:
    """Solve by the method that is fastest at this size, or as the solver's own option says; late: see `sift`.

    A vertex is looked for without pairs first, which come in where they improve the objective: faster, and jobs that
    lose nothing by it keep their GPUs to themselves. There is nothing for presolve to remove but limits that rows imply
    (X <= 1, by (2)): they would have prices of their own, and draw an interior point away from them. sequel: where
    several programmes that differ little are to be solved.
    """
    programme = without_implied_limits(programme)
    if solver.method == "interior":
        return centre(programme, solve_matrix(programme, solver))
    if solver.method != "auto":
        return solve_matrix(programme, solver)
    if late.any():
        method: Method = "simplex" if jobs <= SIFT_BY_SIMPLEX_UP_TO else "ipm"
        return sift(programme, late, replace(solver.without_presolve(), method=method))
    simplex = replace(solver.without_presolve(), method="simplex")
    if jobs <= SIMPLEX_UP_TO:
        return solve_matrix(programme, simplex)
    if jobs <= BY_A_PART_UP_TO and solver.keeps and _by_job(programme, jobs):
        return (sequel or Sequel()).solve(programme, jobs, simplex)
    return solve_matrix(programme, replace(simplex, method="ipm"))


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

    An interior point method without crossover stops somewhere among the optima, and where depends on its start, on the
    scale and order of the columns, and on its last steps. The end of the *central path* does not: of the columns and
    rows that may leave their limits at all, the point with the largest sum of logarithms of their distances from the
    limits (the analytic centre of the face of optima); and each column that is 0 in every optimum as far above it as
    its price is low. Such a share means nothing to a policy, but much to the rounds: who has one takes what others
    leave, and the larger one first. Source: Wright, "Primal-Dual Interior-Point Methods" (SIAM 1997), chapter 2; the
    step from the solver's point to the centre is Newton's method.

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
    slack = np.stack([programme.row_upper - matrix @ point.values, matrix @ point.values - programme.row_lower])
    side = np.where(slack[0] <= slack[1], 1.0, -1.0)
    most = np.where(side > 0, programme.row_upper, -programme.row_lower) - side * (matrix[:, ~moves] @ x[~moves])
    free = slack.min(axis=0) > np.abs(point.duals)
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
    """The x with the largest sum of logarithms of what is above `low`, and of the slack of the rows that are free.

    sides: (rows,) the limits of `matrix x`, which the rows that are not free meet.
    """
    sides, x = sides - matrix @ low, x - low
    for _ in range(STEPS):
        left = sides - matrix @ x
        slack = np.where(free, left, 0.0)
        # Of the columns the Hessian is 1 / x^2, of the slack 1 / slack^2: what is left is a system of the rows.
        system = (matrix * x**2) @ matrix.T
        system[np.diag_indices_from(system)] += slack**2
        size = np.sqrt(np.diag(system))
        size[size == 0] = 1.0
        system = system / size / size[:, None] + ROUNDING * np.eye(len(size))
        price = np.linalg.solve(system, (matrix @ x + slack - np.where(free, 0.0, left)) / size) / size
        step = x - x**2 * (matrix.T @ price)
        change = np.where(free, -(matrix @ step), 0.0)
        far = max((-step / x).max(initial=0.0), (-change[free] / slack[free]).max(initial=0.0))
        x = x + min(1.0, 0.9 / far if far > 0 else 1.0) * step
        if float(((step / x) ** 2).sum() + ((change[free] / slack[free]) ** 2).sum()) <= CENTRED:
            break
    return x + low
