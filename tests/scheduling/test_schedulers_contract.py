"""What every scheduler of the registry promises, on random scenarios. The core refuses decisions that break a limit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.baselines.mechanisms.support import OneType, scenarios
from workbench.analysis.contract_rules.schedulers import Watched
from workbench.scenario.presets import preset
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Scheduler
from workbench.session.registry import find_formulation, formulations, rooms
from workbench.simulation.loop import run_loop
from workbench.simulation.stop import Until
from workbench.testing import check

ALL = [scheduler for room in rooms() for scheduler in room.schedulers]
NAMES = [scheduler.name for scheduler in ALL]
ON_ONE_TYPE = {"gavel.max_min_fairness", "fifo", "srtf", "las", "isolated"}
every = pytest.mark.parametrize("scheduler", ALL, ids=NAMES)


def test_the_registry_knows_them() -> None:
    assert set(NAMES) >= ON_ONE_TYPE


@every
def test_a_scheduler_keeps_its_contract(scheduler: Scheduler) -> None:
    check(scheduler)


@every
@settings(max_examples=settings.default.max_examples // 5)
@given(scenario=scenarios(), data=st.data())
def test_limits_purity_and_determinism(scheduler: Scheduler, scenario: Scenario, data: st.DataObject) -> None:
    """Whole runs with failing nodes and restarts; each question is asked twice, and nothing may be written into."""
    knobs = {"preset": data.draw(st.sampled_from(list(scheduler.presets)))} if scheduler.presets else {}
    watched = (OneType if scheduler.name in ON_ONE_TYPE else Watched)(scheduler)
    run = run_loop(scenario, watched, knobs, seed=1, stop=Until(20_000.0))
    assert run == run_loop(scenario, scheduler, knobs, seed=1, stop=Until(20_000.0))


# Every formulation of the registry keeps its contract (`workbench.testing.check`) on its room's example

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
