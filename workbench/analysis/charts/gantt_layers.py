"""The layers of a Gantt chart: marks and encodings on the tables of `gantt_data`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.drawing import (
    SELECTED,
    SHOWN,
    Layer,
    Marks,
    begun,
    ghosts,
    lit_rounds,
    marks,
    message_layer,
    playhead,
    so_far,
    zoom,
)
from workbench.analysis.charts.gantt_data import (
    JOB_PX,
    LEAST_LABEL_PX,
    MANY_MARKS,
    NODE_PX,
    TYPE_PX,
    Frame,
    bar_gap,
    slot_numbers,
)

LIT = "gpus && (indexof(gpus, datum.accelerator) >= 0 || indexof(gpus, datum.node) >= 0)"
TYPES_PX = 14
"""From the right end of a type's name to that of the strip with its colour."""


ROW_PX = "(scale('y', 1) - scale('y', 0))"
"""Pixels of a row at the present zoom."""
LOW_PX = 3
"""In lower rows many marks would hide the bars."""
TOP, BOTTOM = "clamp(scale('y', datum.y0), 0, height)", "clamp(scale('y', datum.y1), 0, height)"
"""Where what stands beside a row begins and ends, of what is seen of it."""


class Margin(NamedTuple):
    """Left of the plot of the view by slot: pixels to the nodes' names, and to the strip with the types' colours."""

    names_px: float
    strip_px: float

    @classmethod
    def of(cls, slots: pd.DataFrame) -> Margin:
        """Room for the longest names."""
        numbers = slot_numbers(slots)
        names_px = 12 + theme.text_px(str(slots["slot"].max()), theme.SMALL_PX) if numbers else 8
        longest = max((theme.text_px(str(name)) for name in slots["node"].unique()), default=0.0)
        return cls(names_px, names_px + min(longest, NODE_PX) + 8)

    def left_px(self, types: Sequence[str]) -> float:
        """All of it, with the types' names left of the strip."""
        return self.strip_px + TYPES_PX + min(max(map(theme.text_px, types), default=0.0), TYPE_PX)


def _space_for_names(left_px: float) -> Layer:
    """Nothing to be seen, so far left of the plot: plots of one width below each other, whatever font is there."""
    return (
        marks("span")
        .transform_filter("datum.last")
        .mark_rect(clip=False, fill=theme.PAPER)
        .encode(x=alt.value(-left_px), x2=alt.value(1 - left_px), y=alt.value(0), y2=alt.value(1))
    )


def layers(frame: Frame, margin: Margin | None, left_px: float) -> Sequence[Layer]:
    """Every layer, from the back to the front; margin: None in the view by job; left_px: room for names left of the
    plot, 0 for as much as they need."""
    labels = _slot_labels(margin) if margin is not None else _job_labels()
    labels = [*labels, *([_space_for_names(left_px)] if left_px else [])]
    life = [] if margin is not None else [_life_line(frame)]
    return [
        _axes(frame),
        _lanes(frame),
        _rounds(frame),
        *life,
        _bars(frame),
        *_before(frame),
        _lines(frame),
        *_bar_labels(frame),
        *_marks(frame),
        lit_rounds(frame.unit.seconds),
        playhead(frame.unit.seconds),
        *labels,
        *_key_layers(),
        message_layer(),
    ]


def _expr(expression: str) -> Any:
    return alt.value(alt.ExprRef(expression))


def _x(seconds: str, frame: Frame) -> Any:
    """Pixels of a time given by an expression in seconds."""
    return _expr(f"scale('x', ({seconds}) / {frame.unit.seconds:g})")


def _y(row: str) -> Any:
    return _expr(f"scale('y', {row})")


def _opacity(full: float = 1.0) -> Any:
    return alt.condition(SELECTED, alt.value(full), alt.value(full * theme.FADED))


def _axes(frame: Frame) -> Layer:
    """The two scales, from the data set `span`; every other layer uses them."""
    return (
        marks("span")
        .mark_point(opacity=0)
        .encode(
            x=alt.X(
                "t:Q",
                title=f"Time ({frame.unit.name})",
                scale=alt.Scale(nice=False, zero=False),
                axis=alt.Axis(
                    grid=False,
                    format=",~r",
                    tickCount=alt.ExprRef("max(2, min(12, width / 80))"),
                    **theme.BESIDE_TICKS,
                ),
            ),
            y=alt.Y("row:Q", scale=alt.Scale(domain=[0, frame.rows], nice=False, zero=False, reverse=True), axis=None),
        )
        .add_params(zoom(rows=frame.many))
        .properties(name="plot")
    )


