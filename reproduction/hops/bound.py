r"""A time before which no schedule ends (ours): what is left of the makespan to compete for.

min   M
s.t.  sum_j y_ij s_ij = n_i                      for all jobs i
      sum_{i: a_i >= r} y_ij <= c_j (M - r)      for all types j, arrivals r
      M >= a_i + n_i / f_i                       for all jobs i
      y_ij >= 0

`y_ij` is GPU time of job i on type j, `s_ij` the largest speed per GPU over its sizes and the type's servers, `c_j` the
GPUs, `a_i` arrival, `n_i` steps, `f_i` the largest speed of any of its gangs. Servers, gangs and restarts are left out.
"""

from __future__ import annotations

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.baselines.mechanisms.latency_ratio import speed_on
from workbench.scenario.cluster import Cluster
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scheduling.estimators.oracle import Oracle
from workbench.scheduling.snapshot import Belief
from workbench.scheduling.solvers import Columns, Programme, Solver, solve_matrix


def least_makespan_s(scenario: Scenario) -> float:
    """The optimum of the linear programme above, in seconds."""
    jobs, cluster = scenario.jobs, scenario.cluster
    per_gpu, fastest = _speeds(scenario)
    steps = np.array([job.steps for job in jobs])
    arrival = np.array([job.arrival_s for job in jobs])
    kinds, count = len(cluster.types), len(jobs)
    gpus = np.array([cluster.capacity[name] for name in cluster.types], dtype=float)
    releases = np.unique(arrival)
    last = count * kinds  # the column of M
    entries = [(i, i * kinds + j, float(per_gpu[i, j])) for i in range(count) for j in range(kinds)]
    upper: list[float] = []
    for release in releases.tolist():
        later = np.flatnonzero(arrival >= release).tolist()
        for j in range(kinds):
            at = count + len(upper)
            entries += [(at, i * kinds + j, 1.0) for i in later]
            entries.append((at, last, -float(gpus[j])))
            upper.append(-float(gpus[j]) * release)
    rows = count + len(upper)
    row, column, value = zip(*entries, strict=True)
    cost = np.zeros(last + 1)
    cost[last] = 1.0
    lower = np.zeros(last + 1)
    lower[last] = float((arrival + steps / fastest).max())
    found = solve_matrix(
        Programme(
            cost=cost,
            matrix=Columns.of(row, column, value, (rows, last + 1)),
            row_lower=np.concatenate([steps, np.full(len(upper), -np.inf)]),
            row_upper=np.concatenate([steps, upper]),
            lower=lower,
            upper=np.full(last + 1, np.inf),
            name="least makespan",
        ),
        Solver(),
    )
    assert found.solved.objective is not None
    return found.solved.objective


def _speeds(scenario: Scenario) -> tuple[FloatArray, FloatArray]:
    """(jobs x types) largest steps/s per GPU, and (jobs,) largest steps/s of any gang, each on the fastest server."""
    belief, cluster = Oracle(scenario), scenario.cluster
    server = {name: max(n.speed for n in cluster.each_node if n.accelerator == name) for name in cluster.types}
    per_gpu = np.zeros((len(scenario.jobs), len(cluster.types)))
    fastest = np.zeros(len(scenario.jobs))
    for i, job in enumerate(scenario.jobs):
        for j, kind in enumerate(cluster.types):
            gangs = {size: server[kind] * _fastest(job, belief, cluster, kind, size) for size in job.sizes}
            per_gpu[i, j] = max(speed / size for size, speed in gangs.items())
            fastest[i] = max(fastest[i], *gangs.values())
    return per_gpu, fastest


def _fastest(job: Job, belief: Belief, cluster: Cluster, kind: str, size: int) -> float:
    """Steps/s of a gang on a type, together or spread: the table has gangs that are faster spread."""
    apart = belief.steps_per_s(job, kind, size, "unconsolidated") if size > 1 else 0.0
    return max(speed_on(job, belief, cluster, kind, size), apart)
