"""The nodes of a simulated cluster: which are up, and how many of their GPUs nobody holds."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import IntArray
from workbench.scheduling.snapshot import NodeView
from workbench.simulation.free_slots import Pool, SlotSet
from workbench.simulation.lease import Lease


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
