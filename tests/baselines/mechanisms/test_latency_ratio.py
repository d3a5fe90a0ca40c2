"""Latency ratio, age and RAQLR, (6) to (9) of Hops: by hand, against the measures of a run, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

import workbench
from tests.baselines.mechanisms.support import look, make, scenarios
from workbench.analysis.metrics import latency_ratio_over_time, per_job
from workbench.analysis.metrics.jobs import Speeds
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.latency_ratio import age_s, ages, latency_ratio, per_gpu_speeds
from workbench.scenario.scenario import Scenario


def age(total: float, per_gpu: list[float], gpus: list[int], mean_size: float) -> float:
    found = age_s(np.array([total]), np.array([per_gpu]), np.array(gpus, dtype=float), np.array([mean_size]))
    return float(found[0])


def test_age_by_hand() -> None:
    """A quarter of the GPUs at 10 samples/s, the rest at 20, three GPUs on average: 360,000 samples take 7500 s."""
    assert age(360_000, [10.0, 20.0], [4, 12], 3.0) == approx(7500.0)
    assert latency_ratio(np.array([1800.0]), np.array([7500.0])).tolist() == approx([0.24])


def test_on_one_type_age_is_the_run_time_at_the_mean_size() -> None:
    assert age(1000, [2.0], [64], 5.0) == approx(100.0)


def test_a_type_on_which_a_job_cannot_run_is_left_out() -> None:
    assert age(1000, [2.0, 0.0], [4, 12], 1.0) == approx(500.0)
    assert age(1000, [0.0, 0.0], [4, 12], 1.0) == np.inf


def test_a_job_may_wait_for_longer_than_it_runs() -> None:
    """The text says that the ratio does not exceed 1; its own Table 4 has 3.22."""
    assert latency_ratio(np.array([3600.0, 0.0]), np.array([600.0, 600.0])).tolist() == [6.0, 0.0]


@pytest.mark.parametrize(
    ("waited", "aged", "where"),
    [([0.0, 1.0], [5.0, 0.0], "age_s[1]"), ([0.0], [-1.0], "age_s[0]"), ([-1.0], [5.0], "waited_s[0]")],
)
def test_no_age_and_negative_waits_are_refused(waited: list[float], aged: list[float], where: str) -> None:
    with pytest.raises(InputError) as error:
        latency_ratio(np.array(waited), np.array(aged))
    assert error.value.where == where


def test_a_job_without_work_has_no_age() -> None:
    with pytest.raises(InputError, match="has no age"):
        age(0.0, [1.0], [1], 1.0)


# --- of a snapshot ----------------------------------------------------------------------------------------------------


def test_ages_of_a_snapshot_by_hand() -> None:
    """Steps/s per GPU 1 on four GPUs and 3 on two; sizes 1 and 2: the mean pace (2/3 + 1/9) s over 1.5 GPUs."""
    scenario = make({"a": ("s", 4), "b": ("f", 2)}, [{"gpus": 2, "gpu_choices": [1, 2]}], {"s": 1.0, "f": 3.0})
    snapshot = look(scenario)
    assert per_gpu_speeds(snapshot.jobs, snapshot.belief, snapshot.cluster).tolist() == [[1.0, 3.0]]
    assert ages(snapshot.jobs, snapshot.belief, snapshot.cluster) == approx(1000 * (2 / 3 + 1 / 9) / 1.5)


def test_steps_done_before_the_scenario_are_not_part_of_the_age() -> None:
    snapshot = look(make({"a": ("t", 1)}, [{"steps": 1000, "steps_done": 400.0}]))
    assert ages(snapshot.jobs, snapshot.belief, snapshot.cluster).tolist() == [600.0]


def test_a_job_that_does_not_run_at_the_size_it_asks_for_is_taken_at_the_smallest_that_runs() -> None:
    data = make({"a": ("t", 4)}, [{"gpus": 1, "gpu_choices": [1, 2, 4]}]).to_dict()
    data["throughputs"] = [{"model": "m", "accelerator": "t", "gpus": 2, "steps_per_s": 5.0}]
    snapshot = look(Scenario.from_dict(data))
    assert per_gpu_speeds(snapshot.jobs, snapshot.belief, snapshot.cluster).tolist() == [[2.5]]


def test_a_job_that_runs_only_spread_has_the_speed_it_has_there() -> None:
    data = make({"a": ("t", 2), "b": ("t", 2), "c": ("t", 2)}, [{"gpus": 3}]).to_dict()
    row = {"model": "m", "accelerator": "t", "gpus": 3, "nodes": 3, "placement": "unconsolidated", "steps_per_s": 6.0}
    snapshot = look(Scenario.from_dict({**data, "throughputs": [row]}))
    assert per_gpu_speeds(snapshot.jobs, snapshot.belief, snapshot.cluster).tolist() == [[2.0]]


@given(scenarios())
def test_ages_are_those_of_the_measures(scenario: Scenario) -> None:
    """With the true speeds a run's `latency_ratio` divides by the same seconds."""
    snapshot = workbench.snapshot_at(scenario, 1e4)
    rows = snapshot.jobs.position
    steps = np.array([scenario.jobs[row].steps for row in rows])
    expected = steps * Speeds(scenario).expected()[rows]
    assert ages(snapshot.jobs, snapshot.belief, scenario.cluster) == approx(expected, rel=1e-12)


# --- RAQLR ------------------------------------------------------------------------------------------------------------


def test_raqlr_by_hand() -> None:
    """One GPU, first in, first out, a step a second: a ends at 10 s, b at 30 s after 10 s of waiting for its 20 s, c
    at 70 s after 30 s for its 40 s. Windows of 20 s are open at their start."""
    scenario = make({"a": ("t", 1)}, [{"steps": 10}, {"steps": 20}, {"steps": 40}])
    run = workbench.simulate(scenario, "fifo", round_s=0.0)
    found = latency_ratio_over_time(run, 20.0)
    assert found["time_s"].tolist() == [0.0, 10.0, 30.0, 50.0, 70.0]
    assert found["value"].tolist() == approx([np.nan, 0.0, 0.5, np.nan, 0.75], nan_ok=True)
    assert found["jobs"].tolist() == [0, 1, 1, 0, 1]
    whole = latency_ratio_over_time(run, 1e6)
    assert whole["value"].tolist() == approx([np.nan, 0.0, 0.25, 1.25 / 3], nan_ok=True)


@given(scenario=scenarios(), window_s=st.floats(1.0, 1e4), until_s=st.floats(1.0, 2e4))
def test_raqlr_is_the_mean_over_the_window_at_every_time(scenario: Scenario, window_s: float, until_s: float) -> None:
    run = workbench.simulate(scenario, "fifo", until_s=until_s)
    jobs = per_job(run)
    ended = [(f, r) for f, r in zip(run.jobs["finish_s"], jobs["latency_ratio"], strict=True) if not np.isnan(r)]
    for time_s, value, count in latency_ratio_over_time(run, window_s).itertuples(index=False):
        inside = [ratio for finish, ratio in ended if finish <= time_s < finish + window_s]
        assert count == len(inside)
        assert value == approx(np.mean(inside) if inside else np.nan, nan_ok=True, abs=1e-9)


@pytest.mark.parametrize("window_s", [0.0, -1.0, np.inf, np.nan])
def test_a_window_that_is_no_time_is_refused(window_s: float) -> None:
    run = workbench.simulate(make({"a": ("t", 1)}, [{}]), "fifo", until_s=1.0)
    with pytest.raises(InputError, match="window_s"):
        latency_ratio_over_time(run, window_s)
