"""What the core keeps about each job, as arrays over jobs."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from workbench.decision import IntArray, JobView
from workbench.scenario import Scenario
from workbench.schema import JOBS
from workbench.throughput import FloatArray

FINISHED = 1e-9
"""A job is done when fewer than this share of its steps is left (rounding of floating point numbers)."""


class JobBook:
    """One entry per rank: a job's place in the order of (arrival, position).

    left: steps that are neither done nor booked; attained_s, waited_s: up to since_s, the last change of held (GPUs);
    done_at_s: when it will complete if nothing changes; stepped: whether steps were booked since the core last asked;
    fruitless: since the last job left, how often in a row a fault threw a job back to where the one before had;
    only_profiled: jobs that have had GPUs for nothing but profiles without steps.
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
        self.waited_s, self.run_s, self.lost = np.zeros(count), np.zeros(count), np.zeros(count)
        self.held = np.zeros(count, dtype=np.int64)
        self.since_s = self.arrival_s.copy()
        self.done_at_s = np.full(count, np.inf)
        self.first_start_s, self.finish_s = np.full(count, np.nan), np.full(count, np.nan)
        self.restarts, self.preemptions, self.moves, self.renewals = np.zeros((4, count), dtype=np.int64)
        self.alive = np.zeros(count, dtype=bool)
        self.verdict = [""] * count
        self._active: IntArray | None = None
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

    def lose(self, rank: int, steps: float) -> None:
        """A fault takes back steps that a job had done."""
        self.left[rank] += steps
        self.lost[rank] += steps
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
        self.done_at_s[rank] = math.inf
        self.alive[rank] = False
        self._active = None
        self.unfinished -= 1
        self._left_when_lost.pop(rank, None)
        self.fruitless.clear()
        while self.first_alive < self.admitted and not self.alive[self.first_alive]:
            self.first_alive += 1

    def view(self, ranks: IntArray, steps_left: FloatArray, now_s: float) -> JobView:
        """What a scheduler sees of these jobs."""
        pause = np.maximum(now_s - self.since_s[ranks], 0.0)
        held = self.held[ranks]
        return JobView(
            jobs=tuple(map(self.jobs.__getitem__, ranks.tolist())),
            position=self.position[ranks],
            steps_left=steps_left,
            attained_s=self.attained_s[ranks] + held * pause,
            waited_s=self.waited_s[ranks] + np.where(held == 0, pause, 0.0),
            restarts=self.restarts[ranks],
            gpus=self.gpus[ranks],
            arrival_s=self.arrival_s[ranks],
            weight=self.weight[ranks],
        )

    def table(self) -> pd.DataFrame:
        """The `jobs` table in the scenario's order."""
        place = np.argsort(self.position)
        jobs = [self.jobs[i] for i in place.tolist()]
        return JOBS.frame(
            {
                "job": [job.name for job in jobs],
                "model": [job.model for job in jobs],
                "gpus": self.gpus[place],
                "weight": self.weight[place],
                "entity": [job.entity or "" for job in jobs],
                "size_class": [job.size_class or "" for job in jobs],
                "arrival_s": self.arrival_s[place],
                "first_start_s": self.first_start_s[place],
                "finish_s": self.finish_s[place],
                "steps": self.steps[place],
                "steps_done": (self.steps - self.left)[place],
                "steps_lost": self.lost[place],
                "attained_s": self.attained_s[place],
                "run_s": self.run_s[place],
                "waited_s": self.waited_s[place],
                "restarts": self.restarts[place],
                "preemptions": self.preemptions[place],
                "moves": self.moves[place],
                "renewals": self.renewals[place],
                "verdict": [self.verdict[i] for i in place.tolist()],
            }
        )
