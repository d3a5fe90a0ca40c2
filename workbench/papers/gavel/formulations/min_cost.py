r"""Minimum cost (Gavel, section 4.2): the largest throughput per dollar.

max   sum_m v_m sum_{k in C_m} sum_j T^m_kj X_kj / p_j                   (code)  throughput_per_dollar
s.t.  sum_{k in C_m} sum_j X_kj <= 1                       for all m     (2)     job_time
      sum_k sum_{j in J_a} z_k X_kj <= c_a                 for all a     (3)     capacity
      0 <= X_kj <= 1, X_kj = 0 if (k, j) notin E           for all k, j  (1)     share
      throughput(m, X) = sum_{k in C_m} sum_j T^m_kj X_kj  for all m     (§3.1)  throughput

C_m is job m alone and the pairs it is in (none unless GPUs are shared), T^m_kj the speed of the whole gang of z_m
GPUs, p_j the price of one GPU of type j for an hour. v_m = 1, or with `normalised` 1 / P_m, P_m the throughput under
an equal share of every GPU. Heterogeneity-agnostic: one speed for all types, beside their true prices.

This sum is what the authors' code maximises: each job gets the types on which a dollar buys most of its steps. It
takes the price of one GPU whatever the gang. The paper prints the ratio of total throughput to total cost (knob
`objective = "ratio"`, stated at `build_ratio`). There cost is `sum_k sum_j p_j z_k X_kj`: a gang pays for all of its
GPUs, a pair's GPUs are paid once. Of that ratio a single entry of X is already optimal, so that every job but the
cheapest starves; among its optima the one with the largest throughput is taken.

In a simulation idle GPUs are part of a policy of cost: they cost more for what they do. The scheduler therefore
leaves them idle (knob `leftovers` = `none`), and jobs without a share wait until others are done: with the ratio one
after the other, which is cheap and slow.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.base.errors import InputError
from workbench.papers.gavel import knobs as gavel
from workbench.papers.gavel.algorithms.equal_jobs import MergedInstance, merge, unweighted
from workbench.papers.gavel.formulations.allocation import (
    NOTHING_MORE,
    DividedTime,
    ShareFormulation,
    feasible,
    lay_out,
    total,
    values,
)
from workbench.papers.gavel.formulations.allocation_assembly import Assembly, Variable
from workbench.papers.gavel.formulations.max_throughput import unit, value
from workbench.papers.gavel.instance import AllocationInstance, seen
from workbench.scheduling.contract import Knobs, Result
from workbench.scheduling.knob import Knob
from workbench.scheduling.modelling import parameter, pyo, renumber
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import Columns, Programme, Solver

NAME = "gavel.min_cost"

OBJECTIVE = Knob(
    "objective",
    "throughput_per_dollar",
    "Sum of each job's steps per dollar (the authors' code), or total throughput over total cost (the paper)",
    source="code",
    choices=("throughput_per_dollar", "ratio"),
    main=True,
)

FLOOR = """f_m | throughput that meets the SLO, n_m / SLO_m | steps/s
n_m | steps left | steps
SLO_m | time left to the deadline | s"""

EXACT = 1e-9
"""How far rows may be off where the ratio is to keep its value, unless the solver has been told: what keeps it has no
interior, and an interior point's 1e-7, relative to everything in the programme, came to 2e-6 of the ratio."""

PRICE = "a price > 0, in USD per GPU and hour"


@dataclass(frozen=True, eq=False, kw_only=True)
class PricedInstance(AllocationInstance):
    """The numbers of an allocation, and price: (accelerators,) USD per GPU and hour, > 0."""

    price: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        self.shaped("price", (len(self.accelerators),))
        for name, price in zip(self.accelerators, self.price.tolist(), strict=True):
            if not (np.isfinite(price) and price > 0):
                raise InputError(f"accelerator {name}, price_per_hour", price, PRICE)

    @classmethod
    def numbers(cls, snapshot: Snapshot, knobs: Knobs, rows: IntArray) -> dict[str, Any]:
        """Raises InputError that names an accelerator type without a price."""
        found = super().numbers(snapshot, knobs, rows)
        prices = {each.name: each.price_per_hour for each in snapshot.cluster.accelerators}
        for name in snapshot.types:
            if prices[name] is None:
                raise InputError(f"accelerator {name}, price_per_hour", None, PRICE)
        return {**found, "price": [prices[name] for name in snapshot.types]}

    @property
    def type_price(self) -> FloatArray:
        """(types,) USD per GPU and hour of each placed type, which is its accelerator type's."""
        return self.price[self.accelerator_of]

    def cost(self, shares: FloatArray) -> float:
        """USD per hour of the GPUs in use under (combinations x types) shares; a pair's GPUs count once."""
        return float(self.used(shares) @ self.price)


Data = TypeVar("Data", bound=PricedInstance)


def worth(data: PricedInstance, value: FloatArray) -> FloatArray:
    """(jobs x types) what one step/s of a job on a type adds to the throughput per dollar."""
    worth: FloatArray = value[:, None] / data.type_price[None, :]
    return worth


