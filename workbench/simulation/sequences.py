"""Tasks in sequence on single slots (`Decision.sequences`, Hare): a slot is held while a task computes, no longer.

A job is ceil(steps left / (K k)) synchronised rounds of K tasks, K = tasks_per_round or else gpus; a task is
k = `Task.steps` steps (1 by default), in the last round an equal part of what is left. A step computes for 1/r(1) on
the slot's type and node, a part of one as well. Then the task synchronises, for each of its steps `sync_s` or
max(0, K/r(K) - 1/r(1)), while its slot goes on. A round starts when all tasks of the one before have synchronised.
Each slot takes its tasks in order, and none is interrupted. Moving between slots is free.

Coarse rounds (k > 1) are optimistic: others use waiting in one piece that the barriers of k rounds would cut up.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from workbench.decision import Slot, Task, TaskView
from workbench.job import Job
from workbench.scenario import Scenario
from workbench.simulation.checks import Checker
from workbench.simulation.jobbook import JobBook
from workbench.simulation.nodes import Nodes
from workbench.simulation.progress import TIE
from workbench.simulation.recorder import Nothing, Recorder

NO_TASKS = TaskView()


@dataclass(slots=True)
class Rounds:
    """How far a job is. steps_each: of a task, but in the last round; started: tasks of any round; missing: tasks of
    the current round not yet synchronised."""

    rank: int
    tasks: int
    steps_each: int
    count: int
    last_steps: float
    current: int = 0
    missing: int = 0
    started: set[tuple[int, int]] = field(default_factory=set)

    def steps(self, number: int) -> float:
        """Steps of one task of a round."""
        return float(self.steps_each) if number < self.count - 1 else self.last_steps

    def whole_steps(self, number: int) -> int:
        """The same, a part of a step counted as one."""
        return math.ceil(self.steps(number) * (1 - TIE))

    @property
    def begun(self) -> bool:
        """Whether a task has started."""
        return bool(self.current or self.started)


class Computing(NamedTuple):
    """A task on its slot."""

    task: Task
    start_s: float
    end_s: float


class Sequences:
    """The slots that run task sequences, and the jobs whose tasks they are."""

    def __init__(self, scenario: Scenario, book: JobBook, nodes: Nodes, recorder: Recorder) -> None:
        self._table, self._book, self._nodes, self._recorder = scenario.table, book, nodes, recorder
        self._machine = {node.name: node for node in scenario.cluster.machines}
        self._queue: dict[Slot, deque[Task]] = {}
        self._computing: dict[Slot, Computing] = {}
        self._synchronising: list[tuple[float, int, Slot, Task, float]] = []  # end, order, slot, task, start
        self._rounds: dict[str, Rounds] = {}
        self._number = 0

    # What is asked of it ---------------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether a task computes or synchronises."""
        return bool(self._computing or self._synchronising)

    def has(self, name: str) -> bool:
        """Whether a job runs as tasks: some have started, or wait in a sequence."""
        return name in self._rounds

    def next_s(self) -> float:
        """When the next task has computed or synchronised."""
        computed_s = min((c.end_s for c in self._computing.values()), default=math.inf)
        return min(computed_s, self._synchronising[0][0] if self._synchronising else math.inf)

    def view(self) -> TaskView:
        """What a scheduler sees of the tasks."""
        if not self._rounds and not self._queue:
            return NO_TASKS
        return TaskView(
            rounds={name: rounds.count for name, rounds in self._rounds.items()},
            rounds_done={name: rounds.current for name, rounds in self._rounds.items()},
            started={name: frozenset(rounds.started) for name, rounds in self._rounds.items()},
            computing={slot: (found.task, found.start_s, found.end_s) for slot, found in self._computing.items()},
            waiting={slot: tuple(queue) for slot, queue in self._queue.items()},
        )

    # Decisions -------------------------------------------------------------------------------------------------------

    def check(
        self, sequences: Mapping[Slot, tuple[Task, ...]], free: set[Slot], checker: Checker, now_s: float
    ) -> None:
        """Every slot free or its own, every task there is, once, and not started; raises InvalidDecision."""
        seen: dict[tuple[str, int, int], Task] = {}
        steps_each: dict[str, int] = {}
        for slot, tasks in sequences.items():
            if slot not in free and slot not in self._queue:
                checker.fail(now_s, None, slot, "a free slot of a node that is up")
            for task in tasks:
                if not isinstance(task, Task):
                    checker.fail(now_s, None, task, "a Task")
                self._check_task(Slot(*slot), task, checker, now_s)
                if task.steps != steps_each.setdefault(task.job, task.steps):
                    checker.fail(now_s, task.job, task, f"{steps_each[task.job]} steps as its other tasks")
                if task[:3] in seen:
                    checker.fail(now_s, task.job, task, "each task once")
                seen[task[:3]] = task

    def _check_task(self, slot: Slot, task: Task, checker: Checker, now_s: float) -> None:
        if not self._book.is_active(task.job):
            checker.fail(now_s, task.job, task, "a job that has arrived and not finished")
        if task.steps < 1:
            checker.fail(now_s, task.job, task, "a task of at least 1 step")
        rank, rounds = self._book.rank[task.job], self._rounds.get(task.job)
        if rounds is None or not rounds.begun:
            rounds = self._plan(rank, task.steps)
        if task.steps != rounds.steps_each:
            checker.fail(now_s, task.job, task, f"{rounds.steps_each} steps as its tasks that have started")
        if not (0 <= task.round < rounds.count and 0 <= task.number < rounds.tasks):
            checker.fail(now_s, task.job, task, f"a round below {rounds.count} and a task below {rounds.tasks}")
        if task.round < rounds.current or (task.round, task.number) in rounds.started:
            checker.fail(now_s, task.job, task, "a task that has not started")
        if not self._compute_s(self._book.jobs[rank], slot) < math.inf:
            checker.fail(now_s, task.job, slot, "a slot on which it has a throughput > 0")

    def replace(self, sequences: Mapping[Slot, tuple[Task, ...]], now_s: float) -> None:
        """The tasks that have not started are these from now on, on slots that `check` found free."""
        for slot in self._queue:
            self._queue[slot] = deque()
        for slot, tasks in sequences.items():
            if tasks and slot not in self._queue:
                self._nodes.take([({slot.node: 1}, (slot,))])
            if tasks:
                self._queue[Slot(*slot)] = deque(tasks)
        self._rounds = {name: rounds for name, rounds in self._rounds.items() if rounds.begun}
        steps_each = {task.job: task.steps for tasks in sequences.values() for task in tasks}
        for name, steps in steps_each.items():
            if name not in self._rounds:
                self._rounds[name] = self._plan(self._book.rank[name], steps)
        self._go_on(now_s)

    def _plan(self, rank: int, steps_each: int) -> Rounds:
        job = self._book.jobs[rank]
        tasks, left = job.tasks_per_round or job.gpus, float(self._book.left[rank])
        count = max(math.ceil(left / (tasks * steps_each) * (1 - TIE)), 1)
        last_steps = left / tasks - (count - 1) * steps_each
        return Rounds(rank, tasks, steps_each, count, last_steps, missing=tasks)

    # Time ------------------------------------------------------------------------------------------------------------

    def happen(self, now_s: float) -> list[int]:
        """Tasks that have computed or synchronised by now, and those that may start; returns jobs that are done."""
        done: list[int] = []
        due_s = now_s * (1 + TIE)
        for slot, found in [(slot, found) for slot, found in self._computing.items() if found.end_s <= due_s]:
            self._computed(slot, found, now_s)
        while self._synchronising and self._synchronising[0][0] <= due_s:
            _, _, slot, task, start_s = heapq.heappop(self._synchronising)
            self._record(slot, task.job, "sync", start_s, now_s, 0.0)
            done += self._synchronised(task)
        self._go_on(now_s)
        return done

    def _computed(self, slot: Slot, found: Computing, now_s: float) -> None:
        task, rounds = found.task, self._rounds[found.task.job]
        job = self._book.jobs[rounds.rank]
        self._stop(slot, found, now_s, rounds.steps(task.round))
        self._number += 1
        sync_s = rounds.whole_steps(task.round) * self._sync_s(job, rounds.tasks, slot)
        heapq.heappush(self._synchronising, (found.end_s + sync_s, self._number, slot, task, now_s))

    def _synchronised(self, task: Task) -> Iterator[int]:
        rounds = self._rounds[task.job]
        rounds.missing -= 1
        if rounds.missing == 0:
            rounds.current, rounds.missing = rounds.current + 1, rounds.tasks
            rounds.started = {key for key in rounds.started if key[0] >= rounds.current}
            if rounds.current == rounds.count:
                del self._rounds[task.job]
                yield rounds.rank

    def _go_on(self, now_s: float) -> None:
        """Start what may start; give back the slots that have nothing left to do."""
        for slot in list(self._queue):
            if slot in self._computing:
                continue
            queue = self._queue[slot]
            if not queue:
                self._release(slot)
            elif queue[0].round == self._rounds[queue[0].job].current:
                self._start(slot, queue.popleft(), now_s)

    def _start(self, slot: Slot, task: Task, now_s: float) -> None:
        book, rounds = self._book, self._rounds[task.job]
        rounds.started.add((task.round, task.number))
        end_s = now_s + rounds.whole_steps(task.round) * self._compute_s(book.jobs[rounds.rank], slot)
        self._computing[slot] = Computing(task, now_s, end_s)
        book.settle(rounds.rank, now_s)
        book.held[rounds.rank] += 1
        if not book.has_run(rounds.rank):
            book.first_start_s[rounds.rank] = now_s
            self._recorder.event(now_s, "start", task.job, task.job, f"{slot.node} x 1")

    def _stop(self, slot: Slot, found: Computing, now_s: float, steps: float) -> None:
        """A slot's task computes no more: book its seconds and steps."""
        rank = self._rounds[found.task.job].rank
        del self._computing[slot]
        self._record(slot, found.task.job, "run", found.start_s, now_s, steps)
        self._book.settle(rank, now_s)
        self._book.held[rank] -= 1
        self._book.left[rank] -= steps
        self._book.stepped |= steps > 0
        self._book.run_s[rank] += now_s - found.start_s

    def _release(self, slot: Slot) -> None:
        del self._queue[slot]
        self._nodes.give_back({slot.node: 1}, (slot,))

    def _record(self, slot: Slot, job: str, kind: str, start_s: float, end_s: float, steps: float) -> None:
        if end_s > start_s:
            self._recorder.interval(Nothing, (slot,), job, (job,), kind, start_s, end_s, (steps, 0.0))

    # Ends before the end ---------------------------------------------------------------------------------------------

    def fail(self, node: str, now_s: float) -> list[tuple[str, float]]:
        """A node goes down: its tasks, started or not, are nobody's until new sequences come; returns steps lost."""
        lost = []
        for slot in [slot for slot in self._queue if slot.node == node]:
            found = self._computing.get(slot)
            if found is not None:
                rounds = self._rounds[found.task.job]
                steps = self._part(found, now_s)
                self._stop(slot, found, now_s, steps)
                rounds.started.discard((found.task.round, found.task.number))
                self._book.lose(rounds.rank, steps)
                lost.append((found.task.job, steps))
            self._release(slot)
        return lost

    def close(self, now_s: float) -> None:
        """The simulation ends: record what is still open."""
        for slot, found in list(self._computing.items()):
            self._stop(slot, found, now_s, self._part(found, now_s))
        for _, _, slot, task, start_s in self._synchronising:
            self._record(slot, task.job, "sync", start_s, now_s, 0.0)

    def _part(self, found: Computing, now_s: float) -> float:
        """Steps of a task that computes, up to now."""
        whole = self._rounds[found.task.job].steps(found.task.round)
        return whole * (now_s - found.start_s) / (found.end_s - found.start_s)

    # How long it takes -----------------------------------------------------------------------------------------------

    def _compute_s(self, job: Job, slot: Slot) -> float:
        """Seconds that one step computes."""
        rate = self._table.on_nodes(job.model, {slot.node: 1})
        return 1.0 / rate if rate > 0 else math.inf

    def _sync_s(self, job: Job, tasks: int, slot: Slot) -> float:
        """Seconds in which one step synchronises."""
        kind = self._machine[slot.node].accelerator
        listed = self._table.sync_s(job.model, kind, tasks)
        if listed is not None:
            return listed
        alone, gang = self._table.row(job.model, kind, 1), self._table.row(job.model, kind, tasks)
        return max(0.0, tasks / gang - 1.0 / alone) if gang > 0 and alone > 0 else 0.0
