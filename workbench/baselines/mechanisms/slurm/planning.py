"""Slurm's two schedulers: which jobs start now, on which nodes, and what the others wait for
(slurm.schedmd.com/sched_config.html, slurm.conf(5), 22.05).

*Main.* Down the queue (partition tier, priority, age) each job starts that fits beside what runs. The first one of a
partition that does not fit ends the partition's turn, and takes its nodes away from the rest of this pass, also from
other partitions that share them. A job that a limit holds back is passed.

*Backfill.* Down the same queue, each job is given the earliest time at which its nodes are free by the time limits of
what runs and by what is planned before it. One that can start now does; the others' nodes are kept for them, whole,
for as long as their limit (conservative backfilling by nodes), from a multiple of bf_resolution to one. When what runs
will have ended is looked at in steps of 30 s, twice as long each time (bf_window_linear: longer by so many seconds
each). At most bf_max_job_test jobs are tried, bf_max_job_user, bf_max_job_part of one user, in one partition, none
later than bf_window; plans behind the last job that could start now are left out, since nobody sees them (ours).

*Reservations.* Nodes of one are for the jobs that name it, from its start to its end; others must end before.
"""

from __future__ import annotations

import math
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from workbench.base.units import format_duration
from workbench.baselines.mechanisms.slurm.free import FreeLater, FreeNow, Gpus, Held, Ints
from workbench.baselines.mechanisms.slurm.limits import Ledger
from workbench.baselines.mechanisms.slurm.site import Ask, Machines, SlurmSite
from workbench.scheduling.decision import Reason

PRECISION_S = 30.0
UNTIL_S = attrgetter("until_s")
SHARED = "nodes required for it are reserved for jobs in higher priority partitions"


@dataclass(slots=True)
class Plan:
    """What a pass came to: who starts where, why the others wait, and when those that were planned are to start."""

    starts: dict[str, Gpus] = field(default_factory=dict)
    reasons: dict[str, Reason] = field(default_factory=dict)
    later: dict[str, tuple[float, Gpus]] = field(default_factory=dict)


Shape = tuple[object, ...]
"""All of a job that tells when it can start, but for how long it may take."""


