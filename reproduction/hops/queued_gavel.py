"""Gavel with the queue of Hops (section 4.2): a job's latency ratio as its weight in max-min fairness (ours).

The paper says that Gavel and Sia have *"the same latency ratio priority as Hops for the queuing priorities"*. Gavel has
no queue; what it knows of priorities are the weights `w_m` of its policy (its 4.1).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from workbench.baselines.mechanisms.latency_ratio import ages, latency_ratio
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs, Scheduler, Timing
from workbench.scheduling.decision import Decision
from workbench.scheduling.snapshot import Snapshot
from workbench.session.registry import find_scheduler

LEAST = 0.01
"""The weight of a job that has not waited, as in Hops's bias."""


class QueuedGavel(Scheduler):
    """`gavel.max_min_fairness`, whose jobs weigh what they have waited over the time that they need."""

    name = "gavel.latency_ratio"
    title = "Gavel with latency ratios as weights"

    def __init__(self) -> None:
        self._plain = find_scheduler("gavel.max_min_fairness")
        self.knobs, self.presets, self.uses = self._plain.knobs, self._plain.presets, self._plain.uses

    def timing(self, knobs: Knobs) -> Timing:
        return self._plain.timing(knobs)

    def start(self, scenario: Scenario, knobs: Knobs) -> Any:
        return self._plain.start(scenario, knobs)

    def decide(self, snapshot: Snapshot, memory: Any, knobs: Knobs, rng: np.random.Generator) -> tuple[Decision, Any]:
        jobs = snapshot.jobs
        ratio = latency_ratio(jobs.waited_s, ages(jobs, snapshot.belief, snapshot.cluster))
        return self._plain.decide(
            replace(snapshot, jobs=replace(jobs, weight=np.maximum(ratio, LEAST))), memory, knobs, rng
        )
