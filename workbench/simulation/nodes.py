"""The nodes of a simulated cluster: which are up, how many of their GPUs nobody holds, and which slots those are."""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import IntArray, Slot
from workbench.scheduling.snapshot import NodeView

if TYPE_CHECKING:
    from workbench.simulation.leasing import Lease

SlotSet = tuple[Slot, ...]


class Pool:
    """Free slots per node. A unit gets the slots it had before where they are free, then the lowest free ones."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self._free = {node: list(range(gpus)) for node, gpus in sizes.items()}
        self._slots = {node: [Slot(node, i) for i in range(gpus)] for node, gpus in sizes.items()}

    def free(self, node: str) -> int:
        """Number of free slots of a node."""
        return len(self._free[node])

    def free_slots(self) -> set[Slot]:
        """Every free slot."""
        return {self._slots[node][i] for node, numbers in self._free.items() for i in numbers}

    def slots(self, node: str) -> SlotSet:
        """Every slot of a node."""
        return tuple(self._slots[node])

    def take(self, wanted: Sequence[tuple[Mapping[str, int], SlotSet]]) -> list[SlotSet]:
        """Slots for several units at once, each `({node: GPUs}, slots it had before)`; the nodes must have room.

        Every unit's former slots are served before anybody gets another slot, so that the order does not matter.
        """
        taken = [self._keep(gpus, before) for gpus, before in wanted]
        for (gpus, _), slots in zip(wanted, taken, strict=True):
            for node, number in gpus.items():
                missing = number - sum(slot.node == node for slot in slots) if slots else number
                free, all_slots = self._free[node], self._slots[node]
                slots += [all_slots[i] for i in free[:missing]]
                del free[:missing]
        return list(map(tuple, taken))

    def _keep(self, gpus: Mapping[str, int], before: SlotSet) -> list[Slot]:
        """Take those of the former slots that are free and still wanted."""
        kept: list[Slot] = []
        count: dict[str, int] = {}
        for slot in before:
            node, number = slot
            if node in gpus and count.get(node, 0) < gpus[node] and number in self._free[node]:
                self._free[node].remove(number)
                count[node] = count.get(node, 0) + 1
                kept.append(slot)
        return kept

    def give_back(self, slots: SlotSet) -> None:
        """Make slots free again."""
        for node, number in slots:
            insort(self._free[node], number)


class Nodes:
    """Arrays over nodes in cluster order, and the pool of their slots; held: GPUs that somebody holds."""

    def __init__(self, scenario: Scenario) -> None:
        machines, types = scenario.cluster.machines, scenario.cluster.types
        self.names = tuple(node.name for node in machines)
        self.at = {name: i for i, name in enumerate(self.names)}
        self.kind = np.array([types.index(node.accelerator) for node in machines], dtype=np.int64)
        self.gpus = np.array([node.gpus for node in machines], dtype=np.int64)
        self.kind.setflags(write=False)  # handed out in views
        self.gpus.setflags(write=False)
        self.idle = self.gpus.copy()
        self.up = np.ones(len(machines), dtype=bool)
        self.held = 0
        self._gpus_up = int(self.gpus.sum())
        self.pool = Pool({node.name: node.gpus for node in machines})
        self.down_since_s: dict[int, float] = {}

    def take(self, wanted: list[tuple[Mapping[str, int], SlotSet]]) -> list[SlotSet]:
        """Slots for units, see `Pool.take`."""
        for gpus, _ in wanted:
            self._count(gpus, -1)
        return self.pool.take(wanted)

    def give_back(self, gpus: Mapping[str, int], slots: SlotSet) -> None:
        """Make slots free again."""
        self._count(gpus, 1)
        self.pool.give_back(slots)

    def _count(self, gpus: Mapping[str, int], sign: int) -> None:
        for node, count in gpus.items():
            self.idle[self.at[node]] += sign * count
            self.held -= sign * count

    def free(self, held: Collection[Lease], ending: Collection[Lease]) -> IntArray:
        """GPUs free on each node once the leases `ending` are gone and `held` stay; 0 on nodes that are down."""
        few, sign = (held, -1) if len(held) < len(ending) else (ending, 1)
        free = (self.gpus if sign < 0 else self.idle).copy()
        for lease in few:
            for node, count in lease.assignment.gpus.items():
                free[self.at[node]] += sign * count
        free[~self.up] = 0
        return free

    def view(self, held: Collection[Lease], ending: Collection[Lease]) -> NodeView:
        """What a scheduler sees of the nodes."""
        return NodeView(self.names, self.kind, self.gpus, self.free(held, ending), self.up.copy())

    def turn(self, node: int, up: bool) -> None:
        """A node goes down or comes back."""
        self.up[node] = up
        self._gpus_up = int(self.gpus[self.up].sum())

    def gpus_up(self) -> int:
        """GPUs of the nodes that are up."""
        return self._gpus_up
