"""Hops's queue: five priorities on the same jobs, refreshing, and finish-time fairness against that of a run."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

import workbench
from tests.baselines.mechanisms.support import look, make, on, scenarios
from workbench.analysis.metrics.jobs import Speeds
from workbench.base.errors import InputError
from workbench.papers.hops.finish_time import finish_time_ratio, isolated_s
from workbench.papers.hops.queue import Priority, priorities, queue, refreshed_at, remembered_ages, waits_at
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Snapshot

JOBS = [{"steps": 1000}, {"steps": 100}, {"steps": 400, "gpus": 2, "gpu_choices": [1, 2, 3]}, {"steps": 1000}]
WAITED = [600.0, 30.0, 500.0, 100.0]
LEFT = {"j0": 900.0, "j2": 50.0}
ATTAINED = {"j0": 20.0, "j1": 30.0, "j2": 300.0, "j3": 10.0}


def seen(now_s: float = 600.0, waited: list[float] | None = None, running: tuple[str, ...] = ()) -> Snapshot:
    """Four jobs of one step/s per GPU on four GPUs; ages 1000, 100, 200 and 1000 s."""
    leases = [on(name, 900.0, a=1) for name in running]
    snapshot = look(make({"a": ("t", 4)}, JOBS), now_s, left=LEFT, attained=ATTAINED, leases=leases)
    jobs = dataclasses.replace(snapshot.jobs, waited_s=np.array(waited or WAITED))
    return dataclasses.replace(snapshot, jobs=jobs)


def ages_of(snapshot: Snapshot) -> dict[str, float]:
    return remembered_ages(snapshot, {})


@pytest.mark.parametrize(
    ("priority", "values", "order"),
    [
        ("latency_ratio", [0.6, 0.3, 2.5, 0.1], [2, 0, 1, 3]),
        ("las", [-20.0, -30.0, -300.0, -10.0], [3, 0, 1, 2]),
        ("sjf", [-1000.0, -100.0, -200.0, -1000.0], [1, 2, 0, 3]),
        ("srtf", [-900.0, -100.0, -25.0, -1000.0], [2, 1, 0, 3]),
        # Four jobs present: each one's share is a GPU, so 1000, 100, 400 and 1000 s alone.
        ("ftf", [1500 / 1000, 700 / 100, 625 / 400, 1600 / 1000], [1, 3, 2, 0]),
    ],
)
def test_priorities_and_orders_by_hand(priority: Priority, values: list[float], order: list[int]) -> None:
    snapshot = seen()
    found = queue(snapshot, ages_of(snapshot), priority, 30.0)
    assert found.age_s.tolist() == approx([1000.0, 100.0, 200.0, 1000.0])
    assert found.priority.tolist() == approx(values)
    assert found.order.tolist() == order
    assert found.refreshed_s == 600.0


def test_equal_priorities_come_in_the_order_of_jobs() -> None:
    snapshot = seen(waited=[0.0] * 4)
    assert queue(snapshot, ages_of(snapshot), "latency_ratio", 30.0).order.tolist() == [0, 1, 2, 3]


# --- refreshing -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("now_s", "expected"), [(0.0, 0.0), (29.9, 0.0), (30.0, 30.0), (89.0, 60.0), (300.0, 300.0)])
def test_the_queue_is_sorted_every_thirty_seconds(now_s: float, expected: float) -> None:
    assert refreshed_at(now_s, 30.0) == expected


@given(st.floats(0, 1e7), st.floats(0.1, 1e4))
def test_the_last_refresh_is_a_multiple_not_after_now(now_s: float, refresh_s: float) -> None:
    last_s = refreshed_at(now_s, refresh_s)
    assert last_s <= now_s < last_s + refresh_s * (1 + 1e-6)
    assert last_s / refresh_s == approx(round(last_s / refresh_s), abs=1e-6)
    assert refreshed_at(now_s, 0.0) == now_s


def test_between_refreshes_the_order_stays_as_it_is() -> None:
    """At 629 s j1 has waited for 0.59 of its age and j0 for 0.629; at 630 s both for 0.63, at 660 s j1 is first."""
    waits = {600.0: [600.0, 30.0], 629.0: [629.0, 59.0], 630.0: [630.0, 60.0], 660.0: [660.0, 90.0]}
    orders = {}
    for now_s, waited in waits.items():
        snapshot = seen(now_s, [*waited, 0.0, 0.0])
        found = queue(snapshot, ages_of(snapshot), "latency_ratio", 30.0)
        orders[now_s] = found.order.tolist()[:2]
        assert found.priority[0] == approx(refreshed_at(now_s, 30.0) / 1000)
    assert orders == {600.0: [0, 1], 629.0: [0, 1], 630.0: [0, 1], 660.0: [1, 0]}


def test_the_waits_of_running_jobs_do_not_grow() -> None:
    snapshot = seen(620.0, [620.0, 40.0, 5.0, 0.0], running=("j1",))
    waiting = np.array([True, False, True, True])
    assert waits_at(snapshot.jobs, waiting, 620.0, 600.0).tolist() == [600.0, 40.0, 0.0, 0.0]
    found = priorities(snapshot, np.array([1000.0, 100.0, 200.0, 1000.0]), "latency_ratio", 600.0)
    assert found.tolist() == approx([0.6, 0.4, 0.0, 0.0]), "j2 came, or was suspended, after the last sorting"


def test_an_age_is_kept_from_first_sight_on() -> None:
    snapshot = seen()
    before = {"j0": 7.0, "gone": 9.0}
    found = remembered_ages(snapshot, before)
    assert found == approx({"j0": 7.0, "j1": 100.0, "j2": 200.0, "j3": 1000.0})
    assert remembered_ages(snapshot, found) == found
    assert before == {"j0": 7.0, "gone": 9.0}


def test_no_jobs_no_queue() -> None:
    empty = look(make({"a": ("t", 4)}, JOBS), gone=("j0", "j1", "j2", "j3"))
    for priority in ("latency_ratio", "ftf", "las", "sjf", "srtf"):
        assert queue(empty, remembered_ages(empty, {"j0": 1.0}), priority, 30.0).order.tolist() == []  # type: ignore[arg-type]


def test_priorities_that_there_are_not_and_negative_periods_are_refused() -> None:
    snapshot = seen()
    with pytest.raises(InputError, match="priority"):
        priorities(snapshot, np.ones(4), "fifo", 600.0)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="refresh_s"):
        refreshed_at(5.0, -1.0)


# --- finish-time fairness ---------------------------------------------------------------------------------------------


def test_a_job_alone_in_the_cluster_is_expected_at_the_fastest_size_that_fits() -> None:
    """Sizes 1, 2 and 3 at 1, 3 and 2 steps/s: on four GPUs, on three and on two the size of two, on one the first."""
    data = make({"a": ("t", 4)}, [{"steps": 600, "gpu_choices": [1, 2, 3]}]).to_dict()
    speeds = {1: 1.0, 2: 3.0, 3: 2.0}
    rows = [{"model": "m", "accelerator": "t", "gpus": n, "steps_per_s": speed} for n, speed in speeds.items()]
    snapshot = look(Scenario.from_dict({**data, "throughputs": rows}))
    found = {n: isolated_s(snapshot.jobs, snapshot.belief, snapshot.cluster, n).tolist() for n in (1, 4 / 3, 2, 3, 9)}
    assert found == {1: [200.0], 4 / 3: [200.0], 2: [200.0], 3: [600.0], 9: [600.0]}


@given(scenarios(), st.floats(1, 12))
def test_time_alone_is_that_of_the_measures(scenario: Scenario, present: float) -> None:
    """With the true speeds a run's `finish_time_fairness` divides by the same seconds."""
    snapshot = workbench.snapshot_at(scenario, 1e4)
    rows = snapshot.jobs.position
    steps = np.array([scenario.jobs[row].steps for row in rows])
    expected = steps * Speeds(scenario).isolated(np.full(len(scenario.jobs), present))[rows]
    assert isolated_s(snapshot.jobs, snapshot.belief, scenario.cluster, present) == approx(expected, rel=1e-12)


def test_the_expected_ratio_grows_as_a_job_waits_and_is_the_measured_one_at_its_end() -> None:
    ratio = [
        finish_time_ratio(np.array([100.0]), np.array([left]), np.array([since]), np.array([400.0]))[0]
        for left, since in ((1.0, 0.0), (1.0, 200.0), (0.5, 250.0), (0.0, 300.0))
    ]
    assert ratio == [0.25, 0.75, 0.75, 0.75]
