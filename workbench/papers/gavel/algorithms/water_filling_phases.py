"""Water filling for many jobs: the levels of `water_filling.fill`, with a few sparse programmes. Tested equal to it.

Most iterations end because some job has reached the most that it can have on its own. That needs no programme: while no
job is held back by the others, levels follow a `LevelCourse` in closed form. One *phase* follows it as far as the
cluster allows. A programme says how large a part of the way to a point of the course is possible; its duals give a sum
of levels that cannot be exceeded, hence an earlier point; a few such steps end where the whole way is possible
(Newton's method, which is exact here, as there are finitely many such sums). Where the course must end, complementary
slackness says who is bottlenecked (a floor with a price), and which columns X stay 0 from now on (a reduced cost).
Without these columns the other jobs have lower caps, and the next phase begins. Each phase uses up at least one type or
one job.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from workbench.papers.gavel.algorithms.sifting import SIMPLEX_UP_TO, solve
from workbench.papers.gavel.formulations.allocation import check
from workbench.papers.gavel.formulations.assembly import Rows, ShareGrid, SolvedShares
from workbench.papers.gavel.formulations.levels import HierarchicalInstance, RisingRule
from workbench.papers.gavel.formulations.water_filling import NAME, objective
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import BoolArray, IntArray
from workbench.scheduling.solvers import Kept, Point, Programme, Solver, SolveReport, SolverFailedError

WHOLE = 1e-9
"""A way of which all but this part is possible is possible."""

PRICED = 1e-7
"""Relative size above which a price (a dual, a reduced cost) counts as one."""


class LevelCourse:
    """How the levels of jobs rise while none is held back by the others, in closed form.

    From `level` to `cap`, both (jobs,), of the jobs that are not `done`; gang: (jobs,) GPUs. Time t of the course is
    the sum of the programmes' t: entity e gives out `W_e t` in all. A job rises by the rule until it reaches its cap;
    its weight then goes to the others of its entity. So levels are piecewise linear in t, and where the first job of a
    queue, or one of several equals, reaches its cap they bend. bends: the times at which some job reaches its cap,
    rising; the last is the end of the course.
    """

    def __init__(self, rule: RisingRule, gang: FloatArray, level: FloatArray, cap: FloatArray, done: BoolArray) -> None:
        self._level, self._cap = level, cap
        self._queues: list[tuple[IntArray, FloatArray, FloatArray]] = []
        self._groups: list[tuple[IntArray, FloatArray, FloatArray, FloatArray, FloatArray]] = []
        bends = [np.zeros(1)]
        room = np.maximum(cap - level, 0.0) * gang
        rising = np.flatnonzero(~done)
        order = rising[np.argsort(rule.owner[rising], kind="stable")]
        for rows in np.split(order, np.flatnonzero(np.diff(rule.owner[order])) + 1):
            if not len(rows):
                continue
            entity = rule.owner[rows[0]]
            given = rule.entity_weight[entity]
            if rule.fifo[entity]:
                until = np.cumsum(room[rows]) / given
                self._queues.append((rows, until - room[rows] / given, given / gang[rows]))
                bends.append(until)
            else:
                weight = rule.weight[rows]
                height = room[rows] / weight
                rank = np.argsort(height, kind="stable")
                heights = np.concatenate([[0.0], height[rank]])
                total = (weight * rule.members[rows])[rank]
                above = np.cumsum(total[::-1])[::-1]
                times = np.concatenate([[0.0], np.cumsum(np.diff(heights) * above) / given])
                self._groups.append((rows, weight / gang[rows], height, times, heights))
                bends.append(times)
        self.bends: FloatArray = np.unique(np.concatenate(bends))

    @property
    def end(self) -> float:
        """The time at which every job has reached its cap."""
        return float(self.bends[-1])

    def at(self, time: float) -> FloatArray:
        """(jobs,) levels at a time."""
        level = self._level.copy()
        for rows, start, pace in self._queues:
            level[rows] += np.maximum(time - start, 0.0) * pace
        for rows, pace, height, times, heights in self._groups:
            level[rows] += np.minimum(np.interp(time, times, heights), height) * pace
        return np.minimum(level, np.maximum(self._cap, self._level))

    def reaches(self, price: FloatArray, value: float, before: float) -> float:
        """The last time up to `before` at which `price . rise since 0` is at most `value`; price: (jobs,) >= 0."""

        def gained(time: float) -> float:
            return float(price @ (self.at(time) - self._level))

        if gained(before) <= value:
            return before
        bends = self.bends[self.bends < before]
        low, high = 0, len(bends)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if gained(float(bends[middle])) <= value else (low, middle)
        start, stop = float(bends[low]), float(bends[high]) if high < len(bends) else before
        there, then = gained(start), gained(stop)
        return start + (stop - start) * max(0.0, min(1.0, (value - there) / (then - there)))


def allocate(data: HierarchicalInstance, optimum: str = "vertex", solver: Solver | None = None) -> SolvedShares:
    """Shares of water filling for data as the policy sees them, and `levels`; equal jobs of an entity get equal shares.

    The report counts programmes as iterations. Raises the errors of `workbench.scheduling.solvers`.
    """
    if not data.jobs:
        return replace(SolvedShares.of_nobody(data), by_job={"levels": np.zeros(0)})
    began = time.perf_counter()
    grid = ShareGrid.of(data.relative(), _kin(data))
    phases = _Phases(data, grid, solver)
    build_s = time.perf_counter() - began
    point = phases.run()
    if optimum == "interior":
        point = _interior(grid, phases.gang, phases.level)
    shares = check(data, grid.shares(point.values[: len(grid)]), NAME)
    value = objective(data, shares)
    assert value is not None
    report = SolveReport(
        "optimal", value, solver=point.solved.solver, build_s=build_s, solve_s=phases.solve_s,
        passes=phases.programmes,
    )  # fmt: skip
    return SolvedShares(shares, report, {"levels": phases.level[grid.member]})


def _kin(data: HierarchicalInstance) -> FloatArray:
    """(jobs x 2) numbers that are equal for jobs which rise alike if they are equal otherwise.

    Jobs of an entity with fairness do; so do lone jobs of entities of equal weights; nobody does in a queue.
    """
    rule = data.rule
    lone = np.bincount(rule.owner, minlength=len(rule.entity_weight))[rule.owner] == 1
    queued = -1.0 - np.arange(len(data.jobs))
    among = np.where(rule.fifo[rule.owner], queued, rule.owner)
    return np.column_stack([np.where(lone, rule.entity_weight[rule.owner], 0.0), np.where(lone, -0.5, among)])


class _Phases:
    """The state between programmes. Arrays are by class of equal jobs, those named after columns by column X."""

    def __init__(self, data: HierarchicalInstance, grid: ShareGrid, solver: Solver | None) -> None:
        self.grid = grid
        classes = len(grid.first)
        self.gang = data.gang[grid.first]
        self.rule = _merged(data, grid)
        self.level = np.zeros(classes)
        self.done = np.zeros(classes, dtype=bool)
        self.closed_columns = np.zeros(len(grid), dtype=bool)
        self.programmes, self.solve_s = 0, 0.0
        self.programme, floor = _programme(grid, self.gang)
        self.floor = np.arange(floor, floor + classes)
        self.solver = solver or Solver(method="simplex" if classes <= SIMPLEX_UP_TO else "ipm", presolve=False)
        self.kept = Kept(self.programme, self.solver)

    def run(self) -> Point:
        """Raise the levels until every job is done; returns the solution of the last programme."""
        point: Point | None = None
        while True:
            cap = self._caps()
            self.done |= cap - self.level <= WHOLE * cap
            if self.done.all():
                assert point is not None
                return point
            point = self._phase(LevelCourse(self.rule, self.gang, self.level, cap, self.done))

    def _caps(self) -> FloatArray:
        """The most that a member of a class can have on the columns that are not closed."""
        grid = self.grid
        gain = np.where(self.closed_columns[grid.speed_column], 0.0, grid.speed / grid.time)
        cap = np.zeros(len(grid.first))
        np.maximum.at(cap, grid.speed_class, gain)
        return cap

    def _phase(self, course: LevelCourse) -> Point:
        """Follow the course as far as it is possible, then mark who is done and which columns are closed."""
        until, start = course.end, self.level
        while True:
            point, part, price = self._try(course.at(until) - start)
            if part >= 1.0 - WHOLE:
                self.level = course.at(until)
                break
            earlier = course.reaches(price, part * float(price @ (course.at(until) - start)), until)
            if earlier <= WHOLE * until:
                break
            if not earlier < until:
                raise SolverFailedError(NAME, f"a way of which {part:g} is possible", "a shorter one")
            until = earlier
        self._close(point, price)
        return point

    def _try(self, way: FloatArray) -> tuple[Point, float, FloatArray]:
        """How large a part of a way up from the levels is possible, and the prices of levels that say why no more."""
        largest = float(way.max())
        count = len(self.floor)
        self.kept.set_column(len(self.grid), self.floor, -self.gang * way / largest)
        self.kept.limit_rows(self.floor, self.gang * self.level, np.full(count, np.inf))
        point = self.kept.solve()
        self.programmes += 1
        self.solve_s += point.solved.solve_s
        assert point.duals is not None
        price = np.maximum(-point.duals[self.floor], 0.0) * self.gang
        return point, float(point.values[-1]) / largest, price

    def _close(self, point: Point, price: FloatArray) -> None:
        """Complementary slackness: a level with a price cannot rise, a column with a reduced cost cannot leave 0."""
        assert point.reduced is not None
        grid = self.grid
        cap = self._caps()
        worth = price * cap
        stuck = ~self.done & (worth > PRICED * worth.max(initial=0.0))
        reduced = np.maximum(-point.reduced[: len(grid)], 0.0)
        gained = np.bincount(grid.speed_column, price[grid.speed_class] * grid.speed, minlength=len(grid))
        closed = ~self.closed_columns & (reduced > PRICED * (reduced + gained))
        reached = ~self.done & (cap - self.level <= WHOLE * cap)
        if not (stuck.any() or closed.any() or reached.any()):
            raise SolverFailedError(NAME, "a phase of water filling without a bottleneck", "at least one")
        self.done |= stuck
        self.closed_columns |= closed
        columns = np.flatnonzero(closed)
        self.kept.limit_columns(columns, np.zeros(len(columns)), np.zeros(len(columns)))


def _merged(data: HierarchicalInstance, grid: ShareGrid) -> RisingRule:
    """The rule by class. A class of lone jobs is an entity with the weight of them all."""
    rule = data.rule
    lone = np.bincount(rule.owner, minlength=len(rule.entity_weight))[rule.owner[grid.first]] == 1
    classes = np.arange(len(grid.first))
    own = rule.entity_weight[rule.owner[grid.first]] * grid.count
    return RisingRule(
        owner=np.where(lone, len(rule.entity_weight) + classes, rule.owner[grid.first]),
        weight=rule.weight[grid.first],
        entity_weight=np.concatenate([rule.entity_weight, own]),
        fifo=np.concatenate([rule.fifo, np.zeros(len(classes), dtype=bool)]),
        members=grid.count.astype(float),
    )


def _programme(grid: ShareGrid, gang: FloatArray) -> tuple[Programme, int]:
    """Columns: X, then the part of the way; rows: (2) and (3), then a floor for each class. And the first floor's row.

    The cost is the number of classes, so that prices are of the order of 1.
    """
    classes = np.arange(len(grid.first))
    rows = Rows(grid, more=1)
    floor = rows.add(
        np.concatenate([grid.speed_class, classes]),
        np.concatenate([grid.speed_column, np.full(len(classes), len(grid))]),
        np.concatenate([gang[grid.speed_class] * grid.speed, -np.ones(len(classes))]),
        lower=np.zeros(len(classes)),
    )
    cost = np.append(np.zeros(len(grid)), float(len(classes)))
    return rows.programme(cost, NAME, maximise=True), floor


def _interior(grid: ShareGrid, gang: FloatArray, level: FloatArray) -> Point:
    """A point inside the set of allocations that reach the levels."""
    rows = Rows(grid)
    rows.add(grid.speed_class, grid.speed_column, gang[grid.speed_class] * grid.speed, lower=gang * level * (1 - WHOLE))
    return solve(rows.programme(np.zeros(len(grid)), NAME, maximise=True), len(grid.first), "interior")
