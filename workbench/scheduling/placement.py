"""Choosing nodes for units whose accelerator type and number of GPUs are decided.

Everything here is pure: it reads a NodeView and answers with `{node: GPUs}`. A unit stays on one accelerator type.
"""

from __future__ import annotations

import copy
import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

from workbench.scheduling.decision import Unit, members
from workbench.scheduling.snapshot import ByFree, NodeView, Snapshot, sort_anew

Style = Literal["consolidate", "fill", "spread"]
Gpus = Mapping[str, int]


class Request(NamedTuple):
    """A unit that wants `gpus` GPUs of type number `kind`; previous: the GPUs it had, kept where they are free.

    least, most: on how many nodes it may be. With a limit it is placed to suit that, whatever the style: on as many
    nodes as can be where it wants several, else on the fewest.
    """

    unit: Unit
    kind: int
    gpus: int
    previous: Gpus | None = None
    least: int = 1
    most: int | None = None

    def suits(self, gpus: Gpus) -> bool:
        """Whether it may be on so many nodes."""
        return self.least <= len(gpus) and (self.most is None or len(gpus) <= self.most)


class FreeGpus:
    """Free GPUs of nodes, taken step by step. `free` counts them per node in cluster order.

    lent: GPUs of assignments that still hold theirs but may be given away too.
    """

    def __init__(self, nodes: NodeView, lent: Iterable[Gpus] = ()) -> None:
        self.names, self._nodes, self._at = nodes.names, nodes, nodes.at
        self._by_free: ByFree = {}
        self._changed: set[int] = set()
        self._first: dict[int, int] = {}
        self._largest = nodes.largest
        self._taken: Any = {}  # by node what was left where some were taken; `free` once somebody has asked for it
        for gpus in lent:
            self.lend(gpus)

    @cached_property
    def free(self) -> list[int]:
        free: list[int] = self._nodes.free.tolist()
        for i, left in self._taken.items():
            free[i] = left
        self._taken = free
        return free

    def copy(self) -> FreeGpus:
        """The same GPUs, to be taken apart from these."""
        other = copy.copy(self)
        other.free, other._first = self.free[:], dict(self._first)
        other._taken = other.free
        other._by_free = {kind: {**nodes} for kind, nodes in self._by_free.items()}
        other._changed = {*self._changed}
        return other

    def lend(self, gpus: Gpus) -> int:
        """Make GPUs available that an assignment still holds; see `give_back`."""
        return self.give_back(self.kind_of(gpus), gpus)

    def left(self, kinds: int) -> list[int]:
        """Free GPUs of each of the `kinds` types."""
        if not self._by_free and not self._changed:
            return self._nodes.left[:]
        found = [0] * kinds
        for kind in range(kinds):
            for free, nodes in self._sorted(kind).items():
                found[kind] += free * nodes.bit_count()
        return found

    def kind_of(self, gpus: Gpus) -> int:
        """The type of the nodes in `{node: GPUs}`."""
        return self._nodes.kind.item(self._at[next(iter(gpus))])

    def keep(self, kind: int, gpus: int, previous: Gpus) -> bool:
        """Take the same GPUs again if they are of that type and number and all free; returns whether they were."""
        at, free, kind_of = self._at, self.free, self._nodes.kind.item
        total = 0
        for node, count in previous.items():
            i = at.get(node)
            if i is None or kind_of(i) != kind or free[i] < count:
                return False
            total += count
        if total != gpus:
            return False
        self._take(kind, previous)
        return True

    def consolidate(self, kind: int, gpus: int) -> dict[str, int] | None:
        """The fewest nodes: the fullest one that still holds the gang, else the emptiest nodes first; ties by position.

        Returns None, and takes nothing, if the type has too few free GPUs.
        """
        nodes = self._by_free[kind] if kind in self._by_free else self._sorted(kind)
        for snug in range(gpus, self._largest + 1):
            if snug in nodes and (those := nodes[snug]):
                first, rest = those & -those, snug - gpus
                nodes[snug] = those ^ first
                if rest:
                    nodes[rest] = nodes.get(rest, 0) | first
                i = first.bit_length() - 1
                self._taken[i] = rest
                return {self.names[i]: gpus}
        if sum(size * those.bit_count() for size, those in nodes.items()) < gpus:
            return None
        chosen, missing = {}, gpus
        for size, i in ((free, i) for free in sorted(nodes, reverse=True) for i in _each(nodes[free])):
            if missing <= size:  # the last piece goes to the fullest node that holds it
                snug = min(other for other, those in nodes.items() if those and other >= missing)
                chosen[self.names[i if snug == size else _first(nodes[snug])]], missing = missing, 0
                break
            chosen[self.names[i]] = size
            missing -= size
        return self._done(kind, chosen, missing)

    def fill(self, kind: int, gpus: int) -> dict[str, int] | None:
        """Nodes in cluster order, as many free GPUs of each as are still wanted; None if there are too few."""
        chosen: dict[str, int] = {}
        missing = gpus
        nodes, first = self._nodes.of_kind.get(kind, []), self._first.get(kind, 0)
        while first < len(nodes) and self.free[nodes[first]] == 0:
            first += 1
        self._first[kind] = first  # nodes before it are full
        for i in nodes[first:]:
            count = min(self.free[i], missing)
            if count > 0:
                chosen[self.names[i]] = count
                missing -= count
            if missing == 0:
                break
        return self._done(kind, chosen, missing)

    def spread(self, kind: int, gpus: int) -> dict[str, int] | None:
        """One GPU of each node in turn, those with the most free GPUs first; None if there are too few."""
        turns = [(0, -self.free[i], i) for i in self._free_ones(kind)]
        heapq.heapify(turns)
        chosen: dict[str, int] = {}
        missing = gpus
        while missing and turns:
            taken, negative, i = heapq.heappop(turns)
            chosen[self.names[i]] = taken + 1
            missing -= 1
            if negative < -1:
                heapq.heappush(turns, (taken + 1, negative + 1, i))
        return self._done(kind, chosen, missing)

    def find(self, style: Style, kind: int, gpus: int) -> dict[str, int] | None:
        """Free GPUs in one of the three styles, taken; None if there are too few."""
        if style == "consolidate":
            return self.consolidate(kind, gpus)
        return self.fill(kind, gpus) if style == "fill" else self.spread(kind, gpus)

    def give_back(self, kind: int, gpus: Gpus) -> int:
        """Undo a taking; returns how many GPUs are free again: none of nodes that are drained."""
        if not self._nodes.down.isdisjoint(gpus):
            gpus = {node: count for node, count in gpus.items() if node not in self._nodes.down}
        self._take(kind, gpus, sign=-1)
        self._first.pop(kind, None)
        return sum(gpus.values())

    def _free_ones(self, kind: int) -> list[int]:
        """Nodes of a type that have a free GPU, in cluster order."""
        free = self.free
        return [i for i in self._nodes.of_kind.get(kind, []) if free[i] > 0]

    def _done(self, kind: int, chosen: dict[str, int], missing: int) -> dict[str, int] | None:
        if missing:
            return None
        self._take(kind, chosen)
        return chosen

    def _take(self, kind: int, gpus: Gpus, sign: int = 1) -> None:
        nodes = self._by_free.get(kind)
        if nodes is None:
            self._changed.add(kind)
        for node, count in gpus.items():
            i = self._at[node]
            before, after = self.free[i], self.free[i] - sign * count
            self.free[i] = after
            if nodes is not None:
                sort_anew(nodes, i, before, after)

    def _sorted(self, kind: int) -> dict[int, int]:
        """The nodes of a type that have free GPUs, by their number (`ByFree`)."""
        nodes = self._by_free.get(kind)
        if nodes is None:
            nodes = {} if kind in self._changed else {**self._nodes.by_free.get(kind, {})}
            for i in self._free_ones(kind) if kind in self._changed else ():
                sort_anew(nodes, i, 0, self.free[i])
            self._by_free[kind] = nodes
        return nodes