def _lanes(frame: Frame) -> Layer:
    """Where nothing is drawn on them, the background of the rows means idle."""
    column = "node" if frame.by == "slot" else "job"
    tips = (
        [alt.Tooltip("node:N", title="Node"), alt.Tooltip("accelerator:N", title="GPU type")]
        if frame.by == "slot"
        else [alt.Tooltip("job:N", title="Job")]
    )
    gap = bar_gap(frame.row_px) if frame.by == "job" else 0
    return (
        marks("rows")
        .transform_filter(f"datum.column === '{column}'")
        .mark_rect(clip=True)
        .encode(
            x=alt.value(0),
            x2=_expr("width"),
            y=_y(f"datum.y0 + {gap}"),
            y2=_y(f"datum.y1 - {gap}"),
            fill=alt.condition(LIT, alt.value(theme.LIT), alt.value(theme.LANE)),
            tooltip=tips,
        )
    )


def _rounds(frame: Frame) -> Layer:
    return (
        marks("rounds")
        .mark_rule(color=theme.PAPER, strokeWidth=1.2, clip=True)
        .encode(x=_x("datum.time_s", frame), y=alt.value(0), y2=_expr("height"))
    )


def _before(frame: Frame) -> list[Layer]:
    """Where another run differed: thin outlines in the colour of what was there."""
    where = {
        "x": _x("datum.start_s", frame),
        "x2": _x(so_far("end_s"), frame),
        "y": _y("datum.y0"),
        "y2": _y("datum.y1"),
    }
    return ghosts(marks("before").transform_filter(begun()), _opacity(), **where)


def _life_line(frame: Frame) -> Layer:
    """From arrival to completion: the job waits wherever no bar lies on the line."""
    return (
        marks("marks")
        .transform_filter("datum.mark === 'arrived' || datum.mark === 'finished'")
        .transform_joinaggregate(from_s="min(time_s)", to_s="max(time_s)", signs="count()", groupby=["job"])
        .transform_filter("datum.mark === 'arrived'")
        .transform_filter(begun("from_s"))
        .transform_calculate(left_s=f"datum.signs > 1 ? datum.to_s : {frame.unit.seconds:g} * data('span')[1].t")
        .mark_rule(color=theme.MUTED, strokeWidth=min(2.0, max(0.6, frame.row_px / 8)), clip=True)
        .encode(
            x=_x("datum.from_s", frame),
            x2=_x(so_far("left_s"), frame),
            y=_y("(datum.y0 + datum.y1) / 2"),
            opacity=_opacity(0.6),
        )
    )


LEFT = "scale('x', datum.a)"
RIGHT = "scale('x', datum.b)"


def _shown_bars(frame: Frame) -> Marks:
    per = f"{frame.unit.seconds:g}"
    return (
        marks("bars")
        .transform_filter(begun())
        .transform_calculate(a=f"datum.start_s / {per}", b=f"{so_far('end_s')} / {per}")
    )


def _bars(frame: Frame) -> Layer:
    least = f"{LEFT} + ((datum.kind === 'restart' || datum.kind === 'switch') && {ROW_PX} >= {LOW_PX} ? 2 : 0.4)"
    chart = _shown_bars(frame).transform_calculate(
        when=f"{theme.duration_expr('datum.start_s')} + ' – ' + {theme.duration_expr('datum.end_s')}",
        lasts=theme.duration_expr("(datum.end_s - datum.start_s)"),
    )
    thin, thick = (0.8, 1.5) if frame.row_px >= 10 else (0.4, 0.8)
    outline = (
        "datum.kind === 'restart' || datum.kind === 'switch' ? 0"
        f" : datum.kind === 'run' || datum.kind === 'sync' ? ({RIGHT} - {LEFT} > 5 ? {thin} : 0)"
        f" : datum.kind === 'profile' && {RIGHT} - {LEFT} <= 8 ? 0 : {thick}"  # else the outlines of many are all ink
    )
    return chart.mark_rect(
        clip=True,
        strokeWidth=alt.ExprRef(outline),
        strokeDash=alt.ExprRef("datum.kind === 'profile' || datum.kind === 'down' ? [4, 3] : []"),
        cursor="pointer",
    ).encode(
        x=_expr(LEFT),  # before anything has begun a field would have no extent to warn of
        x2=_expr(f"max({RIGHT}, {least})"),
        y=alt.Y("y0:Q"),
        y2=alt.Y2("y1:Q"),
        fill=alt.Fill("fill:N", scale=None, legend=None),
        stroke=alt.Stroke("stroke:N", scale=None, legend=None),
        opacity=_opacity(),
        tooltip=_tips(),
    )


