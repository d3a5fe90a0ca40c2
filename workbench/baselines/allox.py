r"""AlloX: jobs are matched to accelerator types and places in line, so that they end soonest on average.

min   sum_m sum_j sum_k (k p_mj + t_m) x_mjk                   (code)  total_completion
s.t.  sum_j sum_k x_mjk = 1  for all m        (code)  matched
      sum_m x_mjk <= c_j     for all j, k     (code)  places
      x_mjk in {0, 1}        for all m, j, k  (code)  match

Source: Le et al., EuroSys 2020, as Gavel compares itself with it (section 7.3; its policies/allox.py). A job of n_m
steps takes p_mj = n_m / T_mj on type j. On a GPU's line, the job that is k-th from the end holds up itself and the
k - 1 behind it, so it adds k p_mj to the sum of completion times, and the t_m it has waited already. Each of a type's
c_j GPUs is a line. A job that is first in its line runs.

The constraints are those of an assignment problem, which `scipy.optimize.linear_sum_assignment` solves directly
(`match`); the model states it. A job has no x_mjk where it cannot run. No place beyond ceil(M / c_j) is needed: a job
there could move up to a free one.

(ours): AlloX is for jobs of one GPU. A gang of z_m counts as z_m times as long, p_mj = z_m n_m / T_mj, and gets its
GPUs together at its turn, or is passed by who fits. The scheduler matches all jobs to all GPUs anew each time; that
code matches waiting jobs to the GPUs that are free (knob `preemptive` off), and a long job may be stuck on a slow type.
With the preset `authors` so does this one, at most every 1920 s, and a job that is matched keeps a share of 1 of its
type in the rounds of Gavel's simulator.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray, IntArray, by_name, fixed
from workbench.base.errors import InputError
from workbench.base.labels import listed
from workbench.base.scipy_alone import load_scipy
from workbench.base.units import clock
from workbench.baselines.mechanisms import line_decision
from workbench.baselines.mechanisms.explain import verb
from workbench.baselines.mechanisms.line_scheduler import PRESET, THROUGH, LineScheduler, in_rounds
from workbench.baselines.mechanisms.priority import PolicyAnswer
from workbench.baselines.mechanisms.priority.explain import explain
from workbench.scheduling.contract import Formulation, Knobs, Memory, Result, Route, StatedProblem
from workbench.scheduling.decision import Assignment, Decision, Reason, Shares, Unit
from workbench.scheduling.declared_room import Room
from workbench.scheduling.knob import Knob
from workbench.scheduling.modelling import pyo
from workbench.scheduling.placement import FreeGpus, Gpus, Request, place, runs_spread
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import SolveReport, SolverFailedError, solve_model, stood_in
from workbench.simulation.job_at_time import HOLDS, Explained, Fact, JobAtTime, Order

NAME = "allox"
PLACE_ON = "place_on_"
"""Signals by type: the places from the end that jobs have in its lines."""
ALPHA = Knob(
    "alpha",
    1.0,
    "Part of the jobs to be matched that is looked at, the longest there first; never fewer than there are GPUs",
    source="code",
    minimum=0.0,
    maximum=1.0,
)
PREEMPTIVE = Knob(
    "preemptive",
    True,
    "Match all jobs to all GPUs anew, running ones too (otherwise running jobs keep theirs, and those that wait are "
    "matched to the GPUs that are free)",
)


@dataclass(frozen=True, eq=False)
class AlloxInstance:
    """The numbers of one matching. All arrays are read-only.

    speed: (jobs x types) steps/s of the gang, 0 where it cannot run; steps: (jobs,) left; waited_s: (jobs,) since
    arrival; gang: (jobs,) GPUs; capacity: (types,) whole numbers of GPUs. Raises InputError that names the job or type;
    a job that can run on no type whose GPUs its gang fits into is an error too.
    """

    jobs: tuple[str, ...]
    types: tuple[str, ...]
    speed: FloatArray
    steps: FloatArray
    waited_s: FloatArray
    gang: FloatArray
    capacity: IntArray

    def __post_init__(self) -> None:
        rows, columns = len(self.jobs), len(self.types)
        shapes = {"speed": (rows, columns), "steps": (rows,), "waited_s": (rows,), "gang": (rows,)}
        least = {"steps": "above 0", "gang": ">= 1"}
        for field, shape in {**shapes, "capacity": (columns,)}.items():
            array = np.array(getattr(self, field), dtype=float)
            if array.shape != shape:
                raise InputError(f"allox data, {field}", array.shape, f"an array of shape {shape}")
            names = self.types if field == "capacity" else self.jobs
            low = array <= 0 if field == "steps" else array < (1 if field == "gang" else 0)
            bad = ~np.isfinite(array) | low | (field == "capacity") & (array != np.rint(array))
            if bad.any():
                spot = tuple(np.argwhere(bad)[0])
                kind = " whole" if field == "capacity" else ""
                expected = f"a finite{kind} number {least.get(field, '>= 0')}"
                raise InputError(f"{names[spot[0]]}, {field}", float(array[spot]), expected)
            object.__setattr__(self, field, fixed(array.astype(np.int64) if field == "capacity" else array))
        for name, able in zip(self.jobs, self.can_run, strict=True):
            if not able.any():
                raise InputError(f"{name}, speed", "none", "a type with GPUs enough on which it runs")

    @property
    def can_run(self) -> BoolArray:
        """(jobs x types) whether a job runs there and its gang fits."""
        able: BoolArray = (self.speed > 0) & (self.gang[:, None] <= self.capacity)
        return able

    @property
    def time_s(self) -> FloatArray:
        """(jobs x types) `p_mj`, infinite where the job cannot run."""
        with np.errstate(divide="ignore"):
            return np.where(self.can_run, (self.gang * self.steps)[:, None] / self.speed, np.inf)

    @property
    def places(self) -> list[range]:
        """Places from the end, from 1, that each type needs."""
        able = np.count_nonzero(self.can_run, axis=0).tolist()
        return [range(1, (math.ceil(n / c) if c else 0) + 1) for n, c in zip(able, self.capacity.tolist(), strict=True)]


class Matching(NamedTuple):
    """Of each job: type, GPU of the type, and place from the end of that GPU's line, from 1."""

    kind: IntArray
    gpu: IntArray
    place: IntArray

    def first(self) -> BoolArray:
        """(jobs,) whether the job is first in its line."""
        line = np.column_stack([self.kind, self.gpu])
        _, number = np.unique(line, axis=0, return_inverse=True)
        last = np.zeros(number.max(initial=-1) + 1, dtype=np.int64)
        np.maximum.at(last, number.ravel(), self.place)
        first: BoolArray = self.place == last[number.ravel()]
        return first

    def total_s(self, data: AlloxInstance) -> float:
        """Sum of completion times, counted from each job's arrival."""
        rows = np.arange(len(data.jobs))
        return float((self.place * data.time_s[rows, self.kind] + data.waited_s).sum())


