"""What Gavel's mechanism remembers from round to round: units and their shares, times, deficits, the last round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from workbench.base.arrays import BoolArray, FloatArray, IntArray
from workbench.baselines.mechanisms.placed_types import accelerators_of, speeds
from workbench.scheduling.decision import PlacedType, Shares, Unit, members
from workbench.scheduling.job_orders import take
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers.solve_report import SolveReport


@dataclass(frozen=True, eq=False)
class SharePlan:
    """Units and their shares of time; the same object until jobs come or go, or the shares are computed anew.

    types: names of the placed types, kinds: what they are, accelerator_of: (types,) position of each one's accelerator
    type. jobs: active jobs at the last decision; arrays have one row per unit, columns are the placed types. gang:
    GPUs; row: the row in `jobs` of the unit's first member; speed, other: steps/s of the first and of the last member;
    share: of time; deficit_s: seconds owed from before; known: whether the shares were computed for it; capacity:
    (accelerator types,) GPUs that they were computed for.
    """

    types: tuple[str, ...]
    kinds: tuple[PlacedType, ...]
    accelerator_of: IntArray
    jobs: tuple[str, ...]
    units: tuple[Unit, ...]
    gang: IntArray
    row: IntArray
    speed: FloatArray
    other: FloatArray
    share: FloatArray
    deficit_s: FloatArray
    known: BoolArray
    capacity: IntArray

    @cached_property
    def can_run(self) -> BoolArray:
        """(units x types) whether every member has a speed there."""
        return (self.speed > 0) & (self.other > 0)

    @cached_property
    def fits(self) -> BoolArray:
        """(units x types) whether it can run there and there are enough GPUs of the accelerator type."""
        return self.can_run & (self.gang[:, None] <= self.capacity[self.accelerator_of])

    @cached_property
    def runnable(self) -> int:
        """How many units fit somewhere."""
        return int(np.count_nonzero(self.fits.any(axis=1)))

    @cached_property
    def entitled(self) -> BoolArray:
        """(units x types) whether it has a share where it can run."""
        return (self.share > 0) & self.can_run

    @cached_property
    def entitled_only(self) -> BoolArray:
        """(units x types) whether it has a share there, and on no other type."""
        only: BoolArray = self.entitled & (np.count_nonzero(self.entitled, axis=1) == 1)[:, None]
        return only

    def ties(self, order: tuple[int, ...]) -> tuple[IntArray, IntArray]:
        """(unit, type) of all that fits, in the order of choice among equal priorities.

        The larger deficit first, then the larger share, both without rounding errors, then unit, and type as in
        `order`.
        """
        if order not in self._ties:
            unit, kind = np.nonzero(self.fits[:, order])
            kind = np.array(order, dtype=np.int64)[kind]
            share, deficit_s = np.round(self.share, 9)[unit, kind], np.round(self.deficit_s, 6)[unit, kind]
            best = np.lexsort((-share, -deficit_s))
            self._ties[order] = unit[best], kind[best]
        return self._ties[order]

    @cached_property
    def _ties(self) -> dict[tuple[int, ...], tuple[IntArray, IntArray]]:
        return {}

    @cached_property
    def gangs(self) -> list[int]:
        """GPUs of each unit."""
        gangs: list[int] = self.gang.tolist()
        return gangs

    @cached_property
    def accelerator_list(self) -> list[int]:
        """The position of each placed type's accelerator type."""
        accelerator_list: list[int] = self.accelerator_of.tolist()
        return accelerator_list

    @cached_property
    def placed(self) -> bool:
        """Whether its placed types are placements."""
        return any(kind.placement is not None for kind in self.kinds)

    @cached_property
    def members(self) -> list[tuple[str, ...]]:
        """The jobs of each unit."""
        return [members(unit) for unit in self.units]

    @cached_property
    def rows_with(self) -> dict[str, list[int]]:
        """The units that each job is in."""
        found: dict[str, list[int]] = {}
        for row, names in enumerate(self.members):
            for name in names:
                found.setdefault(name, []).append(row)
        return found

    @cached_property
    def has_pairs(self) -> bool:
        """Whether some unit is a pair of jobs."""
        return any(len(names) > 1 for names in self.members)


class LastRound(NamedTuple):
    """What was assigned at the last decision: rows and types of the units, and how many seconds each was to run.

    attained_s: GPU-seconds that each one's first job had then; where rounds end with their last job also left: the
    steps that each job had left, and round_s: the length of the round.
    """

    unit: IntArray
    kind: IntArray
    seconds: FloatArray
    attained_s: FloatArray
    left: Mapping[str, float]
    round_s: float


@dataclass(frozen=True, eq=False)
class PriorityMemory:
    """Times since `reset_s`, when the shares were computed.

    time_s: (units x types) seconds received; total_s: (types,) seconds given out, to finished units too; begun_s:
    (units,) the seconds among time_s that nobody received (the knob `initial_time`); changed: whether the set of jobs
    has changed since; policy: the policy's own memory; signals: what it said beside the shares; rounds: decisions so
    far.
    """

    plan: SharePlan
    time_s: FloatArray
    total_s: FloatArray
    begun_s: FloatArray
    ran: LastRound
    shares: Shares | None = None
    solved: SolveReport | None = None
    reset_s: float = 0.0
    changed: bool = True
    policy: Any = None
    signals: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    rounds: int = 0


