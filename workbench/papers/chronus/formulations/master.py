r"""Which deadlines to hit, without saying when each job runs: the master in s (ours), for many jobs.

max   sum_i V_0 + sum_i sum_p (V_ip - V_0) s_ip      (1, ours)     total_reward
s.t.  sum_i sum_p d_iptz s_ip <= C_tz  for all t, z  (ours)        demand
      sum_p s_ip <= 1, = if i in A     for all i     (5, erratum)  one_deadline
      s_ip in {0, 1}                   for all i, p  (2)           hit

(ours): `d_iptz` is how much of a job has to run in the first t leases, if it is to hit deadline p: the gang times
`max(0, RL - max(0, DL - t))`, and `C_tz` is what these leases have, for pieces of each size z. t runs over the
deadlines. Without (3)-(4) and their variables this is small. It is a relaxation: every plan keeps it, and its optimum
is a bound. If all jobs are there, capacity is constant and leases could be given in parts, it would say exactly what
can be done, since the first leases are where jobs with deadlines press most. Whole leases may fall short of it (three
jobs of 2 GPUs, 3 GPUs, two leases), so that `lift` turns its answer into a plan and the gap to its bound is told.

The scheduler solves it as a linear programme, in `solve`, and rounds: jobs of which parts are chosen get the best
deadline that still keeps all rows. Where the cluster is full of guaranteed jobs, what looks free in GPU leases cannot
all be had in whole ones, and lifting fails. Then it is solved with whole choices, with all capacity for the bound, and
with a little less until lifting works, but never less than the guaranteed jobs need by their last deadlines.

Where jobs have options (section 7) there is a column for each: the same relaxation, since a job has one in a plan.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.base.errors import InputError
from workbench.papers.chronus.algorithms.lease_plan import LeasePlan, improved, lift, still_holds, swapped
from workbench.papers.chronus.instance import NAME, ChronusInstance, check_guaranteed
from workbench.scheduling.modelling import pyo
from workbench.scheduling.solvers import (
    Columns,
    InfeasibleError,
    Programme,
    Solver,
    SolveReport,
    TimeLimitError,
    solve_matrix,
)
from workbench.scheduling.solvers.solve_report import report

WHOLE = 1e-6
"""How far a solver's choice may be from 0 or 1."""
PARTS = (1.0, 0.9998, 0.9995, 0.999, 0.998, 0.995, 0.99, 0.98, 0.95)
"""Parts of the capacity with which whole choices are made, until they can be lifted."""
NEAR = 0.002
"""Gap to the bound at which the rounded programme is good enough."""
WHOLE_GAP = 5e-4
"""Gap at which the search for whole choices stops."""
NODES = 300
"""Nodes of the search tree at which it does, with a solver that counts them."""
NEAR_WITH_OPTIONS = 0.005
"""The same gap where jobs have options: there are several times as many columns, and parts are chosen still."""


