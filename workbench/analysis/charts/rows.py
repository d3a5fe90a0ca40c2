"""Rows with a name before the plot and columns of numbers behind it, as a table has them: what is drawn and what it is
made of side by side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import altair as alt
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.drawing import Layer, Marks, marks

ROW_PX, MOST_HEIGHT_PX = 24.0, 620.0
COLUMN_PX, CHARACTER_PX = 16.0, 7.6
"""Space before a column, and what a character of it takes."""
Look = TypeVar("Look")
Columns = Mapping[str, Sequence[str]]
"""Texts behind the plot, one for each row, by heading."""


def row_px(rows: int) -> float:
    """The height of a row: as high as text wants it, lower where there are too many."""
    return min(ROW_PX, MOST_HEIGHT_PX / max(rows, 1))


def row_scale(rows: int) -> alt.Scale:
    """From the first row (0) above to the end of the last one below."""
    return alt.Scale(domain=[0, max(rows, 1)], nice=False, reverse=True)


def middle(row: str = "datum.row") -> Any:
    """The middle of a row, on an axis of `row_scale`."""
    return alt.value(alt.ExprRef(f"scale('y', {row} + 0.5)"))


def present(looks: Mapping[str, Look], kinds: Iterable[str]) -> dict[str, Look]:
    """Of the looks by kind those of kinds that there are, for a legend that says no more."""
    found = set(kinds)
    return {kind: look for kind, look in looks.items() if kind in found}


def row_bars(
    bars: Marks,
    rows: int | None,
    kind: str,
    colours: Mapping[str, str],
    *,
    x: alt.X,
    x2: str,
    opacity: Any,
    tooltip: Sequence[alt.Tooltip],
    orient: Literal["bottom", "top"] = "bottom",
) -> Layer:
    """A bar in each row (`datum.row`) from `x` to `x2`, coloured by the column `kind`, with a legend at `orient`.

    rows: how many there are; None where another layer has the scale.
    """
    return (
        bars.transform_calculate(y0="datum.row + 0.14", y1="datum.row + 0.86")
        .mark_rect(stroke=theme.INK, strokeWidth=0.5, cursor="pointer")
        .encode(
            x=x,
            x2=x2,
            y=alt.Y("y0:Q") if rows is None else alt.Y("y0:Q", scale=row_scale(rows), axis=None),
            y2="y1:Q",
            fill=alt.Fill(
                f"{kind}:N",
                title=None,
                scale=alt.Scale(domain=list(colours), range=list(colours.values())),
                legend=alt.Legend(symbolStrokeWidth=0.5, symbolType="square", orient=orient),
            ),
            opacity=opacity,
            tooltip=list(tooltip),
        )
    )


def row_texts(names: Sequence[str], columns: Columns) -> dict[str, pd.DataFrame]:
    """The data sets `names`, `texts` and `heads`; of rows too low for text every k-th has some."""
    every = max(1, math.ceil((theme.LABEL_PX + 1) / row_px(len(names))))
    shown = [row for row in range(len(names)) if row % every == 0]
    ends = _ends(columns)
    return {
        "names": pd.DataFrame({"job": [names[row] for row in shown], "row": shown}),
        "texts": pd.DataFrame(
            [
                (names[row], row, head, px, texts[row])
                for (head, texts), px in zip(columns.items(), ends, strict=True)
                for row in shown
            ],
            columns=["job", "row", "head", "px", "text"],
        ),
        "heads": pd.DataFrame({"text": list(columns), "px": ends}),
    }


def row_layers(opacity: Any, shown: str = "true") -> list[Layer]:
    """The texts of `row_texts`; opacity: a condition that fades rows; shown: which of the columns' texts are there."""
    right = alt.value(alt.ExprRef("width + datum.px"))
    name = (
        marks("names")
        .mark_text(clip=False, align="right", baseline="middle", limit=220, cursor="pointer")
        .encode(x=alt.value(-8), y=middle(), text="job:N", opacity=opacity)
    )
    text = (
        marks("texts")
        .transform_filter(shown)
        .mark_text(clip=False, align="right", baseline="middle", cursor="pointer")
        .encode(x=right, y=middle(), text="text:N", opacity=opacity)
    )
    head = (
        marks("heads")
        .mark_text(clip=False, align="right", baseline="bottom", fontWeight=600)
        .encode(x=right, y=alt.value(-6), text="text:N")
    )
    return [name, text, head]


def _ends(columns: Columns) -> list[float]:
    """Where the columns end, in pixels behind the plot."""
    found, px = [], 0.0
    for head, texts in columns.items():
        px += COLUMN_PX + CHARACTER_PX * max(map(len, (head, *texts)))
        found.append(px)
    return found
