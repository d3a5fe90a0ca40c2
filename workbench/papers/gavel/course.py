"""How the levels of jobs rise while none is held back by the others, in closed form.

Time t of the course is the sum of the programmes' t: entity e gives out `W_e t` in all. A job rises by the rule
(`entities.Rule`) until it reaches its cap; its weight then goes to the others of its entity. So levels are piecewise
linear in t, and where the first job of a queue, or one of several equals, reaches its cap they bend.
"""

from __future__ import annotations

import numpy as np

from workbench.papers.gavel.entities import Rule
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import BoolArray, IntArray


class Course:
    """The course from `level` to `cap`, both (jobs,), of the jobs that are not `done`; gang: (jobs,) GPUs.

    bends: the times at which some job reaches its cap, rising; the last is the end of the course.
    """

    def __init__(self, rule: Rule, gang: FloatArray, level: FloatArray, cap: FloatArray, done: BoolArray) -> None:
        self._level, self._cap = level, cap
        self._queues: list[tuple[IntArray, FloatArray, FloatArray]] = []
        self._groups: list[tuple[IntArray, FloatArray, FloatArray, FloatArray, FloatArray]] = []
        bends = [np.zeros(1)]
        room = np.maximum(cap - level, 0.0) * gang
        rising = np.flatnonzero(~done)
        order = rising[np.argsort(rule.owner[rising], kind="stable")]
        for rows in np.split(order, np.flatnonzero(np.diff(rule.owner[order])) + 1):
            if not len(rows):
                continue
            entity = rule.owner[rows[0]]
            given = rule.entity_weight[entity]
            if rule.fifo[entity]:
                until = np.cumsum(room[rows]) / given
                self._queues.append((rows, until - room[rows] / given, given / gang[rows]))
                bends.append(until)
            else:
                weight = rule.weight[rows]
                height = room[rows] / weight
                rank = np.argsort(height, kind="stable")
                heights = np.concatenate([[0.0], height[rank]])
                total = (weight * rule.members[rows])[rank]
                above = np.cumsum(total[::-1])[::-1]
                times = np.concatenate([[0.0], np.cumsum(np.diff(heights) * above) / given])
                self._groups.append((rows, weight / gang[rows], height, times, heights))
                bends.append(times)
        self.bends: FloatArray = np.unique(np.concatenate(bends))

    @property
    def end(self) -> float:
        """The time at which every job has reached its cap."""
        return float(self.bends[-1])

    def at(self, time: float) -> FloatArray:
        """(jobs,) levels at a time."""
        level = self._level.copy()
        for rows, start, pace in self._queues:
            level[rows] += np.maximum(time - start, 0.0) * pace
        for rows, pace, height, times, heights in self._groups:
            level[rows] += np.minimum(np.interp(time, times, heights), height) * pace
        return np.minimum(level, np.maximum(self._cap, self._level))

    def reaches(self, price: FloatArray, value: float, before: float) -> float:
        """The last time up to `before` at which `price . rise since 0` is at most `value`; price: (jobs,) >= 0."""

        def gained(time: float) -> float:
            return float(price @ (self.at(time) - self._level))

        if gained(before) <= value:
            return before
        bends = self.bends[self.bends < before]
        low, high = 0, len(bends)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if gained(float(bends[middle])) <= value else (low, middle)
        start, stop = float(bends[low]), float(bends[high]) if high < len(bends) else before
        there, then = gained(start), gained(stop)
        return start + (stop - start) * max(0.0, min(1.0, (value - there) / (then - there)))
