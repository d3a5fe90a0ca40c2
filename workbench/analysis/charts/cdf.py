"""Cumulative distributions, one line for each run: of job completion times, and of any measure of jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import numpy.typing as npt
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.drawing import Drawing, drawn, marks, message, message_layer, unchecked

AXIS = alt.Axis(grid=False, format=",~r", tickCount=alt.ExprRef("max(2, min(12, width / 80))"))


def jct_table(jobs: pd.DataFrame) -> pd.DataFrame:
    """Rising completion times and the share of all jobs that took no longer: columns jct_s, share.

    Jobs that did not finish count among all jobs, so that the last share is below 1 if there are any.
    """
    return cdf_table(jobs["finish_s"] - jobs["arrival_s"]).rename(columns={"value": "jct_s"})


def cdf_table(values: npt.ArrayLike) -> pd.DataFrame:
    """Rising values and the share of all that are no larger: columns value, share.

    values: one for each job; missing ones count among all, so that the last share is below 1 if there are any.
    """
    given = np.asarray(values, dtype=float)
    found, counts = np.unique(given[~np.isnan(given)], return_counts=True)
    return pd.DataFrame({"value": found, "share": np.cumsum(counts) / max(len(given), 1)})


@unchecked
def jct_cdf(
    runs: pd.DataFrame | Mapping[str, pd.DataFrame],
    *,
    log: bool = False,
    height: float = 320,
    title: str = "Job completion time",
) -> Drawing:
    """Draw for each run (its `jobs` table, by name) the share of jobs that completed within a time.

    log: a logarithmic axis of time, for workloads whose jobs differ by orders of magnitude.
    """
    tables = {"": runs} if isinstance(runs, pd.DataFrame) else dict(runs)
    found = {name: jct_table(jobs) for name, jobs in tables.items()}
    longest = max([0.0, *(float(t["jct_s"].max()) for t in found.values() if len(t))])
    unit = theme.time_unit(longest)
    table = pd.concat([t.assign(run=name) for name, t in found.items()] or [jct_frame()], ignore_index=True)
    lines = pd.concat([_line(t, name, longest, log) for name, t in found.items()] or [jct_frame()], ignore_index=True)
    lines = lines.assign(t=lines["jct_s"] / unit.seconds)
    names = list(tables)
    line = _steps(
        alt.X(
            "t:Q",
            title=f"Job completion time ({unit.name}{', logarithmic' if log else ''})",
            scale=alt.Scale(type="log", nice=False) if log else alt.Scale(nice=False),
            axis=AXIS,
        ),
        names,
    )
    unfinished = {name: int(jobs["finish_s"].isna().sum()) for name, jobs in tables.items()}
    left = ", ".join(f"{name}: {count}".removeprefix(": ") for name, count in unfinished.items() if count)
    return drawn(
        line,
        message_layer(),
        data={"lines": lines, "message": message("" if len(table) else "No job finished")},
        table=table[["run", "jct_s", "share"]],
        label=f"{title}: share of jobs that completed within a time.",
        title=title,
        subtitle=f"jobs not finished: {left}" if left else "",
        height=height,
    )


@unchecked
def cdf(values: Mapping[str, npt.ArrayLike], *, title: str, x_title: str, height: float = 320) -> Drawing:
    """Draw for each run, by name, the share of its jobs whose measure is at most a value.

    values: one for each job (NaN: undefined, and counted among all), none below 0; x_title carries the unit.
    """
    found = {name: cdf_table(given) for name, given in values.items()}
    parts = [t.assign(run=name) for name, t in found.items()] or [cdf_table([]).assign(run="")]
    table = pd.concat(parts, ignore_index=True)[["run", "value", "share"]]
    largest = float(table["value"].max()) if len(table) else 0.0
    ends = [
        pd.DataFrame({"run": name, "value": [0.0, *t["value"], largest], "share": [0.0, *t["share"], t["share"].max()]})
        for name, t in found.items()
        if len(t)
    ]
    return drawn(
        _steps(alt.X("value:Q", title=x_title, scale=alt.Scale(nice=False), axis=AXIS), list(found)),
        message_layer(),
        data={
            "lines": pd.concat(ends, ignore_index=True) if ends else table,
            "message": message("" if len(table) else "No values"),
        },
        table=table,
        label=f"{title}: share of jobs up to a value of {x_title}.",
        title=title,
        height=height,
    )


def _steps(x: alt.X, names: list[str]) -> Any:
    """Rising steps of the rows of `lines`, coloured by run if there are several."""
    line = (
        marks("lines")
        .mark_line(interpolate="step-after", color=theme.SERIES_PALETTE[0])
        .encode(
            x=x,
            y=alt.Y(
                "share:Q",
                title="Share of jobs (%)",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format=".0%", tickCount=5),
            ),
        )
    )
    if len(names) < 2:
        return line
    colours, dashes = theme.series_look(names)
    columns = alt.ExprRef(theme.legend_columns(names))
    legend = alt.Legend(columns=columns, labelLimit=theme.LEGEND_LABEL_PX)
    return line.encode(
        color=alt.Color("run:N", title=None, scale=alt.Scale(domain=names, range=colours), legend=legend),
        strokeDash=alt.StrokeDash("run:N", title=None, scale=alt.Scale(domain=names, range=dashes), legend=legend),
    )


def jct_frame() -> pd.DataFrame:
    """No completion times of no run."""
    return pd.DataFrame({"jct_s": [], "share": [], "run": []}).astype({"run": "str"})


def _line(table: pd.DataFrame, run: str, longest_s: float, log: bool) -> pd.DataFrame:
    """From 0 up and on to the right end."""
    if table.empty:
        return jct_frame()
    first = float(table["jct_s"].iloc[0]) if log else 0.0
    last = float(table["share"].iloc[-1])
    times = np.concatenate([[first], table["jct_s"], [longest_s]])
    shares = np.concatenate([[0.0], table["share"], [last]])
    return pd.DataFrame({"jct_s": times, "share": shares}).assign(run=run).astype({"run": "str"})
