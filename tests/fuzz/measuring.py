"""Whether a run's numbers are numbers: finite where they must be, and the main metrics as worked out here anew."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from workbench.metrics.declared import METRICS
from workbench.metrics.summary import summary
from workbench.run import Run

MAY_MISS = {"jobs": {"first_start_s", "finish_s"}, "decisions": {"objective", "bound", "gap", "build_s", "solve_s"}}
"""Columns of a run's tables that may be missing; all other numbers are finite."""


def check_numbers(run: Run) -> None:
    """Assert that no table has a number missing or infinite that may not be, and that the metrics are right."""
    for name in ("timeline", "jobs", "decisions", "shares", "events"):
        table = run.table(name)
        for column in table.select_dtypes("float").columns:
            found = table[column].to_numpy()
            good = np.isfinite(found) | (np.isnan(found) & (column in MAY_MISS.get(name, ())))
            assert good.all(), f"{name}.{column} is {found[~good][0]}"
    finished = run.jobs["finish_s"].notna()
    assert (finished <= run.jobs["first_start_s"].notna()).all(), "finished without a start"
    assert (run.shares["share"].between(0, 1 + 1e-6)).all(), "a share beyond all of the time"
    _check_metrics(run, finished)


def _check_metrics(run: Run, finished: pd.Series[bool]) -> None:
    found = dict(summary(run))
    for metric in METRICS:
        value = found[metric.name]
        assert not math.isinf(value), f"{metric.name} is infinite"
        assert metric.unit != "share" or not (value < -1e-9 or value > 1 + 1e-9), f"{metric.name} is {value}"
    for name, expected in {**_of_jobs(run, finished), **_of_cluster(run, finished)}.items():
        same = math.isclose(found[name], expected, rel_tol=1e-9, abs_tol=1e-9)
        assert same or (math.isnan(found[name]) and math.isnan(expected)), f"{name} is {found[name]}, not {expected}"


def _of_jobs(run: Run, finished: pd.Series[bool]) -> dict[str, float]:
    """Some metrics over jobs."""
    jobs = run.jobs[finished]
    jct_s = jobs["finish_s"] - jobs["arrival_s"]
    lived = run.jobs[finished | ((run.jobs["verdict"] != "refused") & (run.jobs["arrival_s"] < run.end_s))]
    return {
        "jobs_finished": float(len(jobs)),
        "mean_jct_s": jct_s.mean(),
        "max_jct_s": jct_s.max(),
        "mean_wait_s": lived["waited_s"].mean(),
        "restarts": float(run.jobs["restarts"].sum()),
    }


def _of_cluster(run: Run, finished: pd.Series[bool]) -> dict[str, float]:
    """Some metrics of the cluster; what it costs where every type has a price."""
    refused = run.jobs["verdict"] == "refused"
    over = bool((finished | refused).all() and finished.any())
    end_s = float(run.jobs["finish_s"].max()) if over else run.end_s
    held = run.timeline[~run.timeline["kind"].isin(["down", "sync"])]
    seconds = held["end_s"] - held["start_s"]
    busy_s = seconds[held["kind"].isin(["run", "profile"])].sum()
    found = {
        "decisions": float(len(run.decisions)),
        "makespan_s": end_s if over else math.nan,
        "utilisation": busy_s / (run.scenario.cluster.gpus * end_s) if end_s > 0 else math.nan,
    }
    prices = {each.name: each.price_per_hour for each in run.scenario.cluster.accelerators}
    if all(price is not None for price in prices.values()):
        found["cost_usd"] = (seconds * held["accelerator"].map(prices)).sum() / 3600
    return found
