"""Differences between pairs of runs: mean, and a confidence interval by Student's t."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError
from workbench.metrics.confidence import LEVEL, mean_interval

SAME = 1e-9
"""Values closer than this, relative to the larger, are equal: they differ by rounding."""


@dataclass(frozen=True)
class Paired:
    """`after - before` of one measure over pairs. before, after: means; low, high: the interval, NaN if there is none.

    pairs: how many have both values; only these count.
    """

    before: float
    after: float
    difference: float
    low: float
    high: float
    pairs: int

    @property
    def is_shown(self) -> bool:
        """Whether the interval leaves out 0: a difference that chance alone would rarely make."""
        return self.low > 0 or self.high < 0


def paired(before: npt.ArrayLike, after: npt.ArrayLike, level: float = LEVEL) -> Paired:
    """The paired t interval of `after - before`, at a level between 0 and 1.

    With n differences of mean d and standard deviation s it is `d -/+ t_(n-1, (1+level)/2) s / sqrt(n)`; it holds where
    the pairs are independent and their differences about normal. One pair has no interval. Pairs that lack a value are
    left out. Raises InputError for a level out of range and sides of different length.
    """
    check_level(level)
    one, two = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
    if one.shape != two.shape or one.ndim != 1:
        raise InputError("paired", f"{one.shape} and {two.shape}", "as many values before as after")
    both = np.isfinite(one) & np.isfinite(two)
    one, two = one[both], two[both]
    count = len(one)
    if not count:
        return Paired(math.nan, math.nan, math.nan, math.nan, math.nan, 0)
    apart = np.where(np.abs(two - one) <= SAME * np.maximum(np.abs(one), np.abs(two)), 0.0, two - one)
    mean, half = mean_interval(apart.tolist(), level)
    return Paired(float(one.mean()), float(two.mean()), mean, mean - half, mean + half, count)


def check_level(level: float) -> None:
    """Raise InputError for what is no level of confidence."""
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0.0 < level < 1.0:
        raise InputError("level", level, "a level of confidence between 0 and 1, as 0.95")
