"""Water filling for many jobs: the levels of `water_filling.fill`, with a few sparse programmes. Tested equal to it.

Most iterations end because some job has reached the most that it can have on its own. That needs no programme: while no
job is held back by the others, levels follow a `LevelCourse` in closed form. One *phase* follows it as far as the
cluster allows. A programme says how large a part of the way to a point of the course is possible; its duals give a sum
of levels that cannot be exceeded, hence an earlier point; a few such steps end where the whole way is possible
(Newton's method, which is exact here, as there are finitely many such sums). Of many jobs it begins near that end, as
a part of them finds it. Where the course must end, complementary slackness says who is bottlenecked (a floor with a
price), and which columns X stay 0 from now on (a reduced cost). Without these columns the other jobs have lower caps,
and the next phase begins. Each phase uses up at least one type or one job.

Jobs that have all that they can ever have are at levels that rounding may make impossible, and a programme's prices
then say no more than that: those of other jobs, and reduced costs, are rounding beside them. So a price counts as far
as it proves how little its job can rise: next to nothing, or, where none does, less than the test of
`gavel.bottleneck` counts as a rise. Where none proves that either, a phase ends with this test.

(ours) Where a job has two speeds that differ by a millionth, levels of others are a million times as uncertain as its
own: its rows are stated by what it loses (`NearSpeeds`), each phase adds up what its levels may be off by, and levels
that may be off by more than `SURE` are refused. Presets have no such jobs, and their programmes are unchanged.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.papers.gavel.algorithms.large_programmes import (
    BY_A_PART_UP_TO,
    SIMPLEX_UP_TO,
    basis_by_a_part,
    part_of,
    without_implied_limits,
)
from workbench.papers.gavel.formulations.allocation import DividedTime
from workbench.papers.gavel.formulations.bottleneck import SLACK, LevelInstance
from workbench.papers.gavel.instance import AllocationInstance
from workbench.scheduling.solvers import (
    Columns,
    InfeasibleError,
    KeptProgramme,
    Method,
    Point,
    Programme,
    Solver,
    SolverFailedError,
    Sparse,
    solve_matrix,
)

NAME = "gavel.water_filling"
Given = TypeVar("Given", bound=AllocationInstance)

WHOLE = 1e-9
"""A way of which all but this part is possible is possible."""

LATER, FURTHER = 1.2, 1.5
"""In later phases a guess is too low rather than too high, and long steps up cost more than steps down: so many times
as far it is begun, and a guess that is possible is gone beyond by so much."""

ROUNDING = 1e-12
"""Part of a sum of prices times levels that may be rounding."""

OVERSTEPPED = 1e-9
"""How far a programme may overstep a limit. A job whose speeds on two types differ by 1e-3 turns 1e-7 of its time, what
HiGHS allows by itself, into 1e-4 of a GPU for others, and their levels are then beyond what is possible."""

NEAR, SAME = 1e-5, 1e-12
"""Relative differences of two speeds between which a job counts as one whose type matters to others much more than to
it (`NearSpeeds`); closer ones are rounding."""

CLOSE = 1e-8
"""Relative difference of two speeds of a job below which they count as equal (`told_apart`)."""

TAKEN = 1e-8
"""HiGHS takes an entry below 1e-9 for 0: whose rise has such a one stays behind, and the others go on too far."""

LAST, EPSILON = 1e-15, 1e-16
"""Parts of a level that its last digits may be, and that each of its roundings is."""

SURE = 1e-5
"""What levels of jobs with `NearSpeeds` may be off by, by their prices; of the largest level, if that is above 1."""

RISE = 1e-5
"""Who could rise by this part of its cap at most is bottlenecked; a column that could have no more is closed."""


@dataclass(frozen=True, eq=False)
class RisingRule:
    """Who raises a job's level, and how fast: entities with weights, fairness or FIFO among their own jobs (§4.3).

    Jobs, or classes of equal jobs, of entities; members: (jobs,) how many each is.
    """

    owner: IntArray
    weight: FloatArray
    entity_weight: FloatArray
    fifo: BoolArray
    members: FloatArray

    def weights(self, bottlenecked: BoolArray) -> FloatArray:
        """(jobs,) `w^job_m`: of each entity's weight, its first job that can rise has all (FIFO), or each its part."""
        found = np.zeros(len(self.owner))
        rising = np.flatnonzero(~bottlenecked)
        _, first = np.unique(self.owner[rising], return_index=True)
        head = np.zeros(len(self.owner), dtype=bool)
        head[rising[first]] = True
        takes = ~bottlenecked & (head | ~self.fifo[self.owner])
        weight = np.where(self.fifo[self.owner], 1.0, self.weight)
        total = np.bincount(self.owner[takes], (weight * self.members)[takes], minlength=len(self.entity_weight))
        found[takes] = self.entity_weight[self.owner[takes]] * weight[takes] / total[self.owner[takes]]
        return found

    def only(self, rows: IntArray) -> RisingRule:
        """The rule of some jobs, by position."""
        return replace(self, owner=self.owner[rows], weight=self.weight[rows], members=self.members[rows])


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
        below_cap = np.maximum(cap - level, 0.0) * gang
        rising = np.flatnonzero(~done)
        order = rising[np.argsort(rule.owner[rising], kind="stable")]
        for rows in np.split(order, np.flatnonzero(np.diff(rule.owner[order])) + 1):
            if not len(rows):
                continue
            entity = rule.owner[rows[0]]
            given = rule.entity_weight[entity]
            if rule.fifo[entity]:
                until = np.cumsum(below_cap[rows]) / given
                self._queues.append((rows, until - below_cap[rows] / given, given / gang[rows]))
                bends.append(until)
            else:
                weight = rule.weight[rows]
                height = below_cap[rows] / weight
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


