"""Slurm's two schedulers: which jobs start now, on which nodes, and what the others wait for
(slurm.schedmd.com/sched_config.html, slurm.conf(5), 22.05).

*Main.* Down the queue (partition tier, priority, who was submitted first) each job starts that fits beside what runs.
The first one of a partition that does not fit ends the partition's turn, and takes its nodes away from the rest of this
pass, also from other partitions that share them. A job that a limit holds back is passed.

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
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from operator import attrgetter

from workbench.base.units import format_duration
from workbench.baselines.mechanisms.slurm.free import FreeLater, FreeNow, Gpus, RunningJob
from workbench.baselines.mechanisms.slurm.limits import Ledger
from workbench.baselines.mechanisms.slurm.site import POLICIES, Ask, SlurmSite
from workbench.scheduling.decision import Reason

PRECISION_S = 30.0
UNTIL_S = attrgetter("until_s")
UNKNOWN = Reason("", "")
"""Stands for a reason that was not looked for."""
SHARED = "nodes required for it are reserved for jobs in higher priority partitions"


Shape = str | tuple[str, float]
"""Of a job (`Ask.shape`), with its limit where reservations tell by that."""
Place = tuple[bool, float, int, tuple[float, int, int], str]
Reserved = tuple[int, float, float, str]
"""What a reservation keeps: nodes, from, to, its name."""


@dataclass(frozen=True, slots=True)
class IdleCycle:
    """Of a cycle in which none of those who could start on some nodes did: who was tried there, up to the last who
    could; who of them could; who runs there; where who was tried may run; what reservations keep. Without a change of
    these the next cycle comes to the same, before until_s."""

    asks: tuple[str, ...]
    could: tuple[str, ...]
    held: tuple[str, ...]
    ables: tuple[int, ...]
    kept: tuple[Reserved, ...]
    until_s: float


@dataclass(slots=True)
class PassOutcome:
    """What a pass came to: who starts where, why the others wait, when those that were planned are to start, and
    where the next cycle may come to the same."""

    starts: dict[str, Gpus] = field(default_factory=dict)
    reasons: dict[str, Reason] = field(default_factory=dict)
    later: dict[str, tuple[float, Gpus]] = field(default_factory=dict)
    idle: dict[str, IdleCycle] = field(default_factory=dict)


@dataclass(slots=True)
class SchedulingPass:
    """What both schedulers look at. able: the nodes where jobs of a kind may run; held: what runs; kept: what
    reservations keep; idle: by nodes, cycles before that need not be made anew; inside: the nodes of each partition."""

    site: SlurmSite
    now_s: float
    queue: Sequence[Ask]
    able: Mapping[tuple[str, str, str], int]
    free_now: FreeNow
    held: list[RunningJob]
    ledger: Ledger
    kept: tuple[Reserved, ...]
    idle: Mapping[str, IdleCycle]
    inside: Mapping[str, int]
    _back: dict[int, Reason | None] = field(default_factory=dict)
    _ends: list[RunningJob] = field(default_factory=list)
    _planned: list[tuple[float, float, int]] = field(default_factory=list)
    _later: dict[int, FreeLater] = field(default_factory=dict)

    def barred(self, ask: Ask, at_s: float) -> int:
        """The nodes that a reservation keeps from a job that starts then."""
        to_s, found = at_s + ask.limit_s, -1 if ask.reservation else 0
        for nodes, start, end, name in self.kept:
            if ask.reservation == name and start <= at_s and to_s <= end:
                found &= ~nodes
        for nodes, start, end, name in self.kept:
            if ask.reservation != name and start < to_s and at_s < end:
                found |= nodes
        return found

    def _place(self, ask: Ask, barred: int) -> Gpus | None:
        return self.free_now.put(ask, self.able[ask.kind] & ~barred)

    def held_back(self, ask: Ask) -> Reason | None:
        """The throttle or the limit that keeps a job from starting now: of equal jobs the same until one starts."""
        group = self.ledger.group[ask.name]
        if group not in self._back:
            self._back[group] = self.ledger.throttled(ask) or self.ledger.reason(ask)
        return self._back[group]

    def start(self, ask: Ask, gpus: Gpus, plan: PassOutcome) -> None:
        """Give a job its nodes."""
        self.free_now.change(ask, gpus.items(), -1)
        self.ledger.add(ask, ask.limit_s)
        same = self.ledger.untouched(ask)
        self._back = {group: reason for group, reason in self._back.items() if same(group)}
        plan.starts[ask.name] = gpus
        self.held.append(self.free_now.held(ask, gpus, self.now_s))
        insort(self._ends, self.held[-1], key=UNTIL_S)
        nodes = self._on(gpus)
        self._later = {able: later for able, later in self._later.items() if not able & nodes}

    def _on(self, gpus: Iterable[int]) -> int:
        """All nodes on the machines of some."""
        found = 0
        for node in gpus:
            for at in self.free_now.beside[node]:
                found |= 1 << at
        return found

    # The main scheduler -----------------------------------------------------------------------------------------------

    def main(self, depth: int) -> PassOutcome:
        """One pass of the main scheduler over at most so many jobs."""
        plan, closed, blocked = PassOutcome(), dict[str, Reason](), 0
        reasons, group = plan.reasons, self.ledger.group
        for ask in self.queue[:depth]:
            known = self._back.get(group[ask.name], UNKNOWN)
            reason = (self.held_back(ask) if known is UNKNOWN else known) or closed.get(ask.partition)
            if reason:
                reasons[ask.name] = reason
            else:
                barred = self.barred(ask, self.now_s)
                gpus = self._place(ask, barred | blocked)
                if gpus is not None:
                    self.start(ask, gpus, plan)
                    continue
                reasons[ask.name] = self._why_not(ask, barred)
                if not ask.reservation:
                    text = f"{ask.name} comes before it in its partition, and waits"
                    closed[ask.partition] = Reason("Priority", text)
                    blocked |= self.inside[ask.partition]
        return plan

    def _why_not(self, ask: Ask, barred: int) -> Reason:
        """Why a job that no limit holds back finds no nodes."""
        if ask.reservation:
            return Reason("Reservation", f"its reservation {ask.reservation} has not begun, is over, or has no room")
        able = self.able[ask.kind]
        if self.free_now.fits_now(ask, able & ~barred):
            return Reason("Resources", SHARED)
        if barred and self.free_now.fits_now(ask, able):
            limit = format_duration(ask.limit_s, parts=2)
            return Reason("ReqNodeNotAvail", f"nodes are reserved, and by its limit of {limit} it would run into that")
        nodes = f" on {ask.nodes} nodes" if ask.nodes > 1 else ""
        return Reason("Resources", f"{ask.gpus} {'CPUs' if ask.on_cpus else 'GPUs'}{nodes} are not free at once")

    # Backfill ---------------------------------------------------------------------------------------------------------

    def backfill(self) -> PassOutcome:
        """One cycle of the backfill scheduler: only on nodes where a job could start, and not where one of the last
        cycles would only be repeated."""
        tried = self._tried()
        could, needed = self._could_start(tried)
        if not could:
            return PassOutcome()
        parts = self._parts({*(self.able[kind] for kind in {ask.kind for ask in tried})}, needed)
        near = sum(parts)
        able = {kind: each & near for kind, each in self.able.items()}
        back, group = self._back, self.ledger.group
        free = [
            ask
            for ask in tried
            if able[ask.kind] and back.get(group[ask.name], UNKNOWN) in (None, UNKNOWN) and self.held_back(ask) is None
        ]
        seen = {part: self._seen(part, free, could) for part in parts}
        same = {part: old for part, each in seen.items() if (old := self._repeats(part, each)) is not None}
        before = self.free_now.copy(), self.ledger.copy(), [*self.held]
        plan = self._down(free, could, {part: each for part, each in seen.items() if part not in same})
        repeated = {name for each in same.values() for name in each.asks}
        if plan.starts and any(ask.name in repeated and self.held_back(ask) for ask in free):  # by a limit they share
            (self.free_now, self.ledger, self.held), self._back = before, {}
            return self._down(free, could, seen)
        plan.idle |= {f"{part:x}": each for part, each in same.items()}
        return plan

    def _parts(self, ables: Iterable[int], needed: Iterable[int]) -> list[int]:
        """Nodes that share no machine and no job that could have nodes of two; of these those that hold some needed."""
        found: list[int] = []
        for nodes in map(self._whole, ables):
            joined = [part for part in found if part & nodes]
            found = [part for part in found if not part & nodes]
            for part in joined:
                nodes |= part
            found.append(nodes)
        return sorted(part for part in found if any(part & able for able in needed))

    def _whole(self, able: int) -> int:
        """Some nodes, and those beside them on their machines."""
        found = able
        for bit, beside in self.free_now.shared:
            if bit & able:
                found |= beside
        return found

    def _seen(self, part: int, free: Iterable[Ask], could: Set[str]) -> IdleCycle:
        """What a cycle depends on, on some nodes."""
        able = {kind: each & part for kind, each in self.able.items()}
        asks = [ask for ask in free if able[ask.kind]]
        while asks[-1].name not in could:
            asks.pop()
        names = tuple(ask.name for ask in asks)
        held = tuple([held.ask.name for held in self.held if held.nodes & part])
        ables = tuple(sorted({self.able[kind] for kind in {ask.kind for ask in asks}}))
        return IdleCycle(names, tuple(name for name in names if name in could), held, ables, self.kept, math.inf)

    def _repeats(self, part: int, seen: IdleCycle) -> IdleCycle | None:
        """The cycle before, where this one would come to the same."""
        old = self.idle.get(f"{part:x}")
        return old if old and self.now_s < old.until_s and replace(seen, until_s=old.until_s) == old else None

    def _down(self, free: Iterable[Ask], could: Set[str], parts: Mapping[int, IdleCycle]) -> PassOutcome:
        """Plan the jobs of some nodes down the queue, as far as somebody could start."""
        plan, last_s = PassOutcome(), self.now_s + 60.0 * self.site.settings["bf_window"]
        self._ends, self._planned, self._later = sorted(self.held, key=UNTIL_S) if parts else [], [], {}
        last = {seen.asks[-1]: part for part, seen in parts.items()}
        live, beyond = [*parts], False
        before: dict[Shape, list[tuple[float, float]]] = {}
        for ask in free:
            if not live:
                break
            able = self.able[ask.kind]
            if not any(part & able for part in live) or (plan.starts and self.held_back(ask)):
                if ask.name in last:
                    live = [part for part in live if part != last[ask.name]]
                continue
            if ask.name in last:
                live = [part for part in live if part != last[ask.name]]
            like = before.setdefault(ask.shape, [])  # it starts no earlier than shorter ones before it
            from_s = max((at_s for limit_s, at_s in like if limit_s <= ask.limit_s), default=self.now_s)
            found = self._earliest(ask, from_s, last_s)
            like.append((ask.limit_s, found[0] if found else math.inf))
            if found is None:
                beyond = True
            elif found[0] <= self.now_s:
                self.start(ask, found[1], plan)
            else:
                plan.later[ask.name] = found
                self._planned.append((*self._slot(found[0], ask.limit_s), self._on(found[1])))
                for each in self._later.values():
                    each.keep(*self._planned[-1])
        if not plan.starts:
            plan.idle = {f"{part:x}": replace(seen, until_s=self._until(part, beyond)) for part, seen in parts.items()}
        return plan

    def _until(self, part: int, beyond: bool) -> float:
        """Before when time alone changes nothing on some nodes: until something becomes free or a reservation begins
        or ends; for those whose time was beyond bf_window until there is one within."""
        window_s = 60.0 * self.site.settings["bf_window"] if beyond else 0.0
        later = [each for able, each in self._later.items() if able & part]
        ends = [end - window_s for *_, end, _ in self.kept if end > self.now_s + window_s] if beyond else []
        found = [each.changes_s(self.now_s) for each in later]
        found += [each.changes_s(self.now_s + window_s) - window_s for each in later]
        found += [at_s for _, start, end, _ in self.kept for at_s in (start, end) if at_s > self.now_s]
        return min(found + ends, default=math.inf)

    def _tried(self) -> list[Ask]:
        """The jobs that a cycle looks at."""
        settings = self.site.settings
        of_user, of_partition = settings["bf_max_job_user"] or math.inf, settings["bf_max_job_part"] or math.inf
        if of_user == of_partition == math.inf:
            return [*self.queue[: int(settings["bf_max_job_test"])]]
        users, partitions = Counter[str](), Counter[str]()
        found = []
        for ask in self.queue:
            if users[ask.user] < of_user and partitions[ask.partition] < of_partition:
                users[ask.user] += 1
                partitions[ask.partition] += 1
                found.append(ask)
        return found[: int(settings["bf_max_job_test"])]

    def _could_start(self, tried: Iterable[Ask]) -> tuple[set[str], set[int]]:
        """Those for whom there is room now, and whom no limit holds back; and the nodes where they may run."""
        fits, found, ables = dict[Shape, bool](), set[str](), set[int]()
        for ask in tried:
            shape = (ask.shape, ask.limit_s) if self.kept else ask.shape
            if shape not in fits:
                barred = self.barred(ask, self.now_s) if self.kept or ask.reservation else 0
                fits[shape] = self.free_now.fits_now(ask, self.able[ask.kind] & ~barred)
            if fits[shape] and self.held_back(ask) is None:
                found.add(ask.name)
                ables.add(self.able[ask.kind])
        return found, ables

    def _slot(self, at_s: float, limit_s: float) -> tuple[float, float]:
        """From when to when the nodes of a planned job are kept."""
        step = self.site.settings["bf_resolution"]
        return math.floor(at_s / step) * step, math.floor((at_s + limit_s + step - 1.0) / step) * step

    def _earliest(self, ask: Ask, from_s: float, last_s: float) -> tuple[float, Gpus] | None:
        """The earliest time at which a job can start beside what runs, is planned and reserved, and its nodes then."""
        able = self.able[ask.kind]
        if able not in self._later:
            self._later[able] = self._after(able)
        free = not self.kept and not ask.reservation

        def barred(at_s: float) -> int:
            return 0 if free else self.barred(ask, at_s)

        return self._later[able].earliest(ask, from_s, last_s, [end_s for *_, end_s, _ in self.kept], barred)

    def _after(self, able: int) -> FreeLater:
        """What is free now on some nodes, and after the ends of what runs there, taken together as Slurm does."""
        ends = [held for held in self._ends if held.nodes & able]
        times, lots = [self.now_s], list[list[RunningJob]]()
        window_s, linear_s = PRECISION_S, self.site.settings["bf_window_linear"]
        until_s = math.floor(ends[0].until_s / window_s) * window_s + window_s if ends else 0.0
        done = 0
        while done < len(ends):
            upto = bisect_right(ends, until_s, done, key=UNTIL_S)
            lots.append(ends[done:upto])
            done = upto
            times.append(max(ends[done - 1].until_s, self.now_s + 1.0))
            while done < len(ends) and ends[done].until_s > until_s:
                window_s = window_s + linear_s if linear_s else 2.0 * window_s
                until_s += window_s
        later = FreeLater(times, self.free_now.after(lots), able, self.free_now)
        for each in self._planned:
            later.keep(*each)
        return later


def place(site: SlurmSite, ask: Ask, priority: float) -> Place:
    """What orders the queue: partition tier, priority, who was submitted first; jobs of reservations before all."""
    partition = site.partitions.get(ask.partition)
    tier = partition.tier if partition else 1.0
    return (not ask.reservation, -tier, -int(priority), ask.number, ask.name)


def in_order(site: SlurmSite, queue: Sequence[Ask]) -> list[Ask]:
    """The queue, in which a partition with a policy of its own has its places and shares them out by that."""
    found = [*queue]
    for name, partition in site.partitions.items():
        if partition.policy:
            at = [i for i, ask in enumerate(found) if ask.partition == name]
            by = attrgetter(POLICIES[partition.policy])
            mine = sorted((found[i] for i in at), key=lambda ask: (not ask.reservation, by(ask)))
            for i, ask in zip(at, mine, strict=True):
                found[i] = ask
    return found
