"""Leases from their start to their end: slots, restarts, progress, and the record of it all."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.round_times import TIE
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scheduling.decision import Assignment, Reason, Unit, is_copy, members, unit_name
from workbench.scheduling.snapshot import Observation
from workbench.simulation.checkpoints import lost_steps, save
from workbench.simulation.jobbook import FINISHED, JobBook
from workbench.simulation.nodes import Nodes, SlotSet
from workbench.simulation.recorder import NONE, Nothing, Recorder


@dataclass(slots=True, eq=False)
class Lease:
    """One assignment in force.

    names, jobs: of the unit's jobs, and their ranks; from mark_s on nothing is recorded yet: restart until ready_s,
    running until stop_s, holding until tail_from_s, consolidating from then on. For each job: rates, its true steps/s;
    caps, the steps that it does from ready_s on (none known until it is set going), and stops, when it has done them;
    over the whole time from began_s on: done, the steps that are booked, and saved, those in the last checkpoint.
    row: its latest one in the recorder's `timeline`.
    """

    assignment: Assignment
    names: tuple[str, ...]
    jobs: tuple[int, ...]
    slots: SlotSet
    rates: tuple[float, ...]
    done: list[float]
    saved: list[float]
    until_s: float
    mark_s: float
    ready_s: float
    began_s: float
    caps: Sequence[float] = ()
    stops: Sequence[float] = ()
    stop_s: float = 0.0
    tail_from_s: float = float("inf")
    row: int = Nothing

    def steps(self, spot: int, now_s: float) -> float:
        """Steps that one of the unit's jobs has done by now since it was last set going."""
        if now_s >= self.stops[spot] * (1 - TIE):
            return self.caps[spot]
        return max(0.0, self.rates[spot] * (now_s - self.ready_s))

    def phases(self, now_s: float) -> Sequence[tuple[str, float, float]]:
        """(kind, start, end) of each phase between mark_s and now, in order."""
        _, _, _, kind, _, _ = self.assignment
        stop_s = self.tail_from_s if kind == "profile" else min(self.stop_s, self.tail_from_s)
        if self.ready_s <= self.mark_s < now_s <= stop_s:  # as nearly always: it has only been running
            return ((kind, self.mark_s, now_s),)
        edges = (
            ("restart", self.mark_s, self.ready_s),
            (kind, self.ready_s, stop_s),
            ("hold", stop_s, self.tail_from_s),
            ("consolidate", self.tail_from_s, float("inf")),
        )
        cut = [(name, max(start, self.mark_s), min(end, now_s)) for name, start, end in edges]
        return [phase for phase in cut if phase[2] > phase[1]]


Ran = tuple[Lease, float, float]
"""A lease, as it ran from one time to another."""


