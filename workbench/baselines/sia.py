r"""Sia: every round, each job gets one of its configurations (a type and a number of GPUs), or none.

min   sum_i sum_c e_ic A_ic + sum_i lambda_n (1 - sum_c A_ic)                (code)  total_cost
s.t.  sum_c A_ic <= 1                            for all i     (code)  one_configuration
      sum_i sum_{c in K_j} n_ic A_ic <= c_j      for all j     (code)  capacity
      A_ic in {0, 1}                             for all i, c  (code)  choose

Source: Jayaram Subramanya et al., SOSP 2023, and its published policy (sia.py). `e_ic = (r_ic G_ic)^p` for a power p
below 0, as Sia has it, and minus that for one above. `G_ic` is the speed of job i in configuration c over the smallest
of all its configurations; with the knob `from_least_size`, times the smallest number of GPUs it may run on. `r_ic` is 1
in the configuration that the job has now, or if it has none, otherwise its restart factor
max(age - restarts x penalty, 0) / (age + penalty). A configuration with an infinite cost (factor 0) is none. In the
capacity of type j, `n_ic` GPUs count for the configurations `K_j` of that type.

A user's job runs on the sizes its user chose. Sia itself offers 1, 2, 4, ... GPUs of a node, then whole nodes (knob
`configurations=powers`); as Hops compares itself with it (section 4.2) every size that was chosen is offered. A job
with one size keeps it. (ours): steps count as much on any size, so goodput is throughput; whole nodes of a type with
different ones are its largest. The programme counts GPUs of a type and not of its nodes. What it chooses is placed on
as few nodes as can hold it, the largest first: by Sia's rules a gang that fits a node is not split. That can always be
done for its own sizes, not for those that users choose: who finds no nodes waits for a round, even if enough GPUs are
idle (Hops 4.3 finds these fragments). With the knob `split` such a gang takes GPUs wherever they are, as in Sia's
published simulator. The programme knows no queue; its order (knob `queue`) decides who is placed first.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.base.errors import InputError
from workbench.base.round_times import LONGEST_ROUND_S, ROUND_HELP, boundary_after
from workbench.baselines.mechanisms.latency_ratio import ages, latency_ratio
from workbench.scenario.job import Job
from workbench.scheduling import job_orders
from workbench.scheduling.contract import Formulation, Knobs, Memory, Result, Route, Scheduler, StatedProblem, Timing
from workbench.scheduling.decision import Assignment, Decision, Reason
from workbench.scheduling.declared_room import Room
from workbench.scheduling.knob import Knob
from workbench.scheduling.modelling import pyo
from workbench.scheduling.placement import FreeGpus, Gpus, Request, place, runs_spread
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import (
    PROVEN,
    Columns,
    Programme,
    Solver,
    SolveReport,
    SolverFailedError,
    solve_matrix,
    solve_model,
    stood_in,
)
from workbench.scheduling.solvers.solve_report import report
from workbench.simulation.job_at_time import Explained, JobAtTime

NAME = "sia"
ROUND_S = Knob("round_s", 60.0, ROUND_HELP, "s", "code", minimum=1.0, maximum=LONGEST_ROUND_S, main=True)
POWER = Knob(
    "p",
    -0.5,
    "Power of the gains: the further below 0, the more the slowest jobs count; above 0 the fastest do; not 0",
    source="paper",
    minimum=-1.0,
    maximum=1.0,
    main=True,
)
IDLE_COST = Knob("lambda_n", 1.1, "Cost of a job that gets nothing", source="paper", minimum=0.0, maximum=1e3)
PENALTY_S = Knob(
    "penalty_s",
    30.0,
    "What a restart is taken to cost where it is weighed against a better configuration",
    "s",
    "code",
    minimum=0.0,
    maximum=1e6,
)
GAP = Knob(
    "gap", 1e-4, "How far from the best a plan may be, relative to its cost", source="code", minimum=0.0, maximum=0.5
)
QUEUE = Knob(
    "queue",
    "arrival",
    "Who is placed first among those that got as many GPUs: the first to arrive, or who has waited longest for its "
    "expected run time, as where Hops compares itself with Sia",
    source="paper",
    choices=("arrival", "latency_ratio"),
)
FROM_LEAST_SIZE = Knob(
    "from_least_size",
    False,
    "A job's gains start from the smallest number of GPUs that it may run on, so that a large gang is worth more than "
    "a small one (otherwise all jobs' gains start from 1)",
    source="code",
)
CONFIGURATIONS = Knob(
    "configurations",
    "choices",
    "Sizes offered to an elastic job: all that its user chose, or (powers) of those 1, 2, 4, ... GPUs up to a node and "
    "whole nodes",
    source="paper",
    choices=("choices", "powers"),
)
SPLIT = Knob(
    "split",
    False,
    "Place a gang on more nodes than it needs where it finds no others (otherwise it waits for a round)",
    source="paper",
)
PROBLEM = (POWER, IDLE_COST, PENALTY_S, CONFIGURATIONS, FROM_LEAST_SIZE)


@dataclass(frozen=True, eq=False)
class SiaInstance:
    """The numbers of one round. All arrays are read-only.

    job, kind, gpus, speed, factor: one entry for each configuration, of which job (row) and type (column) it is, its
    GPUs, steps/s (above 0), and restart factor (0 to 1); capacity: (types,) GPUs; start: (jobs,) a job's smallest gain.
    Raises InputError that says where.
    """

    jobs: tuple[str, ...]
    types: tuple[str, ...]
    job: IntArray
    kind: IntArray
    gpus: IntArray
    speed: FloatArray
    factor: FloatArray
    capacity: IntArray
    start: FloatArray

    def __post_init__(self) -> None:
        count = len(np.atleast_1d(self.job))
        self._keep("capacity", np.int64, len(self.types), 0, np.inf)
        self._keep("start", np.float64, len(self.jobs), 1, np.inf)
        self._keep("job", np.int64, count, 0, len(self.jobs) - 1)
        self._keep("kind", np.int64, count, 0, len(self.types) - 1)
        self._keep("gpus", np.int64, count, 1, np.inf)
        self._keep("speed", np.float64, count, np.finfo(float).tiny, np.inf)
        self._keep("factor", np.float64, count, 0, 1)

    def _keep(self, field: str, kind: npt.DTypeLike, count: int, low: float, high: float) -> None:
        given = np.array(getattr(self, field), dtype=float)
        if given.shape != (count,):
            raise InputError(f"sia data, {field}", given.shape, f"an array of shape ({count},)")
        whole = kind is np.int64
        wrong = np.flatnonzero(~(np.isfinite(given) & (given >= low) & (given <= high)) | whole & (given % 1 != 0))
        if len(wrong):
            noun = "whole number" if whole else "number"
            bounds = "above 0" if field == "speed" else f"from {low:g}" + (f" to {high:g}" if high < np.inf else "")
            raise InputError(f"sia data, {field}[{wrong[0]}]", float(given[wrong[0]]), f"a finite {noun} {bounds}")
        array = given.astype(kind)
        array.setflags(write=False)
        object.__setattr__(self, field, array)

    @property
    def gain(self) -> FloatArray:
        """(configurations,) `G_ic`."""
        least = np.full(len(self.jobs), np.inf)
        np.minimum.at(least, self.job, self.speed)
        gain: FloatArray = self.start[self.job] * (self.speed / least[self.job])
        return gain

    def cost(self, power: float) -> FloatArray:
        """(configurations,) `e_ic`; infinite for one that is none."""
        with np.errstate(divide="ignore"):
            cost: FloatArray = -np.sign(power) * (self.factor * self.gain) ** power
        return cost

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot, knobs: Knobs, free_gpus: FreeGpus) -> SiaInstance:
        """The configurations of all jobs on the GPUs in `free_gpus`, at speeds as believed, restarts weighed."""
        jobs, types, held = snapshot.jobs, snapshot.types, _held(snapshot)
        capacity, penalty_s = free_gpus.left(len(types)), float(knobs["penalty_s"])
        powers = {kind: _powers(snapshot, column) for column, kind in enumerate(types)}
        fewest: dict[tuple[str, int], int | None] = {}
        rows: list[tuple[int, int, int, float, float]] = []
        for row, job in enumerate(jobs.jobs):
            age_s = snapshot.now_s - float(jobs.arrival_s[row])
            factor = restart_factor(age_s, int(jobs.restarts[row]), penalty_s)
            now = (free_gpus.kind_of(held[job.name]), sum(held[job.name].values())) if job.name in held else None
            for column, kind in enumerate(types):
                for gpus in _sizes(job, powers, kind, knobs["configurations"]):
                    if gpus > capacity[column]:
                        continue
                    if (kind, gpus) not in fewest:
                        fewest[kind, gpus] = snapshot.cluster.fewest_nodes(kind, gpus)
                    speed = snapshot.belief.steps_per_s(job, kind, gpus, "consolidated", fewest[kind, gpus])
                    if speed > 0:
                        rows.append((row, column, gpus, speed, 1.0 if now in (None, (column, gpus)) else factor))
        row_, column_, gpus_, speed_, factor_ = zip(*rows, strict=True) if rows else ((),) * 5
        start = [float(min(job.sizes)) if knobs["from_least_size"] else 1.0 for job in jobs.jobs]
        return cls(jobs.names, types, row_, column_, gpus_, speed_, factor_, capacity, start)  # type: ignore[arg-type]


CHOICES = """i,c | configurations of each job: type, GPUs
K_j | those of type j | | of_type"""


def build(data: SiaInstance, power: float, idle_cost: float) -> pyo.ConcreteModel:
    """Return the unsolved integer programme."""
    m = pyo.ConcreteModel("sia")
    cost = data.cost(power)
    keys = {spot: _key(data, spot) for spot in np.flatnonzero(np.isfinite(cost)).tolist()}
    m.of_type = {j: list(dict.fromkeys(key[1:] for key in keys.values() if key[1] == j)) for j in data.types}
    m.JOBS = pyo.Set(initialize=data.jobs, doc="i | jobs")
    m.TYPES = pyo.Set(initialize=data.types, doc="j | accelerator types")
    m.CONFIGURATIONS = pyo.Set(dimen=3, initialize=keys.values(), doc=CHOICES)

    costs = {key: float(cost[spot]) for spot, key in keys.items()}
    m.cost = pyo.Param(m.CONFIGURATIONS, initialize=costs, doc="e_ic | cost of a configuration | 1")
    m.idle_cost = pyo.Param(initialize=idle_cost, doc="lambda_n | cost of a job without a configuration | 1")
    gpus = {key: key[2] for key in keys.values()}
    m.gpus = pyo.Param(m.CONFIGURATIONS, initialize=gpus, doc="n_ic | GPUs of a configuration | GPUs")
    free_gpus = dict(zip(data.types, data.capacity.tolist(), strict=True))
    m.free_gpus = pyo.Param(m.TYPES, initialize=free_gpus, doc="c_j | GPUs of a type | GPUs")
    m.choose = pyo.Var(m.CONFIGURATIONS, domain=pyo.Binary, doc="(code) A_ic | whether a job gets a configuration | 1")
    of_job: dict[str, list[tuple[str, str, int]]] = {job: [] for job in data.jobs}
    of_type: dict[str, list[tuple[str, str, int]]] = {kind: [] for kind in data.types}
    for key in keys.values():
        of_job[key[0]].append(key)
        of_type[key[1]].append(key)

    @m.Objective(sense=pyo.minimize, doc="(code) summed cost of what the jobs get, or do not")
    def total_cost(m):
        idle = pyo.quicksum(m.idle_cost * (1 - pyo.quicksum(m.choose[key] for key in of_job[i])) for i in m.JOBS)
        return pyo.quicksum(m.cost[key] * m.choose[key] for key in m.CONFIGURATIONS) + idle

    @m.Constraint(m.JOBS, doc="(code) a job gets at most one configuration")
    def one_configuration(m, i):
        return pyo.quicksum(m.choose[key] for key in of_job[i]) <= 1 if of_job[i] else pyo.Constraint.Skip

    @m.Constraint(m.TYPES, doc="(code) the GPUs of a type are given out once")
    def capacity(m, j):
        if not of_type[j]:
            return pyo.Constraint.Skip
        return pyo.quicksum(m.gpus[key] * m.choose[key] for key in of_type[j]) <= m.free_gpus[j]

    return m


def _key(data: SiaInstance, spot: int) -> tuple[str, str, int]:
    return data.jobs[data.job[spot]], data.types[data.kind[spot]], int(data.gpus[spot])


def choose(
    data: SiaInstance, power: float, idle_cost: float, solver: Solver | None = None
) -> tuple[IntArray, SolveReport]:
    """The best configurations (their numbers), by the same programme as sparse matrices.

    A configuration whose reduced cost in the relaxed programme is above what an answer is off the relaxed optimum is in
    no better answer. So the best of those with small reduced costs is found first, then of those that this leaves.
    """
    solver = solver or Solver()
    cost = data.cost(power) - idle_cost
    spots = np.flatnonzero(_needed(data, cost))
    offset = idle_cost * len(data.jobs)
    relaxed = solve_matrix(_programme(data, spots, cost, offset, whole=False), solver)
    least, seconds = relaxed.solved.value, relaxed.solved.solve_s
    reduced = relaxed.reduced if relaxed.reduced is not None else np.zeros(len(spots))
    near = 1e-4 * max(1.0, abs(least))
    while True:
        kept = spots[reduced <= near + PROVEN]
        near = near if len(kept) < len(spots) else np.inf
        found = solve_matrix(_programme(data, kept, cost, offset), solver)
        seconds += found.solved.solve_s
        off = found.solved.value - least
        if off <= near or off <= solver.gap * abs(found.solved.value):
            break
        near = off
    solved = report(found.solved.value, _bound(found.solved, least, near), found.solved.status == "time_limit")
    last = found.solved
    solved = replace(solved, solver=last.solver, solve_s=seconds, nodes=last.nodes, made_by=last.made_by)
    return _checked(data, kept[found.values > 0.5]), solved


def _as_stated(data: SiaInstance, power: float, idle_cost: float, solver: Solver) -> tuple[IntArray, SolveReport]:
    """The same by the model, to ask what a changed row would bring; its limits are not held against what is found."""
    model = build(data, power, idle_cost)
    solved = solve_model(model, solver)
    return read(model, data), solved


def _bound(solved: SolveReport, least: float, near: float) -> float:
    """What no answer is below; those with a configuration that was left out are at least `near` above `least`."""
    return least if solved.bound is None else max(least, min(solved.bound, least + near))


def _programme(data: SiaInstance, spots: IntArray, cost: FloatArray, offset: float, whole: bool = True) -> Programme:
    """The choice among some configurations; cost: over that of getting nothing, of all."""
    columns, jobs = len(spots), len(data.jobs)
    rows = jobs + len(data.types)
    return Programme(
        cost=cost[spots],
        matrix=Columns.of(
            np.concatenate([data.job[spots], jobs + data.kind[spots]]),
            np.tile(np.arange(columns), 2),
            np.concatenate([np.ones(columns), data.gpus[spots]]),
            (rows, columns),
        ),
        row_lower=np.full(rows, -np.inf),
        row_upper=np.concatenate([np.ones(jobs), data.capacity]),
        lower=np.zeros(columns),
        upper=np.full(columns, 1.0 if whole else np.inf),  # without a limit of its own no reduced cost is negative
        integer=np.ones(columns, dtype=bool) if whole else None,
        offset=offset,
        name=NAME,
    )


def _needed(data: SiaInstance, cost: FloatArray) -> BoolArray:
    """All but those an optimum never needs; cost: over that of getting nothing.

    Not needed is what costs as much as getting nothing, and what takes as many GPUs of the same type as another of the
    job's, or more, and costs no less.
    """
    needed = (cost < 0) & (data.gpus <= data.capacity[data.kind])
    order = np.lexsort((np.arange(len(cost)), cost, data.gpus, data.kind, data.job))
    order = order[needed[order]]
    best, group = np.inf, (-1, -1)
    for spot, at in zip(
        order.tolist(), zip(data.job[order].tolist(), data.kind[order].tolist(), strict=True), strict=True
    ):
        if at != group:
            best, group = np.inf, at
        needed[spot] = cost[spot] < best
        best = min(best, float(cost[spot]))
    return needed


def _checked(data: SiaInstance, chosen: IntArray) -> IntArray:
    """The configurations chosen; raises SolverFailedError for a job with two, or more GPUs than there are."""
    per_job = np.bincount(data.job[chosen], minlength=len(data.jobs))
    used = np.bincount(data.kind[chosen], data.gpus[chosen], minlength=len(data.types))
    if per_job.max(initial=0) > 1:
        raise SolverFailedError(NAME, data.jobs[int(per_job.argmax())], "at most one configuration for a job")
    if (used > data.capacity).any():
        over = int((used > data.capacity).argmax())
        raise SolverFailedError(NAME, f"{used[over]:g} GPUs of {data.types[over]}", f"at most {data.capacity[over]}")
    return chosen


def objective(data: SiaInstance, chosen: IntArray, power: float, idle_cost: float) -> float:
    """The summed cost of what the jobs get, or do not."""
    return float(data.cost(power)[chosen].sum()) + idle_cost * (len(data.jobs) - len(chosen))


class Sia(Formulation[SiaInstance]):
    """Who gets how many GPUs of which type until the round ends."""

    name = NAME
    title = "Sia: one configuration for each job"
    knobs = PROBLEM
    reading = (
        "The objective is the sum of (restart factor x gain)^p over the jobs with a configuration (minus that for p "
        "above 0), and lambda_n for each job without. gain is the speed over the smallest among the job's "
        "configurations, 0 for a job that gets nothing."
    )

    def data(self, snapshot: Snapshot, knobs: Knobs) -> SiaInstance:
        """All arrived jobs, on all GPUs that are up."""
        return SiaInstance.from_snapshot(snapshot, knobs, _everything(snapshot))

    def build(self, data: SiaInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model."""
        return build(data, power_of(knobs), float(knobs["lambda_n"]))

    def read(self, model: pyo.ConcreteModel, data: SiaInstance, knobs: Knobs) -> Result:
        """What the jobs get; raises SolverFailedError for values that break a limit."""
        return _result(data, _checked(data, read(model, data)), knobs)

    def trivial(self, data: SiaInstance, knobs: Knobs) -> Result | None:
        """No configurations, nothing to choose."""
        return None if len(data.job) else _result(data, np.zeros(0, dtype=np.int64), knobs)


