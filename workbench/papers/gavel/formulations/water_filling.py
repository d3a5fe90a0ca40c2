r"""Water filling (Gavel, section 4.3): max-min fairness, then more for every job that can rise, also by entities.

max   t                                                                    (§4.3)       slowest_rise
s.t.  sum_{k in C_m} sum_j X_kj <= 1                       for all m       (2)          job_time
      sum_k sum_{j in J_a} z_k X_kj <= c_a                 for all a       (3)          capacity
      w^job_m t <= z_m (throughput(m, X) / P_m - t_m)      for all m in R  (4.3, ours)  rise
      throughput(m, X) / P_m >= t_m                        for all m       (§4.3)       floor
      0 <= X_kj <= 1, X_kj = 0 if (k, j) notin E           for all k, j    (1)          share
      t >= 0                                                               (ours)       step
      throughput(m, X) = sum_{k in C_m} sum_j T^m_kj X_kj  for all m       (§3.1)       throughput

This is one iteration: it raises the levels t_m, all 0 at first, of the jobs R whose weight w^job_m is above 0. Then t_m
grows by w^job_m t / z_m, the jobs that are bottlenecked (`gavel.bottleneck`) lose their weight for good, and so on
until every job is bottlenecked. C_m, J_a and P_m are those of `gavel.max_min_fairness`.
(ours): the paper maximises a minimum; t makes it linear. z_m, which section 4.3 leaves out, is that of 4.1. Speeds of a
job that differ by less than 1e-8 count as equal.
(erratum): the paper takes for t_m, and for the floor, the throughput of the last iteration's allocation. That one has
slack and depends on the vertex which the solver returned: weights 3, 1, 1, 1 on 3 GPUs would end at (1, 1, .67, .33) or
(1, .33, .67, 1). t_m is the level that the policy granted, and the end is (1, .67, .67, .67), always. The final levels
are unique, the allocations that reach them are not.

On one level (`gavel.water_filling`) w^job_m = w_m, and the first iteration is max-min fairness. Hierarchical policies
(`gavel.hierarchical`): entities share the cluster by weight, each by its policy for its jobs. The weight W_e of entity
e goes to those of its jobs that are not bottlenecked yet. Fairness: each of them gets a part in proportion to its own
weight w_m. FIFO: w^job_m = W_e for the first of them, by arrival, and 0 for the others. A job without an entity is one
by itself, with the job's weight, so that without any entity both are the same.

Heterogeneity-agnostic, hierarchical policies partition the cluster instead (Fig. 11b): the same programme over GPUs of
one kind, then each job has its part of every accelerator type, X_mj in proportion to c_j. What a job cannot use after
all of its time goes to the others by the same weights; what lies on a type where it cannot run is idle. A pair counts
for what its members keep of their speeds on average; on a type where they may not share their GPUs, they take turns.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.base.errors import InputError, Words
from workbench.papers.gavel import knobs as gavel
from workbench.papers.gavel.algorithms.equal_jobs import MergedInstance, merge
from workbench.papers.gavel.algorithms.water_filling_phases import (
    NAME,
    NEAR,
    RisingRule,
    near_speeds,
    phases,
    told_apart,
)
from workbench.papers.gavel.formulations import bottleneck
from workbench.papers.gavel.formulations.allocation import (
    NOTHING_MORE,
    DividedTime,
    ShareFormulation,
    check,
    feasible,
    lay_out,
    values,
)
from workbench.papers.gavel.formulations.allocation_assembly import Assembly, Variable
from workbench.papers.gavel.formulations.bottleneck import LevelInstance
from workbench.papers.gavel.instance import AllocationInstance, fields, seen
from workbench.scheduling.contract import MODEL, Knobs, Result
from workbench.scheduling.knob import Knob
from workbench.scheduling.modelling import parameter, pyo, renumber
from workbench.scheduling.reference_shares import equal_share
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import (
    InfeasibleError,
    Programme,
    SolveError,
    Solver,
    SolveReport,
    SolverFailedError,
    looked_at,
    solve_model,
    stood_in,
    watched,
)

Data = TypeVar("Data", bound=AllocationInstance)
JOB_WEIGHT = """w^job_m | weight in this iteration | 1
w_m | weight of the job itself | 1
W_e | weight of entity e, where there are entities | 1"""

HIERARCHICAL = "gavel.hierarchical"

OVERSTEPPED = 1e-7
"""Part of a step by which an interior point may be too high: as much as HiGHS lets a row be overstepped."""

LOWER = 1e-11
"""Part by which levels are lower where jobs are tested: where it costs a job 1e-5 of another one's rise, levels that
are 1e-12 too high are 1e-7 beyond what is possible, and no solver finds a point; 1e-9 would be a rise that counts."""

BOTTLENECK = Knob(
    "bottleneck",
    "test",
    "How to find the jobs that cannot rise: after each iteration by the paper's mixed-integer problem, or by linear "
    "problems, both as stated in Pyomo; or by prices, in few phases of many iterations (exact, fastest)",
    source="paper",
    choices=("test", "milp", "prices"),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class HierarchicalInstance(AllocationInstance):
    """The numbers of hierarchical water filling; jobs in the order in which FIFO takes them.

    owner: (jobs,) position of each job's entity; entities: their names, for messages; entity_weight: (entities,);
    fifo: (entities,) 1 for FIFO among its jobs, 0 for fairness. Raises InputError that names the entity or job.
    """

    owner: FloatArray
    entities: tuple[str, ...]
    entity_weight: FloatArray
    fifo: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        self.shaped("entity_weight", (len(self.entities),))
        self.shaped("fifo", (len(self.entities),))
        for name, weight in zip(self.entities, self.entity_weight.tolist(), strict=True):
            if not 0 < weight < np.inf:
                raise InputError(f"entity {name}, weight", weight, "a number > 0")
        self.check_numbers(
            "owner", np.isin(self.owner, np.arange(len(self.entities))), f"a position in entities {self.entities}"
        )

    @classmethod
    def by_job(cls) -> tuple[str, ...]:
        return (*super().by_job(), "owner")

    @classmethod
    def numbers(cls, snapshot: Snapshot, knobs: Knobs, rows: IntArray) -> dict[str, Any]:
        jobs = [snapshot.jobs.jobs[row] for row in rows.tolist()]
        named = {entity.name: position for position, entity in enumerate(snapshot.entities)}
        alone = [job for job in jobs if job.entity is None]  # told apart by position: any name may be an entity's too
        at = {job.name: len(named) + position for position, job in enumerate(alone)}
        return {
            **super().numbers(snapshot, knobs, rows),
            "owner": np.array([at[job.name] if job.entity is None else named[job.entity] for job in jobs], dtype=float),
            "entities": (*named, *(f"{job.name} alone" for job in alone)),
            "entity_weight": np.array([*(e.weight for e in snapshot.entities), *(job.weight for job in alone)]),
            "fifo": np.array([*(float(e.policy == "fifo") for e in snapshot.entities), *(0.0 for _ in alone)]),
        }

    @classmethod
    def single(cls, data: AllocationInstance) -> HierarchicalInstance:
        """One level only: every job an entity of its own, with the job's weight."""
        count = len(data.jobs)
        return cls(
            **fields(data),
            owner=np.arange(count, dtype=float),
            entities=data.jobs,
            entity_weight=data.weight,
            fifo=np.zeros(count),
        )

    def merged_alike(self, seen: AllocationInstance) -> MergedInstance[Self]:
        """Equal jobs that rise alike stand for each other; lone ones together are an entity with the weight of all.

        Jobs of an entity with fairness rise alike, lone jobs of entities of equal weights too, nobody in a queue.
        seen: the data, in the units in which jobs are compared.
        """
        rule = self.rule
        lone = np.bincount(rule.owner, minlength=len(self.entities))[rule.owner] == 1
        among = np.where(rule.fifo[rule.owner], -1.0 - np.arange(len(self.jobs)), self.owner)
        weight = rule.entity_weight[rule.owner]
        kin = np.column_stack([np.where(lone, weight, 0.0), np.where(lone, -0.5, among)])
        found = merge(self, seen, kin)
        if found.small is self:
            return found
        small, count = found.small, len(self.entities)
        alone, own = lone[found.first], weight[found.first] * found.small.count
        together = small.with_numbers(
            owner=np.where(alone, count + np.arange(len(own), dtype=float), small.owner),
            entities=(*self.entities, *small.jobs),
            entity_weight=np.concatenate([self.entity_weight, own]),
            fifo=np.concatenate([self.fifo, np.zeros(len(own))]),
        )
        return replace(found, small=together, posed=together if found.posed is small else self)

    @property
    def rule(self) -> RisingRule:
        """Who rises."""
        return RisingRule(self.owner.astype(np.int64), self.weight, self.entity_weight, self.fifo > 0, self.count)


