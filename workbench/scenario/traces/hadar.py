"""Hadar's jobs (section IV-A): drawn from the busiest hours of a trace, sorted into four sizes, a model for each size.

The paper draws 480 jobs from hours 3 to 10 of Microsoft's trace (Philly) and lets all of them arrive at the start. A
trace says of a job how many GPUs it asked for and how long it ran; its size follows from their product, its model is
one of its size's (Table II). Sizes leave gaps: jobs of 50 to 60 or over 100 GPU-hours have none. They are dropped and
counted, and so are jobs without a GPU or a duration.

Any table with these three columns will do. With a trace in Chronus's or Tiresias's form, whose times are in minutes:

    raw = pandas.read_csv("trace.csv")
    jobs = raw[["num_gpu"]].rename(columns={"num_gpu": "gpus"})
    jobs = jobs.assign(arrival_s=60.0 * raw["submit_time"], duration_s=60.0 * raw["duration"])
    scenario, summary = workbench.scenario.traces.hadar.draw(jobs)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.base.arrays import FloatArray
from workbench.base.errors import InputError, Words
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.cluster_spec import parse_cluster
from workbench.scenario.traces.dropped_rows import ConversionSummary, Drops
from workbench.scenario.traces.synthetic import Workload
from workbench.scenario.traces.trace_file import TraceCut, draw_sample, sample_notes

if TYPE_CHECKING:
    import pandas as pd

HOUR = 3600.0
MODELS = {
    "S": ("ResNet-18 (batch size 64)",),
    "M": ("CycleGAN",),
    "L": ("LSTM (batch size 20)", "Transformer (batch size 64)"),
    "XL": ("ResNet-50 (batch size 64)",),
}
"""paper: Hadar Table II, the models of each size."""
GPU_HOURS = {"S": (0.0, 1.0), "M": (1.0, 10.0), "L": (10.0, 50.0), "XL": (60.0, 100.0)}
"""paper: Hadar IV-A, GPU-hours of each size."""
CLUSTER = "v100=5x4,p100=5x4,k80=5x4"
"""paper: Hadar IV, 15 nodes and 20 GPUs of each type."""
REFERENCE = "k80"
"""ours: the type on which the trace's durations are meant (see preset `hadar_480`)."""
JOBS, HOURS = 480, 7
COLUMNS = ("arrival_s", "duration_s", "gpus")
SCHEDULERS = ("hadar", "hadare", "gavel.max_min_fairness", "tiresias", "yarn_cs")


def size_of(gpu_hours: float) -> str | None:
    """The size that a job of so many GPU-hours has, None in a gap; a bound belongs to the smaller size."""
    for size, (low, high) in GPU_HOURS.items():
        if low < gpu_hours <= high or (gpu_hours == low > 50.0):
            return size
    return None


