"""Who is compared, on one problem each, and what is measured over several seeds.

Every scheme is carried out at the level of tasks (`workbench.papers.hare.algorithms.job_level` for the paper's four),
on the same times, switches for nothing, as in the paper's problem. Hare knows all arrivals, as the paper's offline
algorithm does; the others see jobs as they arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import cache, partial
from typing import TypeVar

import pandas as pd

from reproduction.hare.settings import MINUTE, FigurePoint
from workbench.analysis.metrics.confidence import mean_interval, ratio_interval
from workbench.papers.hare.algorithms.job_level import BASELINES, gavel_fifo, sched_homo
from workbench.papers.hare.algorithms.list_schedule import GpuChoice, algorithm_1, fluid_start_s
from workbench.papers.hare.algorithms.schedule import TaskSchedule
from workbench.papers.hare.instance import HareInstance

HARE, PRINTED = "Hare", "Hare as printed"
FIFO, SRTF, HOMO, ALLOX = BASELINES
OTHERS = (FIFO, SRTF, HOMO, ALLOX)

_Values = Mapping[str, float]
X = TypeVar("X", bound=Hashable)


def hare(instance: HareInstance, rule: GpuChoice = "earliest_finish") -> TaskSchedule:
    """Algorithm 1."""
    return algorithm_1(instance, fluid_start_s(instance), rule)


SCHEMES: Mapping[str, Callable[[HareInstance], TaskSchedule]] = {
    HARE: hare,
    PRINTED: lambda instance: hare(instance, "earliest_available"),
    **BASELINES,
}
STRONGER: Mapping[str, Callable[[HareInstance], TaskSchedule]] = {
    FIFO: partial(gavel_fifo, blocking=False),
    HOMO: partial(sched_homo, fastest=True),
}
"""Two of the others as they are better, where the paper can be read so: jobs pass that fit; the fastest idle GPUs."""


def schemes(stronger: Iterable[str]) -> Mapping[str, Callable[[HareInstance], TaskSchedule]]:
    """By name; stronger: those of `STRONGER` that are taken from there."""
    return {**SCHEMES, **{name: STRONGER[name] for name in stronger}}


def weighted_min(schedule: TaskSchedule) -> float:
    """Sum of w_n (C_n - a_n) over the sum of w_n, in minutes."""
    return schedule.weighted_jct_s / float(schedule.instance.weight.sum()) / MINUTE


def measured(instance: HareInstance, names: Iterable[str] = SCHEMES, stronger: Iterable[str] = ()) -> dict[str, float]:
    """`weighted_min` of each scheme, whose schedule is checked."""
    return {name: weighted_min(schemes(stronger)[name](instance).check(name)) for name in names}


@cache
def at_point(setting: FigurePoint, seed: int) -> _Values:
    """Every scheme at one point of a figure."""
    return measured(setting.instance(seed), stronger=setting.stronger)


def sweep(points: Mapping[X, FigurePoint], seeds: range) -> pd.DataFrame:
    """One row per point and seed: x, seed, and a column for each scheme, in minutes."""
    rows = [{"x": x, "seed": seed, **at_point(setting, seed)} for x, setting in points.items() for seed in seeds]
    return pd.DataFrame(rows)


def ratios(found: pd.DataFrame, above: str, below: str = HARE) -> pd.Series[float]:
    """One scheme over another, seed by seed, on the same jobs; above: `best` and `worst` are of the paper's four."""
    others = found[list(OTHERS)]
    numbers = {"best": others.min(axis=1), "worst": others.max(axis=1)}.get(above)
    return (found[above] if numbers is None else numbers) / found[below]


def said(values: Iterable[float], ratio: bool = True) -> str:
    """How sure a mean is, as a sentence; ratio: by `ratio_interval`, as in the table of all exhibits."""
    numbers = list(values)
    mean, half = mean_interval(numbers)
    ends = ratio_interval(numbers)[1:] if ratio else (mean - half, mean + half)
    return f"{len(numbers)} seeds, 95 %: {ends[0]:.2f} to {ends[1]:.2f}."


INTERVAL = "95 % interval of the mean over seeds (Student's)"


def lines(found: pd.DataFrame, names: Iterable[str] = (HARE, *OTHERS)) -> pd.DataFrame:
    """Points of a chart: line, x, y and the 95 % interval low, high, in minutes."""
    rows = []
    for name in names:
        for x, group in found.groupby("x", sort=False):
            mean, half = mean_interval(group[name])
            rows.append((name, x, mean, mean - half, mean + half))
    return pd.DataFrame(rows, columns=["line", "x", "y", "low", "high"])
