"""Slurm's two schedulers: which jobs start now, on which nodes, and what the others wait for
(slurm.schedmd.com/sched_config.html, slurm.conf(5), 22.05).

*Main.* Down the queue (partition tier, priority, who was submitted first) each job starts that fits beside what runs.
The first one of a partition that does not fit ends the partition's turn, and takes its nodes away from the rest of this
pass, also from other partitions that share them. A job that a limit holds back is passed.

*Backfill.* Down the same queue, each job is given the earliest time at which its nodes are free by the time limits of
what runs and by what is planned before it. One that can start now does; the others' nodes are kept for them, whole, for
as long as their limit (conservative backfilling by nodes), from a multiple of bf_resolution to one. When what runs will
have ended is looked at in steps of 30 s, twice as long each time (bf_window_linear: longer by so many seconds each). At
most bf_max_job_test jobs are tried, bf_max_job_user, bf_max_job_part of one user, in one partition, none later than
bf_window. Nodes are kept for at most bf_job_part_count_reserve jobs of a partition (1: EASY backfilling) and
bf_max_job_array_resv tasks of an array, for none of a QOS with NoReserve, nor before bf_min_age_reserve; plans behind
the last job that could start now are left out, since nobody sees them (ours).

*Jobs that never started* in the log take their place in both, and get no nodes: where they could start they are passed.

*Reservations.* Nodes of one are for the jobs that name it, from its start to its end; others must end before.
"""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import attrgetter

import numpy as np

from workbench.base.units import format_duration
from workbench.baselines.mechanisms.slurm.asks import Ask
from workbench.baselines.mechanisms.slurm.free import FreeLater, FreeNow, GpusByNode, Kept, RunningJob
from workbench.baselines.mechanisms.slurm.limits import UNKNOWN, Ledger
from workbench.baselines.mechanisms.slurm.site import POLICIES, SlurmSite
from workbench.scheduling.decision import Reason

PRECISION_S = 30.0
UNTIL_S = attrgetter("until_s")
SHARED = "nodes required for it are reserved for jobs in higher priority partitions"


_Shape = str | tuple[str, float]
"""Of a job (`Ask.shape`), with its limit where reservations tell by that."""
Reserved = tuple[int, float, float, str]
"""What a reservation keeps: nodes, from, to, its name."""


@dataclass(frozen=True, slots=True)
class IdleCycle:
    """Of a cycle in which none of those who could start on some nodes did: the nodes; who was tried there, up to the
    last who could; who of them could; where who was tried may run; what reservations keep. Without a change of these,
    nor of what runs there, the next cycle comes to the same, before until_s."""

    nodes: int
    asks: tuple[str, ...]
    could: tuple[str, ...]
    ables: tuple[int, ...]
    kept: tuple[Reserved, ...]
    until_s: float


@dataclass(slots=True)
class PassOutcome:
    """What a pass came to: who starts where, why the others wait, and where the next cycle may come to the same."""

    starts: dict[str, GpusByNode] = field(default_factory=dict)
    reasons: dict[str, Reason] = field(default_factory=dict)
    idle: dict[str, IdleCycle] = field(default_factory=dict)


