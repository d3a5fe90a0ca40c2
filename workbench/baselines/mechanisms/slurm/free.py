"""What is free on a Slurm site's nodes, and where a job fits: GPUs of a node, CPUs and memory of its machine.

Nodes are chosen of the smallest weight first, then in order (slurm.conf, `Weight`). A job takes as many nodes as it
did, in equal parts; one that names no number the first node with room, else the first ones.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.baselines.mechanisms.slurm.site import Ask, Machines, SlurmSite

Gpus = dict[int, int]
"""GPUs of each node, by its position."""
Ints = NDArray[np.intp]
FreeRow = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]
"""(nodes,) Free GPUs of some nodes, free CPUs and MB of memory of their machines."""
SLACK = 1e-6
"""Of CPUs and memory, which are divided."""


@dataclass(frozen=True, slots=True)
class Held:
    """A job that runs: (node, GPUs) that it holds, since when, and until when by its limit."""

    ask: Ask
    gpus: tuple[tuple[int, int], ...]
    since_s: float
    until_s: float

    @staticmethod
    def of(ask: Ask, gpus: Mapping[int, int], since_s: float) -> Held:
        """Of a job that runs since a time."""
        return Held(ask, tuple(gpus.items()), since_s, since_s + ask.limit_s)


@dataclass(slots=True, eq=False)
class FreeNow:
    """machine: of each node (nodes,); gpus: free ones of each node (nodes,); cpus, memory_mb: free ones of each machine
    (machines,)."""

    machine: Ints
    gpus: NDArray[np.int64]
    cpus: NDArray[np.float64]
    memory_mb: NDArray[np.float64]

    @staticmethod
    def of_site(site: SlurmSite) -> FreeNow:
        """All CPUs and memory, no GPUs."""
        machine = np.array(site.machine, dtype=np.intp)
        return FreeNow(machine, np.zeros(len(machine), dtype=np.int64), np.array(site.cpus), np.array(site.memory_mb))

    def copy(self) -> FreeNow:
        """The same, to be changed apart."""
        return FreeNow(self.machine, self.gpus.copy(), self.cpus.copy(), self.memory_mb.copy())

    def change(self, ask: Ask, gpus: Iterable[tuple[int, int]], sign: int) -> None:
        """Take (-1) or give back (1) what a job holds."""
        for node, count in gpus:
            machine = self.machine[node]
            self.gpus[node] += sign * count
            self.cpus[machine] += sign * (count if ask.on_cpus else ask.cpus)
            self.memory_mb[machine] += sign * ask.memory_mb

    def of(self, able: Ints) -> FreeRow:
        """What is free of some nodes."""
        machines = self.machine[able]
        return self.gpus[able], self.cpus[machines], self.memory_mb[machines]

    def place(self, ask: Ask, able: Ints, barred: Machines) -> Gpus | None:
        """The nodes of a job, of those where it can run and whose machine is not barred; None where it does not fit."""
        gpus, cpus, memory_mb = self.of(able)
        fits = (cpus >= ask.cpus - SLACK) & (memory_mb >= ask.memory_mb - SLACK)
        return _chosen(ask, able, gpus, fits & ~barred[self.machine[able]])


def _chosen(ask: Ask, able: Ints, gpus: NDArray[Any], fits: NDArray[np.bool_]) -> Gpus | None:
    """Of the nodes `able`, which have so many free GPUs each, those that a job gets."""
    free = np.flatnonzero(fits & (gpus > 0))
    if not ask.nodes:
        alone = free[gpus[free] >= ask.gpus][:1]
        return _filled(ask.gpus, ask.gpus, able, gpus, alone if len(alone) else free)
    if ask.gpus % ask.nodes:
        return _filled(ask.gpus, ask.nodes, able, gpus, free)
    each = ask.gpus // ask.nodes
    found: list[int] = able[free[gpus[free] >= each][: ask.nodes]].tolist()
    return dict.fromkeys(found, each) if len(found) == ask.nodes else None


def _filled(gpus: int, nodes: int, able: Ints, free: NDArray[Any], order: Iterable[int]) -> Gpus | None:
    """GPUs of the first nodes on; where their number is given at least one of each."""
    found: Gpus = {}
    left = gpus
    for i in order:
        least_later = nodes - len(found) - 1 if gpus % nodes and nodes <= gpus else 0
        count = min(int(free[i]), left - least_later)
        if count > 0:
            found[int(able[i])], left = count, left - count
        if left == 0:
            return found
        if len(found) == nodes:
            return None
    return None


class FreeLater:
    """What is free on the nodes `able` at times that follow each other: beside what runs, of which it only grows, and
    beside what is kept for others, whole machines for a time."""

    def __init__(self, room: FreeNow, rows: Iterable[tuple[float, FreeRow]], able: Ints, most: int) -> None:
        times, self._rows = zip(*rows, strict=True)
        self._all, self._able, self.machines, self._times = len(room.cpus), able, room.machine[able], np.array(times)
        self._known: dict[tuple[float, ...], tuple[NDArray[np.bool_], NDArray[Any], NDArray[Any]]] = {}
        self._span, self._kept, self._count = np.zeros((2, most)), np.zeros((most, len(able)), dtype=np.float32), 0
        self._frees = sorted(times)

    def keep(self, from_s: float, to_s: float, machines: Ints) -> None:
        """Keep machines for a job that is planned."""
        if (mine := self.on(machines)).any():
            self._span[:, self._count], self._kept[self._count] = (from_s, to_s), mine
            self._count += 1
            insort(self._frees, to_s)

    def on(self, machines: Ints) -> NDArray[np.bool_]:
        """(nodes,) Those of `able` on some machines."""
        some = np.zeros(self._all, dtype=bool)
        some[machines] = True
        found: NDArray[np.bool_] = some[self.machines]
        return found

    def times(self, from_s: float, to_s: float, others: Iterable[float]) -> NDArray[np.float64]:
        """When, in a time, a job can start that could not before: at its begin, and when something becomes free."""
        frees = self._frees
        after = frees[bisect_right(frees, from_s) : bisect_right(frees, to_s)]
        more = [at_s for at_s in others if from_s < at_s <= to_s]
        return np.array([from_s, *(sorted(after + more) if more else after)]) if from_s <= to_s else np.zeros(0)

    def place(self, ask: Ask, at_s: NDArray[np.float64], barred: NDArray[np.bool_]) -> tuple[float, Gpus] | None:
        """The first of some times at which a job fits for as long as its limit, and its nodes, of those where it fits
        first beside what runs. barred: (times, or 1, x nodes of `able`) those that it may not use then."""
        nodes = max(ask.nodes, 1)
        each = ask.gpus // nodes if ask.nodes and ask.gpus % nodes == 0 else 1
        fits, ones, gpus = self._fitting(each, ask.cpus, ask.memory_mb)
        begins, ends = self._span[:, : self._count]
        overlaps = (begins < at_s[:, None] + ask.limit_s) & (ends > at_s[:, None])
        open_ = ((overlaps.astype(np.float32) @ self._kept[: self._count] == 0) & ~barred).astype(np.float32)
        row = self._times.searchsorted(at_s, side="right") - 1
        counts = np.einsum("ta,ta->t", ones[row], open_), np.einsum("ta,ta->t", gpus[row], open_)
        for i in ((counts[0] >= nodes) & (counts[1] >= ask.gpus)).nonzero()[0].tolist():
            upto = row[i] + 1
            enough = (ones[:upto] @ open_[i] >= nodes) & (gpus[:upto] @ open_[i] >= ask.gpus)
            for first in enough.nonzero()[0].tolist():
                found = _chosen(ask, self._able, self._rows[first][0], fits[first] & (open_[i] > 0))
                if found is not None:
                    return float(at_s[i]), found
        return None

    def _fitting(
        self, each: int, cpus: float, memory_mb: float
    ) -> tuple[NDArray[np.bool_], NDArray[Any], NDArray[Any]]:
        """(times x nodes) Whether a node has room for so much, the same as 0 and 1, and its GPUs where it has."""
        key = each, cpus, memory_mb
        if key not in self._known:
            gpus, free_cpus, memory = (np.array(column) for column in zip(*self._rows, strict=True))
            fits = (gpus >= each) & (free_cpus >= cpus - SLACK) & (memory >= memory_mb - SLACK)
            self._known[key] = fits, fits.astype(np.float32), (gpus * fits).astype(np.float32)
        return self._known[key]
