r"""3Sigma: every cycle, which waiting job starts when and on which type, by a MILP over start times.

max   sum_i sum_o v_io x_io                                       (3Sigma)  expected_value
s.t.  sum_o x_io <= 1                               for all i     (3Sigma)  one_start
      sum_i sum_{o in O_j} g_io h_iot x_io <= c_jt  for all j, t  (3Sigma)  capacity
      x_io in {0, 1}                                for all i, o  (3Sigma)  start

Source: Park et al., 3Sigma (EuroSys 2018), as Chronus compares itself with it (section 4.3): jobs with deadlines are
not preempted, best-effort jobs may be, a cycle is 60 s. An option o is a type and a slot of time in which the job would
start. `v_io` is what that is worth on average over the job's run time, `h_iot` the chance that the job would then still
hold its `g_io` GPUs in slot t. In the capacity of type j count the options `O_j` of that type; `c_jt` is what running
jobs with deadlines are expected to leave of its GPUs. Only starts in the first slot are executed; then all is planned
anew.

A job with a deadline (its first: strict deadlines only) has one option for each type and slot in which it may still be
in time, worth its first reward times the chance of that. (ours): an option is worth `early` less in the last slot than
in the first, since a plan that puts jobs off gains nothing here. A best-effort job is planned for the first slot only,
where it may be preempted after it; it is worth `best_effort` over the slots until it would be done, and `keep` more if
it runs already, on the type it runs on. So is a job with a deadline that can no longer be in time. Run times are
believed ones, uniform around their mean with a deviation of `runtime_cv` (3Sigma learns distributions from history; by
default they are known here). Of the waiting jobs the `most_jobs` most urgent are planned: those with deadlines by
laxity, then best effort, shortest first. Who is chosen is placed on the fewest nodes, those with deadlines first; who
finds none waits. A best-effort job that is not chosen keeps GPUs that nobody else gets, and best-effort jobs get what
the plan leaves idle now. A plan stands for a slot in which no job comes or goes and no node fails.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import compress, product
from typing import Any

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.base.errors import counted
from workbench.base.round_times import LONGEST_ROUND_S
from workbench.baselines.mechanisms.three_sigma_instance import PROBLEM, PlannedCycle, ThreeSigmaInstance, held_kinds
from workbench.scheduling.contract import (
    MODEL,
    Formulation,
    Knobs,
    Memory,
    Result,
    Route,
    Scheduler,
    StatedProblem,
    Timing,
)
from workbench.scheduling.decision import Assignment, Decision, Reason, Unit
from workbench.scheduling.declared_room import Room
from workbench.scheduling.job_orders import holds
from workbench.scheduling.knob import Knob
from workbench.scheduling.modelling import parameter, pyo, renumber
from workbench.scheduling.placement import FreeGpus, Gpus, Request, place, runs_spread
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import (
    KEPT,
    Columns,
    Programme,
    Solver,
    SolveReport,
    SolverFailedError,
    answer,
    solve_matrix,
    stood_in,
)
from workbench.simulation.job_at_time import Explained, JobAtTime

NAME = "three_sigma"
ROUND_S = Knob("round_s", 60.0, "Length of a cycle", "s", "paper", minimum=1.0, maximum=LONGEST_ROUND_S, main=True)
GAP = Knob("gap", 0.01, "How far from the best a plan may be, relative to its worth", minimum=0.0, maximum=0.5)
NODE_LIMIT = Knob("node_limit", 500, "Nodes of the search tree after which a plan is taken", kind="int", minimum=1)

OPTIONS = """i,o | options of each job: type, slot of its start
O_j | those of type j | | of_type"""


_Key = tuple[str, str, int]
"""An option: its job, its type, the slot of its start."""

_Slot = tuple[str, int]
"""A type and a slot of time."""


def build(data: ThreeSigmaInstance) -> pyo.ConcreteModel:
    """Return the unsolved MILP."""
    m = pyo.ConcreteModel(NAME)
    m.held, m.terms, m.data = [], {}, data
    add_numbers(m, data)
    m.of_type = {j: list(dict.fromkeys(key[1:] for key in m.worths if key[1] == j)) for j in data.types}
    m.JOBS = pyo.Set(initialize=data.jobs, doc="i | jobs")
    m.TYPES = pyo.Set(initialize=data.types, doc="j | accelerator types")
    m.SLOTS = pyo.Set(initialize=range(m.slots), doc="t | slots of time, the first one begins now")
    m.OPTIONS = pyo.Set(dimen=3, initialize=list(m.worths), doc=OPTIONS)
    m.value = parameter(m.OPTIONS, numbers=m.worths, doc="v_io | what an option is worth, expected | 1")
    m.gpus = parameter(m.OPTIONS, numbers=m.gangs, doc="g_io | GPUs of an option | GPUs")
    m.hold = parameter(pyo.SetOf(m.held), numbers=m.chances, doc="h_iot | chance that it holds them in a slot | 1")
    m.free_gpus = parameter(m.TYPES, m.SLOTS, numbers=m.left, doc="c_jt | GPUs expected to be left of a type | GPUs")
    m.start = pyo.Var(m.OPTIONS, domain=pyo.Binary, initialize=0, doc="(3Sigma) x_io | whether a job starts so | 1")
    for variable in m.start.values():
        variable.stale = True  # not the values of a solver

    @m.Objective(sense=pyo.maximize, doc="(3Sigma) summed worth of what starts")
    def expected_value(m):
        return pyo.quicksum(m.value[key] * m.start[key] for key in m.OPTIONS)

    @m.Constraint(m.JOBS, doc="(3Sigma) a job starts at most once")
    def one_start(m, i):
        return pyo.quicksum(m.start[key] for key in m.of_job[i]) <= 1 if i in m.of_job else pyo.Constraint.Skip

    @m.Constraint(m.TYPES, m.SLOTS, doc="(3Sigma) the GPUs expected to be held are there")
    def capacity(m, j, t):
        if (j, t) not in m.holding:
            return pyo.Constraint.Skip
        used = (m.gpus[key] * m.hold[(*key, t)] * m.start[key] for key in m.holding[j, t])
        return pyo.quicksum(used) <= m.free_gpus[j, t]

    return m


def add_numbers(m: pyo.ConcreteModel, data: ThreeSigmaInstance) -> None:
    """What the parameters are of, and the rules look up: the options of each job, and who holds GPUs when."""
    numbers = zip(data.job.tolist(), data.kind.tolist(), data.slot.tolist(), strict=True)
    keys = [(data.jobs[job], data.types[kind], slot) for job, kind, slot in numbers]
    m.slots = data.free_gpus.shape[1]
    m.worths, m.gangs = (dict(zip(keys, each.tolist(), strict=True)) for each in (data.value, data.gpus))
    m.left = dict(zip(product(data.types, range(m.slots)), data.free_gpus.ravel().tolist(), strict=True))
    m.of_job, m.holding, m.chances = {}, {}, {}
    for key in keys:
        m.of_job.setdefault(key[0], []).append(key)
    option, slot = np.nonzero(data.hold > 0)
    for at, t, chance in zip(option.tolist(), slot.tolist(), data.hold[option, slot].tolist(), strict=True):
        key = keys[at]
        m.chances[(*key, t)] = chance
        m.holding.setdefault((key[1], t), []).append(key)
    m.held[:] = m.chances


def restate(m: pyo.ConcreteModel, data: ThreeSigmaInstance) -> None:
    """Let the model of another cycle, of as many slots of the same types, state this one."""
    from workbench.scheduling.solvers.restating import linear, renewed

    before, had, holding, left = m.worths, m.of_job, m.holding, m.left
    add_numbers(m, data)
    for key in before.keys() - m.worths.keys():
        del m.start[key]
    for part, members in ((m.JOBS, data.jobs), (m.OPTIONS, m.worths)):
        part.clear()
        part.update(members)
    for part, numbers in ((m.value, m.worths), (m.gpus, m.gangs), (m.hold, m.chances), (m.free_gpus, m.left)):
        renumber(part, numbers)
    held, made = m.start._data, m.start._getitem_when_not_present  # Pyomo's own way looks at each index first
    terms = ((worth, held[key] if key in held else made(key)) for key, worth in m.worths.items())
    m.expected_value.set_value(linear(terms))  # as the rule does
    renewed(m.one_start, same={job for job in data.jobs if m.of_job.get(job) == had.get(job)})
    place, keys, last = {key: at for at, key in enumerate(before)}, list(m.worths), m.data
    now = [at for at, key in enumerate(keys) if key in place]
    then = [place[keys[at]] for at in now]
    same = (data.gpus[now] == last.gpus[then]) & (data.hold[now] == last.hold[then]).all(axis=1)
    m.data = data
    _refill(m, {keys[at] for at in compress(now, same.tolist())}, holding, left)


def _refill(m: Any, stay: set[_Key], holding: Mapping[_Slot, list[_Key]], left: Mapping[_Slot, float]) -> None:
    """Make `capacity` anew as its rule does, which need not be asked for the terms that stay, nor rows of only these.

    stay: options that hold what they held; holding, left: those of the cycle before.
    """
    from pyomo.core.expr import LinearExpression, MonomialTermExpression

    for at in holding.keys() - m.holding.keys():
        del m.capacity[at]
    for at, keys in m.holding.items():
        before = m.terms.get(at, [])
        known = dict(zip(holding.get(at, ()), before, strict=False))
        terms = [
            known[key]
            if key in stay and key in known
            else MonomialTermExpression((m.gangs[key] * m.chances[*key, at[1]], m.start._data[key]))
            for key in keys
        ]
        if at in holding and left[at] == m.left[at] and list(map(id, terms)) == list(map(id, before)):
            continue
        m.terms[at] = terms
        if at in holding:
            m.capacity[at].set_value(LinearExpression(terms) <= m.left[at])
        else:
            m.capacity.add(at, LinearExpression(terms) <= m.left[at])
    m.terms = {at: m.terms[at] for at in m.holding}


def assemble(data: ThreeSigmaInstance) -> Programme:
    """The same programme as arrays; it begins from nobody starting."""
    count, slots = data.hold.shape
    option, t = np.nonzero(data.hold > 0)
    jobs, job = np.unique(data.job, return_inverse=True)
    held, place = np.unique(data.kind[option] * slots + t, return_inverse=True)
    rows = {"one_start": np.arange(len(jobs)), "capacity": len(jobs) + np.arange(len(held))}
    return Programme(
        cost=data.value,
        matrix=Columns.of(
            np.concatenate([job, len(jobs) + place]),
            np.concatenate([np.arange(count), option]),
            np.concatenate([np.ones(count), data.gpus[option] * data.hold[option, t]]),
            (len(jobs) + len(held), count),
        ),
        row_lower=np.full(len(jobs) + len(held), -np.inf),
        row_upper=np.concatenate([np.ones(len(jobs)), data.free_gpus.ravel()[held]]),
        lower=np.zeros(count),
        upper=np.ones(count),
        integer=np.ones(count, dtype=bool),
        maximise=True,
        start=np.zeros(count),
        name=NAME,
        columns={"start": np.arange(count)},
        rows=rows,
    )


def choose(
    data: ThreeSigmaInstance, solver: Solver | None = None, *, stated: bool = False
) -> tuple[IntArray, SolveReport]:
    """The best options (their numbers), by the arrays, or by what the stated model compiles to."""
    from workbench.scheduling.solvers.restating import restated

    if stated:
        key = NAME, data.types, data.free_gpus.shape[1]
        model, compiled = restated(key, lambda: build(data), lambda model: restate(model, data), start=True)
        how = solver or Solver()
        found = answer(model, compiled, how, lambda programme: solve_matrix(programme, how))
    else:
        found = solve_matrix(assemble(data), solver)
    return _checked(data, np.flatnonzero(found.values > 0.5)), found.solved


def _checked(data: ThreeSigmaInstance, chosen: IntArray) -> IntArray:
    """The options chosen; raises SolverFailedError for a job that starts twice, or more GPUs than there are.

    Where it is asked what a changed row would bring, neither is held against them.
    """
    if stood_in():
        return chosen
    starts = np.bincount(data.job[chosen], minlength=len(data.jobs))
    if starts.max(initial=0) > 1:
        raise SolverFailedError(NAME, data.jobs[int(starts.argmax())], "at most one start for a job")
    used = np.zeros_like(data.free_gpus)
    np.add.at(used, data.kind[chosen], data.gpus[chosen, None] * data.hold[chosen])
    over = used - data.free_gpus > 1e-6 * np.maximum(1.0, data.free_gpus)
    if over.any():
        kind, t = np.argwhere(over)[0].tolist()
        expected = f"at most {data.free_gpus[kind, t]:g} in slot {t}"
        raise SolverFailedError(NAME, f"{used[kind, t]:g} GPUs of {data.types[kind]}", expected)
    return chosen


class ThreeSigma(Formulation[ThreeSigmaInstance]):
    """Who starts when, and where."""

    name = NAME
    title = "3Sigma: start times of jobs with deadlines"
    knobs = PROBLEM
    reading = (
        "The objective is the summed expected worth of the starts. A job without a start waits, or, if it runs and is "
        "best effort, may lose its GPUs."
    )

    def data(self, snapshot: Snapshot, knobs: Knobs) -> ThreeSigmaInstance:
        """The most urgent waiting jobs, and the best-effort jobs that run."""
        return PlannedCycle.from_snapshot(snapshot, knobs).data

    def build(self, data: ThreeSigmaInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model."""
        return build(data)

    def assemble(self, data: ThreeSigmaInstance, knobs: Knobs) -> Programme:
        """The same programme as arrays."""
        return assemble(data)

    def found(self, values: Mapping[str, FloatArray], data: ThreeSigmaInstance, knobs: Knobs) -> Result:
        """Who starts; raises SolverFailedError for values that break a limit."""
        return _result(data, _checked(data, np.flatnonzero(values["start"] > 0.5)))

    def trivial(self, data: ThreeSigmaInstance, knobs: Knobs) -> Result | None:
        """No options, nothing to choose."""
        return None if len(data.job) else _result(data, np.zeros(0, dtype=np.int64))


