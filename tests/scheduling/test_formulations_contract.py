"""Every formulation of the registry keeps its contract (`workbench.testing.check`) on its room's example."""

import pytest

from workbench.scenario.presets import preset
from workbench.session.registry import find_formulation, formulations, rooms
from workbench.testing import check

FORMULATIONS = formulations()
OF_TWO_JOBS = {"chronus.leases", "hadar.dual", "hadar.schedules", "hare.exact", "hops.round"}
"""Held to it on the first two jobs of their rooms' examples; with all jobs these take a minute together."""


def test_there_are_formulations_and_each_is_found_by_its_name():
    assert {"gavel.max_min_fairness", "isolated"} <= {formulation.name for formulation in FORMULATIONS}
    for formulation in FORMULATIONS:
        assert find_formulation(formulation.name) is formulation


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda formulation: formulation.name)
def test_a_formulation_keeps_its_contract(formulation):
    example = next(room.example for room in rooms() if formulation in room.formulations)
    whole = preset(example)
    check(formulation, whole.replace(jobs=whole.jobs[:2]) if formulation.name in OF_TWO_JOBS else whole)
