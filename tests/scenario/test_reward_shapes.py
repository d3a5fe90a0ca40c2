"""Rewards made and moved: strict, soft, and steps that follow their last deadline."""

from __future__ import annotations

import math

import pytest

from workbench.base.errors import InputError
from workbench.scenario.rewards import moved, soft, strict


def test_strict_and_soft_begin_with_the_first_deadline() -> None:
    assert strict(600.0) == ((600.0, 100.0),)
    assert [worth for _, worth in soft(600.0)] == [100.0, 80.0, 50.0, 20.0]
    assert [at for at, _ in soft(600.0)] == pytest.approx([600.0, 660.0, 720.0, 900.0])


def test_steps_move_in_proportion_with_the_last_deadline_that_is_worth_something() -> None:
    assert moved(((100.0, 5.0), (200.0, 2.0), (300.0, 0.0)), 400.0) == ((200.0, 5.0), (400.0, 2.0), (600.0, 0.0))
    third = soft(600.0)
    assert moved(third, 123.456)[-1] == (123.456, 20.0), "the deadline is the one asked for, to the last digit"


def test_without_a_deadline_before_there_is_one_strict_one() -> None:
    assert moved((), 400.0) == moved(((100.0, 0.0),), 400.0) == strict(400.0)


@pytest.mark.parametrize("last_s", [0.0, -1.0, math.inf, math.nan])
def test_a_deadline_is_above_zero_and_finite(last_s: float) -> None:
    with pytest.raises(InputError, match="deadline"):
        moved(soft(600.0), last_s)
