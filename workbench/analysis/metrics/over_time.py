"""Step functions of time, exact from the intervals: a value holds from its time until the next one's.

GPUs held (drawn by `utilisation` of `charts/areas.py`), throughput, latency ratio. The first row is at time 0, the last
one closes the function at the run's end with 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.analysis.metrics.jobs import Speeds, per_job
from workbench.base.arrays import FloatArray
from workbench.base.errors import InputError
from workbench.simulation.intervals import Intervals, steps_of
from workbench.simulation.run import Run
from workbench.simulation.schema import Column, Table

if TYPE_CHECKING:
    import pandas as pd

THROUGHPUT_OVER_TIME = Table(
    "throughput_over_time",
    "throughput of the cluster from each time on",
    (
        Column("time_s", "time", "s", "float"),
        Column("value", "steps/s of all running units, each job's by its fastest type's", "1", "float"),
    ),
)


LATENCY_RATIO_OVER_TIME = Table(
    "latency_ratio_over_time",
    "how busy the system has been: latency ratio of the jobs that ended lately, from each time on (RAQLR, Hops (7))",
    (
        Column("time_s", "time", "s", "float"),
        Column("value", "mean latency ratio of the jobs that ended in the window; missing if none did", "1", "float"),
        Column("jobs", "jobs that ended in the window", "jobs", "int"),
    ),
)

MOST_POINTS = 2000
"""Of a step function that is drawn; with more it becomes exact means of equal bins."""


def at_change(
    times_s: FloatArray, values: FloatArray, end_s: float, most: int = MOST_POINTS
) -> tuple[FloatArray, FloatArray, float]:
    """A step function with at most `most` steps: times, values from then on, and the width of a bin in seconds.

    times_s rise; values[i] holds from times_s[i] to times_s[i + 1], the last to end_s. With more than `most` steps the
    span is cut into `most` equal bins and each gets its exact mean over time, so that the area stays what it was;
    otherwise nothing changes and the bin is 0.
    """
    if len(times_s) <= most or end_s <= times_s[0]:
        return times_s, values, 0.0
    edges = np.linspace(times_s[0], end_s, most + 1)
    area = np.concatenate(([0.0], np.cumsum(values * np.diff(np.append(times_s, end_s)))))
    at_edges = np.interp(edges, np.append(times_s, end_s), area)
    width = float(edges[1] - edges[0])
    return edges[:-1], np.diff(at_edges) / width, width


def held_gpus(
    timeline: pd.DataFrame, end_s: float | None = None, most: int = MOST_POINTS
) -> tuple[pd.DataFrame, float]:
    """GPUs held over time by type: columns time_s, accelerator, gpus (from then on), and the width of a bin in seconds.

    Held: a unit has the slot, whether it runs, restarts, switches, profiles, consolidates or holds it idle;
    synchronisation that overlaps the next task does not count again. Types come in order of first appearance, every
    type at every time. Exact unless the bin is above 0 (then exact means of the bins).
    """
    import pandas as pd

    used = timeline[(timeline["unit"] != "") & (timeline["kind"] != "sync")]
    types = list(timeline["accelerator"].unique())
    if used.empty:
        return pd.DataFrame({"time_s": [], "accelerator": [], "gpus": []}).astype({"accelerator": "str"}), 0.0
    start, end = used["start_s"].to_numpy(float), used["end_s"].to_numpy(float)
    times = np.unique(np.concatenate([[0.0], start, end]))
    last = max(float(times[-1]), end_s or 0.0)
    tables, width = [], 0.0
    for accelerator in types:
        of_type = used["accelerator"].to_numpy() == accelerator
        change = np.zeros(len(times))
        np.add.at(change, np.searchsorted(times, start[of_type]), 1.0)
        np.add.at(change, np.searchsorted(times, end[of_type]), -1.0)
        at, gpus, width = at_change(times, np.cumsum(change), last, most)
        tables.append(pd.DataFrame({"time_s": at, "accelerator": accelerator, "gpus": gpus}))
    table = pd.concat(tables, ignore_index=True)
    return table.astype({"accelerator": "str"}), width


def throughput_over_time(run: Run) -> pd.DataFrame:
    """`THROUGHPUT_OVER_TIME`: as it were the number of jobs at full speed on their fastest type.

    Steps that a fault takes back later count while they run.
    """
    i = Intervals.of(run)
    factor = 1.0 / Speeds(run.scenario).fastest()
    rows = i.running & (i.seconds > 0) & (i.job >= 0)
    steps = i.steps[rows] * factor[i.job[rows]]
    paired = rows & (i.other >= 0)
    steps[paired[rows]] += i.other_steps[paired] * factor[i.other[paired]]
    at = _edges(run, i.start[rows], i.end[rows])
    times, (value, count) = steps_of(at, _up_down(steps / i.seconds[rows]), _up_down(np.ones(len(steps))))
    return THROUGHPUT_OVER_TIME.frame({"time_s": times, "value": np.where(np.rint(count) > 0, value, 0.0)})


def latency_ratio_over_time(run: Run, window_s: float = 3600.0) -> pd.DataFrame:
    """`LATENCY_RATIO_OVER_TIME`: at each time over the jobs that ended in the `window_s` seconds up to then.

    Not closed with 0: the last row is what holds at the run's end. The paper leaves the window to the operator.
    Raises InputError for a window that is no time.
    """
    if not 0 < window_s < np.inf:
        raise InputError("window_s", window_s, "a finite number of seconds > 0")
    jobs = per_job(run)
    ended = jobs["latency_ratio"].notna().to_numpy()
    ratio = jobs["latency_ratio"].to_numpy(dtype=float)[ended]
    finish = run.cells.column("jobs", "finish_s")[ended]
    late = finish + window_s <= run.end_s
    at = np.concatenate([[0.0, run.end_s], finish, finish[late] + window_s])
    none, ones = np.zeros(2), np.ones(len(finish))
    times, (total, count) = steps_of(
        at, np.concatenate([none, ratio, -ratio[late]]), np.concatenate([none, ones, -ones[late]])
    )
    count = np.rint(count)
    value = np.divide(np.maximum(total, 0.0), count, out=np.full(len(times), np.nan), where=count > 0)
    return LATENCY_RATIO_OVER_TIME.frame({"time_s": times, "value": value, "jobs": count.astype(np.int64)})


def _edges(run: Run, start: FloatArray, end: FloatArray) -> FloatArray:
    """The times of the changes `_up_down`, time 0 and the run's end included so that every function has them."""
    return np.concatenate([[0.0, run.end_s], start, end])


def _up_down(size: FloatArray) -> FloatArray:
    """Nothing at time 0 and at the run's end, up by `size` at the starts, down at the ends."""
    return np.concatenate([[0.0, 0.0], size, -size])
