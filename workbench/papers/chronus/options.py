"""What a job may run as (section 7, ours): one accelerator type of several, one number of GPUs of a range.

The paper sketches both: a binary for the kind of GPU, and one for each number of GPUs in a range. An option is a pool
and a number of GPUs there. A pool is the nodes of one accelerator type and, where gangs are rounded up, of one size;
a gang is in one pool. A job keeps one option for a whole plan (ours: a change of type or size is a restart elsewhere),
and all its options are open again in the next one. `RL_io` follows from the speed of the option: the leases in which it
does the work that is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from workbench.base.errors import InputError
from workbench.papers.chronus.round_up import in_pieces, pieces, powers, round_up
from workbench.scheduling.decision import BoolArray, IntArray


class Pool(NamedTuple):
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


class Run(NamedTuple):
    """An option by hand: number of its pool from 0, GPUs, seconds left to run as that."""

    pool: int
    gpus: int
    runtime_s: int


@dataclass(frozen=True, eq=False)
class Options:
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

    def of(self, rows: IntArray) -> Options:
        """The options of some of the jobs, which count from 0 in the order of `rows`."""
        starts, ends = np.searchsorted(self.job, rows), np.searchsorted(self.job, rows, side="right")
        own = np.concatenate([np.arange(start, end) for start, end in zip(starts, ends, strict=True)] or [rows])
        job = np.repeat(np.arange(len(rows)), ends - starts)
        return Options(job, self.pool[own], self.gpus[own], self.held[own], self.runtime_s[own])


class Limits(NamedTuple):
    """What pools have: the size h of the pieces that each limit counts and its pool; (rows x limits) M_kh."""

    sizes: tuple[int, ...]
    pool: tuple[int, ...]
    capacity: IntArray

    def held(self, pools: tuple[Pool, ...], pool: IntArray, gpus: IntArray) -> IntArray:
        """(options x limits) what gangs take in their pools."""
        taken = np.zeros((len(gpus), len(self.sizes)), dtype=np.int64)
        for number, of in enumerate(pools):
            own, columns = np.flatnonzero(pool == number), np.flatnonzero(np.array(self.pool) == number)
            sizes = tuple(self.sizes[column] for column in columns.tolist())
            taken[np.ix_(own, columns)] = taken_in(of.node_gpus, gpus[own], sizes)
        return taken


def limits_of(pools: tuple[Pool, ...], free: IntArray) -> Limits:
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
    rounded = np.array([round_up(int(gang), node_gpus) for gang in gangs.tolist()], dtype=np.int64)
    return in_pieces(rounded, node_gpus, sizes)


def first_of(job: IntArray, jobs: int, *keys: IntArray | BoolArray) -> IntArray:
    """(jobs,) the row of the option of each job that comes first by these keys, the first key counting most."""
    order = np.lexsort((*reversed(keys), job))
    _, first = np.unique(job[order], return_index=True)
    if len(first) != jobs:
        raise InputError("options", f"those of {len(first)} jobs", f"at least one for each of {jobs}")
    return order[first]
