"""Theorem 2 on numbers: bounds by hand, measured ratios, what a run earned."""

import math

import numpy as np
import pytest
from hypothesis import assume, given

from reproduction.hadar.optimality import (
    admit_in_order,
    blocks,
    bounds_of,
    earned_by,
    first_come,
    is_small,
    measured,
    optimum,
    ratio,
)
from tests.papers.hadar.p1_support import instances
from workbench.base.errors import InputError
from workbench.papers.hadar.formulations.schedules import enumerate_schedules
from workbench.papers.hadar.formulations.utility import Utility
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


# --- Theorem 2 holds where demand is small against capacity, which is checked, and not for D_0 <= OPT / 2 alone.

WORTH = Utility("worth", lambda jct, jobs: 0 * jct + jobs.weight)


def one_slot(gpus: int, worth: np.ndarray) -> HadarInstance:
    """Jobs of one GPU and one slot, in the order in which they come."""
    ones = np.ones(len(worth), dtype=int)
    return HadarInstance.made([gpus], 1, 0 * ones, ones, ones, ones[:, None], WORTH, weight=worth)


def test_one_gpu_sold_too_early():
    """Worth 1, then 1000: the first has the GPU, and the ratio is 1000 although D_0 <= OPT / 2."""
    data = one_slot(1, np.array([1.0, 1000.0]))
    found = ratio(data, admit_in_order(enumerate_schedules(data), bounds_of(data)).objective)
    assert (found.optimum, found.earned, found.ratio) == pytest.approx((1000, 1, 1000))
    assert found.bound == pytest.approx(2 * np.log(2000)) and found.starts and not found.premise


def test_where_the_premise_holds_the_bound_holds():
    """In one slot the optimum is the sum of the largest. Without the check of demand some instances break the bound."""
    rng, held, broken = np.random.default_rng(1), 0, 0
    for _ in range(80):
        gpus = int(rng.choice([1, 2, 3, 8, 12]))
        worth = np.sort(10 ** rng.uniform(0, rng.choice([0.3, 1, 3]), 2 * gpus))
        data = one_slot(gpus, worth)
        bounds, best = bounds_of(data), float(worth[-gpus:].sum())
        ratio_ = best / admit_in_order(enumerate_schedules(data), bounds).objective
        assert bounds.initial_dual <= best / 2 * (1 + 1e-9)
        if is_small(data, bounds, best) and blocks(data, bounds):
            held += 1
            assert ratio_ <= 2 * bounds.alpha
        else:
            broken += ratio_ > 2 * bounds.alpha
    assert held >= 20 and broken >= 3


def test_a_gang_that_may_be_split_over_types_is_not_blocked_by_the_price():
    """Of its two GPUs one is of the full type, and Umax is per GPU: it would pay half of what it is worth."""
    data = HadarInstance.made([50, 50], 1, [0] * 3, [1, 1, 2], [1] * 3, np.ones((3, 2)), WORTH, weight=[1.0, 1.1, 2.0])
    assert not blocks(data, bounds_of(data))
    alone = one_slot(50, np.array([1.0, 1.1]))
    assert blocks(alone, bounds_of(alone))
