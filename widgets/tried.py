"""What was tried in a lab on one scenario: the measures of every run, to be set against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from workbench.run import Run


class Tried(NamedTuple):
    """A run that was made: with what, and what came of it (`workbench.metrics`)."""

    scheduler: str
    knobs: Mapping[str, Any]
    measures: Mapping[str, Any]


class Trials:
    """The runs on one scenario, the last one at the end; another scenario begins anew."""

    def __init__(self) -> None:
        self._scenario = ""
        self.made: tuple[Tried, ...] = ()

    def add(self, run: Run, measures: Mapping[str, Any]) -> None:
        """One more run; of the same scheduler with the same knobs the last one counts."""
        scenario = run.scenario.key()
        if scenario != self._scenario:
            self._scenario, self.made = scenario, ()
        now = Tried(run.scheduler, dict(run.knobs), measures)
        self.made = (*(old for old in self.made if old[:2] != now[:2]), now)


def names(tried: Sequence[Tried]) -> list[str]:
    """What tells each run from the others: the scheduler where there are several, and the knobs that were changed."""
    schedulers = {one.scheduler for one in tried}
    return [
        _name(one, [other for other in tried if other.scheduler == one.scheduler], len(schedulers)) for one in tried
    ]


def _name(one: Tried, alike: Sequence[Tried], schedulers: int) -> str:
    changed = [knob for knob in one.knobs if any(other.knobs.get(knob) != one.knobs[knob] for other in alike)]
    said = [one.scheduler] if schedulers > 1 or not changed else []
    return ", ".join([*said, *(f"{knob} {_text(one.knobs[knob])}" for knob in changed)])


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
