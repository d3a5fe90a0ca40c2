"""Interchangeable servers taken together: shapes instead of configurations, cuts of idle servers instead of servers.

Servers of one *pool* (same type, same speed) differ in their idle GPUs alone. Configurations of a job that take the
same pieces of the same pools are one *shape*; servers of a pool with equally many idle GPUs are one *group*.

An idle server is cut into pieces by a pattern (`patterns`): what the aggregated model chooses from. `lift` goes back
from shapes to servers: which server each piece of an aggregated plan is on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.base.errors import InputError
from workbench.papers.hops.algorithms.configurations import Layout
from workbench.papers.hops.instance import HopsInstance, PlacedJob, PoolLayout, RoundPlan, shape_of
from workbench.scheduling.solvers import SolverFailedError

_Pattern = tuple[int, ...]
"""Pieces of one server in GPUs, the largest first."""


def patterns(idle: int, pieces: Sequence[int]) -> tuple[_Pattern, ...]:
    """Every way to cut `idle` GPUs into pieces of these sizes to which none could be added; at least one way.

    A way with fewer pieces gives nothing that these do not give.
    """
    return _patterns(idle, tuple(sorted(set(pieces), reverse=True)))


@cache
def _patterns(idle: int, sizes: tuple[int, ...]) -> tuple[_Pattern, ...]:
    least = min(sizes, default=idle + 1)
    return tuple(_cut(idle, sizes, least))


def _cut(left: int, sizes: tuple[int, ...], least: int) -> Iterator[_Pattern]:
    if left < least:
        yield ()
        return
    for spot, size in enumerate(sizes):
        if size <= left:
            # Pieces do not rise, so that each way comes once; what is left then holds no piece of the sizes allowed.
            for rest in _cut(left - size, sizes[spot:], least):
                yield (size, *rest)


def count(idle: int, pieces: Iterable[int]) -> int:
    """How many patterns there are, without making them."""
    sizes = set(pieces)
    least = min(sizes, default=idle + 1)
    ways = [1] + [0] * idle
    for size in sizes:
        for total in range(size, idle + 1):
            ways[total] += ways[total - size]
    return sum(ways[max(0, idle - least + 1) :])


MOST_CUTS = 5000
"""A group whose servers can be cut in more ways is not aggregated."""

_Group = tuple[int, int]
"""Servers of a pool with so many idle GPUs: (pool, idle)."""


@dataclass(frozen=True, eq=False)
class Aggregate:
    """A round's data by shape and group.

    shapes: all that occur; job, shape: (choices,) whose each choice is, in rising order, and its shape; gain:
    (choices,) G_ic; pieces: the (pool, GPUs) that shapes take; groups: with `number`, (groups,) servers each; cuts:
    (group, pattern) pairs.
    """

    data: HopsInstance
    shapes: tuple[PoolLayout, ...]
    job: IntArray
    shape: IntArray
    gain: FloatArray
    pieces: tuple[tuple[int, int], ...]
    groups: tuple[_Group, ...]
    number: IntArray
    cuts: tuple[tuple[int, _Pattern], ...]

    @cached_property
    def used(self) -> tuple[IntArray, IntArray, IntArray]:
        """`u_vkc`, entries of the pieces that choices take: piece, choice, how many."""
        row = {piece: i for i, piece in enumerate(self.pieces)}
        counts = [Counter(row[piece] for piece in shape) for shape in self.shapes]
        sizes = np.array([len(found) for found in counts], dtype=np.int64)
        flat = np.array([pair for found in counts for pair in found.items()], dtype=np.int64).reshape(-1, 2)
        first = np.cumsum(sizes) - sizes
        each = sizes[self.shape]
        choice = np.repeat(np.arange(len(self.shape)), each)
        within = np.arange(len(choice)) - np.repeat(np.cumsum(each) - each, each)
        entry = first[self.shape[choice]] + within
        return flat[entry, 0], choice, flat[entry, 1]

    @cached_property
    def supplied(self) -> tuple[IntArray, IntArray, IntArray]:
        """`a_vkq`, entries of the pieces that cuts supply: piece, cut, how many."""
        row = {piece: i for i, piece in enumerate(self.pieces)}
        found = [
            (row[self.groups[group][0], size], cut, times)
            for cut, (group, pattern) in enumerate(self.cuts)
            for size, times in Counter(pattern).items()
        ]
        piece, cut, times = np.array(found, dtype=np.int64).reshape(-1, 3).T
        return piece, cut, times

    @property
    def pools(self) -> list[int]:
        """The pool of each server."""
        return self.data.pools

    @cached_property
    def members(self) -> dict[int, list[int]]:
        """The servers of each pool."""
        found: dict[int, list[int]] = {}
        for server, pool in enumerate(self.pools):
            found.setdefault(pool, []).append(server)
        return found


def aggregate(data: HopsInstance) -> Aggregate:
    """The data by shape and group; raises InputError where a server can be cut in too many ways."""
    best = np.unique(data.best_alike)
    best = best[np.lexsort((data.shape[best], data.job[best]))]
    pieces = tuple(sorted({piece for shape in data.shapes for piece in shape}))
    groups = Counter(zip(data.pools, data.idle.tolist(), strict=True))
    cuts = [(spot, cut) for spot, group in enumerate(sorted(groups)) for cut in _cuts(group, pieces)]
    return Aggregate(
        data=data,
        shapes=tuple(data.shapes),
        job=data.job[best],
        shape=data.shape[best],
        gain=data.gain[best],
        pieces=pieces,
        groups=tuple(sorted(groups)),
        number=np.array([groups[group] for group in sorted(groups)], dtype=np.int64),
        cuts=tuple(cuts),
    )


def too_fine(data: HopsInstance) -> bool:
    """Whether some server can be cut in more ways than `aggregate` takes."""
    sizes: dict[int, set[int]] = {}
    for pool, gpus in {piece for shape in data.shapes for piece in shape}:
        sizes.setdefault(pool, set()).add(gpus)
    return any(
        count(idle, sizes.get(pool, ())) > MOST_CUTS
        for pool, idle in set(zip(data.pools, data.idle.tolist(), strict=True))
    )


def _cuts(group: _Group, pieces: Sequence[tuple[int, int]]) -> tuple[_Pattern, ...]:
    pool, idle = group
    sizes = [gpus for of, gpus in pieces if of == pool]
    if count(idle, sizes) > MOST_CUTS:
        raise InputError(f"servers with {idle} idle GPUs", count(idle, sizes), f"at most {MOST_CUTS} ways to cut one")
    return patterns(idle, sizes)


NO_LAYOUTS: Mapping[int, Layout] = {}


def lift(
    data: Aggregate, taken: Mapping[int, int], cut: Sequence[int], previous: Mapping[int, Layout] = NO_LAYOUTS
) -> RoundPlan:
    """Servers for each job (row) that gets a choice (position); cut: how often each pattern is used.

    A job stays where it was (`previous`) if its shape is the same, as long as the other pieces then fit in somewhere;
    otherwise servers are cut as the plan says, in their order. Pieces of a job are on different servers where that can
    be done, also by exchanging equal pieces with another job. Else two of them are one larger piece: fewer servers than
    planned, and the gain counted is that of the plan.
    """
    wanted = {row: data.shapes[data.shape[choice]] for row, choice in taken.items()}
    kept = {row: at for row, at in previous.items() if row in wanted and shape_of(at, data.pools) == wanted[row]}
    packed = _packed(data, wanted, kept) if kept else None
    pieces = packed if packed is not None else _Cut(data, wanted, cut).at
    return {row: PlacedJob(_merged(found), float(data.gain[taken[row]])) for row, found in sorted(pieces.items())}


_Pieces = dict[int, list[tuple[int, int]]]
"""The (server, GPUs) pieces of each job."""
Wanted = Mapping[int, Sequence[tuple[int, int]]]
"""The (pool, GPUs) pieces that each job is to get."""


def _merged(pieces: Sequence[tuple[int, int]]) -> Layout:
    total: Counter[int] = Counter()
    for server, gpus in pieces:
        total[server] += gpus
    return tuple(sorted(total.items()))


def _largest_first(wanted: Wanted) -> Iterator[tuple[int, int, int]]:
    """(job, pool, GPUs) of every piece, the largest first."""
    pieces = [(row, pool, gpus) for row, shape in wanted.items() for pool, gpus in shape]
    return iter(sorted(pieces, key=lambda piece: (-piece[2], piece[0])))


def _packed(data: Aggregate, wanted: Wanted, kept: Mapping[int, Layout]) -> _Pieces | None:
    """Those that stay, then the largest pieces first, each on the fullest server that holds it; None if that fails."""
    free = data.data.idle.tolist()
    at: _Pieces = {row: [] for row in wanted}
    for row, layout in kept.items():
        if all(free[server] >= gpus for server, gpus in layout):
            at[row] = list(layout)
            for server, gpus in layout:
                free[server] -= gpus
    for row, pool, gpus in _largest_first({row: shape for row, shape in wanted.items() if not at[row]}):
        taken = {server for server, _ in at[row]}
        fits = [server for server in data.members[pool] if free[server] >= gpus and server not in taken]
        if not fits:
            return None
        server = min(fits, key=lambda server: (free[server], server))
        free[server] -= gpus
        at[row].append((server, gpus))
    return at


class _Cut:
    """Pieces dealt out from servers that are cut as the plan says."""

    def __init__(self, data: Aggregate, wanted: Wanted, cut: Sequence[int]) -> None:
        self._data = data
        self._left = self._supply(cut)
        self.at: _Pieces = {row: [] for row in wanted}
        # Jobs on many servers first: they are the hardest to keep apart.
        for row in sorted(wanted, key=lambda row: (-len(wanted[row]), row)):
            for pool, gpus in sorted(wanted[row], key=lambda piece: -piece[1]):
                self._place(row, pool, gpus)

    def _supply(self, cut: Sequence[int]) -> dict[tuple[int, int], Counter[int]]:
        """{(pool, GPUs): how many such pieces each server still has}."""
        data = self._data
        members: dict[tuple[int, int], list[int]] = {}
        for server, group in enumerate(zip(data.pools, data.data.idle.tolist(), strict=True)):
            members.setdefault(group, []).append(server)
        unused = {group: iter(servers) for group, servers in members.items()}
        found: dict[tuple[int, int], Counter[int]] = {}
        for (spot, pattern), times in zip(data.cuts, cut, strict=True):
            pool = data.groups[spot][0]
            for _ in range(times):
                server = next(unused[data.groups[spot]])
                for gpus in pattern:
                    found.setdefault((pool, gpus), Counter())[server] += 1
        return found

    def _place(self, row: int, pool: int, gpus: int) -> None:
        left = self._left.get((pool, gpus), Counter())
        free = [server for server, number in left.items() if number > 0]
        if not free:
            raise SolverFailedError("hops.round", f"no piece of {gpus} GPUs left", "as many as the plan takes")
        taken = {server for server, _ in self.at[row]}
        apart = [server for server in free if server not in taken]
        server = min(apart or free)
        left[server] -= 1
        self.at[row].append((server if apart else self._exchanged(row, pool, gpus, server, taken), gpus))

    def _exchanged(self, row: int, pool: int, gpus: int, server: int, taken: set[int]) -> int:
        """The server of another job's equal piece, which moves to `server`; without one, `server` itself."""
        for other, pieces in self.at.items():
            if other == row or any(place == server for place, _ in pieces):
                continue
            for spot, (place, size) in enumerate(pieces):
                if size == gpus and place not in taken and self._data.pools[place] == pool:
                    pieces[spot] = (server, gpus)
                    return place
        return server