class Leasing:
    """Who holds which GPUs.

    leases: in force; ended: their end is now, and the scheduler may renew them; holder: units of each job; former:
    the slots a job or copy had last; broken_off: how many restarts ended before their time, without a step; measured:
    leases as they ran from measured_from_s on but no longer do, see `measure`; restart_s: seconds of a restart by GPUs.
    """

    def __init__(self, scenario: Scenario, book: JobBook, nodes: Nodes, recorder: Recorder) -> None:
        self._table, self.restart_s = scenario.table, scenario.core.restart.seconds
        self._checkpoint_s = scenario.core.checkpoint_s
        self._jobs, self._nodes, self._recorder = book, nodes, recorder
        self._copies: dict[Unit, Lease] = {}  # which run side by side: the book knows one run of a job
        self.leases: dict[Unit, Lease] = {}
        self.ended: dict[Unit, Lease] = {}
        self.holder: dict[int, list[Unit]] = {}
        self.former: dict[Unit, SlotSet] = {}
        self._ends: dict[float, int] = {}  # how many leases in force end then, and the same times as a heap
        self._end_times: list[float] = []
        self.next_end_s = math.inf  # the earliest
        self.broken_off = 0
        self.measured: list[Ran] = []
        self.measured_from_s = 0.0

    # Begin -----------------------------------------------------------------------------------------------------------

    def start(
        self,
        wanted: list[Assignment],
        rates: list[tuple[float, ...]],
        now_s: float,
        why: Mapping[str, Reason],
        *,
        free: bool = False,
    ) -> None:
        """Give units their slots; rates: of each, see `rates`; free: without paying for a restart."""
        former, leases, book = self.former, self.leases, self._jobs
        begun: set[int] = set() if free else book.begun
        slots = self._nodes.take([(a[1], former.get(_former_key(a[0]), ()) if former else ()) for a in wanted])
        begin: list[int] = []
        started: list[Lease] = []  # whose end is to be foreseen
        for number, (unit, gpus, until_s, kind, steps, tail_s) in enumerate(wanted):
            speeds, chosen = rates[number], slots[number]
            names = (unit,) if isinstance(unit, str) else members(unit)
            ranks = (book.rank[unit],) if isinstance(unit, str) else tuple(map(book.rank.__getitem__, names))
            old, none = begun.intersection(ranks), [0.0] * len(ranks)
            ready_s = now_s + self.restart_s(len(chosen)) if old else now_s
            own = tuple.__new__(Assignment, (unit, {**gpus}, until_s, kind, steps, tail_s))  # as the class itself does
            lease = Lease(own, names, ranks, chosen, speeds, none, none[:], until_s, now_s, ready_s, ready_s)
            leases[unit] = lease
            if until_s < math.inf:
                self._end_at(until_s)
            self._count_start(lease, now_s, why, old)
            if steps != 0.0 or kind != "profile":
                begin += ranks
            if not self._run(lease):
                started.append(lease)
        book.begun.update(begin)  # not before, as several copies of a job may start
        for lease in started:
            self.foresee(lease.jobs, now_s)

    def go_on_alone(self, unit: Unit, gone: int, now_s: float, reason: str) -> None:
        """One half of a pair (rank `gone`) has finished; the other keeps the GPUs: the same run, at its own speed.

        It pays for no restart, since its process goes on. One that a scheduler takes out of a pair while both have
        steps left does pay, also on the same GPUs: that is another unit, and only the same unit's lease is renewed.
        """
        pair = self.leases[unit]
        half = 1 - pair.jobs.index(gone)
        a, name = pair.assignment, pair.names[half]
        steps = None if a.steps is None else pair.caps[half] - pair.steps(half, now_s)
        self.close(unit, now_s)
        alone = a._replace(unit=name, steps=steps)
        self.start(
            [alone],
            [self.rates(alone, [self._jobs.jobs[pair.jobs[half]]])],
            now_s,
            {name: Reason("alone", reason)},
            free=True,
        )
        lease = self.leases[name]
        lease.began_s, lease.done, lease.saved = pair.began_s, [pair.done[half]], [pair.saved[half]]

    def rates(self, a: Assignment, jobs: Sequence[Job]) -> tuple[float, ...]:
        """True steps/s of each of a unit's `jobs` on these GPUs; 0 where it cannot run."""
        if len(jobs) == 1:
            return (self._table.on_nodes(jobs[0].model, a.gpus),)
        return self._table.pair_on_nodes(jobs[0].model, jobs[1].model, a.gpus) or (0.0, 0.0)

    def _count_start(self, lease: Lease, now_s: float, why: Mapping[str, Reason], may_move: Collection[int]) -> None:
        """may_move: those of its jobs that have begun before, and do not just go on.

        A job moves if it had GPUs until now and has other ones: not where its profile becomes a run, or it comes into a
        pair or out of one, on what it had.
        """
        unit, gpus, _, _, _, _ = lease.assignment
        book, one = self._jobs, self._jobs.one
        told, where = unit_name(unit), _in_words(tuple(gpus.items()))
        for spot, rank in enumerate(lease.jobs):
            name, event = lease.names[spot], "start"
            goes_on = rank in may_move and one.held[rank] == 0 and one.since_s[rank] == now_s
            if goes_on and {*lease.slots} != {*self.former.get(unit if is_copy(unit) else name, ())}:
                event = "move"
                book.moves[rank] += 1
            if math.isnan(one.first_start_s[rank]):
                one.first_start_s[rank] = now_s
            book.settle(rank, now_s, len(lease.slots))
            if lease.ready_s > now_s:
                book.restarts[rank] += 1
            self.holder.setdefault(rank, []).append(unit)
            self._recorder.event(now_s, event, name, told, where, why[name][1] if name in why else "")

    # Run -------------------------------------------------------------------------------------------------------------

    def _run(self, lease: Lease) -> bool:
        """Set the jobs of a lease going from ready_s; returns whether their completion is foreseen."""
        ready_s, rate = lease.ready_s, lease.rates[0]
        unit, _, _, _, steps, tail_s = lease.assignment
        if steps is None and tail_s == 0.0 and isinstance(unit, str) and rate > 0:  # as nearly always
            lease.tail_from_s = math.inf
            rank, book = lease.jobs[0], self._jobs
            cap = max(book.one.left[rank], 0.0)
            stop_s = ready_s + cap / rate
            lease.caps, lease.stops, lease.stop_s = (cap,), (stop_s,), stop_s
            book.run(rank, rate, ready_s, stop_s, cap)
            book.completes(rank, stop_s)
            return True
        limit_s = self._tail_from(lease)
        most = math.inf if steps is None else float(steps)
        caps, stops = [], []
        for rank, rate in zip(lease.jobs, lease.rates, strict=True):
            cap, stop = 0.0, ready_s
            if rate > 0:
                cap = min(self._open_steps(rank), most, rate * (limit_s - ready_s))
                stop += cap / rate
            caps.append(cap)
            stops.append(stop)
        lease.caps, lease.stops, lease.stop_s = caps, stops, max(stops)
        lease.tail_from_s = limit_s
        if is_copy(unit):
            self._copies[unit] = lease
            return False
        for rank, rate, cap, stop in zip(lease.jobs, lease.rates, caps, stops, strict=True):
            self._jobs.run(rank, rate, ready_s, stop, cap)
        return False

    def _tail_from(self, lease: Lease) -> float:
        """When consolidation begins unless the job completes before."""
        a = lease.assignment
        return max(a.until_s - a.tail_s, lease.ready_s) if a.tail_s > 0 else math.inf

    def _leases_of(self, rank: int) -> list[Lease]:
        return [self.leases[unit] for unit in self.holder.get(rank, ()) if unit in self.leases]

    def _open_steps(self, rank: int) -> float:
        """Steps that no runner of another unit of the job has been given yet."""
        given = 0.0
        if len(self.holder[rank]) > 1:
            for lease in self._leases_of(rank):
                if lease.caps:
                    given += lease.caps[lease.jobs.index(rank)]
        return max(float(self._jobs.one.left[rank]) - given, 0.0)

    def foresee(self, ranks: Iterable[int], now_s: float) -> None:
        """When each job will complete if nothing changes; copies that finish the job consolidate at once."""
        for rank in ranks:
            leases = self._leases_of(rank)
            if not leases:
                self._jobs.completes(rank, math.inf)
                continue
            given, stop_s, tail_s = 0.0, now_s, 0.0
            for lease in leases:
                spot, own_tail_s = lease.jobs.index(rank), lease.assignment.tail_s
                given += lease.caps[spot]
                stop_s = max(stop_s, lease.stops[spot])
                if own_tail_s > tail_s:
                    tail_s = own_tail_s
                lease.tail_from_s = self._tail_from(lease) if own_tail_s > 0 else math.inf
            if given < self._jobs.left.item(rank) - FINISHED * self._jobs.steps.item(rank):
                self._jobs.completes(rank, math.inf)
                continue
            self._jobs.completes(rank, stop_s + tail_s)
            if tail_s > 0:
                for lease in leases:
                    lease.tail_from_s = stop_s

    def renew(self, renewed: Mapping[Unit, Assignment], now_s: float) -> None:
        """Go on with the same GPUs: no restart. What has a cap or a tail is booked and set going anew."""
        fresh: list[Lease] = []
        again: list[Lease] = []
        for unit, a in renewed.items():
            lease = self.ended.pop(unit, None) or self.leases[unit]
            if unit not in self.leases:
                self.leases[unit] = lease
                again.append(lease)
            elif lease.until_s < math.inf:
                self._no_end_at(lease.until_s)
            if a.until_s < math.inf:
                self._end_at(a.until_s)
            was = lease.assignment
            if not (was.steps is a.steps is None and was.tail_s == a.tail_s == 0.0):  # else its end moves, no more
                self.measured.append((copy(lease), self.measured_from_s, now_s))
                self._record(lease, now_s)
                lease.caps = ()
                if is_copy(unit):  # its steps are in the job's parameters, which all copies start from
                    lease.saved = list(lease.done)
                lease.ready_s = max(lease.ready_s, now_s)
                fresh.append(lease)
            lease.until_s, lease.assignment = a.until_s, a if a.gpus is was.gpus else a._replace(gpus=was.gpus)
        for lease in [lease for lease in fresh if not self._run(lease)]:
            self.foresee(lease.jobs, now_s)
        for rank in chain.from_iterable(lease.jobs for lease in again):
            self._jobs.renewals[rank] += 1
        if self._recorder.in_detail:
            self._recorder.renewals(now_s, [(name, lease.assignment.unit) for lease in again for name in lease.names])

    # End -------------------------------------------------------------------------------------------------------------

    def end_due(self, now_s: float) -> None:
        """Move the leases whose end has come to `ended`."""
        latest_s = now_s * (1 + TIE)
        for unit in [unit for unit, lease in self.leases.items() if lease.until_s <= latest_s]:
            self.ended[unit] = self.leases.pop(unit)
        self._look_ahead(latest_s)

    def _end_at(self, until_s: float) -> None:
        """Another lease ends then, at no infinite time."""
        if until_s in self._ends:
            self._ends[until_s] += 1
            return
        self._ends[until_s] = 1
        heapq.heappush(self._end_times, until_s)
        self.next_end_s = self._end_times[0]

    def _no_end_at(self, until_s: float) -> None:
        """A lease does not end then."""
        self._ends[until_s] -= 1
        self._look_ahead()

    def _look_ahead(self, past_s: float = -math.inf) -> None:
        """Find the next end, after `past_s`."""
        times = self._end_times
        while times and (times[0] <= past_s or not self._ends[times[0]]):
            del self._ends[heapq.heappop(times)]
        self.next_end_s = times[0] if times else math.inf

    def close(self, unit: Unit, now_s: float, *, leaving: bool = False) -> Lease:
        """End a lease now, and give back its slots; `foresee` its job next if other copies go on.

        leaving: its job has finished, and what it holds is booked when it leaves.
        """
        lease = self.leases.pop(unit, None)
        if lease is None:
            lease = self.ended.pop(unit)
        elif lease.until_s < math.inf:
            self._no_end_at(lease.until_s)
        self.measured.append((lease, self.measured_from_s, now_s))
        self._record(lease, now_s)
        if now_s < lease.ready_s:
            self.broken_off += 1
        self._nodes.give_back(lease.assignment.gpus, lease.slots)
        copied = bool(self._copies) and self._copies.pop(unit, None) is not None
        if leaving:
            return lease
        book, slots = self._jobs, lease.slots
        for name, rank in zip(lease.names, lease.jobs, strict=True):
            self.former[unit if copied else name] = slots
            book.settle(rank, now_s, -len(slots))
            book.one.rate[rank] = book.one.cap[rank] = 0.0
            units = self.holder[rank]
            if len(units) > 1:
                units.remove(unit)
            else:
                del self.holder[rank]
                book.completes(rank, math.inf)
        return lease

    def lose(self, lease: Lease, now_s: float) -> list[float]:
        """A closed lease's node has failed: take back each job's steps since the last checkpoint; returns them."""
        lost = lost_steps(lease)
        for rank, steps in zip(lease.jobs, lost, strict=True):
            self._jobs.lose(rank, steps)
        self.foresee(lease.jobs, now_s)
        return lost

    def _record(self, lease: Lease, now_s: float) -> None:
        """Book the steps that a lease's jobs have done, and record its phases up to now."""
        if self._checkpoint_s is not None:
            save(lease, now_s, self._checkpoint_s)
        unit, _, _, does, _, _ = lease.assignment
        book, slots, done = self._jobs, lease.slots, [0.0, 0.0]
        one, interval = book.one, self._recorder.interval
        for spot, rank in enumerate(lease.jobs):
            steps = lease.steps(spot, now_s)
            if steps > 0:
                one.left[rank] -= steps
                book.stepped = True
                lease.done[spot] += steps
                done[spot] = steps
        for kind, start_s, end_s in lease.phases(now_s):
            own = kind == does
            for rank in lease.jobs if own else ():
                one.run_s[rank] += (end_s - start_s) * len(slots)
            lease.row = interval(lease.row, slots, unit, lease.names, kind, start_s, end_s, done if own else NONE)
        lease.mark_s = now_s

    def done(self, now_s: float) -> FloatArray:
        """Steps done by now and not yet booked, of the active jobs."""
        found = self._jobs.run_by(now_s)
        for lease in self._copies.values():
            steps = lease.caps[0] if now_s >= lease.stops[0] else lease.rates[0] * max(now_s - lease.ready_s, 0.0)
            found[np.searchsorted(self._jobs.active(), lease.jobs[0])] += steps
        return found

    def has_worked(self, from_s: float, to_s: float) -> bool:
        """Whether a job has done a part of a step between two times."""
        copies = self._copies.values()
        return self._jobs.has_worked(from_s, to_s) or any(
            lease.caps[0] > 0 and lease.stops[0] > from_s and lease.ready_s < to_s for lease in copies
        )

    def measure(self, lease: Lease, from_s: float, to_s: float) -> Iterable[Observation]:
        """What could be measured of a lease's jobs between two times."""
        start_s = max(lease.ready_s, from_s)
        a = lease.assignment
        for name, rate, stop_s in zip(lease.names, lease.rates, lease.stops, strict=True):
            seconds = min(to_s, lease.tail_from_s if a.kind == "profile" else stop_s) - start_s
            if seconds > 0:
                yield Observation(name, a.unit, a.gpus, rate, seconds)


@lru_cache(100_000)
def _in_words(gpus: tuple[tuple[str, int], ...]) -> str:
    """The GPUs of nodes as events tell them."""
    return ", ".join(f"{node} x {count}" for node, count in gpus)


def _former_key(unit: Unit) -> Unit:
    """Where the slots a unit had before are kept: by copy, else by its first job."""
    return unit if isinstance(unit, str) or is_copy(unit) else unit[0]
