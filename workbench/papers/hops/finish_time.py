r"""Finish-time fairness as a priority (Hops, section 4.4; after Themis, NSDI 2020, and Sia, SOSP 2023).

rho_i = T_sh / T_id                                                         (4.4)
T_sh = time since arrival + age_i * steps left / steps                      (ours)
T_id = sum_types N_type/N_cluster * run time of the job on 1/N of the GPUs  (4.4)

N jobs are in the cluster. (ours): what a job has still to do is expected to take its part of the age (9); on 1/N of the
GPUs it runs at the fastest of its sizes that fits, else at its smallest one; a type on which it cannot run is left out
and the others' weights add up to 1. T_id is the `finish_time_fairness` of a run at one number of jobs.
"""

from __future__ import annotations

import numpy as np

from workbench.baselines.mechanisms.latency_ratio import speed_on
from workbench.scenario.cluster import Cluster
from workbench.scenario.job import Job
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import Belief, JobView

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
    weight = np.array([cluster.workers[name] for name in cluster.types], dtype=float)
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