def _result(data: ThreeSigmaInstance, chosen: IntArray) -> Result:
    starts: dict[str, dict[str, str | int] | None] = dict.fromkeys(data.jobs)
    for option in chosen.tolist():
        job, kind, slot = data.key(option)
        starts[job] = {"type": kind, "gpus": int(data.gpus[option]), "slot": slot}
    return Result("feasible", float(data.value[chosen].sum()), "max", "1", {"starts": starts})


def _solver(knobs: Knobs) -> Solver:
    return Solver(gap=float(knobs["gap"]), node_limit=int(knobs["node_limit"]), start=True)


def _chosen_by(
    formulation: Formulation[ThreeSigmaInstance], data: ThreeSigmaInstance, knobs: Knobs
) -> tuple[IntArray, Result]:
    """The best options by an own formulation."""
    found = formulation.run(data, formulation.settle({}) | knobs, _solver(knobs))
    starts = found.values["starts"]
    keys = {job: (job, starts[job]["type"], starts[job]["slot"]) for job in data.jobs if starts[job] is not None}
    chosen = [option for option, job in enumerate(data.job.tolist()) if data.key(option) == keys.get(data.jobs[job])]
    return np.array(chosen, dtype=np.int64), found


class ThreeSigmaScheduler(Scheduler):
    """Plans every cycle; executes the starts of the first slot."""

    name = NAME
    title = "3Sigma: MILP over start times, jobs with deadlines not preempted"
    knobs = (ROUND_S, *PROBLEM, GAP, NODE_LIMIT, MODEL)
    uses = frozenset({"arrival_s", "steps", "gpus", "rewards"})
    formulation = NAME
    ways = frozenset({MODEL.name})

    def route(self, knobs: Knobs) -> Route:
        return Route("same programme", self.instead.name if self.instead else NAME)

    def stated(self, snapshot: Snapshot, memory: Memory, knobs: Knobs) -> StatedProblem:
        """The plan of this cycle."""
        return StatedProblem(
            self.instead or ThreeSigma(), PlannedCycle.from_snapshot(snapshot, knobs).data, knobs, _solver(knobs)
        )

    def timing(self, knobs: Knobs) -> Timing:
        return Timing(float(knobs["round_s"]))

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        if holds(snapshot).all() and not snapshot.ended:
            return Decision(solved=KEPT, next_s=math.inf), None
        began = time.perf_counter()
        planned = PlannedCycle.from_snapshot(snapshot, knobs)
        build_s = time.perf_counter() - began
        if self.instead is None:
            chosen, solved = choose(planned.data, _solver(knobs), stated=knobs["model"] == "pyomo")
        else:
            chosen, solved = _chosen_by(self.instead, planned.data, knobs)
        held = _place(snapshot, planned, chosen)
        leases = snapshot.leases
        gone = frozenset(unit for unit, lease in leases.items() if held.get(str(unit)) != lease.gpus)
        new = {name: gpus for name, gpus in held.items() if name not in leases or name in gone}
        decision = Decision(
            assign=tuple(Assignment(name, gpus, math.inf) for name, gpus in new.items()),
            preempt=gone,
            signals={"worth": _worth(planned.data, chosen)},
            solved=replace(solved, build_s=build_s + solved.build_s),
            why={**_waiting(planned, chosen, held, snapshot.jobs.names), **_why(planned, chosen, new, gone)},
            next_s=math.inf if len(held) == len(snapshot.jobs) else snapshot.now_s + float(knobs["slot_s"]),
        )
        return decision, None


