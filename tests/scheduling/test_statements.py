"""Every line of every statement says what its model is, at random points of random problems."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scheduling.random_models import FORMULATIONS, models
from workbench.scheduling.contract import Formulation
from workbench.scheduling.proof import differences


def wrong(formulation: Formulation[Any], seed: int, wanted: int) -> list[str]:
    """What statements say otherwise than models."""
    return [
        f"problem {each.number}, {each.knobs}: {told}"
        for each in models(formulation, seed, wanted)
        for told in differences(each.statement, each.model, each.knobs, each.number)
    ]


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: f.name)
def test_statement_is_the_model(formulation: Formulation[Any]) -> None:
    assert wrong(formulation, 0, 3) == []


@pytest.mark.long
@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: f.name)
def test_statement_is_the_model_of_many_problems(formulation: Formulation[Any]) -> None:
    assert wrong(formulation, 1000, 60) == []
