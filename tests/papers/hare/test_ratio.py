"""alpha and the claim of Theorem 4 by hand, and the measured ratio on instances small enough to try every schedule."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from pytest import approx

from tests.papers.hare.list_support import instances
from workbench.base.errors import InputError
from workbench.papers.hare.algorithms.algorithm_1 import algorithm_1, alpha, claimed, fluid_start_s, ratio
from workbench.papers.hare.algorithms.schedule import in_order
from workbench.papers.hare.instance import HareInstance


def test_alpha_is_the_largest_spread_over_the_gpus_that_can_run_a_task() -> None:
    data = HareInstance.made([[1.0, 3.0, math.inf], [2.0, 2.0, 5.0]], [[0.0, 0.5, 9.0], [0.1, 0.1, 0.4]])
    assert alpha(data) == approx(4.0)  # J2's synchronisation; J1's 9 s are where it cannot run, its 0 s do not count
    assert claimed(data) == approx(24.0)
    assert alpha(HareInstance.made([[2.0, 2.0]])) == 1.0
    assert alpha(HareInstance.made([[0.0, 0.0]])) == 1.0


def test_the_measured_ratio_by_hand() -> None:
    """Two tasks, 1 and 10 s: line 12 takes 10 s, 5 times the optimum; alpha is 10, the claim 120."""
    data = HareInstance.made([[1.0, 10.0]], tasks=2)
    found = ratio(algorithm_1(data, fluid_start_s(data), "earliest_available"), 2.0)
    assert found == (10.0, 120.0, 5.0, 2.0, "optimum")
    with pytest.raises(InputError, match="> 0"):
        ratio(algorithm_1(data, fluid_start_s(data)), 0.0, "the interval LP")


def test_the_paper_s_own_three_jobs_keep_the_claim() -> None:
    """Fig. 1 by the reconstructed table: the optimum is 8.5 s, alpha is 3."""
    data = HareInstance.made([[1.5, 2.5, 1.5], [1.5, 2.0, 2.5], [0.5, 1.0, 1.5]], rounds=[1, 1, 2], tasks=2)
    found = ratio(algorithm_1(data, fluid_start_s(data), "earliest_available"), 8.5)
    assert found.alpha == approx(3.0) and 1.0 <= found.measured <= found.claimed == approx(15.0)
    assert ratio(algorithm_1(data, fluid_start_s(data)), 8.5).measured < found.measured


def best(data: HareInstance) -> float:
    """The least objective over all orders and assignments."""
    orders = [
        order
        for order in itertools.permutations(range(data.task_count))
        if all(
            data.round_number[data.task_round[a]] <= data.round_number[data.task_round[b]]
            for a, b in itertools.combinations(order, 2)
            if data.task_job[a] == data.task_job[b]
        )
    ]
    able = [np.flatnonzero(data.runs[job]).tolist() for job in data.task_job.tolist()]
    return min(in_order(data, gpu, order).objective for order in orders for gpu in itertools.product(*able))


@settings(max_examples=25, deadline=None)
@given(instances(jobs=2, gpus=2).filter(lambda data: data.task_count <= 4))
def test_algorithm_1_is_no_better_than_the_best_schedule(data: HareInstance) -> None:
    optimum = best(data)
    for rule in ("earliest_finish", "earliest_available"):
        found = ratio(algorithm_1(data, fluid_start_s(data), rule), optimum)
        assert found.measured >= 1 - 1e-9
