"""Small random models of every formulation, with random knobs, and the statements that say what they are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyomo.environ as pyo
from pyomo.common.errors import InvalidConstraintError

from tests.fuzz.trials import random_value
from tests.fuzz.worlds import world
from workbench.analysis.contract_rules.formulations import posed
from workbench.base.errors import WorkbenchError
from workbench.papers.chronus.algorithms.terms import AskedJob
from workbench.papers.chronus.instance import ChronusInstance
from workbench.papers.gavel.formulations.bottleneck import LevelInstance
from workbench.papers.gavel.formulations.water_filling import IteratedFilling
from workbench.papers.hare.instance import Gpu, HareInstance
from workbench.papers.hops.formulations.lexicographic import levels, serve
from workbench.scheduling.contract import Formulation, Knobs
from workbench.scheduling.solvers import Solver
from workbench.session.api import snapshot_at
from workbench.session.registry import rooms

FORMULATIONS = [formulation for room in rooms() for formulation in room.formulations]
MOST = 400
"""Variables and rows of a model that is compared; larger ones say nothing more."""
SMALL = {"slots": 8, "tangents": 3, "intervals": 4}
"""Knobs that say how large a model is."""


class Model(NamedTuple):
    """A model, its knobs, its statement, and the number it was drawn from."""

    number: int
    data: Any
    model: pyo.ConcreteModel
    knobs: Knobs
    statement: Any


def each_way(formulation: Formulation[Any], wanted: int) -> list[Model]:
    """So many models as by default, and one with every value of each knob that has a few; of one statement, so many."""
    ways: list[dict[str, Any]] = [{} for _ in range(wanted)]
    each = 3 if formulation.name.startswith("hare.") else 1
    for knob in formulation.knobs:
        values = (True, False) if knob.kind == "bool" else knob.choices or ()
        ways += [{knob.name: value} for value in values if knob.name not in ("preset", "utility", "optimum")]
    if formulation.name == "hops.round":
        ways += [{**way, "lambda": math.inf} for way in ({}, {"form": "aggregated"})]
    if formulation.name.startswith("gavel.min_cost"):
        ways.append({"objective": "ratio", "normalised": True})
    found = [model for number, way in enumerate(ways) for model in models(formulation, 100 * number, each, way)]
    stated = [model.statement for model in found]
    for way, statement in zip(ways, stated[::each], strict=True):
        if stated.count(statement) < wanted:
            found += models(formulation, 7777, wanted - stated.count(statement), way)
    return found


def models(
    formulation: Formulation[Any], seed: int, wanted: int, way: Mapping[str, Any] | None = None
) -> Iterator[Model]:
    """So many models of random problems, with knobs as told or else, in two of three, random ones."""
    for number in range(seed, seed + 30 * wanted):
        rng = np.random.default_rng(number)
        knobs = [knob for knob in formulation.knobs if knob.name not in ("preset", *SMALL) and rng.random() < 0.5]
        drawn = {knob.name: random_value(knob, rng) for knob in knobs} if number % 3 and way is None else {}
        drawn |= {knob.name: SMALL[knob.name] for knob in formulation.knobs if knob.name in SMALL}
        settled = {**formulation.settle({}), **drawn, **(way or {})}
        try:
            data = _problem(formulation, number, settled)
            if formulation.trivial(data, settled) is not None:
                continue
            model = formulation.build(data, settled)
        except (WorkbenchError, InvalidConstraintError):
            continue  # no problem of this kind there, or a row without any variable
        if math.isinf(float(str(settled.get("lambda", 0.0)))):
            serve(model, data, levels(data, math.inf), Solver())  # a row for each class that has been served
            if all(model.gain[key] == 1 for key in model.choose if key[0] in model.serving):
                continue  # says nothing of the gain in the objective
        if model.nvariables() + model.nconstraints() <= MOST:
            wanted -= 1
            yield Model(number, data, model, settled, formulation.statement(settled, data))
        if not wanted:
            return
    raise AssertionError(f"{wanted} models of {formulation.name} are missing")


def _problem(formulation: Formulation[Any], number: int, knobs: Knobs) -> Any:
    room, rng = formulation.name.partition(".")[0], np.random.default_rng([number, 1])
    if room == "hare":
        return _tasks(rng)
    if room == "chronus":
        return _leases(rng)
    if formulation.offline and rng.random() < 0.5:  # jobs that came before now
        scenario = world(number)
        now_s = max(job.arrival_s for job in scenario.jobs) + 3 * float(knobs["slot_s"])
        return formulation.data(snapshot_at(scenario, now_s, offline=True), knobs)
    data = posed(formulation, world(number), **knobs)[0]
    if isinstance(formulation, IteratedFilling) and data.jobs:
        data = formulation.laid_out(data, knobs)
    return _later(data, rng) if isinstance(data, LevelInstance) and rng.random() < 0.7 else data


def _later(data: LevelInstance, rng: np.random.Generator) -> LevelInstance:
    """Another iteration: levels above 0, some jobs bottlenecked."""
    count = len(data.jobs)
    return replace(data, level=rng.uniform(0.1, 2.0, count), active=data.active * (rng.random(count) < 0.6))


def _tasks(rng: np.random.Generator) -> HareInstance:
    """Jobs in rounds on GPUs of two types, one of which may not run a job; they may be free later."""
    jobs, kind = int(rng.integers(1, 4)), np.sort(rng.integers(0, 2, int(rng.integers(1, 4))))
    train = np.where(rng.random((jobs, 2)) < 0.6, rng.uniform(0.5, 4.0, (jobs, 2)), math.inf)
    train[:, kind[0]] = rng.uniform(0.5, 4.0, jobs)
    tasks = rng.integers(1, 4, jobs)
    return HareInstance.made(
        train[:, kind],
        rng.uniform(0.0, 1.0, (jobs, 2))[:, kind],
        gpus=[Gpu(f"g{i}", f"t{k}", f"n{i}", 0) for i, k in enumerate(kind)],
        rounds=rng.integers(1, 3, jobs),
        tasks=tasks,
        first_tasks=rng.integers(1, tasks + 1),
        weight=rng.uniform(0.5, 5.0, jobs),
        arrival_s=rng.choice([0.0, 0.7, 3.1], jobs),
        free_s=rng.choice([0.0, 4.3], 2)[kind],
        last_part=rng.choice([0.5, 1.0], jobs),
    )


def _leases(rng: np.random.Generator) -> ChronusInstance:
    """Jobs with up to three deadlines, some guaranteed, on nodes of 8 GPUs."""
    asked = []
    for row in range(int(rng.integers(2, 5))):
        late = int(rng.integers(0, 15))
        ends = np.sort(rng.choice(np.arange(late + 15, 60), int(rng.integers(1, 4)), replace=False)).tolist()
        rewards = np.sort(rng.integers(2, 101, len(ends)))[::-1].tolist()
        steps = list(zip(ends, rewards, strict=True))
        asked.append(AskedJob(int(rng.integers(1, 7)), int(rng.integers(1, 15)), steps, late, guaranteed=row == 0))
    nodes = [None, 8, 6][int(rng.integers(3))]
    return ChronusInstance.made(16, 10, asked, node_gpus=nodes, miss_reward=float(rng.choice([1.0, 1.5])))
