"""Theorem 2 on numbers: bounds by hand, measured ratios, what a run earned."""

import math

import numpy as np
import pytest
from hypothesis import assume, given

from reproduction.hadar.optimality import admit_in_order, bounds_of, earned_by, first_come, measured, optimum, ratio
from tests.papers.hadar.p1_support import instances
from workbench.base.errors import InputError
from workbench.papers.hadar.formulations.schedules import enumerate_schedules
from workbench.papers.hadar.instance import HadarInstance

ONE_GPU = HadarInstance.made([1], 4, [0, 0], [1, 1], [4, 1], [[2], [2]])


def test_bounds_by_hand():
    """Utility 5 - JCT. j0: tmin 2, worth 3; j1: tmin 1, worth 4; both worth 1 at the end.

    Umax = 4; Umin = min(1 / 2, 1 / 1) / (4 eta), and D_0 = 4 Umin <= 1 / 2 needs eta = 1: Umin = 1/8, alpha = ln 32.
    """
    found = bounds_of(ONE_GPU)
    assert found.most.tolist() == [4.0]
    assert found.least.tolist() == pytest.approx([1 / 8])
    assert found.initial_dual == pytest.approx(0.5)
    assert found.alpha == pytest.approx(math.log(32))


def test_the_measured_ratio_by_hand():
    """j0 first is worth 3 + 2, j1 first 4 + 2: the ratio of first come, first served is 6/5, far below 2 ln 32."""
    plan = first_come(ONE_GPU)
    found = ratio(ONE_GPU, plan.objective)
    assert plan.done.tolist() == [1, 2]
    assert (found.optimum, found.earned, found.ratio) == pytest.approx((6, 5, 1.2))
    assert found.bound == pytest.approx(2 * math.log(32)) and found.starts and not found.premise


def test_nothing_earned_is_an_infinite_ratio():
    assert ratio(ONE_GPU, 0.0).ratio == math.inf


@given(data=instances(jobs=3, slots=3))
def test_no_plan_earns_more_than_the_optimum(data):
    best = optimum(data)
    assert first_come(data).objective <= best + 1e-6
    assume((data.finishable & (data.utility.max(axis=1) > 0)).any())
    listed = enumerate_schedules(data)
    assume(any(value > 0 for value in listed.utility))
    assert admit_in_order(listed, bounds_of(data)).objective <= best + 1e-6


def test_admission_in_order_keeps_to_two_alpha_on_random_instances():
    """An experiment, not a proof: 60 instances of three jobs on two types, all with D_0 <= OPT / 2."""
    worst = 0.0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rate = rng.integers(2, 6, (3, 2)).astype(float)
        data = HadarInstance.made([2, 2], 4, rng.integers(0, 2, 3), rng.integers(1, 3, 3), rng.integers(2, 9, 3), rate)
        found = ratio(data, admit_in_order(enumerate_schedules(data), bounds_of(data)).objective)
        assert found.starts
        worst = max(worst, found.ratio / found.bound)
    assert 0 < worst <= 1


def test_what_a_run_earned():
    assert earned_by(ONE_GPU, {"j0": 2.0, "j1": 2.5}) == 3 + 2
    assert earned_by(ONE_GPU, {"j0": None, "j1": 99.0}) == 0
    with pytest.raises(InputError, match="j7"):
        earned_by(ONE_GPU, {"j7": 1.0})
    with pytest.raises(InputError, match="after the job's first slot"):
        earned_by(ONE_GPU, {"j0": 0.0})


def test_no_job_that_is_worth_anything_has_no_bounds():
    with pytest.raises(InputError, match="no jobs"):
        bounds_of(HadarInstance.made([1], 1, [0], [2], [1], [[1]]))


def test_a_row_for_each_case():
    """j0 first is worth 5 of 6, which is also what first come, first served does; nothing done is worth nothing."""
    found = measured([(ONE_GPU, {"j0": 2.0, "j1": 3.0}), (ONE_GPU, {"j0": None, "j1": None})])
    assert found[["optimum", "earned"]].to_numpy().tolist() == [[6.0, 5.0], [6.0, 0.0]]
    assert found["ratio"].tolist() == [pytest.approx(1.2), math.inf]
    assert found["bound"].tolist() == pytest.approx([2 * math.log(32)] * 2) and found["starts"].all()
    assert found["first_come_ratio"].tolist() == pytest.approx([1.2, 1.2])
