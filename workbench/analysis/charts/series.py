"""Numbers over time as step lines: exact sums, thinned exactly where there are too many; queues, fragments (GPUs that
are idle while jobs wait), prices, and what a scheduler went by.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.drawing import PADDING_PX, Drawing, drawn, marks, message, message_layer, unchecked
from workbench.analysis.charts.gantt import left_px
from workbench.analysis.metrics.over_time import at_change
from workbench.base.labels import words_of
from workbench.base.units import format_duration
from workbench.scenario.cluster import Cluster
from workbench.simulation.schema import PRICE_OF


def time_axis(unit: theme.TimeUnit) -> alt.X:
    """The x axis of time from 0 in a unit that the title states."""
    return alt.X(
        "t:Q",
        title=f"Time ({unit.name})",
        scale=alt.Scale(nice=False, zero=True),
        axis=alt.Axis(grid=False, format=",~r", tickCount=alt.ExprRef("max(2, min(12, width / 80))")),
    )


def bin_note(width_s: float) -> str:
    """What a subtitle says of bins; nothing if there are none."""
    return f"means over bins of {format_duration(width_s, parts=2)}" if width_s else ""


@unchecked
def over_time(
    frame: pd.DataFrame,
    y: str | Mapping[str, str],
    unit: str,
    *,
    series: str | None = None,
    end_s: float | None = None,
    y_title: str = "",
    whole: bool = False,
    log: bool = False,
    colours: Mapping[str, str] | None = None,
    left_px: float = 0.0,
    title: str = "",
    height: float = 280,
) -> Drawing:
    """Draw numbers that hold from each row's time to the next one.

    y: a column, or columns with the names their lines get; unit: of y, for the axis (empty for a bare number);
    series: a column that names the line a row belongs to, when y is one column; end_s: until when the last value holds;
    whole: y is a count, no ticks between whole numbers; log: a logarithmic axis, for values above 0; colours: of the
    lines, by name; left_px: at least so many pixels left of the plot (to stand under another chart). A line of more
    than `MOST_POINTS` steps becomes exact means of equal bins, as the subtitle says.
    """
    long = _long(frame, y, series)
    names = list(long["series"].unique())
    last_s = max([end_s or 0.0, *long["time_s"].tolist()])
    axis = theme.time_unit(last_s)
    tables, width_s = [], 0.0
    for name in names:
        part = long[long["series"] == name].dropna(subset=["value"]).sort_values("time_s", kind="stable")
        if part.empty:
            continue
        times = part["time_s"].to_numpy(float)
        at, values, bin_s = at_change(times, part["value"].to_numpy(float), last_s)
        width_s = max(width_s, bin_s)
        at, values = np.append(at, last_s), np.append(values, values[-1])
        tables.append(pd.DataFrame({"series": name, "time_s": at, "t": at / axis.seconds, "value": values}))
    lines = pd.concat(tables, ignore_index=True) if tables else long.head(0).assign(t=long["time_s"].head(0))
    y_name = y_title or (y if isinstance(y, str) else "Value")
    y_title = f"{y_name} ({unit})" if unit else y_name
    usual, dashes = theme.series_look(names)
    shades = [(colours or {}).get(name, colour) for name, colour in zip(names, usual, strict=True)]
    y_axis: dict[str, Any] = {"format": "~g", "tickCount": 5, "grid": False} if log else {"format": ",~r"}
    look: dict[str, Any] = {}
    if len(names) > 1:
        look["color"] = alt.Color("series:N", title=None, scale=alt.Scale(domain=names, range=shades))
        look["strokeDash"] = alt.StrokeDash("series:N", title=None, scale=alt.Scale(domain=names, range=dashes))
    line = (
        marks("lines")
        .mark_line(interpolate="step-after", color=shades[0] if shades else theme.SERIES_PALETTE[0])
        .encode(
            x=time_axis(axis),
            y=alt.Y(
                "value:Q",
                title=y_title,
                scale=alt.Scale(type="log", nice=False) if log else alt.Undefined,
                axis=alt.Axis(**y_axis, tickMinStep=1 if whole else 0),
            ),
            **look,
        )
    )
    edge = marks("edge").mark_rule(opacity=0, clip=False).encode(x=alt.value(alt.ExprRef("-datum.px")), y=alt.value(0))
    return drawn(
        line,
        *([edge] if left_px else []),
        message_layer(),
        data={
            "lines": lines,
            "message": message("" if len(lines) else "No values"),
            **({"edge": pd.DataFrame({"px": [left_px]})} if left_px else {}),
        },
        table=lines[["series", "time_s", "value"]],
        label=f"{title or y_name} over time.",
        title=title or f"{y_name} over time",
        subtitle=bin_note(width_s),
        height=height,
    )


def _long(frame: pd.DataFrame, y: str | Mapping[str, str], series: str | None) -> pd.DataFrame:
    """Columns series, time_s, value."""
    if isinstance(y, str):
        names = frame[series].astype("str") if series else pd.Series(y, index=frame.index, dtype="str")
        return pd.DataFrame({"series": names, "time_s": frame["time_s"].astype(float), "value": frame[y].astype(float)})
    parts = [
        pd.DataFrame({"series": name, "time_s": frame["time_s"].astype(float), "value": frame[column].astype(float)})
        for column, name in y.items()
    ]
    return pd.concat(parts, ignore_index=True).astype({"series": "str"})


def queue(decisions: pd.DataFrame, *, end_s: float | None = None) -> Drawing:
    """Draw the jobs that wait without GPUs, and all that are active, after each decision."""
    lines = {"waiting_jobs": "waiting for GPUs", "active_jobs": "arrived and unfinished"}
    return over_time(decisions, lines, "", y_title="Jobs", whole=True, end_s=end_s, title="Jobs in the cluster")


AFTER, MEAN = "after each decision", "mean of the round"


@unchecked
def fragments_by_round(decisions: pd.DataFrame, *, round_s: float | None, end_s: float) -> Drawing:
    """Draw the fragments after each decision of a run, and with rounds what they are on average in each."""
    table = pd.DataFrame({"time_s": decisions["time_s"], "idle": idle_while_waiting(decisions), "line": AFTER})
    if round_s is not None:
        means = round_means(decisions, round_s=round_s, end_s=end_s).assign(line=MEAN)
        table = pd.concat([table, means], ignore_index=True)
    title = "Fragments: idle GPUs while jobs wait"
    return over_time(table, "idle", "GPUs", series="line", end_s=end_s, y_title="Fragments", title=title)


def idle_while_waiting(decisions: pd.DataFrame) -> pd.Series[float]:
    """The idle GPUs after each decision, 0 where no job waits."""
    idle = (decisions["up_gpus"] - decisions["busy_gpus"]).clip(lower=0)
    return idle.where(decisions["waiting_jobs"] > 0, 0).astype(float)


def round_means(decisions: pd.DataFrame, *, round_s: float, end_s: float) -> pd.DataFrame:
    """The fragments of each round on average over its time: columns time_s (when it begins), idle.

    What a decision leaves holds until the next one; the last round ends with the run.
    """
    edges = np.append(np.arange(math.ceil(end_s / round_s)) * round_s, end_s)
    times = decisions["time_s"].to_numpy(float)
    if len(edges) < 2 or not len(times):
        return pd.DataFrame({"time_s": [], "idle": []}, dtype=float)
    last = np.append(times[1:] > times[:-1], True)  # of decisions at one time the last one counts
    starts = np.concatenate([[0.0], times[last], [max(end_s, times[-1])]])
    values = np.concatenate([[0.0], idle_while_waiting(decisions).to_numpy()[last]])
    area = np.concatenate([[0.0], np.cumsum(values * np.diff(starts))])
    return pd.DataFrame({"time_s": edges[:-1], "idle": np.diff(np.interp(edges, starts, area)) / np.diff(edges)})


def is_price(signals: pd.DataFrame) -> pd.Series[bool]:
    """Which rows of a run's signals are prices of types."""
    return signals["signal"].str.startswith(PRICE_OF).astype(bool)


