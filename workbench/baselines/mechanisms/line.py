"""Who is served when a line of jobs is served greedily: each gets the GPUs of one accelerator type, or waits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.baselines.mechanisms.trial import Trial
from workbench.scheduling import job_orders
from workbench.scheduling.decision import Unit
from workbench.scheduling.estimators.oracle import Oracle, preferred
from workbench.scheduling.placement import Gpus

CHUNK = 8
"""Speeds are asked for so many jobs of the line at a time, and for as many again as were asked for: most of the line is
never reached."""

Keys = Callable[[IntArray], FloatArray]
"""Keys of the jobs in some rows; the smallest is served first, equal ones in the order of the rows."""


@dataclass(frozen=True)
class Rule:
    """How a line is served.

    preemptive: a job may take the GPUs of jobs behind it in line; blocking: nobody passes a job that does not fit;
    aware: a job takes the fastest type that has room, else the first in cluster order (or a drawn one, see `fill`);
    steady: the order changes only by arrivals and completions, so that nothing need be decided between them.
    """

    preemptive: bool
    blocking: bool
    aware: bool
    steady: bool


def by_arrival(rows: IntArray) -> FloatArray:
    """The keys of a line by arrival: jobs stand in the order of (arrival, position) already."""
    return rows.astype(float)


def in_line(rows: Sequence[int], keys: Keys) -> Sequence[int]:
    """Rows, given in ascending order, in the order in which they are served."""
    if keys is by_arrival or len(rows) < 2:
        return rows
    chosen = np.array(rows, dtype=np.int64)
    served: list[int] = chosen[job_orders.by(keys(chosen))].tolist()
    return served


def fill(
    rows: Sequence[int], rule: Rule, trial: Trial, most: float = math.inf, draw: np.random.Generator | None = None
) -> list[tuple[int, int]]:
    """(row, type) for jobs down the line while there are free GPUs.

    most: GPUs that they may get together; draw: who is not aware of types takes one of those with room, at random.
    """
    kinds, jobs = Preferences(trial, rows, rule.aware), trial.jobs
    chosen: list[tuple[int, int]] = []
    for spot, row in enumerate(rows):
        if not any(trial.left):
            trial.blocked = draw is None
            break
        preferred = kinds.of(spot) if draw is None else draw.permutation(kinds.of(spot)).tolist()
        gang = jobs[row].gpus
        for kind in preferred if gang <= most else ():
            if trial.take(row, kind):
                most -= gang
                chosen.append((row, kind))
                break
        else:
            if rule.blocking and kinds.may_run(spot):
                trial.blocked = draw is None
                break
    return chosen


def push(
    waiting: Sequence[int], keys: Keys, rule: Rule, trial: Trial, held: Mapping[Unit, Gpus]
) -> tuple[list[tuple[int, int]], list[int]]:
    """The same with pre-emption: (row, type) of those who get GPUs, and the rows of those who lose theirs.

    A victim may be chosen again, for the same or other GPUs, when its own turn comes. Who runs on a drained node is
    none: nobody could have its GPUs.
    """
    snapshot = trial.snapshot
    jobs, kind_of, gangs = trial.jobs, trial.free_gpus.kind_of, snapshot.jobs.gpus.tolist()
    down = snapshot.nodes.down
    runs: dict[int, tuple[int, Gpus]] = {}
    for row in snapshot.jobs.held.nonzero()[0].tolist():
        gpus = held.get(jobs[row].name)
        if gpus is not None and down.isdisjoint(gpus):
            runs[row] = kind_of(gpus) if len(trial.left) > 1 else 0, gpus
    line = in_line(sorted([*waiting, *runs]), keys)
    behind: list[list[tuple[int, Gpus]]] = [[] for _ in trial.left]  # who runs on each type, from here on in the line
    count = [0] * len(behind)
    for row in line:
        if row in runs:
            kind, gpus = runs[row]
            behind[kind].append((row, gpus))
            count[kind] += gangs[row]
    passed = [0] * len(behind)
    kinds = Preferences(trial, line, rule.aware)
    chosen: list[tuple[int, int]] = []
    victims: set[int] = set()
    turns = len(waiting)  # of who is still to be served
    for spot, row in enumerate(line):
        if not turns:
            break
        if row in runs and row not in victims:
            kind = runs[row][0]
            passed[kind] += 1
            count[kind] -= gangs[row]
            continue
        if not any(trial.left) and not any(count):
            break
        turns -= 1
        had = runs[row][1] if row in runs else None
        found = next((k for k in kinds.of(spot) if trial.take(row, k, had)), None)
        if found is not None:
            chosen.append((row, found))
            continue
        for kind in kinds.of(spot):
            if count[kind] == 0 or trial.left[kind] + count[kind] < gangs[row]:
                continue
            made_room = trial.push(row, kind, behind[kind][passed[kind] :], had)
            if made_room:
                gone = [behind[kind].pop()[0] for _ in range(made_room)]
                victims.update(gone)
                turns += made_room
                count[kind] -= sum(gangs[victim] for victim in gone)
                chosen.append((row, kind))
                break
    return chosen, sorted(victims)


class Preferences:
    """The types that jobs of a line can run on, best first, worked out as far down the line as anybody asks."""

    def __init__(self, trial: Trial, rows: Sequence[int], aware: bool) -> None:
        self._snapshot, self._jobs, self._rows, self._aware = trial.snapshot, trial.jobs, rows, aware
        self._belief: Any = trial.snapshot.belief
        self._table = type(self._belief).speeds is Oracle.speeds  # known row by row
        self._known: dict[int, list[int]] = {}

    def of(self, spot: int) -> list[int]:
        """Positions of the types on which the job has a speed."""
        if self._table:
            found: list[int] = self._belief.kinds_for(self._jobs[self._rows[spot]], self._aware)
            return found
        if spot not in self._known:
            some = job_orders.take(self._snapshot.jobs, self._rows[spot : 2 * spot + CHUNK])
            for i, speed in enumerate(self._belief.speeds(some).tolist()):
                self._known[spot + i] = preferred(speed, self._aware)
        return self._known[spot]

    def may_run(self, spot: int) -> bool:
        """Whether the whole cluster has a type with enough GPUs for the job; one that has not blocks nobody."""
        gpus = self._jobs[self._rows[spot]].gpus
        capacity = self._snapshot.cluster.capacity
        return any(capacity[self._snapshot.types[kind]] >= gpus for kind in self.of(spot))