def read(model: pyo.ConcreteModel, data: SiaInstance) -> IntArray:
    """The configurations that a solved model chooses."""
    number = {_key(data, spot): spot for spot in range(len(data.job))}
    chosen = [number[key] for key, variable in model.choose.items() if variable.value > 0.5]
    return np.array(sorted(chosen), dtype=np.int64)


def _result(data: SiaInstance, chosen: IntArray, knobs: Knobs) -> Result:
    given: dict[str, dict[str, str | int] | None] = dict.fromkeys(data.jobs)
    gain = dict.fromkeys(data.jobs, 0.0)
    for spot, value in zip(chosen.tolist(), data.gain[chosen].tolist(), strict=True):
        job, kind, gpus = _key(data, spot)
        given[job], gain[job] = {"type": kind, "gpus": gpus}, value
    value = objective(data, chosen, power_of(knobs), float(knobs["lambda_n"]))
    return Result("feasible", value, "min", "1", {"configurations": given, "gain": gain})


def power_of(knobs: Knobs) -> float:
    """The power p; raises InputError for 0, which would make all configurations alike."""
    power = float(knobs["p"])
    if power == 0:
        raise InputError("knob p", power, "a number other than 0")
    return power


# --- from a snapshot --------------------------------------------------------------------------------------------------