def _tips() -> list[alt.Tooltip]:
    columns = {
        "unit": "Job",
        "model": "Model",
        "kind": "Doing",
        "where": "On",
        "accelerator": "GPU type",
        "when": "From – to",
        "lasts": "Duration",
    }
    tips = [alt.Tooltip(f"{name}:N", title=title) for name, title in columns.items()]
    return [
        *tips,
        alt.Tooltip("gpus:Q", title="GPUs held"),
        alt.Tooltip("steps:Q", title="Steps done here", format=",.1~f"),
    ]


def _lines(frame: Frame) -> Layer:
    """Between slots, nodes and types; over the bars, so that a gang of four still shows as four GPUs."""
    return (
        marks("lines")
        .mark_rule(clip=False)
        .encode(
            x=_expr("datum.over ? 0 : -10"),
            x2=_expr("width"),
            y=_expr("clamp(scale('y', datum.row), 0, height)"),
            strokeWidth=_expr("datum.weight"),
            stroke=_expr(f"datum.over ? '{theme.PAPER}' : datum.weight > 1 ? '{theme.INK}' : '{theme.MUTED}'"),
            opacity=_expr(
                "!inrange(scale('y', datum.row), [0, height]) ? 0"
                f" : datum.over ? ({ROW_PX} >= 6 ? 0.55 : 0) : datum.weight > 1 ? 1 : 0.5"
            ),
        )
    )


def _bar_labels(frame: Frame) -> list[Layer]:
    """The job's name inside its bar, where it fits at the present width and zoom; over outlines on the bar's colour."""
    left, right = f"max(0, {LEFT})", f"min(width, {RIGHT})"
    top, bottom = "max(0, scale('y', datum.y0))", "min(height, scale('y', datum.y1))"
    high = f"(datum.y1 - datum.y0) * {ROW_PX}"
    size = f"({high} >= {theme.LABEL_PX + 3} ? {theme.LABEL_PX} : {high} >= {theme.SMALL_PX} ? 11 : {LEAST_LABEL_PX})"
    fits = f"{high} >= {LEAST_LABEL_PX} && {right} - {left} >= datum.em * {size} + 6"

    def text(shown: str, colour: Any, **more: Any) -> Layer:
        return (
            _shown_bars(frame)
            .transform_filter("datum.label")
            .mark_text(
                clip=True,
                align="center",
                baseline="middle",
                fontSize=alt.ExprRef(f"{shown} ? {size} : 0"),
                cursor="pointer",
                **more,
            )
            .encode(
                text=alt.Text("label:N"),
                x=_expr(f"({left} + {right}) / 2"),
                y=_expr(f"({top} + {bottom}) / 2 + 0.5"),
                **colour,
            )
        )

    own = alt.Stroke("fill:N", scale=None, legend=None)
    ink = alt.condition(SELECTED, alt.Color("ink:N", scale=None, legend=None), alt.value(theme.MUTED))
    halo = text(f"length(data('before')) && ({SELECTED}) && {fits}", {"stroke": own}, strokeWidth=4, strokeJoin="round")
    return [halo, text(fits, {"color": ink})]


