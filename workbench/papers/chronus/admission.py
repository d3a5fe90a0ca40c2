"""Admission control (section 3.3.2): a job is guaranteed if all that are guaranteed stay so with it.

Otherwise it is refused, which is to say treated as best effort, and told why: the earliest deadline with which it would
have been guaranteed (the paper's footnote 3: binary search), and which guaranteed jobs stand in the way, as a set of
which none can be spared: beside these alone it cannot be guaranteed, beside fewer of them it could.

For many jobs the printed model is too slow for that many questions. The earliest deadline is then one with which the
quicker tests of `feasibility` accept the job, and none can be spared for the demand of the first leases to be too
large; where nothing as simple refuses the job, nobody is named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.base.errors import InputError, counted
from workbench.papers.chronus.feasibility import Answer, How, feasible, needs, offers, too_much_demand
from workbench.papers.chronus.instance import Instance, Leases
from workbench.papers.chronus.leases import MEDIUM, variables
from workbench.papers.chronus.options import Choice
from workbench.scheduling.solvers import Solver


@dataclass(frozen=True)
class Admission:
    """The verdict on one job.

    leases: a plan of all jobs that are guaranteed now, this one among them, None for a refusal; choices: what they run
    as in it; how: it was decided, see `feasibility`. Of a refusal that is explained: earliest_lease, the lease by whose
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


def admit(instance: Instance, job: str, solver: Solver | None = None, *, explain: bool = True) -> Admission:
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


def admit_all(
    instance: Instance, jobs: Sequence[str], solver: Solver | None = None, *, explain: bool = True
) -> tuple[Admission, ...]:
    """The verdicts on jobs one after the other: who is guaranteed stays so when the next is asked about."""
    found: list[Admission] = []
    data = instance
    for job in jobs:
        found.append(admit(data, job, solver, explain=explain))
        if found[-1].leases is not None:
            data = data.with_guarantee(job, found[-1].leases, found[-1].choices)
    return tuple(found)


def _reason(answer: Answer, others: Sequence[str]) -> str:
    if answer.how == "limit":
        return "within its limit the solver found neither a plan nor that there is none"
    with_whom = f" with {counted(len(others), 'guaranteed job')} in the way" if others else ""
    return f"no plan meets a deadline of every guaranteed job{with_whom}"


def _refused(data: Instance, row: int, how: How, why: str, earliest: int | None, others: tuple[str, ...]) -> Admission:
    at_s = None if earliest is None else data.start_s + earliest * data.lease_s
    return Admission(data.jobs[row], None, how, why, earliest, at_s, others)


def _earliest(data: Instance, row: int, solver: Solver | None) -> int | None:
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


def _in_the_way(data: Instance, row: int, answer: Answer, solver: Solver | None) -> tuple[str, ...]:
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


def _too_many(data: Instance, row: int, kept: Sequence[int]) -> list[int]:
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
