"""What a student can read of a plan of Hops as tables: queue, configurations, gains, and the choice of lambda.

All of them take a snapshot (`workbench.session.api.snapshot_at`) and the knobs of `hops` or `hops.round`, or a plan's
data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import get_args

import numpy as np
import pandas as pd

from workbench.base.errors import InputError
from workbench.papers.hops.algorithms.configurations import Rule, learning_rates
from workbench.papers.hops.algorithms.planning import gain_of, make_plan, objective
from workbench.papers.hops.algorithms.queue import (
    HopsQueue,
    adjusted_window,
    queue,
    remembered_ages,
    sensitivities,
    service_window,
)
from workbench.papers.hops.algorithms.round_state import best_by_size
from workbench.papers.hops.instance import HopsInstance, PlacedJob, plan_data, sizes_of
from workbench.papers.hops.knobs import SENSITIVE
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.contract import Knobs
from workbench.scheduling.decision import IntArray
from workbench.scheduling.snapshot import Snapshot

GAIN_COLUMNS = ["job", "accelerator", "gpus", "servers", "gain"]


def gains_by_size(data: HopsInstance, snapshot: Snapshot) -> pd.DataFrame:
    """One row for each job, type, number of GPUs and of servers: columns `GAIN_COLUMNS`.

    gain is the largest `G_ij` of these configurations. Rows are in the order of jobs, types and sizes.
    """
    best = best_by_size(data, snapshot, data.jobs)
    found = [
        (data.jobs[row], snapshot.types[kind], gpus, servers, gain)
        for (row, kind, gpus, servers), gain in sorted(best.items())
    ]
    return pd.DataFrame(found, columns=GAIN_COLUMNS)


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
    total = int(snapshot.workers.sum())
    inside = len(rows)
    if knobs.get("window", True):
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


def configurations_of(
    snapshot: Snapshot, job: str, knobs: Knobs, rates: Mapping[int, float] | None = None
) -> pd.DataFrame:
    """Every configuration that a job is offered on the GPUs that are free now: the configuration explorer.

    rates: the learning rates that its user gave, of one size or of all, see `learning_rates`; default: 1 of the
    smallest.

    Columns: number (j, from 1), accelerator, gpus, servers (how many), where (`{server: GPUs}` as text), kind
    (aggregated | distributed), steps_per_s, per_gpu, gain (G_ij), learning_rate_linear and learning_rate_square_root.
    Raises InputError for a job that is not there, and the errors of `learning_rates`.
    """
    if job not in snapshot.jobs.at:
        raise InputError("job", job, "an unfinished job of the snapshot")
    row = snapshot.jobs.at[job]
    rows = np.array([row], dtype=np.int64)
    rho = sensitivities(snapshot.jobs, snapshot.belief, snapshot.cluster)[rows]
    data = plan_data(snapshot, rows, np.zeros(1), rho, knobs)
    kinds = {name: snapshot.types[kind] for name, kind in zip(snapshot.nodes.names, snapshot.nodes.kind, strict=True)}
    sizes = sizes_of(snapshot.jobs.jobs[row], knobs)
    given = {sizes[0]: 1.0} if rates is None else rates
    linear, root = (learning_rates(sizes, given, rule) for rule in get_args(Rule))
    found = []
    for spot, layout in enumerate(data.layout.tolist()):
        where = data.named(data.layouts[layout])
        gpus, speed = sum(where.values()), float(data.throughput[spot])
        found.append(
            {
                "number": int(data.number[spot]),
                "accelerator": kinds[next(iter(where))],
                "gpus": gpus,
                "servers": len(where),
                "where": ", ".join(f"{server} x {count}" for server, count in where.items()),
                "kind": "aggregated" if len(where) == 1 else "distributed",
                "steps_per_s": speed,
                "per_gpu": speed / gpus,
                "gain": float(data.gain[spot]),
                "learning_rate_linear": linear[gpus],
                "learning_rate_square_root": root[gpus],
            }
        )
    return pd.DataFrame(found, columns=CONFIGURATION_COLUMNS)


CONFIGURATION_COLUMNS = [
    *("number", "accelerator", "gpus", "servers", "where", "kind", "steps_per_s", "per_gpu", "gain"),
    *("learning_rate_linear", "learning_rate_square_root"),
]


def gain_matrix(data: HopsInstance) -> pd.DataFrame:
    """G of Table 1: jobs x configurations by number, NaN where a job has no such configuration."""
    table = np.full((len(data.jobs), int(data.number.max(initial=0))), np.nan)
    table[data.job, data.number - 1] = data.gain
    columns = [f"config {number}" for number in range(1, table.shape[1] + 1)]
    return pd.DataFrame(table, index=pd.Index(data.jobs, name="job"), columns=columns)


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


def frontier(data: HopsInstance, powers: Iterable[float], knobs: Knobs) -> pd.DataFrame:
    """Efficiency against priority: the plan of one moment for each lambda, infinity included.

    Columns: lambda, gain (summed G_ij of the plan: efficiency), priority_served (share of the summed priorities, from
    the bias up, of the jobs that get GPUs, however few: more jobs served are a larger share, so that it may fall as
    lambda rises), first_waiting (place by priority of the first that gets none, from 1; NaN if all that can run do),
    jobs, gpus, objective (None with infinity), status.
    """
    able = np.flatnonzero(data.able)
    order = able[np.argsort(-data.priority[able], kind="stable")]
    base = data.weights(1.0).plain if len(able) else np.zeros(0)
    found = []
    for power in powers:
        planned = make_plan(data, {**knobs, "lambda": power}, previous=data.previous)
        served, gain = planned.plan.keys(), gain_of(data, planned.plan)
        waiting = [place for place, row in enumerate(order.tolist(), start=1) if row not in served]
        found.append(
            {
                "lambda": power,
                "gain": float(gain.sum()),
                "priority_served": _share(base, sorted(served), able),
                "first_waiting": float(waiting[0]) if waiting else np.nan,
                "jobs": len(served),
                "gpus": sum(map(_gpus, planned.plan.values())),
                "objective": objective(data, gain, power),
                "status": planned.solved.status,
            }
        )
    columns = ["lambda", "gain", "priority_served", "first_waiting", "jobs", "gpus", "objective", "status"]
    return pd.DataFrame(found, columns=columns)


def _gpus(placed: PlacedJob) -> int:
    return sum(gpus for _, gpus in placed.layout)


def _share(base: FloatArray, served: list[int], able: IntArray) -> float:
    total = float(base[able].sum())
    return float(base[served].sum()) / total if total > 0 else np.nan


def _line(snapshot: Snapshot, knobs: Knobs) -> HopsQueue:
    ages = remembered_ages(snapshot, {})
    return queue(snapshot, ages, knobs.get("priority", "latency_ratio"), float(knobs.get("refresh_s", 0.0)))


def _least(snapshot: Snapshot, rows: IntArray, knobs: Knobs) -> IntArray:
    jobs = snapshot.jobs.jobs
    return np.array([sizes_of(jobs[row], knobs)[0] for row in rows.tolist()], dtype=np.int64)
