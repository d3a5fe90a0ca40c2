"""What every policy of Gavel divides: jobs, pairs of jobs and placed types (section 3.1), read from a snapshot.

A *combination* k is a job alone or a pair that shares its GPUs; a *placed type* j is an accelerator type or, where
placement counts, one of its two placements, which share its GPUs. An allocation X is a (combinations x placed types)
array of shares of time: first the jobs in their order, then the pairs. A policy that reads more than the class
`AllocationInstance` has its numbers in a subclass, which `from_snapshot` reads as well.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import BoolArray, FloatArray, IntArray, fixed, shaped
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.placed_types import accelerators_of, placed_types, speeds
from workbench.baselines.mechanisms.priority.knobs import AUTHORS_ORDER
from workbench.scenario.job import Job
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import PlacedType, Unit, unit_name
from workbench.scheduling.reference_shares import equal_share, isolated_share
from workbench.scheduling.snapshot import Snapshot


class ShareEntries(NamedTuple):
    """The entries of X that may exceed 0, row by row: positions of combination and placed type.

    job, entry, steps_per_s: what an entry adds to the throughput of a job in it (pairs count for two jobs); of each of
    the jobs that it stands for, if it stands for several.
    """

    combination: IntArray
    kind: IntArray
    job: IntArray
    entry: IntArray
    steps_per_s: FloatArray


class Merged(NamedTuple):
    """That each job of an instance stands for several equal ones (`equal_jobs.merge`).

    of: (jobs,) for how many; units: names of the combinations, for pairs those of one pair of each group.
    """

    of: FloatArray
    units: tuple[Unit, ...]


@dataclass(frozen=True, eq=False)
class AllocationInstance:
    """The numbers of one allocation.

    speed: (jobs x types) steps/s of the whole gang, 0 where it cannot run; weight, gang: (jobs,) weight and GPUs;
    capacity: (accelerators,) GPUs; pairs: (pairs x 2) positions of two jobs with equal gangs; pair_speed: (pairs x 2 x
    types) steps/s of both members, 0 where they may not share; accelerators: names of the accelerator types, and
    accelerator: (types,) the position of each placed type's own, by default one for each; fair: (jobs,) P_m where it is
    not that of `speed`. A subclass adds numbers by job, which `by_job` names. Raises InputError that names the job or
    type: for a number that is missing, not finite or out of range, and for a job that can run nowhere.

    merged: where each job stands for several equal ones. X is then their time together, of which each has the same
    part, all their time is their number, and a pair may be of two jobs that one stands for.
    """

    jobs: tuple[str, ...]
    types: tuple[str, ...]
    speed: FloatArray
    weight: FloatArray
    gang: FloatArray
    capacity: FloatArray
    pairs: IntArray = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64), kw_only=True)
    pair_speed: FloatArray = field(default_factory=lambda: np.zeros((0, 2, 0)), kw_only=True)
    accelerators: tuple[str, ...] = field(default=(), kw_only=True)
    accelerator: IntArray | None = field(default=None, kw_only=True)
    fair: FloatArray | None = field(default=None, kw_only=True)
    merged: Merged | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        alone = self.accelerator is None
        object.__setattr__(self, "accelerators", self.types if alone else self.accelerators)
        of = np.array(range(len(self.types)) if alone else self.accelerator, dtype=np.int64)
        object.__setattr__(self, "accelerator", fixed(of))
        jobs, types = (len(self.jobs),), (len(self.types),)
        self.shaped("speed", jobs + types)
        self.shaped("pair_speed", (len(self.pairs), 2, *types))
        self.shaped("capacity", (len(self.accelerators),))
        for name in ("weight", "gang", *(("fair",) if self.fair is not None else ()), *self.by_job()):
            self.shaped(name, jobs)
        for name, names in (("jobs", self.jobs), ("types", self.types)):
            if len(set(names)) < len(names):
                raise InputError(f"allocation, {name}", names, "names that differ")
        self.check_numbers("speed", self.speed >= 0, "a number of steps/s >= 0")
        self.check_numbers("weight", self.weight > 0, "a number > 0")
        self.check_numbers("gang", self.gang >= 1, "a number of GPUs >= 1")
        self.check_numbers("capacity", self.capacity >= 0, "a number of GPUs >= 0")
        self._check_pairs()
        stuck = ~self.can_run.any(axis=1)
        if stuck.any():
            row = int(np.flatnonzero(stuck)[0])
            found = dict(zip(self.types, self.speed[row].tolist(), strict=True))
            raise InputError(f"job {self.jobs[row]}, speed", found, "a type with GPUs on which the job can run")

    @classmethod
    def by_job(cls) -> tuple[str, ...]:
        """Names of the fields with one number a job that a subclass adds."""
        return ()

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot, knobs: Knobs, rows: npt.ArrayLike | None = None) -> Self:
        """The numbers of the jobs at some positions, by default of all; a snapshot has them in the order of arrival.

        A type on which a job's gang does not fit is one on which it cannot run. Knobs `space_sharing` (pairs of jobs)
        and `placement_sensitive` (placed types by placement) count.
        """
        chosen = np.arange(len(snapshot.jobs)) if rows is None else np.asarray(rows, dtype=np.int64)
        return cls(**cls.numbers(snapshot, knobs, chosen))

    @classmethod
    def numbers(cls, snapshot: Snapshot, knobs: Knobs, rows: IntArray) -> dict[str, Any]:
        """The fields by name, of a snapshot's jobs at the positions `rows`; a subclass adds its own."""
        names = snapshot.jobs.names
        kinds = placed_types(snapshot.cluster, knobs)
        found: dict[str, Any] = {
            "jobs": tuple(names[row] for row in rows.tolist()),
            "types": tuple(kind.name for kind in kinds),
            "speed": _runnable(snapshot, knobs)[rows],
            "weight": snapshot.jobs.weight[rows],
            "gang": snapshot.jobs.gpus[rows].astype(float),
            "capacity": snapshot.capacity.astype(float),
            "accelerators": snapshot.types,
            "accelerator": accelerators_of(kinds, snapshot.types),
        }
        if knobs.get("space_sharing", False):
            found["pairs"], found["pair_speed"] = candidates(snapshot, rows, kinds, found["speed"])
            found["pair_speed"] = _together(found["pair_speed"], kinds)
        found["speed"] = _together(found["speed"][:, None, :], kinds)[:, 0, :]
        return found

    def shaped(self, name: str, shape: tuple[int, ...]) -> None:
        """Make a field a read-only array of numbers of that shape; raises InputError if it has another."""
        object.__setattr__(self, name, fixed(shaped(getattr(self, name), shape, f"allocation, {name}")))

    def check_numbers(self, name: str, good: BoolArray, expected: str, *, infinite: bool = False) -> None:
        """Raise InputError for the first number of a field that is not good, or (unless `infinite`) not finite."""
        array: npt.NDArray[Any] = getattr(self, name)
        good = good & (~np.isnan(array) if infinite else np.isfinite(array))
        if not good.all():
            spot = tuple(np.argwhere(~good)[0].tolist())
            where = f"type {self.accelerators[spot[0]]}" if name == "capacity" else f"job {self.jobs[spot[0]]}"
            on = f" on {self.types[spot[1]]}" if len(spot) > 1 else ""
            raise InputError(f"{where}, {name}{on}", float(array[spot]), expected)

    def _check_pairs(self) -> None:
        pairs = fixed(np.array(self.pairs, dtype=np.int64).reshape(-1, 2))
        object.__setattr__(self, "pairs", pairs)
        if not len(pairs) or self.merged is not None:
            return
        outside = ((pairs < 0) | (pairs >= len(self.jobs))).any(axis=1) | (pairs[:, 0] == pairs[:, 1])
        if outside.any():
            raise InputError("allocation, pairs", pairs[outside][0].tolist(), "positions of two different jobs")
        apart = self.gang[pairs[:, 0]] != self.gang[pairs[:, 1]]
        if apart.any():
            first, second = pairs[apart][0].tolist()
            name = unit_name((self.jobs[first], self.jobs[second]))
            gangs = (float(self.gang[first]), float(self.gang[second]))
            raise InputError(f"pair {name}, gang", gangs, "two jobs with equally many GPUs")
        keys = np.sort(pairs.min(axis=1) * len(self.jobs) + pairs.max(axis=1))
        twice = keys[1:][keys[1:] == keys[:-1]]
        if len(twice):
            raise InputError("allocation, pairs", list(divmod(int(twice[0]), len(self.jobs))), "each pair once")
        if not (np.isfinite(self.pair_speed).all() and (self.pair_speed >= 0).all()):
            raise InputError("allocation, pair_speed", float(self.pair_speed.min()), "finite numbers of steps/s >= 0")

    @property
    def accelerator_of(self) -> IntArray:
        """(types,) position of each placed type's accelerator type."""
        assert self.accelerator is not None
        return self.accelerator

    @cached_property
    def can_run(self) -> BoolArray:
        """(jobs x types) whether the job has a speed there and there are GPUs."""
        return fixed((self.speed > 0) & (self.capacity > 0)[self.accelerator_of][None, :])

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The combinations: the jobs, then the pairs."""
        if self.merged is not None:
            return self.merged.units
        return (*self.jobs, *((self.jobs[first], self.jobs[second]) for first, second in self.pairs.tolist()))

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the jobs in each combination."""
        return (*((row,) for row in range(len(self.jobs))), *map(tuple, self.pairs.tolist()))

    @property
    def count(self) -> FloatArray:
        """(jobs,) how many jobs each stands for, which is all of their time."""
        return np.ones(len(self.jobs)) if self.merged is None else self.merged.of

    @cached_property
    def limit(self) -> FloatArray:
        """(combinations x types) the most that X may be: all of the time, 0 where the combination cannot run."""
        pairs = self.count[self.pairs].min(axis=1) if len(self.pairs) else np.zeros(0)
        return fixed(np.where(self.allowed, np.concatenate([self.count, pairs])[:, None], 0.0))

    @cached_property
    def unit_gang(self) -> FloatArray:
        """(combinations,) GPUs; both members of a pair use the same ones, which therefore count once."""
        return fixed(np.concatenate([self.gang, self.gang[self.pairs[:, 0]]]))

    @cached_property
    def allowed(self) -> BoolArray:
        """(combinations x types) whether X may exceed 0: every member has a speed there and there are GPUs."""
        open_types = (self.capacity > 0)[self.accelerator_of]
        return fixed(np.concatenate([self.can_run, (self.pair_speed > 0).all(axis=1) & open_types[None, :]]))

    @cached_property
    def entries(self) -> ShareEntries:
        """The entries of X that may exceed 0, and what each adds to the throughput of its jobs."""
        combination, kind = np.nonzero(self.allowed)
        alone = combination < len(self.jobs)
        single, paired = np.flatnonzero(alone), np.flatnonzero(~alone)
        pair = combination[paired] - len(self.jobs)
        job = np.concatenate([combination[single], self.pairs[pair, 0], self.pairs[pair, 1]])
        entry = np.concatenate([single, paired, paired])
        speeds = [self.speed[combination[single], kind[single]]]
        speeds += [self.pair_speed[pair, member, kind[paired]] for member in (0, 1)]
        speed = np.concatenate(speeds)
        if self.merged is not None:
            within = np.flatnonzero(self.pairs[pair, 0] == self.pairs[pair, 1]) + len(single)
            speed[within] += speed[within + len(paired)]
            kept = np.ones(len(job), dtype=bool)
            kept[within + len(paired)] = False
            job, entry, speed = job[kept], entry[kept], speed[kept] / self.merged.of[job[kept]]
        return ShareEntries(combination, kind, job, entry, speed)

    @cached_property
    def equal(self) -> FloatArray:
        """(jobs,) P_m, steps/s under an equal share of every GPU.

        Of an accelerator type's placed types the first on which the job runs counts: consolidated before spread.
        """
        if self.fair is not None:
            return self.fair
        speed = np.zeros((len(self.jobs), len(self.capacity)))
        for kind, accelerator in reversed(list(enumerate(self.accelerator_of.tolist()))):
            here = self.speed[:, kind]
            speed[:, accelerator] = np.where(here > 0, here, speed[:, accelerator])
        # Not a matrix product, whose rounding may differ between equal rows.
        return fixed((speed * equal_share(self.capacity)).sum(axis=1))

    @property
    def scale(self) -> FloatArray:
        """(jobs,) `z_m / (w_m P_m)`: what one step/s adds to a job's weighted normalised throughput."""
        return self.gang / (self.weight * self.equal)

    def throughput(self, shares: FloatArray) -> FloatArray:
        """(jobs,) effective throughput in steps/s of (combinations x types) shares (section 3.1)."""
        entries = self.entries
        gained = shares[entries.combination, entries.kind][entries.entry] * entries.steps_per_s
        return np.bincount(entries.job, gained, minlength=len(self.jobs)).astype(float)

    def normalised(self, shares: FloatArray) -> FloatArray:
        """(jobs,) `throughput(m, X) / P_m`, 1."""
        return self.throughput(shares) / np.where(self.equal > 0, self.equal, 1.0)

    def job_time(self, shares: FloatArray) -> FloatArray:
        """(jobs,) share of its time that each job runs, alone or in a pair."""
        time = shares.sum(axis=1)
        total: FloatArray = time[: len(self.jobs)].copy()
        for spot in (0, 1) if len(self.pairs) else ():
            np.add.at(total, self.pairs[:, spot], time[len(self.jobs) :])
        return total

    def used(self, shares: FloatArray) -> FloatArray:
        """(accelerators,) GPUs in use on average; a pair's count once."""
        return np.bincount(self.accelerator_of, self.unit_gang @ shares, minlength=len(self.capacity)).astype(float)

    def agnostic(self, reference: str = "") -> Self:
        """The data as a policy sees them that does not know the types apart: one speed for each job.

        reference: the type whose speed that is (a job that cannot run there takes the mean); empty: the mean over the
        types where it can run, by their GPUs, each accelerator type counted once (consolidated, for jobs that can
        run so). P_m is that speed too. A pair's member has the job's one speed, times what it keeps of its speed alone
        in the pair, on the reference or as the mean over the pair's types: so it never seems faster than alone only
        because the pair's types are fast ones.
        """
        if reference and reference not in self.types:
            raise InputError("reference", reference, "one of " + ", ".join(self.types))
        column = self.types.index(reference) if reference else None
        by_type = self.capacity[self.accelerator_of]
        first = np.array(
            [accelerator not in self.accelerator_of[:kind] for kind, accelerator in enumerate(self.accelerator_of)],
            dtype=bool,
        )

        def one(speed: FloatArray, able: BoolArray) -> FloatArray:
            counted = np.where((able & first).any(axis=-1, keepdims=True), able & first, able)
            weight = counted * by_type
            total = weight.sum(axis=-1)
            mean = (speed * weight).sum(axis=-1) / np.where(total > 0, total, 1.0)
            if column is not None:
                mean = np.where(able[..., column], speed[..., column], mean)
            flat: FloatArray = mean[..., None] * able
            return flat

        speed = one(self.speed, self.can_run)
        fair = speed.max(axis=1, initial=0.0)
        able = np.broadcast_to(self.allowed[len(self.jobs) :, None, :], self.pair_speed.shape)
        pair_speed = fair[self.pairs][:, :, None] * one(self.kept, able)
        return replace(self, speed=speed, pair_speed=pair_speed, fair=fair)

    @property
    def kept(self) -> FloatArray:
        """(pairs x 2 x types) part of its speed alone that each member keeps in the pair.

        Of P_m where the job cannot run alone.
        """
        alone = np.where(self.can_run, self.speed, self.equal[:, None])
        return self.pair_speed / alone[self.pairs]

    def relative(self) -> Self:
        """The same with every job's speeds as multiples of its P_m, which is then 1: more jobs are equal this way."""
        pair_speed = self.pair_speed / self.equal[self.pairs][:, :, None]
        return self.with_numbers(
            speed=self.speed / self.equal[:, None], pair_speed=pair_speed, fair=np.ones(len(self.jobs))
        )

    def at(self, **changed: Any) -> Self:
        """The same with other values of fields on which nothing that was worked out depends; they are not checked."""
        found = copy(self)
        for name, value in changed.items():
            object.__setattr__(found, name, fixed(value) if isinstance(value, np.ndarray) else value)
        return found

    def with_numbers(self, **changed: Any) -> Self:
        """The same with other fields, made of checked numbers, which need no second check."""
        found = self.at(**changed)
        for name in found.__dict__.keys() - found.__dataclass_fields__.keys():
            del found.__dict__[name]  # what was worked out
        return found

    def only(self, rows: npt.ArrayLike, part: float = 1.0) -> Self:
        """The data of some jobs (positions) and of the pairs among them, on `part` of the GPUs."""
        chosen = np.asarray(rows, dtype=np.int64)
        at = np.full(len(self.jobs), -1)
        at[chosen] = np.arange(len(chosen))
        kept = (at[self.pairs] >= 0).all(axis=1)
        numbers = {name: getattr(self, name)[chosen] for name in ("speed", "weight", "gang", *self.by_job())}
        return replace(
            self,
            jobs=tuple(self.jobs[row] for row in chosen.tolist()),
            capacity=self.capacity * part,
            pairs=at[self.pairs[kept]],
            pair_speed=self.pair_speed[kept],
            fair=None if self.fair is None else self.fair[chosen],
            **numbers,
        )

    def column(self, values: npt.NDArray[Any]) -> dict[str, float]:
        """{job: value} of (jobs,) values."""
        return dict(zip(self.jobs, values.tolist(), strict=True))

    def given(self, values: npt.NDArray[Any]) -> dict[str, float]:
        """{job: value} of the (jobs,) values that are not NaN."""
        return {job: value for job, value in self.column(values).items() if not math.isnan(value)}

    def table(self, values: npt.NDArray[Any]) -> dict[tuple[str, str], float]:
        """{(combination, type): value} of (combinations x types) values; a pair is "a + b"."""
        return dict(
            zip(itertools.product(map(unit_name, self.units), self.types), values.ravel().tolist(), strict=True)
        )


