"""What the core keeps about each job, as arrays over jobs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from workbench.base.arrays import fixed
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import IntArray
from workbench.scheduling.snapshot import JobView
from workbench.simulation.schema import JOBS

FINISHED = 1e-9
"""A job is done when fewer than this share of its steps is left (rounding of floating point numbers)."""


class JobBook:
    """The table `jobs` as it fills, and beside its columns what the core needs to know to fill them.

    One entry per rank: a job's place in the order of (arrival, position). left: steps that are neither done nor booked;
    attained_s, waited_s: up to since_s, the last change of held (GPUs); rate, ready_s, stop_s, cap: see `run` (without
    copies of a job, see `Leasing.done`); done_at_s: when it will complete if nothing changes (set by `completes`);
    stepped: whether steps were booked since the core last asked; fruitless: since the last job left, how often in a row
    a fault threw a job back to where the one before had; only_profiled: jobs that have had GPUs for nothing but
    profiles without steps. What is only counted job by job is in lists: one element of an array takes several times as
    long.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.position: IntArray = np.array(scenario.order, dtype=np.int64)
        self.jobs = jobs = [scenario.jobs[i] for i in scenario.order]
        self.rank = {job.name: rank for rank, job in enumerate(jobs)}
        count = len(jobs)
        self.arrival_s = np.array([job.arrival_s for job in jobs], dtype=float)
        self.gpus = np.array([job.gpus for job in jobs], dtype=np.int64)
        self.weight = np.array([job.weight for job in jobs], dtype=float)
        self.steps = np.array([job.steps for job in jobs], dtype=float)
        self.left = np.array([job.steps - job.steps_done for job in jobs], dtype=float)
        self.attained_s = np.array([job.attained_s for job in jobs], dtype=float)
        self.waited_s, self.run_s, self.steps_lost = np.zeros(count), np.zeros(count), np.zeros(count)
        self.held = np.zeros(count, dtype=np.int64)
        self.since_s = self.arrival_s.copy()
        self.done_at_s = np.full(count, np.inf)
        self._next_done_s: float | None = math.inf
        self.first_start_s, self.finish_s = np.full(count, np.nan), np.full(count, np.nan)
        self.rate, self.cap = np.zeros(count), np.zeros(count)
        self.ready_s, self.stop_s = np.zeros(count), np.zeros(count)
        self.restarts = np.zeros(count, dtype=np.int64)
        self.preemptions, self.moves, self.renewals = [0] * count, [0] * count, [0] * count
        self.alive = np.zeros(count, dtype=bool)
        self.verdict = [""] * count
        self._active: IntArray | None = None
        self._seen: tuple[IntArray, tuple[Job, ...], list[npt.NDArray[Any]]] | None = None
        self.admitted = 0
        self.first_alive = 0
        self.unfinished = count
        self.stepped = False
        self.fruitless: dict[int, int] = {}
        self.only_profiled: set[int] = set()
        self._left_when_lost: dict[int, float] = {}

    def active(self) -> IntArray:
        """Ranks of the jobs that have arrived and not finished, rising."""
        if self._active is None:
            self._active = np.flatnonzero(self.alive[self.first_alive : self.admitted]) + self.first_alive
            self._active.setflags(write=False)
        return self._active

    def next_arrival_s(self) -> float:
        """Time of the next arrival, infinity if all have arrived."""
        return float(self.arrival_s[self.admitted]) if self.admitted < len(self.jobs) else math.inf

    def completes(self, rank: int, at_s: float) -> None:
        """Foresee when a job will complete."""
        self.done_at_s[rank] = at_s
        self._next_done_s = None

    def next_done_s(self) -> float:
        """The first foreseen completion of an active job, infinity without one; looked for anew after `completes`."""
        if self._next_done_s is None:
            self._next_done_s = float(self.done_at_s[self.active()].min(initial=math.inf))
        return self._next_done_s

    def done_by(self, latest_s: float) -> list[int]:
        """Ranks of the active jobs that will have completed by then."""
        if self.next_done_s() > latest_s:
            return []
        ranks = self.active()
        done: list[int] = ranks[self.done_at_s[ranks] <= latest_s].tolist()
        return done

    def admit(self, now_s: float) -> list[int]:
        """Let the jobs in that have arrived by now; returns their ranks."""
        before = self.admitted
        while self.admitted < len(self.jobs) and self.arrival_s[self.admitted] <= now_s:
            self.alive[self.admitted] = True
            self._active = None
            self.admitted += 1
        return list(range(before, self.admitted))

    def has_run(self, rank: int) -> bool:
        """Whether a job has had GPUs before."""
        return not math.isnan(self.first_start_s.item(rank))

    def has_begun(self, rank: int) -> bool:
        """Whether a job has had GPUs for its steps before: what starts now is a restart, and may be a move."""
        return self.has_run(rank) and rank not in self.only_profiled

    def is_active(self, name: str) -> bool:
        """Whether a job of that name has arrived and not finished."""
        rank = self.rank.get(name)
        return rank is not None and self.alive.item(rank)

    def settle(self, rank: int, now_s: float, more: int = 0) -> None:
        """Book the seconds since the last change of what a job holds: `more` GPUs from now on, fewer if below 0."""
        pause, held = now_s - self.since_s.item(rank), self.held.item(rank)
        if pause > 0 and held:
            self.attained_s[rank] += held * pause
        elif pause > 0:
            self.waited_s[rank] += pause
        self.since_s[rank] = now_s
        if more:
            self.held[rank] = held + more

    def run(self, rank: int, rate: float, ready_s: float, stop_s: float, cap: float) -> None:
        """From now on a job does nothing until ready_s, then `rate` steps/s until stop_s, by when it has done `cap`."""
        self.rate[rank], self.cap[rank], self.ready_s[rank], self.stop_s[rank] = rate, cap, ready_s, stop_s

    def run_by(self, now_s: float) -> FloatArray:
        """Steps that the active jobs have done by now since they were last set going: a straight line in time."""
        found = np.zeros(len(self.active()))
        at = np.flatnonzero(self.held[self.active()])
        ranks = self.active()[at]
        steps = self.rate[ranks] * np.maximum(now_s - self.ready_s[ranks], 0.0)
        found[at] = np.where(now_s >= self.stop_s[ranks], self.cap[ranks], steps)
        return found

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
        """A job goes: it has finished, or was refused."""
        self.settle(rank, now_s)
        if finished:
            self.left[rank] = 0.0
            self.finish_s[rank] = now_s
        self.completes(rank, math.inf)
        self.alive[rank] = False
        self._active = None
        self.unfinished -= 1
        self._left_when_lost.pop(rank, None)
        self.fruitless.clear()
        while self.first_alive < self.admitted and not self.alive[self.first_alive]:
            self.first_alive += 1

    def view(self, ranks: IntArray, steps_left: FloatArray, now_s: float) -> JobView:
        """What a scheduler sees of these jobs; what never changes is the same from view to view of the same ranks."""
        if self._seen is None or self._seen[0] is not ranks:
            of = (self.position, self.gpus, self.arrival_s, self.weight)
            self._seen = ranks, tuple(map(self.jobs.__getitem__, ranks.tolist())), [fixed(each[ranks]) for each in of]
        jobs, (position, gpus, arrival_s, weight) = self._seen[1:]
        pause = np.maximum(now_s - self.since_s[ranks], 0.0)
        held = self.held[ranks]
        return JobView(
            jobs=jobs,
            position=position,
            steps_left=steps_left,
            attained_s=self.attained_s[ranks] + held * pause,
            waited_s=self.waited_s[ranks] + np.where(held == 0, pause, 0.0),
            restarts=self.restarts[ranks],
            gpus=gpus,
            arrival_s=arrival_s,
            weight=weight,
        )

    @property
    def steps_done(self) -> FloatArray:
        """Steps that are done and booked."""
        done: FloatArray = self.steps - self.left
        return done

    def table(self) -> pd.DataFrame:
        """The `jobs` table: the book's own columns, and what the jobs say, in the scenario's order."""
        place = np.argsort(self.position)
        jobs = [self.jobs[rank] for rank in place.tolist()]
        said = {
            "job": [job.name for job in jobs],
            "model": [job.model for job in jobs],
            "entity": [job.entity or "" for job in jobs],
            "size_class": [job.size_class or "" for job in jobs],
        }
        kept = (name for name in JOBS.names if name in vars(self) or name == "steps_done")
        return JOBS.frame(said | {name: np.asarray(getattr(self, name))[place] for name in kept})
