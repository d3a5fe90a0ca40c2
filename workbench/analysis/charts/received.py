"""Time received against the target: does the round mechanism give what the allocation promises?"""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.drawing import Drawing, Layer, drawn, marks, message, message_layer, unchecked
from workbench.analysis.charts.series import time_axis
from workbench.base.arrays import FloatArray, IntArray

MOST_POINTS = 10_000
"""With more points than this the view of all jobs shows how they are spread instead of each."""
MOST_NAMED = 21
"""Units that have a colour each: the palette with its tints and shades."""
STRIP_PX, FILLED = 110.0, 0.86
"""Height of a strip, and the part of it between the largest difference below 0 and above."""
MOST_TIMES = 300
"""Moments drawn; with more decisions than this, every k-th."""


def received_table(
    shares: pd.DataFrame, timeline: pd.DataFrame, decisions: pd.DataFrame, *, end_s: float | None = None
) -> pd.DataFrame:
    """The fraction of wall-clock time that each unit had each type, at the end of every round, beside its share.

    Columns: time_s (the next decision, or the end), since_s (when the shares in force were set: counting starts anew
    there), unit, accelerator, target and received (fractions of the time since `since_s`). A unit has a type while any
    slot of it is the unit's, whatever it does with it; gangs count once. Only (unit, type) with a target or with time
    received appear.
    """
    columns = ["time_s", "since_s", "unit", "accelerator", "target", "received"]
    if shares.empty or decisions.empty:
        return pd.DataFrame({name: [] for name in columns}).astype({"unit": "str", "accelerator": "str"})
    held = timeline[(timeline["unit"] != "") & (timeline["kind"] != "sync")]
    last_s = end_s if end_s is not None else max([float(decisions["time_s"].max()), *held["end_s"].tolist()])
    changes = shares["time_s"].to_numpy(float)[~shares["decision"].duplicated().to_numpy()]
    moments = np.unique(np.append(decisions["time_s"].to_numpy(float), last_s))
    moments = moments[(moments > changes[0]) & (moments <= last_s)]
    period = np.searchsorted(changes, moments, side="left") - 1
    since = changes[period]
    had = {
        (str(unit), str(kind)): _Held.of(part["start_s"].to_numpy(float), part["end_s"].to_numpy(float))
        for (unit, kind), part in held.groupby(["unit", "accelerator"], sort=False)
    }
    promised = _promised(shares)
    keys = list(dict.fromkeys([*promised, *had]))
    found = []
    for number, key in enumerate(keys):
        target, listed = np.zeros(len(changes)), np.zeros(len(changes), dtype=bool)
        if key in promised:
            places, share = promised[key]
            np.add.at(target, places, share)  # of both placements together, where there are two
            listed[places] = True
        seconds = np.zeros(len(moments))
        if key in had:
            seconds = had[key].until(moments) - had[key].until(since)
            listed |= np.bincount(period, seconds, len(changes)) > 0
        rows = np.flatnonzero(listed[period])
        found.append((rows, np.full(len(rows), number), target[period[rows]], seconds[rows]))
    at, which, target, seconds = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.lexsort((which, at))
    at, which = at[order], which[order]
    columns_of = {
        "time_s": moments[at],
        "since_s": since[at],
        "unit": np.array([unit for unit, _ in keys], dtype=object)[which],
        "accelerator": np.array([kind for _, kind in keys], dtype=object)[which],
        "target": target[order],
        "received": seconds[order] / (moments - since)[at],
    }
    return pd.DataFrame(columns_of).astype({"unit": "str", "accelerator": "str"})


def _promised(shares: pd.DataFrame) -> dict[tuple[str, str], tuple[IntArray, FloatArray]]:
    """For each (unit, type) in the shares: in which of their decisions, counted from 0, and how much."""
    number = pd.factorize(shares["decision"])[0]
    part = pd.DataFrame({"number": number, "share": shares["share"].to_numpy(float)})
    grouped = part.groupby([shares["unit"].to_numpy(), shares["accelerator"].to_numpy()], sort=False)
    return {
        (str(unit), str(kind)): (rows["number"].to_numpy(np.int64), rows["share"].to_numpy(float))
        for (unit, kind), rows in grouped
    }


