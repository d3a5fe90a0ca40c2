"""Themis: rho by hand, leases to the worst treated, who keeps GPUs, and what n is."""

from __future__ import annotations

import numpy as np
import pytest

from tests.baselines.mechanisms.support import given, look, make, on
from workbench.analysis.metrics import summary
from workbench.baselines.themis import Themis, ThemisMemory, finish_time_fairness, mean_present, seen
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Decision
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.loop import run_loop

NOBODY = ThemisMemory()


def ask(snapshot: Snapshot, memory: ThemisMemory = NOBODY, **knobs: object) -> tuple[Decision, ThemisMemory]:
    return Themis().decide(snapshot, memory, Themis().settle(knobs), np.random.default_rng(0))


def two(**more: float) -> Scenario:
    return make({"n": ("t", 2)}, [{"steps": 1000}, {"steps": 400, "gpus": 2, "arrival_s": 100, **more}])


def test_rho_by_hand() -> None:
    """j0: 300 s gone, 700 to go, 1000 alone on its half. j1: 200 gone, 200 to go (400 steps at 2/s), alone on one of
    the two GPUs of its gang 400 s."""
    snapshot = look(two(), 300.0, left={"j0": 700.0, "j1": 400.0})
    rho = finish_time_fairness(snapshot, np.array([2.0, 2.0]))
    assert rho.tolist() == pytest.approx([1000 / 1000, 400 / 400])
    crowded = finish_time_fairness(snapshot, np.array([4.0, 4.0]))
    assert crowded.tolist() == pytest.approx([1000 / 2000, 400 / 800])


def test_run_times_are_at_the_mean_speed_over_the_gpus_of_all_types() -> None:
    scenario = make({"a": ("fast", 1), "b": ("slow", 3)}, [{"steps": 700}], {"fast": 4.0, "slow": 1.0})
    snapshot = look(scenario, 100.0)
    # mean speed (4 + 3 x 1) / 4 = 1.75: 400 s; 100 s have gone
    assert finish_time_fairness(snapshot, np.array([1.0])).tolist() == pytest.approx([500 / 400])


def test_n_is_the_mean_number_present_since_the_job_was_first_seen() -> None:
    scenario = two()
    first = seen(look(scenario, 0.0), ThemisMemory())
    second = seen(look(scenario, 100.0), first)  # one job for 100 s; now there are two
    third_look = look(scenario, 300.0)
    third = seen(third_look, second)  # two for 200 s
    assert mean_present(third_look, third).tolist() == pytest.approx([(100 + 400) / 300, 2.0])
    assert mean_present(look(scenario, 0.0), first).tolist() == [1.0]
    gone = seen(look(scenario, 400.0, gone=["j0"]), third)
    assert set(gone.since) == {"j1"}


def test_the_worst_treated_is_offered_gpus_of_others_and_who_is_not_among_them_keeps_his() -> None:
    scenario = make({"n": ("t", 1)}, [{"steps": 1000}, {"steps": 100, "arrival_s": 10}])
    snapshot = look(scenario, 500.0, leases=[on("j0", n=1)], left={"j0": 500.0})
    # rho: j0 (500 + 500) / 2000 = 0.5, j1 (490 + 100) / 200
    worst_first, _ = ask(snapshot, f=0.5)
    assert worst_first.preempt == {"j0"} and given(worst_first) == {"j1": {"n": 1}}
    assert worst_first.signals["finish_time_fairness"]["j1"] == pytest.approx(590 / 200)
    nobody_offered, _ = ask(snapshot, f=1.0)
    assert not nobody_offered.preempt and not nobody_offered.assign


def test_gpus_change_hands_at_the_end_of_a_lease_only() -> None:
    scenario = make({"n": ("t", 1)}, [{"steps": 3000}, {"steps": 100, "arrival_s": 10}])
    run = run_loop(scenario, Themis(), {"round_s": 1000.0, "f": 0.0})
    # j1 gets the GPU at 1000 and is done at 1100; the next lease begins at 2000
    assert run.jobs["finish_s"].tolist() == [4000.0, 1100.0]


def test_it_is_fairer_than_first_come_first_served() -> None:
    jobs = [{"steps": 20_000}, *({"steps": 1000, "arrival_s": 100.0 * i} for i in range(1, 6))]
    scenario = make({"n": ("t", 1)}, jobs)
    most = {}
    for f in (0.0, 1.0):
        run = run_loop(scenario, Themis(), {"f": f, "round_s": 100.0})
        most[f] = summary(run)["max_finish_time_fairness"]
    assert most[0.0] < most[1.0] / 2  # with f = 1 nobody is ever preempted
