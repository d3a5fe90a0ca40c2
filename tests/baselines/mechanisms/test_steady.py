"""Rounds that are left out because nothing can change: the run is the one in which each of them was asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.baselines.mechanisms.support import make
from tests.simulation.support import scenarios
from workbench.baselines.mechanisms.priority import carrying_out
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.session.registry import find_scheduler
from workbench.simulation.loop import run_loop
from workbench.simulation.run import Run

GAVEL = find_scheduler("gavel.max_min_fairness")
DAY_S = 86400.0
TYPES = {"a": ("fast", 2), "b": ("slow", 2)}


def both(scenario: Scenario, **knobs: Any) -> tuple[Run, Run]:
    """The run, and the one that asks in every round."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(carrying_out, "steady_until_s", lambda *_: None)
        stepped = run_loop(scenario, GAVEL, knobs)
    return run_loop(scenario, GAVEL, knobs), stepped


def same(run: Run, stepped: Run) -> None:
    """Equal but for the number of decisions and renewals; sums of seconds may differ in their last digits."""
    assert len(run.decisions) <= len(stepped.decisions)
    assert run.end_s == pytest.approx(stepped.end_s, rel=1e-12)
    for one, two in ((run.jobs, stepped.jobs), (run.timeline, stepped.timeline), (changes(run), changes(stepped))):
        assert len(one) == len(two)
        for column in set(one.columns) - {"renewals"}:
            if one[column].dtype.kind == "f":
                np.testing.assert_allclose(one[column], two[column], rtol=1e-9, atol=1e-6, err_msg=column)
            else:
                assert one[column].tolist() == two[column].tolist(), column


def changes(run: Run) -> Any:
    events = run.events[run.events["event"] != "renew"]
    return events.drop(columns="reason").sort_values(["time_s", "job", "event"], ignore_index=True)


def test_a_long_job_alone_takes_a_handful_of_decisions() -> None:
    run = run_loop(make(TYPES, [{"steps": 447 * DAY_S}], {"fast": 1.0, "slow": 0.5}), GAVEL)
    assert run.jobs["finish_s"].tolist() == [447 * DAY_S] and len(run.decisions) <= 3


def test_arrivals_completions_and_faults_are_still_answered_at_the_next_round() -> None:
    jobs = [{"steps": 3 * DAY_S}, {"steps": 3 * DAY_S, "arrival_s": DAY_S + 7.0}, {"steps": 9e4, "gpus": 2}]
    faults = {
        "list": [{"node": "a-0", "from_s": 1000.0, "to_s": 5000.0}, {"node": "b-0", "from_s": 2e5, "to_s": 2.1e5}]
    }
    core = {"restart": {"restart_s": 30.0}, "faults": faults}
    run, stepped = both(make(TYPES, jobs, {"fast": 1.0, "slow": 0.7}, core=core))
    same(run, stepped)
    assert len(run.decisions) < len(stepped.decisions) / 5


def test_shares_are_refreshed_on_time() -> None:
    scenario = make({"a": ("fast", 2)}, [{"steps": DAY_S}])
    run, stepped = both(scenario, refresh_s=5000.0)
    same(run, stepped)
    solved = [r.decisions[r.decisions["status"] != ""]["time_s"].tolist() for r in (run, stepped)]
    assert solved[0] == solved[1] and len(solved[0]) == 18 and len(run.decisions) < len(stepped.decisions)


@pytest.mark.parametrize("knobs", [{"whole_steps": True}, {"pick": "by_type"}, {"preset": "authors"}])
def test_where_rounds_are_not_alike_each_is_asked_for(knobs: dict[str, Any]) -> None:
    run, stepped = both(make(TYPES, [{"steps": 7000.0}]), **knobs)
    assert len(run.decisions) == len(stepped.decisions) >= 18


def test_who_competes_is_asked_in_every_round() -> None:
    run, stepped = both(make({"a": ("fast", 1)}, [{"steps": 3600.0}] * 2))
    same(run, stepped)
    assert len(run.decisions) >= 18


@given(scenarios(faults=True, start=True), st.sampled_from([60.0, 13.0]), st.sampled_from([None, 200.0]))
def test_leaving_rounds_out_changes_nothing(scenario: Scenario, round_s: float, refresh_s: float | None) -> None:
    """Listed outages and short restarts, so that every run ends; gangs that fit on one type."""
    capacity = scenario.cluster.capacity.values()
    jobs = [job.model_copy(update={"gpu_choices": None}) for job in scenario.jobs if job.gpus <= max(capacity)]
    core = scenario.core.model_dump() | {"restart": {"restart_s": 5.0}}
    core["faults"] = {"list": core["faults"]["list"]}
    held = [each for each in scenario.running if sum(each.gpus.values()) == each_gpus(jobs, each.job)]
    same(*both(scenario.replace(jobs=jobs, core=core, running=held), round_s=round_s, refresh_s=refresh_s))


def each_gpus(jobs: list[Job], name: str) -> int | None:
    """The gang of a job, None if it is not there."""
    return next((job.gpus for job in jobs if job.name == name), None)
