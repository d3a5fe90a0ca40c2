"""The integer programmes of one plan as arrays, the same as the Pyomo models that state them compile to.

`round.build`, `aggregated.build` and `lexicographic.build` are the statements; these are made faster.

`serve` is the problem of `lexicographic` with several priority classes at a time. If all jobs of a block get the most
that each could have by itself, or all get nothing, one solve settles the block; else it is halved. What is settled is
fixed, so that the programmes become smaller.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import FloatArray, IntArray
from workbench.papers.hops.algorithms.aggregation import Aggregate, lift
from workbench.papers.hops.algorithms.configurations import Layout
from workbench.papers.hops.formulations.lexicographic import SLACK, WeighedClass, priority_classes
from workbench.papers.hops.instance import HopsInstance, RoundPlan, shape_of
from workbench.scheduling.solvers import Columns, Point, Programme, Solver, SolveReport, TimeLimitError, solve_matrix
from workbench.scheduling.solvers.programme import Positions


@dataclass(frozen=True, eq=False)
class PrintedAssembly:
    """One binary for each configuration; rows (12) of each job, then (13) of each server."""

    data: HopsInstance

    @property
    def job(self) -> IntArray:
        """(binaries,) whose each is."""
        return self.data.job

    @property
    def gain(self) -> FloatArray:
        """(binaries,) G_ij."""
        return self.data.gain

    def programme(self) -> Programme:
        """The limits, without an objective."""
        data, columns = self.data, len(self.data.job)
        configuration, server, gpus = data.consumption()
        jobs, job = np.unique(data.job, return_inverse=True)
        servers, place = np.unique(server, return_inverse=True)
        rows = {"one_configuration": np.arange(len(jobs)), "capacity": len(jobs) + np.arange(len(servers))}
        return _programme(
            "hops_round",
            np.concatenate([job, len(jobs) + place]),
            np.concatenate([np.arange(columns), configuration]),
            np.concatenate([np.ones(columns), gpus]),
            row_upper=np.concatenate([np.ones(len(jobs)), data.idle[servers]]),
            upper=np.ones(columns),
            columns={"choose": np.arange(columns)},
            rows=rows,
        )

    def plan(self, values: FloatArray, previous: Mapping[int, Layout]) -> RoundPlan:
        """What the jobs get; `previous` plays no part, as configurations name their servers."""
        return self.data.plan(np.flatnonzero(values > 0.5).tolist())

    def start(self, layouts: Mapping[int, Layout]) -> FloatArray:
        """(columns,) values to begin from: an earlier plan's; jobs that are not in it get nothing."""
        data = self.data
        number = {layout: i for i, layout in enumerate(data.layouts)}
        wanted = np.full(len(data.jobs), -1)
        for row, layout in layouts.items():
            wanted[row] = number.get(layout, -1)
        values: FloatArray = (wanted[data.job] == data.layout).astype(float)
        return values


@dataclass(frozen=True, eq=False)
class AggregatedAssembly:
    """One binary for each job's shape, then an integer for each cut; rows (12), pieces (13), servers of each group."""

    aggregate: Aggregate

    @property
    def data(self) -> HopsInstance:
        """The round."""
        return self.aggregate.data

    @property
    def job(self) -> IntArray:
        """(binaries,) whose each is."""
        return self.aggregate.job

    @property
    def gain(self) -> FloatArray:
        """(binaries,) G_ic."""
        return self.aggregate.gain

    def programme(self) -> Programme:
        """The limits, without an objective."""
        every = self.aggregate
        choices, (jobs, job) = len(every.job), np.unique(every.job, return_inverse=True)
        used, chosen, needed = every.used
        supplied, cut, given = every.supplied
        group = np.array([spot for spot, _ in every.cuts], dtype=np.int64)
        cuts, pieces = choices + np.arange(len(group)), np.unique(used)
        at = np.full(len(every.pieces), -1)  # of pieces that no choice takes there is no row
        at[pieces] = np.arange(len(pieces))
        taken = at[supplied] >= 0
        below = len(jobs) + len(pieces)
        return _programme(
            "hops_round_aggregated",
            np.concatenate([job, len(jobs) + at[used], len(jobs) + at[supplied[taken]], below + group]),
            np.concatenate([np.arange(choices), chosen, choices + cut[taken], cuts]),
            np.concatenate([np.ones(choices), needed, -given[taken], np.ones(len(group))]),
            row_upper=np.concatenate([np.ones(len(jobs)), np.zeros(len(pieces)), every.number]),
            upper=np.concatenate([np.ones(choices), every.number[group]]),
            columns={"choose": np.arange(choices), "cut": cuts},
            rows={
                "one_configuration": np.arange(len(jobs)),
                "pieces": len(jobs) + np.arange(len(pieces)),
                "servers": below + np.arange(len(every.groups)),
            },
        )

    def plan(self, values: FloatArray, previous: Mapping[int, Layout]) -> RoundPlan:
        """What the jobs get, where they were before if that can be."""
        every, choices = self.aggregate, len(self.aggregate.job)
        taken = {int(every.job[choice]): choice for choice in np.flatnonzero(values[:choices] > 0.5).tolist()}
        return lift(every, taken, np.rint(values[choices:]).astype(int).tolist(), previous)

    def start(self, layouts: Mapping[int, Layout]) -> FloatArray:
        """(columns,) values to begin from: the shapes of an earlier plan; how servers are cut is left open."""
        every, data = self.aggregate, self.data
        wanted = np.full(len(data.jobs), -1)
        for row, layout in layouts.items():
            wanted[row] = data.shapes.get(shape_of(layout, data.pools), -1)
        known = (wanted[every.job] == every.shape).astype(float)
        return np.concatenate([known, np.full(len(every.cuts), np.nan)])


