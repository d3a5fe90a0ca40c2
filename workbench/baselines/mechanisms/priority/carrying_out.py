"""From the units chosen to a decision: nodes, lengths of the round, reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.baselines.mechanisms import rounds
from workbench.baselines.mechanisms.per_job import PerJob
from workbench.baselines.mechanisms.priority.memory import Memory, Ran, SharePlan
from workbench.baselines.mechanisms.priority.picking import Picked, pick_in_turn
from workbench.baselines.mechanisms.priority.placing import Placing
from workbench.baselines.mechanisms.priority.reasons import reasons
from workbench.baselines.mechanisms.priority.steady import steady_until_s
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import Assignment, Decision, IntArray, Snapshot, Unit, members
from workbench.scheduling.placement import Gpus
from workbench.scheduling.solvers.report import SolveReport

KEPT = SolveReport("", None, made_by="kept")
"""Nothing was solved: the shares are those of before."""


def carry_out(
    snapshot: Snapshot,
    memory: Memory,
    knobs: Mapping[str, Any],
    priority: FloatArray,
    order: Sequence[int],
    picked: Picked,
    fresh: bool,
) -> tuple[Decision, Memory]:
    """Place the chosen units and write the decision.

    order: positions of the types; fresh: whether the shares were computed for it.
    """
    plan = memory.plan
    running, placed = _place(snapshot, memory, knobs, priority, order, picked)
    unit, kind = np.array(running.units, dtype=np.int64), np.array(running.kinds, dtype=np.int64)
    work = _work(snapshot, memory, unit, kind, knobs)
    steady_s = steady_until_s(snapshot, memory, knobs, running) if running == picked else None
    until_s = work.until_s if steady_s is None else np.inf
    assign = _assignments(plan, running, placed, until_s, work.steps)
    signal = _per_job(plan, priority)
    last_job = knobs["round_end"] == "last_job"
    decision = Decision(
        assign=assign,
        preempt=frozenset(snapshot.leases),
        shares=memory.shares,
        signals={"priority": signal, **(memory.signals if fresh else {})},
        solved=memory.solved if fresh else None if memory.solved is None else KEPT,
        why=reasons(snapshot, memory, priority, signal, assign, running),
        next_s=work.until_s if last_job else steady_s,
    )
    ran = Ran(
        unit,
        kind,
        work.seconds if steady_s is None else np.full(len(unit), np.inf),
        snapshot.jobs.attained_s[plan.row[unit]],
        _steps_left(snapshot, plan, running) if last_job else {},
        work.until_s - snapshot.now_s,
    )
    return decision, replace(memory, ran=ran, rounds=memory.rounds + 1)


def _place(
    snapshot: Snapshot,
    memory: Memory,
    knobs: Mapping[str, Any],
    priority: FloatArray,
    order: Sequence[int],
    picked: Picked,
) -> tuple[Picked, Mapping[Unit, Gpus]]:
    """Who runs, and where. If some unit that was picked finds no nodes, units are picked and placed one by one.

    Only so does who comes first get its nodes, whatever the size of its gang, and whoever fits the GPUs left gets them.
    """
    had = {unit: a.gpus for unit, a in (*snapshot.leases.items(), *snapshot.ended.items())}

    def placing() -> Placing:
        return Placing(snapshot, memory.plan, knobs["placement"], had)

    at_once = placing()
    running = at_once.place(picked)
    if len(running.units) == len(picked.units):
        return running, at_once.gpus
    in_turn, again = placing(), placing()
    running = pick_in_turn(memory, priority, order, knobs, in_turn.find)
    # placed at once, if they then all find nodes, more of them stay where they are
    return running, again.gpus if again.place(running) == running else in_turn.gpus


def _assignments(
    plan: SharePlan, running: Picked, placed: Mapping[Unit, Gpus], until_s: float, steps: FloatArray
) -> tuple[Assignment, ...]:
    units = [plan.units[i] for i in running.units]
    caps = [None if cap != cap else cap for cap in steps.tolist()]
    return tuple([Assignment(unit, placed[unit], until_s, "run", cap) for unit, cap in zip(units, caps, strict=True)])


def _steps_left(snapshot: Snapshot, plan: SharePlan, running: Picked) -> dict[str, float]:
    """{job: steps left} of the units that run."""
    at, left = snapshot.jobs.at, snapshot.jobs.steps_left
    return {name: float(left[at[name]]) for i in running.units for name in plan.members[i]}


def least_round_s(snapshot: Snapshot, memory: Memory) -> float:
    """Twice the last round if a job that has GPUs to its end did not do a step (it spent the round restarting), else 0.

    Rounds that end with their last job may be shorter than a restart, which the scheduler does not know. A job whose
    node failed has no GPUs any more: what it lost says nothing about restarts.
    """
    if not memory.ran.left:
        return 0.0
    at, left = snapshot.jobs.at, snapshot.jobs.steps_left
    held = {name for unit in (*snapshot.leases, *snapshot.ended) for name in members(unit)}
    stuck = any(name in held and left[at[name]] >= before for name, before in memory.ran.left.items())
    return 2 * memory.ran.round_s if stuck else 0.0


def _work(snapshot: Snapshot, memory: Memory, unit: IntArray, kind: IntArray, knobs: Mapping[str, Any]) -> rounds.Work:
    """What the units do this round; a pair runs for as long as its slower member needs.

    With whole steps each member does at most the steps of whichever does more: also where it goes on alone.
    """
    left, plan = snapshot.jobs.steps_left, memory.plan
    least_s = least_round_s(snapshot, memory)
    work = rounds.work(snapshot.now_s, left[plan.row[unit]], plan.speed[unit, kind], knobs, least_s)
    pairs = [i for i, u in enumerate(unit.tolist()) if len(plan.members[u]) > 1] if plan.has_pairs else []
    if not pairs:
        return work
    last = np.array([snapshot.jobs.at[plan.members[u][-1]] for u in unit[pairs].tolist()], dtype=np.int64)
    both = rounds.work(snapshot.now_s, left[last], plan.other[unit[pairs], kind[pairs]], knobs)
    until_s = max(work.until_s, both.until_s)
    if knobs["whole_steps"]:
        one, two = work.steps[pairs], both.steps
        one, two = np.where(np.isnan(one), left[plan.row[unit[pairs]]], one), np.where(np.isnan(two), left[last], two)
        work.steps[pairs] = np.maximum(one, two)
    work.seconds[pairs] = np.maximum(work.seconds[pairs], both.seconds)
    return work._replace(until_s=until_s)


def _per_job(plan: SharePlan, priority: FloatArray) -> Mapping[str, float]:
    """Each job's largest priority, over types and the units it is in."""
    best = priority.max(axis=1, initial=0.0)
    if not plan.has_pairs:
        return PerJob(plan.units, best)  # type: ignore[arg-type]
    found: dict[str, float] = {}
    for unit, value in zip(plan.units, best.tolist(), strict=True):
        for name in members(unit):
            found[name] = max(found.get(name, 0.0), value)
    return found