@dataclass(frozen=True, eq=False)
class Master:
    """The numbers of the master: one column for each deadline that a job alone could hit, and each option for it.

    Arrays by column: job, step (number of the deadline from 0), option.
    """

    instance: ChronusInstance

    @cached_property
    def _columns(self) -> IntArray:
        """(columns x 3) job, step, option."""
        data = self.instance
        found = [
            (row, step, option)
            for option, row in enumerate(data.every.job.tolist())
            if data.possible_as[option]
            for step, by in enumerate(data.by[row].tolist())
            if by - int(data.first[row]) + 1 >= int(data.needed_as[option])
        ]
        return np.array(sorted(found), dtype=np.int64).reshape(-1, 3)

    @property
    def job(self) -> IntArray:
        """(columns,) whose deadline it is."""
        return self._columns[:, 0]

    @property
    def step(self) -> IntArray:
        """(columns,) which of the job's deadlines."""
        return self._columns[:, 1]

    @property
    def option(self) -> IntArray:
        """(columns,) as what the job hits it."""
        return self._columns[:, 2]

    @cached_property
    def gain(self) -> FloatArray:
        """(columns,) V_ip - V_0."""
        data = self.instance
        pairs = zip(self.job.tolist(), self.step.tolist(), strict=True)
        return np.array([data.rewards[row][step] - data.miss_reward for row, step in pairs], dtype=float)

    @cached_property
    def _by(self) -> IntArray:
        pairs = zip(self.job.tolist(), self.step.tolist(), strict=True)
        return np.array([self.instance.by[row][step] for row, step in pairs], dtype=np.int64)

    @cached_property
    def times(self) -> IntArray:
        """(times,) t: the deadlines in leases."""
        return np.unique(self._by)

    @cached_property
    def demand(self) -> IntArray:
        """(times x sizes x columns) d_iptz."""
        data = self.instance
        before = np.maximum(self.times[:, None], data.first[self.job] - 1)
        inside = np.maximum(0, data.needed_as[self.option] - np.maximum(0, self._by - before))
        return inside[:, None, :] * data.every.held[self.option].T[None, :, :]

    @cached_property
    def supply(self) -> IntArray:
        """(times x sizes) C_tz."""
        return np.cumsum(self.instance.free, axis=0)[self.times - 1]

    def programme(self) -> Programme:
        """The linear relaxation as a matrix; rows: one for each job that has columns, then the demand."""
        jobs, row = np.unique(self.job, return_inverse=True)
        flat = self.demand.reshape(-1, len(self.job))
        place, column = np.nonzero(flat)
        rows = len(jobs) + len(flat)
        certain = self.instance.guaranteed[jobs]
        return Programme(
            cost=self.gain,
            matrix=Columns.of(
                np.concatenate([row.ravel(), len(jobs) + place]),
                np.concatenate([np.arange(len(self.job)), column]),
                np.concatenate([np.ones(len(self.job)), flat[place, column]]),
                (rows, len(self.job)),
            ),
            row_lower=np.concatenate([np.where(certain, 1.0, -np.inf), np.full(len(flat), -np.inf)]),
            row_upper=np.concatenate([np.ones(len(jobs)), self.supply.ravel().astype(float)]),
            lower=np.zeros(len(self.job)),
            upper=np.ones(len(self.job)),
            maximise=True,
            offset=self.instance.miss_reward * len(self.instance.jobs),
            name="chronus.leases, master",
        )

    @cached_property
    def certain(self) -> IntArray:
        """(times x sizes) what the guaranteed jobs need at least, by their last deadlines.

        Of a job with several options, the least at each time and size: no one option need do with so little.
        """
        data = self.instance
        columns = np.flatnonzero(data.guaranteed[self.job] & (self.step == [len(data.by[row]) - 1 for row in self.job]))
        least = np.zeros(self.supply.shape, dtype=np.int64)
        for own in np.split(columns, np.flatnonzero(np.diff(self.job[columns])) + 1) if len(columns) else ():
            least += self.demand[:, :, own].min(axis=2)
        return least

    def with_less(self, programme: Programme, part: float) -> Programme:
        """The programme with so much of the capacity, but what guaranteed jobs need; choices are whole, unless jobs
        have options, where that takes too long."""
        upper = np.array(programme.row_upper)
        upper[-self.supply.size :] = np.maximum(np.floor(part * self.supply), self.certain).ravel()
        whole = np.ones(len(self.job), dtype=bool) if self.instance.options is None else None
        return replace(programme, row_upper=upper, integer=whole)

    def rounded(self, values: FloatArray) -> tuple[IntArray, IntArray]:
        """(jobs,) a deadline for each job, -1 for none, and its option: whole choices stand, the others take what still
        keeps all rows.

        Those of which most was chosen come first, each with its best deadline that fits. A guaranteed job that nothing
        is left for gets its last deadline.
        """
        data = self.instance
        target, option = np.full(len(data.jobs), -1), np.array(data.in_force)
        left = self.supply.astype(np.int64)
        whole = values > 1 - WHOLE
        target[self.job[whole]], option[self.job[whole]] = self.step[whole], self.option[whole]
        left = left - self.demand[:, :, whole].sum(axis=2)
        share = np.bincount(self.job, values, minlength=len(data.jobs))
        parts = [row for row in np.unique(self.job).tolist() if target[row] < 0]
        columns = {row: self._by_share(row, values) for row in parts}
        for row in sorted(parts, key=lambda row: (not data.guaranteed[row], -share[row], row)):
            fitting = (column for column in columns[row] if (self.demand[:, :, column] <= left).all())
            column = next(fitting, columns[row][-1] if data.guaranteed[row] else -1)
            if column >= 0:
                target[row], option[row] = self.step[column], self.option[column]
                left = left - self.demand[:, :, column]
        return target, option

    def _by_share(self, row: int, values: FloatArray) -> list[int]:
        """The columns of a job: the best deadline first, of these the option of which most was chosen."""
        own = np.flatnonzero(self.job == row)
        columns: list[int] = own[np.lexsort((-values[own], self.step[own]))].tolist()
        return columns