def busiest(arrival_s: FloatArray, hours: int = HOURS) -> tuple[float, float]:
    """From (included) and to (excluded), whole hours in s: the first `hours` in a row in which most jobs arrive."""
    if isinstance(hours, bool) or not isinstance(hours, int) or hours < 1:
        raise InputError("hours", hours, "a whole number of hours, at least 1")
    if not len(arrival_s):
        raise InputError("jobs", Words("no rows"), "at least one job")
    first = int(arrival_s.min() // HOUR)
    counts = np.bincount((arrival_s // HOUR).astype(np.int64) - first)
    sums = np.convolve(counts, np.ones(min(hours, len(counts))), "valid")
    begin = first + int(np.argmax(sums))
    return begin * HOUR, (begin + hours) * HOUR


def draw(
    jobs: pd.DataFrame,
    cluster: str | Mapping[str, Any] = CLUSTER,
    count: int = JOBS,
    from_s: float | None = None,
    to_s: float | None = None,
    hours: int = HOURS,
    seed: int = 0,
    name: str = "hadar_trace",
) -> tuple[Scenario, ConversionSummary]:
    """A scenario of `count` jobs drawn evenly from those that arrive from `from_s` to `to_s`, all at the start.

    jobs: columns `arrival_s`, `duration_s`, `gpus`; without a window the busiest `hours` are taken. If fewer jobs have
    a size all are kept. The summary counts what was dropped, by row of the frame from 1. Gangs larger than any type are
    halved until they fit. Raises InputError for missing columns, values that are no numbers, or nothing left to draw.
    """
    TraceCut(None, from_s, to_s, count, seed).check()
    arrival_s, duration_s, gpus = (_column(jobs, column) for column in COLUMNS)
    if from_s is None and to_s is None:
        from_s, to_s = busiest(arrival_s, hours)
    low, high = from_s or 0.0, np.inf if to_s is None else to_s
    drops, sizes = Drops(), dict[int, str]()
    for row, at_s in enumerate(arrival_s.tolist()):
        gpu_hours = float(gpus[row] * duration_s[row]) / HOUR
        size = size_of(gpu_hours)
        if not low <= at_s < high:
            drops.add("arrives outside the window", row + 1)
        elif gpu_hours <= 0:
            drops.add("no GPU or no duration", row + 1)
        elif size is None:
            gap = "50 to 60" if gpu_hours < 60 else "over 100"
            drops.add(f"no size has {gap} GPU-hours", row + 1)
        else:
            sizes[row] = size
    if not sizes:
        raise InputError(
            "jobs", Words("; ".join(map(str, drops.result())) or "no rows"), "at least one job with a size"
        )
    able = list(sizes)
    rows = [able[i] for i in draw_sample(len(able), count, seed)]
    kept = set(rows)
    drops.add_all("not in the sample", (row + 1 for row in able if row not in kept))
    scenario = _scenario(rows, sizes, duration_s, gpus, cluster, seed, name)
    shares = ", ".join(f"{size} {sum(sizes[row] == size for row in rows)}" for size in GPU_HOURS)
    notes = (
        f"arrivals from {low:g} s to {high:g} s of the trace, all at 0 here",
        f"jobs of each size: {shares}",
        *sample_notes(len(able), count),
    )
    return scenario, ConversionSummary(name, "hadar", len(jobs), len(rows), drops.result(), notes)


def _column(jobs: pd.DataFrame, column: str) -> FloatArray:
    """One column as finite numbers of at least 0, gpus as whole ones."""
    if column not in jobs.columns:
        raise InputError("jobs, columns", list(jobs.columns), f"the columns {', '.join(COLUMNS)}")
    for row, value in enumerate(jobs[column].tolist(), start=1):
        number = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < np.inf
        if not number or (column == "gpus" and value != int(value)):
            raise InputError(f"jobs, {column} in row {row}", value, "a whole number" if column == "gpus" else "s >= 0")
    return jobs[column].to_numpy(dtype=np.float64)


def _scenario(
    rows: list[int],
    sizes: Mapping[int, str],
    duration_s: FloatArray,
    gpus: FloatArray,
    cluster: str | Mapping[str, Any],
    seed: int,
    name: str,
) -> Scenario:
    plain = parse_cluster(cluster) if isinstance(cluster, str) else dict(cluster)
    types = {group["accelerator"] for group in plain["nodes"]}
    work = Workload.build(plain, "gavel", None, REFERENCE if REFERENCE in types else None)
    pick = np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])
    made = []
    for row in rows:
        model = str(pick.choice(MODELS[sizes[row]]))
        gang = work.gang(model, int(gpus[row]))
        job = work.job(f"job-{row}", model, gang, float(duration_s[row] * gpus[row] / gang), 0.0)
        made.append({**job, "size_class": sizes[row]})
    return Scenario.from_dict(
        {
            **work.scenario(made),
            "name": name,
            "description": f"{len(rows)} jobs drawn from a trace as in Hadar, section IV-A",
            "seed": seed,
            "core": {"restart": {"law": "fixed", "restart_s": 10.0}},
            "schedulers": [{"scheduler": each} for each in SCHEDULERS],
        },
        "hadar trace",
    )
