"""How near a run's waits and makespan are to a log's, in numbers (`workbench.analysis.calibration`)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from workbench.base.arrays import FloatArray
from workbench.base.units import clock
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.slurm_text import GOING_ON
from workbench.simulation.run import Run

FOLDS = 4
EDGE = 0.05
DAY_S = 86400.0
LEAST_JOBS = 5
"""Of a partition or user in the parts held back; fewer say nothing of its median or mean."""
DRAWS = 100
"""Of the runs, for a standard error."""


@dataclass(frozen=True)
class CalibrationFit:
    """How near waits are on the parts held back: median over partitions, each as often as it has jobs, of |median of
    all runs / recorded median - 1|, where a difference within `pace_s` is none, and a recorded median counts as at
    least that; Spearman's correlation of users' mean waits (nan with fewer than three users); |mean wait / recorded
    mean - 1| over all; the standard error of the first, by draws of the runs (bootstrap; nan with one)."""

    median_error: float
    rank_correlation: float
    mean_error: float
    standard_error: float

    def as_good_as(self, other: CalibrationFit) -> bool:
        """No worse in error and in rank; who has no rank has none to speak of."""
        mine, its = (fit.rank_correlation if math.isfinite(fit.rank_correlation) else 0.0 for fit in (self, other))
        return self.median_error <= other.median_error and mine >= its


class LogMakespan(NamedTuple):
    """When the last job ended (s) of those whose end the log has and that start in every run, recorded and simulated
    (mean of the runs): how long those that still ran would run, nobody knows; and the part of the jobs' GPU time in the
    runs before the log's end, which tells more of a log that was cut while jobs ran: whoever ended just before the cut
    may end after it."""

    recorded_s: float = math.nan
    simulated_s: float = math.nan
    done: float = math.nan

    def text(self) -> str:
        """In a sentence; empty where no end is known, and of a log that took no time."""
        if not self.recorded_s > 0:
            return ""
        return (
            f"Makespan of the jobs whose end the log has: recorded {clock(self.recorded_s)}, simulated "
            f"{clock(self.simulated_s)} ({self.simulated_s / self.recorded_s:.2f} of it); by the log's end "
            f"{percent(self.done)} of the GPU time has run."
        )


def makespan_of(scenario: Scenario, runs: Sequence[Run]) -> LogMakespan:
    """Of a log and of runs of it; nothing where no end is known. Jobs that do not start in some run count nowhere."""
    tables = [run.jobs.set_index("job") for run in runs]
    ends = {job.name: float(job.attributes["end_s"]) for job in scenario.jobs if "end_s" in job.attributes}
    ran = set.intersection({job.name for job in scenario.jobs}, *(table["finish_s"].dropna().index for table in tables))
    jobs = [job for job in scenario.jobs if job.name in ran]
    known = [job.name for job in jobs if job.name in ends and job.attributes.get("state") not in GOING_ON]
    if not known:
        return LogMakespan()
    gpus, end_s, last, done = {job.name: job.gpus for job in jobs}, max(ends.values()), [], []
    for table in [table.loc[[*gpus]] for table in tables]:
        last.append(table.loc[known, "finish_s"].max())
        span_s, by = table["finish_s"] - table["first_start_s"], table.index.map(gpus)
        done.append((by * span_s.clip(upper=end_s - table["first_start_s"]).clip(lower=0)).sum() / (by * span_s).sum())
    return LogMakespan(max(map(ends.__getitem__, known)), float(np.mean(last)), float(np.mean(done)))


def in_parts(table: pd.DataFrame, since_s: float) -> pd.DataFrame:
    """Waits by eligible time with the column `part`: 1 to 4 of those held back, 0 of the first, -1 of warm-up and tail;
    of equal numbers of jobs, their ends at the nearest midnight where that leaves each a day with jobs. since_s: of the
    day at the log's begin."""
    count = len(table)
    edge = int(count * EDGE)
    inside = np.arange(count) - edge
    part = np.where((inside >= 0) & (inside < count - 2 * edge), inside * (FOLDS + 1) // (count - 2 * edge), -1)
    days = (table["eligible_s"].to_numpy(float) + since_s) / DAY_S
    first, *cuts = days[np.searchsorted(np.maximum.accumulate(part), range(FOLDS + 1))]
    midnights = [math.ceil(first), *np.round(cuts), math.floor(days[count - edge - 1])]
    by_days = np.searchsorted(midnights, days, side="right") - 1
    by_days[by_days > FOLDS] = -1
    whole_days = np.diff(midnights).min() >= 1 and np.isin(range(FOLDS + 1), by_days).all()
    return table.assign(part=by_days if whole_days else part)


def with_rivals(table: pd.DataFrame) -> pd.DataFrame:
    """What those say who know the parts before: the day before's median by partition and size, and the mean."""
    yesterday, mean = np.full(len(table), np.nan), np.full(len(table), np.nan)
    for part in range(1, FOLDS + 1):
        known, asked = table[table["part"].between(0, part - 1)], table[table["part"] == part]
        recent = known[known["eligible_s"] >= asked["eligible_s"].min() - DAY_S]
        by = [
            those.groupby(keys)["recorded_s"].median().to_dict()
            for those, keys in ((recent, ["partition", "size"]), (known, ["partition", "size"]), (known, ["partition"]))
        ]
        rest, mean_s = known["recorded_s"].median(), known["recorded_s"].mean()
        for row, partition, size in asked[["partition", "size"]].itertuples():
            keys = ((partition, size), (partition, size), (partition,))
            said = (found[key] for found, key in zip(by, keys, strict=True) if key in found)
            yesterday[row], mean[row] = next(said, rest), mean_s
    return table.assign(yesterday_s=yesterday, mean_s=mean)


def fit_of(table: pd.DataFrame, columns: list[str], pace_s: float) -> CalibrationFit:
    """How near some columns' waits are to the recorded ones, on the parts held back."""
    held = table[table["part"] > 0]
    groups = [rows for _, rows in held.groupby("partition") if len(rows) >= LEAST_JOBS]
    cells = [(float(rows["recorded_s"].median()), rows[columns].to_numpy()) for rows in groups]
    error = median_error(cells, pace_s)
    draws = DRAWS if len(columns) > 1 else 0
    picks = np.random.default_rng(0).integers(len(columns), size=(draws, len(columns)))
    drawn = [median_error([(real, runs[:, pick]) for real, runs in cells], pace_s) for pick in picks]
    standard_error = float(np.std(drawn)) if drawn else math.nan
    users = held.groupby("user").filter(lambda rows: len(rows) >= LEAST_JOBS).groupby("user")
    means = pd.DataFrame({"recorded_s": users["recorded_s"].mean(), "found_s": users[columns].mean().mean(axis=1)})
    rank = math.nan
    if len(means) >= 3 and means["found_s"].nunique() > 1 and means["recorded_s"].nunique() > 1:
        rank = float(means["found_s"].rank().corr(means["recorded_s"].rank()))
    real = held["recorded_s"].mean()
    mean_error = abs(held[columns].mean().mean() - real) / max(real, pace_s)
    return CalibrationFit(error, rank, float(mean_error), standard_error)


def median_error(cells: Iterable[tuple[float, FloatArray]], pace_s: float) -> float:
    """`CalibrationFit.median_error` of recorded medians and simulated waits (jobs x runs)."""
    found = [
        (max(abs(float(np.nanmedian(waits)) - real) - pace_s, 0.0) / max(real, pace_s), len(waits))
        for real, waits in cells
    ]
    errors, jobs = np.array(sorted(found)).reshape(-1, 2).T
    upto = jobs.cumsum()
    middle = [int(np.searchsorted(upto, jobs.sum() / 2, side)) for side in ("left", "right")]
    return float(errors[middle].mean()) if found else math.nan


def percent(value: float) -> str:
    """A part of one as people read it."""
    return f"{100 * value:.0f} %" if math.isfinite(value) else "unknown"
