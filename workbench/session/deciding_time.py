"""Decisions that take simulated time: a scheduler as the core asks it, that answers later than it was asked.

While a decision is made, what runs goes on: leases that would end by then are held until then; what has a limit of
steps or a tail (profiles, forked copies) stands idle once it has ended. Then the decision is carried out as far as it
still can be: jobs that have finished, nodes that went down and GPUs that somebody has are left out of it. A lease that
was to be over by then lasts until the next round, without rounds as long as it was meant to. Nobody is asked meanwhile;
what would have been a cause is told a millisecond after the decision is carried out.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from workbench.base.errors import InputError, Words
from workbench.base.round_times import boundary_after, is_tie
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs, Scheduler, Timing
from workbench.scheduling.decision import Assignment, Cause, Decision, Unit, is_copy, members
from workbench.scheduling.snapshot import Observation, Snapshot

MEASURED = "measured"
Charge = float | Literal["measured"]
"""Seconds of each decision, or the wall time that this machine takes for it: such a run is not the same twice."""
AGAIN_S = 0.001
CHANGES: tuple[Cause, ...] = ("fault", "repair", "completion", "arrival", "idle")
"""Causes of which a scheduler is told later, the first in this order."""


class Pending(NamedTuple):
    """A decision that was asked for at asked_s, of these jobs and nodes that were up, and is carried out at due_s."""

    decision: Decision
    asked_s: float
    due_s: float
    jobs: tuple[str, ...]
    up: tuple[bool, ...]

    @classmethod
    def of(cls, decision: Decision, snapshot: Snapshot, took_s: float) -> Pending:
        """The decision on what a snapshot shows."""
        return cls(decision, snapshot.now_s, snapshot.now_s + took_s, *_there(snapshot))


@dataclass(frozen=True)
class Remembered:
    """memory: the scheduler's own; round_s: its rounds; finished, observations: what it was not told of yet; missed:
    causes since it was asked."""

    memory: Any
    round_s: float | None
    pending: Pending | None = None
    missed: frozenset[Cause] = frozenset()
    finished: Mapping[str, float] = field(default_factory=dict)
    observations: tuple[Observation, ...] = ()


class Charged:
    """A scheduler whose decisions take time, for the core."""

    def __init__(self, owner: Scheduler, charge: Charge) -> None:
        """Raises InputError for a charge that is none."""
        self._owner, self._charge = owner, checked(charge)
        self.name, self.offline = owner.name, owner.offline

    def about(self, knobs: Mapping[str, Any]) -> frozenset[str]:
        """What the scheduler reads."""
        return self._owner.about(knobs)

    def settle(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The scheduler's knobs."""
        return self._owner.settle(given)

    def timing(self, knobs: Mapping[str, Any]) -> Timing:
        """When the scheduler is asked."""
        return self._owner.timing(knobs)

    def start(self, scenario: Scenario, knobs: Mapping[str, Any]) -> Remembered:
        """The first memory."""
        return Remembered(self._owner.start(scenario, knobs), self._owner.timing(knobs).round_s)

    def decide(
        self, snapshot: Snapshot, memory: Remembered, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Remembered]:
        """Ask, go on, or carry out."""
        pending = memory.pending
        if pending is None:
            return self._ask(snapshot, memory, knobs, rng)
        later = replace(
            memory,
            missed=memory.missed | ({snapshot.cause} & set(CHANGES)),
            finished={**memory.finished, **snapshot.finished},
            observations=(*memory.observations, *snapshot.observations),
        )
        if snapshot.now_s < pending.due_s and not is_tie(snapshot.now_s, pending.due_s):
            return Decision(_going_on(snapshot, pending.due_s), next_s=pending.due_s), later
        decision = _still(pending, snapshot, memory.round_s)
        next_s, again_s = decision.next_s, snapshot.now_s + AGAIN_S
        if (pending.jobs, pending.up) != _there(snapshot) or len(decision.assign) < len(pending.decision.assign):
            next_s = None if memory.round_s is not None else again_s  # it may not wait for the next change: that was it
        if later.missed or (next_s is not None and next_s <= snapshot.now_s):
            next_s = again_s
        return replace(decision, next_s=next_s), replace(later, pending=None)

    def _ask(
        self, snapshot: Snapshot, memory: Remembered, knobs: Knobs, rng: np.random.Generator
    ) -> tuple[Decision, Remembered]:
        if memory.missed or memory.finished or memory.observations:
            seen = (*memory.observations, *snapshot.observations)
            first = next((cause for cause in CHANGES if cause in memory.missed), snapshot.cause)
            snapshot = replace(
                snapshot,
                cause=first if snapshot.cause == "timer" else snapshot.cause,
                finished={**memory.finished, **snapshot.finished},
                observe=lambda: seen,
            )
        snapshot.keep()  # reasons and signals may be worked out when the decision is carried out
        began = time.perf_counter()
        decision, after = self._owner.decide(snapshot, memory.memory, knobs, rng)
        took_s = time.perf_counter() - began if self._charge == MEASURED else float(self._charge)
        fresh = Remembered(after, memory.round_s)
        if not isinstance(decision, Decision) or took_s <= 0:
            return decision, fresh
        if decision.sequences is not None:
            found = Words(f"{self.name}, which decides on sequences of tasks")
            raise InputError("charge_decisions", found, "a scheduler that gives GPUs to jobs")
        pending = Pending.of(decision, snapshot, took_s)
        return Decision(_going_on(snapshot, pending.due_s), next_s=pending.due_s), replace(fresh, pending=pending)


