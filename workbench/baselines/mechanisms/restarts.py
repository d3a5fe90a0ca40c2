"""What a restart costs by the size of a gang, for the memory of schedulers whose jobs move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.scenario.scenario import Scenario


@dataclass(frozen=True)
class Restarts:
    """seconds: of a restart, in a pair with each size of gang (keys of a mapping would become texts in JSON)."""

    seconds: tuple[tuple[int, float], ...]

    @classmethod
    def of(cls, scenario: Scenario) -> Restarts:
        """For the gangs of a scenario's jobs."""
        restart = scenario.core.restart
        return cls(tuple((gpus, restart.seconds(gpus)) for gpus in sorted({job.gpus for job in scenario.jobs})))

    @property
    def by_gang(self) -> Mapping[int, float]:
        """Seconds of a restart by size of gang."""
        return dict(self.seconds)
