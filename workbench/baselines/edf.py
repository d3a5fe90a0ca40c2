"""Earliest deadline first: jobs with deadlines in their order, before best-effort jobs, which stand by arrival.

A job with a deadline that finds no room takes the GPUs of best-effort jobs, the last in line first. It keeps its own
until it is done: nobody gets them by asking for an early deadline. Jobs that do not fit are passed. A job's deadline is
its first (`workbench.scheduling.job_orders`).
Source: Chronus, section 4.3. It does not say what becomes of a job whose deadline is over: here it keeps its place, as
plain EDF has it, or goes to the best-effort jobs (knob `missed`; a running job keeps its GPUs all the same).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.labels import listed
from workbench.baselines.mechanisms import line_decision
from workbench.baselines.mechanisms.line import Rule
from workbench.scheduling.contract import Knobs, Memory
from workbench.scheduling.decision import Decision, PerJob
from workbench.scheduling.declared_room import Room
from workbench.scheduling.job_orders import due_s, holds, places
from workbench.scheduling.knob import Knob
from workbench.scheduling.snapshot import Snapshot
from workbench.simulation.job_at_time import Explained, JobAtTime

ROUND_S = replace(line_decision.ROUND_S, default=60.0)
AWARE = line_decision.aware(
    "Give a job the fastest type that has room (otherwise the first in the cluster's order that has); nobody moves"
)
MISSED = Knob(
    "missed",
    "keeps_place",
    "A waiting job whose deadline is over keeps its place among the others with deadlines, or stands with best effort",
    choices=("keeps_place", "best_effort"),
)


class Edf(line_decision.InLine):
    """In the order of deadlines; only best-effort jobs are preempted."""

    name = "edf"
    title = "Earliest deadline first"
    knobs = (ROUND_S, AWARE, MISSED)
    uses = frozenset({"arrival_s", "steps", "gpus", "rewards"})

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        jobs, late = snapshot.jobs, knobs["missed"] == "best_effort"
        deadline_s = due_s(jobs.jobs)
        place = _line(snapshot, deadline_s, late)
        rule = Rule(preemptive=True, blocking=False, aware=bool(knobs["heterogeneity_aware"]), steady=not late)
        has = np.flatnonzero(np.isfinite(deadline_s))
        signals = {"deadline_s": PerJob([jobs.names[row] for row in has.tolist()], deadline_s[has])}
        return line_decision.serve(snapshot, lambda rows: place[rows], rule, signals), None


def _line(snapshot: Snapshot, deadline_s: FloatArray, late: bool) -> FloatArray:
    """(jobs,) places: running jobs with deadlines, whom nobody comes before; others with deadlines by these; running
    best-effort jobs, then waiting ones, each by arrival."""
    runs = holds(snapshot)
    slo = np.isfinite(deadline_s)
    waits = slo & ~runs & ~(late & (deadline_s < snapshot.now_s))
    group = np.select([slo & runs, waits, runs], [0, 1, 2], 3)
    return places(group, np.where(group == 1, deadline_s, 0.0))


LINE = (
    "Jobs with deadlines go first, the earliest first, also on the GPUs of best-effort jobs; those go by arrival. Who "
    "has a deadline and runs keeps its GPUs."
)


def _explain(job_at: JobAtTime) -> Explained:
    """The line, best effort without a deadline at its end; who waits has lost to those whose GPUs it cannot take."""
    order = job_at.order("deadline_s", "deadline", "s", "lowest", job_at.by_arrival)
    if order is not None:
        order = order._replace(
            values={**dict.fromkeys(job_at.present, math.inf), **order.values}, infinite="a job without a deadline"
        )
    if job_at.state != "waiting":
        return Explained((LINE,), order=order)
    with_deadline = {job.name for job in job_at.run.scenario.jobs if job.rewards is not None}
    late = job_at.run.knobs["missed"] == "best_effort" and _is_late(job_at)
    takes = job_at.job in with_deadline and not late
    holders = dict.fromkeys(each.job for each in job_at.others if each.job in with_deadline or not takes)
    why = "who has a deadline and runs keeps its GPUs" if takes else "GPUs are taken only for a deadline to meet"
    binding = f"GPUs on which it could run are held by {listed(holders)}, and {why}" if holders else ""
    return Explained((LINE,), binding=binding, order=order)


def _is_late(job_at: JobAtTime) -> bool:
    """Whether the job's first deadline was over at the last decision."""
    call = job_at.call
    due = due_s([job_at.spec]).item()
    return call is not None and due < call.time_s


ROOM = Room(
    name="edf",
    title="Earliest deadline first",
    schedulers=(Edf(),),
    explanations={"edf": _explain},
)
