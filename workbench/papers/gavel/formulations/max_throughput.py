r"""Maximum total throughput (Gavel, section 4.2).

max   sum_m v_m throughput(m, X)                                         (4.2, erratum)  total_throughput
s.t.  sum_{k in C_m} sum_j X_kj <= 1                       for all m     (2)             job_time
      sum_k sum_{j in J_a} z_k X_kj <= c_a                 for all a     (3)             capacity
      0 <= X_kj <= 1, X_kj = 0 if (k, j) notin E           for all k, j  (1)             share
      throughput(m, X) = sum_{k in C_m} sum_j T^m_kj X_kj  for all m     (§3.1)          throughput

C_m is job m alone and the pairs it is in (none unless GPUs are shared), T^m_kj the speed of the whole gang of z_m
GPUs. The paper prints "minimize", an erratum. v_m = 1: steps/s of all models add up as they are, which favours
models with short steps (the authors' code, and the default). With `normalised`, v_m = 1 / P_m, P_m the throughput under
an equal share of every GPU: each job counts in multiples of its own. Heterogeneity-agnostic: one speed for all
types.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.papers.gavel import knobs as gavel
from workbench.papers.gavel.algorithms.equal_jobs import MergedInstance, merge, unweighted
from workbench.papers.gavel.formulations.allocation import (
    NOTHING_MORE,
    ShareFormulation,
    feasible,
    lay_out,
    total,
    values,
)
from workbench.papers.gavel.formulations.allocation_assembly import Assembly
from workbench.papers.gavel.instance import AllocationInstance, seen
from workbench.scheduling.contract import Knobs, Result
from workbench.scheduling.modelling import parameter, pyo, renumber
from workbench.scheduling.solvers import Programme

NAME = "gavel.max_throughput"


def value(data: AllocationInstance, knobs: Knobs) -> FloatArray:
    """(jobs,) `v_m`: what one step/s of each job counts, and of each of those that it stands for."""
    return data.count / data.equal if knobs.get("normalised", False) else data.count


def unit(knobs: Knobs) -> str:
    """Unit of a total throughput."""
    return "1" if knobs.get("normalised", False) else "steps/s"


def worth(data: AllocationInstance, knobs: Knobs) -> FloatArray:
    """(jobs x types) what one step/s of a job on a type adds to the objective."""
    return np.broadcast_to(value(data, knobs)[:, None], data.speed.shape)


def build(data: AllocationInstance, value: FloatArray) -> pyo.ConcreteModel:
    """Return the unsolved linear programme; value: (jobs,) `v_m`."""
    m = lay_out("gavel_max_throughput", data)
    m.value = parameter(m.JOBS, numbers=data.column(value), doc="v_m | what a step/s counts | s/step")

    @m.Objective(sense=pyo.maximize, doc="(4.2, erratum) all throughput together")
    def total_throughput(m):
        return pyo.quicksum(m.value[job] * m.throughput[job] for job in m.JOBS)

    return m


def restate(m: pyo.ConcreteModel, data: AllocationInstance, value: FloatArray) -> None:
    """Let the model of other jobs, which `kept_model` has replaced, state these."""
    from workbench.scheduling.solvers.restating import renewed

    renumber(m.value, data.column(value))
    renewed(m.total_throughput)


def assemble(data: AllocationInstance, value: FloatArray) -> Programme:
    """The same programme as arrays."""
    rows = Assembly(data)
    return rows.programme(rows.worth(value), "gavel_max_throughput", maximise=True)


class MaxThroughput(ShareFormulation[AllocationInstance]):
    """Shares of time with the largest total throughput."""

    name = NAME
    instance = AllocationInstance
    title = "Gavel: maximum total throughput"
    values_gpus = True
    reading = (
        "The objective is the sum of the jobs' steps/s; with normalised, of their normalized_throughput. "
        "Without heterogeneity_aware the speeds are the one that the policy takes for all types."
    )
    knobs = (gavel.AWARE, gavel.REFERENCE, gavel.NORMALISED, *gavel.EXTENSIONS, gavel.OPTIMUM)

    def merged(self, data: AllocationInstance, knobs: Knobs) -> MergedInstance[AllocationInstance]:
        """Weights play no part."""
        known = seen(data, knobs)
        return merge(data, unweighted(known), value(known, knobs))

    def build(self, data: AllocationInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model."""
        known = seen(data, knobs)
        return build(known, value(known, knobs))

    def restate(self, model: pyo.ConcreteModel, data: AllocationInstance, knobs: Knobs) -> None:
        """For other jobs."""
        known = seen(data, knobs)
        restate(model, known, value(known, knobs))

    def assemble(self, data: AllocationInstance, knobs: Knobs) -> Programme:
        """The same programme as arrays."""
        known = seen(data, knobs)
        return assemble(known, value(known, knobs))

    def objective(self, data: AllocationInstance, shares: FloatArray, knobs: Knobs) -> float | None:
        """`sum_m v_m throughput(m, X)`."""
        known = seen(data, knobs)
        return total(known, worth(known, knobs), shares) if data.jobs else None

    def report(
        self,
        data: AllocationInstance,
        shares: FloatArray,
        knobs: Knobs,
        by_job: Mapping[str, FloatArray] = NOTHING_MORE,
    ) -> Result:
        """Shares and normalised throughput (`throughput(m, X) / P_m`, true speeds in both forms)."""
        return feasible(self.objective(data, shares, knobs), "max", unit(knobs), values(data, shares))
