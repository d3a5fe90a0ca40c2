"""FIND_ALLOC (Algorithm 2, lines 22-34): the allocations that a job may choose from, and what each would pay.

A gang of W takes its GPUs from one type or, mixed, from several (at the speed of the slowest, the bottleneck), on
the fewest servers that have room now: one server if that is possible (line 24, consolidated), else several (line 25).
The cost is the price of its GPUs times the rounds it still needs; each server beyond the fewest that could hold the
gang in an empty cluster adds a part of that (line 27, communication; a relative cost is ours). Where the table has a
faster speed for a gang spread over more servers than it needs, that is an option too.

The paper's FIND_ALLOC answers with the cheapest one; here all with a positive payoff stay in play, so that the choice
among them is the selection's (`selection`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.papers.hadar.instance import ROUNDING_SLOTS, HadarQueue, rounds
from workbench.papers.hadar.knobs import HadarRules
from workbench.scenario.job import Job
from workbench.scenario.throughput import Placement
from workbench.scheduling.placement import Gpus
from workbench.scheduling.snapshot import Snapshot

MOST_SPLITS = 64
"""A gang that could be divided among the types in more ways than this is divided among two types at most."""


@dataclass(frozen=True, eq=False)
class AllocationOptions:
    """Allocations sorted by job, the faster ones of a job first.

    job: (options,) position in the queue; gpus: (options x types) GPUs; servers: on how many; speed: steps/s;
    rounds: until the job is done; utility: U_j then; charge: rounds to pay for, communication included; stay: whether
    the job keeps the GPUs it has.
    """

    job: IntArray
    gpus: IntArray
    servers: IntArray
    speed: FloatArray
    rounds: FloatArray
    utility: FloatArray
    charge: FloatArray
    stay: BoolArray

    def __len__(self) -> int:
        return len(self.job)

    def payoff(self, price: FloatArray) -> FloatArray:
        """(options,) payoff mu at one (types,) price for all: utility less cost."""
        found: FloatArray = self.utility - self.charge * (self.gpus @ price)
        return found

    def take(self, chosen: IntArray) -> AllocationOptions:
        """Some of them."""
        return AllocationOptions(**{name: values[chosen] for name, values in vars(self).items()})


@dataclass(frozen=True, eq=False)
class FreeServers:
    """GPUs that are free on each server, and on how many a number of GPUs would be.

    kind, free: (nodes,); need: of each type, the fewest servers for 0, 1, ... all free GPUs of the type.
    """

    kind: IntArray
    free: IntArray
    need: tuple[IntArray, ...]

    @classmethod
    def of(cls, snapshot: Snapshot, free: Sequence[int]) -> FreeServers:
        """With these GPUs free on the nodes, in cluster order."""
        kinds, counts = snapshot.nodes.kind, np.array(free, dtype=np.int64)
        need = []
        for kind in range(len(snapshot.types)):
            sizes = np.sort(counts[(kinds == kind) & (counts > 0)])[::-1]
            need.append(np.searchsorted(np.cumsum(sizes), np.arange(int(sizes.sum()) + 1)) + 1)
            need[-1][0] = 0
        return cls(kinds, counts, tuple(need))

    @property
    def total(self) -> IntArray:
        """(types,) free GPUs."""
        return np.array([len(each) - 1 for each in self.need], dtype=np.int64)

    def used(self, kind: int) -> int:
        """How many servers of a type have a free GPU."""
        return int(((self.kind == kind) & (self.free > 0)).sum())


@dataclass(frozen=True, eq=False)
class _Shape:
    """One way to lay out a gang: GPUs of each type, and on how many servers."""

    gpus: tuple[int, ...]
    servers: int


def find(
    snapshot: Snapshot,
    queue: HadarQueue,
    servers: FreeServers,
    rules: HadarRules,
    held: Mapping[str, Gpus] | None = None,
    rows: IntArray | None = None,
) -> AllocationOptions:
    """Every allocation of the queue's jobs into the free GPUs that has a speed and a utility above 0.

    held: GPUs that jobs of the queue have and may keep, at no restart; they count as free. rows: positions, rising, of
    the jobs that are asked for; None: those that can still earn something. An allocation with which a job would be done
    only after a given horizon is no option, whether it keeps its GPUs or not.
    """
    asked = np.flatnonzero(queue.best > 0) if rows is None else rows
    parts = []
    gangs = queue.view.gpus[asked]
    for gang in dict.fromkeys(gangs.tolist()):
        parts.append(_of_gang(snapshot, queue, servers, rules, gang, asked[gangs == gang]))
    if held:
        parts.append(_stays(snapshot, queue, servers, rules, held, asked))
    found = _sorted(parts, len(snapshot.types))
    for row, part in queue.pays.items():
        found = replace(found, charge=np.where(found.job == row, part * found.charge, found.charge))
    return found


def shapes(gang: int, servers: FreeServers, mixed: bool) -> list[_Shape]:
    """The ways to lay out a gang on the fewest servers: one type each, then mixed ones."""
    total = servers.total.tolist()
    kinds = range(len(total))
    alone = [tuple(gang if k == kind else 0 for k in kinds) for kind in kinds if total[kind] >= gang]
    several = _splits(gang, tuple(total)) if mixed and gang > 1 else ()
    return [_Shape(each, int(sum(servers.need[k][n] for k, n in enumerate(each)))) for each in (*alone, *several)]


@lru_cache(maxsize=512)
def _splits(gang: int, total: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """GPUs of each type for gangs on several types, within the free ones.

    Every way if there are few; else on two types, and for large gangs only as many GPUs of one of them as can be.
    """
    ways = list(itertools.islice(_all_splits(gang, total, len(total)), MOST_SPLITS + 1))
    if len(ways) > MOST_SPLITS:
        ways = list(_all_splits(gang, total, 2))
    if len(ways) > MOST_SPLITS:
        ways = [split for split in ways if any(n in (total[kind], gang - 1) for kind, n in enumerate(split) if n)]
    return tuple(ways)


def _all_splits(gang: int, total: tuple[int, ...], most_types: int) -> Iterator[tuple[int, ...]]:
    """Every split on 2 to `most_types` types."""
    able = [kind for kind, free in enumerate(total) if free]
    for number in range(2, min(most_types, len(able), gang) + 1):
        for kinds in itertools.combinations(able, number):
            for parts in splits(gang, [total[kind] for kind in kinds], 1, rising=True):
                held = dict(zip(kinds, parts, strict=True))
                yield tuple(held.get(kind, 0) for kind in range(len(total)))


def _of_gang(
    snapshot: Snapshot, queue: HadarQueue, servers: FreeServers, rules: HadarRules, gang: int, rows: IntArray
) -> AllocationOptions:
    """The options of jobs with equal gangs."""
    laid = shapes(gang, servers, rules.mixed)
    jobs = [queue.view.jobs[row] for row in rows.tolist()]
    if gang == 1:
        table = {1: snapshot.belief.speeds(queue.view)[rows]}
    else:
        table = {n: _speed_on(snapshot, jobs, gang, n) for n in sorted({shape.servers for shape in laid})}
        laid = [*laid, *_wider(snapshot, jobs, gang, servers, laid, table)]
    if not laid:
        return _none(len(snapshot.types))
    speed = np.stack([table[s.servers][:, np.flatnonzero(s.gpus)].min(axis=1) for s in laid], axis=1)
    left, restart = queue.view.steps_left[rows][:, None], queue.restart_s[rows][:, None]
    needed = rounds(np.broadcast_to(left, speed.shape), speed, restart, rules.slot_s)
    done = queue.elapsed[rows][:, None] + needed
    utility = rules.utility.values(done, queue.terms.take(rows))
    in_time = _in_time(done, queue.last[rows][:, None], rules)
    at, column = np.nonzero((speed > 0) & (utility > 0) & in_time)
    counts = np.array([shape.servers for shape in laid], dtype=np.int64)[column]
    extra = counts - _fewest(snapshot, queue, rows, gang)[at]
    return AllocationOptions(
        job=rows[at],
        gpus=np.array([shape.gpus for shape in laid], dtype=np.int64)[column],
        servers=counts,
        speed=speed[at, column],
        rounds=needed[at, column],
        utility=utility[at, column],
        charge=_charge(needed[at, column], extra, rules),
        stay=np.zeros(len(at), dtype=bool),
    )


def _in_time(done: FloatArray, last: FloatArray, rules: HadarRules) -> BoolArray:
    """Which ends, in slots after the arrival, are no later than a given horizon: all, if none is given."""
    if rules.horizon_s is None:
        return np.ones(done.shape, dtype=bool)
    return np.asarray(done <= last + ROUNDING_SLOTS, dtype=bool)


def _charge(needed: FloatArray, extra: IntArray, rules: HadarRules) -> FloatArray:
    """Rounds to pay for; extra: servers beyond the fewest."""
    paid = np.ones(len(needed)) if rules.one_round else needed
    found: FloatArray = paid * (1.0 + rules.communication * np.maximum(extra, 0))
    return found


def _speed_on(snapshot: Snapshot, jobs: Sequence[Job], gang: int, servers: int) -> FloatArray:
    """(jobs x types) steps/s of the gang's part on each type while it is on so many servers in all."""
    belief, cluster = snapshot.belief, snapshot.cluster
    table = np.zeros((len(jobs), len(snapshot.types)))
    for kind, name in enumerate(snapshot.types):
        fewest = cluster.fewest_nodes(name, gang)
        word: Placement = "consolidated" if fewest is not None and servers <= fewest else "unconsolidated"
        table[:, kind] = [belief.steps_per_s(job, name, gang, word, servers) for job in jobs]
    return table


