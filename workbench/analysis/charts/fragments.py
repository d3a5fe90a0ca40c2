"""Fragments: GPUs that are idle while jobs wait."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from workbench.analysis.charts.drawing import Drawing
from workbench.analysis.charts.series import over_time

AFTER, MEAN = "after each decision", "mean of the round"


def fragments(decisions: Mapping[str, pd.DataFrame], until_s: float) -> Drawing:
    """Draw the fragments after each decision up to a time, a line for each run (its table `decisions`, by name)."""
    every = pd.concat(
        [table.assign(run=name, idle=idle_while_waiting(table)) for name, table in decisions.items()], ignore_index=True
    )
    return _steps(every[every["time_s"] <= until_s], "run", until_s)


def fragments_by_round(decisions: pd.DataFrame, *, round_s: float | None, end_s: float) -> Drawing:
    """Draw the fragments after each decision of a run, and with rounds what they are on average in each."""
    after = pd.DataFrame({"time_s": decisions["time_s"], "idle": idle_while_waiting(decisions), "line": AFTER})
    if round_s is None:
        return _steps(after, "line", end_s)
    means = round_means(decisions, round_s=round_s, end_s=end_s).assign(line=MEAN)
    return _steps(pd.concat([after, means], ignore_index=True), "line", end_s)


def idle_while_waiting(decisions: pd.DataFrame) -> pd.Series[float]:
    """The idle GPUs after each decision, 0 where no job waits."""
    idle = (decisions["up_gpus"] - decisions["busy_gpus"]).clip(lower=0)
    return idle.where(decisions["waiting_jobs"] > 0, 0).astype(float)


def round_means(decisions: pd.DataFrame, *, round_s: float, end_s: float) -> pd.DataFrame:
    """The fragments of each round on average over its time: columns time_s (when it begins), idle.

    What a decision leaves holds until the next one; the last round ends with the run.
    """
    edges = np.append(np.arange(math.ceil(end_s / round_s)) * round_s, end_s)
    times = decisions["time_s"].to_numpy(float)
    if len(edges) < 2 or not len(times):
        return pd.DataFrame({"time_s": [], "idle": []}, dtype=float)
    last = np.append(times[1:] > times[:-1], True)  # of decisions at one time the last one counts
    starts = np.concatenate([[0.0], times[last], [max(end_s, times[-1])]])
    values = np.concatenate([[0.0], idle_while_waiting(decisions).to_numpy()[last]])
    area = np.concatenate([[0.0], np.cumsum(values * np.diff(starts))])
    return pd.DataFrame({"time_s": edges[:-1], "idle": np.diff(np.interp(edges, starts, area)) / np.diff(edges)})


def _steps(table: pd.DataFrame, series: str, end_s: float) -> Drawing:
    return over_time(
        table,
        "idle",
        "GPUs",
        series=series,
        end_s=end_s,
        y_title="Fragments",
        title="Fragments: idle GPUs while jobs wait",
    )