LEAST_PART = 1e-12
"""A job whose fastest type does it within this part of the isolated makespan counts as needing this part: solvers
cannot tell numbers apart that differ by more. n such jobs make the makespan longer by at most n of these parts."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StepsInstance(AllocationInstance):
    """The numbers of an allocation, and steps: (jobs,) remaining steps, > 0. Raises InputError that names the job.

    makespan_s: that a bisection tries (in the unit of time of the speeds); None: one that can be kept.
    """

    steps: FloatArray
    makespan_s: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_numbers("steps", self.steps > 0, "a number of steps > 0")

    @classmethod
    def by_job(cls) -> tuple[str, ...]:
        return (*super().by_job(), "steps")

    @classmethod
    def numbers(cls, snapshot: Snapshot, knobs: Knobs, rows: IntArray) -> dict[str, Any]:
        return {**super().numbers(snapshot, knobs, rows), "steps": snapshot.jobs.steps_left[rows]}

    def in_parts(self, unit_s: float) -> Self:
        """The same with speeds in parts of the steps left (at least `LEAST_PART`) per `unit_s`; without weights."""
        return self._counted(self._steps(), unit_s)

    def in_units(self, unit_s: float) -> Self:
        """The same with each job's steps counted in the power of 2 next to those that are left (at least `LEAST_PART`),
        and time in `unit_s`; without weights. Exact where that is a power of 2 too, and speeds stay as they are while
        steps are done, but where another power comes next."""
        return self._counted(next_power_of_2(self._steps()), unit_s)

    def _steps(self) -> FloatArray:
        isolated_s = float((self.steps / isolated_throughput(self)).max())
        steps: FloatArray = np.maximum(self.steps, fastest_throughput(self) * (isolated_s * LEAST_PART))
        return steps

    def _counted(self, unit: FloatArray, unit_s: float) -> Self:
        part = unit_s / unit
        return replace(
            self,
            speed=self.speed * part[:, None],
            pair_speed=self.pair_speed * part[self.pairs][:, :, None],
            weight=np.ones(len(self.jobs)),
            steps=self._steps() / unit,
        )


def next_power_of_2(numbers: FloatArray) -> FloatArray:
    """The powers of 2 whose orders of magnitude are nearest."""
    found: FloatArray = np.ldexp(1.0, np.round(np.log2(numbers)).astype(np.int64))
    return found


def isolated_throughput(data: AllocationInstance) -> FloatArray:
    """(jobs,) `throughput(m, X^iso)` in steps/s, > 0: every job owns `c_a / M` GPUs of each accelerator type.

    A gang of z_m runs `c_a / (M z_m)` of its time on them (`workbench.scheduling.reference_shares.isolated_share`),
    never in a pair; where placement counts, in whichever of a type's two placements it is faster.
    """
    speed = np.where(data.can_run, data.speed, 0.0)
    best = np.zeros((len(data.jobs), len(data.capacity)))
    for kind, accelerator in enumerate(data.accelerator_of.tolist()):
        best[:, accelerator] = np.maximum(best[:, accelerator], speed[:, kind])
    owned = isolated_share(data.capacity, data.gang, float(data.count.sum()))
    throughput: FloatArray = (best * owned).sum(axis=1)
    return throughput


def fastest_throughput(data: AllocationInstance) -> FloatArray:
    """(jobs,) steps/s that no allocation exceeds: the largest of a job's speeds, alone or in a pair."""
    most: FloatArray = np.where(data.can_run, data.speed, 0.0).max(axis=1, initial=0.0)
    together = np.where(data.allowed[len(data.jobs) :, None, :], data.pair_speed, 0.0).max(axis=2, initial=0.0)
    np.maximum.at(most, data.pairs, together)
    return most


