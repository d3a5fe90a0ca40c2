r"""Shortest job first as printed (Gavel, section 4.2): the programme that serves one job alone, once for every job.

max   sum_m v_m throughput(m, X) / T^fastest_m                           (4.2)  first_come
s.t.  sum_{k in C_m} sum_j X_kj <= 1                       for all m     (2)    job_time
      sum_k sum_{j in J_a} z_k X_kj <= c_a                 for all a     (3)    capacity
      0 <= X_kj <= 1, X_kj = 0 if (k, j) notin E           for all k, j  (1)    share
      throughput(m, X) = sum_{k in C_m} sum_j T^m_kj X_kj  for all m     (3.1)  throughput

v_m = 1 for the job of the programme and 0 for the others. The paper prints the smallest over all jobs of
n_m / throughput(m, X), to be made as small as can be: of the M programmes the one counts whose job is done first. The
model shown is that of the job with the smallest n_m / T^fastest_m. It says nothing about the other jobs, which get what
the solver leaves. C_m is job m alone and the pairs it is in (none unless GPUs are shared), T^fastest_m the speed on the
fastest type on which job m can run alone, n_m its remaining steps. Policy: `shortest_job_first`, knob `literal`.
"""

from __future__ import annotations

import numpy as np

from workbench.papers.gavel.formulations import fifo
from workbench.papers.gavel.instance import AllocationInstance
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.modelling import pyo


def alone(data: AllocationInstance, row: int) -> FloatArray:
    """(jobs,) `v_m` of the programme of one job."""
    found = np.zeros(len(data.jobs))
    found[row] = 1.0
    return found


def build(data: AllocationInstance, row: int) -> pyo.ConcreteModel:
    """Return the unsolved linear programme of one job."""
    m = fifo.build(data, alone(data, row))
    m.name = "gavel_shortest_job_literal"
    m.first_come.doc = "(4.2) relative throughput of one job"
    return m