def _everything(snapshot: Snapshot) -> FreeGpus:
    """All GPUs that are up, those in use too."""
    return FreeGpus(snapshot.nodes, (lease.gpus for lease in snapshot.leases.values()))


def _held(snapshot: Snapshot) -> dict[str, Gpus]:
    """The GPUs that each job has, or has had until now."""
    leases = (*snapshot.leases.items(), *snapshot.ended.items())
    return {unit: lease.gpus for unit, lease in leases if isinstance(unit, str)}


def restart_factor(age_s: float, restarts: int, penalty_s: float) -> float:
    """What is left of a job's gain in another configuration; 1 where a restart costs nothing."""
    return max(age_s - restarts * penalty_s, 0.0) / (age_s + penalty_s) if penalty_s > 0 else 1.0


def _powers(snapshot: Snapshot, column: int) -> frozenset[int]:
    """1, 2, 4, ... GPUs up to the largest node of a type, then its whole nodes."""
    sizes = np.sort(snapshot.nodes.gpus[snapshot.nodes.kind == column])[::-1]
    most = int(sizes.max(initial=0))
    return frozenset({*(2**n for n in range(most.bit_length()) if 2**n <= most), *np.cumsum(sizes).tolist()})


def _sizes(job: Job, powers: Mapping[str, frozenset[int]], kind: str, offered: str) -> Sequence[int]:
    """The sizes of a job on a type; raises InputError for one of which no type offers any."""
    if offered == "choices" or len(job.sizes) == 1:
        return job.sizes
    if not any(powers[each].intersection(job.sizes) for each in powers):
        expected = (
            "one that is 1, 2, 4, ... GPUs of a node or whole nodes; otherwise set the knob configurations=choices"
        )
        raise InputError(f"gpu_choices of job {job.name}", list(job.sizes), expected)
    return [size for size in job.sizes if size in powers[kind]]


