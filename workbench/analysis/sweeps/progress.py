"""How far a sweep is, and how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True)
class SweepProgress:
    """Where a sweep stands.

    runs: different runs that it asks for; kept: of these were in the store; done, failed: ended since it began;
    elapsed_s: wall time since then, s.
    """

    runs: int
    kept: int
    done: int = 0
    failed: int = 0
    elapsed_s: float = 0.0

    @property
    def ended(self) -> int:
        """Runs whose outcome is known, those of the store included."""
        return self.kept + self.done + self.failed

    @property
    def left_s(self) -> float | None:
        """Wall time that the rest takes if it goes on like this; None before the first run has ended."""
        new = self.done + self.failed
        left = self.runs - self.ended
        return 0.0 if left == 0 else self.elapsed_s * left / new if new else None


class Tally:
    """Counts the runs of a sweep as they end, and tells whoever wants to know."""

    def __init__(self, runs: int, kept: int, tell: Callable[[SweepProgress], None] | None) -> None:
        self._began, self._tell = time.monotonic(), tell
        self._now = SweepProgress(runs, kept)
        self._report()

    def count(self, status: Literal["done", "failed"]) -> None:
        """A run has ended."""
        elapsed_s = time.monotonic() - self._began
        self._now = replace(self._now, **{status: getattr(self._now, status) + 1}, elapsed_s=elapsed_s)
        self._report()

    def _report(self) -> None:
        if self._tell is not None:
            self._tell(self._now)