NOTHING_RAN = LastRound(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), {}, 0.0)


def start(types: Sequence[str], kinds: Sequence[PlacedType] = ()) -> PriorityMemory:
    """The memory before the first decision. types: accelerator types; kinds: placed types, if they are others."""
    kinds = tuple(kinds) or tuple(map(PlacedType, types))
    none, grid = np.zeros(0, dtype=np.int64), np.zeros((0, len(kinds)))
    nobody, unknown = np.zeros(0, dtype=bool), np.full(len(types), -1)
    names = tuple(kind.name for kind in kinds)
    plan = SharePlan(
        names, kinds, accelerators_of(kinds, types), (), (), none, none, grid, grid, grid, grid, nobody, unknown
    )
    return PriorityMemory(plan, grid, np.zeros(len(kinds)), np.zeros(0), NOTHING_RAN)


def book(memory: PriorityMemory, snapshot: Snapshot) -> PriorityMemory:
    """Add the seconds of the last round to times and totals.

    A unit whose GPUs went early (a node failed) is charged what it held; a finished one what it was to run.
    """
    ran, plan = memory.ran, memory.plan
    if not len(ran.unit):
        return memory
    attained_s = snapshot.jobs.attained_s
    if plan.jobs == snapshot.jobs.names:
        held_s = (attained_s[plan.row[ran.unit]] - ran.attained_s) / plan.gang[ran.unit]
        seconds = np.minimum(ran.seconds, held_s)
    else:
        at = snapshot.jobs.at
        row = np.array([at.get(plan.members[i][0], -1) for i in ran.unit.tolist()], dtype=np.int64)
        held_s = (attained_s[row] - ran.attained_s) / plan.gang[ran.unit] if len(attained_s) else ran.seconds
        seconds = np.where(row >= 0, np.minimum(ran.seconds, held_s), ran.seconds)
    time_s, total_s = memory.time_s.copy(), memory.total_s.copy()
    time_s[ran.unit, ran.kind] += seconds
    np.add.at(total_s, ran.kind, seconds)
    return replace(memory, time_s=time_s, total_s=total_s, ran=ran._replace(unit=ran.unit[:0], kind=ran.kind[:0]))


def carry_over(memory: PriorityMemory, snapshot: Snapshot, inherit: bool = True) -> PriorityMemory:
    """Drop units of jobs that have gone, add jobs that have come: those have no share until the next computation.

    inherit: what a pair had goes to the member that is left (ours).
    """
    jobs = snapshot.jobs
    if memory.plan.jobs == jobs.names:
        return memory
    at, old = jobs.at, set(memory.plan.jobs)
    memory = inherited(memory, snapshot) if inherit else memory
    plan = memory.plan
    kept = np.array([all(name in at for name in names) for names in plan.members], dtype=bool)
    new = [row for row, name in enumerate(jobs.names) if name not in old]
    units = tuple(unit for unit, keep in zip(plan.units, kept.tolist(), strict=True) if keep)
    units += tuple(jobs.names[row] for row in new)
    view = take(jobs, new)
    speed, zero = speeds(snapshot, view, plan.kinds), np.zeros((len(new), len(plan.types)))
    carried = replace(
        plan,
        jobs=jobs.names,
        units=units,
        gang=np.concatenate([plan.gang[kept], view.gpus]),
        row=np.array([at[members(unit)[0]] for unit in units], dtype=np.int64),
        speed=np.concatenate([plan.speed[kept], speed]),
        other=np.concatenate([plan.other[kept], speed]),
        share=np.concatenate([plan.share[kept], zero]),
        deficit_s=np.concatenate([plan.deficit_s[kept], zero]),
        known=np.concatenate([plan.known[kept], np.zeros(len(new), dtype=bool)]),
    )
    return replace(
        memory,
        plan=carried,
        time_s=np.concatenate([memory.time_s[kept], zero]),
        begun_s=np.concatenate([memory.begun_s[kept], np.zeros(len(new))]),
        changed=True,
    )


def inherited(memory: PriorityMemory, snapshot: Snapshot) -> PriorityMemory:
    """Shares, times and deficits of pairs of which one member is left, added to those of that member alone.

    Else it would have no share, though a job waits that has one, until the shares are computed anew.
    """
    plan, there = memory.plan, snapshot.jobs.at
    if not plan.has_pairs:
        return memory
    row = {unit: i for i, unit in enumerate(plan.units)}
    pairs, heirs = [], []
    for i, names in enumerate(plan.members):
        left = [name for name in names if name in there]
        if len(names) > 1 and len(left) == 1:
            pairs.append(i)
            heirs.append(row[left[0]])

    def add(values: FloatArray) -> FloatArray:
        total = values.copy()
        np.add.at(total, heirs, values[pairs])
        return total

    return replace(
        memory,
        plan=replace(plan, share=add(plan.share), deficit_s=add(plan.deficit_s)),
        time_s=add(memory.time_s),
        begun_s=add(memory.begun_s),
    )
