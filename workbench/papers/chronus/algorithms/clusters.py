"""The three logical clusters (section 3.1) on the nodes that are up, for each accelerator type by itself.

The profiling cluster is the last GPUs of a type's nodes, in the order of the cluster, so many as the profiler says:
whole nodes, but where a fixed number or a type's only node says otherwise. Its GPUs are for profiles alone. The
guaranteed cluster is where guaranteed jobs have leases, and the spot cluster is what is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from workbench.scheduling.decision import Assignment
from workbench.scheduling.placement import Gpus
from workbench.scheduling.snapshot import Snapshot


@dataclass(frozen=True, eq=False)
class NodesUp:
    """The nodes that are up: of each type their names, in the order of the cluster, and GPUs.

    installed: GPUs of each node of a type, up or not.
    """

    names: tuple[tuple[str, ...], ...]
    gpus: tuple[tuple[int, ...], ...]
    installed: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, snapshot: Snapshot) -> NodesUp:
        """Those of a snapshot."""
        view = snapshot.nodes
        of_each = (tuple(column.tolist()) for column in (view.kind, view.gpus, view.up))
        return cls._of(len(snapshot.types), view.names, *of_each)

    @classmethod
    @lru_cache(100)
    def _of(
        cls, types: int, names: tuple[str, ...], kind: tuple[int, ...], gpus: tuple[int, ...], up: tuple[bool, ...]
    ) -> NodesUp:
        every = [[node for node, own in enumerate(kind) if own == each] for each in range(types)]
        own = [[node for node in nodes if up[node]] for nodes in every]
        return cls(
            tuple(tuple(names[node] for node in nodes) for nodes in own),
            tuple(tuple(gpus[node] for node in nodes) for nodes in own),
            tuple(tuple(gpus[node] for node in nodes) for nodes in every),
        )

    def beside(self, kind: int, now: int, later: int) -> tuple[int, int]:
        """GPUs of a type outside a profiling cluster of so many: now, and later, once all nodes are up."""
        return max(0, sum(self.gpus[kind]) - now), max(0, sum(self.installed[kind]) - later)

    def most(self, kind: int) -> int:
        """GPUs of a type's largest node, 0 without one."""
        return max(self.gpus[kind], default=0)

    def two_nodes(self, kind: int) -> int:
        """GPUs of a type's two largest nodes, at least 1."""
        return max(1, sum(sorted(self.gpus[kind])[-2:]))

    def size(self, kind: int) -> int | None:
        """GPUs of a node of a type; None if they differ, or there is none."""
        sizes = set(self.installed[kind])
        return sizes.pop() if len(sizes) == 1 else None

    def reserved(self, kind: int, gpus: int) -> dict[str, int]:
        """`{node: GPUs}` of a type's profiling cluster of so many GPUs, the last node first."""
        found: dict[str, int] = {}
        for name, size in zip(reversed(self.names[kind]), reversed(self.gpus[kind]), strict=True):
            if gpus <= 0:
                break
            found[name] = min(size, gpus)
            gpus -= size
        return found

    def covering(self, kind: int, held: Gpus) -> int:
        """GPUs of the smallest profiling cluster that has these: whole nodes, a type's first node as far as held."""
        total, enough = 0, 0
        for name, size in zip(reversed(self.names[kind]), reversed(self.gpus[kind]), strict=True):
            if held.get(name, 0):
                enough = total + (held[name] if name == self.names[kind][0] else size)
            total += size
        return enough

    def whole(self, kind: int) -> list[int]:
        """GPUs of each profiling cluster of whole nodes that leaves a node of its type to the others, rising."""
        return list(accumulate(reversed(self.gpus[kind][1:])))

    def at_least(self, kind: int, gpus: int) -> int:
        """GPUs of the smallest profiling cluster of whole nodes with so many, or of the largest; a type's only node:
        just so many."""
        whole = self.whole(kind)
        if not gpus or not whole:
            return gpus
        return next((size for size in whole if size >= gpus), whole[-1])

    def enough(self, kind: int, gpus: int) -> int:
        """GPUs of the smallest profiling cluster that could hold a profile of so many; 0 where the nodes could not.

        Whole nodes where that leaves a node to the others, else as few GPUs as hold it.
        """
        if not gpus:
            return 0
        able = (*self.whole(kind), *range(gpus, sum(self.gpus[kind]) + 1))
        return next((size for size in able if self._holds(kind, gpus, size)), 0)

    def could_hold(self, kind: int, gpus: int, capacity: Sequence[int]) -> bool:
        """Whether a profile of so many GPUs would fit into the empty profiling cluster."""
        return self._holds(kind, gpus, capacity[kind])

    def _holds(self, kind: int, gpus: int, capacity: int) -> bool:
        return pick(self.reserved(kind, capacity), gpus, self.most(kind)) is not None


