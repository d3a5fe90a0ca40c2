"""A policy's linear programme as a sparse matrix, for schedulers that solve it often: columns X, rows (2) and (3).

Jobs that are equal in all that a policy reads form one class (`classes`). That is exact: averaging the shares of equal
jobs changes neither limits nor a concave objective. A class's own column is the share of each member; the column of a
group of equal pairs is their time together. X <= 1 is left out, since (2) implies it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from workbench.papers.gavel.allocation import AllocationData
from workbench.papers.gavel.classes import Classing, classes, one_each
from workbench.papers.gavel.sifting import Siftable, sift
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import IntArray
from workbench.scheduling.solvers import Columns, Method, Point, Programme, Solver, SolveReport, solve_matrix

SIMPLEX_UP_TO = 1000
"""Classes up to which the simplex method is the faster one; above, interior point with crossover."""

SIFT_BY_SIMPLEX_UP_TO = 256
"""The same with pairs, where programmes are solved a few columns at a time."""


@dataclass(frozen=True, eq=False)
class Allocation:
    """(combinations x types) shares of time, and the report; `solved.objective` is recomputed, NaN without jobs.

    by_job: more numbers, (jobs,) each, under the names they have in the formulation's result.
    """

    shares: FloatArray
    solved: SolveReport
    by_job: Mapping[str, FloatArray] = field(default_factory=dict)

    @classmethod
    def of_nobody(cls, data: AllocationData) -> Allocation:
        """The allocation when there are no jobs."""
        return cls(np.zeros((0, len(data.types))), SolveReport("optimal", np.nan, bound=np.nan, solver="none needed"))


@dataclass(frozen=True, eq=False)
class Grid:
    """Classes of jobs and the columns X of their combinations.

    first, count: (classes,) position of a member, and members; member: (jobs,) class of each job; group: (pairs,) group
    of each pair, equal pairs of two classes; pair: (groups,) position of one pair of each. Of the columns, kind: worker
    type; use: GPUs per unit of X; time_*, speed_*: what a column adds to the time and to the throughput of each member
    of a class: class, column, amount.
    """

    data: AllocationData
    first: IntArray
    count: IntArray
    member: IntArray
    group: IntArray
    pair: IntArray
    combination: IntArray
    kind: IntArray
    use: FloatArray
    time_class: IntArray
    time_column: IntArray
    time: FloatArray
    speed_class: IntArray
    speed_column: IntArray
    speed: FloatArray

    @classmethod
    def of(cls, data: AllocationData, *keys: npt.ArrayLike) -> Grid:
        """The classes of jobs that are equal in speeds, gang, weight and `keys` (each (jobs,) or (jobs x n))."""
        columns = [data.speed, data.weight, data.gang, *keys]
        return _grid(data, classes(data, np.column_stack([np.asarray(key, dtype=float) for key in columns])))

    @classmethod
    def single(cls, data: AllocationData) -> Grid:
        """Every job a class of its own."""
        return _grid(data, one_each(data))

    def __len__(self) -> int:
        """Number of columns X."""
        return len(self.kind)

    def shares(self, values: FloatArray) -> FloatArray:
        """(combinations x types) shares of the columns' values; a pair of classes runs as few pairs as can be."""
        data, classes = self.data, len(self.first)
        by_class = np.zeros((classes + len(self.pair), len(data.types)))
        by_class[self.combination, self.kind] = values
        shares = np.zeros((len(data.jobs) + len(data.pairs), len(data.types)))
        shares[: len(data.jobs)] = by_class[self.member]
        if classes == len(data.jobs):
            shares[len(data.jobs) :] = by_class[classes:]
        else:
            self._deal(by_class[classes:], shares)
        return shares

    def _deal(self, time: FloatArray, shares: FloatArray) -> None:
        """Deal the time of each group of pairs out to its pairs, so that each member of a class has equal parts."""
        data, groups = self.data, np.flatnonzero(time.any(axis=1)).tolist()
        if not groups:
            return
        of_class = [np.flatnonzero(self.member == number) for number in range(len(self.first))]
        for group in groups:
            spots = np.flatnonzero(self.group == group)
            left, right = self.member[data.pairs[self.pair[group]]].tolist()
            alike = bool((data.pair_speed[self.pair[group], 0] == data.pair_speed[self.pair[group], 1]).all())
            most = _most(self.count[left], self.count[right], left == right)
            if len(spots) < most or (left == right and not alike):
                shares[len(data.jobs) + spots] += time[group] / len(spots)
                continue
            at = {
                frozenset(pair): len(data.jobs) + spot
                for spot, pair in zip(spots.tolist(), data.pairs[spots].tolist(), strict=True)
            }
            here, there = of_class[left].tolist(), of_class[right].tolist()
            for first, second, part in _ring(here) if left == right else _meet(here, there):
                shares[at[frozenset((first, second))]] += part * time[group]


