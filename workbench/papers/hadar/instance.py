"""The slotted data of P1 (section III-A): machines aggregated by type, jobs with gangs, utilities by slot.

Slots count from 0. A job that completes in slot t has JCT t + 1 - a_j slots, at least 1. Rates are those of a whole
gang of W_j workers when a type is its slowest one, whatever the other workers run on (1b); (1b) and the gang do not
depend on the machine, so that counts of GPUs by type lose nothing. Restarts and the cost of spreading a gang are no
part of P1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import fixed, shaped
from workbench.base.errors import InputError
from workbench.papers.hadar.utility import UTILITY, Steps, Utility, UtilityJobs, check_falling, in_slots
from workbench.scenario.job import Job
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import BoolArray, IntArray, Snapshot
from workbench.scheduling.knob import Knob

SLOT_S = Knob(
    "slot_s",
    360.0,
    "Length of a time slot; a job arrives with the first slot that begins after it does",
    unit="s",
    source="paper",
    minimum=1.0,
    maximum=1e8,
    main=True,
)
SLOTS = Knob(
    "slots",
    None,
    "Time slots in all, T (none: enough for every job to complete, see `slots_needed`)",
    unit="slots",
    source="ours",
    kind="int",
    minimum=1,
    maximum=1_000_000,
    optional=True,
    main=True,
)
KNOBS = (SLOT_S, SLOTS, UTILITY)

UNITS = {
    "effective_throughput": "steps/slot",
    "neg_jct": "slots",
    "linear": "slots x weight",
    "count": "jobs",
    "step": "reward",
}
"""Unit of the summed utilities; `1` for a user's own."""

ROUNDING = 1e-9
"""Part of a job's work that may be missing when it counts as done: rates and slots are rounded numbers."""


