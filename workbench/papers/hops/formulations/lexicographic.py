r"""lambda = infinity (Hops, section 3.6): one priority class after the other, the highest first.

max   sum_{i in C} sum_j G_ij X_ij                                        (§3.6)         class_gain
s.t.  sum_j X_ij <= 1                                      for all i      (12)           one_configuration
      sum_i sum_j Consume_ijt X_ij <= S_t                  for all t      (13, erratum)  capacity
      sum_{i in C_p} sum_j G_ij X_ij >= V_p                for all p      (ours)         kept
      X_ij in {0, 1}                                       for all i, j   (11)           choose

`C_p` are the jobs of the p-th highest priority. The programme is solved for one class `C` after the other, and `V_p` is
the gain that a class before it got (but for 1e-6 of it, for rounding), which nobody below may reduce: no weight grows
beyond a float. (ours): the paper describes it as a greedy choice in the order of priority. Where a job's best
configuration can be had in several places, greedy may pick the one that leaves less to those after it; here the places
are left open until all are served. Over interchangeable servers: `lexicographic_aggregated`. Where a finite lambda
makes weights too far apart for a solver, tiers of jobs take the place of the classes, with their weights (`tiers`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.papers.hops.instance import HopsInstance
from workbench.scheduling.model_notes import notes
from workbench.scheduling.modelling import pyo
from workbench.scheduling.solvers import Solver, SolveReport, relative_gap, solve_model

SLACK = 1e-6
"""How far below its gain a class may fall while later ones are served, relative to the gain (at least 1): rounding."""


CLASSES = """p | priority classes that have been served
C_p | jobs of one of them | | served
C | jobs of the class that is served now | | serving"""


class SolvedClass(NamedTuple):
    """What a class got: how many jobs it has, the highest priority among them, its value, seconds of the solver."""

    jobs: int
    priority: float
    gain: float
    solve_s: float


def build(model: pyo.ConcreteModel, jobs: Collection[str]) -> pyo.ConcreteModel:
    """The laid out model (`round.lay_out` or `aggregated.lay_out`) with the objective of the first class, `jobs`."""
    model.name, model.serving = f"{model.name}_lexicographic", list(jobs)

    @model.Objective(sense=pyo.maximize, doc="(§3.6) throughput gain of the class")
    def class_gain(m):
        return _gain(m, dict.fromkeys(jobs, 1.0))

    prepare(model)
    return model


def prepare(model: pyo.ConcreteModel) -> None:
    """Make room for what classes got: no row of `kept` yet."""
    model.served = {}
    model.CLASSES = pyo.Set(initialize=[], doc=CLASSES)
    model.value = pyo.Param(
        model.CLASSES,
        mutable=True,
        initialize={},
        within=pyo.Any,
        doc="V_p | gain that a class got, but for rounding | 1",
    )

    @model.Constraint(model.CLASSES, doc="(ours) no class loses what it got")
    def kept(m, p):
        return pyo.Constraint.Skip  # `serve` adds a row for each class that it has served


def serve(model: pyo.ConcreteModel, data: HopsInstance, order: Sequence[WeighedClass], solver: Solver) -> Served:
    """Solve level by level; the model then holds the plan. Returns what each got, and the report on the first solve.

    The report has the time of all solves. A time limit counts for each by itself; where it ends one, those after it
    keep what that solve left them, and the status says so.
    """
    [goal] = model.component_data_objects(pyo.Objective, active=True)
    steps: list[SolvedClass] = []
    first: SolveReport | None = None
    status: str = "optimal"
    for position, level in enumerate(order):
        weight = {data.jobs[row]: float(level.weight[row]) for row in level.rows.tolist()}
        goal.set_value(_gain(model, weight))
        model.serving, notes(model).scale = list(weight), level.scale
        solved = solve_model(model, solver)
        first = first or solved
        steps.append(SolvedClass(len(weight), float(data.priority[level.rows].max()), solved.value, solved.solve_s))
        if solved.status != "optimal":
            status = solved.status
        if solved.status == "time_limit" or position == len(order) - 1:
            break
        model.CLASSES.add(position)
        model.served[position] = model.serving
        model.value[position] = solved.value - SLACK * max(1.0, solved.value)
        model.kept.add(position, _gain(model, weight) >= model.value[position])
    assert first is not None
    return steps, replace(first, status=status, solve_s=sum(step.solve_s for step in steps))


Served = tuple[list[SolvedClass], SolveReport]


def _gain(model: Any, weight: Mapping[str, float]) -> Any:
    """The weighted gain of some jobs."""
    mine = (key for key in model.choose if key[0] in weight)
    return pyo.quicksum(weight[key[0]] * model.gain[key] * model.choose[key] for key in mine)


class WeighedClass(NamedTuple):
    """Jobs (rows) that are weighed against each other. weight: (jobs,) `W_i` over `scale`, 0 for other jobs."""

    rows: IntArray
    weight: FloatArray
    scale: float


def levels(data: HopsInstance, power: float) -> list[WeighedClass]:
    """Levels in the order in which they are served: mostly one with a finite lambda."""
    if np.isinf(power):
        return [_level(data, rows, np.ones(len(data.jobs)), 1.0) for rows in priority_classes(data.priority)]
    found = data.weights(power)
    return [_level(data, rows, found.scaled, found.scale) for rows in tiers(found.scaled, data.able)]


def _level(data: HopsInstance, rows: IntArray, weight: FloatArray, scale: float) -> WeighedClass:
    top = weight[rows].max()
    own = np.zeros(len(data.jobs))
    own[rows] = weight[rows] / top
    return WeighedClass(rows, own, float(top) * scale)


def in_paper_units(
    solved: SolveReport, value: float | None, order: list[WeighedClass], data: HopsInstance
) -> SolveReport:
    """The report on the first level's solve as one on the plan, worth `value`; without a bound at lambda = infinity.

    What the lower levels could add at most is part of the bound.
    """
    if value is None:
        return _said(solved, solved.value, None)
    most = np.zeros(len(data.jobs))
    np.maximum.at(most, data.job, data.gain)
    later = sum(level.scale * float(level.weight @ most) for level in order[1:])
    return _said(solved, value, None if solved.bound is None else solved.bound * order[0].scale + later)


def _said(solved: SolveReport, value: float, bound: float | None) -> SolveReport:
    return replace(solved, objective=value, bound=bound, gap=relative_gap(value, bound))


APART = 1e-5
"""Weights further apart than this are not weighed against each other by a solver."""
SAME = 1e-9
"""Priorities that differ by no more than this, relative to the larger one (at least 1), are one class."""


def tiers(weight: FloatArray, able: BoolArray) -> list[IntArray]:
    """Positions of the jobs that can get something, cut where a weight is less than `APART` of the first in its tier.

    A solver takes what is that small for rounding: tiers are served one after the other, like the classes of lambda =
    infinity (ours).
    """
    rows = np.flatnonzero(able)
    found: list[list[int]] = []
    first = np.inf
    for row in rows[np.argsort(-weight[rows], kind="stable")].tolist():
        if not found or weight[row] < APART * first:
            found.append([])
            first = weight[row]
        found[-1].append(row)
    return [np.sort(np.array(tier, dtype=np.int64)) for tier in found]


def priority_classes(priority: FloatArray) -> list[IntArray]:
    """Positions of the jobs of each priority, the highest first: whom lambda = infinity serves before whom."""
    order = np.argsort(-priority, kind="stable")
    ranked = priority[order]
    step = ranked[:-1] - ranked[1:] > SAME * np.maximum(1.0, np.abs(ranked[:-1]))
    return [np.sort(part) for part in np.split(order, np.flatnonzero(step) + 1)] if len(order) else []
