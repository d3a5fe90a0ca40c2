"""A round as HadarE sees it: how fast a copy of each job would be on each node, and what it would cost to start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from workbench.base.boundaries import boundary_after
from workbench.papers.hadar.hadare.tracker import Tracker
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import BoolArray, IntArray, Snapshot, is_copy


@dataclass(frozen=True, eq=False)
class View:
    """A snapshot as HadarE sees it: (jobs x nodes) speed and GPUs of a copy, and what goes on without a restart.

    steps_left: above 0 also for a job of which rounding is left; forked: (jobs,) those that a node of the cluster can
    run a copy of.
    """

    snapshot: Snapshot
    tracker: Tracker
    until_s: float
    overhead_s: float
    forks: int
    at: Mapping[str, int]
    speed: FloatArray
    need: IntArray
    restart_s: FloatArray
    steps_left: FloatArray
    forked: BoolArray

    @classmethod
    def of(cls, snapshot: Snapshot, tracker: Tracker, knobs: Knobs) -> View:
        jobs, nodes = snapshot.jobs, snapshot.nodes
        need = np.minimum(jobs.gpus[:, None], nodes.gpus[None, :])
        speed = _speeds(snapshot, need)
        forks = min(knobs["forks"] or len(nodes.names), len(nodes.names))
        return cls(
            snapshot=snapshot,
            tracker=tracker,
            until_s=boundary_after(snapshot.now_s, knobs["round_s"]),
            overhead_s=knobs["overhead_s"] if forks > 1 else 0.0,
            forks=forks,
            at={name: i for i, name in enumerate(nodes.names)},
            speed=np.where(nodes.up, speed, 0.0),
            need=need,
            restart_s=_restarts(snapshot, tracker, need),
            steps_left=np.maximum(jobs.steps_left, np.finfo(float).tiny),
            forked=np.asarray((speed > 0).any(axis=1), dtype=bool),
        )

    @property
    def seconds(self) -> FloatArray:
        """(jobs x nodes) how long a copy can run in the slot."""
        length_s = self.until_s - self.snapshot.now_s - self.overhead_s
        return np.maximum(length_s - self.restart_s, 0.0)


def _speeds(snapshot: Snapshot, need: IntArray) -> FloatArray:
    """(jobs x nodes) believed steps/s of a copy; jobs of one model and gang are alike."""
    alike: dict[tuple[str, int], FloatArray] = {}
    names = snapshot.nodes.names
    for job, row in zip(snapshot.jobs.jobs, need.tolist(), strict=True):
        if (job.model, job.gpus) not in alike:
            found = [snapshot.belief.on_nodes(job, {name: gpus}) for name, gpus in zip(names, row, strict=True)]
            alike[job.model, job.gpus] = np.array(found, dtype=float)
    rows = [alike[job.model, job.gpus] for job in snapshot.jobs.jobs]
    return np.array(rows, dtype=float).reshape(len(rows), len(names))


def _restarts(snapshot: Snapshot, tracker: Tracker, need: IntArray) -> FloatArray:
    """(jobs x nodes) seconds that a copy would pay for a restart: none where it goes on, nor at a job's first start."""
    found = np.zeros(need.shape)
    if tracker.restart_s:
        ran = set(tracker.started)
        for row, name in enumerate(snapshot.jobs.names):
            if name in ran:
                found[row] = [tracker.restart_s[gpus] for gpus in need[row].tolist()]
    at = {name: i for i, name in enumerate(snapshot.nodes.names)}
    for unit, lease in snapshot.ended.items():
        if is_copy(unit) and unit[0] in snapshot.jobs.at:
            found[snapshot.jobs.at[unit[0]], at[next(iter(lease.gpus))]] = 0.0
    return found
