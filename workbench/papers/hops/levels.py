"""Whom a plan serves before whom: priority classes with lambda = infinity, tiers of weights below it (ours)."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from workbench.papers.hops.instance import RoundData
from workbench.papers.hops.weights import classes, tiers
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.decision import IntArray
from workbench.scheduling.solvers import SolveReport, relative_gap


class Level(NamedTuple):
    """Jobs (rows) that are weighed against each other. weight: (jobs,) `W_i` over `scale`, 0 for other jobs."""

    rows: IntArray
    weight: FloatArray
    scale: float


def levels(data: RoundData, power: float) -> list[Level]:
    """Levels in the order in which they are served: mostly one with a finite lambda."""
    if np.isinf(power):
        return [_level(data, rows, np.ones(len(data.jobs)), 1.0) for rows in classes(data.priority)]
    found = data.weights(power)
    return [_level(data, rows, found.scaled, found.scale) for rows in tiers(found.scaled, data.able)]


def _level(data: RoundData, rows: IntArray, weight: FloatArray, scale: float) -> Level:
    top = weight[rows].max()
    own = np.zeros(len(data.jobs))
    own[rows] = weight[rows] / top
    return Level(rows, own, float(top) * scale)


def in_paper_units(solved: SolveReport, value: float | None, order: list[Level], data: RoundData) -> SolveReport:
    """The report on the first level's solve as one on the plan, worth `value`; without a bound at lambda = infinity.

    What the lower levels could add at most is part of the bound.
    """
    if value is None:
        return _said(solved, solved.value, None)
    most = np.zeros(len(data.jobs))
    np.maximum.at(most, data.job, data.gain)
    later = sum(level.scale * float(level.weight @ most) for level in order[1:])
    return _said(solved, value, None if solved.bound is None else solved.bound * order[0].scale + later)


def _said(solved: SolveReport, value: float, bound: float | None) -> SolveReport:
    return replace(solved, objective=value, bound=bound, gap=relative_gap(value, bound))
