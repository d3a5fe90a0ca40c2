"""The paired interval against numbers worked by hand, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workbench.analysis.metrics.confidence import t_quantile
from workbench.analysis.metrics.paired import around_first, paired
from workbench.base.errors import InputError
from workbench.session.many_runs import checked_seeds


def test_the_interval_is_the_one_worked_by_hand() -> None:
    """Differences -1, -2, -3, -6: mean -3, variance (4 + 1 + 0 + 9) / 3; t of 3 degrees at 95 % is 3.182."""
    found = paired([10.0, 20.0, 30.0, 40.0], [9.0, 18.0, 27.0, 34.0])
    half = 3.182446 * math.sqrt(14 / 3) / math.sqrt(4)
    assert (found.before, found.after, found.difference, found.pairs) == (25.0, 22.0, -3.0, 4)
    assert found.low == pytest.approx(-3 - half, rel=1e-6) and found.high == pytest.approx(-3 + half, rel=1e-6)
    assert found.low < 0 < found.high  # -6.4 to +0.4
    assert paired([10.0, 20.0, 30.0, 40.0], [9.0, 18.0, 27.0, 34.0], level=0.8).high < 0


def test_the_interval_around_a_log_has_the_spread_of_its_draws() -> None:
    """The log's difference is -3, its draws' -1, -2, -6: mean -3, variance (4 + 1 + 9) / 2; t of 2 degrees: 4.303."""
    found = around_first([50.0, 10.0, math.nan, 20.0, 40.0], [47.0, 9.0, 1.0, 18.0, 34.0])
    assert (found.before, found.after, found.difference, found.pairs) == (50.0, 47.0, -3.0, 4)
    assert found.high - found.difference == pytest.approx(4.302653 * math.sqrt(7), rel=1e-6)
    assert math.isnan(around_first([1.0, 2.0], [2.0, 3.0]).low)
    assert around_first([math.nan, 2.0, 3.0], [2.0, 3.0, 4.0]).pairs == 0


@pytest.mark.parametrize(("freedom", "level", "printed"), [(1, 0.95, 12.706), (9, 0.95, 2.262), (9, 0.99, 3.250)])
def test_quantiles_are_those_of_printed_tables(freedom: int, level: float, printed: float) -> None:
    assert t_quantile(level, freedom) == pytest.approx(printed, abs=5e-4)


def test_ninety_five_of_a_hundred_intervals_hold_the_truth() -> None:
    rng, hits = np.random.default_rng(3), 0
    for _ in range(2000):
        noise = rng.normal(5.0, 2.0, size=6)
        found = paired(noise, noise + rng.normal(-1.0, 1.0, size=6))
        hits += found.low <= -1.0 <= found.high
    assert 0.935 < hits / 2000 < 0.965  # 3 standard deviations of a share of 0.95 are 0.0146


def test_one_pair_has_no_interval_and_pairs_without_a_value_do_not_count() -> None:
    alone = paired([3.0], [5.0])
    assert alone.difference == 2.0 and math.isnan(alone.low)
    assert paired([1.0, math.nan, 3.0], [2.0, 5.0, math.nan]).pairs == 1
    assert paired([math.nan], [1.0]).pairs == 0


def test_values_that_differ_by_rounding_are_equal() -> None:
    assert paired([0.3, 1e6], [0.1 + 0.2, 1e6]).difference == 0.0


@pytest.mark.parametrize("level", [0, 1, 95, True, "0.95"])
def test_a_level_is_between_0_and_1(level: object) -> None:
    with pytest.raises(InputError, match=r"level.*between 0 and 1"):
        paired([1.0], [2.0], level)  # type: ignore[arg-type]


@pytest.mark.parametrize("seeds", [[], [-1], [1, 1], [True], [0.5]])
def test_seeds_are_whole_numbers_each_once(seeds: list[int]) -> None:
    with pytest.raises(InputError, match="seeds"):
        checked_seeds(seeds)


def test_sides_are_equally_long() -> None:
    with pytest.raises(InputError, match="as many values"):
        paired([1.0, 2.0], [1.0])
