"""A scheduler watched while it decides, and asked again about the same moment with other jobs there."""

from __future__ import annotations

import copy
from collections.abc import Collection
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import workbench
from workbench.baselines.mechanisms.priority import pick, priorities, type_order
from workbench.scheduling import job_orders
from workbench.scheduling.contract import Scheduler
from workbench.scheduling.decision import Decision, Unit, members
from workbench.scheduling.snapshot import Snapshot
from workbench.session.registry import find_scheduler


class Call(NamedTuple):
    """What a scheduler was asked, and what it answered."""

    snapshot: Snapshot
    memory: Any
    rng: np.random.Generator
    decision: Decision


class Watched(NamedTuple):
    """A run with every call of its scheduler."""

    run: workbench.Run
    scheduler: Scheduler
    calls: list[Call]

    def again(self, call: Call, without: Collection[str]) -> set[str]:
        """Who has GPUs after the same call, had these jobs not been there."""
        found = _without(call.snapshot, without)
        decision, _ = self.scheduler.decide(found, call.memory, self.run.knobs, copy.deepcopy(call.rng))
        stay = [unit for unit in found.leases if unit not in decision.preempt]
        return {name for unit in (*stay, *(a.unit for a in decision.assign)) for name in members(unit)}

    def share_again(self, call: Call, job: str, without: Collection[str]) -> float:
        """A job's share of time, over all types, after the same call, had these jobs not been there."""
        found = _without(call.snapshot, without)
        shares = self.scheduler.decide(found, call.memory, self.run.knobs, copy.deepcopy(call.rng))[0].shares
        assert shares is not None
        return float(sum(shares.values[row].sum() for row, unit in enumerate(shares.units) if job in members(unit)))

    def picked_again(self, call: Call, job: str, without: Collection[str]) -> bool:
        """Whether Gavel's Algorithm 1 picks a job at the shares that it had, once these jobs' priorities are 0."""
        after = self.scheduler.decide(call.snapshot, call.memory, self.run.knobs, copy.deepcopy(call.rng))[1]
        priority, plan = priorities(after, self.run.knobs), after.plan
        priority[[bool(set(names) & set(without)) for names in plan.members]] = 0.0
        order = type_order(plan.types, self.run.knobs, copy.deepcopy(call.rng), after.rounds - 1)
        return any(job in plan.members[unit] for unit in pick(after, priority, order, self.run.knobs).units)


def watch(scenario: workbench.Scenario, name: str, knobs: dict[str, Any] | None = None, **more: Any) -> Watched:
    """Simulate and keep every call."""
    scheduler, calls = copy.copy(find_scheduler(name)), list[Call]()
    decide = scheduler.decide

    def watched(snapshot: Snapshot, memory: Any, knobs: Any, rng: np.random.Generator) -> tuple[Decision, Any]:
        before, seen = copy.deepcopy(rng), snapshot.observations
        snapshot = replace(snapshot, observe=lambda: seen).keep()
        decision, after = decide(snapshot, memory, knobs, rng)
        calls.append(Call(snapshot, memory, before, decision))
        return decision, after

    scheduler.decide = watched  # type: ignore[method-assign]
    run = workbench.simulate(scenario, scheduler, knobs, **more)
    return Watched(run, find_scheduler(name), calls)


def _without(snapshot: Snapshot, gone: Collection[str]) -> Snapshot:
    rows = [row for row, name in enumerate(snapshot.jobs.names) if name not in gone]
    free, at = snapshot.nodes.free.copy(), {name: i for i, name in enumerate(snapshot.nodes.names)}

    def left(unit: Unit) -> bool:
        return not set(members(unit)) & set(gone)

    for unit, lease in snapshot.leases.items():
        if not left(unit):
            for node, gpus in lease.gpus.items():
                free[at[node]] += gpus
    return replace(
        snapshot,
        nodes=replace(snapshot.nodes, free=free),
        jobs=job_orders.take(snapshot.jobs, rows),
        leases={unit: lease for unit, lease in snapshot.leases.items() if left(unit)},
        ended={unit: lease for unit, lease in snapshot.ended.items() if left(unit)},
    )
