"""What a failing node costs in progress: all steps of a job since its last checkpoint (`core.checkpoint_s`).

Of tasks in rounds (Hare) a task that has not ended is lost as a whole, see `workbench.simulation.task_sequences`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workbench.base.round_times import TIE

if TYPE_CHECKING:
    from workbench.simulation.leasing import Lease


def save(lease: Lease, now_s: float, every_s: float) -> None:
    """Note the steps that were done at the last checkpoint, if it was after what is booked already."""
    if now_s < lease.began_s:
        return
    checkpoints = (now_s - lease.began_s) / every_s * (1 + TIE)
    # More than a float can count: it saves all the time.
    saved_s = lease.began_s + math.floor(checkpoints) * every_s if checkpoints < math.inf else now_s
    if saved_s >= lease.mark_s:
        lease.saved = [before + lease.steps(spot, min(saved_s, now_s)) for spot, before in enumerate(lease.done)]


def lost_steps(lease: Lease) -> list[float]:
    """Steps of each of its jobs that are booked and in no checkpoint."""
    return [max(done - saved, 0.0) for done, saved in zip(lease.done, lease.saved, strict=True)]
