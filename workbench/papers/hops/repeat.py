"""Plans that need no solver: nothing has changed since the last one, or every job has its best already."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping

import numpy as np

from workbench.papers.hops.configurations import Layout
from workbench.papers.hops.instance import RoundData, RoundPlan
from workbench.papers.hops.weights import classes
from workbench.scenario.throughput import FloatArray

CLOSE = 1e-9
"""A gain counts as a job's largest if it is no further below it, relative to it: rounding."""


def fingerprint(data: RoundData, power: float) -> str:
    """Equal for plans with the same best answers: same jobs, weights, idle GPUs and configurations.

    power: lambda. With infinity the order of the priorities counts, not their size, and with 0 neither.
    """
    weight = _rank(data) if np.isinf(power) else data.weights(power).scaled
    found = hashlib.sha256(repr((data.servers, data.jobs, data.pools, data.layouts)).encode())
    for part in (data.idle, weight, data.job, data.layout, data.throughput):
        found.update(np.ascontiguousarray(part, dtype=float).tobytes())
    return found.hexdigest()


def _rank(data: RoundData) -> FloatArray:
    """(jobs,) the number of each job's priority class."""
    rank = np.zeros(len(data.jobs))
    for number, rows in enumerate(classes(data.priority)):
        rank[rows] = number
    return rank


def unbeatable(data: RoundData, previous: Mapping[int, Layout]) -> RoundPlan | None:
    """The plan that leaves every job where it was, if that is the best that each could have by itself, else None.

    previous: layouts of an earlier plan by row. No weights matter then: each term of (11) is at its largest.
    """
    if not previous or not {int(row) for row in np.flatnonzero(data.able)} <= previous.keys():
        return None
    number = {layout: i for i, layout in enumerate(data.layouts)}
    wanted = np.full(len(data.jobs), -1)
    for row, layout in previous.items():
        wanted[row] = number.get(layout, -1)
    chosen = np.flatnonzero(wanted[data.job] == data.layout)
    best = np.zeros(len(data.jobs))
    np.maximum.at(best, data.job, data.gain)
    has = np.zeros(len(data.jobs))
    np.maximum.at(has, data.job[chosen], data.gain[chosen])
    if (has < best * (1 - CLOSE)).any():
        return None
    plan = data.plan(chosen.tolist())
    used: Counter[int] = Counter()
    for placed in plan.values():
        used.update(dict(placed.layout))
    return plan if all(count <= data.idle[server] for server, count in used.items()) else None