@dataclass(slots=True)
class SchedulingPass:
    """What both schedulers look at. able: the nodes where jobs of a kind may run; held: what runs; kept: what
    reservations keep; idle: by nodes, cycles before that need not be made anew; inside: the nodes of each partition;
    said: why jobs waited before; None where nobody is told. touched: the nodes beside those who started."""

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
    said: Mapping[str, Reason] | None
    touched: int = 0
    _ends: list[RunningJob] = field(default_factory=list)
    _planned: dict[int, Kept] = field(default_factory=dict)
    _later: dict[int, FreeLater] = field(default_factory=dict)

    def _place(self, ask: Ask, barred: int) -> GpusByNode | None:
        return self.free_now.put(ask, self.able[ask.kind] & ~barred)

    def start(self, ask: Ask, gpus: GpusByNode, plan: PassOutcome) -> None:
        """Give a job its nodes."""
        self.free_now.change(ask, gpus.items(), -1)
        self.ledger.add(ask, gpus, ask.limit_s)
        plan.starts[ask.name] = gpus
        self.held.append(self.free_now.held(ask, gpus, self.now_s))
        insort(self._ends, self.held[-1], key=UNTIL_S)
        nodes = self._on(gpus)
        self.touched |= nodes
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
        """One pass of the main scheduler over at most so many jobs; of reasons, those that are new."""
        plan, closed, blocked = PassOutcome(), dict[str, Reason](), 0
        ledger, said, reasons = self.ledger, self.said, plan.reasons
        group, held = ledger.group, ledger.held
        for ask in self._first(depth):
            if said is None and ask.partition in closed:
                continue
            reason = held.get(group[ask.name], UNKNOWN)
            if reason is UNKNOWN:
                reason = ledger.reason(ask)
            if reason is None and (reason := closed.get(ask.partition)) is None:
                barred = kept_from(self.kept, ask, self.now_s)
                gpus = self._place(ask, barred | blocked)
                if gpus is not None:
                    if ask.name not in self.site.beside:
                        self.start(ask, gpus, plan)
                    continue
                if not ask.reservation:
                    closed[ask.partition] = _behind(ask.name)
                    blocked |= self.inside[ask.partition]
                reason = self._why_not(ask, barred) if said is not None else None
            if said is not None and reason is not None and said.get(ask.name) is not reason:
                reasons[ask.name] = reason
        return plan

    def _first(self, depth: int) -> Sequence[Ask]:
        """So many jobs of the queue, of each partition at most partition_job_depth."""
        return _of_records(_of_each(self.queue, math.inf, self.site.settings["partition_job_depth"] or math.inf), depth)

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
        return _not_free(ask.gpus, "CPUs" if ask.on_cpus else "GPUs", ask.nodes)

    # Backfill ---------------------------------------------------------------------------------------------------------

    def backfill(self) -> PassOutcome:
        """One cycle of the backfill scheduler: only on nodes where a job could start, and not where one of the last
        cycles would only be repeated."""
        ledger, tried = self.ledger, self._tried()
        could = self._could_start(tried)
        if not could:
            return PassOutcome()
        ables = {self.able[kind] for kind in {ask.kind for ask in tried}}
        parts = self._parts(ables, {self.able[ask.kind] for ask in could.values()})
        near = sum(parts)
        near_to = {kind: each & near for kind, each in self.able.items()}
        held, group = ledger.held, ledger.group
        free = [
            ask
            for ask in tried
            if near_to[ask.kind]
            and ((why := held.get(group[ask.name], UNKNOWN)) is None or (why is UNKNOWN and ledger.reason(ask) is None))
        ]
        seen = {part: self._seen(part, free, could) for part in parts}
        same = {part: old for part, each in seen.items() if (old := self._repeats(part, each)) is not None}
        before = self.free_now.copy(), self.ledger.copy(), [*self.held]
        plan = self._down(free, could, {part: each for part, each in seen.items() if part not in same})
        repeated = {name for each in same.values() for name in each.asks}
        if plan.starts and any(ask.name in repeated and ledger.reason(ask) for ask in free):  # by a limit they share
            self.free_now, self.ledger, self.held = before
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

    def _seen(self, part: int, free: Iterable[Ask], could: Mapping[str, Ask]) -> IdleCycle:
        """What a cycle depends on, on some nodes."""
        able = {kind: each & part for kind, each in self.able.items()}
        asks = [ask for ask in free if able[ask.kind]]
        while asks[-1].name not in could:
            asks.pop()
        names = tuple([ask.name for ask in asks])
        ables = tuple(sorted({self.able[kind] for kind in {ask.kind for ask in asks}}))
        return IdleCycle(part, names, tuple([name for name in names if name in could]), ables, self.kept, math.inf)

    def _repeats(self, part: int, seen: IdleCycle) -> IdleCycle | None:
        """The cycle before, where this one would come to the same."""
        old = self.idle.get(f"{part:x}")
        if old is None or self.touched & part or self.now_s >= old.until_s or self.site.settings["bf_min_age_reserve"]:
            return None
        return old if replace(seen, until_s=old.until_s) == old else None

    def _down(self, free: Iterable[Ask], could: Mapping[str, Ask], parts: Mapping[int, IdleCycle]) -> PassOutcome:
        """Plan the jobs of some nodes down the queue, as long as somebody behind could still start there."""
        plan, last_s = PassOutcome(), self.now_s + 60.0 * self.site.settings["bf_window"]
        self._ends, self._later = sorted(self.held, key=UNTIL_S) if parts else [], {}
        self._planned = {part: Kept() for part in parts}
        live = {part: deque([could[name] for name in seen.could]) for part, seen in parts.items()}
        beyond, before, kept = False, dict[_Shape, list[tuple[float, float]]](), Counter[str]()
        for ask in free:
            if not live:
                break
            able = self.able[ask.kind]
            part = next((part for part in live if part & able), 0)
            if not part:
                continue
            left = live[part]
            if left[0] is ask:
                left.popleft()
            keeps = self._keeps(ask, kept)
            if (keeps or ask.name in could) and not (plan.starts and self.ledger.reason(ask)):
                like = before.setdefault(ask.shape, [])  # it starts no earlier than shorter ones before it
                from_s = max((at_s for limit_s, at_s in like if limit_s <= ask.limit_s), default=self.now_s)
                at_s = math.nextafter(self.now_s, math.inf)
                if from_s <= self.now_s and ask.name in could and (gpus := self._now(ask, part)):
                    at_s = self.now_s
                    self.start(ask, gpus, plan)
                elif keeps and (found := self._earliest(ask, part, from_s, last_s)):
                    at_s, gpus = found
                    if at_s > self.now_s:
                        kept.update([ask.partition, f"array {ask.array}"])
                        nodes = self._on(gpus)
                        until_s = self._planned[part].keep(*self._slot(at_s, ask.limit_s), nodes)
                        for later in self._later.values():
                            later.frees(until_s, nodes)
                elif keeps:
                    at_s, beyond = math.inf, True
                like.append((ask.limit_s, at_s))
            while left and not self._still_could(left[-1], part):
                left.pop()
            if not left:
                del live[part]
        if not plan.starts:
            plan.idle = {f"{part:x}": replace(seen, until_s=self._until(part, beyond)) for part, seen in parts.items()}
        return plan

    def _keeps(self, ask: Ask, kept: Counter[str]) -> bool:
        """Whether nodes are kept for a job that can start later. kept: for how many, by partition and array."""
        settings = self.site.settings
        if kept[ask.partition] >= (settings["bf_job_part_count_reserve"] or math.inf):
            return False
        if ask.array and kept[f"array {ask.array}"] >= settings["bf_max_job_array_resv"]:
            return False
        return ask.qos not in self.site.no_reserve and self.now_s - ask.since_s >= settings["bf_min_age_reserve"]

    def _still_could(self, ask: Ask, part: int) -> bool:
        """Whether one who could start has room beside what was planned and started since; once not, never again."""
        return not self.ledger.reason(ask) and self._open_now(ask, part).bit_count() >= max(ask.nodes, 1)

    def _open_now(self, ask: Ask, part: int) -> int:
        """The nodes with room for a job's part of one that nobody before it needs within its limit; all of them only
        where they are enough."""
        free = self.free_now.fits(ask) & self.able[ask.kind] & ~self._barred_now(ask)
        return self._planned[part].open(free, max(ask.nodes, 1), self.now_s, self.now_s + ask.limit_s)

    def _now(self, ask: Ask, part: int) -> GpusByNode | None:
        """The nodes of a job that starts now; None where it cannot."""
        return self.free_now.put(ask, self._open_now(ask, part))

    def _barred_now(self, ask: Ask) -> int:
        return kept_from(self.kept, ask, self.now_s) if self.kept or ask.reservation else 0

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
        return [*_of_records(_of_each(self.queue, of_user, of_partition), int(settings["bf_max_job_test"]))]

    def _could_start(self, tried: Iterable[Ask]) -> dict[str, Ask]:
        """Those for whom there is room now, and whom no limit holds back."""
        by_limit = bool(self.kept)
        shapes: dict[_Shape, Ask] = {((ask.shape, ask.limit_s) if by_limit else ask.shape): ask for ask in tried}
        fits = {
            shape
            for shape, ask in shapes.items()
            if self.free_now.fits_now(ask, self.able[ask.kind] & ~self._barred_now(ask))
        }
        if not fits:
            return {}
        room = [ask for ask in tried if ((ask.shape, ask.limit_s) if by_limit else ask.shape) in fits]
        beside = self.site.beside
        return {ask.name: ask for ask in room if ask.name not in beside and self.ledger.reason(ask) is None}

    def _slot(self, at_s: float, limit_s: float) -> tuple[float, float]:
        """From when to when the nodes of a planned job are kept."""
        step = self.site.settings["bf_resolution"]
        return math.floor(at_s / step) * step, math.floor((at_s + limit_s + step - 1.0) / step) * step

    def _earliest(self, ask: Ask, part: int, from_s: float, last_s: float) -> tuple[float, GpusByNode] | None:
        """The earliest time at which a job can start beside what runs, is planned and reserved, and its nodes then."""
        able = self.able[ask.kind]
        if able not in self._later:
            self._later[able] = self._after(able, self._planned[part])
        free = not self.kept and not ask.reservation

        def barred(at_s: float) -> int:
            return 0 if free else kept_from(self.kept, ask, at_s)

        return self._later[able].earliest(ask, from_s, last_s, [end_s for *_, end_s, _ in self.kept], barred)

    def _after(self, able: int, planned: Kept) -> FreeLater:
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
        return FreeLater(times, lots, able, self.free_now, planned)


