"""A cluster partitioned without regard to speeds: who gets how many GPUs, then as large a part of every type."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from workbench.papers.gavel.allocation import AllocationData
from workbench.shares import equal_share
from workbench.throughput import FloatArray

Data = TypeVar("Data", bound=AllocationData)


def pooled(data: Data) -> Data:
    """The data with all workers as GPUs of one kind, on which every job has the same speed 1; without pairs."""
    return replace(
        data,
        types=("all",),
        speed=np.ones((len(data.jobs), 1)),
        workers=np.array([data.workers.sum()]),
        pairs=np.zeros((0, 2), dtype=np.int64),
        pair_speed=np.zeros((0, 2, 1)),
        accelerators=(),
        accelerator=None,
        fair=None,
    )


def spread(data: AllocationData, shares: FloatArray) -> FloatArray:
    """(combinations x types) shares of `data` from the (jobs x 1) shares of `pooled(data)`.

    Each job has `c_a / sum c` of its time on accelerator type a, of its worker types the first on which it can run; on
    a type where it cannot run, that time is lost.
    """
    found = np.zeros((len(data.units), len(data.types)))
    part = equal_share(data.workers)
    for name in range(len(data.accelerators)):
        kinds = np.flatnonzero(data.pool == name)
        able = data.can_run[:, kinds]
        rows = np.flatnonzero(able.any(axis=1))
        found[rows, kinds[able[rows].argmax(axis=1)]] = part[name] * shares[rows, 0]
    return found
