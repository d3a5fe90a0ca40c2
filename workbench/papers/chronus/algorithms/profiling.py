"""The profiler (section 3.2): every job first runs for a while, first come first served, on at most two nodes.

The paper has every profile last T_profile = 300 s (`profile_s=300`, `profile_gpu_s=none`); the default is that of the
authors' code, at most 120 s, nor more than 30 s for each GPU. Their end-to-end runs charge no profile at all:
`profile=off`, every run time is known when a job arrives.

Jobs that are done by then never reach the queues. Of the others the profiler knows the time of an iteration on one node
and on two, and from these on n nodes (3.2.2): `t_n = t_1 + log2(n) (t_2 - t_1)`. A gang on more than two nodes whose
speed is another has an estimate that is off, and a guarantee given on it may not be kept.

Submission control (3.2.1): in each interval of T_profile a user's jobs enter the line up to a number of GPUs; the
others are held back to a later interval, in their order. (ours): a job counts with the GPUs it is profiled on; a user's
first job in an interval enters in any case; a job without a user has its own quota.

The profiling cluster (3.2.3) has `C_profile >= lambda T_profile` GPUs, a lower bound: lambda is the GPUs that asked to
be profiled per second in the last hour, so that the bound itself is a load of 1 (where profiles differ in length:
the GPU-seconds that they asked for, per second). (ours): the cluster is the whole nodes that have so many, as 5 or 6
GPUs of a node of 8 break it and hold no gang of 8; one node at least is left to all others, and a type's only node is
shared by GPUs. In the first hour there is no estimate and no profiling cluster: profiles take what the guaranteed jobs
leave. So does later the first in line that the cluster could not hold even empty. And no cluster is so small that one
in line never gets its turn: for an SLO lease it grows to hold the largest of the line, where all promises can be kept
beside it. What is borrowed, and what it has grown by, is given back by the next boundary of SLO leases, or once nobody
is in line any more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from workbench.base.round_times import boundary_after
from workbench.papers.chronus.algorithms.clusters import FreeByCluster, NodesUp
from workbench.scenario.job import Job
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import Assignment
from workbench.scheduling.snapshot import Belief, Snapshot

LEAST_FACTOR = 0.05
"""A noisy runtime is at least so much of the profiled one (ours)."""


class ProfiledSpeeds(NamedTuple):
    """What the profiler found of a job: steps/s of its gang on each type, error included; 0 where it does not run."""

    speeds: tuple[float, ...]


class WaitingProfile(NamedTuple):
    """A job to be profiled on so many GPUs of type number `kind`."""

    job: str
    kind: int
    gpus: int
    user: str


class RunningProfile(NamedTuple):
    """A job that is profiled until `until_s`; own: in the profiling cluster, else on borrowed GPUs."""

    waiting: WaitingProfile
    until_s: float
    own: bool


@dataclass(frozen=True)
class Profiler:
    """Whom the profiler knows of, a scheduler keeps it in its memory.

    last: (arrival, position) of the last job that came; held: back by submission control; line: waits for GPUs; used:
    GPUs of each user in interval number `interval`; asked: (types,) GPU-seconds of profiles asked for since updated_s;
    regular: (types,) GPUs of the profiling cluster, capacity: with what it has grown by for this SLO lease; estimated:
    whether they are of an estimate, or fixed.
    """

    asked: tuple[int, ...]
    regular: tuple[int, ...]
    capacity: tuple[int, ...]
    estimated: bool = False
    updated_s: float = 0.0
    last: tuple[float, int] = (-1.0, -1)
    held: tuple[WaitingProfile, ...] = ()
    line: tuple[WaitingProfile, ...] = ()
    running: tuple[RunningProfile, ...] = ()
    used: Mapping[str, int] = field(default_factory=dict)
    interval: int = -1

    def at(self, snapshot: Snapshot) -> tuple[Profiler, tuple[str, ...]]:
        """The profiler now, and the jobs that have been profiled since.

        Who is done meanwhile is gone; who lost the GPUs to a fault is the first in line again.
        """
        if not self.running:
            return self, ()
        now_s, gone = snapshot.now_s, set(snapshot.finished)
        left = [one for one in self.running if one.waiting.job not in gone]
        profiled = tuple(one.waiting.job for one in left if one.until_s <= now_s)
        later = [one for one in left if one.until_s > now_s]
        lost = tuple(one.waiting for one in later if one.waiting.job not in snapshot.leases)
        running = tuple(one for one in later if one.waiting.job in snapshot.leases)
        return replace(self, running=running, line=(*lost, *self.line)), profiled

    @property
    def own_jobs(self) -> tuple[str, ...]:
        """Jobs that are profiled in the profiling cluster."""
        return tuple(one.waiting.job for one in self.running if one.own)

    def entered(self, new: Sequence[WaitingProfile], now_s: float, knobs: Knobs) -> Profiler:
        """With jobs that have arrived, and those that submission control lets in now."""
        if not new and not self.held:
            return self
        asked = list(self.asked)
        for one in new:
            asked[one.kind] += one.gpus * length_s(one.gpus, knobs)
        interval = int(now_s // int(knobs["profile_s"]))
        used = dict(self.used) if interval == self.interval else {}
        limit = knobs["submission_gpus"]
        held, line = [], list(self.line)
        for one in (*self.held, *new):
            before = used.get(one.user, 0)
            if limit is None or not one.user or before == 0 or before + one.gpus <= limit:
                line.append(one)
                if limit is not None and one.user:
                    used[one.user] = before + one.gpus
            else:
                held.append(one)
        return replace(
            self,
            asked=tuple(asked),
            held=tuple(held),
            line=tuple(line),
            used=used,
            interval=interval,
        )

    def wanted(self, now_s: float, knobs: Knobs) -> tuple[int, ...]:
        """(types,) GPUs that lambda asks for, rounded up: the lower bound of the profiling cluster."""
        share = float(knobs["profile_headroom"]) / max(now_s - self.updated_s, 1.0)
        return tuple(math.ceil(gpu_s * share - 1e-9) for gpu_s in self.asked)

    def is_due(self, now_s: float, knobs: Knobs) -> bool:
        """Whether the profiling cluster is to be estimated again."""
        return knobs["profile_gpus"] is None and now_s - self.updated_s >= int(knobs["profile_update_s"])

    def resized(self, regular: tuple[int, ...], now_s: float) -> Profiler:
        """With another profiling cluster from now on."""
        none = (0,) * len(self.asked)
        return replace(self, regular=regular, capacity=regular, estimated=True, updated_s=now_s, asked=none)

    def grown(self, capacity: tuple[int, ...]) -> Profiler:
        """With so large a profiling cluster for an SLO lease."""
        return replace(self, capacity=capacity)

    def largest(self, kind: int) -> int:
        """GPUs of the largest profile in line for a type, 0 if nobody is."""
        return max((one.gpus for one in self.line if one.kind == kind), default=0)

    def next_s(self, now_s: float, knobs: Knobs) -> float | None:
        """When there may be more to do before the next arrival or completion; None if nobody waits."""
        ends = [one.until_s for one in self.running] if self.line else []
        if self.held:
            ends.append(boundary_after(now_s, float(knobs["profile_s"])))
        return min(ends, default=None)


def length_s(gpus: int, knobs: Knobs) -> int:
    """Seconds that a profile on so many GPUs lasts at most."""
    longest, each = int(knobs["profile_s"]), knobs["profile_gpu_s"]
    return longest if each is None else min(longest, int(each) * gpus)


def first_profiler(gpus: Sequence[int], knobs: Knobs) -> Profiler:
    """The profiler before the first job; gpus: (types,) of the cluster.

    A fixed number is shared by the types as they have GPUs, the rest going to the first ones.
    """
    fixed = knobs["profile_gpus"]
    none = (0,) * len(gpus)
    if fixed is None:
        return Profiler(none, none, none)
    shares = [int(fixed) * own // sum(gpus) for own in gpus]
    for kind in range(int(fixed) - sum(shares)):
        shares[kind % len(shares)] += 1
    return Profiler(none, tuple(shares), tuple(shares), estimated=True)


def start_profiles(
    profiler: Profiler,
    snapshot: Snapshot,
    nodes: NodesUp,
    free: Sequence[FreeByCluster],
    slo_end_s: float,
    knobs: Knobs,
) -> tuple[tuple[Assignment, ...], Profiler]:
    """The profiles that begin now, first come first served, and the profiler then; free: by type, taken from.

    slo_end_s: the next boundary of SLO leases, by which borrowed GPUs are back.
    """
    if not profiler.line:
        return (), profiler
    line, running = list(profiler.line), list(profiler.running)
    started: list[Assignment] = []
    while line:
        first = line[0]
        until_s = snapshot.now_s + length_s(first.gpus, knobs)
        part, grown = free[first.kind], profiler.capacity[first.kind] > profiler.regular[first.kind]
        at = part.profiling(first.gpus) if not grown or until_s <= slo_end_s else None
        own = at is not None
        may_borrow = not profiler.estimated or not nodes.could_hold(first.kind, first.gpus, profiler.capacity)
        if at is None and may_borrow and until_s <= slo_end_s:
            at = part.borrowed(first.gpus)
        if at is None:
            break
        job = snapshot.jobs.jobs[snapshot.jobs.at[first.job]]
        steps = _steps(job, float(snapshot.jobs.steps_left[snapshot.jobs.at[first.job]]), at, snapshot.belief, knobs)
        started.append(Assignment(first.job, at, until_s, "profile", steps))
        running.append(RunningProfile(first, until_s, own))
        line.pop(0)
    return tuple(started), replace(profiler, line=tuple(line), running=tuple(running))


def _steps(job: Job, left: float, at: Mapping[str, int], belief: Belief, knobs: Knobs) -> float | None:
    """How many steps a profile may do: all, or none where progress is lost and the job would not be done by its end.

    None also for a gang that has no speed on so few nodes.
    """
    rate = belief.on_nodes(job, at)
    if rate <= 0:
        return 0.0
    if knobs["profile_progress"] or left / rate <= length_s(sum(at.values()), knobs):
        return None
    return 0.0


def profiled_on(job: Job, kinds: Sequence[float], nodes: NodesUp) -> tuple[int, int]:
    """Type and GPUs with which a job is profiled: its fastest type, at most two nodes; kinds: its speed on each.

    Of types that have no node now, the others come first.
    """
    there = [speed if nodes.most(kind) else 0.0 for kind, speed in enumerate(kinds)]
    speeds = there if max(there) > 0 else list(kinds)
    kind = int(np.argmax(speeds))
    return kind, min(job.gpus, nodes.two_nodes(kind))


def iteration_s(one_node_s: float, two_nodes_s: float, nodes: int) -> float:
    """t_n (3.2.2): seconds of an iteration on n nodes from those on one and on two."""
    return one_node_s + math.log2(nodes) * (two_nodes_s - one_node_s)


def estimated_speed(job: Job, accelerator: str, measured: float, node_gpus: int | None, belief: Belief) -> float:
    """Steps/s of the whole gang as the profiler has them; measured: as it would be measured on all its GPUs.

    Gangs of up to two nodes are measured as they are. For larger ones t_1 and t_2 are measured with full nodes; where
    these have no speed of their own, or nodes differ in size, the gang's own stands (ours). An iteration of a gang of
    g does g steps.
    """
    if node_gpus is None or measured <= 0:
        return measured
    nodes = -(-job.gpus // node_gpus)
    if nodes <= 2:
        return measured
    one = belief.steps_per_s(job, accelerator, node_gpus, "consolidated", 1)
    two = belief.steps_per_s(job, accelerator, 2 * node_gpus, "consolidated", 2)
    if one <= 0 or two <= 0:
        return measured
    seconds = iteration_s(node_gpus / one, 2 * node_gpus / two, nodes)
    return job.gpus / seconds if seconds > 0 else measured


def error_factor(knobs: Knobs, rng: np.random.Generator) -> float:
    """By what a profiled runtime is multiplied: 1 without noise."""
    scale = float(knobs["runtime_noise"])
    return max(LEAST_FACTOR, 1.0 + scale * float(rng.standard_normal())) if scale > 0 else 1.0
