"""Admission control (section 3.3.2): a job is guaranteed if all that are guaranteed stay so with it.

Otherwise it is refused, which is to say treated as best effort, and told why: the earliest deadline with which it would
have been guaranteed (the paper's footnote 3: binary search), and which guaranteed jobs stand in the way, as a set of
which none can be spared: beside these alone it cannot be guaranteed, beside fewer of them it could.

For many jobs the printed model is too slow for that many questions. The earliest deadline is then one with which the
quicker tests of `feasible` accept the job, and none can be spared for the demand of the first leases to be too
large; where nothing as simple refuses the job, nobody is named.

`feasible` says whether all jobs of an instance can meet a deadline each. It asks in the order of cost. No: a job cannot
even alone, or what must run in the first t leases is more than they have (the rows of the master, which the last
deadlines make weakest). Yes: the jobs fit beside the leases of the last plan, or least laxity first finds a plan. Else
the printed model decides: where it is small, or within a time limit of the solver. Where jobs have options (section 7),
the relaxation of the master takes the place of the rows, and chooses options for least laxity first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from workbench.base.arrays import BoolArray, IntArray
from workbench.base.errors import InputError, counted
from workbench.papers.chronus.algorithms.lease_plan import LeasePlan, kept_of, lift
from workbench.papers.chronus.algorithms.terms import Choice
from workbench.papers.chronus.formulations import leases_with_options
from workbench.papers.chronus.formulations.leases import MEDIUM, MOST_VARIABLES, build, read_plan, variables
from workbench.papers.chronus.formulations.master import Master
from workbench.papers.chronus.instance import ChronusInstance, Leases
from workbench.scheduling.solvers import InfeasibleError, Solver, TimeLimitError, solve_matrix, solve_model

How = Literal["alone", "demand", "room", "laxity", "model", "limit"]


@dataclass(frozen=True, eq=False)
class Feasibility:
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


def feasible(instance: ChronusInstance, solver: Solver | None = None) -> Feasibility:
    """Whether all jobs, guaranteed or not, can meet one of their deadlines each; solver: for the printed model."""
    data = instance.with_jobs(np.arange(len(instance.jobs)), guaranteed=True)
    every = np.ones(len(data.jobs), dtype=bool)
    if not data.possible.all():
        return Feasibility(None, "alone", ~data.possible)
    too_much = too_much_demand(data)
    if too_much is not None:
        return Feasibility(None, "demand", too_much)
    plan = beside(data)
    if plan is not None:
        return Feasibility(plan, "room", every)
    last = np.array([len(own) - 1 for own in data.by], dtype=np.int64)
    if data.options is None:
        plan = lift(data, last)
    else:
        late = data.with_last_deadlines()
        master = Master(late)
        try:
            values = solve_matrix(master.programme(), solver).values
        except InfeasibleError:
            return Feasibility(None, "demand", every)
        plan = lift(data.running(master.rounded(values)[1]), last)
    if plan is not None:
        return Feasibility(plan, "laxity", every)
    return _by_model(data, solver or Solver(), every)


def needs(data: ChronusInstance) -> IntArray:
    """(times x limits x jobs) GPU leases that have to run in the first t leases, t the last deadlines; of one option
    each."""
    times = np.unique(data.last)
    outside = np.maximum(0, data.last - np.maximum(times[:, None], data.first - 1))
    found: IntArray = np.maximum(0, data.needed - outside)[:, None, :] * data.held.T[None, :, :]
    return found


def offers(data: ChronusInstance) -> IntArray:
    """(times x limits) GPU leases of the first t leases."""
    found: IntArray = np.cumsum(data.free, axis=0)[np.unique(data.last) - 1]
    return found


def too_much_demand(data: ChronusInstance) -> BoolArray | None:
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


def beside(data: ChronusInstance) -> LeasePlan | None:
    """The leases of the last plan for who has enough of them there, the earliest free ones for the others.

    Of several options of these the one that ends first. None if somebody has not enough, or there is no last plan.
    """
    if not data.previous:
        return None
    has, left, new = kept_of(data, data.previous)
    chosen = np.array(data.in_force)
    for row in new:
        found = [
            (int(leases[-1]), option, leases)
            for option in np.flatnonzero(data.every.job == row).tolist()
            if (leases := _earliest_leases(data, left, row, option)) is not None
        ]
        if not found:
            return None
        _, chosen[row], leases = min(found, key=lambda one: one[:2])
        has[row, leases] = True
        left[leases] -= data.every.held[chosen[row]]
    return LeasePlan(data.running(chosen), has)


def _earliest_leases(data: ChronusInstance, left: IntArray, row: int, option: int) -> IntArray | None:
    """The earliest leases with room for a job as that option, from 0; None: too few by its last deadline."""
    needed = int(data.needed_as[option])
    leases = np.flatnonzero((left[: data.last[row]] >= data.every.held[option]).all(axis=1))
    leases = leases[leases >= data.first[row] - 1][:needed]
    return leases if len(leases) == needed else None


def _by_model(data: ChronusInstance, solver: Solver, every: BoolArray) -> Feasibility:
    """The printed model with the last deadlines only, which is the same question and smaller."""
    last = data.with_last_deadlines()
    if variables(last) > (MEDIUM if solver.time_limit_s is None else MOST_VARIABLES):
        return Feasibility(None, "limit", every)
    options = data.options is not None
    model = leases_with_options.build(last) if options else build(last)
    try:
        solve_model(model, solver)
    except InfeasibleError:
        return Feasibility(None, "model", every)
    except TimeLimitError:
        return Feasibility(None, "limit", every)
    plan = (leases_with_options.read_plan if options else read_plan)(model, last)
    return Feasibility(LeasePlan(data.running(plan.instance.in_force), plan.has), "model", every)


@dataclass(frozen=True)
class Admission:
    """The verdict on one job.

    leases: a plan of all jobs that are guaranteed now, this one among them, None for a refusal; choices: what they run
    as in it; how: it was decided, see `Feasibility`. Of a refusal that is explained: earliest_lease, the lease by whose
    end the job would be guaranteed to be done, and earliest_s, that end; None if no deadline would do; in_the_way:
    guaranteed jobs.
    """

    job: str
    leases: Leases | None
    how: How
    why: str
    earliest_lease: int | None = None
    earliest_s: float | None = None
    in_the_way: tuple[str, ...] = ()
    choices: Mapping[str, Choice] | None = None

    @property
    def guaranteed(self) -> bool:
        """Whether the job is guaranteed."""
        return self.leases is not None


def admit(instance: ChronusInstance, job: str, solver: Solver | None = None, *, explain: bool = True) -> Admission:
    """The verdict on a job, beside the guaranteed jobs of the instance; all others play no part.

    solver: its limits are those of every question asked of the printed model; where it gives no answer within them the
    job is refused, and the reason says so. Raises InputError for a job that is not in the instance or has no deadline.
    """
    if job not in instance.jobs:
        raise InputError("admission, job", job, "a job of the instance")
    row = instance.jobs.index(job)
    if not instance.steps[row]:
        raise InputError(f"job {job}, rewards", [], "a deadline to be guaranteed")
    chosen = np.array(instance.guaranteed)
    chosen[row] = True
    data = instance.with_jobs(chosen)
    own = data.jobs.index(job)
    answer = feasible(data, solver)
    if answer.plan is not None:
        said = "all guaranteed jobs meet a deadline with it"
        return Admission(job, answer.plan.leases, answer.how, said, choices=answer.plan.choices)
    if not data.possible[own]:
        earliest = _earliest(data, own, solver) if explain else None
        return _refused(data, own, "alone", data.why_not(own), earliest, ())
    stuck = ~data.possible
    if stuck.any():
        late = data.jobs[int(np.flatnonzero(stuck)[0])]
        raise InputError(f"guaranteed job {late}", data.why_not(data.jobs.index(late)), "one that can meet a deadline")
    if not explain:
        return _refused(data, own, answer.how, _reason(answer, ()), None, ())
    others = _in_the_way(data, own, answer, solver)
    return _refused(data, own, answer.how, _reason(answer, others), _earliest(data, own, solver), others)


def admit_all(instance: ChronusInstance, jobs: Sequence[str], *, explain: bool = True) -> tuple[Admission, ...]:
    """The verdicts on jobs one after the other: who is guaranteed stays so when the next is asked about."""
    found: list[Admission] = []
    data = instance
    for job in jobs:
        found.append(admit(data, job, explain=explain))
        if found[-1].leases is not None:
            data = data.with_guarantee(job, found[-1].leases, found[-1].choices)
    return tuple(found)


def _reason(answer: Feasibility, others: Sequence[str]) -> str:
    if answer.how == "limit":
        return "within its limit the solver found neither a plan nor that there is none"
    with_whom = f" with {counted(len(others), 'guaranteed job')} in the way" if others else ""
    return f"no plan meets a deadline of every guaranteed job{with_whom}"


def _refused(
    data: ChronusInstance, row: int, how: How, why: str, earliest: int | None, others: tuple[str, ...]
) -> Admission:
    at_s = None if earliest is None else data.start_s + earliest * data.lease_s
    return Admission(data.jobs[row], None, how, why, earliest, at_s, others)


def _earliest(data: ChronusInstance, row: int, solver: Solver | None) -> int | None:
    """The first lease by whose end the job could be guaranteed to be done; None if none is.

    Searched by halves: first where the demand of the first leases leaves room, then where there is a plan.
    """
    if not data.fits[row]:
        return None
    others = np.delete(data.last, row).max(initial=0)
    fewest = data.needed_as[data.every.job == row]
    low = int(data.first[row] + fewest.min() - 1)
    high = int(max(others, data.first[row] - 1, len(data.capacity)) + fewest.max())

    def plan_for(lease: int) -> int | None:
        """A lease by which the job is done in a plan that keeps that deadline and the guarantees."""
        plan = feasible(data.with_deadline(row, lease), solver).plan
        return None if plan is None else int(plan.completion[row])

    done = plan_for(high)
    if done is None:
        return None
    high = done

    def not_refused(lease: int) -> bool:
        """Whether neither the job alone nor the demand of the first leases says no."""
        asked = data.with_deadline(row, lease)
        return bool(asked.possible.all()) and too_much_demand(asked) is None

    low = _first(low, high, not_refused)
    while low < high:
        middle = (low + high) // 2
        done = plan_for(middle)
        low, high = (middle + 1, high) if done is None else (low, min(middle, done))
    return high


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first number from which something holds, which does at `high`."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return high


def _in_the_way(data: ChronusInstance, row: int, answer: Feasibility, solver: Solver | None) -> tuple[str, ...]:
    """Guaranteed jobs, none of which can be spared, with which the job is refused; those with late deadlines go first.

    Groups of jobs are left out, ever smaller ones, as long as the job is still refused.
    """
    many = variables(data) > MEDIUM
    everyone = [other for other in range(len(data.jobs)) if other != row]
    pressing = [other for other in everyone if answer.pressing[other]]
    kept = sorted(pressing, key=lambda other: (-int(data.last[other]), other))
    if data.options is None and answer.how == "demand":
        kept = _too_many(data, row, kept)
    elif many:
        return ()

    def refused(others: Sequence[int]) -> bool:
        return feasible(data.with_jobs(sorted([*others, row])), solver).plan is None

    if not many and not refused(kept):
        kept = sorted(everyone, key=lambda other: (-int(data.last[other]), other))
    size = 0 if many else max(1, len(kept) // 2)
    while size:
        spot = 0
        while spot < len(kept):
            fewer = kept[:spot] + kept[spot + size :]
            if refused(fewer):
                kept = fewer
            else:
                spot += size
        size //= 2
    return tuple(data.jobs[other] for other in sorted(kept))


def _too_many(data: ChronusInstance, row: int, kept: Sequence[int]) -> list[int]:
    """Of these jobs, as long as the first leases have too little for what must run there of them and the job: fewer.

    Left out in their order; none of those that remain can be spared for that.
    """
    demand, supply = needs(data), offers(data)
    total = demand[:, :, [*kept, row]].sum(axis=2)
    left = []
    for other in kept:
        if (total - demand[:, :, other] > supply).any():
            total = total - demand[:, :, other]
        else:
            left.append(other)
    return left
