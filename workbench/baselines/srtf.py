"""Shortest remaining time first: the GPUs go to the jobs that would be done first on their own.

A job's remaining time is its steps left over its believed speed on its fastest type (heterogeneity-aware) or over its
mean speed, weighted by the workers of each type. Preemptive; jobs that do not fit are passed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench import queues
from workbench.decision import Decision, IntArray, Snapshot
from workbench.mechanisms import queue
from workbench.mechanisms.per_job import PerJob
from workbench.papers.paper import Knobs, Scheduler, Timing
from workbench.shares import equal_share
from workbench.throughput import FloatArray


class Srtf(Scheduler):
    """Preemptive; a running job's remaining time only falls, so between arrivals and completions nothing changes."""

    name = "srtf"
    title = "Shortest remaining time first"
    knobs = (queue.ROUND_S, queue.AWARE)
    views = ("remaining_s",)

    def timing(self, knobs: Knobs) -> Timing:
        return queue.timing(knobs)

    def decide(self, snapshot: Snapshot, memory: Any, knobs: Knobs, rng: np.random.Generator) -> tuple[Decision, None]:
        jobs, aware = snapshot.jobs, bool(knobs["heterogeneity_aware"])

        def remaining_s(rows: IntArray) -> FloatArray:
            return queues.seconds(jobs.steps_left[rows], reference_speed(snapshot, rows, aware))

        rule = queue.Rule(preemptive=True, blocking=False, aware=aware, steady=True)
        signals = {"remaining_s": PerJob(jobs.names, lambda: remaining_s(np.arange(len(jobs))))}
        return queue.serve(snapshot, remaining_s, rule, signals), None


def reference_speed(snapshot: Snapshot, rows: IntArray, aware: bool) -> FloatArray:
    """(rows,) steps/s of some jobs on their fastest type, or the mean over the types weighted by their workers."""
    speed = snapshot.belief.speeds(queues.take(snapshot.jobs, rows))
    reference: FloatArray = speed @ equal_share(list(snapshot.cluster.workers.values()))
    return speed.max(axis=1, initial=0.0) if aware else reference


TITLE = "Shortest remaining time first"
SCHEDULERS = (Srtf(),)
