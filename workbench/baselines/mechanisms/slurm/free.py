"""What is free on a Slurm site's nodes, and where a job fits: GPUs of a node, CPUs and memory of its machine.

Nodes are chosen of the smallest weight first, then in order (slurm.conf, `Weight`). A job takes as many nodes as it
did, in equal parts; one that names no number the first node with room, else the first ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.baselines.mechanisms.slurm.site import Ask, Machines, SlurmSite, mask

Gpus = dict[int, int]
"""GPUs of each node, by its position."""
Ints = NDArray[np.intp]
SLACK = 1e-6
"""Of CPUs and memory, which are divided."""


@dataclass(slots=True)
class Held:
    """What a job that runs holds, and until when by its limit."""

    ask: Ask
    gpus: Mapping[int, int]
    until_s: float


class FreeNow:
    """gpus: free ones of each node (nodes,); cpus, memory_mb: free ones of each machine (machines,)."""

    def __init__(self, site: SlurmSite, gpus: Sequence[int], held: Iterable[Held] = ()) -> None:
        self.gpus = np.array(gpus, dtype=np.int64)
        self.cpus, self.memory_mb = np.array(site.cpus), np.array(site.memory_mb)
        self._machine = np.array(site.machine, dtype=np.intp)
        for each in held:
            self._change(each.ask, each.gpus, -1)

    def copy(self) -> FreeNow:
        """The same, to be changed apart."""
        other = object.__new__(FreeNow)
        other.gpus, other.cpus, other.memory_mb = self.gpus.copy(), self.cpus.copy(), self.memory_mb.copy()
        other._machine = self._machine
        return other

    def change(self, ask: Ask, gpus: Mapping[int, int], sign: int) -> None:
        """Take (-1) or give back (1) what a job holds."""
        for node, count in gpus.items():
            self.gpus[node] += sign * count
        self._change(ask, gpus, sign)

    def _change(self, ask: Ask, gpus: Mapping[int, int], sign: int) -> None:
        for node, count in gpus.items():
            machine = self._machine[node]
            self.cpus[machine] += sign * (count if ask.on_cpus else ask.cpus)
            self.memory_mb[machine] += sign * ask.memory_mb

    def place(self, ask: Ask, able: Ints, barred: Machines) -> Gpus | None:
        """The nodes of a job, of those where it can run and whose machine is not barred; None where it does not fit."""
        machines = self._machine[able]
        fits = (self.cpus[machines] >= ask.cpus - SLACK) & (self.memory_mb[machines] >= ask.memory_mb - SLACK)
        if barred:
            fits &= ~mask(barred, len(self.cpus))[machines]
        free = able[fits & (self.gpus[able] > 0)]
        if not ask.nodes:
            alone = free[self.gpus[free] >= ask.gpus][:1]
            return self._filled(ask.gpus, len(able), alone if len(alone) else free)
        if ask.gpus % ask.nodes:
            return self._filled(ask.gpus, ask.nodes, free)
        each = ask.gpus // ask.nodes
        found: list[int] = free[self.gpus[free] >= each][: ask.nodes].tolist()
        return dict.fromkeys(found, each) if len(found) == ask.nodes else None

    def _filled(self, gpus: int, nodes: int, free: NDArray[Any]) -> Gpus | None:
        """GPUs of the first nodes on; where their number is given at least one of each."""
        found: Gpus = {}
        left = gpus
        for node in free.tolist():
            least_later = nodes - len(found) - 1 if gpus % nodes and nodes <= gpus else 0
            count = min(int(self.gpus[node]), left - least_later)
            if count > 0:
                found[node], left = count, left - count
            if left == 0:
                return found
            if len(found) == nodes:
                return None
        return None


class FreeLater:
    """What is free at times that follow each other, on the nodes `able`, which only grows."""

    def __init__(self, rooms: Sequence[tuple[float, FreeNow]], able: Ints) -> None:
        self._rooms, self._able = rooms, able
        self._machines = rooms[0][1]._machine[able]
        self._gpus = np.array([room.gpus[able] for _, room in rooms])
        self._cpus = np.array([room.cpus[self._machines] for _, room in rooms])
        self._memory = np.array([room.memory_mb[self._machines] for _, room in rooms])

    def place(self, ask: Ask, barred: Machines) -> tuple[float, Gpus] | None:
        """The first time at which a job fits, and its nodes then."""
        nodes = max(ask.nodes, 1)
        each = ask.gpus // nodes if ask.nodes and ask.gpus % nodes == 0 else 1
        fits = (self._gpus >= each) & (self._cpus >= ask.cpus - SLACK) & (self._memory >= ask.memory_mb - SLACK)
        if barred:
            fits &= ~mask(barred, len(self._rooms[0][1].cpus))[self._machines]
        for row in np.flatnonzero((fits.sum(1) >= nodes) & ((self._gpus * fits).sum(1) >= ask.gpus)).tolist():
            at_s, room = self._rooms[row]
            if (gpus := room.place(ask, self._able, barred)) is not None:
                return at_s, gpus
        return None
