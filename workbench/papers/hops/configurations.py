"""Which GPUs a job may be offered (Hops, sections 2.2, 3.4 and 3.6): requirement sets, and configurations of them.

A *configuration* is `{server: GPUs}`. It is *aggregated* on one server, *distributed* over neighbouring ones of one
type. (erratum): the paper prints `R_k < S_t` for an aggregated configuration, so that a request could not take a whole
server; read R_k <= S_t. It also lets a sensitive job be distributed if its smallest request is *less* than the largest
server of the type; read *more*: such a job has no other way to run there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from workbench.base.errors import InputError
from workbench.scenario.job import requirement_set

SIGMA = 1.4
"""Threshold of sensitivity: a job above it is sensitive (section 3.6)."""

Layout = tuple[tuple[int, int], ...]
"""A configuration by position: (server, GPUs) pairs."""


class Server(NamedTuple):
    """What configurations are made of: name, accelerator type, idle GPUs, all GPUs."""

    name: str
    kind: str
    idle: int
    size: int


def checked_sizes(sizes: Iterable[int], job: str = "job") -> tuple[int, ...]:
    """R as a rising tuple of different sizes; raises InputError for an empty set, or a size that is no number."""
    found = tuple(sizes)
    if not found:
        raise InputError(f"{job}, requirement set", "no size", "at least one number of GPUs")
    for size in found:
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise InputError(f"{job}, requirement set", size, "whole numbers of GPUs from 1")
    return tuple(sorted(set(found)))


def thinned(sizes: Sequence[int], number: int) -> tuple[int, ...]:
    """At most `number` (R_num) of the sizes a user chose, at equal intervals of their list.

    The first and the last stay; with `number` 1 the first alone.
    """
    return tuple(sizes[place - 1] for place in requirement_set(1, len(sizes), number))


def may_be_distributed(sizes: Sequence[int], rho: float, largest: int, sigma: float = SIGMA) -> bool:
    """Whether a job may span servers of a type whose largest has `largest` GPUs; rho: its sensitivity, see (10)."""
    return rho <= sigma or min(sizes) > largest


def aggregated(servers: Sequence[Server], kind: str, gpus: int) -> list[Layout]:
    """A configuration on each server of the type with so many idle GPUs."""
    return [((i, gpus),) for i, server in enumerate(servers) if server.kind == kind and gpus <= server.idle]


def distributed(servers: Sequence[Server], kind: str, gpus: int) -> list[Layout]:
    """From each server of the type on, the next ones with idle GPUs, each filled before the next is begun.

    Of these only those on the fewest servers, two or more: their number stays linear in the number of servers.
    """
    idle = [(i, server.idle) for i, server in enumerate(servers) if server.kind == kind and server.idle > 0]
    found = [layout for first in range(len(idle)) if (layout := _window(idle, first, gpus)) is not None]
    fewest = min(map(len, found), default=0)
    return [layout for layout in found if len(layout) == fewest]


def generate(servers: Sequence[Server], sizes: Sequence[int], rho: float, sigma: float = SIGMA) -> Iterator[Layout]:
    """All configurations of a job: by type in the order of the servers, then by size; none for a request too large."""
    kinds = dict.fromkeys(server.kind for server in servers)
    for kind in kinds:
        largest = max(server.size for server in servers if server.kind == kind)
        spread = may_be_distributed(sizes, rho, largest, sigma)
        for gpus in sizes:
            yield from aggregated(servers, kind, gpus)
            if spread:
                yield from distributed(servers, kind, gpus)


def _window(idle: Sequence[tuple[int, int]], first: int, gpus: int) -> Layout | None:
    """The servers from `first` on that hold so many GPUs; None if they are too few, or one of them is enough."""
    taken: list[tuple[int, int]] = []
    for server, free in idle[first:]:
        taken.append((server, min(free, gpus)))
        gpus -= taken[-1][1]
        if gpus == 0:
            return tuple(taken) if len(taken) > 1 else None
    return None
