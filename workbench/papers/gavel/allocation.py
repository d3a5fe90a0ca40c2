"""What every policy of Gavel divides: jobs, pairs of jobs and worker types (section 3.1), and a checked allocation.

A *combination* k is a job alone or a pair that shares its GPUs; a *worker type* j is an accelerator type or, where
placement counts, one of its two placements, which share its workers. An allocation X is a (combinations x worker types)
array of shares of time: first the jobs in their order, then the pairs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import fixed, shaped
from workbench.base.errors import InputError
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Result
from workbench.scheduling.decision import BoolArray, IntArray, Unit, unit_name
from workbench.scheduling.shares import equal_share
from workbench.scheduling.solvers import SolverFailedError

TOLERANCE = 1e-6
"""How far a solver may overstep a limit, relative to the limit (at least 1)."""


class Entries(NamedTuple):
    """The entries of X that may exceed 0, row by row: positions of combination and worker type.

    job, entry, steps_per_s: what an entry adds to the throughput of a job in it (pairs count for two jobs).
    """

    combination: IntArray
    kind: IntArray
    job: IntArray
    entry: IntArray
    steps_per_s: FloatArray


@dataclass(frozen=True, eq=False)
class AllocationData:
    """The numbers of one allocation.

    speed: (jobs x types) steps/s of the whole gang, 0 where it cannot run; weight, gang: (jobs,) weight and GPUs;
    workers: (accelerators,) GPUs; pairs: (pairs x 2) positions of two jobs with equal gangs; pair_speed: (pairs x 2 x
    types) steps/s of both members, 0 where they may not share; accelerators: names of the accelerator types, and
    accelerator: (types,) the position of each worker type's own, by default one for each; fair: (jobs,) P_m where it is
    not that of `speed`. A subclass adds numbers by job, which `by_job` names. Raises InputError that names the job or
    type: for a number that is missing, not finite or out of range, and for a job that can run nowhere.
    """

    jobs: tuple[str, ...]
    types: tuple[str, ...]
    speed: FloatArray
    weight: FloatArray
    gang: FloatArray
    workers: FloatArray
    pairs: IntArray = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64), kw_only=True)
    pair_speed: FloatArray = field(default_factory=lambda: np.zeros((0, 2, 0)), kw_only=True)
    accelerators: tuple[str, ...] = field(default=(), kw_only=True)
    accelerator: IntArray | None = field(default=None, kw_only=True)
    fair: FloatArray | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        alone = self.accelerator is None
        object.__setattr__(self, "accelerators", self.types if alone else self.accelerators)
        of = np.array(range(len(self.types)) if alone else self.accelerator, dtype=np.int64)
        object.__setattr__(self, "accelerator", fixed(of))
        jobs, types = (len(self.jobs),), (len(self.types),)
        self.shaped("speed", jobs + types)
        self.shaped("pair_speed", (len(self.pairs), 2, *types))
        self.shaped("workers", (len(self.accelerators),))
        for name in ("weight", "gang", *(("fair",) if self.fair is not None else ()), *self.by_job()):
            self.shaped(name, jobs)
        for name, names in (("jobs", self.jobs), ("types", self.types)):
            if len(set(names)) < len(names):
                raise InputError(f"allocation, {name}", names, "names that differ")
        self.check_numbers("speed", self.speed >= 0, "a number of steps/s >= 0")
        self.check_numbers("weight", self.weight > 0, "a number > 0")
        self.check_numbers("gang", self.gang >= 1, "a number of GPUs >= 1")
        self.check_numbers("workers", self.workers >= 0, "a number of GPUs >= 0")
        self._check_pairs()
        stuck = ~self.can_run.any(axis=1)
        if stuck.any():
            row = int(np.flatnonzero(stuck)[0])
            found = dict(zip(self.types, self.speed[row].tolist(), strict=True))
            raise InputError(f"job {self.jobs[row]}, speed", found, "a type with workers on which the job can run")

    @classmethod
    def by_job(cls) -> tuple[str, ...]:
        """Names of the fields with one number a job that a subclass adds."""
        return ()

    def shaped(self, name: str, shape: tuple[int, ...]) -> None:
        """Make a field a read-only array of numbers of that shape; raises InputError if it has another."""
        object.__setattr__(self, name, fixed(shaped(getattr(self, name), shape, f"allocation, {name}")))

    def check_numbers(self, name: str, good: BoolArray, expected: str, *, infinite: bool = False) -> None:
        """Raise InputError for the first number of a field that is not good, or (unless `infinite`) not finite."""
        array: npt.NDArray[Any] = getattr(self, name)
        good = good & (~np.isnan(array) if infinite else np.isfinite(array))
        if not good.all():
            spot = tuple(np.argwhere(~good)[0].tolist())
            where = f"type {self.accelerators[spot[0]]}" if name == "workers" else f"job {self.jobs[spot[0]]}"
            on = f" on {self.types[spot[1]]}" if len(spot) > 1 else ""
            raise InputError(f"{where}, {name}{on}", float(array[spot]), expected)

    def _check_pairs(self) -> None:
        pairs = fixed(np.array(self.pairs, dtype=np.int64).reshape(-1, 2))
        object.__setattr__(self, "pairs", pairs)
        if not len(pairs):
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
    def pool(self) -> IntArray:
        """(types,) position of each worker type's accelerator type."""
        assert self.accelerator is not None
        return self.accelerator

    @cached_property
    def can_run(self) -> BoolArray:
        """(jobs x types) whether the job has a speed there and there are workers."""
        return fixed((self.speed > 0) & (self.workers > 0)[self.pool][None, :])

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The combinations: the jobs, then the pairs."""
        return (*self.jobs, *((self.jobs[first], self.jobs[second]) for first, second in self.pairs.tolist()))

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the jobs in each combination."""
        return (*((row,) for row in range(len(self.jobs))), *map(tuple, self.pairs.tolist()))

    @cached_property
    def unit_gang(self) -> FloatArray:
        """(combinations,) GPUs; both members of a pair use the same ones, which therefore count once."""
        return fixed(np.concatenate([self.gang, self.gang[self.pairs[:, 0]]]))

    @cached_property
    def allowed(self) -> BoolArray:
        """(combinations x types) whether X may exceed 0: every member has a speed there and there are workers."""
        open_types = (self.workers > 0)[self.pool]
        return fixed(np.concatenate([self.can_run, (self.pair_speed > 0).all(axis=1) & open_types[None, :]]))

    @cached_property
    def entries(self) -> Entries:
        """The entries of X that may exceed 0, and what each adds to the throughput of its jobs."""
        combination, kind = np.nonzero(self.allowed)
        alone = combination < len(self.jobs)
        single, paired = np.flatnonzero(alone), np.flatnonzero(~alone)
        pair = combination[paired] - len(self.jobs)
        job = np.concatenate([combination[single], self.pairs[pair, 0], self.pairs[pair, 1]])
        speed = [self.speed[combination[single], kind[single]]]
        speed += [self.pair_speed[pair, member, kind[paired]] for member in (0, 1)]
        return Entries(combination, kind, job, np.concatenate([single, paired, paired]), np.concatenate(speed))

    @cached_property
    def equal(self) -> FloatArray:
        """(jobs,) P_m, steps/s under an equal share of every worker.

        Of an accelerator type's worker types the first on which the job runs counts: consolidated before spread.
        """
        if self.fair is not None:
            return self.fair
        speed = np.zeros((len(self.jobs), len(self.workers)))
        for kind, pool in reversed(list(enumerate(self.pool.tolist()))):
            here = self.speed[:, kind]
            speed[:, pool] = np.where(here > 0, here, speed[:, pool])
        # Not a matrix product, whose rounding may differ between equal rows.
        return fixed((speed * equal_share(self.workers)).sum(axis=1))

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
        return np.bincount(self.pool, self.unit_gang @ shares, minlength=len(self.workers)).astype(float)

    def agnostic(self, reference: str = "") -> Self:
        """The data as a policy sees them that does not know the types apart: one speed for each job.

        reference: the type whose speed that is (a job that cannot run there takes the mean); empty: the mean over the
        types where it can run, by their workers, each accelerator type counted once (consolidated, for jobs that can
        run so). P_m is that speed too. A pair's member has the job's one speed, times what it keeps of its speed alone
        in the pair, on the reference or as the mean over the pair's types: so it never seems faster than alone only
        because the pair's types are fast ones.
        """
        if reference and reference not in self.types:
            raise InputError("reference", reference, "one of " + ", ".join(self.types))
        column = self.types.index(reference) if reference else None
        by_type = self.workers[self.pool]
        first = np.array([pool not in self.pool[:kind] for kind, pool in enumerate(self.pool)], dtype=bool)

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
        found = copy(self)  # of checked numbers, which need no second check
        for name in _WORKED_OUT & found.__dict__.keys():
            del found.__dict__[name]
        pair_speed = self.pair_speed / self.equal[self.pairs][:, :, None]
        for name, array in (
            ("speed", self.speed / self.equal[:, None]),
            ("pair_speed", pair_speed),
            ("fair", np.ones(len(self.jobs))),
        ):
            object.__setattr__(found, name, fixed(array))
        return found

    def only(self, rows: npt.ArrayLike, part: float = 1.0) -> Self:
        """The data of some jobs (positions) and of the pairs among them, on `part` of the workers."""
        chosen = np.asarray(rows, dtype=np.int64)
        at = np.full(len(self.jobs), -1)
        at[chosen] = np.arange(len(chosen))
        kept = (at[self.pairs] >= 0).all(axis=1)
        numbers = {name: getattr(self, name)[chosen] for name in ("speed", "weight", "gang", *self.by_job())}
        return replace(
            self,
            jobs=tuple(self.jobs[row] for row in chosen.tolist()),
            workers=self.workers * part,
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
        return {job: value for job, value in self.column(values).items() if not np.isnan(value)}

    def table(self, values: npt.NDArray[Any]) -> dict[tuple[str, str], float]:
        """{(combination, type): value} of (combinations x types) values; a pair is "a + b"."""
        return dict(
            zip(itertools.product(map(unit_name, self.units), self.types), values.ravel().tolist(), strict=True)
        )


_WORKED_OUT = frozenset(name for name, found in vars(AllocationData).items() if isinstance(found, cached_property))


def check(data: AllocationData, shares: FloatArray, name: str) -> FloatArray:
    """The shares, with what rounding left outside [0, 1] cut off; raises SolverFailedError if a limit is broken.

    shares: (combinations x types); name: of the formulation.
    """
    limits = (
        ("a share below 0", (-shares).max(initial=0.0), 0.0),
        ("a share where the combination cannot run", np.abs(shares[~data.allowed]).max(initial=0.0), 0.0),
        ("a job's time", data.job_time(shares).max(initial=0.0), 1.0),
        ("workers in use", (data.used(shares) / np.maximum(data.workers, 1.0)).max(initial=0.0), 1.0),
    )
    for what, most, limit in limits:
        if not most <= limit + TOLERANCE:
            raise SolverFailedError(name, f"{what}: {most:g}", f"at most {limit:g}")
    return np.where(data.allowed, np.clip(shares, 0.0, 1.0), 0.0) + 0.0  # no -0.0


def values(
    data: AllocationData, shares: FloatArray, more: Mapping[str, Iterable[float]] | None = None
) -> dict[str, Any]:
    """A result's values: allocation, normalised throughput, and more numbers by job, e.g. `{"rho": (jobs,)}`."""
    rows = shares.tolist()
    return {
        "allocation": {
            unit_name(unit): dict(zip(data.types, rows[spot], strict=True)) for spot, unit in enumerate(data.units)
        },
        "normalized_throughput": data.column(data.normalised(shares)),
        **{name: dict(zip(data.jobs, map(float, numbers), strict=True)) for name, numbers in (more or {}).items()},
    }


def read_shares(model: Any, data: AllocationData) -> FloatArray:
    """(combinations x types) values of the variable `share` of a solved model."""
    found = np.array([variable.value for variable in model.share.values()], dtype=float)
    return found.reshape(len(data.units), len(data.types))


def feasible(objective: float | None, sense: str, unit: str, numbers: Mapping[str, Any]) -> Result:
    """A result whose allocation has been checked."""
    return Result("feasible", objective, sense, unit, numbers)
