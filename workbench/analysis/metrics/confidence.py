"""How sure a mean is: intervals and tests by Student's t, and Holm's correction where several are tested."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from workbench.base.scipy_alone import load_scipy

LEVEL = 0.95


@cache
def t_quantile(level: float, freedom: int) -> float:
    """The quantile of Student's t with so many degrees of freedom that two-sided intervals of that level use."""
    load_scipy()  # when needed: it takes a part of a second
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1.0 + level) / 2.0))


def mean_interval(values: Iterable[float], level: float = LEVEL) -> tuple[float, float]:
    """The mean m, and how far from it the confidence interval reaches: t_(n-1, (1+level)/2) s / sqrt(n).

    It holds for independent values that are about normal. NaN: the interval of one value, both of none.
    """
    numbers = np.array(list(values), dtype=float)
    if len(numbers) < 2:
        return float(numbers[0]) if len(numbers) else math.nan, math.nan
    half = t_quantile(level, len(numbers) - 1) * float(numbers.std(ddof=1)) / math.sqrt(len(numbers))
    return float(numbers.mean()), half


def ratio_interval(values: Iterable[float], level: float = LEVEL) -> tuple[float, float, float]:
    """The geometric mean of ratios, and from where to where its interval reaches: exp(m - h) to exp(m + h), m and h
    those of `mean_interval` of their logarithms, so that the inverse ratios have the inverse of all three.

    Where a ratio is not above 0 there is no logarithm: the mean, m - h to m + h.
    """
    ratios = np.array(list(values), dtype=float)
    if (ratios > 0).all():
        mean, half = mean_interval(np.log(ratios), level)
        with np.errstate(over="ignore"):  # at a level next to 1
            middle, low, high = np.exp([mean, mean - half, mean + half])
        return float(middle), float(low), float(high)
    mean, half = mean_interval(ratios, level)
    return mean, mean - half, mean + half


MOST_DIGITS = 4


def ratio_as_read(mean: float, low: float, high: float) -> tuple[str, str, str]:
    """A mean ratio and the ends of its interval (NaN: none), to two decimals; to as many as `MOST_DIGITS` where the
    interval would have 1 in it only by rounding, and beyond these an end is `> 1.0000` or `< 1.0000`."""
    digits, beside = 2, not low <= 1.0 <= high
    while beside and digits < MOST_DIGITS and round(low, digits) <= 1.0 <= round(high, digits):
        digits += 1
    middle, *ends = (f"{each:.{digits}f}" for each in (mean, low, high))
    if beside and float(ends[0]) <= 1.0 <= float(ends[1]):
        ends = [f"> {ends[0]}", ends[1]] if low > 1.0 else [ends[0], f"< {ends[1]}"]
    return middle, ends[0], ends[1]


def chance(mean: float, half: float, count: int, level: float = LEVEL) -> float:
    """How likely a mean at least as far from 0 is if the true one is 0 (two-sided); mean, half: of `mean_interval`.

    NaN where there is no interval; without any spread 0, or 1 where the mean is 0.
    """
    if math.isnan(half):
        return math.nan
    if half == 0.0:
        return float(mean == 0.0)
    load_scipy()
    from scipy.special import stdtr

    return float(2.0 * stdtr(count - 1, -abs(mean) / half * t_quantile(level, count - 1)))


def holm(chances: Sequence[float]) -> list[float]:
    """The same for several tests at once: Holm's step-down correction, so that with a bound p on each of these the
    chance of any false alarm among all is at most p. NaN stays and counts for none."""
    known = sorted((p, number) for number, p in enumerate(chances) if not math.isnan(p))
    found, least = [math.nan] * len(chances), 0.0
    for done, (p, number) in enumerate(known):
        least = max(least, min(1.0, (len(known) - done) * p))
        found[number] = least
    return found
