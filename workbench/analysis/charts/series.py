"""Numbers over time as step lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.drawing import Drawing, drawn, marks, message, message_layer
from workbench.analysis.charts.steps import MOST_POINTS, at_change
from workbench.base.units import format_duration


def time_axis(unit: theme.TimeUnit, field: str = "t:Q", title: str = "Time") -> alt.X:
    """The x axis of time from 0 in a unit that the title states."""
    return alt.X(
        field,
        title=f"{title} ({unit.name})",
        scale=alt.Scale(nice=False, zero=True),
        axis=alt.Axis(grid=False, format=",~r", tickCount=alt.ExprRef("max(2, min(12, width / 80))")),
    )


def bin_note(width_s: float) -> str:
    """What a subtitle says of bins; nothing if there are none."""
    return f"means over bins of {format_duration(width_s, parts=2)}" if width_s else ""


def over_time(
    frame: pd.DataFrame,
    y: str | Mapping[str, str],
    unit: str,
    *,
    time: str = "time_s",
    series: str | None = None,
    end_s: float | None = None,
    y_title: str = "",
    whole: bool = False,
    log: bool = False,
    colours: Mapping[str, str] | None = None,
    left_px: float = 0.0,
    title: str = "",
    most_points: int = MOST_POINTS,
    height: float = 280,
) -> Drawing:
    """Draw numbers that hold from each row's time to the next one.

    y: a column, or columns with the names their lines get; unit: of y, for the axis (empty for a bare number); time:
    the column with seconds; series: a column that names the line a row belongs to, when y is one column; end_s: until
    when the last value holds; whole: y is a count, no ticks between whole numbers; log: a logarithmic axis, for values
    above 0; colours: of the lines, by name; left_px: at least so many pixels left of the plot (to stand under another
    chart). A line of more than `most_points` steps becomes exact means of equal bins, as the subtitle says.
    """
    long = _long(frame, y, time, series)
    names = list(long["series"].unique())
    last_s = max([end_s or 0.0, *long["time_s"].tolist()])
    axis = theme.time_unit(last_s)
    tables, width_s = [], 0.0
    for name in names:
        part = long[long["series"] == name].dropna(subset=["value"]).sort_values("time_s", kind="stable")
        if part.empty:
            continue
        times = part["time_s"].to_numpy(float)
        at, values, bin_s = at_change(times, part["value"].to_numpy(float), last_s, most_points)
        width_s = max(width_s, bin_s)
        at, values = np.append(at, last_s), np.append(values, values[-1])
        tables.append(pd.DataFrame({"series": name, "time_s": at, "t": at / axis.seconds, "value": values}))
    lines = pd.concat(tables, ignore_index=True) if tables else long.head(0).assign(t=long["time_s"].head(0))
    y_name = y_title or (y if isinstance(y, str) else "Value")
    y_title = f"{y_name} ({unit})" if unit else y_name
    usual, dashes = theme.series_look(names)
    shades = [(colours or {}).get(name, colour) for name, colour in zip(names, usual, strict=True)]
    y_axis: dict[str, Any] = {"format": "~g", "tickCount": 5, "grid": False} if log else {"format": ",~r"}
    look: dict[str, Any] = {}
    if len(names) > 1:
        look["color"] = alt.Color("series:N", title=None, scale=alt.Scale(domain=names, range=shades))
        look["strokeDash"] = alt.StrokeDash("series:N", title=None, scale=alt.Scale(domain=names, range=dashes))
    line = (
        marks("lines")
        .mark_line(interpolate="step-after", color=shades[0] if shades else theme.PALETTE[0])
        .encode(
            x=time_axis(axis),
            y=alt.Y(
                "value:Q",
                title=y_title,
                scale=alt.Scale(type="log", nice=False) if log else alt.Undefined,
                axis=alt.Axis(**y_axis, tickMinStep=1 if whole else 0),
            ),
            **look,
        )
    )
    edge = marks("edge").mark_rule(opacity=0, clip=False).encode(x=alt.value(alt.ExprRef("-datum.px")), y=alt.value(0))
    return drawn(
        line,
        *([edge] if left_px else []),
        message_layer(),
        data={
            "lines": lines,
            "message": message("" if len(lines) else "No values"),
            **({"edge": pd.DataFrame({"px": [left_px]})} if left_px else {}),
        },
        table=lines[["series", "time_s", "value"]],
        label=f"{title or y_name} over time.",
        title=title or f"{y_name} over time",
        subtitle=bin_note(width_s),
        height=height,
    )


def _long(frame: pd.DataFrame, y: str | Mapping[str, str], time: str, series: str | None) -> pd.DataFrame:
    """Columns series, time_s, value."""
    if isinstance(y, str):
        names = frame[series].astype("str") if series else pd.Series(y, index=frame.index, dtype="str")
        return pd.DataFrame({"series": names, "time_s": frame[time].astype(float), "value": frame[y].astype(float)})
    parts = [
        pd.DataFrame({"series": name, "time_s": frame[time].astype(float), "value": frame[column].astype(float)})
        for column, name in y.items()
    ]
    return pd.concat(parts, ignore_index=True).astype({"series": "str"})


def queue(decisions: pd.DataFrame, *, end_s: float | None = None, title: str = "Jobs in the cluster") -> Drawing:
    """Draw the jobs that wait without GPUs, and all that are active, after each decision."""
    lines = {"waiting_jobs": "waiting for GPUs", "active_jobs": "arrived and unfinished"}
    return over_time(decisions, lines, "", y_title="Jobs", whole=True, end_s=end_s, title=title)
