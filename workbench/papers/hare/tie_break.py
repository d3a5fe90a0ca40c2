r"""Of the best schedules the one that ends first (ours): `hare.exact` once more, with the best objective kept.

min   E                                                                     (ours)  last_completion
s.t.  sum_n w_n C_n <= V                                                    (ours)  no_worse
      E >= C_n                                  for all n                   (ours)  ends_last
      0 <= E                                                                (ours)  end

All other rows are those of `hare.exact`; V is its best objective.
"""

from __future__ import annotations

import pyomo.environ as pyo

SLACK = 1e-7
"""Part of the best objective that counts as rounding."""


def add(m: pyo.ConcreteModel, best: float) -> None:
    """Make the makespan the objective of a model of `hare.exact`, whose best objective is kept."""
    m.weighted_completion.deactivate()
    m.best = pyo.Param(initialize=best, doc="V | best objective | s x weight")
    m.end = pyo.Var(domain=pyo.NonNegativeReals, doc="(ours) E | when the last job completes | s")

    @m.Objective(sense=pyo.minimize, doc="(ours) the makespan")
    def last_completion(m):
        return m.end

    @m.Constraint(doc="(ours) the schedule is one of the best")
    def no_worse(m):
        return m.weighted_completion.expr <= m.best * (1 + SLACK)

    @m.Constraint(m.JOBS, doc="(ours) no job completes later")
    def ends_last(m, n):
        return m.end >= m.complete[n]
