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
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.base.units import format_duration
from workbench.baselines.mechanisms.slurm.free import FreeLater, FreeNow, Gpus, Held, Ints
from workbench.baselines.mechanisms.slurm.limits import Ledger
from workbench.baselines.mechanisms.slurm.site import Ask, Machines, SlurmSite
from workbench.scheduling.decision import Reason

PRECISION_S = 30.0
SHARED = "nodes required for it are reserved for jobs in higher priority partitions"


@dataclass(slots=True)
class Plan:
    """What a pass came to: who starts where, why the others wait, and when those that were planned are to start."""

    starts: dict[str, Gpus] = field(default_factory=dict)
    reasons: dict[str, Reason] = field(default_factory=dict)
    later: dict[str, tuple[float, Gpus]] = field(default_factory=dict)


@dataclass(slots=True)
class Pass:
    """What both schedulers look at. able: of each job the nodes where it may run, best first; kept: machines that
    reservations keep, (machines, from, to, name)."""

    site: SlurmSite
    now_s: float
    queue: Sequence[Ask]
    able: Mapping[str, Ints]
    room: FreeNow
    held: list[Held]
    ledger: Ledger
    kept: Sequence[tuple[Machines, float, float, str]]
    _rooms: dict[int, FreeLater] = field(default_factory=dict)

    def barred(self, ask: Ask, from_s: float, to_s: float) -> Machines:
        """Machines that a reservation keeps from a job in a time."""
        found = self.site.everything if ask.reservation else 0
        for machines, start, end, name in self.kept:
            if ask.reservation == name and start <= from_s and to_s <= end:
                found &= ~machines
        for machines, start, end, name in self.kept:
            if ask.reservation != name and start < to_s and from_s < end:
                found |= machines
        return found

    def held_back(self, ask: Ask) -> Reason | None:
        """The throttle or the limit that keeps a job from starting now."""
        return self.ledger.throttled(ask) or self.ledger.reason(ask)

    def start(self, ask: Ask, gpus: Gpus, plan: Plan) -> None:
        """Give a job its nodes."""
        self.room.change(ask, gpus, -1)
        self.ledger.add(ask, ask.limit_s)
        self.held.append(Held(ask, gpus, self.now_s + ask.limit_s))
        plan.starts[ask.name] = gpus
        self._rooms.clear()

    # The main scheduler -----------------------------------------------------------------------------------------------

    def main(self, depth: int) -> Plan:
        """One pass of the main scheduler over at most so many jobs."""
        plan, closed, blocked = Plan(), dict[str, str](), 0
        for ask in self.queue[:depth]:
            if reason := self.held_back(ask):
                plan.reasons[ask.name] = reason
            elif first := closed.get(ask.partition):
                plan.reasons[ask.name] = Reason("Priority", f"{first} comes before it in its partition, and waits")
            else:
                barred = self.barred(ask, self.now_s, self.now_s + ask.limit_s)
                gpus = self.room.place(ask, self.able[ask.name], barred | blocked)
                if gpus is not None:
                    self.start(ask, gpus, plan)
                    continue
                plan.reasons[ask.name] = self._no_room(ask, barred)
                if not ask.reservation:
                    closed[ask.partition] = ask.name
                    blocked |= self.site.inside.get(ask.partition, self.site.everything)
        return plan

    def _no_room(self, ask: Ask, barred: Machines) -> Reason:
        """Why a job that no limit holds back finds no nodes."""
        able = self.able[ask.name]
        if ask.reservation:
            return Reason("Reservation", f"its reservation {ask.reservation} has not begun, is over, or has no room")
        if self.room.place(ask, able, barred) is not None:
            return Reason("Resources", SHARED)
        if barred and self.room.place(ask, able, 0) is not None:
            limit = format_duration(ask.limit_s, parts=2)
            return Reason("ReqNodeNotAvail", f"nodes are reserved, and by its limit of {limit} it would run into that")
        nodes = f" on {ask.nodes} nodes" if ask.nodes > 1 else ""
        return Reason("Resources", f"{ask.gpus} {'CPUs' if ask.on_cpus else 'GPUs'}{nodes} are not free at once")

    # Backfill ---------------------------------------------------------------------------------------------------------

    def backfill(self) -> Plan:
        """One cycle of the backfill scheduler."""
        settings, plan = self.site.settings, Plan()
        last_s = self.now_s + 60.0 * settings["bf_window"]
        planned: list[tuple[float, float, Machines]] = []
        tried = self._tried()
        could = {ask.name for ask in tried if self._fits_now(ask)}
        for ask in tried:
            if not could:
                break
            could.discard(ask.name)
            if self.held_back(ask):
                continue
            found = self._earliest(ask, planned, last_s)
            if found is None:
                continue
            at_s, gpus = found
            if at_s <= self.now_s:
                self.start(ask, gpus, plan)
            else:
                plan.later[ask.name] = at_s, gpus
                planned.append((*self._slot(at_s, ask.limit_s), self._machines(gpus)))
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

    def _fits_now(self, ask: Ask) -> bool:
        barred = self.barred(ask, self.now_s, self.now_s + ask.limit_s)
        return self.room.place(ask, self.able[ask.name], barred) is not None and self.held_back(ask) is None

    def _slot(self, at_s: float, limit_s: float) -> tuple[float, float]:
        """From when to when the nodes of a planned job are kept."""
        step = self.site.settings["bf_resolution"]
        return math.floor(at_s / step) * step, math.floor((at_s + limit_s + step - 1.0) / step) * step

    def _machines(self, gpus: Gpus) -> Machines:
        found = 0
        for node in gpus:
            found |= 1 << self.site.machine[node]
        return found

    def _earliest(
        self, ask: Ask, planned: Sequence[tuple[float, float, Machines]], last_s: float
    ) -> tuple[float, Gpus] | None:
        """The earliest time at which a job can start beside what runs and is planned, and its nodes then.

        Looked for on the nodes that nobody before it is planned on, from the begin on; then from the end of each plan
        or reservation on, on those that are there then.
        """
        from_s, before, found = self.now_s, -1, None
        while from_s <= last_s:
            ends = [end for _, end, _ in planned if end > from_s] + [end for *_, end, _ in self.kept if end > from_s]
            next_s = min(ends, default=math.inf)
            taken = self._taken(ask, from_s, planned)
            if taken != before:
                before, found = taken, self._beside_what_runs(ask, taken)
            at_s = math.inf if found is None else max(found[0], from_s)
            if found is None or at_s > min(next_s, last_s):
                from_s = next_s
            elif at_s > from_s and self._taken(ask, at_s, planned) & self._machines(found[1]):
                from_s = at_s
            else:
                return at_s, found[1]
        return None

    def _taken(self, ask: Ask, at_s: float, planned: Sequence[tuple[float, float, Machines]]) -> Machines:
        """Machines that are planned for others or reserved while a job would run."""
        taken = self.barred(ask, at_s, at_s + ask.limit_s)
        for start, end, machines in planned:
            if start < at_s + ask.limit_s and at_s < end:
                taken |= machines
        return taken

    def _beside_what_runs(self, ask: Ask, taken: Machines) -> tuple[float, Gpus] | None:
        """The earliest time at which a job fits beside what runs, by its time limits."""
        able = self.able[ask.name]
        if id(able) not in self._rooms:
            self._rooms[id(able)] = self._after(able)
        return self._rooms[id(able)].place(ask, taken)

    def _after(self, able: Ints) -> FreeLater:
        """What is free now on some nodes, and after the ends of what runs there, taken together as Slurm does."""
        mine = set(able.tolist())
        ends = sorted((each for each in self.held if mine & each.gpus.keys()), key=lambda each: each.until_s)
        room, found = self.room, [(self.now_s, self.room)]
        window_s, linear_s = PRECISION_S, self.site.settings["bf_window_linear"]
        until_s = math.floor(ends[0].until_s / window_s) * window_s + window_s if ends else 0.0
        done = 0
        while done < len(ends):
            room = room.copy()
            while done < len(ends) and ends[done].until_s <= until_s:
                room.change(ends[done].ask, ends[done].gpus, 1)
                done += 1
            found.append((max(ends[done - 1].until_s, self.now_s + 1.0), room))
            while done < len(ends) and ends[done].until_s > until_s:
                window_s = window_s + linear_s if linear_s else 2.0 * window_s
                until_s += window_s
        return FreeLater(found, able)


def order(site: SlurmSite, asks: Iterable[Ask], priority: Mapping[str, float]) -> list[Ask]:
    """The queue: partition tier, then priority, then who came first; jobs of reservations before all."""

    def key(ask: Ask) -> tuple[bool, float, float, float, str]:
        partition = site.partitions.get(ask.partition)
        tier = partition.tier if partition else 1.0
        return (not ask.reservation, -tier, -int(priority[ask.name]), ask.since_s, ask.name)

    return sorted(asks, key=key)