def _marks(frame: Frame) -> list[Layer]:
    shown = marks("marks").transform_filter(SHOWN.format("time_s"))
    at = _x("datum.time_s", frame)
    tips = [
        alt.Tooltip("job:N", title="Job"),
        alt.Tooltip("mark:N", title="What"),
        alt.Tooltip("at:N", title="At"),
        alt.Tooltip("reason:N", title="Why"),
    ]
    timed = shown.transform_calculate(at=theme.duration_expr("datum.time_s"))
    middle = _y("(datum.y0 + datum.y1) / 2")
    size, wide = f"clamp(pow(0.42 * {ROW_PX}, 2), 12, 110)", 3 if frame.row_px >= 10 else 1.5
    edge = (
        timed.transform_filter("datum.mark === 'preempted'")
        .mark_rule(color=theme.INK, clip=True)
        .encode(
            x=at,
            y=_y("datum.y0"),
            y2=_y("datum.y1"),
            strokeWidth=_expr(f"length(data('marks')) > {MANY_MARKS} ? {ROW_PX} >= {LOW_PX} : {wide}"),
            opacity=_opacity(),
            tooltip=tips,
        )
    )
    notch = (
        timed.transform_filter("datum.mark === 'preempted'")
        .mark_point(shape="triangle-left", filled=True, fill=theme.PAPER, stroke=theme.INK, strokeWidth=1.2, clip=True)
        .encode(
            x=at,
            y=middle,
            xOffset=alt.value(-4),
            size=_expr(f"(datum.y1 - datum.y0) * {ROW_PX} >= 12 ? 55 : 0"),
            opacity=_opacity(),
            tooltip=tips,
        )
    )
    if frame.by == "slot":
        return [edge, notch]
    ends = (
        timed.transform_filter("datum.mark !== 'preempted'")
        .mark_point(clip=False, filled=True, strokeWidth=1.2, stroke=theme.INK)
        .encode(
            x=at,
            y=_expr(f"({TOP} + {BOTTOM}) / 2"),
            shape=_expr(f"datum.mark === 'arrived' ? '{ARRIVED}' : 'diamond'"),
            fill=_expr(f"datum.mark === 'arrived' ? '{theme.PAPER}' : '{theme.INK}'"),
            size=_expr(
                f"inrange(scale('x', datum.time_s / {frame.unit.seconds:g}), [0, width])"
                f" && inrange(scale('y', (datum.y0 + datum.y1) / 2), [0, height]) ? {size} : 0"
            ),
            opacity=_opacity(),
            tooltip=tips,
        )
    )
    return [edge, notch, ends]


ARRIVED = "triangle-right"


def _slot_labels(margin: Margin) -> list[Layer]:
    strip = margin.strip_px
    middle = _expr(f"({TOP} + {BOTTOM}) / 2")
    rows = marks("rows")
    return [
        rows.transform_filter("datum.column === 'slot'")
        .mark_text(
            clip=False,
            align="right",
            baseline="middle",
            fontSize=alt.ExprRef(f"{BOTTOM} - {TOP} >= {theme.SMALL_PX} ? {theme.SMALL_PX} : 0"),
            color=theme.MUTED,
        )
        .encode(x=alt.value(-6), y=middle, text="text:N"),
        rows.transform_filter("datum.column === 'node'")
        .mark_text(clip=False, align="right", baseline="middle", limit=NODE_PX, fontSize=_every_kth())
        .encode(x=alt.value(-margin.names_px), y=middle, text="text:N"),
        rows.transform_filter("datum.column === 'type'")
        .mark_rect(clip=False)
        .encode(
            x=alt.value(-strip - 8),
            x2=alt.value(-strip),
            y=_expr(f"min({TOP} + 1, {BOTTOM})"),
            y2=_expr(f"max({BOTTOM} - 1, {TOP})"),
            fill=alt.Fill("colour:N", scale=None, legend=None),
        ),
        rows.transform_filter("datum.column === 'type'")
        .mark_text(
            clip=False,
            align="right",
            baseline="middle",
            fontWeight=600,
            limit=TYPE_PX,
            fontSize=alt.ExprRef(f"{BOTTOM} - {TOP} >= {theme.LABEL_PX} ? {theme.LABEL_PX} : 0"),
        )
        .encode(x=alt.value(-strip - TYPES_PX), y=middle, text="text:N"),
    ]


def _every_kth() -> alt.ExprRef:
    """Of names of rows as many as fit, evenly: none within a name's height of one of the next group."""
    kth = f"ceil({theme.LABEL_PX + 1} / ((datum.y1 - datum.y0) * {ROW_PX}))"
    seen = "inrange(scale('y', (datum.y0 + datum.y1) / 2), [0, height])"
    fits = f"datum.place % {kth} === 0 && datum.rest + 1 >= {kth}"
    return alt.ExprRef(f"{seen} && {fits} ? {theme.LABEL_PX} : 0")