def checked(charge: Any) -> Charge:
    """The charge; raises InputError for one that is none."""
    number = isinstance(charge, (int, float)) and not isinstance(charge, bool) and 0 <= charge < math.inf
    if not number and charge != MEASURED:
        raise InputError("charge_decisions", charge, f"seconds from 0, or {MEASURED}")
    return "measured" if charge == MEASURED else float(charge)


def _there(snapshot: Snapshot) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    """The jobs and which nodes are up."""
    return snapshot.jobs.names, tuple(snapshot.nodes.up.tolist())


def _going_on(snapshot: Snapshot, due_s: float) -> tuple[Assignment, ...]:
    """What is held until then: plain runs whose lease ends before."""
    short = (*snapshot.ended.values(), *(lease for lease in snapshot.leases.values() if lease.until_s < due_s))
    plain = (lease for lease in short if lease.kind == "run" and lease.steps is None and lease.tail_s == 0)
    return tuple(lease._replace(until_s=due_s) for lease in plain)


def _still(pending: Pending, snapshot: Snapshot, round_s: float | None) -> Decision:
    """What of a decision can be carried out now."""
    decision, nodes, jobs = pending.decision, snapshot.nodes, snapshot.jobs.at
    preempt = frozenset(unit for unit in decision.preempt if unit in snapshot.leases)
    stay = {unit: lease for unit, lease in snapshot.leases.items() if unit not in preempt}
    free = dict(zip(nodes.names, nodes.free.tolist(), strict=True))
    for unit in preempt:
        for node, gpus in snapshot.leases[unit].gpus.items():
            free[node] += gpus

    def fits(a: Assignment) -> bool:
        if not all(name in jobs for name in members(a.unit)) or any(_in_the_way(a.unit, unit) for unit in stay):
            return False
        if a.unit in stay:  # it goes on with what it has, or has something else by now
            return (a.kind, dict(a.gpus)) == (stay[a.unit].kind, dict(stay[a.unit].gpus))
        return all(nodes.up[nodes.at[node]] and gpus <= free[node] for node, gpus in a.gpus.items())

    kept: list[Assignment] = []
    for a in decision.assign:
        if fits(a):
            kept.append(a._replace(until_s=_until(a, pending, snapshot.now_s, round_s)))
            for node, gpus in a.gpus.items() if a.unit not in stay else ():
                free[node] -= gpus
    verdicts = {name: verdict for name, verdict in decision.verdicts.items() if name in jobs}
    return replace(decision, assign=tuple(kept), preempt=preempt, verdicts=verdicts)


def _in_the_way(unit: Unit, other: Unit) -> bool:
    """Whether a job of both may be in one of the two only."""
    return unit != other and bool(set(members(unit)) & set(members(other))) and not (is_copy(unit) and is_copy(other))


def _until(a: Assignment, pending: Pending, now_s: float, round_s: float | None) -> float:
    if a.until_s > now_s and a.kind == "run" and a.steps is None:
        return a.until_s
    if round_s is not None and a.kind == "run":
        return boundary_after(now_s, round_s)
    return a.until_s + now_s - pending.asked_s