def _of_each(queue: Sequence[Ask], of_user: float, of_partition: float) -> Sequence[Ask]:
    """At most so many records of one user and in one partition; an array is one, as in `_of_records`."""
    if of_user == of_partition == math.inf:
        return queue
    users, partitions = Counter[str](), Counter[str]()
    found, records = list[Ask](), set[str]()
    for ask in queue:
        if ask.array in records:
            found.append(ask)
        elif users[ask.user] < of_user and partitions[ask.partition] < of_partition:
            users[ask.user] += 1
            partitions[ask.partition] += 1
            found.append(ask)
            records |= {ask.array} - {""}
    return found


def _of_records(queue: Sequence[Ask], most: int) -> Sequence[Ask]:
    """The first jobs, of so many records: an array that waits is one ("only one job record is created",
    job_array.html)."""
    if len(queue) <= most:
        return queue
    records, found = set[str](), list[Ask]()
    for ask in queue:
        records.add(ask.array or ask.name)
        if len(records) > most:
            break
        found.append(ask)
    return found


def reserved(site: SlurmSite, free_now: FreeNow, now_s: float) -> tuple[Reserved, ...]:
    """What reservations keep that are known and not over."""
    return tuple(
        (free_now.on(np.isin(site.machines, [*each.nodes])), each.start_s, each.end_s, each.name)
        for each in site.reservations
        if each.known_s <= now_s < each.end_s
    )


