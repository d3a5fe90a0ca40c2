"""An instance of Hare_Sched on a grid of time: GPUs counted by type, every time a whole number of slots (ours).

Slot t begins t steps after the origin, the earliest time at which any task can start. Where all times are multiples of
the step, nothing is lost. Else times rounded up give schedules that are feasible, and times rounded down a bound: take
any schedule and round every start down; rows of T^c, T^s, arrivals and barriers rounded down still hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.base.errors import InputError
from workbench.papers.hare.algorithms.list_schedule import safe_order
from workbench.papers.hare.algorithms.schedule import TaskSchedule, earliest_starts
from workbench.papers.hare.formulations.windows import windows
from workbench.papers.hare.instance import HareInstance

Rounding = Literal["up", "down"]
EXACT_SLOTS, EXACT_CELLS = 5, 20_000
"""How many times more slots than else a grid may have on which nothing is rounded; and its rounds x types x slots."""
RESOLUTION = 1e-6
"""Times that are multiples of no longer step count as having none in common; in the unit of the instance's times."""
ROUNDING = 1e-9
"""Part of a slot that is nothing: sums of seconds are rounded."""


@dataclass(frozen=True, eq=False)
class TimeGrid:
    """The numbers of an instance on a grid; see `on_grid`. Slots count from the origin; -1: the type cannot run it.

    train: (rounds x types) slots for which a task holds a GPU; both: (rounds x types) slots until it has synchronised;
    free: (types,) slot from which its GPUs are free; first: (rounds,) first slot in which a task can start; soonest,
    latest: (rounds,) slots between which a round has synchronised; soonest_s: (jobs,) earliest completion, not rounded;
    known: (tasks,) start slots of the known schedule; is_exact: all times are multiples of the step, so that the grid
    has an optimal schedule of the instance.
    """

    instance: HareInstance
    step_s: float
    rounding: Rounding
    train: IntArray
    both: IntArray
    free: IntArray
    first: IntArray
    soonest: IntArray
    latest: IntArray
    soonest_s: FloatArray
    known_schedule: TaskSchedule
    known: IntArray
    is_exact: bool

    @property
    def slots(self) -> int:
        """Slots until all jobs have completed."""
        return int(self.latest.max(initial=0))

    @property
    def known_kind(self) -> IntArray:
        """(tasks,) type of each task's GPU in the known schedule."""
        return self.instance.kind[self.known_schedule.gpu]

    def starts(self, r: int, kind: int) -> range:
        """Slots in which a task of a round may start on a type."""
        if self.both[r, kind] < 0:
            return range(0)
        return range(max(int(self.first[r]), int(self.free[kind])), int(self.latest[r] - self.both[r, kind]) + 1)


def on_grid(instance: HareInstance, step_s: float, rounding: Rounding, known: TaskSchedule) -> TimeGrid:
    """The instance on a grid, with room for `known`, a feasible schedule, and for all that are no worse.

    Raises InputError for a step that is not above 0.
    """
    if not (math.isfinite(step_s) and step_s > 0):
        raise InputError("Hare, step_s", step_s, "a number of seconds > 0")

    def slots(times_s: FloatArray) -> IntArray:
        return _slots(times_s, step_s, rounding)

    def table(times_s: FloatArray) -> IntArray:
        times = times_s[instance.round_job][:, instance.first_gpu] * instance.round_part[:, None]
        there = np.isfinite(times)
        return np.where(there, slots(np.where(there, times, 0.0)), -1)

    train, both = table(instance.train_s), table(instance.train_s + instance.sync_s)
    free = slots(_since(instance, instance.free_s[instance.first_gpu]))
    window, last = windows(instance, known), instance.job_round[1:] - 1
    soonest = np.roll(window.first_s, -1)
    soonest[last] = window.soonest_s
    kind = instance.kind[known.gpu]
    train_of, both_of = train[instance.task_round, kind], both[instance.task_round, kind]
    if rounding == "up":
        start = earliest_starts(
            instance,
            known.gpu,
            safe_order(instance, known.start_s),
            train_of.astype(float),
            both_of.astype(float),
            slots(_since(instance, instance.arrival_s)).astype(float),
            free[instance.kind].astype(float),
            slots(_since(instance, instance.barrier_s)).astype(float),
        ).astype(np.int64)
    else:
        start = slots(_since(instance, known.start_s))
    latest = slots(_since(instance, window.end_s))
    if instance.task_count:
        latest = np.maximum(latest, np.maximum.reduceat(start + both_of, instance.round_task[:-1]))
        latest = np.maximum(latest, slots(_since(instance, soonest)))
    arrays = (train, both, free, slots(_since(instance, window.first_s)), slots(_since(instance, soonest)), latest)
    for array in (*arrays, start):
        array.setflags(write=False)
    is_exact = bool((train != 0).all()) and _multiples(instance, step_s)
    return TimeGrid(instance, step_s, rounding, *arrays, window.soonest_s, known, start, is_exact)


def _slots(times_s: FloatArray, step_s: float, rounding: Rounding) -> IntArray:
    """Seconds in slots, rounded up or down; what is off by rounding of sums only counts as whole."""
    slots = times_s / step_s
    near = np.rint(slots)
    rounded = np.ceil(slots) if rounding == "up" else np.floor(slots)
    found: IntArray = np.where(np.abs(slots - near) <= ROUNDING * np.maximum(1.0, near), near, rounded).astype(np.int64)
    return found


def _since(instance: HareInstance, times_s: FloatArray) -> FloatArray:
    """Times on the clock as seconds from the origin, none below 0."""
    return np.maximum(times_s - instance.origin_s, 0.0)


def _multiples(instance: HareInstance, step_s: float) -> bool:
    """Whether all times are multiples of the step."""
    slots = _times(instance) / step_s
    return bool((np.abs(slots - np.rint(slots)) <= ROUNDING * np.maximum(1.0, slots)).all())


def _times(instance: HareInstance) -> FloatArray:
    """Every duration, and every time on the clock from the origin, in seconds."""
    both = instance.train_s + instance.sync_s
    last = instance.last_part[:, None]
    durations = [times[instance.runs] for times in (instance.train_s, both, instance.train_s * last, both * last)]
    clock = [_since(instance, times) for times in (instance.arrival_s, instance.free_s, instance.barrier_s)]
    return np.concatenate([*durations, *clock])


def choose_step(instance: HareInstance, known: TaskSchedule, step_s: float | None, slots: int) -> float:
    """The step of the grid: as given, else the longest of which all times are multiples, else the horizon over `slots`.

    The second one only if it takes no more than `EXACT_SLOTS` times as many slots, and fewer for a large instance.
    """
    if step_s is not None:
        return step_s
    horizon_s = max(windows(instance, known).horizon_s - instance.origin_s, RESOLUTION)
    whole = np.rint(_times(instance) / RESOLUTION).astype(np.int64)
    cells = max(1, len(instance.round_job) * len(instance.count))
    most = max(slots, min(slots * EXACT_SLOTS, EXACT_CELLS // cells))
    common_s = float(np.gcd.reduce(whole)) * RESOLUTION
    if common_s > 0 and horizon_s <= common_s * most * (1 + ROUNDING) and _multiples(instance, common_s):
        return common_s
    return horizon_s / slots
