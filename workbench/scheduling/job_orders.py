"""The order in which jobs are served: rows of a JobView, the first to be served first.

A JobView is in the order of (arrival, position), so equal keys are served in that order. Keys count as equal where
neighbours in sorted order differ by at most TOLERANCE, relative to their size (to 1 for smaller ones).

Deadline-aware schedulers that know strict deadlines only serve jobs with deadlines before those without. A job with
`rewards` is an SLO job, with its first deadline: later ones of a soft job are left aside (Chronus, section 5.4: such
schedulers consider only strict deadlines). A job without rewards is best effort.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.scenario.job import Job
from workbench.scheduling.snapshot import JobView, Snapshot, later

TOLERANCE = 1e-9
FEW = 50
"""Up to so many keys neighbours are compared one by one, which is sooner done than by arrays."""


def by(keys: FloatArray) -> IntArray:
    """Rows with the smallest key first; equal keys in job order, infinite ones last."""
    order = keys.argsort(kind="stable")
    ranked = keys[order]
    if 0 < len(order) <= FEW:
        few = ranked.tolist()
        near = TOLERANCE * max(1.0, -few[0], few[-1])  # no less than that of any neighbours; no number with a NaN
        if few[-1] == few[-1] and not any(0 < more - less <= near for less, more in pairwise(few)):
            return order
    with np.errstate(invalid="ignore"):  # infinity minus itself is no number, and no step either
        further = ranked[1:] - ranked[:-1]
        step = further > TOLERANCE * np.maximum(1.0, np.abs(ranked[:-1]))
    if step.all() or not (further[~step] > 0).any():  # a stable sort leaves those that are equal in job order
        return order
    group = np.concatenate([[0], np.cumsum(step)])
    return order[np.lexsort((order, group))]


def seconds(steps: FloatArray, speed: FloatArray) -> FloatArray:
    """Time for `steps` at `speed` steps/s, infinite where it is 0."""
    with np.errstate(divide="ignore"):
        return np.divide(steps, speed)


def take(jobs: JobView, rows: npt.ArrayLike) -> JobView:
    """The same view of some of the jobs, in the order of `rows`."""
    chosen = np.asarray(rows, dtype=np.int64)

    def read(name: str) -> Any:
        if name in ("jobs", "jobs now"):
            return tuple(map(jobs.now.__getitem__, chosen.tolist()))
        if name == "names":
            return tuple(map(jobs.names.__getitem__, chosen.tolist()))
        if (
            name == "at"
        ):  # not by `read`: a function that refers to itself keeps all views until Python looks for cycles
            return {jobs.names[each]: row for row, each in enumerate(chosen.tolist())}
        if name == "waiting":
            return np.flatnonzero(jobs.held[chosen] == 0).tolist()
        return getattr(jobs, name)[chosen]

    return later(JobView, read, {})


def due_s(jobs: Sequence[Job]) -> FloatArray:
    """(jobs,) time of each job's first deadline, infinite for best effort."""
    return np.array([job.arrival_s + job.rewards[0][0] if job.rewards else np.inf for job in jobs], dtype=float)


def holds(snapshot: Snapshot) -> BoolArray:
    """(jobs,) whether a job holds GPUs now, or has held them until now."""
    found = np.zeros(len(snapshot.jobs), dtype=bool)
    found[[snapshot.jobs.at[str(unit)] for unit in (*snapshot.leases, *snapshot.ended)]] = True
    return found


def places(*keys: FloatArray | IntArray | BoolArray) -> FloatArray:
    """(jobs,) place in line of each job, from 0: by the first key, ties by the next, then in job order."""
    order = np.lexsort(tuple(reversed(keys)))
    found = np.empty(len(order))
    found[order] = np.arange(len(order))
    return found
