"""Policies under rising load: the measured jobs of every run, points with their spread, and distributions."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd

from reproduction.figure import Plot, chart_of
from reproduction.gavel.settings import HOUR, GavelSize, continuous
from reproduction.line import Line, rivalled
from workbench.analysis.metrics import per_job
from workbench.scenario.scenario import Scenario
from workbench.simulation.run import Run

RATES = tuple(0.25 * 1.25**step for step in range(19))
"""ours: jobs/h per 108 GPUs, among which a highest steady rate is looked for."""
X_LOAD = "Input job rate (jobs/h per 108 GPUs)"
Y_JCT = "Mean job completion time (h)"


def windowed(line: Line, scenario: Scenario, window: tuple[int, int]) -> Run:
    """The run until the jobs of the window have finished, but no longer than jobs arrive."""
    return line.run(scenario, window=window, until_s=max(job.arrival_s for job in scenario.jobs))


@dataclass(frozen=True)
class Load:
    """A continuous trace at several rates; gpus: of the cluster that the rates are stated for."""

    cluster: str
    per_hour: tuple[float, ...]
    multi_gpu: bool = False
    priority_share: float = 0.0

    def scenario(self, size: GavelSize, per_hour: float, seed: int) -> Scenario:
        """One trace."""
        return continuous(
            self.cluster,
            size.warm + size.measured + size.trailing,
            per_hour,
            seed,
            multi_gpu=self.multi_gpu,
            priority_share=self.priority_share,
            durations=size.durations,
            measured_speeds=size.measured_speeds,
        )


def single(size: GavelSize) -> Load:
    """The paper's continuous-single."""
    return Load(size.cluster, size.single)


def multiple(size: GavelSize, priority_share: float = 0.0) -> Load:
    """The paper's continuous-multiple."""
    return Load(size.cluster, size.multiple, True, priority_share)


def sweep(load: Load, lines: Sequence[Line], size: GavelSize) -> pd.DataFrame:
    """One row per measured job: line, per_hour, seed and `measured`."""
    of = replace(size, seeds=range(0), single=(), multiple=(), rivals=())  # of what a run does not depend on
    parts = [
        _point(line, replace(load, per_hour=()), of, per_hour, seed)
        for per_hour in load.per_hour
        for seed in size.seeds
        for line in rivalled(lines, size.rivals)
    ]
    return pd.concat(parts, ignore_index=True)


@cache
def _point(line: Line, load: Load, size: GavelSize, per_hour: float, seed: int) -> pd.DataFrame:
    """The part of a `sweep` that is one run; of a gap's causes few change more than a line of several."""
    run = windowed(line, load.scenario(size, per_hour, seed), size.window)
    return measured(run, size.window).assign(line=line.name, per_hour=per_hour, seed=seed)


def measured(run: Run, window: tuple[int, int]) -> pd.DataFrame:
    """The jobs of a run in the window: job, weight, jct_h, rho (both missing: not finished), least_h.

    least_h: jct_h, of a job that is not finished the hours from its arrival to the end of the run.
    """
    first, last = window
    rows = list(run.scenario.order[first : last + 1])
    jobs = per_job(run).iloc[rows]
    weight = [run.scenario.jobs[row].weight for row in rows]
    frame = pd.DataFrame({"job": jobs["job"].to_numpy(), "weight": weight})
    jct_s, open_s = jobs["jct_s"].to_numpy(dtype=float), run.end_s - jobs["arrival_s"].to_numpy(dtype=float)
    least_h = np.where(np.isnan(jct_s), open_s, jct_s) / HOUR
    return frame.assign(jct_h=jct_s / HOUR, rho=jobs["finish_time_fairness"].to_numpy(), least_h=least_h)


def points(jobs: pd.DataFrame, value: str) -> pd.DataFrame:
    """Mean of a value over the measured jobs, one row per line and load: line, x, y, low, high, saturated.

    low, high: the standard deviation over the seeds around the mean. Saturated where some measured job had not finished
    when jobs stopped arriving: then there is no mean.
    """
    runs = jobs.groupby(["line", "per_hour", "seed"], sort=False)[value].agg(
        mean="mean", open=lambda values: int(values.isna().sum())
    )
    found = runs.groupby(level=["line", "per_hour"], sort=False).agg(
        y=("mean", "mean"), std=("mean", "std"), open=("open", "sum")
    )
    table = found.reset_index().rename(columns={"per_hour": "x"})
    table["saturated"] = table["open"] > 0
    table.loc[table["saturated"], ["y", "std"]] = math.nan
    spread = table["std"].fillna(0.0)
    return table.assign(low=table["y"] - spread, high=table["y"] + spread)[
        ["line", "x", "y", "low", "high", "saturated"]
    ]


def distribution(jobs: pd.DataFrame, value: str) -> pd.DataFrame:
    """Share of the measured jobs with at most a value, at the highest rate that no line saturates: line, x, y."""
    at = _last_steady(points(jobs, value))
    parts = []
    for name, group in jobs[jobs["per_hour"] == at].groupby("line", sort=False):
        values = np.sort(group[value].dropna().to_numpy(dtype=float))
        share = np.arange(1, len(values) + 1) / max(len(group), 1)
        parts.append(pd.DataFrame({"line": name, "x": values, "y": share}))
    return pd.concat(parts, ignore_index=True)


def gain(table: pd.DataFrame, slow: str, fast: str) -> float:
    """How many times as large a measure is on one line as on another at the highest load that saturates neither.

    NaN if there is no such load.
    """
    wide = table.pivot(index="x", columns="line", values="y")  # NaN where saturated
    both = (wide[slow] / wide[fast]).dropna()
    return float(both.loc[both.index.max()]) if len(both) else math.nan


def gains(jobs: pd.DataFrame, value: str, slow: str, fast: str) -> pd.Series[float]:
    """By load, how many times as large a value is on one line as on another, means over jobs and then seeds.

    Of `least_h` a job that is not finished counts until the end of its run, so that a line that does not sustain a load
    has at least so much; NaN where a value is missing.
    """
    means = jobs.groupby(["line", "per_hour", "seed"], sort=False)[value].mean(skipna=False)
    lines = means.groupby(level=["line", "per_hour"], sort=False).mean(skipna=False)
    found: pd.Series[float] = lines[slow] / lines[fast]
    return found


def highest(load: Load, line: Line, size: GavelSize) -> float:
    """The highest of `RATES` that a line sustains at the first seed, as it does those below; NaN where none or all."""

    def saturated(per_hour: float) -> bool:
        run = windowed(line, load.scenario(size, per_hour, size.seeds[0]), size.window)
        return bool(measured(run, size.window)["jct_h"].isna().any())

    count = bisect_left(RATES, True, key=saturated)
    return RATES[count - 1] if 0 < count < len(RATES) else math.nan


def load_panel(table: pd.DataFrame, title: str, y_title: str = Y_JCT) -> Plot:
    """Panel (a) of most figures: a measure against load."""
    return chart_of(table, title, X_LOAD, y_title)


def share_panel(jobs: pd.DataFrame, value: str, title: str, x_title: str) -> Plot:
    """Panel (b): a distribution over the jobs."""
    return chart_of(distribution(jobs, value), title, x_title, "Share of jobs", log_x=True, dots=False)


def _last_steady(table: pd.DataFrame) -> float:
    """The highest rate at which no line is saturated; the lowest rate of all if there is none."""
    bad = table.groupby("x")["saturated"].any()
    steady = bad.index[~bad.to_numpy()]
    return float(max(steady) if len(steady) else bad.index.min())
