"""What every scheduler of the registry promises, on random scenarios. The core refuses decisions that break a limit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.baselines.mechanisms.support import OneType, scenarios
from workbench.analysis.contract_rules.schedulers import Watched
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Scheduler
from workbench.session.registry import rooms
from workbench.simulation.loop import simulate
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
    run = simulate(scenario, watched, knobs, seed=1, stop=Until(20_000.0))
    assert run == simulate(scenario, scheduler, knobs, seed=1, stop=Until(20_000.0))


@every
@settings(max_examples=settings.default.max_examples // 7)
@given(scenario=scenarios())
def test_everybody_finishes(scheduler: Scheduler, scenario: Scenario) -> None:
    run = simulate(scenario, scheduler)
    assert run.jobs["finish_s"].notna().all()
