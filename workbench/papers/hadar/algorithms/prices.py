r"""Prices of GPUs: the dual price of a type rises as its GPUs are taken (section III-B, equations (5) to (7)).

k_r(gamma) = Umin_r (Umax_r / Umin_r)^(gamma / c_r)                  (5)
Umax_r = max_j U_j(tmin_j) / W_j                                     (6)
Umin_r = 1 / (4 eta) min_j U_j(T - a_j) / (tmax_j W_j)               (7)  (erratum)

gamma of the c_r GPUs of type r are taken. (7) prints `M_j` beside the number of GPUs; it is read as W_j. tmin_j and
tmax_j are the slots that a gang of W_j needs on its fastest and on its slowest type. A price is a utility per GPU and
slot. A type's bounds are over the jobs that can run there (over all jobs, if none can).

(5) needs Umin_r > 0: a utility U_j(T - a_j) counts as no less than `FLOOR` times the job's best one (ours).

D_0 = T sum_r c_r k_r(0) is the dual objective before any job is admitted. Theorem 2 wants D_0 <= OPT / 2; eta is by
default the smallest number for which D_0 <= OPT_lower / 2 with OPT_lower = min_j U_j(T - a_j) (ours), and Umin <= Umax.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.base.arrays import FloatArray, IntArray
from workbench.base.errors import InputError

FLOOR = 1e-6
"""U_j(T - a_j) counts as at least this part of U_j(tmin_j)."""


@dataclass(frozen=True, eq=False)
class PriceBounds:
    """Lowest and highest price of each type, and what they come from.

    least, most: (types,) Umin_r and Umax_r, utility per GPU and slot; capacity: (types,) c_r; eta; initial_dual: D_0;
    optimum_lower: OPT_lower.
    """

    least: FloatArray
    most: FloatArray
    capacity: IntArray
    eta: float
    initial_dual: float
    optimum_lower: float

    @property
    def alpha(self) -> float:
        """Alpha of Theorem 2, `max_r (1, ln Umax_r / Umin_r)`."""
        return float(max(1.0, np.log(self.most / self.least).max(initial=0.0)))

    def price(self, held: npt.ArrayLike) -> FloatArray:
        """(5) for (..., types) GPUs held; the highest price where a type has no GPUs."""
        return price(self.least, self.most, self.capacity, held)


def price(least: npt.ArrayLike, most: npt.ArrayLike, capacity: npt.ArrayLike, held: npt.ArrayLike) -> FloatArray:
    """(5): geometric between `least`, with no GPU held, and `most`, with all `capacity` of them; arrays broadcast.

    Raises InputError for bounds that are not 0 < least <= most or too far apart for a finite price, and for GPUs held
    outside 0 to capacity.
    """
    low, high = np.asarray(least, dtype=float), np.asarray(most, dtype=float)
    total, taken = np.asarray(capacity, dtype=float), np.asarray(held, dtype=float)
    if not ((low > 0) & (low <= high) & np.isfinite(high)).all():
        raise InputError("price, Umin and Umax", (low.tolist(), high.tolist()), "finite numbers, 0 < Umin <= Umax")
    if not ((taken >= 0) & (taken <= total)).all():
        raise InputError("price, GPUs held", taken.tolist(), f"from 0 to the capacity, {total.tolist()}")
    part = np.divide(taken, total, out=np.ones(np.broadcast(taken, total).shape), where=total > 0)
    with np.errstate(over="ignore"):
        found: FloatArray = low * (high / low) ** part
    if not np.isfinite(found).all():
        raise InputError("price, Umin and Umax", (low.tolist(), high.tolist()), "a ratio Umax / Umin below 1e308")
    return found


def utility_bounds(
    best: npt.ArrayLike,
    last: npt.ArrayLike,
    longest: npt.ArrayLike,
    gang: npt.ArrayLike,
    runs: npt.ArrayLike,
    eta: float,
) -> tuple[FloatArray, FloatArray]:
    """(7) and (6) as they stand: (types,) Umin_r and Umax_r; the arguments are those of `price_bounds`."""
    able, size = np.array(runs, dtype=bool), np.asarray(gang, dtype=float)
    able[:, ~able.any(axis=0)] = True
    highest = np.where(able, (np.asarray(best, dtype=float) / size)[:, None], -np.inf).max(axis=0)
    each = np.asarray(last, dtype=float) / (np.asarray(longest, dtype=float) * size)
    lowest: FloatArray = np.where(able, each[:, None], np.inf).min(axis=0) / (4.0 * eta)
    return lowest, highest


def price_bounds(
    best: npt.ArrayLike,
    last: npt.ArrayLike,
    longest: npt.ArrayLike,
    gang: npt.ArrayLike,
    runs: npt.ArrayLike,
    capacity: npt.ArrayLike,
    slots: float,
    eta: float | None = None,
) -> PriceBounds:
    """(6) and (7) with the floor and the default eta.

    best, last: (jobs,) U_j(tmin_j) > 0 and U_j(T - a_j); longest: (jobs,) tmax_j in slots; gang: (jobs,) W_j; runs:
    (jobs x types) whether a job can run on a type; capacity: (types,) c_r; slots: T. eta: None for the default.
    Raises InputError without jobs, for utilities out of order, and for an eta that makes Umin exceed Umax.
    """
    high, low = np.asarray(best, dtype=float), np.asarray(last, dtype=float)
    _check(high, low, np.asarray(longest, dtype=float))
    gpus = np.asarray(capacity, dtype=np.int64)
    end = np.maximum(low, FLOOR * high)
    unscaled, most = utility_bounds(high, end, longest, gang, runs, eta=1.0)
    optimum = float(end.min())
    ordered = float((unscaled / most).max(initial=0.0))  # from this eta on Umin <= Umax
    if eta is None:
        eta = max(float(slots * (gpus * unscaled).sum() / (0.5 * optimum)), ordered)
    elif eta < ordered * (1 - 1e-12):
        raise InputError("eta", eta, f"at least {ordered:g}, for which the lowest price is no more than the highest")
    least = np.minimum(unscaled / eta, most)  # rounding aside, the first
    dual = float(slots * (gpus * least).sum())
    return PriceBounds(least, most, gpus, eta, dual, optimum)


def _check(best: FloatArray, last: FloatArray, longest: FloatArray) -> None:
    if not len(best):
        raise InputError("price bounds", "no jobs", "at least one job")
    if not ((best > 0) & np.isfinite(best)).all():
        raise InputError("price bounds, U_j(tmin_j)", float(best.min()), "a finite utility > 0")
    rises = np.flatnonzero(last > best * (1 + 1e-12))
    if len(rises):
        found = f"{best[rises[0]]:g} for the earliest, {last[rises[0]]:g} for the latest"
        raise InputError(f"price bounds, utility of job number {rises[0]}", found, "no more for a later completion")
    if not (longest > 0).all():
        raise InputError("price bounds, tmax_j", float(longest.min()), "a number of slots > 0")
