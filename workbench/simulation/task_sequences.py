"""Tasks in sequence on single slots (`Decision.sequences`, Hare): a slot is held while a task computes, no longer.

A job is ceil(steps left / (K k)) task rounds of K tasks, K = tasks_per_round or else gpus; a task is
k = `Task.steps` steps (1 by default), in the last round an equal part of what is left. A step computes for 1/r(1) on
the slot's type and node, a part of one as well. Then the task synchronises, for each of its steps `sync_s` or
max(0, K/r(K) - 1/r(1)), while its slot goes on (`workbench.scenario.throughput.TaskTimes`). A round starts when all
tasks of the one before have synchronised; tasks that start `together` all at once, when the slots of all of them have
come to them. Each slot takes its tasks in order, and none is interrupted. It is held from when it switches to a task
(`Decision.switching`) until that has computed; moving a job's tasks between slots is free.

A round may be narrower (`Task.width`): it does the steps of so many tasks, and more rounds follow, so that a job does
as many tasks of as many steps in all, whatever the widths.

Coarse rounds (k > 1) are optimistic: others use waiting in one piece that the barriers of k rounds would cut up.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.base.arrays import BoolArray
from workbench.base.errors import InputError, Words, counted
from workbench.base.round_times import TIE
from workbench.scenario.scenario import Scenario
from workbench.scenario.throughput import TaskRounds, TaskTimes
from workbench.scheduling.decision import FoundValue, Reason, Slot, Switching, Task, task_parts, unit_name
from workbench.scheduling.snapshot import Observation, TaskView
from workbench.simulation.enforced_limits import Checker, is_switch
from workbench.simulation.jobbook import JobBook
from workbench.simulation.nodes import Nodes
from workbench.simulation.recorder import Nothing, Recorder

if TYPE_CHECKING:
    import pandas as pd

    from workbench.simulation.run import Run

NO_TASKS = TaskView()


@dataclass(slots=True)
class Rounds:
    """How far a job is. tasks: K; division: its rounds of K tasks; current: rounds done, and done: tasks of those;
    width: tasks of the current round, fixed when the first starts; started: those that have; missing: those that have
    not synchronised yet."""

    rank: int
    tasks: int
    division: TaskRounds
    width: int
    missing: int
    current: int = 0
    done: int = 0
    started: set[tuple[int, int]] = field(default_factory=set)

    @property
    def begun(self) -> bool:
        """Whether a task has started."""
        return bool(self.current or self.started)

    @property
    def row(self) -> tuple[int, ...]:
        """What a plan of tasks is checked against."""
        own = self.division
        return (own.steps_each, self.tasks, self.width, own.count, self.current, self.done, len(self.started))

    @property
    def left(self) -> int:
        """Tasks of rounds that have not begun."""
        return self.division.count * self.tasks - self.done - (self.width if self.started else 0)

    def steps(self, number: int) -> float:
        """Steps of a task of the current round. A job's last K tasks have an equal part of what is left."""
        return self.division.steps((self.done + number) // self.tasks)

    def whole_steps(self, number: int) -> int:
        """The same, a part of a step counted as one."""
        return self.division.whole_steps((self.done + number) // self.tasks)


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
    job, for its next round or for the others of a task that starts together with them; _held: what the GPU of
    each slot holds, see `Switching`; used: whether there ever were any; _measured_s: seconds of computing by job and
    node since `measured` was asked.
    """

    def __init__(self, scenario: Scenario, book: JobBook, nodes: Nodes, recorder: Recorder, checker: Checker) -> None:
        self._checker = checker
        self._switching: Switching | None = None
        self._held: dict[Slot, Any] = {}
        self._table, self._book, self._nodes, self._recorder = scenario.table, book, nodes, recorder
        self._machine = {node.name: node for node in scenario.cluster.each_node}
        self._queue: dict[Slot, deque[Task]] = {}
        self._computing: dict[Slot, Computing] = {}
        self._ends: list[tuple[float, int, Slot, Computing]] = []  # end, order, slot, what ends
        self._synchronising: list[tuple[float, int, Slot, Task, float]] = []  # end, order, slot, task, start
        self._rounds: dict[str, Rounds] = {}
        self._blocked: dict[str, dict[Slot, None]] = {}
        self._times: dict[tuple[int, str], TaskTimes] = {}
        self._why: Mapping[str, Reason] = {}
        self._number = 0
        self._measured_s: dict[tuple[str, str], float] = {}
        self.used = False

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
        if not self._ends and not self._synchronising:
            return math.inf
        while self._ends and self._computing.get(self._ends[0][2]) is not self._ends[0][3]:
            heapq.heappop(self._ends)  # its node has failed
        computed_s = self._ends[0][0] if self._ends else math.inf
        return min(computed_s, self._synchronising[0][0] if self._synchronising else math.inf)

    def view(self) -> TaskView:
        """What a scheduler sees of the tasks."""
        if not self._rounds and not self._queue:
            return NO_TASKS
        return TaskView(
            rounds={name: rounds.division.count for name, rounds in self._rounds.items()},
            rounds_done={name: rounds.current for name, rounds in self._rounds.items()},
            tasks_done={name: rounds.done for name, rounds in self._rounds.items()},
            width={name: rounds.width for name, rounds in self._rounds.items() if rounds.started},
            started={name: frozenset(rounds.started) for name, rounds in self._rounds.items()},
            computing={slot: (found.task, found.start_s, found.end_s) for slot, found in self._computing.items()},
            waiting={slot: tuple(queue) for slot, queue in self._queue.items()},
            barrier_s=self._barriers(),
        )

    def measured(self) -> Callable[[], list[Observation]]:
        """What could be measured of tasks that have computed, or were broken off, since this was last asked.

        A task tells r(1) on its node; a job whose table has no r(1) tells nothing. How long it then synchronises is no
        speed of a gang, since those tasks may be on several nodes and at different times.
        """
        seconds, self._measured_s = self._measured_s, {}

        def observe() -> list[Observation]:
            found = []
            for (job, node), ran_s in seconds.items():
                rank, slot = self._book.rank[job], Slot(node, 0)
                if self._times_of(rank, slot).note != "from_gang":
                    found.append(Observation(job, job, {node: 1}, 1.0 / self._compute_s(rank, slot), ran_s))
            return found

        return observe

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

    def check(self, sequences: Mapping[Slot, tuple[Task, ...]], free: set[Slot], now_s: float) -> None:
        """Every slot free or its own, every task there is, once, and not started; raises InvalidDecision."""
        for slot in sequences:
            if slot not in free and slot not in self._queue:
                self._checker.fail(now_s, None, slot, "a free slot of a node that is up")
        every = list(chain.from_iterable(sequences.values()))
        if not every:
            return

        def require(holds: BoolArray, limit: Callable[[int], str]) -> None:
            if not holds.all():
                at = int(np.argmin(holds))
                self._checker.fail(now_s, every[at].job, every[at], limit(at))

        jobs, *numbers, widths = zip(*every, strict=True)
        rows = {job: row for row, job in enumerate(dict.fromkeys(jobs))}
        row = np.array(list(map(rows.__getitem__, jobs)))
        round_, number, steps, together = map(np.array, numbers)
        width = np.array([0 if own is None else own or -1 for own in widths])
        first = np.unique(row, return_index=True)[1]
        plans = [self._plan_of(every[at], now_s) for at in first.tolist()]
        require(steps == steps[first][row], lambda at: f"{every[first[row[at]]].steps} steps as its other tasks")
        each, tasks, wide, count, current, done, begun = np.array([plan.row for plan in plans]).T[:, row]
        require(steps == each, lambda at: f"{each[at]} steps as its tasks that have started")
        require((width >= 0) & (width <= tasks), lambda at: f"a width from 1 to {tasks[at]}")
        most = np.where(width > 0, current + count * tasks - done, count)
        wide = np.where((begun > 0) & (round_ == current), wide, np.where(width > 0, width, tasks))
        there = (round_ >= 0) & (round_ < most) & (number >= 0) & (number < wide)
        require(there, lambda at: f"a round below {most[at]} and a task below {wide[at]}")
        left = round_ >= current
        for at in np.flatnonzero((begun > 0) & (round_ == current)).tolist():
            left[at] = (every[at].round, every[at].number) not in plans[row[at]].started
        require(left, lambda at: "a task that has not started")
        _, of, at_round = np.unique(row * (round_.max() + 1) + round_, return_index=True, return_inverse=True)
        like = (together == together[of][at_round]) & (width == width[of][at_round])
        require(like, lambda at: _as_its_round(every[of[at_round[at]]]))
        once = np.zeros(len(every), dtype=bool)
        once[np.unique(at_round * (number.max() + 1) + number, return_index=True)[1]] = True
        require(once, lambda at: "each task once")
        self._check_speeds(sequences, now_s)
        self._check_widths([every[at] for at in np.sort(of).tolist()], dict(zip(rows, plans, strict=True)), now_s)

    def _plan_of(self, task: Task, now_s: float) -> Rounds:
        """The rounds of a task's job: as begun, else as the task has them."""
        if not self._book.is_active(task.job):
            self._checker.fail(now_s, task.job, task, "a job that has arrived and not finished")
        if task.steps < 1:
            self._checker.fail(now_s, task.job, task, "a task of at least 1 step")
        rounds = self._rounds.get(task.job)
        return rounds if rounds is not None and rounds.begun else self._plan(self._book.rank[task.job], task.steps)

    def _check_speeds(self, sequences: Mapping[Slot, tuple[Task, ...]], now_s: float) -> None:
        """Every job runs on the nodes of its tasks."""
        seen: dict[str, set[str]] = {}  # by accelerator type
        for slot, tasks in sequences.items():
            runs = seen.setdefault(self._machine[slot.node].accelerator, set())
            for job in [job for job in dict.fromkeys(map(attrgetter("job"), tasks)) if job not in runs]:
                if not self._compute_s(self._book.rank[job], slot) < math.inf:
                    self._checker.fail(now_s, job, slot, "a slot on which it has a throughput > 0")
                runs.add(job)

    def _check_widths(self, first_of: Iterable[Task], plans: Mapping[str, Rounds], now_s: float) -> None:
        """Each round as wide as it began, and those of a job all within what is left; first_of: a task of each."""
        wanted: dict[str, int] = {}
        for task in first_of:
            rounds, wide = plans[task.job], task.width or plans[task.job].tasks
            began = bool(rounds.started) and task.round == rounds.current
            if began and wide != rounds.width:
                self._checker.fail(now_s, task.job, task, f"width={rounds.width} as its round has begun")
            wanted[task.job] = wanted.get(task.job, 0) + (0 if began else wide)
        for job, tasks in wanted.items():
            if tasks > plans[job].left:
                limit = f"rounds of no more tasks than are left, {plans[job].left}"
                self._checker.fail(now_s, job, Words(counted(tasks, "task")), limit)

    def replace(
        self,
        sequences: Mapping[Slot, tuple[Task, ...]],
        now_s: float,
        why: Mapping[str, Reason],
        switching: Switching | None,
    ) -> None:
        """The tasks that have not started are these from now on, on slots that `check` found free.

        why: for each job, told when it first starts.
        """
        self._why, self._switching, self.used = why, switching, True
        for slot in self._queue:
            self._queue[slot] = deque()
        for slot, tasks in sequences.items():
            if tasks and slot not in self._queue:
                self._nodes.take([({slot.node: 1}, (slot,))])
            if tasks:
                self._queue[Slot(*slot)] = deque(tasks)
        self._rounds = {name: rounds for name, rounds in self._rounds.items() if rounds.begun}
        steps_each = dict(map(attrgetter("job", "steps"), chain.from_iterable(sequences.values())))
        for name, steps in steps_each.items():
            if name not in self._rounds:
                self._rounds[name] = self._plan(self._book.rank[name], steps)
        self._blocked = {}
        self._go_on(list(self._queue), now_s)

    def _plan(self, rank: int, steps_each: int) -> Rounds:
        job = self._book.jobs[rank]
        tasks, left = job.tasks_per_round or job.gpus, float(self._book.left[rank])
        return Rounds(rank, tasks, TaskRounds.of(left, tasks, steps_each), tasks, tasks)

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
        self._stop(slot, found, now_s, self._rounds[task.job].steps(task.number))
        self._number += 1
        end_s = found.end_s + self._synchronises_s(slot, task)
        heapq.heappush(self._synchronising, (end_s, self._number, slot, task, now_s))

    def _synchronised(self, task: Task, turn: dict[Slot, None]) -> Iterator[int]:
        rounds = self._rounds[task.job]
        rounds.missing -= 1
        if rounds.missing == 0:
            rounds.current, rounds.done = rounds.current + 1, rounds.done + rounds.width
            rounds.started = {key for key in rounds.started if key[0] >= rounds.current}
            turn.update(self._blocked.pop(task.job, {}))
            if rounds.done == rounds.division.count * rounds.tasks:
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
                width = rounds.width if rounds.started else queue[0].width or rounds.tasks
                if len(ready) < width - len(rounds.started):
                    continue
            for each in ready:
                del waiting[each]
                self._start(each, self._queue[each].popleft(), now_s)

    def _start(self, slot: Slot, task: Task, now_s: float) -> None:
        book, rounds = self._book, self._rounds[task.job]
        if not rounds.started:
            rounds.width = rounds.missing = task.width or rounds.tasks
        rounds.started.add((task.round, task.number))
        step_s = self._compute_s(rounds.rank, slot)
        run_s = now_s + self._switch_s(slot, task, step_s, now_s)
        found = Computing(task, now_s, run_s, run_s + rounds.whole_steps(task.number) * step_s)
        self._computing[slot] = found
        self._number += 1
        heapq.heappush(self._ends, (found.end_s, self._number, slot, found))
        book.settle(rounds.rank, now_s, 1)
        if math.isnan(book.one.first_start_s[rounds.rank]):  # none
            book.first_start_s[rounds.rank] = now_s
            book.begun.add(rounds.rank)
            reason = self._why[task.job].text if task.job in self._why else ""
            self._recorder.event(now_s, "start", task.job, task.job, f"{slot.node} x 1", reason)

    def _switch_s(self, slot: Slot, task: Task, step_s: float, now_s: float) -> float:
        """Seconds of the switch to a task that starts."""
        if self._switching is None:
            return 0.0
        switch = self._switching.begin(slot, task, step_s, self._held.get(slot))
        if not is_switch(switch):
            found = FoundValue(f"the switch to {unit_name(task)}", switch)
            self._checker.fail(now_s, task.job, found, "a Switch(seconds >= 0, reason)")
        self._held[slot] = switch.held
        if switch.reason:
            where = f"{slot.node}/{slot.number}"
            self._recorder.event(now_s, "switch", task.job, unit_name(task), where, switch.reason)
        return switch.switch_s

    def _stop(self, slot: Slot, found: Computing, now_s: float, steps: float) -> None:
        """A slot's task computes no more: book its seconds and steps."""
        rank = self._rounds[found.task.job].rank
        run_s = min(found.run_s, now_s)
        del self._computing[slot]
        self._record(slot, found.task, "switch", found.start_s, run_s, 0.0)
        self._record(slot, found.task, "run", run_s, now_s, steps)
        self._book.settle(rank, now_s, -1)
        self._book.left[rank] -= steps
        self._book.stepped |= steps > 0
        self._book.run_s[rank] += now_s - run_s
        if now_s > run_s:
            key = (found.task.job, slot.node)
            self._measured_s[key] = self._measured_s.get(key, 0.0) + now_s - run_s

    def _release(self, slot: Slot) -> None:
        del self._queue[slot]
        self._nodes.give_back({slot.node: 1}, (slot,))

    def _record(self, slot: Slot, task: Task, kind: str, start_s: float, end_s: float, steps: float) -> None:
        if end_s > start_s:
            self._recorder.interval(Nothing, (slot,), task, (task.job,), kind, start_s, end_s, (steps, 0.0))

    # Ends before the end ---------------------------------------------------------------------------------------------

    def fail(self, node: str, now_s: float) -> list[tuple[Task, float]]:
        """A node goes down: its tasks, started or not, are nobody's until new sequences come; returns those that lose
        steps, and how many."""
        lost = []
        for slot in self._nodes.slots.slots(node):
            if slot in self._held and self._switching is not None:
                self._held[slot] = self._switching.fault(self._held[slot])
        for slot in [slot for slot in self._queue if slot.node == node]:
            found = self._computing.get(slot)
            if found is not None:
                rounds = self._rounds[found.task.job]
                steps = self._part(found, now_s)
                self._stop(slot, found, now_s, steps)
                rounds.started.discard((found.task.round, found.task.number))
                if steps > 0:
                    self._book.lose(rounds.rank, steps)
                    lost.append((found.task, steps))
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
        return self._rounds[found.task.job].steps(found.task.number) * found.part(now_s)

    # How long it takes -----------------------------------------------------------------------------------------------

    def _compute_s(self, rank: int, slot: Slot) -> float:
        """Seconds that one step computes, infinite where it cannot."""
        return self._times_of(rank, slot).compute_s / self._machine[slot.node].speed

    def _synchronises_s(self, slot: Slot, task: Task) -> float:
        """Seconds that a task synchronises."""
        rounds = self._rounds[task.job]
        return rounds.whole_steps(task.number) * self._times_of(rounds.rank, slot).sync_s

    def _times_of(self, rank: int, slot: Slot) -> TaskTimes:
        kind = self._machine[slot.node].accelerator
        if (rank, kind) not in self._times:
            job = self._book.jobs[rank]
            tasks = job.tasks_per_round or job.gpus
            self._times[rank, kind] = self._table.task_times(job.model, kind, tasks, job.sizes)
        return self._times[rank, kind]


def _as_its_round(task: Task) -> str:
    return f"together={task.together} and width={task.width} as its round's other tasks"


NOTE = r"^(?P<load>\w+): (?P<switch_s>\S+) s(?:, loaded (?P<sooner_s>\S+) s sooner)?$"
"""The reason of an event `switch`."""
SWITCHES = ("job", "round", "task", "gpu", "time_s", "load", "switch_s", "sooner_s")


def switch_table(events: pd.DataFrame) -> pd.DataFrame:
    """The switches of a run that took time, in their order, from its events `switch`.

    Columns job, round, task, gpu (`node/slot`), time_s (when the switch begins), load (hit, miss or unknown), switch_s,
    sooner_s (the model's loading began so much before time_s, beside the task before: early cleaning). No rows for
    a run without switches. Raises InputError for events `switch` whose reason is not as
    Hare gives it: `hit: 0.00277 s`, or `miss: 0.00301 s, loaded 0.001 s sooner`.
    """
    rows = events[events["event"] == "switch"]
    parts = task_parts(rows["unit"])
    found = rows["reason"].astype(str).str.extract(NOTE)
    bad = parts["job"].isna() | found["load"].isna()
    if bad.any():
        raise InputError("events, switch", str(rows["reason"][bad].iloc[0]), "`load: seconds s`, as Hare records it")
    table = rows.assign(
        round=parts["round"].astype("int64"),
        task=parts["task"].astype("int64"),
        gpu=rows["where"],
        load=found["load"],
        switch_s=found["switch_s"].astype(float),
        sooner_s=found["sooner_s"].astype(float).fillna(0.0),
    )
    return table[list(SWITCHES)].reset_index(drop=True)


def hit_rate(switches: pd.DataFrame) -> float:
    """Hits among the switches of a table whose memory is known; nan without any."""
    known = switches["load"].isin(["hit", "miss"])
    return float((switches["load"][known] == "hit").mean()) if known.any() else math.nan


def task_table(run: Run) -> pd.DataFrame:
    """The tasks of a run, in order of start.

    Columns job, round, task (from 0), node, slot, accelerator, switch_s (seconds), start_s, end_s (of computing),
    synchronised_s, steps.

    A task that a node's failure broke off has one row, of its last attempt, and none where its round was begun anew
    with fewer tasks; one that the run's end broke off ends there, and one that had not begun to compute by then is left
    out. Raises InputError for a run without tasks.
    """
    import pandas as pd

    of_jobs = run.timeline[run.timeline["job"] != ""]
    parts = task_parts(of_jobs["unit"])
    if parts["job"].isna().any():
        expected = "a run in task sequences, with units `job #round.task`"
        raise InputError("timeline", str(of_jobs["unit"][parts["job"].isna()].iloc[0]), expected)
    rows = of_jobs.assign(round=parts["round"].astype("int64"), task=parts["task"].astype("int64"))
    key = ["job", "round", "task"]
    rows = rows.sort_values("start_s", kind="stable")
    ran = rows[rows["kind"] == "run"].drop_duplicates(key, keep="last")
    ran = ran[[*key, "unit", "node", "slot", "accelerator", "start_s", "end_s", "steps"]]
    lost = run.events.loc[run.events["event"] == "lost_steps", ["unit", "time_s"]]
    broken = pd.MultiIndex.from_frame(ran[["unit", "end_s"]]).isin(pd.MultiIndex.from_frame(lost))
    synchronised = rows[rows["kind"] == "sync"].drop_duplicates(key, keep="last")
    of_round = ran.groupby(["job", "round"])
    short = ran["steps"] < of_round["steps"].transform("max") * (1 - 1e-9)  # whole, if of fewer steps
    ran = ran[~(broken & short) | (ran["end_s"] > of_round["start_s"].transform("max"))]
    switched = rows[rows["kind"] == "switch"].rename(columns={"end_s": "computes_s", "start_s": "switches_s"})
    switched = switched[[*key, "node", "slot", "computes_s", "switches_s"]]
    synchronised = synchronised[[*key, "end_s"]].rename(columns={"end_s": "synchronised_s"})
    found = ran.merge(
        switched,
        "left",
        left_on=[*key, "node", "slot", "start_s"],
        right_on=[*key, "node", "slot", "computes_s"],
    ).merge(synchronised, "left", on=key)
    found["switch_s"] = (found["start_s"] - found["switches_s"]).fillna(0.0)
    found["synchronised_s"] = found["synchronised_s"].fillna(found["end_s"])
    columns = [*key, "node", "slot", "accelerator", "switch_s", "start_s", "end_s", "synchronised_s", "steps"]
    return found[columns].sort_values(["start_s", *key], kind="stable").reset_index(drop=True)