@dataclass(frozen=True, eq=False)
class Instance:
    """One instance of P1. Arrays are read-only.

    capacity: (types,) GPUs; slots: T; arrival: (jobs,) first slot in which a job may run, below 0 for one that has
    waited; gang: (jobs,) W_j; work: (jobs,) E_j N_j, steps; rate: (jobs x types) X_j^r L, steps the gang does in a slot
    when that type is its slowest, 0 where it cannot run; utility: (jobs x slots) U_j of completing in a slot, not read
    before the arrival; slot_s: seconds in a slot; start_s: when slot 0 begins; unit: of the utilities.
    Raises InputError naming the job and field: numbers missing, not finite, not whole or out of range, utilities that
    are negative or increase with time.
    """

    jobs: tuple[str, ...]
    types: tuple[str, ...]
    capacity: IntArray
    slots: int
    arrival: IntArray
    gang: IntArray
    work: FloatArray
    rate: FloatArray
    utility: FloatArray
    slot_s: float = 1.0
    start_s: float = 0.0
    unit: str = "1"

    def __post_init__(self) -> None:
        for name, names in (("jobs", self.jobs), ("types", self.types)):
            if len(set(names)) < len(names):
                raise InputError(f"P1, {name}", names, "names that differ")
        if isinstance(self.slots, bool) or not isinstance(self.slots, (int, np.integer)) or self.slots < 1:
            raise InputError("P1, slots", self.slots, "a whole number >= 1")
        for name in ("slot_s", "start_s"):
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0 or (name == "slot_s" and value == 0):
                raise InputError(f"P1, {name}", value, "a finite number " + ("> 0" if name == "slot_s" else ">= 0"))
        rows, columns = len(self.jobs), len(self.types)
        self._take("capacity", (columns,), 0, "a whole number of GPUs >= 0")
        self._take("arrival", (rows,), -math.inf, "a whole number of slots")
        self._take("gang", (rows,), 1, "a whole number of GPUs >= 1")
        self._take("work", (rows,), 0, "a number of steps > 0")
        self._take("rate", (rows, columns), 0, "a number of steps >= 0")
        self._take("utility", (rows, int(self.slots)), 0, "a number >= 0")
        for row, name in enumerate(self.jobs):
            first = max(0, int(self.arrival[row]))
            jct = np.arange(first, self.slots) + 1.0 - self.arrival[row]
            check_falling((name,), jct[None, :], self.utility[row : row + 1, first:])

    def _take(self, field: str, shape: tuple[int, ...], least: float, expected: str) -> None:
        """Make a field a read-only array of that shape, its numbers checked."""
        array = shaped(getattr(self, field), shape, f"P1, {field}")
        whole = field in ("capacity", "arrival", "gang")
        bad = ~np.isfinite(array) | (array < least) | (array <= 0 if field == "work" else False)
        bad |= (array != np.rint(array)) | (np.abs(array) > 1e12) if whole else False
        if bad.any():
            spot = tuple(np.argwhere(bad)[0].tolist())
            owner = f"type {self.types[spot[0]]}" if field == "capacity" else f"job {self.jobs[spot[0]]}"
            on = {"rate": f" on {self.types[spot[-1]]}", "utility": f" in slot {spot[-1]}"} if len(spot) > 1 else {}
            raise InputError(f"{owner}, {field}{on.get(field, '')}", float(array[spot]), expected)
        object.__setattr__(self, field, fixed(array.astype(np.int64) if whole else array))

    @classmethod
    def made(
        cls,
        capacity: npt.ArrayLike,
        slots: int,
        arrival: npt.ArrayLike,
        gang: npt.ArrayLike,
        work: npt.ArrayLike,
        rate: npt.ArrayLike,
        utility: str | Utility = "neg_jct",
        *,
        weight: npt.ArrayLike | None = None,
        rewards: tuple[Steps | None, ...] | None = None,
    ) -> Instance:
        """An instance by hand: jobs `j0`, `j1`, ..., types `r0`, `r1`, ..., a utility by name; deadlines in slots."""
        steps = np.array(work, dtype=float)
        rows, columns = len(steps), len(np.array(capacity))
        names = tuple(f"j{i}" for i in range(rows))
        known = UtilityJobs(
            names,
            steps,
            np.ones(rows) if weight is None else np.array(weight, dtype=float),
            (None,) * rows if rewards is None else rewards,
            horizon=float(slots),
        )
        chosen = Utility(utility) if isinstance(utility, str) else utility
        first = np.array(arrival, dtype=np.int64).reshape(rows)
        return cls(
            names,
            tuple(f"r{k}" for k in range(columns)),
            np.array(capacity),
            slots,
            np.array(arrival),
            np.array(gang),
            steps,
            np.array(rate, dtype=float),
            by_slot(chosen, known, first, slots),
            unit=UNITS.get(chosen.name, "1"),
        )

    @cached_property
    def usable(self) -> BoolArray:
        """(jobs x types) whether a type can be the slowest of a job: enough GPUs that are at least as fast."""
        known = (self.rate > 0) & (self.capacity > 0)
        rate = np.where(known, self.rate, 0.0)
        faster = (rate[:, None, :] >= rate[:, :, None]) & known[:, None, :]  # (jobs x slowest x type)
        enough = (faster * self.capacity).sum(axis=2) >= self.gang[:, None]
        usable: BoolArray = fixed(known & enough)
        return usable

    @cached_property
    def best_rate(self) -> FloatArray:
        """(jobs,) the most steps the gang can do in a slot, 0 for a job that can never run."""
        best: FloatArray = np.where(self.usable, self.rate, 0.0).max(axis=1, initial=0.0)
        return best

    @cached_property
    def least_slots(self) -> IntArray:
        """(jobs,) slots in which a job alone is done; 0 for a job that can never run."""
        return slots_of(self.work, self.best_rate)

    @property
    def first(self) -> IntArray:
        """(jobs,) first slot in which a job may run."""
        return np.maximum(0, self.arrival)

    @property
    def finishable(self) -> BoolArray:
        """(jobs,) whether a job alone would complete within the slots."""
        return (self.best_rate > 0) & (self.first + self.least_slots <= self.slots)

    def why_not(self, row: int) -> str:
        """Why a job cannot complete even alone."""
        open_types = (self.rate[row] > 0) & (self.capacity > 0)
        if not open_types.any():
            return "it runs on no type"
        if self.capacity[open_types].sum() < self.gang[row]:
            return f"its {self.gang[row]} GPUs are more than the {self.capacity[open_types].sum()} on which it runs"
        if self.arrival[row] >= self.slots:
            return f"it arrives with slot {self.arrival[row]}, after the last of {self.slots}"
        left = self.slots - int(self.first[row])
        return f"it needs {self.least_slots[row]} slots alone and has {left}"


def slots_of(work: FloatArray, rate: FloatArray) -> IntArray:
    """Slots that work takes at a rate per slot, rounding allowed for; 0 where the rate is 0."""
    needed = np.where(rate > 0, work, 0.0) / np.where(rate > 0, rate, 1.0)
    return np.ceil(needed * (1 - ROUNDING)).astype(np.int64)


def by_slot(utility: Utility, jobs: UtilityJobs, arrival: IntArray, slots: int) -> FloatArray:
    """(jobs x slots) utility of completing in a slot; JCT and deadlines in slots, 0 before the arrival.

    Raises InputError naming the job for a utility that is negative, not finite or increases with time.
    """
    table = np.zeros((len(jobs.names), slots))
    for row in range(len(jobs.names)):
        first = max(0, int(arrival[row]))
        jct = np.arange(first, slots) + 1.0 - arrival[row]
        if not len(jct):
            continue
        table[row, first:] = utility.table(jct[None, :], jobs.take(np.array([row])))[0]
    return table


