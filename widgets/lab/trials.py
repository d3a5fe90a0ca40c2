"""What was tried in a lab on one scenario: the measures of every run, to be set against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from workbench.base.labels import value_text
from workbench.scheduling.estimators.by_name import DEFAULT
from workbench.simulation.run import Run


class TriedRun(NamedTuple):
    """A run that was made: with what, and what came of it (`workbench.analysis.metrics`). belief: an estimator by
    name."""

    scheduler: str
    knobs: Mapping[str, Any]
    measures: Mapping[str, Any]
    belief: str = DEFAULT

    def same(self, other: TriedRun) -> bool:
        """Whether the other was made with the same."""
        return self._replace(measures={}) == other._replace(measures={})


class Trials:
    """The runs on one scenario, the last one at the end; another scenario begins anew."""

    def __init__(self) -> None:
        self._scenario = ""
        self.made: tuple[TriedRun, ...] = ()

    def add(self, run: Run, measures: Mapping[str, Any], belief: str = DEFAULT) -> None:
        """One more run; of the same scheduler with the same knobs and belief the last one counts."""
        scenario = run.scenario.key()
        if scenario != self._scenario:
            self._scenario, self.made = scenario, ()
        now = TriedRun(run.scheduler, dict(run.knobs), measures, belief)
        self.made = (*(old for old in self.made if not old.same(now)), now)


def names(tried: Sequence[TriedRun]) -> list[str]:
    """What tells each run from the others: the scheduler and the belief where there are several, and changed knobs."""
    return [_name(one, tried) for one in tried]


def _name(one: TriedRun, tried: Sequence[TriedRun]) -> str:
    alike = [other for other in tried if other.scheduler == one.scheduler]
    changed = [knob for knob in one.knobs if any(other.knobs.get(knob) != one.knobs[knob] for other in alike)]
    said = [f"{knob} {value_text(one.knobs[knob])}" for knob in changed]
    said += [one.belief] if any(other.belief != one.belief for other in tried) else []
    return ", ".join([one.scheduler, *said] if len(alike) < len(tried) or not said else said)
