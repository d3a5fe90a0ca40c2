"""What the formulations whose values are shares of time have in common: combinations, placed types, limits, checks."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.errors import InputError
from workbench.base.rounding import short_number
from workbench.papers.gavel.algorithms.equal_jobs import MergedInstance
from workbench.papers.gavel.algorithms.large_programmes import Sequel, solve
from workbench.papers.gavel.formulations import kept_model
from workbench.papers.gavel.instance import AllocationInstance, seen
from workbench.scheduling.contract import Formulation, Knobs, Result, assembled
from workbench.scheduling.decision import unit_name
from workbench.scheduling.modelling import parameter, pyo
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import Point, Programme, Solver, SolveReport, UnkeptError, answer, solve_matrix

NOTHING_MORE: Mapping[str, FloatArray] = MappingProxyType({})

COMBINATIONS = """k | jobs, and pairs of jobs that share their GPUs
C_m | combinations that job m is in: itself and its pairs | | inside
E | combinations and types (k, j) that they can run on | | can_run"""

ACCELERATORS = """a | accelerator types
J_a | placed types of accelerator type a: itself, or one for each placement | | kinds"""

GANG = """z_k | scale factor | GPUs
z_m | that of job m | GPUs"""


def lay_out(name: str, data: AllocationInstance, **scales: pyo.Var) -> pyo.ConcreteModel:
    """A model with sets, parameters, `share`, the limits (2) and (3), and the expression `throughput` of each job.

    Section 3.1, with space sharing and placement; without them a combination is a job, a placed type an accelerator
    type. scales: a variable that all of a job's time counts as, where shares are scaled by it.
    """
    m, whole = pyo.ConcreteModel(name), 1
    for part, whole in scales.items():
        m.add_component(part, whole)
    m.JOBS = pyo.Set(initialize=data.jobs, doc="m | active jobs")
    m.COMBINATIONS = pyo.Set(initialize=map(unit_name, data.units), doc=COMBINATIONS)
    m.TYPES = pyo.Set(initialize=data.types, doc="j | placed types")
    m.ACCELERATORS = pyo.Set(initialize=data.accelerators, doc=ACCELERATORS)
    m.most, m.count, m.inside, m.speeds, m.gangs, m.can_run, m.ways = {}, {}, {}, {}, {}, set(), []
    kept_model.add_numbers(m, data, np.arange(len(data.units)))
    m.speed = parameter(pyo.SetOf(m.ways), numbers=m.speeds, doc="T^m_kj | throughput of job m in k on j | steps/s")
    m.gang = parameter(m.COMBINATIONS, numbers=m.gangs, doc=GANG)
    gpus = dict(zip(data.accelerators, data.capacity.tolist(), strict=True))
    m.gpus = parameter(m.ACCELERATORS, numbers=gpus, doc="c_a | GPUs of a type | GPUs")

    def bounds(m, unit, kind):
        return 0, m.most[unit, kind] if not scales or m.most[unit, kind] == 0 else None

    m.share = pyo.Var(m.COMBINATIONS, m.TYPES, bounds=bounds, doc="(1) X_kj | share of time on a type | 1")

    @m.Expression(m.JOBS, doc="(§3.1) throughput(m, X) | sum of speed times share over C_m and all j | steps/s")
    def throughput(m, job):
        units = dict.fromkeys(m.inside[job])  # a pair of two equal jobs brings what both do at once
        ways = ((unit, kind) for unit in units for kind in m.TYPES if (unit, kind) in m.can_run)
        return pyo.quicksum(m.speed[job, unit, kind] * m.share[unit, kind] for unit, kind in ways)

    @m.Constraint(m.JOBS, doc="(2) a job runs at most all of the time, alone or in a pair")
    def job_time(m, job):
        time = pyo.quicksum(m.share[unit, kind] for unit in m.inside[job] for kind in m.TYPES)
        return time <= m.count[job] * whole  # for each of so many equal jobs

    @m.Constraint(m.ACCELERATORS, doc="(3) no more GPUs of a type than there are")
    def capacity(m, name):
        used = pyo.quicksum(m.gang[unit] * m.share[unit, kind] for unit in m.COMBINATIONS for kind in m.kinds[name])
        return used <= m.gpus[name] * whole

    kept_model.remember(m, data, tuple(scales))
    return m


TOLERANCE = 1e-6
"""How far a solver may overstep a limit, relative to the limit (at least 1)."""


def check(data: AllocationInstance, shares: FloatArray, name: str) -> FloatArray:
    """The shares, with what rounding left outside [0, 1] cut off; raises UnkeptError if a limit is broken.

    shares: (combinations x types); name: of the formulation.
    """
    signs = (
        ("a share below 0", (-shares).max(initial=0.0)),
        ("a share where the combination cannot run", np.abs(shares[~data.allowed]).max(initial=0.0)),
    )
    for what, most in signs:
        if not most <= TOLERANCE:
            raise UnkeptError(name, f"{what}: {most:g}", "at most 0")
    taken = (
        ("the time of", data.jobs, data.job_time(shares)),
        ("the GPUs there are of", data.accelerators, data.used(shares) / np.maximum(data.capacity, 1.0)),
    )
    for what, names, parts in taken:
        if not (parts <= 1.0 + TOLERANCE).all():
            said = f"it would take {short_number(parts.max())} times {what} {names[int(parts.argmax())]}"
            raise UnkeptError(name, said, "at most all")
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


def total(data: AllocationInstance, worth: FloatArray, shares: FloatArray) -> float:
    """`sum_m sum_{k in C_m} sum_j worth_mj T^m_kj X_kj` of (combinations x types) shares; worth: (jobs x types)."""
    e = data.entries
    time_of = shares[e.combination, e.kind][e.entry]
    return float((time_of * e.steps_per_s * worth[e.job, e.kind[e.entry]]).sum())


def feasible(objective: float | None, sense: str, unit: str, numbers: Mapping[str, Any]) -> Result:
    """A result whose allocation has been checked."""
    return Result("feasible", objective, sense, unit, numbers)


@dataclass(frozen=True, eq=False)
class DividedTime:
    """(combinations x types) shares of time, and the report; by_job: more numbers, (jobs,) each, by their names in the
    formulation's values; iterations: what each pass of an iterating formulation said."""

    shares: FloatArray
    solved: SolveReport
    by_job: Mapping[str, FloatArray] = field(default_factory=dict)
    iterations: tuple[Mapping[str, Any], ...] = ()


