"""Gavel's max-min fairness row by row: what is decided where a row is missing, and whether a row is the paper's.

Three jobs, of which one takes two GPUs, on two fast GPUs and a slow one. Of each the parts are those of
`gavel.max_min_fairness`; the objective is fairness, or the total speed as long as fairness is missing.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from pyomo.core.expr.relational_expr import RelationalExpression
from pyomo.repn import generate_standard_repn

from workbench.base.errors import InputError
from workbench.papers.gavel.formulations.max_min_fairness import MaxMinFairness
from workbench.scenario.cluster import Cluster
from workbench.scenario.scenario import Scenario
from workbench.scheduling.modelling import pyo
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import UnboundedError, solve_model

PARTS = {"share": "(1)", "job_time": "(2)", "capacity": "(3)", "gang": "(3)", "epigraph": "(ours)"}
"""What a model can be without, with its equation; without `gang` the row of capacity counts jobs, not GPUs."""
HOUR_S = 3600.0
NOTHING = 1e-9
DIGITS = 9

_Rule = Callable[[Any, Any], Any]


def _time(m: Any, job: Any) -> Any:
    return pyo.quicksum(m.share[job, kind] for kind in m.TYPES)


def _jobs(m: Any, kind: Any) -> Any:
    return pyo.quicksum(m.share[job, kind] for job in m.JOBS)


def _gpus(m: Any, kind: Any) -> Any:
    return pyo.quicksum(m.gang[job] * m.share[job, kind] for job in m.JOBS)


MISTAKES: dict[str, dict[str, _Rule]] = {
    "job_time": {
        "A job runs for one hour at most, on however many GPUs it is.": lambda m, job: _time(m, job) <= m.gang[job],
        "The row is about a job's time. Its GPUs do not count here.": lambda m, job: m.gang[job] * _time(m, job) <= 1,
        "This way a job must run all of the time. A job is allowed to wait.": lambda m, job: _time(m, job) == 1,
        "Turn the sign: your row asks for more than all of the time.": lambda m, job: _time(m, job) >= 1,
    },
    "capacity": {
        "Your row counts jobs. A gang takes several GPUs.": lambda m, kind: _jobs(m, kind) <= m.gpus[kind],
        "There may be more than one GPU of a type.": lambda m, kind: _gpus(m, kind) <= 1,
        "Turn the sign: your row asks for more GPUs than there are.": lambda m, kind: _gpus(m, kind) >= m.gpus[kind],
    },
    "epigraph": {
        "A weight divides: who counts more needs more speed for the same level.": lambda m, job: (
            m.level <= m.gang[job] * m.weight[job] / m.equal[job] * m.throughput[job]
        ),
        "The weight is missing, and so is the number of GPUs.": lambda m, job: (
            m.level <= m.throughput[job] / m.equal[job]
        ),
        "The weight is missing.": lambda m, job: m.level <= m.gang[job] / m.equal[job] * m.throughput[job],
        "The number of GPUs is missing.": lambda m, job: m.level <= m.throughput[job] / (m.weight[job] * m.equal[job]),
        "Compare the speed with that under an equal share.": lambda m, job: (
            m.level <= m.gang[job] / m.weight[job] * m.throughput[job]
        ),
        "Turn the sign: your row lets the level be as high as it likes.": lambda m, job: (
            m.level >= m.gang[job] / (m.weight[job] * m.equal[job]) * m.throughput[job]
        ),
    },
}
"""Usual mistakes in a row, each with what is said of it. The first of a row is the one that `spoil` makes."""
SPOILT = tuple(MISTAKES)
"""The rows that `spoil` can spoil."""
LOOK = {
    "job_time": "Look at the row job_time of wide: its shares add up to at most 1, as for the others.",
    "capacity": "Look at the rows of capacity: wide counts twice in each, as it takes two GPUs.",
    "epigraph": "Look at the row epigraph of big: its weight of 2 divides, as it should.",
}
"""What is said to somebody who takes a row for spoilt that is as it should be."""


def instance(rng: random.Random | None = None, weight: float = 1.0) -> Scenario:
    """The jobs of the lesson, or others of a generator: speeds and the weight of `big` are drawn."""
    speeds = {"wide": (9, 2), "big": (8, 2), "small": (6, 1)}
    if rng is not None:
        speeds = {job: (rng.randint(6, 9), rng.randint(1, 3)) for job in speeds}
        weight = rng.choice([2.0, 3.0])
    gangs = {job: 2 if job == "wide" else 1 for job in speeds}
    rates = [
        {"model": job, "accelerator": kind, "steps_per_s": float(rate), "gpus": gangs[job]}
        for job, both in speeds.items()
        for kind, rate in zip(("v100", "k80"), both, strict=True)
    ]
    jobs = [
        {"name": job, "model": job, "gpus": gang, "steps": 40_000, "weight": weight if job == "big" else 1.0}
        for job, gang in gangs.items()
    ]
    types = [{"name": "v100"}, {"name": "k80"}]
    nodes = [{"name": "fast", "accelerator": "v100", "gpus": 2}, {"name": "slow", "accelerator": "k80", "gpus": 1}]
    cluster = {"accelerators": types, "nodes": nodes}
    return Scenario.from_dict({"cluster": cluster, "jobs": jobs, "throughputs": rates})


def stated(at: Snapshot, *without: str) -> pyo.ConcreteModel:
    """The paper's model, unsolved, without some of its `PARTS`; raises InputError for another part."""
    if unknown := sorted(set(without) - set(PARTS)):
        raise InputError("without", unknown[0], f"one of {', '.join(PARTS)}")
    formulation = MaxMinFairness()
    knobs = formulation.settle({})
    m: pyo.ConcreteModel = formulation.build(formulation.data(at, knobs), knobs)
    for part in sorted(set(without) - {"share", "gang"}):
        m.component(part).deactivate()
    if "share" in without:
        m.share.setub(None)
    if "gang" in without:
        spoil(m, "capacity")
    if "epigraph" in without:
        m.worst_job.deactivate()
        total = pyo.quicksum(m.throughput[job] for job in m.JOBS)
        m.total = pyo.Objective(expr=total, sense=pyo.maximize, doc="(ours) the speed of all jobs together")
    return m


