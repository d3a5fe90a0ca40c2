"""How far every job is: steps done are a straight line in time between changes, so nothing is stepped through."""

from __future__ import annotations

import numpy as np

from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import IntArray

TIE = 1e-12
"""Times that differ by no more than this share are the same: `now + 0.1` is not quite `n * 0.1` (ours)."""


def is_tie(a_s: float, b_s: float) -> bool:
    """Whether two times, one of them finite, are the same but for rounding."""
    return abs(a_s - b_s) <= TIE * min(a_s, b_s)


class Runners:
    """One runner per job of a unit that holds GPUs: it does nothing until `ready`, then `rate` steps/s until `stop`.

    At `stop` it has done exactly `cap` steps. Arrays are indexed by runner; a free runner has job -1.
    """

    def __init__(self, room: int = 64) -> None:
        self.job: IntArray = np.full(room, -1, dtype=np.int64)
        self.rate = np.zeros(room)
        self.ready = np.zeros(room)
        self.stop = np.full(room, -np.inf)
        self.cap = np.zeros(room)
        self._free = list(range(room - 1, -1, -1))

    def add(self, job: int, rate: float, ready: float, stop: float, cap: float) -> int:
        """A new runner; returns its number."""
        if not self._free:
            self._grow()
        runner = self._free.pop()
        self.job[runner] = job
        self.rate[runner] = rate
        self.ready[runner] = ready
        self.stop[runner] = stop
        self.cap[runner] = cap
        return runner

    def remove(self, runner: int) -> None:
        """Forget a runner; its steps must have been booked before."""
        self.job[runner] = -1
        self.cap[runner] = 0.0
        self._free.append(runner)

    def has_worked(self, from_s: float, to_s: float) -> bool:
        """Whether a runner has done a part of a step between two times."""
        return bool(((self.cap > 0) & (self.stop > from_s) & (self.ready < to_s)).any())

    def done_by_job(self, now_s: float, first: int, count: int) -> FloatArray:
        """Steps done by now and not yet booked, of the `count` jobs from number `first`."""
        used = self.job >= first
        steps = self.rate[used] * np.maximum(now_s - self.ready[used], 0.0)
        steps = np.where(now_s >= self.stop[used], self.cap[used], steps)
        done: FloatArray = np.bincount(self.job[used] - first, steps, minlength=count).astype(float, copy=False)
        return done

    def _grow(self) -> None:
        room = len(self.job)
        self.job = np.concatenate([self.job, np.full(room, -1, dtype=np.int64)])
        self.rate = np.concatenate([self.rate, np.zeros(room)])
        self.ready = np.concatenate([self.ready, np.zeros(room)])
        self.stop = np.concatenate([self.stop, np.full(room, -np.inf)])
        self.cap = np.concatenate([self.cap, np.zeros(room)])
        self._free = list(range(2 * room - 1, room - 1, -1))
