r"""Placement sensitivity of jobs (Hops, section 3.6).

rho_i = throughput_agg / throughput_dis   (10)

with the throughput per GPU of one GPU on one server, and of one GPU on each of two servers of the same type. A job is
sensitive above a threshold sigma (1.4 in the paper). (ours): server 0 stands for the first type with two servers on
which the job runs; a job that does not run on one GPU, or not on two, is compared at its smallest sizes that do; one
that cannot be spread over servers at all counts as `MOST`, and so does one that is even worse, so that averages of a
queue stay finite.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from workbench.scenario.cluster import Cluster
from workbench.scenario.job import Job
from workbench.scenario.throughput import FloatArray, Placement
from workbench.scheduling.decision import Belief, JobView

MOST = 10.0
"""The largest sensitivity there is (ours)."""


def sensitivity(agg: float, dis: float) -> float:
    """(10) of two throughputs per GPU, at most `MOST`."""
    return min(agg / dis, MOST) if dis > 0 else MOST


def sensitivities(jobs: JobView, belief: Belief, cluster: Cluster) -> FloatArray:
    """(10): (jobs,) rho of the jobs of a snapshot, by what is believed of a type, not of single servers."""
    servers = [node.accelerator for node in cluster.machines]
    kinds = [name for name in cluster.types if servers.count(name) >= 2]
    return np.array([_of(job, belief, cluster, kinds) for job in jobs.jobs], dtype=float)


def _of(job: Job, belief: Belief, cluster: Cluster, kinds: list[str]) -> float:
    for kind in kinds:
        agg = next(_together(job, belief, cluster, kind), 0.0)
        if agg > 0:
            return sensitivity(agg, next(_apart(job, belief, cluster, kind), 0.0))
    return MOST


def _together(job: Job, belief: Belief, cluster: Cluster, kind: str) -> Iterator[float]:
    """Throughput per GPU on one server, of one GPU and then of each size, where there is any."""
    for size in dict.fromkeys((1, *job.sizes)):
        if cluster.fewest_nodes(kind, size) == 1:
            speed = belief.steps_per_s(job, kind, size, "consolidated", 1)
            if speed > 0:
                yield speed / size


def _apart(job: Job, belief: Belief, cluster: Cluster, kind: str) -> Iterator[float]:
    """Throughput per GPU over two servers or more, of two GPUs and then of each size, where there is any."""
    for size in dict.fromkeys((2, *(size for size in job.sizes if size > 1))):
        fewest = cluster.fewest_nodes(kind, size)
        if fewest is not None:
            word: Placement = "unconsolidated" if fewest == 1 else "consolidated"
            speed = belief.steps_per_s(job, kind, size, word, max(fewest, 2))
            if speed > 0:
                yield speed / size
