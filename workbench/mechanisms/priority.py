"""Gavel's scheduling mechanism (section 5, Algorithm 1): shares of time become rounds.

priority_mj = X_mj / f_mj, f_mj = t_mj / sum_m' t_m'j, where t_mj is the time that unit m (a job or a pair) has spent on
type j since the shares X were computed. Highest priority first; a gang must fit into the free workers of its type;
units that share a job with a chosen one drop out.

A gang counts its time once, and a finished job's time stays in the sum until the shares are computed anew (as in the
authors' simulator). Then times start afresh, while deficits carry over: `X_mj` times the seconds since the last
computation minus the seconds received. Ties go by the larger deficit, then the larger X, then the order of the units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from workbench.decision import (
    Assignment,
    BoolArray,
    Decision,
    IntArray,
    Reason,
    Shares,
    Snapshot,
    Solution,
    Unit,
    members,
)
from workbench.knob import Knob
from workbench.mechanisms import rounds
from workbench.mechanisms.per_job import PerJob
from workbench.placement import Request, Room, place, runs_spread
from workbench.queues import take
from workbench.throughput import FloatArray

SMALLEST_SHARE = 1e-9
"""Smaller shares are what a solver's rounding left; they count as 0."""

KNOBS = (
    *rounds.KNOBS,
    Knob(
        "recompute_s",
        0.0,
        "Least time between two computations of the shares (one at 0 s does not count)",
        "s",
        "paper",
        minimum=0.0,
    ),
    Knob(
        "refresh_s",
        None,
        "Compute the shares anew after this time even if the jobs are the same (none: never)",
        "s",
        "paper",
        minimum=1.0,
        optional=True,
    ),
    Knob(
        "initial_time",
        0.0,
        "Time that every job starts with on every type (0: first priority to whoever has not run yet)",
        "rounds",
        "paper",
        minimum=0.0,
        maximum=100.0,
    ),
    Knob(
        "pick",
        "highest",
        "Pick the highest priority of all, or type by type in the order of type_order",
        source="paper",
        kind="str",
        choices=("highest", "by_type"),
    ),
    Knob(
        "type_order",
        "",
        "Order of the types, separated by commas (types not named follow in the cluster's order)",
        kind="str",
    ),
    Knob(
        "shuffle_types",
        "never",
        "Draw the order of the types anew each round: never, if the policy does not know the types' speeds, or always",
        source="code",
        kind="str",
        choices=("never", "agnostic", "always"),
    ),
    Knob(
        "leftovers",
        "all",
        "Who may take workers that no job with a share of them uses: all; the jobs the shares were computed for, "
        "where later ones only keep others off (the authors' simulator); none",
        source="paper",
        kind="str",
        choices=("all", "known", "none"),
    ),
    Knob(
        "placement",
        "consolidate",
        "Nodes for a new placement: the fewest, or nodes in order",
        source="paper",
        kind="str",
        choices=("consolidate", "fill"),
    ),
)

AUTHORS: Mapping[str, Any] = {
    "whole_steps": True,
    "round_end": "last_job",
    "recompute_s": 1920.0,
    "initial_time": 0.5,
    "pick": "by_type",
    "type_order": "v100,p100,k80",
    "shuffle_types": "agnostic",
    "leftovers": "known",
    "placement": "fill",
}
"""The knobs above as in the authors' simulator."""


class Allocated(NamedTuple):
    """What a policy answers: shares of time, how they were computed, and the policy's own memory."""

    shares: Shares
    solution: Solution | None = None
    memory: Any = None


class SharePolicy(Protocol):
    """Shares of time for the jobs of a snapshot; pure like `Scheduler.decide`. Jobs without a row have no share."""

    def __call__(self, snapshot: Snapshot, knobs: Mapping[str, Any], memory: Any) -> Allocated: ...


