"""The data of a plan from a snapshot: who is planned for, on which idle GPUs, at which speeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from workbench.papers.hops.configurations import Layout, Server, thinned
from workbench.papers.hops.instance import RoundData
from workbench.papers.hops.knobs import SENSITIVE, SIZES
from workbench.papers.hops.listing import Rate, Request, list_configurations
from workbench.papers.hops.queue import Queue, queue, remembered_ages
from workbench.papers.hops.sensitivity import sensitivities
from workbench.papers.hops.speeds import Speeds, speed_classes
from workbench.papers.hops.window import service_window
from workbench.scenario.job import Job
from workbench.scenario.throughput import FloatArray, Placement
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import IntArray, Snapshot
from workbench.scheduling.queues import take


def gather(snapshot: Snapshot, knobs: Knobs) -> RoundData:
    """The first plan of a round: the service window of the whole queue, on all GPUs that are free now."""
    jobs = snapshot.jobs
    if not len(jobs):
        return plan_data(snapshot, np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), knobs)
    line: Queue = queue(snapshot, remembered_ages(snapshot, {}), knobs.get("priority", "latency_ratio"), 0.0)
    inside = window_of(snapshot, line.order, knobs) if knobs.get("window", True) else len(jobs)
    rows, outside = np.sort(line.order[:inside]), np.sort(line.order[inside:])
    rho = sensitivities(take(jobs, rows.tolist()), snapshot.belief, snapshot.cluster)
    data = plan_data(snapshot, rows, line.priority[rows], rho, knobs)
    before = {unit: ended.gpus for unit, ended in snapshot.ended.items() if isinstance(unit, str)}
    names = tuple(jobs.names[row] for row in outside.tolist())
    return replace(data, outside=names, previous=previous_layouts(data, before))


def previous_layouts(data: RoundData, before: Mapping[str, Mapping[str, int]]) -> dict[int, Layout]:
    """By row where jobs were, of `{job: {server: GPUs}}`; those that were on a server which is down are left out."""
    server = {name: i for i, name in enumerate(data.servers)}
    return {
        row: tuple(sorted((server[node], gpus) for node, gpus in before[name].items()))
        for row, name in enumerate(data.jobs)
        if name in before and all(node in server for node in before[name])
    }


def window_of(snapshot: Snapshot, order: IntArray, knobs: Knobs) -> int:
    """How many jobs at the head of the queue are inside the service window; none while all servers are down."""
    total = int(snapshot.workers.sum())
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
) -> RoundData:
    """The data of a plan for some jobs (rows of the snapshot); priority, rho: of these, see (8) and (10).

    taken: free GPUs of servers that earlier plans of the same moment have given out.
    """
    servers = servers_of(snapshot, taken)
    jobs = [snapshot.jobs.jobs[row] for row in rows.tolist()]
    sigma = float(knobs.get("sigma", SENSITIVE.default))
    requests = [
        Request(job.name, sizes_of(job, knobs), float(value), float(sensitivity))
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


def _by_class(snapshot: Snapshot, servers: Sequence[Server], jobs: Sequence[Job], classes: Speeds) -> Rate:
    """What is believed of a job on a type, times the speed of the slowest class of servers (section 3.5)."""
    known: dict[tuple[int, str, int, int], float] = {}

    def rate(row: int, layout: Layout) -> float:
        kind, gpus, nodes = servers[layout[0][0]].kind, sum(gpus for _, gpus in layout), len(layout)
        key = (row, kind, gpus, nodes)
        if key not in known:
            fewest = snapshot.cluster.fewest_nodes(kind, gpus)
            together = fewest is not None and nodes <= fewest
            word: Placement = "consolidated" if together else "unconsolidated"
            known[key] = snapshot.belief.steps_per_s(jobs[row], kind, gpus, word, nodes)
        return known[key] * min(float(classes.factor[row, classes.pools[server]]) for server, _ in layout)

    return rate
