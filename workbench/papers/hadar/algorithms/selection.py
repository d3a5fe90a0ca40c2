"""Which jobs of a round get which of their options: a knapsack over the free GPUs of each type.

An option is a number of GPUs of each type and what the job would pay for them: payoff = value - charge x (price of
one slot of those GPUs). Servers are aggregated by type, so that a state is the number of GPUs of each type still
free. Two ways:

- `exact`: dynamic programming over these states, jobs in their order. Since the GPUs taken are the capacity less the
  state, prices may rise with every job that is taken and the answer is still exact for that order of jobs.
- `relaxed`: the linear programme, made whole; for rounds with too many states. Prices are those of the round's start.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from workbench.base.arrays import FloatArray, IntArray
from workbench.base.errors import InputError, Words
from workbench.scheduling.solvers import Columns, Programme, Solver, relative_gap, solve_matrix

TOLERANCE = 1e-9
"""Payoffs that differ by no more, relative to their size (to 1 for smaller ones), are equal."""

MOST_CELLS = 40_000_000
"""Largest number of states x options for which dynamic programming is chosen by itself."""

MOST_KEPT = 125_000_000
"""Largest number of states x jobs for dynamic programming: 1 GB."""

SIMPLEX_UP_TO = 1000
"""Jobs up to which HiGHS chooses how to solve the linear programme; above, interior point with crossover is faster."""

WHOLE = 1e-6
"""How far a solver's choice may be from 0 or 1."""


@dataclass(frozen=True, eq=False)
class Knapsack:
    """The options of a round, sorted by job.

    jobs: how many; free: (types,) GPUs to give away; job: (options,) whose it is; gpus: (options x types) GPUs;
    value: (options,) worth before prices; charge: (options,) slots to pay for; price: of each type, (free_r + 1,) the
    price of a GPU with 0, 1, ... free_r of them still free, None if value has the prices in it already.
    """

    jobs: int
    free: IntArray
    job: IntArray
    gpus: IntArray
    value: FloatArray
    charge: FloatArray
    price: tuple[FloatArray, ...] | None = None

    @property
    def cells(self) -> int:
        """States x options, what `exact` works through."""
        return int(np.prod(self.reach + 1, dtype=float)) * len(self.job)

    @cached_property
    def reach(self) -> IntArray:
        """(types,) GPUs that could be taken at most: free ones, and no more than all jobs together ask for."""
        asked = np.zeros((self.jobs, len(self.free)), dtype=np.int64)
        np.maximum.at(asked, self.job, self.gpus)
        most: IntArray = np.minimum(self.free, asked.sum(axis=0))
        return most

    @cached_property
    def spans(self) -> list[range]:
        """Numbers of the options of each job."""
        ends = np.searchsorted(self.job, np.arange(self.jobs + 1)).tolist()
        return [range(first, last) for first, last in itertools.pairwise(ends)]

    def cost(self, option: int, free: IntArray) -> float:
        """What an option costs while `free` (types,) GPUs are free, itself not yet placed; 0 without prices."""
        if self.price is None:
            return 0.0
        each = sum(w * p[f] for w, p, f in zip(self.gpus[option], self.price, free, strict=True) if w)
        return float(self.charge[option] * each)

    def payoff(self, option: int, free: IntArray) -> float:
        """Its payoff then."""
        return float(self.value[option]) - self.cost(option, free)


@dataclass(frozen=True, eq=False)
class Selection:
    """What was chosen.

    choice: (jobs,) number of the option, -1 for none; payoff: (jobs,) of the choice, 0 for none; objective: their sum;
    status, bound, gap, solve_s: as of a solver. The gap of `relaxed` is what making its answer whole has lost at most.
    method: by dynamic programming, by the linear programme, or by the stated model; own: what a model comes to whose
    objective is another than the sum of payoffs, as its bound and gap are of.
    """

    choice: IntArray
    payoff: FloatArray
    status: str
    bound: float | None
    gap: float | None
    solve_s: float
    method: Literal["dp", "lp", "model"]
    own: float | None = None

    @property
    def objective(self) -> float:
        return float(self.payoff.sum())


def exact(problem: Knapsack) -> Selection:
    """The selection with the largest sum of payoffs, jobs priced in their order; equal sums: first jobs, first options.

    Raises InputError for more states than memory is for.
    """
    began = time.perf_counter()
    reach, spans = problem.reach, problem.spans
    kept = float(np.prod(reach + 1, dtype=float)) * sum(map(bool, spans))
    if kept > MOST_KEPT:
        said = f"dp, with {kept:.3g} sums to keep for {problem.jobs} jobs and {problem.free.tolist()} free GPUs by type"
        raise InputError("method", Words(said), f"auto or lp, or at most {MOST_KEPT:.3g} sums")
    prices = None
    if problem.price is not None:  # of the states that can occur
        prices = [price[free - most :] for price, free, most in zip(problem.price, problem.free, reach, strict=True)]
    best = np.zeros(tuple((reach + 1).tolist()))
    after = [best]
    for job in reversed(range(problem.jobs)):
        if len(spans[job]):
            best = _with(problem, spans[job], best, prices)
        after.append(best)
    after.reverse()
    choice, payoff = _walk(problem, after)
    found = float(after[0][tuple(reach.tolist())])
    return Selection(choice, payoff, "optimal", found, 0.0, time.perf_counter() - began, "dp")


