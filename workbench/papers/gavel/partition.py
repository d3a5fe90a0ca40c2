"""A cluster partitioned without regard to speeds: who gets how many GPUs, then as large a part of every type."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from workbench.papers.gavel.allocation import AllocationData
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import BoolArray, IntArray
from workbench.scheduling.shares import equal_share

Data = TypeVar("Data", bound=AllocationData)


def pooled(data: Data) -> Data:
    """The data with all workers as GPUs of one kind, on which every job has the same speed 1.

    A pair's members have the part of it that they keep on average over the workers: 1/2 on a type where they may not
    share, for there they take turns (`spread`).
    """
    part, on = equal_share(data.workers), _on(data.allowed[len(data.jobs) :], data)
    rows = np.arange(len(data.pairs))
    pair_speed = np.zeros((len(data.pairs), 2, 1))
    for name in range(len(data.accelerators)):
        kept = np.where(on[:, name, None] >= 0, data.kept[rows, :, on[:, name]], 0.5)
        pair_speed[:, :, 0] += part[name] * kept
    return replace(
        data,
        types=("all",),
        speed=np.ones((len(data.jobs), 1)),
        workers=np.array([data.workers.sum()]),
        pair_speed=pair_speed,
        accelerators=(),
        accelerator=None,
        fair=None,
    )


def spread(data: AllocationData, shares: FloatArray) -> FloatArray:
    """(combinations x types) shares of `data` from the (combinations x 1) shares of `pooled(data)`.

    Each combination has `c_a / sum c` of its time on accelerator type a, of its worker types the first on which it can
    run. Where a pair may not share, each of its members has half of that time alone; on a type where a job cannot run,
    its time is lost.
    """
    jobs = len(data.jobs)
    found = np.zeros((len(data.units), len(data.types)))
    part, on = equal_share(data.workers), _on(data.allowed, data)
    for name in range(len(data.accelerators)):
        time, kind = part[name] * shares[:, 0], on[:, name]
        apart = np.flatnonzero(kind[jobs:] < 0)
        for member in (0, 1):
            np.add.at(time, data.pairs[apart, member], time[jobs + apart] / 2)
        able = np.flatnonzero(kind >= 0)
        found[able, kind[able]] = time[able]
    return found


def _on(allowed: BoolArray, data: AllocationData) -> IntArray:
    """(rows x accelerators) position of the first worker type of an accelerator on which a row may run, -1 for none."""
    found = np.full((len(allowed), len(data.accelerators)), -1)
    for kind, pool in reversed(list(enumerate(data.pool.tolist()))):
        found[allowed[:, kind], pool] = kind
    return found
