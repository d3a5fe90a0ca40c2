"""Low-rank matrix completion: a few known entries of a row, and rows like it, tell the others.

The model is `x_ij = mean_j + u_i . v_j` with vectors of a small rank; u, the means and v are fitted in turn, u and v by
ridge regression (alternating least squares; Candes and Plan, 2010, on why it works with noise).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import BoolArray

RIDGE = 0.01
"""Penalty on the vectors, in the units of the squared entries (ours: entries are near 1)."""

SWEEPS = 20
"""How often u and v are fitted in turn (ours)."""


@dataclass(frozen=True, eq=False)
class Factors:
    """What the columns of a matrix have in common: (columns,) mean and (columns x rank) vectors v."""

    mean: FloatArray
    vectors: FloatArray

    def complete(self, values: FloatArray, known: BoolArray) -> FloatArray:
        """(rows x columns) with the known entries as they are and the others estimated.

        Each row is completed by itself; one without any known entry becomes the mean.
        """
        estimate = self.mean + _fit(np.where(known, values - self.mean, 0.0), known, self.vectors) @ self.vectors.T
        return np.where(known, values, estimate)


def factorise(values: FloatArray, known: BoolArray, rank: int) -> Factors:
    """The factors of (rows x columns) values of which those in `known` count; a column without any has the mean of all.

    The vectors begin at the leading singular vectors of the matrix with the means in its gaps, so nothing is random.
    """
    count = known.sum(axis=0)

    def mean_of(rest: FloatArray) -> FloatArray:
        total = np.where(known, rest, 0.0).sum(axis=0)
        mean: FloatArray = np.where(count > 0, total / np.maximum(count, 1), total.sum() / max(count.sum(), 1))
        return mean

    def apart_from(mean: FloatArray) -> FloatArray:
        return np.where(known, values - mean, 0.0)

    mean = mean_of(values)
    _, size, vectors = np.linalg.svd(apart_from(mean), full_matrices=False)
    v = (vectors[:rank] * np.sqrt(size[:rank, None])).T
    for _ in range(SWEEPS):
        u = _fit(apart_from(mean), known, v)
        mean = mean_of(values - u @ v.T)
        v = _fit(apart_from(mean).T, known.T, u)
    return Factors(mean, v)


def _fit(values: FloatArray, known: BoolArray, vectors: FloatArray) -> FloatArray:
    """(rows x rank) ridge regression of each row's known values on (columns x rank) vectors."""
    weight = known.astype(float)
    normal = np.einsum("ic,ck,cl->ikl", weight, vectors, vectors, optimize=True)
    normal += RIDGE * np.eye(vectors.shape[1])
    found: FloatArray = np.linalg.solve(normal, ((weight * values) @ vectors)[:, :, None])[:, :, 0]
    return found
