"""Jobs in a line, served greedily: each gets the GPUs of one accelerator type, or waits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench import queues
from workbench.decision import Assignment, Cause, Decision, IntArray, Reason, Snapshot, Unit
from workbench.knob import Knob
from workbench.papers.paper import Timing
from workbench.placement import Gpus, Request, Room, place, runs_spread
from workbench.queues import take
from workbench.throughput import FloatArray

CHUNK = 64
"""Speeds are asked for so many jobs of the line at a time; most of the line is never reached."""

AWARE = Knob(
    "heterogeneity_aware",
    True,
    "Give a job the fastest type that is free (otherwise the first one in the cluster's order)",
    kind="bool",
    main=True,
)
ROUND_S = Knob(
    "round_s", 360.0, "Length of a round; 0: decide at every arrival and completion", "s", minimum=0.0, main=True
)
EVENTS: frozenset[Cause] = frozenset({"arrival", "completion", "fault", "repair"})


Keys = Callable[[IntArray], FloatArray]
"""Keys of the jobs in some rows; the smallest is served first, equal ones in the order of the rows."""


@dataclass(frozen=True)
class Rule:
    """How a line is served.

    preemptive: a job may take the GPUs of jobs behind it in line; blocking: nobody passes a job that does not fit;
    aware: a job takes the fastest type that has room, else the first in cluster order; steady: the order changes only
    by arrivals and completions, so that nothing need be decided between them.
    """

    preemptive: bool
    blocking: bool
    aware: bool
    steady: bool


def timing(knobs: Mapping[str, Any]) -> Timing:
    """Rounds, or every arrival, completion and change of a node."""
    return Timing(knobs["round_s"]) if knobs["round_s"] > 0 else Timing(None, EVENTS)


def serve(snapshot: Snapshot, keys: Keys, rule: Rule, signals: Mapping[str, Mapping[str, float]]) -> Decision:
    """Give the line its GPUs. Assignments have no end: those who stay are not named, those who must go are preempted.

    A running job stays where it is, unless a job before it in line fits nowhere else: then those last in line make
    room, on the first type (as that job prefers them) where that is enough. Jobs that do not fit at all are passed.
    """
    names = snapshot.jobs.names
    if len(snapshot.leases) == len(names):
        return Decision(signals=signals, next_s=math.inf)
    held = {**snapshot.leases, **snapshot.ended}
    room = Room(snapshot.nodes)
    placed: dict[Unit, Gpus] = {}
    for unit, lease in snapshot.ended.items():
        if room.keep(room.kind_of(lease.gpus), sum(lease.gpus.values()), lease.gpus):
            placed[unit] = lease.gpus
    waiting = [row for row, name in enumerate(names) if name not in held]
    chosen, victims = _fill(snapshot, _in_line(waiting, keys), rule, room.left(len(snapshot.types)))
    if rule.preemptive and held and len(chosen) < len(waiting):
        chosen, victims = _push(snapshot, waiting, keys, rule, room, held)
    for row in victims:
        room.lend(held[names[row]].gpus)
        placed.pop(names[row], None)
    gangs = snapshot.jobs.gpus
    had = {names[row]: held[names[row]].gpus for row in victims}
    requests = [Request(names[row], kind, int(gangs[row]), had.get(names[row])) for row, kind in chosen]
    placed |= place(requests, room, keep_first=True, accept=runs_spread(snapshot))
    gone = {unit for unit in had if unit in snapshot.leases and placed.get(unit) != snapshot.leases[unit].gpus}
    assign = tuple(
        Assignment(unit, gpus, math.inf) for unit, gpus in placed.items() if unit not in snapshot.leases or unit in gone
    )
    running = len(snapshot.leases) - len(gone) + len(assign)
    return Decision(
        assign=assign,
        preempt=frozenset(gone),
        signals=signals,
        why=_reasons(snapshot, requests, placed, had),
        next_s=math.inf if rule.steady or running == len(names) else None,
    )


def fits(snapshot: Snapshot, keys: Keys, rule: Rule) -> list[tuple[int, int]]:
    """(row, type) of the jobs that the line would run on the empty cluster."""
    rows = _in_line(list(range(len(snapshot.jobs))), keys)
    return _fill(snapshot, rows, rule, snapshot.workers.tolist())[0]


def _in_line(rows: Sequence[int], keys: Keys) -> list[int]:
    chosen = np.asarray(rows, dtype=np.int64)
    return [int(row) for row in chosen[queues.by(keys(chosen))]] if len(chosen) > 1 else list(rows)


def _fill(
    snapshot: Snapshot, rows: Sequence[int], rule: Rule, left: list[int]
) -> tuple[list[tuple[int, int]], list[int]]:
    """(row, type) for jobs down the line while there are free GPUs. left: per type, is used up. No victims."""
    total = sum(left)
    gangs = snapshot.jobs.gpus
    kinds = _Preferences(snapshot, rows, rule.aware)
    chosen: list[tuple[int, int]] = []
    for spot, row in enumerate(rows):
        if total == 0:
            break
        gpus = int(gangs[row])
        kind = next((k for k in kinds.of(spot) if left[k] >= gpus), None)
        if kind is not None:
            left[kind] -= gpus
            total -= gpus
            chosen.append((row, kind))
        elif rule.blocking and kinds.may_run(spot):
            break
    return chosen, []


def _push(
    snapshot: Snapshot, waiting: list[int], keys: Keys, rule: Rule, room: Room, held: Mapping[Unit, Assignment]
) -> tuple[list[tuple[int, int]], list[int]]:
    """The same with pre-emption: (row, type) of those who get GPUs, and the rows of those who lose theirs.

    A victim may be chosen again for other GPUs when its own turn comes.
    """
    at, gangs = snapshot.jobs.at, snapshot.jobs.gpus.tolist()
    runs = {at[str(unit)]: room.kind_of(lease.gpus) for unit, lease in held.items()}
    line = _in_line(sorted([*waiting, *runs]), keys)
    left = room.left(len(snapshot.types))
    behind = [0] * len(left)
    tail: list[list[int]] = [[] for _ in left]
    for row in line:
        if row in runs:
            behind[runs[row]] += gangs[row]
            tail[runs[row]].append(row)
    kinds = _Preferences(snapshot, line, rule.aware)
    chosen: list[tuple[int, int]] = []
    victims: set[int] = set()
    for spot, row in enumerate(line):
        gpus = gangs[row]
        if row in runs and row not in victims:
            behind[runs[row]] -= gpus
            continue
        if not any(left) and not any(behind):
            break
        kind = next((k for k in kinds.of(spot) if left[k] >= gpus), None)
        if kind is None:
            kind = next((k for k in kinds.of(spot) if left[k] + behind[k] >= gpus), None)
        if kind is None:
            continue
        while left[kind] < gpus:
            victim = tail[kind].pop()
            victims.add(victim)
            left[kind] += gangs[victim]
            behind[kind] -= gangs[victim]
        left[kind] -= gpus
        chosen.append((row, kind))
    return chosen, sorted(victims)


class _Preferences:
    """The types that jobs of a line can run on, best first, worked out as far down the line as anybody asks."""

    def __init__(self, snapshot: Snapshot, rows: Sequence[int], aware: bool) -> None:
        self._snapshot, self._rows, self._aware = snapshot, rows, aware
        self._known: dict[int, list[int]] = {}

    def of(self, spot: int) -> list[int]:
        """Positions of the types on which the job has a speed."""
        if spot not in self._known:
            chunk = self._rows[spot : spot + CHUNK]
            speed = self._snapshot.belief.speeds(take(self._snapshot.jobs, chunk))
            ranked = np.argsort(-speed, axis=1, kind="stable") if self._aware else np.arange(speed.shape[1])
            ranked = np.broadcast_to(ranked, speed.shape)
            able = np.take_along_axis(speed, ranked, axis=1) > 0
            for i, (kinds, can) in enumerate(zip(ranked.tolist(), able.tolist(), strict=True)):
                self._known[spot + i] = [kind for kind, ok in zip(kinds, can, strict=True) if ok]
        return self._known[spot]

    def may_run(self, spot: int) -> bool:
        """Whether the whole cluster has a type with enough GPUs for the job; one that has not blocks nobody."""
        gpus = self._snapshot.jobs.gpus[self._rows[spot]]
        workers = self._snapshot.cluster.workers
        return any(workers[self._snapshot.types[kind]] >= gpus for kind in self.of(spot))


def _reasons(
    snapshot: Snapshot, requests: Iterable[Request], placed: Mapping[Unit, Gpus], had: Mapping[str, Gpus]
) -> dict[str, Reason]:
    """Reasons for those who start, move or lose their GPUs (had)."""
    why = {name: Reason("overtaken", "jobs before it in line took its GPUs") for name in had}
    for unit, kind, gpus, _ in requests:
        if unit in placed:
            name = snapshot.types[kind]
            why[str(unit)] = Reason("next_in_line", f"next in line, {gpus} GPUs of {name}", {"type": name})
    return why
