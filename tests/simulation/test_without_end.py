"""Runs that would never end: idle time is skipped, and what cannot end says so."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.simulation.support import Scripted, give, make
from workbench.base.errors import ScenarioError
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Assignment, Decision
from workbench.scheduling.snapshot import Snapshot
from workbench.session.registry import find_scheduler
from workbench.simulation.loop import run_loop
from workbench.simulation.run import Run
from workbench.simulation.stop import MOST_IDLE_ROUNDS, MOST_LOSSES, Stalled, Until

GAVEL = "gavel.max_min_fairness"
FOREVER_S = 1e10


def run(scenario: Scenario, scheduler: str, **knobs: Any) -> Run:
    return run_loop(scenario, find_scheduler(scheduler), knobs)


@pytest.mark.parametrize("scheduler", [GAVEL, "las", "fifo", "isolated"])
def test_a_job_that_faults_always_throw_back_is_named(scheduler: str) -> None:
    """It needs 100 times the mean time between failures: exp(-100) is its chance each time."""
    faults = {"mtbf_s": 1000.0, "mttr_s": 10.0}
    scenario = make([{"steps": 1e5}], core={"faults": faults})
    with pytest.raises(Stalled, match=r"j0 lost all that it had done to faults 10[0-4]\d times.*checkpoint_s"):
        run(scenario, scheduler)
    assert (
        run(make([{"steps": 1e5}], core={"faults": faults, "checkpoint_s": 100.0}), scheduler)
        .jobs.finish_s.notna()
        .all()
    )


def test_a_restart_longer_than_the_time_between_faults_is_named_even_with_checkpoints() -> None:
    core = {"faults": {"mtbf_s": 100.0, "mttr_s": 1.0}, "restart": {"restart_s": 5000.0}, "checkpoint_s": 10.0}
    with pytest.raises(Stalled, match="without a step of j0: a restart takes 5000 s"):
        run(make([{"steps": 1e5}], core=core), "fifo")


def test_a_run_up_to_a_time_may_lose_as_often_as_it_likes() -> None:
    scenario = make([{"steps": 1e5}], core={"faults": {"mtbf_s": 10.0, "mttr_s": 1.0}})
    found = run_loop(scenario, find_scheduler("fifo"), stop=Until(20_000.0))
    assert found.end_s == 20_000 and (found.events.event == "fault").sum() > MOST_LOSSES


def test_losses_do_not_count_while_others_finish() -> None:
    """Every job takes ten attempts or so; none of them alone is hopeless, and all of them together are not either."""
    faults = {"mtbf_s": 100.0, "mttr_s": 1.0}
    jobs = [{"steps": 250.0, "arrival_s": 10.0 * i} for i in range(150)]
    found = run(make(jobs, core={"faults": faults}), "fifo")
    assert found.jobs.finish_s.notna().all() and (found.events.event == "lost_steps").sum() > MOST_LOSSES


@pytest.mark.parametrize("scheduler", [GAVEL, "las", "fifo", "srtf", "isolated"])
def test_nodes_that_stay_down_for_ages_are_not_waited_for_round_by_round(scheduler: str) -> None:
    faults = {"list": [{"node": "n-0", "from_s": 50.0, "to_s": FOREVER_S}]}
    found = run(make([{"steps": 100.0}], core={"faults": faults}), scheduler)
    assert found.jobs.finish_s[0] == pytest.approx(FOREVER_S + 100, abs=400)
    assert len(found.decisions) <= MOST_IDLE_ROUNDS + 10


@pytest.mark.parametrize("scheduler", [GAVEL, "las"])
def test_a_job_whose_type_is_down_does_not_keep_rounds_going_when_the_others_are_done(scheduler: str) -> None:
    scenario = make([{"steps": 100.0, "gpus": 2}, {"steps": 100.0}], {"a": 1, "b": 2}).replace(
        throughputs=[{"model": "m", "accelerator": "t", "gpus": n, "steps_per_s": 1.0, "nodes": 1} for n in (1, 2)],
        core={"faults": {"list": [{"node": "b-0", "from_s": 0.0, "to_s": FOREVER_S}]}},
    )
    found = run(scenario, scheduler)
    assert found.jobs.finish_s.tolist() == pytest.approx([FOREVER_S + 100, 100], abs=400)
    assert len(found.decisions) <= 2 * MOST_IDLE_ROUNDS


def test_idle_rounds_are_skipped_to_the_next_arrival_as_well() -> None:
    """Nobody gets anything before the second job is there, 3e7 rounds later."""
    lazy = Scripted(lambda s: Decision() if len(s.jobs) < 2 else give(s.jobs.names[0], {"n-0": 1}))
    jobs = [{"steps": 10.0}, {"steps": 10.0, "arrival_s": FOREVER_S}]
    found = run_loop(make(jobs), lazy, stop=Until(FOREVER_S + 600.0))
    assert found.jobs.finish_s[0] == pytest.approx(FOREVER_S, abs=100)
    assert len(lazy.calls) <= MOST_IDLE_ROUNDS + 20


def test_a_scheduler_that_gives_nothing_is_stuck_although_nodes_fail_all_the_time() -> None:
    scenario = make(
        [{"steps": 10.0}], {f"n{i}": 1 for i in range(20)}, core={"faults": {"mtbf_s": 50.0, "mttr_s": 500.0}}
    )
    with pytest.raises(Stalled, match="got 'j0'"):
        run_loop(scenario, Scripted(lambda _: Decision()))


@pytest.mark.parametrize("scheduler", [GAVEL, "las"])
def test_restarts_that_never_end_are_named(scheduler: str) -> None:
    """Two jobs take turns on one GPU; a restart takes 2800 rounds."""
    scenario = make([{"steps": 1e5}, {"steps": 1e5}], core={"restart": {"restart_s": 1e6}})
    with pytest.raises(Stalled, match="rounds without a step of j0, j1: a restart takes 1e\\+06 s"):
        run(scenario, scheduler)


def test_profiles_are_no_steps_but_end() -> None:
    """A job may be profiled for more decisions than there may be without a step; one profiled for ever is named."""

    def answer(until_s: float) -> Scripted:
        def decided(now: Snapshot) -> Decision:
            ends_s = now.now_s + 1.0
            measured = Assignment("j0", {"n-0": 1}, ends_s, kind="profile", steps=0.0)
            return Decision((measured if now.now_s < until_s else Assignment("j0", {"n-0": 1}, ends_s),))

        return Scripted(decided, round_s=1.0)

    found = run_loop(make([{"steps": 5.0}]), answer(MOST_IDLE_ROUNDS + 200.0))
    assert found.jobs.finish_s[0] == pytest.approx(MOST_IDLE_ROUNDS + 205.0)
    with pytest.raises(Stalled, match="rounds without a step of j0"):
        run_loop(make([{"steps": 5.0}]), answer(math.inf))


def test_a_long_restart_that_goes_on_is_waited_for() -> None:
    faults = {"list": [{"node": "n-0", "from_s": 50.0, "to_s": 60.0}]}
    found = run(make([{"steps": 100.0}], core={"restart": {"restart_s": 1e6}, "faults": faults}), GAVEL)
    assert found.jobs.finish_s[0] == 360 + 1e6 + 100


@pytest.mark.parametrize(
    ("job", "core", "where"),
    [
        ({"arrival_s": 1e300}, {}, r"jobs\[0\].arrival_s: got 1e\+300; expected a number <= 10,000,000,000"),
        ({}, {"restart": {"restart_s": 1e9}}, r"restart_s: got .*; expected a number <= 1,000,000"),
        ({}, {"checkpoint_s": 1e12}, r"checkpoint_s: got .*; expected a number <= 10,000,000,000"),
        ({}, {"faults": {"list": [{"node": "n-0", "from_s": 0.0, "to_s": 1e12}]}}, r"to_s: got .*<= 10,000,000,000"),
        ({}, {"faults": {"mtbf_s": 1e-300, "mttr_s": 1.0}}, r"mtbf_s: got 1e-300; expected a number >= 1"),
    ],
)
def test_times_beyond_all_bounds_are_bad_input(job: dict[str, Any], core: dict[str, Any], where: str) -> None:
    with pytest.raises(ScenarioError, match=where):
        make([{"steps": 10.0, **job}], core=core)


@pytest.mark.parametrize("scheduler", [GAVEL, "las", "fifo"])
def test_jobs_that_take_longer_than_all_bounds_are_bad_input(scheduler: str) -> None:
    with pytest.raises(
        ScenarioError, match=r"jobs\[1\].steps: got 1e\+22; expected .* at most 10,000,000,000 s at 2 steps/s"
    ):
        run(make([{"steps": 1.0}, {"steps": 1e22}], gpus=1, rate=2.0), scheduler)
    assert math.isclose(run(make([{"steps": 2e10}], rate=2.0), scheduler).end_s, 1e10)