class SiaScheduler(Scheduler):
    """Chooses a configuration for every job at the start of a round, then looks for nodes."""

    name = NAME
    title = "Sia: elastic jobs, goodput with a power for fairness"
    knobs = (ROUND_S, *PROBLEM, GAP, QUEUE, SPLIT)
    uses = frozenset({"arrival_s", "steps", "gpus", "gpu_choices"})

    def route(self, knobs: Knobs) -> Route:
        reason = "configurations that the relaxed programme's reduced costs rule out are not given to the solver"
        return Route("other route", NAME, reason)

    def stated(self, snapshot: Snapshot, memory: Memory, knobs: Knobs) -> StatedProblem:
        """The problem whose optimum this decision has."""
        return StatedProblem(
            Sia(),
            SiaInstance.from_snapshot(snapshot, knobs, _everything(snapshot)),
            knobs,
            Solver(gap=float(knobs["gap"])),
        )

    def timing(self, knobs: Knobs) -> Timing:
        return Timing(float(knobs["round_s"]))

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        began = time.perf_counter()
        free_gpus = _everything(snapshot)
        data = SiaInstance.from_snapshot(snapshot, knobs, free_gpus)
        build_s = time.perf_counter() - began
        solver = Solver(gap=float(knobs["gap"]))
        chosen, solved = (_as_stated if stood_in() else choose)(data, power_of(knobs), float(knobs["lambda_n"]), solver)
        chosen = chosen[_order(snapshot, data.job[chosen], knobs["queue"])]
        placed = _place(snapshot, data, chosen, free_gpus, split=bool(knobs["split"]))
        leases = snapshot.leases
        stay = {unit for unit, lease in leases.items() if isinstance(unit, str) and placed.get(unit) == lease.gpus}
        end_s = boundary_after(snapshot.now_s, float(knobs["round_s"]))
        decision = Decision(
            assign=tuple(Assignment(name, gpus, end_s) for name, gpus in placed.items() if name not in stay),
            preempt=frozenset(unit for unit in leases if unit not in stay),
            signals={"gain": {data.jobs[data.job[spot]]: float(data.gain[spot]) for spot in chosen.tolist()}},
            solved=replace(solved, build_s=build_s + solved.build_s),
            why=_why(data, chosen, placed, power_of(knobs)),
        )
        return decision, None