def unbounded(m: pyo.ConcreteModel) -> bool:
    """Whether nothing holds the objective of a model back."""
    try:
        solve_model(m)
    except UnboundedError:
        return True
    return False


def hour(scenario: Scenario, at: Snapshot, *without: str) -> tuple[list[dict[str, Any]], Cluster]:
    """An hour of the shares that a model without some parts decides, as `charts.plan` draws it.

    A job has its share of the hour on each type, on as many GPUs as it takes, as early as may be. Also the cluster that
    this needs: GPUs that the scenario does not have stand on nodes called `not there`.
    """
    m, found, data = stated(at, *without), list[dict[str, Any]](), scenario.cluster.model_dump()
    solve_model(m)
    for kind in m.TYPES:
        there = sum(node.gpus for node in scenario.cluster.nodes if node.accelerator == kind)
        free = [0.0] * there
        for job in m.JOBS:
            share, gang = float(pyo.value(m.share[job, kind])), int(m.gang[job])
            if share > NOTHING:
                begin = _put(free, share, gang)
                found.append(
                    {"job": job, "start_s": begin * HOUR_S, "end_s": (begin + share) * HOUR_S, "gpus": {kind: gang}}
                )
        if len(free) > there:
            more = {"name": f"not there: {kind}", "accelerator": kind, "gpus": len(free) - there}
            data["nodes"] = [*data["nodes"], more]
    return found, Cluster.model_validate(data)


def _put(free: list[float], share: float, gang: int) -> float:
    """Take `gang` GPUs from when they are free on, as many as end within the hour, and others beside them."""
    fits = [lane for lane, begin in enumerate(free) if begin + share <= 1 + NOTHING]
    lanes = sorted(fits, key=lambda lane: (free[lane], lane))[:gang]
    lanes += range(len(free), len(free) + gang - len(lanes))
    free += [0.0] * (max(lanes) + 1 - len(free))
    begin = max(free[lane] for lane in lanes)
    for lane in lanes:
        free[lane] = begin + share
    return begin


def take(m: pyo.ConcreteModel, **rules: Any) -> None:
    """Put rules, by part, in the place of a model's rows; one that is not written yet (...) leaves the paper's."""
    for part, rule in rules.items():
        if callable(rule):
            m.component(part).deactivate()
            rows = pyo.Constraint(
                m.component(part).index_set(), rule=rule, doc=f"{PARTS[part]} {part}, as you wrote it"
            )
            m.add_component(f"my_{part}", rows)


def says(m: pyo.ConcreteModel, part: str, rule: _Rule) -> bool | str:
    """Whether a rule `(m, index) -> row` is the paper's part; else the sentence of one of the `MISTAKES` that it is, or
    one on the first index where it is something else.
    """
    rows = {}
    for index in m.component(part):
        try:
            row = rule(m, index)
            if not isinstance(row, RelationalExpression):
                return f"For `{index}` your rule gives no row but `{row}`. A row has `<=` and a variable."
            rows[index] = _row(row)
        except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError) as error:
            return f"For `{index}` your rule gives no row: {type(error).__name__}: {error}"
    wrong = next((index for index, mine in rows.items() if mine != _row(m.component(part)[index].expr)), None)
    if wrong is None:
        return True
    for said, mistake in MISTAKES.get(part, {}).items():
        if all(mine == _row(mistake(m, index)) for index, mine in rows.items()):
            return said
    return f"For `{wrong}` your row says `{rule(m, wrong)}`. That is not yet equation {PARTS[part]}."


def _row(expression: Any) -> tuple[tuple[tuple[str, float], ...], float | None, float | None]:
    """A linear row in one form: coefficients by variable, scaled, and its bounds."""
    block = pyo.ConcreteModel()
    block.row = pyo.Constraint(expr=expression)
    body = generate_standard_repn(block.row.body)
    if not body.is_linear():
        raise ValueError("the row is not linear")
    terms: dict[str, float] = {}
    for weight, variable in zip(body.linear_coefs, body.linear_vars, strict=True):
        terms[variable.name] = terms.get(variable.name, 0.0) + float(pyo.value(weight))
    terms = {name: weight for name, weight in sorted(terms.items()) if abs(weight) > 1e-12}
    if not terms:
        raise ValueError("no variable stands in the row")
    scale = next(iter(terms.values()))
    bounds = (block.row.lower, block.row.upper)
    ends = [None if end is None else (pyo.value(end) - body.constant) / scale for end in bounds]
    low, high = ends if scale > 0 else reversed(ends)

    def rounded(value: float | None) -> float | None:
        return None if value is None else round(value, DIGITS) + 0.0

    return tuple((name, round(weight / scale, DIGITS)) for name, weight in terms.items()), rounded(low), rounded(high)


def spoil(m: pyo.ConcreteModel, part: str) -> None:
    """Spoil one of the rows `SPOILT` of a model: it stays a model that can be solved, and is not the paper's."""
    if part not in MISTAKES:
        raise InputError("spoil", part, f"one of {', '.join(SPOILT)}")
    m.component(part).deactivate()
    rule = next(iter(MISTAKES[part].values()))
    doc = f"{PARTS[part]} {part}, as one may get it wrong"
    m.spoiled = pyo.Constraint(m.component(part).index_set(), rule=rule, doc=doc)