def _place(snapshot: Snapshot, planned: PlannedCycle, chosen: IntArray) -> dict[str, Gpus]:
    """Who holds which GPUs from now on. Running jobs with deadlines and chosen running ones stay; then those who start,
    with deadlines first; running ones that were not chosen stay where nobody else is; the rest goes to best effort. Who
    runs on a drained node goes on there."""
    jobs, data = snapshot.jobs, planned.data
    had = {str(unit): lease.gpus for unit, lease in (*snapshot.leases.items(), *snapshot.ended.items())}
    free_gpus = FreeGpus(snapshot.nodes, (lease.gpus for lease in snapshot.leases.values()))
    kinds, accept = held_kinds(snapshot), runs_spread(snapshot)
    now = [option for option in chosen.tolist() if data.slot[option] == 0]
    picked = {data.jobs[data.job[option]]: int(data.kind[option]) for option in now}
    planned_be = {data.jobs[i] for i, row in enumerate(planned.rows.tolist()) if kinds[row] >= 0}
    down = snapshot.nodes.down
    held = {name: gpus for name, gpus in had.items() if not down.isdisjoint(gpus)}

    def stay(names: Iterable[str]) -> None:
        for name in names:
            kind = int(kinds[jobs.at[name]])
            if name not in held and free_gpus.keep(kind, sum(had[name].values()), had[name]):
                held[name] = had[name]

    def begin(names: Iterable[str], kind_of: dict[str, int]) -> None:
        requests = [Request(name, kind_of[name], int(jobs.gpus[jobs.at[name]])) for name in names]
        held.update({str(unit): gpus for unit, gpus in place(requests, free_gpus, accept=accept).items()})

    stay(name for name in had if name not in planned_be or name in picked)
    begin((name for name in picked if name not in had and planned.timely[jobs.at[name]]), picked)
    begin((name for name in picked if name not in had and not planned.timely[jobs.at[name]]), picked)
    stay(had)
    _fill(snapshot, planned, free_gpus, held)
    return held


