"""The tables of a what-if: measures of the whole run, and completion times job by job, before and after."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd

from workbench.analysis.calibration.waits import held_s
from workbench.analysis.metrics import Summary, measures_of_jobs, metric, summary, with_known
from workbench.analysis.metrics.declared import MAIN
from workbench.analysis.metrics.paired import around_first, paired
from workbench.analysis.metrics.two_runs import SAME_S
from workbench.simulation.intervals import is_refused
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
    """What the jobs of one partition or user wait before and after one change: a row of `WhatIf.waits`. jobs: those
    that wait on both sides; only_before, only_after: those that one side alone has or runs, which count on neither;
    low_s, high_s: the interval of what all of them wait longer together, NaN if there is none; those of all partitions,
    or of all users, hold together at the level (Bonferroni)."""

    change: str
    by: str
    name: str
    jobs: int
    only_before: int
    only_after: int
    before_median_s: float
    after_median_s: float
    before_p95_s: float
    after_p95_s: float
    before_total_s: float
    after_total_s: float
    low_s: float = math.nan
    high_s: float = math.nan


def of_each(measured: Callable[[Run], Found], runs: Sequence[Run]) -> list[Found]:
    """What is measured of each run: once of those that are alike but for a seed that drew nothing, as they have their
    tables in common (`workbench.session.many_runs`)."""
    return of_pairs(lambda run, _: measured(run), runs, runs)


def of_pairs(measured: Callable[[Run, Run], Found], before: Sequence[Run], after: Sequence[Run]) -> list[Found]:
    """What is measured of each pair of runs, likewise once of pairs that are alike."""
    known = dict[tuple[int, int], Found]()
    for was, now in zip(before, after, strict=True):
        if (key := (id(was.jobs), id(now.jobs))) not in known:
            known[key] = measured(was, now)
    return [known[id(was.jobs), id(now.jobs)] for was, now in zip(before, after, strict=True)]


def both_sides(
    before: Sequence[Run], after: Sequence[Run], known: Sequence[Summary] = ()
) -> tuple[list[Summary], list[Summary]]:
    """The measures of each pair of runs: averages over jobs leave out those that one side refuses. known: the
    summaries of the runs before."""

    def measured(was: Run, now: Run) -> tuple[Summary, Summary]:
        names = [set(run.jobs["job"][is_refused(run)]) for run in (was, now)]
        apart = names[0] ^ names[1]
        mine = next((each for run, each in zip(before, known, strict=False) if run.jobs is was.jobs), None)
        return mine if mine and not apart else summary(was, apart=apart), summary(now, apart=apart)

    found = of_pairs(measured, before, after)
    return [was for was, _ in found], [now for _, now in found]


JOB_COLUMNS = ["change", "job", "pairs", "before_s", "after_s", "difference_s"]


def difference_table(
    before: Sequence[Run], after: Sequence[Sequence[Run]], changes: Sequence[str], level: float, of_draws: bool
) -> pd.DataFrame:
    """One row per change and measure that some pair has on both sides; columns as in `WhatIf.differences`.

    of_draws: the first pair is of the log itself, the others of draws of it (`around_first`).
    `OF_CAPACITY` has no better way where the cluster or the jobs are changed. Averages over jobs leave out those that
    one side refuses (`both_sides`).
    Where the pairs do not differ in any measure (nothing random plays a part) they are one pair, without an interval.
    """
    known = of_each(summary, before)
    rows = []
    for change, runs in zip(changes, after, strict=True):
        today, then = both_sides(before, runs, known)
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


def each_difference(table: pd.DataFrame) -> Iterator[Difference]:
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


def wait_table(
    before: Sequence[Run], after: Sequence[Sequence[Run]], changes: Sequence[str], level: float
) -> pd.DataFrame:
    """One row per change and all jobs, each partition (`attributes.partition`) and each user; columns as in `Waits`.

    A wait is all the time without GPUs, up to the run's end for one that has not begun; of a log's job since it was
    eligible, as in `calibrate`. Only jobs that wait on both sides of a pair count. Of several pairs the means of their
    medians, 95th percentiles and sums; jobs, only_before, only_after: of the first.
    """
    waits = {id(run.jobs): run for run in (*before, *(run for runs in after for run in runs))}
    of = {key: _waits(run) for key, run in waits.items()}
    rows = []
    for change, runs in zip(changes, after, strict=True):
        pairs = of_pairs(lambda was, now: _waits_of_both(of[id(was.jobs)], of[id(now.jobs)]), before, runs)
        many = Counter(by for by, _ in pairs[0])
        for by, name in sorted(pairs[0], key=lambda key: (WAITS_BY.index(key[0]), key[1])):
            found = [pair.get((by, name), NO_WAITS) for pair in pairs]
            numbers = [float(np.mean([each[i] for each in found])) for i in range(3, len(NO_WAITS))]
            sides = [each[-2] for each in found], [each[-1] for each in found]
            total = paired(*sides, 1 - (1 - level) / many[by])
            span = (total.low, total.high) if len({*zip(*sides, strict=True)}) > 1 else ()
            rows.append(Waits(change, by, name, *map(int, found[0][:3]), *numbers, *span))
    return pd.DataFrame(rows, columns=list(Waits._fields))


WAITS_BY = ("all", "partition", "user")
NO_WAITS = (*[0.0] * 3, *[math.nan] * 6)


def _waits(run: Run) -> pd.DataFrame:
    """The wait of each job that has one, with its partition and user."""
    of = {job.name: ("all jobs", str(job.attributes.get("partition", "")), job.user or "") for job in run.scenario.jobs}
    table = pd.DataFrame(measures_of_jobs(run))[["job", "wait_s"]].dropna()
    if held := held_s(run):
        table["wait_s"] = (table["wait_s"] - table["job"].map(held).fillna(0.0)).clip(lower=0.0)
    whose = pd.DataFrame([of[name] for name in table["job"]], columns=list(WAITS_BY), index=table.index)
    return table.join(whose).set_index("job")


def _waits_of_both(before: pd.DataFrame, after: pd.DataFrame) -> dict[tuple[str, str], tuple[float, ...]]:
    """Of all jobs, each partition and each user the numbers of `Waits`: how many wait on both sides, before alone and
    after alone; the median, 95th percentile and sum of the waits of the first, on both sides."""
    both = before.join(after["wait_s"].rename("after_s"), how="inner")
    alone = before[~before.index.isin(both.index)], after[~after.index.isin(both.index)]
    found = {}
    for by in WAITS_BY:
        groups = dict(list(both.groupby(by)[["wait_s", "after_s"]]))
        counts = [each.groupby(by).size() for each in alone]
        for name in {*groups, *counts[0].index, *counts[1].index} - {""}:
            here = groups.get(name, both.iloc[:0][["wait_s", "after_s"]])
            numbers = [*here.median(), *here.quantile(0.95), *here.sum(min_count=1)]
            found[by, str(name)] = (float(len(here)), *(float(each.get(name, 0)) for each in counts), *numbers)
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
