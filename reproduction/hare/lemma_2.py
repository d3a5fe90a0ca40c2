"""Lemma 2: for the first tasks of Algorithm 1's order on a GPU, sum of T^c <= 2 H of the last of them (10).

Its proof takes (9), which the relaxation asks of all tasks of a GPU together, for the first ones of an order, and for
Algorithm 1's assignment in place of the relaxation's own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from reproduction.figure import PaperFigure
from reproduction.smallest import Looked, smallest
from workbench.papers.hare.algorithms.list_schedule import algorithm_1, middle_s, safe_order
from workbench.papers.hare.instance import HareInstance

Times = tuple[tuple[int, ...], ...]
_Weights = tuple[int, ...]


def relaxed_starts(times: Times, weights: _Weights) -> list[float] | None:
    """x^ of Hare_Sched_RL for jobs of one task, all there at 0, that synchronise in no time; times: by job and GPU.

    By brute force over all assignments y. With y fixed, (9) of a GPU says sum_i T_i x_i >= sum_(i<k) T_i T_k over its
    tasks, and the cheapest way is to let the one with the least w / T wait for all of it. None where several optima
    exist, as then another one could save the lemma: such an instance is not looked at.
    """
    jobs, found = range(len(times)), list[tuple[float, tuple[float, ...]]]()
    for where in product(range(len(times[0])), repeat=len(times)):
        cost = float(sum(weights[i] * times[i][where[i]] for i in jobs))
        starts = [0.0] * len(times)
        for gpu in set(where):
            mine = [i for i in jobs if where[i] == gpu]
            pairs = sum(times[i][gpu] * times[k][gpu] for i in mine for k in mine if i < k)
            order = sorted(mine, key=lambda i: weights[i] / times[i][gpu])
            if pairs and weights[order[0]] * times[order[1]][gpu] == weights[order[1]] * times[order[0]][gpu]:
                return None
            starts[order[0]] = pairs / times[order[0]][gpu]
            cost += weights[order[0]] * starts[order[0]]
        found.append((cost, tuple(starts)))
    least = min(cost for cost, _ in found)
    optima = {starts for cost, starts in found if cost <= least * (1 + 1e-9)}
    return list(optima.pop()) if len(optima) == 1 else None


def lemma_2_sides(times: Times, weights: _Weights) -> tuple[float, float]:
    """Of (10), sum over the first tasks on a GPU of T^c <= 2 H: both sides where their ratio is the largest;
    NaN where `relaxed_starts` has none."""
    starts = relaxed_starts(times, weights)
    if starts is None:
        return math.nan, math.nan
    data = HareInstance.made(np.array(times, dtype=float), weight=np.array(weights, dtype=float))
    middle = middle_s(data, np.array(starts))
    gpu = algorithm_1(data, np.array(starts), "earliest_available").gpu
    done, sides = [0.0] * len(times[0]), list[tuple[float, float]]()
    for task in safe_order(data, middle).tolist():
        done[gpu[task]] += times[task][gpu[task]]
        sides.append((done[gpu[task]], 2.0 * float(middle[task])))
    return max(sides, key=lambda side: side[0] / side[1])


def lemma_2_instances() -> Iterator[tuple[Times, _Weights]]:
    """Up to 3 jobs, up to 2 GPUs, times and weights up to 3, in the order of the search."""
    for jobs, gpus in product(range(1, 4), range(1, 3)):
        numbers = product(range(1, 4), repeat=jobs * (gpus + 1))
        for row in sorted(numbers, key=lambda row: (sum(row), row)):
            times = tuple(tuple(row[i * gpus : (i + 1) * gpus]) for i in range(jobs))
            yield times, tuple(row[jobs * gpus :])


def lemma_2(size: Any) -> PaperFigure:
    """Hare's Lemma 2 takes (9) for the first tasks of an order, which holds for all tasks together."""

    def looked() -> Iterator[Looked]:
        for times, weights in lemma_2_instances():
            left, right = lemma_2_sides(times, weights)
            told = f"T^c = {times} (jobs by GPUs), w = {weights}, one task each, all there at 0: {left:g} > {right:g}"
            yield Looked(len(times), len(times[0]), left / right, told if left > right * (1 + 1e-9) else "")

    return smallest("Lemma 2", "Lemma 2 fails", "largest left side of (10) / right side", "Lemma 2", looked())
