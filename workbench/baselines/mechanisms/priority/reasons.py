"""Why a job runs, moves or lost its GPUs, in words and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.baselines.mechanisms.priority.memory import Memory
from workbench.baselines.mechanisms.priority.picking import Picked
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import Assignment, Reason, Snapshot, members


def reasons(
    snapshot: Snapshot,
    memory: Memory,
    priority: FloatArray,
    best: Mapping[str, float],
    assign: Sequence[Assignment],
    running: Picked,
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
            text = f"priority {value:.3g}: others came first for the workers"
            why[name] = Reason("outranked", text, {"priority": value})
    return why


def _chosen(memory: Memory, unit: int, kind: int, priority: float) -> Reason:
    share, name = memory.plan.share.item(unit, kind), memory.plan.types[kind]
    facts: dict[str, float | str] = {"priority": priority, "share": share, "type": name}
    if priority <= 0:
        return Reason("leftover", f"workers of {name} that no job with a share of them uses", facts)
    total_s = memory.total_s.item(kind)
    received = facts["received"] = memory.time_s.item(unit, kind) / total_s if total_s > 0 else 0.0
    text = f"priority {priority:.3g} on {name}: its share is {share:.3g}, its part of the time so far {received:.3g}"
    return Reason("priority", text, facts)
