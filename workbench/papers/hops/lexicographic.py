r"""lambda = infinity (Hops, section 3.6): one priority class after the other, the highest first.

max   sum_{i in C_p} sum_j G_ij X_ij                                      (3.6)          class_gain
s.t.  sum_j X_ij <= 1                                      for all i      (12)           one_configuration
      sum_i sum_j Consume_ijt X_ij <= S_t                  for all t      (13, erratum)  capacity
      sum_{i in C_p} sum_j G_ij X_ij >= V_p                for all p      (ours)         kept
      X_ij in {0, 1}                                       for all i, j   (11)           choose

`C_p` are the jobs of the p-th highest priority. The programme is solved for one class after the other, and `V_p` is the
gain that a class before it got, which nobody below may reduce: no weight grows beyond a float. (ours): the paper
describes it as a greedy choice in the order of priority. Where a job's best configuration can be had in several places,
greedy may pick the one that leaves less to those after it; here the places are left open until all are served. Over
interchangeable servers (`aggregated`) the limits are that model's. Where a finite lambda makes weights too far apart
for a solver, tiers of jobs take the place of the classes, with their weights (`weights.tiers`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pyomo.environ as pyo

from workbench.papers.hops.instance import RoundData
from workbench.papers.hops.levels import Level
from workbench.scheduling.solvers import Solver, SolveReport, solve_model

SLACK = 1e-6
"""How far below its gain a class may fall while later ones are served, relative to the gain (at least 1): rounding."""


class Step(NamedTuple):
    """What a class got: how many jobs it has, the highest priority among them, its value, seconds of the solver."""

    jobs: int
    priority: float
    gain: float
    solve_s: float


def build(model: pyo.ConcreteModel, jobs: Collection[str]) -> pyo.ConcreteModel:
    """The laid out model (`round.lay_out` or `aggregated.lay_out`) with the objective of the first class, `jobs`."""
    model.name = f"{model.name}_lexicographic"

    @model.Objective(sense=pyo.maximize, doc="(3.6) throughput gain of the class")
    def class_gain(m):
        return _gain(m, dict.fromkeys(jobs, 1.0))

    prepare(model)
    return model


def prepare(model: pyo.ConcreteModel) -> None:
    """Make room for what classes got: no row of `kept` yet."""
    model.CLASSES = pyo.Set(initialize=[], doc="p | priority classes that have been served")
    model.value = pyo.Param(
        model.CLASSES, mutable=True, initialize={}, doc="V_p | gain that a class got | 1\nC_p | jobs of a class |"
    )

    @model.Constraint(model.CLASSES, doc="(ours) no class loses what it got")
    def kept(m, p):
        return pyo.Constraint.Skip  # `serve` adds a row for each class that it has served


def serve(model: pyo.ConcreteModel, data: RoundData, order: Sequence[Level], solver: Solver) -> Served:
    """Solve level by level; the model then holds the plan. Returns what each got, and the report on the first solve.

    The report has the time of all solves. A time limit counts for each by itself; where it ends one, those after it
    keep what that solve left them, and the status says so.
    """
    [goal] = model.component_data_objects(pyo.Objective, active=True)
    steps: list[Step] = []
    first: SolveReport | None = None
    status: str = "optimal"
    for position, level in enumerate(order):
        weight = {data.jobs[row]: float(level.weight[row]) for row in level.rows.tolist()}
        goal.set_value(_gain(model, weight))
        solved = solve_model(model, solver)
        first = first or solved
        steps.append(Step(len(weight), float(data.priority[level.rows].max()), solved.value, solved.solve_s))
        if solved.status != "optimal":
            status = solved.status
        if solved.status == "time_limit" or position == len(order) - 1:
            break
        model.CLASSES.add(position)
        model.value[position] = solved.value
        slack = SLACK * max(1.0, solved.value)
        model.kept.add(position, _gain(model, weight) >= model.value[position] - slack)
    assert first is not None
    return steps, replace(first, status=status, solve_s=sum(step.solve_s for step in steps))


Served = tuple[list[Step], SolveReport]


def _gain(model: Any, weight: Mapping[str, float]) -> Any:
    """The weighted gain of some jobs."""
    mine = (key for key in model.choose if key[0] in weight)
    return pyo.quicksum(weight[key[0]] * model.gain[key] * model.choose[key] for key in mine)
