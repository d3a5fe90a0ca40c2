"""What the formulations whose values are shares of time have in common: combinations, worker types, limits, checks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from workbench.papers.gavel.algorithms.sifting import solve_programme
from workbench.papers.gavel.instance import AllocationInstance
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Formulation, Knobs, Result
from workbench.scheduling.decision import unit_name
from workbench.scheduling.modelling import pyo
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import Point, Programme, Solver, SolverFailedError

COMBINATIONS = """k | jobs, and pairs of jobs that share their GPUs
C_m | combinations that job m is in: itself and its pairs | | inside
E | combinations and types (k, j) that they can run on | | can_run"""

ACCELERATORS = """a | accelerator types
J_a | worker types of accelerator type a: itself, or one for each placement | | kinds"""

GANG = """z_k | scale factor | GPUs
z_m | that of job m | GPUs"""


def lay_out(m: pyo.ConcreteModel, data: AllocationInstance, whole: Any = 1) -> None:
    """Add sets, parameters, `share`, the limits (2) and (3), and the expression `throughput` of each job.

    Section 3.1, with space sharing and placement; without them a combination is a job, a worker type an accelerator
    type. whole: what all of a job's time counts as; a variable of the model where shares are scaled by it.
    """
    units = [unit_name(unit) for unit in data.units]
    kinds = list(zip(data.types, data.pool.tolist(), strict=True))
    m.kinds = {name: [kind for kind, pool in kinds if pool == row] for row, name in enumerate(data.accelerators)}
    most = data.table(np.where(data.allowed, 1.0, 0.0))
    scaled = isinstance(whole, pyo.Var)

    m.JOBS = pyo.Set(initialize=data.jobs, doc="m | active jobs")
    m.COMBINATIONS = pyo.Set(initialize=units, doc=COMBINATIONS)
    m.TYPES = pyo.Set(initialize=data.types, doc="j | worker types")
    m.ACCELERATORS = pyo.Set(initialize=data.accelerators, doc=ACCELERATORS)

    steps: dict[str, list[tuple[str, str, float]]] = {job: [] for job in data.jobs}
    m.inside = {job: [] for job in data.jobs}
    for unit, rows in zip(units, data.members, strict=True):
        for row in rows:
            m.inside[data.jobs[row]].append(unit)
    e = data.entries
    where = [(units[row], data.types[kind]) for row, kind in zip(e.combination.tolist(), e.kind.tolist(), strict=True)]
    for row, entry, speed in zip(e.job.tolist(), e.entry.tolist(), e.steps_per_s.tolist(), strict=True):
        steps[data.jobs[row]].append((*where[entry], speed))
    m.can_run = set(where)
    keys = {(job, unit, kind): speed for job, terms in steps.items() for unit, kind, speed in terms}
    workers = dict(zip(data.accelerators, data.workers.tolist(), strict=True))
    gang = dict(zip(units, data.unit_gang.tolist(), strict=True))

    m.speed = pyo.Param(keys.keys(), initialize=keys, doc="T^m_kj | throughput of job m in k on j | steps/s")
    m.gang = pyo.Param(m.COMBINATIONS, initialize=gang, doc=GANG)
    m.workers = pyo.Param(m.ACCELERATORS, initialize=workers, doc="c_a | workers | GPUs")

    def bounds(m, unit, kind):
        return 0, most[unit, kind] if not scaled or most[unit, kind] == 0 else None

    m.share = pyo.Var(m.COMBINATIONS, m.TYPES, bounds=bounds, doc="(1) X_kj | share of time on a type | 1")

    @m.Expression(m.JOBS, doc="(3.1) throughput(m, X) | sum of speed times share over C_m and all j | steps/s")
    def throughput(m, job):
        return pyo.quicksum(m.speed[job, unit, kind] * m.share[unit, kind] for unit, kind, _ in steps[job])

    @m.Constraint(m.JOBS, doc="(2) a job runs at most all of the time, alone or in a pair")
    def job_time(m, job):
        return pyo.quicksum(m.share[unit, kind] for unit in m.inside[job] for kind in m.TYPES) <= whole

    @m.Constraint(m.ACCELERATORS, doc="(3) no more workers than there are")
    def capacity(m, name):
        used = pyo.quicksum(m.gang[unit] * m.share[unit, kind] for unit in m.COMBINATIONS for kind in m.kinds[name])
        return used <= m.workers[name] * whole


TOLERANCE = 1e-6
"""How far a solver may overstep a limit, relative to the limit (at least 1)."""


def check(data: AllocationInstance, shares: FloatArray, name: str) -> FloatArray:
    """The shares, with what rounding left outside [0, 1] cut off; raises SolverFailedError if a limit is broken.

    shares: (combinations x types); name: of the formulation.
    """
    limits = (
        ("a share below 0", (-shares).max(initial=0.0), 0.0),
        ("a share where the combination cannot run", np.abs(shares[~data.allowed]).max(initial=0.0), 0.0),
        ("a job's time", data.job_time(shares).max(initial=0.0), 1.0),
        ("workers in use", (data.used(shares) / np.maximum(data.workers, 1.0)).max(initial=0.0), 1.0),
    )
    for what, most, limit in limits:
        if not most <= limit + TOLERANCE:
            raise SolverFailedError(name, f"{what}: {most:g}", f"at most {limit:g}")
    return np.where(data.allowed, np.clip(shares, 0.0, 1.0), 0.0) + 0.0  # no -0.0


def values(
    data: AllocationInstance, shares: FloatArray, more: Mapping[str, Iterable[float]] | None = None
) -> dict[str, Any]:
    """A result's values: allocation, normalised throughput, and more numbers by job, e.g. `{"rho": (jobs,)}`."""
    rows = shares.tolist()
    return {
        "allocation": {
            unit_name(unit): dict(zip(data.types, rows[spot], strict=True)) for spot, unit in enumerate(data.units)
        },
        "normalized_throughput": data.column(data.normalised(shares)),
        **{name: dict(zip(data.jobs, map(float, numbers), strict=True)) for name, numbers in (more or {}).items()},
    }


