"""Charts of an evaluation: a measure against load or size, a heat map, and bands that add up."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.drawing import Drawing, Marks, drawn, marks, message, message_layer

TRIANGLE_PX = 13.0
"""Height of a triangle: those of several lines at one load stand below each other."""
TICKS = alt.ExprRef("max(2, min(10, width / 80))")
MOST_PLACES = 8
"""Up to so many places on a logarithmic axis have their own ticks: round numbers between them say less."""
MOST_DIGITS = 5
"""Places have no ticks of their own if one of them needs more digits."""


def curve(
    frame: pd.DataFrame,
    *,
    title: str,
    subtitle: str = "",
    x_title: str,
    y_title: str,
    log_x: bool = False,
    log_y: bool = False,
    whole_x: bool = False,
    dots: bool = True,
    colours: Mapping[str, str] | None = None,
    height: float = 300,
) -> Drawing:
    """Draw one line per name.

    frame: columns line, x, y, and if there are any low, high (a band) and saturated (a triangle at the top instead of a
    value: there the measure has no steady state). Titles carry the units. whole_x: x is a count,
    no ticks between whole numbers; subtitle: shown where nothing is saturated; colours: of the lines, by name.
    """
    table = frame.assign(
        low=frame.get("low", frame["y"]), high=frame.get("high", frame["y"]), saturated=frame.get("saturated", False)
    )
    names = list(dict.fromkeys(table["line"]))
    usual, dashes = theme.series_look(names)
    look = [(colours or {}).get(name, colour) for name, colour in zip(names, usual, strict=True)]
    # The legend shows the lines, not the pale bands of the first layer.
    legend = alt.Legend(
        symbolType="stroke",
        symbolOpacity=1,
        symbolStrokeWidth=3,
        columns=theme.legend_columns(names),
        labelLimit=theme.LEGEND_LABEL_PX,
    )
    colour = alt.Color("line:N", title=None, scale=alt.Scale(domain=names, range=look), legend=legend)
    places = sorted(set(table["x"].astype(float)))
    own = log_x and len(places) <= MOST_PLACES and all(float(f"{x:.{MOST_DIGITS}g}") == x for x in places)
    own_ticks = {"values": places} if own else {"tickCount": TICKS}
    x = alt.X(
        "x:Q",
        title=x_title,
        scale=alt.Scale(type="log" if log_x else "linear", zero=False, nice=False, padding=12 if dots else 0),
        axis=alt.Axis(grid=False, format=",~r", tickMinStep=1 if whole_x else 0, **own_ticks),
    )
    y = alt.Y(
        "y:Q",
        title=y_title,
        scale=alt.Scale(type="log" if log_y else "linear", zero=not log_y),
        axis=alt.Axis(labelExpr=theme.NUMBER_EXPR, tickCount=6),
    )
    known = table[~table["saturated"] & table["y"].notna()]
    line = (
        marks("points")
        .mark_line(point={"size": 45, "filled": True} if dots else False)
        .encode(
            x=x,
            y=y,
            color=colour,
            strokeDash=alt.StrokeDash("line:N", title=None, scale=alt.Scale(domain=names, range=dashes), legend=legend),
            tooltip=[
                alt.Tooltip("line:N", title="Line"),
                alt.Tooltip("x:Q", title=x_title, format=".4~r"),
                alt.Tooltip("y:Q", title=y_title, format=".4~r"),
            ],
        )
    )
    band = (
        marks("points").mark_area(opacity=0.15).encode(x=x, y=alt.Y("low:Q", title=y_title), y2="high:Q", color=colour)
    )
    top = (
        marks("saturated")
        .mark_point(shape="triangle-up", size=110, filled=True, opacity=1)
        .encode(x=x, y=alt.value(alt.ExprRef("datum.y_px")), color=colour)
    )
    full = table[table["saturated"]]
    below = {name: TRIANGLE_PX * (i + 0.5) for i, name in enumerate(names)}
    layers = [band, line, *([top] if len(full) else []), message_layer()]
    return drawn(
        *layers,
        data={
            "points": known[["line", "x", "y", "low", "high"]],
            "saturated": full[["line", "x"]].assign(y_px=full["line"].map(below)),
            "message": message("" if len(table) else "No values"),
        },
        table=table,
        label=f"{title}: {y_title} against {x_title}, one line each for {', '.join(names)}.",
        title=title,
        subtitle="triangles at the top: saturated, no steady state" if len(full) else subtitle,
        height=height,
    )


def heat_map(
    frame: pd.DataFrame, *, title: str, row_title: str, column_title: str, value_title: str, height: float = 560
) -> Drawing:
    """Draw a square for each (row, column): frame has the columns row, column, value; missing values are black."""
    rows, columns = list(dict.fromkeys(frame["row"])), list(dict.fromkeys(frame["column"]))
    sides = {
        "x": alt.X(
            "column:N",
            title=column_title,
            sort=columns,
            axis=alt.Axis(labelAngle=-60, labelOverlap=False, labelLimit=230),
        ),
        "y": alt.Y("row:N", title=row_title, sort=rows, axis=alt.Axis(labelOverlap=False, labelLimit=230)),
    }
    squares: Marks = marks("cells")
    cells = squares.mark_rect().encode(
        **sides,
        color=alt.Color(
            "value:Q", title=value_title, scale=alt.Scale(domain=[0, 1], range=list(theme.SHARE_SCHEME)),
        ),
        tooltip=[
            alt.Tooltip("row:N", title=row_title),
            alt.Tooltip("column:N", title=column_title),
            alt.Tooltip("value:Q", title=value_title, format=".2f"),
        ],
    )  # fmt: skip
    missing = marks("missing").mark_rect(color="black").encode(**sides)
    return drawn(
        cells,
        missing,
        data={"cells": frame.dropna(subset=["value"]), "missing": frame[frame["value"].isna()][["row", "column"]]},
        table=frame,
        label=f"{title}: {value_title} for each {row_title} and {column_title}.",
        title=title,
        subtitle="black: cannot run" if frame["value"].isna().any() else "",
        height=height,
    )


def bands(frame: pd.DataFrame, *, title: str, x_title: str, y_title: str, height: float = 300) -> Drawing:
    """Draw parts of a whole over time: frame has the columns x, group, part, value.

    One band for each part, coloured by group, in the order of the rows; they add up to 1 at each x.
    """
    groups = list(dict.fromkeys(frame["group"]))
    place = {part: i for i, part in enumerate(dict.fromkeys(frame["part"]))}
    colours, _ = theme.series_look(groups)
    table = frame.assign(place=frame["part"].map(place))
    area = (
        marks("bands")
        .mark_area(interpolate="step-after", stroke=theme.PAPER, strokeWidth=1)
        .encode(
            x=alt.X(
                "x:Q", title=x_title, scale=alt.Scale(nice=False), axis=alt.Axis(grid=False, tickCount=TICKS)
            ),
            y=alt.Y("value:Q", title=y_title, stack="normalize", axis=alt.Axis(format=".0%", tickCount=5)),
            color=alt.Color("group:N", title=None, scale=alt.Scale(domain=groups, range=colours)),
            detail="part:N",
            order=alt.Order("place:Q"),
            tooltip=[
                alt.Tooltip("part:N", title="Job"),
                alt.Tooltip("group:N", title="Group"),
                alt.Tooltip("x:Q", title=x_title),
                alt.Tooltip("value:Q", title="Value", format=".3~r"),
            ],
        )
    )  # fmt: skip
    return drawn(
        area,
        data={"bands": table},
        table=frame,
        label=f"{title}: {y_title} over {x_title}, one band per job.",
        title=title,
        height=height,
    )
