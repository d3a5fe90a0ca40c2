"""The options of 3Sigma's plan: in which slot, on which type a job may start, what that is worth and whom it holds up.

Its problem is stated in `workbench.baselines.three_sigma`, as are the letters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.base.errors import InputError
from workbench.base.round_times import LONGEST_ROUND_S
from workbench.scheduling.contract import Knobs
from workbench.scheduling.job_orders import due_s, holds
from workbench.scheduling.knob import Knob
from workbench.scheduling.placement import FreeGpus
from workbench.scheduling.snapshot import Snapshot

SLOT_S = Knob("slot_s", 600.0, "Length of a slot of the plan", "s", minimum=1.0, maximum=LONGEST_ROUND_S, main=True)
SLOTS = Knob("slots", 12, "Slots that are planned ahead", "slots", kind="int", minimum=1, maximum=1000, main=True)
BEST_EFFORT = Knob("best_effort", 10.0, "Worth of a best-effort job that is done within a slot", "1", minimum=0.0)
KEEP = Knob("keep", 0.1, "How much more a best-effort job is worth where it runs already", "1", minimum=0.0)
EARLY = Knob("early", 0.01, "How much less a start in the last slot is worth", "1", minimum=0.0, maximum=1.0)
RUNTIME_CV = Knob(
    "runtime_cv",
    0.0,
    "Standard deviation of run times, over their mean (of 3Sigma's distributions)",
    "1",
    "paper",
    minimum=0.0,
    maximum=0.5,
)
MOST_JOBS = Knob("most_jobs", 50, "Waiting jobs that are planned", "jobs", kind="int", minimum=1, maximum=100_000)
PROBLEM = (SLOT_S, SLOTS, BEST_EFFORT, KEEP, EARLY, RUNTIME_CV, MOST_JOBS)


@dataclass(frozen=True, eq=False)
class ThreeSigmaInstance:
    """The numbers of one cycle. All arrays are read-only.

    job, kind, slot, gpus, value: one entry for each option, of which job (row) it is, its type (column), the slot of
    its start, its GPUs and what it is worth; hold: (options x slots) chance that it holds them, 0 to 1; free_gpus:
    (types x slots) GPUs, at least 0. A job has at most one option for a type and slot. Raises InputError that says
    where.
    """

    jobs: tuple[str, ...]
    types: tuple[str, ...]
    job: IntArray
    kind: IntArray
    slot: IntArray
    gpus: IntArray
    value: FloatArray
    hold: FloatArray
    free_gpus: FloatArray

    def __post_init__(self) -> None:
        slots, count = np.atleast_2d(self.free_gpus).shape[1], len(np.atleast_1d(self.job))
        self._keep("free_gpus", (len(self.types), slots), 0.0, math.inf)
        self._keep("job", (count,), 0, len(self.jobs) - 1, whole=True)
        self._keep("kind", (count,), 0, len(self.types) - 1, whole=True)
        self._keep("slot", (count,), 0, slots - 1, whole=True)
        self._keep("gpus", (count,), 1, math.inf, whole=True)
        self._keep("value", (count,), 0.0, math.inf)
        self._keep("hold", (count, slots), 0.0, 1.0)
        keys = list(zip(self.job.tolist(), self.kind.tolist(), self.slot.tolist(), strict=True))
        if len(set(keys)) < len(keys):
            twice = next(key for i, key in enumerate(keys) if key in keys[:i])
            raise InputError("three_sigma data, (job, kind, slot)", twice, "each option once")

    def _keep(self, field: str, shape: tuple[int, ...], low: float, high: float, whole: bool = False) -> None:
        given = np.array(getattr(self, field), dtype=float)
        if given.shape != shape:
            raise InputError(f"three_sigma data, {field}", given.shape, f"an array of shape {shape}")
        wrong = ~(np.isfinite(given) & (given >= low) & (given <= high)) | (whole & (given % 1 != 0))
        if wrong.any():
            bounds = f"from {low:g}" + (f" to {high:g}" if high < math.inf else "")
            noun = "finite whole numbers" if whole else "finite numbers"
            raise InputError(f"three_sigma data, {field}", float(given[wrong][0]), f"{noun} {bounds}")
        array = given.astype(np.int64) if whole else given
        array.setflags(write=False)
        object.__setattr__(self, field, array)

    def key(self, option: int) -> tuple[str, str, int]:
        """Job, type and slot of an option."""
        return self.jobs[self.job[option]], self.types[self.kind[option]], int(self.slot[option])


class PlannedCycle(NamedTuple):
    """The numbers of a cycle, and the rows of its jobs in the snapshot; timely: (jobs of the snapshot,) whether a job
    has a deadline that it may still meet."""

    data: ThreeSigmaInstance
    rows: IntArray
    timely: BoolArray

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot, knobs: Knobs) -> PlannedCycle:
        """The options of the jobs that are planned, at speeds as believed."""
        jobs, slot_s, cv = snapshot.jobs, float(knobs["slot_s"]), float(knobs["runtime_cv"])
        runs, kinds = holds(snapshot), held_kinds(snapshot)
        with np.errstate(divide="ignore"):
            run_s = jobs.steps_left[:, None] / snapshot.speeds()
        slack_s = due_s(jobs.jobs) - snapshot.now_s
        slo, shortest_s = np.isfinite(slack_s), run_s.min(axis=1, initial=np.inf)
        timely = (
            slo & ~runs & (first_rewards(snapshot) > 0) & (in_time(shortest_s, np.where(slo, slack_s, 0.0), cv) > 0)
        )
        waiting = _urgent(~runs, timely, slack_s, shortest_s)[: int(knobs["most_jobs"])]
        here = kinds >= 0
        rows = np.concatenate([np.flatnonzero(here & ~slo), waiting])
        steps = np.arange(int(knobs["slots"]), dtype=np.float64)
        fits = (jobs.gpus[rows, None] <= snapshot.capacity) & np.isfinite(run_s[rows])
        elsewhere = runs[rows, None] & (kinds[rows, None] != np.arange(len(snapshot.types)))
        chance = in_time(run_s[rows, :, None], slack_s[rows, None, None] - steps * slot_s, cv)
        first = np.where(timely[rows, None, None], chance > 0, steps == 0)
        job, kind, slot = np.nonzero(first & (fits & ~elsewhere)[:, :, None])
        row, after = rows[job], steps - slot[:, None]
        of_slo = first_rewards(snapshot)[row] * chance[job, kind, slot] * (1.0 - knobs["early"] * slot / len(steps))
        of_rest = knobs["best_effort"] * (1.0 + knobs["keep"] * runs[row]) / np.maximum(1.0, run_s[row, kind] / slot_s)
        lasts = np.where(timely[row, None], outlasts(run_s[row, kind][:, None], after * slot_s, cv), after == 0)
        data = ThreeSigmaInstance(
            jobs=tuple(jobs.names[row] for row in rows.tolist()),
            types=snapshot.types,
            job=job,
            kind=kind,
            slot=slot,
            gpus=jobs.gpus[row],
            value=np.where(timely[row], of_slo, of_rest),
            hold=np.where(after < 0, 0.0, lasts),
            free_gpus=_free_gpus(snapshot, np.flatnonzero(here & slo), kinds, steps * slot_s, cv),
        )
        return cls(data, rows, timely)


def held_kinds(snapshot: Snapshot) -> IntArray:
    """(jobs,) type on which each job holds GPUs, -1 for those that wait, or run on a drained node and go on there."""
    free_gpus, found = FreeGpus(snapshot.nodes), np.full(len(snapshot.jobs), -1, dtype=np.int64)
    for unit, lease in (*snapshot.leases.items(), *snapshot.ended.items()):
        if snapshot.nodes.down.isdisjoint(lease.gpus):
            found[snapshot.jobs.at[str(unit)]] = free_gpus.kind_of(lease.gpus)
    return found


def first_rewards(snapshot: Snapshot) -> FloatArray:
    """(jobs,) reward of each job's first deadline, 0 for best effort."""
    return np.array([job.rewards[0][1] if job.rewards else 0.0 for job in snapshot.jobs.jobs], dtype=float)


