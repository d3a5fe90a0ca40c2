"""The gain matrix G (Table 1 of Hops) by size: what a job gains by each number of GPUs of a type on so many servers.

Of several configurations that differ by the servers alone the best counts: a few columns instead of hundreds.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd

from workbench.papers.hops.instance import RoundData
from workbench.scheduling.decision import Snapshot
from workbench.simulation.schema import GAIN_OF

COLUMNS = ["job", "accelerator", "gpus", "servers", "gain"]
Size = tuple[int, int, int, int]
"""Job and type (rows of the data and of the snapshot), GPUs, servers."""


def gains_by_size(data: RoundData, snapshot: Snapshot) -> pd.DataFrame:
    """One row for each job, type, number of GPUs and of servers: columns `COLUMNS`.

    gain is the largest `G_ij` of these configurations. Rows are in the order of jobs, types and sizes.
    """
    best = _best(data, snapshot, data.jobs)
    found = [
        (data.jobs[row], snapshot.types[kind], gpus, servers, gain)
        for (row, kind, gpus, servers), gain in sorted(best.items())
    ]
    return pd.DataFrame(found, columns=COLUMNS)


def gain_signals(data: RoundData, snapshot: Snapshot, jobs: Collection[str]) -> dict[str, dict[str, float]]:
    """The gains by size of some jobs as signals of a decision, see `workbench.simulation.schema.GAIN_OF`."""
    found: dict[str, dict[str, float]] = {}
    for (row, kind, gpus, servers), gain in sorted(_best(data, snapshot, jobs).items()):
        name = f"{GAIN_OF}{gpus} x {snapshot.types[kind]} on {servers}"
        found.setdefault(name, {})[data.jobs[row]] = gain
    return found


def _best(data: RoundData, snapshot: Snapshot, jobs: Collection[str]) -> dict[Size, float]:
    """The largest gain of each size of some jobs."""
    wanted = set(jobs)
    spots = np.flatnonzero(np.array([name in wanted for name in data.jobs], dtype=bool)[data.job])
    kind_of = dict(zip(snapshot.nodes.names, snapshot.nodes.kind.tolist(), strict=True))
    shape_of: dict[int, tuple[int, int, int]] = {}
    for layout in np.unique(data.layout[spots]).tolist():
        placed = data.layouts[layout]
        gpus = sum(count for _, count in placed)
        shape_of[layout] = (kind_of[data.servers[placed[0][0]]], gpus, len(placed))
    best: dict[Size, float] = {}
    columns = (data.job[spots].tolist(), data.layout[spots].tolist(), data.gain[spots].tolist())
    for row, layout, gain in zip(*columns, strict=True):
        key = (row, *shape_of[layout])
        best[key] = max(best.get(key, 0.0), gain)
    return best
