"""Four strict jobs on four GPUs (ours): three leases are 12, and the jobs need 14, so that one is not in time."""

from __future__ import annotations

from collections.abc import Callable

from workbench.papers.chronus.algorithms.terms import AskedJob
from workbench.papers.chronus.instance import ChronusInstance
from workbench.scenario.rewards import Steps, strict

LEASE = 1200  # s


def four_jobs(gpus: int = 4, wide: int = 4, reward_of_d: Callable[[float], Steps] = strict) -> ChronusInstance:
    """Jobs a, b, c and d, which need 2, 1, 1 and 1 leases of 20 minutes within 3, 2, 2 and 3; wide: GPUs of c and d."""
    asked = [
        AskedJob(2, 2 * LEASE, strict(3 * LEASE)),
        AskedJob(2, LEASE, strict(2 * LEASE)),
        AskedJob(wide, LEASE, strict(2 * LEASE)),
        AskedJob(wide, LEASE, reward_of_d(3 * LEASE)),
    ]
    return ChronusInstance.made(gpus, LEASE, asked, names=["a", "b", "c", "d"])
