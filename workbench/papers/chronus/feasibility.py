"""Whether all jobs of an instance can meet a deadline each: the question of admission control (section 3.3.2).

Asked in the order of cost. No: a job cannot even alone, or what must run in the first t leases is more than they have
(the rows of the master, which the last deadlines make weakest). Yes: the jobs fit beside the leases of the last plan,
or least laxity first finds a plan. Else the printed model decides, within the solver's limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from workbench.decision import BoolArray, IntArray
from workbench.papers.chronus.instance import Instance
from workbench.papers.chronus.leases import MOST_VARIABLES, build, read_plan, variables
from workbench.papers.chronus.lifting import lift
from workbench.papers.chronus.plan import Plan
from workbench.solvers import InfeasibleError, Solver, TimeLimitError, solve_model

How = Literal["alone", "demand", "room", "laxity", "model", "limit"]


@dataclass(frozen=True, eq=False)
class Answer:
    """plan: one in which all meet a deadline, None if there is none or none was found.

    how: it was decided: a job cannot alone, the demand of the first leases, room beside the last plan, least laxity
    first, the printed model; or nobody knows, as the solver's `limit` came first. pressing: (jobs,) who has a part in
    the demand that is too large, all where something else decides.
    """

    plan: Plan | None
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
    too_much = _demand(data)
    if too_much is not None:
        return Answer(None, "demand", too_much)
    plan = _beside(data)
    if plan is not None:
        return Answer(plan, "room", every)
    plan = lift(data, np.array([len(own) - 1 for own in data.by], dtype=np.int64))
    if plan is not None:
        return Answer(plan, "laxity", every)
    return _by_model(data, solver or Solver(), every)


def _demand(data: Instance) -> BoolArray | None:
    """(jobs,) who has to run in the first leases that have too little for all that has to; None if all have enough.

    Of several such numbers of leases the first; of sizes of pieces the smallest.
    """
    if not data.jobs:
        return None
    for t in np.unique(data.last).tolist():
        outside = np.maximum(0, data.last - np.maximum(t, data.first - 1))
        needs = np.maximum(0, data.needed - outside)[:, None] * data.held
        over = np.flatnonzero(needs.sum(axis=0) > data.free[:t].sum(axis=0))
        if len(over):
            pressing: BoolArray = needs[:, over[0]] > 0
            return pressing
    return None


def _beside(data: Instance) -> Plan | None:
    """The leases of the last plan for who has enough of them there, the earliest free ones for the others."""
    if not data.previous:
        return None
    has, left = np.zeros((len(data.jobs), data.leases), dtype=bool), np.array(data.free)
    new: list[int] = []
    for row, name in enumerate(data.jobs):
        own = np.sort(np.array(data.previous.get(name, ()), dtype=np.int64))[: data.needed[row]] - 1
        fine = len(own) == data.needed[row] and own[-1] < data.last[row] and own[0] >= data.first[row] - 1
        if fine and (left[own] >= data.held[row]).all():
            _give(has, left, row, own, data)
        else:
            new.append(row)
    for row in new:
        room = np.flatnonzero((left[: data.last[row]] >= data.held[row]).all(axis=1))
        room = room[room >= data.first[row] - 1][: data.needed[row]]
        if len(room) < data.needed[row]:
            return None
        _give(has, left, row, room, data)
    return Plan(data, has)


def _give(has: BoolArray, left: IntArray, row: int, leases: IntArray, data: Instance) -> None:
    has[row, leases] = True
    left[leases] -= data.held[row]


def _by_model(data: Instance, solver: Solver, every: BoolArray) -> Answer:
    """The printed model with the last deadlines only, which is the same question and smaller."""
    last = data.with_last_deadlines()
    if variables(last) > MOST_VARIABLES:
        return Answer(None, "limit", every)
    model = build(last)
    try:
        solve_model(model, solver)
    except InfeasibleError:
        return Answer(None, "model", every)
    except TimeLimitError:
        return Answer(None, "limit", every)
    return Answer(Plan(data, read_plan(model, last).has), "model", every)
