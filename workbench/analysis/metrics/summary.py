"""Measures of a whole run in one object, as JSON and as a table for people."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from workbench.analysis.metrics.declared import (
    COLUMNS,
    HEADLINE,
    MAIN_OF_SLOS,
    METRICS,
    OF_FAULTS,
    STATISTICS,
    WEIGHTED,
    metric,
)
from workbench.analysis.metrics.jobs import Speeds, measures_of_jobs
from workbench.analysis.metrics.rounds import changed_rounds, rounds_of, who_decided
from workbench.analysis.metrics.slo import slo_values
from workbench.analysis.metrics.warnings import warnings_of
from workbench.base.arrays import BoolArray, FloatArray
from workbench.base.card import card
from workbench.base.errors import InputError, UnknownNameError, counted, one_of
from workbench.base.labels import unit_beside, with_unit
from workbench.base.rounding import short_number
from workbench.base.units import format_duration
from workbench.simulation.intervals import Intervals, is_refused, over_s, union
from workbench.simulation.run import Run

if TYPE_CHECKING:
    import pandas as pd

    from workbench.session.api import Window

Values = dict[str, float]

OF_JOBS = frozenset({"mean_first_start_s", *(f"{statistic}_{name}" for statistic in STATISTICS for name in COLUMNS)})
"""Metrics that are averages, percentiles or extremes over jobs."""


@dataclass(frozen=True, repr=False)
class Summary(Mapping[str, float]):
    """Values of `METRICS` by name (`summary["mean_jct_s"]`), NaN where unknown.

    found: the values; mean_jct_by_class_s: by size class, by GPUs where the scenario names none. window: first and last
    measured job by arrival, or None. saturated: a job of the window has neither finished nor been refused; then nothing
    is averaged over jobs. warnings: sentences on why some of this should not be believed as it stands
    (`metrics/warnings.py`); decided: who made the decisions, in a line (`who_decided`); apart: how many of the finished
    jobs averages leave out.
    """

    found: Mapping[str, float]
    mean_jct_by_class_s: Mapping[str, float]
    window: Window | None = None
    saturated: bool = False
    warnings: tuple[str, ...] = ()
    decided: str = ""
    apart: int = 0

    def __getitem__(self, name: str) -> float:
        if name not in self.found:
            raise UnknownNameError("summary", name, one_of(name, self.found))
        return self.found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def __repr__(self) -> str:
        shown = (f"{label} {value} {unit}".rstrip() for label, value, unit in self.main()[:3])
        warned = f", {counted(len(self.warnings), 'warning')}" if self.warnings else ""
        return f"<Summary: {', '.join(shown)}; {counted(len(self), 'measure')}{warned}>"

    def _repr_html_(self) -> str:
        return self.page("Summary", [f"All {len(self)} measures: dict(summary)."])

    def main(self) -> list[list[str]]:
        """The main measures as people read them: label, value, unit."""
        return [list(row[1:]) for row in as_rows(self)]

    def page(self, head: str, more: Iterable[str] = (), mind: Iterable[str] = ()) -> str:
        """The main measures as HTML, under a line, the warnings and what else to mind, and above others."""
        found = [*(f"Warning: {text}" for text in self.warnings), *mind]
        decided = [f"Decided: {self.decided}."] if self.decided else []
        return card(head, self.main(), ("Metric", "Value", "Unit"), [*decided, *more], found)


def summary(run: Run, window: Window | None = None, apart: Collection[str] = ()) -> Summary:
    """All of `METRICS`.

    window: numbers by arrival, from 0 and inclusive, of the first and last job to measure (steady state); measures of
    the cluster are of the whole run. Without a window averages are over the jobs that have finished, and
    `jobs_unfinished` says how many have not. apart: jobs that averages over jobs, percentiles
    and the total weighted JCT leave out; counts of jobs, preemptions, restarts and moves, the cost, and the
    misses of SLOs are of these too. Raises InputError for a window out of range.
    """
    if not isinstance(run, Run):
        raise InputError("run", run, "a Run, what `simulate` returns")
    intervals = Intervals.of(run)
    jobs = measures_of_jobs(run, intervals=intervals)
    measured = _measured(run, window)
    finished = measured & ~np.isnan(jobs["finish_s"])
    refused = measured & is_refused(run) & ~finished
    unfinished = int((measured & ~finished & ~refused).sum())
    saturated = window is not None and unfinished > 0
    kept = ~np.isin(jobs["job"], [*apart])
    told = kept & (not saturated)
    averaged, begun = finished & told, _first_starts(jobs, measured & told)
    values = {
        **_cluster(run, intervals),
        **_faults(run, intervals),
        **_rounds(run),
        "jobs": int(measured.sum()),
        "jobs_finished": int(finished.sum()),
        "jobs_unfinished": unfinished,
        "jobs_refused": int(refused.sum()),
        **slo_values(run, jobs, measured, kept, intervals),
        **{name: int(jobs[name][measured].sum()) for name in ("preemptions", "restarts", "moves")},
        "weighted_jct_s": float((jobs["weight"] * jobs["jct_s"])[averaged].sum()) if not unfinished else math.nan,
        "cost_usd": float(jobs["cost_usd"][measured].sum()),
        "mean_first_start_s": float(begun.mean()) if len(begun) else math.nan,
    }
    for name in COLUMNS:
        values |= _statistics(name, jobs[name][averaged].astype(float))
    lived = jobs["wait_s"][measured & told]
    values |= _statistics("wait_s", lived[~np.isnan(lived)])
    by_class = _by_class(jobs, averaged)
    found, warned = {m.name: values[m.name] for m in METRICS}, warnings_of(run, intervals)
    return Summary(found, by_class, window, saturated, warned, who_decided(run), int((finished & ~kept).sum()))


def as_json(found: Summary) -> dict[str, Any]:
    """Plain values for the command line; null for what is unknown or infinite."""
    return {
        **{name: _finite(value) for name, value in found.items()},
        "mean_jct_by_class_s": {name: _finite(value) for name, value in found.mean_jct_by_class_s.items()},
        "window": None if found.window is None else list(found.window),
        "saturated": found.saturated,
        "warnings": list(found.warnings),
        "decided": found.decided,
    }


def with_known(names: Sequence[str], found: Iterable[Summary]) -> tuple[str, ...]:
    """Names of metrics, and of those that not every scenario has a use for: the total weighted JCT where some job has
    a weight other than 1, and those of SLOs (`MAIN_OF_SLOS`) and of faults (`OF_FAULTS`) that are known of some."""
    each_of = list(found)
    weighted = (WEIGHTED,) if any(_is_weighted(each) for each in each_of) else ()
    some = (name for name in (*MAIN_OF_SLOS, *OF_FAULTS) if any(not math.isnan(each[name]) for each in each_of))
    return (*names, *weighted, *some)


def _is_weighted(found: Summary) -> bool:
    """Whether the total weighted JCT is known, and says something else than the sum of JCTs."""
    total = found["mean_jct_s"] * (found["jobs_finished"] - found.apart)
    return not math.isnan(found[WEIGHTED] + total) and not math.isclose(found[WEIGHTED], total, rel_tol=1e-9)


def table(found: Summary, names: Sequence[str] | None = None) -> pd.DataFrame:
    """`as_rows` as a table."""
    import pandas as pd

    return pd.DataFrame(as_rows(found, names), columns=["metric", "label", "value", "unit"])


def as_rows(found: Summary, names: Sequence[str] | None = None) -> list[tuple[str, str, str, str]]:
    """Metric, label, value (as people read it) and unit, empty where label or value say it (2 h 30 min).

    names: which metrics, default: `HEADLINE`, with those of weights and SLOs where there are any (`with_known`);
    `[m.name for m in METRICS]` for all.
    """
    rows = []
    for name in with_known(HEADLINE, [found]) if names is None else names:
        m, value = metric(name), found[name]
        text, unit = (m.missing, "") if math.isnan(value) else shown(value, m.unit)
        if found.saturated and name in OF_JOBS:
            text, unit = "saturated", ""
        rows.append((name, m.label, text, unit_beside(m.label, unit)))
    return rows


def _measured(run: Run, window: Window | None) -> BoolArray:
    """Which jobs to measure."""
    count = len(run.scenario.jobs)
    chosen = np.full(count, window is None)
    if window is not None:
        pair = isinstance(window, (tuple, list)) and len(window) == 2 and all(isinstance(n, int) for n in window)
        if not pair or not 0 <= window[0] <= window[1] < count:
            raise InputError("window", window, f"first and last job by arrival, 0 <= first <= last < {count}")
        first, last = window
        chosen[list(run.scenario.order[first : last + 1])] = True
    return chosen


def _cluster(run: Run, intervals: Intervals) -> Values:
    """What the cluster did with its time."""
    cluster, count = run.scenario.cluster, len(run.scenario.jobs)
    finish = run.cells.column("jobs", "finish_s")[~is_refused(run)]
    end = over_s(run)
    arrival = run.cells.column("jobs", "arrival_s")
    duration = max(end - float(arrival.min()), 0.0) if count else 0.0
    running, seconds = intervals.running, intervals.seconds
    computing_s = float(seconds[running].sum())
    busy = running & (intervals.node >= 0)
    _, begin, until = union(intervals.node[busy], intervals.start[busy], intervals.end[busy])
    steps = intervals.by_job(intervals.steps, intervals.other_steps, running, count)
    return {
        "makespan_s": float(finish.max()) if len(finish) else math.nan,
        "utilisation": _ratio(computing_s, cluster.gpus * end),
        "gru": _ratio(computing_s, cluster.gpus * duration),
        "cru": _ratio(float((until - begin).sum()), len(cluster.each_node) * duration),
        "allocated": _ratio(float(seconds[intervals.held].sum()), cluster.gpus * duration),
        "steps_per_s": _ratio(float(steps.sum()), duration),
        "normalised_throughput": _ratio(float((steps / Speeds(run.scenario).fastest()).sum()), duration),
    }


def _faults(run: Run, intervals: Intervals) -> Values:
    """What failures of nodes cost, unknown where none may fail."""
    faults, count = run.scenario.core.faults, len(run.scenario.jobs)
    if not faults.list and faults.mtbf_s is None:
        return dict.fromkeys(OF_FAULTS, math.nan)
    down_s = float(intervals.seconds[intervals.is_kind("down")].sum())
    running = intervals.running
    steps = intervals.by_job(intervals.steps, intervals.other_steps, running, count)
    run_s = run.cells.column("jobs", "run_s")
    lost = run.cells.column("jobs", "steps_lost")
    lost_s = run_s * np.divide(lost, steps, out=np.zeros(count), where=steps > 0)
    return {
        "availability": 1 - _ratio(down_s, run.scenario.cluster.gpus * run.end_s),
        "lost_work": _ratio(float(lost_s.sum()), float(run_s.sum())),
    }


def _rounds(run: Run) -> Values:
    """What the decisions say, each counted for the rounds it stood for (see `rounds_of`)."""
    d, weight = run.cells.columns("decisions"), rounds_of(run)
    idle = np.maximum(d["up_gpus"] - d["busy_gpus"], 0.0)
    fragments = np.where(d["waiting_jobs"] > 0, idle, 0.0)
    total = float(weight.sum())
    return {
        "fragments_gpus": _ratio(float((fragments * weight).sum()), total),
        "changed_rounds": math.nan if run.cells.tasks else _ratio(changed_rounds(run), total),
        "rounds": int(total),
        "decisions": len(weight),
    }


def _first_starts(jobs: Mapping[str, npt.NDArray[Any]], measured: BoolArray) -> FloatArray:
    """Seconds from arrival to first start of the measured jobs that have had GPUs and were not refused."""
    delay = jobs["first_start_s"] - jobs["arrival_s"]
    found: FloatArray = delay[measured & ~np.isnan(delay) & ~np.isnan(jobs["wait_s"])]
    return found


def _statistics(name: str, values: FloatArray) -> Values:
    """Of one per-job column; unknown for no jobs, or if a value is."""
    if not len(values):
        return dict.fromkeys((f"{statistic}_{name}" for statistic in STATISTICS), math.nan)
    found = [float(values.mean()), *np.percentile(values, [50, 95, 99]).tolist(), float(values.max())]
    return {f"{statistic}_{name}": value for statistic, value in zip(STATISTICS, found, strict=True)}


def _by_class(jobs: Mapping[str, npt.NDArray[Any]], averaged: BoolArray) -> dict[str, float]:
    """Mean JCT per size class in order of appearance, or per number of GPUs in rising order."""
    of, gpus = jobs["size_class"], jobs["gpus"]
    if (of != "").any():
        labels = {word: word or "no class" for word in of}
    else:
        of, labels = gpus, {n: f"{n} GPU" if n == 1 else f"{n} GPUs" for n in sorted(set(gpus.tolist()))}
    means = {}
    for each, label in labels.items():
        mine = jobs["jct_s"][averaged & (of == each)]
        means[label] = float(mine.mean()) if len(mine) else math.nan
    return means


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else math.nan


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def shown(value: float, unit: str) -> tuple[str, str]:
    """A value as people read it, and the unit to put behind it."""
    if math.isnan(value):
        return "unknown", ""
    if unit == "s":
        return format_duration(value, parts=2), ""
    if unit == "GPU-s":
        return format_duration(value, parts=2), "GPU time"
    if unit == "share":
        return f"{100 * value:.1f}", "%"
    if unit == "USD":
        return f"{value:,.2f}", "USD"
    return short_number(value), "" if unit == "1" else unit


def amount(value: float, unit: str) -> str:
    """A value of a measure as people read it, with its unit."""
    return with_unit(*shown(value, unit))


def change_of(value: float, unit: str) -> str:
    """A difference with its sign; of shares in percentage points."""
    if math.isnan(value):
        return ""
    points = 100.0 * abs(value)  # one digit where two decimals would be 0
    parts = short_number(points, 1) if 0 < points < 0.005 else f"{points:.2f}"
    said = f"{parts} points" if unit == "share" else amount(abs(value), unit)
    return said if value == 0 else f"{'+' if value > 0 else '−'}{said}"
