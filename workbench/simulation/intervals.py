"""The timeline of a run as arrays of numbers, and what is worked out from intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.simulation.run import Run
from workbench.simulation.schema import KINDS

RUNNING = ("run", "profile")
"""Kinds in which a GPU computes."""
NOT_HELD = ("sync", "down")
"""Kinds in which a job does not hold the GPU: `sync` overlaps whatever the GPU does next."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """One entry per row of the timeline; what a row names is a position, -1 if it names nothing known.

    job, other: in `run.jobs`; node: in the cluster's machines; slot: over all slots of the cluster, -1 if there is no
    such slot; accelerator: in `cluster.types`; kind: in `KINDS`. start, end: seconds. steps, other_steps: this slot's
    share. gpus: of the unit.
    """

    job: IntArray
    other: IntArray
    node: IntArray
    slot: IntArray
    accelerator: IntArray
    kind: IntArray
    start: FloatArray
    end: FloatArray
    steps: FloatArray
    other_steps: FloatArray
    gpus: IntArray

    @classmethod
    def of(cls, run: Run) -> Intervals:
        """The timeline of a run."""
        t, machines = run.cells.columns("timeline"), run.scenario.cluster.each_node
        names = run.cells.column("jobs", "job")
        node = positions([machine.name for machine in machines], t["node"])
        sizes = np.array([machine.gpus for machine in machines], dtype=np.int64)
        number = t["slot"]
        exists = (node >= 0) & (number >= 0) & (number < sizes[node])
        types = {name: i for i, name in enumerate(run.scenario.cluster.types)}
        accelerator = np.array([types[machine.accelerator] for machine in machines], dtype=np.int64)
        alone = not (t["with_job"] != "").any()
        return cls(
            job=positions(names, t["job"]),
            other=np.full(len(node), -1, dtype=np.int64) if alone else positions(names, t["with_job"]),
            node=node,
            slot=np.where(exists, (np.cumsum(sizes) - sizes)[node] + number, -1),
            accelerator=np.where(node >= 0, accelerator[node], -1),
            kind=positions(KINDS, t["kind"]),
            start=t["start_s"],
            end=t["end_s"],
            steps=t["steps"],
            other_steps=t["with_steps"],
            gpus=t["gpus"],
        )

    @property
    def seconds(self) -> FloatArray:
        """Length of each interval in s."""
        return self.end - self.start

    def is_kind(self, *kinds: str) -> BoolArray:
        """Which rows are of one of these kinds."""
        found: BoolArray = np.isin(self.kind, [KINDS.index(kind) for kind in kinds])
        return found

    @property
    def running(self) -> BoolArray:
        """Rows in which the GPU computes."""
        return self.is_kind(*RUNNING)

    @property
    def held(self) -> BoolArray:
        """Rows in which a job holds the GPU."""
        return (self.job >= 0) & ~self.is_kind(*NOT_HELD)

    def by_job(self, first: FloatArray, other: FloatArray | None, rows: BoolArray, count: int) -> FloatArray:
        """Sum over rows per job: `first` goes to a row's job, `other` (None: the same) to the other one of a pair."""
        other = first if other is None else other
        rows = rows & (self.job >= 0)
        total: FloatArray = np.bincount(self.job[rows], first[rows], minlength=count).astype(float)
        rows = rows & (self.other >= 0)
        if rows.any():
            total += np.bincount(self.other[rows], other[rows], minlength=count)
        return total


def positions(names: Iterable[str], values: npt.NDArray[Any]) -> IntArray:
    """Where each value stands in `names`, -1 if nowhere."""
    place = {name: at for at, name in enumerate(names)}
    return np.fromiter(map(place.get, values.tolist(), repeat(-1)), np.int64, len(values))


def left_s(run: Run) -> FloatArray:
    """When each job went: it finished or was refused; infinity for those still there."""
    gone = run.cells.column("jobs", "finish_s").copy()
    refused = np.flatnonzero(is_refused(run))
    if len(refused):
        events, names = run.cells.columns("events"), run.cells.column("jobs", "job")
        verdicts = events["event"] == "verdict"
        last = dict(zip(events["job"][verdicts], events["time_s"][verdicts].tolist(), strict=True))
        for i in refused:
            gone[i] = last.get(names[i], run.end_s)
    gone[np.isnan(gone)] = np.inf
    return gone


def is_refused(run: Run) -> BoolArray:
    """Which jobs were refused."""
    found: BoolArray = run.cells.column("jobs", "verdict") == "refused"
    return found


def over_s(run: Run) -> float:
    """When there was nothing more to do: the last job's leaving if all have left, else the run's end (s)."""
    gone = left_s(run)
    return float(gone.max()) if len(gone) and np.isfinite(gone).all() else float(run.end_s)


def steps_of(at: FloatArray, *changes: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
    """Step functions from their changes at the same times: the times in order, each once, and the values from then."""
    times, where = np.unique(at, return_inverse=True)
    return times, [np.cumsum(np.bincount(where, change, minlength=len(times))) for change in changes]


def presence(run: Run) -> tuple[FloatArray, FloatArray]:
    """How many jobs have arrived and not left, as a step function."""
    arrival, gone = run.cells.column("jobs", "arrival_s"), left_s(run)
    arrival, gone = arrival[arrival <= run.end_s], gone[np.isfinite(gone)]
    change = np.repeat([1.0, -1.0], [len(arrival), len(gone)])
    times, (count,) = steps_of(np.concatenate([arrival, gone]), change)
    return times, count


def union(group: IntArray, start: FloatArray, end: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """The union of the intervals of each group, as disjoint intervals in order of (group, start)."""
    groups, times = np.concatenate([group, group]), np.concatenate([start, end])
    change = np.repeat(np.array([1, -1]), len(start))
    order = np.lexsort((-change, times, groups))  # at the same time starts come first, so that neighbours join
    groups, times, open_now = groups[order], times[order], np.cumsum(change[order])
    before = open_now - change[order]
    begins, ends = before == 0, open_now == 0
    return groups[begins], times[begins], times[ends]


def time_held(i: Intervals) -> tuple[IntArray, FloatArray, FloatArray]:
    """When each job holds GPUs, in any of its units: job, start and end of disjoint intervals."""
    held, paired = i.held, i.held & (i.other >= 0)
    return union(
        np.concatenate([i.job[held], i.other[paired]]),
        np.concatenate([i.start[held], i.start[paired]]),
        np.concatenate([i.end[held], i.end[paired]]),
    )
