"""Sched_Homo, as Hare compares itself with it: weighted shortest job first, blind to types, never preempted.

Zhang et al.'s online scheduler is made for GPUs that are all equal (Chen et al., HPDC 2022, section 7.1): it minimises
the weighted completion time of jobs whose gangs run at once. So a job's time is its steps over its mean speed, weighted
by the GPUs of each type; jobs start in the order of time over weight on the first type in the cluster's order that
has room, and keep their GPUs until they are done. Who does not fit is passed (ours).
"""

from __future__ import annotations

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.baselines.mechanisms import line_decision
from workbench.baselines.mechanisms.explain import by_signal
from workbench.baselines.mechanisms.line import Rule
from workbench.scheduling import job_orders
from workbench.scheduling.contract import Knobs, Memory
from workbench.scheduling.decision import Decision, PerJob
from workbench.scheduling.declared_room import Room
from workbench.scheduling.reference_shares import equal_share
from workbench.scheduling.snapshot import Snapshot

RULE = Rule(preemptive=False, blocking=False, aware=False, steady=True)


class SchedHomo(line_decision.InLine):
    """Not preemptive, and the fast GPUs are worth no more to it than the slow ones."""

    name = "sched_homo"
    title = "Sched_Homo (weighted shortest job first on mean speeds)"
    knobs = (line_decision.ROUND_S,)
    uses = frozenset({"arrival_s", "steps", "gpus", "weight"})

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        jobs = snapshot.jobs

        def urgency(rows: IntArray) -> FloatArray:
            speed = snapshot.belief.speeds(job_orders.take(jobs, rows)) @ equal_share(
                list(snapshot.cluster.capacity.values())
            )
            found: FloatArray = job_orders.seconds(jobs.steps_left[rows], speed) / jobs.weight[rows]
            return found

        signals = {"weighted_time_s": PerJob(lambda: jobs.names, lambda: urgency(np.arange(len(jobs))))}
        return line_decision.serve(snapshot, urgency, RULE, signals), memory


ROOM = Room(
    name="sched_homo",
    title="Sched_Homo",
    schedulers=(SchedHomo(),),
    explanations={
        "sched_homo": by_signal(
            "weighted_time_s",
            "remaining time over weight, at the mean speed of all GPUs,",
            "s",
            "lowest",
            "Jobs start in this order on the first type that has room, and keep their GPUs; who does not fit is "
            "passed.",
            keeps=True,
        )
    },
)
