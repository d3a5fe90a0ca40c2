"""One plan from its data, as the scheduler makes it: the programme of the form that `form` names, solved and lifted.

A plan is what each job gets, checked against the limits, and what it is worth. Some need no solver: nothing has changed
since the last one (`fingerprint`), or every job has its best already (`unbeatable`).
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from workbench.base.arrays import FloatArray, by_name
from workbench.base.errors import Words, counted
from workbench.papers.hops.algorithms.aggregation import NO_LAYOUTS, aggregate, too_fine
from workbench.papers.hops.algorithms.configurations import Layout
from workbench.papers.hops.algorithms.gains import gain_of
from workbench.papers.hops.formulations.lexicographic import in_paper_units, levels, priority_classes
from workbench.papers.hops.formulations.round_assembly import AggregatedAssembly, PrintedAssembly, assemble, serve
from workbench.papers.hops.instance import Choices, HopsInstance, PlacedJob, RoundPlan
from workbench.papers.hops.knobs import SMALL, START, gap_of, power_of
from workbench.scheduling.contract import Formulation, Knobs, Result
from workbench.scheduling.solvers import Point, Programme, Solver, SolveReport, UnkeptError, answer

NAME = "hops.round"


def checked(data: HopsInstance, plan: Mapping[int, PlacedJob]) -> RoundPlan:
    """The plan; raises UnkeptError if it takes more GPUs of a server than are idle (13)."""
    used = np.zeros(len(data.servers), dtype=np.int64)
    for placed in plan.values():
        for server, gpus in placed.layout:
            used[server] += gpus
    for spot in np.flatnonzero(used > data.idle)[:1].tolist():
        taken, idle = f"it would take {counted(int(used[spot]), 'GPU')} of {data.servers[spot]}", int(data.idle[spot])
        raise UnkeptError(NAME, Words(taken), f"at most the {idle} idle in that decision")
    return dict(plan)


def choices(data: HopsInstance, plan: Mapping[int, PlacedJob]) -> Choices:
    """`{job: {server: GPUs}}`, None for a job that waits, in the window or outside."""
    found: Choices = {name: data.named(plan[row].layout) if row in plan else None for row, name in enumerate(data.jobs)}
    return {**found, **dict.fromkeys(data.outside)}


def objective(data: HopsInstance, gain: FloatArray, power: float) -> float | None:
    """The objective (11) of (jobs,) gains; None with lambda = inf, which compares `class_gains` in their order."""
    if np.isinf(power):
        return None
    return float(data.weights(power).plain @ gain)


def class_gains(data: HopsInstance, gain: FloatArray) -> list[float]:
    """The summed gain of each priority class, the highest first: what lambda = infinity compares in this order."""
    return [float(gain[rows].sum()) for rows in priority_classes(data.priority)]


def result(data: HopsInstance, plan: Mapping[int, PlacedJob], power: float, form: str) -> Result:
    """What the formulation reports of a plan, which is checked."""
    gain = gain_of(data, checked(data, plan))
    values: dict[str, Any] = {
        "choices": choices(data, plan),
        "gain": by_name(data.jobs, gain),
        "priority": by_name(data.jobs, data.priority),
        "form": form,
        "idle_gpus": int(data.idle.sum()) - sum(gpus for placed in plan.values() for _, gpus in placed.layout),
    }
    if np.isinf(power):
        values["gains_by_class"] = class_gains(data, gain)
    else:
        values["weight"] = by_name(data.jobs, data.weights(power).plain)
    return Result("feasible", objective(data, gain, power), "max", "1", values)


CLOSE = 1e-9
"""A gain counts as a job's largest if it is no further below it, relative to it: rounding."""


def fingerprint(data: HopsInstance, power: float) -> str:
    """Equal for plans with the same best answers: same jobs, weights, idle GPUs and configurations.

    power: lambda. With infinity the order of the priorities counts, not their size, and with 0 neither.
    """
    weight = _rank(data) if np.isinf(power) else data.weights(power).scaled
    found = hashlib.sha256(repr((data.servers, data.jobs, data.pools, data.layouts)).encode())
    for part in (data.idle, weight, data.job, data.layout, data.throughput):
        found.update(np.ascontiguousarray(part, dtype=float).tobytes())
    return found.hexdigest()


def _rank(data: HopsInstance) -> FloatArray:
    """(jobs,) the number of each job's priority class."""
    rank = np.zeros(len(data.jobs))
    for number, rows in enumerate(priority_classes(data.priority)):
        rank[rows] = number
    return rank


def unbeatable(data: HopsInstance, previous: Mapping[int, Layout]) -> RoundPlan | None:
    """The plan that leaves every job where it was, if that is the best that each could have by itself, else None.

    previous: layouts of an earlier plan by row. No weights matter then: each term of (11) is at its largest.
    """
    if not previous or not {int(row) for row in np.flatnonzero(data.able)} <= previous.keys():
        return None
    number = {layout: i for i, layout in enumerate(data.layouts)}
    wanted = np.full(len(data.jobs), -1)
    for row, layout in previous.items():
        wanted[row] = number.get(layout, -1)
    chosen = np.flatnonzero(wanted[data.job] == data.layout)
    best = np.zeros(len(data.jobs))
    np.maximum.at(best, data.job, data.gain)
    has = np.zeros(len(data.jobs))
    np.maximum.at(has, data.job[chosen], data.gain[chosen])
    if (has < best * (1 - CLOSE)).any():
        return None
    plan = data.plan(chosen.tolist())
    used: Counter[int] = Counter()
    for placed in plan.values():
        used.update(dict(placed.layout))
    return plan if all(count <= data.idle[server] for server, count in used.items()) else None


