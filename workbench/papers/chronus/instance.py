"""The numbers of one plan: guaranteed jobs and those that would be, in leases from a boundary on (section 3.3.4).

A plan begins at a boundary of SLO leases; lease k = 1, 2, ... All times count from there: what is left of the runtime
(R_i), deadlines (D_pi) and arrivals. RL_i and DL_pi are these in leases. A job may run from the first lease that begins
at or after its arrival. What a lease offers and what a gang takes are counted for pieces of each size h, see
`round_up`; without rounding up, or on nodes of a power of two, h = 1 stands alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.decision import BoolArray, IntArray
from workbench.errors import InputError, counted
from workbench.papers.chronus.rewards import LOWEST, Steps, check_steps
from workbench.papers.chronus.round_up import in_pieces, pieces, powers, round_up
from workbench.papers.chronus.terms import check_lease, first_lease, leases_before, leases_needed
from workbench.solvers import InfeasibleError
from workbench.throughput import FloatArray

NAME = "chronus.leases"

Leases = Mapping[str, tuple[int, ...]]
"""The leases, from 1, of each job that has some."""


class Asked(NamedTuple):
    """One job by hand: GPUs, seconds left to run, `(deadline in s from the start, reward)` steps, arrival in s."""

    gpus: int
    runtime_s: int
    steps: Sequence[Sequence[float]]
    arrival_s: int = 0
    guaranteed: bool = False


@dataclass(frozen=True, eq=False)
class Instance:
    """One instance of (1)-(6). Arrays are read-only.

    lease_s: T, seconds; sizes: the powers h; capacity: (rows x sizes) M_kh, GPUs in pieces of at least h, the last row
    holds for all later leases; gpus: (jobs,) G_i as asked for; held: (jobs x sizes) g_ih, GPUs taken in pieces of at
    least h; runtime_s: (jobs,) R_i, whole seconds left; arrival_s: (jobs,) 0 or less for who is there; steps: of each
    job `(D_pi, V_pi)`, deadlines in whole seconds, below 0 if over; miss_reward: V_0; guaranteed: (jobs,) must meet one
    of its deadlines; reserved_s: seconds of each lease kept for resuming; start_s: when the plan begins; previous: the
    last plan in leases of this one, if there is one.
    Raises InputError naming job and field: names that repeat, numbers missing, not whole or out of range, deadlines
    before the arrival, rewards that increase with time or are below the reward of a miss.
    """

    jobs: tuple[str, ...]
    lease_s: int
    sizes: tuple[int, ...]
    capacity: IntArray
    gpus: IntArray
    held: IntArray
    runtime_s: IntArray
    arrival_s: IntArray
    steps: tuple[Steps, ...]
    guaranteed: BoolArray
    miss_reward: float = LOWEST
    reserved_s: int = 0
    start_s: float = 0.0
    previous: Leases = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_lease("lease", self.lease_s)
        if not 0 <= self.reserved_s < self.lease_s:
            raise InputError("seconds of a lease kept for resuming", self.reserved_s, f"0 to {self.lease_s - 1}")
        if not math.isfinite(self.start_s):
            raise InputError("start of the plan", self.start_s, "a finite time in s")
        if len(set(self.jobs)) < len(self.jobs):
            raise InputError("jobs of the plan", list(self.jobs), "names that differ")
        rows, columns = len(self.jobs), len(self.sizes)
        self._take("capacity", (max(1, len(np.asarray(self.capacity))), columns), 0)
        self._take("gpus", (rows,), 1)
        self._take("held", (rows, columns), 0)
        self._take("runtime_s", (rows,), 1)
        self._take("arrival_s", (rows,), None)
        guaranteed = np.array(self.guaranteed, dtype=bool).reshape(rows)
        guaranteed.setflags(write=False)
        object.__setattr__(self, "guaranteed", guaranteed)
        if len(self.steps) != rows:
            raise InputError("steps of the plan", len(self.steps), f"those of {rows} jobs")
        aimless = [row for row, steps in enumerate(self.steps) if guaranteed[row] and not steps]
        if aimless:
            raise InputError(f"job {self.jobs[aimless[0]]}, steps", [], "a deadline, as it is guaranteed")
        for name, arrival, steps in zip(self.jobs, self.arrival_s.tolist(), self.steps, strict=True):
            check_steps(f"job {name}", steps, self.miss_reward)
            for deadline, _ in steps:
                if deadline != int(deadline):
                    raise InputError(f"job {name}, deadline", deadline, "whole seconds")
                if arrival > 0 and deadline < arrival:
                    raise InputError(f"job {name}, deadline", deadline, f"one after the arrival at {arrival} s")

    def _take(self, name: str, shape: tuple[int, ...], least: int | None) -> None:
        """Make a field a read-only array of that shape, its numbers checked."""
        array = np.array(getattr(self, name), dtype=float)
        array = array.reshape(shape) if array.size == 0 and 0 in shape else array
        if array.shape != shape:
            raise InputError(f"plan, {name}", array.shape, f"an array of shape {shape}")
        bad = ~np.isfinite(array) | (array != np.rint(array)) | (np.abs(array) > 1e12)
        bad |= array < (-math.inf if least is None else least)
        if bad.any():
            spot = tuple(np.argwhere(bad)[0].tolist())
            owner = "plan" if name == "capacity" else f"job {self.jobs[spot[0]]}"
            limit = "" if least is None else f" >= {least}"
            raise InputError(f"{owner}, {name}", float(array[spot]), f"a whole number{limit}")
        whole = array.astype(np.int64)
        whole.setflags(write=False)
        object.__setattr__(self, name, whole)

    @classmethod
    def made(
        cls,
        gpus: int | Sequence[int],
        lease_s: int,
        asked: Sequence[Asked],
        *,
        node_gpus: int | None = None,
        miss_reward: float = LOWEST,
        names: Sequence[str] | None = None,
        reserved_s: int = 0,
        start_s: float = 0.0,
        previous: Leases | None = None,
    ) -> Instance:
        """An instance by hand: jobs `j0`, `j1`, ..., as they ask for GPUs.

        gpus: of the cluster, in every lease or lease by lease; node_gpus: round up to gangs that are friendly on such
        nodes (6).
        """
        free = np.atleast_1d(np.asarray(gpus, dtype=np.int64))
        gangs = np.array([job.gpus for job in asked], dtype=np.int64)
        sizes, capacity, held = limits(free, gangs, node_gpus)
        return cls(
            jobs=tuple(names) if names is not None else tuple(f"j{row}" for row in range(len(asked))),
            lease_s=lease_s,
            sizes=sizes,
            capacity=capacity,
            gpus=gangs,
            held=held,
            runtime_s=np.array([job.runtime_s for job in asked]),
            arrival_s=np.array([job.arrival_s for job in asked]),
            steps=tuple(tuple((float(step[0]), float(step[1])) for step in job.steps) for job in asked),
            guaranteed=np.array([job.guaranteed for job in asked], dtype=bool),
            miss_reward=miss_reward,
            reserved_s=reserved_s,
            start_s=start_s,
            previous=previous or {},
        )

    @cached_property
    def needed(self) -> IntArray:
        """(jobs,) RL_i; with `reserved_s` only the rest of a lease counts."""
        return _fixed(leases_needed(self.runtime_s, self.lease_s - self.reserved_s))

    @cached_property
    def first(self) -> IntArray:
        """(jobs,) the first lease that a job may have."""
        return _fixed(first_lease(self.arrival_s, self.lease_s))

    @cached_property
    def by(self) -> tuple[IntArray, ...]:
        """Of each job (steps,) DL_pi: the leases that end by each of its deadlines, 0 if none does."""
        return tuple(
            np.maximum(leases_before([deadline for deadline, _ in steps], self.lease_s), 0) for steps in self.steps
        )

    @cached_property
    def last(self) -> IntArray:
        """(jobs,) the last lease that a job may have: by its last deadline."""
        return _fixed(np.array([own[-1] if len(own) else 0 for own in self.by], dtype=np.int64))

    @cached_property
    def leases(self) -> int:
        """How many leases the plan looks at: to the last deadline of a job that could meet it."""
        able = self.possible
        return int(self.last[able].max(initial=0))

    @cached_property
    def free(self) -> IntArray:
        """(leases x sizes) M_kh of leases 1, 2, ..."""
        return _fixed(self.capacity[np.minimum(np.arange(self.leases), len(self.capacity) - 1)])

    @cached_property
    def _room(self) -> BoolArray:
        """(jobs x rows of capacity) whether a job fits beside nobody."""
        room: BoolArray = np.all(self.held[:, None, :] <= self.capacity[None, :, :], axis=2)
        return room

    @cached_property
    def fits(self) -> BoolArray:
        """(jobs,) whether the cluster ever has the GPUs of a job."""
        fits: BoolArray = np.any(self._room, axis=1)
        return fits

    @cached_property
    def open_leases(self) -> IntArray:
        """(jobs,) leases from the arrival to the last deadline that have the GPUs of a job."""
        rows = self._room.shape[1]
        before = np.hstack([np.zeros((len(self.jobs), 1), dtype=np.int64), np.cumsum(self._room[:, :-1], axis=1)])

        def until(lease: IntArray) -> IntArray:
            """Of leases 1, 2, ..., `lease`; those from the last row on are all alike."""
            own = np.arange(len(self.jobs))
            later = np.where(self._room[:, -1], np.maximum(0, lease - (rows - 1)), 0)
            found: IntArray = before[own, np.minimum(lease, rows - 1)] + later
            return found

        return _fixed(np.where(self.last < self.first, 0, until(self.last) - until(self.first - 1)))

    @cached_property
    def possible(self) -> BoolArray:
        """(jobs,) whether a job alone could meet its last deadline."""
        possible: BoolArray = self.open_leases >= self.needed
        return possible

    @cached_property
    def rewards(self) -> tuple[FloatArray, ...]:
        """Of each job (steps,) V_pi."""
        return tuple(np.array([reward for _, reward in steps]) for steps in self.steps)

    @cached_property
    def lost_to_rounding(self) -> tuple[str, ...]:
        """Jobs that would meet their last deadline on an empty cluster, but not in whole leases (RL > DL)."""
        return tuple(
            name
            for row, name in enumerate(self.jobs)
            if self.steps[row]
            and max(0, int(self.arrival_s[row])) + int(self.runtime_s[row]) <= self.steps[row][-1][0]
            and self.last[row] - self.first[row] + 1 < self.needed[row]
            and self.fits[row]
        )

    def with_jobs(self, rows: Sequence[int] | IntArray | BoolArray, *, guaranteed: bool | None = None) -> Instance:
        """The instance of some of the jobs; guaranteed: all of them, or none (None: as they are)."""
        chosen = np.arange(len(self.jobs))[np.asarray(rows)] if len(rows) else np.zeros(0, dtype=np.int64)
        certain = self.guaranteed[chosen] if guaranteed is None else np.full(len(chosen), guaranteed)
        return self._of(chosen, tuple(self.steps[row] for row in chosen.tolist()), certain)

    def with_deadline(self, row: int, lease: int) -> Instance:
        """The instance in which a job has one deadline only, at the end of that lease."""
        own = ((float(max(lease * self.lease_s, int(self.arrival_s[row]))), max(self._best(row), self.miss_reward)),)
        steps = (*self.steps[:row], own, *self.steps[row + 1 :])
        return self._of(np.arange(len(self.jobs)), steps, self.guaranteed)

    def with_last_deadlines(self) -> Instance:
        """The instance in which every job has its last deadline only."""
        return self._of(np.arange(len(self.jobs)), tuple(steps[-1:] for steps in self.steps), self.guaranteed)

    def with_guarantee(self, job: str, previous: Leases) -> Instance:
        """The instance in which that job is guaranteed too, and that plan is the last one."""
        certain = np.array(self.guaranteed)
        certain[self.jobs.index(job)] = True
        return replace(self, guaranteed=certain, previous=previous)

    def _best(self, row: int) -> float:
        return self.steps[row][0][1] if self.steps[row] else self.miss_reward

    def _of(self, rows: IntArray, steps: tuple[Steps, ...], guaranteed: BoolArray) -> Instance:
        names = tuple(self.jobs[row] for row in rows.tolist())
        return Instance(
            jobs=names,
            lease_s=self.lease_s,
            sizes=self.sizes,
            capacity=self.capacity,
            gpus=self.gpus[rows],
            held=self.held[rows],
            runtime_s=self.runtime_s[rows],
            arrival_s=self.arrival_s[rows],
            steps=steps,
            guaranteed=guaranteed,
            miss_reward=self.miss_reward,
            reserved_s=self.reserved_s,
            start_s=self.start_s,
            previous={name: self.previous[name] for name in names if name in self.previous},
        )

    def why_not(self, row: int) -> str:
        """Why a job cannot meet its last deadline even alone."""
        if not self.fits[row]:
            most = int(self.capacity[:, 0].max())
            rounded = f", rounded up to {self.held[row, 0]}," if self.held[row, 0] != self.gpus[row] else ""
            return f"its {self.gpus[row]} GPUs{rounded} are more than the {most} of the cluster"
        needed, there = counted(int(self.needed[row]), "lease"), self.open_leases[row]
        return f"it needs {needed} and has {there} before its last deadline"


def check_guaranteed(data: Instance) -> None:
    """Raise InfeasibleError if a guaranteed job would miss its last deadline even alone."""
    stuck = np.flatnonzero(data.guaranteed & ~data.possible)
    if len(stuck):
        row = int(stuck[0])
        raise InfeasibleError(NAME, f"guaranteed job {data.jobs[row]} cannot meet a deadline: {data.why_not(row)}")


def limits(free: IntArray, gangs: IntArray, node_gpus: int | None) -> tuple[tuple[int, ...], IntArray, IntArray]:
    """The sizes h, (rows x sizes) M_kh and (gangs x sizes) g_ih of free GPUs row by row, for gangs as asked for.

    node_gpus: round up for nodes of that size (6), None: as printed in (3). GPUs beyond whole nodes count as pieces of
    their own.
    """
    if node_gpus is None:
        return (1,), free[:, None], gangs[:, None]
    sizes = powers(node_gpus)
    whole, rest = np.divmod(free, node_gpus)
    of_a_node = np.array([sum(piece for piece in pieces(node_gpus) if piece >= size) for size in sizes])
    beyond = np.array(
        [[sum(p for p in pieces(int(left)) if p >= size) if left else 0 for size in sizes] for left in rest.tolist()]
    )
    rounded = np.array([round_up(int(gang), node_gpus) for gang in gangs.tolist()], dtype=np.int64)
    return sizes, whole[:, None] * of_a_node + beyond, in_pieces(rounded, node_gpus, sizes)


def _fixed(array: npt.NDArray[np.int64]) -> IntArray:
    array.setflags(write=False)
    return array
