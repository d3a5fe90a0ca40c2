"""A line of a figure: a scheduler as it is compared with others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.base.errors import InputError, one_of
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Scheduler
from workbench.session.api import Beliefs, simulate
from workbench.simulation.run import Run


@dataclass(frozen=True)
class Line:
    """A scheduler with knobs; belief: what it is told of speeds, by default what its paper says it knows."""

    name: str
    scheduler: str | Scheduler
    knobs: Mapping[str, Any] = field(default_factory=dict, hash=False)
    belief: Beliefs | None = None

    def run(self, scenario: Scenario, **options: Any) -> Run:
        """The scenario under it, decisions recorded in short; options: of `workbench.simulate`."""
        return simulate(scenario, self.scheduler, self.knobs, belief=self.belief, detail=0, **options)

    def but(self, name: str, **knobs: Any) -> Line:
        """The same with other knobs."""
        return Line(name, self.scheduler, {**self.knobs, **knobs}, self.belief)


def rivalled(lines: Iterable[Line], rivals: Iterable[Line]) -> tuple[Line, ...]:
    """The lines, where there is a rival of its name as that has it: another scheduler, or knobs beside the line's own.

    Beliefs stay the line's. Raises InputError for a rival of no line's name.
    """
    found, others = tuple(lines), {rival.name: rival for rival in rivals}
    names = [line.name for line in found]
    for name in others:
        if name not in names:
            raise InputError("rivals", name, one_of(name, names))
    return tuple(_rivalled(line, others.get(line.name)) for line in found)


def _rivalled(line: Line, rival: Line | None) -> Line:
    if rival is None:
        return line
    if rival.scheduler == line.scheduler:
        return line.but(line.name, **rival.knobs)
    return replace(rival, belief=line.belief)
