r"""Bottlenecked jobs (Gavel, appendix A.1): those whose level t_m cannot rise unless another one's falls.

max   sum_{m in R} b_m                                                                 (A.1)  can_rise
s.t.  sum_{k in C_m} sum_j X_kj <= 1                                   for all m       (2)    job_time
      sum_k sum_{j in J_a} z_k X_kj <= c_a                             for all a       (3)    capacity
      t_m + epsilon_m <= throughput(m, X) / P_m + epsilon_m (1 - b_m)  for all m in R  (A.1)  risen
      t_m >= throughput(m, X) / P_m - Y_m b_m                          for all m in R  (A.1)  stuck
      throughput(m, X) / P_m >= t_m                                    for all m       (§4.3) floor
      0 <= X_kj <= 1, X_kj = 0 if (k, j) notin E                       for all k, j    (1)    share
      b_m binary                                                       for all m in R  (A.1)  rises
      throughput(m, X) = sum_{k in C_m} sum_j T^m_kj X_kj              for all m       (§3.1) throughput

b_m is the paper's z_m, which is its letter for the scale factor as well: 1 if the level of job m can rise. The jobs
with b_m = 0 are bottlenecked. R are the jobs whose weight is above 0. C_m, J_a and P_m are those of
`gavel.max_min_fairness`; t_m are the levels after an iteration's programme (`gavel.water_filling`).
(erratum): the paper's strict < needs a margin epsilon_m; it is relative to the level. Y_m must exceed every level that
job m can have, so it is the one that the job would have on its best type all of the time; the authors' constant is too
small for large levels and their iterations stop early. In `risen` the floor makes epsilon_m large enough, and with Y_m
a b_m that is 1 up to a solver's tolerance would pass for a rise. A.1's capacity row lacks scale factor and GPUs.

`find` with "test" gives the same set without integers: the programme's relaxation without Y_m, solved a few times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray
from workbench.papers.gavel import knobs as gavel
from workbench.papers.gavel.formulations.allocation import check, feasible, lay_out, values
from workbench.papers.gavel.formulations.max_min_fairness import MaxMinFairness
from workbench.papers.gavel.instance import AllocationInstance, fastest_throughput, fields
from workbench.scheduling.contract import Formulation, Knobs, Result
from workbench.scheduling.modelling import parameter, pyo
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import Solver, SolveReport, SolverFailedError, stood_in

NAME = "gavel.bottleneck"

OVERSTEPPED = 1e-8
"""How far a solution of the mixed-integer programme may overstep a limit: much less than a rise that counts, and more
than HiGHS rounds (with 1e-9 it has found no solution where there is one)."""

SLACK = 1e-4
"""A job that can rise by less than this, relative to its level, is bottlenecked (the authors' code: the same)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LevelInstance(AllocationInstance):
    """One iteration. level: (jobs,) t_m >= 0 reached so far; active: (jobs,) `w^job_m` >= 0, 0 for who is not to rise.

    A *level* is a normalised throughput that water filling has reached, `throughput(m, X) / P_m`. A job with the weight
    `w^job_m` in this iteration rises by `w^job_m / z_m` per unit of the programme's t (`gavel.water_filling`). Raises
    InputError that names the job.
    """

    level: FloatArray
    active: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_numbers("level", self.level >= 0, "a number >= 0")
        self.check_numbers("active", self.active >= 0, "a number >= 0")

    @classmethod
    def by_job(cls) -> tuple[str, ...]:
        return (*super().by_job(), "level", "active")

    @classmethod
    def of(cls, data: AllocationInstance, level: FloatArray, active: FloatArray) -> Self:
        """The data with these levels and weights."""
        return cls(**fields(data), level=level, active=active)

    def risen(self, step: float) -> FloatArray:
        """(jobs,) `t_m + w^job_m t / z_m`."""
        return self.level + max(0.0, step) * self.active / self.gang

    @property
    def most(self) -> FloatArray:
        """(jobs,) the largest normalised throughput that a job could have if it were alone: all of its time."""
        return fastest_throughput(self) / self.equal

    @property
    def margin(self) -> FloatArray:
        """(jobs,) by how much a level must be able to rise to count as one that can.

        Relative to the level, at least to what the job would have if all asked-for GPUs got equal parts of the
        GPUs there are: a queue's jobs have level 0, and a solver may overstep limits by 1e-7 (integers: 1e-6).
        """
        asked = max(1.0, float((self.gang * self.count).sum()))  # 0 without jobs
        part = min(1.0, float(self.capacity.sum()) / asked)
        return SLACK * np.maximum(self.level, part * self.most)


SolveBuilt = Callable[[Callable[[], "pyo.ConcreteModel"], Solver], tuple["pyo.ConcreteModel", SolveReport]]


def build(data: LevelInstance) -> pyo.ConcreteModel:
    """Return the unsolved mixed-integer programme."""
    m = _floors(data, "gavel_bottleneck")
    m.large = parameter(m.JOBS, numbers=data.column(data.most), doc="Y_m | largest level a job could have | 1")
    m.rises = pyo.Var(m.RISING, domain=pyo.Binary, doc="(A.1) b_m | whether the level of a job can rise | 1")

    @m.Objective(sense=pyo.maximize, doc="(A.1) how many jobs can rise")
    def can_rise(m):
        return pyo.quicksum(m.rises[job] for job in m.RISING)

    @m.Constraint(m.RISING, doc="(A.1) a job counted as risen is above its level")
    def risen(m, job):
        slack = m.margin[job] * (1 - m.rises[job])
        return m.level[job] + m.margin[job] <= m.throughput[job] / m.equal[job] + slack

    @m.Constraint(m.RISING, doc="(A.1) a job not counted is not above its level")
    def stuck(m, job):
        return m.level[job] >= m.throughput[job] / m.equal[job] - m.large[job] * m.rises[job]

    return m


def build_test(data: LevelInstance, asked: BoolArray) -> pyo.ConcreteModel:
    """Return the linear programme of the test: how far the jobs asked about can rise together, each at most its margin.

    The levels of the others are floors. b_m is the part of its margin by which a job rises.
    """
    m = _floors(data, "gavel_bottleneck_test")
    chosen = [job for job, ask in zip(data.jobs, asked.tolist(), strict=True) if ask]
    m.ASKED = pyo.Set(initialize=chosen, doc="Q | jobs asked about")
    m.rises = pyo.Var(m.ASKED, bounds=(0, 1), doc="(ours) b_m | part of its margin by which a job rises | 1")

    @m.Objective(sense=pyo.maximize, doc="(ours) how far they can rise")
    def can_rise(m):
        return pyo.quicksum(m.rises[job] for job in m.ASKED)

    @m.Constraint(m.ASKED, doc="(ours) a job rises by a part of its margin")
    def risen(m, job):
        return m.level[job] + m.margin[job] * m.rises[job] <= m.throughput[job] / m.equal[job]

    return m


def _floors(data: LevelInstance, name: str) -> pyo.ConcreteModel:
    """The allocation, the levels and their floors."""
    m = lay_out(name, data)
    active = data.column(data.active)
    m.level = parameter(m.JOBS, numbers=data.column(data.level), doc="t_m | level reached so far | 1")
    m.margin = parameter(m.JOBS, numbers=data.column(data.margin), doc="epsilon_m | least rise that counts | 1")
    m.equal = parameter(m.JOBS, numbers=data.column(data.equal), doc="P_m | throughput under an equal share | steps/s")
    m.RISING = pyo.Set(initialize=[job for job in data.jobs if active[job] > 0], doc="R | jobs whose weight is above 0")

    @m.Constraint(m.JOBS, doc="(§4.3) no job drops below its level")
    def floor(m, job):
        return m.throughput[job] / m.equal[job] >= m.level[job]

    return m


def find(data: LevelInstance, method: str, solve: SolveBuilt, solver: Solver) -> BoolArray:
    """(jobs,) which of the rising jobs are bottlenecked at their levels; method: `milp` or `test`, both exact.

    solve: builds and solves a model.
    """
    rising = data.active > 0
    if method == "milp":
        model, _ = solve(partial(build, data), strict(solver))
        return rising & ~_which(data, {job: round(rises.value) == 1 for job, rises in model.rises.items()})
    asked = rising.copy()
    while asked.any():
        model, _ = solve(partial(build_test, data, asked), solver)
        part = np.array([model.rises[job].value if ask else 0.0 for job, ask in zip(data.jobs, asked, strict=True)])
        if part.sum() < 0.5:
            break
        # Whoever rises is not stuck; the others are asked again, since they may have stood back for these.
        asked = asked & (part < min(0.5, part.max()))
    return asked


def strict(solver: Solver) -> Solver:
    """The solver for levels at the very edge of what is possible.

    Presolve takes rounding for infeasibility there. And a rise by the margin in a pair that costs the partner little
    lowers it by less than what HiGHS oversteps with integers (1e-6).
    """
    return replace(solver.without_presolve(), tolerance=OVERSTEPPED)


def _which(data: LevelInstance, chosen: dict[str, bool]) -> BoolArray:
    return np.array([chosen.get(job, False) for job in data.jobs], dtype=bool)


class Bottleneck(Formulation[LevelInstance]):
    """Which jobs are bottlenecked after the first iteration of single-level water filling."""

    name = NAME
    title = "Gavel: bottlenecked jobs after max-min fairness"
    knobs = gavel.EXTENSIONS
    reading = "The objective counts the jobs that can still rise; `rises` says which"

    def data(self, snapshot: Snapshot, knobs: Knobs) -> LevelInstance:
        """The arrived jobs at the levels that max-min fairness gives them, all of them to rise by their weights."""
        return at_first(AllocationInstance.from_snapshot(snapshot, knobs))

    def build(self, data: LevelInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model."""
        return build(data)

    def options(self, knobs: Knobs, solver: Solver) -> Solver:
        """See `strict`."""
        return strict(solver)

    def found(self, values: Mapping[str, FloatArray], data: LevelInstance, knobs: Knobs) -> Result:
        """An allocation in which as many as possible have risen, the levels they rose from, and who has (1 or 0)."""
        rises = np.zeros(len(data.jobs))
        rises[data.active > 0] = np.round(values["rises"])
        return self._result(data, values["share"].reshape(len(data.units), len(data.types)), rises)

    def trivial(self, data: LevelInstance, knobs: Knobs) -> Result | None:
        """Nobody is to rise."""
        if (data.active > 0).any():
            return None
        if not data.jobs:
            return self._result(data, np.zeros((0, len(data.types))), np.zeros(0))
        return None

    def _result(self, data: LevelInstance, shares: FloatArray, rises: FloatArray) -> Result:
        """Raises SolverFailedError for shares that break a limit, and that leave a job below its floor."""
        shares = check(data, shares, self.name)
        short = data.normalised(shares) - data.level - data.margin * (rises - 0.5)  # rounding is less than half a rise
        if short.min(initial=0.0) < 0 and not stood_in():
            row = int(short.argmin())
            which = "above its level" if rises[row] else "its level"
            got = f"{data.jobs[row]} at {data.normalised(shares)[row]:g}"
            raise SolverFailedError(self.name, got, f"{which}, {data.level[row]:g}")
        return feasible(float(rises.sum()), "max", "jobs", values(data, shares, {"levels": data.level, "rises": rises}))


def at_first(data: AllocationInstance) -> LevelInstance:
    """The jobs at their levels after the first iteration on one level: `w_m t / z_m`, t the max-min optimum."""
    if not data.jobs:
        return LevelInstance.of(data, np.zeros(0), np.zeros(0))
    step = MaxMinFairness().allocate(data, {"model": "assembly"}).solved.value
    return LevelInstance.of(data, step * data.weight / data.gang, data.weight)
