"""Theorem 2 on numbers: the bound 2 alpha of an instance, and how far from the optimum a schedule really is.

Also the optima of P2 and P3 beside each other (`duality`), and those of a round by every method.

Theorem 2 states that an online algorithm which, as each job arrives, gives it the schedule of the largest payoff at the
prices (5), if that is above 0, earns P >= OPT / (2 alpha), with alpha = max_r (1, ln Umax_r / Umin_r), given that

D_0 <= OPT / 2                                                          (Lemma 1)
beta OPT <= 2 alpha (OPT - D_0)                                         (ours)  small
w k_r(c_r - w + 1) >= U_j(tmin_j)  for all j, r, w                      (ours)  blocks

The last two are what the proof only says in words, "the resource demand of a job is expected to be less than the
capacity". It takes the derivative of (5) for the step of the price when a job is let in. Let Delta_r = max_j w_jr / c_r
be the largest part of a type that one job takes, and R_r = Umax_r / Umin_r; the true step raises the dual by up to

beta = max_r (1, (R_r^Delta_r - 1) / Delta_r)

times the job's utility (Definition 1 for a whole gang), so that OPT <= beta P + D_0; `small` is when that gives the
bound. beta falls to alpha, and `small` to Lemma 1, as Delta_r falls to 0. And it takes the final prices for a solution
of the dual: a schedule with w GPUs of a type on which fewer are free must cost all that it is worth (`blocks`). By (6)
it does for gangs of one GPU, but not for those that could take a part of their GPUs on a type.

`admit_in_order` is that algorithm, on listed schedules. The round-by-round scheduler decides otherwise (it may preempt,
and looks one round ahead), so that for it the bound is a figure to compare with and no guarantee. The measured ratio
OPT / earned is at least 1; alpha is large where utilities differ much.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from workbench.base.arrays import FloatArray, IntArray
from workbench.base.errors import InputError
from workbench.papers.hadar.algorithms.prices import PriceBounds, price, price_bounds
from workbench.papers.hadar.formulations.dual import Dual
from workbench.papers.hadar.formulations.offline import Offline, SlotPlan
from workbench.papers.hadar.formulations.schedules import HadarSchedules, ScheduleInstance, gangs, plan_of
from workbench.papers.hadar.instance import ROUNDING, HadarInstance, fastest_free, slots_of, speed_of
from workbench.scheduling.solvers import PROVEN, Solver, SolverFailedError


class CompetitiveRatio(NamedTuple):
    """What was earned against the optimum.

    optimum: OPT, of P1; earned: summed utility; ratio: OPT / earned, 1 at best, inf if nothing was earned; bound: 2
    alpha; initial_dual: D_0; starts: whether D_0 <= OPT / 2; premise: whether all holds that the theorem needs: that,
    and demand is small against capacity (`small`, `blocks`).
    """

    optimum: float
    earned: float
    ratio: float
    bound: float
    initial_dual: float
    starts: bool
    premise: bool


def best_of(data: HadarInstance) -> FloatArray:
    """(jobs,) U_j(tmin_j), the most that each job can be worth."""
    soonest = np.clip(data.first + data.least_slots - 1, 0, data.slots - 1)
    found: FloatArray = data.utility[np.arange(len(data.jobs)), soonest]
    return found


def bounds_of(data: HadarInstance, eta: float | None = None) -> PriceBounds:
    """(6) and (7) of an instance, over the jobs that can complete and are then worth something.

    tmin and tmax are in whole slots, on the fastest and the slowest type that a job's gang could be on; U_j(T - a_j) is
    that of completing in the last slot. Raises InputError if there is no such job.
    """
    best = best_of(data)
    kept = np.flatnonzero(data.finishable & (best > 0))
    runs = (data.rate > 0) & (data.capacity > 0)
    slowest = np.where(runs, data.rate, np.inf).min(axis=1, initial=np.inf)[kept]
    return price_bounds(
        best[kept],
        data.utility[kept, data.slots - 1],
        slots_of(data.work[kept], slowest),
        data.gang[kept],
        runs[kept],
        data.capacity,
        data.slots,
        eta,
    )


def optimum(data: HadarInstance, solver: Solver | None = None) -> float:
    """OPT, by P1. Raises SolverFailedError if the solver stops before it is proven."""
    found = Offline().run(data, {}, solver)
    if found.status != "optimal" or found.objective is None:
        raise SolverFailedError(Offline.name, found.status, f"an optimum proven to {PROVEN:g}")
    return found.objective


def ratio(
    data: HadarInstance, earned: float, eta: float | None = None, solver: Solver | None = None
) -> CompetitiveRatio:
    """What was earned on an instance, against its optimum and its bound."""
    best, bounds = optimum(data, solver), bounds_of(data, eta)
    measured = best / earned if earned > 0 else math.inf
    starts = bounds.initial_dual <= best / 2 * (1 + PROVEN)
    premise = starts and is_small(data, bounds, best) and blocks(data, bounds)
    return CompetitiveRatio(best, earned, measured, 2 * bounds.alpha, bounds.initial_dual, starts, premise)


def step(data: HadarInstance, bounds: PriceBounds) -> float:
    """Beta: what letting a job in raises the dual by at most, over its utility; alpha for infinitely small gangs."""
    apart = np.log(bounds.most / bounds.least)
    largest = np.zeros(len(data.types))
    for row in np.flatnonzero(data.finishable).tolist():
        largest = np.maximum(largest, np.max([gpus for gpus, _ in gangs(data, row)], axis=0))
    taken = np.flatnonzero(largest)
    part = largest[taken] / bounds.capacity[taken]
    return float(max(1.0, (np.expm1(apart[taken] * part) / part).max(initial=0.0)))


def is_small(data: HadarInstance, bounds: PriceBounds, best: float) -> bool:
    """`small`: demand is so small against capacity that the bound follows; best: OPT."""
    return step(data, bounds) * best <= 2 * bounds.alpha * (best - bounds.initial_dual)


def blocks(data: HadarInstance, bounds: PriceBounds) -> bool:
    """`blocks`: a gang that finds too few GPUs free on one of its types would cost what it is worth, or more."""
    worth = best_of(data)
    return all(
        gpus[kind] * bounds.price(bounds.capacity - gpus[kind] + 1)[kind] >= worth[row] * (1 - PROVEN)
        for row in np.flatnonzero(data.finishable).tolist()
        for gpus, _ in gangs(data, row)
        for kind in np.flatnonzero(gpus).tolist()
    )


def measured(
    cases: Iterable[tuple[HadarInstance, Mapping[str, float | None]]], solver: Solver | None = None
) -> pd.DataFrame:
    """Optimum and utility earned for instances with the completion times in s of a run, one row each.

    Columns: optimum, earned, ratio, bound, starts, premise (as in `Ratio`), and first_come_ratio, OPT by what
    `first_come` earns (inf if nothing).
    """
    rows = []
    for data, completion_s in cases:
        found = ratio(data, earned_by(data, completion_s), solver=solver)
        plain = first_come(data).objective
        rows.append((*found[:4], found.starts, found.premise, found.optimum / plain if plain > 0 else math.inf))
    names = ["optimum", "earned", "ratio", "bound", "starts", "premise", "first_come_ratio"]
    return pd.DataFrame(rows, columns=names)


def earned_by(data: HadarInstance, completion_s: Mapping[str, float | None]) -> float:
    """Summed utility of completion times in s, such as a run's; a job completes with the end of a slot.

    None, or later than the last slot: worth 0. Raises InputError for a job that the instance does not have.
    """
    at = {name: row for row, name in enumerate(data.jobs)}
    total = 0.0
    for name, when_s in completion_s.items():
        if name not in at:
            raise InputError("completion times", name, "a job of the instance")
        if when_s is None:
            continue
        slot = math.ceil((when_s - data.start_s) / data.slot_s * (1 - 1e-12)) - 1
        if slot < data.first[at[name]]:
            raise InputError(f"job {name}, completion_s", when_s, "a time after the job's first slot")
        total += float(data.utility[at[name], slot]) if slot < data.slots else 0.0
    return total


def first_come(data: HadarInstance) -> SlotPlan:
    """Slot by slot, jobs in the order of the list take their fastest free GPUs: a plan that knows no prices."""
    left = np.where(data.finishable, data.work, 0.0)
    gpus = np.zeros((len(data.jobs), data.slots, len(data.types)), dtype=np.int64)
    for t in range(data.slots):
        here = np.flatnonzero((left > ROUNDING * data.work) & (data.arrival <= t))
        gpus[:, t] = fastest_free(data, here)
        left -= speed_of(data, gpus[:, t])
    return SlotPlan(data, gpus, "first come").trimmed


def admit_in_order(data: ScheduleInstance, bounds: PriceBounds) -> SlotPlan:
    """The algorithm of Theorem 2: jobs in the order of arrival, each by its schedule of the largest payoff (4), if > 0.

    Prices (5) rise with the GPUs taken in each slot; schedules that no longer fit are passed over. Of equal payoffs the
    first schedule counts.
    """
    stated = data.instance
    held = np.zeros((stated.slots, len(stated.types)), dtype=np.int64)
    chosen = np.zeros(len(data.schedules))
    for row in np.argsort(stated.arrival, kind="stable").tolist():
        own = [at for at, one in enumerate(data.schedules) if one.job == row and _fits(data, at, held)]
        payoff = (data.utility - data.cost(bounds.price(held).T))[own]
        if len(own) and payoff.max() > 0:
            best = own[int(payoff.argmax())]
            chosen[best] = 1.0
            held[list(data.schedules[best].slots)] += np.array(data.schedules[best].gpus)
    return plan_of(data, chosen)


def _fits(data: ScheduleInstance, at: int, held: IntArray) -> bool:
    one = data.schedules[at]
    return bool((held[list(one.slots)] + np.array(one.gpus) <= data.instance.capacity).all())


def duality(data: ScheduleInstance, solver: Solver | None = None) -> dict[str, float]:
    """Optima of P2, of its linear programme and of P3, by name: P2 <= P2 relaxed = P3."""
    found = {
        "P2": HadarSchedules().run(data, {}, solver),
        "P2 relaxed": HadarSchedules().run(data, {"relaxed": True}, solver),
        "P3": Dual().run(data, {}, solver),
    }
    return {name: float(result.objective or 0.0) for name, result in found.items()}


def price_table(bounds: PriceBounds, types: tuple[str, ...]) -> pd.DataFrame:
    """Columns type, held, price: what a GPU of each type costs per slot with 0, 1, ... c_r of them held, to draw."""
    rows = [
        (name, held, value)
        for column, name in enumerate(types)
        for held, value in enumerate(_curve(bounds, column).tolist())
    ]
    return pd.DataFrame(rows, columns=["type", "held", "price"])


def _curve(bounds: PriceBounds, column: int) -> FloatArray:
    """(c_r + 1,) prices of one type with 0 to c_r of its GPUs held."""
    total = int(bounds.capacity[column])
    return price(bounds.least[column], bounds.most[column], total, np.arange(total + 1))
