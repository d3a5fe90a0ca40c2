"""GENIE: laxity, sizes by GPU-seconds, late and best-effort jobs last, by hand and on random scenarios."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given as with_random
from hypothesis import strategies as st

from tests.baselines.mechanisms.support import given, look, make, on, scenarios
from tests.baselines.test_edf import finish, slo, with_rewards
from workbench.baselines.edf import Edf
from workbench.baselines.genie import Genie
from workbench.scenario.presets import preset
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Decision
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.loop import run_loop


def ask(snapshot: Snapshot) -> Decision:
    return Genie().decide(snapshot, None, Genie().settle({}), np.random.default_rng(0))[0]


def elastic(speeds: dict[int, float], **job: Any) -> Scenario:
    """One job on up to four GPUs of one node, at so many steps/s by the number of GPUs."""
    return Scenario.from_dict(
        {
            "cluster": {"accelerators": [{"name": "t"}], "nodes": [{"name": "n", "accelerator": "t", "gpus": 4}]},
            "jobs": [{"name": "j0", "model": "m", "gpu_choices": sorted(speeds), "gpus": min(speeds), **job}],
            "throughputs": [{"model": "m", "accelerator": "t", "gpus": n, "steps_per_s": v} for n, v in speeds.items()],
        }
    )


def test_least_laxity_is_not_earliest_deadline() -> None:
    scenario = make({"n": ("t", 1)}, [slo(500, steps=100), slo(900, steps=850)])
    decision = ask(look(scenario))
    assert set(given(decision)) == {"j1"}  # it can wait for 50 s only, j0 for 400 s
    assert dict(decision.signals["laxity_s"]) == {"j0": 400.0, "j1": 50.0}


def test_as_few_gpu_seconds_as_the_deadline_allows() -> None:
    """1000 steps: 1000 s on one GPU, 556 s on two (1111 GPU-s), 312 s on four (1250 GPU-s)."""
    speeds = {1: 1.0, 2: 1.8, 4: 3.2}
    for deadline_s, gpus in ((1000.0, 1), (999.0, 2), (555.0, 4)):
        decision = ask(look(elastic(speeds, steps=1000, **slo(deadline_s))))
        assert given(decision) == {"j0": {"n": gpus}}


def test_the_laxity_is_what_is_left_at_the_fastest_size() -> None:
    snapshot = look(elastic({1: 1.0, 4: 4.0}, steps=1000, **slo(900.0)))
    assert ask(snapshot).signals["laxity_s"]["j0"] == 900.0 - 250.0


def test_a_job_without_choices_has_one_size() -> None:
    scenario = make({"n": ("t", 4)}, [slo(900, steps=1000)])
    assert given(ask(look(scenario))) == {"j0": {"n": 1}}


def test_late_jobs_stand_with_best_effort_by_arrival() -> None:
    jobs = [{"steps": 100}, slo(50, steps=100, arrival_s=10), slo(5000, steps=100, arrival_s=20)]
    run = run_loop(make({"n": ("t", 1)}, [*jobs, {"steps": 100, "arrival_s": 5}]), Genie(), {"round_s": 30.0})
    # j0 from 0 as nobody else is there; at 120 j2 can be in time; then j3 (5 s), j1 (10 s)
    assert finish(run) == {"j0": 100.0, "j2": 220.0, "j3": 340.0, "j1": 460.0}


def test_a_type_on_which_it_would_be_late_is_left_alone() -> None:
    scenario = make({"a": ("slow", 1), "b": ("fast", 1)}, [slo(600, steps=1000)], {"slow": 1.0, "fast": 2.0})
    assert given(ask(look(scenario))) == {"j0": {"b": 1}}
    both = make({"a": ("slow", 1), "b": ("fast", 1)}, [slo(600), {}], {"slow": 1.0, "fast": 2.0})
    assert not ask(look(both, leases=[on("j1", b=1)])).assign


def test_best_effort_runs_at_the_size_asked_for() -> None:
    assert given(ask(look(elastic({1: 1.0, 2: 1.8, 4: 3.2}, gpus=2, steps=1000)))) == {"j0": {"n": 2}}


@pytest.mark.parametrize("others", [0, 1])
def test_a_job_that_holds_gpus_at_the_start_keeps_them(others: int) -> None:
    """Whether or not others wait, and though another node would do too."""
    jobs = [{"steps": 100}, *({"steps": 50} for _ in range(others))]
    scenario = make({"a": ("t", 1), "b": ("t", 1)}, jobs).replace(running=[{"job": "j0", "gpus": {"b-0": 1}}])
    run = run_loop(scenario, Genie())
    assert run.timeline.loc[run.timeline["job"] == "j0", "node"].tolist() == ["b-0"]
    assert run.jobs["finish_s"].tolist() == [100.0, 50.0][: 1 + others] and not run.jobs["preemptions"].any()


def test_nobody_is_preempted_on_the_elastic_preset_and_jobs_with_time_take_fewer_gpus() -> None:
    scenario = preset("chronus_example_elastic")
    run = run_loop(scenario, Genie())
    assert run.jobs["preemptions"].sum() == 0 and run.jobs["finish_s"].notna().all()
    held = run.timeline.groupby("job")["gpus"].max()
    asked = {job.name: job.gpus for job in scenario.jobs}
    assert any(held[name] < gpus for name, gpus in asked.items())


@with_random(scenarios())
def test_without_deadlines_it_is_edf_without_deadlines(scenario: Scenario) -> None:
    """Both serve by arrival, pass those that do not fit and take the fastest type with room."""
    knobs = {"round_s": 60.0}
    assert run_loop(scenario, Genie(), knobs).timeline.equals(run_loop(scenario, Edf(), knobs).timeline)


@with_random(scenarios(), st.lists(st.sampled_from([None, 50.0, 300.0, 2000.0]), min_size=1, max_size=4))
def test_everybody_finishes_and_only_faults_preempt(scenario: Scenario, deadlines_s: list[float | None]) -> None:
    run = run_loop(with_rewards(scenario, deadlines_s), Genie())
    assert run.jobs["finish_s"].notna().all()
    lost = run.events[run.events["event"] == "preempt"]
    assert lost["reason"].str.contains("failed|is down").all()