def match(data: AlloxInstance, every_place: bool = False) -> Matching:
    """The matching of the least total time, by the assignment problem over single GPUs.

    every_place: as many places as jobs on each GPU, as the authors' code has them: with the types by name, the matching
    is theirs among equally good ones.
    """
    load_scipy()  # when needed: it takes a part of a second
    from scipy.optimize import linear_sum_assignment

    lines = [range(1, len(data.jobs) + 1)] * len(data.types) if every_place else data.places
    columns = sorted((k, j, gpu) for j, places in enumerate(lines) for k in places for gpu in range(data.capacity[j]))
    if not data.jobs:
        return Matching(*(np.zeros(0, dtype=np.int64) for _ in range(3)))
    k, kind, gpu = np.array(columns, dtype=np.int64).T
    _, column = linear_sum_assignment(k * data.time_s[:, kind] + data.waited_s[:, None])
    return Matching(kind[column], gpu[column], k[column])


def build(data: AlloxInstance) -> pyo.ConcreteModel:
    """Return the unsolved assignment problem, over types instead of single GPUs."""
    m = pyo.ConcreteModel("allox")
    lines = [(kind, k) for kind, places in zip(data.types, data.places, strict=True) for k in places]
    time_s = {
        (job, kind): float(value)
        for job, row in zip(data.jobs, data.time_s, strict=True)
        for kind, value in zip(data.types, row, strict=True)
        if np.isfinite(value)
    }
    m.JOBS = pyo.Set(initialize=data.jobs, doc="m | jobs")
    m.TYPES = pyo.Set(initialize=data.types, doc="j | accelerator types")
    m.LINES = pyo.Set(dimen=2, initialize=lines, doc="j,k | places in line by type, counted from the end")

    m.time_s = pyo.Param(time_s.keys(), initialize=time_s, doc="p_mj | processing time | s")
    m.waited_s = pyo.Param(m.JOBS, initialize=by_name(data.jobs, data.waited_s), doc="t_m | time since arrival | s")
    gpus = dict(zip(data.types, data.capacity.tolist(), strict=True))
    m.gpus = pyo.Param(m.TYPES, initialize=gpus, doc="c_j | GPUs of a type | GPUs")
    choices = [(job, kind, k) for job in data.jobs for kind, k in lines if (job, kind) in time_s]
    m.match = pyo.Var(choices, domain=pyo.Binary, doc="(code) x_mjk | whether a job is k-th from the end on a type | 1")
    of_job: dict[str, list[tuple[str, str, int]]] = {job: [] for job in data.jobs}
    of_line: dict[tuple[str, int], list[tuple[str, str, int]]] = {line: [] for line in lines}
    for choice in choices:
        of_job[choice[0]].append(choice)
        of_line[choice[1:]].append(choice)

    @m.Objective(sense=pyo.minimize, doc="(code) sum of completion times, from each job's arrival")
    def total_completion(m):
        return pyo.quicksum((k * m.time_s[job, j] + m.waited_s[job]) * m.match[job, j, k] for job, j, k in choices)

    @m.Constraint(m.JOBS, doc="(code) every job has one place")
    def matched(m, job):
        return pyo.quicksum(m.match[choice] for choice in of_job[job]) == 1

    @m.Constraint(m.LINES, doc="(code) a type has as many lines as GPUs")
    def places(m, kind, k):
        if not of_line[kind, k]:
            return pyo.Constraint.Skip
        return pyo.quicksum(m.match[choice] for choice in of_line[kind, k]) <= m.gpus[kind]

    return m


