"""What a job's throughput counts (Hops, section 3.6): gain G, bias, and the weight `(prior_i + bias)^lambda`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.base.errors import InputError
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import BoolArray, IntArray

LEAST = 0.01
"""The smallest weight where priorities are not all positive, at lambda = 1 (the paper's 0.01)."""
APART = 1e-5
"""Weights further apart than this are not weighed against each other by a solver."""
SAME = 1e-9
"""Priorities that differ by no more than this, relative to the larger one (at least 1), are one class."""


def bias(priority: FloatArray) -> float:
    """0 if all priorities are positive, else `|min| + 0.01`."""
    least = float(priority.min(initial=np.inf))
    return 0.0 if least > 0 else abs(least) + LEAST


class Weights(NamedTuple):
    """`W_i = (prior_i + bias)^lambda` of each job, over `scale`; only their ratios matter to the optimum."""

    scaled: FloatArray
    scale: float

    @property
    def plain(self) -> FloatArray:
        """(jobs,) the weights of (11) themselves."""
        return self.scaled * self.scale


def weights(priority: FloatArray, power: float, able: BoolArray) -> Weights:
    """The weights over the largest among the jobs that can get something (`able`): numbers that suit a solver.

    Raises InputError if no float holds one of them.
    """
    if not able.any():
        return Weights(np.ones(len(priority)), 1.0)
    base = priority + bias(priority)
    top = base[able].max()
    with np.errstate(over="ignore", under="ignore"):
        scaled, scale = (base / top) ** power, float(np.power(top, power))
        largest = float(np.power(base.max(), power))
    if not (np.isfinite(largest) and np.isfinite(scaled).all() and (scaled[able] > 0).all() and scale > 0):
        raise InputError("knob lambda", power, "a power of the priorities that a number can hold, or inf")
    return Weights(scaled, scale)


def tiers(weight: FloatArray, able: BoolArray) -> list[IntArray]:
    """Positions of the jobs that can get something, cut where a weight is less than `APART` of the first in its tier.

    A solver takes what is that small for rounding: tiers are served one after the other, like the classes of lambda =
    infinity (ours).
    """
    rows = np.flatnonzero(able)
    found: list[list[int]] = []
    first = np.inf
    for row in rows[np.argsort(-weight[rows], kind="stable")].tolist():
        if not found or weight[row] < APART * first:
            found.append([])
            first = weight[row]
        found[-1].append(row)
    return [np.sort(np.array(tier, dtype=np.int64)) for tier in found]


def gains(job: IntArray, throughput: FloatArray, jobs: int) -> FloatArray:
    """(configurations,) `G_ij`: throughput over the smallest of the job's configurations, all that are listed.

    job: (configurations,) whose each is, from 0 to `jobs` - 1.
    """
    least: FloatArray = np.full(jobs, np.inf)
    np.minimum.at(least, job, throughput)
    gain: FloatArray = throughput / least[job]
    return gain


def classes(priority: FloatArray) -> list[IntArray]:
    """Positions of the jobs of each priority, the highest first: whom lambda = infinity serves before whom."""
    order = np.argsort(-priority, kind="stable")
    ranked = priority[order]
    step = ranked[:-1] - ranked[1:] > SAME * np.maximum(1.0, np.abs(ranked[:-1]))
    return [np.sort(part) for part in np.split(order, np.flatnonzero(step) + 1)] if len(order) else []
