"""Two measures against each other, a point for each plan or run, and which of them no other one beats in both."""

from __future__ import annotations

from typing import Literal

import altair as alt
import numpy as np
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.drawing import Drawing, drawn, marks, message, message_layer

Better = Literal["lower", "higher"]
SAME = 1e-9


def unbeaten(x: pd.Series[float], y: pd.Series[float], better: Better) -> list[bool]:
    """Which points no other one is at least as good as in both and better in one; equal ones both count."""
    sign = 1 if better == "lower" else -1
    points = sign * np.column_stack([x.to_numpy(float), y.to_numpy(float)])
    return [not bool(((points <= point).all(axis=1) & (points < point - SAME).any(axis=1)).any()) for point in points]


def frontier(
    frame: pd.DataFrame,
    *,
    title: str,
    x_title: str,
    y_title: str,
    better: Better = "lower",
    height: float = 320,
) -> Drawing:
    """Draw a point for each row with its name, those that nobody beats filled and joined.

    frame: columns name, x, y, and if there is one: now (the point that is to stand out); better: what is, of both.
    """
    known = frame.dropna(subset=["x", "y"])
    good = np.array(unbeaten(known["x"], known["y"], better), dtype=bool)
    table = known.assign(unbeaten=good, now=known.get("now", False))
    ink, other = theme.PALETTE[0], theme.MUTED
    x = alt.X(
        "x:Q", title=f"{x_title}, {better} is better",
        scale=alt.Scale(zero=False, nice=True, padding=30), axis=alt.Axis(format=",~r", tickCount=6),
    )  # fmt: skip
    y = alt.Y(
        "y:Q", title=f"{y_title}, {better} is better",
        scale=alt.Scale(zero=False, nice=True, padding=20), axis=alt.Axis(format=",~r", tickCount=6),
    )  # fmt: skip
    line = marks("frontier").mark_line(color=ink, strokeWidth=1.5, strokeDash=[6, 4]).encode(x=x, y=y)
    point = (
        marks("points")
        .mark_point(size=110, filled=True, opacity=1, strokeWidth=1.5)
        .encode(
            x=x,
            y=y,
            fill=alt.condition("datum.unbeaten", alt.value(ink), alt.value(theme.PAPER)),
            stroke=alt.condition("datum.unbeaten", alt.value(ink), alt.value(other)),
            tooltip=[
                alt.Tooltip("name:N", title="Point"),
                alt.Tooltip("x:Q", title=x_title, format=".4~r"),
                alt.Tooltip("y:Q", title=y_title, format=".4~r"),
            ],
        )
    )
    ring = (
        marks("points")
        .transform_filter("datum.now")
        .mark_point(size=420, filled=False, color=theme.PALETTE[3], strokeWidth=3, opacity=1)
        .encode(x=x, y=y)
    )
    text = marks("points").mark_text(align="left", dx=12, dy=-9, baseline="middle").encode(x=x, y=y, text="name:N")
    return drawn(
        line,
        point,
        ring,
        text,
        message_layer(),
        data={
            "points": table,
            "frontier": table[good].sort_values(["x", "y"])[["x", "y"]],
            "message": message("" if len(table) else "No values"),
        },
        table=table[["name", "x", "y", "unbeaten"]],
        label=f"{title}: {y_title} against {x_title}, a point each for {', '.join(map(str, table['name']))}.",
        title=title,
        subtitle="filled: no other point is better in both" + ("; ring: the last one" if table["now"].any() else ""),
        height=height,
    )
