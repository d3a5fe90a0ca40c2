"""A plan: which leases each job has; checked, shifted to the left, carried on, and what comes of it.

`lift` goes from deadlines that jobs are to hit to whole leases: least laxity first, and then what still fits in. Laxity
is the number of leases that a job could still wait. In every lease the jobs with the least are served first, of equal
ones the larger gangs, of these the first in the list; whoever does not fit waits. That is a heuristic: a job may be too
late although a plan exists in which it is not. Then it runs again: without it, or, if it is guaranteed, with it before
all others; if it is late even so, the lifting fails.

`swapped` finds better deadlines in a full plan: a job trades its late leases for earlier ones of jobs that can wait. A
trade moves one lease of a job forward: to a lease that has room, or to one of another job's, which takes the late one
instead and still meets the deadline it met. Nobody's reward falls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.papers.chronus.algorithms.terms import Choice
from workbench.papers.chronus.instance import NAME, ChronusInstance, Leases
from workbench.scheduling.contract import Result
from workbench.scheduling.solvers import SolverFailedError


@dataclass(frozen=True, eq=False)
class LeasePlan:
    """has: (jobs x leases) x_ki, whether a job has lease k + 1.

    Raises SolverFailedError, in the name of `owner`, for a plan that breaks a limit: more GPUs than a lease has (3, 6),
    a lease before the arrival, a job with part of its leases (4), a guaranteed job without any (5).
    """

    instance: ChronusInstance
    has: BoolArray
    owner: str = NAME

    def __post_init__(self) -> None:
        data = self.instance
        has = np.array(self.has, dtype=bool).reshape(len(data.jobs), data.leases)
        has.setflags(write=False)
        object.__setattr__(self, "has", has)
        over = (self.left < 0).any(axis=1)
        if over.any():
            lease = int(np.argmax(over))
            used = (has[:, lease] @ data.held).tolist()
            self._fail(f"{used} GPUs in lease {lease + 1}", f"at most {data.free[lease].tolist()}")
        job, column = self._spots
        early = job[column < data.first[job] - 1]
        if len(early):
            self._fail("a lease before the arrival", f"none for job {data.jobs[int(early[0])]}")
        count = np.bincount(job, minlength=len(data.jobs))
        wrong = (count != 0) & (count != data.needed)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            self._fail(f"{count[row]} leases of job {data.jobs[row]}", f"0 or {data.needed[row]}")
        late = ((count == 0) | (self.step < 0)) & data.guaranteed
        if late.any():
            name = data.jobs[int(np.flatnonzero(late)[0])]
            self._fail(f"guaranteed job {name} without its leases", "all of them by its last deadline")

    def _fail(self, found: str, expected: str) -> None:
        raise SolverFailedError(self.owner, found, expected)

    @cached_property
    def _spots(self) -> tuple[IntArray, IntArray]:
        """Row and column of every lease that a job has, in order."""
        return _where(self.has)

    @cached_property
    def completion(self) -> IntArray:
        """(jobs,) the last lease of a job, 0 for one that has none."""
        row, column = self._spots
        completion = np.zeros(len(self.has), dtype=np.int64)
        completion[row] = column + 1  # the last one stays
        return completion

    @cached_property
    def step(self) -> IntArray:
        """(jobs,) the first deadline, from 0, that a job meets; -1 for none."""
        data, done = self.instance, self.completion
        over = data.step_job[data.step_by < done[data.step_job]]
        missed = np.bincount(over, minlength=len(done))
        return np.where((done > 0) & (missed < np.diff(data.job_step)), missed, -1)

    @cached_property
    def earned(self) -> FloatArray:
        """(jobs,) the reward of each job."""
        data, met = self.instance, self.step >= 0
        earned = np.full(len(met), data.miss_reward, dtype=float)
        earned[met] = data.step_numbers[(data.job_step[:-1] + self.step)[met], 1]
        return earned

    @property
    def objective(self) -> float:
        """(1): the sum of the rewards."""
        return float(self.earned.sum())

    @cached_property
    def left(self) -> IntArray:
        """(leases x sizes) GPUs that no job has."""
        return _left(self.instance, *self._spots)

    @cached_property
    def shifted_left(self) -> LeasePlan:
        """The plan with each job's last lease moved to the first that has room, lease by lease, jobs in their order."""
        data, has, left = self.instance, np.array(self.has), np.array(self.left)
        last = np.array(self.completion)
        for lease in range(data.leases):
            fits = (data.held <= left[lease]).all(axis=1)  # as far as nobody before takes it
            able = fits & ~has[:, lease] & (last > lease + 1) & (data.first <= lease + 1)
            for row in able.nonzero()[0].tolist():
                if (data.held[row] <= left[lease]).all():
                    late = int(last[row]) - 1
                    has[row, late], has[row, lease] = False, True
                    left[lease] -= data.held[row]
                    left[late] += data.held[row]
                    last[row] = int(has[row].nonzero()[0][-1]) + 1
        return LeasePlan(data, has, self.owner)

    @cached_property
    def put_off(self) -> LeasePlan:
        """The plan in which jobs, those with large gangs first, have another lease in place of the first one, wherever
        there is room by the deadline that they meet; nobody's reward falls (ours, for the authors' second objective of
        fewest GPUs in the first lease)."""
        data, has, left = self.instance, np.array(self.has), np.array(self.left)
        first = np.flatnonzero(has[:, :1].any(axis=1))
        for row in first[np.argsort(-data.held[first].max(axis=1, initial=0), kind="stable")].tolist():
            by = int(data.by[row][self.step[row]]) if self.step[row] >= 0 else data.leases
            able = np.flatnonzero(~has[row, :by] & (left[:by] >= data.held[row]).all(axis=1))
            if len(able):
                _move(has, left, data.held, row, 0, int(able[0]))
        return LeasePlan(data, has, self.owner)

    @property
    def leases(self) -> dict[str, tuple[int, ...]]:
        """The leases, from 1, of the jobs that have some."""
        return leases_in(self.instance.jobs, self.has)

    @property
    def choices(self) -> dict[str, Choice]:
        """What the jobs that have leases run as."""
        served = np.flatnonzero(self.has.any(axis=1)).tolist()
        return {self.instance.jobs[row]: self.instance.choice(row) for row in served}

    @property
    def result(self) -> Result:
        """What a formulation reports, see `values`."""
        return Result("feasible", self.objective, "max", "reward", self.values())

    def values(self) -> dict[str, Any]:
        """JSON-able, by job: leases from 1, the deadline met in leases, reward, completion in s; None for a miss.

        completion_s: when the runtime is over if nothing delays it; choice: what jobs run as, where they have options.
        lost_to_rounding: jobs that miss only because
        leases are whole; cannot_meet: why, for jobs that would miss even alone.
        """
        data, own = self.instance, self.leases
        end_s = data.start_s + (self.completion - data.needed) * data.lease_s
        end_s = end_s + data.runtime_s + data.needed * data.reserved_s
        found: dict[str, Any] = {
            "leases": {name: list(own[name]) if name in own else None for name in data.jobs},
            "deadline": {
                name: int(data.by[row][step]) if step >= 0 else None
                for row, (name, step) in enumerate(zip(data.jobs, self.step.tolist(), strict=True))
            },
            "reward": dict(zip(data.jobs, self.earned.tolist(), strict=True)),
            "completion_s": {
                name: float(end) if done else None
                for name, end, done in zip(data.jobs, end_s.tolist(), self.completion.tolist(), strict=True)
            },
        }
        if data.options is not None:
            chosen = self.choices
            found["choice"] = {name: chosen[name]._asdict() if name in chosen else None for name in data.jobs}
        stuck = {data.jobs[row]: data.why_not(row) for row in np.flatnonzero(~data.possible).tolist()}
        if data.lost_to_rounding:
            found["lost_to_rounding"] = list(data.lost_to_rounding)
        return {**found, "cannot_meet": stuck} if stuck else found


