r"""Minimum cost (Gavel, section 4.2): the largest throughput per dollar.

max   sum_m v_m sum_{k in C_m} sum_j T^m_kj X_kj / p_j                   (4.2)  throughput_per_dollar
s.t.  sum_{k in C_m} sum_j X_kj <= 1                       for all m     (2)    job_time
      sum_k sum_{j in J_a} z_k X_kj <= c_a                 for all a     (3)    capacity
      0 <= X_kj <= 1, X_kj = 0 if (k, j) notin E           for all k, j  (1)    share
      throughput(m, X) = sum_{k in C_m} sum_j T^m_kj X_kj  for all m     (3.1)  throughput

C_m is job m alone and the pairs it is in (none unless GPUs are shared), T^m_kj the speed of the whole gang of z_m
workers, p_j the price of one GPU of type j for an hour. v_m = 1, or with `normalised` 1 / P_m, P_m the throughput under
an equal share of every worker. Heterogeneity-agnostic: one speed for all types, beside their true prices.

This sum is what the authors' code maximises: each job gets the types on which a dollar buys most of its steps. It
takes the price of one worker whatever the gang. The paper prints the ratio of total throughput to total cost (knob
`objective = "ratio"`, stated in `min_cost_ratio`). There cost is `sum_k sum_j p_j z_k X_kj`: a gang pays for all of its
GPUs, a pair's GPUs are paid once. Of that ratio a single entry of X is already optimal, so that every job but the
cheapest starves; among its optima the one with the largest throughput is taken.

In a simulation idle workers are part of a policy of cost: they cost more for what they do. The scheduler therefore
leaves them idle (knob `leftovers` = `none`), and jobs without a share wait until others are done: with the ratio one
after the other, which is cheap and slow.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workbench.papers.gavel import knobs as gavel
from workbench.papers.gavel.algorithms.equal_jobs import MergedInstance, merge, unweighted
from workbench.papers.gavel.formulations import min_cost_ratio as ratio
from workbench.papers.gavel.formulations.allocation import NOTHING_MORE, feasible, lay_out, total, values
from workbench.papers.gavel.formulations.allocation_assembly import Assembly
from workbench.papers.gavel.formulations.max_throughput import unit, value
from workbench.papers.gavel.instance import PricedInstance, seen
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Knobs, Result
from workbench.scheduling.knob import Knob
from workbench.scheduling.modelling import parameter, pyo
from workbench.scheduling.solvers import Programme

NAME = "gavel.min_cost"

OBJECTIVE = Knob(
    "objective",
    "throughput_per_dollar",
    "Sum of each job's steps per dollar (the authors' code), or total throughput over total cost (the paper)",
    source="code",
    kind="str",
    choices=("throughput_per_dollar", "ratio"),
    main=True,
)


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

    @m.Objective(sense=pyo.maximize, doc="(4.2) steps per dollar of all jobs")
    def throughput_per_dollar(m):
        return pyo.quicksum(
            m.value[job] / m.price[kind] * m.speed[job, unit, kind] * m.share[unit, kind] for job, unit, kind in m.speed
        )

    return m


def assemble(data: PricedInstance, value: FloatArray, floor: FloatArray, name: str = "gavel_min_cost") -> Programme:
    """The same programme as arrays; floor: (jobs,) steps/s, 0 for none, see `min_cost_slo`."""
    rows = Assembly(data)
    if floor.any() or name != "gavel_min_cost":
        rows.slo(floor)
    return rows.programme(rows.worth(worth(data, value)), name, maximise=True)


def objective(data: PricedInstance, shares: FloatArray, knobs: Knobs) -> float:
    """Throughput per dollar of (combinations x types) shares, as a sum or as a ratio."""
    found = value(data, knobs)
    return ratio.objective(data, found, shares) if ratio.by_ratio(knobs) else total(data, worth(data, found), shares)


def unit_per_dollar(knobs: Knobs) -> str:
    """Unit of a throughput per price: multiples of the jobs' own if `normalised`."""
    return "h/USD" if knobs.get("normalised", False) else f"{unit(knobs)} per USD/h"


def report(known: PricedInstance, data: PricedInstance, shares: FloatArray, knobs: Knobs) -> Result:
    """The result of checked shares; known: the data as the policy sees them."""
    found = objective(known, shares, knobs) if data.jobs else None
    more = {"cost_usd_per_h": data.cost(shares)}
    return feasible(found, "max", unit_per_dollar(knobs), {**values(data, shares), **more})


class MinCost(ratio.RatioFormulation[PricedInstance]):
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
        return ratio.build(known, found, np.zeros(len(data.jobs))) if ratio.by_ratio(knobs) else build(known, found)

    def assemble(self, data: PricedInstance, knobs: Knobs) -> Programme:
        """The same programme as arrays."""
        known = seen(data, knobs)
        by = ratio.assemble if ratio.by_ratio(knobs) else assemble
        return by(known, value(known, knobs), np.zeros(len(data.jobs)))

    def objective(self, data: PricedInstance, shares: FloatArray, knobs: Knobs) -> float | None:
        """Throughput per dollar, as a sum or as a ratio."""
        return objective(seen(data, knobs), shares, knobs) if data.jobs else None

    def report(
        self, data: PricedInstance, shares: FloatArray, knobs: Knobs, by_job: Mapping[str, FloatArray] = NOTHING_MORE
    ) -> Result:
        """Shares, normalised throughput (`throughput(m, X) / P_m`, true speeds in both forms) and cost in USD/h."""
        return report(seen(data, knobs), data, shares, knobs)