def build(data: LevelInstance, name: str = "gavel_water_filling") -> pyo.ConcreteModel:
    """Return the unsolved linear programme of one iteration."""
    m = lay_out(name, data)
    m.job_weight = parameter(m.JOBS, numbers=data.column(data.active), doc=JOB_WEIGHT)
    m.level = parameter(m.JOBS, numbers=data.column(data.level), doc="t_m | level reached so far | 1")
    m.equal = parameter(m.JOBS, numbers=data.column(data.equal), doc="P_m | throughput under an equal share | steps/s")
    m.RISING = pyo.Set(initialize=rising(data), doc="R | jobs whose weight is above 0")
    m.step = pyo.Var(bounds=(0, None), doc="(ours) t | smallest rise per weight | 1")

    @m.Objective(sense=pyo.maximize, doc="(§4.3) the slowest rise")
    def slowest_rise(m):
        return m.step

    @m.Constraint(m.RISING, doc="(4.3, ours) t is no more than any job's rise")
    def rise(m, job):
        # Multiplied out: Pyomo's order in a product of sums, and with it a last bit, is another where a level is 0.
        return m.job_weight[job] * m.step <= m.gang[job] / m.equal[job] * m.throughput[job] - m.gang[job] * m.level[job]

    @m.Constraint(m.JOBS, doc="(§4.3) no job drops below its level")
    def floor(m, job):
        return m.throughput[job] / m.equal[job] >= m.level[job]

    m.stated = data, m.data
    return m