def of_leases(instance: ChronusInstance, leases: Leases) -> LeasePlan:
    """The plan in which jobs have these leases, those not named none."""
    at = {name: row for row, name in enumerate(instance.jobs)}
    row = np.repeat(np.array([at[name] for name in leases], dtype=np.int64), _counts(leases.values()))
    lease = np.array(list(chain.from_iterable(leases.values())), dtype=np.int64)
    wrong = (lease < 1) | (lease > instance.leases)
    if wrong.any():
        name = instance.jobs[row[np.argmax(wrong)]]
        raise SolverFailedError(
            NAME, f"leases {list(leases[name])} of job {name}", f"leases from 1 to {instance.leases}"
        )
    has = np.zeros((len(instance.jobs), instance.leases), dtype=bool)
    has[row, lease - 1] = True
    return LeasePlan(instance, has, NAME)


def _counts(leases: Iterable[Sequence[int]]) -> IntArray:
    return np.array(list(map(len, leases)), dtype=np.int64)


def _where(has: BoolArray) -> tuple[IntArray, IntArray]:
    """Rows and columns of what is true, in order: `np.nonzero`, which takes several times as long in two dimensions."""
    row, column = np.divmod(has.ravel().nonzero()[0], has.shape[1])
    return row, column


def _left(instance: ChronusInstance, row: IntArray, lease: IntArray) -> IntArray:
    """(leases x sizes) GPUs that are left if jobs have these leases, row and column of each."""
    taken = [np.bincount(lease, gpus[row], instance.leases) for gpus in instance.held.T]
    return instance.free - np.array(taken, dtype=np.int64).reshape(len(taken), -1).T


