"""What is free on a Slurm site's nodes, and where a job fits: GPUs of a node, CPUs and memory of its machine.

Nodes are chosen of the smallest weight first, then in order (slurm.conf, `Weight`): that is their order here, and some
of them are one number, the first node its lowest bit. A job takes as many nodes as it did, in equal parts: of the runs
of neighbours that have room those with the fewest free CPUs in all that do (`select/cons_tres`, best fit), of that run
the node with the fewest, or the first ones. Where `--ntasks-per-node` is given each node counts for the CPUs that the
job asks of it, and so the shortest run is taken. A job that names no number of nodes has the first node with room, else
the first ones.

Where a log's own choices are another rule's (`rules_of`: the tightest fit, the emptiest node, the first one), as with
CR_LLN or of a scheduler that is not Slurm, calibration sets that rule (ours).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from workbench.base.arrays import BoolArray, IntArray
from workbench.baselines.mechanisms.slurm.asks import Ask
from workbench.baselines.mechanisms.slurm.site import RULES, Machines, SlurmSite
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.slurm_text import hosts

GpusByNode = dict[int, int]
"""GPUs of each node, by its position."""
SLACK = 1e-6
"""Of CPUs and memory, which are divided."""
FEW_CHOICES, MOST_CHOICES = 50, 1000
"""So many starts with a choice tell a rule; no more are looked at."""
MOSTLY, CLEARLY = 0.8, 0.05
"""A rule that is not Slurm's must be right so often, and so much oftener than that."""
MOST_KEYS = 64
"""Sizes of jobs for which the nodes with room are kept up to date."""


@dataclass(frozen=True, slots=True, eq=False)
class RunningJob:
    """A job that runs: (node, GPUs) that it holds, these nodes as bits, what it takes at each place of its machines (a
    each: place, GPUs, CPUs, memory), since when, and until when by its limit."""

    ask: Ask
    gpus: tuple[tuple[int, int], ...]
    nodes: int
    takes: tuple[tuple[int, int, float, float], ...]
    since_s: float
    until_s: float


