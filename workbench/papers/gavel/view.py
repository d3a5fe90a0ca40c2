"""From a snapshot to the numbers of an allocation, as a policy is to see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from workbench.base.errors import InputError
from workbench.baselines.mechanisms.priority.knobs import AUTHORS_ORDER
from workbench.baselines.mechanisms.worker_types import pools, speeds, worker_types
from workbench.papers.gavel.allocation import AllocationData
from workbench.papers.gavel.pairs import candidates
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import Snapshot, WorkerType

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
        found["pair_speed"] = _together(found["pair_speed"], kinds)
    found["speed"] = _together(found["speed"][:, None, :], kinds)[:, 0, :]
    return found


def _together(speed: FloatArray, kinds: Sequence[WorkerType]) -> FloatArray:
    """Speeds of combinations (combinations x members x worker types), 0 for spread where it changes nothing.

    Both placements draw on the same GPUs, so what is lost is only a choice between equals, which a solver would make
    at random: gangs that gain nothing from being spread stay together.
    """
    found = speed.copy()
    for column, kind in enumerate(kinds):
        if kind.placement == "unconsolidated":
            together = kinds.index(WorkerType(kind.accelerator, "consolidated"))
            found[(speed[:, :, column] == speed[:, :, together]).all(axis=1), :, column] = 0.0
    return found


def gather(snapshot: Snapshot, knobs: Knobs, rows: npt.ArrayLike | None = None) -> AllocationData:
    """The numbers of the jobs at some positions, by default of all; a snapshot has them in the order of arrival."""
    return AllocationData(**numbers(snapshot, knobs, rows))


def seen(data: Data, knobs: Knobs) -> Data:
    """The data with the speeds that the policy knows: each type's own, or one for all types.

    A `reference` that is one of the authors' types and none of this cluster's counts as none given. Raises InputError
    for any other that is no type, also where it plays no part.
    """
    reference = str(knobs.get("reference", ""))
    if reference not in ("", *data.types, *AUTHORS_ORDER):
        raise InputError("reference", reference, "one of " + ", ".join(data.types))
    if knobs.get("heterogeneity_aware", True):
        return data
    return data.agnostic(reference if reference in data.types else "")
