"""A plan: which leases each job has; checked, shifted to the left, carried on, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from workbench.papers.chronus.instance import Instance, Leases
from workbench.papers.chronus.options import Choice
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Result
from workbench.scheduling.decision import BoolArray, IntArray
from workbench.scheduling.solvers import SolverFailedError


@dataclass(frozen=True, eq=False)
class LeasePlan:
    """has: (jobs x leases) x_ki, whether a job has lease k + 1.

    Raises SolverFailedError, in the name of `owner`, for a plan that breaks a limit: more GPUs than a lease has (3, 6),
    a lease before the arrival, a job with part of its leases (4), a guaranteed job without any (5).
    """

    instance: Instance
    has: BoolArray
    owner: str = "chronus.leases"

    def __post_init__(self) -> None:
        data = self.instance
        has = np.array(self.has, dtype=bool).reshape(len(data.jobs), data.leases)
        has.setflags(write=False)
        object.__setattr__(self, "has", has)
        over = np.argwhere(has.T.astype(np.int64) @ data.held > data.free)
        if len(over):
            lease = int(over[0][0])
            used = (has[:, lease] @ data.held).tolist()
            self._fail(f"{used} GPUs in lease {lease + 1}", f"at most {data.free[lease].tolist()}")
        early = has & (np.arange(1, data.leases + 1) < data.first[:, None])
        if early.any():
            self._fail("a lease before the arrival", f"none for job {data.jobs[int(np.argwhere(early)[0][0])]}")
        count = has.sum(axis=1)
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
    def completion(self) -> IntArray:
        """(jobs,) the last lease of a job, 0 for one that has none."""
        numbers = np.where(self.has, np.arange(1, self.instance.leases + 1), 0)
        completion: IntArray = numbers.max(axis=1, initial=0)
        return completion

    @cached_property
    def step(self) -> IntArray:
        """(jobs,) the first deadline, from 0, that a job meets; -1 for none."""
        met = [
            int(np.searchsorted(by, done)) if done and len(by) and by[-1] >= done else -1
            for by, done in zip(self.instance.by, self.completion.tolist(), strict=True)
        ]
        return np.array(met, dtype=np.int64)

    @cached_property
    def earned(self) -> FloatArray:
        """(jobs,) the reward of each job."""
        miss = self.instance.miss_reward
        pairs = zip(self.instance.rewards, self.step.tolist(), strict=True)
        return np.array([float(rewards[step]) if step >= 0 else miss for rewards, step in pairs])

    @property
    def objective(self) -> float:
        """(1): the sum of the rewards."""
        return float(self.earned.sum())

    @cached_property
    def left(self) -> IntArray:
        """(leases x sizes) GPUs that no job has."""
        return self.instance.free - self.has.T.astype(np.int64) @ self.instance.held

    @cached_property
    def shifted_left(self) -> LeasePlan:
        """The plan with each job's last lease moved to the first that has room, lease by lease, jobs in their order."""
        data, has, left = self.instance, np.array(self.has), np.array(self.left)
        last = np.array(self.completion)
        for lease in range(data.leases):
            able = np.flatnonzero(~has[:, lease] & (last > lease + 1) & (data.first <= lease + 1))
            for row in able.tolist():
                if (data.held[row] <= left[lease]).all():
                    late = int(last[row]) - 1
                    has[row, late], has[row, lease] = False, True
                    left[lease] -= data.held[row]
                    left[late] += data.held[row]
                    last[row] = int(np.flatnonzero(has[row])[-1]) + 1
        return LeasePlan(data, has, self.owner)

    @property
    def leases(self) -> dict[str, tuple[int, ...]]:
        """The leases, from 1, of the jobs that have some."""
        return {
            name: tuple((np.flatnonzero(own) + 1).tolist())
            for name, own in zip(self.instance.jobs, self.has, strict=True)
            if own.any()
        }

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


def of_leases(instance: Instance, leases: Leases, owner: str = "chronus.leases") -> LeasePlan:
    """The plan in which jobs have these leases, those not named none."""
    has = np.zeros((len(instance.jobs), instance.leases), dtype=bool)
    at = {name: row for row, name in enumerate(instance.jobs)}
    for name, own in leases.items():
        if any(not 1 <= lease <= instance.leases for lease in own):
            raise SolverFailedError(owner, f"leases {list(own)} of job {name}", f"leases from 1 to {instance.leases}")
        has[at[name], np.array(own, dtype=np.int64) - 1] = True
    return LeasePlan(instance, has, owner)


def carried_on(leases: Leases, passed: int = 1) -> dict[str, tuple[int, ...]]:
    """A plan of earlier, `passed` leases later: what is over is gone, and so are the jobs that had all their leases."""
    later = {name: tuple(lease - passed for lease in own if lease > passed) for name, own in leases.items()}
    return {name: own for name, own in later.items() if own}


def still_holds(instance: Instance, leases: Leases) -> LeasePlan | None:
    """The plan that gives jobs the leases of an earlier one, as far as it goes; None if a guaranteed job then misses.

    A job that needs fewer leases than it had keeps the first ones. One that needs more, whose leases no longer fit, or
    that meets no deadline with them gets none.
    """
    has = np.zeros((len(instance.jobs), instance.leases), dtype=bool)
    left = np.array(instance.free)
    order = np.argsort(~instance.guaranteed, kind="stable")
    for row in order.tolist():
        own = np.array(leases.get(instance.jobs[row], ()), dtype=np.int64)
        own = np.sort(own)[: instance.needed[row]] - 1
        fine = len(own) == instance.needed[row] and own[-1] < instance.last[row] and own[0] >= instance.first[row] - 1
        if fine and (left[own] >= instance.held[row]).all():
            has[row, own] = True
            left[own] -= instance.held[row]
        elif instance.guaranteed[row]:
            return None
    return LeasePlan(instance, has)


def nothing(instance: Instance, owner: str = "chronus.leases") -> LeasePlan:
    """The plan in which no job has a lease; raises SolverFailedError if one is guaranteed."""
    return LeasePlan(instance, np.zeros((len(instance.jobs), instance.leases), dtype=bool), owner)
