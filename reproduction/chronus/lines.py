"""The schedulers that are compared (section 4.3), and what is measured of their runs over several seeds."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

import pandas as pd

from reproduction.chronus.settings import WorkloadSetting, is_short
from reproduction.figure import Entry, Plot
from reproduction.line import Line
from workbench.analysis.metrics import per_job, summary
from workbench.base.errors import counted
from workbench.simulation.run import Run

HOUR = 3600.0
X = TypeVar("X", bound=Hashable)


CHRONUS = Line("Chronus", "chronus")
KNOWN = CHRONUS.but("Chronus, run times known", profile=False)
"""As the other schedulers, which are told run times when a job arrives and do not profile."""
CODED = {"first_lease": "late", "spare": "everyone"}
"""Knobs by which Chronus's leases are given as the authors' program gives them (`best_effort`)."""
CHARGED = {
    CHRONUS.name: "Profiles are charged, as in the paper's Fig. 6",
    KNOWN.name: "No profile is charged, as in the authors' end-to-end runs",
}
"""Whether a row's run charges profiles; all others know run times."""
EDF, GENIE = Line("EDF", "edf"), Line("GENIE", "genie")
# A cycle of 60 s, as in the paper; the gap and the nodes of the search are ours, to keep within minutes.
THREE_SIGMA = Line("3Sigma", "three_sigma", {"gap": 0.05, "node_limit": 20, "most_jobs": 20})
TIRESIAS, THEMIS = Line("Tiresias", "tiresias"), Line("Themis", "themis")
PAPERS_THEMIS = Line("Themis as in Gavel", "gavel.finish_time_fairness", {"heterogeneity_aware": False})
"""Section 4.3: "the same implementation in [38]", which is Gavel's; `THEMIS` is Themis's own, with leases."""
YARN = Line("YARN-CS", "yarn_cs", {"queues": "slo"})
OTHERS = (YARN, EDF, THREE_SIGMA, GENIE, TIRESIAS, PAPERS_THEMIS)
"""The six of the paper; `ALL` has Themis's own leases beside them."""
ALL = (CHRONUS, KNOWN, *OTHERS, THEMIS)

MEASURES = (
    "weighted_miss_rate",
    "strict_miss_rate",
    "soft_miss_rate",
    "best_effort_jct_s",
    "unguaranteed",
    "unguaranteed_miss_rate",
    "broken_guarantees",
    "mean_profiling_delay_s",
    "max_profiling_delay_s",
    "restarts",
)
_Measured = Mapping[str, float]


@cache
def measured(setting: WorkloadSetting, line: Line, seed: int) -> _Measured:
    """`MEASURES` of a run, short_jct_s (mean JCT of the jobs of Short) and plan_s (seconds of the longest plan); NaN
    where there are no such jobs."""
    run = line.run(setting.scenario(seed), seed=seed)
    found = summary(run)
    known = {name: found[name] for name in MEASURES}
    return {**known, "short_jct_s": _short_jct_s(run), "plan_s": _plan_s(run)}


def _short_jct_s(run: Run) -> float:
    jobs = per_job(run)
    return float(jobs.loc[jobs["job"].map(is_short), "jct_s"].mean())


def _plan_s(run: Run) -> float:
    made = run.decisions[run.decisions["status"].fillna("").astype(str).isin(["optimal", "feasible", "time_limit"])]
    return float((made["build_s"] + made["solve_s"]).max()) if len(made) else math.nan


def sweep(points: Mapping[X, tuple[WorkloadSetting, Line]], seeds: range) -> pd.DataFrame:
    """One row per point and seed: x, seed and `measured`."""
    rows = [
        {"x": x, "seed": seed, **measured(setting, line, seed)}
        for x, (setting, line) in points.items()
        for seed in seeds
    ]
    return pd.DataFrame(rows)


def values(found: pd.DataFrame, x: Hashable, measure: str) -> list[float]:
    """A measure of one point, seed by seed."""
    return [value for at, value in zip(found["x"], found[measure].tolist(), strict=True) if at == x]


def mean(found: pd.DataFrame, x: Hashable, measure: str) -> float:
    """The mean over the seeds in which it is known; NaN if in none."""
    known = [value for value in values(found, x, measure) if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def ratio(found: pd.DataFrame, above: Hashable, below: Hashable, measure: str = "best_effort_jct_s") -> list[float]:
    """A measure of one point over that of another, seed by seed; NaN where the other's is 0 or one is unknown."""
    pairs = zip(values(found, above, measure), values(found, below, measure), strict=True)
    return [up / down if down else math.nan for up, down in pairs]


def said(numbers: Iterable[float]) -> str:
    """From the least to the greatest of the seeds, as a sentence."""
    every = list(numbers)
    known = [value for value in every if not math.isnan(value)]
    seeds = counted(len(every), "seed")
    if not known:
        return f"{seeds}, unknown."
    return f"{seeds}: {min(known):.4g} to {max(known):.4g}." if len(every) > 1 else f"{seeds}."


def row(
    found: pd.DataFrame,
    x: Hashable,
    measure: str,
    label: str,
    why: str,
    section: str,
    unit: str = "1",
    paper: float | None = None,
    scale: float = 1.0,
) -> Entry:
    """A measure of one point, `scale` times: its mean, and before the why how far the seeds are apart."""
    told = said(scale * value for value in values(found, x, measure))
    return Entry(label, unit, paper, scale * mean(found, x, measure), f"{told} {why}", section)


def points(found: pd.DataFrame, measure: str, names: Mapping[Any, tuple[str, Any]], scale: float = 1.0) -> pd.DataFrame:
    """Points of a chart, line, x, y with low and high over the seeds; names: the line and x of each point."""
    rows = []
    for key, (line, x) in names.items():
        known = [scale * value for value in values(found, key, measure) if not math.isnan(value)]
        if known:
            rows.append((line, x, sum(known) / len(known), min(known), max(known)))
    return pd.DataFrame(rows, columns=["line", "x", "y", "low", "high"])


def bars(found: pd.DataFrame, measure: str, names: Mapping[Any, tuple[str, str]], scale: float = 1.0) -> pd.DataFrame:
    """The same for bars: series, group, value, low, high."""
    columns = {"line": "series", "x": "group", "y": "value"}
    return points(found, measure, names, scale).rename(columns=columns)


def drawn(panels: Mapping[str, Plot]) -> dict[str, Plot]:
    """The panels that have something to draw: at the tiny size there may be no best-effort job."""
    return {letter: panel for letter, panel in panels.items() if not panel.frame.empty}
