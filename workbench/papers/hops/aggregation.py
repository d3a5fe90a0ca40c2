"""Interchangeable servers taken together: shapes instead of configurations, cuts of idle servers instead of servers.

Servers of one *pool* (same type, same speed) differ in their idle GPUs alone. Configurations of a job that take the
same pieces of the same pools are one *shape*; servers of a pool with equally many idle GPUs are one *group*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from workbench.base.errors import InputError
from workbench.papers.hops.instance import RoundData, Shape
from workbench.papers.hops.patterns import Pattern, count, patterns
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import IntArray

MOST_CUTS = 5000
"""A group whose servers can be cut in more ways is not aggregated."""

Group = tuple[int, int]
"""Servers of a pool with so many idle GPUs: (pool, idle)."""


@dataclass(frozen=True, eq=False)
class Aggregate:
    """A round's data by shape and group.

    shapes: all that occur; job, shape: (choices,) whose each choice is, in rising order, and its shape; gain:
    (choices,) G_ic; pieces: the (pool, GPUs) that shapes take; groups: with `number`, (groups,) servers each; cuts:
    (group, pattern) pairs.
    """

    data: RoundData
    shapes: tuple[Shape, ...]
    job: IntArray
    shape: IntArray
    gain: FloatArray
    pieces: tuple[tuple[int, int], ...]
    groups: tuple[Group, ...]
    number: IntArray
    cuts: tuple[tuple[int, Pattern], ...]

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


def aggregate(data: RoundData) -> Aggregate:
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


def too_fine(data: RoundData) -> bool:
    """Whether some server can be cut in more ways than `aggregate` takes."""
    sizes: dict[int, set[int]] = {}
    for pool, gpus in {piece for shape in data.shapes for piece in shape}:
        sizes.setdefault(pool, set()).add(gpus)
    return any(
        count(idle, sizes.get(pool, ())) > MOST_CUTS
        for pool, idle in set(zip(data.pools, data.idle.tolist(), strict=True))
    )


def _cuts(group: Group, pieces: Sequence[tuple[int, int]]) -> tuple[Pattern, ...]:
    pool, idle = group
    sizes = [gpus for of, gpus in pieces if of == pool]
    if count(idle, sizes) > MOST_CUTS:
        raise InputError(f"servers with {idle} idle GPUs", count(idle, sizes), f"at most {MOST_CUTS} ways to cut one")
    return patterns(idle, sizes)