class FreeByCluster:
    """Free GPUs of one type, in and outside the profiling cluster; taken step by step."""

    def __init__(self, most: int, own: dict[str, int], others: dict[str, int]) -> None:
        self._most, self.own, self.others = most, own, others

    def profiling(self, gpus: int) -> dict[str, int] | None:
        """GPUs of the profiling cluster for a profile, taken."""
        return self._taken(self.own, gpus)

    def borrowed(self, gpus: int) -> dict[str, int] | None:
        """GPUs outside it for a profile, taken; where these do not do, also those inside."""
        found = self._taken(self.others, gpus)
        if found is None:
            every = {name: count + self.own.get(name, 0) for name, count in self.others.items()}
            found = pick(every, gpus, self._most)
            self.take(found or {})
        return found

    def _taken(self, free: dict[str, int], gpus: int) -> dict[str, int] | None:
        found = pick(free, gpus, self._most)
        for name, count in (found or {}).items():
            free[name] -= count
        return found

    def take(self, gpus: Gpus) -> None:
        """Take these GPUs, those outside the profiling cluster first."""
        for name, count in gpus.items():
            outside = min(count, self.others[name])
            self.others[name] -= outside
            if count > outside:
                self.own[name] -= count - outside


def pick(free: Gpus, gpus: int, most: int) -> dict[str, int] | None:
    """`{node: GPUs}` on one node for a gang that fits on the largest, else on two; None if there is no room.

    One node: that with the fewest free GPUs that are enough; two: those with the most; the first ones of equal.
    """
    if gpus <= most:
        able = [(count, name) for name, count in free.items() if count >= gpus]
        return {min(able, key=lambda one: one[0])[1]: gpus} if able else None
    emptiest = sorted((name for name in free if free[name] > 0), key=lambda name: -free[name])[:2]
    if sum(free[name] for name in emptiest) < gpus:
        return None
    first = min(free[emptiest[0]], gpus)
    return {emptiest[0]: first, **({emptiest[1]: gpus - first} if gpus > first else {})}


def split(
    snapshot: Snapshot, nodes: NodesUp, capacity: Sequence[int], profiles: Iterable[str]
) -> tuple[FreeByCluster, ...]:
    """What is free of each type once the leases that end now are gone.

    capacity: (types,) GPUs of the profiling cluster; profiles: jobs that are being profiled in it.
    """
    mine: dict[str, int] = {}
    for name in profiles:
        _add(mine, snapshot.leases[name])
    free = dict(zip(snapshot.nodes.names, snapshot.nodes.free.tolist(), strict=True))
    found = []
    for kind in range(len(snapshot.types)):
        reserved = nodes.reserved(kind, capacity[kind])
        own = {name: max(0, min(free[name], count - mine.get(name, 0))) for name, count in reserved.items()}
        others: dict[str, int] = {}
        for name, size in zip(nodes.names[kind], nodes.gpus[kind], strict=True):
            if name in reserved:
                held = size - free[name] - min(mine.get(name, 0), reserved[name])
                others[name] = max(0, min(free[name] - own[name], size - reserved[name] - held))
            else:
                others[name] = free[name]
        found.append(FreeByCluster(nodes.most(kind), own, others))
    return tuple(found)


def _add(held: dict[str, int], lease: Assignment) -> None:
    for name, count in lease.gpus.items():
        held[name] = held.get(name, 0) + count


def held_by(snapshot: Snapshot, jobs: Iterable[str]) -> dict[str, int]:
    """`{node: GPUs}` of the leases of jobs."""
    held: dict[str, int] = {}
    for name in jobs:
        _add(held, snapshot.leases[name])
    return held
