"""Lease terms (section 3.3.3): two lengths on one clock, times counted in leases; rewards and options.

Leases of a plan count from 1; lease k runs from (k - 1) T to k T after the boundary where the plan starts. Times are
whole seconds: runtimes are rounded up, deadlines down, and a deadline exactly on a boundary counts.

What completing by a deadline is worth (section 3.3.1, Fig. 3), a reward, is a falling step function of the completion
time: `(deadline, reward)` steps, and the smallest reward after the last deadline. Strict: one step; soft: several; best
effort: none, so that it is constant. Completing exactly at a deadline counts as meeting it.

What a job may run as (section 7, ours) is one accelerator type of several, one number of GPUs of a range. The paper
sketches both: a binary for the kind of GPU, and one for each number of GPUs in a range. An option is a pool
and a number of GPUs there. A pool is the nodes of one accelerator type and, where gangs are rounded up, of one size;
a gang is in one pool. A job keeps one option for a whole plan (ours: a change of type or size is a restart elsewhere),
and all its options are open again in the next one. `RL_io` follows from the speed of the option: the leases in which it
does the work that is left.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.base.errors import InputError
from workbench.papers.chronus.algorithms.consolidation import in_pieces, pieces, powers, round_up
from workbench.papers.chronus.knobs import MOST_S
from workbench.scenario.rewards import Steps


class AskedJob(NamedTuple):
    """One job by hand: GPUs, seconds left to run, `(deadline in s from the start, reward)` steps, arrival in s.

    runs: its options, which then count instead of GPUs and seconds.
    """

    gpus: int
    runtime_s: int
    steps: Sequence[Sequence[float]]
    arrival_s: int = 0
    guaranteed: bool = False
    runs: Sequence[AskedRun] = ()


ROUNDING_S = 1e-6
"""By how much a time that was computed may be beside the whole second that is meant."""


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """slo_s, be_s: seconds in a lease of guaranteed jobs and in one of the others.

    Raises InputError for lengths that are not whole seconds above 0, and for an SLO lease that is no multiple of the
    best-effort lease.
    """

    slo_s: int = 1200
    be_s: int = 300

    def __post_init__(self) -> None:
        check_lease("SLO lease", self.slo_s)
        check_lease("best-effort lease", self.be_s)
        if self.slo_s % self.be_s:
            raise InputError("SLO lease", self.slo_s, f"a multiple of the best-effort lease, {self.be_s} s")

    @property
    def ratio(self) -> int:
        """Best-effort leases in an SLO lease."""
        return self.slo_s // self.be_s


def check_lease(where: str, lease_s: object) -> int:
    """The length of a lease; raises InputError if it is not a whole number of seconds above 0."""
    if isinstance(lease_s, bool) or not isinstance(lease_s, (int, np.integer)) or not 0 < lease_s <= MOST_S:
        raise InputError(where, lease_s, f"a whole number of seconds from 1 to {MOST_S}")
    return int(lease_s)


def check_lengths(lease_s: int, reserved_s: int) -> None:
    """Raise InputError for a lease of a plan that is none, or of which no seconds are left beside those reserved."""
    check_lease("lease", lease_s)
    if not 0 <= reserved_s < lease_s:
        raise InputError("seconds of a lease kept for resuming", reserved_s, f"0 to {lease_s - 1}")


def seconds_up(time_s: npt.ArrayLike) -> IntArray:
    """Times rounded up to whole seconds, rounding of numbers allowed for."""
    return np.ceil(np.asarray(time_s, dtype=float) - ROUNDING_S).astype(np.int64)


def seconds_down(time_s: npt.ArrayLike) -> IntArray:
    """Times rounded down to whole seconds, rounding of numbers allowed for."""
    return np.floor(np.asarray(time_s, dtype=float) + ROUNDING_S).astype(np.int64)


def leases_needed(runtime_s: npt.ArrayLike, lease_s: int) -> IntArray:
    """RL: leases that whole seconds of running take."""
    return -(-np.asarray(runtime_s, dtype=np.int64) // lease_s)


def leases_before(deadline_s: npt.ArrayLike, lease_s: int) -> IntArray:
    """DL: leases that end by a deadline in whole seconds; below 1 for one that no lease meets."""
    return np.asarray(deadline_s, dtype=np.int64) // lease_s


def first_lease(arrival_s: npt.ArrayLike, lease_s: int) -> IntArray:
    """The first lease that begins at or after an arrival, 1 for who is there."""
    return np.maximum(leases_needed(arrival_s, lease_s), 0) + 1


def next_boundary(now_s: float, lease_s: int) -> float:
    """The first boundary of leases at or after a time; the clock starts at 0."""
    return float(max(0, int(leases_needed(seconds_up(now_s), lease_s))) * lease_s)


def check_steps(owner: str, steps: Iterable[Sequence[float]], lowest: float) -> None:
    """Raise InputError for steps that are no falling reward: deadlines rise, rewards do not, none is below `lowest`."""
    if not math.isfinite(lowest):
        raise InputError(f"{owner}, lowest reward", lowest, "a finite number")
    before, worth = -math.inf, math.inf
    for step in steps:
        if len(step) != 2 or not all(math.isfinite(number) for number in step):
            raise InputError(f"{owner}, step", list(step), "a (deadline in s, reward) pair of finite numbers")
        deadline_s, reward = step
        if deadline_s <= before:
            raise InputError(f"{owner}, deadline", deadline_s, f"deadlines that rise: above {before:g} s")
        if reward > worth:
            raise InputError(f"{owner}, reward", reward, f"rewards that do not increase with time: at most {worth:g}")
        before, worth = deadline_s, reward
    if worth < lowest:
        raise InputError(f"{owner}, reward", worth, f"at least the reward of a miss, {lowest:g}")


def check_plan_steps(jobs: Sequence[str], steps: Sequence[Steps], arrival_s: IntArray, lowest: float) -> FloatArray:
    """(steps x 2) the steps of all jobs; raises InputError for steps that are none of a plan: deadlines in whole
    seconds, none before the arrival."""
    if not math.isfinite(lowest) or set(map(len, chain.from_iterable(steps))) - {2}:
        found, right = np.zeros((0, 2)), False
    else:
        found = np.array(list(chain.from_iterable(steps)), dtype=float).reshape(-1, 2)
        right = _are_right(np.array(list(map(len, steps)), dtype=np.int64), found, arrival_s, lowest)
    if not right:  # a look at each tells which are wrong
        for name, arrival, own in zip(jobs, arrival_s.tolist(), steps, strict=True):
            check_steps(f"job {name}", own, lowest)
            for deadline, _ in own:
                if deadline != int(deadline):
                    raise InputError(f"job {name}, deadline", deadline, "whole seconds")
                if arrival > 0 and deadline < arrival:
                    raise InputError(f"job {name}, deadline", deadline, f"one after the arrival at {arrival} s")
    return found


def _are_right(count: IntArray, steps: FloatArray, arrival_s: IntArray, lowest: float) -> bool:
    """Whether all steps are; count: how many each job has."""
    deadline_s, worth = steps.T
    job = np.repeat(np.arange(len(count)), count)
    wrong = ~np.isfinite(worth) | (worth < lowest) | ~np.isfinite(deadline_s)
    wrong |= (deadline_s != np.rint(deadline_s)) | ((arrival_s[job] > 0) & (deadline_s < arrival_s[job]))
    wrong[1:] |= (job[1:] == job[:-1]) & ((np.diff(deadline_s) <= 0) | (np.diff(worth) > 0))
    return not wrong.any()


def whole_steps(rewards: Steps, shift_s: float) -> Steps:
    """Rewards with deadlines in whole seconds from the start of the plan; of equal ones the first, worth most."""
    at = seconds_down([deadline_s + shift_s for deadline_s, _ in rewards]).tolist()
    first = {deadline: reward for deadline, (_, reward) in reversed(list(zip(at, rewards, strict=True)))}
    return tuple((float(deadline), first[deadline]) for deadline in sorted(first))


class NodePool(NamedTuple):
    """The nodes of one accelerator type; node_gpus: those of so many GPUs, None: all, gangs are not rounded up."""

    accelerator: str = ""
    node_gpus: int | None = None

    @property
    def name(self) -> str:
        """As models and messages show it."""
        return self.accelerator if self.node_gpus is None else f"{self.accelerator} x{self.node_gpus}"


class Choice(NamedTuple):
    """What a job runs as in a plan: the pool, and GPUs as asked for, not rounded up."""

    accelerator: str
    node_gpus: int | None
    gpus: int


class AskedRun(NamedTuple):
    """An option by hand: number of its pool from 0, GPUs, seconds left to run as that."""

    pool: int
    gpus: int
    runtime_s: int


@dataclass(frozen=True, eq=False)
class JobOptions:
    """Options in the order of the jobs. Arrays are read-only, one entry for each option.

    job: whose it is, never falling; pool; gpus: as asked for; held: (options x limits) GPUs taken; runtime_s: whole
    seconds left.
    Raises InputError for arrays that do not belong together and for numbers that are not above 0.
    """

    job: IntArray
    pool: IntArray
    gpus: IntArray
    held: IntArray
    runtime_s: IntArray

    def __post_init__(self) -> None:
        for name in ("job", "pool", "gpus", "held", "runtime_s"):
            array = np.array(getattr(self, name), dtype=np.int64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
            if len(array) != len(self.job):
                raise InputError(f"options, {name}", len(array), f"{len(self.job)} numbers")
        if (np.diff(self.job) < 0).any():
            raise InputError("options, job", self.job.tolist(), "rows of jobs in their order")
        for name, least in (("gpus", 1), ("runtime_s", 1), ("pool", 0), ("held", 0)):
            array = getattr(self, name)
            if array.size and array.min() < least:
                raise InputError(f"options, {name}", int(array.min()), f"whole numbers >= {least}")

    def __len__(self) -> int:
        return len(self.job)

    def of(self, rows: IntArray) -> JobOptions:
        """The options of some of the jobs, which count from 0 in the order of `rows`."""
        starts, ends = np.searchsorted(self.job, rows), np.searchsorted(self.job, rows, side="right")
        own = np.concatenate([np.arange(start, end) for start, end in zip(starts, ends, strict=True)] or [rows])
        job = np.repeat(np.arange(len(rows)), ends - starts)
        return JobOptions(job, self.pool[own], self.gpus[own], self.held[own], self.runtime_s[own])


class Limits(NamedTuple):
    """What pools have: the size h of the pieces that each limit counts and its pool; (rows x limits) M_kh."""

    sizes: tuple[int, ...]
    pool: tuple[int, ...]
    capacity: IntArray

    def held(self, pools: tuple[NodePool, ...], pool: IntArray, gpus: IntArray) -> IntArray:
        """(options x limits) what gangs take in their pools."""
        taken = np.zeros((len(gpus), len(self.sizes)), dtype=np.int64)
        for number, of in enumerate(pools):
            own, columns = np.flatnonzero(pool == number), np.flatnonzero(np.array(self.pool) == number)
            sizes = tuple(self.sizes[column] for column in columns.tolist())
            taken[np.ix_(own, columns)] = taken_in(of.node_gpus, gpus[own], sizes)
        return taken


def limits_of(pools: tuple[NodePool, ...], free: IntArray) -> Limits:
    """The limits of pools; free: (rows x pools) GPUs."""
    parts = [offered(pool.node_gpus, free[:, number]) for number, pool in enumerate(pools)]
    sizes = tuple(size for own, _ in parts for size in own)
    return Limits(
        sizes,
        tuple(number for number, (own, _) in enumerate(parts) for _ in own),
        np.hstack([capacity for _, capacity in parts]) if parts else np.zeros((len(free), 0), dtype=np.int64),
    )


def offered(node_gpus: int | None, free: IntArray) -> tuple[tuple[int, ...], IntArray]:
    """The sizes h and (rows x sizes) M_kh of free GPUs row by row.

    node_gpus: gangs are rounded up for nodes of that size (6), None: as printed in (3). GPUs beyond whole nodes count
    as pieces of their own.
    """
    if node_gpus is None:
        return (1,), free[:, None]
    sizes = powers(node_gpus)
    whole, rest = np.divmod(free, node_gpus)
    of_a_node = np.array([sum(piece for piece in pieces(node_gpus) if piece >= size) for size in sizes])
    beyond = np.array(
        [[sum(p for p in pieces(int(left)) if p >= size) if left else 0 for size in sizes] for left in rest.tolist()]
    ).reshape(len(rest), len(sizes))
    return sizes, whole[:, None] * of_a_node + beyond


def taken_in(node_gpus: int | None, gangs: IntArray, sizes: tuple[int, ...]) -> IntArray:
    """(gangs x sizes) g_ih, for gangs as asked for."""
    if node_gpus is None:
        return gangs[:, None]
    own, of = np.unique(gangs, return_inverse=True)
    rounded = np.array([round_up(gang, node_gpus) for gang in own.tolist()], dtype=np.int64)
    return in_pieces(rounded, node_gpus, sizes)[of]


def first_of(job: IntArray, jobs: int, *keys: IntArray | BoolArray) -> IntArray:
    """(jobs,) the row of the option of each job that comes first by these keys, the first key counting most."""
    order = np.lexsort((*reversed(keys), job))
    _, first = np.unique(job[order], return_index=True)
    if len(first) != jobs:
        raise InputError("options", f"those of {len(first)} jobs", f"at least one for each of {jobs}")
    return order[first]
