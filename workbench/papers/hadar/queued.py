"""The queue of a round in numbers: times in slots, what jobs can be worth, and the prices' bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.base.errors import InputError
from workbench.papers.hadar.prices import PriceBounds, price_bounds
from workbench.papers.hadar.rules import Rules
from workbench.papers.hadar.utility import UtilityJobs, in_slots
from workbench.scenario.job import Job
from workbench.scenario.throughput import FloatArray
from workbench.scheduling import queues
from workbench.scheduling.decision import JobView, Snapshot

ROUNDING = 1e-9
"""Slots by which a run time may miss a whole number."""


@dataclass(frozen=True, eq=False)
class Queue:
    """Jobs to be decided on, in the order of their arrival.

    view: their part of the snapshot; elapsed: (jobs,) slots since arrival; restart_s: (jobs,) seconds that the job
    loses when it starts; speed: (jobs x types) steps/s of the gang, 0 where it cannot run; last: (jobs,) T - a_j in
    slots; best: (jobs,) utility of the earliest end, on the fastest type from now on; terms: what utilities read;
    bounds: of prices, over the jobs whose `best` is above 0 (None if there are none).
    """

    view: JobView
    elapsed: FloatArray
    restart_s: FloatArray
    speed: FloatArray
    last: FloatArray
    best: FloatArray
    terms: UtilityJobs
    bounds: PriceBounds | None

    def __len__(self) -> int:
        return len(self.view)


def rounds(steps: FloatArray, speed: FloatArray, restart_s: FloatArray, slot_s: float) -> FloatArray:
    """Whole slots for `steps` at `speed` steps/s, at least 1, and what a restart adds; infinite where the speed is 0.

    A restart counts with its own part of a slot (ours): rounded up it would mostly cost nothing, and jobs would move
    for nothing.
    """
    needed = np.ceil(queues.seconds(steps, speed) / slot_s - ROUNDING)
    found: FloatArray = np.maximum(1.0, needed) + restart_s / slot_s
    return found


def gather(snapshot: Snapshot, rows: Sequence[int], rules: Rules, restart: Mapping[int, float] | None = None) -> Queue:
    """The jobs in some rows of a snapshot.

    restart: seconds of a restart by size of gang, of every gang in the queue, for jobs that have run; None: none. A job
    that has waited too long to be done by a given horizon has a `best` of 0 (ours).
    """
    view = queues.take(snapshot.jobs, np.array(rows, dtype=np.int64))
    elapsed = (snapshot.now_s - view.arrival_s) / rules.slot_s
    seconds = np.zeros(len(view)) if restart is None else np.array([restart[gang] for gang in view.gpus.tolist()])
    restart_s = np.where(view.attained_s > 0, seconds, 0.0)
    fast, slow = _speeds(snapshot, view)
    shortest = rounds(view.steps_left, fast.max(axis=1, initial=0.0), restart_s, rules.slot_s)
    slowest = np.where(slow > 0, slow, np.inf).min(axis=1, initial=np.inf)
    longest = rounds(view.steps_left, np.where(np.isfinite(slowest), slowest, 0.0), restart_s, rules.slot_s)
    last, horizon = _horizon(snapshot, view, elapsed, longest, fast, rules)
    terms = UtilityJobs(
        view.names,
        np.array([job.steps for job in view.jobs], dtype=float),
        view.weight,
        tuple(in_slots(job.rewards, rules.slot_s) for job in view.jobs),
        horizon,
    )
    late = (rules.horizon_s is not None) & (elapsed + shortest > last + ROUNDING)
    last = np.maximum(last, 1.0)
    ends = rules.utility.table(np.column_stack([np.where(late, last, elapsed + shortest), last]), terms)
    ends[late] = 0.0
    valued = np.flatnonzero(ends[:, 0] > 0)
    bounds = None
    if len(valued):
        bounds = price_bounds(
            ends[valued, 0], ends[valued, 1], longest[valued], view.gpus[valued], fast[valued] > 0, snapshot.workers,
            float((last - elapsed).max()), rules.eta,
        )  # fmt: skip
    return Queue(view, elapsed, restart_s, fast, last, ends[:, 0], terms, bounds)


def _speeds(snapshot: Snapshot, view: JobView) -> tuple[FloatArray, FloatArray]:
    """(jobs x types) largest and smallest steps/s above 0 of consolidated and spread gangs, 0 where there are none.

    A job for which neither word has a speed is asked for with each number of nodes.
    """
    words = [snapshot.belief.speeds(view), snapshot.belief.speeds(view, "unconsolidated")]
    fast, slow = np.maximum(*words), np.where(words[0] > 0, words[0], words[1])
    slow = np.where(words[1] > 0, np.minimum(slow, words[1]), slow)
    for row in np.flatnonzero(~(fast > 0).any(axis=1)).tolist():
        job = view.jobs[row]
        for kind, name in enumerate(snapshot.types):
            most = min(job.gpus, int((snapshot.nodes.kind == kind).sum()))
            each = [snapshot.belief.steps_per_s(job, name, job.gpus, "unconsolidated", n) for n in range(1, most + 1)]
            fast[row, kind] = max(each, default=0.0)
            slow[row, kind] = min((speed for speed in each if speed > 0), default=0.0)
    return fast, slow


def _horizon(
    snapshot: Snapshot,
    view: JobView,
    elapsed: FloatArray,
    longest: FloatArray,
    speed: FloatArray,
    rules: Rules,
) -> tuple[FloatArray, float]:
    """(jobs,) T - a_j in slots, and T: in slots from the scenario's start if given, else from the earliest arrival.

    Not given, T is the time in which all GPUs could do all the work at the jobs' own speeds, and then the longest job
    on its slowest type (ours): a guess of when the queue is done that gives every job that starts now a utility.
    """
    if rules.horizon_s is None:
        work_s = queues.seconds(view.steps_left * view.gpus, speed @ snapshot.workers)
        work = float(work_s[np.isfinite(work_s)].sum()) / rules.slot_s
        window = float(np.ceil(longest[np.isfinite(longest)].max(initial=1.0) + work))
        last = elapsed + window
        return last, float(last.max(initial=1.0))
    return (rules.horizon_s - view.arrival_s) / rules.slot_s, rules.horizon_s / rules.slot_s


def require_time(jobs: Sequence[Job], fastest: FloatArray, rules: Rules) -> None:
    """Raise InputError for a given horizon by which a job could not be done even if it ran from its arrival on.

    fastest: (jobs,) steps/s of the gang on its fastest type; a job whose speed is not known (0) is not asked for.
    """
    if rules.horizon_s is None:
        return
    steps, arrival_s = np.array([job.steps for job in jobs], dtype=float), np.array([job.arrival_s for job in jobs])
    needed = rounds(steps, fastest, np.zeros(len(jobs)), rules.slot_s)
    least_s = np.where(fastest > 0, arrival_s + needed * rules.slot_s, 0.0)
    if (least_s > rules.horizon_s + ROUNDING * rules.slot_s).any():
        row = int(least_s.argmax())
        raise InputError(
            "horizon_s",
            rules.horizon_s,
            f"at least {least_s[row]:g} s: job {jobs[row].name}, which arrives at {arrival_s[row]:g} s, needs "
            f"{needed[row]:g} rounds of {rules.slot_s:g} s even on its fastest type",
        )
