r"""The waiting queue of Hops (sections 3.6, 4.4, 4.5), who may be scheduled, and who is sensitive to placement.

Each job has a priority, the highest is served first. `latency_ratio` is (8); `ftf` the expected ratio of finish-time
fairness; `las`, `sjf` and `srtf` are what has been had or is to come, with the sign turned, so that the smallest comes
first and the weights of (11) rise with the priority. Between two refreshes, 30 s apart, the order stays as it is: waits
count up to the last one. (ours): what a job that waits has had and what it has left do not change, so only
`latency_ratio` and `ftf` look back.

Finish-time fairness as a priority (section 4.4; after Themis, NSDI 2020, and Sia, SOSP 2023):

rho_i = T_sh / T_id                                                         (4.4)
T_sh = time since arrival + age_i * steps left / steps                      (ours)
T_id = sum_types N_type/N_cluster * run time of the job on 1/N of the GPUs  (4.4)

N jobs are in the cluster. (ours): what a job has still to do is expected to take its part of the age (9); on 1/N of the
GPUs it runs at the fastest of its sizes that fits, else at its smallest one; a type on which it cannot run is left out
and the others' weights add up to 1. T_id is the `finish_time_fairness` of a run at one number of jobs.

The service window at the head of the queue, and its adjustment (section 3.6): everything is in the order of the queue,
the first to be served first. The job at which the summed smallest requests reach the GPUs of the cluster is the last
one inside. (erratum): the adjustment is printed for requests *less* than the idle GPUs; read at most, for a request may
fill them.

Placement sensitivity (section 3.6):

rho_i = throughput_agg / throughput_dis   (10)

with the throughput per GPU of one GPU on one server, and of one GPU on each of two servers of the same type. A job is
sensitive above a threshold sigma (1.4 in the paper). (ours): server 0 stands for the first type with two servers on
which the job runs; a job that does not run on one GPU, or not on two, is compared at its smallest sizes that do; one
that cannot be spread over servers at all counts as `MOST`, and so does one that is even worse, so that averages of a
queue stay finite.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple, get_args

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.latency_ratio import ages, latency_ratio, speed_on
from workbench.papers.hops.knobs import Priority
from workbench.scenario.cluster import Cluster
from workbench.scenario.job import Job
from workbench.scenario.throughput import Placement
from workbench.scheduling import job_orders
from workbench.scheduling.snapshot import Belief, JobView, Snapshot


class HopsQueue(NamedTuple):
    """The queue at a decision. priority: (jobs,) in the order of the snapshot; order: its rows, first to be served
    first; age_s: (jobs,) of (9)."""

    priority: FloatArray
    order: IntArray
    age_s: FloatArray


def queue(snapshot: Snapshot, known_ages: Mapping[str, float], priority: Priority, refresh_s: float) -> HopsQueue:
    """The queue of all unfinished jobs of a snapshot, as it was sorted last. known_ages: see `remembered_ages`."""
    jobs = snapshot.jobs
    age_s = np.array([known_ages[name] for name in jobs.names], dtype=float)
    last_s = refreshed_at(snapshot.now_s, refresh_s)
    value = priorities(snapshot, age_s, priority, last_s)
    return HopsQueue(value, job_orders.by(-value), age_s)


def remembered_ages(snapshot: Snapshot, before: Mapping[str, float]) -> dict[str, float]:
    """The age (9) of every unfinished job, estimated at first sight and kept from then on (section 3.6)."""
    new = [row for row, name in enumerate(snapshot.jobs.names) if name not in before]
    view = job_orders.take(snapshot.jobs, new)
    found = dict(zip(view.names, ages(view, snapshot.belief, snapshot.cluster).tolist(), strict=True)) if new else {}
    return {name: before[name] if name in before else found[name] for name in snapshot.jobs.names}


def refreshed_at(now_s: float, refresh_s: float) -> float:
    """The last multiple of `refresh_s` up to now; now itself with 0."""
    if refresh_s == 0:
        return now_s
    if not refresh_s > 0:
        raise InputError("refresh_s", refresh_s, "seconds >= 0")
    number = math.floor(now_s / refresh_s)
    while (number + 1) * refresh_s <= now_s:
        number += 1
    while number * refresh_s > now_s:
        number -= 1
    return number * refresh_s


def waits_at(jobs: JobView, waiting: BoolArray, now_s: float, at_s: float) -> FloatArray:
    """(jobs,) seconds that jobs had waited at a time shortly before now.

    waiting: who has waited since then, or since a later arrival or suspension; the others' waits have not grown.
    """
    waited = jobs.waited_s - np.where(waiting, now_s - at_s, 0.0)
    return np.maximum(waited, 0.0)


def priorities(snapshot: Snapshot, age_s: FloatArray, priority: Priority, at_s: float) -> FloatArray:
    """(jobs,) the higher, the sooner; at the time of the last refresh, `at_s`."""
    jobs = snapshot.jobs
    if priority == "las":
        return -jobs.attained_s
    if priority == "sjf":
        return -age_s
    part_left = jobs.steps_left / np.array([job.steps - job.steps_done for job in jobs.jobs], dtype=float)
    if priority == "srtf":
        remaining_s: FloatArray = age_s * part_left
        return -remaining_s
    if priority == "ftf":
        since_s = np.maximum(at_s - jobs.arrival_s, 0.0)
        alone_s = isolated_s(jobs, snapshot.belief, snapshot.cluster, len(jobs))
        return finish_time_ratio(age_s, part_left, since_s, alone_s)
    if priority == "latency_ratio":
        waiting = np.array([name not in snapshot.leases and name not in snapshot.ended for name in jobs.names])
        return latency_ratio(waits_at(jobs, waiting, snapshot.now_s, at_s), age_s)
    raise InputError("priority", priority, "one of " + ", ".join(get_args(Priority)))


CLOSE = 1e-9
"""Sizes may exceed a share of the GPUs by so much of it: rounding of floating point."""


def finish_time_ratio(
    age_s: FloatArray, part_left: FloatArray, since_arrival_s: FloatArray, isolated_s: FloatArray
) -> FloatArray:
    """(4.4): (jobs,) expected rho. part_left: steps left over all steps."""
    ratio: FloatArray = (since_arrival_s + age_s * part_left) / isolated_s
    return ratio


def isolated_s(jobs: JobView, belief: Belief, cluster: Cluster, present: float) -> FloatArray:
    """T_id: (jobs,) seconds of the whole job alone on 1/present of the GPUs, by what is believed; inf: runs nowhere."""
    weight = np.array([cluster.capacity[name] for name in cluster.types], dtype=float)
    share = cluster.gpus / max(present, 1.0)
    return np.array([_isolated_s(job, belief, cluster, weight, share) for job in jobs.jobs], dtype=float)


def _isolated_s(job: Job, belief: Belief, cluster: Cluster, weight: FloatArray, share: float) -> float:
    speed = np.zeros(len(cluster.types))
    for size in job.sizes:
        here = np.array([speed_on(job, belief, cluster, name, size) for name in cluster.types])
        speed = np.maximum(speed, here) if size <= share * (1 + CLOSE) else np.where(speed > 0, speed, here)
    runs = speed > 0
    if not runs.any():
        return np.inf
    mean = float((weight[runs] / speed[runs]).sum() / weight[runs].sum())
    return (job.steps - job.steps_done) * mean


def service_window(least: IntArray, total_gpus: int) -> int:
    """How many jobs at the head of the queue are inside the window; it never skips one.

    least: (jobs,) smallest request of each; total_gpus: of the cluster, busy or not.
    """
    requests = np.asarray(least, dtype=np.int64)
    if len(requests) and requests.min() < 1:
        raise InputError("smallest request of a job", int(requests.min()), "at least 1 GPU")
    if total_gpus < 1:
        raise InputError("GPUs of the cluster", total_gpus, "at least 1")
    reached = int(np.searchsorted(np.cumsum(requests), total_gpus, side="left"))
    return min(reached + 1, len(requests))


def adjusted_window(window: int, rho: FloatArray, least: IntArray, idle_gpus: int) -> IntArray:
    """Positions in the queue of those who may be scheduled onto fragments: the window, and whom it is opened to.

    As long as the jobs inside are more sensitive on average than the queue, the walk from the boundary backward lets in
    whoever is less sensitive than the queue's average and small enough for the idle GPUs. rho: (jobs,) sensitivity,
    finite. The window itself is left as it is where nobody helps.
    """
    rho = np.asarray(rho, dtype=float)
    if not np.isfinite(rho).all():
        raise InputError("sensitivity of a job", float(rho[~np.isfinite(rho)][0]), "a finite number")
    if not 0 <= window <= len(rho):
        raise InputError("window", window, f"0 to the {len(rho)} jobs of the queue")
    inside = list(range(window))
    total = float(rho[:window].sum())
    average = float(rho.mean()) if len(rho) else 0.0
    for position in range(window, len(rho)):
        if not inside or total / len(inside) <= average:
            break
        if rho[position] < average and least[position] <= idle_gpus:
            inside.append(position)
            total += float(rho[position])
    return np.array(inside, dtype=np.int64)


MOST = 10.0
"""The largest sensitivity there is (ours)."""


def sensitivity(agg: float, dis: float) -> float:
    """(10) of two throughputs per GPU, at most `MOST`."""
    return min(agg / dis, MOST) if dis > 0 else MOST


def sensitivities(jobs: JobView, belief: Belief, cluster: Cluster) -> FloatArray:
    """(10): (jobs,) rho of the jobs of a snapshot, by what is believed of a type, not of single servers."""
    servers = [node.accelerator for node in cluster.each_node]
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
