"""Whether all jobs of an instance can meet a deadline each: the question of admission control (section 3.3.2).

Asked in the order of cost. No: a job cannot even alone, or what must run in the first t leases is more than they have
(the rows of the master, which the last deadlines make weakest). Yes: the jobs fit beside the leases of the last plan,
or least laxity first finds a plan. Else the printed model decides: where it is small, or within a time limit of the
solver. Where jobs have options (section 7), the relaxation of the master takes the place of the rows, and chooses
options for least laxity first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from workbench.papers.chronus import typed
from workbench.papers.chronus.instance import Instance
from workbench.papers.chronus.leases import MEDIUM, MOST_VARIABLES, build, read_plan, variables
from workbench.papers.chronus.lifting import lift
from workbench.papers.chronus.master import Master
from workbench.papers.chronus.plan import LeasePlan
from workbench.scheduling.decision import BoolArray, IntArray
from workbench.scheduling.solvers import InfeasibleError, Solver, TimeLimitError, solve_matrix, solve_model

How = Literal["alone", "demand", "room", "laxity", "model", "limit"]


@dataclass(frozen=True, eq=False)
class Answer:
    """plan: one in which all meet a deadline, None if there is none or none was found.

    how: it was decided: a job cannot alone, the demand of the first leases, room beside the last plan, least laxity
    first, the printed model; or nobody knows, as the solver's `limit` came first. pressing: (jobs,) who has a part in
    the demand that is too large, all where something else decides.
    """

    plan: LeasePlan | None
    how: How
    pressing: BoolArray

    @property
    def known(self) -> bool:
        """Whether the answer is proven."""
        return self.how != "limit"


def feasible(instance: Instance, solver: Solver | None = None) -> Answer:
    """Whether all jobs, guaranteed or not, can meet one of their deadlines each; solver: for the printed model."""
    data = instance.with_jobs(np.arange(len(instance.jobs)), guaranteed=True)
    every = np.ones(len(data.jobs), dtype=bool)
    if not data.possible.all():
        return Answer(None, "alone", ~data.possible)
    too_much = too_much_demand(data)
    if too_much is not None:
        return Answer(None, "demand", too_much)
    plan = beside(data)
    if plan is not None:
        return Answer(plan, "room", every)
    last = np.array([len(own) - 1 for own in data.by], dtype=np.int64)
    if data.options is None:
        plan = lift(data, last)
    else:
        late = data.with_last_deadlines()
        master = Master(late)
        try:
            values = solve_matrix(master.programme(), solver).values
        except InfeasibleError:
            return Answer(None, "demand", every)
        plan = lift(data.running(master.rounded(values)[1]), last)
    if plan is not None:
        return Answer(plan, "laxity", every)
    return _by_model(data, solver or Solver(), every)


def needs(data: Instance) -> IntArray:
    """(times x limits x jobs) GPU leases that have to run in the first t leases, t the last deadlines; of one option
    each."""
    times = np.unique(data.last)
    outside = np.maximum(0, data.last - np.maximum(times[:, None], data.first - 1))
    found: IntArray = np.maximum(0, data.needed - outside)[:, None, :] * data.held.T[None, :, :]
    return found


def offers(data: Instance) -> IntArray:
    """(times x limits) GPU leases of the first t leases."""
    found: IntArray = np.cumsum(data.free, axis=0)[np.unique(data.last) - 1]
    return found


def too_much_demand(data: Instance) -> BoolArray | None:
    """(jobs,) who has to run in the first leases that have too little for all that has to; None if all have enough.

    Of several such numbers of leases the first; of sizes of pieces the smallest. Not told where jobs have options.
    """
    if not data.jobs or data.options is not None:
        return None
    demand = needs(data)
    over = np.argwhere(demand.sum(axis=2) > offers(data))
    if not len(over):
        return None
    pressing: BoolArray = demand[over[0][0], over[0][1]] > 0
    return pressing


def beside(data: Instance) -> LeasePlan | None:
    """The leases of the last plan for who has enough of them there, the earliest free ones for the others.

    Of several options of these the one that ends first. None if somebody has not enough, or there is no last plan.
    """
    if not data.previous:
        return None
    has, left = np.zeros((len(data.jobs), data.leases), dtype=bool), np.array(data.free)
    new: list[int] = []
    for row, name in enumerate(data.jobs):
        own = np.sort(np.array(data.previous.get(name, ()), dtype=np.int64))[: data.needed[row]] - 1
        fine = len(own) == data.needed[row] and own[-1] < data.last[row] and own[0] >= data.first[row] - 1
        if fine and (left[own] >= data.held[row]).all():
            has[row, own] = True
            left[own] -= data.held[row]
        else:
            new.append(row)
    chosen = np.array(data.in_force)
    for row in new:
        found = [
            (int(room[-1]), option, room)
            for option in np.flatnonzero(data.every.job == row).tolist()
            if (room := _earliest(data, left, row, option)) is not None
        ]
        if not found:
            return None
        _, chosen[row], room = min(found, key=lambda one: one[:2])
        has[row, room] = True
        left[room] -= data.every.held[chosen[row]]
    return LeasePlan(data.running(chosen), has)


def _earliest(data: Instance, left: IntArray, row: int, option: int) -> IntArray | None:
    """The earliest leases with room for a job as that option, from 0; None: too few by its last deadline."""
    needed = int(data.needed_as[option])
    room = np.flatnonzero((left[: data.last[row]] >= data.every.held[option]).all(axis=1))
    room = room[room >= data.first[row] - 1][:needed]
    return room if len(room) == needed else None


def _by_model(data: Instance, solver: Solver, every: BoolArray) -> Answer:
    """The printed model with the last deadlines only, which is the same question and smaller."""
    last = data.with_last_deadlines()
    if variables(last) > (MEDIUM if solver.time_limit_s is None else MOST_VARIABLES):
        return Answer(None, "limit", every)
    options = data.options is not None
    model = typed.build(last) if options else build(last)
    try:
        solve_model(model, solver)
    except InfeasibleError:
        return Answer(None, "model", every)
    except TimeLimitError:
        return Answer(None, "limit", every)
    plan = (typed.read_plan if options else read_plan)(model, last)
    return Answer(LeasePlan(data.running(plan.instance.in_force), plan.has), "model", every)
