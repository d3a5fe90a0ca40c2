"""From a snapshot to the numbers of an allocation, as a policy is to see them."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.contract import Knobs
from workbench.decision import Snapshot
from workbench.mechanisms.worker_types import pools, speeds, worker_types
from workbench.papers.gavel.allocation import AllocationData
from workbench.papers.gavel.pairs import candidates
from workbench.throughput import FloatArray

Data = TypeVar("Data", bound=AllocationData)


def runnable(snapshot: Snapshot, knobs: Knobs) -> FloatArray:
    """(jobs x worker types) steps/s of each gang, 0 where it cannot run or exceeds the workers."""
    kinds = worker_types(snapshot.cluster, knobs)
    workers = snapshot.workers[pools(kinds, snapshot.types)]
    return np.where(snapshot.jobs.gpus[:, None] <= workers, speeds(snapshot, snapshot.jobs, kinds), 0.0)


def able(snapshot: Snapshot, knobs: Knobs) -> npt.NDArray[np.int64]:
    """Positions of the jobs that can run somewhere at present; a scheduler leaves the others out."""
    return np.flatnonzero((runnable(snapshot, knobs) > 0).any(axis=1))


def numbers(snapshot: Snapshot, knobs: Knobs, rows: npt.ArrayLike | None = None) -> dict[str, Any]:
    """The fields of `AllocationData` for a snapshot's jobs, or for those at the positions `rows`.

    Knobs `space_sharing` (pairs of jobs) and `placement_sensitive` (worker types by placement) count.
    """
    chosen = np.arange(len(snapshot.jobs)) if rows is None else np.asarray(rows, dtype=np.int64)
    names = snapshot.jobs.names
    kinds = worker_types(snapshot.cluster, knobs)
    found: dict[str, Any] = {
        "jobs": tuple(names[row] for row in chosen.tolist()),
        "types": tuple(kind.name for kind in kinds),
        "speed": runnable(snapshot, knobs)[chosen],
        "weight": snapshot.jobs.weight[chosen],
        "gang": snapshot.jobs.gpus[chosen].astype(float),
        "workers": snapshot.workers.astype(float),
        "accelerators": snapshot.types,
        "accelerator": pools(kinds, snapshot.types),
    }
    if knobs.get("space_sharing", False):
        found["pairs"], found["pair_speed"] = candidates(snapshot, chosen, kinds, found["speed"])
    return found


def seen(data: Data, knobs: Knobs) -> Data:
    """The data with the speeds that the policy knows: each type's own, or one for all types."""
    return data if knobs.get("heterogeneity_aware", True) else data.agnostic(str(knobs.get("reference", "")))
