"""Multiples of a round's length, and times that are the same but for rounding."""

from __future__ import annotations

import math

LONGEST_ROUND_S = 1e9
"""A round lasts at most so many seconds (thirty years): one without an end would be no round."""
ROUND_HELP = "Length of a round; a longer one: fewer changes of who has GPUs, and more waiting for the next"
"""What knobs say that set it."""
TIE = 1e-12
"""Times that differ by no more than this share are the same: `now + 0.1` is not quite `n * 0.1` (ours)."""


def boundary_after(now_s: float, round_s: float) -> float:
    """The first multiple of `round_s` after now."""
    number = math.floor(now_s / round_s) + 1
    while number * round_s <= now_s:
        number += 1
    return number * round_s


def boundary_from(now_s: float, round_s: float) -> float:
    """The first multiple of `round_s` at or after now."""
    number = math.ceil(now_s / round_s)
    if (number - 1) * round_s >= now_s:
        number -= 1
    while number * round_s < now_s:
        number += 1
    return number * round_s


def is_tie(a_s: float, b_s: float) -> bool:
    """Whether two times, one of them finite, are the same but for rounding."""
    return abs(a_s - b_s) <= TIE * min(a_s, b_s)
