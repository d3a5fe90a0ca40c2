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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.base.errors import InputError
from workbench.base.round_times import TIE
from workbench.baselines.mechanisms.line import Rule, fill, may_run, preferences
from workbench.baselines.mechanisms.trial import Trial
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Unit
from workbench.scheduling.estimators.oracle import Oracle
from workbench.scheduling.placement import FreeGpus, Gpus
from workbench.scheduling.snapshot import Snapshot

LIMIT = "limit_s"
"""The attribute of a job in which its user says how long it will run at most."""


@dataclass(frozen=True)
class Paces:
    """Those who ran when it was last asked how long everybody lasts, as far as it stays: memory for the next time.

    units: that hold GPUs; position: in the scenario's list; steps_per_s there as believed; limit_s, NaN where the speed
    counts.
    """

    units: frozenset[Unit]
    position: IntArray
    steps_per_s: FloatArray
    limit_s: FloatArray


class Lasts:
    """Seconds for which jobs are expected to hold their GPUs from now on: by their steps left and their believed speeds
    there, or by what is left of their limits (0 s where they have run for longer), where they have some.

    running: what was found before; it is replaced by what is found now.
    """

    def __init__(self, snapshot: Snapshot, running: Paces | None, *, by_limits: bool) -> None:
        self.snapshot, self.by_limits = snapshot, by_limits
        self.running = running if type(snapshot.belief).on_nodes is Oracle.on_nodes else None  # others may learn

    def one(self, row: int, gpus: Gpus) -> float:
        """Of one job on these GPUs."""
        jobs, (speed, limit_s) = self.snapshot.jobs, self._known(row, gpus)
        if math.isnan(limit_s):
            return jobs.steps_left.item(row) / speed if speed > 0 else math.inf
        return max(limit_s - jobs.attained_s.item(row) / jobs.gpus.item(row), 0.0)

    def all(self, rows: IntArray, gpus: Callable[[int], Gpus]) -> FloatArray:
        """Of all who run, each on its own: asked of those who did not run before."""
        jobs, units = self.snapshot.jobs, frozenset([*self.snapshot.leases, *self.snapshot.ended])
        position = jobs.position[rows]
        values = np.full((2, len(rows)), np.nan)
        new: Sequence[int] = range(len(rows))
        if self.running is not None and self.running.units:
            order = self.running.position.argsort()
            spots = order.take(self.running.position.searchsorted(position, sorter=order), mode="clip")
            old = self.running.position[spots] == position
            values[:, old] = self.running.steps_per_s[spots[old]], self.running.limit_s[spots[old]]
            new = np.flatnonzero(~old).tolist()
        for spot in new:
            row = rows.item(spot)
            values[:, spot] = self._known(row, gpus(row))
        self.running = Paces(units, position, *values)
        (speed, limit_s), seconds = values, np.full(len(rows), math.inf)
        np.divide(jobs.steps_left[rows], speed, out=seconds, where=speed > 0)
        if self.by_limits:
            limited = np.maximum(limit_s - jobs.attained_s[rows] / jobs.gpus[rows], 0.0)
            seconds = np.where(np.isnan(limit_s), seconds, limited)
        return seconds

    def starts(self, rows: Sequence[int]) -> None:
        """Forget everybody if one of those who start ran before: it has come back after a fault, perhaps elsewhere."""
        jobs = self.snapshot.jobs.now
        if self.running is not None and not self.running.units.isdisjoint([jobs[row].name for row in rows]):
            self.running = None

    def _known(self, row: int, gpus: Gpus) -> tuple[float, float]:
        job = self.snapshot.jobs.now[row]
        limit_s = job.attributes.get(LIMIT) if self.by_limits else None
        if limit_s is None:
            return self.snapshot.belief.on_nodes(job, gpus), math.nan
        return math.nan, _seconds(job, limit_s)


