"""Least attained service: in every round the GPUs go to the jobs that have had the fewest GPU-seconds so far.

A job's attained service counts GPUs times seconds, before the scenario began included. Jobs that do not fit are passed.
Source: the policy that Tiresias and Gavel (section 4.1) start from, in its plainest form.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.decision import Decision, Snapshot
from workbench.knob import Knob
from workbench.mechanisms import queue
from workbench.mechanisms.per_job import PerJob
from workbench.papers.paper import Knobs, Scheduler, Timing


class Las(Scheduler):
    """Preemptive, in rounds."""

    name = "las"
    title = "Least attained service"
    knobs = (Knob("round_s", 360.0, "Length of a round", "s", minimum=1.0, main=True), queue.AWARE)
    uses = frozenset({"arrival_s", "steps", "gpus", "attained_s"})
    views = ("attained_s",)

    def timing(self, knobs: Knobs) -> Timing:
        return queue.timing(knobs)

    def decide(self, snapshot: Snapshot, memory: Any, knobs: Knobs, rng: np.random.Generator) -> tuple[Decision, None]:
        jobs = snapshot.jobs
        rule = queue.Rule(preemptive=True, blocking=False, aware=knobs["heterogeneity_aware"], steady=False)
        signals = {"attained_s": PerJob(jobs.names, jobs.attained_s)}
        return queue.serve(snapshot, lambda rows: jobs.attained_s[rows], rule, signals), None


TITLE = "Least attained service"
SCHEDULERS = (Las(),)
