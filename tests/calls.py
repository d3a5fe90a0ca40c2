"""What something costs in calls, the same on every machine under any load (`benchmarks/` measures seconds)."""

from __future__ import annotations

import contextlib
import cProfile
import gc
import logging
from collections.abc import Iterator
from typing import Any
from unittest import mock

from workbench.simulation.recorder import Recorder


def _hold(count: int, what: str, most: int) -> None:
    logging.getLogger(__name__).info(said := f"{count:,} {what}; allowed {most:,}")
    assert count <= most, said


@contextlib.contextmanager
def calls_at_most(most: int) -> Iterator[None]:
    """Fail if this thread makes more calls of functions, Python's and those in C, than so many in the block.

    They grow as Python's work does, and not where numpy or a solver takes a whole array at once. What is imported and
    cached already saves some, so a bound is two to three times what the test makes alone, or the largest of its cases
    under one bound (pytest -rP --log-level=info tells). What tests before left is not collected in the block: a lab's
    finalizers alone make some thousand.
    """
    gc.disable()
    try:
        with cProfile.Profile() as profile:
            yield
    finally:
        gc.enable()
    _hold(sum(each.callcount for each in profile.getstats()), "calls", most)


@contextlib.contextmanager
def decisions_at_most(most: int) -> Iterator[None]:
    """Fail if the runs of the block, those in this process, ask their schedulers more often than so many times."""
    asked, record = 0, Recorder.decision

    def counted(*given: Any) -> None:
        nonlocal asked
        asked += 1
        record(*given)

    with mock.patch.object(Recorder, "decision", counted):
        yield
    _hold(asked, "decisions", most)
