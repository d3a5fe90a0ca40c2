r"""Water filling (Gavel, section 4.3): max-min fairness, then as much as possible for every job that can still rise.

max   t                                                                    (4.3)   slowest_rise
s.t.  sum_{k in C_m} sum_j X_kj <= 1                       for all m       (2)     job_time
      sum_k sum_{j in J_a} z_k X_kj <= c_a                 for all a       (3)     capacity
      w^job_m t <= z_m (throughput(m, X) / P_m - t_m)      for all m in R  (4.3)   rise
      throughput(m, X) / P_m >= t_m                        for all m       (4.3)   floor
      0 <= X_kj <= 1, X_kj = 0 if (k, j) notin E           for all k, j    (1)     share
      t >= 0                                                               (ours)  step
      throughput(m, X) = sum_{k in C_m} sum_j T^m_kj X_kj  for all m       (3.1)   throughput

This is one iteration: it raises the levels t_m, all 0 at first, of the jobs R whose weight w^job_m is above 0. Then t_m
grows by w^job_m t / z_m, the jobs that are bottlenecked (`gavel.bottleneck`) lose their weight for good, and so on
until every job is bottlenecked. On one level w^job_m = w_m, and the first iteration is max-min fairness; with entities
see `gavel.hierarchical`. C_m, J_a and P_m are those of `gavel.max_min_fairness`.
(ours): the paper maximises a minimum; t makes it linear.
(erratum): the paper takes for t_m, and for the floor, the throughput of the last iteration's allocation. That one has
slack and depends on the vertex which the solver returned: weights 3, 1, 1, 1 on 3 GPUs would end at (1, 1, .67, .33) or
(1, .33, .67, 1). t_m is the level that the policy granted, and the end is (1, .67, .67, .67), always. The final levels
are unique, the allocations that reach them are not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from workbench.papers.gavel import knobs as gavel
from workbench.papers.gavel.formulations import bottleneck
from workbench.papers.gavel.formulations.allocation import check, chosen, feasible, lay_out, read_shares, values
from workbench.papers.gavel.formulations.levels import HierarchicalInstance, LevelInstance
from workbench.papers.gavel.instance import AllocationInstance, seen
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Formulation, Knobs, Result
from workbench.scheduling.decision import BoolArray
from workbench.scheduling.knob import Knob
from workbench.scheduling.modelling import pyo
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import Solver, SolveReport, SolverFailedError, solve_model

NAME = "gavel.water_filling"

JOB_WEIGHT = """w^job_m | weight in this iteration | 1
w_m | weight of the job itself | 1
W_e | weight of entity e, where there are entities | 1"""

OVERSTEPPED = 1e-7
"""Part of a step by which an interior point may be too high: as much as HiGHS lets a row be overstepped."""

BOTTLENECK = Knob(
    "bottleneck",
    "test",
    "How to find the jobs that cannot rise: the paper's mixed-integer programme, or linear programmes (exact, faster)",
    source="paper",
    kind="str",
    choices=("test", "milp"),
)


def build(data: LevelInstance, name: str = "gavel_water_filling") -> pyo.ConcreteModel:
    """Return the unsolved linear programme of one iteration."""
    m = pyo.ConcreteModel(name)
    lay_out(m, data)
    active = data.column(data.active)
    m.job_weight = pyo.Param(m.JOBS, initialize=active, doc=JOB_WEIGHT)
    m.level = pyo.Param(m.JOBS, initialize=data.column(data.level), doc="t_m | level reached so far | 1")
    m.equal = pyo.Param(
        m.JOBS, initialize=data.column(data.equal), doc="P_m | throughput under an equal share | steps/s"
    )
    m.RISING = pyo.Set(initialize=[job for job in data.jobs if active[job] > 0], doc="R | jobs whose weight is above 0")
    m.step = pyo.Var(bounds=(0, None), doc="(ours) t | smallest rise per weight | 1")

    @m.Objective(sense=pyo.maximize, doc="(4.3) the slowest rise")
    def slowest_rise(m):
        return m.step

    @m.Constraint(m.RISING, doc="(4.3) t is no more than any job's rise")
    def rise(m, job):
        return m.job_weight[job] * m.step <= m.gang[job] * (m.throughput[job] / m.equal[job] - m.level[job])

    @m.Constraint(m.JOBS, doc="(4.3) no job drops below its level")
    def floor(m, job):
        return m.throughput[job] / m.equal[job] >= m.level[job]

    return m


@dataclass(frozen=True, eq=False)
class Filled:
    """What the iterations came to: shares, (jobs,) levels, the iterations, and the report of the first programme."""

    shares: FloatArray
    level: FloatArray
    iterations: tuple[dict[str, Any], ...]
    first: SolveReport
    build_s: float
    solve_s: float


@dataclass(eq=False)
class _Clock:
    build_s: float = 0.0
    solve_s: float = 0.0
    found: list[SolveReport] = field(default_factory=list)

    def solve(self, build: Callable[[], pyo.ConcreteModel], solver: Solver) -> tuple[pyo.ConcreteModel, SolveReport]:
        began = time.perf_counter()
        model = build()
        self.build_s += time.perf_counter() - began
        solved = solve_model(model, solver)
        self.build_s += solved.build_s
        self.solve_s += solved.solve_s
        self.found.append(solved)
        return model, solved


def fill(data: HierarchicalInstance, find: str, solver: Solver | None = None) -> Filled:
    """Raise the levels until no job can rise; find: `test` or `milp`, see `bottleneck`.

    Raises the errors of `workbench.scheduling.solvers`, and SolverFailedError if an iteration ends without a
    bottleneck.
    """
    # The levels are at the very edge of what is possible, where presolve takes rounding for infeasibility.
    solver, clock = (solver or Solver()).without_presolve(), _Clock()
    shares = np.zeros((len(data.units), len(data.types)))
    level, done = np.zeros(len(data.jobs)), np.zeros(len(data.jobs), dtype=bool)
    listed: list[dict[str, Any]] = []
    for now in iterations(data, level, done):
        model, _ = clock.solve(partial(build, now), solver)
        shares, step = read_shares(model, data), max(0.0, float(model.step.value))
        # An interior point may overstep by its tolerance: levels that nobody can reach make all that follows fail.
        now = replace(now, level=now.risen(step * (1 - OVERSTEPPED) if solver.method == "interior" else step))
        stuck = bottleneck.find(now, find, clock.solve, solver)
        if not (stuck.any() or (now.level > level + now.margin).any()):
            raise SolverFailedError(NAME, f"iteration {len(listed) + 1} has no bottlenecked job", "at least one")
        level[:], done[:] = now.level, done | stuck
        listed.append(_iteration(now, step, stuck))
    return Filled(shares, level, tuple(listed), clock.found[0], clock.build_s, clock.solve_s)


def iterations(data: HierarchicalInstance, level: FloatArray, done: BoolArray) -> Iterator[LevelInstance]:
    """The data of each iteration, as long as some job is not done; the caller raises `level` and `done` in between."""
    while not done.all():
        yield LevelInstance.of(data, level, data.rule.weights(done))


def _iteration(now: LevelInstance, step: float, stuck: BoolArray) -> dict[str, Any]:
    return {
        "step": step,
        "bottlenecked": [job for job, out in zip(now.jobs, stuck.tolist(), strict=True) if out],
        "weights": now.column(now.active),
        "levels": now.column(now.level),
    }


def objective(data: HierarchicalInstance, shares: FloatArray) -> float | None:
    """The first iteration's t: the smallest `z_m / w^job_m * throughput(m, X) / P_m` of the jobs that rise first."""
    weight = data.rule.weights(np.zeros(len(data.jobs), dtype=bool))
    rising = weight > 0
    worth = data.gang * data.normalised(shares) / np.where(rising, weight, 1.0)
    return float(worth[rising].min()) if data.jobs else None


