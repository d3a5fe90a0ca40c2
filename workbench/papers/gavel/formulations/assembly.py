"""A policy's linear programme as a sparse matrix, for schedulers that solve it often: columns X, rows (2) and (3).

Two programmes serve several policies: the largest level that the worst-off job can have (`worst_job`), and the largest
sum of throughputs (`weighted_sum`), each job's counted by its worth: (jobs x types), what one step/s of a job on a type
adds to the objective.

Jobs that are equal in all that a policy reads form one class (`equal_jobs`). That is exact: averaging the shares of
equal jobs changes neither limits nor a concave objective. A class's own column is the share of each member; the column
of a group of equal pairs is their time together. X <= 1 is left out, since (2) implies it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from workbench.papers.gavel.algorithms.equal_jobs import Classing, classes, one_each
from workbench.papers.gavel.algorithms.sifting import Siftable, solve
from workbench.papers.gavel.formulations.allocation import check
from workbench.papers.gavel.instance import AllocationInstance
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import IntArray
from workbench.scheduling.solvers import Columns, Programme, Solver, SolveReport


@dataclass(frozen=True, eq=False)
class SolvedShares:
    """(combinations x types) shares of time, and the report; `solved.objective` is recomputed, NaN without jobs.

    by_job: more numbers, (jobs,) each, under the names they have in the formulation's result.
    """

    shares: FloatArray
    solved: SolveReport
    by_job: Mapping[str, FloatArray] = field(default_factory=dict)

    @classmethod
    def of_nobody(cls, data: AllocationInstance) -> SolvedShares:
        """The allocation when there are no jobs."""
        return cls(np.zeros((0, len(data.types))), SolveReport("optimal", np.nan, bound=np.nan, solver="none needed"))


@dataclass(frozen=True, eq=False)
class ShareGrid:
    """Classes of jobs and the columns X of their combinations.

    first, count: (classes,) position of a member, and members; member: (jobs,) class of each job; group: (pairs,) group
    of each pair, equal pairs of two classes; pair: (groups,) position of one pair of each. Of the columns, kind: worker
    type; use: GPUs per unit of X; time_*, speed_*: what a column adds to the time and to the throughput of each member
    of a class: class, column, amount.
    """

    data: AllocationInstance
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
    def of(cls, data: AllocationInstance, *keys: npt.ArrayLike) -> ShareGrid:
        """The classes of jobs that are equal in speeds, gang, weight and `keys` (each (jobs,) or (jobs x n))."""
        columns = [data.speed, data.weight, data.gang, *keys]
        return _grid(data, classes(data, np.column_stack([np.asarray(key, dtype=float) for key in columns])))

    @classmethod
    def single(cls, data: AllocationInstance) -> ShareGrid:
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


def _grid(data: AllocationInstance, classing: Classing) -> ShareGrid:
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
    return ShareGrid(
        data, first, count, member, group, pair, row, kind, use, time_class, column, time, time_class, column,
        speed * time,
    )  # fmt: skip


def _of_singles(data: AllocationInstance, classing: Classing) -> ShareGrid:
    """The grid where no jobs may be paired."""
    first, count, member, group, pair = classing
    row, kind = np.nonzero(data.allowed[first])
    column, use = np.arange(len(row)), (count * data.gang[first])[row]
    time, speed = np.ones(len(row)), data.speed[first[row], kind]
    return ShareGrid(data, first, count, member, group, pair, row, kind, use, row, column, time, row, column, speed)


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

    grid: ShareGrid
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


def worst_job(grid: ShareGrid, scale: FloatArray, name: str) -> Programme:
    """Maximise t, `t <= scale_m throughput(m, X)` for all jobs; scale: (classes,), 1 / (steps/s).

    Columns: X, then t. Rows: (2) of each class, (3) of each accelerator type, then the epigraph of each class.
    """
    classes, level = np.arange(len(grid.first)), len(grid)
    rows = Rows(grid, more=1)
    rows.add(
        np.concatenate([grid.speed_class, classes]),
        np.concatenate([grid.speed_column, np.full(len(classes), level)]),
        np.concatenate([-scale[grid.speed_class] * grid.speed, np.ones(len(classes))]),
        upper=np.zeros(len(classes)),
    )
    return rows.programme(np.append(np.zeros(level), 1.0), name, maximise=True, lower=[-np.inf])


def total(data: AllocationInstance, worth: FloatArray, shares: FloatArray) -> float:
    """`sum_m sum_{k in C_m} sum_j worth_mj T^m_kj X_kj` of (combinations x types) shares."""
    e = data.entries
    time_of = shares[e.combination, e.kind][e.entry]
    return float((time_of * e.steps_per_s * worth[e.job, e.kind[e.entry]]).sum())


def weighted_sum(
    data: AllocationInstance,
    worth: FloatArray,
    name: str,
    floor: FloatArray | None = None,
    optimum: str = "vertex",
    solver: Solver | None = None,
) -> SolvedShares:
    """The allocation with the largest total worth; equal jobs get equal shares.

    data: as the policy sees them; name: of the formulation; floor: (jobs,) least throughput in steps/s, 0 for none.
    Raises the errors of `workbench.scheduling.solvers`, InfeasibleError if the floors cannot be met.
    """
    if not data.jobs:
        return SolvedShares.of_nobody(data)
    began = time.perf_counter()
    least = np.zeros(len(data.jobs)) if floor is None else floor
    grid = sum_grid(data, worth, least)
    rows = Rows(grid)
    add_floors(rows, least)
    programme = rows.programme(earnings(grid, worth), name, maximise=True)
    build_s = time.perf_counter() - began
    point = solve(programme, len(grid.first), optimum, solver)
    shares = check(data, grid.shares(point.values), name)
    return SolvedShares(shares, replace(point.solved, objective=total(data, worth, shares), build_s=build_s))


def sum_grid(data: AllocationInstance, worth: FloatArray, floor: FloatArray) -> ShareGrid:
    """Classes of jobs that are equal in speeds, gang, worth and floor; weights play no part."""
    return ShareGrid.of(replace(data, weight=np.ones(len(data.jobs))), worth, floor)


def earnings(grid: ShareGrid, worth: FloatArray) -> FloatArray:
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


def limits(data: AllocationInstance, floor: FloatArray, name: str) -> Programme:
    """Whether the floors can be met: the limits alone, without an objective."""
    grid = sum_grid(data, np.ones(data.speed.shape), floor)
    rows = Rows(grid)
    add_floors(rows, floor)
    return rows.programme(np.zeros(len(grid)), name, maximise=True)