def price_course(signals: pd.DataFrame) -> pd.DataFrame:
    """Prices after each decision that set any, from the signals of a run: columns time_s, type, price."""
    rows = signals[is_price(signals)].drop_duplicates(["time_s", "signal"])
    table = rows.assign(type=rows["signal"].str.removeprefix(PRICE_OF), price=rows["value"])
    return table[["time_s", "type", "price"]].reset_index(drop=True)


@unchecked
def prices(signals: pd.DataFrame, *, cluster: Cluster, end_s: float, inset_px: float = 0.0) -> Drawing:
    """Draw what a GPU of each type costs, on a logarithmic axis: a price holds from its decision to the next one.

    signals: as a run has them; inset_px: pixels that the chart has less on each side than the Gantt chart by GPU, up to
    its right padding. The plot begins and ends where the Gantt chart's does.
    """
    course = price_course(signals)
    priced = [name for name in cluster.types if name in set(course["type"])]
    in_order = course.assign(type=pd.Categorical(course["type"], priced)).sort_values(["type", "time_s"])
    drawing = over_time(
        in_order,
        "price",
        "",
        series="type",
        end_s=end_s,
        y_title="Utility per GPU and round",
        log=True,
        colours=theme.type_colours(cluster.types),
        left_px=left_px(cluster) - inset_px,
        title="Price of a GPU",
        height=220,
    )
    drawing.chart.padding = {**PADDING_PX, "right": max(0.0, PADDING_PX["right"] - inset_px)}
    return drawing


