r"""Hierarchical policies (Gavel, section 4.3): entities share the cluster by weight, each by its policy for its jobs.

max   t                                                                        (4.3)   slowest_rise
s.t.  sum_{k in C_m} sum_j X_kj <= 1                            for all m      (2)     job_time
      sum_k sum_{j in J_a} z_k X_kj <= c_a                      for all a      (3)     capacity
      w^job_m t <= z_m (throughput(m, X) / P_m - t_m)           for all m in R   (4.3)   rise
      throughput(m, X) / P_m >= t_m                             for all m      (4.3)   floor
      0 <= X_kj <= 1, X_kj = 0 where k cannot run               for all k, j   (1)     share
      t >= 0                                                                   (ours)  step

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

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyomo.environ as pyo

from workbench.papers.gavel import knobs as gavel
from workbench.papers.gavel import water_filling
from workbench.papers.gavel.allocation import read_shares
from workbench.papers.gavel.entities import HierarchicalData
from workbench.papers.gavel.partition import pooled, spread
from workbench.papers.gavel.view import numbers
from workbench.papers.gavel.water_filling import BOTTLENECK, first, result, run
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Formulation, Knobs, Result
from workbench.scheduling.decision import Snapshot
from workbench.scheduling.solvers import Solver

NAME = "gavel.hierarchical"


def collect(snapshot: Snapshot, knobs: Knobs, rows: npt.ArrayLike | None = None) -> HierarchicalData:
    """The data of a snapshot's jobs, or of those at the positions `rows`."""
    chosen = range(len(snapshot.jobs)) if rows is None else np.asarray(rows, dtype=np.int64).tolist()
    jobs = [snapshot.jobs.jobs[row] for row in chosen]
    named = {entity.name: position for position, entity in enumerate(snapshot.entities)}
    alone = [job for job in jobs if job.entity is None]  # told apart by position: any name may be an entity's too
    at = {job.name: len(named) + position for position, job in enumerate(alone)}
    return HierarchicalData(
        **numbers(snapshot, knobs, rows),
        owner=np.array([at[job.name] if job.entity is None else named[job.entity] for job in jobs], dtype=float),
        entities=(*named, *(f"{job.name} alone" for job in alone)),
        entity_weight=np.array([*(entity.weight for entity in snapshot.entities), *(job.weight for job in alone)]),
        fifo=np.array([*(float(entity.policy == "fifo") for entity in snapshot.entities), *(0.0 for _ in alone)]),
    )


def known(data: HierarchicalData, knobs: Knobs) -> HierarchicalData:
    """The data as the policy sees them: every type's speeds, or GPUs of one kind."""
    return data if knobs.get("heterogeneity_aware", True) else pooled(data)


def _with_entities(data: HierarchicalData, found: Result) -> Result:
    """The result with the name of each job's entity."""
    names = (data.entities[int(position)] for position in data.owner.tolist())
    return replace(found, values={**found.values, "entity": dict(zip(data.jobs, names, strict=True))})


class Hierarchical(Formulation[HierarchicalData]):
    """Shares of time by water filling over entities."""

    name = NAME
    title = "Gavel: hierarchical fairness"
    knobs = (gavel.AWARE, BOTTLENECK, *gavel.EXTENSIONS, gavel.OPTIMUM)
    reading = (
        "The objective is the first iteration's t: each entity's weight is divided among its jobs (all of it to the "
        "first under FIFO), and the objective is the smallest of levels x GPUs of the gang / that weight over the jobs "
        "that rise first, before the later iterations; `levels` say how far each job rose in all."
    )

    def data(self, snapshot: Snapshot, knobs: Knobs) -> HierarchicalData:
        """The arrived jobs in order of arrival, and their entities."""
        return collect(snapshot, knobs)

    def build(self, data: HierarchicalData, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved programme of the first iteration."""
        return water_filling.build(first(known(data, knobs)), "gavel_hierarchical")

    def read(self, model: pyo.ConcreteModel, data: HierarchicalData, knobs: Knobs) -> Result:
        """Shares and levels after one iteration, and normalised throughput (true speeds in both forms)."""
        found = known(data, knobs)
        level = first(found).risen(float(model.step.value))
        return _with_entities(data, result(data, found, read_shares(model, found), level, self._spread(data, knobs)))

    def run(self, data: HierarchicalData, knobs: Knobs, solver: Solver | None = None) -> Result:
        """All iterations, see `water_filling.fill`."""
        return _with_entities(data, run(data, known(data, knobs), self._spread(data, knobs), knobs, solver))

    def _spread(self, data: HierarchicalData, knobs: Knobs) -> Callable[[FloatArray], FloatArray]:
        aware = knobs.get("heterogeneity_aware", True)
        return (lambda shares: shares) if aware else (lambda shares: spread(data, shares))
