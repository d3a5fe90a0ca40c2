"""Shortest remaining time first: the GPUs go to the jobs that would be done first on their own.

A job's remaining time is its steps left over its believed speed on its fastest type (heterogeneity-aware) or over its
mean speed, weighted by the GPUs of each type. Preemptive; jobs that do not fit are passed. Heterogeneity-aware, jobs
move to faster types left over (`workbench.baselines.mechanisms.line_decision.serve`).
"""

from __future__ import annotations

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.baselines.mechanisms import line_decision
from workbench.baselines.mechanisms.explain import by_signal
from workbench.baselines.mechanisms.line import Rule
from workbench.scenario.scenario import Scenario
from workbench.scheduling import job_orders
from workbench.scheduling.contract import Knobs, Memory
from workbench.scheduling.decision import Decision, PerJob
from workbench.scheduling.declared_room import Room
from workbench.scheduling.reference_shares import equal_share
from workbench.scheduling.snapshot import Snapshot

AWARE = line_decision.aware(
    "Rank a job by its remaining time on its fastest type and give it the fastest one that has room. Later, once "
    "everybody who fits has GPUs, it moves to a faster type on which GPUs are left over if it is done sooner there, "
    "restart included (otherwise: remaining time at the mean speed, the first type in the cluster's order that has "
    "room, and no moves)"
)


class Srtf(line_decision.InLine):
    """Preemptive; a running job's remaining time only falls, and with it what a move would save it.

    So between arrivals and completions nothing changes.
    """

    name = "srtf"
    title = "Shortest remaining time first"
    knobs = (line_decision.ROUND_S, AWARE)

    def start(self, scenario: Scenario, knobs: Knobs) -> Memory:
        return line_decision.start(scenario, knobs)

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        jobs, aware = snapshot.jobs, bool(knobs["heterogeneity_aware"])

        def remaining_s(rows: IntArray) -> FloatArray:
            return job_orders.seconds(jobs.steps_left[rows], reference_speed(snapshot, rows, aware))

        rule = Rule(preemptive=True, blocking=False, aware=aware, steady=True)
        signals = {"remaining_s": PerJob(lambda: jobs.names, lambda: remaining_s(np.arange(len(jobs))))}
        return line_decision.serve(snapshot, remaining_s, rule, signals, memory), memory


def reference_speed(snapshot: Snapshot, rows: IntArray, aware: bool) -> FloatArray:
    """(rows,) steps/s of some jobs on their fastest type, or the mean over the types weighted by their GPUs."""
    jobs = snapshot.jobs
    few = 2 * len(rows) < len(jobs)
    speed = snapshot.belief.speeds(job_orders.take(jobs, rows)) if few else snapshot.speeds()[rows]
    share = equal_share([*snapshot.cluster.capacity.values()]) if not aware else None
    reference: FloatArray = np.maximum.reduce(speed, axis=1, initial=0.0) if share is None else speed @ share
    return reference


ROOM = Room(
    name="srtf",
    title="Shortest remaining time first",
    schedulers=(Srtf(),),
    explanations={
        "srtf": by_signal(
            "remaining_s",
            "remaining time",
            "s",
            "lowest",
            "The GPUs go to the jobs that would be done first on their own, also from jobs that run.",
        )
    },
)
