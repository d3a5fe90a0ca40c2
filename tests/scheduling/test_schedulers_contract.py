"""What every scheduler of the registry promises, on random scenarios. The core refuses decisions that break a limit."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.baselines.mechanisms.support import OneType, Watched, look, plain, scenarios, text
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Scheduler
from workbench.session.api import READ_BY_SOME
from workbench.session.registry import rooms
from workbench.simulation.loop import simulate
from workbench.simulation.stop import Until

ALL = [scheduler for room in rooms() for scheduler in room.schedulers]
NAMES = [scheduler.name for scheduler in ALL]
ON_ONE_TYPE = {"gavel.max_min_fairness", "fifo", "srtf", "las", "isolated"}
every = pytest.mark.parametrize("scheduler", ALL, ids=NAMES)


def presets(scheduler: Scheduler) -> list[str]:
    return list(scheduler.presets)


def test_the_registry_knows_them() -> None:
    assert set(NAMES) >= ON_ONE_TYPE
    assert len(set(NAMES)) == len(NAMES)


@every
def test_knobs_and_presets_are_valid(scheduler: Scheduler) -> None:
    settled = scheduler.settle({})
    names = [knob.name for knob in scheduler.knobs]
    assert len(set(names)) == len(names)
    for knob in scheduler.knobs:
        assert settled[knob.name] == knob.check(knob.default) and knob.help
    for name in presets(scheduler):
        preset = scheduler.settle({"preset": name})
        assert preset["preset"] == name
        for key, value in scheduler.presets[name].items():
            assert preset[key] == scheduler.settle({key: value})[key]
    json.dumps(settled)


@every
def test_what_it_declares(scheduler: Scheduler) -> None:
    dotted = (f"{part}.{field}" for part, fields in READ_BY_SOME.items() if part for field in fields)
    assert scheduler.title and set(scheduler.uses) <= {*Job.model_fields, *dotted}
    timing = scheduler.timing(scheduler.settle({}))
    assert timing.round_s is None or timing.round_s > 0


@every
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(scenario=scenarios(), data=st.data())
def test_limits_purity_and_determinism(scheduler: Scheduler, scenario: Scenario, data: st.DataObject) -> None:
    """Whole runs with failing nodes and restarts; each question is asked twice, and nothing may be written into."""
    knobs = {"preset": data.draw(st.sampled_from(presets(scheduler)))} if scheduler.presets else {}
    watched = (OneType if scheduler.name in ON_ONE_TYPE else Watched)(scheduler)
    run = simulate(scenario, watched, knobs, seed=1, stop=Until(20_000.0))
    assert run == simulate(scenario, scheduler, knobs, seed=1, stop=Until(20_000.0))


@every
@settings(max_examples=5)
@given(scenario=scenarios())
def test_everybody_finishes(scheduler: Scheduler, scenario: Scenario) -> None:
    run = simulate(scenario, scheduler)
    assert run.jobs["finish_s"].notna().all()


@every
def test_the_memory_is_plain_and_starts_equal(scheduler: Scheduler) -> None:
    scenario = Scenario.from_dict(
        {
            "cluster": {"accelerators": [{"name": "t"}], "nodes": [{"name": "n", "accelerator": "t", "gpus": 2}]},
            "jobs": [{"name": "a", "model": "m", "steps": 10}],
            "throughputs": [{"model": "m", "accelerator": "t", "steps_per_s": 1}],
        }
    )
    knobs = scheduler.settle({})
    memory = scheduler.start(scenario, knobs)
    assert text(memory) == text(scheduler.start(scenario, knobs))
    json.dumps(plain(memory))
    assert look(scenario).jobs.names == ("a",)