def rising(data: LevelInstance) -> list[str]:
    """R."""
    return [data.jobs[row] for row in np.flatnonzero(data.active > 0).tolist()]


def restate(m: pyo.ConcreteModel, data: LevelInstance) -> None:
    """Let the model of an iteration state another one, also of jobs that `kept` has replaced."""
    from workbench.scheduling.solvers.restating import renewed

    (before, of), m.stated = m.stated, (data, m.data)
    renumber(m.job_weight, data.column(data.active))
    m.RISING.clear()
    m.RISING.update(rising(data))
    same = of is m.data  # but for levels and weights
    if not same:
        renumber(m.equal, data.column(data.equal))
    if not (same and np.array_equal(before.level, data.level)):
        renumber(m.level, data.column(data.level))
        stays = (before.level == data.level).tolist() if same else ()
        renewed(m.floor, same=set(compress(data.jobs, stays)))
    renewed(m.rise)


def assemble(data: LevelInstance, name: str = "gavel_water_filling") -> Programme:
    """The same programme as arrays."""
    step = Variable("step", lower=0.0)
    rows = Assembly(data, after=[step])
    rising, part = np.flatnonzero(data.active > 0), 1.0 / data.equal
    number = np.full(len(data.jobs), -1)
    number[rising] = np.arange(len(rising))
    of, column, value = rows.throughput(-data.gang / data.equal)
    used = number[of] >= 0
    rows.add(
        "rise",
        (number[of[used]], column[used], value[used]),
        (number[rising], rows.column(step), data.active[rising]),
        upper=-(data.gang * data.level)[rising],
    )
    rows.add("floor", rows.throughput(part), lower=data.level)
    return rows.programme((rows.column(step), 1.0), name, maximise=True)


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


