r"""Max-min fairness over normalised throughput (Gavel, section 4.1), also known as least attained service (LAS).

max   t                                                                  (§4.1)  worst_job
s.t.  sum_{k in C_m} sum_j X_kj <= 1                       for all m     (2)     job_time
      sum_k sum_{j in J_a} z_k X_kj <= c_a                 for all a     (3)     capacity
      t <= z_m / (w_m P_m) * throughput(m, X)              for all m     (ours)  epigraph
      0 <= X_kj <= 1, X_kj = 0 if (k, j) notin E           for all k, j  (1)     share
      t free                                                             (ours)  level
      throughput(m, X) = sum_{k in C_m} sum_j T^m_kj X_kj  for all m     (§3.1)  throughput

C_m is job m alone and the pairs it is in (none unless GPUs are shared), T^m_kj the speed of the whole gang of z_m
GPUs. P_m is the throughput under an equal share of every GPU, `P_m = (sum_a T_ma c_a) / (sum_a c_a)` (X_equal; in
proportion to the GPUs, whatever the number of jobs). (ours): the paper maximises a minimum; t makes it linear. The
paper sets T_mj to minus infinity for a job that cannot run on a type; here X_mj is 0 there and T_mj takes no part.
Heterogeneity-agnostic: one speed for all types, which cancels, so that shares of time alone count.
"""

from __future__ import annotations

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.papers.gavel import knobs as gavel
from workbench.papers.gavel.algorithms.equal_jobs import MergedInstance, merge
from workbench.papers.gavel.formulations.allocation import ShareFormulation, lay_out
from workbench.papers.gavel.formulations.allocation_assembly import Assembly, Variable
from workbench.papers.gavel.formulations.kept_model import unchanged
from workbench.papers.gavel.instance import AllocationInstance, seen
from workbench.scheduling.contract import Knobs
from workbench.scheduling.modelling import parameter, pyo, renumber
from workbench.scheduling.solvers import Programme

NAME = "gavel.max_min_fairness"


def build(data: AllocationInstance) -> pyo.ConcreteModel:
    """Return the unsolved linear programme for one allocation."""
    m = lay_out("gavel_max_min_fairness", data)
    m.weight = parameter(m.JOBS, numbers=data.column(data.weight), doc="w_m | weight | 1")
    m.equal = parameter(m.JOBS, numbers=data.column(data.equal), doc="P_m | throughput under an equal share | steps/s")
    m.level = pyo.Var(doc="(ours) t | smallest normalised throughput | 1")

    @m.Objective(sense=pyo.maximize, doc="(§4.1) the level of the job that is worst off")
    def worst_job(m):
        return m.level

    @m.Constraint(m.JOBS, doc="(ours) no job falls below the common level t")
    def epigraph(m, job):
        return m.level <= m.gang[job] / (m.weight[job] * m.equal[job]) * m.throughput[job]

    return m


def assemble(data: AllocationInstance) -> Programme:
    """The same programme as arrays."""
    level = Variable("level")
    rows = Assembly(data, after=[level])
    jobs = np.arange(len(data.jobs))
    rows.add("epigraph", (jobs, rows.column(level), 1.0), rows.throughput(-data.scale), upper=np.zeros(len(jobs)))
    return rows.programme((rows.column(level), 1.0), "gavel_max_min_fairness", maximise=True)


class MaxMinFairness(ShareFormulation[AllocationInstance]):
    """Shares of time that make the worst-off job as well off as can be."""

    name = NAME
    instance = AllocationInstance
    title = "Gavel: max-min fairness"
    values_gpus = True
    knobs = (gavel.AWARE, *gavel.EXTENSIONS, gavel.OPTIMUM)
    reading = (
        "The objective is the smallest of normalized_throughput x GPUs of the gang / weight over the jobs; "
        "normalized_throughput is a job's steps/s over those under an equal share of every type. "
        "Without heterogeneity_aware shares of time count in its place."
    )

    def merged(self, data: AllocationInstance, knobs: Knobs) -> MergedInstance[AllocationInstance]:
        """Jobs are equal if they are in multiples of their P_m."""
        return merge(data, seen(data, knobs).relative())

    def objective(self, data: AllocationInstance, shares: FloatArray, knobs: Knobs) -> float | None:
        """`min_m z_m throughput(m, X) / (w_m P_m)`."""
        known = seen(data, knobs)
        return float((known.scale * known.throughput(shares)).min()) if data.jobs else None

    def build(self, data: AllocationInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model."""
        return build(seen(data, knobs))

    def restate(self, model: pyo.ConcreteModel, data: AllocationInstance, knobs: Knobs) -> None:
        """For other jobs."""
        from workbench.scheduling.solvers.restating import at_least, renewed

        known = seen(data, knobs)
        renumber(model.weight, known.column(known.weight))
        renumber(model.equal, known.column(known.equal))
        level, scale, stays = model.level, known.column(known.scale), unchanged(model, "weight", "equal")
        renewed(model.epigraph, same=stays, by=lambda job: at_least(level, scale[job], model.throughput[job]))

    def assemble(self, data: AllocationInstance, knobs: Knobs) -> Programme:
        """The same programme as arrays."""
        return assemble(seen(data, knobs))