def kept_from(kept: Iterable[Reserved], ask: Ask, at_s: float) -> int:
    """The nodes that reservations keep from a job that starts then."""
    to_s, found = at_s + ask.limit_s, -1 if ask.reservation else 0
    for nodes, start, end, name in kept:
        if ask.reservation == name and start <= at_s and to_s <= end:
            found &= ~nodes
    for nodes, start, end, name in kept:
        if ask.reservation != name and start < to_s and at_s < end:
            found |= nodes
    return found


@lru_cache(maxsize=4096)
def _behind(name: str) -> Reason:
    return Reason("Priority", f"{name} comes before it in its partition, and waits")


@lru_cache(maxsize=4096)
def _not_free(gpus: int, what: str, nodes: int) -> Reason:
    return Reason("Resources", f"{gpus} {what}{f' on {nodes} nodes' if nodes > 1 else ''} are not free at once")


def in_order(site: SlurmSite, queue: Sequence[Ask]) -> Sequence[Ask]:
    """The queue, in which a partition with a policy of its own has its places and shares them out by that."""
    own = [partition for partition in site.partitions.values() if partition.policy]
    if not own:
        return queue
    found = [*queue]
    for partition in own:
        at = [i for i, ask in enumerate(found) if ask.partition == partition.name]
        by = attrgetter(POLICIES[partition.policy])
        mine = sorted((found[i] for i in at), key=lambda ask: (not ask.reservation, by(ask)))
        for i, ask in zip(at, mine, strict=True):
            found[i] = ask
    return found