def _urgent(waits: BoolArray, timely: BoolArray, slack_s: FloatArray, shortest_s: FloatArray) -> IntArray:
    """Rows of waiting jobs: those that may be in time by laxity, then the others, shortest first."""
    rows = np.flatnonzero(waits & np.isfinite(shortest_s))
    key = np.where(timely[rows], slack_s[rows] - shortest_s[rows], shortest_s[rows])
    return rows[np.lexsort((key, ~timely[rows]))]


def _free_gpus(snapshot: Snapshot, rows: IntArray, kinds: IntArray, from_s: FloatArray, cv: float) -> FloatArray:
    """(types x slots) GPUs that running jobs with deadlines (rows) are expected to leave."""
    jobs, had = snapshot.jobs, {**snapshot.leases, **snapshot.ended}
    left = np.repeat(snapshot.capacity.astype(float)[:, None], len(from_s), axis=1)
    for row in rows.tolist():
        speed = snapshot.belief.on_nodes(jobs.jobs[row], had[jobs.names[row]].gpus)
        mean_s = np.full(1, jobs.steps_left[row] / speed if speed > 0 else np.inf)
        left[kinds[row]] -= jobs.gpus[row] * outlasts(mean_s, from_s, cv)
    free_gpus: FloatArray = np.maximum(left, 0.0)
    return free_gpus


def outlasts(mean_s: FloatArray, span_s: FloatArray, cv: float) -> FloatArray:
    """Chance that a run time with this mean is longer than a span; uniform, or known where `cv` is 0."""
    if cv == 0:
        return (mean_s > span_s).astype(float)
    half = math.sqrt(3.0) * cv * mean_s
    found: FloatArray = np.clip((mean_s + half - span_s) / (2.0 * half), 0.0, 1.0)
    return found


def in_time(mean_s: FloatArray, slack_s: FloatArray, cv: float) -> FloatArray:
    """Chance that a run time with this mean is no longer than the slack; 0 for an infinite mean."""
    known = np.isfinite(mean_s)
    found: FloatArray = np.where(known, 1.0 - outlasts(np.where(known, mean_s, 1.0), slack_s, cv), 0.0)
    return found
