"""The charts of a run that a lab shows, each drawn when it is looked at.

Imported when the first of them is: Altair alone takes as long as the rest of a lab.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import pandas as pd

from workbench import charts
from workbench.charts import Drawing
from workbench.charts.gantt_data import By
from workbench.run import Run
from workbench.units import format_duration

TAB_PX = 18.0
"""A tab's border, padding and margin: its charts are so much narrower than the Gantt chart, on each side."""


class Look(NamedTuple):
    """What a chart shows: a run, the selected job (None: all), the time that playback has come to (None: the end)."""

    run: Run
    job: str | None
    at_s: float | None


def gantt(run: Run, by: By) -> Drawing:
    """The schedule, by GPU or by job."""
    return charts.gantt(
        run.timeline, run.jobs, run.decisions, run.events, by=by, cluster=run.scenario.cluster, end_s=run.end_s
    )


def _allocation(look: Look) -> Drawing:
    """The shares in force at the time; of the whole run those of the first decision that has most jobs and pairs."""
    run = look.run
    at_s = _fullest_s(run.shares) if look.at_s is None else look.at_s
    title = f"Share of time on each type, at {format_duration(at_s, parts=2)}"
    found = charts.shares_at(run.shares, at_s=at_s)
    return charts.allocation(found, accelerators=run.scenario.cluster.types, title=title)


def _fullest_s(shares: pd.DataFrame) -> float:
    """The time of the first decision with as many units as any has."""
    units = shares.groupby("time_s")["unit"].nunique()
    return float(units.index.to_numpy(float)[int(units.to_numpy().argmax())])


def _received(look: Look) -> Drawing:
    """Time received against the target, of the selected job or of all."""
    run, shares, timeline = look.run, look.run.shares, look.run.timeline
    if look.job is not None:  # as `received` does, but before the work; every decision keeps a row
        shares = shares[_of(shares, look.job) | ~shares["decision"].duplicated()]
        timeline = timeline[_of(timeline, look.job)]
    table = charts.received_table(shares, timeline, run.decisions, end_s=run.end_s)
    return charts.received(table, look.job)


def _of(table: pd.DataFrame, job: str) -> pd.Series[bool]:
    """Which rows are of a job, alone or in a pair."""
    units = {unit: job in unit.split(" + ") for unit in table["unit"].unique()}
    return table["unit"].map(units).astype(bool)


def _prices(look: Look) -> Drawing:
    """What a GPU of each type costs, under the Gantt chart."""
    run = look.run
    return charts.prices(run.signals, cluster=run.scenario.cluster, end_s=run.end_s, inset_px=TAB_PX)


def _signals(look: Look) -> Drawing:
    """What the scheduler went by, besides priorities and prices."""
    run = look.run
    return charts.signals(run.signals[_by_job(run)], run.jobs, end_s=run.end_s)


def _by_job(run: Run) -> pd.Series[bool]:
    """Which signals are neither priorities nor prices."""
    return (run.signals["signal"] != "priority") & ~charts.is_price(run.signals)


def _entities(look: Look) -> Drawing:
    """The GPUs that each entity has."""
    run = look.run
    return charts.entities(run.timeline, run.jobs, end_s=run.end_s)


def _completion_times(look: Look) -> Drawing:
    return charts.jct_cdf(look.run.jobs)


def _utilisation(look: Look) -> Drawing:
    run = look.run
    return charts.utilisation(run.timeline, cluster=run.scenario.cluster, end_s=run.end_s)


def _queue(look: Look) -> Drawing:
    return charts.queue(look.run.decisions, end_s=look.run.end_s)


PAGES: Mapping[str, Callable[[Look], Drawing]] = {
    "Allocation": _allocation,
    "Received": _received,
    "JCT": _completion_times,
    "GPUs in use": _utilisation,
    "Queue": _queue,
    "Prices": _prices,
    "Signals": _signals,
    "Entities": _entities,
}
"""The chart of each tab."""

ONLY_WITH: Mapping[str, Callable[[Run], bool]] = {
    "Allocation": lambda run: not run.shares.empty,
    "Received": lambda run: not run.shares.empty,
    "Prices": lambda run: bool(charts.is_price(run.signals).any()),
    "Signals": lambda run: bool(_by_job(run).any()),
    "Entities": lambda run: bool((run.jobs["entity"] != "").any()),
}
"""The tabs that are there only for runs with something to show in them."""
