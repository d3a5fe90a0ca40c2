"""Measures as bars: of several series for each group, of each value of a setting, and before and after a change, with
what it did to each job.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.bars_in_rows import ROW_PX, row_layers, row_scale, row_texts
from workbench.analysis.charts.drawing import Drawing, drawn, faded, marks, message, message_layer, unchecked
from workbench.analysis.metrics.declared import MARK, all_best
from workbench.base.errors import InputError, counted
from workbench.base.labels import with_unit
from workbench.base.rounding import short_number
from workbench.base.units import format_duration

MOST_IN_A_ROW = 4
"""Series that the legend names side by side."""
NARROW_PX, LABELS_PX, SLANT = 640.0, 8.0, -30
"""Labels of groups slant where on a plot of that width two neighbours would be closer than the gap."""


@unchecked
def grouped_bars(
    frame: pd.DataFrame,
    *,
    title: str,
    x_title: str,
    y_title: str,
    covers: str = "from the least to the greatest",
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
    each_px = NARROW_PX / max(len(groups), 1) - LABELS_PX
    return SLANT if any((a + b) / 2 > each_px for a, b in pairwise(wide)) else 0


PANEL_PX, HEAD_PX, TEXT_PX = 90.0, 28.0, 22.0
"""Of each measure: the longest bar, its name above, the number on top of a bar."""


@unchecked
def variants(
    frame: pd.DataFrame,
    *,
    title: str,
    x_title: str,
    labels: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    now: str | None = None,
) -> Drawing:
    """Draw a row of bars for each measure, one for each value of the setting, the number on top; each row from 0.

    frame: columns value (of the setting, as text, in the order wanted) and one for each measure, NaN where a run has
    none; the best of a metric are marked, unless all are equal. labels, units: of the measures by column (seconds are
    written as durations, shares in per cent); now: the value that is set.
    """
    measures = [name for name in frame.columns if name != "value"]
    named = {name: (labels or {}).get(name, name) for name in measures}
    values = list(dict.fromkeys(frame["value"].astype("str")))
    step = HEAD_PX + TEXT_PX + PANEL_PX
    rows: list[tuple[str, str, float, float, float, str]] = []
    starred: set[int] = set()
    for place, name in enumerate(measures):
        bottom = (place + 1) * step
        most = max([abs(number) for number in frame[name] if not math.isnan(number)], default=0.0)
        numbers = frame[name].astype(float).tolist()
        texts = [_value_text(number, (units or {}).get(name, "")) for number in numbers]
        best = all_best(name, numbers, texts)
        starred.add(len(best))
        for at, (value, number) in enumerate(zip(frame["value"], numbers, strict=True)):
            high = PANEL_PX * abs(number) / most if most > 0 and not math.isnan(number) else 0.0
            text = f"{MARK} {texts[at]}" if at in best else texts[at]
            rows.append((str(value), named[name], number, bottom - high, bottom, text))
    equal = ", several where they are equal" if max(starred, default=0) > 1 else ""
    bars = pd.DataFrame(rows, columns=["value", "measure", "number", "y0", "y1", "text"])
    bars = bars.astype({"value": "str", "measure": "str", "text": "str", "y0": float, "y1": float}).assign(
        now=bars["value"] == now
    )
    x = alt.X(
        "value:N",
        title=x_title,
        sort=values,
        scale=alt.Scale(paddingInner=0.4, paddingOuter=0.2),
        axis=alt.Axis(labelAngle=0, grid=False, labelLimit=150, orient="top"),  # in sight whatever is scrolled to
    )
    bar = (
        marks("bars")
        .mark_bar(stroke=theme.INK, strokeWidth=0.5)
        .encode(
            x=x,
            y=alt.value(alt.ExprRef("datum.y0")),
            y2=alt.value(alt.ExprRef("datum.y1")),
            fill=alt.condition("datum.now", alt.value(theme.SERIES_PALETTE[0]), alt.value(theme.SERIES_PALETTE[6])),
            tooltip=[
                alt.Tooltip("value:N", title=x_title),
                alt.Tooltip("measure:N", title="Measure"),
                alt.Tooltip("text:N", title="Is"),
            ],
        )
    )
    number = (
        marks("bars")
        .mark_text(baseline="bottom", dy=-3)
        .encode(x=x, y=alt.value(alt.ExprRef("datum.y0")), text="text:N")
    )
    tops = [place * step + HEAD_PX / 2 for place in range(len(measures))]
    head = (
        marks("heads")
        .mark_text(align="left", baseline="middle", fontWeight=600)
        .encode(x=alt.value(0), y=alt.value(alt.ExprRef("datum.y")), text="text:N")
    )
    floor = (
        marks("floors")
        .mark_rule(color=theme.MUTED)
        .encode(x=alt.value(0), x2=alt.value(alt.ExprRef("width")), y=alt.value(alt.ExprRef("datum.y")))
    )
    return drawn(
        floor,
        bar,
        number,
        head,
        message_layer(),
        data={
            "bars": bars,
            "heads": pd.DataFrame({"text": list(named.values()), "y": tops}),
            "floors": pd.DataFrame({"y": [(place + 1) * step for place in range(len(measures))]}),
            "message": message("" if len(bars) else "Nothing was varied"),
        },
        table=frame.reset_index(drop=True),
        label=f"{title}: {', '.join(named.values())} for {', '.join(values)}.",
        title=title,
        subtitle="; ".join(
            [
                *([f"coloured: {now}, as it is set"] if now in values else []),
                *([f"{MARK} best in its row{equal}"] if any(starred) else []),
            ]
        ),
        height=max(1, len(measures)) * step,
    )


def _value_text(number: float, unit: str) -> str:
    if math.isnan(number):
        return "no value"
    if unit == "s":
        return format_duration(number, parts=2)
    if unit == "share":
        return f"{100 * number:.1f} %"
    return with_unit(short_number(number), unit)


def _middle() -> Any:
    return alt.value(alt.ExprRef("(datum.y0 + datum.y1) / 2"))


CHANGE_PX, CHANGE_GAP_PX, NAME_PX = 22.0, 18.0, 220.0
TEXT_GAP_PX, LEAST_PX = 6.0, 10.0
"""From a bar to its text; and what is left for the longest bar where the plot is hardly wider than a text."""
MOST_JOBS, MOST_NAMED, MOST_ACROSS = 1500, 24, 6
"""Of more jobs every k-th is drawn; so many are named below their bars, and so many of these upright."""
SOONER, LATER = theme.PALETTE[0], theme.PALETTE[3]
TODAY = "today"


@unchecked
def before_after(frame: pd.DataFrame, *, names: Mapping[str, str] | None = None) -> Drawing:
    """Draw for each measure a bar for today and one for each change, in % of today, with the interval of the change.

    frame: columns change, label (of the measure), before, after, low, high (of the difference; NaN: no interval) and
    text (what stands beside a change's bar) and today_text. Measures that are 0 today have no % and are left out.
    names: of the changes, by change.
    """
    title = "Today and with the change"
    known = frame[frame["before"] > 0]
    changes = list(dict.fromkeys(known["change"]))
    series = [TODAY, *((names or {}).get(change, change) for change in changes)]
    per_measure = len(series) * CHANGE_PX + CHANGE_GAP_PX
    rows: list[tuple[Any, ...]] = []
    labels = list(dict.fromkeys(known["label"]))
    for place, label in enumerate(labels):
        of = known[known["label"] == label].set_index("change")
        top = place * per_measure + CHANGE_GAP_PX / 2
        base = float(of["before"].iloc[0])
        rows.append((label, TODAY, 100.0, math.nan, math.nan, top, str(of["today_text"].iloc[0])))
        for number, change in enumerate(changes, start=1):
            if change in of.index:
                row = of.loc[change]
                low, high = (100.0 + 100.0 * float(row[side]) / base for side in ("low", "high"))
                at = top + number * CHANGE_PX
                rows.append(
                    (label, series[number], 100.0 * float(row["after"]) / base, low, high, at, str(row["text"]))
                )
    columns = ["measure", "side", "percent", "low", "high", "y0", "text"]
    bars = pd.DataFrame(rows, columns=columns).astype({"measure": "str", "side": "str", "text": "str"})
    bars = bars.assign(
        y1=bars["y0"] + CHANGE_PX - 3,
        begins=bars["low"].clip(lower=0.0),  # below 0 % of today there is nothing to draw; the tooltip has the bound
        ends=bars[["percent", "high"]].max(axis=1),
    )
    heads = pd.DataFrame({"text": labels, "y": [i * per_measure + per_measure / 2 for i in range(len(labels))]})
    looks = [theme.GRID, *theme.series_look(series[1:])[0]]
    # Room for the names also in a font that is wider than the one that the picture was made with.
    names_px = min(NAME_PX, max((theme.text_px(label) for label in labels), default=0.0))
    base_marks, middle = marks("bars"), _middle()
    scale = alt.Scale(domainMin=0, domainMax=_end(bars), nice=False, padding=0)
    x = alt.X("percent:Q", title="In % of today", scale=scale, axis=alt.Axis(tickCount=6))
    layers = [
        base_marks.mark_rect(stroke=theme.INK, strokeWidth=0.5).encode(
            x=x,
            x2=alt.value(alt.ExprRef("scale('x', 0)")),
            y=alt.value(alt.ExprRef("datum.y0")),
            y2=alt.value(alt.ExprRef("datum.y1")),
            fill=alt.Fill(
                "side:N",
                title=None,
                scale=alt.Scale(domain=series, range=looks),
                legend=alt.Legend(orient="top", direction="horizontal", columns=2, labelLimit=500),
            ),
            tooltip=[
                alt.Tooltip("measure:N", title="Measure"),
                alt.Tooltip("side:N", title="Side"),
                alt.Tooltip("text:N", title="Value"),
                alt.Tooltip("percent:Q", title="In % of today", format=".1f"),
                alt.Tooltip("low:Q", title="Interval from, %", format=".1f"),
                alt.Tooltip("high:Q", title="to, %", format=".1f"),
            ],
        ),
        base_marks.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2.5, color=theme.INK)
        .encode(x="begins:Q", x2="high:Q", y=middle),
        marks("heads")
        .mark_rule(opacity=0)
        .encode(x=alt.value(-10 - names_px), x2=alt.value(-10), y=alt.value(alt.ExprRef("datum.y"))),
        marks("heads")
        .mark_text(align="right", baseline="middle", fontWeight=600, limit=NAME_PX)
        .encode(x=alt.value(-10), y=alt.value(alt.ExprRef("datum.y")), text="text:N"),
        marks("today").mark_rule(color=theme.INK, strokeDash=[5, 4]).encode(x="percent:Q"),
        *(
            base_marks.mark_text(
                align="left", baseline="middle", dx=TEXT_GAP_PX, clip=False, stroke=theme.PAPER, strokeWidth=halo_px
            ).encode(x=alt.value(alt.ExprRef("scale('x', datum.ends)")), y=middle, text="text:N")
            for halo_px in (5, 0)
        ),
        message_layer(),
    ]
    with_interval = bool(bars["low"].notna().any())
    return drawn(
        *layers,
        data={
            "bars": bars,
            "heads": heads,
            "today": pd.DataFrame({"percent": [100.0]}),
            "message": message("" if len(bars) else "Nothing to compare"),
        },
        table=frame.reset_index(drop=True),
        label=f"{title}: {', '.join(labels)} in per cent of today.",
        title=title,
        subtitle="lines: interval of the mean difference"
        if with_interval
        else "no interval: one pair of runs, or all alike",
        height=max(len(labels), 1) * per_measure,
    )


def _end(bars: pd.DataFrame) -> alt.ExprRef:
    """Where the axis ends, in %, so that each text has room behind its bar: that depends on the width of the plot."""
    said = zip(bars["ends"].tolist(), bars["text"].tolist(), strict=True)
    wanted = {(end, round(theme.text_px(text) + 2 * TEXT_GAP_PX)) for end, text in said}
    ends = (f"{end:.6g} * width / max(width - {px}, {LEAST_PX:g})" for end, px in sorted(wanted))
    return alt.ExprRef(f"max({', '.join(['1', *ends])})")


@unchecked
def job_changes(jobs: pd.DataFrame, *, title: str = "Job by job") -> Drawing:
    """Draw by how much later (above 0) or sooner each job is done, from the one that gains most to the one that loses
    most.

    jobs: columns job, before_s, after_s, difference_s. Of more than `MOST_JOBS` every k-th is drawn; the table has all.
    The parameter `selected`, the name of a job (null: none), fades all others.
    """
    ordered = jobs.sort_values("difference_s", kind="stable").reset_index(drop=True)
    every = max(1, math.ceil(len(ordered) / MOST_JOBS))
    largest = float(ordered["difference_s"].abs().max()) if len(ordered) else 0.0
    unit = theme.time_unit(largest)
    rank = np.arange(len(ordered))
    axis: dict[str, Any] = {"tickMinStep": 1, "format": "d"}
    if len(ordered) <= MOST_NAMED:
        named = f"{json.dumps(ordered['job'].astype(str).tolist())}[floor(datum.value)]"
        axis = {"values": (rank + 0.5).tolist(), "labelExpr": named, "ticks": False, "labelLimit": 90}
        axis |= {"labelAngle": 0 if len(ordered) <= MOST_ACROSS else -60, "labelOverlap": False}
    shown = pd.DataFrame(
        {
            "job": ordered["job"].astype("str"),
            "from": rank.astype(float),
            "to": rank + float(every),
            "difference": ordered["difference_s"] / unit.seconds,
            "side": np.where(ordered["difference_s"] < 0, "done sooner", "done later"),
        }
    ).astype({"side": "str"})[::every]
    sides: Sequence[str] = ("done sooner", "done later")
    bars = (
        marks("bars")
        .mark_rect()
        .encode(
            x=alt.X(
                "from:Q",
                title="Jobs, by the difference",
                scale=alt.Scale(nice=False),
                axis=alt.Axis(grid=False, **axis),
            ),
            x2="to:Q",
            y=alt.Y("difference:Q", title=f"Difference in JCT ({unit.name})"),
            y2=alt.value(alt.ExprRef("scale('y', 0)")),
            fill=alt.Fill(
                "side:N",
                title=None,
                scale=alt.Scale(domain=list(sides), range=[SOONER, LATER]),
                legend=alt.Legend(orient="top"),
            ),
            opacity=faded(),
            tooltip=[
                alt.Tooltip("job:N", title="Job"),
                alt.Tooltip("difference:Q", title=f"Difference ({unit.name})", format="+.3~f"),
            ],
        )
    )
    zero = marks("zero").mark_rule(color=theme.INK).encode(y="difference:Q")
    return drawn(
        bars,
        zero,
        message_layer(),
        data={
            "bars": shown,
            "zero": pd.DataFrame({"difference": [0.0]}),
            "message": message("" if len(shown) else "No job finished on both sides"),
        },
        table=ordered,
        label=f"{title}: difference in completion time of each job.",
        title=title,
        subtitle=f"{len(shown):,} of {len(ordered):,} jobs drawn, at equal steps" if every > 1 else "",
        height=240,
        params={"selected": None},
    )


@unchecked
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
        [
            (name, kind, float(value))
            for kind, of in (("bound", bounds), ("schedule", schedules))
            for name, value in of.items()
        ],
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