class WaterFilling(Formulation[AllocationInstance]):
    """Shares of time that are fair first and leave nothing unused after."""

    name = NAME
    title = "Gavel: max-min fairness with water filling"
    knobs = (gavel.AWARE, BOTTLENECK, *gavel.EXTENSIONS, gavel.OPTIMUM)
    reading = (
        "The objective is the first iteration's t, what max-min fairness alone reaches: the smallest of levels x GPUs "
        "of the gang / weight over the jobs; `levels` say how far each job then rose."
    )

    def data(self, snapshot: Snapshot, knobs: Knobs) -> AllocationInstance:
        """The arrived jobs; a type on which a job's gang does not fit is one on which it cannot run."""
        return AllocationInstance.from_snapshot(snapshot, knobs)

    def build(self, data: AllocationInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved programme of the first iteration."""
        return build(first(HierarchicalInstance.single(seen(data, knobs))))

    def read(self, model: pyo.ConcreteModel, data: AllocationInstance, knobs: Knobs) -> Result:
        """Shares and levels after one iteration, and normalised throughput (true speeds in both forms)."""
        known = HierarchicalInstance.single(seen(data, knobs))
        level = first(known).risen(float(model.step.value))
        return result(data, known, read_shares(model, data), level)

    def run(self, data: AllocationInstance, knobs: Knobs, solver: Solver | None = None) -> Result:
        """All iterations, see `fill`."""
        known = HierarchicalInstance.single(seen(data, knobs))
        return run(data, known, lambda shares: shares, knobs, solver)


def first(data: HierarchicalInstance) -> LevelInstance:
    """The data of the first iteration."""
    nobody = np.zeros(len(data.jobs), dtype=bool)
    return LevelInstance.of(data, np.zeros(len(data.jobs)), data.rule.weights(nobody))


def run(
    data: AllocationInstance,
    known: HierarchicalInstance,
    spread: Callable[[FloatArray], FloatArray],
    knobs: Knobs,
    solver: Solver | None = None,
) -> Result:
    """The result of all iterations; known: the data as the policy sees them, spread: from its shares to `data`'s."""
    if not data.jobs:
        nobody = np.zeros((0, len(known.types)))
        return replace(result(data, known, nobody, np.zeros(0), spread), status="optimal", solver="none needed")
    filled = fill(known, str(knobs.get("bottleneck", "test")), chosen(knobs, solver or Solver()))
    found = result(data, known, filled.shares, filled.level, spread)
    solved = replace(filled.first, build_s=filled.build_s, solve_s=filled.solve_s)
    return found.reported(solved, iterations=filled.iterations)


def result(
    data: AllocationInstance,
    known: HierarchicalInstance,
    shares: FloatArray,
    level: FloatArray,
    spread: Callable[[FloatArray], FloatArray] = lambda shares: shares,
) -> Result:
    """The result of (combinations x types) shares of `known` that reach the levels; both are checked."""
    shares = check(known, shares, NAME)
    short = float((level - known.normalised(shares)).max(initial=0.0))
    if not short <= 1e-5 * max(1.0, float(level.max(initial=0.0))):
        raise SolverFailedError(NAME, f"a job is {short:g} below its level", "shares that reach the levels")
    value = objective(known, shares)
    shares = check(data, spread(shares), NAME)
    return feasible(value, "max", "1", values(data, shares, {"levels": level.tolist()}))