MOST_NAMED = 21
"""With more jobs than colours a legend would name several alike: there is none."""
MOST_TIMES = 400
"""Moments drawn; with more decisions than this, every k-th."""


@unchecked
def signals(table: pd.DataFrame, jobs: pd.DataFrame, *, end_s: float) -> Drawing:
    """Draw recorded numbers as step lines, one for each job and signal.

    table: columns signal, job, time_s, value, each in force until the job's next one, its end or `end_s`. Several
    signals share the axis and differ by line pattern. Parameter `selected` as in `gantt`.
    """
    names = list(dict.fromkeys(table["signal"]))
    spoken = ", ".join(map(words_of, names))
    colours = theme.job_colours(jobs["job"])
    shown = [job for job in colours if job in set(table["job"])]
    unit = theme.time_unit(end_s)
    lines = _with_ends(_every_kth(table), jobs, end_s)
    lines = lines.assign(t=lines["time_s"] / unit.seconds)
    legend = alt.Legend(columns=6) if len(shown) <= MOST_NAMED else None
    look: dict[str, Any] = {
        "color": alt.Color(
            "job:N", title=None, scale=alt.Scale(domain=shown, range=[colours[job] for job in shown]), legend=legend
        )
    }
    if len(names) > 1:
        _, dashes = theme.series_look(names)
        look["strokeDash"] = alt.StrokeDash("signal:N", title=None, scale=alt.Scale(domain=names, range=dashes))
    line = (
        marks("lines")
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=time_axis(unit),
            y=alt.Y("value:Q", title=spoken, axis=alt.Axis(labelExpr=theme.NUMBER_EXPR)),
            detail=["signal:N", "job:N"],
            opacity=alt.condition("!selected || datum.job === selected", alt.value(0.9), alt.value(theme.FADED)),
            tooltip=[alt.Tooltip("job:N", title="Job"), alt.Tooltip("signal:N", title="Signal")],
            **look,
        )
    )
    return drawn(
        line,
        message_layer(),
        data={"lines": lines, "message": message("" if len(table) else "No values")},
        table=table.reset_index(drop=True),
        label=f"{spoken} of each job over time.",
        title=f"What the scheduler went by: {spoken}",
        height=280,
        params={"selected": None},
    )


def _with_ends(table: pd.DataFrame, jobs: pd.DataFrame, end_s: float) -> pd.DataFrame:
    """The last value of each line again where it ends."""
    table = table[["signal", "job", "time_s", "value"]].sort_values("time_s", kind="stable")
    finish_s = jobs.set_index("job")["finish_s"].fillna(end_s).clip(upper=end_s)
    last = table.drop_duplicates(["signal", "job"], keep="last")
    last = last.assign(time_s=np.maximum(last["job"].map(finish_s), last["time_s"]))
    return pd.concat([table, last], ignore_index=True)


def _every_kth(table: pd.DataFrame) -> pd.DataFrame:
    times = np.unique(table["time_s"].to_numpy(float))
    every = -(-len(times) // MOST_TIMES)
    return table if every <= 1 else table[table["time_s"].isin(times[::every])]


def latest(signals: pd.DataFrame, signal: str) -> pd.Series[float]:
    """The last value of a signal for each job, of rows in the order of time."""
    rows = signals[signals["signal"] == signal].drop_duplicates("job", keep="last")
    return rows.set_index("job")["value"]