@dataclass(slots=True)
class Pass:
    """What both schedulers look at. able: of jobs of a partition and kind the nodes where they may run, best first;
    held: what runs; kept: machines that reservations keep, (machines, from, to, name)."""

    site: SlurmSite
    now_s: float
    queue: Sequence[Ask]
    able: Callable[[Ask], Ints]
    room: FreeNow
    held: list[Held]
    ledger: Ledger
    kept: Sequence[tuple[Machines, float, float, str]]
    _ends: list[Held] = field(default_factory=list)
    _planned: list[tuple[float, float, Ints]] = field(default_factory=list)
    _rooms: dict[int, FreeLater] = field(default_factory=dict)

    def barred(self, ask: Ask, at_s: NDArray[np.float64]) -> NDArray[np.bool_]:
        """(times, or 1, x machines) Whether a reservation keeps a machine from a job that starts then."""
        if not self.kept and not ask.reservation:
            return np.zeros((1, len(self.site.machines)), dtype=bool)
        to_s = at_s + ask.limit_s
        found = np.full((len(at_s), len(self.site.machines)), bool(ask.reservation))
        for machines, start, end, name in self.kept:
            if ask.reservation == name:
                found &= ~(((start <= at_s) & (to_s <= end))[:, None] & machines)
        for machines, start, end, name in self.kept:
            if ask.reservation != name:
                found |= ((start < to_s) & (at_s < end))[:, None] & machines
        return found

    def _barred_now(self, ask: Ask) -> Machines:
        found: Machines = self.barred(ask, np.array([self.now_s]))[0]
        return found

    def held_back(self, ask: Ask) -> Reason | None:
        """The throttle or the limit that keeps a job from starting now."""
        return self.ledger.throttled(ask) or self.ledger.reason(ask)

    def start(self, ask: Ask, gpus: Gpus, plan: Plan) -> None:
        """Give a job its nodes."""
        self.room.change(ask, gpus.items(), -1)
        self.ledger.add(ask, ask.limit_s)
        plan.starts[ask.name] = gpus
        self.held.append(Held.of(ask, gpus, self.now_s))
        insort(self._ends, self.held[-1], key=UNTIL_S)
        machines = self.room.machine[[*gpus]]
        self._rooms = {of: room for of, room in self._rooms.items() if not room.on(machines).any()}

    # The main scheduler -----------------------------------------------------------------------------------------------

    def main(self, depth: int) -> Plan:
        """One pass of the main scheduler over at most so many jobs."""
        plan, closed, blocked = Plan(), dict[str, str](), np.zeros(len(self.site.machines), dtype=bool)
        for ask in self.queue[:depth]:
            if reason := self.held_back(ask):
                plan.reasons[ask.name] = reason
            elif first := closed.get(ask.partition):
                plan.reasons[ask.name] = Reason("Priority", f"{first} comes before it in its partition, and waits")
            else:
                barred = self._barred_now(ask)
                gpus = self.room.place(ask, self.able(ask), barred | blocked)
                if gpus is not None:
                    self.start(ask, gpus, plan)
                    continue
                plan.reasons[ask.name] = self._no_room(ask, barred)
                if not ask.reservation:
                    closed[ask.partition] = ask.name
                    blocked |= self.site.machines_of(ask.partition)
        return plan

    def _no_room(self, ask: Ask, barred: Machines) -> Reason:
        """Why a job that no limit holds back finds no nodes."""
        able = self.able(ask)
        if ask.reservation:
            return Reason("Reservation", f"its reservation {ask.reservation} has not begun, is over, or has no room")
        if self.room.place(ask, able, barred) is not None:
            return Reason("Resources", SHARED)
        if barred.any() and self.room.place(ask, able, np.zeros_like(barred)) is not None:
            limit = format_duration(ask.limit_s, parts=2)
            return Reason("ReqNodeNotAvail", f"nodes are reserved, and by its limit of {limit} it would run into that")
        nodes = f" on {ask.nodes} nodes" if ask.nodes > 1 else ""
        return Reason("Resources", f"{ask.gpus} {'CPUs' if ask.on_cpus else 'GPUs'}{nodes} are not free at once")

    # Backfill ---------------------------------------------------------------------------------------------------------

    def backfill(self) -> Plan:
        """One cycle of the backfill scheduler."""
        settings, plan = self.site.settings, Plan()
        last_s = self.now_s + 60.0 * settings["bf_window"]
        tried = self._tried()
        could = self._could_start(tried)
        self._ends = sorted(self.held, key=UNTIL_S) if could else []
        before: dict[Shape, list[tuple[float, float]]] = {}
        for ask in tried:
            if not could:
                break
            could.discard(ask.name)
            if self.held_back(ask):
                continue
            like = before.setdefault(self._shape(ask), [])  # it starts no earlier than shorter ones before it
            from_s = max((at_s for limit_s, at_s in like if limit_s <= ask.limit_s), default=self.now_s)
            found = self._earliest(ask, from_s, last_s)
            like.append((ask.limit_s, found[0] if found else math.inf))
            if found is None:
                continue
            at_s, gpus = found
            if at_s <= self.now_s:
                self.start(ask, gpus, plan)
            else:
                plan.later[ask.name] = at_s, gpus
                self._planned.append((*self._slot(at_s, ask.limit_s), self.room.machine[[*gpus]]))
                for room in self._rooms.values():
                    room.keep(*self._planned[-1])
        return plan

    def _tried(self) -> list[Ask]:
        """The jobs that a cycle looks at."""
        settings = self.site.settings
        users, partitions = Counter[str](), Counter[str]()
        of_user, of_partition = settings["bf_max_job_user"] or math.inf, settings["bf_max_job_part"] or math.inf
        found = []
        for ask in self.queue:
            if users[ask.user] < of_user and partitions[ask.partition] < of_partition:
                users[ask.user] += 1
                partitions[ask.partition] += 1
                found.append(ask)
        return found[: int(settings["bf_max_job_test"])]

    def _could_start(self, tried: Iterable[Ask]) -> set[str]:
        """Those for whom there is room now, and whom no limit holds back."""
        fits, found = dict[Shape, bool](), set[str]()
        for ask in tried:
            shape = *self._shape(ask), ask.limit_s if self.kept else 0.0
            if shape not in fits:
                fits[shape] = self.room.place(ask, self.able(ask), self._barred_now(ask)) is not None
            if fits[shape] and self.held_back(ask) is None:
                found.add(ask.name)
        return found

    def _shape(self, ask: Ask) -> Shape:
        return id(self.able(ask)), ask.gpus, ask.nodes, ask.cpus, ask.memory_mb, ask.on_cpus, ask.reservation

    def _slot(self, at_s: float, limit_s: float) -> tuple[float, float]:
        """From when to when the nodes of a planned job are kept."""
        step = self.site.settings["bf_resolution"]
        return math.floor(at_s / step) * step, math.floor((at_s + limit_s + step - 1.0) / step) * step

    def _earliest(self, ask: Ask, from_s: float, last_s: float) -> tuple[float, Gpus] | None:
        """The earliest time at which a job can start beside what runs, is planned and reserved, and its nodes then."""
        able = self.able(ask)
        if id(able) not in self._rooms:
            self._rooms[id(able)] = self._after(able)
        room = self._rooms[id(able)]
        times = room.times(from_s, last_s, [end_s for *_, end_s, _ in self.kept])
        for done in range(0, len(times), 64):  # most find their time among the first ones
            some = times[done : done + 64]
            if found := room.place(ask, some, self.barred(ask, some)[:, room.machines]):
                return found
        return None

    def _after(self, able: Ints) -> FreeLater:
        """What is free now on some nodes, and after the ends of what runs there, taken together as Slurm does."""
        mine = set(able.tolist())
        ends = [held for held in self._ends if any(node in mine for node, _ in held.gpus)]
        room, found = self.room.copy(), [(self.now_s, self.room.of(able))]
        window_s, linear_s = PRECISION_S, self.site.settings["bf_window_linear"]
        until_s = math.floor(ends[0].until_s / window_s) * window_s + window_s if ends else 0.0
        done = 0
        while done < len(ends):
            while done < len(ends) and ends[done].until_s <= until_s:
                room.change(ends[done].ask, ends[done].gpus, 1)
                done += 1
            found.append((max(ends[done - 1].until_s, self.now_s + 1.0), room.of(able)))
            while done < len(ends) and ends[done].until_s > until_s:
                window_s = window_s + linear_s if linear_s else 2.0 * window_s
                until_s += window_s
        later = FreeLater(room, found, able, int(self.site.settings["bf_max_job_test"]))
        for each in self._planned:
            later.keep(*each)
        return later


def order(site: SlurmSite, asks: Iterable[Ask], priority: Mapping[str, float]) -> list[Ask]:
    """The queue: partition tier, then priority, then who came first; jobs of reservations before all."""

    def key(ask: Ask) -> tuple[bool, float, float, float, str]:
        partition = site.partitions.get(ask.partition)
        tier = partition.tier if partition else 1.0
        return (not ask.reservation, -tier, -int(priority[ask.name]), ask.since_s, ask.name)

    return sorted(asks, key=key)
