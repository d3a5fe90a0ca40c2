"""Every configuration of every job of a plan, with its throughput: a round's data from jobs and servers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from workbench.papers.hops.configurations import (
    SIGMA,
    Layout,
    Server,
    aggregated,
    checked_sizes,
    distributed,
    may_be_distributed,
)
from workbench.papers.hops.instance import RoundData, Shape, shape_of
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import IntArray

Rate = Callable[[int, Layout], float]
"""Steps/s of a job (row) with a layout, 0 where it cannot run: the same for all layouts of one shape."""


class Request(NamedTuple):
    """A job of a plan. sizes: its requirement set; rho: its sensitivity to placement, see (10)."""

    name: str
    sizes: Sequence[int]
    priority: float
    rho: float


class _Listed(NamedTuple):
    """The layouts of one type and size: first and last + 1, for aggregated and for distributed ones."""

    aggregated: range
    distributed: range


def list_configurations(
    servers: Sequence[Server],
    pools: Sequence[int],
    requests: Sequence[Request],
    rate: Rate,
    sigma: float = SIGMA,
) -> RoundData:
    """The data of a plan: for each job what `configurations.generate` gives it and where it has a throughput.

    pools: of the servers, see `RoundData`. Layouts of a type and size are made once for all jobs, and throughput is
    asked for once for each job and shape.
    """
    requests = [request._replace(sizes=checked_sizes(request.sizes, request.name)) for request in requests]
    layouts: list[Layout] = []
    listed: dict[tuple[str, int], _Listed] = {}
    kinds = {kind: max(s.size for s in servers if s.kind == kind) for kind in dict.fromkeys(s.kind for s in servers)}
    for gpus in sorted({size for request in requests for size in request.sizes}):
        for kind in kinds:
            here = len(layouts)
            layouts += aggregated(servers, kind, gpus)
            middle = len(layouts)
            layouts += distributed(servers, kind, gpus)
            listed[kind, gpus] = _Listed(range(here, middle), range(middle, len(layouts)))
    numbers, first = _shapes(layouts, pools)
    owner, chosen, throughput = [], [], []
    for row, request in enumerate(requests):
        own = _own(request, kinds, listed, sigma)
        shape, which = np.unique(numbers[own], return_inverse=True)
        steps_per_s = np.array([rate(row, layouts[spot]) for spot in first[shape].tolist()], dtype=float)[which.ravel()]
        runs = steps_per_s > 0
        owner.append(np.full(int(runs.sum()), row))
        chosen.append(own[runs])
        throughput.append(steps_per_s[runs])
    return RoundData(
        servers=tuple(server.name for server in servers),
        idle=np.array([server.idle for server in servers], dtype=np.int64),
        jobs=tuple(request.name for request in requests),
        priority=np.array([request.priority for request in requests], dtype=float),
        layouts=tuple(layouts),
        job=np.concatenate(owner) if owner else np.zeros(0, dtype=np.int64),
        layout=np.concatenate(chosen) if chosen else np.zeros(0, dtype=np.int64),
        throughput=np.concatenate(throughput) if throughput else _NONE,
        pool=np.array(pools, dtype=np.int64),
    )


_NONE: FloatArray = np.zeros(0)


def _shapes(layouts: Sequence[Layout], pools: Sequence[int]) -> tuple[IntArray, IntArray]:
    """The number of each layout's shape, and the first layout of each shape."""
    known: dict[Shape, int] = {}
    first: list[int] = []
    numbers = []
    for spot, layout in enumerate(layouts):
        number = known.setdefault(shape_of(layout, pools), len(known))
        if number == len(first):
            first.append(spot)
        numbers.append(number)
    return np.array(numbers, dtype=np.int64), np.array(first, dtype=np.int64)


def _own(request: Request, kinds: dict[str, int], listed: dict[tuple[str, int], _Listed], sigma: float) -> IntArray:
    """The layouts that a job may get: by type, then by size."""
    parts: list[range] = []
    for kind, largest in kinds.items():
        spread = may_be_distributed(request.sizes, request.rho, largest, sigma)
        for gpus in request.sizes:
            parts.append(listed[kind, gpus].aggregated)
            if spread:
                parts.append(listed[kind, gpus].distributed)
    found = [np.arange(part.start, part.stop) for part in parts]
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
