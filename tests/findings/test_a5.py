"""A5: the source that a lab shows of a formulation has every part of its model."""

from __future__ import annotations

import re
from typing import Any

import pyomo.environ as pyo
import pytest

from tests.scheduling.test_formulations_contract import example
from workbench.scheduling import notation
from workbench.session.registry import formulations

KINDS = (pyo.Var, pyo.Objective, pyo.Constraint, pyo.Expression)


@pytest.mark.parametrize("formulation", formulations(), ids=lambda found: found.name)
def test_every_part_of_the_model_is_in_its_source(formulation: Any) -> None:
    data, knobs = example(formulation)
    statement = formulation.statement(knobs)
    code = re.sub(r'""".*?"""', "", notation.source(statement), flags=re.DOTALL)
    model = formulation.build(data, knobs)
    parts = [part.local_name for part in model.component_objects(KINDS, descend_into=False)]
    declared = rf"\.({'|'.join(parts)}) = pyo\.|\bdef ({'|'.join(parts)})\("
    shown = {name for pair in re.findall(declared, code) for name in pair}
    assert [part for part in parts if part not in shown] == []
