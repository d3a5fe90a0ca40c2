r"""Latency ratio fairness (Hops, section 3.6): how long jobs wait, against how long they would run without waiting.

latency_ratio_i = wait_i / age_i                                                    (6), (8)
age_i = sum_types N_type/N_cluster * total_samples_i / (throughput_ij * R_avg)      (9)
queue_latency_ratio = mean latency_ratio of the jobs that ended in the last h hours (7)

(erratum): the text says that a latency ratio does not exceed 1; a job may wait for longer than it runs. N_type counts
GPUs here, and servers where configurations are generated. Samples and steps are alike as long as throughput is counted
in the same. (7) is a measure of runs, `workbench.analysis.metrics.latency_ratio_over_time`. (ours): a type on which a
job cannot run is left out of (9) and the others' weights add up to 1, as in the `latency_ratio` of a run. It stands
here because Hops orders the jobs of the schedulers it compares itself with by the same ratio (section 4.2).
"""

from __future__ import annotations

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray
from workbench.base.errors import InputError
from workbench.scenario.cluster import Cluster
from workbench.scenario.job import Job
from workbench.scenario.throughput import Placement
from workbench.scheduling.snapshot import Belief, JobView

PLACEMENTS: tuple[Placement, ...] = ("consolidated", "unconsolidated")


def latency_ratio(waited_s: FloatArray, age_s: FloatArray) -> FloatArray:
    """(6), (8): (jobs,) waiting over age. Raises InputError for a negative wait, or an age that is not above 0."""
    waited, age = np.asarray(waited_s, dtype=float), np.asarray(age_s, dtype=float)
    _require("age_s", age, age > 0, "seconds > 0")
    _require("waited_s", waited, waited >= 0, "seconds >= 0")
    ratio: FloatArray = waited / age
    return ratio


def age_s(total: FloatArray, per_gpu: FloatArray, gpus: FloatArray, mean_size: FloatArray) -> FloatArray:
    """(9): (jobs,) expected run time of jobs that do not wait.

    total: (jobs,) samples or steps; per_gpu: (jobs x types) of them per second and GPU, 0 where a job cannot run; gpus:
    (types,) GPUs of the cluster; mean_size: (jobs,) mean of the requirement set. Infinite for a job that runs nowhere.
    Raises InputError for a job without work, which would have no age.
    """
    total = np.asarray(total, dtype=float)
    _require("total samples or steps", total, total > 0, "a number > 0: a job without any has no age")
    runs = per_gpu > 0
    weight = np.where(runs, gpus, 0.0)
    share = np.divide(weight, weight.sum(axis=1, keepdims=True), out=np.zeros_like(weight), where=runs)
    pace = (share / np.where(runs, per_gpu, 1.0)).sum(axis=1)
    return np.where(runs.any(axis=1), total * pace / mean_size, np.inf)


def ages(jobs: JobView, belief: Belief, cluster: Cluster) -> FloatArray:
    """(9) of the jobs of a snapshot, in seconds, by what is believed now of the gangs they ask for.

    The paper estimates a job's age once, before it starts: a scheduler keeps what it got at the job's first sight.
    """
    steps = np.array([job.steps - job.steps_done for job in jobs.jobs], dtype=float)
    mean_size = np.array([np.mean(job.sizes) for job in jobs.jobs], dtype=float)
    gpus = np.array([cluster.capacity[name] for name in cluster.types], dtype=float)
    return age_s(steps, per_gpu_speeds(jobs, belief, cluster), gpus, mean_size)


def per_gpu_speeds(jobs: JobView, belief: Belief, cluster: Cluster) -> FloatArray:
    """(jobs x types) steps/s per GPU of the gang asked for; of the smallest size that runs if that one runs nowhere."""
    speed, spread = belief.speeds(jobs), belief.speeds(jobs, "unconsolidated")
    per_gpu: FloatArray = np.where(speed > 0, speed, spread) / jobs.gpus[:, None]
    for row in np.flatnonzero(~per_gpu.any(axis=1)).tolist():
        job = jobs.jobs[row]
        for size in job.sizes:
            per_gpu[row] = [speed_on(job, belief, cluster, name, size) / size for name in cluster.types]
            if per_gpu[row].any():
                break
    return per_gpu


def speed_on(job: Job, belief: Belief, cluster: Cluster, kind: str, size: int) -> float:
    """Steps/s of a gang on a type: on as few nodes as can be, where it runs at all."""
    for word in PLACEMENTS:
        if (speed := belief.steps_per_s(job, kind, size, word)) > 0:
            return speed
    fewest = cluster.fewest_nodes(kind, size)
    most = min(size, sum(node.accelerator == kind for node in cluster.each_node))
    for nodes in range(most + 1 if fewest is None else fewest, most + 1):
        if (speed := belief.steps_per_s(job, kind, size, "unconsolidated", nodes)) > 0:
            return speed
    return 0.0


def _require(where: str, values: FloatArray, good: BoolArray, expected: str) -> None:
    wrong = np.flatnonzero(~good)
    if len(wrong):
        raise InputError(f"{where}[{wrong[0]}]", float(np.atleast_1d(values)[wrong[0]]), expected)
