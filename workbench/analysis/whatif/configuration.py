"""What is run today: a scenario, a scheduler and its knobs. A change makes another one of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario
from workbench.session.registry import find_scheduler


@dataclass(frozen=True, repr=False)
class Configuration:
    """A scenario, a scheduler by name, and the knobs that differ from its defaults.

    Raises InputError for a scheduler that is not known, and for a knob or a value that it does not take.
    """

    scenario: Scenario
    scheduler: str
    knobs: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.scenario, Scenario):
            raise InputError("scenario", self.scenario, "a Scenario")
        find_scheduler(self.scheduler).settle(self.knobs)

    def __repr__(self) -> str:
        return f"<{self.scheduler} on {self.scenario.name or 'a scenario without a name'}>"
