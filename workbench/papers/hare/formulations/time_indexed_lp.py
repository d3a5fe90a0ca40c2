r"""A bound from the grid of time (ours): the linear relaxation of `hare.time_indexed`, with times rounded down.

min   sum_n w_n C_n                                                                  (§5.1) weighted_completion
s.t.  sum_k sum_t s_rkt = D_r                         for all r                      (5)    all_tasks
      D_r F_rt <= sum_k sum_{u <= t - b_rk} s_rku     for all r, t in T_r            (6)    synchronised
      C_n >= g + h (e_n + sum_{t in T_r} (1 - F_rt))  for all n, r = L_n             (6)    completion
      sum_k sum_{u <= t} s_qku <= D_q F_rt            for all q, r in B_q, t in T_r  (7)    barrier
      sum_r sum_{t - p_rk < u <= t} s_rku <= c_k      for all k, t                   (8)    one_task_a_gpu
      0 <= s_rkt                                      for all r, k, t                (4)    starts
      0 <= F_rt <= 1                                  for all r, t in T_r            (6)    finished
      z_n <= C_n                                      for all n                      (6)    complete

Tasks start in parts, and a round has synchronised to the part to which all its tasks have. The windows of starts are
those of `hare.time_indexed`: they hold for some optimal schedule, so that its optimum is a bound for every schedule.
It is much closer than that of (9), and takes a variable for every slot of every round. Times and weights are solved in
units that suit them (`Units`).
"""

from __future__ import annotations

import numpy as np

from workbench.papers.hare.formulations import time_indexed
from workbench.papers.hare.formulations.task_formulation import TaskFormulation, bound_result
from workbench.papers.hare.formulations.time_indexed import grid_of
from workbench.papers.hare.instance import HareInstance
from workbench.papers.hare.knobs import ROUND_KNOBS, SLOTS, STEP_S
from workbench.scheduling.contract import Knobs, Result
from workbench.scheduling.modelling import pyo

NAME = "hare.time_indexed_lp"


class TimeIndexedLP(TaskFormulation):
    """The bound of the time grid's linear relaxation."""

    name = NAME
    title = "Hare: the bound of the linear relaxation on a grid of time"
    knobs = (*ROUND_KNOBS, STEP_S, SLOTS)
    reading = (
        "The objective is a bound that no schedule's sum of weight times completion time is below, not a schedule's "
        "own. step_s is the grid's step; exact says whether all times are multiples of it, so that none is rounded "
        "down."
    )

    def build(self, data: HareInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model."""
        return time_indexed.build(grid_of(data, knobs, "down"), whole=False, owner=NAME)

    def read(self, model: pyo.ConcreteModel, data: HareInstance, knobs: Knobs) -> Result:
        """The bound, and the relaxation's completions."""
        completion = np.array([model.complete[n].value for n in model.JOBS], dtype=float)
        grid = grid_of(data, knobs, "down")
        more = {"step_s": grid.step_s, "exact": grid.is_exact}
        stated = float(pyo.value(model.weighted_completion))
        return bound_result(data, stated, completion, "time-indexed LP", more)