def leases_in(jobs: Sequence[str], has: BoolArray) -> dict[str, tuple[int, ...]]:
    """The leases, from 1, of the jobs that have some; has: (jobs x leases)."""
    row, column = _where(has)
    ends, numbers = np.cumsum(np.bincount(row, minlength=len(jobs))).tolist(), (column + 1).tolist()
    pairs = zip(jobs, pairwise([0, *ends]), strict=True)
    return {name: tuple(numbers[begin:end]) for name, (begin, end) in pairs if end > begin}


def carried_on(leases: Leases, passed: int = 1) -> dict[str, tuple[int, ...]]:
    """A plan of earlier, `passed` leases later: what is over is gone, and so are the jobs that had all their leases."""
    later = {name: tuple([lease - passed for lease in own if lease > passed]) for name, own in leases.items()}
    return {name: own for name, own in later.items() if own}


def kept_of(instance: ChronusInstance, leases: Leases) -> tuple[BoolArray, IntArray, list[int]]:
    """What holds of an earlier plan: (jobs x leases) who keeps which of its leases, (leases x sizes) what is left, and
    the rows of the jobs that keep none.

    A job that needs fewer leases than it had keeps the first ones. One that needs more, whose leases are not there any
    more, or that meets no deadline with them keeps none; the guaranteed ones are served first.
    """
    data = instance
    own = [leases.get(name, ()) for name in data.jobs]
    count = _counts(own)
    row = np.repeat(np.arange(len(own)), count)
    lease = np.array(list(chain.from_iterable(own)), dtype=np.int64) - 1
    if (lease[1:] <= lease[:-1])[row[1:] == row[:-1]].any():
        lease = lease[np.lexsort((lease, row))]
    early = np.arange(len(row)) - (np.cumsum(count) - count)[row] < data.needed[row]
    row, lease = row[early], lease[early]
    fine = count >= data.needed
    fine[row[(lease < data.first[row] - 1) | (lease >= np.minimum(data.last, data.leases)[row])]] = False
    has = np.zeros((len(own), data.leases), dtype=bool)
    has[row[fine[row]], lease[fine[row]]] = True
    left = _left(data, row[fine[row]], lease[fine[row]])
    if (left < 0).any():  # not all fit: one after the other
        left = np.array(data.free)
        for job in np.argsort(~data.guaranteed, kind="stable").tolist():
            if fine[job] and (left[has[job]] >= data.held[job]).all():
                left[has[job]] -= data.held[job]
            else:
                fine[job] = has[job] = False
    return has, left, (~fine).nonzero()[0].tolist()


def still_holds(instance: ChronusInstance, leases: Leases) -> LeasePlan | None:
    """The plan that gives jobs the leases of an earlier one, see `kept_of`; None if a guaranteed job then misses."""
    has, _, others = kept_of(instance, leases)
    return None if instance.guaranteed[others].any() else LeasePlan(instance, has)


