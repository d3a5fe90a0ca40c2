"""Which GPUs a job may be offered (Hops, sections 2.2, 3.4 and 3.6): requirement sets, and configurations of them.

A *configuration* is `{server: GPUs}`. It is *aggregated* on one server, *distributed* over neighbouring ones of one
type. (erratum): the paper prints `R_k < S_t` for an aggregated configuration, so that a request could not take a whole
server; read R_k <= S_t. It also lets a sensitive job be distributed if its smallest request is *less* than the largest
server of the type; read *more*: such a job has no other way to run there.

Servers of a type that are as good as equal by what is believed of single servers are a class of speed (ours,
`speed_classes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.base.errors import InputError
from workbench.scenario.job import Job, requirement_set
from workbench.scheduling.snapshot import Belief

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


def _window(idle: Sequence[tuple[int, int]], first: int, gpus: int) -> Layout | None:
    """The servers from `first` on that hold so many GPUs; None if they are too few, or one of them is enough."""
    taken: list[tuple[int, int]] = []
    for server, free in idle[first:]:
        taken.append((server, min(free, gpus)))
        gpus -= taken[-1][1]
        if gpus == 0:
            return tuple(taken) if len(taken) > 1 else None
    return None


ALIKE = 0.01
"""Speeds that differ by less than this, relative to the smaller one, are no reason for two classes."""


class SpeedClasses(NamedTuple):
    """pools: the class of each server, of one type each; factor: (jobs x pools) speed over that of the type."""

    pools: list[int]
    factor: FloatArray


def speed_classes(servers: Sequence[Server], jobs: Sequence[Job], belief: Belief, most: int) -> SpeedClasses:
    """At most `most` classes of each type, split at the widest gaps between the servers' mean speeds over the jobs.

    A server's speed for a job is what is believed of the job's smallest gang there, over that on the type. A class's is
    the mean over its servers. Servers without idle GPUs, which nobody can get, are all in the first class of their type
    and have no say in it.
    """
    able = np.array([server.idle > 0 for server in servers], dtype=bool)
    ratio = np.ones((len(jobs), len(servers)))
    for column in np.flatnonzero(able).tolist():
        ratio[:, column] = [_ratio(servers[column], job, belief) for job in jobs]
    mean = ratio.mean(axis=0) if len(jobs) else np.ones(len(servers))
    pools = np.zeros(len(servers), dtype=np.int64)
    parts: list[IntArray] = []
    for kind in dict.fromkeys(server.kind for server in servers):
        of_kind = np.array([server.kind == kind for server in servers], dtype=bool)
        own = np.flatnonzero(of_kind & able)
        number = split(mean[own], most)
        pools[of_kind] = len(parts)
        pools[own] += number
        parts += [own[number == part] for part in range(int(number.max(initial=0)) + 1)]
    factor = np.ones((len(jobs), len(parts)))
    for pool, own in enumerate(parts):
        if len(own):
            factor[:, pool] = ratio[:, own].mean(axis=1)
    return SpeedClasses([int(pool) for pool in pools], factor)


def split(values: FloatArray, most: int) -> IntArray:
    """Class of each value, from 0 for the smallest: split at the `most` - 1 widest gaps that are wider than `ALIKE`."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    gap = ranked[1:] / ranked[:-1] - 1.0
    wide = np.argsort(-gap, kind="stable")[: most - 1]
    cuts = np.zeros(len(values), dtype=np.int64)
    cuts[wide[gap[wide] > ALIKE] + 1] = 1
    number = np.empty(len(values), dtype=np.int64)
    number[order] = np.cumsum(cuts)
    return number


def _ratio(server: Server, job: Job, belief: Belief) -> float:
    """Speed of the server for the job over its type's; 1 where no gang of the job fits on it or nothing is believed."""
    size = min(job.sizes)
    if size > server.size:
        return 1.0
    there = belief.on_nodes(job, {server.name: size})
    usual = belief.steps_per_s(job, server.kind, size, "consolidated", 1)
    return there / usual if there > 0 and usual > 0 else 1.0
