"""From the units chosen to a decision: nodes, lengths of the round, reasons."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.base.round_times import boundary_after, boundary_from
from workbench.baselines.mechanisms import rounds
from workbench.baselines.mechanisms.priority.memory import LastRound, PriorityMemory, SharePlan
from workbench.baselines.mechanisms.priority.picking import PickedUnits, pick_in_turn
from workbench.scheduling.decision import Assignment, Decision, PerJob, Reason, Unit, members
from workbench.scheduling.placement import FreeGpus, Gpus, Request, Style, place, runs_spread
from workbench.scheduling.snapshot import Snapshot
from workbench.scheduling.solvers.solve_report import KEPT


def carry_out(
    snapshot: Snapshot,
    memory: PriorityMemory,
    knobs: Mapping[str, Any],
    priority: FloatArray,
    order: Sequence[int],
    picked: PickedUnits,
    fresh: bool,
) -> tuple[Decision, PriorityMemory]:
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
        solved=memory.solved if fresh else KEPT,
        why=reasons(snapshot, memory, priority, signal, assign, running),
        next_s=work.until_s if last_job else steady_s,
    )
    ran = LastRound(
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
    memory: PriorityMemory,
    knobs: Mapping[str, Any],
    priority: FloatArray,
    order: Sequence[int],
    picked: PickedUnits,
) -> tuple[PickedUnits, Mapping[Unit, Gpus]]:
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
    plan: SharePlan, running: PickedUnits, placed: Mapping[Unit, Gpus], until_s: float, steps: FloatArray
) -> tuple[Assignment, ...]:
    units = [plan.units[i] for i in running.units]
    caps = [None if cap != cap else cap for cap in steps.tolist()]
    return tuple([Assignment(unit, placed[unit], until_s, "run", cap) for unit, cap in zip(units, caps, strict=True)])


def _steps_left(snapshot: Snapshot, plan: SharePlan, running: PickedUnits) -> dict[str, float]:
    """{job: steps left} of the units that run."""
    at, left = snapshot.jobs.at, snapshot.jobs.steps_left
    return {name: float(left[at[name]]) for i in running.units for name in plan.members[i]}


def least_round_s(snapshot: Snapshot, memory: PriorityMemory) -> float:
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


def _work(
    snapshot: Snapshot, memory: PriorityMemory, unit: IntArray, kind: IntArray, knobs: Mapping[str, Any]
) -> rounds.Work:
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


class Placing:
    """Nodes for the units of one round. gpus: what each has found; had: GPUs that units hold until now."""

    def __init__(self, snapshot: Snapshot, plan: SharePlan, style: Style, had: Mapping[Unit, Gpus]) -> None:
        self.gpus: dict[Unit, Gpus] = {}
        self._snapshot, self._plan, self._style, self._had = snapshot, plan, style, had
        self._free_gpus = FreeGpus(snapshot.nodes, (lease.gpus for lease in snapshot.leases.values()))
        self._accept = runs_spread(snapshot)

    def place(self, picked: PickedUnits) -> PickedUnits:
        """Those of the chosen units that find GPUs, with the placed types they really get; who can stay does.

        Where placement counts: of equal gangs those that are to be spread come first, since gangs that are together
        fill up node by node; who finds no room of its kind takes the other placement of the type, if it runs there.
        """
        units = self._plan.units
        requests = self._requests(picked)
        self._place(requests)
        if len(self.gpus) == len(requests):
            return picked
        got = [
            (unit, kind if units[unit] in self.gpus else self.find(unit, kind))
            for unit, kind in zip(*picked, strict=True)
        ]
        placed = [(unit, kind) for unit, kind in got if kind is not None]
        return PickedUnits([unit for unit, _ in placed], [kind for _, kind in placed])

    def find(self, unit: int, kind: int) -> int | None:
        """Place one more unit on a placed type, or in its other placement; returns where, None without room."""
        for each in (kind, _other(self._plan, unit, kind)):
            if each is not None:
                self._place(self._requests(PickedUnits([unit], [each])))
                if self._plan.units[unit] in self.gpus:
                    return each
        return None

    def _place(self, requests: Sequence[Request]) -> None:
        self.gpus.update(place(requests, self._free_gpus, self._style, accept=self._accept))

    def _requests(self, picked: PickedUnits) -> list[Request]:
        units, gangs, accelerator_list, had = (
            self._plan.units,
            self._plan.gangs,
            self._plan.accelerator_list,
            self._had.get,
        )
        requests = [
            Request(units[unit], accelerator_list[kind], gangs[unit], had(units[unit]))
            for unit, kind in zip(*picked, strict=True)
        ]
        if not self._plan.placed:
            return requests
        limited = [self._limited(request, kind) for request, kind in zip(requests, picked.kinds, strict=True)]
        return sorted(limited, key=lambda request: request.least == 1)

    def _limited(self, request: Request, kind: int) -> Request:
        """The request, on as many nodes as the placed type says."""
        placed = self._plan.kinds[kind]
        fewest = self._snapshot.cluster.fewest_nodes(placed.accelerator, request.gpus) or request.gpus
        if placed.placement == "unconsolidated":
            return request._replace(least=fewest + 1)
        return request._replace(most=None if placed.placement is None else fewest)


def _other(plan: SharePlan, unit: int, kind: int) -> int | None:
    """The other placement of an accelerator type, if the unit runs there."""
    found = np.flatnonzero((plan.accelerator_of == plan.accelerator_of[kind]) & plan.fits[unit])
    return next((other for other in found.tolist() if other != kind), None)


def reasons(
    snapshot: Snapshot,
    memory: PriorityMemory,
    priority: FloatArray,
    best: Mapping[str, float],
    assign: Sequence[Assignment],
    running: PickedUnits,
) -> dict[str, Reason]:
    """Reasons for those who start, move or lose their GPUs; who just goes on needs none.

    priority: (units x types); best: each job's largest; running: row and type of each assignment.
    """
    why: dict[str, Reason] = {}
    stopped = {**snapshot.leases, **snapshot.ended}
    for a, unit, kind in zip(assign, *running, strict=True):
        had = stopped.pop(a.unit, None)
        if had is None or (had.gpus is not a.gpus and had.gpus != a.gpus):
            reason = _chosen(memory, unit, kind, priority.item(unit, kind))
            for name in memory.plan.members[unit]:
                why[name] = reason
    if stopped:
        still = {name for unit in running.units for name in memory.plan.members[unit]}
        for name in [name for unit in stopped for name in members(unit) if name not in still]:
            value = best.get(name, 0.0)
            why[name] = Reason("outranked", "others came first, further behind their shares", {"priority": value})
    return why


def _chosen(memory: PriorityMemory, unit: int, kind: int, priority: float) -> Reason:
    share, name = memory.plan.share.item(unit, kind), memory.plan.types[kind]
    facts: dict[str, float | str] = {"priority": priority, "share": share, "type": name}
    if priority <= 0:
        return Reason("leftover", f"GPUs of {name} that no job with a share of them uses", facts)
    total_s = memory.total_s.item(kind)
    received = facts["received"] = memory.time_s.item(unit, kind) / total_s if total_s > 0 else 0.0
    text = f"its share of {name} is {share:.3g} of the time, its part of the time there so far {received:.3g}"
    return Reason("priority", text, facts)


def steady_until_s(
    snapshot: Snapshot, memory: PriorityMemory, knobs: Mapping[str, Any], running: PickedUnits
) -> float | None:
    """Until when everybody runs as now in every round unless jobs or nodes change; None: perhaps not beyond this one.

    What it says is exact: whoever can run does, on the only type of which it has a share. So there is room for all of
    them, each comes before all that has no share (its priority is positive), and each stays where it is. From the
    round on in which somebody is believed to finish, rounds are taken one by one, since a unit is charged for no more
    than it needs.
    """
    plan = memory.plan
    regular = knobs["round_end"] == "fixed" and not knobs["whole_steps"]
    ordered = knobs["pick"] == "highest" and knobs["shuffle_types"] == "never"
    if not regular or not ordered or memory.changed or len(running.units) < plan.runnable:
        return None
    if not running.units:
        return math.inf
    if knobs["recompute_s"] > 0 or not plan.entitled_only[running.units, running.kinds].all():
        return None
    return _alike_until_s(snapshot, memory, knobs, running)


def _alike_until_s(
    snapshot: Snapshot, memory: PriorityMemory, knobs: Mapping[str, Any], running: PickedUnits
) -> float | None:
    """The last boundary before somebody is believed to finish, sooner where shares are refreshed; None: this round."""
    plan, left, at = memory.plan, snapshot.jobs.steps_left, snapshot.jobs.at
    last = [at[plan.members[unit][-1]] for unit in running.units]
    seconds = np.minimum(
        left[plan.row[running.units]] / plan.speed[running.units, running.kinds],
        left[last] / plan.other[running.units, running.kinds],
    )
    round_s = knobs["round_s"]
    until_s = math.floor((snapshot.now_s + float(seconds.min())) / round_s) * round_s
    if knobs["refresh_s"] is not None:
        until_s = min(until_s, boundary_from(memory.reset_s + knobs["refresh_s"], round_s))
    return until_s if until_s > boundary_after(snapshot.now_s, round_s) else None