def nothing(instance: ChronusInstance, owner: str = NAME) -> LeasePlan:
    """The plan in which no job has a lease; raises SolverFailedError if one is guaranteed."""
    return LeasePlan(instance, np.zeros((len(instance.jobs), instance.leases), dtype=bool), owner)


MOST_RUNS = 8
"""How often guaranteed jobs that are late are put first."""
PASSES = 4
"""How often all jobs are tried for a better deadline."""


def lift(data: ChronusInstance, target: Sequence[int] | IntArray) -> LeasePlan | None:
    """A plan in which jobs hit the deadline of their target, or a better or later one; None if a guaranteed job fails.

    target: (jobs,) number of the deadline from 0, -1 to be left out. Jobs that are left out, or that ended up late, get
    what still fits in (`improved`).
    """
    wanted = np.where(data.possible, np.asarray(target, dtype=np.int64).reshape(len(data.jobs)), -1)
    if (data.guaranteed & (wanted < 0)).any():
        return None
    first = np.zeros(len(data.jobs), dtype=bool)
    runs = 0
    while True:
        has, late = _least_laxity(data, wanted, first)
        if not late.any():
            return improved(LeasePlan(data, has))
        promised = late & data.guaranteed
        if not promised.any():
            wanted = np.where(late, -1, wanted)
        elif (promised & ~first).any() and runs < MOST_RUNS:
            first |= promised
            runs += 1
        else:
            return None


def _least_laxity(data: ChronusInstance, target: IntArray, first: BoolArray) -> tuple[BoolArray, BoolArray]:
    """(jobs x leases) who has which leases, and (jobs,) who is too late for its last deadline.

    A job too late for its target goes for its next deadline.
    """
    by = [own.tolist() for own in data.by]
    step = target.tolist()
    due = np.array([by[row][spot] if spot >= 0 else 0 for row, spot in enumerate(step)], dtype=np.int64)
    left = np.where(target >= 0, data.needed, 0)
    late = np.zeros(len(left), dtype=bool)
    has = np.zeros((len(left), data.leases), dtype=bool)
    rank = np.lexsort((-data.held.max(axis=1, initial=0), ~first)).argsort()
    for lease in range(1, data.leases + 1):
        for row in np.flatnonzero((left > 0) & (due - lease + 1 < left)).tolist():
            while step[row] < len(by[row]) - 1 and due[row] - lease + 1 < left[row]:
                step[row] += 1
                due[row] = by[row][step[row]]
            if due[row] - lease + 1 < left[row]:
                late[row], left[row] = True, 0
        waiting = np.flatnonzero((left > 0) & (data.first <= lease))
        if not left.any():
            break
        laxity = np.where(first[waiting], -1, due[waiting] - lease + 1 - left[waiting])
        taken = served(waiting[np.lexsort((rank[waiting], laxity))], data.held, data.free[lease - 1])
        has[taken, lease - 1] = True
        left[taken] -= 1
    late |= left > 0
    has[late] = False
    return has, late


def served(line: IntArray, held: IntArray, free: IntArray) -> IntArray:
    """The rows of a line, one after the other, for whom there is room; held: (jobs x sizes), free: (sizes,)."""
    found = [line[:0]]
    while len(line := line[(held[line] <= free).all(axis=1)]):
        used = np.cumsum(held[line], axis=0)
        number = int(np.count_nonzero((used <= free).all(axis=1)))  # those before the first who does not fit
        found.append(line[:number])
        free, line = free - used[number - 1], line[number:]
    return np.concatenate(found)


def improved(plan: LeasePlan) -> LeasePlan:
    """The plan in which jobs, those that gain most for their GPU time first, get better deadlines where there is room.

    A job then takes the earliest leases with enough free GPUs, its own among them; nobody else's leases change.
    """
    data, has, free = plan.instance, np.array(plan.has), np.array(plan.left)
    best = np.array([own[0] if len(own) else data.miss_reward for own in data.rewards])
    earned = np.array(plan.earned)
    for _ in range(PASSES):
        gain = (best - earned) / (data.held.max(axis=1) * data.needed)
        better = 0
        for row in np.argsort(-gain, kind="stable").tolist():
            if gain[row] > 0 and data.possible[row]:
                better += _moved(data, row, has, free, earned)
        if not better:
            break
    return LeasePlan(data, has, plan.owner)


