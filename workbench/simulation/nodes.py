"""The nodes of a simulated cluster: slots that nobody holds, which nodes are up, when they go down and come back."""

from __future__ import annotations

import heapq
import math
from bisect import insort
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.base.arrays import IntArray, fixed
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Slot
from workbench.scheduling.snapshot import ByFree, by_free, sort_anew

if TYPE_CHECKING:
    from workbench.simulation.leasing import Leasing

SlotSet = tuple[Slot, ...]


class SlotTable:
    """Free slots per node. A unit gets the slots it had before where they are free, then the lowest free ones."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._slots = {node: tuple([Slot(node, i) for i in range(gpus)]) for node, gpus in sizes.items()}
        self._free = {node: [*slots] for node, slots in self._slots.items()}  # of each node in order
        self._sets: dict[SlotSet, SlotSet] = {}  # each that was taken once: a run keeps it for every interval

    def free_slots(self) -> set[Slot]:
        """Every free slot."""
        return {*chain.from_iterable(self._free.values())}

    def slots(self, node: str, *, free: bool = False) -> SlotSet:
        """Every slot of a node, or the free ones."""
        return tuple(self._free[node]) if free else self._slots[node]

    def take(self, wanted: Sequence[tuple[Mapping[str, int], SlotSet]]) -> list[SlotSet]:
        """Slots for several units at once, each `({node: GPUs}, slots it had before)`; the nodes must have room.

        Every unit's former slots are served before anybody gets another slot, so that the order does not matter.
        """
        kept = [self._keep(gpus, before) if before else [] for gpus, before in wanted]
        for i, slots in enumerate(kept):
            for node, missing in wanted[i][0].items():
                free = self._free[node]
                if slots:
                    missing -= sum(slot.node == node for slot in slots)
                slots += free[:missing]
                del free[:missing]
        return [self._sets.setdefault(slots, slots) for slots in map(tuple, kept)]

    def _keep(self, gpus: Mapping[str, int], before: SlotSet) -> list[Slot]:
        """Take those of the former slots that are free and still wanted."""
        kept: list[Slot] = []
        count: dict[str, int] = {}
        for slot in before:
            node = slot.node
            if node in gpus and count.get(node, 0) < gpus[node] and slot in self._free[node]:
                self._free[node].remove(slot)
                count[node] = count.get(node, 0) + 1
                kept.append(slot)
        return kept

    def give_back(self, slots: SlotSet) -> None:
        """Make slots free again."""
        for slot in slots:
            insort(self._free[slot[0]], slot)


class Nodes:
    """Arrays over nodes in cluster order, and the table of their slots; held: GPUs that somebody holds; all_up: whether
    no node is down; gpus_up: GPUs of the nodes that are up, and those that are held on drained ones."""

    def __init__(self, scenario: Scenario) -> None:
        nodes, types = scenario.cluster.each_node, scenario.cluster.types
        self.names = tuple(node.name for node in nodes)
        self.at = {name: i for i, name in enumerate(self.names)}
        self.kind = fixed(np.array([types.index(node.accelerator) for node in nodes], dtype=np.int64))
        self.gpus = fixed(np.array([node.gpus for node in nodes], dtype=np.int64))
        self.idle: list[int] = self.gpus.tolist()
        self.up = np.ones(len(nodes), dtype=bool)
        self.of_kind: dict[int, list[int]] = {}
        self._kind_of: list[int] = self.kind.tolist()
        for i, kind in enumerate(self._kind_of):
            self.of_kind.setdefault(kind, []).append(i)
        self.largest = int(self.gpus.max(initial=0))
        self._by_free = by_free(self.kind, self.gpus)  # of the nodes that are up
        self._left = [int(self.gpus[those].sum()) for _, those in sorted(self.of_kind.items())]  # their GPUs, by type
        self.held = 0
        self.gpus_up, self.all_up = int(self.gpus.sum()), True
        self.slots = SlotTable({node.name: node.gpus for node in nodes})
        self.down_since_s: dict[int, tuple[float, SlotSet]] = {}  # and its slots, of a drained one those then free

    def take(self, wanted: list[tuple[Mapping[str, int], SlotSet]]) -> list[SlotSet]:
        """Slots for units, see `SlotTable.take`."""
        for gpus, _ in wanted:
            self._count(gpus, -1)
        return self.slots.take(wanted)

    def give_back(self, gpus: Mapping[str, int], slots: SlotSet) -> None:
        """Make slots free again."""
        self._count(gpus, 1)
        self.slots.give_back(slots)

    def _count(self, gpus: Mapping[str, int], sign: int) -> None:
        for node, count in gpus.items():
            i, more = self.at[node], sign * count
            before = self.idle[i]
            self.idle[i] = after = before + more
            self.held -= more
            if self.all_up or self.up[i]:
                kind = self._kind_of[i]
                self._left[kind] += more
                sort_anew(self._by_free[kind], i, before, after)
            else:
                self.gpus_up -= more

    def left(self) -> list[int]:
        """Free GPUs of each type where no lease ends now."""
        return self._left[:]

    def by_free(self) -> ByFree:
        """The nodes that have free GPUs where no lease ends now."""
        return {kind: {**those} for kind, those in self._by_free.items()}

    def column(self, name: str, leasing: Leasing) -> Any:
        """What a scheduler sees of the nodes, see `NodeView`."""
        if name == "up":
            return self.up.copy()
        free = self.free(leasing)
        if name == "left":
            return np.bincount(self.kind, free).astype(int).tolist()
        return free if name == "free" else by_free(self.kind, free)

    def free(self, leasing: Leasing) -> IntArray:
        """GPUs free on each node once the leases that end now are gone; 0 on nodes that are down."""
        held, ending = leasing.leases, leasing.ended
        few, sign = (held, -1) if len(held) < len(ending) else (ending, 1)
        free = self.gpus.copy() if sign < 0 else np.array(self.idle)
        for lease in few.values():
            for node, count in lease.assignment.gpus.items():
                free[self.at[node]] += sign * count
        if not self.all_up:
            free[~self.up] = 0
        return free

    def turn(self, node: int, up: bool) -> None:
        """A node goes down or comes back."""
        if self.up[node] != up:
            before, after = (0, self.idle[node]) if up else (self.idle[node], 0)
            self._left[self._kind_of[node]] += after - before
            self.gpus_up += after - before
            sort_anew(self._by_free[self._kind_of[node]], node, before, after)
        self.up[node] = up
        self.all_up = bool(self.up.all())


class NodeChange(NamedTuple):
    """A node goes down or comes back at `time_s`; fails: with all that runs there (else it is drained, or up)."""

    time_s: float
    node: int
    up: bool
    fails: bool


class NodeChanges:
    """All changes of node state in order of time; drawn ones are made up as time goes on.

    A node is down while any outage covers it; it fails when the first one begins that does not let jobs go on.
    Times between failures and of repair are exponential with means mtbf_s and mttr_s, one random stream per node,
    seeded with its name: a node that comes or goes, wherever it stands, leaves the others' outages alone.
    next_s: time of the next change, infinity if there is none; draws: whether any are drawn.
    """

    def __init__(self, scenario: Scenario, seed: int) -> None:
        faults = scenario.core.faults
        self.draws = faults.mtbf_s is not None
        names = {node.name: i for i, node in enumerate(scenario.cluster.each_node)}
        # time, node, source (0: listed, 1: drawn, 2: listed drain), whether up
        self._heap: list[tuple[float, int, int, bool]] = []
        self._down = np.zeros(len(names), dtype=np.int64)
        self._failed = np.zeros(len(names), dtype=np.int64)
        self._mean = (faults.mtbf_s, faults.mttr_s)
        for outage in faults.list:
            source = 2 if outage.drain else 0
            heapq.heappush(self._heap, (outage.from_s, names[outage.node], source, False))
            heapq.heappush(self._heap, (outage.to_s, names[outage.node], source, True))
        self._streams: list[np.random.Generator] = []
        if faults.mtbf_s is not None:
            self._streams = [np.random.default_rng([seed, 1, *name.encode()]) for name in names]
            for node, stream in enumerate(self._streams):
                heapq.heappush(self._heap, (float(stream.exponential(faults.mtbf_s)), node, 1, False))
        self.next_s = self._heap[0][0] if self._heap else math.inf

    def until(self, now_s: float) -> list[NodeChange]:
        """Changes up to now that really change a node's state, taken off the plan."""
        changes = []
        while self._heap and self._heap[0][0] <= now_s:
            time_s, node, source, up = heapq.heappop(self._heap)
            if source == 1:
                mean = self._mean[0] if up else self._mean[1]
                assert mean is not None
                after = time_s + float(self._streams[node].exponential(mean))
                heapq.heappush(self._heap, (after, node, 1, not up))
            was_up, had_failed = self._down[node] == 0, self._failed[node] > 0
            self._down[node] += -1 if up else 1
            if source != 2:
                self._failed[node] += -1 if up else 1
            fails, is_up = not had_failed and bool(self._failed[node] > 0), bool(self._down[node] == 0)
            if was_up != is_up or fails:
                changes.append(NodeChange(time_s, node, is_up, fails))
        self.next_s = self._heap[0][0] if self._heap else math.inf
        return changes
