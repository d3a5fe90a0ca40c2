"""The schedule as a Gantt chart: rows are GPU slots, or jobs.

The specification depends on the rows, the unit of time and the height only; bars, labels and marks are data. Vega
parameters: `selected`, the name of a job (null: none), fades all others; `until`, seconds (null: the end), hides what
comes later, for playback. Both are plain values that a widget sets; the mark that was clicked carries `job`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from workbench.charts import theme
from workbench.charts.bars import blocks, job_bars, lanes, merged, preemptions, thinned
from workbench.charts.drawing import Drawing, Layer, drawn, message, message_layer
from workbench.cluster import Cluster

By = Literal["slot", "job"]

MOST_HEIGHT_PX = 600.0
ROW_PX = 28.0
MOST_ROUNDS = 200
MOST_LABELS = 4000
MANY_MARKS = 150
"""With more marks of preemption than this they are drawn thin."""
JOB_PX, NODE_PX, TYPE_PX = 170.0, 150.0, 120.0
"""The widest labels of jobs, nodes and types; longer ones are cut with an ellipsis."""
WIDEST_PX = 2600.0
"""The widest plot for which labels are sent along."""

PIECES = {
    "run": "run",
    "restart": "restart",
    "switch": "switch of task",
    "profile": "profiling",
    "consolidate": "consolidation",
    "hold": "held idle",
    "sync": "synchronisation",
    "down": "node down",
}
BAR_COLUMNS = [
    *("where", "accelerator", "unit", "job", "with_job", "model", "kind", "start_s", "end_s", "gpus", "steps"),
    *("y0", "y1", "fill", "stroke", "label", "size", "needed", "ink"),
]
SELECTED = "!selected || datum.job === selected"
SHOWN = "isValid(until) ? datum.{0} <= until : true"
OVERLAID = ("restart", "switch")
DASHED = ("profile", "down")


class Frame(NamedTuple):
    """What the layers of one chart share: rows, pixels per row, seconds per unit of the axis, left margin."""

    rows: int
    row_px: float
    unit: theme.TimeUnit
    by: By

    @property
    def height(self) -> float:
        """Height of the plot, pixels."""
        return self.rows * self.row_px


def gantt(
    timeline: pd.DataFrame,
    jobs: pd.DataFrame,
    decisions: pd.DataFrame | None = None,
    events: pd.DataFrame | None = None,
    *,
    by: By = "slot",
    cluster: Cluster | None = None,
    rounds: bool = True,
    selected: str | None = None,
    until_s: float | None = None,
    end_s: float | None = None,
    max_height: float = MOST_HEIGHT_PX,
    title: str | None = None,
) -> Drawing:
    """Draw who held which GPU when (`by="slot"`), or what each job got (`by="job"`).

    timeline, jobs, decisions, events: tables of a run; decisions give the grid of rounds (cause `round`, thinned to
    200), events where jobs were preempted (without them: where a job's interval ends and none follows). cluster: all
    slots and their order; without it only those that were used. selected, until_s: first values of the parameters.
    end_s: end of the axis (default: the last end, finish or arrival). max_height in pixels: more rows become lower.

    A restart or switch is drawn at least 2 pixels wide so that it is seen at all; everything else is to scale.
    """
    colour = theme.job_colours(jobs["job"])
    slots = lanes(timeline, cluster)
    types = theme.type_colours(slots["accelerator"].unique())
    span = _span(timeline, jobs, end_s)
    count = len(slots) if by == "slot" else len(jobs)
    row_px = min(ROW_PX, max_height / max(count, 1))
    frame = Frame(max(count, 1), row_px if count else ROW_PX * 4, theme.time_unit(span[1] - span[0]), by)
    if by == "slot":
        bars = _slot_bars(timeline, slots, colour, frame)
        rows, lines = _slot_rows(slots, types, frame)
        marks = _lost_at(bars, preemptions(timeline, jobs, events))
        title = title or "Schedule by GPU"
    else:
        bars = _job_rows_bars(timeline, jobs, types, frame)
        rows, lines = _job_rows(jobs, frame)
        marks = pd.concat([_lost_at(bars, preemptions(timeline, jobs, events)), _life_marks(jobs)], ignore_index=True)
        title = title or "Schedule by job"
    bars = _labelled(bars, jobs, span, frame)[BAR_COLUMNS]
    grid, every = _grid(decisions if rounds else None)
    key = _key(bars, marks, every, colour if by == "slot" else types, by)
    data = {
        "rows": rows,
        "lines": lines,
        "bars": bars,
        "marks": marks,
        "rounds": grid,
        "span": _corners(span, frame),
        "key": key,
        "message": message("" if len(bars) else "No jobs" if by == "job" and jobs.empty else "Nothing ran"),
    }
    return drawn(
        *_layers(frame, slots if by == "slot" else None),
        data=data,
        table=_behind(bars),
        label=f"{title}: {len(jobs)} jobs, {len(slots)} GPUs, {_spoken(span[1])}.",
        title=title,
        height=round(frame.height, 2),
        params={"selected": selected, "until": until_s},
    )


# Data ----------------------------------------------------------------------------------------------------------------


def _span(timeline: pd.DataFrame, jobs: pd.DataFrame, end_s: float | None) -> tuple[float, float]:
    starts = np.concatenate([timeline["start_s"].to_numpy(float), jobs["arrival_s"].to_numpy(float)])
    ends = np.concatenate([starts, timeline["end_s"].to_numpy(float), jobs["finish_s"].to_numpy(float)])
    last = end_s if end_s is not None else float(np.nanmax(ends)) if np.isfinite(ends).any() else 0.0
    first = float(np.nanmin(starts)) if len(starts) else 0.0
    first = 0.0 if first < 0.2 * last else first  # a cut-out of a long trace begins where it begins
    return first, last if last > first else first + 1.0


def _corners(span: tuple[float, float], frame: Frame) -> pd.DataFrame:
    times = [time_s / frame.unit.seconds for time_s in span]
    return pd.DataFrame({"t": times, "row": [0, frame.rows], "last": [False, True]})


def _slot_bars(timeline: pd.DataFrame, slots: pd.DataFrame, colour: dict[str, str], frame: Frame) -> pd.DataFrame:
    bars = blocks(merged(timeline), slots)
    gap = _gap(frame.row_px)
    top, bottom = bars["row"] + gap, bars["last_row"] + 1 - gap
    bars = bars.assign(y0=top, y1=bottom, where=bars["node"].astype(str) + " slot " + bars["slots"].astype(str))
    pair = bars["with_job"] != ""
    both = bars[pair]
    lower = both.assign(job=both["with_job"], with_job=both["job"], steps=both["with_steps"], y0=both["row"] + 0.5)
    bars.loc[pair, "y1"] = bars.loc[pair, "row"] + 0.5
    bars = pd.concat([bars, lower], ignore_index=True)
    return _painted(bars, bars["job"].map(colour))


def _job_rows_bars(timeline: pd.DataFrame, jobs: pd.DataFrame, types: dict[str, str], frame: Frame) -> pd.DataFrame:
    bars = job_bars(timeline, jobs["job"].tolist())
    gap = _gap(frame.row_px)
    height = (1 - 2 * gap) / np.maximum(bars["parts"], 1)
    top = bars["row"] + gap + bars["part"] * height
    bars = bars.assign(y0=top, y1=top + height)
    return _painted(bars, bars["accelerator"].map(types))


def _gap(row_px: float) -> float:
    """The part of a row left free above and below its bar."""
    return 0.06 if row_px >= 10 else 0.0


def _painted(bars: pd.DataFrame, base: pd.Series[Any]) -> pd.DataFrame:
    """Fill and outline by kind; what lies on top comes last."""
    paint = {
        (colour, kind): _paint(colour, kind)
        for colour, kind in set(zip(base.fillna(theme.WARN), bars["kind"], strict=True))
    }
    found = [paint[key] for key in zip(base.fillna(theme.WARN), bars["kind"], strict=True)]
    bars = bars.assign(
        fill=pd.Series([fill for fill, _ in found], index=bars.index, dtype="str"),
        stroke=pd.Series([stroke for _, stroke in found], index=bars.index, dtype="str"),
    )
    thin = bars["kind"] == "sync"
    bars.loc[thin, "y0"] = bars["y1"] - 0.25 * (bars["y1"] - bars["y0"])
    order = np.lexsort((bars["start_s"], bars["kind"].isin(OVERLAID)))
    return bars.iloc[order].reset_index(drop=True)


def _paint(colour: str, kind: str) -> tuple[str, str]:
    looks = {
        "restart": (theme.INK, theme.INK),
        "switch": ("#777777", "#777777"),
        "profile": (theme.tint(colour, 0.6), theme.INK),
        "consolidate": (theme.tint(colour, 0.35), theme.INK),
        "hold": (theme.PAPER, colour),
        "sync": (theme.shade(colour, 0.35), theme.PAPER),
        "down": ("#f4d4d6", theme.WARN),
    }
    return looks.get(kind, (colour, theme.PAPER))


def _labelled(bars: pd.DataFrame, jobs: pd.DataFrame, span: tuple[float, float], frame: Frame) -> pd.DataFrame:
    """Add model, label and its size; no label where it cannot fit in any plot up to WIDEST_PX."""
    model = dict(zip(jobs["job"], jobs["model"], strict=True))
    if frame.by == "slot":
        copy = bars["unit"].astype(str).str.contains(" #", regex=False) & (bars["with_job"] == "")
        text = bars["job"].where(~copy, bars["unit"]).where(bars["kind"] != "down", "down")
    else:
        text = bars["accelerator"].astype(str) + " × " + bars["held"].astype(str)
    high = (bars["y1"] - bars["y0"]) * frame.row_px
    size = np.select([high >= theme.LABEL_PX + 3, high >= theme.SMALL_PX, high >= 10], [theme.LABEL_PX, 11, 10], 0)
    wide = (bars["end_s"] - bars["start_s"]) / (span[1] - span[0]) * WIDEST_PX
    needed = np.array([theme.text_px(str(t), 1.0) for t in text]) * size + 6
    shown = (size > 0) & (wide >= needed) & ~bars["kind"].isin([*OVERLAID, "sync"])
    if int(shown.sum()) > MOST_LABELS:
        shown &= wide >= np.sort(wide[shown].to_numpy())[-MOST_LABELS]
    label = text.where(shown, "")
    return bars.assign(
        model=pd.Series([model.get(job, "") for job in bars["job"]], dtype="str", index=bars.index),
        label=label.astype("str"),
        size=np.where(shown, size, 0),
        needed=np.where(shown, np.round(needed), 0),
        ink=pd.Series([theme.text_on(fill) if text else "" for fill, text in zip(bars["fill"], label, strict=True)],
                      dtype="str", index=bars.index),
    )  # fmt: skip


def _slot_rows(slots: pd.DataFrame, types: dict[str, str], frame: Frame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Labels and lanes of the rows, in three columns (type, node, slot), and the lines between them."""
    if slots.empty:
        return _rows([]), pd.DataFrame({"row": [], "weight": [], "over": []})
    extent = {"first": ("row", "min"), "count": ("row", "size")}
    nodes = slots.groupby(["accelerator", "node"], sort=False).agg(**extent).reset_index()
    kinds = slots.groupby("accelerator", sort=False).agg(**extent).reset_index()
    found: list[dict[str, Any]] = []
    next_free = -math.inf
    for accelerator, node, first, count in nodes.itertuples(index=False):
        middle = (first + count / 2) * frame.row_px
        fits = middle - next_free >= theme.LABEL_PX
        next_free = middle if fits else next_free
        found.append(_row("node", first, count, str(node) if fits else "", node=node, accelerator=accelerator))
    for accelerator, first, count in kinds.itertuples(index=False):
        fits = count * frame.row_px >= theme.LABEL_PX
        found.append(
            _row("type", first, count, str(accelerator) if fits else "", types[accelerator], accelerator=accelerator)
        )
    if _slot_numbers(slots, frame):
        for row, _, slot, _ in slots.itertuples(index=False):
            found.append(_row("slot", row, 1, str(slot)))
    inner = [(row, 0.5, True) for row in slots["row"][1:]] if frame.row_px >= 6 else []
    single = len(nodes) == len(slots) or frame.row_px * len(slots) / len(nodes) < 5
    edges = [] if single else [(first, 1.0, False) for first in nodes["first"][1:]]
    outer = [(first, 2.0, False) for first in kinds["first"][1:]]
    return _rows(found), pd.DataFrame([*inner, *edges, *outer], columns=["row", "weight", "over"])


def _slot_numbers(slots: pd.DataFrame, frame: Frame) -> bool:
    return frame.row_px >= theme.SMALL_PX and bool((slots["slot"] > 0).any())


def _job_rows(jobs: pd.DataFrame, frame: Frame) -> tuple[pd.DataFrame, pd.DataFrame]:
    every = max(1, math.ceil((theme.LABEL_PX + 1) / frame.row_px))
    found = [
        _row("job", row, 1, job if row % every == 0 else "", job=job) for row, job in enumerate(jobs["job"].tolist())
    ]
    return _rows(found), pd.DataFrame({"row": [], "weight": [], "over": []})


def _row(
    column: str, row: int, count: int, text: str, colour: str = "", node: str = "", accelerator: str = "", job: str = ""
) -> dict[str, Any]:
    return {
        "column": column,
        "y0": float(row),
        "y1": float(row + count),
        "text": text,
        "colour": colour,
        "node": node,
        "accelerator": accelerator,
        "job": job,
    }


def _rows(found: list[dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(found, columns=["column", "y0", "y1", "text", "colour", "node", "accelerator", "job"])


def _lost_at(bars: pd.DataFrame, lost: pd.DataFrame) -> pd.DataFrame:
    """A mark at the end of each bar that was cut short."""
    held = bars[(bars["job"] != "") & (bars["kind"] != "sync")][["job", "end_s", "y0", "y1"]]
    at = held.assign(moment=(held["end_s"] * 1e3).round())
    lost = lost.assign(moment=(lost["time_s"] * 1e3).round())
    found = at.merge(lost, on=["job", "moment"]).drop_duplicates(["job", "moment", "y0", "y1"])
    return found.assign(mark="preempted")[["mark", "job", "time_s", "y0", "y1", "reason"]]


def _life_marks(jobs: pd.DataFrame) -> pd.DataFrame:
    """Arrival, completion, and the line of life between them."""
    row = np.arange(len(jobs), dtype=float)
    base = pd.DataFrame({"job": jobs["job"].to_numpy(), "y0": row, "y1": row + 1, "reason": ""})
    arrived = base.assign(mark="arrived", time_s=jobs["arrival_s"].to_numpy(float))
    finished = base.assign(mark="finished", time_s=jobs["finish_s"].to_numpy(float)).dropna(subset=["time_s"])
    return pd.concat([arrived, finished], ignore_index=True)


def _grid(decisions: pd.DataFrame | None) -> tuple[pd.DataFrame, int]:
    if decisions is None or decisions.empty:
        return pd.DataFrame({"time_s": pd.Series(dtype="float64")}), 0
    times, every = thinned(decisions["time_s"][decisions["cause"] == "round"].tolist(), MOST_ROUNDS)
    return pd.DataFrame({"time_s": pd.Series(times, dtype="float64")}), every if times else 0


def _key(bars: pd.DataFrame, marks: pd.DataFrame, every: int, colours: dict[str, str], by: By) -> pd.DataFrame:
    """What the signs mean, left to right above the plot: only those that occur."""
    neutral = "#9aa3ad"
    items: list[tuple[str, str, str, str]] = []
    if by == "job" or len(colours) <= 8:
        used = set(bars["accelerator" if by == "job" else "job"])
        items += [("box", name, colour, theme.PAPER) for name, colour in colours.items() if name in used]
    present = set(bars["kind"])
    pieces = [kind for kind in PIECES if kind in present and kind != "run"]
    items += [("dashed" if kind in DASHED else "box", PIECES[kind], *_paint(neutral, kind)) for kind in pieces]
    if by == "job" and (bars["with_job"] != "").any():
        items.append(("half", "shares its GPUs", neutral, theme.PAPER))
    have = set(marks["mark"])
    items += [(sign, sign, "", "") for sign in ("preempted", "arrived", "finished") if sign in have]
    if every:
        items.append(("round", "round" if every == 1 else f"every {every} rounds", theme.LANE, theme.LANE))
    found, x, line = [], 0.0, 0
    for sign, text, fill, stroke in items:
        text = text if len(text) <= 24 else text[:23] + "…"
        if x + 20 + theme.text_px(text) > KEY_PX:
            x, line = 0.0, line + 1
        found.append((sign, text, fill, stroke, x, line))
        x += 20 + theme.text_px(text) + 18
    key = pd.DataFrame(found, columns=["sign", "text", "fill", "stroke", "px", "line"])
    return key.assign(py=-TOP_PX - LINE_PX * (line - key.pop("line").astype("float64")))


def _behind(bars: pd.DataFrame) -> pd.DataFrame:
    return bars[BAR_COLUMNS[:11]].sort_values(["start_s", "where"], kind="stable").reset_index(drop=True)


def _spoken(seconds: float) -> str:
    unit = theme.time_unit(seconds)
    return f"{seconds / unit.seconds:.3g} {unit.name}"


# Layers --------------------------------------------------------------------------------------------------------------

TOP_PX, LINE_PX, KEY_PX = 16, 21, 580
"""The key: centre of its lowest line above the plot, distance of lines, width; pixels."""


def _layers(frame: Frame, slots: pd.DataFrame | None) -> Sequence[Layer]:
    labels = _slot_labels(frame, slots) if slots is not None else _job_labels(frame)
    life = [] if slots is not None else [_life_line(frame)]
    return [
        _axes(frame),
        _lanes(frame),
        _rounds(frame),
        *life,
        _bars(frame),
        _lines(frame),
        _bar_labels(frame),
        *_marks(frame),
        _playhead(frame),
        *labels,
        *_key_layers(),
        message_layer(),
    ]


def _named(name: str) -> alt.Chart:
    return alt.Chart(alt.NamedData(name))


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
        _named("span")
        .mark_point(opacity=0)
        .encode(
            x=alt.X(
                "t:Q",
                title=f"Time ({frame.unit.name})",
                scale=alt.Scale(nice=False, zero=False),
                axis=alt.Axis(grid=False, format=",~r", tickCount=alt.ExprRef("max(2, min(12, width / 80))")),
            ),
            y=alt.Y("row:Q", scale=alt.Scale(domain=[0, frame.rows], nice=False, zero=False, reverse=True), axis=None),
        )
        .add_params(
            alt.selection_interval(
                name="zoom",
                bind="scales",
                encodings=["x"],
                zoom="wheel![event.altKey]",
                translate="[pointerdown, window:pointerup] > window:pointermove!",
                clear="dblclick",
            )
        )
        .properties(name="plot")
    )


def _lanes(frame: Frame) -> Layer:
    """Where nothing is drawn on them, the background of the rows means idle."""
    column = "node" if frame.by == "slot" else "job"
    tips = (
        [alt.Tooltip("node:N", title="Node"), alt.Tooltip("accelerator:N", title="Accelerator")]
        if frame.by == "slot"
        else [alt.Tooltip("job:N", title="Job")]
    )
    gap = _gap(frame.row_px) if frame.by == "job" else 0
    return (
        _named("rows")
        .transform_filter(f"datum.column === '{column}'")
        .mark_rect(fill=theme.LANE)
        .encode(x=alt.value(0), x2=_expr("width"), y=_y(f"datum.y0 + {gap}"), y2=_y(f"datum.y1 - {gap}"), tooltip=tips)
    )


def _rounds(frame: Frame) -> Layer:
    return (
        _named("rounds")
        .mark_rule(color=theme.PAPER, strokeWidth=1.2, clip=True)
        .encode(x=_x("datum.time_s", frame), y=alt.value(0), y2=_expr("height"))
    )


def _life_line(frame: Frame) -> Layer:
    """From arrival to completion: the job waits wherever no bar lies on the line."""
    return (
        _named("marks")
        .transform_filter("datum.mark === 'arrived' || datum.mark === 'finished'")
        .transform_joinaggregate(from_s="min(time_s)", to_s="max(time_s)", signs="count()", groupby=["job"])
        .transform_filter("datum.mark === 'arrived'")
        .transform_calculate(
            until_s=f"datum.signs > 1 ? datum.to_s : {frame.unit.seconds:g} * data('span')[1].t",
        )
        .mark_rule(color=theme.MUTED, strokeWidth=min(2.0, max(0.6, frame.row_px / 8)), clip=True)
        .encode(
            x=_x("datum.from_s", frame),
            x2=_x("datum.until_s", frame),
            y=_y("(datum.y0 + datum.y1) / 2"),
            opacity=_opacity(0.6),
        )
    )


LEFT = "scale('x', datum.a)"
RIGHT = "scale('x', datum.b)"


def _shown_bars(frame: Frame) -> alt.Chart:
    per = f"{frame.unit.seconds:g}"
    return (
        _named("bars")
        .transform_filter("isValid(until) ? datum.start_s < until : true")
        .transform_calculate(
            a=f"datum.start_s / {per}",
            b=f"(isValid(until) ? min(datum.end_s, until) : datum.end_s) / {per}",
        )
    )


def _bars(frame: Frame) -> Layer:
    least = f"{LEFT} + (datum.kind === 'restart' || datum.kind === 'switch' ? 2 : 0.4)"
    chart = _shown_bars(frame).transform_calculate(
        when=f"{theme.duration_expr('datum.start_s')} + ' – ' + {theme.duration_expr('datum.end_s')}",
        lasts=theme.duration_expr("(datum.end_s - datum.start_s)"),
    )
    thin, thick = (0.8, 1.5) if frame.row_px >= 10 else (0.4, 0.8)
    outline = (
        "datum.kind === 'restart' || datum.kind === 'switch' ? 0"
        f" : datum.kind === 'run' || datum.kind === 'sync' ? ({RIGHT} - {LEFT} > 5 ? {thin} : 0) : {thick}"
    )
    return chart.mark_rect(
        clip=True,
        strokeWidth=alt.ExprRef(outline),
        strokeDash=alt.ExprRef("datum.kind === 'profile' || datum.kind === 'down' ? [4, 3] : []"),
        cursor="pointer",
    ).encode(
        x=alt.X("a:Q"),
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
        "unit": "Unit",
        "job": "Job",
        "model": "Model",
        "kind": "Doing",
        "where": "On",
        "accelerator": "Accelerator",
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
        _named("lines")
        .mark_rule(clip=False)
        .encode(
            x=_expr("datum.over ? 0 : -10"),
            x2=_expr("width"),
            y=_y("datum.row"),
            strokeWidth=_expr("datum.weight"),
            stroke=_expr(f"datum.over ? '{theme.PAPER}' : datum.weight > 1 ? '{theme.INK}' : '{theme.MUTED}'"),
            opacity=_expr("datum.over ? 0.55 : datum.weight > 1 ? 1 : 0.5"),
        )
    )


def _bar_labels(frame: Frame) -> Layer:
    """The job's name inside its bar, where it fits at the present width and zoom."""
    left, right = f"max(0, {LEFT})", f"min(width, {RIGHT})"
    return (
        _shown_bars(frame)
        .transform_filter("datum.label")
        .mark_text(
            clip=True,
            align="center",
            baseline="middle",
            fontSize=alt.ExprRef(f"{right} - {left} >= datum.needed ? datum.size : 0"),
            cursor="pointer",
        )
        .encode(
            text=alt.Text("label:N"),
            x=_expr(f"({left} + {right}) / 2"),
            y=_expr("(scale('y', datum.y0) + scale('y', datum.y1)) / 2 + 0.5"),
            color=alt.Color("ink:N", scale=None, legend=None),
            opacity=_opacity(),
        )
    )


def _marks(frame: Frame) -> list[Layer]:
    shown = _named("marks").transform_filter(SHOWN.format("time_s"))
    at = _x("datum.time_s", frame)
    tips = [
        alt.Tooltip("job:N", title="Job"),
        alt.Tooltip("mark:N", title="What"),
        alt.Tooltip("at:N", title="At"),
        alt.Tooltip("reason:N", title="Why"),
    ]
    told = shown.transform_calculate(at=theme.duration_expr("datum.time_s"))
    middle = _y("(datum.y0 + datum.y1) / 2")
    size = min(110.0, max(12.0, (0.42 * frame.row_px) ** 2))
    edge = (
        told.transform_filter("datum.mark === 'preempted'")
        .mark_rule(color=theme.INK, clip=True)
        .encode(
            x=at,
            y=_y("datum.y0"),
            y2=_y("datum.y1"),
            strokeWidth=_expr(f"length(data('marks')) > {MANY_MARKS} ? 1 : {3 if frame.row_px >= 10 else 1.5}"),
            opacity=_opacity(),
            tooltip=tips,
        )
    )
    notch = (
        told.transform_filter("datum.mark === 'preempted'")
        .mark_point(shape="triangle-left", filled=True, fill=theme.PAPER, stroke=theme.INK, strokeWidth=1.2, clip=True)
        .encode(
            x=at,
            y=middle,
            xOffset=alt.value(-4),
            size=_expr("(datum.y1 - datum.y0) * " + f"{frame.row_px:g} >= 12 ? 55 : 0"),
            opacity=_opacity(),
            tooltip=tips,
        )
    )
    if frame.by == "slot":
        return [edge, notch]
    ends = (
        told.transform_filter("datum.mark !== 'preempted'")
        .mark_point(clip=False, filled=True, strokeWidth=1.2, stroke=theme.INK)
        .encode(
            x=at,
            y=middle,
            shape=_expr(f"datum.mark === 'arrived' ? '{ARRIVED}' : 'diamond'"),
            fill=_expr(f"datum.mark === 'arrived' ? '{theme.PAPER}' : '{theme.INK}'"),
            size=_expr(f"inrange(scale('x', datum.time_s / {frame.unit.seconds:g}), [0, width]) ? {size:.4g} : 0"),
            opacity=_opacity(),
            tooltip=tips,
        )
    )
    return [edge, notch, ends]


ARRIVED = "triangle-right"


def _playhead(frame: Frame) -> Layer:
    return (
        _named("span")
        .transform_filter("isValid(until) && datum.last")
        .mark_rule(color=theme.WARN, strokeWidth=2, clip=True)
        .encode(x=_x("until", frame), y=alt.value(0), y2=_expr("height"))
    )


def _strip_px(frame: Frame, slots: pd.DataFrame) -> float:
    """Where the strip with the types' colours is, left of the plot."""
    return _number_px(frame, slots) + min(_longest(slots["node"].unique()), NODE_PX) + 8


def _number_px(frame: Frame, slots: pd.DataFrame) -> float:
    return 12 + theme.text_px(str(slots["slot"].max()), theme.SMALL_PX) if _slot_numbers(slots, frame) else 8


def _longest(names: Iterable[str]) -> float:
    return max((theme.text_px(str(name)) for name in names), default=0.0)


def _slot_labels(frame: Frame, slots: pd.DataFrame) -> list[Layer]:
    number_px, strip = _number_px(frame, slots), _strip_px(frame, slots)
    middle = _y("(datum.y0 + datum.y1) / 2")
    rows = _named("rows")
    return [
        rows.transform_filter("datum.column === 'slot'")
        .mark_text(clip=False, align="right", baseline="middle", fontSize=theme.SMALL_PX, color=theme.MUTED)
        .encode(x=alt.value(-6), y=middle, text="text:N"),
        rows.transform_filter("datum.column === 'node'")
        .mark_text(clip=False, align="right", baseline="middle", limit=NODE_PX)
        .encode(x=alt.value(-number_px), y=middle, text="text:N"),
        rows.transform_filter("datum.column === 'type'")
        .mark_rect(clip=False)
        .encode(
            x=alt.value(-strip - 8),
            x2=alt.value(-strip),
            y=_expr("scale('y', datum.y0) + 1"),
            y2=_expr("scale('y', datum.y1) - 1"),
            fill=alt.Fill("colour:N", scale=None, legend=None),
        ),
        rows.transform_filter("datum.column === 'type'")
        .mark_text(clip=False, align="right", baseline="middle", fontWeight=600, limit=TYPE_PX)
        .encode(x=alt.value(-strip - 14), y=middle, text="text:N"),
    ]


def _job_labels(frame: Frame) -> list[Layer]:
    return [
        _named("rows")
        .mark_text(clip=False, align="right", baseline="middle", limit=JOB_PX, cursor="pointer")
        .encode(x=alt.value(-10), y=_y("(datum.y0 + datum.y1) / 2"), text="text:N", opacity=_opacity())
    ]


def _key_layers() -> list[Layer]:
    key = _named("key")
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
            y2=_expr("datum.py + 7"),
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
