"""What of a run should not be believed as it stands, in sentences for people."""

from __future__ import annotations

from collections.abc import Callable

from workbench.run import Run

CHECKS: tuple[Callable[[Run], tuple[str, ...]], ...] = ()
"""Each returns its sentences on a run, none where it has nothing to say."""


def warnings_of(run: Run) -> tuple[str, ...]:
    """The sentences of all `CHECKS`."""
    return tuple(sentence for check in CHECKS for sentence in check(run))
