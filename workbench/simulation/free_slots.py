"""Which slots of which node are free."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence

from workbench.scheduling.decision import Slot

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
