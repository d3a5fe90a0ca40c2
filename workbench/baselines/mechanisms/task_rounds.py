"""Jobs as rounds of tasks (Hare): how long tasks take, what a scheduled round is, and what is left of a job.

A step computes for 1/r(1) and then synchronises for sync_s or max(0, K/r(K) - 1/r(1)), where r(n) is the believed speed
of a gang of n in steps/s and K the parallel tasks of a round (`workbench.scenario.throughput.TaskTimes`).

Coarse rounds (ours): k synchronised steps of a job form one round that is scheduled as a whole.

A job of 100,000 steps has as many rounds; Algorithm 1 and the Gantt chart can do with a few dozen. A task of a coarse
round computes k T^c and then synchronises k T^s. That is optimistic: others use its waiting in one piece that the
barriers of k rounds would cut up, and a GPU that goes back and forth between jobs switches once for k steps. How much
it matters shows in a run with k/2, that is with twice `most_rounds`.

What is left are the tasks that have not started, in mid-life too.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from workbench.base.errors import InputError
from workbench.scenario.job import Job
from workbench.scenario.throughput import TaskRounds, TaskTimes
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import Task
from workbench.scheduling.knob import Knob
from workbench.scheduling.snapshot import Snapshot

MOST_ROUNDS = Knob(
    "most_rounds",
    30,
    "A job is scheduled in at most so many rounds: as many of its synchronised steps as that takes form one. This is "
    "optimistic (tasks of others use waiting in one piece that more barriers would cut up): compare with twice as many",
    kind="int",
    minimum=1,
    maximum=1_000_000,
    main=True,
)
STEPS_PER_ROUND = Knob(
    "steps_per_round",
    None,
    "Synchronised steps that form one scheduled round, k, for every job (none: as few as most_rounds allows)",
    "steps",
    kind="int",
    minimum=1,
    maximum=1_000_000_000,
    optional=True,
)
MOST_TASKS = 1_000_000
"""Tasks of one job that are listed: a run of so many takes about 1 GB and half a minute."""


def parallel_tasks(job: Job) -> int:
    """K, the tasks of one task round."""
    return job.tasks_per_round or job.gpus


def steps_each(job: Job, knobs: Knobs) -> int:
    """k, the steps of one task of a scheduled round. It depends on the job alone, so that it stays for its life."""
    if knobs["steps_per_round"] is not None:
        return int(knobs["steps_per_round"])
    return max(1, math.ceil((job.steps - job.steps_done) / parallel_tasks(job) / int(knobs["most_rounds"])))


class Note(NamedTuple):
    """Times of a model that are not what its rows say: `clamped` or `from_gang` on these types."""

    model: str
    tasks: int
    note: str
    types: tuple[str, ...]

    def __str__(self) -> str:
        where = f"{self.model} in rounds of {self.tasks} on {', '.join(self.types)}"
        if self.note == "clamped":
            return f"{where}: a gang is faster than its GPUs one by one; no time to synchronise is left"
        return f"{where}: no speed of a GPU alone; a task computes as long as a gang takes for its step"


class BelievedTimes:
    """Seconds of a job's tasks on each type, as believed; asked once for each model, K and sizes."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._known: dict[tuple[str, int, tuple[int, ...], str], TaskTimes] = {}

    def of(self, job: Job, kind: str) -> TaskTimes:
        """Seconds of one step on a GPU of a type."""
        tasks = parallel_tasks(job)
        key = (job.model, tasks, job.sizes, kind)
        if key not in self._known:
            belief, fewest = self._snapshot.belief, self._snapshot.cluster.fewest_nodes

            def steps_per_s(gpus: int) -> float:
                found = belief.steps_per_s(job, kind, gpus, "consolidated", fewest(kind, gpus))
                return found or belief.steps_per_s(job, kind, gpus, "unconsolidated")

            listed = self._snapshot.synchronisation_s.get((job.model, kind, tasks))
            self._known[key] = TaskTimes.of(steps_per_s, tasks, job.sizes, listed)
        return self._known[key]

    def notes(self) -> tuple[Note, ...]:
        """What is not as the rows say, by model, K and kind of note."""
        types: dict[tuple[str, int, str], dict[str, None]] = {}
        for (model, tasks, _, kind), found in self._known.items():
            if found.note:
                types.setdefault((model, tasks, found.note), {})[kind] = None
        return tuple(Note(*key, tuple(kinds)) for key, kinds in types.items())


class RoundsLeft(NamedTuple):
    """The tasks of a job that have not started.

    steps_each: k; division: all its rounds; first_round: the first that is left, and open_tasks: those of its tasks
    that have not started. None starts before arrival_s; the rest of the first round has synchronised at barrier_s, 0 if
    none of it has started.
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