@dataclass(frozen=True, eq=False)
class NearSpeeds:
    """How the rows of jobs with two speeds that differ by a millionth, say, are stated: by what is lost (ours).

    Such a job's level settles to a millionth who of the others has a GPU of which type: 1e-9 too much or too little of
    it is 1e-3 of a GPU for others, and that is what a solver may overstep. So its row `throughput(m, X) >= t_m` is
    stated as `(y - y_j) X_j + ... + y s <= y - t_m`, with y the faster of the two speeds and s the time that is left,
    over the difference of the two. It is the same row, its time row added, and all numbers are of the order of 1.

    job: (near,) positions; speed: (near,) y, per unit of time and in levels x GPUs, and gap: the difference, 0 and 1
    for who has no such speeds on the columns that are open now.
    """

    job: IntArray
    speed: FloatArray
    gap: FloatArray

    @classmethod
    def of(cls, job: IntArray, entry_job: IntArray, speed: FloatArray) -> NearSpeeds:
        """Of these jobs, from what the entries that are open give per unit of time; each (entries,)."""
        order = np.lexsort((-speed, entry_job))
        of, speed = entry_job[order], speed[order]
        faster, gap = speed[:-1], speed[:-1] - speed[1:]
        near = (of[1:] == of[:-1]) & (speed[1:] > 0) & (gap > SAME * faster) & (gap < NEAR * faster)
        most = np.zeros(int(max(of.max(initial=-1), job.max(initial=-1))) + 1)
        least = np.ones(len(most))
        at = np.flatnonzero(near)
        at = at[np.argsort(-(gap[at] / faster[at]), kind="stable")]  # the closest last, which stays
        most[of[at]], least[of[at]] = faster[at], gap[at]
        return cls(job, most[job], least[job])

    @classmethod
    def jobs(cls, entry_job: IntArray, speed: FloatArray) -> IntArray:
        """Positions of the jobs that have such speeds."""
        every = np.unique(entry_job)
        return every[cls.of(every, entry_job, speed).speed > 0]

    def restated(self, programme: Programme) -> tuple[Programme, FloatArray]:
        """The programme of a phase with these rows and a column of time left for each; (columns,) a unit of each.

        Columns are stretched so that no entry in a row of levels is above 1, and none of the step's below `TAKEN`.
        """
        matrix, (height, width) = programme.matrix, programme.matrix.shape
        time_row, own_row = programme.rows["job_time"][self.job], programme.rows["level"][self.job]
        step, near = int(programme.columns["step"][0]), len(self.job)
        row, column = matrix.indices.astype(np.int64), np.repeat(np.arange(width), np.diff(matrix.indptr))
        of_time, of_own = np.full(height, -1), np.full(height, -1)
        of_time[time_row] = of_own[own_row] = np.arange(near)
        timed, own = of_time[row] >= 0, of_own[row] >= 0
        part, place = of_own[row[own]], column[own]
        key = np.concatenate([of_time[row[timed]] * width + column[timed], part * width + place])
        spent = -self.speed[of_time[row[timed]]] * matrix.data[timed]
        every, at = np.unique(key, return_inverse=True)
        value = np.zeros(len(every))
        value[at[timed.sum() :]] = matrix.data[own]  # each once: no rounding but that of one difference
        np.add.at(value, at[: timed.sum()], spent)
        which, where = np.divmod(every, width)
        value /= self.gap[which]
        left = width + np.arange(near)
        found = Columns.of(
            np.concatenate([row[~own], own_row[which], time_row, own_row]),
            np.concatenate([column[~own], where, left, left]),
            np.concatenate([matrix.data[~own], value, np.ones(near), -self.speed / self.gap]),
            (height, width + near),
        )
        column = np.repeat(np.arange(width + near), np.diff(found.indptr))
        level, largest = np.isin(found.indices, own_row) | (column == step), np.ones(width + near)
        np.maximum.at(largest, column[level], np.abs(found.data[level]))
        rises = np.abs(found.data[level & (column == step) & (found.data != 0)])
        largest[step] = min(rises.max(), rises.min() / TAKEN)
        unit = 1.0 / largest
        found = replace(found, data=found.data * unit[column])
        row_lower, time = programme.row_lower.copy(), programme.row_upper[time_row]
        row_lower[own_row] = (row_lower[own_row] - (1 + LAST) * self.speed * time) / self.gap
        row_lower[time_row[self.speed > 0]] = time[self.speed > 0]
        return replace(
            programme,
            cost=np.append(programme.cost, np.zeros(near)),
            matrix=found,
            row_lower=row_lower,
            lower=np.append(programme.lower, np.zeros(near)) / unit,
            upper=np.append(programme.upper, np.full(near, np.inf)) / unit,
            columns={**programme.columns, "left": left},
        ), unit

    def reached(self, programme: Programme, values: FloatArray) -> FloatArray:
        """(near,) levels x GPUs of a solution, by what is lost: all of the time at `speed`, less that."""
        matrix, step = programme.matrix, int(programme.columns["step"][0])
        column = np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
        terms = np.where(column == step, 0.0, matrix.data * values[column])
        own = np.bincount(matrix.indices, terms, minlength=matrix.shape[0])[programme.rows["level"][self.job]]
        found: FloatArray = self.speed * programme.row_upper[programme.rows["job_time"][self.job]] + self.gap * own
        return found


