"""The numbers of one plan of Hops (section 3.6): idle GPUs, priorities, configurations and their throughput."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import fixed, shaped
from workbench.base.errors import InputError
from workbench.papers.hops.configurations import Layout
from workbench.papers.hops.weights import Weights, gains, weights
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import BoolArray, IntArray

SAME = 1e-6
"""How far throughputs on interchangeable servers may differ, relative to the larger one."""
Shape = tuple[tuple[int, int], ...]
"""What configurations on interchangeable servers have in common: rising (pool, GPUs) pairs, one for each server."""
Choices = dict[str, dict[str, int] | None]
"""The configuration that each job gets, `{server: GPUs}`; None for a job that waits."""


class Placed(NamedTuple):
    """What a job gets: where, and the gain `G_ij` counted for it."""

    layout: Layout
    gain: float


RoundPlan = dict[int, Placed]
"""What each job (row) gets; those that wait are not in it."""


class Options(NamedTuple):
    """A job and what it may get: its configurations, `({server: GPUs}, steps/s)`."""

    name: str
    priority: float
    configurations: Sequence[tuple[Mapping[str, int], float]]


@dataclass(frozen=True, eq=False)
class RoundData:
    """One plan's data. All arrays are read-only.

    idle: (servers,) GPUs; priority: (jobs,) any finite numbers; layouts: different configurations by position; job,
    layout: (configurations,) whose each configuration is, in rising order, and which layout it is; throughput:
    (configurations,) steps/s of the whole gang; pool: (servers,) servers of equal pool are interchangeable (same type,
    same speed: equal throughput of every job), by default each is by itself; outside: jobs beyond the window; previous:
    layouts that jobs (rows) had until now.
    Raises InputError that names the job or server.
    """

    servers: tuple[str, ...]
    idle: IntArray
    jobs: tuple[str, ...]
    priority: FloatArray
    layouts: tuple[Layout, ...]
    job: IntArray
    layout: IntArray
    throughput: FloatArray
    pool: IntArray | None = None
    outside: tuple[str, ...] = ()
    previous: Mapping[int, Layout] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.pool is None:
            object.__setattr__(self, "pool", np.arange(len(self.servers)))
        servers, jobs, listed = (len(self.servers),), (len(self.jobs),), (len(self.job),)
        for name, shape, kind in (
            ("idle", servers, np.int64),
            ("pool", servers, np.int64),
            ("priority", jobs, np.float64),
            ("job", listed, np.int64),
            ("layout", listed, np.int64),
            ("throughput", listed, np.float64),
        ):
            object.__setattr__(self, name, _shaped(name, getattr(self, name), shape, kind))
        for name, names in (("servers", self.servers), ("jobs", (*self.jobs, *self.outside))):
            if len(set(names)) < len(names):
                raise InputError(f"round, {name}", names, "names that differ")
        self._check(self.idle < 0, self.servers, "idle GPUs", self.idle, "a number >= 0")
        self._check(~np.isfinite(self.priority), self.jobs, "priority", self.priority, "a finite number")
        if (np.diff(self.job) < 0).any() or (self.job < 0).any() or (self.job >= len(self.jobs)).any():
            raise InputError("round, job", self.job.tolist(), "positions of jobs in rising order")
        if (self.layout < 0).any() or (self.layout >= len(self.layouts)).any():
            raise InputError("round, layout", self.layout.tolist(), "positions of layouts")
        owner = [self.jobs[row] for row in self.job[~self._running].tolist()]
        bad = self.throughput[~self._running]
        self._check(np.ones(len(bad), dtype=bool), owner, "throughput", bad, "a finite number of steps/s above 0")
        for layout in self.layouts:
            self._check_layout(layout)
        self._check_alike()

    @property
    def _running(self) -> npt.NDArray[np.bool_]:
        return np.isfinite(self.throughput) & (self.throughput > 0)

    def _check(self, bad: npt.NDArray[np.bool_], names: Sequence[str], what: str, values: Any, expected: str) -> None:
        for spot in np.flatnonzero(bad)[:1].tolist():
            raise InputError(f"{names[spot]}, {what}", values[spot].item(), expected)

    def _check_layout(self, layout: Layout) -> None:
        where = [server for server, _ in layout]
        if not layout or len(set(where)) < len(where) or not all(0 <= i < len(self.servers) for i in where):
            raise InputError("round, configuration", layout, "one or more different servers")
        if any(gpus < 1 for _, gpus in layout):
            raise InputError("round, configuration", self.named(layout), "numbers of GPUs from 1")

    def _check_alike(self) -> None:
        """Refuse throughputs that differ between interchangeable servers; of a layout listed twice the best counts."""
        best = self.best_alike
        apart = self.throughput[best] - self.throughput > SAME * self.throughput
        for spot in np.flatnonzero(apart & (self.layout != self.layout[best]))[:1].tolist():
            where = self.named(self.layouts[int(self.layout[spot])])
            raise InputError(
                f"{self.jobs[int(self.job[spot])]}, throughput on {where}",
                float(self.throughput[spot]),
                f"{self.throughput[best[spot]]:g} steps/s, as on the other servers of the pool",
            )

    @classmethod
    def of(cls, idle: Mapping[str, int], options: Iterable[Options], pool: Sequence[int] | None = None) -> RoundData:
        """The data of `{server: idle GPUs}` and jobs with configurations written out; pool: of the servers in order."""
        at = {name: i for i, name in enumerate(idle)}
        known: dict[Layout, int] = {}
        rows: list[tuple[int, int, float]] = []
        jobs = list(options)
        for row, job in enumerate(jobs):
            for placed, steps_per_s in job.configurations:
                for server in placed:
                    if server not in at:
                        raise InputError(f"{job.name}, configuration", server, "one of the servers " + ", ".join(at))
                layout = tuple(sorted((at[server], gpus) for server, gpus in placed.items()))
                rows.append((row, known.setdefault(layout, len(known)), steps_per_s))
        owner, layouts, throughput = zip(*rows, strict=True) if rows else ((), (), ())
        return cls(
            tuple(idle),
            np.array(list(idle.values())),
            tuple(job.name for job in jobs),
            np.array([job.priority for job in jobs], dtype=float),
            tuple(known),
            np.array(owner, dtype=np.int64),
            np.array(layouts, dtype=np.int64),
            np.array(throughput, dtype=float),
            None if pool is None else np.array(pool),
        )

    @cached_property
    def able(self) -> BoolArray:
        """(jobs,) whether a job has any configuration."""
        return fixed(np.bincount(self.job, minlength=len(self.jobs)) > 0)

    def weights(self, power: float) -> Weights:
        """`W_i` of the jobs; power: lambda, finite."""
        return weights(self.priority, power, self.able)

    @cached_property
    def gain(self) -> FloatArray:
        """(configurations,) `G_ij`, 1."""
        return fixed(gains(self.job, self.throughput, len(self.jobs)))

    @cached_property
    def number(self) -> IntArray:
        """(configurations,) `j`, the number of a configuration among its job's, from 1."""
        first = np.searchsorted(self.job, np.arange(len(self.jobs)))
        return fixed(np.arange(len(self.job)) - first[self.job] + 1)

    @cached_property
    def pools(self) -> list[int]:
        """The pool of each server."""
        assert self.pool is not None
        return [int(number) for number in self.pool]

    @cached_property
    def shapes(self) -> dict[Shape, int]:
        """Number of each shape that some layout has, from 0."""
        found: dict[Shape, int] = {}
        for layout in self.layouts:
            found.setdefault(shape_of(layout, self.pools), len(found))
        return found

    @cached_property
    def shape(self) -> IntArray:
        """(configurations,) number of each one's shape."""
        numbers = [self.shapes[shape_of(layout, self.pools)] for layout in self.layouts]
        return fixed(np.array(numbers, dtype=np.int64)[self.layout])

    @cached_property
    def best_alike(self) -> IntArray:
        """(configurations,) the fastest configuration of the same job and shape, the first of several."""
        key = self.job * max(len(self.shapes), 1) + self.shape
        order = np.lexsort((-self.throughput, key))
        _, first, which = np.unique(key[order], return_index=True, return_inverse=True)
        best = np.empty(len(key), dtype=np.int64)
        best[order] = order[first[which.ravel()]]
        return fixed(best)

    def plan(self, configurations: Iterable[int]) -> RoundPlan:
        """What the jobs get with these configurations."""
        return {
            int(self.job[spot]): Placed(self.layouts[int(self.layout[spot])], float(self.gain[spot]))
            for spot in configurations
        }

    def named(self, layout: Layout) -> dict[str, int]:
        """A layout as `{server: GPUs}`."""
        return {self.servers[server]: gpus for server, gpus in layout}

    def consumption(self) -> tuple[IntArray, IntArray, IntArray]:
        """The entries of `Consume_ijt`: configuration, server and GPUs."""
        sizes = np.array([len(layout) for layout in self.layouts], dtype=np.int64)
        flat = np.array([pair for layout in self.layouts for pair in layout], dtype=np.int64).reshape(-1, 2)
        first = np.cumsum(sizes) - sizes
        each = sizes[self.layout]
        configuration = np.repeat(np.arange(len(self.layout)), each)
        within = np.arange(len(configuration)) - np.repeat(np.cumsum(each) - each, each)
        entry = first[self.layout[configuration]] + within
        return configuration, flat[entry, 0], flat[entry, 1]


def shape_of(layout: Layout, pools: Sequence[int]) -> Shape:
    """The shape of a layout; pools: of the servers."""
    return tuple(sorted((pools[server], gpus) for server, gpus in layout))


def _shaped(name: str, values: Any, shape: tuple[int, ...], kind: type[np.generic]) -> npt.NDArray[Any]:
    array = shaped(values, shape, f"round, {name}")
    if kind is np.int64 and not (np.isfinite(array) & (array == np.rint(array))).all():
        raise InputError(f"round, {name}", array.tolist(), "whole numbers")
    return fixed(array.astype(kind))
