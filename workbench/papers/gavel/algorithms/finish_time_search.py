"""The smallest rho that can be reached (finish-time fairness): a sequence of linear programmes, one for each rho tried.

For a given rho, job m needs the throughput `r_m(rho) = n_m / l_m(rho)`, where `l_m(rho) = rho D_m - t_m` is the time
that is left to it. A programme says which part s of its need the worst-off job gets, `s(rho) = max_X min_m
throughput(m, X) / r_m(rho)`; rho can be reached if and only if s >= 1.

Newton (ours). By duality `s(rho) = min_p V(p) / sum_m p_m r_m(rho)`, where p are prices of throughput and V(p) the most
that the cluster earns at them. So s is concave and rises with rho, and the prices of one programme bound it everywhere
from above: the rho at which their bound is 1 is no larger than the smallest rho, and is tried next. That is Newton's
method with the curve of these prices in place of its tangent. There are finitely many prices, so it ends, and the rho
tried last is a lower bound of the optimum.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from workbench.scenario.throughput import FloatArray
from workbench.scheduling.solvers import PROVEN, SolveReport, SolverFailedError, stood_in
from workbench.scheduling.solvers.solve_report import report

NAME = "gavel.finish_time_fairness"

MOST_TRIES = 200
"""Newton takes about five programmes, bisection one for each halving."""

LONG = 1e6
"""A job that may take so many times longer than by itself is not held up by the rest of rho. Without this limit, one
job with a huge rho would leave the others needs that are smaller than a solver's tolerance, and shares of 0. It takes
away at most 1 / LONG of the cluster, from jobs whose rho it hardly changes, being that large."""


@dataclass(frozen=True, eq=False)
class RhoTerms:
    """What rho is made of, (jobs,) each.

    steps: left, n_m; elapsed_s: seconds since arrival, t_m; alone_s: seconds by itself, past and to come, D_m; rest_s:
    those to come; fastest: steps/s that no allocation exceeds.
    """

    steps: FloatArray
    elapsed_s: FloatArray
    alone_s: FloatArray
    rest_s: FloatArray
    fastest: FloatArray

    def rho(self, throughput: FloatArray) -> FloatArray:
        """(jobs,) `(t_m + n_m / throughput) / D_m`; inf for a job without throughput."""
        left_s = np.divide(self.steps, throughput, out=np.full(len(self.steps), np.inf), where=throughput > 0)
        rho: FloatArray = (self.elapsed_s + left_s) / self.alone_s
        return rho

    def left_s(self, rho: float) -> FloatArray:
        """(jobs,) `l_m(rho)`, at most LONG times what the job needs by itself; > 0 for a rho of at least `least`."""
        return np.minimum(rho * self.alone_s - self.elapsed_s, LONG * self.rest_s)

    @property
    def least(self) -> float:
        """The rho that some job would have if it ran on its fastest type all of the time."""
        return float(self.rho(self.fastest).max())


class TriedRho(NamedTuple):
    """The answer of one programme: (combinations x types) shares, their largest rho, s, (jobs,) prices p, report."""

    shares: FloatArray
    largest: float
    part: float
    prices: FloatArray
    solved: SolveReport


Try = Callable[[float], TriedRho]


@dataclass(frozen=True, eq=False)
class FoundRho:
    """The best shares, their largest rho, a rho that none is below, the last report, seconds of all, what was tried.

    iterations: of `rho`, `part` (of its need that the worst-off job got) and `largest_rho`.
    """

    shares: FloatArray
    largest: float
    bound: float
    last: SolveReport
    solve_s: float
    build_s: float
    iterations: tuple[Mapping[str, Any], ...]

    def solved(self, largest: float) -> SolveReport:
        """The report, for shares with that largest rho."""
        found = report(largest, min(self.bound, largest), timed_out=False)
        found = replace(found, solver=self.last.solver, made_by=self.last.made_by)
        return replace(found, build_s=self.build_s, solve_s=self.solve_s, passes=len(self.iterations))


def search(terms: RhoTerms, method: str, tolerance: float, attempt: Try) -> FoundRho:
    """Try one rho after the other until the best shares' rho is within `tolerance`, relative, of the smallest.

    method: newton or bisection. Raises SolverFailedError if the programmes are too inexact for the tolerance.
    """
    began = time.perf_counter()
    best, bound, tried = (_newton if method == "newton" else _bisection)(terms, tolerance, attempt)
    if stood_in():  # a job whose row is gone may have any rho: that of the last programme is not what it is judged by
        best = tried[-1][1]
    elif best.largest - bound > max(tolerance, PROVEN) * best.largest:
        raise SolverFailedError(NAME, f"rho {best.largest:g} found, {bound:g} proven", "a gap within the tolerance")
    solve_s = sum(each.solved.solve_s for _, each in tried)
    return FoundRho(
        best.shares,
        best.largest,
        bound,
        best.solved,
        solve_s,
        time.perf_counter() - began - solve_s,
        tuple({"rho": rho, "part": each.part, "largest_rho": _finite(each.largest)} for rho, each in tried),
    )


def _newton(terms: RhoTerms, tolerance: float, attempt: Try) -> tuple[TriedRho, float, list[tuple[float, TriedRho]]]:
    rho = terms.least
    best = attempt(rho)
    tried = [(rho, best)]
    while best.largest - rho > tolerance * best.largest and len(tried) < MOST_TRIES:
        last = tried[-1][1]
        step = _where_prices_allow(terms, rho, last.prices, last.part)
        if step <= rho:
            break
        rho = step
        tried.append((rho, attempt(rho)))
        best = min(best, tried[-1][1], key=lambda each: each.largest)
    return best, rho, tried


def _bisection(terms: RhoTerms, tolerance: float, attempt: Try) -> tuple[TriedRho, float, list[tuple[float, TriedRho]]]:
    low = terms.least
    best = attempt(low)
    tried = [(low, best)]
    while best.largest - low > tolerance * best.largest and len(tried) < MOST_TRIES:
        # Shares for a rho that is too small may leave a job with nothing; their rho is then no end of an interval.
        middle = (low + best.largest) / 2 if np.isfinite(best.largest) else 2 * low
        found = attempt(middle)
        tried.append((middle, found))
        best = min(best, found, key=lambda each: each.largest)
        if found.part < 1:
            low = middle
    return best, low, tried


def _where_prices_allow(terms: RhoTerms, rho: float, prices: FloatArray, earned: float) -> float:
    """The rho at which `sum_m p_m r_m(rho) = earned`, to the right of a rho at which the sum is larger.

    By Newton's method on `earned / sum`, which is concave, so that it never goes too far. Returns rho itself if the
    sum is not larger.
    """
    paid = prices > 0
    price, steps, alone_s, elapsed_s = (
        column[paid] for column in (prices, terms.steps, terms.alone_s, terms.elapsed_s)
    )
    for _ in range(MOST_TRIES):
        left_s = rho * alone_s - elapsed_s
        needs = price * steps / left_s
        total = float(needs.sum())
        if total <= earned or earned <= 0:
            return rho
        slope = float((needs * alone_s / left_s).sum())
        step = rho + (total - earned) * total / (earned * slope)
        if step <= rho * (1.0 + 1e-15):
            break
        rho = step
    return rho


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
