"""When a simulation ends: by a rule, cancelled, or stalled."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from workbench.base.errors import WorkbenchError
from workbench.scheduling.contract import Result

if TYPE_CHECKING:
    from workbench.scheduling.decision import Decision
    from workbench.simulation.state import State

MOST_IDLE_ROUNDS = 1000
"""After so many decisions in a row that leave every GPU idle while jobs wait, rounds are skipped until a job comes or a
node changes; if neither is to come, it is stuck. So it is after so many without a step of any job while somebody holds
GPUs, up to STEPS_SEEN more."""

STEPS_SEEN = 50
"""Whether jobs do steps, and keep them, is looked at once in so many decisions."""

MOST_IDLE_CHANGES = 10 * MOST_IDLE_ROUNDS
"""It is stuck, too, after so many of them although nodes fail and come back all the time, if no job is to come, or
without a step although jobs are profiled."""

RESTARTS = 10
"""Rounds without a step count only once as many of the longest restarts could have ended (many may fall into one), or
MOST_IDLE_ROUNDS of them have been broken off."""

MOST_LOSSES = 1000
"""After so many faults in a row that throw a job back to the same step, while no other finishes, it never will."""


class Stop(Protocol):
    """A rule that is asked before each decision."""

    def latest_s(self) -> float:
        """The simulation does not go beyond this time."""
        ...

    def __call__(self, state: State) -> bool:
        """Whether to end now."""
        ...


class AllFinished:
    """Ends when every job has finished (or was refused)."""

    def latest_s(self) -> float:
        return float("inf")

    def __call__(self, state: State) -> bool:
        return state.book.unfinished == 0


class Until:
    """Ends at a time, or when every job has finished."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def latest_s(self) -> float:
        return self.seconds

    def __call__(self, state: State) -> bool:
        return state.now_s >= self.seconds or state.book.unfinished == 0


class WindowFinished:
    """Ends when the jobs from number `first` to `last` (by arrival, inclusive, from 0) have finished: steady state.

    It is asked before a decision: the run ends up to a round, or a decision's `quiet_s`, after the last of them.
    """

    def __init__(self, first: int, last: int) -> None:
        self.first, self.last = first, last

    def latest_s(self) -> float:
        return float("inf")

    def __call__(self, state: State) -> bool:
        return state.book.unfinished == 0 or state.all_finished(self.first, self.last)


class Earliest:
    """Ends as soon as one of several rules does."""

    def __init__(self, rules: Iterable[Stop]) -> None:
        self._rules = tuple(rules)

    def latest_s(self) -> float:
        return min(rule.latest_s() for rule in self._rules)

    def __call__(self, state: State) -> bool:
        return any(rule(state) for rule in self._rules)


def stop_rule(until_s: float | None, window: tuple[int, int] | None) -> Stop:
    """The rule of a run that ends at a time, when the jobs of a window have finished, or at the earlier of both.

    until_s: s, window: first and last job by arrival, from 0; with neither it ends when all jobs have finished.
    """
    rules: list[Stop] = [] if until_s is None else [Until(until_s)]
    if window is not None:
        rules.append(WindowFinished(*window))
    return Earliest(rules) if len(rules) > 1 else (rules or [AllFinished()])[0]


class RunCancelledError(WorkbenchError):
    """The user cancelled the run."""

    status = "cancelled"


class CancelFlag:
    """A rule that ends the run with `RunCancelledError` once `cancel()` was called, from any thread."""

    def __init__(self, rule: Stop) -> None:
        self._rule = rule
        self._flag = threading.Event()

    def cancel(self) -> None:
        """Ask for the end; it takes effect before the next decision."""
        self._flag.set()

    def latest_s(self) -> float:
        return self._rule.latest_s()

    def __call__(self, state: State) -> bool:
        if self._flag.is_set():
            raise RunCancelledError("simulation", f"cancelled at {state.now_s:g} s", "to run to its end")
        return self._rule(state)


class Stalled(WorkbenchError):
    """Jobs wait, nothing runs, and nothing will happen that could change it."""

    status = "stalled"


class StallWatch:
    """Looks after each decision whether anything will ever happen again. without_end: no time ends the run anyway."""

    def __init__(self, *, without_end: bool) -> None:
        self._without_end = without_end
        self._idle_rounds = 0
        self._rounds = 0  # with GPUs held, since
        self._stepped_s = 0.0  # when steps were last looked for, and found
        self._broken_off = 0

    def holding(self, state: State) -> None:
        """A decision after which GPUs are held; raises Stalled where no job comes any further."""
        self._idle_rounds = 0
        self._rounds += 1
        if not self._rounds % STEPS_SEEN:
            self._watch_steps(state)
            if self._without_end and state.book.fruitless:
                self._watch_losses(state)

    def has_idled(self, state: State, decision: Decision) -> bool:
        """Whether decisions without leases have left all idle so often that the next change may be waited for."""
        if state.sequences.busy or not state.book.present:
            self._idle_rounds = 0
            return False
        self._idle_rounds += 1
        if self._idle_rounds < MOST_IDLE_ROUNDS:
            return False
        if state.book.next_arrival_s == math.inf:
            settled = state.nodes.up.all() or state.faults.next_s == math.inf
            if settled or self._idle_rounds >= MOST_IDLE_CHANGES:
                stuck(state, decision)
        return True

    def _watch_steps(self, state: State) -> None:
        """Look for decisions between which nobody did a step although GPUs are held: restarts that never end."""
        if state.has_stepped(self._stepped_s):
            self._rounds, self._stepped_s, self._broken_off = 0, state.now_s, state.leasing.broken_off
        if self._rounds < MOST_IDLE_ROUNDS:
            return
        leases = state.leasing.leases.values()
        if self._rounds < MOST_IDLE_CHANGES and any(lease.assignment.kind == "profile" for lease in leases):
            self._stepped_s, self._broken_off = state.now_s, state.leasing.broken_off  # profiles are no steps, and end
            return
        restart_s = max((state.leasing.restart_s(len(each.slots)) for each in leases), default=0)
        broken_off = state.leasing.broken_off - self._broken_off
        if broken_off >= MOST_IDLE_ROUNDS or state.now_s - self._stepped_s >= RESTARTS * restart_s:
            found = f"{self._rounds} rounds without a step of {_listed(state)}"
            if restart_s > 0:
                found += f": a restart takes {restart_s:g} s"
            expected = "rounds longer than a restart" if restart_s > 0 else "a scheduler that lets jobs run"
            raise Stalled(f"simulation at {state.now_s:g} s", found, expected)

    def _watch_losses(self, state: State) -> None:
        """Look for a job that faults throw back again and again."""
        rank, times = max(state.book.fruitless.items(), key=lambda found: found[1])
        if times >= MOST_LOSSES:
            found = f"{state.book.names[rank]} lost all that it had done to faults {times} times in a row"
            expected = "faults further apart (mtbf_s), a shorter checkpoint_s, or a time to end at"
            raise Stalled(f"simulation at {state.now_s:g} s", found, expected)


def stuck(state: State, decision: Decision) -> None:
    """Raise Stalled: jobs wait, nobody has GPUs, and this was the last that was decided."""
    answer = f" ({decision.solved.headline()})" if isinstance(decision.solved, Result) else ""
    where = f"simulation at {state.now_s:g} s, by {state.checker.scheduler}{answer}"
    raise Stalled(where, _listed(state), "a scheduler that gives GPUs to the jobs that wait")


def _listed(state: State) -> str:
    """The jobs that are there, the first ones by name."""
    names = [state.book.names[i] for i in state.book.active().tolist()]
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