def _order(snapshot: Snapshot, rows: IntArray, queue: str) -> IntArray:
    """The order in which jobs (rows) are placed; ages as believed now (ours)."""
    if queue == "arrival":
        return np.argsort(rows, kind="stable")
    view = job_orders.take(snapshot.jobs, rows)
    return job_orders.by(-latency_ratio(view.waited_s, ages(view, snapshot.belief, snapshot.cluster)))


def _place(
    snapshot: Snapshot, data: SiaInstance, chosen: Iterable[int], free_gpus: FreeGpus, *, split: bool
) -> dict[str, Gpus]:
    """Nodes for those chosen, the largest first; whoever keeps a configuration keeps its nodes if it can.

    split: on more nodes than the fewest that could hold the gang, if there are no others.
    """
    held = _held(snapshot)
    requests = []
    for spot in chosen:
        name, kind, gpus = _key(data, spot)
        most = None if split else snapshot.cluster.fewest_nodes(kind, gpus)
        requests.append(Request(name, int(data.kind[spot]), gpus, held.get(name), most=most))
    found = place(requests, free_gpus, accept=runs_spread(snapshot))
    return {str(unit): gpus for unit, gpus in found.items()}


def _why(data: SiaInstance, chosen: IntArray, placed: Mapping[str, Gpus], power: float) -> dict[str, Reason]:
    """Why those who got nothing wait."""
    wanted = {_key(data, spot)[0]: _key(data, spot) for spot in chosen.tolist()}
    offered = {data.jobs[row] for row in data.job.tolist()}
    able = {data.jobs[row] for row in data.job[np.isfinite(data.cost(power))].tolist()}
    found: dict[str, Reason] = {}
    for name in data.jobs:
        if name in placed:
            continue
        if name in wanted:
            _, kind, gpus = wanted[name]
            text = "the GPUs left to it are on nodes where it cannot run together"
            found[name] = Reason("no_nodes", text, {"type": kind, "gpus": float(gpus)})
        elif name in offered and name not in able:
            found[name] = Reason("restart", "a restart would take all of its gain: its restart factor is still 0")
        elif name not in able:
            found[name] = Reason("no_configuration", "none of its sizes runs on the GPUs that are up")
        else:
            found[name] = Reason("not_chosen", "the GPUs gain more with others")
    return found


BINDING = {
    "not_chosen": "on the GPUs that there are the configurations of the others cost least in all (code)",
    "no_configuration": "none of its sizes runs on the GPUs that are up",
    "restart": "its restart factor is 0, as it has hardly run, and another configuration would cost it all of its gain",
    "no_nodes": "it has a configuration, but the GPUs left are on nodes where it cannot run together (placement)",
}
"""What decided, by the code of the scheduler's reason."""


def _explain(job_at: JobAtTime) -> Explained:
    """The gains of those who were chosen, and what became of a job that has nothing."""
    rule = (
        "Every round each job is given one configuration or none, by solving a problem: the gains of all, to a power, "
        "count together under the capacity of each type."
    )
    order = job_at.order("gain", "gain over its slowest configuration", "", "")
    said = job_at.said
    binding = BINDING.get(said.code, "") if said is not None and job_at.state == "waiting" else ""
    return Explained((rule,), binding=binding, order=order)


ROOM = Room(
    name="sia",
    title="Sia",
    formulations=(Sia(),),
    schedulers=(SiaScheduler(),),
    explanations={"sia": _explain},
)