def _wider(
    snapshot: Snapshot,
    jobs: Sequence[Job],
    gang: int,
    servers: FreeServers,
    laid: Sequence[_Shape],
    table: dict[int, FloatArray],
) -> list[_Shape]:
    """Gangs of one type on more servers than they need, where some job is faster so; adds their speeds to `table`.

    The next number of servers after the fewest is tried, and for a job without any speed so far all numbers.
    """
    found = []
    for shape in laid:
        kinds = np.flatnonzero(shape.gpus).tolist()
        if len(kinds) > 1:
            continue
        kind, most = kinds[0], min(gang, servers.used(kinds[0]))
        stuck = not (np.array([each[:, kind] for each in table.values()]).max(axis=0) > 0).all()
        for number in range(shape.servers + 1, most + 1 if stuck else min(most, shape.servers + 1) + 1):
            if number not in table:
                table[number] = _speed_on(snapshot, jobs, gang, number)
            if (table[number][:, kind] > table[shape.servers][:, kind]).any():
                found.append(_Shape(shape.gpus, number))
    return found


def _fewest(snapshot: Snapshot, queue: HadarQueue, rows: IntArray, gang: int) -> IntArray:
    """(rows,) fewest servers that could hold the gang, of the types on which each job runs, with all GPUs free."""
    sizes, kinds = snapshot.nodes.gpus, snapshot.nodes.kind
    known: dict[bytes, int] = {}
    found = []
    for able in queue.speed[rows] > 0:
        key = able.tobytes()
        if key not in known:
            held = np.cumsum(np.sort(sizes[able[kinds]])[::-1])
            known[key] = int(np.searchsorted(held, gang)) + 1
        found.append(known[key])
    return np.array(found, dtype=np.int64)