def build(data: ChronusInstance) -> pyo.ConcreteModel:
    """Return the unsolved integer programme, for jobs of one option each.

    Raises InfeasibleError if a guaranteed job would miss even alone.
    """
    if data.options is not None:
        raise InputError(
            f"{NAME}, form master", "jobs with several options", "jobs of one option each, or form=options"
        )
    check_guaranteed(data)
    master = Master(data)
    keys = [(data.jobs[row], step + 1) for row, step in zip(master.job.tolist(), master.step.tolist(), strict=True)]
    own: dict[str, list[tuple[str, int]]] = {job: [] for job in data.jobs}
    for key in keys:
        own[key[0]].append(key)

    m = pyo.ConcreteModel("chronus_master")
    m.guaranteed = {job for job, sure in zip(data.jobs, data.guaranteed.tolist(), strict=True) if sure}
    m.JOBS = pyo.Set(initialize=data.jobs, doc="i | jobs with deadlines\nA | guaranteed jobs | | guaranteed")
    m.DEADLINES = pyo.Set(dimen=2, initialize=keys, doc="i,p | deadlines that a job alone could hit")
    m.TIMES = pyo.Set(initialize=master.times.tolist(), doc="t | deadlines in leases")
    m.SIZES = pyo.Set(initialize=data.sizes, doc="z | sizes of pieces of a node that have a limit")

    own_reward = dict(zip(keys, (master.gain + data.miss_reward).tolist(), strict=True))
    m.reward = pyo.Param(m.DEADLINES, initialize=own_reward, doc="V_ip | reward of completing by a deadline | 1")
    m.miss_reward = pyo.Param(initialize=data.miss_reward, doc="V_0 | reward of a miss | 1")
    spots = [
        (t, z, column) for t, z, column in zip(*(part.tolist() for part in np.nonzero(master.demand)), strict=True)
    ]
    needs = {
        (*keys[column], int(master.times[t]), data.sizes[z]): int(master.demand[t, z, column]) for t, z, column in spots
    }
    m.needs = pyo.Param(
        needs.keys(),
        initialize=needs,
        doc="d_iptz | GPUs x leases of the first t that hitting a deadline takes at least | GPU leases",
    )
    supply = {
        (int(t), size): int(master.supply[spot, column])
        for spot, t in enumerate(master.times.tolist())
        for column, size in enumerate(data.sizes)
    }
    m.supply = pyo.Param(m.TIMES, m.SIZES, initialize=supply, doc="C_tz | GPUs of the first t leases | GPU leases")
    m.hit = pyo.Var(m.DEADLINES, domain=pyo.Binary, doc="(2) s_ip | whether a job hits a deadline | 1")

    @m.Objective(sense=pyo.maximize, doc="(1, ours) the sum of the jobs' rewards")
    def total_reward(m):
        gained = ((m.reward[key] - m.miss_reward) * m.hit[key] for key in keys)
        return m.miss_reward * len(data.jobs) + pyo.quicksum(gained)

    pressing: dict[tuple[int, int], list[tuple[str, int]]] = {place: [] for place in supply}
    for job, p, t, size in needs:
        pressing[t, size].append((job, p))

    @m.Constraint(m.TIMES, m.SIZES, doc="(ours) what must run in the first leases fits there")
    def demand(m, t, z):
        if not pressing[t, z]:
            return pyo.Constraint.Skip
        return pyo.quicksum(m.needs[(*key, t, z)] * m.hit[key] for key in pressing[t, z]) <= m.supply[t, z]

    @m.Constraint(m.JOBS, doc="(5, erratum) a job hits one deadline, or none unless it is guaranteed")
    def one_deadline(m, i):
        if not own[i]:
            return pyo.Constraint.Skip
        once = pyo.quicksum(m.hit[key] for key in own[i])
        return once == 1 if i in m.guaranteed else once <= 1

    return m


