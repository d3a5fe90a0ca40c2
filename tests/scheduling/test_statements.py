"""Every line of every statement says what its model is, at random points of random instances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.fuzz.trials import random_value
from tests.fuzz.worlds import world
from workbench.analysis.contract.formulations import posed
from workbench.base.errors import WorkbenchError
from workbench.scheduling.contract import Formulation, Knobs
from workbench.scheduling.proof import differences
from workbench.session.registry import rooms

FORMULATIONS = [f for room in rooms() for f in room.formulations if f.name.startswith("gavel.")]


def models(formulation: Formulation[Any], numbers: range) -> Iterator[tuple[int, pyo.ConcreteModel, Knobs]]:
    """The model of each random world that poses a problem, with random knobs in two of three."""
    for number in numbers:
        rng = np.random.default_rng(number)
        knobs = [knob for knob in formulation.knobs if knob.name != "preset" and rng.random() < 0.5]
        drawn = {knob.name: random_value(knob, rng) for knob in knobs} if number % 3 else {}
        try:
            data, settled = posed(formulation, world(number), **drawn)
            if formulation.trivial(data, settled) is None:
                yield number, formulation.build(data, settled), settled
        except WorkbenchError:
            continue  # no problem of this kind there


def wrong(formulation: Formulation[Any], numbers: range) -> list[str]:
    """What statements say otherwise than models."""
    found, built = [], 0
    for number, model, knobs in models(formulation, numbers):
        built += 1
        told = differences(formulation.statement(knobs), model, knobs, number)
        found += [f"world {number}, {knobs}: {each}" for each in told]
    assert built >= len(numbers) / 5
    return found


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: f.name)
def test_statement_is_the_model(formulation: Formulation[Any]) -> None:
    assert wrong(formulation, range(10)) == []


@pytest.mark.long
@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: f.name)
def test_statement_is_the_model_in_many_worlds(formulation: Formulation[Any]) -> None:
    assert wrong(formulation, range(300)) == []
