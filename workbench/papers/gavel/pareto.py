r"""Pareto efficiency (Gavel, section 4.4): whether some job could have more without any other having less.

max   sum_m (throughput(m, X) / P_m - u_m)                       (4.4)   gain
s.t.  throughput(m, X) / P_m >= u_m                  for all m   (4.4)   kept

besides the limits (1), (2) and (3); u_m is what the allocation in question gives job m. It is efficient if the optimum
is 0. Max-min fairness alone is not: it only looks at the job that is worst off.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyomo.environ as pyo

from workbench.papers.gavel.allocation import AllocationData, check, read_shares
from workbench.papers.gavel.model import lay_out
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.solvers import Solver, solve_model


class Better(NamedTuple):
    """By how much the sum of normalised throughputs can grow, and (combinations x types) shares with which it does."""

    gain: float
    shares: FloatArray


def build(data: AllocationData, shares: FloatArray) -> pyo.ConcreteModel:
    """Return the unsolved linear programme for (combinations x types) shares."""
    m = pyo.ConcreteModel("gavel_pareto")
    lay_out(m, data)
    had = data.column(data.normalised(shares))
    m.had = pyo.Param(m.JOBS, initialize=had, doc="u_m | normalised throughput so far | 1")
    m.equal = pyo.Param(
        m.JOBS, initialize=data.column(data.equal), doc="P_m | throughput under an equal share | steps/s"
    )

    @m.Objective(sense=pyo.maximize, doc="(4.4) what all jobs together gain")
    def gain(m):
        return pyo.quicksum(m.throughput[job] / m.equal[job] - m.had[job] for job in m.JOBS)

    @m.Constraint(m.JOBS, doc="(4.4) no job has less")
    def kept(m, job):
        return m.throughput[job] / m.equal[job] >= m.had[job]

    return m


def improve(data: AllocationData, shares: FloatArray, solver: Solver | None = None) -> Better:
    """The allocation with the largest sum among those in which nobody has less; raises the errors of the solvers."""
    if not data.jobs:
        return Better(0.0, shares)
    model = build(data, check(data, shares, "gavel.pareto"))
    solve_model(model, solver)
    better = check(data, read_shares(model, data), "gavel.pareto")
    return Better(float(np.sum(data.normalised(better) - data.normalised(shares))), better)