def fill(data: HierarchicalInstance, find: str, solver: Solver) -> DividedTime:
    """Raise the levels until no job can rise, by the stated models; find: `test` or `milp`, see `bottleneck`.

    The report is that of the first programme, with the seconds of all. Raises the errors of
    `workbench.scheduling.solvers`, and SolverFailedError if an iteration ends without a bottleneck.
    """
    from workbench.scheduling.solvers.compile import values_of

    # The levels are at the very edge of what is possible, where presolve takes rounding for infeasibility.
    solver, clock = solver.without_presolve(), _Clock()
    shares = np.zeros((len(data.units), len(data.types)))
    level, done = np.zeros(len(data.jobs)), np.zeros(len(data.jobs), dtype=bool)
    listed: list[dict[str, Any]] = []
    for now in iterations(data, level, done):
        model, _ = clock.solve(partial(build, now), solver)
        values = values_of(model)
        shares, step = values["share"].reshape(shares.shape), max(0.0, float(values["step"][0]))
        # An interior point may overstep by its tolerance: levels that nobody can reach make all that follows fail.
        now = replace(now, level=now.risen(step * (1 - OVERSTEPPED) if solver.method == "interior" else step))
        with watched():  # who watches is told of the iterations alone
            stuck = _stuck(now, find, clock.solve, solver)
        if not (stuck.any() or (now.level > level + now.margin).any()):
            raise SolverFailedError(NAME, f"iteration {len(listed) + 1} has no bottlenecked job", "at least one")
        level[:], done[:] = now.level, done | stuck
        listed.append(_iteration(now, step, stuck))
    solved = replace(clock.found[0], build_s=clock.build_s, solve_s=clock.solve_s, passes=len(clock.found))
    return DividedTime(shares, solved, {"levels": level}, tuple(listed))


def _stuck(now: LevelInstance, find: str, solve: bottleneck.SolveBuilt, solver: Solver) -> BoolArray:
    return bottleneck.find(now.at(level=now.level * (1 - LOWER)), find, solve, solver)


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


def first(data: HierarchicalInstance) -> LevelInstance:
    """The data of the first iteration."""
    nobody = np.zeros(len(data.jobs), dtype=bool)
    return LevelInstance.of(data, np.zeros(len(data.jobs)), data.rule.weights(nobody))