def _grid(data: AllocationData, classing: Classing) -> Grid:
    first, count, member, group, pair = classing
    if not len(pair):
        return _of_singles(data, classing)
    classes = len(first)
    row, kind = np.nonzero(data.allowed[np.concatenate([first, len(data.jobs) + pair])])
    alone = row < classes
    single, paired = np.flatnonzero(alone), np.flatnonzero(~alone)
    spot = pair[row[paired] - classes]
    left, right = member[data.pairs[spot, 0]], member[data.pairs[spot, 1]]
    gang = data.gang[first]
    use = np.empty(len(row))
    use[single] = (count * gang)[row[single]]
    use[paired] = gang[left]
    time_class = np.concatenate([row[single], left, right])
    column = np.concatenate([single, paired, paired])
    # The time of a pair of classes is shared by the members of each; a class paired with itself gets it twice.
    time = np.concatenate([np.ones(len(single)), 1.0 / count[left], 1.0 / count[right]])
    speed = np.concatenate(
        [data.speed[first[row[single]], kind[single]], *(data.pair_speed[spot, i, kind[paired]] for i in (0, 1))]
    )
    return Grid(
        data, first, count, member, group, pair, row, kind, use, time_class, column, time, time_class, column,
        speed * time,
    )  # fmt: skip


def _of_singles(data: AllocationData, classing: Classing) -> Grid:
    """The grid where no jobs may be paired."""
    first, count, member, group, pair = classing
    row, kind = np.nonzero(data.allowed[first])
    column, use = np.arange(len(row)), (count * data.gang[first])[row]
    time, speed = np.ones(len(row)), data.speed[first[row], kind]
    return Grid(data, first, count, member, group, pair, row, kind, use, row, column, time, row, column, speed)


def _most(left: int, right: int, same: bool) -> int:
    """How many pairs two classes of those sizes have, or one class with itself."""
    return left * (left - 1) // 2 if same else left * right


def _meet(left: list[int], right: list[int]) -> list[tuple[int, int, float]]:
    """Pairs of two classes and their parts of 1, such that all members of a class get equal parts."""
    found, i, j = [], 0, 0
    here, there = 1.0 / len(left), 1.0 / len(right)
    while i < len(left) and j < len(right):
        part = min(here, there)
        found.append((left[i], right[j], part))
        here, there = here - part, there - part
        if here <= 1e-12:
            i, here = i + 1, 1.0 / len(left)
        if there <= 1e-12:
            j, there = j + 1, 1.0 / len(right)
    return found


def _ring(jobs: list[int]) -> list[tuple[int, int, float]]:
    """Pairs of members of one class and their parts of 1, such that all members get equal parts."""
    if len(jobs) == 2:
        return [(jobs[0], jobs[1], 1.0)]
    return [(job, jobs[(spot + 1) % len(jobs)], 1.0 / len(jobs)) for spot, job in enumerate(jobs)]


@dataclass(eq=False)
class Rows:
    """A programme being put together: the columns X of a grid, then `more` others; rows in the order of their adding.

    The first rows are (2) for each class and (3) for each accelerator type.
    """

    grid: Grid
    more: int = 0
    _row: list[IntArray] = field(default_factory=list)
    _column: list[IntArray] = field(default_factory=list)
    _value: list[FloatArray] = field(default_factory=list)
    _lower: list[FloatArray] = field(default_factory=list)
    _upper: list[FloatArray] = field(default_factory=list)
    count: int = 0

    def __post_init__(self) -> None:
        grid = self.grid
        most = grid.data.workers
        self.add(grid.time_class, grid.time_column, grid.time, upper=np.ones(len(grid.first)))
        self.add(grid.data.pool[grid.kind], np.arange(len(grid)), grid.use, upper=most)

    def add(
        self,
        row: npt.ArrayLike,
        column: npt.ArrayLike,
        value: npt.ArrayLike,
        *,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
    ) -> int:
        """Add rows with these entries (rows counted from 0) and limits; returns the number of the first."""
        limits = lower if upper is None else upper
        size = len(np.asarray(limits))
        self._row.append(np.asarray(row, dtype=np.int64) + self.count)
        self._column.append(np.asarray(column, dtype=np.int64))
        self._value.append(np.asarray(value, dtype=float))
        self._lower.append(np.full(size, -np.inf) if lower is None else np.asarray(lower, dtype=float))
        self._upper.append(np.full(size, np.inf) if upper is None else np.asarray(upper, dtype=float))
        self.count += size
        return self.count - size

    def programme(
        self,
        cost: npt.ArrayLike,
        name: str,
        *,
        maximise: bool,
        lower: npt.ArrayLike = (),
        integer: npt.NDArray[np.bool_] | None = None,
    ) -> Siftable:
        """The programme; cost: of every column; lower: limits of the columns after X (default 0); X >= 0.

        Pairs are columns that a solve may leave out at first.
        """
        total = len(self.grid) + self.more
        entries = Columns.of(
            np.concatenate(self._row), np.concatenate(self._column), np.concatenate(self._value), (self.count, total)
        )
        low = np.asarray(lower, dtype=float)
        paired = self.grid.combination >= len(self.grid.first)
        return Siftable(
            cost=np.asarray(cost, dtype=float),
            matrix=entries,
            row_lower=np.concatenate(self._lower),
            row_upper=np.concatenate(self._upper),
            lower=np.concatenate([np.zeros(len(self.grid)), low if low.size else np.zeros(self.more)]),
            upper=np.full(total, np.inf),
            integer=integer,
            maximise=maximise,
            name=name,
            late=np.concatenate([paired, np.zeros(self.more, dtype=bool)]),
        )


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
        return sift(programme, replace(solver.without_presolve(), method=method))
    method = "simplex" if classes <= SIMPLEX_UP_TO else "ipm"
    return solve_matrix(programme, replace(solver.without_presolve(), method=method))