class _Held:
    """The moments at which something is held: disjoint intervals, rising, and the seconds held before each."""

    def __init__(self, start: FloatArray, end: FloatArray) -> None:
        self.start, self.end = start, end
        self.before = np.concatenate(([0.0], np.cumsum(end - start)))

    @classmethod
    def of(cls, start: FloatArray, end: FloatArray) -> _Held:
        """From intervals that may overlap."""
        order = np.argsort(start, kind="stable")
        start, reach = start[order], np.maximum.accumulate(end[order])
        first = np.concatenate(([True], start[1:] > reach[:-1]))
        return cls(start[first], reach[np.append(np.flatnonzero(first)[1:] - 1, len(reach) - 1)])

    def until(self, times: FloatArray) -> FloatArray:
        """Seconds held before each time."""
        i = np.searchsorted(self.start, times, side="right")
        inside = np.where(i > 0, np.maximum(self.end[np.maximum(i - 1, 0)] - times, 0.0), 0.0)
        found: FloatArray = self.before[i] - inside
        return found


@unchecked
def received(table: pd.DataFrame, job: str | None = None) -> Drawing:
    """Draw `received_table`: for one job, received (solid) and target (dashed) by type; else received minus target.

    In the view of all jobs each line is one (job, type); they meet at 0 where every job gets what it was promised. Up
    to `MOST_NAMED` jobs and pairs have a colour each and a strip for each type, more are coloured by type. With more
    than 300 moments every k-th is drawn; with more than 10,000 points the median over jobs and a band from the 5th to
    the 95th percentile, by type. Parameter `selected` as in `gantt`.
    """
    part = table if job is None else table[[job in unit.split(" + ") for unit in table["unit"]]]
    drawn_rows = _from_the_start(_thinned(part))
    unit = theme.time_unit(float(part["time_s"].max()) if len(part) else 1.0)
    types = list(table["accelerator"].unique())
    colour = theme.type_colours(types)
    scale = alt.Scale(domain=types, range=[colour[name] for name in types]) if types else alt.Undefined
    rows = drawn_rows.assign(
        t=drawn_rows["time_s"] / unit.seconds,
        short=drawn_rows["received"] - drawn_rows["target"],
        job=[name.partition(" + ")[0] for name in drawn_rows["unit"]],
        with_job=[name.partition(" + ")[2] for name in drawn_rows["unit"]],
        line=drawn_rows["unit"] + " | " + drawn_rows["accelerator"],
    ).astype({"job": "str", "with_job": "str", "line": "str"})
    subtitle, data, height = "", {}, 300.0
    if job is None and len(rows) > MOST_POINTS:
        rows = _spread(rows)
        subtitle = "median over jobs, and from the 5th to the 95th percentile; select a job to see its own"
        base = marks("received")
        x, colours = time_axis(unit), alt.Color("accelerator:N", title="GPU type", scale=scale)
        layers = [
            base.mark_area(opacity=0.25, interpolate="linear").encode(x=x, y=_short("low"), y2="high:Q", color=colours),
            base.mark_line(strokeWidth=2, interpolate="linear").encode(x=x, y=_short("middle"), color=colours),
        ]
        heading = "Time received minus target, over all jobs"
    elif job is None and 0 < rows["unit"].nunique() <= MOST_NAMED:
        rows, strips, layers = _strips(rows, types, unit)
        data["strips"] = strips
        heading = "Time received minus target, every job, by type"
        height = max(height, STRIP_PX * len(types))
    elif job is None:
        base = marks("received").mark_line(strokeWidth=1.6, interpolate="linear")
        chosen = "!selected || datum.job === selected || datum.with_job === selected"
        layers = [
            base.encode(
                x=time_axis(unit),
                y=_short("short"),
                color=alt.Color("accelerator:N", title="GPU type", scale=scale),
                detail=["line:N", "since_s:Q"],
                opacity=alt.condition(chosen, alt.value(0.75), alt.value(0.08)),
            )
        ]
        heading = "Time received minus target, every job and type"
    else:
        long = pd.concat(
            [rows.assign(what="received", value=rows["received"]), rows.assign(what="target", value=rows["target"])],
            ignore_index=True,
        )
        rows = long.drop(columns=["short"])
        layers = [
            marks("received")
            .mark_line(interpolate="linear")
            .encode(
                x=time_axis(unit),
                y=alt.Y("value:Q", title="Share of time since the last change", scale=alt.Scale(domain=[0, 1])),
                color=alt.Color("accelerator:N", title="GPU type", scale=scale),
                strokeDash=alt.StrokeDash(
                    "what:N", title=None, scale=alt.Scale(domain=["received", "target"], range=[[1, 0], [6, 4]])
                ),
                detail=["line:N", "since_s:Q"],
            )
        ]
        heading = f"Time received by {job}"
    text = "" if len(part) else "No shares" if job is None or table.empty else f"No shares of {job}"
    return drawn(
        *layers,
        message_layer(),
        data={"received": rows, "message": message(text), **data},
        table=part.reset_index(drop=True),
        label=f"{heading}, over time.",
        title=heading,
        height=height,
        subtitle=subtitle,
        params={"selected": None},
    )


