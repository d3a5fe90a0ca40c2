"""One benchmark: what it is called, what it may cost, what others need for the same, and what has to be there."""

from __future__ import annotations

import heapq
import os
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.scenario.traces.public import VARIABLE

Work = Callable[[], object]


class Peer(NamedTuple):
    """What another program needs for the same work, a constant: CPU seconds, the least and the most that were found."""

    who: str
    least_s: float
    most_s: float
    origin: str

    @property
    def shown(self) -> str:
        """As the table has it."""
        return f"{self.least_s:g}" if self.least_s == self.most_s else f"{self.least_s:g}-{self.most_s:g}"


@dataclass(frozen=True)
class Case:
    """One benchmark: `prepare(size)` returns the work to time; what the work returns is shown as a note, if it
    can be called what that gives, after the time was taken.

    budgets: seconds by size, which the work may need by the clock or of the CPU, whichever is less, as what runs beside
    it adds to both (elsewhere: by the clock, as other processes work for it); peers: by size; lean: what runs
    beside it, by size; most_lean: how many times that the largest size may need; most_growth: how many times the CPU
    time of the smallest size, both in lean loops, the largest may need; bounded: whether docs/speed.md shows by a
    profile and a bound why a budget is not met; peak_mb: what the process may take; busy: what part of the time all
    cores must be busy, on a machine that is idle but for it; needs: files below the folder that `WORKBENCH_DATA` names,
    without which it cannot be measured.
    """

    name: str
    budgets: Mapping[int, float | None]
    prepare: Callable[[int], Work]
    repeats: int = 5
    warm: int = 1
    needs: tuple[str, ...] = ()
    peers: Mapping[int, Peer] = field(default_factory=dict)
    lean: Callable[[int], Work] = lambda size: lean_fifo(20_000, 64)
    most_lean: float | None = None
    most_growth: float | None = None
    bounded: bool = False
    peak_mb: float = 2000.0
    busy: float = 0.0
    elsewhere: bool = False

    def missing(self) -> list[str]:
        """The files that are not there."""
        return [name for name in self.needs if not (data_folder() / name).is_file()]


def data_folder() -> Path:
    """Where public traces are: the folder that `WORKBENCH_DATA` names, else the current one."""
    return Path(os.environ.get(VARIABLE, ""))


def queue_of(jobs: int, nodes: int) -> tuple[FloatArray, IntArray, FloatArray]:
    """Arrivals (s), gangs and run times (s) of jobs on nodes of 8 GPUs at load 0.9."""
    rng = np.random.default_rng(1)
    gpus = rng.choice([1, 2, 4, 8], p=[0.7, 0.1, 0.15, 0.05], size=jobs)
    hours = rng.exponential(2.0, size=jobs) + 0.1
    gap_s = float((gpus * hours).mean()) * 3600 / (8 * nodes) / 0.9
    return np.cumsum(rng.exponential(gap_s, size=jobs)), gpus, 3600 * hours


def lean_fifo(jobs: int, nodes: int) -> Work:
    """First in, first out in as few lines as can be: a queue, a heap of ends, the fullest node that holds the gang; no
    check and no record."""
    arrival_s, gang, seconds = (column.tolist() for column in queue_of(jobs, nodes))

    def work() -> None:
        waiting: deque[int] = deque()
        ends: list[tuple[float, int, int]] = []
        with_free: list[set[int]] = [*(set() for _ in range(8)), set(range(nodes))]  # nodes by their free GPUs
        free, coming = [8] * nodes, 0
        while coming < jobs or ends:
            if coming < jobs and (not ends or arrival_s[coming] <= ends[0][0]):
                now_s = arrival_s[coming]
                waiting.append(coming)
                coming += 1
            else:
                now_s, done, node = heapq.heappop(ends)
                with_free[free[node]].remove(node)
                free[node] += gang[done]
                with_free[free[node]].add(node)
            while waiting and (snug := next((those for those in with_free[gang[waiting[0]] :] if those), None)):
                job, node = waiting.popleft(), snug.pop()
                free[node] -= gang[job]
                with_free[free[node]].add(node)
                heapq.heappush(ends, (now_s + seconds[job], job, node))

    return work
