"""Does averaging forked copies still train? A small experiment that anybody can repeat (section V).

A small network is trained in two ways (`training`), on *one node* and *forked*. Two comparisons, both fair in their
way: after equally many steps in all (forking is then sooner done), and at equal time (forking has then done more
steps). What comes out depends on the learning rate: an average of copies has gone less far than one node would have in
as many steps, but is less noisy, so it may bear a larger one: compare each way at its best.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workbench.base.errors import InputError
from workbench.papers.hadar.hadare.training import Network, Point, Setting, images, train_alone, train_forked

if TYPE_CHECKING:
    import pandas as pd

SEEDS = range(5)
ALONE, FORKED = "one node", "forked"


@dataclass(frozen=True)
class Outcome:
    """What came out.

    course: a row for each seed, way and round (`seed, way, round, time_s, steps, accuracy`), from round 0, untrained;
    ends: for each seed and comparison (`equal steps`, `equal time`) the `time_s`, `steps` and `accuracy` of each way;
    summary: for each comparison and way mean, standard deviation (over seeds), smallest and largest accuracy, and the
    means of time and steps; differences: the same of forked minus one node, seed by seed.
    """

    course: pd.DataFrame
    ends: pd.DataFrame
    summary: pd.DataFrame
    differences: pd.DataFrame


def wrong_over_time(outcome: Outcome) -> pd.DataFrame:
    """How many test images are read wrong, against simulated time, from the first round on: `charts.curves.curve`.

    Columns: line (the way), x (minutes), y (mean share over seeds, in per cent), low, high (best and worst seed).
    """
    course = outcome.course[outcome.course["round"] > 0]
    grouped = course.assign(wrong=100 * (1 - course["accuracy"])).groupby(["way", "round"], sort=False)
    table = grouped.agg(x=("time_s", "mean"), y=("wrong", "mean"), low=("wrong", "min"), high=("wrong", "max"))
    return table.reset_index().rename(columns={"way": "line"}).assign(x=lambda rows: rows["x"] / 60)


def experiment(setting: Setting | None = None, seeds: Iterable[int] = SEEDS) -> Outcome:
    """Train in both ways for every seed: another split of the images, other first parameters, other mini-batches.

    Both ways of a seed share images and first parameters. Equal seeds give equal outcomes. Raises InputError.
    """
    import pandas as pd
    from threadpoolctl import threadpool_limits

    setting = setting or Setting()
    seeds = _checked(seeds)
    with threadpool_limits(limits=1):  # matrices this small take longer on several threads
        rows = [row for seed in seeds for row in _both_ways(setting, seed)]
    course = pd.DataFrame(rows, columns=list(Row._fields))
    ends = pd.concat([_ends(part) for _, part in course.groupby("seed", sort=False)], ignore_index=True)
    return Outcome(course, ends, _summary(ends), _differences(ends))


class Row(NamedTuple):
    """A row of `Outcome.course`: how well a way of training reads at the end of a round."""

    seed: int
    way: str
    round: int
    time_s: float
    steps: int
    accuracy: float


def _both_ways(setting: Setting, seed: int) -> Iterator[Row]:
    network = Network(images(seed), setting)
    first, alone, *nodes = [
        np.random.default_rng(part) for part in np.random.SeedSequence(seed).spawn(2 + len(setting.speeds))
    ]
    start = network.first(first)
    forked = [_row(seed, FORKED, network, point) for point in train_forked(network, start, setting, nodes)]
    forked_s = forked[-1].time_s
    yield from (_row(seed, ALONE, network, point) for point in train_alone(network, start, setting, alone, forked_s))
    yield from forked


def _row(seed: int, way: str, network: Network, point: Point) -> Row:
    return Row(seed, way, point.round, point.time_s, point.steps, network.accuracy(point.parameters))


def _ends(course: pd.DataFrame) -> pd.DataFrame:
    """One seed's last rounds: of both ways (equal steps), and the last that both have ended by the time that the
    quicker one was done (equal time)."""
    import pandas as pd

    ways = {way: course[course["way"] == way] for way in (ALONE, FORKED)}
    until_s = min(float(part["time_s"].iloc[-1]) for part in ways.values())
    found = []
    for comparison, limit_s in (("equal steps", math.inf), ("equal time", until_s)):
        for part in ways.values():
            last = part[part["time_s"] <= limit_s + 1e-9].iloc[[-1]].drop(columns="round")
            found.append(last.assign(comparison=comparison))
    columns = ["seed", "comparison", "way", "time_s", "steps", "accuracy"]
    return pd.concat(found, ignore_index=True)[columns]


def _summary(ends: pd.DataFrame) -> pd.DataFrame:
    grouped = ends.groupby(["comparison", "way"], sort=False)
    return grouped.agg(
        mean_accuracy=("accuracy", "mean"),
        std_accuracy=("accuracy", "std"),
        min_accuracy=("accuracy", "min"),
        max_accuracy=("accuracy", "max"),
        mean_time_s=("time_s", "mean"),
        mean_steps=("steps", "mean"),
    ).reset_index()


def _differences(ends: pd.DataFrame) -> pd.DataFrame:
    """Forked minus one node, seed by seed, and how many seeds forking wins."""
    wide = ends.pivot(index=["comparison", "seed"], columns="way", values="accuracy")
    gain = (wide[FORKED] - wide[ALONE]).rename("gain").reset_index()
    grouped = gain.groupby("comparison", sort=False)["gain"]
    return grouped.agg(
        mean_gain="mean",
        std_gain="std",
        min_gain="min",
        max_gain="max",
        seeds_forked_better=lambda values: int((values > 0).sum()),
        seeds="size",
    ).reset_index()


def _checked(seeds: Iterable[int]) -> list[int]:
    found = list(seeds)
    if not found or len(set(found)) < len(found):
        raise InputError("averaging, seeds", found, "at least one seed, each once")
    for seed in found:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**32:
            raise InputError("averaging, seeds", seed, "whole numbers from 0 to 2**32 - 1")
    return found