@dataclass(frozen=True, eq=False)
class Memory:
    """What the mechanism remembers; arrays have one row per unit, columns are the cluster's types.

    names: active jobs at the last decision; gang, row: GPUs, and the row in `names` of the first member; speed, other:
    steps/s of the first and of the last member; known: whether the shares were computed for it; time_s: since reset_s;
    total_s: (types,) given out since then, to finished units too; changed: the set of jobs has changed since.
    ran_*: what was assigned at the last decision, and how many seconds it was to run; where rounds end with their last
    job also the steps that its jobs had left, and the length of the round.
    """

    types: tuple[str, ...]
    names: tuple[str, ...]
    units: tuple[Unit, ...]
    gang: IntArray
    row: IntArray
    speed: FloatArray
    other: FloatArray
    known: BoolArray
    share: FloatArray
    time_s: FloatArray
    deficit_s: FloatArray
    total_s: FloatArray
    ran: IntArray
    ran_kind: IntArray
    ran_s: FloatArray
    ran_attained_s: FloatArray
    workers: IntArray
    shares: Shares | None = None
    solution: Solution | None = None
    reset_s: float = 0.0
    changed: bool = True
    policy: Any = None
    ran_left: Mapping[str, float] = field(default_factory=dict)
    ran_round_s: float = 0.0

    @property
    def can_run(self) -> BoolArray:
        """(units x types) whether every member has a speed there."""
        return (self.speed > 0) & (self.other > 0)


class Picked(NamedTuple):
    """Chosen units in the order of choice: positions in `Memory.units` and their types."""

    units: list[int]
    kinds: list[int]


def start(types: Sequence[str]) -> Memory:
    """The memory before the first decision."""
    none, grid = np.zeros(0, dtype=np.int64), np.zeros((0, len(types)))
    return Memory(
        tuple(types), (), (), none, none, grid, grid, np.zeros(0, dtype=bool), grid, grid, grid, np.zeros(len(types)),
        none, none, np.zeros(0), np.zeros(0), np.full(len(types), -1),
    )  # fmt: skip


def decide(
    snapshot: Snapshot, memory: Memory, knobs: Mapping[str, Any], rng: np.random.Generator, policy: SharePolicy
) -> tuple[Decision, Memory]:
    """One round: book the time of the last one, compute shares where they are due, choose units, place them."""
    memory = carry_over(book(memory, snapshot), snapshot)
    order = type_order(memory.types, knobs, rng)
    fresh = due(memory, snapshot, knobs)
    if fresh:
        memory = allocate(memory, snapshot, knobs, policy)
    priority = priorities(memory)
    picked = pick(memory, priority, order, knobs)
    if not picked.units and len(snapshot.jobs) and not fresh and memory.changed:
        # nothing would run although there are jobs whose share nobody has computed
        fresh, memory = True, allocate(memory, snapshot, knobs, policy)
        priority = priorities(memory)
        picked = pick(memory, priority, order, knobs)
    return _carry_out(snapshot, memory, knobs, priority, picked, fresh)


# Time ----------------------------------------------------------------------------------------------------------------


def book(memory: Memory, snapshot: Snapshot) -> Memory:
    """Add the seconds of the last round to times and totals.

    A unit whose GPUs went early (a node failed) is charged what it held; a finished one what it was to run.
    """
    if not len(memory.ran):
        return memory
    seconds, ran = memory.ran_s, memory.ran
    row, gang = memory.row[ran], memory.gang[ran]
    here = np.ones(len(ran), dtype=bool)
    if memory.names != snapshot.jobs.names:
        at = snapshot.jobs.at
        row = np.array([at.get(members(memory.units[i])[0], -1) for i in ran.tolist()], dtype=np.int64)
        here = row >= 0
    held = (snapshot.jobs.attained_s[row[here]] - memory.ran_attained_s[here]) / gang[here]
    seconds = seconds.copy()
    seconds[here] = np.minimum(seconds[here], held)
    time_s, total_s = memory.time_s.copy(), memory.total_s.copy()
    time_s[ran, memory.ran_kind] += seconds
    np.add.at(total_s, memory.ran_kind, seconds)
    return replace(memory, time_s=time_s, total_s=total_s, ran=ran[:0], ran_kind=ran[:0])


def carry_over(memory: Memory, snapshot: Snapshot) -> Memory:
    """Drop units of jobs that have gone, add jobs that have come: those have no share until the next computation."""
    jobs = snapshot.jobs
    if memory.names == jobs.names:
        return memory
    at = jobs.at
    kept = np.array([all(name in at for name in members(unit)) for unit in memory.units], dtype=bool)
    old = set(memory.names)
    new = [row for row, name in enumerate(jobs.names) if name not in old]
    units = tuple(unit for unit, keep in zip(memory.units, kept.tolist(), strict=True) if keep)
    units += tuple(jobs.names[row] for row in new)
    view = take(jobs, new)
    speed = snapshot.belief.speeds(view)
    zero = np.zeros((len(new), len(memory.types)))
    return replace(
        memory,
        names=jobs.names,
        units=units,
        gang=np.concatenate([memory.gang[kept], view.gpus]),
        row=np.array([at[members(unit)[0]] for unit in units], dtype=np.int64),
        speed=np.concatenate([memory.speed[kept], speed]),
        other=np.concatenate([memory.other[kept], speed]),
        known=np.concatenate([memory.known[kept], np.zeros(len(new), dtype=bool)]),
        share=np.concatenate([memory.share[kept], zero]),
        time_s=np.concatenate([memory.time_s[kept], zero]),
        deficit_s=np.concatenate([memory.deficit_s[kept], zero]),
        changed=True,
    )


