"""How sure a mean is: intervals by Student's t."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from workbench.base.scipy_alone import load_scipy

LEVEL = 0.95


def t_quantile(level: float, freedom: int) -> float:
    """The quantile of Student's t with so many degrees of freedom that two-sided intervals of that level use."""
    load_scipy()  # when needed: it takes a part of a second
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1.0 + level) / 2.0))


def mean_interval(values: Iterable[float], level: float = LEVEL) -> tuple[float, float]:
    """The mean m, and how far from it the confidence interval reaches: t_(n-1, (1+level)/2) s / sqrt(n).

    It holds for independent values that are about normal. One value has no interval: NaN.
    """
    numbers = np.array(list(values), dtype=float)
    if len(numbers) < 2:
        return float(numbers.mean()), math.nan
    half = t_quantile(level, len(numbers) - 1) * float(numbers.std(ddof=1)) / math.sqrt(len(numbers))
    return float(numbers.mean()), half
