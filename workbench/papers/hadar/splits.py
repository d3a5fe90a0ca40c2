"""Whole numbers that add up to a total: the ways to divide a gang among types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


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
