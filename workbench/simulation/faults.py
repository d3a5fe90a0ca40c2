"""When nodes go down and come back: as listed, and drawn per node."""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from workbench.scenario.scenario import Scenario


class NodeChange(NamedTuple):
    """A node goes down or comes back at `time_s`."""

    time_s: float
    node: int
    up: bool


class FaultPlan:
    """All changes of node state in order of time; drawn ones are made up as time goes on.

    A node is down while any outage covers it. Times between failures and of repair are exponential with means mtbf_s
    and mttr_s, one random stream per node, seeded with its name: a node that comes or goes, wherever it stands, leaves
    the others' outages alone.
    """

    def __init__(self, scenario: Scenario, seed: int) -> None:
        faults = scenario.core.faults
        names = {node.name: i for i, node in enumerate(scenario.cluster.machines)}
        self._heap: list[tuple[float, int, int, bool]] = []  # time, node, source (0: listed, 1: drawn), whether up
        self._down = np.zeros(len(names), dtype=np.int64)
        self._mean = (faults.mtbf_s, faults.mttr_s)
        for outage in faults.list:
            heapq.heappush(self._heap, (outage.from_s, names[outage.node], 0, False))
            heapq.heappush(self._heap, (outage.to_s, names[outage.node], 0, True))
        self._streams: list[np.random.Generator] = []
        if faults.mtbf_s is not None:
            self._streams = [np.random.default_rng([seed, 1, *name.encode()]) for name in names]
            for node, stream in enumerate(self._streams):
                heapq.heappush(self._heap, (float(stream.exponential(faults.mtbf_s)), node, 1, False))

    def next_s(self) -> float:
        """Time of the next change, infinity if there is none."""
        return self._heap[0][0] if self._heap else float("inf")

    def until(self, now_s: float) -> list[NodeChange]:
        """Changes up to now that really change a node's state, taken off the plan."""
        changes = []
        while self._heap and self._heap[0][0] <= now_s:
            time_s, node, drawn, up = heapq.heappop(self._heap)
            if drawn:
                mean = self._mean[0] if up else self._mean[1]
                assert mean is not None
                after = time_s + float(self._streams[node].exponential(mean))
                heapq.heappush(self._heap, (after, node, 1, not up))
            before = self._down[node]
            self._down[node] += -1 if up else 1
            if (before == 0) != (self._down[node] == 0):
                changes.append(NodeChange(time_s, node, up))
        return changes
