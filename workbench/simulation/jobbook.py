"""What the core keeps about each job, as arrays over jobs."""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.base.arrays import FloatArray, IntArray, fixed
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.simulation.schema import JOBS

FEW = 1000
"""Ends foreseen that no longer hold are thrown away once they are so many, and three for each job."""
FINISHED = 1e-9
"""A job is done when fewer than this share of its steps is left (rounding of floating point numbers)."""


class Elements:
    """Memory of arrays by their names, to read or write one element (Python 3.11 reads a SimpleNamespace slower)."""


class JobBook:
    """The table `jobs` as it fills, and beside its columns what the core needs to know to fill them.

    One entry per rank: a job's place in the order of (arrival, position). left: steps that are neither done nor booked;
    attained_s, waited_s: up to since_s, the last change of held (GPUs); rate, ready_s, stop_s, cap: see `run` (without
    copies of a job, see `Leasing.done`); done_at_s: when it will complete if nothing changes (set by `completes`);
    next_arrival_s, next_done_s: of all, infinity if there is none;
    present: how many jobs have arrived and not gone; holding: how many of them hold GPUs (`settle`);
    stepped: whether steps were booked since the core last asked; fruitless: since the last job left, how often in a row
    a fault threw a job back to where the one before had; begun: jobs there that have had GPUs for their steps, not only
    for profiles without any: what starts then is a restart, and may be a move. one: the same arrays for who reads or
    writes one element, which takes twice as long in the array itself; what is only counted job by job is in lists.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.position: IntArray = np.array(scenario.order, dtype=np.int64)
        self.jobs = jobs = [*map(scenario.jobs.__getitem__, scenario.order)]
        said = [job.__dict__ for job in jobs]  # fields of so many are read in half the time from here
        self.names: list[str] = [of["name"] for of in said]
        self.rank = dict(zip(self.names, range(len(jobs)), strict=True))
        count = len(jobs)
        self.arrival_s = np.array([of["arrival_s"] for of in said], dtype=float)
        self.gpus = np.array([of["gpus"] for of in said], dtype=np.int64)
        self.weight = np.array([of["weight"] for of in said], dtype=float)
        self.steps = np.array([of["steps"] for of in said], dtype=float)
        self.left = np.array([of["steps"] - of["steps_done"] for of in said], dtype=float)
        self.attained_s = np.array([of["attained_s"] for of in said], dtype=float)
        self.waited_s, self.run_s, self.steps_lost = np.zeros(count), np.zeros(count), np.zeros(count)
        self.held = np.zeros(count, dtype=np.int64)
        self.since_s = self.arrival_s.copy()
        self.holding = 0
        self.done_at_s = [math.inf] * count
        self._ends: list[tuple[float, int]] = []  # heap of (done_at_s, rank); what no longer holds goes when it is met
        self.first_start_s, self.finish_s = np.full(count, np.nan), np.full(count, np.nan)
        self.rate, self.cap = np.zeros(count), np.zeros(count)
        self.ready_s, self.stop_s = np.zeros(count), np.zeros(count)
        self.restarts = np.zeros(count, dtype=np.int64)
        self.preemptions, self.moves, self.renewals = [0] * count, [0] * count, [0] * count
        self.alive = np.zeros(count, dtype=bool)
        arrays = {name: column.data for name, column in vars(self).items() if isinstance(column, np.ndarray)}
        self.one: Any = Elements()
        vars(self.one).update(arrays)
        self.verdict = [""] * count
        self._active: IntArray | None = None
        self._seen: tuple[IntArray | None, dict[str, Any]] = (None, {})
        self._here: tuple[list[int], list[Job]] = ([], [])  # ranks of the active jobs, rising, and the jobs
        self._waiting: list[int] = []  # ranks of those that hold nothing, rising
        self._arrivals: list[float] = [*self.arrival_s.tolist(), math.inf]
        self.next_arrival_s, self.next_done_s = self._arrivals[0], math.inf
        self.admitted = 0
        self.first_alive = 0
        self.unfinished, self.present = count, 0
        self.stepped = False
        self.fruitless: dict[int, int] = {}
        self.begun: set[int] = set()
        self._left_when_lost: dict[int, float] = {}

    def active(self) -> IntArray:
        """Ranks of the jobs that have arrived and not finished, rising."""
        if self._active is None:
            self._active = self.alive[self.first_alive : self.admitted].nonzero()[0] + self.first_alive
            self._active.setflags(write=False)
        return self._active

    def completes(self, rank: int, at_s: float) -> None:
        """Foresee when a job will complete; infinity: not as things are."""
        before, self.done_at_s[rank] = self.done_at_s[rank], at_s
        if at_s < math.inf:
            heapq.heappush(self._ends, (at_s, rank))
            if len(self._ends) > 4 * self.present + FEW:
                self._ends = [(end_s, rank) for rank, end_s in enumerate(self.done_at_s) if end_s < math.inf]
                heapq.heapify(self._ends)
            if at_s < self.next_done_s:
                self.next_done_s = at_s
        if before == self.next_done_s < at_s:
            self._look_ahead()

    def _look_ahead(self) -> None:
        """Find the next completion."""
        ends, done_at_s = self._ends, self.done_at_s
        while ends and done_at_s[ends[0][1]] != ends[0][0]:
            heapq.heappop(ends)
        self.next_done_s = ends[0][0] if ends else math.inf

    def done_by(self, latest_s: float) -> list[int]:
        """Ranks of the jobs that will have completed by then, who `leave` next."""
        done: list[int] = []
        ends, done_at_s = self._ends, self.done_at_s
        while ends and ends[0][0] <= latest_s:
            end_s, rank = heapq.heappop(ends)
            if done_at_s[rank] == end_s:
                done_at_s[rank] = math.inf
                done.append(rank)
        self._look_ahead()
        return sorted(done)

    def admit(self, now_s: float) -> range:
        """Let the jobs in that have arrived by now; returns their ranks."""
        before = rank = self.admitted
        while self._arrivals[rank] <= now_s:
            self.one.alive[rank] = True
            rank += 1
        came, (here, jobs) = range(before, rank), self._here
        here += came
        jobs += self.jobs[before:rank]
        self._waiting += came
        self.admitted, self._active, self.next_arrival_s = rank, None, self._arrivals[rank]
        self.present += rank - before
        return came

    def is_active(self, name: str) -> bool:
        """Whether a job of that name has arrived and not finished."""
        rank = self.rank.get(name)
        return rank is not None and bool(self.one.alive[rank])

    def settle(self, rank: int, now_s: float, more: int = 0) -> None:
        """Book the seconds since the last change of what a job holds: `more` GPUs from now on, fewer if below 0."""
        one = self.one
        pause, held = now_s - one.since_s[rank], one.held[rank]
        if pause > 0:
            if held:
                one.attained_s[rank] += held * pause
            else:
                one.waited_s[rank] += pause
            one.since_s[rank] = now_s
        if more:
            one.held[rank] = held + more
            if not held:
                self.holding += 1
                del self._waiting[bisect_left(self._waiting, rank)]
            elif held + more == 0:
                self.holding -= 1
                insort(self._waiting, rank)

    def run(self, rank: int, rate: float, ready_s: float, stop_s: float, cap: float) -> None:
        """From now on a job does nothing until ready_s, then `rate` steps/s until stop_s, by when it has done `cap`."""
        one = self.one
        one.rate[rank], one.cap[rank], one.ready_s[rank], one.stop_s[rank] = rate, cap, ready_s, stop_s

    def run_by(self, now_s: float) -> FloatArray:
        """Steps that the active jobs have done by now since they were last set going: a straight line in time."""
        ranks = self.active()  # rate and cap of who holds nothing are 0
        steps = self.rate[ranks] * np.maximum(now_s - self.ready_s[ranks], 0.0)
        return np.where(now_s >= self.stop_s[ranks], self.cap[ranks], steps)

    def has_worked(self, from_s: float, to_s: float) -> bool:
        """Whether a job has done a part of a step between two times."""
        ranks = self.active()
        return bool(((self.cap[ranks] > 0) & (self.stop_s[ranks] > from_s) & (self.ready_s[ranks] < to_s)).any())

    def lose(self, rank: int, steps: float) -> None:
        """A fault takes back steps that a job had done."""
        self.left[rank] += steps
        self.steps_lost[rank] += steps
        left, before = float(self.left[rank]), self._left_when_lost.get(rank, math.inf)
        further = left < before - FINISHED * self.steps[rank]
        self.fruitless[rank] = 0 if further else self.fruitless.get(rank, 0) + 1
        self._left_when_lost[rank] = left

    def leave(self, rank: int, now_s: float, *, finished: bool) -> None:
        """A job goes, with all that it holds: it has finished, or was refused."""
        self.settle(rank, now_s)
        one = self.one
        if one.held[rank]:
            one.held[rank] = 0
            self.holding -= 1
        else:
            del self._waiting[bisect_left(self._waiting, rank)]
        if finished:
            one.left[rank], one.finish_s[rank] = 0.0, now_s
        if self.done_at_s[rank] < math.inf:
            self.completes(rank, math.inf)
        one.alive[rank] = False
        self.begun.discard(rank)
        here, jobs = self._here
        place = bisect_left(here, rank)
        del here[place], jobs[place]
        self._active = None
        self.unfinished -= 1
        self.present -= 1
        if self.fruitless:
            self._left_when_lost.pop(rank, None)
            self.fruitless.clear()
        if rank == self.first_alive:
            while self.first_alive < self.admitted and not one.alive[self.first_alive]:
                self.first_alive += 1

    def waiting(self) -> Sequence[int]:
        """Rows, among the active jobs, of those that hold no GPUs."""
        here, waiting = self._here[0], self._waiting
        if not waiting:
            return ()
        first = bisect_left(here, waiting[0])
        if len(here) - first == len(waiting):  # as where nobody passes another: nobody behind the first runs
            return range(first, len(here))
        return [bisect_left(here, rank) for rank in waiting]

    def column(self, name: str, now_s: float) -> Any:
        """A column of the active jobs as schedulers see them; what never changes is the same while the jobs are."""
        if name == "jobs now":
            return self._here[1]
        ranks = self.active()
        if self._seen[0] is not ranks:
            self._seen = ranks, {}
        known = self._seen[1]
        if name in known:
            return known[name]
        if name == "jobs":
            known[name] = tuple(self._here[1])
        elif name == "names":
            known[name] = tuple(map(self.names.__getitem__, self._here[0]))
        elif name == "at":
            known[name] = {self.names[rank]: row for row, rank in enumerate(self._here[0])}
        elif name in ("position", "gpus", "arrival_s", "weight"):
            known[name] = fixed(getattr(self, name)[ranks])
        elif name in ("restarts", "held"):
            return getattr(self, name)[ranks]
        else:
            pause, held = np.maximum(now_s - self.since_s[ranks], 0.0), self.held[ranks]
            if name == "attained_s":
                return self.attained_s[ranks] + held * pause
            return self.waited_s[ranks] + np.where(held == 0, pause, 0.0)
        return known[name]

    @property
    def steps_done(self) -> FloatArray:
        """Steps that are done and booked."""
        done: FloatArray = self.steps - self.left
        return done

    def columns(self) -> dict[str, Any]:
        """Those of the table `jobs`: the book's own columns, and what the jobs say, in the scenario's order."""
        place = np.argsort(self.position)
        jobs = [self.jobs[rank] for rank in place.tolist()]
        said = {
            "job": [self.names[rank] for rank in place.tolist()],
            "model": [job.model for job in jobs],
            "entity": [job.entity or "" for job in jobs],
            "size_class": [job.size_class or "" for job in jobs],
        }
        kept = (name for name in JOBS.names if name in vars(self) or name == "steps_done")
        return said | {name: np.asarray(getattr(self, name))[place] for name in kept}
