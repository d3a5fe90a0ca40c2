"""Sched_Homo by hand: weight over mean time decides, types do not, and nobody is preempted."""

from __future__ import annotations

from typing import Any

from pytest import approx

from tests.baselines.mechanisms.support import make
from workbench import simulate

TWO_TYPES = {"slow": ("s", 1), "fast": ("f", 1)}
SPEEDS = {"s": 1.0, "f": 3.0}


def test_the_first_type_with_room_is_taken_however_slow() -> None:
    run = simulate(make(TWO_TYPES, [{"steps": 60}], SPEEDS), "sched_homo")
    assert run.jobs["finish_s"].tolist() == [60.0]


def test_the_largest_weight_over_mean_time_starts_first() -> None:
    """At a mean speed of 2 steps/s: j2 30 s / 3, j1 20 s, j0 5 s / 0.1. j2 gets the first GPU, 1 step/s, j1 the other,
    3 steps/s, and j0 that one after it."""
    jobs = [{"steps": 10, "weight": 0.1}, {"steps": 42, "weight": 1.0}, {"steps": 60, "weight": 3.0}]
    run = simulate(make(TWO_TYPES, jobs, SPEEDS), "sched_homo", round_s=1.0)
    assert dict(zip(run.jobs["job"], run.jobs["first_start_s"], strict=True)) == {"j0": 14.0, "j1": 0.0, "j2": 0.0}
    assert run.jobs["finish_s"].tolist() == [approx(14 + 10 / 3), 14.0, 60.0]


def test_nobody_is_preempted_and_who_does_not_fit_is_passed() -> None:
    """j1's gang of two waits for both GPUs; j2 passes it."""
    jobs: list[dict[str, Any]] = [
        {"steps": 100},
        {"steps": 20, "gpus": 2, "arrival_s": 1},
        {"steps": 60, "arrival_s": 2},
    ]
    run = simulate(make({"n": ("t", 2)}, jobs), "sched_homo", round_s=1.0)
    assert run.jobs["finish_s"].tolist() == [100.0, 110.0, 62.0]
    assert run.jobs["preemptions"].sum() == 0