class IteratedFilling(ShareFormulation[Data]):
    """Water filling over whatever entities; `build` states an iteration, by default the first."""

    model: ClassVar[str]
    varies = frozenset({"level", "active"})
    last_decides = True

    @abstractmethod
    def known(self, data: Data, knobs: Knobs) -> HierarchicalInstance:
        """The data as the policy sees them."""

    def spread(self, data: Data, shares: FloatArray, knobs: Knobs) -> FloatArray:
        """(combinations x types) shares, from those of the data as the policy sees them."""
        return shares

    def build(self, data: Data, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved programme of one iteration."""
        return build(self._now(data, knobs), self.model)

    def restate(self, model: pyo.ConcreteModel, data: Any, knobs: Knobs) -> None:
        """For another iteration, or other jobs."""
        restate(model, self._now(data, knobs))

    def laid_out(self, data: Data, knobs: Knobs) -> LevelInstance:
        """See `_now`."""
        return self._now(data, knobs)

    def assemble(self, data: Data, knobs: Knobs) -> Programme:
        """The same programme as arrays."""
        return assemble(self._now(data, knobs), self.model)

    def at_once(self, knobs: Knobs) -> bool:
        """Never: levels rise in iterations."""
        return False

    def _now(self, data: Data, knobs: Knobs) -> LevelInstance:
        return data if isinstance(data, LevelInstance) else first(self.known(data, knobs))

    def allocate(self, data: Data, knobs: Knobs, solver: Solver | None = None) -> DividedTime:
        """All iterations, or all phases (`water_filling_phases`), and `levels` by job."""
        if not data.jobs:
            return replace(super().allocate(data, knobs, solver), by_job={"levels": np.zeros(0)})
        began = time.perf_counter()
        known, options = self.known(data, knobs), self.options(knobs, solver or Solver())
        how = str(knobs.get("bottleneck", BOTTLENECK.default))
        merge = known.merged_alike(known.relative())
        merge = merge if how == "prices" and options.method != "interior" else merge.each()
        merge_s = time.perf_counter() - began
        try:
            if how == "prices":
                found = self._by_prices(merge.posed, knobs, options)
            else:
                found = fill(merge.posed, how, options)
                self._compare(merge.posed, found.by_job["levels"], knobs)
        except (InfeasibleError, SolverFailedError) as error:
            told = nearly_as_fast(known, how, error)
            if told is None:
                raise
            raise told from error
        levels = merge.numbers(found.by_job["levels"])
        shares = reached(known, merge.shares(found.shares), levels)
        solved = replace(found.solved, objective=objective(known, shares), build_s=found.solved.build_s + merge_s)
        shares = check(data, self.spread(data, shares, knobs), self.name)
        return replace(found, shares=shares, solved=solved, by_job={"levels": levels})

    def _compare(self, known: HierarchicalInstance, levels: FloatArray, knobs: Knobs) -> None:
        """Hold levels against those by prices where rounding may have moved them; raises SolverFailedError."""
        if not len(near_speeds(known).job) or stood_in():
            return
        with watched():
            others = self._by_prices(known, knobs, Solver()).by_job["levels"]
        off = float(np.abs(levels - others).max())
        if not off <= bottleneck.SLACK * max(1.0, float(others.max())):
            raise SolverFailedError(NAME, f"levels that are {off:.1g} from those by prices", "equal ones")

    def _by_prices(self, known: HierarchicalInstance, knobs: Knobs, solver: Solver) -> DividedTime:
        """In phases; who watches is told of the last iteration that they ask for, as it is stated."""
        asked: list[Any] = []  # iterations are numbers of their own, see `build`

        def make(now: Any) -> Programme:
            asked[:] = [now]
            return self.posed(now, knobs)[1]

        def test(now: LevelInstance) -> BoolArray:
            with watched():
                return _stuck(now, "test", _Clock().solve, solver.without_presolve())

        found = phases(known, known.rule, make, test, solver)
        if asked and looked_at() and not stood_in():
            self.answered(asked[0], {**knobs, MODEL.name: "pyomo"}, solver.without_presolve())
        return found

    def objective(self, data: Data, shares: FloatArray, knobs: Knobs) -> float | None:
        """The first iteration's t, of shares as the policy sees them."""
        return objective(self.known(data, knobs), shares)

    def run(self, data: Data, knobs: Knobs, solver: Solver | None = None) -> Result:
        """`allocate`, and what `report` says of it."""
        if self.own:
            return super().run(data, knobs, solver)
        found = self.allocate(data, knobs, solver)
        result = self.report(data, found.shares, knobs, found.by_job)
        return replace(result, objective=found.solved.objective if data.jobs else None).reported(
            found.solved if data.jobs else replace(found.solved, bound=None), iterations=found.iterations
        )

    def found(self, values: Mapping[str, FloatArray], data: Data, knobs: Knobs) -> Result:
        """Shares and levels after one iteration, and normalised throughput (true speeds in both forms)."""
        known = self.known(data, knobs)
        level = first(known).risen(float(values["step"][0]))
        shares = reached(known, values["share"].reshape(len(known.units), len(known.types)), level)
        whole = check(data, self.spread(data, shares, knobs), self.name)
        return replace(self.report(data, whole, knobs, {"levels": level}), objective=objective(known, shares))

    def report(
        self, data: Data, shares: FloatArray, knobs: Knobs, by_job: Mapping[str, FloatArray] = NOTHING_MORE
    ) -> Result:
        """Shares, levels and normalised throughput (true speeds in both forms)."""
        return feasible(None, "max", "1", values(data, shares, by_job))


def nearly_as_fast(data: HierarchicalInstance, how: str, error: SolveError) -> SolverFailedError | None:
    """An error that names a job with two speeds so near that rounding is large for others; None without such a job."""
    near = near_speeds(data)
    if not len(near.job):
        return None
    gap = near.gap / near.speed
    got = f"two speeds of {data.jobs[near.job[gap.argmin()]]} that differ by {gap.min():.0e} only: {error.value}"
    instead = "" if how == "prices" else f"; or knob {BOTTLENECK.name}=prices, which solves nearly all of these"
    return SolverFailedError(NAME, Words(got), f"speeds that are equal or differ by {NEAR:g} at least{instead}")


def reached(data: HierarchicalInstance, shares: FloatArray, level: FloatArray) -> FloatArray:
    """Checked (combinations x types) shares that reach the levels; raises SolverFailedError."""
    shares = check(data, shares, NAME)
    short = float((level - data.normalised(shares)).max(initial=0.0))
    if not short <= 1e-5 * max(1.0, float(level.max(initial=0.0))):
        raise SolverFailedError(NAME, f"a job is {short:g} below its level", "shares that reach the levels")
    return shares


class WaterFilling(IteratedFilling[AllocationInstance]):
    """Shares of time that are fair first and leave nothing unused after."""

    name = NAME
    instance = AllocationInstance
    model = "gavel_water_filling"
    title = "Gavel: max-min fairness with water filling"
    knobs = (gavel.AWARE, BOTTLENECK, *gavel.EXTENSIONS, gavel.OPTIMUM)
    reading = (
        "The objective is the first iteration's t, what max-min fairness alone reaches: the smallest of levels x GPUs "
        "of the gang / weight over the jobs; `levels` say how far each job then rose."
    )

    def known(self, data: AllocationInstance, knobs: Knobs) -> HierarchicalInstance:
        """Every job an entity of its own."""
        return HierarchicalInstance.single(told_apart(seen(data, knobs)))


class Hierarchical(IteratedFilling[HierarchicalInstance]):
    """Shares of time by water filling over entities."""

    name = HIERARCHICAL
    instance = HierarchicalInstance
    model = "gavel_hierarchical"
    title = "Gavel: hierarchical fairness"
    knobs = (gavel.AWARE, BOTTLENECK, *gavel.EXTENSIONS, gavel.OPTIMUM)
    reading = (
        "The objective is the first iteration's t: each entity's weight is divided among its jobs (all of it to the "
        "first under FIFO), and the objective is the smallest of levels x GPUs of the gang / that weight over the jobs "
        "that rise first, before the later iterations; `levels` say how far each job rose in all."
    )

    def known(self, data: HierarchicalInstance, knobs: Knobs) -> HierarchicalInstance:
        """The data as the policy sees them: every type's speeds, or GPUs of one kind."""
        return told_apart(data if knobs.get("heterogeneity_aware", True) else without_types(data))

    def spread(self, data: HierarchicalInstance, shares: FloatArray, knobs: Knobs) -> FloatArray:
        """Shares of GPUs of one kind are spread over the types."""
        return shares if knobs.get("heterogeneity_aware", True) else spread(data, shares)

    def report(
        self,
        data: HierarchicalInstance,
        shares: FloatArray,
        knobs: Knobs,
        by_job: Mapping[str, FloatArray] = NOTHING_MORE,
    ) -> Result:
        """Shares, levels, normalised throughput, and the name of each job's entity."""
        found = super().report(data, shares, knobs, by_job)
        names = (data.entities[int(position)] for position in data.owner.tolist())
        return replace(found, values={**found.values, "entity": dict(zip(data.jobs, names, strict=True))})


def without_types(data: HierarchicalInstance) -> HierarchicalInstance:
    """The data with all GPUs of one kind, on which every job has the same speed 1.

    A pair's members have the part of it that they keep on average over the GPUs: 1/2 on a type where they may not
    share, for there they take turns (`spread`).
    """
    part, on = equal_share(data.capacity), _on(data.allowed[len(data.jobs) :], data)
    rows = np.arange(len(data.pairs))
    pair_speed = np.zeros((len(data.pairs), 2, 1))
    for name in range(len(data.accelerators)):
        kept = np.where(on[:, name, None] >= 0, data.kept[rows, :, on[:, name]], 0.5)
        pair_speed[:, :, 0] += part[name] * kept
    return replace(
        data,
        types=("all",),
        speed=np.ones((len(data.jobs), 1)),
        capacity=np.array([data.capacity.sum()]),
        pair_speed=pair_speed,
        accelerators=(),
        accelerator=None,
        fair=None,
    )


def spread(data: AllocationInstance, shares: FloatArray) -> FloatArray:
    """(combinations x types) shares of `data` from the (combinations x 1) shares of `without_types(data)`.

    Each combination has `c_a / sum c` of its time on accelerator type a, of its placed types the first on which it can
    run. Where a pair may not share, each of its members has half of that time alone; on a type where a job cannot run,
    its time is lost.
    """
    jobs = len(data.jobs)
    found = np.zeros((len(data.units), len(data.types)))
    part, on = equal_share(data.capacity), _on(data.allowed, data)
    for name in range(len(data.accelerators)):
        time, kind = part[name] * shares[:, 0], on[:, name]
        apart = np.flatnonzero(kind[jobs:] < 0)
        for member in (0, 1):
            np.add.at(time, data.pairs[apart, member], time[jobs + apart] / 2)
        able = np.flatnonzero(kind >= 0)
        found[able, kind[able]] = time[able]
    return found


def _on(allowed: BoolArray, data: AllocationInstance) -> IntArray:
    """(rows x accelerators) position of the first placed type of an accelerator on which a row may run, -1 for none."""
    found = np.full((len(allowed), len(data.accelerators)), -1)
    for kind, accelerator in reversed(list(enumerate(data.accelerator_of.tolist()))):
        found[allowed[:, kind], accelerator] = kind
    return found
