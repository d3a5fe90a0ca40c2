"""Schedulers in a plane of two measures, usually efficiency against fairness: a point each, and who beats whom."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from workbench.charts import theme
from workbench.charts.drawing import Drawing, drawn, marks, message, message_layer
from workbench.charts.frontier import Better, unbeaten

SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross")
LEFT_ROOM = "max(60, scale('x', datum.x) - 14)"
RIGHT_ROOM = "max(60, width - scale('x', datum.x) - 14)"
"""Pixels for a name beside its point, to the left and to the right; a longer one ends in dots, the tooltip has it."""


def scatter(
    frame: pd.DataFrame,
    *,
    title: str,
    x_title: str,
    y_title: str,
    better: tuple[Better, Better] = ("lower", "lower"),
    height: float = 340,
) -> Drawing:
    """Draw a point for each row with its name, ringed if no other one is at least as good in both and better in one.

    frame: columns name, x, y, and if there are several seeds x_spread and y_spread (standard deviations, NaN: none),
    drawn as a cross; a row without x or y is left out and named under the title. better: which way is, of x and of y.
    """
    names = frame["name"].astype("str").tolist()
    spreads = {name: frame.get(name, pd.Series(np.nan, frame.index)).astype(float) for name in ("x_spread", "y_spread")}
    full = frame.assign(**spreads, name=frame["name"].astype("str"))
    known = full.dropna(subset=["x", "y"])
    sign = [1.0 if way == "lower" else -1.0 for way in better]
    good = unbeaten(known["x"].astype(float) * sign[0], known["y"].astype(float) * sign[1], "lower")
    points = known.assign(unbeaten=np.array(good, dtype=bool))
    points = points.assign(
        right=points["x"] > (points["x"].min() + points["x"].max()) / 2,  # its name is written to the left
        x0=points["x"] - points["x_spread"],
        x1=points["x"] + points["x_spread"],
        y0=points["y"] - points["y_spread"],
        y1=points["y"] + points["y_spread"],
    )
    scale = alt.Scale(zero=False, nice=True, padding=24)
    axis = alt.Axis(format=",~r", tickCount=6)
    x = alt.X("x:Q", title=f"{x_title}, {better[0]} is better", scale=scale, axis=axis)
    y = alt.Y("y:Q", title=f"{y_title}, {better[1]} is better", scale=scale, axis=axis)
    colours, _ = theme.series_look(names)
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(names))]
    base = marks("points")
    layers = [
        base.transform_filter("isValid(datum.x_spread) && datum.x_spread > 0")
        .mark_rule(color=theme.MUTED)
        .encode(x=alt.X("x0:Q"), x2="x1:Q", y=y),
        base.transform_filter("isValid(datum.y_spread) && datum.y_spread > 0")
        .mark_rule(color=theme.MUTED)
        .encode(x=x, y=alt.Y("y0:Q"), y2="y1:Q"),
        base.transform_filter("datum.unbeaten")
        .mark_point(size=430, filled=False, color=theme.INK, strokeWidth=1.8, opacity=1, shape="circle")
        .encode(x=x, y=y),
        base.mark_point(size=130, filled=True, opacity=1, stroke=theme.INK, strokeWidth=0.8).encode(
            x=x,
            y=y,
            fill=alt.Fill("name:N", legend=None, scale=alt.Scale(domain=names, range=colours)),
            shape=alt.Shape("name:N", legend=None, scale=alt.Scale(domain=names, range=shapes)),
            tooltip=[
                alt.Tooltip("name:N", title="Scheduler"),
                alt.Tooltip("x:Q", title=x_title, format=".4~r"),
                alt.Tooltip("y:Q", title=y_title, format=".4~r"),
                alt.Tooltip("x_spread:Q", title="Standard deviation (x)", format=".3~r"),
                alt.Tooltip("y_spread:Q", title="Standard deviation (y)", format=".3~r"),
            ],
        ),
        *(
            base.transform_filter(f"datum.right === {'true' if right else 'false'}")
            .mark_text(
                align="right" if right else "left",
                dx=-14 if right else 14,
                dy=-9,
                baseline="middle",
                limit=alt.ExprRef(LEFT_ROOM if right else RIGHT_ROOM),
                stroke=theme.PAPER,
                strokeWidth=halo_px,
            )
            .encode(x=x, y=y, text="name:N")
            for right in (False, True)
            for halo_px in (4, 0)
        ),
        message_layer(),
    ]
    left_out = [name for name in names if name not in set(points["name"])]
    said = ["ringed: no other one is better in both"]
    said += ["crosses: standard deviation over seeds"] if points["x_spread"].notna().any() else []
    said += [f"no value: {', '.join(left_out)}"] if left_out else []
    return drawn(
        *layers,
        data={"points": points, "message": message("" if len(points) else "No values")},
        table=full.assign(unbeaten=full["name"].isin(points[points["unbeaten"]]["name"])).reset_index(drop=True),
        label=f"{title}: {y_title} against {x_title}, a point each for {', '.join(names)}.",
        title=title,
        subtitle="; ".join(said),
        height=height,
    )