class Allox(Formulation[AlloxInstance]):
    """Who runs where, for the least mean completion time."""

    name = NAME
    title = "AlloX: the least sum of completion times"
    reading = (
        "The objective is the sum over the jobs of place_from_end x seconds on their type + seconds waited. "
        "A job with a share of 1 is first in the line of one GPU; the others of the type come after it."
    )

    def data(self, snapshot: Snapshot, knobs: Knobs) -> AlloxInstance:
        """The arrived jobs and the GPUs that are up."""
        return _instance(snapshot, list(range(len(snapshot.jobs))), snapshot.capacity)

    def build(self, data: AlloxInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model."""
        return build(data)

    def read(self, model: pyo.ConcreteModel, data: AlloxInstance, knobs: Knobs) -> Result:
        """Types, places and who is first; raises SolverFailedError for values that are no matching."""
        return _result(data, read_matching(model, data))

    def trivial(self, data: AlloxInstance, knobs: Knobs) -> Result | None:
        """No jobs, nothing to match."""
        return None if data.jobs else _result(data, match(data))


def read_matching(model: pyo.ConcreteModel, data: AlloxInstance) -> Matching:
    """The matching of a solved model; jobs at equal places stand on the type's GPUs in their order.

    Where it is asked what a changed row would bring, a job may have no place (0), and a type more lines than GPUs.
    """
    at = {name: row for row, name in enumerate(data.jobs)}
    kinds = {name: column for column, name in enumerate(data.types)}
    found = np.zeros((3, len(data.jobs)), dtype=np.int64)
    chosen = [index for index in model.match if model.match[index].value > 0.5]
    taken: dict[tuple[str, int], int] = {}
    for job, kind, k in sorted(chosen, key=lambda index: at[index[0]]):
        found[:, at[job]] = kinds[kind], taken.setdefault((kind, k), 0), k
        taken[kind, k] += 1
    over = [line for line, count in taken.items() if count > data.capacity[kinds[line[0]]]]
    if not stood_in() and (sorted(at[job] for job, _, _ in chosen) != list(range(len(data.jobs))) or over):
        raise SolverFailedError(NAME, over or len(chosen), "one place for every job, on no more lines than GPUs")
    return Matching(*found)


def _result(data: AlloxInstance, found: Matching) -> Result:
    first = found.first().tolist()
    allocation = {job: dict.fromkeys(data.types, 0.0) for job in data.jobs}
    for job, kind, runs in zip(data.jobs, found.kind.tolist(), first, strict=True):
        allocation[job][data.types[kind]] = float(runs)
    places = dict(zip(data.jobs, found.place.tolist(), strict=True))
    kinds = {job: data.types[kind] for job, kind in zip(data.jobs, found.kind.tolist(), strict=True)}
    values = {"allocation": allocation, "matched_type": kinds, "place_from_end": places}
    return Result("feasible", found.total_s(data), "min", "s", values)


def _instance(snapshot: Snapshot, rows: list[int], capacity: IntArray, types: Sequence[str] = ()) -> AlloxInstance:
    """The numbers of the jobs at some positions; speeds as believed. types: in another order than the cluster's."""
    jobs = snapshot.jobs
    column = [snapshot.types.index(kind) for kind in types or snapshot.types]
    return AlloxInstance(
        jobs=tuple(jobs.names[row] for row in rows),
        types=tuple(snapshot.types[kind] for kind in column),
        speed=snapshot.belief.speeds(jobs)[np.ix_(rows, column)],
        steps=jobs.steps_left[rows],
        waited_s=snapshot.now_s - jobs.arrival_s[rows],
        gang=jobs.gpus[rows].astype(float),
        capacity=capacity[column],
    )


class AlloxScheduler(LineScheduler):
    """Matches jobs to GPUs; who is first in a line starts."""

    name = NAME
    title = "AlloX: the least mean completion time"
    knobs = (PRESET, line_decision.ROUND_S, ALPHA, PREEMPTIVE, THROUGH)
    presets = {"defaults": {}, "authors": {"through": "gavel_rounds", "preemptive": False}}

    def route(self, knobs: Knobs) -> Route:
        return Route("other route", NAME, "jobs are matched to places in the lines of GPUs by the Hungarian method")

    def stated(self, snapshot: Snapshot, memory: Memory, knobs: Knobs) -> StatedProblem | None:
        """The matching of the jobs that wait for the GPUs that are free."""
        if in_rounds(knobs):
            *_, data = _line(snapshot, float(knobs["alpha"]), _kept(snapshot, knobs, memory.policy))
        else:
            *_, data = _to_match(snapshot, bool(knobs["preemptive"]), float(knobs["alpha"]))
        return StatedProblem(Allox(), data, Allox().settle({}))

    def serve(self, snapshot: Snapshot, knobs: Knobs, rng: np.random.Generator) -> Decision:
        return _serve(snapshot, bool(knobs["preemptive"]), float(knobs["alpha"]))

    def shares(self, snapshot: Snapshot, knobs: Knobs, memory: Memory, rng: np.random.Generator) -> PolicyAnswer:
        return matched_shares(snapshot, float(knobs["alpha"]), _kept(snapshot, knobs, memory))


def _kept(snapshot: Snapshot, knobs: Knobs, memory: Memory) -> dict[str, str]:
    """{job: type} of those that keep what they have."""
    held = {} if knobs["preemptive"] else memory or {}
    return {job: kind for job, kind in held.items() if job in snapshot.jobs.at}


def matched_shares(snapshot: Snapshot, alpha: float, kept: Mapping[str, str]) -> PolicyAnswer:
    """Share 1 of its type for every job that is first in its line, and for those of `kept`, {job: type}."""
    jobs, (left, held, data) = snapshot.jobs, _line(snapshot, alpha, kept)
    found = _as_stated(data) if stood_in() else match(data, every_place=True)
    for row in _down_the_line(found):
        kind, gang = data.types[found.kind[row]], int(data.gang[row])
        if found.first()[row] and gang <= left[kind]:
            left[kind] -= gang
            held[data.jobs[row]] = kind
    values = np.zeros((len(jobs), len(snapshot.types)))
    for job, kind in held.items():
        values[jobs.at[job], snapshot.types.index(kind)] = 1.0
    return PolicyAnswer(Shares(jobs.names, snapshot.types, values), _told(data, found), held)


def _line(
    snapshot: Snapshot, alpha: float, kept: Mapping[str, str]
) -> tuple[dict[str, int], dict[str, str], AlloxInstance]:
    """In rounds: the GPUs that are left by type, who keeps its type, and whom the matching is of, types by name."""
    jobs, left = snapshot.jobs, dict(zip(snapshot.types, snapshot.capacity.tolist(), strict=True))
    held = dict[str, str]()
    for job, kind in kept.items():
        gang = int(jobs.gpus[jobs.at[job]])
        if gang <= left[kind]:
            left[kind] -= gang
            held[job] = kind
    free = np.array([left[kind] for kind in snapshot.types], dtype=np.int64)
    rows = _looked_at(snapshot, [row for row, name in enumerate(jobs.names) if name not in held], free, alpha)
    return left, held, _instance(snapshot, rows, free, sorted(snapshot.types))


def _to_match(
    snapshot: Snapshot, preemptive: bool, alpha: float
) -> tuple[FreeGpus, dict[Unit, Gpus], list[int], AlloxInstance]:
    """The GPUs that are left, who goes on, and whom the matching is of: their rows, and its numbers."""
    free_gpus = FreeGpus(snapshot.nodes, (lease.gpus for lease in snapshot.leases.values()) if preemptive else ())
    if preemptive:  # only who runs on a drained node is no part of it
        down = snapshot.nodes.down
        stay = {unit: lease.gpus for unit, lease in snapshot.leases.items() if not down.isdisjoint(lease.gpus)}
        running = {*stay}
    else:
        stay = _renewed(snapshot, free_gpus)
        running = {*snapshot.leases, *stay}
    waiting = [row for row, name in enumerate(snapshot.jobs.names) if name not in running]
    capacity = np.array(free_gpus.left(len(snapshot.types)), dtype=np.int64)
    rows = _looked_at(snapshot, waiting, capacity, alpha)
    return free_gpus, stay, rows, _instance(snapshot, rows, capacity)


def _serve(snapshot: Snapshot, preemptive: bool, alpha: float) -> Decision:
    """Who runs keeps its GPUs, or with `preemptive` those that the matching leaves it."""
    free_gpus, stay, rows, data = _to_match(snapshot, preemptive, alpha)
    found, capacity = _as_stated(data) if stood_in() else match(data), data.capacity
    wanted = _in_line(snapshot, rows, found)
    placed = place(_first(wanted, capacity), free_gpus, keep_first=True, accept=runs_spread(snapshot))
    for request in wanted:  # GPUs that a gang could not take
        if request.unit not in placed:
            placed |= place([request], free_gpus, accept=runs_spread(snapshot))
    unchanged = {unit for unit, lease in snapshot.leases.items() if unit in stay or placed.get(unit) == lease.gpus}
    kinds = {request.unit: snapshot.types[request.kind] for request in wanted}
    fresh = [unit for unit in placed if unit not in unchanged]
    return Decision(
        assign=tuple(
            Assignment(unit, gpus, math.inf) for unit, gpus in (*stay.items(), *placed.items()) if unit not in unchanged
        ),
        preempt=frozenset(snapshot.leases) - unchanged if preemptive else frozenset(),
        signals=_lines(data, found),
        solved=_told(data, found),
        why={
            str(unit): Reason("first_in_line", f"first in a line of {kinds[unit]}", {"type": kinds[unit]})
            for unit in fresh
        }
        | _behind(data, found, {str(unit) for unit in placed}),
    )


def _as_stated(data: AlloxInstance) -> Matching:
    """The matching by the model, to ask what a changed row would bring."""
    model = build(data)
    solve_model(model)
    return read_matching(model, data)


def _told(data: AlloxInstance, found: Matching) -> SolveReport | None:
    """What the matching comes to; nothing where nobody was to be matched, or another's answer leaves some without."""
    return SolveReport("", found.total_s(data)) if data.jobs and not stood_in() else None


def _lines(data: AlloxInstance, found: Matching) -> dict[str, dict[str, float]]:
    """The place from the end that each job has in the lines of its type, by type, and its time there."""
    if not data.jobs:
        return {}
    lines: dict[str, dict[str, float]] = {}
    for job, kind, k in zip(data.jobs, found.kind.tolist(), found.place.tolist(), strict=True):
        lines.setdefault(PLACE_ON + data.types[kind], {})[job] = float(k)
    return {**lines, "matched_s": by_name(data.jobs, data.time_s[np.arange(len(data.jobs)), found.kind])}


def _behind(data: AlloxInstance, found: Matching, placed: Collection[str]) -> dict[str, Reason]:
    """Where those stand who got no GPUs."""
    why = {}
    for row, (job, kind, k) in enumerate(zip(data.jobs, found.kind.tolist(), found.place.tolist(), strict=True)):
        if job not in placed:
            name, seconds = data.types[kind], float(data.time_s[row, kind])
            text = f"matched to {name}, {clock(seconds)} of one GPU there, as number {k} from the end of its line"
            why[job] = Reason("in_line", text, {"type": name, "place_from_end": float(k), "seconds": seconds})
    return why


def _renewed(snapshot: Snapshot, free_gpus: FreeGpus) -> dict[Unit, Gpus]:
    """Who goes on where its assignment ends now; takes those GPUs."""
    ended = {unit: lease.gpus for unit, lease in snapshot.ended.items()}
    return {
        unit: gpus for unit, gpus in ended.items() if free_gpus.keep(free_gpus.kind_of(gpus), sum(gpus.values()), gpus)
    }


def _in_line(snapshot: Snapshot, rows: list[int], found: Matching) -> list[Request]:
    """What the jobs at some positions want by the matching, the first in line first."""
    jobs = snapshot.jobs
    held = {unit: lease.gpus for unit, lease in (*snapshot.leases.items(), *snapshot.ended.items())}
    return [
        Request(jobs.names[rows[i]], int(found.kind[i]), int(jobs.gpus[rows[i]]), held.get(jobs.names[rows[i]]))
        for i in _down_the_line(found)
    ]


def _down_the_line(found: Matching) -> list[int]:
    """The jobs of a matching that have a place, the first in line first."""
    return sorted(np.flatnonzero(found.place).tolist(), key=lambda i: (-found.place[i], i))


def _looked_at(snapshot: Snapshot, waiting: list[int], capacity: IntArray, alpha: float) -> list[int]:
    """Of the jobs that wait for a place, and fit into the GPUs of a type on which they run, the longest there."""
    speed, gangs = snapshot.belief.speeds(snapshot.jobs), snapshot.jobs.gpus
    fits = (speed > 0) & (gangs[:, None] <= capacity)
    rows = [row for row in waiting if fits[row].any()]
    return rows[: max(int(capacity.sum()), int(alpha * len(rows)))]


def _first(wanted: list[Request], capacity: IntArray) -> list[Request]:
    """Those at the front of each type's lines for whom there are GPUs."""
    left, first = capacity.tolist(), []
    for request in wanted:
        if request.gpus <= left[request.kind]:
            left[request.kind] -= request.gpus
            first.append(request)
    return first


def _explain(job_at: JobAtTime) -> Explained:
    """Through Gavel's rounds by priority, else see `_explain_line`."""
    return explain(job_at) if in_rounds(job_at.run.knobs) else _explain_line(job_at)


def _explain_line(job_at: JobAtTime) -> Explained:
    """The job's place in the lines of its type, its part of the total time, and who comes before it there."""
    rule = (
        "Jobs are matched to GPUs and places in line so that their completion times add up to least; the first of each "
        "line runs."
    )
    kind, order = _line_of(job_at)
    seconds, since_s = job_at.signal("matched_s"), float(job_at.row["arrival_s"])
    if order is None or seconds is None or job_at.job not in order.values:
        gone = "the matching has not had it: there were no GPUs to be matched, or it was not among the longest there"
        return Explained((rule,), binding=gone if job_at.state == "waiting" else "")
    place = order.values[job_at.job]
    facts = (
        Fact("matched to", kind),
        Fact("place from the end of its line, k", place),
        Fact("time there on one GPU, p_mj", seconds, "s"),
        Fact("its part of the total, k p_mj + t_m", place * seconds + order.at_s - since_s, "s"),
    )
    if job_at.state in HOLDS:
        return Explained((rule,), facts, "the matching has it first in a line of its GPUs", order)
    before = [name for name in order.values if order.before(name, job_at.job)]
    ahead, line = ([name for name in before if (name in job_at.waiting) == waits] for waits in (False, True))
    kept = dict.fromkeys(each.job for each in job_at.others if each.job not in ahead)
    parts = []
    if ahead:
        too = f", and {listed(line)} {verb('wait', line)} before it too" if line else ""
        are = "is" if len(ahead) == 1 else "are"
        parts.append(f"(code) places: on {kind} {listed(ahead)} {are} before it in line{too}")
    if kept and not job_at.run.knobs["preemptive"]:
        parts.append(f"{listed(kept)} had GPUs, and who runs keeps its GPUs")
    binding = "; ".join(parts) or f"the GPUs of {kind} that are left do not take its gang together"
    return Explained((rule,), facts, binding, order)


def _line_of(job_at: JobAtTime) -> tuple[str, Order | None]:
    """The type that the job was last matched to, and the jobs in the lines of that type."""
    found = []
    for kind in job_at.usable:
        signal = job_at.signals(PLACE_ON + kind)
        if signal is not None and job_at.job in signal[1]:
            found.append((signal[0], kind, signal[1]))
    if not found:
        return "", None
    at_s, kind, places = max(found, key=lambda each: each[0])
    order = Order(f"place from the end of a line of {kind}", "", places, "highest", at_s, job_at.by_arrival)
    return kind, order


ROOM = Room(
    name="allox",
    title="AlloX",
    formulations=(Allox(),),
    schedulers=(AlloxScheduler(),),
    explanations={"allox": _explain},
)
