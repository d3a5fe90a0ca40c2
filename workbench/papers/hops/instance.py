"""The numbers of one plan of Hops (section 3.6): idle GPUs, priorities, configurations, their throughput and gain.

`HopsInstance.from_snapshot` reads those of the first plan of a round, `plan_data` those of some jobs: who is planned
for, on which idle GPUs, at which speeds. `list_configurations` makes them from jobs and servers. What a job's
throughput counts is its gain G times the weight `(prior_i + bias)^lambda`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import BoolArray, FloatArray, IntArray, fixed, shaped
from workbench.base.errors import InputError, Words
from workbench.papers.hops.algorithms.configurations import (
    SIGMA,
    Layout,
    Server,
    SpeedClasses,
    aggregated,
    checked_sizes,
    distributed,
    may_be_distributed,
    speed_classes,
    thinned,
)
from workbench.papers.hops.algorithms.gains import gains
from workbench.papers.hops.algorithms.queue import HopsQueue, queue, remembered_ages, sensitivities, service_window
from workbench.papers.hops.knobs import SENSITIVE, SIZES
from workbench.scenario.job import Job
from workbench.scenario.throughput import Placement
from workbench.scheduling.contract import Knobs
from workbench.scheduling.job_orders import take
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import UnkeptError

LEAST = 0.01
"""The smallest weight where priorities are not all positive, at lambda = 1 (the paper's 0.01)."""


def bias(priority: FloatArray) -> float:
    """0 if all priorities are positive, else `|min| + 0.01`."""
    least = float(priority.min(initial=np.inf))
    return 0.0 if least > 0 else abs(least) + LEAST


class Weights(NamedTuple):
    """`W_i = (prior_i + bias)^lambda` of each job, over `scale`; only their ratios matter to the optimum."""

    scaled: FloatArray
    scale: float

    @property
    def plain(self) -> FloatArray:
        """(jobs,) the weights of (11) themselves."""
        return self.scaled * self.scale


def weights(priority: FloatArray, power: float, able: BoolArray) -> Weights:
    """The weights over the largest among the jobs that can get something (`able`): numbers that suit a solver.

    Raises InputError if no float holds one of them.
    """
    if not able.any():
        return Weights(np.ones(len(priority)), 1.0)
    base = priority + bias(priority)
    top = base[able].max()
    with np.errstate(over="ignore", under="ignore"):
        scaled, scale = (base / top) ** power, float(np.power(top, power))
        largest = float(np.power(base.max(), power))
    if not (np.isfinite(largest) and np.isfinite(scaled).all() and (scaled[able] > 0).all() and scale > 0):
        raise InputError("knob lambda", power, "a power of the priorities that a number can hold, or inf")
    return Weights(scaled, scale)


SAME = 1e-6
"""How far throughputs on interchangeable servers may differ, relative to the larger one."""
PoolLayout = tuple[tuple[int, int], ...]
"""What configurations on interchangeable servers have in common: rising (pool, GPUs) pairs, one for each server."""
Choices = dict[str, dict[str, int] | None]
"""The configuration that each job gets, `{server: GPUs}`; None for a job that waits."""


class PlacedJob(NamedTuple):
    """What a job gets: where, and the gain `G_ij` counted for it."""

    layout: Layout
    gain: float


RoundPlan = dict[int, PlacedJob]
"""What each job (row) gets; those that wait are not in it."""


class JobConfigurations(NamedTuple):
    """A job and what it may get: its configurations, `({server: GPUs}, steps/s)`."""

    name: str
    priority: float
    configurations: Sequence[tuple[Mapping[str, int], float]]


@dataclass(frozen=True, eq=False)
class HopsInstance:
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
    def _running(self) -> BoolArray:
        return np.isfinite(self.throughput) & (self.throughput > 0)

    def _check(self, bad: BoolArray, names: Sequence[str], what: str, values: Any, expected: str) -> None:
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
    def of(
        cls, idle: Mapping[str, int], options: Iterable[JobConfigurations], pool: Sequence[int] | None = None
    ) -> HopsInstance:
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

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot, knobs: Knobs) -> HopsInstance:
        """The first plan of a round: the service window of the whole queue, on all GPUs that are free now."""
        jobs = snapshot.jobs
        if not len(jobs):
            return plan_data(snapshot, np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), knobs)
        line: HopsQueue = queue(snapshot, remembered_ages(snapshot, {}), knobs.get("priority", "latency_ratio"), 0.0)
        inside = window_of(snapshot, line.order, knobs) if knobs.get("service_window", True) else len(jobs)
        rows, outside = np.sort(line.order[:inside]), np.sort(line.order[inside:])
        rho = sensitivities(take(jobs, rows.tolist()), snapshot.belief, snapshot.cluster)
        data = plan_data(snapshot, rows, line.priority[rows], rho, knobs)
        before = {unit: ended.gpus for unit, ended in snapshot.ended.items() if isinstance(unit, str)}
        names = tuple(jobs.names[row] for row in outside.tolist())
        return replace(data, outside=names, previous=previous_layouts(data, before))

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
    def shapes(self) -> dict[PoolLayout, int]:
        """Number of each shape that some layout has, from 0."""
        found: dict[PoolLayout, int] = {}
        for layout in self.layouts:
            found.setdefault(shape_of(layout, self.pools), len(found))
        return found

    @cached_property
    def shape(self) -> IntArray:
        """(configurations,) number of each one's shape."""
        return fixed(_shapes(self.layouts, self.pools)[0][self.layout])

    @cached_property
    def best_alike(self) -> IntArray:
        """(configurations,) the fastest configuration of the same job and shape, the first of several."""
        key = self.job * (int(self.shape.max(initial=0)) + 1) + self.shape
        order = np.lexsort((-self.throughput, key))
        _, first, which = np.unique(key[order], return_index=True, return_inverse=True)
        best = np.empty(len(key), dtype=np.int64)
        best[order] = order[first[which.ravel()]]
        return fixed(best)

    def plan(self, configurations: Iterable[int]) -> RoundPlan:
        """What the jobs get with these configurations; raises UnkeptError for two of one job (12)."""
        chosen = list(configurations)
        one_each([int(self.job[spot]) for spot in chosen], self.jobs)
        return {
            int(self.job[spot]): PlacedJob(self.layouts[int(self.layout[spot])], float(self.gain[spot]))
            for spot in chosen
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


def one_each(rows: Sequence[int], jobs: Sequence[str]) -> None:
    """Raise UnkeptError if a job (row) has several configurations (12)."""
    for row, count in Counter(rows).most_common(1):
        if count > 1:
            taken = Words(f"it would give {jobs[row]} {count} configurations")
            raise UnkeptError("hops.round", taken, "at most one of each job (12)")


def shape_of(layout: Layout, pools: Sequence[int]) -> PoolLayout:
    """The shape of a layout; pools: of the servers."""
    return tuple(sorted((pools[server], gpus) for server, gpus in layout))


def _shaped(name: str, values: Any, shape: tuple[int, ...], kind: type[np.generic]) -> npt.NDArray[Any]:
    array = shaped(values, shape, f"round, {name}")
    if kind is np.int64 and not (np.isfinite(array) & (array == np.rint(array))).all():
        raise InputError(f"round, {name}", array.tolist(), "whole numbers")
    return fixed(array.astype(kind))


Rate = Callable[[int, Layout], float]
"""Steps/s of a job (row) with a layout, 0 where it cannot run: the same for all layouts of one shape."""


class JobRequest(NamedTuple):
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
    requests: Sequence[JobRequest],
    rate: Rate,
    sigma: float = SIGMA,
) -> HopsInstance:
    """The data of a plan: for each job what `configurations.generate` gives it and where it has a throughput.

    pools: of the servers, see `HopsInstance`. Layouts of a type and size are made once for all jobs, and throughput is
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
        shape = np.flatnonzero(np.bincount(numbers[own], minlength=len(first)))
        of_shape = np.zeros(len(first))
        of_shape[shape] = [rate(row, layouts[spot]) for spot in first[shape].tolist()]
        steps_per_s = of_shape[numbers[own]]
        runs = steps_per_s > 0
        owner.append(np.full(int(runs.sum()), row))
        chosen.append(own[runs])
        throughput.append(steps_per_s[runs])
    return HopsInstance(
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
    known: dict[PoolLayout, int] = {}
    first: list[int] = []
    numbers = []
    for spot, layout in enumerate(layouts):
        number = known.setdefault(shape_of(layout, pools), len(known))
        if number == len(first):
            first.append(spot)
        numbers.append(number)
    return np.array(numbers, dtype=np.int64), np.array(first, dtype=np.int64)


def _own(request: JobRequest, kinds: dict[str, int], listed: dict[tuple[str, int], _Listed], sigma: float) -> IntArray:
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


def previous_layouts(data: HopsInstance, before: Mapping[str, Mapping[str, int]]) -> dict[int, Layout]:
    """By row where jobs were, of `{job: {server: GPUs}}`; those that were on a server which is down are left out."""
    server = {name: i for i, name in enumerate(data.servers)}
    return {
        row: tuple(sorted((server[node], gpus) for node, gpus in before[name].items()))
        for row, name in enumerate(data.jobs)
        if name in before and all(node in server for node in before[name])
    }


def window_of(snapshot: Snapshot, order: IntArray, knobs: Knobs) -> int:
    """How many jobs at the head of the queue are inside the service window; none while all servers are down."""
    total = int(snapshot.capacity.sum())
    least = np.array([sizes_of(snapshot.jobs.jobs[row], knobs)[0] for row in order.tolist()], dtype=np.int64)
    return service_window(least, total) if total else 0


def sizes_of(job: Job, knobs: Knobs) -> tuple[int, ...]:
    """The requirement set of a job, thinned to the knob `most_sizes`."""
    return thinned(job.sizes, int(knobs.get("most_sizes", SIZES.default)))


def servers_of(snapshot: Snapshot, taken: Mapping[str, int] | None = None) -> list[Server]:
    """The servers that are up, with the GPUs that are free now but for those `taken`."""
    nodes, gone = snapshot.nodes, taken or {}
    kinds = [snapshot.types[kind] for kind in nodes.kind.tolist()]
    found = zip(nodes.names, kinds, nodes.free.tolist(), nodes.gpus.tolist(), nodes.up.tolist(), strict=True)
    return [Server(name, kind, free - gone.get(name, 0), size) for name, kind, free, size, up in found if up]


def plan_data(
    snapshot: Snapshot,
    rows: IntArray,
    priority: FloatArray,
    rho: FloatArray,
    knobs: Knobs,
    taken: Mapping[str, int] | None = None,
) -> HopsInstance:
    """The data of a plan for some jobs (rows of the snapshot); priority, rho: of these, see (8) and (10).

    taken: free GPUs of servers that earlier plans of the same moment have given out.
    """
    servers = servers_of(snapshot, taken)
    jobs = [snapshot.jobs.jobs[row] for row in rows.tolist()]
    sigma = float(knobs.get("sigma", SENSITIVE.default))
    requests = [
        JobRequest(job.name, sizes_of(job, knobs), float(value), float(sensitivity))
        for job, value, sensitivity in zip(jobs, priority, rho, strict=True)
    ]
    most = knobs.get("speed_classes", 3)
    if most is None:
        return list_configurations(servers, range(len(servers)), requests, _exact(snapshot, servers, jobs), sigma)
    classes = speed_classes(servers, jobs, snapshot.belief, int(most))
    return list_configurations(servers, classes.pools, requests, _by_class(snapshot, servers, jobs, classes), sigma)


def _exact(snapshot: Snapshot, servers: Sequence[Server], jobs: Sequence[Job]) -> Rate:
    """What is believed of a job on exactly these servers."""

    def rate(row: int, layout: Layout) -> float:
        return snapshot.belief.on_nodes(jobs[row], {servers[server].name: gpus for server, gpus in layout})

    return rate


def _by_class(snapshot: Snapshot, servers: Sequence[Server], jobs: Sequence[Job], classes: SpeedClasses) -> Rate:
    """What is believed of a job on a type, times the speed of the slowest class of servers (section 3.5)."""
    known: dict[tuple[int, str, int, int], float] = {}
    factor, pools = classes.factor.tolist(), list(classes.pools)

    def rate(row: int, layout: Layout) -> float:
        kind, gpus, nodes = servers[layout[0][0]].kind, sum(gpus for _, gpus in layout), len(layout)
        key = (row, kind, gpus, nodes)
        if key not in known:
            fewest = snapshot.cluster.fewest_nodes(kind, gpus)
            together = fewest is not None and nodes <= fewest
            word: Placement = "consolidated" if together else "unconsolidated"
            known[key] = snapshot.belief.steps_per_s(jobs[row], kind, gpus, word, nodes)
        slowest: float = min([factor[row][pools[server]] for server, _ in layout])
        return known[key] * slowest

    return rate
