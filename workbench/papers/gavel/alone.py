"""What a job reaches by itself: on its own 1/M of every worker type, and on the fastest workers all of the time."""

from __future__ import annotations

import numpy as np

from workbench.papers.gavel.allocation import AllocationData
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.shares import isolated_share


def isolated_throughput(data: AllocationData) -> FloatArray:
    """(jobs,) `throughput(m, X^iso)` in steps/s, > 0: every job owns `c_a / M` workers of each accelerator type.

    A gang of z_m runs `c_a / (M z_m)` of its time on them (`workbench.scheduling.shares.isolated_share`), never in a
    pair; where placement counts, in whichever of a type's two placements it is faster.
    """
    speed = np.where(data.can_run, data.speed, 0.0)
    best = np.zeros((len(data.jobs), len(data.workers)))
    for kind, pool in enumerate(data.pool.tolist()):
        best[:, pool] = np.maximum(best[:, pool], speed[:, kind])
    throughput: FloatArray = (best * isolated_share(data.workers, data.gang)).sum(axis=1)
    return throughput


def fastest_throughput(data: AllocationData) -> FloatArray:
    """(jobs,) steps/s that no allocation exceeds: the largest of a job's speeds, alone or in a pair."""
    most = np.zeros(len(data.jobs))
    np.maximum.at(most, data.entries.job, data.entries.steps_per_s)
    return most
