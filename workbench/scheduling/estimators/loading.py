r"""The time a GPU spends on loading one mini-batch (Hops, section 3.5): a mixture of normals.

T_d ~ N(mu_k, sigma_k) with probability p_k                                  (3)
E max(N(mu, sigma), c) = c P(z) + mu P(-z) + sigma p(z),  z = (c - mu)/sigma (ours)

where P and p are the standard normal's distribution and density. The paper has two cases, a hit and a miss of the cache
in memory; here there may be any number. (ours): which case a load was is seen when it is measured, and normals are not
cut off at 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.scipy_alone import load_scipy

WIDTH, PIECES = 9.0, 72
"""Integrals reach so many standard deviations to both sides of each mean, in so many pieces."""


class Loading(NamedTuple):
    """T_d of (3): probability, mean and standard deviation in seconds of each of its (cases,) normals."""

    probability: FloatArray
    mean_s: FloatArray
    deviation_s: FloatArray

    @classmethod
    def of(cls, rows: Sequence[Sequence[float]] | None) -> Self:
        """From `(probability, mean s, standard deviation s)` of each case, as `models.load_s` of a scenario has it.

        None: loading takes no time of its own, it is part of the computation.
        """
        table = np.array([(1.0, 0.0, 0.0)] if rows is None else rows, dtype=float)
        return cls(*table.T)

    @property
    def fluctuates(self) -> bool:
        """Whether there is anything to learn about it from one load to the next."""
        return len(self.probability) > 1 or bool(self.deviation_s.any())

    def steady(self) -> Self:
        """With each normal in the place of its mean: E max(N, c) then becomes max(E N, c)."""
        return self._replace(deviation_s=np.zeros_like(self.deviation_s))

    def below(self, seconds: FloatArray) -> FloatArray:
        """(cases x seconds) P(T_d <= seconds) of each case."""
        load_scipy()  # when needed: it takes a part of a second
        from scipy.special import ndtr

        apart = seconds - self.mean_s[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            normal = ndtr(apart / self.deviation_s[:, None])
        return np.where(self.deviation_s[:, None] > 0, normal, apart >= 0)


def expected_max(mean_s: FloatArray, deviation_s: FloatArray, least_s: float) -> FloatArray:
    """E max(N(mean, deviation), least) of each case, in closed form; a deviation of 0 is a constant."""
    load_scipy()
    from scipy.special import ndtr

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = (least_s - mean_s) / deviation_s
        density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    closed = least_s * ndtr(z) + mean_s * ndtr(-z) + deviation_s * density
    return np.where(deviation_s > 0, closed, np.maximum(mean_s, least_s))


def waiting_s(loading: Loading, gpus: int, least_s: float = -math.inf) -> FloatArray:
    """E(T_w) of each case: how long a GPU whose load is of that case waits for the slowest of the others (ours).

    A load that takes less than `least_s` is hidden behind something that takes so long in every GPU. With X the
    GPU's own load and M the longest of the others', E max(0, max(M, least) - max(X, least)) is the integral of
    P(M > x) P(X <= x) from `least_s` on. The paper measures T_w and says only that it follows the cases of T_d.
    """
    if gpus < 2 or not loading.fluctuates:
        return np.zeros(len(loading.probability))
    reach = np.linspace(-WIDTH, WIDTH, PIECES + 1)
    points = np.unique(loading.mean_s[:, None] + loading.deviation_s[:, None] * reach)
    points = np.concatenate([[max(least_s, points[0])], points[points > least_s]])
    middle, width = (points[1:] + points[:-1]) / 2, np.diff(points)
    own = loading.below(middle)
    one = np.minimum(loading.probability @ own, 1.0)
    waits: FloatArray = own @ ((1.0 - one ** (gpus - 1)) * width)
    return waits


class LoadRecord(NamedTuple):
    """What has been measured of loads: (cases,) how many, the sum of their seconds and the sum of the squares."""

    loads: FloatArray
    total_s: FloatArray
    squares: FloatArray

    @classmethod
    def empty(cls, cases: int) -> Self:
        """Nothing measured yet."""
        return cls(np.zeros(cases), np.zeros(cases), np.zeros(cases))

    def drawn(self, loading: Loading, loads: int, rng: np.random.Generator) -> Self:
        """With so many more loads, drawn from the true mixture.

        Of each case only the sums are drawn: their distribution is exact (Cochran's theorem), whatever the number.
        """
        count = rng.multinomial(loads, loading.probability / loading.probability.sum()).astype(float)
        some = np.maximum(count, 1.0)
        mean = loading.mean_s + loading.deviation_s / np.sqrt(some) * rng.standard_normal(len(count))
        apart = loading.deviation_s**2 * np.where(count > 1, rng.chisquare(np.maximum(count - 1, 1)), 0.0)
        return type(self)(
            self.loads + count,
            self.total_s + count * mean,
            self.squares + np.where(count > 0, apart + count * mean**2, 0.0),
        )

    def loading(self) -> Loading:
        """(3) as far as it has been measured; a case that has not been met has probability 0."""
        some = np.maximum(self.loads, 1.0)
        mean = self.total_s / some
        variance = np.maximum(self.squares / some - mean**2, 0.0)
        return Loading(self.loads / max(float(self.loads.sum()), 1.0), mean, np.sqrt(variance))
