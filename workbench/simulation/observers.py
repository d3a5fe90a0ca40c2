"""Who watches a simulation: called after each decision, changes nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, Protocol


class RunProgress(NamedTuple):
    """Where a simulation stands."""

    now_s: float
    decisions: int
    finished: int
    jobs: int
    running: int
    waiting: int


class Observer(Protocol):
    """Something that wants to know."""

    def on_decision(self, progress: RunProgress) -> None:
        """Called after each decision has been applied."""
        ...


class ProgressReport:
    """Hands on the progress at most every `every_s` seconds of wall time."""

    def __init__(self, tell: Callable[[RunProgress], None], every_s: float = 0.1) -> None:
        self._tell, self._every_s, self._last = tell, every_s, -float("inf")

    def on_decision(self, progress: RunProgress) -> None:
        """Pass it on if enough time has gone by."""
        now = time.monotonic()
        if now - self._last >= self._every_s:
            self._last = now
            self._tell(progress)