def build(data: PricedInstance, value: FloatArray) -> pyo.ConcreteModel:
    """Return the unsolved linear programme of the sum; value: (jobs,) `v_m`."""
    m = lay_out("gavel_min_cost", data)
    m.value = parameter(m.JOBS, numbers=data.column(value), doc="v_m | what a step/s counts | s/step")
    price = dict(zip(data.types, data.type_price.tolist(), strict=True))
    m.price = parameter(m.TYPES, numbers=price, doc="p_j | price of a GPU | USD/h")

    @m.Objective(sense=pyo.maximize, doc="(code) steps per dollar of all jobs")
    def throughput_per_dollar(m):
        return pyo.quicksum(
            m.value[job] / m.price[kind] * m.speed[job, unit, kind] * m.share[unit, kind] for job, unit, kind in m.speed
        )

    return m


def restate(m: pyo.ConcreteModel, data: PricedInstance, value: FloatArray) -> None:
    """Let the model of other jobs, of the sum or of the ratio, which `kept_model` has replaced, state these."""
    from workbench.scheduling.solvers.restating import linear, renewed

    worths, prices = data.column(value), dict(zip(data.types, data.type_price.tolist(), strict=True))
    renumber(m.value, worths)
    renumber(m.price, prices)
    if m.scales:
        return renewed(m.throughput_to_cost, m.cost)
    ways = ((*way, steps_per_s) for way, steps_per_s in m.speeds.items())
    terms = ((worths[job] / prices[kind] * steps_per_s, m.share[unit, kind]) for job, unit, kind, steps_per_s in ways)
    m.throughput_per_dollar.set_value(linear(terms))


def assemble(data: PricedInstance, value: FloatArray, floor: FloatArray, name: str = "gavel_min_cost") -> Programme:
    """The same programme as arrays; floor: (jobs,) steps/s, 0 for none, see `min_cost_slo`."""
    rows = Assembly(data)
    if floor.any() or name != "gavel_min_cost":
        rows.slo(floor)
    return rows.programme(rows.worth(worth(data, value)), name, maximise=True)


def add_floors(m: pyo.ConcreteModel, floor: Mapping[str, float], whole: Any = 1) -> None:
    """Add the rows of SLOs; floor: {job: steps/s that it needs}; whole: as in `lay_out`."""
    m.WITH_SLO = pyo.Set(initialize=list(floor), doc="S | jobs with an SLO")
    m.floor = pyo.Param(m.WITH_SLO, initialize=floor, mutable=True, within=pyo.Any, doc=FLOOR)

    @m.Constraint(m.WITH_SLO, doc="(§4.2) fast enough for the SLO")
    def slo(m, job):
        return m.throughput[job] / m.floor[job] >= whole  # in parts of the need, which may be tiny


def floors(data: PricedInstance, floor: FloatArray) -> dict[str, float]:
    """{job: steps/s} of the jobs with a floor."""
    return {job: value for job, value in data.column(floor).items() if value > 0}


def build_ratio(data: PricedInstance, value: FloatArray, floor: FloatArray) -> pyo.ConcreteModel:
    r"""The ratio of total throughput to total cost (Gavel, section 4.2), as a linear programme.

    max   sum_m v_m throughput(m, Y)                                           (§4.2)  throughput_to_cost
    s.t.  sum_{k in C_m} sum_j Y_kj <= s                       for all m       (2)     job_time
          sum_k sum_{j in J_a} z_k Y_kj <= c_a s               for all a       (3)     capacity
          sum_k sum_j p_j z_k Y_kj = 1                                         (ours)  cost
          throughput(m, Y) / f_m >= s                          for all m in S  (§4.2)  slo
          Y_kj >= 0, Y_kj = 0 if (k, j) notin E                for all k, j    (1)     share
          s >= 0                                                               (ours)  stretch
          throughput(m, Y) = sum_{k in C_m} sum_j T^m_kj Y_kj  for all m       (§3.1)  throughput

    (ours): the paper's ratio `sum_m v_m throughput(m, X) / sum_k sum_j p_j z_k X_kj` is linear-fractional. With s the
    inverse of the cost and Y = s X (Charnes and Cooper) it is linear; X = Y / s. S are the jobs with an SLO (policy
    `min_cost_slo`), f_m = n_m / SLO_m the throughput that they need: `floor`, (jobs,) steps/s, 0 for none. `value` is
    v_m. Without SLOs the ratio has no scale: X / 2 is as good as X. Of all optima the one with the largest throughput,
    which is the one with the smallest s, is found by a second programme: s as small as can be while the ratio keeps its
    value.
    """
    m = lay_out("gavel_min_cost_ratio", data, stretch=pyo.Var(bounds=(0, None), doc="(ours) s | 1 / cost | h/USD"))
    m.share.doc = "(1) Y_kj | share of time, times s | h/USD"
    m.throughput.doc = m.throughput.doc.replace("X", "Y")
    m.value = parameter(m.JOBS, numbers=data.column(value), doc="v_m | what a step/s counts | s/step")
    price = dict(zip(data.types, data.type_price.tolist(), strict=True))
    m.price = parameter(m.TYPES, numbers=price, doc="p_j | price of a GPU | USD/h")

    @m.Objective(sense=pyo.maximize, doc="(§4.2) throughput per dollar")
    def throughput_to_cost(m):
        return pyo.quicksum(m.value[job] * m.throughput[job] for job in m.JOBS)

    @m.Constraint(doc="(ours) everything is per dollar")
    def cost(m):
        return pyo.quicksum(m.price[kind] * m.gang[unit] * m.share[unit, kind] for unit, kind in m.share) == 1

    add_floors(m, floors(data, floor), m.stretch)
    return m


