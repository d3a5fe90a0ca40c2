"""Two statements as they are printed: Theorem 2, with D_0 <= OPT / 2 as its only premise (`optimality.py` has what else
it needs), and the schedule of Fig. 1."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import numpy as np

from reproduction.figure import Entry, PaperFigure
from reproduction.hadar.optimality import admit_in_order, bounds_of, ratio
from reproduction.smallest import Looked, smallest
from workbench.papers.hadar.formulations.schedules import enumerate_schedules
from workbench.papers.hadar.formulations.utility import Utility
from workbench.papers.hadar.instance import HadarInstance
from workbench.papers.hadar.lessons.three_jobs import CAPACITY, GANGS, fewest_slots

WORTH = Utility("worth", lambda jct, jobs: 0 * jct + jobs.weight)


def theorem2_sides(gpus: int, worth: tuple[int, ...]) -> tuple[float, float]:
    """OPT over what is earned by the theorem's algorithm, and 2 alpha: jobs of one GPU and one slot, as they come.

    NaN where D_0 <= OPT / 2, all that the theorem asks for, does not hold. OPT is the sum of the largest.
    """
    ones = np.ones(len(worth), dtype=int)
    data = HadarInstance.made([gpus], 1, 0 * ones, ones, ones, ones[:, None], WORTH, weight=np.array(worth, float))
    found = ratio(data, admit_in_order(enumerate_schedules(data), bounds_of(data)).objective)
    return (found.ratio, found.bound) if found.starts else (math.nan, math.nan)


def theorem2(size: Any) -> PaperFigure:
    """Hadar's Theorem 2 without its premise that a job is small against the capacity."""

    def looked() -> Iterator[Looked]:
        for jobs, gpus in product(range(1, 4), range(1, 3)):
            for worth in sorted(product(range(1, 10), repeat=jobs), key=lambda row: (max(row), row)):
                left, right = theorem2_sides(gpus, worth)
                told = f"jobs of one GPU and one slot come worth {worth}: OPT / P = {left:g} > {right:.3f} = 2 alpha"
                yield Looked(jobs, gpus, left / right, told if left > right * (1 + 1e-9) else "")

    return smallest("Theorem 2", "Theorem 2 fails", "OPT / P over 2 alpha", "Theorem 2", looked())


def figure_1(size: Any) -> PaperFigure:
    """Three jobs on six GPUs: the paper's rounds and utilisation, and what gangs of 3, 2 and 2 GPUs allow at best."""
    gpus = sum(CAPACITY)
    filled = max(held for n in range(4) for held in map(sum, combinations(GANGS, n)) if held <= gpus)
    rows = (
        Entry("rounds until all three jobs end, fewest", "rounds", 5.0, float(fewest_slots()),
            "The paper: Hadar takes one less than Gavel's 6. Of any schedule: the offline programme's optimum.", "II"),
        Entry("GPUs held in the first round, most", "%", 100.0, 100 * filled / gpus,
            "The paper: approaches 100. Of any set of the three gangs.", "II"),
    )  # fmt: skip
    return PaperFigure("Fig. 1", "Three jobs, as drawn and as feasible", rows)
