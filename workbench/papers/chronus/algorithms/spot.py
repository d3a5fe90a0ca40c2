"""The spot cluster: best-effort jobs and those that could not be guaranteed (sections 3.3.5 and 3.4.2).

In each cycle of best-effort leases the jobs with the shortest remaining time get leases as long as there are GPUs;
whoever does not fit is passed. Remaining time is that which the profiler estimated, on the job's fastest type. On
several types (ours) a job takes the fastest that has room.

(ours): a job that has a lease again stays where it is, and only the others are placed anew, the large on whole nodes,
the small by local search; where a large gang has no whole nodes because of those that stay, all are placed anew. A gang
that could not run beside the profiling cluster at all may take its idle GPUs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.papers.chronus.algorithms.consolidation import (
    keep_places,
    place_best_effort,
    place_consolidated,
    round_up,
)
from workbench.papers.chronus.algorithms.local_search import Shape, quasi_consolidate
from workbench.scheduling import job_orders
from workbench.scheduling.placement import Gpus

BY = {"remaining_time": "remaining time", "remaining_gpu_time": "remaining time x GPUs"}
"""What the line is ordered by, in words."""
MANY = 20
"""Gangs up to which local search looks at |S| combinations; of more at fewer in turn, as each costs more (ours)."""


@dataclass(frozen=True)
class SpotRules:
    """How gangs are placed. most: |S|; large: GPUs from which on a gang gets whole nodes; placement: knob."""

    placement: str
    most: int
    large: int


@dataclass(frozen=True)
class SpotGpus:
    """One type's GPUs for the spot cluster.

    free: `{node: GPUs}`; idle: those of the profiling cluster; outside: GPUs of each node outside it, falling;
    node_gpus: of every node, None if they differ; speed: RTS, see `local_search`; runs: whether a job runs on these
    nodes.
    """

    free: Mapping[str, int]
    idle: Mapping[str, int]
    outside: tuple[int, ...]
    node_gpus: int | None
    speed: Callable[[str, Shape], float]
    runs: Callable[[str, Gpus], bool]

    def too_large(self, gpus: int, large: int) -> bool:
        """Whether a gang could not run beside the profiling cluster even if all else were free."""
        if self.node_gpus is None:
            return gpus > sum(self.outside)
        nodes = -(-gpus // self.node_gpus)
        whole = gpus >= large and round_up(gpus, self.node_gpus) % self.node_gpus == 0
        return sum(self.outside[:nodes]) < gpus or (whole and self.outside[nodes - 1] < self.node_gpus)


def in_order(remaining_s: FloatArray, gpus: IntArray, by: str) -> IntArray:
    """Rows of the queue, the first to be served first; remaining_s: (jobs,) on the fastest type."""
    return job_orders.by(remaining_s if by == "remaining_time" else remaining_s * gpus)


def serve(
    names: Sequence[str],
    gpus: Sequence[int],
    kinds: Sequence[Sequence[int]],
    pools: Sequence[SpotGpus],
    previous: Mapping[str, Gpus],
    rules: SpotRules,
) -> dict[str, dict[str, int]]:
    """`{node: GPUs}` of the jobs that get leases.

    names, gpus: the queue in order; kinds: of each the types it runs on, the fastest first; previous: where jobs are
    now that may stay.
    """
    left = [sum(pool.free.values()) for pool in pools]
    idle = [sum(pool.idle.values()) for pool in pools]
    chosen: list[dict[str, int]] = [{} for _ in pools]
    for name, gang, able in zip(names, gpus, kinds, strict=True):
        if not any(left) and not any(idle):
            break
        for kind in able:
            extra = idle[kind] if pools[kind].too_large(gang, rules.large) else 0
            if gang <= left[kind] + extra:
                chosen[kind][name] = gang
                idle[kind] -= max(0, gang - left[kind])
                left[kind] = max(0, left[kind] - gang)
                break
    found: dict[str, dict[str, int]] = {}
    for pool, gangs in zip(pools, chosen, strict=True):
        if gangs:
            found.update(_placed(gangs, pool, previous, rules))
    return found


def _placed(
    gangs: Mapping[str, int], pool: SpotGpus, previous: Mapping[str, Gpus], rules: SpotRules
) -> dict[str, dict[str, int]]:
    oversize = {name: gpus for name, gpus in gangs.items() if pool.too_large(gpus, rules.large)}
    others = {name: gpus for name, gpus in gangs.items() if name not in oversize}
    every = {node: pool.free.get(node, 0) + pool.idle.get(node, 0) for node in {**pool.free, **pool.idle}}
    placed, left = _oversize(oversize, every, previous)
    free = {node: min(count, left[node]) for node, count in pool.free.items()}
    if sum(free.values()) >= sum(others.values()):
        found = {**placed, **_beside(others, free, pool, previous, rules)}
    else:  # they would take what the others were chosen for
        found = _beside(others, pool.free, pool, previous, rules)
        for at in found.values():
            for node, count in at.items():
                every[node] -= count
        found |= _oversize(oversize, every, previous)[0]
    return {name: at for name, at in found.items() if pool.runs(name, at)}


def _oversize(
    gangs: Mapping[str, int], every: Gpus, previous: Mapping[str, Gpus]
) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """Where gangs go that may also take idle GPUs of the profiling cluster, and what is left of `every`."""
    placed, left = keep_places(gangs, every, previous)
    placed.update(quasi_consolidate({name: gpus for name, gpus in gangs.items() if name not in placed}, left))
    left = dict(every)
    for at in placed.values():
        for node, count in at.items():
            left[node] -= count
    return placed, left


def _beside(
    gangs: Mapping[str, int], free: Gpus, pool: SpotGpus, previous: Mapping[str, Gpus], rules: SpotRules
) -> dict[str, dict[str, int]]:
    """Where gangs go outside the profiling cluster."""
    free_gpus = sum(free.values())
    fitting: dict[str, int] = {}
    for name, gpus in gangs.items():
        if gpus <= free_gpus:
            fitting[name] = gpus
            free_gpus -= gpus
    kept, left = keep_places(fitting, free, previous)
    rest = {name: gpus for name, gpus in fitting.items() if name not in kept}
    found = {**kept, **_anew(rest, left, pool, rules)}
    waiting = [name for name in rest if name not in found]
    if kept and any(fitting[name] >= rules.large for name in waiting):
        other = _anew(fitting, free, pool, rules)
        if any(name in other for name in waiting):
            return other
    return found


def _anew(
    gangs: Mapping[str, int], free: Mapping[str, int], pool: SpotGpus, rules: SpotRules
) -> dict[str, dict[str, int]]:
    if not gangs:
        return {}
    if pool.node_gpus is None:
        return quasi_consolidate(gangs, free)
    if rules.placement == "consolidated":
        return place_consolidated(gangs, free, pool.node_gpus)
    most = max(1, rules.most * MANY // max(MANY, len(gangs))) if rules.placement == "local_search" else 1
    found = place_best_effort(gangs, free, pool.node_gpus, pool.speed, most, rules.large)
    return {name: dict(at) for name, at in found.gpus.items()}


def remaining_s(steps_left: FloatArray, speed: FloatArray) -> FloatArray:
    """(jobs,) seconds left on the fastest type; speed: (jobs x types) as estimated."""
    fastest: FloatArray = speed.max(axis=1, initial=0.0)
    return job_orders.seconds(steps_left, np.where(fastest > 0, fastest, 0.0))
