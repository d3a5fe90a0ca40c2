"""A line of a figure: a scheduler as it is compared with others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
