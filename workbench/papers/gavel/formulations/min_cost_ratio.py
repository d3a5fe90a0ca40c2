r"""The ratio of total throughput to total cost (Gavel, section 4.2), as a linear programme.

max   sum_m v_m throughput(m, Y)                                           (4.2)   throughput_to_cost
s.t.  sum_{k in C_m} sum_j Y_kj <= s                       for all m       (2)     job_time
      sum_k sum_{j in J_a} z_k Y_kj <= c_a s               for all a       (3)     capacity
      sum_k sum_j p_j z_k Y_kj = 1                                         (ours)  cost
      throughput(m, Y) / f_m >= s                          for all m in S  (4.2)   slo
      Y_kj >= 0, Y_kj = 0 if (k, j) notin E                for all k, j    (1)     share
      s >= 0                                                               (ours)  stretch
      throughput(m, Y) = sum_{k in C_m} sum_j T^m_kj Y_kj  for all m       (3.1)   throughput

(ours): the paper's ratio `sum_m v_m throughput(m, X) / sum_k sum_j p_j z_k X_kj` is linear-fractional. With s the
inverse of the cost and Y = s X (Charnes and Cooper) it is linear; X = Y / s. S are the jobs with an SLO (policy
`min_cost_slo`), f_m = n_m / SLO_m the throughput that they need. Without SLOs the ratio has no scale: X / 2 is as good
as X. Of all optima the one with the largest throughput, which is the one with the smallest s, is found by a second
programme: s as small as can be while the ratio keeps its value.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from workbench.papers.gavel.formulations.allocation import DividedTime, ShareFormulation, lay_out
from workbench.papers.gavel.formulations.allocation_assembly import Assembly, Variable
from workbench.papers.gavel.instance import PricedInstance
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Knobs
from workbench.scheduling.modelling import parameter, pyo
from workbench.scheduling.solvers import Columns, Programme, Solver

Data = TypeVar("Data", bound=PricedInstance)

FLOOR = """f_m | throughput that meets the SLO, n_m / SLO_m | steps/s
n_m | steps left | steps
SLO_m | time left to the deadline | s"""

TOLERANCE = 1e-9
"""How far rows may be off where the ratio is to keep its value, unless the solver has been told: what keeps it has no
interior, and an interior point's 1e-7, relative to everything in the programme, came to 2e-6 of the ratio."""


def add_floors(m: pyo.ConcreteModel, floor: Mapping[str, float], whole: Any = 1) -> None:
    """Add the rows of SLOs; floor: {job: steps/s that it needs}; whole: as in `lay_out`."""
    m.WITH_SLO = pyo.Set(initialize=list(floor), doc="S | jobs with an SLO")
    m.floor = pyo.Param(m.WITH_SLO, initialize=floor, mutable=True, within=pyo.Any, doc=FLOOR)

    @m.Constraint(m.WITH_SLO, doc="(4.2) fast enough for the SLO")
    def slo(m, job):
        return m.throughput[job] / m.floor[job] >= whole  # in parts of the need, which may be tiny


def other_floors(m: pyo.ConcreteModel, floor: Mapping[str, float]) -> None:
    """The rows of other SLOs in their place."""
    from workbench.scheduling.solvers.compile import renewed

    m.slo.clear()
    m.floor.clear()
    m.WITH_SLO.clear()
    m.WITH_SLO.update(floor)
    m.floor.store_values(floor)
    renewed(m.slo)


def floors(data: PricedInstance, floor: FloatArray) -> dict[str, float]:
    """{job: steps/s} of the jobs with a floor."""
    return {job: value for job, value in data.column(floor).items() if value > 0}