def target(model: pyo.ConcreteModel, data: ChronusInstance) -> IntArray:
    """(jobs,) the deadlines, from 0, that a solved model chose; -1 for none."""
    at = {name: row for row, name in enumerate(data.jobs)}
    chosen = np.full(len(data.jobs), -1)
    for (job, p), variable in model.hit.items():
        if variable.value > 0.5:
            chosen[at[job]] = p - 1
    return chosen


@dataclass(frozen=True, eq=False)
class BoundedPlan:
    """A plan, None if none was found that keeps the guarantees, and the best bound that was proven.

    solved: how good the plan is; without a plan its objective is nan. linear: the bound of the linear programme;
    `bound` is lower where the whole choices had to be searched for.
    """

    plan: LeasePlan | None
    bound: float
    solved: SolveReport
    linear: float


def solve(data: ChronusInstance, solver: Solver | None = None) -> BoundedPlan:
    """Linear programme, rounding, lifting; what was planned before stands where it is better.

    Raises InfeasibleError if not even parts of leases would do for the guaranteed jobs, and the other errors of
    `workbench.scheduling.solvers`.
    """
    check_guaranteed(data)
    solver = solver or Solver()
    began = time.perf_counter()
    master = Master(data)
    programme = master.programme()
    built = time.perf_counter()
    point = solve_matrix(programme, solver)
    linear = bound = point.solved.value
    plans = [_lifted(master, point.values)]
    near = NEAR if data.options is None else NEAR_WITH_OPTIONS
    if plans[0] is None or bound - plans[0].objective > near * abs(bound):
        found, bound = _with_less_capacity(master, programme, solver, bound)
        plans.append(found)
    plan = _best(data, plans)
    ended = time.perf_counter()
    solved = report(plan.objective if plan is not None else np.nan, bound, timed_out=False)
    solver_name = point.solved.solver
    reported = replace(solved, build_s=built - began, solve_s=ended - built, solver=solver_name)
    return BoundedPlan(plan, bound, reported, linear)


def _lifted(master: Master, values: FloatArray) -> LeasePlan | None:
    target, option = master.rounded(values)
    return lift(master.instance.running(option), target)


def _with_less_capacity(
    master: Master, programme: Programme, solver: Solver, bound: float
) -> tuple[LeasePlan | None, float]:
    """The plan with as much of the capacity as can be lifted, None without any; and the bound with all of it."""
    limited = replace(solver, gap=max(solver.gap, WHOLE_GAP), node_limit=solver.node_limit or NODES)
    for part in PARTS:
        try:
            point = solve_matrix(master.with_less(programme, part), limited)
        except (InfeasibleError, TimeLimitError):
            if part == 1.0 and not master.instance.guaranteed.any():
                return None, bound
            continue
        if part == 1.0 and point.solved.bound is not None:
            bound = min(bound, point.solved.bound)
        plan = _lifted(master, point.values)
        if plan is not None:
            return plan, bound
    return None, bound


def _best(data: ChronusInstance, plans: list[LeasePlan | None]) -> LeasePlan | None:
    """The best of: these plans; the last plan; without any, one of the guaranteed jobs by their last deadlines.

    To the others is added what then fits in; in the best, jobs trade leases. None if none keeps the guarantees.
    """
    every = list(plans)
    if data.previous:
        kept = still_holds(data, data.previous)
        every.append(improved(kept) if kept is not None else None)
    if all(plan is None for plan in every):
        last = np.array([len(own) - 1 for own in data.by], dtype=np.int64)
        every.append(lift(data, np.where(data.guaranteed, last, -1)))
    found = [plan for plan in every if plan is not None]
    return swapped(max(found, key=lambda plan: plan.objective)).shifted_left if found else None
