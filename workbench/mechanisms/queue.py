"""Jobs in a line, served greedily: each gets the GPUs of one accelerator type, or waits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    placed, room = _kept(snapshot)
    waiting = [row for row, name in enumerate(names) if name not in held]
    trial = _Trial(snapshot, _kept(snapshot)[1])
    chosen, victims = _fill(_in_line(waiting, keys), rule, trial), list[int]()
    if rule.preemptive and held and len(chosen) < len(waiting):
        trial = _Trial(snapshot, _kept(snapshot)[1])
        chosen, victims = _push(waiting, keys, rule, trial, held)
    for row in victims:
        room.lend(held[names[row]].gpus)
        placed.pop(names[row], None)
    gangs = snapshot.jobs.gpus
    had = {names[row]: held[names[row]].gpus for row in victims}
    requests = [Request(names[row], kind, int(gangs[row]), had.get(names[row])) for row, kind in chosen]
    together = place(requests, room, keep_first=True, accept=runs_spread(snapshot))
    placed |= trial.placed if trial.refused or len(together) < len(requests) else together
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


def _kept(snapshot: Snapshot) -> tuple[dict[Unit, Gpus], Room]:
    """Who goes on where its assignment ends now, and the room beside them."""
    room = Room(snapshot.nodes)
    gpus = {unit: lease.gpus for unit, lease in snapshot.ended.items()}
    return {
        unit: those for unit, those in gpus.items() if room.keep(room.kind_of(those), sum(those.values()), those)
    }, room


def fits(snapshot: Snapshot, keys: Keys, rule: Rule) -> list[tuple[int, int]]:
    """(row, type) of the jobs that the line would run on the empty cluster."""
    rows = _in_line(list(range(len(snapshot.jobs))), keys)
    nodes = snapshot.nodes
    return _fill(rows, rule, _Trial(snapshot, Room(replace(nodes, free=np.where(nodes.up, nodes.gpus, 0)))))


def _in_line(rows: Sequence[int], keys: Keys) -> list[int]:
    chosen = np.asarray(rows, dtype=np.int64)
    return [int(row) for row in chosen[queues.by(keys(chosen))]] if len(chosen) > 1 else list(rows)


class _Trial:
    """GPUs given out to one job after the other, to see who fits.

    left: free GPUs per type; placed: who has which; refused: whether a job ran nowhere although its type had room.
    """

    def __init__(self, snapshot: Snapshot, room: Room) -> None:
        self.snapshot, self.room = snapshot, room
        self.left = room.left(len(snapshot.types))
        self.placed: dict[Unit, Gpus] = {}
        self.refused = False
        self._accept = runs_spread(snapshot)

    def take(self, row: int, kind: int, previous: Gpus | None = None) -> bool:
        """Give a job GPUs of a type, those it had where they are free; returns whether it fits."""
        jobs = self.snapshot.jobs
        gpus = int(jobs.gpus[row])
        if self.left[kind] < gpus:
            return False
        found = place([Request(jobs.names[row], kind, gpus, previous)], self.room, accept=self._accept)
        if not found:
            self.refused = True
            return False
        self.placed |= found
        self.left[kind] -= gpus
        return True

    def push(self, row: int, kind: int, behind: Sequence[tuple[int, Gpus]], previous: Gpus | None) -> int:
        """Give a job GPUs of a type that those behind it hold; returns how many of them, the last first, make room.

        0, and nobody does, if it does not fit even then.
        """
        first = True
        for count, (_, gpus) in enumerate(reversed(behind), 1):
            self._lend(kind, gpus)
            if self.take(row, kind, previous):
                return count
            if first and self.left[kind] >= self.snapshot.jobs.gpus[row]:
                first = False
                if not self._would_fit(row, kind, behind[: len(behind) - count]):
                    break
        self._take_back(kind, behind[len(behind) - count :])
        return 0

    def _would_fit(self, row: int, kind: int, more: Sequence[tuple[int, Gpus]]) -> bool:
        """Whether a job fits if more make room; spares trying one after the other in vain."""
        for _, gpus in more:
            self._lend(kind, gpus)
        fits = self.take(row, kind)
        if fits:
            gpus = self.placed.pop(self.snapshot.jobs.names[row])
            self._lend(kind, gpus)
        self._take_back(kind, more)
        return fits

    def _lend(self, kind: int, gpus: Gpus) -> None:
        self.room.lend(gpus)
        self.left[kind] += sum(gpus.values())

    def _take_back(self, kind: int, lent: Sequence[tuple[int, Gpus]]) -> None:
        for _, gpus in lent:
            count = sum(gpus.values())
            self.room.keep(kind, count, gpus)
            self.left[kind] -= count


def _fill(rows: Sequence[int], rule: Rule, trial: _Trial) -> list[tuple[int, int]]:
    """(row, type) for jobs down the line while there are free GPUs."""
    kinds = _Preferences(trial.snapshot, rows, rule.aware)
    chosen: list[tuple[int, int]] = []
    for spot, row in enumerate(rows):
        if not any(trial.left):
            break
        kind = next((k for k in kinds.of(spot) if trial.take(row, k)), None)
        if kind is not None:
            chosen.append((row, kind))
        elif rule.blocking and kinds.may_run(spot):
            break
    return chosen


def _push(
    waiting: list[int], keys: Keys, rule: Rule, trial: _Trial, held: Mapping[Unit, Assignment]
) -> tuple[list[tuple[int, int]], list[int]]:
    """The same with pre-emption: (row, type) of those who get GPUs, and the rows of those who lose theirs.

    A victim may be chosen again, for the same or other GPUs, when its own turn comes.
    """
    snapshot = trial.snapshot
    at, gangs = snapshot.jobs.at, snapshot.jobs.gpus.tolist()
    runs = {at[str(unit)]: (trial.room.kind_of(lease.gpus), lease.gpus) for unit, lease in held.items()}
    line = _in_line(sorted([*waiting, *runs]), keys)
    behind: list[list[tuple[int, Gpus]]] = [[] for _ in trial.left]  # who runs on each type, from here on in the line
    for row in line:
        if row in runs:
            behind[runs[row][0]].append((row, runs[row][1]))
    passed = [0] * len(behind)
    count = [sum(gangs[row] for row, _ in those) for those in behind]
    kinds = _Preferences(snapshot, line, rule.aware)
    chosen: list[tuple[int, int]] = []
    victims: set[int] = set()
    for spot, row in enumerate(line):
        if row in runs and row not in victims:
            kind = runs[row][0]
            passed[kind] += 1
            count[kind] -= gangs[row]
            continue
        if not any(trial.left) and not any(count):
            break
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
                count[kind] -= sum(gangs[victim] for victim in gone)
                chosen.append((row, kind))
                break
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
