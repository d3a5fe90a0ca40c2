"""Rows with a name before the plot and columns of numbers behind it, as a table has them: what is drawn and what it is
made of side by side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import altair as alt
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.drawing import Drawing, Layer, Marks, begun, ghosts, marks, so_far

ROW_PX, MOST_HEIGHT_PX = 24.0, 620.0
MOST_ROWS = 100
"""Of more jobs so many are drawn, from the head of the queue."""
COLUMN_PX, CHARACTER_PX, BOLD_PX = 16.0, 7.6, 9.2
"""Space before a column, and what a character of it takes, in its head a bold one."""
Look = TypeVar("Look")
_Columns = Mapping[str, Sequence[str]]
"""Texts behind the plot, one for each row, by heading."""


def row_px(rows: int) -> float:
    """The height of a row: as high as text wants it, lower where there are too many."""
    return min(ROW_PX, MOST_HEIGHT_PX / max(rows, 1))


def row_scale(rows: int) -> alt.Scale:
    """From the first row (0) above to the end of the last one below."""
    return alt.Scale(domain=[0, max(rows, 1)], nice=False, reverse=True)


def middle() -> Any:
    """The middle of a row, on an axis of `row_scale`."""
    return alt.value(alt.ExprRef("scale('y', datum.row + 0.5)"))


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
    key: Mapping[str, Any] = MappingProxyType({}),
) -> Layer:
    """A bar in each row (`datum.row`) from `x` to `x2`, coloured by the column `kind`, with a legend at `orient`.

    rows: how many there are; None where another layer has the scale; key: more of the legend.
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
                legend=alt.Legend(symbolStrokeWidth=0.5, symbolType="square", orient=orient, **key),
            ),
            opacity=opacity,
            tooltip=list(tooltip),
        )
    )


OUTLINED = ("job", "row", "start_s", "end_s", "fill")


def outlines_of(before: Drawing | None, bars: pd.DataFrame, names: Sequence[str] = OUTLINED) -> pd.DataFrame:
    """The bars of another drawing (its data set `bars`) that are not among these, as the data set `before`.

    names: the columns of both that stand for `OUTLINED`.
    """

    def outlined(of: pd.DataFrame) -> set[tuple[Any, ...]]:
        job, row, start, end, fill = (of[name].tolist() for name in names)
        return set(zip(job, row, (round(s, 6) for s in start), (round(s, 6) for s in end), fill, strict=True))

    left = [] if before is None else sorted(outlined(before.data["bars"]) - outlined(bars))
    return pd.DataFrame(left, columns=list(OUTLINED))


def outline_layers(per: float, opacity: Any, low: float = 0.14, high: float = 0.86) -> list[Layer]:
    """Where another run differed: thin outlines in the colour of what was there, from `low` to `high` of a row.

    per: seconds of the unit of the axis.
    """
    found = (
        marks("before")
        .transform_filter(begun("start_s"))
        .transform_calculate(
            x0=f"datum.start_s / {per:g}",
            x1=f"{so_far('end_s')} / {per:g}",
            y0=f"datum.row + {low:g}",
            y1=f"datum.row + {high:g}",
        )
    )
    return ghosts(found, opacity, x=alt.X("x0:Q"), x2="x1:Q", y=alt.Y("y0:Q"), y2="y1:Q")


def row_texts(names: Sequence[str], columns: _Columns) -> dict[str, pd.DataFrame]:
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


def _ends(columns: _Columns) -> list[float]:
    """Where the columns end, in pixels behind the plot."""
    found, px = [], 0.0
    for head, texts in columns.items():
        px += COLUMN_PX + max(BOLD_PX * len(head), CHARACTER_PX * max(map(len, texts), default=0))
        found.append(px)
    return found