def build(data: PricedInstance, value: FloatArray, floor: FloatArray) -> pyo.ConcreteModel:
    """Return the unsolved linear programme; value: (jobs,) `v_m`; floor: (jobs,) steps/s, 0 for none."""
    m = lay_out("gavel_min_cost_ratio", data, stretch=pyo.Var(bounds=(0, None), doc="(ours) s | 1 / cost | h/USD"))
    m.share.doc = "(1) Y_kj | share of time, times s | h/USD"
    m.throughput.doc = m.throughput.doc.replace("X", "Y")
    m.value = parameter(m.JOBS, numbers=data.column(value), doc="v_m | what a step/s counts | s/step")
    price = dict(zip(data.types, data.type_price.tolist(), strict=True))
    m.price = parameter(m.TYPES, numbers=price, doc="p_j | price of a GPU | USD/h")

    @m.Objective(sense=pyo.maximize, doc="(4.2) throughput per dollar")
    def throughput_to_cost(m):
        return pyo.quicksum(m.value[job] * m.throughput[job] for job in m.JOBS)

    @m.Constraint(doc="(ours) everything is per dollar")
    def cost(m):
        return pyo.quicksum(m.price[kind] * m.gang[unit] * m.share[unit, kind] for unit, kind in m.share) == 1

    add_floors(m, floors(data, floor), m.stretch)
    return m


def assemble(data: PricedInstance, value: FloatArray, floor: FloatArray) -> Programme:
    """The same programme as arrays."""
    rows = Assembly(data, before=[Variable("stretch", lower=0.0)], whole="stretch")
    share = rows.columns["share"].reshape(len(data.units), len(data.types))
    price = data.type_price[None, :] * data.unit_gang[:, None]
    rows.add("cost", (np.zeros(share.shape, dtype=np.int64).ravel(), share.ravel(), price.ravel()), equal=np.ones(1))
    rows.slo(floor, whole="stretch")
    return rows.programme(rows.worth(value), "gavel_min_cost_ratio", maximise=True)


def most_throughput(first: Programme, best: float) -> Programme:
    """The second programme: the smallest s with which the ratio, `cost . x` of the first, keeps its best value."""
    used = np.flatnonzero(first.cost)
    height = first.matrix.shape[0]
    matrix = first.matrix
    column = np.repeat(np.arange(len(first.cost)), np.diff(matrix.indptr))
    cost = np.zeros(len(first.cost))
    cost[first.columns["stretch"]] = 1.0
    return replace(
        first,
        cost=cost,
        maximise=False,
        matrix=Columns.of(
            np.concatenate([matrix.indices, np.full(len(used), height)]),
            np.concatenate([column, used]),
            np.concatenate([matrix.data, first.cost[used] / best]),
            (height + 1, len(cost)),
        ),
        row_lower=np.append(first.row_lower, 1.0),
        row_upper=np.append(first.row_upper, np.inf),
    )


def objective(data: PricedInstance, value: FloatArray, shares: FloatArray) -> float:
    """`sum_m v_m throughput(m, X) / cost` of (combinations x types) shares; 0 if nothing runs."""
    cost = data.cost(shares)
    return float(value @ data.throughput(shares)) / cost if cost > 0 else 0.0


class RatioFormulation(ShareFormulation[Data]):
    """A formulation whose programme may be that of the ratio."""

    whole = "stretch"

    def statement(self, knobs: Knobs, data: Any = None) -> Any:
        """That of the ratio, if it is chosen."""
        return sys.modules[__name__] if by_ratio(knobs) else self

    def at_once(self, knobs: Knobs) -> bool:
        """Of the sum."""
        return not by_ratio(knobs)

    def optimum(self, data: Data, knobs: Knobs, solver: Solver) -> DividedTime:
        """Of the one programme; of the ratio then the optimum with the largest throughput."""
        if not by_ratio(knobs):
            return super().optimum(data, knobs, solver)
        began = time.perf_counter()
        _, first = self.posed(data, knobs)
        # Only the last point is the answer; on the way to it a vertex is exact.
        vertex = replace(solver, method="auto") if solver.method == "interior" else solver
        best = self.solve(first, data, knobs, vertex).solved
        second = most_throughput(first, best.value)
        point = self.solve(second, data, knobs, solver.to_within(TOLERANCE))
        solve_s = best.solve_s + point.solved.solve_s
        solved = replace(best, build_s=time.perf_counter() - began - solve_s, solve_s=solve_s, passes=2)
        return DividedTime(self.shares(second.values(point), data), solved)


def by_ratio(knobs: Knobs) -> bool:
    """Whether the objective is the paper's ratio."""
    return knobs.get("objective") == "ratio"
