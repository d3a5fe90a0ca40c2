"""Algorithm 2 as printed, for queues of a few tens of jobs: what the dynamic programme is held to."""

from __future__ import annotations

import time
from functools import cache
from typing import Literal

import numpy as np

from workbench.papers.hadar.algorithms.selection import TOLERANCE, Knapsack, Selection


def recursive(
    problem: Knapsack, compare: Literal["payoff", "cost"] = "payoff", alloc: Literal["every", "cheapest"] = "every"
) -> Selection:
    """Algorithm 2 as printed, memoised on (job, GPUs free of each type): for queues of a few tens of jobs.

    compare: what lines 16-21 compare, the sums of payoffs (erratum) or of costs. alloc: a job may take every option
    with a positive payoff, or as printed (FIND_ALLOC) only the cheapest one at the prices of its turn.
    """
    began = time.perf_counter()

    def find_alloc(job: int, free: tuple[int, ...]) -> list[int]:
        left = np.array(free)
        able = [o for o in problem.spans[job] if (problem.gpus[o] <= left).all() and problem.payoff(o, left) > 0]
        if alloc == "cheapest" and able:
            return [min(able, key=lambda o: problem.cost(o, left))]
        return able

    @cache
    def dp_allocation(job: int, free: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
        if job == problem.jobs:
            return 0.0, ()
        value, without = dp_allocation(job + 1, free)
        best = (value, (-1, *without))
        left = np.array(free)
        for option in find_alloc(job, free):
            rest = tuple((left - problem.gpus[option]).tolist())
            after, others = dp_allocation(job + 1, rest)
            own = problem.payoff(option, left) if compare == "payoff" else -problem.cost(option, left)
            if own + after > best[0] + TOLERANCE * max(1.0, abs(best[0])):
                best = (own + after, (option, *others))
        return best

    _, picked = dp_allocation(0, tuple(problem.free.tolist()))
    payoff, left = np.zeros(problem.jobs), problem.free.copy()
    for job, option in enumerate(picked):
        if option >= 0:
            payoff[job] = problem.payoff(option, left)
            left -= problem.gpus[option]
    choice = np.array(picked, dtype=np.int64)
    return Selection(choice, payoff, "optimal", float(payoff.sum()), 0.0, time.perf_counter() - began, "dp")
