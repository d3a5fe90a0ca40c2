"""How long a scheduler takes to decide."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from reproduction.figure import Plot, chart_of
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Scheduler
from workbench.session.api import snapshot_at
from workbench.session.registry import find_scheduler

TITLE = "CPU time of a decision"


def by_jobs(table: pd.DataFrame) -> Plot:
    """A chart of it; table: line, x, y."""
    return chart_of(table, TITLE, "Active jobs (logarithmic)", "CPU time (s, logarithmic)", log_x=True, log_y=True)


def decision_s(scenario: Scenario, scheduler: str | Scheduler, given: Mapping[str, Any]) -> float:
    """CPU seconds of this process for the first decision; the snapshot is made before. given: knobs."""
    found = find_scheduler(scheduler)
    knobs = found.settle(given)
    snapshot, memory = snapshot_at(scenario), found.start(scenario, knobs)
    began = time.process_time()
    found.decide(snapshot, memory, knobs, np.random.default_rng(0))
    return time.process_time() - began
