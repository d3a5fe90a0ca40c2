"""Tasks in sequence on single slots (`Decision.sequences`, Hare): a slot is held while a task computes, no longer.

A job is ceil(steps left / (K k)) synchronised rounds of K tasks, K = tasks_per_round or else gpus; a task is
k = `Task.steps` steps (1 by default), in the last round an equal part of what is left. A step computes for 1/r(1) on
the slot's type and node, a part of one as well. Then the task synchronises, for each of its steps `sync_s` or
max(0, K/r(K) - 1/r(1)), while its slot goes on (`workbench.throughput.TaskTimes`). A round starts when all tasks of
the one before have synchronised; tasks that start `together` all at once, when the slots of all of them have come to
them. Each slot takes its tasks in order, and none is interrupted. It is held from when it switches to a task
(`Task.switch_s`) until that has computed; moving a job's tasks between slots is free.

Coarse rounds (k > 1) are optimistic: others use waiting in one piece that the barriers of k rounds would cut up.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from workbench.decision import Reason, Slot, Task, TaskView
from workbench.scenario import Scenario
from workbench.simulation.checks import Checker
from workbench.simulation.jobbook import JobBook
from workbench.simulation.nodes import Nodes
from workbench.simulation.progress import TIE
from workbench.simulation.recorder import Nothing, Recorder
from workbench.throughput import TaskRounds, TaskTimes

NO_TASKS = TaskView()


@dataclass(slots=True)
class Rounds:
    """How far a job is. plan: its rounds; started: tasks of the current round that have; missing: those of it that have
    not synchronised yet."""

    rank: int
    tasks: int
    plan: TaskRounds
    current: int = 0
    missing: int = 0
    started: set[tuple[int, int]] = field(default_factory=set)

    @property
    def begun(self) -> bool:
        """Whether a task has started."""
        return bool(self.current or self.started)


class Computing(NamedTuple):
    """A task on its slot: it has the slot from start_s and computes from run_s to end_s."""

    task: Task
    start_s: float
    run_s: float
    end_s: float

    def part(self, now_s: float) -> float:
        """What part of it has been computed."""
        return max(0.0, now_s - self.run_s) / (self.end_s - self.run_s)


class Sequences:
    """The slots that run task sequences, and the jobs whose tasks they are.

    _ends: the ends of what computes, of which `_computing` knows the valid ones; _blocked: idle slots that wait for a
    job, for its next round or for the others of a task that starts together with them.
    """

    def __init__(self, scenario: Scenario, book: JobBook, nodes: Nodes, recorder: Recorder) -> None:
        self._table, self._book, self._nodes, self._recorder = scenario.table, book, nodes, recorder
        self._machine = {node.name: node for node in scenario.cluster.machines}
        self._queue: dict[Slot, deque[Task]] = {}
        self._computing: dict[Slot, Computing] = {}
        self._ends: list[tuple[float, int, Slot, Computing]] = []  # end, order, slot, what ends
        self._synchronising: list[tuple[float, int, Slot, Task, float]] = []  # end, order, slot, task, start
        self._rounds: dict[str, Rounds] = {}
        self._blocked: dict[str, dict[Slot, None]] = {}
        self._times: dict[tuple[int, str], TaskTimes] = {}
        self._why: Mapping[str, Reason] = {}
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
        while self._ends and self._computing.get(self._ends[0][2]) is not self._ends[0][3]:
            heapq.heappop(self._ends)  # its node has failed
        computed_s = self._ends[0][0] if self._ends else math.inf
        return min(computed_s, self._synchronising[0][0] if self._synchronising else math.inf)

    def view(self) -> TaskView:
        """What a scheduler sees of the tasks."""
        if not self._rounds and not self._queue:
            return NO_TASKS
        return TaskView(
            rounds={name: rounds.plan.count for name, rounds in self._rounds.items()},
            rounds_done={name: rounds.current for name, rounds in self._rounds.items()},
            started={name: frozenset(rounds.started) for name, rounds in self._rounds.items()},
            computing={slot: (found.task, found.start_s, found.end_s) for slot, found in self._computing.items()},
            waiting={slot: tuple(queue) for slot, queue in self._queue.items()},
            barrier_s=self._barriers(),
        )

    def _barriers(self) -> dict[str, float]:
        """When all tasks that have started will have synchronised, by job."""
        latest: dict[str, float] = {}
        for slot, found in self._computing.items():
            job = found.task.job
            latest[job] = max(latest.get(job, 0.0), found.end_s + self._synchronises_s(slot, found.task))
        for end_s, _, _, task, _ in self._synchronising:
            latest[task.job] = max(latest.get(task.job, 0.0), end_s)
        return latest

    # Decisions -------------------------------------------------------------------------------------------------------

    def check(
        self, sequences: Mapping[Slot, tuple[Task, ...]], free: set[Slot], checker: Checker, now_s: float
    ) -> None:
        """Every slot free or its own, every task there is, once, and not started; raises InvalidDecision."""
        seen: set[tuple[str, int, int]] = set()
        first: dict[str, Task] = {}
        plans: dict[str, Rounds] = {}
        for slot, tasks in sequences.items():
            if slot not in free and slot not in self._queue:
                checker.fail(now_s, None, slot, "a free slot of a node that is up")
            for task in tasks:
                if task.job not in first:
                    self._check_job(task, checker, now_s)
                    plans[task.job] = self._plan_of(task)
                same = first.setdefault(task.job, task)
                if task.steps != same.steps:
                    checker.fail(now_s, task.job, task, f"{same.steps} steps as its other tasks")
                if task.together != same.together:
                    checker.fail(now_s, task.job, task, f"together={same.together} as its other tasks")
                self._check_task(slot, task, plans[task.job], checker, now_s)
                if task[:3] in seen:
                    checker.fail(now_s, task.job, task, "each task once")
                seen.add(task[:3])

    def _check_job(self, task: Task, checker: Checker, now_s: float) -> None:
        if not self._book.is_active(task.job):
            checker.fail(now_s, task.job, task, "a job that has arrived and not finished")
        if task.steps < 1:
            checker.fail(now_s, task.job, task, "a task of at least 1 step")

    def _plan_of(self, task: Task) -> Rounds:
        """The rounds of a task's job: as begun, else as the task has them."""
        rounds = self._rounds.get(task.job)
        return rounds if rounds is not None and rounds.begun else self._plan(self._book.rank[task.job], task.steps)

    def _check_task(self, slot: Slot, task: Task, rounds: Rounds, checker: Checker, now_s: float) -> None:
        if task.steps != rounds.plan.steps_each:
            checker.fail(now_s, task.job, task, f"{rounds.plan.steps_each} steps as its tasks that have started")
        if not (0 <= task.round < rounds.plan.count and 0 <= task.number < rounds.tasks):
            checker.fail(now_s, task.job, task, f"a round below {rounds.plan.count} and a task below {rounds.tasks}")
        if task.round < rounds.current or (task.round, task.number) in rounds.started:
            checker.fail(now_s, task.job, task, "a task that has not started")
        if not 0 <= task.switch_s < math.inf:
            checker.fail(now_s, task.job, task, "a switch of a number of seconds >= 0")
        if not self._compute_s(rounds.rank, slot) < math.inf:
            checker.fail(now_s, task.job, slot, "a slot on which it has a throughput > 0")

    def replace(
        self, sequences: Mapping[Slot, tuple[Task, ...]], now_s: float, why: Mapping[str, Reason] | None = None
    ) -> None:
        """The tasks that have not started are these from now on, on slots that `check` found free.

        why: for each job, told when it first starts.
        """
        self._why = why or {}
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
        self._blocked = {}
        self._go_on(list(self._queue), now_s)

    def _plan(self, rank: int, steps_each: int) -> Rounds:
        job = self._book.jobs[rank]
        tasks, left = job.tasks_per_round or job.gpus, float(self._book.left[rank])
        return Rounds(rank, tasks, TaskRounds.of(left, tasks, steps_each), missing=tasks)

    # Time ------------------------------------------------------------------------------------------------------------

    def happen(self, now_s: float) -> list[int]:
        """Tasks that have computed or synchronised by now, and those that may start; returns jobs that are done."""
        done: list[int] = []
        due_s = now_s * (1 + TIE)
        if self.next_s() > due_s:
            return done
        turn: dict[Slot, None] = {}  # slots whose turn it may be, in order
        while self._ends and self._ends[0][0] <= due_s:
            _, _, slot, found = heapq.heappop(self._ends)
            if self._computing.get(slot) is found:
                self._computed(slot, found, now_s)
                turn[slot] = None
        while self._synchronising and self._synchronising[0][0] <= due_s:
            _, _, slot, task, start_s = heapq.heappop(self._synchronising)
            self._record(slot, task, "sync", start_s, now_s, 0.0)
            done += self._synchronised(task, turn)
        self._go_on(turn, now_s)
        return done

    def _computed(self, slot: Slot, found: Computing, now_s: float) -> None:
        task = found.task
        self._stop(slot, found, now_s, self._rounds[task.job].plan.steps(task.round))
        self._number += 1
        end_s = found.end_s + self._synchronises_s(slot, task)
        heapq.heappush(self._synchronising, (end_s, self._number, slot, task, now_s))

    def _synchronised(self, task: Task, turn: dict[Slot, None]) -> Iterator[int]:
        rounds = self._rounds[task.job]
        rounds.missing -= 1
        if rounds.missing == 0:
            rounds.current, rounds.missing = rounds.current + 1, rounds.tasks
            rounds.started = {key for key in rounds.started if key[0] >= rounds.current}
            turn.update(self._blocked.pop(task.job, {}))
            if rounds.current == rounds.plan.count:
                del self._rounds[task.job]
                yield rounds.rank

    def _go_on(self, turn: Iterable[Slot], now_s: float) -> None:
        """On slots whose turn it may be, start what may start; give back those that have nothing left to do."""
        for slot in turn:
            queue = self._queue.get(slot)
            if queue is None or slot in self._computing:
                continue
            if not queue:
                self._release(slot)
                continue
            rounds, waiting = self._rounds[queue[0].job], self._blocked.setdefault(queue[0].job, {})
            waiting[slot] = None
            if queue[0].round != rounds.current:
                continue
            ready = [slot]
            if queue[0].together:
                ready = [other for other in waiting if self._queue[other][0].round == rounds.current]
                if len(ready) < rounds.tasks - len(rounds.started):
                    continue
            for each in ready:
                del waiting[each]
                self._start(each, self._queue[each].popleft(), now_s)

    def _start(self, slot: Slot, task: Task, now_s: float) -> None:
        book, rounds = self._book, self._rounds[task.job]
        rounds.started.add((task.round, task.number))
        run_s = now_s + task.switch_s
        found = Computing(
            task, now_s, run_s, run_s + rounds.plan.whole_steps(task.round) * self._compute_s(rounds.rank, slot)
        )
        self._computing[slot] = found
        self._number += 1
        heapq.heappush(self._ends, (found.end_s, self._number, slot, found))
        book.settle(rounds.rank, now_s)
        book.held[rounds.rank] += 1
        if not book.has_run(rounds.rank):
            book.first_start_s[rounds.rank] = now_s
            reason = self._why[task.job].text if task.job in self._why else ""
            self._recorder.event(now_s, "start", task.job, task.job, f"{slot.node} x 1", reason)

    def _stop(self, slot: Slot, found: Computing, now_s: float, steps: float) -> None:
        """A slot's task computes no more: book its seconds and steps."""
        rank = self._rounds[found.task.job].rank
        run_s = min(found.run_s, now_s)
        del self._computing[slot]
        self._record(slot, found.task, "switch", found.start_s, run_s, 0.0)
        self._record(slot, found.task, "run", run_s, now_s, steps)
        self._book.settle(rank, now_s)
        self._book.held[rank] -= 1
        self._book.left[rank] -= steps
        self._book.stepped |= steps > 0
        self._book.run_s[rank] += now_s - run_s

    def _release(self, slot: Slot) -> None:
        del self._queue[slot]
        self._nodes.give_back({slot.node: 1}, (slot,))

    def _record(self, slot: Slot, task: Task, kind: str, start_s: float, end_s: float, steps: float) -> None:
        if end_s > start_s:
            self._recorder.interval(Nothing, (slot,), task, (task.job,), kind, start_s, end_s, (steps, 0.0))

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
                if steps > 0:
                    self._book.lose(rounds.rank, steps)
                    lost.append((found.task.job, steps))
            for waiting in self._blocked.values():
                waiting.pop(slot, None)
            self._release(slot)
        return lost

    def close(self, now_s: float) -> None:
        """The simulation ends: record what is still open."""
        for slot, found in list(self._computing.items()):
            self._stop(slot, found, now_s, self._part(found, now_s))
        for _, _, slot, task, start_s in self._synchronising:
            self._record(slot, task, "sync", start_s, now_s, 0.0)

    def _part(self, found: Computing, now_s: float) -> float:
        """Steps of a task that computes, up to now."""
        return self._rounds[found.task.job].plan.steps(found.task.round) * found.part(now_s)

    # How long it takes -----------------------------------------------------------------------------------------------

    def _compute_s(self, rank: int, slot: Slot) -> float:
        """Seconds that one step computes, infinite where it cannot."""
        return self._times_of(rank, slot).compute_s / self._machine[slot.node].speed

    def _synchronises_s(self, slot: Slot, task: Task) -> float:
        """Seconds that a task synchronises."""
        rounds = self._rounds[task.job]
        return rounds.plan.whole_steps(task.round) * self._times_of(rounds.rank, slot).sync_s

    def _times_of(self, rank: int, slot: Slot) -> TaskTimes:
        kind = self._machine[slot.node].accelerator
        if (rank, kind) not in self._times:
            job = self._book.jobs[rank]
            tasks = job.tasks_per_round or job.gpus
            self._times[rank, kind] = self._table.task_times(job.model, kind, tasks, job.sizes)
        return self._times[rank, kind]
