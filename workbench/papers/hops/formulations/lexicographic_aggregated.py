r"""lambda = infinity over interchangeable servers: the classes of `lexicographic` in the limits of `aggregated` (ours).

max   sum_{i in C} sum_c G_ic X_ic                                         (§3.6) class_gain
s.t.  sum_c X_ic <= 1                                       for all i      (12)    one_configuration
      sum_i sum_c u_vkc X_ic <= sum_g sum_q a_vkq n_gq       for all v, k   (13)    pieces
      sum_q n_gq <= N_g                                     for all g      (ours)  servers
      sum_{i in C_p} sum_c G_ic X_ic >= V_p                 for all p      (ours)  kept
      X_ic in {0, 1}                                        for all i, c   (11)    choose
      0 <= n_gq <= N_g integer                              for all g, q   (ours)  cut

C, C_p and V_p are those of `lexicographic`; shapes c, pieces and cuts those of `aggregated`.
"""

from __future__ import annotations

from collections.abc import Collection

from workbench.papers.hops.algorithms.aggregation import Aggregate
from workbench.papers.hops.formulations import aggregated, lexicographic
from workbench.scheduling.modelling import pyo


def build(data: Aggregate, jobs: Collection[str]) -> pyo.ConcreteModel:
    """Return the unsolved integer programme of the first class, `jobs`; `serve` adds the others."""
    return lexicographic.build(aggregated.lay_out(data), jobs)