def read_shares(model: Any, data: AllocationInstance) -> FloatArray:
    """(combinations x types) values of the variable `share` of a solved model."""
    found = np.array([variable.value for variable in model.share.values()], dtype=float)
    return found.reshape(len(data.units), len(data.types))


def feasible(objective: float | None, sense: str, unit: str, numbers: Mapping[str, Any]) -> Result:
    """A result whose allocation has been checked."""
    return Result("feasible", objective, sense, unit, numbers)


Data = TypeVar("Data", bound=AllocationInstance)


class ShareFormulation(Formulation[Data]):
    """A formulation whose values are shares of time; what it reports of them is its own.

    instance: the class of its numbers.
    """

    instance: type[Data]

    def data(self, snapshot: Snapshot, knobs: Knobs) -> Data:
        """The arrived jobs; a type on which a job's gang does not fit is one on which it cannot run."""
        return self.instance.from_snapshot(snapshot, knobs)

    @abstractmethod
    def report(self, data: Data, shares: FloatArray, knobs: Knobs) -> Result:
        """The result of (combinations x types) shares that keep the limits."""

    def found(self, values: Mapping[str, FloatArray], data: Data, knobs: Knobs) -> Result:
        """Shares, checked, and what `report` says of them."""
        shares = values["share"].reshape(len(data.units), len(data.types))
        return self.report(data, check(data, shares, self.name), knobs)

    def solve(self, programme: Programme, data: Data, knobs: Knobs, solver: Solver) -> Point:
        """By the method for its size, and with most pairs left out at first, see `sifting`."""
        late = np.zeros(len(programme.cost), dtype=bool)
        late[programme.columns["share"][len(data.jobs) * len(data.types) :]] = True
        return solve_programme(programme, len(data.jobs), late, solver)

    def trivial(self, data: Data, knobs: Knobs) -> Result | None:
        """No jobs, no shares."""
        return None if data.jobs else self.report(data, np.zeros((0, len(data.types))), knobs)

    def grown(self, data: Data, accelerator: str, gpus: float) -> Data:
        """With more workers; P_m stays what it is today, so that a better cluster does not raise the yardstick."""
        added = np.where(np.array(data.accelerators) == accelerator, gpus, 0.0)
        return replace(data, workers=data.workers + added, fair=data.equal)

    def options(self, knobs: Knobs, solver: Solver) -> Solver:
        """A point in the interior of the optimal face comes from an interior point method without crossover."""
        return chosen(knobs, solver)


def chosen(knobs: Knobs, solver: Solver) -> Solver:
    """The solver with the method that the knob `optimum` asks for, unless it has one already."""
    wanted = knobs.get("optimum") == "interior" and solver.method == "auto"
    # Without presolve the interior point lies nearer the centre of the face.
    return replace(solver.without_presolve(), method="interior") if wanted else solver
