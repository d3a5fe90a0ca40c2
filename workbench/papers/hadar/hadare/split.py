"""A job's steps split among its copies, in proportion to their throughputs and in whole steps by largest remainder
(section V-B)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from workbench.base.errors import InputError
from workbench.baselines.mechanisms.proportion import in_proportion
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import IntArray
from workbench.scheduling.knob import Knob

SPLIT = Knob(
    "split",
    "running",
    "Whose throughputs a job's steps left are split by: of the copies that run in the round, or of all its copies, so "
    "that the portions of those that do not run wait",
    source="ours",
    kind="str",
    choices=("running", "all_copies"),
)
DISPATCH = Knob(
    "dispatch",
    "remaining",
    "What is split in a round: all steps left (a copy does as many as the slot lets it), or no more than what a slot "
    "is believed to suffice for, so that a copy ends with a whole step",
    source="paper",
    kind="str",
    choices=("remaining", "slot"),
)

MOST_STEPS = 10**12
"""More steps are not split: floating point numbers would no longer tell single steps apart."""
SAME = 1e-9
"""Part of a job's steps left by which they may miss a whole number (ours)."""


def whole_steps(steps_left: float) -> int:
    """The steps left in whole numbers: a step that was begun counts as one."""
    return math.ceil(steps_left - SAME * max(1.0, steps_left))


def split(steps: int, throughput: npt.ArrayLike) -> IntArray:
    """(copies,) whole steps that sum to `steps`, in proportion to (copies,) throughputs in steps/s.

    Raises InputError for steps below 0 or above 1e12, and for throughputs that are negative, not finite or all 0.
    """
    weights: FloatArray = np.array(throughput, dtype=float)
    if not 0 <= steps <= MOST_STEPS or steps != int(steps):
        raise InputError("steps to split", steps, f"a whole number from 0 to {MOST_STEPS:.0e}")
    if weights.ndim != 1 or not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
        raise InputError("throughputs of copies", weights.tolist(), "numbers >= 0, at least one of them above 0")
    return in_proportion(int(steps), weights)
