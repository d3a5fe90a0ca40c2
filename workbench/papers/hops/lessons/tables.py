"""What a student can read of a plan of Hops as tables: the queue, and the choice of lambda."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from workbench.base.arrays import IntArray
from workbench.papers.hops.algorithms.queue import (
    HopsQueue,
    adjusted_window,
    queue,
    remembered_ages,
    sensitivities,
    service_window,
)
from workbench.papers.hops.algorithms.round_plan import make_plan
from workbench.papers.hops.instance import HopsInstance, PlacedJob, sizes_of
from workbench.papers.hops.knobs import SENSITIVE
from workbench.scheduling.contract import Knobs
from workbench.scheduling.snapshot import Snapshot


def queue_table(snapshot: Snapshot, knobs: Knobs) -> pd.DataFrame:
    """The queue with its service window, one row for each unfinished job, the first to be served first.

    Columns: place, job, priority, waited_s, age_s, latency_ratio, least_gpus (smallest request), summed_gpus (of the
    requests so far), window (inside it), sensitivity, sensitive (above sigma), adjusted (inside the window that a plan
    for the GPUs idle now would have, see `adjusted_window`).
    """
    line = _line(snapshot, knobs)
    rows, jobs = line.order, snapshot.jobs
    least = _least(snapshot, rows, knobs)
    rho = sensitivities(jobs, snapshot.belief, snapshot.cluster)[rows]
    total = int(snapshot.capacity.sum())
    inside = len(rows)
    if knobs.get("service_window", True):
        inside = service_window(least, total) if total and len(rows) else 0
    idle = int(snapshot.nodes.free[snapshot.nodes.up].sum())
    adjusted = adjusted_window(inside, rho, least, idle)
    return pd.DataFrame(
        {
            "place": np.arange(1, len(rows) + 1),
            "job": [jobs.names[row] for row in rows.tolist()],
            "priority": line.priority[rows],
            "waited_s": jobs.waited_s[rows],
            "age_s": line.age_s[rows],
            "latency_ratio": jobs.waited_s[rows] / line.age_s[rows],
            "least_gpus": least,
            "summed_gpus": np.cumsum(least),
            "window": np.arange(len(rows)) < inside,
            "sensitivity": rho,
            "sensitive": rho > float(knobs.get("sigma", SENSITIVE.default)),
            "adjusted": np.isin(np.arange(len(rows)), adjusted),
        }
    )


def sizes_by_lambda(data: HopsInstance, powers: Iterable[float], knobs: Knobs) -> pd.DataFrame:
    """The GPUs that each job gets in the plan of one moment, 0 if it waits: a row for each lambda (infinity too).

    Columns: the jobs, the highest priority first.
    """
    order = np.argsort(-data.priority, kind="stable").tolist()
    found = {}
    for power in powers:
        plan = make_plan(data, {**knobs, "lambda": power}, previous=data.previous).plan
        found[power] = {data.jobs[row]: _gpus(plan[row]) if row in plan else 0 for row in order}
    return pd.DataFrame.from_dict(found, orient="index", columns=[data.jobs[row] for row in order]).rename_axis(
        "lambda"
    )


def _gpus(placed: PlacedJob) -> int:
    return sum(gpus for _, gpus in placed.layout)


def _line(snapshot: Snapshot, knobs: Knobs) -> HopsQueue:
    ages = remembered_ages(snapshot, {})
    return queue(snapshot, ages, knobs.get("priority", "latency_ratio"), float(knobs.get("refresh_s", 0.0)))


def _least(snapshot: Snapshot, rows: IntArray, knobs: Knobs) -> IntArray:
    jobs = snapshot.jobs.jobs
    return np.array([sizes_of(jobs[row], knobs)[0] for row in rows.tolist()], dtype=np.int64)
