"""Work in the kernel itself, at once: what is small enough to follow a pointer, and all where no process may be.

A page sends the next value of a control when the kernel has answered the one before, so that what is done here is
always about the newest, and nothing waits in a line.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

from widgets.work.workplace import Hear, Message, Workplace
from workbench.scenario.scenario import Scenario
from workbench.simulation.state import State
from workbench.simulation.stop import RunCancelledError, Stop

MOST_JOBS = 10
"""Scenarios of so many jobs are tried here."""
PATIENCE_S = 1.0
"""What has not ended here by then is done anew in a process."""


def is_small(scenario: Scenario) -> bool:
    """Whether its runs may follow a pointer."""
    return len(scenario.jobs) <= MOST_JOBS


class KernelWork:
    """Does requests before `submit` returns; Cancel comes too late for them. No process, no thread.

    beyond: who does a simulation that has taken longer than PATIENCE_S; without it everything is done here.
    gave_up: whether that happened to the last one.
    """

    def __init__(self, beyond: Callable[[], Workplace] | None = None) -> None:
        self._beyond = beyond
        self.gave_up = False

    def submit(self, request: Message, hear: Hear, asker: Hashable = None) -> None:
        """Do a request, and tell what came of it."""
        from workbench.cli.lab_process import ManyRuns, serve, stop_of

        stop = None
        if self._beyond is not None and request["kind"] == "simulate":
            stop = _Patience(stop_of(request), time.monotonic() + PATIENCE_S)
        found: list[Message] = []
        serve(request, found.append, ManyRuns(alone=True), stop)
        self.gave_up = found[-1]["kind"] == "cancelled"
        if self.gave_up and self._beyond is not None:
            self._beyond().submit({**request, "scenario": request["scenario"].to_dict()}, hear, asker)
            return
        for message in found:
            hear(message)

    def cancel(self, asker: Hashable = None) -> None:
        """Nothing is being done."""


class _Patience:
    """A rule that ends the run with `RunCancelledError` once it is late."""

    def __init__(self, rule: Stop, late_s: float) -> None:
        self._rule, self._late_s = rule, late_s

    def latest_s(self) -> float:
        return self._rule.latest_s()

    def __call__(self, state: State) -> bool:
        if time.monotonic() > self._late_s:
            raise RunCancelledError("simulation in the kernel", f"{PATIENCE_S:g} s", "to have ended")
        return self._rule(state)
