"""EASY backfilling: who stands behind the first job that does not fit starts at once if that does not delay this job.

By the expected ends of the jobs that run, the first job will have its GPUs at its shadow time. Another that fits now
may start if it is to end by then, or if the first job still finds its GPUs then beside it: on what Lifka calls the
extra nodes. All that is expected anew at every decision; ends that come later than expected delay the first job.

(ours) where a cluster has several types: the first job is to start on the type on which it can soonest, and those who
start on others do not delay it. Extra GPUs are looked for node by node, as gangs are placed.
Source: D. Lifka, The ANL/IBM SP scheduling system (JSSPP 1995); A. Mu'alem and D. Feitelson, Utilization,
predictability, workloads, and user runtime estimates in scheduling the IBM SP2 with backfilling (TPDS 2001).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from heapq import heapify, heappop
from typing import NamedTuple

import numpy as np

from workbench.base.errors import InputError
from workbench.base.round_times import TIE
from workbench.baselines.mechanisms.line import Preferences, Rule, fill
from workbench.baselines.mechanisms.trial import Trial
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scheduling.placement import FreeGpus, Gpus
from workbench.scheduling.snapshot import Snapshot

LIMIT = "limit_s"
"""The attribute of a job in which its user says how long it will run at most."""
Lasts = Callable[[Snapshot, Sequence[int], Sequence[Gpus]], list[float]]
"""Seconds for which the jobs of some rows are expected to hold these GPUs from now on, each its own."""


def by_speed(snapshot: Snapshot, rows: Sequence[int], gpus: Sequence[Gpus]) -> list[float]:
    """By their steps left and their believed speeds there."""
    jobs, speed = snapshot.jobs.now, snapshot.belief.on_nodes
    speeds = [speed(jobs[row], those) for row, those in zip(rows, gpus, strict=True)]
    left = snapshot.jobs.steps_left[rows].tolist()
    return [steps / rate if rate > 0 else math.inf for steps, rate in zip(left, speeds, strict=True)]


def by_limit(snapshot: Snapshot, rows: Sequence[int], gpus: Sequence[Gpus]) -> list[float]:
    """What is left of their limits, 0 s where they have run for longer; without a limit by the speed."""
    jobs, found = snapshot.jobs, []
    for row, those in zip(rows, gpus, strict=True):
        limit_s = jobs.now[row].attributes.get(LIMIT)
        if limit_s is None:
            found += by_speed(snapshot, [row], [those])
        else:
            run_s = jobs.attained_s.item(row) / jobs.gpus.item(row)
            found.append(max(_seconds(jobs.now[row], limit_s) - run_s, 0.0))
    return found


def require_limits(scenario: Scenario) -> None:
    """Raise InputError for a limit that is no number of seconds above 0."""
    for job in scenario.jobs:
        _seconds(job, job.attributes.get(LIMIT, 1.0))


def _seconds(job: Job, limit_s: float | str) -> float:
    if isinstance(limit_s, str) or limit_s <= 0:
        raise InputError(f"job {job.name}, attributes.{LIMIT}", limit_s, "seconds > 0")
    return float(limit_s)


_End = tuple[float, int]
"""When GPUs are expected to come free, and their number among those that are held."""


class Reservation(NamedTuple):
    """When and on which type the first job is to start, and the GPUs that are free then."""

    row: int
    kind: int
    shadow_s: float
    free_gpus: FreeGpus


def easy(
    rows: Sequence[int], rule: Rule, trial: Trial, lasts: Lasts
) -> tuple[list[tuple[int, int]], Reservation | None]:
    """(row, type) of those who start down the line, and what the first job that does not fit is to have.

    A `workbench.baselines.mechanisms.line_decision.Choose` with `lasts` and without the second part.
    """
    trial.final = True
    chosen = fill(rows, rule, trial)
    if len(chosen) == len(rows) or not any(trial.left):
        return chosen, None
    started = dict(chosen)
    kinds = Preferences(trial, rows, rule.aware)
    head = next((spot for spot, row in enumerate(rows) if row not in started and kinds.may_run(spot)), None)
    if head is None:
        return chosen, None
    reserved = _reserve(rows[head], kinds.of(head), trial, lasts, [*started])
    for spot in range(head + 1, len(rows)):
        most = max(trial.left)
        if not most:
            break
        if trial.jobs[rows[spot]].gpus > most:
            continue
        kind = next((kind for kind in kinds.of(spot) if _passes(rows[spot], kind, trial, reserved, lasts)), None)
        if kind is not None:
            chosen.append((rows[spot], kind))
    return chosen, reserved


def _reserve(row: int, kinds: Sequence[int], trial: Trial, lasts: Lasts, started: Sequence[int]) -> Reservation:
    """The type on which a job can start soonest by the expected ends; equally soon: the one that it prefers.

    started: rows of those who start now.
    """
    snapshot, jobs, now_s = trial.snapshot, trial.jobs, trial.snapshot.now_s
    leases = {**snapshot.leases, **snapshot.ended}
    rows = [*np.flatnonzero(snapshot.jobs.held).tolist(), *started]
    gpus = [leases[jobs[row].name].gpus for row in rows[: len(rows) - len(started)]]
    gpus += [trial.placed[jobs[row].name] for row in started]
    seconds = lasts(snapshot, rows, gpus)
    ends: list[list[_End]] = [[] for _ in trial.left]
    if len(ends) == 1:
        ends[0] = [(now_s + each, number) for number, each in enumerate(seconds)]
    else:
        for number, (those, each) in enumerate(zip(gpus, seconds, strict=True)):
            ends[trial.free_gpus.kind_of(those)].append((now_s + each, number))
    found = [_soonest(row, kind, ends[kind], gpus, trial) for kind in kinds]
    return min(found, key=lambda reservation: reservation.shadow_s)


def _soonest(row: int, kind: int, ends: list[_End], gpus: Sequence[Gpus], trial: Trial) -> Reservation:
    """When a job can start on a type; infinity if it cannot, as too many of its nodes are down. `ends` are used up."""
    free_gpus = trial.free_gpus.copy()
    heapify(ends)  # few of them are asked for
    while ends:
        end_s, number = heappop(ends)
        free_gpus.lend(gpus[number])
        together = ends and ends[0][0] <= end_s * (1 + TIE)
        if not together and trial.fits(row, kind, free_gpus):
            return Reservation(row, kind, end_s, free_gpus)
    return Reservation(row, kind, math.inf, free_gpus)


def _passes(row: int, kind: int, trial: Trial, reserved: Reservation, lasts: Lasts) -> bool:
    """Start a job on a type if it fits and does not delay the first one; returns whether it does."""
    if not trial.take(row, kind):
        return False
    snapshot = trial.snapshot
    gpus = trial.placed[trial.jobs[row].name]
    if kind != reserved.kind or snapshot.now_s + lasts(snapshot, [row], [gpus])[0] <= reserved.shadow_s * (1 + TIE):
        return True
    if reserved.free_gpus.keep(kind, sum(gpus.values()), gpus):
        if trial.fits(reserved.row, kind, reserved.free_gpus):
            return True
        reserved.free_gpus.lend(gpus)
    trial.undo(row, kind)
    return False