def told_apart(data: Given) -> Given:
    """The data with speeds of a job that are closer than `CLOSE` made equal, to the fastest of them (ours).

    Who has which of them would settle who of the others has a GPU, but no solver tells them apart. The data itself
    where there are none, or they differ by rounding.
    """
    owner = np.repeat(np.concatenate([np.arange(len(data.jobs)), data.pairs.ravel()]), len(data.types))
    speed = np.concatenate([data.speed.ravel(), data.pair_speed.ravel()])
    order = np.lexsort((speed, owner))
    ordered, alike = speed[order], owner[order][1:] == owner[order][:-1]
    faster, gap = ordered[1:], np.diff(ordered)
    close = alike & (ordered[:-1] > 0) & (gap < CLOSE * faster)
    if not (close & (gap > SAME * faster)).any():
        return data
    for at in np.flatnonzero(close)[::-1].tolist():
        ordered[at] = ordered[at + 1]
    speed[order] = ordered
    alone, pairs = np.split(speed, [data.speed.size])
    return replace(data, speed=alone.reshape(data.speed.shape), pair_speed=pairs.reshape(data.pair_speed.shape))


def near_speeds(data: AllocationInstance) -> NearSpeeds:
    """Of the jobs that have them, alone or in pairs."""
    e = data.entries
    speed = data.gang[e.job] * e.steps_per_s / data.equal[e.job]
    return NearSpeeds.of(NearSpeeds.jobs(e.job, speed), e.job, speed)


