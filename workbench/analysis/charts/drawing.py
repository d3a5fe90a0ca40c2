"""A chart, the named tables it draws, the numbers behind it, and what it has for playback."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt
import pandas as pd
from altair.utils.schemapi import debug_mode

from workbench.analysis.charts import theme

Chart = alt.Chart | alt.LayerChart
Layer = Any
"""An `alt.Chart` that is part of a chart (what Altair's `encode` returns has no type)."""
VEGA_LITE = "6.4"
"""The Vega-Lite that the specifications are written for, as vl-convert names it."""
SELECTED = "!selected || (isArray(selected) ? indexof(selected, datum.job) >= 0 : datum.job === selected)"
"""Whether a mark is of the job, or one of the jobs, that the parameter `selected` names."""
PADDING_PX = {"left": 8.0, "right": 18.0, "top": 8.0, "bottom": 8.0}
"""Around every chart."""
PIXELS = 2.0
"""Of a picture, per pixel of the page."""
unchecked = debug_mode(False)
"""Decorates what draws a chart: Altair holds no mark or scale against its schema, as the tests do with every chart."""


@dataclass(frozen=True, eq=False, repr=False)
class Drawing:
    """What every chart function returns.

    chart: refers to its data by name (`alt.NamedData`) and does not depend on their values where that is possible, so
    that a widget can embed it once and push new data; it is as wide as its container. data: the tables by name.
    table: the numbers behind the chart, with units in the column names, for CSV and for readers who cannot see it.
    label: what the chart shows, in one sentence, for a screen reader. stops: of a chart with the parameter `until`,
    its values for playback, in order; clock: what they count, seconds ("s") or something else by name. written: the
    chart as a dictionary, of one that is drawn again and again; axis_s: seconds of one unit of its axis of time, if it
    has one. overview: of a chart too dense to be read whole, a low one of all of it, on which a stretch is marked;
    closer: where marks were put together, the data set `bars` of a stretch from one time to another, in seconds.
    """

    chart: Chart
    data: Mapping[str, pd.DataFrame]
    table: pd.DataFrame
    label: str
    params: Mapping[str, Any] = field(default_factory=dict)
    stops: Sequence[float] = ()
    clock: str = "s"
    written: Mapping[str, Any] | None = None
    axis_s: float | None = None
    overview: Drawing | None = None
    closer: Callable[[float, float], pd.DataFrame] | None = None

    def __repr__(self) -> str:
        return f"<Drawing: {self.label}>"

    def named(self) -> dict[str, Any]:
        """The Vega-Lite specification as it is, data by name: what a widget embeds.

        Not held against Vega-Lite's schema each time it is drawn, which costs five times as much as writing it; the
        tests do that for every chart.
        """
        found: dict[str, Any] = written(self.chart) if self.written is None else dict(self.written)
        return found

    def inline(self, width: float = theme.WIDTH_PX) -> Chart:
        """The chart with its data inside and a plot `width` pixels wide: for static display and export."""
        chart = self.chart.copy(deep=False)
        chart.width = width
        chart.datasets = {name: records(table) for name, table in self.data.items()}
        return chart

    def spec(self, width: float | str = theme.WIDTH_PX) -> dict[str, Any]:
        """The Vega-Lite specification with its data inside, the caller's own; width in pixels or `container`."""
        return copy.deepcopy(self.named()) | {
            "width": width,
            "datasets": {name: records(table) for name, table in self.data.items()},
        }

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
        """The picture that a notebook shows for a drawing at the end of a cell, as wide as it is drawn."""
        import vl_convert

        png = vl_convert.vegalite_to_png(json.dumps(self.spec()), VEGA_LITE, scale=PIXELS)
        width = int.from_bytes(png[16:20], "big")  # where the format has it
        return png, {"width": round(width / PIXELS)}

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """That the picture is made for a light page; on a dark one the widgets' style sheet turns it."""
        return {}, {"needs_background": "light"}


def written(chart: Chart) -> dict[str, Any]:
    """The chart as a dictionary, not held against Vega-Lite's schema."""
    found: dict[str, Any] = chart.to_dict(validate=False)
    return found


def drawn(
    *layers: Layer,
    data: Mapping[str, pd.DataFrame],
    table: pd.DataFrame,
    label: str,
    title: str,
    height: Any,
    subtitle: str = "",
    params: Mapping[str, Any] | None = None,
) -> Drawing:
    """Layers put together with their data; params: names and first values of the chart's Vega parameters."""
    params = dict(params or {})
    chart = composed(*layers, title=title, height=height, subtitle=subtitle, params=params)
    return Drawing(chart, dict(data), table, label.replace("\n", " "), params)


@unchecked
def composed(
    *layers: Layer, title: str, height: Any, subtitle: str = "", params: Mapping[str, Any] | None = None
) -> Chart:
    """Layers as one chart in the project's look; title and subtitle may have several lines."""
    heading: dict[str, Any] = {"text": title.split("\n") if "\n" in title else title, "offset": 12}
    if subtitle:
        heading["subtitle"] = subtitle.split("\n") if "\n" in subtitle else subtitle
    return alt.LayerChart(
        layer=list(layers),
        title=heading,
        width="container",
        height=height,
        padding=PADDING_PX,
        config=theme.config(),
        params=[alt.VariableParameter(name=name, value=value) for name, value in (params or {}).items()],
    )


class Marks(alt.Chart):
    """A layer. Like `alt.Chart`, but what is no class of Altair's yet finds its class by the name of its channel.

    Altair tries the schemas of all its 570 classes for each field or constant, most of the time that a chart takes.
    """

    def encode(self, *channels: Any, **named: Any) -> Any:
        """Encode channels."""
        return super().encode(*channels, **{name: _channel(name, value) for name, value in named.items()})


def _channel(channel: str, value: Any) -> Any:
    """A field ("jct_s:Q") or `{"value": ...}`, perhaps with a condition, as the channel's class; else as it is."""
    name = f"{channel[0].upper()}{channel[1:]}"
    if isinstance(value, str):
        return getattr(alt, name)(value)
    if isinstance(value, Mapping) and "value" in value:
        return getattr(alt, f"{name}Value")(**value)
    return value


def marks(name: str) -> Marks:
    """A layer of the data set of that name."""
    return Marks(alt.NamedData(name))


def faded(chosen: str = "!selected || datum.job === selected") -> Any:
    """The opacity that fades all but what is chosen: by default the selected job, or all where none is."""
    return alt.condition(chosen, alt.value(1), alt.value(theme.FADED))


def message_layer() -> Layer:
    """Text in the middle of the plot, from the data set `message` (columns text)."""
    middle = {"x": alt.value(alt.ExprRef("width / 2")), "y": alt.value(alt.ExprRef("height / 2"))}
    return (
        marks("message")
        .mark_text(fontSize=theme.HEAD_PX, color=theme.MUTED, align="center", baseline="middle")
        .encode(text="text:N", **middle)
    )


def message(text: str = "") -> pd.DataFrame:
    """The data set `message`: one row, or none for no text."""
    return pd.DataFrame({"text": pd.Series([text] if text else [], dtype="str")})


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as JSON has them; what is missing or infinite becomes null."""
    columns = {str(name): _plain(column) for name, column in table.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _plain(column: pd.Series[Any]) -> list[Any]:
    values = column.tolist()
    if pd.api.types.is_float_dtype(column):
        return [value if math.isfinite(value) else None for value in values]
    return values


def zoom(*, rows: bool = False) -> alt.Parameter:
    """Drag to move along x (rows: and y), Alt and the wheel to come closer, a double click for the whole again."""
    return alt.selection_interval(
        name="zoom",
        bind="scales",
        encodings=["x", "y"] if rows else ["x"],
        zoom="wheel![event.altKey]",
        translate="[pointerdown, window:pointerup] > window:pointermove!",
        clear="dblclick",
    )


# For playback: expressions of Vega on columns of the data. A chart that uses them has the parameter `until`, in what
# the data count (null: the end); one with a `playhead` also `at`.
SHOWN = "isValid(until) ? datum.{0} <= until : true"
"""Whether something at a time is shown: a format that takes the column."""


def ghosts(chart: Marks, opacity: Any, **where: Any) -> list[Layer]:
    """Thin outlines of rectangles in the colour `fill`, on lines of paper, so that they are seen on bars of that colour
    too."""
    looks: list[dict[str, Any]] = [{"strokeWidth": 2}, {"strokeWidth": 1, "strokeDash": [4, 2]}]
    strokes = (alt.value(theme.PAPER), alt.Stroke("fill:N", scale=None))
    return [
        chart.mark_rect(filled=False, clip=True, tooltip=None, **look).encode(
            **where, stroke=stroke, strokeOpacity=opacity
        )
        for look, stroke in zip(looks, strokes, strict=True)
    ]


def begun(column: str = "start_s") -> str:
    """Whether what begins at a time is shown; what begins just now has no length yet."""
    return f"isValid(until) ? datum.{column} < until : true"


def so_far(column: str) -> str:
    """A time, but not after the one that playback has come to."""
    return f"(isValid(until) ? min(datum.{column}, until) : datum.{column})"


def playhead(per: float) -> Layer:
    """A line at the time that is asked about (`at`), else the one that playback has come to; per: of what they count,
    to one of the axis.

    From the data set `span`, whose column `last` is true in one row.
    """
    return (
        marks("span")
        .transform_filter("(isValid(at) || isValid(until)) && datum.last")
        .mark_rule(color=theme.WARN, strokeWidth=2, clip=True)
        .encode(
            x=alt.value(alt.ExprRef(f"scale('x', (isValid(at) ? at : until) / {per:g})")),
            y=alt.value(0),
            y2=alt.value(alt.ExprRef("height")),
        )
    )


def lit_rounds(per: float) -> Layer:
    """A frame around the rounds that are pointed out (`rounds`, from and to, null: none), whose colours stay as they
    are; per: as of `playhead`."""

    def place(end: int) -> alt.ExprRef:
        return alt.ExprRef(f"rounds ? scale('x', rounds[{end}] / {per:g}) : 0")

    return (
        marks("span")
        .transform_filter("rounds && datum.last")
        .mark_rect(filled=False, stroke=theme.WARN, strokeWidth=2.5, clip=True)
        .encode(x=alt.value(place(0)), x2=alt.value(place(1)), y=alt.value(0), y2=alt.value(alt.ExprRef("height")))
    )
