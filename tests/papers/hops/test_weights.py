"""Gain, bias, weights and priority classes."""

import numpy as np
import pytest

from workbench.base.errors import InputError
from workbench.papers.hops.weights import bias, classes, gains, tiers, weights


@pytest.mark.parametrize(
    ("priority", "expected"), [([2.0, 1.0], 0.0), ([0.0, 1.0], 0.01), ([-0.5, 3.0], 0.51), ([-1.0], 1.01), ([], 0.0)]
)
def test_the_bias_makes_every_weight_positive(priority, expected):
    assert bias(np.array(priority)) == pytest.approx(expected)


def test_weights_are_powers_over_the_largest_that_can_get_something():
    priority, able = np.array([1.0, 4.0, 2.0]), np.array([True, True, True])
    assert weights(priority, 2.0, able).scaled == pytest.approx([1 / 16, 1.0, 1 / 4])
    assert weights(priority, 2.0, able).plain == pytest.approx([1.0, 16.0, 4.0])
    assert weights(priority, 2.0, ~able).plain == pytest.approx([1.0, 1.0, 1.0])
    some = weights(priority, 2.0, np.array([True, False, True]))
    assert (some.scaled[2], some.scale) == (1.0, 4.0)
    assert weights(priority, 0.0, able).plain == pytest.approx([1.0, 1.0, 1.0])
    assert weights(np.zeros(2), 3.0, able[:2]).plain == pytest.approx([1e-6, 1e-6])
    assert weights(np.zeros(0), 1.0, able[:0]).plain.shape == (0,)


@pytest.mark.parametrize(("top", "power"), [(100.0, 1000.0), (1e-3, 1000.0)])
def test_a_power_that_no_number_holds_is_refused(top, power):
    with pytest.raises(InputError, match="lambda"):
        weights(np.array([top]), power, np.array([True]))


def test_a_weight_too_small_for_a_number_is_refused():
    """(1e-9 / 1)^60 = 1e-540; of a job that can get nothing it does not matter."""
    priority = np.array([1.0, 1e-9])
    with pytest.raises(InputError, match="knob lambda: got 60"):
        weights(priority, 60.0, np.array([True, True]))
    assert weights(priority, 60.0, np.array([True, False])).scaled.tolist() == [1.0, 0.0]
    assert (weights(priority, 30.0, np.array([True, True])).scaled > 0).all()


def test_tiers_part_weights_that_a_solver_cannot_weigh():
    able = np.array([True, True, True, False, True])
    found = tiers(np.array([1e-9, 1.0, 0.5, 1.0, 2e-9]), able)
    assert [rows.tolist() for rows in found] == [[1, 2], [0, 4]]
    assert tiers(np.zeros(0), able[:0]) == []


def test_the_papers_table_of_gains():
    """Table 1, job 2: 2, 1, 3, 4.1 times its slowest configuration."""
    job = np.array([0, 0, 0, 1, 1, 1, 1])
    throughput = np.array([10.0, 18.0, 26.0, 20.0, 10.0, 30.0, 41.0])
    assert gains(job, throughput, 2) == pytest.approx([1, 1.8, 2.6, 2, 1, 3, 4.1])


def test_classes_go_from_the_highest_priority_down_and_ties_are_one():
    found = classes(np.array([1.0, 3.0, 1.0 + 1e-12, 2.0]))
    assert [rows.tolist() for rows in found] == [[1], [3], [0, 2]]
    assert classes(np.zeros(0)) == []
