"""Differences between pairs of runs, with a confidence interval by Student's t."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.analysis.metrics.confidence import LEVEL, mean_interval
from workbench.base.arrays import BoolArray, FloatArray
from workbench.base.errors import InputError

SAME = 1e-9
"""Values closer than this, relative to the larger, are equal: they differ by rounding."""


@dataclass(frozen=True)
class Paired:
    """`after - before` of one measure over pairs. before, after: means (`paired`), or of the first pair
    (`around_first`); low, high: the interval, NaN if there is none.

    pairs: how many have both values; only these count.
    """

    before: float
    after: float
    difference: float
    low: float
    high: float
    pairs: int


NOTHING = Paired(math.nan, math.nan, math.nan, math.nan, math.nan, 0)


def paired(before: npt.ArrayLike, after: npt.ArrayLike, level: float = LEVEL) -> Paired:
    """The paired t interval of `after - before`, at a level between 0 and 1.

    With n differences of mean d and standard deviation s it is `d -/+ t_(n-1, (1+level)/2) s / sqrt(n)`; it holds where
    the pairs are independent and their differences about normal. One pair has no interval. Pairs that lack a value are
    left out. Raises InputError for a level out of range and sides of different length.
    """
    one, two, apart, both = _apart(before, after, level)
    if not both.any():
        return NOTHING
    mean, half = mean_interval(apart[both].tolist(), level)
    return Paired(float(one[both].mean()), float(two[both].mean()), mean, mean - half, mean + half, int(both.sum()))


def around_first(before: npt.ArrayLike, after: npt.ArrayLike, level: float = LEVEL) -> Paired:
    """The first pair's `after - before`, of the log itself, with the bootstrap's interval from the others, its draws.

    With the difference d of the log and the standard deviation s of the n draws' differences, which estimates how far d
    may be off, it is `d -/+ t_(n-1, (1+level)/2) s` (Efron and Tibshirani, the standard interval; t for few draws
    (ours)). More draws tell s better, and make it no narrower. Fewer than two have no interval. Raises as `paired`.
    """
    one, two, apart, both = _apart(before, after, level)
    if not len(both) or not both[0]:
        return NOTHING
    draws = apart[1:][both[1:]]
    half = mean_interval(draws.tolist(), level)[1] * math.sqrt(len(draws)) if len(draws) > 1 else math.nan
    own = float(apart[0])
    return Paired(float(one[0]), float(two[0]), own, own - half, own + half, 1 + len(draws))


def _apart(
    before: npt.ArrayLike, after: npt.ArrayLike, level: float
) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
    """Both sides, their differences with what is rounding as 0, and which pairs have both values."""
    check_level(level)
    one, two = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
    if one.shape != two.shape or one.ndim != 1:
        raise InputError("paired", f"{one.shape} and {two.shape}", "as many values before as after")
    both = np.isfinite(one) & np.isfinite(two)
    one, two = np.where(both, one, 0.0), np.where(both, two, 0.0)
    apart = np.where(np.abs(two - one) <= SAME * np.maximum(np.abs(one), np.abs(two)), 0.0, two - one)
    return one, two, apart, both


def check_level(level: float) -> None:
    """Raise InputError for what is no level of confidence."""
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0.0 < level < 1.0:
        raise InputError("level", level, "a level of confidence between 0 and 1, as 0.95")