Make = Callable[[LevelInstance], Programme]
"""The programme of an iteration with these levels and weights, as `water_filling` states it."""

Test = Callable[[LevelInstance], BoolArray]
"""Which of the jobs with a weight are bottlenecked at these levels, as `bottleneck` tests it."""


def phases(data: AllocationInstance, rule: RisingRule, make: Make, test: Test, solver: Solver) -> DividedTime:
    """Shares of water filling for data as the policy sees them, and `levels`.

    The report counts programmes as iterations. Raises the errors of `workbench.scheduling.solvers`.
    """
    began = time.perf_counter()
    found = _Phases(data, rule, make, test, solver)
    values = found.run()
    if solver.method == "interior":
        values = found.inside(solver)
    shares = values["share"].reshape(len(data.units), len(data.types))
    build_s = time.perf_counter() - began - found.solve_s
    report = replace(found.report, build_s=build_s, solve_s=found.solve_s, passes=found.programmes)
    return DividedTime(shares, report, {"levels": found.level})


class _Phases:
    """The state between programmes. Arrays are by job, those of columns by combination and type."""

    def __init__(self, data: AllocationInstance, rule: RisingRule, make: Make, test: Test, solver: Solver) -> None:
        jobs, e = len(data.jobs), data.entries
        self.data, self.rule, self.make, self.test = data, rule, make, test
        self.level, self.done = np.zeros(jobs), np.zeros(jobs, dtype=bool)
        self.now = LevelInstance.of(data, self.level, self.level)
        self.job, self.column = e.job, (e.combination * len(data.types) + e.kind)[e.entry]
        self.gain = e.steps_per_s / data.equal[e.job]
        # What a job has if all of its time is in this entry; two equal jobs in a pair use up twice the time.
        pair = np.maximum(e.combination[e.entry] - jobs, 0)
        within = (
            (e.combination[e.entry] >= jobs) & (data.pairs[pair, 0] == data.pairs[pair, 1]) if len(data.pairs) else 0
        )
        self.alone = self.gain * data.count[e.job] / (1.0 + within)
        self.closed = np.zeros(data.limit.size, dtype=bool)
        self.programmes, self.solve_s = 0, 0.0
        self.spent = (1.0 + within) * np.ones(len(self.job))
        self.near_jobs = NearSpeeds.jobs(self.job, self._speeds())
        self.near, self.unit, self.unsure = self._near(), np.ones(1), np.zeros(jobs)
        self.large = SIMPLEX_UP_TO < jobs <= BY_A_PART_UP_TO and not len(data.pairs) and data.merged is None
        method: Method = "simplex" if jobs <= SIMPLEX_UP_TO or self.large else "ipm"
        self.solver = solver if solver.method in ("simplex", "ipm") else replace(solver, method=method)
        self.kept: KeptProgramme | None = None
        self.shares: FloatArray | None = None

    def _speeds(self) -> FloatArray:
        """(entries,) what each gives per unit of time, in levels x GPUs."""
        return self.gain * self.data.gang[self.job] / self.spent

    def run(self) -> dict[str, FloatArray]:
        """Raise the levels until every job is done; returns the values of the last programme."""
        values: dict[str, FloatArray] = {}
        while True:
            cap, self.near = self._caps(), self._near()
            self.done |= cap - self.level <= WHOLE * self._span(cap)
            if self.done.all():
                return values
            self._close_slower(cap)
            self.near = self._near()
            values = self._phase(LevelCourse(self.rule, self.data.gang, self.level, cap, self.done))

    def inside(self, solver: Solver) -> dict[str, FloatArray]:
        """A point inside the set of allocations that reach the levels."""
        programme = self._programme(np.zeros(len(self.level)), self.level * (1 - WHOLE))
        free = programme.upper.copy()
        free[programme.columns["share"]] = self.data.limit.ravel()
        point = solve_matrix(replace(programme, cost=np.zeros(len(free)), upper=free), solver)
        return programme.values(point)

    def _caps(self) -> FloatArray:
        """(jobs,) the most that each can have on the columns that are not closed."""
        cap = np.zeros(len(self.level))
        np.maximum.at(cap, self.job, np.where(self.closed[self.column], 0.0, self.alone))
        return cap

    def _near(self) -> NearSpeeds:
        """On the columns that are not closed."""
        if not len(self.near_jobs):
            return NearSpeeds(self.near_jobs, np.zeros(0), np.ones(0))
        rest = ~self.closed[self.column]
        return NearSpeeds.of(self.near_jobs, self.job[rest], self._speeds()[rest])

    def _span(self, cap: FloatArray) -> FloatArray:
        """(jobs,) what a part of each level is measured by: its cap, or as much less as two near speeds differ."""
        span = cap.copy()
        close = self.near.speed > 0
        span[self.near.job[close]] *= self.near.gap[close] / self.near.speed[close]
        return span

    def _close_slower(self, cap: FloatArray) -> None:
        """Close the columns on which a job at its cap can have no time: by rounding it has, on a type hardly slower."""
        most, level = cap[self.job], self.level[self.job]
        slower = self.alone < (1 - WHOLE) * most
        self.closed[self.column[slower & (most - level <= OVERSTEPPED * (most - self.alone))]] = True

    def _phase(self, course: LevelCourse) -> dict[str, FloatArray]:
        """Follow the course as far as it is possible, then mark who is done and which columns are closed."""
        until, programme, point, price = self._follow(course, self._guess(course))
        values = programme.values(point)
        self.shares = np.maximum(values["share"], 0.0).reshape(self.data.limit.shape)
        reached = self.data.normalised(self.shares)
        if len(self.near_jobs):  # no more than in the time that there is
            reached /= np.maximum(1.0, self.data.job_time(self.shares) / self.data.count)
        reached[self.near.job] = self.near.reached(programme, point.values / self.unit) / self.data.gang[self.near.job]
        before, self.level = self.level, np.minimum(course.at(until), reached)
        self._close(programme, point, price, self.level - before)
        return values

    def _follow(self, course: LevelCourse, until: float) -> tuple[float, Programme, Point, FloatArray]:
        """The last time of the course that is possible, and what says so; until: any time of it, to begin with."""
        start, most, near = self.level, course.end, bool(len(self.near_jobs))
        while True:
            way = course.at(until) - start
            programme, point, part, price = self._try(way)
            possible = part >= 1.0 - (10 * LAST if near else WHOLE)
            most_gained = part * float(price @ way)  # but for rounding, where a cap that is just reached has the price
            last = course.reaches(price, most_gained * (1 + WHOLE) if possible and not near else most_gained, most)
            if possible and last <= until * (1 + WHOLE):
                return last if near else until, programme, point, price
            if last <= WHOLE * until:
                return 0.0, programme, point, price
            if not possible and not last < until:
                if part >= 1.0 - WHOLE:
                    return until, programme, point, price
                raise SolverFailedError(NAME, f"a way of which {part:g} is possible", "a shorter one")
            until, most = min(last, FURTHER * until) if possible else last, last

    def _guess(self, course: LevelCourse) -> float:
        """About how far a long course is possible: as many times as far as one of so many jobs gets by itself, on as
        large a part of the GPUs, or of those in use once some are."""
        if not self.large:
            return course.end
        jobs = len(self.level)
        rows = part_of(jobs)
        few, times = replace(self.data, fair=self.data.equal).only(rows, len(rows) / jobs), jobs / len(rows)
        if self.shares is not None:
            used, by_few = np.maximum(self.data.used(self.shares), WHOLE), few.used(self.shares[rows])
            if ((by_few <= 0) & (self.data.capacity > 0)).any():  # it stands for nobody there
                return course.end
            few, times = replace(few, capacity=self.data.capacity * by_few / used), LATER * times
        part = _Phases(few, self.rule.only(rows), self.make, self.test, self.solver)
        part.level, part.closed = self.level[rows], self.closed.reshape(self.data.limit.shape)[rows].ravel()
        cap, part.near = part._caps(), part._near()
        part.done = self.done[rows] | (cap - part.level <= WHOLE * cap)
        if part.done.all():
            return course.end
        alone = LevelCourse(part.rule, few.gang, part.level, cap, part.done)
        try:
            until = times * part._follow(alone, alone.end)[0]
        except (InfeasibleError, SolverFailedError):  # by rounding, where all that they use is taken
            return course.end
        return until if 0 < until < course.end else course.end

    def _try(self, way: FloatArray) -> tuple[Programme, Point, float, FloatArray]:
        """How large a part of a way up from the levels is possible, and the prices of levels that say why no more."""
        largest, gang = float(way.max()), self.data.gang
        programme = self._programme(gang * way / largest, self.level)
        if len(self.near_jobs):
            programme, self.unit = self.near.restated(programme)
        if self.kept is None:
            self.kept = KeptProgramme(programme, self.solver.without_presolve().to_within(OVERSTEPPED))
            if self.large and way[part_of(len(way))].any():
                self.kept.begin(*basis_by_a_part(programme, len(self.level), self.solver))
        else:
            self.kept.change(programme)
        try:
            point = self.kept.solve()
        except (InfeasibleError, SolverFailedError):  # it cannot be kept so closely
            if len(self.near_jobs):
                programme = self._lowered(programme)
            self.kept = KeptProgramme(programme, self.solver.without_presolve())
            point = self.kept.solve()
        self.report = point.solved
        self.programmes += 1
        self.solve_s += point.solved.solve_s
        assert point.duals is not None and point.reduced is not None
        price = np.maximum(-point.duals[programme.rows["level"]], 0.0) * gang
        price[self.near.job] /= self.near.gap
        point = replace(point, values=point.values * self.unit, reduced=point.reduced / self.unit)
        return programme, point, float(programme.values(point)["step"][0]) / largest, price

    def _programme(self, active: FloatArray, level: FloatArray) -> Programme:
        """The iteration's programme, ready to be solved: with the closed columns at 0, one row for each job's level.

        A job that rises has its `rise` turned round, without its `floor`, which that implies; the others their `floor`
        times z_m, so that little changes from one programme to the next; limits that rows imply are left out. The cost
        is the number of jobs, so that prices are of the order of 1.
        """
        found = self.make(self.now.at(level=level, active=active))
        own, rises = found.rows["floor"].copy(), active > 0
        own[rises] = found.rows["rise"]
        rest = np.ones(found.matrix.shape[0], dtype=bool)
        rest[found.rows["floor"]] = rest[found.rows["rise"]] = False
        order = np.concatenate([np.flatnonzero(rest), own])
        times = np.concatenate([np.ones(rest.sum()), np.where(rises, -1.0, self.data.gang)])
        upper = found.upper.copy()
        upper[found.columns["share"][self.closed]] = 0.0
        lower, most = found.row_lower[order], found.row_upper[order]
        ready = replace(
            found,
            cost=found.cost * float(self.data.count.sum()),
            matrix=_with_rows(found.matrix, order, times),
            row_lower=times * np.where(times > 0, lower, most),
            row_upper=times * np.where(times > 0, most, lower),
            upper=upper,
            rows={name: found.rows[name] for name in ("job_time", "capacity")}
            | {"level": np.arange(rest.sum(), len(order))},
        )
        return without_implied_limits(ready)

    def _lowered(self, programme: Programme) -> Programme:
        """The same with the levels of `near` jobs as much lower as they may have been overstepped."""
        self.unsure[self.near.job] += OVERSTEPPED * self.near.gap / self.data.gang[self.near.job]
        lower = programme.row_lower.copy()
        lower[programme.rows["level"][self.near.job]] -= OVERSTEPPED
        return replace(programme, row_lower=lower)

    def _check(self, price: FloatArray, gap: float, stuck: BoolArray) -> None:
        """Add what the levels may be off by after a phase, and refuse them where that is more than `SURE`.

        Why no level is too low by more: a phase's rows times their prices, added up, say of all levels that are
        possible (weak duality) `price . levels <= price . self.level + gap`, where gap is the programme's value less
        that of the rise, and what columns may add that are priced too low. Let the exact levels before the phase be
        within `unsure` of ours: then those to come gain at most `gap + price . unsure`, `price . pace` for each unit
        that the course is followed further; and who is stuck rises by gap over its price at most, or by the test's
        margin.
        What too high a level costs: shares reach all levels at once, limits overstepped by `OVERSTEPPED`, so who has
        more than the exact level takes no more than `unsure` from anybody. How much that is does not follow: at the
        edge between two types a job may lose a millionth, another gain a quarter of a GPU, as a test's case does.
        stuck: (jobs,) whose levels can rise by `gap` over their price at most.
        """
        pace = self.rule.weights(self.done) / self.data.gang
        unsure = self.unsure + EPSILON * self.level
        if float(price @ pace) > 0:
            self.unsure += pace * (gap + float(price @ unsure)) / float(price @ pace)
        self.unsure[stuck] += gap / price[stuck]
        most = float(self.unsure.max())
        if not most <= SURE * max(1.0, float(self.level.max())):
            raise SolverFailedError(NAME, f"levels that may be off by {most:.1g}", f"at most {SURE:g}")

    def _close(self, programme: Programme, point: Point, price: FloatArray, risen: FloatArray) -> None:
        """Complementary slackness: a level with a price cannot rise, a column with a reduced cost cannot leave 0.

        `price . rise` is at most the programme's value. What is left of that, and rounding, is all that there is for a
        job's further rise times its price, or a column's share times its reduced cost. risen: (jobs,).
        """
        assert point.reduced is not None
        cap = self._caps()
        worth = price * self._span(cap)
        gap = max(0.0, point.solved.value - float(price @ risen))
        left = gap + (10 * LAST if len(self.near_jobs) else ROUNDING) * float((price * cap).sum())
        stuck = ~self.done & (RISE * worth > left)
        closed = ~self.closed & (RISE * -point.reduced[programme.columns["share"]] > left)
        reached = ~self.done & (cap - self.level <= WHOLE * self._span(cap))
        if not (stuck.any() or closed.any() or reached.any()):
            stuck = ~self.done & (SLACK * worth > left)
        if not (stuck.any() or closed.any() or reached.any()):
            stuck = self.test(now := self.now.at(level=self.level, active=self.rule.weights(self.done)))
            self.unsure[stuck] += now.margin[stuck]  # a rise below it does not count there
            if not (stuck.any() or (risen > RISE * cap).any()):
                raise SolverFailedError(NAME, "a phase of water filling without a bottleneck", "at least one")
        if len(self.near_jobs):
            most = np.where(np.isfinite(programme.upper), programme.upper * self.unit, 1.0)
            most[programme.columns["left"]] = self.data.count[self.near.job]
            most[programme.columns["step"]] = 0.0  # its price is the rises' sum
            self._check(price, gap + float(np.maximum(point.reduced, 0.0) @ most), stuck & (price > 0))
        self.done |= stuck
        self.closed |= closed


def _with_rows(matrix: Sparse, order: IntArray, times: FloatArray) -> Columns:
    """Some rows of a matrix, in that order, times these numbers."""
    new = np.full(matrix.shape[0], -1)
    new[order] = np.arange(len(order))
    row, column = new[matrix.indices], np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
    kept = row >= 0
    row = row[kept]
    return Columns.of(row, column[kept], matrix.data[kept] * times[row], (len(order), matrix.shape[1]))
