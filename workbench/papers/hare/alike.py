"""GPUs of few kinds as one line each, by when they become free: Algorithm 1's line 12 without a look at every GPU.

Replanning 100 arrivals on 512 GPUs asks for half a million GPUs. The answers are those of looking at every GPU
(`workbench.papers.hare.algorithm`), ties included; sums of seconds that differ by rounding alone are no ties here.
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort

from workbench.papers.hare.instance import Instance

MOST_KINDS = 12
"""With more kinds of GPUs than this looking at every GPU is as quick."""

Line = list[tuple[float, int]]
"""When each GPU of a kind becomes free, rising, and minus its number: of equal ones the lowest number is last."""


class Alike:
    """When GPUs become free, by kind."""

    def __init__(self, instance: Instance, kinds: list[list[int]], earliest_available: bool) -> None:
        self._instance, self._kinds, self._available = instance, kinds, earliest_available
        free = instance.free_s.tolist()
        self._lines: list[Line] = [sorted((free[m], -m) for m in kind) for kind in kinds]
        self._times: dict[int, list[tuple[Line, float, float]]] = {}

    def put(self, job: int, part: float, ready_s: float) -> tuple[int, float, float]:
        """Put a task of `part` of its job's times on a GPU: its number, the start, and when it has synchronised."""
        if job not in self._times:
            self._times[job] = self._times_of(job)
        least_s, soonest, by_then = math.inf, (math.inf, 0), (ready_s, 1)
        for line, train, both in self._times[job]:
            at = 0 if self._available else bisect_right(line, by_then)
            if not at:  # nobody is free by then: the first one, of equal ones the lowest number
                at = bisect_right(line, (line[0][0], 1))
            from_s, minus = line[at - 1]
            start_s = ready_s if from_s < ready_s else from_s
            end_s = start_s + both * part
            value_s, tie = (from_s, (0.0, -minus)) if self._available else (end_s, (-from_s, -minus))
            if value_s < least_s or (value_s == least_s and tie < soonest):
                least_s, soonest = value_s, tie
                taken = (line, at - 1, minus, start_s, train, end_s)
        line, at, minus, start_s, train, end_s = taken
        del line[at]
        insort(line, (start_s + train * part, minus))
        return -minus, start_s, end_s

    def _times_of(self, job: int) -> list[tuple[Line, float, float]]:
        """The line of each kind that can run a job, T^c and T^c + T^s there."""
        train, sync = self._instance.train_s[job], self._instance.sync_s[job]
        return [
            (line, float(train[kind[0]]), float(train[kind[0]] + sync[kind[0]]))
            for line, kind in zip(self._lines, self._kinds, strict=True)
            if train[kind[0]] < math.inf
        ]


def kinds_of(instance: Instance) -> list[list[int]]:
    """Numbers of the GPUs that are alike: on which every job takes equally long."""
    train, sync = (table.T.copy() for table in (instance.train_s, instance.sync_s))
    found: dict[tuple[bytes, bytes], list[int]] = {}
    for m in range(len(instance.gpus)):
        found.setdefault((train[m].tobytes(), sync[m].tobytes()), []).append(m)
    return list(found.values())
