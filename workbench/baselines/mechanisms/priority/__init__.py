"""Gavel's scheduling mechanism (section 5, Algorithm 1): shares of time become rounds.

priority_mj = X_mj / f_mj, f_mj = t_mj / sum_m' t_m'j, where t_mj is the time that unit m (a job or a pair) has spent on
type j since the shares X were computed. Highest priority first; a gang must fit into the free GPUs of its type;
units that share a job with a chosen one drop out. If nodes are too cut up for all who are chosen, each one finds its
nodes before the next is chosen (ours).

This f is a part of what others receive, so types do not compare: a job that is alone on two types has f = 1 on both
after a round on each, and is from then on always on the type of its larger share. Section 3.2 (Fig. 4) divides by the
rounds that the unit itself has had on the type, f_mj = t_mj / round (knob `priority_over`), which keeps to X.

A gang counts its time once, and a finished job's time stays in the sum until the shares are computed anew (as in the
authors' simulator). Then times start afresh, while deficits carry over: `X_mj` times the seconds since the last
computation minus the seconds received. Ties go by the larger deficit, then the larger X, then the order of the units.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.baselines.mechanisms.priority.carrying_out import carry_out
from workbench.baselines.mechanisms.priority.knobs import AUTHORS, KNOBS
from workbench.baselines.mechanisms.priority.memory import PriorityMemory, book, carry_over, start
from workbench.baselines.mechanisms.priority.picking import PickedUnits, pick, priorities, type_order
from workbench.baselines.mechanisms.priority.share_policy import PolicyAnswer, SharePolicy, allocate, due
from workbench.scheduling.decision import Decision
from workbench.scheduling.snapshot import Snapshot

__all__ = [
    "AUTHORS",
    "KNOBS",
    "PickedUnits",
    "PolicyAnswer",
    "PriorityMemory",
    "SharePolicy",
    "allocate",
    "book",
    "carry_over",
    "decide",
    "due",
    "pick",
    "priorities",
    "start",
    "type_order",
]


def decide(
    snapshot: Snapshot, memory: PriorityMemory, knobs: Mapping[str, Any], rng: np.random.Generator, policy: SharePolicy
) -> tuple[Decision, PriorityMemory]:
    """One round: book the time of the last one, compute shares where they are due, choose units, place them."""
    memory = book(memory, snapshot)
    order = type_order(memory.plan.types, knobs, rng, memory.rounds)
    fresh = due(memory, snapshot, knobs)
    memory = allocate(memory, snapshot, knobs, policy) if fresh else carry_over(memory, snapshot, knobs["inherit"])
    priority = priorities(memory, knobs)
    picked = pick(memory, priority, order, knobs)
    if not picked.units and len(snapshot.jobs) and not fresh and memory.changed:
        # nothing would run although there are jobs whose share nobody has computed
        fresh, memory = True, allocate(memory, snapshot, knobs, policy)
        priority = priorities(memory, knobs)
        picked = pick(memory, priority, order, knobs)
    return carry_out(snapshot, memory, knobs, priority, order, picked, fresh)