# Shares --------------------------------------------------------------------------------------------------------------


def due(memory: Memory, snapshot: Snapshot, knobs: Mapping[str, Any]) -> bool:
    """Whether the shares are to be computed anew.

    At once if workers came or went; if the jobs have changed, `recompute_s` after the last time, where one at 0 s does
    not count (authors' simulator); and `refresh_s` after the last time.
    """
    if not len(snapshot.jobs):
        return False
    if (memory.workers != snapshot.workers).any():
        return True
    age_s = snapshot.now_s - memory.reset_s
    if knobs["refresh_s"] is not None and age_s >= knobs["refresh_s"]:
        return True
    return memory.changed and (memory.reset_s == 0.0 or age_s >= knobs["recompute_s"])


def allocate(memory: Memory, snapshot: Snapshot, knobs: Mapping[str, Any], policy: SharePolicy) -> Memory:
    """Ask the policy for shares; times start afresh, deficits carry over."""
    found = policy(snapshot, knobs, memory.policy)
    jobs = snapshot.jobs
    start_s = knobs["initial_time"] * knobs["round_s"]
    deficit_s = memory.deficit_s + memory.share * (snapshot.now_s - memory.reset_s) - (
        memory.time_s - np.where(memory.known[:, None], start_s, 0.0)
    )  # fmt: skip
    listed = set(found.shares.units)
    others = tuple(name for name in jobs.names if name not in listed)
    units = found.shares.units + others
    share = np.concatenate([found.shares.values, np.zeros((len(others), len(memory.types)))])
    speed, other = _speeds(snapshot, units)
    place_of = {unit: i for i, unit in enumerate(memory.units)}
    before = np.array([place_of.get(unit, -1) for unit in units], dtype=np.int64)
    return replace(
        memory,
        units=units,
        gang=jobs.gpus[[jobs.at[members(unit)[0]] for unit in units]],
        row=np.array([jobs.at[members(unit)[0]] for unit in units], dtype=np.int64),
        speed=speed,
        other=other,
        known=np.ones(len(units), dtype=bool),
        share=np.where(share < SMALLEST_SHARE, 0.0, share),
        time_s=np.full(share.shape, start_s),
        deficit_s=np.where(before[:, None] >= 0, deficit_s[before], 0.0),
        total_s=np.full(len(memory.types), start_s * len(units)),
        workers=snapshot.workers,
        shares=found.shares,
        solution=found.solution,
        reset_s=snapshot.now_s,
        changed=False,
        policy=found.memory,
    )


def _speeds(snapshot: Snapshot, units: tuple[Unit, ...]) -> tuple[FloatArray, FloatArray]:
    """(units x types) steps/s of the first and the last member of each unit, 0 where it cannot run."""
    jobs, types, belief = snapshot.jobs, snapshot.types, snapshot.belief
    alone = belief.speeds(jobs)
    first = alone[[jobs.at[members(unit)[0]] for unit in units]]
    last = first.copy()
    for i, unit in enumerate(units):
        if isinstance(unit, str):
            continue
        one, two = (jobs.jobs[jobs.at[name]] for name in members(unit))
        rates = [belief.pair(one, two, kind) or (0.0, 0.0) for kind in types]
        first[i], last[i] = zip(*rates, strict=True)
    return first, last


# Choice --------------------------------------------------------------------------------------------------------------


