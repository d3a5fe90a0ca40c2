"""What a person has set in a lab, and the way back and forth between settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from workbench.estimators.registry import DEFAULT
from workbench.scenario import Scenario

STEPS_KEPT = 100


class Setting(NamedTuple):
    """What a person has set: enough to come back to it. belief: an estimator by name, with its knobs."""

    scenario: Scenario
    scheduler: str
    knobs: Mapping[str, Any]
    belief: str = DEFAULT


class History:
    """Settings that were right, one after the other; `present` is the last of them, or where undo has come to."""

    def __init__(self) -> None:
        self.present: Setting | None = None
        self.past: list[Setting] = []
        self.future: list[Setting] = []

    def remember(self, setting: Setting) -> bool:
        """Make it the present, if it is another one; there is nothing to redo then. Whether it is another one."""
        if setting == self.present:
            return False
        if self.present is not None:
            self.past = [*self.past[1 - STEPS_KEPT :], self.present]
        self.present, self.future = setting, []
        return True

    def departed(self) -> None:
        """Something was edited and is wrong: what was undone before that is not what a redo would mean now."""
        self.future = []

    def undo(self) -> Setting | None:
        """The setting before; None if there is none."""
        return self._travel(self.past, self.future)

    def redo(self) -> Setting | None:
        """The setting that was undone last; None if there is none."""
        return self._travel(self.future, self.past)

    def _travel(self, source: list[Setting], target: list[Setting]) -> Setting | None:
        if not source or self.present is None:
            return None
        target.append(self.present)
        self.present = source.pop()
        return self.present


def jsonable(knobs: Mapping[str, Any]) -> dict[str, Any]:
    """Knob values as JSON has them (infinity as text, which a knob reads back)."""
    return {k: "inf" if v == float("inf") else v for k, v in json.loads(json.dumps(dict(knobs), default=str)).items()}
