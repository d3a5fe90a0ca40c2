"""Utilities of a job's completion time (section III-A): U_j(f_j - a_j), never negative, never rising with time.

JCT is the completion time f_j - a_j. A utility knows no unit of time: JCT, `horizon`, `slot` and the deadlines of
`rewards` are all in slots or all in seconds, as the caller has them.

| name | U_j(JCT) | |
| --- | --- | --- |
| `effective_throughput` | work / JCT | steps per unit of time over the job's life (the paper's example) |
| `neg_jct` | max(0, horizon + slot - JCT) | a job that ends with the horizon is still worth a slot (ours) |
| `linear` | weight x max(0, horizon + slot - JCT) | the same, some jobs more urgent than others (ours) |
| `count` | 1 | jobs done (ours) |
| `step` | reward of the first deadline not missed, 0 after the last | 0 for a job without rewards (ours) |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import BoolArray, FloatArray, IntArray, fixed, shaped
from workbench.base.errors import InputError
from workbench.scenario.rewards import Steps


def in_slots(rewards: Steps | None, slot_s: float, late: float = 0.0) -> Steps | None:
    """Rewards with deadlines in slots, from a slot on that begins `-late` slots after the job arrives."""
    return None if rewards is None else tuple((deadline_s / slot_s + late, reward) for deadline_s, reward in rewards)


@dataclass(frozen=True, eq=False)
class UtilityJobs:
    """What utilities read of jobs, one entry per job, times in one unit.

    work: E_j N_j, steps in all; weight; rewards: steps of `step`, None for a job without; horizon: T; slot: the length
    of a time slot in that unit. Raises InputError naming the job for work or weights that are not above 0, and for a
    horizon or slot that is not.
    """

    names: tuple[str, ...]
    work: FloatArray
    weight: FloatArray
    rewards: tuple[Steps | None, ...]
    horizon: float
    slot: float = 1.0

    def __post_init__(self) -> None:
        for name in ("work", "weight"):
            array = shaped(getattr(self, name), (len(self.names),), f"utility, {name}")
            bad = np.flatnonzero(~((array > 0) & np.isfinite(array)))
            if len(bad):
                raise InputError(f"job {self.names[bad[0]]}, {name}", float(array[bad[0]]), "a number > 0")
            object.__setattr__(self, name, fixed(array))
        if len(self.rewards) != len(self.names):
            raise InputError("utility, rewards", len(self.rewards), f"{len(self.names)}, one for each job")
        for name in ("horizon", "slot"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                raise InputError(f"utility, {name}", value, "a number > 0")

    def take(self, rows: IntArray) -> UtilityJobs:
        """The jobs in some rows, in their order."""
        chosen = rows.tolist()
        return replace(
            self,
            names=tuple(self.names[row] for row in chosen),
            work=self.work[rows],
            weight=self.weight[rows],
            rewards=tuple(self.rewards[row] for row in chosen),
        )


Function = Callable[[FloatArray, UtilityJobs], FloatArray]
"""(jobs x n) completion times and the jobs -> (jobs x n) utilities."""


def _neg_jct(jct: FloatArray, jobs: UtilityJobs) -> FloatArray:
    return np.maximum(0.0, jobs.horizon + jobs.slot - jct)


def _step(jct: FloatArray, jobs: UtilityJobs) -> FloatArray:
    rows = [_stairs(row, steps or ()) for row, steps in zip(jct, jobs.rewards, strict=True)]
    return np.array(rows, dtype=float).reshape(jct.shape)


def _stairs(jct: FloatArray, steps: Steps) -> FloatArray:
    """Reward of the first of some rising deadlines that is not before each time; 0 after the last."""
    deadlines = np.array([deadline for deadline, _ in steps])
    rewards = np.array([*(reward for _, reward in steps), 0.0])
    return rewards[np.searchsorted(deadlines, jct, side="left")]


NAMED: dict[str, Function] = {
    "effective_throughput": lambda jct, jobs: jobs.work[:, None] / jct,
    "neg_jct": _neg_jct,
    "linear": lambda jct, jobs: jobs.weight[:, None] * _neg_jct(jct, jobs),
    "count": lambda jct, jobs: np.ones_like(jct),
    "step": _step,
}

READS = {"linear": "weight", "step": "rewards"}
"""What a utility reads of a job beside its steps and completion time."""


@dataclass(frozen=True)
class Utility:
    """A utility by its name, or a user's own: give `function` then, under any name.

    Raises InputError for a name that is none of `NAMED` and has no function.
    """

    name: str
    function: Function | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.function is None and self.name not in NAMED:
            raise InputError("utility", self.name, "one of " + ", ".join(NAMED) + ", or a function of your own")

    @classmethod
    def steps(cls, steps: Iterable[tuple[float, float]], name: str = "steps") -> Utility:
        """One staircase for all jobs: the reward of the first deadline that JCT does not pass, 0 after the last.

        Raises InputError for deadlines that do not rise.
        """
        listed = tuple((float(deadline), float(reward)) for deadline, reward in steps)
        deadlines = [deadline for deadline, _ in listed]
        if not deadlines or deadlines != sorted(set(deadlines)):
            raise InputError(f"utility {name}, deadlines", deadlines, "rising numbers, at least one")
        return cls(name, lambda jct, jobs: _stairs(jct, listed))

    def values(self, jct: npt.ArrayLike, jobs: UtilityJobs) -> FloatArray:
        """Utilities of completion times, in the shape of `jct`: (jobs,), or (jobs x n) for n times of each job.

        A time of infinity (never done) is worth 0. Raises InputError for times that are not above 0, and for utilities
        that are negative or not finite, naming the job.
        """
        times = np.array(jct, dtype=float)
        if times.ndim not in (1, 2) or len(times) != len(jobs.names):
            raise InputError("utility, completion times", times.shape, f"{len(jobs.names)} rows, one for each job")
        table = times.reshape(len(times), -1) if times.size else times.reshape(len(times), 0)
        _first_bad(jobs.names, "completion time", table, table > 0, "a number > 0")
        done = np.isfinite(table)
        known = np.where(done, table, jobs.horizon)
        found = np.array((self.function or NAMED[self.name])(known, jobs), dtype=float)
        if found.shape != table.shape:
            raise InputError(f"utility {self.name}", found.shape, f"an array of shape {table.shape}")
        good = np.isfinite(found) & (found >= 0)
        _first_bad(jobs.names, f"utility {self.name}", found, good, "a finite number >= 0")
        return np.where(done, found, 0.0).reshape(times.shape)

    def table(self, jct: npt.ArrayLike, jobs: UtilityJobs) -> FloatArray:
        """(jobs x n) utilities of completion times that rise along each row, checked not to rise with time.

        Raises InputError, also for what `values` refuses.
        """
        times = np.array(jct, dtype=float)
        found = self.values(times, jobs)
        check_falling(jobs.names, times, found, f"utility {self.name}")
        return found


def check_falling(names: tuple[str, ...], jct: FloatArray, values: FloatArray, where: str = "utility") -> None:
    """Raise InputError for the first job whose (jobs x n) utilities rise with its (jobs x n) rising times.

    Rounding of a part in 1e12 is no rise.
    """
    rises = np.diff(values, axis=1) > 1e-12 * np.abs(values[:, :-1])
    if rises.any():
        row, at = np.argwhere(rises)[0].tolist()
        found = f"{values[row, at]:g} at {jct[row, at]:g}, {values[row, at + 1]:g} at {jct[row, at + 1]:g}"
        raise InputError(f"job {names[row]}, {where}", found, "a utility that does not increase with completion time")


def _first_bad(names: tuple[str, ...], where: str, table: FloatArray, good: BoolArray, want: str) -> None:
    bad = np.argwhere(~good)
    if len(bad):
        row, at = bad[0].tolist()
        raise InputError(f"job {names[row]}, {where}", float(table[row, at]), want)