def priorities(memory: Memory) -> FloatArray:
    """(units x types) `X / f`; infinite where a unit with a share has not run, 0 without a share or a speed."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = memory.share * memory.total_s / memory.time_s
    value = np.where(memory.time_s > 0, value, np.inf)
    return np.where((memory.share > 0) & memory.can_run, value, 0.0)


def type_order(types: Sequence[str], knobs: Mapping[str, Any], rng: np.random.Generator) -> list[int]:
    """Positions of the types in the order in which they are filled; names that the cluster lacks are passed over."""
    agnostic = not knobs.get("heterogeneity_aware", False)
    if knobs["shuffle_types"] == "always" or (knobs["shuffle_types"] == "agnostic" and agnostic):
        return [int(i) for i in rng.permutation(len(types))]
    wanted = [name.strip() for name in str(knobs["type_order"]).split(",")]
    first = [types.index(name) for name in dict.fromkeys(wanted) if name in types]
    return [*first, *(i for i in range(len(types)) if i not in first)]


def pick(memory: Memory, priority: FloatArray, order: Sequence[int], knobs: Mapping[str, Any]) -> Picked:
    """Algorithm 1: units and types for this round, in the order of choice.

    priority: (units x types); order: positions of the types.
    """
    allowed = memory.can_run & (memory.gang[:, None] <= memory.workers)
    if knobs["leftovers"] == "none":
        allowed &= priority > 0
    keys = (_coarse(priority), np.round(memory.deficit_s, 6), np.round(memory.share, 9))
    unit, kind = _queue(keys, allowed, order, knobs["pick"] == "by_type")
    picked = _take(memory, unit.tolist(), kind.tolist())
    if knobs["leftovers"] != "known":
        return picked
    known = memory.known.tolist()
    both = [(u, k) for u, k in zip(*picked, strict=True) if known[u]]
    return Picked([u for u, _ in both], [k for _, k in both])


def _coarse(values: FloatArray) -> FloatArray:
    """Values to 30 binary digits (1e-9 relative), so that rounding errors do not decide between equals."""
    fraction, exponent = np.frexp(values)
    return np.ldexp(np.round(fraction * 2.0**30), exponent)


def _queue(
    keys: tuple[FloatArray, FloatArray, FloatArray], allowed: BoolArray, order: Sequence[int], by_type: bool
) -> tuple[IntArray, IntArray]:
    """Allowed (unit, type) in the order of choice: by priority, deficit, share (large first), unit, type."""
    rank = np.empty(len(order), dtype=np.int64)
    rank[list(order)] = np.arange(len(order))
    unit, kind = np.nonzero(allowed)
    sort = [rank[kind], unit, *(-key[unit, kind] for key in reversed(keys))]
    if by_type:
        sort.append(rank[kind])
    best = np.lexsort(sort)
    return unit[best], kind[best]


def _take(memory: Memory, units: list[int], kinds: list[int]) -> Picked:
    """Go through the queue: take what fits, each job once, until no worker is left."""
    left: list[int] = memory.workers.tolist()
    total = sum(left)
    gang: list[int] = memory.gang.tolist()
    picked = Picked([], [])
    taken: set[str] = set()
    for unit, kind in zip(units, kinds, strict=True):
        if gang[unit] > left[kind]:
            continue
        name = memory.units[unit]
        names = (name,) if isinstance(name, str) else members(name)
        if names[0] in taken or names[-1] in taken:
            continue
        taken.update(names)
        left[kind] -= gang[unit]
        picked.units.append(unit)
        picked.kinds.append(kind)
        total -= gang[unit]
        if total == 0:
            break
    return picked


# Decision ------------------------------------------------------------------------------------------------------------


def _carry_out(
    snapshot: Snapshot, memory: Memory, knobs: Mapping[str, Any], priority: FloatArray, picked: Picked, fresh: bool
) -> tuple[Decision, Memory]:
    """Place the chosen units and write the decision."""
    before = {**snapshot.leases, **snapshot.ended}
    requests = []
    for i, j in zip(*picked, strict=True):
        name, had = memory.units[i], before.get(memory.units[i])
        requests.append(Request(name, j, int(memory.gang[i]), had.gpus if had is not None else None))
    room = Room(snapshot.nodes, (lease.gpus for lease in snapshot.leases.values()))
    placed = place(requests, room, knobs["placement"], accept=runs_spread(snapshot))
    chosen = [i for i, request in enumerate(requests) if request.unit in placed]
    unit = np.array(picked.units, dtype=np.int64)[chosen]
    kind = np.array(picked.kinds, dtype=np.int64)[chosen]
    work = _work(snapshot, memory, unit, kind, knobs)
    last_job = knobs["round_end"] == "last_job"
    ran = (name for i in chosen for name in members(requests[i].unit)) if last_job else ()
    caps: list[float | None] = [None if cap != cap else cap for cap in work.steps.tolist()]
    assign = tuple(
        Assignment(requests[i].unit, placed[requests[i].unit], work.until_s, "run", cap)
        for i, cap in zip(chosen, caps, strict=True)
    )
    decision = Decision(
        assign=assign,
        preempt=frozenset(snapshot.leases),
        shares=memory.shares,
        signals={"priority": _per_job(memory, priority)},
        solution=memory.solution if fresh else None,
        why=_reasons(snapshot, memory, priority, assign, kind.tolist(), unit.tolist()),
        next_s=work.until_s if last_job else None,
    )
    return decision, replace(
        memory,
        ran=unit,
        ran_kind=kind,
        ran_s=work.seconds,
        ran_attained_s=snapshot.jobs.attained_s[memory.row[unit]],
        ran_left={name: float(snapshot.jobs.steps_left[snapshot.jobs.at[name]]) for name in ran},
        ran_round_s=work.until_s - snapshot.now_s,
    )


def least_round_s(snapshot: Snapshot, memory: Memory) -> float:
    """Twice the last round if a job that had GPUs in it did not do a step (it spent the round restarting), else 0.

    Rounds that end with their last job may be shorter than a restart, which the scheduler does not know.
    """
    at, left = snapshot.jobs.at, snapshot.jobs.steps_left
    stuck = any(name in at and left[at[name]] >= before for name, before in memory.ran_left.items())
    return 2 * memory.ran_round_s if stuck else 0.0


def _work(snapshot: Snapshot, memory: Memory, unit: IntArray, kind: IntArray, knobs: Mapping[str, Any]) -> rounds.Work:
    """What the units do this round; a pair runs for as long as its slower member needs, without a cap on steps."""
    left, row = snapshot.jobs.steps_left, memory.row[unit]
    least_s = least_round_s(snapshot, memory)
    work = rounds.work(snapshot.now_s, left[row], memory.speed[unit, kind], knobs, least_s)
    pairs = [i for i, u in enumerate(unit.tolist()) if not isinstance(memory.units[u], str)]
    if not pairs:
        return work
    last = np.array([snapshot.jobs.at[members(memory.units[u])[-1]] for u in unit[pairs].tolist()], dtype=np.int64)
    both = rounds.work(snapshot.now_s, left[last], memory.other[unit[pairs], kind[pairs]], knobs)
    until_s = max(work.until_s, both.until_s)
    work.steps[pairs] = np.nan
    work.seconds[pairs] = np.maximum(work.seconds[pairs], both.seconds)
    return work._replace(until_s=until_s)


def _per_job(memory: Memory, priority: FloatArray) -> Mapping[str, float]:
    """Each job's largest priority, over types and the units it is in."""
    best = priority.max(axis=1, initial=0.0)
    if all(isinstance(unit, str) for unit in memory.units):
        return PerJob(memory.units, best)  # type: ignore[arg-type]
    found: dict[str, float] = {}
    for unit, value in zip(memory.units, best.tolist(), strict=True):
        for name in members(unit):
            found[name] = max(found.get(name, 0.0), value)
    return found


