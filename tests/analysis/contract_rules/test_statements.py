"""Every line of every statement says what its model is, at random points of random problems."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.analysis.contract_rules.random_models import FORMULATIONS, Model, each_way, models
from workbench.analysis.contract_rules.proof import differences
from workbench.papers.hare.formulations.exact import add_makespan
from workbench.scheduling.contract import Formulation
from workbench.session.registry import find_formulation


def wrong(drawn: Iterable[Model]) -> list[str]:
    """What statements say otherwise than models."""
    return [
        f"problem {each.number}, {each.knobs}: {told}"
        for each in drawn
        for told in differences(each.statement, each.model, each.knobs, each.number)
    ]


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: f.name)
def test_statement_is_the_model(formulation: Formulation[Any]) -> None:
    """With random knobs, and with every value of those that have a few: each may have a statement of its own."""
    assert wrong(models(formulation, 0, 3)) == []
    assert wrong(each_way(formulation, 4)) == []


def test_the_second_step_of_a_formulation_is_what_it_states() -> None:
    for each in models(find_formulation("hare.exact"), 0, 3):
        add_makespan(each.model, 7.0)
        assert differences(add_makespan, each.model, each.knobs, each.number) == []


@pytest.mark.long
@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: f.name)
def test_statement_is_the_model_of_many_problems(formulation: Formulation[Any]) -> None:
    assert wrong(models(formulation, 1000, 60)) == []
