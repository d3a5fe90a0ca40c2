r"""P3: prices of GPUs and payoffs of jobs, the dual of P2's linear programme (Hadar, section III-B).

min   sum_j mu_j + sum_t sum_r c_r k_rt                            (3)   total_cost
s.t.  mu_j >= U_js - sum_t sum_r w_jsrt k_rt  for all j, s in S_j  (3a)  payoff_floor
      k_rt >= 0                               for all r, t         (2a)  price
      mu_j >= 0                               for all j            (2b)  payoff

`k_rt` is the price of a GPU of type r in slot t, dual to the capacity (2a); `mu_j` the payoff of job j, dual to (2b):
the utility of its best schedule less what the schedule's GPUs cost, or 0 if none is worth its cost. Whatever the prices
and payoffs that keep (3a), the cost is no less than the utility of any choice of schedules (weak duality); the least
cost equals the optimum of P2's linear programme (strong duality), which may exceed that of P2 in whole numbers.

(erratum) The sum in (3) is over machines, types and slots, each price times the capacity there; machines are added up
by type. The schedules are those of P2 (`schedules`). Optimal prices are often not unique.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.papers.hadar.formulations.schedules import KNOBS, ScheduleInstance, as_row, enumerate_schedules, lay_out
from workbench.papers.hadar.instance import HadarInstance
from workbench.scheduling.contract import Formulation, Knobs, Result
from workbench.scheduling.modelling import pyo
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers import SolverFailedError

NAME = "hadar.dual"


def build(data: ScheduleInstance) -> pyo.ConcreteModel:
    """Return the unsolved linear programme of prices and payoffs."""
    m = pyo.ConcreteModel("hadar_dual")
    used = lay_out(m, data)
    held: dict[tuple[str, int], list[tuple[str, int, int]]] = {key: [] for key in data.keys}
    for (r, t), users in used.items():
        for key, count in users:
            held[key].append((r, t, count))
    m.price = pyo.Var(
        m.TYPES, m.SLOTS, domain=pyo.NonNegativeReals, doc="(2a) k_rt | price of a GPU in a slot | utility/GPU"
    )
    m.payoff = pyo.Var(m.JOBS, domain=pyo.NonNegativeReals, doc="(2b) mu_j | payoff of a job | utility")

    @m.Objective(sense=pyo.minimize, doc="(3) payoffs of all jobs and prices of all GPUs")
    def total_cost(m):
        gpus = pyo.quicksum(m.gpus[r] * m.price[r, t] for r in m.TYPES for t in m.SLOTS)
        return pyo.quicksum(m.payoff[job] for job in m.JOBS) + gpus

    @m.Constraint(m.SCHEDULES, doc="(3a) a payoff is no less than a schedule's utility less its cost")
    def payoff_floor(m, job, s):
        cost = pyo.quicksum(count * m.price[r, t] for r, t, count in held[job, s])
        return m.payoff[job] + cost >= m.utility[job, s]

    return m


@dataclass(frozen=True, eq=False)
class Prices:
    """A point of P3. price: (types x slots) k_rt, >= 0; payoff is the least that keeps (3a) at these prices (4)."""

    data: ScheduleInstance
    price: FloatArray

    @property
    def best(self) -> list[int | None]:
        """Position of each job's schedule with the largest payoff (4), the first of equals; None without a schedule."""
        worth = self.data.utility - self.data.cost(self.price)
        found: list[int | None] = [None] * len(self.data.instance.jobs)
        for at, one in enumerate(self.data.schedules):
            known = found[one.job]
            if known is None or worth[at] > worth[known]:
                found[one.job] = at
        return found

    @property
    def payoff(self) -> FloatArray:
        """(jobs,) `mu_j = max(0, max_s U_js - cost of s)`."""
        worth = self.data.utility - self.data.cost(self.price)
        return np.array([0.0 if at is None else max(0.0, float(worth[at])) for at in self.best])

    @property
    def objective(self) -> float:
        """`sum_j mu_j + sum_t sum_r c_r k_rt`: no choice of schedules is worth more."""
        return float(self.payoff.sum() + self.data.instance.capacity @ self.price.sum(axis=1))

    def values(self) -> dict[str, Any]:
        """Payoff by job; prices by type and slot; best: each job's best schedule at these prices, null without one."""
        stated = self.data.instance
        cost = self.data.cost(self.price)
        best: dict[str, Any] = {}
        for job, at in zip(stated.jobs, self.best, strict=True):
            if at is None:
                best[job] = None
                continue
            utility = float(self.data.utility[at])
            row = {"utility": utility, "cost": float(cost[at]), "payoff": utility - float(cost[at])}
            best[job] = {**row, **as_row(stated, self.data.schedules[at])}
        prices = [
            {"type": kind, "slot": t, "start_s": stated.start_s + t * stated.slot_s, "price": float(self.price[r, t])}
            for r, kind in enumerate(stated.types)
            for t in range(stated.slots)
        ]
        payoff = dict(zip(stated.jobs, self.payoff.tolist(), strict=True))
        return {"payoff": payoff, "prices": prices, "best": best}

    def result(self) -> Result:
        """What the formulation reports."""
        return Result("feasible", self.objective, "min", self.data.instance.unit, self.values())


def read_prices(model: pyo.ConcreteModel, data: ScheduleInstance) -> Prices:
    """Prices of a solved model; raises SolverFailedError if at these prices (3) is above the solver's objective."""
    stated = data.instance
    price = [[model.price[r, t].value for t in range(stated.slots)] for r in stated.types]
    found = Prices(data, np.maximum(0.0, np.array(price, dtype=float).reshape(len(stated.types), stated.slots)) + 0.0)
    solved = pyo.value(model.total_cost)
    if found.objective > solved + 1e-5 * max(1.0, abs(solved)):
        raise SolverFailedError(NAME, f"prices that cost {found.objective:g}", f"the {solved:g} of its objective")
    return found


class Dual(Formulation[ScheduleInstance]):
    """The prices at which all GPUs and payoffs together cost least."""

    name = NAME
    title = "Hadar: P3, prices of GPUs and payoffs of jobs"
    offline = True
    knobs = KNOBS
    reading = (
        "The objective is the sum of payoff over the jobs and of prices x GPUs over types and slots; no plan is worth "
        "more. best is each job's schedule with the largest utility less cost; below 0 it is refused and the payoff 0."
    )

    def data(self, snapshot: Snapshot, knobs: Knobs) -> ScheduleInstance:
        """All jobs, also those to come, in slots, and their schedules."""
        return enumerate_schedules(HadarInstance.from_snapshot(snapshot, knobs))

    def build(self, data: ScheduleInstance, knobs: Knobs) -> pyo.ConcreteModel:
        """The unsolved model."""
        return build(data)

    def read(self, model: pyo.ConcreteModel, data: ScheduleInstance, knobs: Knobs) -> Result:
        """Prices, and the payoffs that they leave the jobs."""
        return read_prices(model, data).result()

    def trivial(self, data: ScheduleInstance, knobs: Knobs) -> Result | None:
        """No job has a schedule: all prices are 0."""
        stated = data.instance
        free = np.zeros((len(stated.types), stated.slots))
        return None if data.schedules else Prices(data, free).result()
