"""Steps split in whole numbers by largest remainder."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.base.errors import InputError
from workbench.papers.hadar.hadare.split import MOST_STEPS, split, whole_steps


def test_by_hand() -> None:
    assert split(101, [4, 2, 1]).tolist() == [58, 29, 14]  # 57.71, 28.86, 14.43
    assert split(5, [1, 1]).tolist() == [3, 2]  # a tie goes to the first
    assert split(10, [0.1, 0.2, 0.7]).tolist() == [1, 2, 7]
    assert split(1, [1, 5, 1]).tolist() == [0, 1, 0]
    assert split(0, [1, 5]).tolist() == [0, 0]
    assert split(7, [0, 2, 0]).tolist() == [0, 7, 0]


@given(
    st.integers(0, 10**7),
    st.lists(st.integers(0, 10**4), min_size=1, max_size=12).filter(lambda weights: sum(weights) > 0),
)
def test_everything_is_split_and_nobody_is_a_step_off_its_share(steps: int, weights: list[int]) -> None:
    parts = split(steps, weights)
    assert parts.sum() == steps and (parts >= 0).all()
    exact = [Fraction(steps * weight, sum(weights)) for weight in weights]
    assert all(abs(int(part) - share) < 1 for part, share in zip(parts, exact, strict=True))
    gone_up = [share % 1 for part, share in zip(parts, exact, strict=True) if part > share]
    gone_down = [share % 1 for part, share in zip(parts, exact, strict=True) if part < share]
    if gone_up and gone_down:  # the largest fractions are rounded up, up to the tolerance of ties
        assert min(gone_up) >= max(gone_down) - Fraction(1, 10**8)


@given(st.integers(10**9, MOST_STEPS), st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=12))
def test_nothing_is_lost_of_many_steps(steps: int, weights: list[float]) -> None:
    parts = split(steps, weights)
    assert parts.sum() == steps
    assert np.abs(parts - steps * np.array(weights) / sum(weights)).max() < 1.01


def test_a_step_that_was_begun_counts_but_rounding_does_not() -> None:
    assert [whole_steps(left) for left in (3.0, 2.5, 3 + 1e-12, 1e6 + 1e-5, 0.2)] == [3, 3, 3, 1000000, 1]


@pytest.mark.parametrize(
    ("steps", "rates", "what"),
    [
        (-1, [1.0], "steps to split: got -1"),
        (1.5, [1.0], "steps to split: got 1.5"),
        (10 * MOST_STEPS, [1.0], "steps to split"),
        (3, [], "throughputs of copies"),
        (3, [0.0, 0.0], "at least one of them above 0"),
        (3, [1.0, -1.0], "throughputs of copies"),
        (3, [1.0, float("nan")], "throughputs of copies"),
    ],
)
def test_bad_input_is_refused(steps: float, rates: list[float], what: str) -> None:
    with pytest.raises(InputError, match=what):
        split(steps, rates)  # type: ignore[arg-type]
