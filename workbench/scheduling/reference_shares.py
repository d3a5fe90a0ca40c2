"""The two reference divisions of a cluster that Gavel's objectives and finish-time fairness are measured against."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import FloatArray, IntArray


def equal_share(capacity: IntArray | npt.ArrayLike) -> FloatArray:
    """Share of its time that any job spends on each type if it is on every GPU for equally long.

    capacity: (types,) GPUs. Returns (types,) shares `c_j / sum_k c_k`, which sum to 1 (all 0 if there are no GPUs).
    They do not depend on the number of jobs. Source: Gavel, section 4.1, X_equal; in proportion to the GPUs, as in
    the authors' code.
    """
    counts = np.asarray(capacity, dtype=float)
    total = counts.sum()
    return counts / total if total > 0 else np.zeros_like(counts)


def isolated_share(
    capacity: IntArray | npt.ArrayLike, gangs: IntArray | npt.ArrayLike, count: float | None = None
) -> FloatArray:
    """Share of its time that each job spends on each type if every job owns 1/M of each type's GPUs.

    capacity: (types,) GPUs; gangs: (jobs,) GPUs per job; count: M, by default the number of these jobs. Returns (jobs x
    types) shares `c_j / (M z_m)`, a row divided by its sum where that exceeds 1, since a job has no more than all of
    its time. Source: Gavel, section 4.1 (the isolated
    allocation) and the authors' isolated policy.
    """
    counts, sizes = np.asarray(capacity, dtype=float), np.asarray(gangs, dtype=float)
    if not len(sizes):
        return np.zeros((0, len(counts)))
    owned: FloatArray = counts[None, :] / (count or len(sizes)) / sizes[:, None]
    owned /= np.maximum(1.0, owned.sum(axis=1, keepdims=True))
    return owned
