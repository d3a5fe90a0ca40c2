"""What a person has set in the what-if lab."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from workbench.analysis.whatif import Change, Configuration, WhatIfPlan
from workbench.scenario.scenario import Scenario


class WhatIfSetting(NamedTuple):
    """Today's scenario, scheduler and knobs; the change; how many pairs of runs, and whether the log is drawn anew
    for each.
    """

    scenario: Scenario
    scheduler: str
    knobs: Mapping[str, Any]
    change: Change
    pairs: int
    bootstrap: bool

    def plan(self) -> WhatIfPlan:
        """The runs to make; raises InputError and ScenarioError for a change that cannot be made."""
        today = Configuration(self.scenario, self.scheduler, self.knobs)
        return WhatIfPlan(today, (self.change,), tuple(range(self.pairs)), self.bootstrap)