def _fill(snapshot: Snapshot, planned: PlannedCycle, free_gpus: FreeGpus, held: dict[str, Gpus]) -> None:
    """Give GPUs that are left to best-effort jobs that wait, shortest first, each on its fastest type with room."""
    jobs, accept = snapshot.jobs, runs_spread(snapshot)
    speeds, left = snapshot.speeds(), free_gpus.left(len(snapshot.types))
    waits = ~holds(snapshot) & ~planned.timely
    shortest_s = jobs.steps_left / np.maximum(speeds.max(axis=1, initial=0.0), np.finfo(float).tiny)
    for row in np.flatnonzero(waits)[np.argsort(shortest_s[waits], kind="stable")].tolist():
        name, gpus = jobs.names[row], int(jobs.gpus[row])
        if not any(left):
            break
        if name in held or gpus > max(left):
            continue
        for kind in np.argsort(-speeds[row], kind="stable").tolist():
            if speeds[row, kind] > 0 and gpus <= left[kind]:
                found = place([Request(name, kind, gpus)], free_gpus, accept=accept)
                if found:
                    held[name] = found[name]
                    left[kind] -= gpus
                    break


def _worth(data: ThreeSigmaInstance, chosen: IntArray) -> dict[str, float]:
    return {data.jobs[data.job[option]]: float(data.value[option]) for option in chosen.tolist()}


