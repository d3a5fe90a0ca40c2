"""A plan: what each job gets, checked against the limits, and what it is worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.papers.hops.instance import Choices, Placed, RoundData, RoundPlan
from workbench.papers.hops.weights import classes
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Result
from workbench.scheduling.solvers import SolverFailedError

NAME = "hops.round"


def checked(data: RoundData, plan: Mapping[int, Placed]) -> RoundPlan:
    """The plan; raises SolverFailedError if it takes more GPUs of a server than are idle (13)."""
    used = np.zeros(len(data.servers), dtype=np.int64)
    for placed in plan.values():
        for server, gpus in placed.layout:
            used[server] += gpus
    for spot in np.flatnonzero(used > data.idle)[:1].tolist():
        raise SolverFailedError(NAME, f"{used[spot]} GPUs of {data.servers[spot]}", f"at most {data.idle[spot]}")
    return dict(plan)


def choices(data: RoundData, plan: Mapping[int, Placed]) -> Choices:
    """`{job: {server: GPUs}}`, None for a job that waits, in the window or outside."""
    found: Choices = {name: data.named(plan[row].layout) if row in plan else None for row, name in enumerate(data.jobs)}
    return {**found, **dict.fromkeys(data.outside)}


def gain_of(data: RoundData, plan: Mapping[int, Placed]) -> FloatArray:
    """(jobs,) the gain of what each job gets, 0 for one that waits."""
    gain = np.zeros(len(data.jobs))
    for row, placed in plan.items():
        gain[row] = placed.gain
    return gain


def objective(data: RoundData, gain: FloatArray, power: float) -> float | None:
    """The objective (11) of (jobs,) gains; None with lambda = inf, which compares `class_gains` in their order."""
    if np.isinf(power):
        return None
    return float(data.weights(power).plain @ gain)


def class_gains(data: RoundData, gain: FloatArray) -> list[float]:
    """The summed gain of each priority class, the highest first: what lambda = infinity compares in this order."""
    return [float(gain[rows].sum()) for rows in classes(data.priority)]


def result(data: RoundData, plan: Mapping[int, Placed], power: float, model: str) -> Result:
    """What the formulation reports of a plan, which is checked."""
    gain = gain_of(data, checked(data, plan))
    values: dict[str, Any] = {
        "choices": choices(data, plan),
        "gain": _column(data, gain),
        "priority": _column(data, data.priority),
        "model": model,
        "idle_gpus": int(data.idle.sum()) - sum(gpus for placed in plan.values() for _, gpus in placed.layout),
    }
    if np.isinf(power):
        values["gains_by_class"] = class_gains(data, gain)
    else:
        values["weight"] = _column(data, data.weights(power).plain)
    return Result("feasible", objective(data, gain, power), "max", "1", values)


def _column(data: RoundData, values: FloatArray) -> dict[str, float]:
    return dict(zip(data.jobs, values.tolist(), strict=True))