def _strips(
    rows: pd.DataFrame, types: list[str], unit: theme.TimeUnit
) -> tuple[pd.DataFrame, pd.DataFrame, list[Layer]]:
    """Small multiples in one plot: a strip per type, 0 in its middle, all to the same scale; a colour per unit."""
    most = max(0.05, float(rows["short"].abs().max()))
    place = {name: i for i, name in enumerate(types)}
    strip = rows["accelerator"].map(place)
    rows = rows.assign(at=strip + 0.5 - FILLED / 2 * rows["short"] / most)
    strips = pd.DataFrame({"accelerator": types, "middle": [i + 0.5 for i in range(len(types))]})
    units = list(dict.fromkeys(rows["unit"]))
    colours = theme.job_colours(units)
    ticks = [i + 0.5 + side * FILLED / 2 for i in range(len(types)) for side in (-1, 0, 1)]
    labels = f"format((0.5 - datum.value + floor(datum.value)) * {2 * most / FILLED:.6g}, '+.2~f')"
    y = alt.Y(
        "at:Q",
        title="Received − target (share of time)",
        scale=alt.Scale(domain=[0, len(types)], nice=False, zero=False, reverse=True),
        axis=alt.Axis(values=ticks, labelExpr=labels, labelOverlap=False),
    )
    chosen = "!selected || datum.job === selected || datum.with_job === selected"
    lines = (
        marks("received")
        .mark_line(strokeWidth=1.8, interpolate="linear")
        .encode(
            x=time_axis(unit),
            y=y,
            color=alt.Color(
                "unit:N",
                title=None,
                scale=alt.Scale(domain=units, range=[colours[name] for name in units]),
                legend=alt.Legend(columns=3 if any(" + " in name for name in units) else 5),
            ),
            detail=["line:N", "since_s:Q"],
            opacity=alt.condition(chosen, alt.value(0.9), alt.value(0.08)),
        )
    )
    middle = marks("strips").mark_rule(color=theme.MUTED).encode(y=alt.Y("middle:Q"))
    names = (
        marks("strips")
        .mark_text(align="right", baseline="bottom", fontWeight=600, dy=-FILLED * STRIP_PX / 2 + theme.LABEL_PX)
        .encode(x=alt.value(alt.ExprRef("width - 4")), y=alt.Y("middle:Q"), text="accelerator:N")
    )
    return rows, strips, [middle, lines, names]


def _short(column: str) -> Any:
    return alt.Y(f"{column}:Q", title="Received − target (share of time)", axis=alt.Axis(format="+.2~f"))


def _spread(rows: pd.DataFrame) -> pd.DataFrame:
    """Percentiles of received minus target over the jobs of each moment and type: columns low, middle, high."""
    found = rows.groupby(["accelerator", "t"])["short"].quantile(np.array([0.05, 0.5, 0.95])).unstack()
    return found.set_axis(["low", "middle", "high"], axis="columns").reset_index()


def _from_the_start(table: pd.DataFrame) -> pd.DataFrame:
    """Each line begins where counting began, at the value of its first round."""
    first = table.drop_duplicates(["since_s", "unit", "accelerator"])
    return pd.concat([first.assign(time_s=first["since_s"]), table], ignore_index=True)


def _thinned(table: pd.DataFrame) -> pd.DataFrame:
    """At most about MOST_TIMES moments, the last of each period always among them."""
    times = np.unique(table["time_s"].to_numpy(float))
    every = max(1, -(-len(times) // MOST_TIMES))
    if every == 1:
        return table
    ends = table.groupby("since_s")["time_s"].max()
    keep = set(times[::every].tolist()) | set(ends.tolist())
    return table[table["time_s"].isin(keep)]
