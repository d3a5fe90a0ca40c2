"""When a simulation ends."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from workbench.base.errors import WorkbenchError

if TYPE_CHECKING:
    from workbench.simulation.state import State


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