def assemble_ratio(data: PricedInstance, value: FloatArray, floor: FloatArray) -> Programme:
    """The programme of `build_ratio` as arrays."""
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


def by_ratio(knobs: Knobs) -> bool:
    """Whether the objective is the paper's ratio."""
    return knobs.get("objective") == "ratio"


def objective(data: PricedInstance, shares: FloatArray, knobs: Knobs) -> float:
    """Throughput per dollar of (combinations x types) shares, as a sum or as a ratio (0 if nothing runs)."""
    found = value(data, knobs)
    if not by_ratio(knobs):
        return total(data, worth(data, found), shares)
    cost = data.cost(shares)
    return float(found @ data.throughput(shares)) / cost if cost > 0 else 0.0


def unit_per_dollar(knobs: Knobs) -> str:
    """Unit of a throughput per price: multiples of the jobs' own if `normalised`."""
    return "h/USD" if knobs.get("normalised", False) else f"{unit(knobs)} per USD/h"


def report(known: PricedInstance, data: PricedInstance, shares: FloatArray, knobs: Knobs) -> Result:
    """The result of checked shares; known: the data as the policy sees them."""
    found = objective(known, shares, knobs) if data.jobs else None
    more = {"cost_usd_per_h": data.cost(shares)}
    return feasible(found, "max", unit_per_dollar(knobs), {**values(data, shares), **more})


class CostFormulation(ShareFormulation[Data]):
    """A policy of cost: by the sum, or by the ratio."""

    whole = "stretch"

    def statement(self, knobs: Knobs, data: Any = None) -> Any:
        """That of the ratio, if it is chosen."""
        return build_ratio if by_ratio(knobs) else self

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
        point = self.solve(second, data, knobs, solver.to_within(EXACT))
        solve_s = best.solve_s + point.solved.solve_s
        solved = replace(best, build_s=time.perf_counter() - began - solve_s, solve_s=solve_s, passes=2)
        return DividedTime(self.shares(second.values(point), data), solved)

    def objective(self, data: Data, shares: FloatArray, knobs: Knobs) -> float | None:
        """Throughput per dollar, as a sum or as a ratio."""
        return objective(seen(data, knobs), shares, knobs) if data.jobs else None


class MinCost(CostFormulation[PricedInstance]):
    """Shares of time with the most throughput for the money."""

    name = NAME
    instance = PricedInstance
    title = "Gavel: minimum cost"
    reading = (
        "The objective is the sum over jobs and types of share x steps/s / the price of one GPU of the type per hour; "
        "with objective=ratio all steps/s over cost_usd_per_h, the price of all GPUs in use. "
        "With normalised a job's steps/s count in multiples of its own under an equal share. "
        "Without heterogeneity_aware the speeds are the one that the policy takes for all types."
    )
    knobs = (gavel.AWARE, gavel.REFERENCE, OBJECTIVE, gavel.NORMALISED, *gavel.EXTENSIONS, gavel.OPTIMUM)

    def merged(self, data: PricedInstance, knobs: Knobs) -> MergedInstance[PricedInstance]:
        """Weights play no part."""
        known = seen(data, knobs)
        return merge(data, unweighted(known), value(known, knobs))

    def build(self, data: PricedInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model."""
        known = seen(data, knobs)
        found = value(known, knobs)
        return build_ratio(known, found, np.zeros(len(data.jobs))) if by_ratio(knobs) else build(known, found)

    def restate(self, model: pyo.ConcreteModel, data: PricedInstance, knobs: Knobs) -> None:
        """For other jobs."""
        known = seen(data, knobs)
        restate(model, known, value(known, knobs))

    def assemble(self, data: PricedInstance, knobs: Knobs) -> Programme:
        """The same programme as arrays."""
        known = seen(data, knobs)
        by = assemble_ratio if by_ratio(knobs) else assemble
        return by(known, value(known, knobs), np.zeros(len(data.jobs)))

    def report(
        self, data: PricedInstance, shares: FloatArray, knobs: Knobs, by_job: Mapping[str, FloatArray] = NOTHING_MORE
    ) -> Result:
        """Shares, normalised throughput (`throughput(m, X) / P_m`, true speeds in both forms) and cost in USD/h."""
        return report(seen(data, knobs), data, shares, knobs)