Form = Literal["printed", "aggregated"]


@dataclass(frozen=True, eq=False)
class SolvedPlan:
    """What each job (row) gets, and how it was found."""

    plan: RoundPlan
    solved: SolveReport
    form: Form


def form_of(data: HopsInstance, knobs: Knobs) -> Form:
    """The form to solve: as the knob `form` says, or by the number of configurations."""
    given = knobs.get("form", "auto")
    if given != "auto":
        return "aggregated" if given == "aggregated" else "printed"
    return "printed" if len(data.job) <= SMALL or too_fine(data) else "aggregated"


def nobody(data: HopsInstance) -> bool:
    """Whether no job can get anything: no jobs, no configurations."""
    return not len(data.job)


def make_plan(
    data: HopsInstance, knobs: Knobs, solver: Solver | None = None, previous: Mapping[int, Layout] = NO_LAYOUTS
) -> SolvedPlan:
    """The best configurations for the jobs, to the knob `gap` unless the solver has a gap of its own.

    previous: the layouts of an earlier plan (rows of these data): the solver starts from them (knob `start`), and a job
    stays where it was if it keeps its shape. No solver is asked if all jobs have their best there. Raises the errors of
    `workbench.scheduling.solvers`; TimeLimitError if time runs out before there is a plan.
    """
    form = form_of(data, knobs)
    if nobody(data):
        return SolvedPlan(
            {}, SolveReport("optimal", 0.0, bound=0.0, gap=0.0, solver="none needed", made_by="kept"), form
        )
    power, began = power_of(knobs), time.perf_counter()
    stay = unbeatable(data, previous)
    if stay is not None:
        return SolvedPlan(stay, _proven(data, stay, power, time.perf_counter() - began), form)
    order = levels(data, power)
    twin = PrintedAssembly(data) if form == "printed" else AggregatedAssembly(aggregate(data))
    begin = twin.start(previous) if previous and knobs.get("start", START.default) else None
    stop = stopping(solver or Solver(), data, knobs)

    def solve(programme: Programme) -> Point:
        values, solved = serve(twin, replace(programme, start=begin), order, stop)
        return Point(values, None, None, solved)

    if knobs.get("model") == "pyomo":
        point = _by_model(data, form, knobs, stop, solve)
    else:
        point = solve(assemble(twin, power))
    build_s = time.perf_counter() - began - point.solved.solve_s
    plan, solved = checked(data, twin.plan(point.values, previous)), point.solved
    solved = in_paper_units(solved, objective(data, gain_of(data, plan), power), order, data)
    return SolvedPlan(plan, replace(solved, build_s=solved.build_s + build_s), form)


def _by_model(
    data: HopsInstance, form: Form, knobs: Knobs, solver: Solver, solve: Callable[[Programme], Point]
) -> Point:
    """The answer to the stated model; solve: what solves its programme."""
    from workbench.papers.hops.formulations.round import build_form, restate  # which is read by this room's words
    from workbench.scheduling.solvers.compile import built
    from workbench.scheduling.solvers.restating import restated

    power = power_of(knobs)
    if form == "printed" and np.isfinite(power):
        key = NAME, data.servers
        model, compiled = restated(key, lambda: build_form(data, form, knobs), lambda m: restate(m, data, power))
    else:
        model, compiled = built(lambda: build_form(data, form, knobs))
    return answer(model, compiled, solver, solve)


def plan_by(formulation: Formulation[Any], data: HopsInstance, knobs: Knobs, solver: Solver) -> SolvedPlan:
    """The plan that an own formulation has for the same data."""
    found = formulation.run(data, formulation.settle({}) | knobs, solver)
    named = [frozenset(data.named(layout).items()) for layout in data.layouts]
    pairs = zip(data.job.tolist(), data.layout.tolist(), strict=True)
    spots = {(data.jobs[row], named[layout]): spot for spot, (row, layout) in enumerate(pairs)}
    chosen: Choices = found.values["choices"]
    got = [spots[name, frozenset(gpus.items())] for name, gpus in chosen.items() if gpus]
    return SolvedPlan(checked(data, data.plan(got)), found, "printed")


def _proven(data: HopsInstance, plan: RoundPlan, power: float, build_s: float) -> SolveReport:
    """The report on a plan that no other one beats; with lambda = infinity on its highest class, as `serve` does."""
    gain = gain_of(data, plan)
    value = objective(data, gain, power)
    found = SolveReport("optimal", value, solver="none needed", build_s=build_s, made_by="kept")
    if value is None:
        return replace(found, objective=class_gains(data, gain)[0])
    return replace(found, bound=value, gap=0.0)


def stopping(solver: Solver, data: HopsInstance, knobs: Knobs) -> Solver:
    """The solver with the gap of the knobs, if it has none of its own; none with lambda = infinity.

    Raises InputError for a gap outside [0, 1).
    """
    gap = gap_of(knobs, int(data.idle.sum()), solver.gap)
    return replace(solver, gap=0.0 if np.isinf(power_of(knobs)) else gap)
