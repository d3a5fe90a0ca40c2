"""Whole numbers in proportion to weights."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.baselines.mechanisms.proportion import in_proportion


def test_by_hand() -> None:
    assert in_proportion(101, np.array([4.0, 2.0, 1.0])).tolist() == [58, 29, 14]  # 57.71, 28.86, 14.43
    assert in_proportion(5, np.array([1.0, 1.0])).tolist() == [3, 2]  # a tie goes to the first
    assert in_proportion(10, np.array([0.1, 0.2, 0.7])).tolist() == [1, 2, 7]  # rounding aside, whole numbers
    assert in_proportion(7, np.array([0.0, 2.0, 0.0])).tolist() == [0, 7, 0]


@given(
    st.integers(0, 10**6),
    st.lists(st.integers(0, 100), min_size=1, max_size=12).filter(lambda weights: sum(weights) > 0),
)
def test_the_largest_fractions_are_rounded_up(total: int, weights: list[int]) -> None:
    """The definition in exact fractions."""
    exact = [Fraction(total * weight, sum(weights)) for weight in weights]
    expected = [int(share) for share in exact]
    by_fraction = sorted(range(len(exact)), key=lambda at: -(exact[at] % 1))
    for at in by_fraction[: total - sum(expected)]:
        expected[at] += 1
    assert in_proportion(total, np.array(weights, dtype=float)).tolist() == expected