def overview_layers(frame: Frame, left_px: float) -> Sequence[Layer]:
    """The layers of the overview: a plot under that of the chart, whose names are left_px wide."""
    brush = alt.selection_interval(
        name="zoom",
        encodings=["x", "y"],
        mark=alt.BrushConfig(fill=theme.INK, fillOpacity=0.12, stroke=theme.INK, strokeOpacity=1, strokeWidth=1.5),
    )
    scales = (
        marks("span")
        .mark_point(opacity=0)
        .encode(
            x=alt.X("t:Q", scale=alt.Scale(nice=False, zero=False), axis=None),
            y=alt.Y("row:Q", scale=alt.Scale(domain=[0, frame.rows], nice=False, zero=False, reverse=True), axis=None),
        )
        .add_params(brush)
    )
    whole = marks("span").transform_filter("datum.last")
    lane = whole.mark_rect(fill=theme.LANE).encode(
        x=alt.value(0), x2=_expr("width"), y=alt.value(0), y2=_expr("height")
    )
    name = whole.mark_text(clip=False, align="right", baseline="middle", color=theme.MUTED, limit=left_px).encode(
        x=alt.value(-10), y=_expr("height / 2"), text=alt.value("all")
    )
    bars = (
        marks("bars")
        .mark_rect(clip=True, tooltip=None)
        .encode(
            x=_x("datum.start_s", frame),
            x2=_x("datum.end_s", frame),
            y=_y("datum.y0"),
            y2=_y("datum.y1"),
            fill=alt.Fill("fill:N", scale=None, legend=None),
            opacity=_opacity(),
        )
    )
    return [scales, lane, bars, _space_for_names(left_px), name]


def _job_labels() -> list[Layer]:
    return [
        marks("rows")
        .mark_text(clip=False, align="right", baseline="middle", limit=JOB_PX, cursor="pointer", fontSize=_every_kth())
        .encode(x=alt.value(-10), y=_expr(f"({TOP} + {BOTTOM}) / 2"), text="text:N", opacity=_opacity())
    ]


def _key_layers() -> list[Layer]:
    key = marks("key").transform_filter("width >= datum.from_px && (!isValid(datum.to_px) || width < datum.to_px)")
    boxed = key.transform_filter("datum.fill")
    signs = {"preempted": "triangle-left", "arrived": ARRIVED, "finished": "diamond"}
    shape = " : ".join(f"datum.sign === '{sign}' ? '{shape}'" for sign, shape in signs.items())
    return [
        boxed.mark_rect(
            clip=False, strokeWidth=1.2, strokeDash=alt.ExprRef("datum.sign === 'dashed' ? [4, 3] : []")
        ).encode(
            x=_expr("datum.px"),
            x2=_expr("datum.px + 14"),
            y=_expr("datum.sign === 'half' ? datum.py : datum.py - 7"),
            y2=_expr("datum.sign === 'upper' ? datum.py : datum.py + 7"),
            fill=alt.Fill("fill:N", scale=None, legend=None),
            stroke=alt.Stroke("stroke:N", scale=None, legend=None),
        ),
        key.transform_filter("datum.sign === 'round' || datum.sign === 'preempted'")
        .mark_rule(clip=False)
        .encode(
            x=_expr("datum.px + (datum.sign === 'round' ? 7 : 11)"),
            y=_expr("datum.py - 7"),
            y2=_expr("datum.py + 7"),
            stroke=_expr(f"datum.sign === 'round' ? '{theme.PAPER}' : '{theme.INK}'"),
            strokeWidth=_expr("datum.sign === 'round' ? 2 : 3"),
        ),
        key.transform_filter(" || ".join(f"datum.sign === '{sign}'" for sign in signs))
        .mark_point(clip=False, filled=True, stroke=theme.INK, strokeWidth=1.2, size=70, opacity=1)
        .encode(
            x=_expr("datum.px + 6"),
            y=_expr("datum.py"),
            shape=_expr(f"{shape} : 'circle'"),
            fill=_expr(f"datum.sign === 'finished' ? '{theme.INK}' : '{theme.PAPER}'"),
        ),
        key.mark_text(clip=False, align="left", baseline="middle").encode(
            x=_expr("datum.px + 20"), y=_expr("datum.py + 0.5"), text="text:N"
        ),
    ]