Data = TypeVar("Data", bound=AllocationInstance)


class ShareFormulation(Formulation[Data]):
    """A formulation whose values are shares of time; what it reports of them is its own.

    A programme is stated by the model or assembled (knob `model`); what happens to it is the same for both: which equal
    jobs are `merged` before, `solve`, and what repeats it (`optimum`). instance: the class of its numbers; whole: the
    variable by which `share` is scaled, in a programme that has it; varies: the fields of its numbers that differ from
    one programme of a decision, or of one round, to the next (`restate`).
    """

    instance: type[Data]
    whole: ClassVar[str] = ""
    varies: ClassVar[frozenset[str]] = frozenset()

    @property
    def repeats(self) -> bool:
        """Whether its answer takes more than the one programme, with some knobs."""
        kind = type(self)
        return kind.optimum is not ShareFormulation.optimum or kind.allocate is not ShareFormulation.allocate

    def data(self, snapshot: Snapshot, knobs: Knobs) -> Data:
        """The arrived jobs; a type on which a job's gang does not fit is one on which it cannot run."""
        return self.instance.from_snapshot(snapshot, knobs)

    def merged(self, data: Data, knobs: Knobs) -> MergedInstance[Data]:
        """Which jobs are equal, see `equal_jobs`; by default every one is for itself.

        Only for a programme that is linear, and none of whose rows is about one job in particular.
        """
        return MergedInstance.none(data)

    def answered(
        self, data: Data, knobs: Knobs, solver: Solver, sequel: Sequel | None = None
    ) -> tuple[Programme, Point]:
        """The programme as the knobs want it made and its solution, told to whoever watches what models are solved;
        sequel: see `solve`."""
        compiled, programme = self.posed(data, knobs)

        def solve(programme: Programme) -> Point:
            return self.solve(programme, data, knobs, solver, sequel)

        return programme, solve(programme) if compiled is None else answer(*compiled, solver, solve)

    def posed(self, data: Data, knobs: Knobs) -> tuple[tuple[Any, Any] | None, Programme]:
        """The model and what it compiles to, None if it is assembled; the programme.

        Unless somebody looks at the models, the last one takes on these numbers if it can (`kept_model`).
        """
        found = self.assemble(data, knobs) if assembled(knobs) else None
        if found is not None:
            return None, found
        model, compiled = kept_model.stated(self, data, knobs)
        return (model, compiled), compiled.programme

    def laid_out(self, data: Data, knobs: Knobs) -> AllocationInstance:
        """The numbers that `build` lays out."""
        return seen(data, knobs)

    def restate(self, model: pyo.ConcreteModel, data: Data, knobs: Knobs) -> None:
        """Let the model of other numbers state these, `lay_out`'s aside; unless it `has_other_jobs`, none
        but those that it `varies` are others, see `compile.again`."""
        raise NotImplementedError(f"{type(self).__name__}: restate")

    def optimum(self, data: Data, knobs: Knobs, solver: Solver) -> DividedTime:
        """The best shares: of the one programme, or of what repeats it."""
        began = time.perf_counter()
        programme, point = self.answered(data, knobs, solver)
        build_s = time.perf_counter() - began - point.solved.solve_s
        return DividedTime(self.shares(programme.values(point), data), replace(point.solved, build_s=build_s))

    def allocate(self, data: Data, knobs: Knobs, solver: Solver | None = None) -> DividedTime:
        """The best shares of some jobs, checked; its objective is recomputed from them, NaN without jobs.

        Raises the errors of `workbench.scheduling.solvers`.
        """
        if not data.jobs:
            nothing = SolveReport("optimal", np.nan, bound=np.nan, solver="none needed")
            return DividedTime(np.zeros((0, len(data.types))), nothing)
        began = time.perf_counter()
        options = self.options(knobs, solver or Solver())
        merge = self.merged(data, knobs)
        merge = merge.each() if options.method == "interior" else merge
        merge_s = time.perf_counter() - began
        found = self.optimum(merge.posed, knobs, options)
        shares = check(data, merge.shares(found.shares), self.name)
        value, build_s = self.objective(data, shares, knobs), found.solved.build_s + merge_s
        by_job = {name: merge.numbers(values) for name, values in found.by_job.items()}
        return replace(
            found, shares=shares, solved=replace(found.solved, objective=value, build_s=build_s), by_job=by_job
        )

    def run(self, data: Data, knobs: Knobs, solver: Solver | None = None) -> Result:
        """`allocate`, and what `report` says of it; an own one is solved as it stands, unmerged."""
        if self.own and data.jobs and not self.at_once(knobs):
            raise InputError(
                f"formulation {self.name}, knobs", dict(knobs), "those with which its model is solved once"
            )
        if self.own or not data.jobs:
            return super().run(data, knobs, solver)
        found = self.allocate(data, knobs, solver)
        return self.report(data, found.shares, knobs, found.by_job).reported(found.solved, iterations=found.iterations)

    @abstractmethod
    def objective(self, data: Data, shares: FloatArray, knobs: Knobs) -> float | None:
        """What (combinations x types) shares are worth to the policy; None without jobs."""

    def report(
        self, data: Data, shares: FloatArray, knobs: Knobs, by_job: Mapping[str, FloatArray] = NOTHING_MORE
    ) -> Result:
        """The result of (combinations x types) shares that keep the limits; by_job: as `DividedTime` has them.

        Shares and normalised throughput (`throughput(m, X) / P_m`, true speeds in both forms).
        """
        return feasible(self.objective(data, shares, knobs), "max", "1", values(data, shares))

    def shares(self, values: Mapping[str, FloatArray], data: Data) -> FloatArray:
        """(combinations x types) values of the variable `share`, in parts of all time; 0 where all time is none, as it
        may be without a row."""
        shares = values["share"].reshape(len(data.units), len(data.types))
        whole = values.get(self.whole, np.ones(1))
        return np.divide(shares, whole, out=np.zeros_like(shares), where=whole > 0)

    def found(self, values: Mapping[str, FloatArray], data: Data, knobs: Knobs) -> Result:
        """Shares, checked, and what `report` says of them."""
        return self.report(data, check(data, self.shares(values, data), self.name), knobs)

    def solve(
        self, programme: Programme, data: Data, knobs: Knobs, solver: Solver, sequel: Sequel | None = None
    ) -> Point:
        """By the method for its size, and with most pairs left out at first, see `large_programmes`; one with integers,
        which an own formulation may have, by the solver's own."""
        if programme.integer is not None and programme.integer.any():
            return solve_matrix(programme, solver)
        late = np.zeros(len(programme.cost), dtype=bool)
        pairs = programme.columns["share"][len(data.jobs) * len(data.types) :]
        late[pairs[pairs >= 0]] = True  # those that an own formulation fixes have no column
        late &= programme.lower == 0
        return solve(programme, len(data.jobs), late, solver, sequel)

    def trivial(self, data: Data, knobs: Knobs) -> Result | None:
        """No jobs, no shares."""
        return None if data.jobs else self.report(data, np.zeros((0, len(data.types))), knobs)

    def grown(self, data: Data, accelerator: str, gpus: float) -> Data:
        """With more GPUs; P_m stays what it is today, so that a better cluster does not raise the yardstick."""
        added = np.where(np.array(data.accelerators) == accelerator, gpus, 0.0)
        return replace(data, capacity=data.capacity + added, fair=data.equal)

    def options(self, knobs: Knobs, solver: Solver) -> Solver:
        """A point in the interior of the optimal face comes from an interior point method without crossover.

        Without presolve it lies nearer the centre of the face.
        """
        wanted = knobs.get("optimum") == "interior" and solver.method == "auto"
        return replace(solver.without_presolve(), method="interior") if wanted else solver