def _why(planned: PlannedCycle, chosen: IntArray, new: Mapping[str, Gpus], gone: frozenset[Unit]) -> dict[str, Reason]:
    """Why jobs start or lose their GPUs."""
    data = planned.data
    picked = {data.jobs[data.job[option]]: option for option in chosen.tolist()}
    why: dict[str, Reason] = {}
    for name, gpus in new.items():
        if name in picked:
            worth, kind = float(data.value[picked[name]]), data.types[data.kind[picked[name]]]
            why[name] = Reason("planned", f"planned to start now on {kind}, worth {worth:.3g}", {"worth": worth})
        else:
            why[name] = Reason("leftover", f"{counted(sum(gpus.values()), 'GPU')} that the plan leaves idle now")
    why.update((str(unit), Reason("made_room", "jobs with deadlines or shorter ones took its GPUs")) for unit in gone)
    return why


def _waiting(
    planned: PlannedCycle, chosen: IntArray, held: Mapping[str, Gpus], names: Iterable[str]
) -> dict[str, Reason]:
    """Why jobs have no GPUs now."""
    data = planned.data
    able = {data.jobs[row] for row in data.job.tolist()}
    starts = {data.jobs[data.job[option]]: option for option in chosen.tolist()}
    why: dict[str, Reason] = {}
    for name in names:
        if name in held:
            continue
        if name in starts:
            _, kind, slot = data.key(starts[name])
            later = f"the plan has it start on {kind} in slot {slot}, counted from 0, which begins now"
            lost = f"planned to start now on {kind}, but no nodes hold its gang as the others are placed"
            why[name] = Reason("later", later, {"slot": float(slot)}) if slot else Reason("no_nodes", lost)
        elif name in able:
            why[name] = Reason("not_chosen", "the plan is worth more without it")
        elif name in data.jobs:
            why[name] = Reason("no_option", "it does not fit on the GPUs that are up, or not in time")
        else:
            why[name] = Reason("not_planned", "not among the most urgent waiting jobs, for which the plan is made")
    return why


