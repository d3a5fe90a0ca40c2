"""The profiler (Hops, section 3.2): a new job runs for 10 to 50 iterations on each accelerator type, in its own queue.

Those who are to be profiled come first; what is idle then goes to the jobs that wait. A job enters the waiting queue
when it has been profiled on every type. What that costs is charged from what is believed of the job, never from wall
time: (ours) a start, then the iterations, with the smallest gang that runs on one node of the type, one GPU where
possible; types one beside the other as far as GPUs are free, first in, first out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from workbench.base.errors import InputError
from workbench.scenario.cluster import Cluster
from workbench.scenario.job import Job
from workbench.scheduling.decision import Assignment
from workbench.scheduling.placement import FreeGpus
from workbench.scheduling.snapshot import Belief, NodeView, Snapshot


class Probe(NamedTuple):
    """A profile still to be made: a job on so many GPUs of a type, which is number `kind` of the cluster's."""

    job: str
    kind: int
    gpus: int
    seconds: float


class RunningProbe(NamedTuple):
    """A profile that runs until `until_s`."""

    probe: Probe
    until_s: float


@dataclass(frozen=True)
class ProfileQueue:
    """Profiles to be made, first in, first out, and those that run; a scheduler keeps it in its memory."""

    waiting: tuple[Probe, ...] = ()
    running: tuple[RunningProbe, ...] = ()

    def entered(self, probes: Iterable[Probe]) -> ProfileQueue:
        """With more profiles at its end."""
        return ProfileQueue((*self.waiting, *probes), self.running)

    def at(self, snapshot: Snapshot) -> ProfileQueue:
        """The queue now: without profiles that have ended, of jobs that are gone, or on types without a node that is up
        and large enough. One that a failed node has cut off is the first to be made again."""
        active, held = snapshot.jobs.at, snapshot.leases.keys() | snapshot.ended.keys()
        open_ones = [found for found in self.running if found.until_s > snapshot.now_s and found.probe.job in active]
        lost = [found.probe for found in open_ones if _unit(found.probe) not in held]
        running = [found for found in open_ones if _unit(found.probe) in snapshot.leases]
        largest = np.zeros(len(snapshot.types), dtype=np.int64)
        np.maximum.at(largest, snapshot.nodes.kind, np.where(snapshot.nodes.up, snapshot.nodes.gpus, 0))
        waiting = [one for one in (*lost, *self.waiting) if one.job in active and one.gpus <= largest[one.kind]]
        return ProfileQueue(tuple(waiting), tuple(running))

    @property
    def jobs(self) -> frozenset[str]:
        """Jobs that have not been profiled on every type yet."""
        return frozenset(probe.job for probe in self.waiting) | frozenset(found.probe.job for found in self.running)

    @property
    def next_s(self) -> float | None:
        """When the next job will have been profiled on every type, as far as its profiles run; None without one."""
        unfinished = {probe.job for probe in self.waiting}
        ends: dict[str, float] = {}
        for probe, until_s in self.running:
            ends[probe.job] = max(ends.get(probe.job, 0.0), until_s)
        return min((end for job, end in ends.items() if job not in unfinished), default=None)

    def begin(self, free_gpus: FreeGpus, now_s: float) -> tuple[tuple[Assignment, ...], ProfileQueue]:
        """Profiles that start now, taken from `free_gpus`, and the queue after that.

        Whoever finds no room on its type stays in the queue and holds up nobody. Each is a copy of the job, numbered by
        its type; it does no steps of the job.
        """
        started, waiting, running = [], [], list(self.running)
        for probe in self.waiting:
            gpus = free_gpus.consolidate(probe.kind, probe.gpus)
            if gpus is not None and len(gpus) > 1:
                free_gpus.give_back(probe.kind, gpus)
                gpus = None
            if gpus is None:
                waiting.append(probe)
                continue
            until_s = now_s + probe.seconds
            started.append(Assignment(_unit(probe), gpus, until_s, "profile", 0.0))
            running.append(RunningProbe(probe, until_s))
        return tuple(started), ProfileQueue(tuple(waiting), tuple(running))


def _unit(probe: Probe) -> tuple[str, int]:
    return probe.job, probe.kind


def start_profiles(
    line: ProfileQueue, snapshot: Snapshot, taken: Mapping[str, int]
) -> tuple[tuple[Assignment, ...], ProfileQueue]:
    """The profiles that begin now, and the queue then; taken: free GPUs that are given out already.

    They begin on GPUs that were idle before, and if there are too few, on those of jobs whose time on them ends now.
    """
    if not line.waiting:
        return (), line
    gone = Counter(taken)
    for ended in snapshot.ended.values():
        gone.update(ended.gpus)
    first, line = line.begin(_free_gpus(snapshot.nodes, gone), snapshot.now_s)
    gone = Counter(taken)
    for started in first:
        gone.update(started.gpus)
    rest, line = line.begin(_free_gpus(snapshot.nodes, gone), snapshot.now_s)
    return (*first, *rest), line


def _free_gpus(nodes: NodeView, gone: Mapping[str, int]) -> FreeGpus:
    """What is free but for what is gone."""
    left = nodes.free - np.array([gone.get(name, 0) for name in nodes.names], dtype=np.int64)
    return FreeGpus(replace(nodes, free=np.maximum(left, 0)))


def probes(job: Job, belief: Belief, cluster: Cluster, iterations: int, start_s: float) -> tuple[Probe, ...]:
    """One for each type on which some gang of the job, or one GPU, runs on a single node; none without iterations."""
    if iterations < 0:
        raise InputError("iterations of a profile", iterations, "at least 0")
    found = []
    for kind, name in enumerate(cluster.types if iterations else ()):
        for gpus in sorted({1, *job.sizes}):
            # A profile runs as a copy of the job, which may have as many GPUs as the gang asked for.
            if gpus > job.gpus or cluster.fewest_nodes(name, gpus) != 1:
                break
            speed = belief.steps_per_s(job, name, gpus, "consolidated", 1)
            if speed > 0:
                found.append(Probe(job.name, kind, gpus, start_s + iterations * gpus / speed))
                break
    return tuple(found)
