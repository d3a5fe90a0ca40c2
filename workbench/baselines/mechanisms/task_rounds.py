"""What is left of a job that runs as rounds of tasks (Hare): the tasks that have not started, in mid-life too."""

from __future__ import annotations

import math
from typing import NamedTuple

from workbench.base.errors import InputError
from workbench.baselines.mechanisms.coarsening import parallel_tasks, steps_each
from workbench.scenario.job import Job
from workbench.scenario.throughput import TaskRounds, TaskTimes
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import Task
from workbench.scheduling.snapshot import Snapshot

MOST_TASKS = 1_000_000
"""Tasks of one job that are listed: a run of so many takes about 1 GB and half a minute."""


class RoundsLeft(NamedTuple):
    """The tasks of a job that have not started.

    steps_each: k of `workbench.baselines.mechanisms.coarsening`; division: all its rounds; first_round: the first that
    is left, and open_tasks: those of its tasks that have not started. None starts before arrival_s; the rest of the
    first round has synchronised at barrier_s, 0 if none of it has started.
    """

    job: Job
    steps_each: int
    division: TaskRounds
    first_round: int
    open_tasks: tuple[int, ...]
    arrival_s: float
    barrier_s: float

    def tasks(self, together: bool = False) -> list[Task]:
        """The core's tasks, round by round; together: those of a round start at the same time.

        Raises InputError for more than `MOST_TASKS`.
        """
        name, first, each = self.job.name, self.first_round, self.steps_each
        wide = range(parallel_tasks(self.job))
        count = len(self.open_tasks) + len(wide) * (self.division.count - 1 - first)
        if count > MOST_TASKS:
            expected = f"at most {MOST_TASKS:,}: coarser rounds (knobs steps_per_round and most_rounds)"
            raise InputError(f"job {name}, tasks", count, expected)
        found = [Task(name, first, number, each, together) for number in self.open_tasks]
        found += [
            Task(name, r, number, each, together) for r in range(first + 1, self.division.count) for number in wide
        ]
        return found

    def in_turn_s(self, times: TaskTimes) -> float:
        """Seconds if the tasks of each round run one after the other on one GPU, and then the round synchronises."""
        own, last = self.division.whole_steps(self.first_round), self.division.count - 1
        later = self.first_round < last
        rest = (last - self.first_round - 1) * self.steps_each + self.division.whole_steps(last) if later else 0
        computes = len(self.open_tasks) * own + parallel_tasks(self.job) * rest
        return computes * times.compute_s + (own + rest) * times.sync_s


def scaled_left(snapshot: Snapshot, job: Job, steps_left: float, knobs: Knobs) -> RoundsLeft | None:
    """What is left of a job whose rounds have as many tasks as there was room for (`Task.width`), as if it were rounds
    of K tasks: the first has what does not make a whole round, and the numbers are not the core's."""
    view, wide, each = snapshot.tasks, parallel_tasks(job), steps_each(job, knobs)
    done, started = view.tasks_done.get(job.name, 0), len(view.started.get(job.name, ()))
    if done + started == 0:
        return rounds_left(snapshot, job, steps_left, knobs)
    division = TaskRounds.of(job.steps - job.steps_done, wide, each)
    left = division.count * wide - done - started
    if left == 0:
        return None
    first_round = division.count - math.ceil(left / wide)
    open_tasks = tuple(range((left - 1) % wide + 1))
    barrier_s = view.barrier_s.get(job.name, 0.0)
    if started < view.width.get(job.name, 0):
        return RoundsLeft(job, each, division, first_round, open_tasks, job.arrival_s, barrier_s)
    return RoundsLeft(job, each, division, first_round, open_tasks, max(job.arrival_s, barrier_s), 0.0)


def rounds_left(snapshot: Snapshot, job: Job, steps_left: float, knobs: Knobs) -> RoundsLeft | None:
    """What is left of a job to schedule; None if all its tasks have started."""
    view, wide, each = snapshot.tasks, parallel_tasks(job), steps_each(job, knobs)
    started = view.started.get(job.name, frozenset())
    current, barrier_s = view.rounds_done.get(job.name, 0), view.barrier_s.get(job.name, 0.0)
    if current == 0 and not started:
        division = TaskRounds.of(steps_left, wide, each)
        return RoundsLeft(job, each, division, 0, tuple(range(wide)), job.arrival_s, 0.0)
    division = TaskRounds.of(job.steps - job.steps_done, wide, each)
    open_tasks = tuple(number for number in range(wide) if (current, number) not in started)
    if open_tasks:
        return RoundsLeft(job, each, division, current, open_tasks, job.arrival_s, barrier_s)
    if current + 1 == division.count:
        return None
    return RoundsLeft(job, each, division, current + 1, tuple(range(wide)), max(job.arrival_s, barrier_s), 0.0)
