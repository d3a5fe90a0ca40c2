"""What the scheduler `hadar` keeps from one decision to the next, and whether there is anything to decide anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from workbench.baselines.mechanisms.restarts import Restarts
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import BoolArray, Snapshot
from workbench.scheduling.placement import Gpus

SAME_SPEED = 1e-6
"""Part by which a believed speed may change and still count as the same (rounding of what was measured)."""


@dataclass(frozen=True, eq=False)
class Basis:
    """What a decision went by: another one is due when any of it has changed.

    jobs: names of the queue; held: GPUs by job, as decided; up: (nodes,) whether up; speeds: (2 x jobs x types)
    believed steps/s of consolidated and of spread gangs; own: (held,) believed steps/s on the GPUs held.
    """

    jobs: tuple[str, ...]
    held: Mapping[str, Gpus]
    up: BoolArray
    speeds: FloatArray
    own: FloatArray

    @classmethod
    def of(cls, snapshot: Snapshot, held: Mapping[str, Gpus]) -> Basis:
        """With these GPUs held."""
        jobs = snapshot.jobs
        return cls(
            jobs=jobs.names,
            held=held,
            up=snapshot.nodes.up,
            speeds=np.stack([snapshot.speeds(), snapshot.speeds("unconsolidated")]),
            own=np.array([snapshot.belief.on_nodes(jobs.jobs[jobs.at[name]], gpus) for name, gpus in held.items()]),
        )

    def holds(self, snapshot: Snapshot) -> bool:
        """Whether nothing of it has changed since."""
        leases = {str(unit): lease.gpus for unit, lease in snapshot.leases.items()}
        if snapshot.jobs.names != tuple(self.jobs) or leases != self.held or snapshot.ended:
            return False
        now = Basis.of(snapshot, {name: leases[name] for name in self.held})
        same = [np.allclose(a, b, rtol=SAME_SPEED, atol=0) for a, b in ((now.speeds, self.speeds), (now.own, self.own))]
        return bool(np.array_equal(now.up, self.up)) and all(same)


@dataclass(frozen=True, eq=False)
class Known:
    """The scheduler's memory.

    restarts: what they cost; last: what the last decision went by, None if the next one does not depend on it.
    """

    restarts: Restarts
    last: Basis | None = None
