"""Whole numbers in proportion to weights, by largest remainder: everybody gets the whole part of n w / sum w, what is
left over goes one each to the largest fractions, ties to the first."""

from __future__ import annotations

import numpy as np

from workbench.base.arrays import FloatArray, IntArray

SAME_DECIMALS = 9
"""Fractions that agree in so many decimals are equal, and one that misses a whole number by less is whole."""


def in_proportion(total: int, weights: FloatArray) -> IntArray:
    """(parts,) whole numbers that sum to `total`, by (parts,) weights >= 0 with a sum above 0."""
    exact = total * (weights / weights.sum())
    parts: IntArray = np.floor(exact + 10.0**-SAME_DECIMALS).astype(np.int64)
    fraction = np.round(exact - parts, SAME_DECIMALS)
    left_over = total - int(parts.sum())
    parts[np.argsort(-fraction, kind="stable")[:left_over]] += 1
    return parts