def _programme(
    name: str,
    row: npt.ArrayLike,
    column: npt.ArrayLike,
    value: npt.ArrayLike,
    row_upper: FloatArray,
    upper: FloatArray,
    columns: Positions,
    rows: Positions,
) -> Programme:
    """A programme of whole numbers from 0 on, whose rows have upper limits alone; without an objective."""
    return Programme(
        cost=np.zeros(len(upper)),
        matrix=Columns.of(row, column, value, (len(row_upper), len(upper))),
        row_lower=np.full(len(row_upper), -np.inf),
        row_upper=row_upper,
        lower=np.zeros(len(upper)),
        upper=upper,
        integer=np.ones(len(upper), dtype=bool),
        maximise=True,
        name=name,
        columns=columns,
        rows=rows,
    )


def assemble(twin: PrintedAssembly | AggregatedAssembly, power: float) -> Programme:
    """The programme of the form at that lambda; at infinity of its first class, with nobody served before it."""
    programme, weight = twin.programme(), np.zeros(len(twin.data.jobs))
    if np.isinf(power):
        weight[priority_classes(twin.data.priority)[0]] = 1.0
        rows = {**programme.rows, "kept": np.zeros(0, dtype=np.int64)}
        programme = replace(programme, name=f"{programme.name}_lexicographic", rows=rows)
    else:
        weight = twin.data.weights(power).scaled
    cost = programme.cost.copy()
    cost[: len(twin.job)] = weight[twin.job] * twin.gain
    return replace(programme, cost=cost)


FIRST = 8
"""Levels in the first block, where each is solved to its optimum; with a gap they are solved one by one."""


def serve(
    twin: PrintedAssembly | AggregatedAssembly, programme: Programme, order: Sequence[WeighedClass], solver: Solver
) -> tuple[FloatArray, SolveReport]:
    """Values of the columns in the plan, and the report on the first solve with the time of all.

    programme: the twin's, however it came about; each solve has the objective of its levels.
    Raises the errors of `workbench.scheduling.solvers`. A time limit counts for all solves together; when it has
    passed, those left keep what the last solve left them, and the status says so.
    """
    ladder = _Ladder(twin, programme)
    solved: list[SolveReport] = []
    began, spot, values = time.perf_counter(), 0, np.zeros(0)
    width = 1 if solver.gap else FIRST
    while spot < len(order):
        block = order[spot : spot + width]
        try:
            point = ladder.solve(block, _left(solver, began, ladder.programme.name))
        except TimeLimitError:
            if not solved:
                raise
            return values, _report(solved, "time_limit")
        solved.append(point.solved)
        values = point.values
        if point.solved.status == "time_limit":
            return values, _report(solved, "time_limit")
        sure, all_most = (len(block), True) if len(order) == 1 else ladder.settle(block, point)
        spot, width = spot + sure, 2 * len(block) if all_most and not solver.gap else 1
    proven = all(each.status == "optimal" for each in solved)
    return values, _report(solved, "optimal" if proven else "feasible")


