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


def cdf_table(values: npt.ArrayLike) -> pd.DataFrame:
    """Rising values and the share of all that are no larger: columns value, share.

    values: one for each job; missing ones count among all, so that the last share is below 1 if there are any.
    """
    given = np.asarray(values, dtype=float)
    found, counts = np.unique(given[~np.isnan(given)], return_counts=True)
    return pd.DataFrame({"value": found, "share": np.cumsum(counts) / max(len(given), 1)})


@unchecked
def jct_cdf(
    runs: pd.DataFrame | Mapping[str, pd.DataFrame], *, height: float = 270, title: str = "Job completion time"
) -> Drawing:
    """Draw for each run (its `jobs` table, by name) the share of jobs that completed within a time."""
    tables = {"": runs} if isinstance(runs, pd.DataFrame) else dict(runs)
    table, lines = _of_runs({name: jobs["finish_s"] - jobs["arrival_s"] for name, jobs in tables.items()})
    table, lines = (found.rename(columns={"value": "jct_s"}) for found in (table, lines))
    unit = theme.time_unit(float(table["jct_s"].max()) if len(table) else 0.0)
    x = alt.X("t:Q", title=f"Job completion time ({unit.name})", scale=alt.Scale(nice=False), axis=AXIS)
    unfinished = {name: int(jobs["finish_s"].isna().sum()) for name, jobs in tables.items()}
    left = ", ".join(f"{name}: {count}".removeprefix(": ") for name, count in unfinished.items() if count)
    return drawn(
        _steps(x, list(tables)),
        message_layer(),
        data={
            "lines": lines.assign(t=lines["jct_s"] / unit.seconds),
            "message": message("" if len(table) else "No job finished"),
        },
        table=table,
        label=f"{title}: share of jobs that completed within a time.",
        title=title,
        subtitle=f"jobs not finished: {left}" if left else "",
        height=height,
    )


@unchecked
def cdf(values: Mapping[str, npt.ArrayLike], *, title: str, x_title: str) -> Drawing:
    """Draw for each run, by name, the share of its jobs whose measure is at most a value.

    values: one for each job (NaN: undefined, and counted among all), none below 0; x_title carries the unit.
    """
    table, lines = _of_runs(values)
    return drawn(
        _steps(alt.X("value:Q", title=x_title, scale=alt.Scale(nice=False), axis=AXIS), list(values)),
        message_layer(),
        data={"lines": lines, "message": message("" if len(table) else "No values")},
        table=table,
        label=f"{title}: share of jobs up to a value of {x_title}.",
        title=title,
        height=320,
    )


def _of_runs(values: Mapping[str, npt.ArrayLike]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Columns run, value, share: `cdf_table` of each run; and the same from 0 up and on to the largest value of all."""
    found = {name: cdf_table(given) for name, given in values.items()}
    parts = [t.assign(run=name) for name, t in found.items()] or [cdf_table([]).assign(run="")]
    table = pd.concat(parts, ignore_index=True)[["run", "value", "share"]].astype({"run": "str"})
    largest = float(table["value"].max()) if len(table) else 0.0
    ends = [
        pd.DataFrame({"run": name, "value": [0.0, *t["value"], largest], "share": [0.0, *t["share"], t["share"].max()]})
        for name, t in found.items()
        if len(t)
    ]
    return table, pd.concat(ends, ignore_index=True) if ends else table


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
