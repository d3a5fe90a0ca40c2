"""Which servers of a type are as good as equal: classes of speed, by what is believed of single servers (ours)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from workbench.papers.hops.configurations import Server
from workbench.scenario.job import Job
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import Belief, IntArray

ALIKE = 0.01
"""Speeds that differ by less than this, relative to the smaller one, are no reason for two classes."""


class Speeds(NamedTuple):
    """pools: the class of each server, of one type each; factor: (jobs x pools) speed over that of the type."""

    pools: list[int]
    factor: FloatArray


def speed_classes(servers: Sequence[Server], jobs: Sequence[Job], belief: Belief, most: int) -> Speeds:
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
    return Speeds([int(pool) for pool in pools], factor)


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
