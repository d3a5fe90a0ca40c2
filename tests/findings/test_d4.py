"""D4: Theorem 2 holds where demand is small against capacity, which is checked, and not for D_0 <= OPT / 2 alone."""

import numpy as np
import pytest

from reproduction.hadar.optimality import admit_in_order, blocks, bounds_of, is_small, ratio
from workbench.papers.hadar.formulations.schedules import enumerate_schedules
from workbench.papers.hadar.formulations.utility import Utility
from workbench.papers.hadar.instance import HadarInstance

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