def require_limits(scenario: Scenario) -> None:
    """Raise InputError for a limit that is no number of seconds above 0."""
    for job in scenario.jobs:
        _seconds(job, job.attributes.get(LIMIT, 1.0))


def _seconds(job: Job, limit_s: float | str) -> float:
    if isinstance(limit_s, str) or limit_s <= 0:
        raise InputError(f"job {job.name}, attributes.{LIMIT}", limit_s, "seconds > 0")
    return float(limit_s)


_End = tuple[float, Gpus]
"""When GPUs are expected to come free, and which."""


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
    trial.blocked = False  # others may pass
    started = dict(chosen)
    kinds = preferences(trial, rows, rule.aware)
    head = next(
        (spot for spot, row in enumerate(rows) if row not in started and may_run(trial, row, kinds(spot))), None
    )
    if head is None:
        return chosen, None
    reserved = _reserve(rows[head], kinds(head), trial, lasts, [*started])
    for spot in range(head + 1, len(rows)):
        most = max(trial.left)
        if not most:
            break
        if trial.jobs[rows[spot]].gpus > most:
            continue
        kind = next((kind for kind in kinds(spot) if _passes(rows[spot], kind, trial, reserved, lasts)), None)
        if kind is not None:
            chosen.append((rows[spot], kind))
    return chosen, reserved


def _reserve(row: int, kinds: Sequence[int], trial: Trial, lasts: Lasts, started: Sequence[int]) -> Reservation:
    """The type on which a job can start soonest by the expected ends; equally soon: the one that it prefers.

    started: rows of those who start now.
    """
    snapshot, jobs = trial.snapshot, trial.jobs

    def held(row: int) -> Gpus:
        name = jobs[row].name
        return (leases.get(name) or snapshot.ended[name]).gpus

    leases, rows = snapshot.leases, snapshot.jobs.held.nonzero()[0]
    running, placed = rows.tolist(), [trial.placed[jobs[row].name] for row in started]
    seconds = [*lasts.all(rows, held).tolist(), *map(lasts.one, started, placed)]

    def gpus(number: int) -> Gpus:
        return held(running[number]) if number < len(running) else placed[number - len(running)]

    ends_s = snapshot.now_s + np.array(seconds)
    order: list[int] = ends_s.argsort(kind="stable").tolist()

    def ends(kind: int) -> Iterator[_End]:
        """The ends on a type, in the order of time: few of them are asked for."""
        for number in order:
            those = gpus(number)
            if trial.free_gpus.kind_of(those) == kind:
                yield ends_s.item(number), those

    found = [_soonest(row, kind, ends(kind), trial) for kind in kinds]
    return min(found, key=lambda reservation: reservation.shadow_s)


def _soonest(row: int, kind: int, ends: Iterator[_End], trial: Trial) -> Reservation:
    """When a job can start on a type; infinity if it cannot, as too many of its nodes are down."""
    free_gpus, end_s = trial.free_gpus.copy(), math.inf
    for next_s, gpus in ends:
        if next_s > end_s * (1 + TIE) and trial.fits(row, kind, free_gpus):  # with all that end together
            return Reservation(row, kind, end_s, free_gpus)
        free_gpus.lend(gpus)
        end_s = next_s
    return Reservation(row, kind, end_s if trial.fits(row, kind, free_gpus) else math.inf, free_gpus)


def _passes(row: int, kind: int, trial: Trial, reserved: Reservation, lasts: Lasts) -> bool:
    """Start a job on a type if it fits and does not delay the first one; returns whether it does."""
    if not trial.take(row, kind):
        return False
    gpus = trial.placed[trial.jobs[row].name]
    if kind != reserved.kind or trial.snapshot.now_s + lasts.one(row, gpus) <= reserved.shadow_s * (1 + TIE):
        return True
    if reserved.free_gpus.keep(kind, sum(gpus.values()), gpus):
        if trial.fits(reserved.row, kind, reserved.free_gpus):
            return True
        reserved.free_gpus.lend(gpus)
    trial.undo(row, kind)
    return False
