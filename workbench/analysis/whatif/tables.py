"""The tables of a what-if: measures of the whole run, and completion times job by job, before and after."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd

from workbench.analysis.metrics import Summary, measures_of_jobs, metric, summary, with_known
from workbench.analysis.metrics.declared import MAIN
from workbench.analysis.metrics.paired import around_first, paired
from workbench.analysis.metrics.two_runs import SAME_S
from workbench.simulation.run import Run

Found = TypeVar("Found")
MEASURES = (*MAIN[:2], "p99_jct_s", "mean_wait_s", "p95_wait_s", *MAIN[2:6], "mean_cost_usd", *MAIN[6:], "jobs_refused")
"""What is compared: `metrics.MAIN`, the tail, the wait, the cost per job; with those of SLOs where there are any."""
OF_CAPACITY = ("utilisation", "cru")
"""Shares of the GPUs there are: with other GPUs or other jobs neither more nor less of them is better by itself."""


class Difference(NamedTuple):
    """One measure before and after one change: a row of `WhatIf.differences`."""

    change: str
    measure: str
    label: str
    unit: str
    better: str
    before: float
    after: float
    difference: float
    low: float
    high: float
    pairs: int


class Waits(NamedTuple):
    """What the jobs of one partition or user wait before and after one change: a row of `WhatIf.waits`."""

    change: str
    by: str
    name: str
    jobs: int
    before_median_s: float
    after_median_s: float
    before_p95_s: float
    after_p95_s: float
    before_total_s: float
    after_total_s: float


def of_each(measured: Callable[[Run], Found], runs: Sequence[Run]) -> list[Found]:
    """What is measured of each run: once of those that are alike but for a seed that drew nothing, as they have their
    tables in common (`workbench.session.many_runs`)."""
    known = dict[int, Found]()
    for run in runs:
        if id(run.jobs) not in known:
            known[id(run.jobs)] = measured(run)
    return [known[id(run.jobs)] for run in runs]


JOB_COLUMNS = ["change", "job", "pairs", "before_s", "after_s", "difference_s"]


def difference_table(
    before: Sequence[Run], after: Sequence[Sequence[Run]], changes: Sequence[str], level: float, of_draws: bool
) -> pd.DataFrame:
    """One row per change and measure that some pair has on both sides; columns as in `WhatIf.differences`.

    of_draws: the first pair is of the log itself, the others of draws of it (`around_first`).
    `OF_CAPACITY` has no better way where the cluster or the jobs are changed.
    Where the pairs do not differ in any measure (nothing random plays a part) they are one pair, without an interval.
    """
    today = of_each(summary, before)
    rows = []
    for change, runs in zip(changes, after, strict=True):
        then = of_each(summary, runs)
        was, now = before[0].scenario, runs[0].scenario
        other = (was.cluster, was.jobs) != (now.cluster, now.jobs)
        names = with_known(MEASURES, [*today, *then])
        count = 1 if _all_equal(today, names) and _all_equal(then, names) else len(today)
        for name in names:
            sides = [s[name] for s in today[:count]], [s[name] for s in then[:count]]
            found = around_first(*sides, level) if of_draws and count > 1 else paired(*sides, level)
            if found.pairs:
                what = metric(name)
                better = "" if other and name in OF_CAPACITY else what.better
                numbers = (found.before, found.after, found.difference, found.low, found.high, found.pairs)
                rows.append(Difference(change, name, what.label, what.unit, better, *numbers))
    return pd.DataFrame(rows, columns=list(Difference._fields))


def rows_of(table: pd.DataFrame) -> Iterator[Difference]:
    """The rows of a table of differences."""
    return (Difference(*row) for row in table.itertuples(index=False, name=None))


def _all_equal(found: Sequence[Summary], names: Sequence[str]) -> bool:
    first = found[0]
    return all(one[name] == first[name] or math.isnan(one[name] + first[name]) for one in found for name in names)


def job_table(before: Sequence[Run], after: Sequence[Sequence[Run]], changes: Sequence[str]) -> pd.DataFrame:
    """One row per change and job that finished on both sides of a pair, so none that the change adds; columns as in
    `WhatIf.jobs`."""
    today = of_each(_jct_s, before)
    parts = []
    for change, runs in zip(changes, after, strict=True):
        pairs = [
            pd.DataFrame({"before_s": was, "after_s": now}).rename_axis("job").dropna()
            for was, now in zip(today, of_each(_jct_s, runs), strict=True)
        ]
        table = pd.concat(pairs)
        grouped = table.groupby("job", sort=False).agg(
            pairs=("before_s", "size"), before_s=("before_s", "mean"), after_s=("after_s", "mean")
        )
        grouped["difference_s"] = grouped["after_s"] - grouped["before_s"]
        parts.append(grouped.reset_index().assign(change=change))
    return pd.concat(parts, ignore_index=True)[JOB_COLUMNS]


def wait_table(before: Sequence[Run], after: Sequence[Sequence[Run]], changes: Sequence[str]) -> pd.DataFrame:
    """One row per change and all jobs, each partition (`attributes.partition`) and each user; columns as in `Waits`.

    A wait is all the time without GPUs, up to the run's end for one that has not begun. Of several pairs the means of
    their medians, 95th percentiles and sums; jobs: of the first run after the change.
    """
    today = of_each(_waits, before)
    rows = []
    for change, runs in zip(changes, after, strict=True):
        then = of_each(_waits, runs)
        for by, name in sorted({*today[0], *then[0]}, key=lambda key: (WAITS_BY.index(key[0]), key[1])):
            sides = [[one.get((by, name), NO_WAITS) for one in side] for side in (today, then)]
            numbers = [float(np.mean([waits[i] for waits in side])) for i in (1, 2, 3) for side in sides]
            rows.append(Waits(change, by, name, int(sides[1][0][0]), *numbers))
    return pd.DataFrame(rows, columns=list(Waits._fields))


WAITS_BY = ("all", "partition", "user")
NO_WAITS = (0.0, math.nan, math.nan, math.nan)


def _waits(run: Run) -> dict[tuple[str, str], tuple[float, float, float, float]]:
    """Of all jobs, each partition and each user: how many wait, their median wait, 95th percentile and sum."""
    of = {job.name: (str(job.attributes.get("partition", "")), job.user or "") for job in run.scenario.jobs}
    table = measures_of_jobs(run)[["job", "wait_s"]]
    partition, user = zip(*(of[name] for name in table["job"]), strict=True)
    table, found = table.assign(all="all jobs", partition=partition, user=user), {}
    for by in WAITS_BY:
        for name, waits in table[table[by] != ""].groupby(by)["wait_s"]:
            s = waits.dropna()
            numbers = float(len(s)), float(s.median()), float(s.quantile(0.95)), float(s.sum())
            found[by, str(name)] = numbers if len(s) else NO_WAITS
    return found


def sooner_and_later(jobs: pd.DataFrame) -> tuple[int, int, int]:
    """How many jobs of one change are done sooner, later, and at the same time."""
    apart = jobs["difference_s"].to_numpy(dtype=float)
    sooner, later = int((apart < -SAME_S).sum()), int((apart > SAME_S).sum())
    return sooner, later, len(apart) - sooner - later


def _jct_s(run: Run) -> pd.Series[float]:
    """Completion times by job, NaN for one that has not finished."""
    seconds = run.jobs["finish_s"].to_numpy(dtype=float) - run.jobs["arrival_s"].to_numpy(dtype=float)
    return pd.Series(np.asarray(seconds), index=run.jobs["job"].tolist())
