"""Every formulation of the registry keeps its contract (`workbench.testing.check`) on its room's example."""

import pytest

from workbench.session.registry import find_formulation, formulations
from workbench.testing import check

FORMULATIONS = formulations()


def test_there_are_formulations_and_each_is_found_by_its_name():
    assert {"gavel.max_min_fairness", "isolated"} <= {formulation.name for formulation in FORMULATIONS}
    for formulation in FORMULATIONS:
        assert find_formulation(formulation.name) is formulation


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda formulation: formulation.name)
def test_a_formulation_keeps_its_contract(formulation):
    check(formulation)