def _left(solver: Solver, began: float, name: str) -> Solver:
    """The solver with what is left of its time; raises TimeLimitError if nothing is."""
    if solver.time_limit_s is None:
        return solver
    left_s = solver.time_limit_s - (time.perf_counter() - began)
    if left_s <= 0:
        raise TimeLimitError(name, f"{solver.time_limit_s:g} s")
    return replace(solver, time_limit_s=left_s)


def _report(solved: Sequence[SolveReport], status: str) -> SolveReport:
    return replace(solved[0], status=status, solve_s=sum(each.solve_s for each in solved), passes=len(solved))


@dataclass(eq=False)
class _Ladder:
    """A programme whose settled classes are fixed."""

    twin: PrintedAssembly | AggregatedAssembly
    programme: Programme

    def __post_init__(self) -> None:
        self._row = np.full(len(self.twin.data.jobs), -1)
        able = np.unique(self.twin.job)
        self._row[able] = np.arange(len(able))
        most = np.zeros(len(self.twin.data.jobs))
        np.maximum.at(most, self.twin.job, self.twin.gain)
        self._most = most

    def _gain(self, block: Sequence[WeighedClass]) -> FloatArray:
        """(columns,) weighted gain of the choices of the levels' jobs, 0 elsewhere."""
        weight = np.sum([level.weight for level in block], axis=0)
        cost = np.zeros(len(self.programme.cost))
        cost[: len(self.twin.job)] = weight[self.twin.job] * self.twin.gain
        return cost

    def solve(self, block: Sequence[WeighedClass], solver: Solver) -> Point:
        """The best for these levels together; choices that are settled against are left out."""
        left = np.flatnonzero(self.programme.upper > 0)
        point = solve_matrix(replace(self.programme, cost=self._gain(block)).only(left), solver)
        values = np.zeros(len(self.programme.cost))
        values[left] = point.values
        return replace(point, values=values)

    def settle(self, block: Sequence[WeighedClass], point: Point) -> tuple[int, bool]:
        """Fix what the first of the levels got that is sure to be the best for each of them in turn.

        Sure is what is the most that a job can get, whatever the others do, what is nothing where all get nothing, and
        a level that was solved by itself. Returns how many levels that is, and whether more may be tried together.
        """
        jobs = np.concatenate([level.rows for level in block])
        chosen = np.zeros(len(point.values), dtype=bool)
        chosen[: len(self.twin.job)] = point.values[: len(self.twin.job)] > 0.5
        got = np.zeros(len(self._most))
        taken = np.flatnonzero(chosen)
        got[self.twin.job[taken]] = self.twin.gain[taken]
        if not got[jobs].any():
            self._fix(jobs, np.zeros(len(jobs)))
            return len(block), True
        most = [bool((got[level.rows] >= self._most[level.rows] - SLACK).all()) for level in block]
        sure = most.index(False) if False in most else len(block)
        if sure:
            jobs = np.concatenate([level.rows for level in block[:sure]])
            self._fix(jobs, got[jobs])
        elif len(jobs) == 1:
            self._fix(jobs, got[jobs])
            return 1, False
        elif len(block) == 1:
            self._keep(block[0], float(self._gain(block)[chosen].sum()))
            return 1, False
        return sure, sure == len(block)

    def _fix(self, jobs: IntArray, gain: FloatArray) -> None:
        """Leave each job only the choices of that gain, one of which it must get; none at all for a gain of 0."""
        wanted = np.full(len(self._most), np.nan)
        wanted[jobs] = gain
        apart = np.abs(self.twin.gain - wanted[self.twin.job]) > SLACK
        upper, lower = self.programme.upper.copy(), self.programme.row_lower.copy()
        upper[: len(apart)][apart] = 0.0
        lower[self._row[jobs[gain > SLACK]]] = 1.0
        self.programme = replace(self.programme, upper=upper, row_lower=lower, start=None)

    def _keep(self, level: WeighedClass, value: float) -> None:
        """Add the row that the level's weighted gain stays."""
        gain, matrix = self._gain([level]), self.programme.matrix
        rows, columns = matrix.shape
        column = np.repeat(np.arange(columns), np.diff(matrix.indptr))
        mine = np.flatnonzero(gain)
        self.programme = replace(
            self.programme,
            matrix=Columns.of(
                np.concatenate([matrix.indices, np.full(len(mine), rows)]),
                np.concatenate([column, mine]),
                np.concatenate([matrix.data, gain[mine]]),
                (rows + 1, columns),
            ),
            row_lower=np.append(self.programme.row_lower, value - SLACK * max(1.0, value)),
            row_upper=np.append(self.programme.row_upper, np.inf),
            start=None,
        )
