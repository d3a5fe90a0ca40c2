"""Rounds that need no decision: as long as nobody competes for anything, every round is like the one before."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.base.boundaries import boundary_after, boundary_from
from workbench.baselines.mechanisms.priority.memory import Memory
from workbench.baselines.mechanisms.priority.picking import Picked
from workbench.scheduling.decision import Snapshot


def steady_until_s(snapshot: Snapshot, memory: Memory, knobs: Mapping[str, Any], running: Picked) -> float | None:
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


def _alike_until_s(snapshot: Snapshot, memory: Memory, knobs: Mapping[str, Any], running: Picked) -> float | None:
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
