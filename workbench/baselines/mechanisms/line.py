"""Who is served when a line of jobs is served greedily: each gets the GPUs of one accelerator type, or waits."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import accumulate
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
    kinds, left = preferences(trial, rows, rule.aware), trial.left
    chosen: list[tuple[int, int]] = []
    for spot, row in enumerate(rows):
        if not any(left):
            trial.blocked = draw is None
            break
        preferred = kinds(spot) if draw is None else draw.permutation(kinds(spot)).tolist()
        gang = trial.jobs[row].gpus
        for kind in preferred if gang <= most else ():
            if gang <= left[kind] and trial.take(row, kind):
                most -= gang
                chosen.append((row, kind))
                break
        else:
            if rule.blocking and may_run(trial, row, kinds(spot)):
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
    gangs, kind_of, down = trial.snapshot.jobs.gpus.tolist(), trial.free_gpus.kind_of, trial.snapshot.nodes.down
    runs = {row: held[name] for row, name in enumerate(trial.snapshot.jobs.names) if name in held}
    if down:
        runs = {row: gpus for row, gpus in runs.items() if down.isdisjoint(gpus)}
    line = in_line(sorted([*waiting, *runs]), keys)
    turns: list[int] = []  # spots in the line of who is still to be served, rising
    at: list[list[int]] = [[] for _ in trial.left]  # spots of who runs on each type, but for the victims: the last ones
    for spot, row in enumerate(line):
        if row not in runs:
            turns.append(spot)
        else:
            at[kind_of(runs[row]) if len(at) > 1 else 0].append(spot)
    behind = [[line[spot] for spot in spots] for spots in at]
    total = [[0, *accumulate(map(gangs.__getitem__, rows))] for rows in behind]  # GPUs of the first so many
    kinds = preferences(trial, line, rule.aware)
    chosen: list[tuple[int, int]] = []
    victims: list[int] = []
    while turns:
        spot = heappop(turns)
        passed = [bisect_left(spots, spot) for spots in at]
        count = [gpus[len(spots)] - gpus[first] for gpus, spots, first in zip(total, at, passed, strict=True)]
        if not any(trial.left) and not any(count):
            break
        row = line[spot]
        had = runs.get(row)
        found = next((k for k in kinds(spot) if trial.take(row, k, had)), None)
        if found is not None:
            chosen.append((row, found))
            continue
        for kind in kinds(spot):
            if count[kind] == 0 or trial.left[kind] + count[kind] < gangs[row]:
                continue
            made_room = trial.push(row, kind, [runs[each] for each in behind[kind][passed[kind] :]], had)
            if made_room:
                for _ in range(made_room):
                    victims.append(behind[kind].pop())
                    heappush(turns, at[kind].pop())
                chosen.append((row, kind))
                break
    return chosen, sorted(victims)


def preferences(trial: Trial, rows: Sequence[int], aware: bool) -> Callable[[int], list[int]]:
    """From the spot of a job in a line to the positions of the types on which it has a speed, best first; worked out as
    far down the line as anybody asks."""
    belief: Any = trial.snapshot.belief
    jobs, kind, known = trial.jobs, type(belief), dict[int, list[int]]()
    if kind is Oracle or kind.speeds is Oracle.speeds:  # known row by row
        return lambda spot: belief.kinds_for(jobs[rows[spot]], aware)

    def of(spot: int) -> list[int]:
        if spot not in known:
            some = job_orders.take(trial.snapshot.jobs, rows[spot : 2 * spot + CHUNK])
            for i, speed in enumerate(belief.speeds(some).tolist()):
                known[spot + i] = preferred(speed, aware)
        return known[spot]

    return of


def may_run(trial: Trial, row: int, kinds: Sequence[int]) -> bool:
    """Whether the whole cluster has one of some types with enough GPUs for a job; one that has not blocks nobody."""
    gpus, snapshot = trial.jobs[row].gpus, trial.snapshot
    return any(snapshot.cluster.capacity[snapshot.types[kind]] >= gpus for kind in kinds)