def _reasons(
    snapshot: Snapshot,
    memory: Memory,
    priority: FloatArray,
    assign: Sequence[Assignment],
    kinds: Sequence[int],
    units: Sequence[int],
) -> dict[str, Reason]:
    """Reasons for those who start, move or lose their GPUs; who just goes on needs none."""
    why: dict[str, Reason] = {}
    for a, kind, unit in zip(assign, kinds, units, strict=True):
        had = snapshot.ended.get(a.unit) or snapshot.leases.get(a.unit)
        if had is None or had.gpus != a.gpus:
            reason = _chosen(memory, unit, kind, float(priority[unit, kind]))
            why.update((name, reason) for name in members(a.unit))
    units_on = {a.unit for a in assign}
    running = {name for unit in units_on for name in members(unit)}
    before = [unit for unit in (*snapshot.ended, *snapshot.leases) if unit not in units_on]
    stopped = [name for unit in before for name in members(unit) if name not in running]
    best = dict(_per_job(memory, priority)) if stopped else {}
    for name in stopped:
        value = best.get(name, 0.0)
        text = f"priority {value:.3g}: others came first for the workers"
        why[name] = Reason("outranked", text, {"priority": value})
    return why


def _chosen(memory: Memory, unit: int, kind: int, priority: float) -> Reason:
    share, name = float(memory.share[unit, kind]), memory.types[kind]
    facts: dict[str, float | str] = {"priority": priority, "share": share, "type": name}
    if priority <= 0:
        return Reason("leftover", f"workers of {name} that no job with a share of them uses", facts)
    received = float(memory.time_s[unit, kind] / memory.total_s[kind]) if memory.total_s[kind] > 0 else 0.0
    text = f"priority {priority:.3g} on {name}: its share is {share:.3g}, its part of the time so far {received:.3g}"
    return Reason("priority", text, facts | {"received": received})
