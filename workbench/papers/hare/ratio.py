"""The approximation ratio that the paper claims for Algorithm 1 (Theorem 4), and what is measured.

alpha = max over tasks of T^c_max / T^c_min and T^s_max / T^s_min, over the GPUs that can run the task; times of 0 are
left aside. The claim is alpha (2 + alpha). Its Lemma 2 applies (9) to the first tasks of the order with Algorithm 1's
own assignment, which the relaxation's solution need not satisfy: it is shown as the paper's claim, beside the ratio of
a schedule's objective to the optimum, or to a lower bound of it, which makes the ratio look larger than it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.base.errors import InputError
from workbench.papers.hare.instance import Instance
from workbench.papers.hare.schedule import Schedule
from workbench.scenario.throughput import FloatArray


class Ratio(NamedTuple):
    """claimed: alpha (2 + alpha); measured: the schedule's objective over `reference`, which is `against`."""

    alpha: float
    claimed: float
    measured: float
    reference: float
    against: str


def alpha(instance: Instance) -> float:
    """How unequal the GPUs are to the task to which they are most unequal; 1 where all are equal."""
    return max(_spread(instance.train_s, instance), _spread(instance.sync_s, instance))


def _spread(seconds: FloatArray, instance: Instance) -> float:
    counts = instance.runs & (seconds > 0)
    rows = counts.any(axis=1)
    if not rows.any():
        return 1.0
    most = np.where(counts, seconds, -np.inf).max(axis=1)[rows]
    least = np.where(counts, seconds, np.inf).min(axis=1)[rows]
    return float((most / least).max())


def claimed(instance: Instance) -> float:
    """The ratio of Theorem 4, alpha (2 + alpha)."""
    found = alpha(instance)
    return found * (2.0 + found)


def ratio(schedule: Schedule, reference: float, against: str = "optimum") -> Ratio:
    """The claim beside a schedule's objective over `reference`: the optimum, or a lower bound by its name.

    Raises InputError unless the reference is above 0.
    """
    if not 0 < reference < np.inf:
        raise InputError(f"Hare, {against} of the objective", reference, "a finite number > 0")
    found = alpha(schedule.instance)
    return Ratio(found, found * (2.0 + found), schedule.objective / reference, reference, against)
