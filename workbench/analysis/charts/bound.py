"""Schedules against lower bounds as bars from 0: how far a heuristic can be from the best there is."""

from __future__ import annotations

import math
from collections.abc import Mapping

import altair as alt
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.drawing import Drawing, drawn, marks, message, message_layer
from workbench.analysis.charts.rows import ROW_PX, row_layers, row_scale, row_texts
from workbench.base.errors import InputError, counted
from workbench.base.rounding import short_number


def bound(
    bounds: Mapping[str, float],
    schedules: Mapping[str, float],
    *,
    x_title: str = "Weighted completion time (s)",
    title: str = "Schedules against lower bounds",
) -> Drawing:
    """Draw lower bounds by name (light), schedules by name (dark), and a line at the best of the bounds.

    Behind each bar are its value and what that is over the best bound. Raises InputError for a number that is not
    finite, and for a schedule below a bound by more than rounding: then one of them is wrong.
    """
    table = pd.DataFrame(
        [(name, kind, float(value)) for kind, of in _kinds(bounds, schedules) for name, value in of.items()],
        columns=["name", "kind", "value"],
    )
    for row in table.itertuples():
        if not math.isfinite(float(str(row.value))):
            raise InputError(f"bound, {row.name}", row.value, "a finite number")
    light, dark = theme.tint(theme.PALETTE[0], 0.7), theme.PALETTE[0]
    best = float(table.loc[table["kind"] == "bound", "value"].max()) if bounds else math.nan
    for name, value in schedules.items():
        if value < best - 1e-6 * max(1.0, abs(best)):
            raise InputError(f"bound, {name}", value, f"at least {best:g}, the best lower bound")
    table["over_bound"] = table["value"] / best if best > 0 else math.nan
    names = table["name"].tolist()
    ratio = ["" if math.isnan(value) else f"{value:.3f}" for value in table["over_bound"]]
    axis = alt.Axis(format=",~r", tickCount=alt.ExprRef("max(2, min(10, width / 80))"))
    bars = (
        marks("bars")
        .transform_calculate(y0="datum.row + 0.14", y1="datum.row + 0.86", zero="0")
        .mark_rect(stroke=theme.INK, strokeWidth=0.8)
        .encode(
            x=alt.X("zero:Q", title=x_title, scale=alt.Scale(zero=True, nice=False), axis=axis),
            x2="value:Q",
            y=alt.Y("y0:Q", scale=row_scale(len(names)), axis=None),
            y2="y1:Q",
            fill=alt.Fill(
                "kind:N",
                title=None,
                scale=alt.Scale(domain=["bound", "schedule"], range=[light, dark]),
                legend=alt.Legend(orient="bottom", symbolStrokeWidth=0.8),
            ),
            tooltip=[
                alt.Tooltip("name:N", title="Name"),
                alt.Tooltip("kind:N", title="Kind"),
                alt.Tooltip("value:Q", title=x_title, format=".6~r"),
                alt.Tooltip("over_bound:Q", title="Over the best bound", format=".4~r"),
            ],
        )
    )  # fmt: skip
    line = (
        marks("best")
        .mark_rule(stroke=theme.WARN, strokeWidth=2, strokeDash=[6, 4])
        .encode(x=alt.X("value:Q"), y=alt.value(0), y2=alt.value(alt.ExprRef("height")))
    )
    columns = {
        "Value": [short_number(value, 4) for value in table["value"]],
        "Over bound": ratio,
    }
    return drawn(
        bars,
        line,
        *row_layers(alt.value(1)),
        message_layer(),
        data={
            "bars": table.assign(row=range(len(table))),
            "best": pd.DataFrame({"value": [best] if math.isfinite(best) else []}, dtype=float),
            **row_texts(names, columns),
            "message": message("" if names else "Nothing to compare"),
        },
        table=table,
        label=f"{title}: {counted(len(bounds), 'lower bound')} and {counted(len(schedules), 'schedule')}"
        + (f", the best bound {best:g}." if bounds else "."),
        title=title,
        subtitle="dashed: the best lower bound" if bounds else "",
        height=ROW_PX * 1.2 * max(len(names), 2),
    )


def _kinds(bounds: Mapping[str, float], schedules: Mapping[str, float]) -> list[tuple[str, Mapping[str, float]]]:
    return [("bound", bounds), ("schedule", schedules)]