NOT_PLANNED = "on the GPUs that there are the starts of others are worth more in all (3Sigma)"

BINDING = {
    "later": "in the plan it starts in a later slot, as others have the GPUs before it (3Sigma)",
    "not_chosen": NOT_PLANNED,
    "made_room": NOT_PLANNED,
    "no_nodes": "it is planned to start now, but no nodes are left that hold its gang (placement)",
    "no_option": "no start is offered for it, as it does not fit on the GPUs that are up, or not in time",
    "not_planned": "the plan is made for others, as it is not among the most_jobs most urgent that can run",
}
"""What decided, by the code of the scheduler's reason."""


def _explain(job_at: JobAtTime) -> Explained:
    """What the starts of the plan are worth, and why a job waits."""
    rule = (
        "Every cycle a solved problem chooses when each waiting job starts, by what that start is worth, under the "
        "capacity of each type and slot of time."
    )
    order, said = job_at.order("worth", "worth in the plan", "", ""), job_at.said
    binding = BINDING.get(said.code, "") if said is not None and job_at.state == "waiting" else ""
    return Explained((rule,), binding=binding, order=order)


ROOM = Room(
    name="three_sigma",
    title="3Sigma",
    formulations=(ThreeSigma(),),
    schedulers=(ThreeSigmaScheduler(),),
    explanations={"three_sigma": _explain},
)