@dataclass(slots=True, eq=False)
class FreeNow:
    """Nodes by place, best first. order: the node of each place; place: of each node; beside: of each node the places
    on its machine; heads: places of another weight than the one before, or with machines between them; alike: those as
    heavy as each; shared: each place that is not alone on its machine, and all there; gpus, cpus, memory_mb: what is
    free at each place; rule: how nodes are chosen, one of RULES or (empty) as Slurm does."""

    machine: IntArray
    order: tuple[int, ...]
    place: tuple[int, ...]
    beside: tuple[tuple[int, ...], ...]
    heads: int
    alike: tuple[int, ...]
    shared: tuple[tuple[int, int], ...]
    gpus: list[int]
    cpus: list[float]
    memory_mb: list[float]
    _known_fits: dict[tuple[float, ...], int] = field(default_factory=dict)
    rule: str = ""

    @staticmethod
    def of_site(site: SlurmSite) -> FreeNow:
        """All CPUs and memory, no GPUs."""
        machine = np.array(site.machine, dtype=np.intp)
        weight = np.array(site.weight)[machine]
        order = np.argsort(weight, kind="stable")
        apart = (np.diff(weight[order], prepend=-1.0) != 0) | (np.diff(machine[order], prepend=-2) != 1)
        alike = tuple(bits(weight[order][:, None] == weight[order]))
        on: dict[int, list[int]] = {}
        for at, node in enumerate(order.tolist()):
            on.setdefault(site.machine[node], []).append(at)
        beside = tuple(tuple(on[each]) for each in site.machine)
        shared = tuple(
            (1 << at, sum(1 << each for each in found)) for found in on.values() for at in found if found[1:]
        )
        ordered = [site.machine[node] for node in order.tolist()]
        rows = [0] * len(machine), [site.cpus[at] for at in ordered], [site.memory_mb[at] for at in ordered]
        places = tuple(np.argsort(order).tolist())
        known = machine, tuple(order.tolist()), places, beside, bits(apart[None])[0], alike, shared
        return FreeNow(*known, *rows, {}, site.rule)

    def copy(self) -> FreeNow:
        """The same, to be changed apart."""
        rows = self.gpus.copy(), self.cpus.copy(), self.memory_mb.copy(), self._known_fits.copy()
        known = self.machine, self.order, self.place, self.beside, self.heads, self.alike, self.shared
        return FreeNow(*known, *rows, self.rule)

    def with_gpus(self, gpus: IntArray) -> FreeNow:
        """The same with these GPUs free on each node."""
        found = self.copy()
        found.gpus, found._known_fits = gpus[[*self.order]].tolist(), {}
        return found

    def held(self, ask: Ask, gpus: Mapping[int, int], since_s: float) -> RunningJob:
        """A job that runs since a time."""
        nodes = sum(1 << self.place[node] for node in gpus)
        takes = tuple(
            [
                (at, count * (at == self.place[node]), count if ask.on_cpus else ask.cpus, ask.memory_mb)
                for node, count in gpus.items()
                for at in self.beside[node]
            ]
        )
        return RunningJob(ask, tuple(gpus.items()), nodes, takes, since_s, since_s + ask.limit_s)

    def change(self, ask: Ask, gpus: Iterable[tuple[int, int]], sign: int) -> None:
        """Take (-1) or give back (1) what a job holds."""
        touched = list[int]()
        for node, count in gpus:
            self.gpus[self.place[node]] += sign * count
            for at in self.beside[node]:
                self.cpus[at] += sign * (count if ask.on_cpus else ask.cpus)
                self.memory_mb[at] += sign * ask.memory_mb
            touched += self.beside[node]
        if len(self._known_fits) > MOST_KEYS:
            self._known_fits = {}
        for key, fits in self._known_fits.items():
            each, cpus, memory_mb = key
            for at in touched:
                if self.gpus[at] >= each and self.cpus[at] >= cpus - SLACK and self.memory_mb[at] >= memory_mb - SLACK:
                    fits |= 1 << at
                else:
                    fits &= ~(1 << at)
            self._known_fits[key] = fits

    def on(self, machines: Machines) -> int:
        """The nodes on some machines."""
        return bits(machines[self.machine[[*self.order]]][None])[0]

    def able(self, ask: Ask, site: SlurmSite) -> int:
        """The nodes on which a job of a log may run, of the type where it ran."""
        of_type = np.array([ask.kind[0].lower() == f"recorded on {kind}" for kind in site.types])
        return self.on(site.machines_of(ask.kind[2])) & bits(of_type[[*self.order]][None])[0]

    def fits(self, ask: Ask) -> int:
        """The nodes with room for a job's part of one."""
        key = _each(ask), ask.cpus, ask.memory_mb
        if key not in self._known_fits:
            each, cpus, memory_mb = key[0], ask.cpus - SLACK, ask.memory_mb - SLACK
            rows = zip(self.gpus, self.cpus, self.memory_mb, strict=True)
            found = [gpus >= each and free >= cpus and memory >= memory_mb for gpus, free, memory in rows]
            self._known_fits[key] = bits(np.array([found]))[0]
        return self._known_fits[key]

    def fits_now(self, ask: Ask, able: int) -> bool:
        """Whether a job fits on some nodes."""
        if ask.nodes and ask.gpus % ask.nodes == 0:
            return (self.fits(ask) & able).bit_count() >= ask.nodes
        return self.put(ask, able) is not None

    def put(self, ask: Ask, able: int) -> GpusByNode | None:
        """The nodes of a job, of those that it may have; None where it does not fit."""
        free = self.fits(ask) & able
        return self.chosen(ask, _each(ask), free, self.gpus, self.cpus)

    def chosen(self, ask: Ask, each: int, free: int, gpus: Sequence[float], cpus: Sequence[float]) -> GpusByNode | None:
        """The nodes that a job gets, of those where it fits. gpus, cpus: free ones at each place."""
        nodes = max(ask.nodes, 1)
        if free.bit_count() < nodes:
            return None
        if ask.nodes and ask.gpus % ask.nodes == 0:
            if not self.rule:
                return {self.order[i]: each for i in self._best(free, nodes, cpus, ask)}
            sign, alike = RULES[self.rule], self.alike
            places = (i for i in range(len(self.order)) if free >> i & 1)
            found = sorted(places, key=lambda i: (alike[i] & -alike[i], sign * gpus[i], i))
            return {self.order[i]: each for i in found[:nodes]}
        at = [i for i in range(len(self.order)) if free >> i & 1]
        if not ask.nodes:
            alone = next((i for i in at if gpus[i] >= ask.gpus), None)
            return _filled(ask.gpus, ask.gpus, self.order, gpus, at if alone is None else [alone])
        return _filled(ask.gpus, ask.nodes, self.order, gpus, at)

    def _best(self, free: int, nodes: int, cpus: Sequence[float], ask: Ask) -> list[int]:
        """Of the places where a job fits those that it gets: run by run of neighbours, the lightest ones first."""
        even = ask.even or math.inf in cpus
        found: list[int] = []
        while len(found) < nodes:
            same, left, best = free & self.alike[(free & -free).bit_length() - 1], nodes - len(found), (False, 0.0, 0)
            while same:
                run = self._run(same)
                same ^= run
                count, first = run.bit_count(), (run & -run).bit_length() - 1
                enough, size = count >= left, count if even else sum(cpus[first : first + count])
                if not best[2] or (enough and (not best[0] or size < best[1])) or (not enough and size > best[1]):
                    best = enough, size, run
            run, free = best[2], free & ~best[2]
            first, count = (run & -run).bit_length() - 1, run.bit_count()
            if left == 1 and not even:
                first = min(range(first, first + count), key=cpus.__getitem__)
            found += range(first, first + min(count, left))
        return found

    def _run(self, free: int) -> int:
        """The first of some nodes, and its neighbours among them."""
        first = free & -free
        run = free & ~(free + first)
        cut = run & self.heads & ~first
        return run & ((cut & -cut) - 1) if cut else run


