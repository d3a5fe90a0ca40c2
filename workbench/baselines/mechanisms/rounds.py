"""Rounds: when they end, and how many steps a job does in one. The knobs are shared by every scheduler with rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.round_times import LONGEST_ROUND_S, ROUND_HELP, boundary_after
from workbench.scheduling.contract import Timing
from workbench.scheduling.knob import Knob

SLACK = 1e-6
"""Steps by which a job's steps left may miss a whole number (rounding of floating point numbers)."""

SHORTEST_S = 1e-3
"""A round lasts at least so many seconds."""

ROUND_S = Knob("round_s", 360.0, ROUND_HELP, "s", "paper", minimum=1.0, maximum=LONGEST_ROUND_S, main=True)
WHOLE_STEPS = Knob(
    "whole_steps",
    False,
    "Do only whole steps in a round and hold the GPUs for the rest of it",
    source="code",
)
ROUND_END = Knob(
    "round_end",
    "fixed",
    "End of a round: at multiples of its length, or when its last job has done its steps",
    source="code",
    choices=("fixed", "last_job"),
)
KNOBS = (ROUND_S, WHOLE_STEPS, ROUND_END)


class Work(NamedTuple):
    """What units do in a round: end of the round, (units,) caps on steps (NaN: none), (units,) seconds they run."""

    until_s: float
    steps: FloatArray
    seconds: FloatArray


def timing(knobs: Mapping[str, Any]) -> Timing:
    """Asked at every multiple of the round's length, or by the scheduler's own `next_s` where rounds end early."""
    return Timing(round_s=knobs["round_s"] if knobs["round_end"] == "fixed" else None)


def work(
    now_s: float, steps_left: FloatArray, speed: FloatArray, knobs: Mapping[str, Any], least_s: float = 0.0
) -> Work:
    """The round that starts now, for units with `steps_left` at a believed `speed` (units,) steps/s > 0.

    Source of `whole_steps` and `last_job`: the authors' simulator of Gavel, where a job does `floor(round x speed)`
    steps or its remainder, and the round lasts until the slowest is done. A job slower than one step a round does one.
    least_s: a round that ends with its last job lasts at least so long.
    """
    round_s = knobs["round_s"]
    end_s = boundary_after(now_s, round_s) if knobs["round_end"] == "fixed" else now_s + round_s
    if not knobs["whole_steps"]:
        seconds = np.minimum(steps_left / speed, end_s - now_s)
        steps = np.full(len(speed), np.nan)
    else:
        whole = np.maximum(np.floor(speed * (end_s - now_s if knobs["round_end"] == "fixed" else round_s)), 1.0)
        left = np.maximum(np.ceil(steps_left - SLACK), 1.0)
        seconds = np.minimum(whole, left) / speed
        steps = np.where(whole < left, whole, np.nan)
    if knobs["round_end"] == "last_job" and len(speed):
        end_s = now_s + max(float(seconds.max()), SHORTEST_S, least_s)
    return Work(end_s, steps, np.minimum(seconds, end_s - now_s))