def fields(data: AllocationInstance) -> dict[str, Any]:
    """The fields that `data` has as an `AllocationInstance`, whatever its class adds."""
    return {name: getattr(data, name) for name in AllocationInstance.__dataclass_fields__}


Data = TypeVar("Data", bound=AllocationInstance)


def _runnable(snapshot: Snapshot, knobs: Knobs) -> FloatArray:
    """(jobs x placed types) steps/s of each gang, 0 where it cannot run or exceeds the GPUs."""
    kinds = placed_types(snapshot.cluster, knobs)
    capacity = snapshot.capacity[accelerators_of(kinds, snapshot.types)]
    return np.where(snapshot.jobs.gpus[:, None] <= capacity, speeds(snapshot, snapshot.jobs, kinds), 0.0)


GAIN = 1e-9
"""How far the sum of normalised speeds must exceed 1: below that it is rounding."""


def candidates(
    snapshot: Snapshot, rows: IntArray, kinds: tuple[PlacedType, ...], speed: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Pairs of the jobs at the positions `rows` that may share their GPUs (space sharing), and their speeds.

    A pair (k) of two jobs with equally many GPUs is kept on placed type j if it gains there:

        T^a_kj / T_aj + T^b_kj / T_bj > 1

    Leaving out the others costs nothing: where the sum is at most 1, the two do as much in the pair's time one after
    the other, each alone on the same GPUs. The paper says "combinations that actually perform well", the rule is
    (ours).

    speed: (rows x placed types) steps/s alone. Returns (pairs x 2) positions in `rows`, in their order, and (pairs x 2
    x placed types) steps/s of both members, 0 where the pair may not share or does not gain. Beliefs are asked once for
    each two combinations of model and gang.
    """
    jobs = [snapshot.jobs.jobs[row] for row in rows.tolist()]
    gang = snapshot.jobs.gpus[rows]
    order: dict[tuple[str, int], int] = {}
    member = np.array(
        [order.setdefault((job.model, size), len(order)) for job, size in zip(jobs, gang.tolist(), strict=True)],
        dtype=np.int64,
    )
    _, first = np.unique(member, return_index=True)
    known, number = _pair_speeds(snapshot, [jobs[row] for row in first.tolist()], gang[first], kinds)
    one, two = np.triu_indices(len(jobs), 1)
    spot = number[member[one], member[two]]
    may = spot >= 0
    one, two, spot = one[may], two[may], spot[may]
    both = known[spot]
    turned = member[one] > member[two]
    both[turned] = both[turned, ::-1]
    alone = np.stack([speed[one], speed[two]], axis=1)
    part = np.divide(both, alone, out=np.zeros_like(both), where=alone > 0)
    gains = (part > 0).all(axis=1) & (part.sum(axis=1) > 1.0 + GAIN)
    kept = gains.any(axis=1)
    pairs = np.column_stack([one, two])[kept]
    return pairs, np.where(gains[kept][:, None, :], both[kept], 0.0)


def _pair_speeds(
    snapshot: Snapshot, jobs: list[Job], gang: IntArray, kinds: tuple[PlacedType, ...]
) -> tuple[FloatArray, IntArray]:
    """Speeds of the pairs of different configurations that may share on some type, and the (jobs x jobs) table of
    their numbers, -1 where there is none.

    Two jobs of one configuration are alike, neither is the first of the pair: each has the mean of both speeds.
    """
    number = np.full((len(jobs), len(jobs)), -1)
    found: list[list[tuple[float, float]]] = []
    places = [(kind.accelerator, kind.word) for kind in kinds]
    for a, one in enumerate(jobs):
        for b in (a + np.flatnonzero(gang[a:] == gang[a])).tolist():
            rates = [snapshot.belief.pair(one, jobs[b], name, word) or (0.0, 0.0) for name, word in places]
            if a == b:
                rates = [((x + y) / 2, (x + y) / 2) for x, y in rates]
            if any(min(pair) > 0 for pair in rates):
                number[a, b] = number[b, a] = len(found)
                found.append(rates)
    speeds = np.array(found, dtype=float).reshape(len(found), len(kinds), 2)
    return np.ascontiguousarray(speeds.transpose(0, 2, 1)), number


def able(snapshot: Snapshot, knobs: Knobs) -> IntArray:
    """Positions of the jobs that can run somewhere at present; a scheduler leaves the others out."""
    return np.flatnonzero((_runnable(snapshot, knobs) > 0).any(axis=1))


def _together(speed: FloatArray, kinds: Sequence[PlacedType]) -> FloatArray:
    """Speeds of combinations (combinations x members x placed types), 0 for spread where it changes nothing.

    Both placements draw on the same GPUs, so what is lost is only a choice between equals, which a solver would make
    at random: gangs that gain nothing from being spread stay together.
    """
    found = speed.copy()
    for column, kind in enumerate(kinds):
        if kind.placement == "unconsolidated":
            together = kinds.index(PlacedType(kind.accelerator, "consolidated"))
            found[(speed[:, :, column] == speed[:, :, together]).all(axis=1), :, column] = 0.0
    return found


def seen(data: Data, knobs: Knobs) -> Data:
    """The data with the speeds that the policy knows: each type's own, or one for all types.

    A `reference` that is one of the authors' types and none of this cluster's counts as none given. Raises InputError
    for any other that is no type, also where it plays no part.
    """
    reference = str(knobs.get("reference", ""))
    if reference not in ("", *data.types, *AUTHORS_ORDER):
        raise InputError("reference", reference, "one of " + ", ".join(data.types))
    if knobs.get("heterogeneity_aware", True):
        return data
    return data.agnostic(reference if reference in data.types else "")