def recorded_places(scenario: Scenario, site: SlurmSite) -> dict[str, GpusByNode]:
    """The GPUs of each node that a log's jobs had, in equal parts; of those for which it tells that."""
    names, on = {name: i for i, name in enumerate(site.machines)}, dict[int, list[int]]()
    for node, machine in enumerate(site.machine):
        on.setdefault(machine, []).append(node)
    found = dict[str, GpusByNode]()
    for job in scenario.jobs:
        ask, facts = site.asks[job.name], job.attributes
        at = [names.get(host, -1) for host in hosts(str(facts.get("hosts", "")))]
        if not at or -1 in at or not {"start_s", "end_s"} <= facts.keys() or job.gpus % len(at) or len(at) != ask.nodes:
            continue
        mine = [node for i in at for node in on[i] if ask.kind[0].lower() == f"recorded on {site.types[node]}"]
        if len(mine) == len(at):
            found[job.name] = dict.fromkeys(mine, job.gpus // len(at))
    return found


def rules_of(
    scenario: Scenario, site: SlurmSite, upto_s: Sequence[float] = (math.inf,)
) -> list[tuple[str, dict[str, float]]]:
    """By which rule a log's jobs got their nodes, by what it shows before each of some times (rising): one of RULES
    where it is clearly oftener right than Slurm's own (empty), and how often each was, of the starts that had a choice.
    """
    free = FreeNow.of_site(site).with_gpus(np.array([node.gpus for node in scenario.cluster.each_node]))
    events = list[tuple[float, int, tuple[float, int, int], str, GpusByNode]]()
    jobs = {job.name: job for job in scenario.jobs}
    for name, gpus in recorded_places(scenario, site).items():
        for sign, key in ((1, "start_s"), (-1, "end_s")):
            events.append((float(jobs[name].attributes[key]), sign, site.asks[name].number, name, gpus))
    counted, right, found = 0, dict.fromkeys(("", *RULES), 0), list[tuple[str, dict[str, float]]]()
    for at_s, sign, _, name, gpus in sorted(events, key=lambda event: event[:3]):
        while at_s >= upto_s[len(found)]:
            found.append(_clear(counted, right))
        ask = site.asks[name]
        able = free.able(ask, site) if sign > 0 else 0
        fits = free.fits(ask) & able if sign > 0 else 0
        if fits.bit_count() > len(gpus) and all(fits >> free.place[node] & 1 for node in gpus):
            counted += 1
            for rule in right:
                free.rule = rule
                right[rule] += (free.chosen(ask, _each(ask), fits, free.gpus, free.cpus) or {}).keys() == gpus.keys()
        free.change(ask, gpus.items(), -sign)
        if counted == MOST_CHOICES:
            break
    return found + [_clear(counted, right)] * (len(upto_s) - len(found))


def _clear(counted: int, right: Mapping[str, int]) -> tuple[str, dict[str, float]]:
    """The rule that was clearly oftener right than Slurm's own (empty), and how often each was."""
    parts = {rule: number / max(counted, 1) for rule, number in right.items()}
    best = max(parts, key=parts.__getitem__)
    is_other = counted >= FEW_CHOICES and parts[best] >= max(MOSTLY, parts[""] + CLEARLY)
    return best if is_other else "", parts


def bits(rows: BoolArray) -> list[int]:
    """Each row as one number, its first column the lowest bit."""
    packed = np.packbits(rows, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def _each(ask: Ask) -> int:
    """The GPUs that each node must have free."""
    return ask.gpus // ask.nodes if ask.nodes and ask.gpus % ask.nodes == 0 else 1


def _filled(gpus: int, nodes: int, order: Sequence[int], free: Sequence[float], at: Iterable[int]) -> GpusByNode | None:
    """GPUs of the first nodes on; where their number is given at least one of each."""
    found: GpusByNode = {}
    left = gpus
    for i in at:
        least_later = nodes - len(found) - 1 if gpus % nodes and nodes <= gpus else 0
        count = min(int(free[i]), left - least_later)
        if count > 0:
            found[order[i]], left = count, left - count
        if left == 0:
            return found
        if len(found) == nodes:
            return None
    return None


class Kept:
    """Nodes that are kept, whole machines for a time, for jobs that are planned."""

    def __init__(self) -> None:
        self.ends: list[tuple[float, int]] = []
        self._cuts, self._kept = [-math.inf], [0]  # who is kept from each cut to the next

    def keep(self, from_s: float, to_s: float, nodes: int) -> float:
        """Keep some for a job; until when."""
        first, last = self._cut(from_s), self._cut(to_s)
        for i in range(first, last):
            self._kept[i] |= nodes
        self.ends.append((to_s, nodes))
        return to_s

    def _cut(self, at_s: float) -> int:
        """The place of a time among the cuts."""
        i = bisect_right(self._cuts, at_s)
        if self._cuts[i - 1] == at_s:
            return i - 1
        self._cuts.insert(i, at_s)
        self._kept.insert(i, self._kept[i - 1])
        return i

    def open(self, free: int, least: int, from_s: float, to_s: float) -> int:
        """Of some nodes those kept for nobody in a time; once they are too few, it stops."""
        cuts, kept = self._cuts, self._kept
        for i in range(bisect_right(cuts, from_s) - 1, len(cuts)):
            if cuts[i] >= to_s or free.bit_count() < least:
                break
            free &= ~kept[i]
        return free


class FreeLater:
    """What is free on the nodes `able` at times that follow each other: beside what runs, of which it only grows, and
    beside what is kept for others. times: now, and when each of some lots of jobs (`ends`) has ended, each as far as
    somebody asks for it."""

    def __init__(
        self, times: Sequence[float], ends: Sequence[Sequence[RunningJob]], able: int, free_now: FreeNow, kept: Kept
    ):
        self._times, self._ends, self.able, self._now, self._kept = times, ends, able, free_now, kept
        self._rows = [(free_now.gpus, free_now.cpus, free_now.memory_mb)]  # at each place, by time
        self._freed = [set[int]()]  # the places where something has become free, by time
        self._known: dict[tuple[float, ...], list[int]] = {}
        self._frees = sorted([*times, *(to_s for to_s, nodes in kept.ends if nodes & able)])

    def frees(self, at_s: float, nodes: int) -> None:
        """Some nodes that are kept become free at a time."""
        if nodes & self.able:
            insort(self._frees, at_s)

    def earliest(
        self, ask: Ask, from_s: float, to_s: float, others: Iterable[float], barred: Callable[[float], int]
    ) -> tuple[float, GpusByNode] | None:
        """The first time from one to another at which a job fits for as long as its limit, and its nodes, of those
        where it fits first beside what runs. others: when else something becomes free; barred: the nodes that it may
        not use if it starts at a time."""
        nodes = max(ask.nodes, 1)
        each = _each(ask)
        enough, last = 0, len(self._times) - 1
        while (fits := self._fitting(ask, enough))[enough].bit_count() < nodes:
            if enough == last:
                return None
            enough += 1
        for at_s in self._candidates(from_s if enough == 0 else max(from_s, self._times[enough]), to_s, others):
            row = bisect_right(self._times, at_s) - 1
            free = self._kept.open(self._fitting(ask, row)[row] & ~barred(at_s), nodes, at_s, at_s + ask.limit_s)
            if free.bit_count() >= nodes:
                few = bisect_left(fits, nodes, enough, row, key=lambda bits: (bits & free).bit_count())
                for first in range(few, row + 1):
                    if found := self._now.chosen(ask, each, fits[first] & free, *self._rows[first][:2]):
                        return at_s, found
        return None

    def _candidates(self, from_s: float, to_s: float, others: Iterable[float]) -> Iterator[float]:
        """When, in a time, a job can start that could not before: at its begin, and when something becomes free."""
        if from_s > to_s:
            return
        yield from_s
        frees = self._frees
        more = [at_s for at_s in others if from_s < at_s <= to_s]
        if more:
            frees = sorted(frees + more)
        yield from frees[bisect_right(frees, from_s) : bisect_right(frees, to_s)]

    def changes_s(self, after_s: float) -> float:
        """When next something becomes free."""
        return next(iter(self._frees[bisect_right(self._frees, after_s) :]), math.inf)

    def _fitting(self, ask: Ask, row: int) -> list[int]:
        """The nodes with room for a job's part of one, at the times up to one at least."""
        each = _each(ask)
        fits = self._known.setdefault((each, ask.cpus, ask.memory_mb), [])
        if not fits:
            fits.append(self._now.fits(ask) & self.able)
        for i in range(len(fits), row + 1):
            if i == len(self._rows):
                self._end(self._ends[i - 1])
            gpus, cpus, memory_mb = self._rows[i]
            found = fits[-1]
            for at in self._freed[i]:
                if gpus[at] >= each and cpus[at] >= ask.cpus - SLACK and memory_mb[at] >= ask.memory_mb - SLACK:
                    found |= 1 << at
            fits.append(found & self.able)
        return fits

    def _end(self, jobs: Iterable[RunningJob]) -> None:
        """What is free once some jobs more have ended."""
        gpus, cpus, memory_mb = self._rows[-1]
        gpus, cpus, memory_mb = gpus.copy(), cpus.copy(), memory_mb.copy()
        freed = set[int]()
        for held in jobs:
            for at, its_gpus, its_cpus, its_memory_mb in held.takes:
                gpus[at] += its_gpus
                cpus[at] += its_cpus
                memory_mb[at] += its_memory_mb
                freed.add(at)
        self._rows.append((gpus, cpus, memory_mb))
        self._freed.append(freed)
