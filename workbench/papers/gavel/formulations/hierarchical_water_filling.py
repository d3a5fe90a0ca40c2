r"""Hierarchical policies (Gavel, section 4.3): entities share the cluster by weight, each by its policy for its jobs.

max   t                                                                    (4.3)   slowest_rise
s.t.  sum_{k in C_m} sum_j X_kj <= 1                       for all m       (2)     job_time
      sum_k sum_{j in J_a} z_k X_kj <= c_a                 for all a       (3)     capacity
      w^job_m t <= z_m (throughput(m, X) / P_m - t_m)      for all m in R  (4.3)   rise
      throughput(m, X) / P_m >= t_m                        for all m       (4.3)   floor
      0 <= X_kj <= 1, X_kj = 0 if (k, j) notin E           for all k, j    (1)     share
      t >= 0                                                               (ours)  step
      throughput(m, X) = sum_{k in C_m} sum_j T^m_kj X_kj  for all m       (3.1)   throughput

This is one iteration of water filling, with the weights w^job_m that the entities give their jobs; R are the jobs whose
weight is above 0. The weight W_e of entity e goes to those of its jobs that are not bottlenecked yet. Fairness: each of
them gets a part in proportion to its own weight w_m. FIFO: w^job_m = W_e for the first of them, by arrival, and 0 for
the others. The iterations, the levels t_m and their erratum are those of `gavel.water_filling`. A job without an entity
is one by itself, with the job's weight, so that without any entity this is `gavel.water_filling`.

Heterogeneity-agnostic, the cluster is partitioned instead (Fig. 11b): the same programme over GPUs of one kind, then
each job has its part of every accelerator type, X_mj in proportion to c_j. What a job cannot use after all of its time
goes to the others by the same weights; what lies on a type where it cannot run is idle. A pair counts for what its
members keep of their speeds on average; on a type where they may not share their GPUs, they take turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from workbench.papers.gavel import knobs as gavel
from workbench.papers.gavel.formulations import water_filling
from workbench.papers.gavel.formulations.allocation import NOTHING_MORE
from workbench.papers.gavel.formulations.levels import HierarchicalInstance
from workbench.papers.gavel.formulations.water_filling import BOTTLENECK
from workbench.papers.gavel.instance import AllocationInstance
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Knobs, Result
from workbench.scheduling.decision import BoolArray, IntArray
from workbench.scheduling.shares import equal_share

NAME = "gavel.hierarchical"


class Hierarchical(water_filling.IteratedFilling[HierarchicalInstance]):
    """Shares of time by water filling over entities."""

    name = NAME
    instance = HierarchicalInstance
    model = "gavel_hierarchical"
    title = "Gavel: hierarchical fairness"
    knobs = (gavel.AWARE, BOTTLENECK, *gavel.EXTENSIONS, gavel.OPTIMUM)
    reading = (
        "The objective is the first iteration's t: each entity's weight is divided among its jobs (all of it to the "
        "first under FIFO), and the objective is the smallest of levels x GPUs of the gang / that weight over the jobs "
        "that rise first, before the later iterations; `levels` say how far each job rose in all."
    )

    def known(self, data: HierarchicalInstance, knobs: Knobs) -> HierarchicalInstance:
        """The data as the policy sees them: every type's speeds, or GPUs of one kind."""
        return data if knobs.get("heterogeneity_aware", True) else without_types(data)

    def spread(self, data: HierarchicalInstance, shares: FloatArray, knobs: Knobs) -> FloatArray:
        """Shares of GPUs of one kind are spread over the types."""
        return shares if knobs.get("heterogeneity_aware", True) else spread(data, shares)

    def report(
        self,
        data: HierarchicalInstance,
        shares: FloatArray,
        knobs: Knobs,
        by_job: Mapping[str, FloatArray] = NOTHING_MORE,
    ) -> Result:
        """Shares, levels, normalised throughput, and the name of each job's entity."""
        found = super().report(data, shares, knobs, by_job)
        names = (data.entities[int(position)] for position in data.owner.tolist())
        return replace(found, values={**found.values, "entity": dict(zip(data.jobs, names, strict=True))})


def without_types(data: HierarchicalInstance) -> HierarchicalInstance:
    """The data with all workers as GPUs of one kind, on which every job has the same speed 1.

    A pair's members have the part of it that they keep on average over the workers: 1/2 on a type where they may not
    share, for there they take turns (`spread`).
    """
    part, on = equal_share(data.workers), _on(data.allowed[len(data.jobs) :], data)
    rows = np.arange(len(data.pairs))
    pair_speed = np.zeros((len(data.pairs), 2, 1))
    for name in range(len(data.accelerators)):
        kept = np.where(on[:, name, None] >= 0, data.kept[rows, :, on[:, name]], 0.5)
        pair_speed[:, :, 0] += part[name] * kept
    return replace(
        data,
        types=("all",),
        speed=np.ones((len(data.jobs), 1)),
        workers=np.array([data.workers.sum()]),
        pair_speed=pair_speed,
        accelerators=(),
        accelerator=None,
        fair=None,
    )


def spread(data: AllocationInstance, shares: FloatArray) -> FloatArray:
    """(combinations x types) shares of `data` from the (combinations x 1) shares of `without_types(data)`.

    Each combination has `c_a / sum c` of its time on accelerator type a, of its worker types the first on which it can
    run. Where a pair may not share, each of its members has half of that time alone; on a type where a job cannot run,
    its time is lost.
    """
    jobs = len(data.jobs)
    found = np.zeros((len(data.units), len(data.types)))
    part, on = equal_share(data.workers), _on(data.allowed, data)
    for name in range(len(data.accelerators)):
        time, kind = part[name] * shares[:, 0], on[:, name]
        apart = np.flatnonzero(kind[jobs:] < 0)
        for member in (0, 1):
            np.add.at(time, data.pairs[apart, member], time[jobs + apart] / 2)
        able = np.flatnonzero(kind >= 0)
        found[able, kind[able]] = time[able]
    return found


def _on(allowed: BoolArray, data: AllocationInstance) -> IntArray:
    """(rows x accelerators) position of the first worker type of an accelerator on which a row may run, -1 for none."""
    found = np.full((len(allowed), len(data.accelerators)), -1)
    for kind, accelerator in reversed(list(enumerate(data.accelerator_of.tolist()))):
        found[allowed[:, kind], accelerator] = kind
    return found
