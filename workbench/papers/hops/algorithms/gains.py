"""Gains (Hops, section 3.6): what a configuration adds to a job's throughput over its smallest one, and their sums."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.schema import GAIN_OF

if TYPE_CHECKING:
    from workbench.papers.hops.instance import HopsInstance, PlacedJob

_Size = tuple[int, int, int, int]
"""Job and type (rows of the data and of the snapshot), GPUs, servers."""


def gains(job: IntArray, throughput: FloatArray, jobs: int) -> FloatArray:
    """(configurations,) `G_ij`: throughput over the smallest of the job's configurations, all that are listed.

    job: (configurations,) whose each is, from 0 to `jobs` - 1.
    """
    least: FloatArray = np.full(jobs, np.inf)
    np.minimum.at(least, job, throughput)
    gain: FloatArray = throughput / least[job]
    return gain


def gain_of(data: HopsInstance, plan: Mapping[int, PlacedJob]) -> FloatArray:
    """(jobs,) the gain of what each job gets, 0 for one that waits."""
    gain = np.zeros(len(data.jobs))
    for row, placed in plan.items():
        gain[row] = placed.gain
    return gain


def gain_signals(data: HopsInstance, snapshot: Snapshot, jobs: Collection[str]) -> dict[str, dict[str, float]]:
    """The gains by size of some jobs as signals of a decision, see `workbench.simulation.schema.GAIN_OF`."""
    found: dict[str, dict[str, float]] = {}
    for (row, kind, gpus, servers), gain in sorted(best_by_size(data, snapshot, jobs).items()):
        name = f"{GAIN_OF}{gpus} x {snapshot.types[kind]} on {servers}"
        found.setdefault(name, {})[data.jobs[row]] = gain
    return found


def best_by_size(data: HopsInstance, snapshot: Snapshot, jobs: Collection[str]) -> dict[_Size, float]:
    """The largest gain of each size of some jobs."""
    wanted = set(jobs)
    spots = np.flatnonzero(np.array([name in wanted for name in data.jobs], dtype=bool)[data.job])
    kind_of = dict(zip(snapshot.nodes.names, snapshot.nodes.kind.tolist(), strict=True))
    shape_of: dict[int, tuple[int, int, int]] = {}
    for layout in np.unique(data.layout[spots]).tolist():
        placed = data.layouts[layout]
        gpus = sum(count for _, count in placed)
        shape_of[layout] = (kind_of[data.servers[placed[0][0]]], gpus, len(placed))
    best: dict[_Size, float] = {}
    columns = (data.job[spots].tolist(), data.layout[spots].tolist(), data.gain[spots].tolist())
    for row, layout, gain in zip(*columns, strict=True):
        key = (row, *shape_of[layout])
        best[key] = max(best.get(key, 0.0), gain)
    return best
