"""Jobs with deadlines before those without, as deadline-aware schedulers that know strict deadlines only have it.

A job with `rewards` is an SLO job, with its first deadline: later ones of a soft job are left aside (Chronus, section
5.4: such schedulers consider only strict deadlines). A job without rewards is best effort.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.scenario.job import Job
from workbench.scheduling.snapshot import Snapshot


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
