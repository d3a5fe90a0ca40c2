"""First in, first out: jobs start in the order of their arrival and keep their GPUs until they are done.

Not preemptive: a job stays on the type it started on even when a faster one becomes free (`srtf` and `las` move jobs).
The first job that does not fit blocks those behind it (knob `blocking`). With the preset `authors` the same greedy
choice, made anew for all jobs at most every 1920 s, passes as shares of 0 or 1 through the rounds of Gavel's simulator
(its policy `fifo_perf`): there a running job may be moved to another type.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from workbench.contract import Knobs, Memory, Scheduler, Timing
from workbench.decision import Decision, IntArray, Shares, Snapshot
from workbench.knob import Knob, Value
from workbench.labels import listed
from workbench.mechanisms import priority, queue, rounds
from workbench.mechanisms.line import Rule
from workbench.mechanisms.priority import Allocated
from workbench.mechanisms.priority.telling import Why, teller
from workbench.mechanisms.telling import arrival, told, verb
from workbench.moment import Moment, Told
from workbench.scenario import Scenario
from workbench.throughput import FloatArray

AWARE = queue.aware(
    "Start a job on the fastest type that has room (otherwise on the first in the cluster's order that has). It stays "
    "on that type even if a faster one becomes free: FIFO is not preemptive (through gavel_rounds it may move)"
)
PRESET = Knob(
    "preset",
    "ours",
    "The plain queue, or the knobs of the authors' simulator of Gavel",
    kind="str",
    choices=("ours", "authors"),
)
THROUGH = Knob(
    "through",
    "queue",
    "Start jobs as GPUs become free, or in the rounds of Gavel's simulator (running jobs may then move)",
    source="code",
    kind="str",
    choices=("queue", "gavel_rounds"),
)
BLOCKING = Knob("blocking", True, "Nobody passes a job that does not fit", source="code", kind="bool")
GAVEL_ROUNDS = {**priority.AUTHORS, "refresh_s": None, "shuffle_types": "never", "leftovers": "none"}


class Fifo(Scheduler):
    """In the order of arrival; not preemptive, so nobody moves to a faster type."""

    name = "fifo"
    title = "First in, first out"
    knobs = (PRESET, AWARE, BLOCKING, queue.ROUND_S, THROUGH)
    presets = {"ours": {}, "authors": {"through": "gavel_rounds"}}

    def settle(self, given: Knobs) -> dict[str, Value]:
        knobs = super().settle(given)
        if knobs["through"] == "gavel_rounds":
            rounds.ROUND_S.check(knobs["round_s"])
        return knobs

    def timing(self, knobs: Knobs) -> Timing:
        return rounds.timing(_gavel(knobs)) if knobs["through"] == "gavel_rounds" else queue.timing(knobs)

    def start(self, scenario: Scenario, knobs: Knobs) -> Memory:
        return priority.start(scenario.cluster.types) if knobs["through"] == "gavel_rounds" else None

    def decide(
        self, snapshot: Snapshot, memory: Memory, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        if knobs["through"] == "gavel_rounds":
            return priority.decide(snapshot, memory, _gavel(knobs), rng, greedy)
        return queue.serve(snapshot, _arrival, _rule(knobs), {}), None


def greedy(snapshot: Snapshot, knobs: Knobs, memory: Any = None) -> Allocated:
    """Share 1 of its type for every job that FIFO would start on the empty cluster."""
    jobs = snapshot.jobs
    values = np.zeros((len(jobs), len(snapshot.types)))
    for row, kind in queue.fits(snapshot, _arrival, _rule(knobs)):
        values[row, kind] = 1.0
    return Allocated(Shares(jobs.names, snapshot.types, values))


def _arrival(rows: IntArray) -> FloatArray:
    """Jobs stand in the order of (arrival, position) already."""
    return rows.astype(float)


def _rule(knobs: Knobs) -> Rule:
    aware, blocking = bool(knobs["heterogeneity_aware"]), bool(knobs["blocking"])
    return Rule(preemptive=False, blocking=blocking, aware=aware, steady=True)


def _gavel(knobs: Knobs) -> Knobs:
    """The mechanism's knobs beside FIFO's own."""
    return {**GAVEL_ROUNDS, **knobs}


TITLE = "First in, first out"
SCHEDULERS = (Fifo(),)


def _not_started(moment: Moment, block: pd.DataFrame) -> Why | None:
    """Who comes before a job to which the greedy choice gives no share, and blocks the line or has the GPUs."""
    order, made_s = arrival(moment), float(block["time_s"].iloc[0])
    ahead = [name for name in order.values if order.before(name, moment.job) and order.values[name] <= made_s]
    started = [name for name in ahead if name in set(block["unit"])]
    blocked = [name for name in ahead if name not in started and _has_a_type(replace(moment, job=name))]
    rule = "The share of a job is 1 if it starts, by arrival, on the cluster without any job, and 0 if it does not."
    if blocked and moment.run.knobs["blocking"]:
        head = min(blocked, key=lambda name: order.place(name) or 0)
        return Why(f"its share of time is 0: {head} came before it and finds no room, and nobody passes it", (rule,),
                   order=order)  # fmt: skip
    if not started:
        return None
    had = f"{listed(started)} came before it and {verb('take', started)} GPUs that it could use"
    return Why(f"its share of time is 0: by arrival {had}", (rule,), order=order)


def _has_a_type(moment: Moment) -> bool:
    """Whether the nodes that are up have as many GPUs of some type as a job needs."""
    return any(moment.up[kind] >= gpus for kind, gpus in moment.needs.items())


_tell_shares = teller(_not_started)


def _tell(moment: Moment) -> Told:
    """By arrival; through Gavel's rounds by priority."""
    if moment.run.knobs["through"] == "gavel_rounds":
        return _tell_shares(moment)
    blocking = bool(moment.run.knobs["blocking"])
    passing = "nobody passes a job that does not fit" if blocking else "who does not fit is passed"
    rule = f"Jobs start in the order of their arrival and keep their GPUs; {passing}."
    return told(moment, arrival(moment), rule, keeps=True, blocking=blocking)


EXPLAIN = {"fifo": _tell}
