"""The numbers of Hadar's problems: P1 in slots, the queue of a round, and a round of HadarE by copies.

P1 (section III-A): machines aggregated by type, jobs with gangs, utilities by slot. Slots count from 0. A job that
completes in slot t has JCT t + 1 - a_j slots, at least 1. Rates are those of a whole gang of W_j GPUs when a type is
its slowest one, whatever the other GPUs run on (1b); (1b) and the gang do not depend on the machine, so that counts
of GPUs by type lose nothing. Restarts and the cost of spreading a gang are no part of P1, but of a round.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import BoolArray, FloatArray, IntArray, fixed, shaped
from workbench.base.errors import InputError
from workbench.base.round_times import boundary_after
from workbench.papers.hadar.algorithms.prices import PriceBounds, price_bounds
from workbench.papers.hadar.algorithms.tracker import Tracker
from workbench.papers.hadar.formulations.utility import Utility, UtilityJobs, check_falling, in_slots
from workbench.papers.hadar.knobs import HadarRules
from workbench.scenario.job import Job
from workbench.scenario.rewards import Steps
from workbench.scheduling import job_orders
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import is_copy
from workbench.scheduling.snapshot import JobView, Snapshot

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
class HadarInstance:
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
    ) -> HadarInstance:
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

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot, knobs: Knobs) -> HadarInstance:
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
        rate = _rates(snapshot, jobs) * slot_s
        capacity = snapshot.capacity
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
        return cls(
            names, snapshot.types, capacity, slots, arrival, gang, left, rate, utility, slot_s, snapshot.now_s, unit
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


def _rates(snapshot: Snapshot, jobs: tuple[Job, ...]) -> FloatArray:
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
    blank = HadarInstance(
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


def fastest_free(instance: HadarInstance, rows: IntArray) -> IntArray:
    """(jobs x types) GPUs where jobs, in the order of `rows`, take their fastest free GPUs; 0 for who waits."""
    free = instance.capacity.copy()
    gpus = np.zeros((len(instance.jobs), len(instance.types)), dtype=np.int64)
    for row in rows.tolist():
        order = np.argsort(-instance.rate[row], kind="stable")
        order = order[instance.rate[row, order] > 0]
        before = np.cumsum(free[order]) - free[order]
        taken = np.clip(instance.gang[row] - before, 0, free[order])
        if taken.sum() == instance.gang[row]:
            free[order] -= taken
            gpus[row, order] = taken
    return gpus


def speed_of(instance: HadarInstance, gpus: IntArray) -> FloatArray:
    """(jobs,) steps in a slot on (jobs x types) `gpus`: the rate of the slowest type in use (1b), 0 without any."""
    slowest = np.where(gpus > 0, instance.rate, np.inf).min(axis=1, initial=np.inf)
    return np.where(np.isfinite(slowest), slowest, 0.0)


ROUNDING_SLOTS = 1e-9
"""Slots by which a run time may miss a whole number."""


@dataclass(frozen=True, eq=False)
class HadarQueue:
    """Jobs to be decided on, in the order of their arrival.

    view: their part of the snapshot; elapsed: (jobs,) slots since arrival; restart_s: (jobs,) seconds that the job
    loses when it starts; speed: (jobs x types) steps/s of the gang, 0 where it cannot run; last: (jobs,) T - a_j in
    slots; best: (jobs,) utility of the earliest end, on the fastest type from now on; terms: what utilities read;
    bounds: of prices, over the jobs whose `best` is above 0 (None if there are none); pays: {row: part of the prices
    that the job pays}, all of them for others.
    """

    view: JobView
    elapsed: FloatArray
    restart_s: FloatArray
    speed: FloatArray
    last: FloatArray
    best: FloatArray
    terms: UtilityJobs
    bounds: PriceBounds | None
    pays: Mapping[int, float] = field(default_factory=dict)

    @classmethod
    def from_snapshot(
        cls, snapshot: Snapshot, rows: Sequence[int], rules: HadarRules, restart: Mapping[int, float] | None = None
    ) -> HadarQueue:
        """The jobs in some rows of a snapshot.

        restart: seconds of a restart by size of gang, of every gang in the queue, for jobs that have run; None: none. A
        job that has waited too long to be done by a given horizon has a `best` of 0 (ours).
        """
        view = job_orders.take(snapshot.jobs, np.array(rows, dtype=np.int64))
        elapsed = (snapshot.now_s - view.arrival_s) / rules.slot_s
        seconds = np.zeros(len(view)) if restart is None else np.array([restart[gang] for gang in view.gpus.tolist()])
        restart_s = np.where(view.attained_s > 0, seconds, 0.0)
        fast, slow = _fast_and_slow(snapshot, view)
        shortest = rounds(view.steps_left, fast.max(axis=1, initial=0.0), restart_s, rules.slot_s)
        slowest = np.where(slow > 0, slow, np.inf).min(axis=1, initial=np.inf)
        longest = rounds(view.steps_left, np.where(np.isfinite(slowest), slowest, 0.0), restart_s, rules.slot_s)
        last, horizon = _horizon(snapshot, view, elapsed, longest, fast, rules)
        terms = UtilityJobs(
            view.names,
            np.array([job.steps for job in view.jobs], dtype=float),
            view.weight,
            tuple(in_slots(job.rewards, rules.slot_s) for job in view.jobs),
            horizon,
        )
        late = (rules.horizon_s is not None) & (elapsed + shortest > last + ROUNDING_SLOTS)
        last = np.maximum(last, 1.0)
        ends = rules.utility.table(np.column_stack([np.where(late, last, elapsed + shortest), last]), terms)
        ends[late] = 0.0
        valued = np.flatnonzero(ends[:, 0] > 0)
        bounds = None
        if len(valued):
            bounds = price_bounds(
                ends[valued, 0], ends[valued, 1], longest[valued], view.gpus[valued], fast[valued] > 0,
                snapshot.capacity, float((last - elapsed).max()), rules.eta,
            )  # fmt: skip
        return cls(view, elapsed, restart_s, fast, last, ends[:, 0], terms, bounds)

    def __len__(self) -> int:
        return len(self.view)


def rounds(steps: FloatArray, speed: FloatArray, restart_s: FloatArray, slot_s: float) -> FloatArray:
    """Whole slots for `steps` at `speed` steps/s, at least 1, and what a restart adds; infinite where the speed is 0.

    A restart counts with its own part of a slot (ours): rounded up it would mostly cost nothing, and jobs would move
    for nothing.
    """
    needed = np.ceil(job_orders.seconds(steps, speed) / slot_s - ROUNDING_SLOTS)
    found: FloatArray = np.maximum(1.0, needed) + restart_s / slot_s
    return found


def _fast_and_slow(snapshot: Snapshot, view: JobView) -> tuple[FloatArray, FloatArray]:
    """(jobs x types) largest and smallest steps/s above 0 of consolidated and spread gangs, 0 where there are none.

    A job for which neither word has a speed is asked for with each number of nodes.
    """
    words = [snapshot.belief.speeds(view), snapshot.belief.speeds(view, "unconsolidated")]
    fast, slow = np.maximum(*words), np.where(words[0] > 0, words[0], words[1])
    slow = np.where(words[1] > 0, np.minimum(slow, words[1]), slow)
    for row in np.flatnonzero(~(fast > 0).any(axis=1)).tolist():
        job = view.jobs[row]
        for kind, name in enumerate(snapshot.types):
            most = min(job.gpus, int((snapshot.nodes.kind == kind).sum()))
            each = [snapshot.belief.steps_per_s(job, name, job.gpus, "unconsolidated", n) for n in range(1, most + 1)]
            fast[row, kind] = max(each, default=0.0)
            slow[row, kind] = min((speed for speed in each if speed > 0), default=0.0)
    return fast, slow


def _horizon(
    snapshot: Snapshot,
    view: JobView,
    elapsed: FloatArray,
    longest: FloatArray,
    speed: FloatArray,
    rules: HadarRules,
) -> tuple[FloatArray, float]:
    """(jobs,) T - a_j in slots, and T: in slots from the scenario's start if given, else from the earliest arrival.

    Not given, T is the time in which all GPUs could do all the work at the jobs' own speeds, and then the longest job
    on its slowest type (ours): a guess of when the queue is done that gives every job that starts now a utility.
    """
    if rules.horizon_s is None:
        work_s = job_orders.seconds(view.steps_left * view.gpus, speed @ snapshot.capacity)
        work = float(work_s[np.isfinite(work_s)].sum()) / rules.slot_s
        window = float(np.ceil(longest[np.isfinite(longest)].max(initial=1.0) + work))
        last = elapsed + window
        return last, float(last.max(initial=1.0))
    return (rules.horizon_s - view.arrival_s) / rules.slot_s, rules.horizon_s / rules.slot_s


def require_time(jobs: Sequence[Job], fastest: FloatArray, rules: HadarRules) -> None:
    """Raise InputError for a given horizon by which a job could not be done even if it ran from its arrival on.

    fastest: (jobs,) steps/s of the gang on its fastest type; a job whose speed is not known (0) is not asked for.
    """
    if rules.horizon_s is None:
        return
    steps, arrival_s = np.array([job.steps for job in jobs], dtype=float), np.array([job.arrival_s for job in jobs])
    needed = rounds(steps, fastest, np.zeros(len(jobs)), rules.slot_s)
    least_s = np.where(fastest > 0, arrival_s + needed * rules.slot_s, 0.0)
    if (least_s > rules.horizon_s + ROUNDING_SLOTS * rules.slot_s).any():
        row = int(least_s.argmax())
        raise InputError(
            "horizon_s",
            rules.horizon_s,
            f"at least {least_s[row]:g} s: job {jobs[row].name}, which arrives at {arrival_s[row]:g} s, needs "
            f"{needed[row]:g} rounds of {rules.slot_s:g} s even on its fastest type",
        )


@dataclass(frozen=True, eq=False)
class CopyInstance:
    """A snapshot as HadarE sees it: (jobs x nodes) speed and GPUs of a copy, and what goes on without a restart.

    steps_left: above 0 also for a job of which rounding is left; forked: (jobs,) those that a node of the cluster can
    run a copy of.
    """

    snapshot: Snapshot
    tracker: Tracker
    until_s: float
    overhead_s: float
    forks: int
    at: Mapping[str, int]
    speed: FloatArray
    need: IntArray
    restart_s: FloatArray
    steps_left: FloatArray
    forked: BoolArray

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot, tracker: Tracker, knobs: Knobs) -> CopyInstance:
        jobs, nodes = snapshot.jobs, snapshot.nodes
        need = np.minimum(jobs.gpus[:, None], nodes.gpus[None, :])
        speed = _copy_speeds(snapshot, need)
        forks = min(knobs["forks"] or len(nodes.names), len(nodes.names))
        return cls(
            snapshot=snapshot,
            tracker=tracker,
            until_s=boundary_after(snapshot.now_s, knobs["round_s"]),
            overhead_s=knobs["overhead_s"] if forks > 1 else 0.0,
            forks=forks,
            at={name: i for i, name in enumerate(nodes.names)},
            speed=np.where(nodes.up, speed, 0.0),
            need=need,
            restart_s=_restarts(snapshot, tracker, need),
            steps_left=np.maximum(jobs.steps_left, np.finfo(float).tiny),
            forked=np.asarray((speed > 0).any(axis=1), dtype=bool),
        )

    @property
    def seconds(self) -> FloatArray:
        """(jobs x nodes) how long a copy can run in the slot."""
        length_s = self.until_s - self.snapshot.now_s - self.overhead_s
        return np.maximum(length_s - self.restart_s, 0.0)


def _copy_speeds(snapshot: Snapshot, need: IntArray) -> FloatArray:
    """(jobs x nodes) believed steps/s of a copy; jobs of one model and gang are alike."""
    alike: dict[tuple[str, int], FloatArray] = {}
    names = snapshot.nodes.names
    for job, row in zip(snapshot.jobs.jobs, need.tolist(), strict=True):
        if (job.model, job.gpus) not in alike:
            found = [snapshot.belief.on_nodes(job, {name: gpus}) for name, gpus in zip(names, row, strict=True)]
            alike[job.model, job.gpus] = np.array(found, dtype=float)
    rows = [alike[job.model, job.gpus] for job in snapshot.jobs.jobs]
    return np.array(rows, dtype=float).reshape(len(rows), len(names))


def _restarts(snapshot: Snapshot, tracker: Tracker, need: IntArray) -> FloatArray:
    """(jobs x nodes) seconds that a copy would pay for a restart: none where it goes on, nor at a job's first start."""
    found = np.zeros(need.shape)
    if tracker.restart_s:
        ran = set(tracker.started)
        for row, name in enumerate(snapshot.jobs.names):
            if name in ran:
                found[row] = [tracker.restart_s[gpus] for gpus in need[row].tolist()]
    at = {name: i for i, name in enumerate(snapshot.nodes.names)}
    for unit, lease in snapshot.ended.items():
        if is_copy(unit) and unit[0] in snapshot.jobs.at:
            found[snapshot.jobs.at[unit[0]], at[next(iter(lease.gpus))]] = 0.0
    return found
