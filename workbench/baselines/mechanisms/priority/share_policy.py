"""When shares of time are computed, and what then becomes of times and deficits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.placed_types import speeds
from workbench.baselines.mechanisms.priority.memory import PriorityMemory, SharePlan, inherited
from workbench.scheduling.decision import PlacedType, Shares, Unit, members
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers.solve_report import SolveReport

SMALLEST_SHARE = 1e-9
"""Smaller shares are what a solver's rounding left; they count as 0."""


class PolicyAnswer(NamedTuple):
    """What a policy answers: shares of time, how they were computed, its own memory, and signals to be recorded."""

    shares: Shares
    solved: SolveReport | None = None
    memory: Any = None
    signals: Mapping[str, Mapping[str, float]] = {}


class SharePolicy(Protocol):
    """Shares of time for the jobs of a snapshot; pure like `Scheduler.decide`. Jobs without a row have no share."""

    def __call__(self, snapshot: Snapshot, knobs: Mapping[str, Any], memory: Any) -> PolicyAnswer: ...


def due(memory: PriorityMemory, snapshot: Snapshot, knobs: Mapping[str, Any]) -> bool:
    """Whether the shares are to be computed anew.

    At once if GPUs came or went; if jobs came or went, `recompute_s` after the last time, where one at 0 s does not
    count (authors' simulator); and `refresh_s` after the last time.
    """
    if not len(snapshot.jobs):
        return False
    if memory.plan.capacity.tolist() != snapshot.capacity.tolist():
        return True
    age_s = snapshot.now_s - memory.reset_s
    if knobs["refresh_s"] is not None and age_s >= knobs["refresh_s"]:
        return True
    changed = memory.changed or memory.plan.jobs != snapshot.jobs.names
    return changed and (memory.reset_s == 0.0 or age_s >= knobs["recompute_s"])


def allocate(
    memory: PriorityMemory, snapshot: Snapshot, knobs: Mapping[str, Any], policy: SharePolicy
) -> PriorityMemory:
    """Ask the policy for shares of the jobs that are there; times start afresh, deficits carry over.

    With shares anew in every round no job has had time yet, so all priorities are infinite and deficits decide.
    """
    found = policy(snapshot, knobs, memory.policy)
    start_s = knobs["initial_time"] * knobs["round_s"]
    before = inherited(memory, snapshot) if knobs["inherit"] else memory
    plan = _plan(snapshot, found.shares, before, 0.0 if knobs["inherit"] else start_s)
    return replace(
        memory,
        plan=plan,
        time_s=np.full(plan.share.shape, start_s),
        total_s=np.full(len(plan.types), start_s * len(plan.units)),
        begun_s=np.full(len(plan.units), start_s),
        shares=found.shares,
        solved=found.solved,
        reset_s=snapshot.now_s,
        changed=False,
        policy=found.memory,
        signals=found.signals,
    )


def _owed(memory: PriorityMemory, now_s: float) -> FloatArray:
    """(units x types) deficits now: what each was to receive since the last computation less what it did."""
    received_s = memory.time_s - memory.begun_s[:, None]
    return memory.plan.deficit_s + memory.plan.share * (now_s - memory.reset_s) - received_s


def _plan(snapshot: Snapshot, shares: Shares, memory: PriorityMemory, start_s: float) -> SharePlan:
    """Units with their shares; a job that is in none of them follows alone, without a share. Deficits carry over.

    start_s: what a new pair is owed: in the authors' simulator, where it begins without the time of `initial_time`,
    that time.
    """
    before = memory.plan
    if shares.types != before.types:
        raise InputError("shares of time, types", shares.types, f"{', '.join(before.types)}")
    jobs, listed = snapshot.jobs, set(shares.units)
    others = tuple(name for name in jobs.names if name not in listed)
    units = shares.units + others
    share = np.concatenate([shares.values, np.zeros((len(others), len(shares.types)))])
    row = np.array([jobs.at[members(unit)[0]] for unit in units], dtype=np.int64)
    speed = speeds(snapshot, jobs, before.kinds)[row]
    place_of = {unit: i for i, unit in enumerate(before.units)}
    place = np.array([place_of.get(unit, -1) for unit in units], dtype=np.int64)  # new ones have the row after the last
    owed_s = np.concatenate([_owed(memory, snapshot.now_s), np.zeros((1, len(before.types)))])[place]
    if start_s > 0:
        owed_s[[new < 0 and not isinstance(unit, str) for new, unit in zip(place.tolist(), units, strict=True)]] = (
            start_s
        )
    return SharePlan(
        before.types,
        before.kinds,
        before.accelerator_of,
        jobs.names,
        units,
        jobs.gpus[row],
        row,
        *_with_pairs(snapshot, units, before.kinds, speed),
        np.where(share < SMALLEST_SHARE, 0.0, share),
        owed_s,
        np.ones(len(units), dtype=bool),
        snapshot.capacity,
    )


def _with_pairs(
    snapshot: Snapshot, units: tuple[Unit, ...], kinds: tuple[PlacedType, ...], speed: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(units x types) steps/s of the first and of the last member, from those of single jobs; 0 where it cannot run."""
    jobs, last = snapshot.jobs, speed.copy()
    for i, unit in enumerate(units):
        if not isinstance(unit, str):
            one, two = (jobs.jobs[jobs.at[name]] for name in members(unit))
            rates = [snapshot.belief.pair(one, two, kind.accelerator, kind.word) or (0.0, 0.0) for kind in kinds]
            alone = speed[i] > 0  # where it can run and be so placed
            speed[i], last[i] = np.where(alone, np.transpose(rates), 0.0)
    return speed, last
