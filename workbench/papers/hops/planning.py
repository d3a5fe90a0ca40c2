"""One plan from its data, as the scheduler makes it: the twin of the model that `model` names, solved and lifted."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from workbench.papers.hops.aggregation import aggregate, too_fine
from workbench.papers.hops.choosing import checked, class_gains, gain_of, objective
from workbench.papers.hops.configurations import Layout
from workbench.papers.hops.instance import RoundData, RoundPlan
from workbench.papers.hops.knobs import SMALL, START, gap_of, power_of
from workbench.papers.hops.levels import in_paper_units, levels
from workbench.papers.hops.lexicographic_matrix import serve
from workbench.papers.hops.lifting import NO_LAYOUTS
from workbench.papers.hops.matrix import Aggregated, Printed
from workbench.papers.hops.repeat import unbeatable
from workbench.scheduling.contract import Knobs
from workbench.scheduling.solvers import Solver, SolveReport

Model = Literal["printed", "aggregated"]


@dataclass(frozen=True, eq=False)
class SolvedPlan:
    """What each job (row) gets, and how it was found."""

    plan: RoundPlan
    solved: SolveReport
    model: Model


def model_of(data: RoundData, knobs: Knobs) -> Model:
    """The model to solve: as the knob `model` says, or by the number of configurations."""
    given = knobs.get("model", "auto")
    if given != "auto":
        return "aggregated" if given == "aggregated" else "printed"
    return "printed" if len(data.job) <= SMALL or too_fine(data) else "aggregated"


def nobody(data: RoundData) -> bool:
    """Whether no job can get anything: no jobs, no configurations."""
    return not len(data.job)


def make_plan(
    data: RoundData, knobs: Knobs, solver: Solver | None = None, previous: Mapping[int, Layout] = NO_LAYOUTS
) -> SolvedPlan:
    """The best configurations for the jobs, to the knob `gap` unless the solver has a gap of its own.

    previous: the layouts of an earlier plan (rows of these data): the solver starts from them (knob `start`), and a job
    stays where it was if it keeps its shape. No solver is asked if all jobs have their best there. Raises the errors of
    `workbench.scheduling.solvers`; TimeLimitError if time runs out before there is a plan.
    """
    model = model_of(data, knobs)
    if nobody(data):
        return SolvedPlan({}, SolveReport("optimal", 0.0, bound=0.0, gap=0.0, solver="none needed"), model)
    power, began = power_of(knobs), time.perf_counter()
    stay = unbeatable(data, previous)
    if stay is not None:
        return SolvedPlan(stay, _proven(data, stay, power, time.perf_counter() - began), model)
    order = levels(data, power)
    twin = Printed(data) if model == "printed" else Aggregated(aggregate(data))
    start = twin.start(previous) if previous and knobs.get("start", START.default) else None
    build_s = time.perf_counter() - began
    values, solved = serve(twin, order, stopping(solver or Solver(), data, knobs), start)
    plan = checked(data, twin.plan(values, previous))
    solved = in_paper_units(solved, objective(data, gain_of(data, plan), power), order, data)
    return SolvedPlan(plan, replace(solved, build_s=solved.build_s + build_s), model)


def _proven(data: RoundData, plan: RoundPlan, power: float, build_s: float) -> SolveReport:
    """The report on a plan that no other one beats; with lambda = infinity on its highest class, as `serve` does."""
    gain = gain_of(data, plan)
    value = objective(data, gain, power)
    if value is None:
        return SolveReport("optimal", class_gains(data, gain)[0], solver="none needed", build_s=build_s)
    return SolveReport("optimal", value, bound=value, gap=0.0, solver="none needed", build_s=build_s)


def stopping(solver: Solver, data: RoundData, knobs: Knobs) -> Solver:
    """The solver with the gap of the knobs, if it has none of its own; none with lambda = infinity.

    Raises InputError for a gap outside [0, 1).
    """
    gap = gap_of(knobs, int(data.idle.sum()), solver.gap)
    return replace(solver, gap=0.0 if np.isinf(power_of(knobs)) else gap)
