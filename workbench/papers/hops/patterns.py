"""How an idle server can be cut into pieces for configurations: what the aggregated model chooses from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

Pattern = tuple[int, ...]
"""Pieces of one server in GPUs, the largest first."""


def patterns(idle: int, pieces: Sequence[int]) -> tuple[Pattern, ...]:
    """Every way to cut `idle` GPUs into pieces of these sizes to which none could be added; at least one way.

    A way with fewer pieces gives nothing that these do not give.
    """
    return _patterns(idle, tuple(sorted(set(pieces), reverse=True)))


@cache
def _patterns(idle: int, sizes: tuple[int, ...]) -> tuple[Pattern, ...]:
    least = min(sizes, default=idle + 1)
    return tuple(_cut(idle, sizes, least))


def _cut(left: int, sizes: tuple[int, ...], least: int) -> Iterator[Pattern]:
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