def _with(problem: Knapsack, options: range, after: FloatArray, prices: list[FloatArray] | None) -> FloatArray:
    """(states) the largest sum from a job on; after: the same from the next job on."""
    best = after.copy()
    size = np.array(after.shape)
    for option in options:
        gpus = problem.gpus[option]
        if (gpus >= size).any():
            continue
        here = tuple(slice(w, None) for w in gpus.tolist())
        gain = after[tuple(slice(None, n - w) for n, w in zip(size.tolist(), gpus.tolist(), strict=True))]
        if prices is None:
            gain = gain + problem.value[option]
        else:
            for kind in np.flatnonzero(gpus).tolist():
                cost = (problem.charge[option] * gpus[kind]) * prices[kind][gpus[kind] :]
                gain = gain - cost.reshape([-1 if other == kind else 1 for other in range(len(gpus))])
            gain += problem.value[option]
        np.maximum(best[here], gain, out=best[here])
    return best


def _walk(problem: Knapsack, after: list[FloatArray]) -> tuple[IntArray, FloatArray]:
    """Options chosen, from the first job on; after: (states) largest sums from each job on."""
    choice, payoff = np.full(problem.jobs, -1), np.zeros(problem.jobs)
    left, slack = problem.reach.copy(), problem.free - problem.reach
    for job, options in enumerate(problem.spans):
        fits = [option for option in options if (problem.gpus[option] <= left).all()]
        if not fits:
            continue
        paid = [problem.payoff(option, left + slack) for option in fits]
        total = [
            own + float(after[job + 1][tuple((left - problem.gpus[option]).tolist())])
            for option, own in zip(fits, paid, strict=True)
        ]
        most = max(*total, float(after[job + 1][tuple(left.tolist())]))
        enough = most - TOLERANCE * max(1.0, abs(most))
        best = (i for i, (sum_, own) in enumerate(zip(total, paid, strict=True)) if sum_ >= enough and own > 0)
        spot = next(best, None)
        if spot is None:
            continue
        choice[job], payoff[job] = fits[spot], paid[spot]
        left -= problem.gpus[fits[spot]]
    return choice, payoff


def relaxed(problem: Knapsack) -> Selection:
    """The linear programme over options with a positive payoff, made whole, at the prices of the round's start.

    Whole choices of the programme stand. What is left goes to options in the order of their value beyond the
    programme's own prices of the GPUs, as they fit. The bound is the programme's. It holds as well where prices rise
    within the round, since nobody then pays less; but the answer is not the best one at those, and so feasible only.

    Above 1,000 jobs interior point and crossover solve it: where payoffs tie they may choose otherwise than simplex.
    Over random rounds of 1,001 to 1,461 jobs whose values tie (1, 2 or 3), all 12 of 12 were chosen otherwise and 5
    were worth less, by 0.98 to 2.97 in all (one "feasible" in place of "optimal"); without ties 12 of 12 were the same.
    """
    began = time.perf_counter()
    payoff = problem.value
    if problem.price is not None:
        each = [
            gpus * price[left] for gpus, price, left in zip(problem.gpus.T, problem.price, problem.free, strict=True)
        ]
        payoff = payoff - problem.charge * sum(each)
    worth = np.flatnonzero((payoff > 0) & (problem.gpus <= problem.free).all(axis=1))
    choice, earned = np.full(problem.jobs, -1), np.zeros(problem.jobs)
    if not len(worth):
        return Selection(choice, earned, "optimal", 0.0, 0.0, time.perf_counter() - began, "lp")
    way = Solver(method="ipm", presolve=False) if problem.jobs > SIMPLEX_UP_TO else Solver()
    point = solve_matrix(_programme(problem, worth, payoff), way)
    assert point.duals is not None
    dual = point.duals[-len(problem.free) :]
    beyond = payoff[worth] - problem.gpus[worth] @ dual
    whole = point.values > 1 - WHOLE
    left = problem.free.copy()
    for option in worth[np.lexsort((worth, -beyond, ~whole))].tolist():
        job = problem.job[option]
        if choice[job] < 0 and (problem.gpus[option] <= left).all():
            choice[job], earned[job] = option, payoff[option]
            left -= problem.gpus[option]
    bound, found = point.solved.objective, float(earned.sum())
    gap = relative_gap(found, bound)
    status = "optimal" if problem.price is None and gap is not None and gap <= WHOLE else "feasible"
    return Selection(choice, earned, status, bound, gap, time.perf_counter() - began, "lp")


def _programme(problem: Knapsack, worth: IntArray, payoff: FloatArray) -> Programme:
    """Rows: one option for each job that has any, then the free GPUs of each type."""
    jobs, row = np.unique(problem.job[worth], return_inverse=True)
    option, kind = np.nonzero(problem.gpus[worth])
    columns = np.arange(len(worth))
    rows = len(jobs) + len(problem.free)
    entries = Columns.of(
        np.concatenate([row.ravel(), len(jobs) + kind]),
        np.concatenate([columns, option]),
        np.concatenate([np.ones(len(worth)), problem.gpus[worth][option, kind]]),
        (rows, len(worth)),
    )
    return Programme(
        cost=payoff[worth],
        matrix=entries,
        row_lower=np.full(rows, -np.inf),
        row_upper=np.concatenate([np.ones(len(jobs)), problem.free.astype(float)]),
        lower=np.zeros(len(worth)),
        upper=np.full(len(worth), np.inf),
        maximise=True,
        name="hadar.round, linear programme",
    )
