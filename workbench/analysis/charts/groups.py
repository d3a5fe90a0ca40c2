"""Bars side by side: a measure of several series for each group, with the range that each covers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import altair as alt
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.drawing import Drawing, drawn, marks, message, message_layer

MOST_IN_A_ROW = 4
"""Series that the legend names side by side."""


NARROW_PX, GAP_PX, SLANT = 640.0, 8.0, -30
"""Labels of groups slant where on a plot of that width two neighbours would be closer than the gap."""
LEAST_TO_GREATEST = "from the least to the greatest"


def grouped_bars(
    frame: pd.DataFrame,
    *,
    title: str,
    x_title: str,
    y_title: str,
    covers: str = LEAST_TO_GREATEST,
    height: float = 300,
) -> Drawing:
    """Draw a bar for each group and series.

    frame: columns group, series, value, and if there are any low, high (a range mark; missing: none). Titles carry the
    units; covers: what the ranges are.
    """
    missing = pd.Series(float("nan"), index=frame.index, dtype=float)
    table = frame.assign(low=frame.get("low", missing), high=frame.get("high", missing))
    groups, series = (list(dict.fromkeys(table[name])) for name in ("group", "series"))
    colours, _ = theme.series_look(series)
    x = alt.X(
        "group:N",
        title=x_title,
        sort=groups,
        axis=alt.Axis(labelAngle=_angle(groups), labelOverlap=False, labelLimit=280),
    )
    offset = alt.XOffset("series:N", sort=series)
    y = alt.Y("value:Q", title=y_title, axis=alt.Axis(format=",~r", tickCount=6))
    bars = (
        marks("bars")
        .mark_bar(stroke=theme.INK, strokeWidth=0.5)
        .encode(
            x=x,
            xOffset=offset,
            y=y,
            color=alt.Color(
                "series:N",
                title=None,
                scale=alt.Scale(domain=series, range=colours),
                legend=alt.Legend(orient="bottom", columns=min(len(series), MOST_IN_A_ROW) or 1, labelLimit=300),
            ),
            tooltip=[
                alt.Tooltip("group:N", title=x_title),
                alt.Tooltip("series:N", title="Bar"),
                alt.Tooltip("value:Q", title=y_title, format=".4~r"),
                alt.Tooltip("low:Q", title="From", format=".4~r"),
                alt.Tooltip("high:Q", title="To", format=".4~r"),
            ],
        )
    )
    ranges = (
        marks("ranges")
        .mark_rule(strokeWidth=2, color=theme.INK)
        .encode(x=x, xOffset=offset, y=alt.Y("low:Q", title=y_title), y2="high:Q")
    )
    known = table.dropna(subset=["value"])
    covered = known[known["high"] > known["low"]]
    return drawn(
        bars,
        ranges,
        message_layer(),
        data={
            "bars": known,
            "ranges": covered,
            "message": message("" if len(known) else "No values"),
        },
        table=frame,
        label=f"{title}: {y_title} for each {x_title}, one bar each for {', '.join(map(str, series))}.",
        title=title,
        subtitle=f"lines: {covers}" if len(covered) else "",
        height=height,
    )


def _angle(groups: Sequence[str]) -> int:
    """Degrees by which the groups' labels turn: 0 where they have room side by side."""
    wide = [theme.text_px(str(group)) for group in groups]
    room = NARROW_PX / max(len(groups), 1) - GAP_PX
    return SLANT if any((a + b) / 2 > room for a, b in pairwise(wide)) else 0
