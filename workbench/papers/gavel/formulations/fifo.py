r"""First in, first out (Gavel, section 4.2).

max   sum_m v_m throughput(m, X) / T^fastest_m                           (§4.2) first_come
s.t.  sum_{k in C_m} sum_j X_kj <= 1                       for all m     (2)    job_time
      sum_k sum_{j in J_a} z_k X_kj <= c_a                 for all a     (3)    capacity
      0 <= X_kj <= 1, X_kj = 0 if (k, j) notin E           for all k, j  (1)    share
      throughput(m, X) = sum_{k in C_m} sum_j T^m_kj X_kj  for all m     (§3.1) throughput

v_m = M - m, where M is the number of jobs and m counts them in the order of arrival from 0 (from 1, as the paper seems
to, the last job would count for nothing). C_m is job m alone and the pairs it is in (none unless GPUs are shared),
T^m_kj the speed of the whole gang of z_m GPUs, T^fastest_m that on the fastest type on which job m can run alone.
Heterogeneity-agnostic: one speed for all types, which cancels.

This is the paper's linear programme: an earlier job counts for more, but two later ones may count for more than it, and
a job of many GPUs for no more than one of a single GPU. What the authors' code runs is greedy: one job after the other
gets its fastest type with enough free GPUs, and the first that finds none blocks those behind it. That is the
baseline scheduler `fifo`.
"""

from __future__ import annotations

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.papers.gavel import knobs as gavel
from workbench.papers.gavel.formulations.allocation import ShareFormulation, lay_out, total
from workbench.papers.gavel.formulations.allocation_assembly import Assembly
from workbench.papers.gavel.instance import AllocationInstance, seen
from workbench.scheduling.contract import Knobs
from workbench.scheduling.modelling import parameter, pyo, renumber
from workbench.scheduling.solvers import Programme

NAME = "gavel.fifo"


def fastest(data: AllocationInstance) -> FloatArray:
    """(jobs,) `T^fastest_m`, steps/s on the fastest type on which each job can run alone."""
    speed: FloatArray = np.where(data.can_run, data.speed, 0.0).max(axis=1, initial=0.0)
    return speed


def places(data: AllocationInstance) -> FloatArray:
    """(jobs,) `M - m`, from M for the first job to 1 for the last."""
    return len(data.jobs) - np.arange(len(data.jobs), dtype=float)


def worth(data: AllocationInstance, value: FloatArray) -> FloatArray:
    """(jobs x types) what one step/s adds to the objective; value: (jobs,) `v_m`."""
    return np.broadcast_to((value / fastest(data))[:, None], data.speed.shape)


def build(data: AllocationInstance, value: FloatArray) -> pyo.ConcreteModel:
    """Return the unsolved linear programme; value: (jobs,) `v_m`."""
    m = lay_out("gavel_fifo", data)
    m.value = parameter(m.JOBS, numbers=data.column(value), doc="v_m | weight by place in line | 1")
    m.fastest = parameter(
        m.JOBS, numbers=data.column(fastest(data)), doc="T^fastest_m | throughput on the fastest type | steps/s"
    )

    @m.Objective(sense=pyo.maximize, doc="(§4.2) relative throughput, more so of those who came first")
    def first_come(m):
        return pyo.quicksum(m.value[job] / m.fastest[job] * m.throughput[job] for job in m.JOBS)

    return m


def restate(m: pyo.ConcreteModel, data: AllocationInstance, value: FloatArray) -> None:
    """Let the model of other jobs, which `kept_model` has replaced, state these."""
    from workbench.scheduling.solvers.compile import members
    from workbench.scheduling.solvers.restating import weighted

    most = fastest(data)
    renumber(m.value, data.column(value))
    renumber(m.fastest, data.column(most))
    worths = (value / most).tolist()  # the rule's own, divided at once
    m.first_come.set_value(weighted(zip(worths, members(m.throughput), strict=True)))


def assemble(data: AllocationInstance, value: FloatArray, name: str = "gavel_fifo") -> Programme:
    """The same programme as arrays."""
    rows = Assembly(data)
    return rows.programme(rows.worth(value / fastest(data)), name, maximise=True)


class FirstInFirstOut(ShareFormulation[AllocationInstance]):
    """Shares of time that serve the jobs in the order of `data.jobs`."""

    name = NAME
    instance = AllocationInstance
    title = "Gavel: first in, first out (Gavel's, shares of time)"
    reading = (
        "The objective is the sum over the jobs of place x steps/s / those on the job's fastest type alone; place is "
        "the number of jobs for the first to arrive and 1 for the last. "
        "Without heterogeneity_aware the speeds are the one that the policy takes for all types."
    )
    knobs = (gavel.AWARE, *gavel.EXTENSIONS, gavel.OPTIMUM)

    def build(self, data: AllocationInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model."""
        return build(seen(data, knobs), places(data))

    def restate(self, model: pyo.ConcreteModel, data: AllocationInstance, knobs: Knobs) -> None:
        """For other jobs."""
        restate(model, seen(data, knobs), places(data))

    def assemble(self, data: AllocationInstance, knobs: Knobs) -> Programme:
        """The same programme as arrays."""
        return assemble(seen(data, knobs), places(data))

    def objective(self, data: AllocationInstance, shares: FloatArray, knobs: Knobs) -> float | None:
        """`sum_m v_m throughput(m, X) / T^fastest_m`."""
        known = seen(data, knobs)
        return total(known, worth(known, places(known)), shares) if data.jobs else None