def instance_of(snapshot: Snapshot, knobs: Knobs) -> Instance:
    """The jobs that are there and those to come, with speeds as believed, from the snapshot's time on.

    A job that arrives within a slot may run from the next one on and its JCT counts from there; its deadlines stay
    where they are. A job that is there has waited since an earlier slot. Work is what is left of the steps; the
    effective throughput counts all of them. Without `slots`, T is enough for every job that can run.
    """
    slot_s = float(knobs["slot_s"])
    jobs: tuple[Job, ...] = (*snapshot.jobs.jobs, *snapshot.future)
    left = np.concatenate([snapshot.jobs.steps_left, [job.steps - job.steps_done for job in snapshot.future]])
    begins = np.array([(job.arrival_s - snapshot.now_s) / slot_s for job in jobs])
    arrival = np.ceil(begins - ROUNDING * np.maximum(1.0, np.abs(begins))).astype(np.int64)
    gang = np.array([job.gpus for job in jobs], dtype=np.int64)
    rate = _speeds(snapshot, jobs) * slot_s
    capacity = snapshot.workers
    slots = knobs["slots"] or slots_needed(capacity, arrival, gang, left, rate)
    names = tuple(job.name for job in jobs)
    known = UtilityJobs(
        names,
        np.array([job.steps for job in jobs], dtype=float),
        np.array([job.weight for job in jobs], dtype=float),
        tuple(in_slots(job.rewards, slot_s, late) for job, late in zip(jobs, begins - arrival, strict=True)),
        horizon=float(slots),
    )
    name = str(knobs["utility"])
    utility = by_slot(Utility(name), known, arrival, slots)
    unit = UNITS[name]
    return Instance(
        names, snapshot.types, capacity, slots, arrival, gang, left, rate, utility, slot_s, snapshot.now_s, unit
    )


def _speeds(snapshot: Snapshot, jobs: tuple[Job, ...]) -> FloatArray:
    """(jobs x types) believed steps/s of each gang, on the fewest nodes of a type where it fits there."""
    fewest = snapshot.cluster.fewest_nodes
    rows = [
        [
            snapshot.belief.steps_per_s(job, kind, job.gpus, "consolidated", fewest(kind, job.gpus))
            for kind in snapshot.types
        ]
        for job in jobs
    ]
    return np.array(rows, dtype=float).reshape(len(jobs), len(snapshot.types))


def slots_needed(
    capacity: npt.ArrayLike, arrival: npt.ArrayLike, gang: npt.ArrayLike, work: npt.ArrayLike, rate: npt.ArrayLike
) -> int:
    """Slots in which all jobs that can run complete: as the greedy schedule does it, at least 1.

    Slot by slot in the order of the list, each job takes its fastest free GPUs if they are enough.
    """
    steps, gpus = np.array(work, dtype=float), np.array(capacity)
    blank = Instance(
        tuple(map(str, range(len(steps)))),
        tuple(map(str, range(len(gpus)))),
        gpus,
        1,
        np.array(arrival),
        np.array(gang),
        steps,
        np.array(rate, dtype=float),
        np.zeros((len(steps), 1)),
    )
    left = np.where(blank.best_rate > 0, blank.work, 0.0)
    slot, least = 0, blank.work * ROUNDING
    while (left > least).any():
        here = (left > least) & (blank.arrival <= slot)
        if not here.any():
            slot = int(blank.arrival[left > least].min())
            continue
        speed = speed_of(blank, fastest_free(blank, np.flatnonzero(here)))
        running = np.flatnonzero(speed)
        enough = int(slots_of(left[running], speed[running]).min())
        later = blank.arrival[(left > least) & (blank.arrival > slot)]
        span = max(1, min(enough, int(later.min(initial=slot + enough)) - slot))
        left = np.where(speed > 0, left - span * speed, left)
        slot += span
    return max(1, slot)


def fastest_free(instance: Instance, rows: IntArray) -> IntArray:
    """(jobs x types) workers where jobs, in the order of `rows`, take their fastest free GPUs; 0 for who waits."""
    free = instance.capacity.copy()
    workers = np.zeros((len(instance.jobs), len(instance.types)), dtype=np.int64)
    for row in rows.tolist():
        order = np.argsort(-instance.rate[row], kind="stable")
        order = order[instance.rate[row, order] > 0]
        before = np.cumsum(free[order]) - free[order]
        taken = np.clip(instance.gang[row] - before, 0, free[order])
        if taken.sum() == instance.gang[row]:
            free[order] -= taken
            workers[row, order] = taken
    return workers


def speed_of(instance: Instance, workers: IntArray) -> FloatArray:
    """(jobs,) steps in a slot on (jobs x types) workers: the rate of the slowest type in use (1b), 0 without any."""
    slowest = np.where(workers > 0, instance.rate, np.inf).min(axis=1, initial=np.inf)
    return np.where(np.isfinite(slowest), slowest, 0.0)