def _stays(
    snapshot: Snapshot,
    queue: HadarQueue,
    servers: FreeServers,
    rules: HadarRules,
    held: Mapping[str, Gpus],
    asked: IntArray,
) -> AllocationOptions:
    """Of each job asked for that has GPUs, the option to keep them."""
    rows = np.array([row for row in asked.tolist() if queue.view.names[row] in held], dtype=np.int64)
    kind_of = dict(zip(snapshot.nodes.names, snapshot.nodes.kind.tolist(), strict=True))
    gpus = np.zeros((len(rows), len(snapshot.types)), dtype=np.int64)
    own = [held[queue.view.names[row]] for row in rows.tolist()]
    for spot, where in enumerate(own):
        for node, count in where.items():
            gpus[spot, kind_of[node]] += count
    speed = np.array([snapshot.belief.on_nodes(queue.view.jobs[r], g) for r, g in zip(rows.tolist(), own, strict=True)])
    needed = rounds(queue.view.steps_left[rows], speed, np.zeros(len(rows)), rules.slot_s)
    done = queue.elapsed[rows] + needed
    utility = rules.utility.values(done, queue.terms.take(rows))
    counts = np.array([len(gpus) for gpus in own], dtype=np.int64)
    fewest = [_fewest(snapshot, queue, rows[i : i + 1], int(queue.view.gpus[row]))[0] for i, row in enumerate(rows)]
    extra = counts - np.array(fewest, dtype=np.int64)
    options = AllocationOptions(
        rows, gpus, counts, speed, needed, utility, _charge(needed, extra, rules), np.ones(len(rows), dtype=bool)
    )
    fits = (gpus <= servers.total).all(axis=1) & (speed > 0) & (utility > 0)
    fits &= _in_time(done, queue.last[rows], rules)
    return options.take(np.flatnonzero(fits))


def _none(types: int) -> AllocationOptions:
    none, numbers = np.zeros(0, dtype=np.int64), np.zeros(0)
    return AllocationOptions(
        none, np.zeros((0, types), dtype=np.int64), none, numbers, numbers, numbers, numbers, np.zeros(0, dtype=bool)
    )


def _sorted(parts: Sequence[AllocationOptions], types: int) -> AllocationOptions:
    """All options by job; of a job those that stay first, then the fastest, then as they were found."""
    if not parts:
        return _none(types)
    merged = AllocationOptions(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])}
    )
    return merged.take(np.lexsort((-merged.speed, ~merged.stay, merged.job)))


def worth(options: AllocationOptions, price: FloatArray) -> AllocationOptions:
    """Those with a positive payoff at these prices; of a job's options with equal GPUs the one with the largest."""
    payoff = options.payoff(price)
    order = np.lexsort((np.arange(len(options)), -payoff, *options.gpus.T, options.job))
    keys = np.column_stack([options.job, options.gpus])[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    chosen = np.sort(order[first])
    return options.take(chosen[payoff[chosen] > 0])


def splits(total: int, most: Sequence[int], least: int = 0, *, rising: bool = False) -> Iterator[tuple[int, ...]]:
    """Every tuple with `least <= x_i <= most_i` and the sum `total`, by falling (or `rising`) first numbers.

    No branch is entered that leads nowhere: the time is that of listing what is found.
    """
    if not most:
        if total == 0:
            yield ()
        return
    rest = most[1:]
    firsts = range(max(least, total - sum(rest)), min(most[0], total - least * len(rest)) + 1)
    for first in firsts if rising else reversed(firsts):
        for others in splits(total - first, rest, least, rising=rising):
            yield (first, *others)