def _moved(data: ChronusInstance, row: int, has: BoolArray, free: IntArray, earned: np.ndarray) -> bool:
    """Whether a job got a better deadline; has, free and earned are brought up to date."""
    has_gpus = ((free + has[row, :, None] * data.held[row]) >= data.held[row]).all(axis=1)
    has_gpus[: data.first[row] - 1] = False
    open_leases = np.flatnonzero(has_gpus)[: data.needed[row]]
    if len(open_leases) < data.needed[row]:
        return False
    step = int(np.searchsorted(data.by[row], open_leases[-1] + 1))
    if step == len(data.by[row]) or data.rewards[row][step] <= earned[row]:
        return False
    free += has[row, :, None] * data.held[row]
    has[row] = False
    has[row, open_leases] = True
    free[open_leases] -= data.held[row]
    earned[row] = data.rewards[row][step]
    return True


TRADE_PASSES = 2
"""How often all jobs are tried."""


def swapped(plan: LeasePlan) -> LeasePlan:
    """The plan in which jobs, those that gain most for their GPU time first, have traded for better deadlines."""
    data = plan.instance
    for _ in range(TRADE_PASSES):
        best = np.array([own[0] if len(own) else data.miss_reward for own in data.rewards])
        gain = (best - plan.earned) / (data.held.max(axis=1) * data.needed)
        has, left, better = np.array(plan.has), np.array(plan.left), False
        due = np.array([data.by[row][step] if step >= 0 else 0 for row, step in enumerate(plan.step.tolist())])
        for row in np.argsort(-gain, kind="stable").tolist():
            for step in range(int(plan.step[row])):
                by = int(data.by[row][step])
                found = _traded(data, row, by, has, left, due)
                if found is not None:
                    has, left = found
                    due[row] = by
                    better = True
                    break
        if not better:
            break
        plan = LeasePlan(data, has, plan.owner)
    return plan


def _traded(
    data: ChronusInstance, row: int, by: int, has: BoolArray, left: IntArray, due: IntArray
) -> tuple[BoolArray, IntArray] | None:
    """The plan and what is left over if the job has all its leases by then; None if no trades do that."""
    late = np.flatnonzero(has[row, by:]) + by
    early = np.flatnonzero(~has[row, :by])
    early = early[early >= data.first[row] - 1]
    if len(early) < len(late):
        return None
    has, left = has.copy(), left.copy()
    for lease in late.tolist():
        spot = _trade(data, row, lease, early, has, left, due)
        if spot is None:
            return None
        early = early[early != spot]
    return has, left


def _trade(
    data: ChronusInstance, row: int, late: int, early: IntArray, has: BoolArray, left: IntArray, due: IntArray
) -> int | None:
    """The lease for which a job gives its late one, its and the partner's changed in has and left; None if none."""
    held = data.held
    fitting = np.flatnonzero((left[early] >= held[row]).all(axis=1))
    if len(fitting):
        spot = int(early[fitting[0]])
        _move(has, left, held, row, late, spot)
        return spot
    patient = ~has[:, late] & (due > late) & (data.first <= late + 1) & (held <= left[late] + held[row]).all(axis=1)
    patient[row] = False
    if not patient.any():
        return None
    rows = np.flatnonzero(patient)
    for spot in early.tolist():
        able = rows[has[rows, spot] & (held[rows] + left[spot] >= held[row]).all(axis=1)]
        if len(able):
            other = int(able[np.argmin(held[able].max(axis=1))])
            _move(has, left, held, row, late, spot)
            _move(has, left, held, other, spot, late)
            return int(spot)
    return None


def _move(has: BoolArray, left: IntArray, held: IntArray, row: int, start: int, end: int) -> None:
    has[row, start], has[row, end] = False, True
    left[start] += held[row]
    left[end] -= held[row]