def _first(nodes: int) -> int:
    """The first of some nodes, a bit each."""
    return (nodes & -nodes).bit_length() - 1


def _each(nodes: int) -> Iterator[int]:
    """Some nodes, a bit each, in cluster order."""
    while nodes:
        yield _first(nodes)
        nodes &= nodes - 1


def place(
    requests: Sequence[Request],
    free_gpus: FreeGpus,
    style: Style = "consolidate",
    *,
    keep_first: bool = False,
    accept: Callable[[Unit, Gpus], bool] | None = None,
) -> dict[Unit, Gpus]:
    """GPUs for each unit, taken from `free_gpus`: large gangs first, and within a size those that can stay where they
    were.

    keep_first: whoever can stay does so before anybody is placed anew (fewest moves). accept: whether a unit may run
    spread over several nodes. Units for which there is no room, or none they accept, are missing from the answer;
    order among equal gangs is that of `requests`. Source: Gavel, section 5, and the authors' simulator.
    """
    placed: dict[Unit, Gpus] = {}
    if keep_first:
        _keep(requests, free_gpus, placed)
    sizes: dict[int, list[Request]] = {}
    for request in requests:
        if request.unit not in placed:
            sizes.setdefault(request.gpus, []).append(request)
    for size in sorted(sizes, reverse=True):
        if not keep_first:
            _keep(sizes[size], free_gpus, placed)
        for request in sizes[size]:
            if keep_first or request.unit not in placed:
                _find(request, free_gpus, style, accept, placed)
    return placed


def _keep(requests: Sequence[Request], free_gpus: FreeGpus, placed: dict[Unit, Gpus]) -> None:
    for request in requests:
        previous = request.previous
        if previous is not None and request.suits(previous) and free_gpus.keep(request.kind, request.gpus, previous):
            placed[request.unit] = previous


def _find(
    request: Request,
    free_gpus: FreeGpus,
    style: Style,
    accept: Callable[[Unit, Gpus], bool] | None,
    placed: dict[Unit, Gpus],
) -> None:
    unit, kind, gpus, _, least, most = request
    if least > 1 or most is not None:
        style = "spread" if least > 1 else "consolidate"
    found = free_gpus.find(style, kind, gpus)
    if found is None:
        return
    if (len(found) == 1 or accept is None or accept(unit, found)) and request.suits(found):
        placed[unit] = found
    else:
        free_gpus.give_back(kind, found)


def runs_spread(snapshot: Snapshot) -> Callable[[Unit, Gpus], bool]:
    """Whether a unit is believed to run on these nodes of one type, for `place`."""
    belief, nodes = snapshot.belief, snapshot.nodes

    def runs(unit: Unit, gpus: Gpus) -> bool:
        jobs = [snapshot.jobs.now[snapshot.jobs.at[name]] for name in members(unit)]
        if not all(belief.on_nodes(job, gpus) > 0 for job in jobs):
            return False
        if len(jobs) == 1:
            return True
        kind = snapshot.types[nodes.kind[nodes.names.index(next(iter(gpus)))]]
        fewest = snapshot.cluster.fewest_nodes(kind, sum(gpus.values()))
        apart = fewest is None or len(gpus) > fewest
        rates = belief.pair(jobs[0], jobs[1], kind, "unconsolidated" if apart else "consolidated")
        return rates is not None and min(rates) > 0

    return runs
