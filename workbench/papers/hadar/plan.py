"""A plan of an instance of P1: who holds how many GPUs of which type in each slot; checked, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from workbench.base.arrays import fixed
from workbench.papers.hadar.instance import Instance, speed_of
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Result
from workbench.scheduling.decision import IntArray
from workbench.scheduling.solvers import SolverFailedError

TOLERANCE = 2e-6
"""Part of a job's work that may be missing when it counts as done: solvers keep rows to 1e-6."""


@dataclass(frozen=True, eq=False)
class SlotPlan:
    """workers: (jobs x slots x types) w_jr(t), GPUs held.

    Raises SolverFailedError, in the name of `owner`, for a plan that breaks a limit of P1: capacity (1d), a gang that
    is neither whole nor absent (1e), a slot before the arrival (1e), a type on which the job cannot run.
    """

    instance: Instance
    workers: IntArray
    owner: str = "P1"

    def __post_init__(self) -> None:
        data, workers = self.instance, np.array(self.workers, dtype=np.int64)
        workers = fixed(workers.reshape(len(data.jobs), data.slots, len(data.types)))
        object.__setattr__(self, "workers", workers)
        used = workers.sum(axis=0)
        if (workers < 0).any() or (used > data.capacity).any():
            self._fail(used.max(axis=0).tolist(), f"at most {data.capacity.tolist()} GPUs of each type in a slot")
        held = workers.sum(axis=2)
        if ((held != 0) & (held != data.gang[:, None])).any():
            row = int(np.argwhere((held != 0) & (held != data.gang[:, None]))[0][0])
            self._fail(sorted(set(held[row].tolist())), f"0 or {data.gang[row]} GPUs for job {data.jobs[row]}")
        early = (np.arange(data.slots) < data.arrival[:, None]) & (held > 0)
        if early.any():
            self._fail(
                int(np.argwhere(early)[0][1]), f"no slot before job {data.jobs[np.argwhere(early)[0][0]]} is there"
            )
        if ((workers > 0) & (data.rate <= 0)[:, None, :]).any():
            self._fail("GPUs on which a job cannot run", "types with a rate above 0")

    def _fail(self, found: Any, expected: str) -> None:
        raise SolverFailedError(self.owner, found, expected)

    @cached_property
    def speed(self) -> FloatArray:
        """(jobs x slots) steps done: x_j(t) L, the rate of the slowest type held (1b)."""
        return np.stack([speed_of(self.instance, self.workers[:, t]) for t in range(self.instance.slots)], axis=1)

    @cached_property
    def done(self) -> IntArray:
        """(jobs,) slot in which the work is complete, -1 for a job that never is."""
        enough = np.cumsum(self.speed, axis=1) >= (self.instance.work * (1 - TOLERANCE))[:, None]
        return np.where(enough.any(axis=1), enough.argmax(axis=1), -1)

    @cached_property
    def trimmed(self) -> SlotPlan:
        """The plan without the slots after completion and those of jobs that never complete (1c)."""
        kept = np.arange(self.instance.slots) <= self.done[:, None]
        return SlotPlan(self.instance, np.where(kept[:, :, None], self.workers, 0), self.owner)

    @cached_property
    def earned(self) -> FloatArray:
        """(jobs,) utility of each job, 0 for one that never completes."""
        rows = np.arange(len(self.done))
        return np.where(self.done >= 0, self.instance.utility[rows, self.done], 0.0)

    @property
    def objective(self) -> float:
        """The sum of the utilities."""
        return float(self.earned.sum())

    def result(self) -> Result:
        """What a formulation reports: see `values`."""
        return Result("feasible", self.objective, "max", self.instance.unit, self.values())

    def values(self) -> dict[str, Any]:
        """JSON-able: by job completion, JCT, utility, share of the GPU time of T slots by type; the plan by slot.

        completion_s: end of the finishing slot, None if never; choices: GPUs by type in the job's first slot, None for
        a job that is not served; plan: `{"job", "slot", "start_s", "end_s", "gpus": {type: GPUs}, "steps"}` for each
        slot that a job runs in; cannot_finish: why, for jobs that would not complete even alone.
        """
        data, workers = self.instance, self.trimmed.workers
        held = {name: np.flatnonzero(workers[row].sum(axis=1)) for row, name in enumerate(data.jobs)}
        ends = {name: int(slot) if slot >= 0 else None for name, slot in zip(data.jobs, self.done, strict=True)}
        share = workers.sum(axis=1) / (data.gang * data.slots)[:, None]
        found: dict[str, Any] = {
            "completion_s": {
                name: None if slot is None else data.start_s + (slot + 1) * data.slot_s for name, slot in ends.items()
            },
            "jct_slots": {
                name: None if slot is None else slot + 1 - int(data.arrival[row])
                for row, (name, slot) in enumerate(ends.items())
            },
            "utility": dict(zip(data.jobs, self.earned.tolist(), strict=True)),
            "allocation": {
                name: dict(zip(data.types, share[row].tolist(), strict=True)) for row, name in enumerate(data.jobs)
            },
            "choices": {
                name: self._gpus(row, int(held[name][0])) if len(held[name]) else None
                for row, name in enumerate(data.jobs)
            },
            "plan": [
                {
                    "job": name,
                    "slot": slot,
                    "start_s": data.start_s + slot * data.slot_s,
                    "end_s": data.start_s + (slot + 1) * data.slot_s,
                    "gpus": self._gpus(row, slot),
                    "steps": float(self.speed[row, slot]),
                }
                for row, name in enumerate(data.jobs)
                for slot in held[name].tolist()
            ],
        }
        stuck = {data.jobs[row]: data.why_not(row) for row in np.flatnonzero(~data.finishable).tolist()}
        return {**found, "cannot_finish": stuck} if stuck else found

    def _gpus(self, row: int, slot: int) -> dict[str, int]:
        held = zip(self.instance.types, self.workers[row, slot].tolist(), strict=True)
        return {kind: count for kind, count in held if count}


def nothing(instance: Instance, owner: str = "P1") -> SlotPlan:
    """The plan in which no job runs."""
    workers = np.zeros((len(instance.jobs), instance.slots, len(instance.types)), dtype=np.int64)
    return SlotPlan(instance, workers, owner)
