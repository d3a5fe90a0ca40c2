"""Least attained service: in every round the GPUs go to the jobs that have had the fewest GPU-seconds so far.

A job's attained service counts GPUs times seconds, before the scenario began included. Jobs that do not fit are passed.
Heterogeneity-aware, jobs move to faster types left over (`workbench.baselines.mechanisms.line_decision.serve`); whether
a move pays for its restart is judged by the steps a job has left, which its place in line does not depend on.
Source: the policy that Tiresias and Gavel (section 4.1) start from, in its plainest form.
"""

from __future__ import annotations

import numpy as np

from workbench.base.round_times import LONGEST_ROUND_S, ROUND_HELP
from workbench.baselines.mechanisms import line_decision
from workbench.baselines.mechanisms.explain import by_signal
from workbench.baselines.mechanisms.line import Rule
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs, Memory
from workbench.scheduling.decision import Decision, PerJob
from workbench.scheduling.declared_room import Room
from workbench.scheduling.knob import Knob
from workbench.scheduling.snapshot import Snapshot

AWARE = line_decision.aware(
    "Give a job the fastest type that has room. In later rounds, once everybody who fits has GPUs, it moves to a "
    "faster type on which GPUs are left over if it is done sooner there, restart included (otherwise: the first type "
    "in the cluster's order that has room, and no moves)"
)


class Las(line_decision.InLine):
    """Preemptive, in rounds."""

    name = "las"
    title = "Least attained service"
    knobs = (
        Knob("round_s", 360.0, ROUND_HELP, "s", minimum=1.0, maximum=LONGEST_ROUND_S, main=True),
        AWARE,
    )
    uses = frozenset({"arrival_s", "steps", "gpus", "attained_s"})

    def start(self, scenario: Scenario, knobs: Knobs) -> Memory:
        return line_decision.start(scenario, knobs)

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        jobs = snapshot.jobs
        rule = Rule(preemptive=True, blocking=False, aware=knobs["heterogeneity_aware"], steady=False)
        signals = {"attained_s": PerJob(lambda: jobs.names, jobs.attained_s)}
        return line_decision.serve(snapshot, lambda rows: jobs.attained_s[rows], rule, signals, memory), memory


ROOM = Room(
    name="las",
    title="Least attained service",
    schedulers=(Las(),),
    explanations={
        "las": by_signal(
            "attained_s",
            "attained service",
            "GPU-s",
            "lowest",
            "In every round the GPUs go to the jobs that have had the fewest GPU-seconds, also from jobs that run.",
        )
    },
)
