"""Rows with a name before the plot and columns of numbers behind it, as a table has them: what is drawn and what it is
made of side by side. Bars in such rows: lower bounds and schedules, the GPUs of each job, a queue and its window.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import altair as alt
import numpy as np
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.drawing import (
    Drawing,
    Layer,
    Marks,
    begun,
    drawn,
    ghosts,
    marks,
    message,
    message_layer,
    so_far,
    unchecked,
)
from workbench.analysis.charts.series import latest
from workbench.base.errors import InputError, counted
from workbench.base.rounding import short_number
from workbench.scenario.cluster import Cluster

ROW_PX, MOST_HEIGHT_PX = 24.0, 620.0
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


MOST_ROWS = 100
"""Of more jobs so many are drawn, from the head of the queue."""


def gangs_at(timeline: pd.DataFrame, signals: pd.DataFrame, at_s: float) -> pd.DataFrame:
    """What each unfinished job has just after a time, and what a plan with weights and gains went by.

    signals: of a run that records the priority of every unfinished job at each decision. One row for each job and type
    of GPU that it has (one without a type if it has none), the highest priority first: columns job, priority, weight,
    gain (NaN where none is recorded; a gain of jobs with GPUs only), accelerator, gpus.
    """
    before = signals[signals["time_s"] <= at_s]
    priority = before[before["signal"] == "priority"]
    priority = priority[priority["decision"] == priority["decision"].max()]
    jobs = priority.sort_values("value", ascending=False, kind="stable")[["job", "value"]]
    jobs = jobs.rename(columns={"value": "priority"})
    works = timeline["kind"].isin(["run", "restart"])
    now = timeline[works & (timeline["start_s"] <= at_s) & (timeline["end_s"] > at_s)]
    held = now.groupby(["job", "accelerator"], sort=False).size().rename("gpus").reset_index()
    table = jobs.merge(held, on="job", how="left")
    gain = table["job"].map(latest(before, "gain")).where(table["gpus"].notna())
    table.insert(2, "weight", table["job"].map(latest(before, "weight")).astype(float))
    table.insert(3, "gain", gain.astype(float))
    filled: pd.DataFrame = table.fillna({"accelerator": "", "gpus": 0}).astype({"gpus": int})
    return filled


@unchecked
def gangs(table: pd.DataFrame, *, cluster: Cluster, title: str = "GPUs of each job") -> Drawing:
    """Draw `gangs_at`: a bar for each job, coloured by type of GPU, with priority, weight, gain and what they add.

    Parameter `selected` as in `gantt`.
    """
    jobs = table.drop_duplicates("job")
    shown = jobs.head(MOST_ROWS)
    names = shown["job"].tolist()
    row = {name: i for i, name in enumerate(names)}
    bars = table[table["job"].isin(row) & (table["gpus"] > 0)]
    high = bars.groupby("job")["gpus"].cumsum()
    bars = bars.assign(row=bars["job"].map(row), low=high - bars["gpus"], high=high)
    colours = theme.type_colours(cluster.types)
    opacity = alt.condition("!selected || datum.job === selected", alt.value(1), alt.value(theme.FADED))
    bar = row_bars(
        marks("bars"),
        len(names),
        "accelerator",
        colours,
        x=alt.X(
            "low:Q",
            title="GPUs",
            scale=alt.Scale(zero=True, nice=False),
            axis=alt.Axis(format=",~r", tickMinStep=1, grid=True),
        ),
        x2="high:Q",
        opacity=opacity,
        tooltip=[
            alt.Tooltip("job:N", title="Job"),
            alt.Tooltip("accelerator:N", title="GPU type"),
            alt.Tooltip("gpus:Q", title="GPUs"),
            alt.Tooltip("weight:Q", title="Weight", format=".4~r"),
            alt.Tooltip("gain:Q", title="Gain", format=".4~r"),
        ],
    )
    values = {
        "Priority": shown["priority"],
        "Weight W": shown["weight"],
        "Gain G": shown["gain"],
        "W x G": shown["weight"] * shown["gain"],
    }
    known = {head: column for head, column in values.items() if column.notna().any()}
    columns = {head: [short_number(value) for value in column] for head, column in known.items()}
    return drawn(
        bar,
        *row_layers(opacity),
        message_layer(),
        data={
            "bars": bars,
            **row_texts(names, columns),
            "message": message("" if len(bars) else "No job has GPUs"),
        },
        table=table,
        label=f"{title}: a bar for each unfinished job, the highest priority first, coloured by type.",
        title=title,
        subtitle=_gangs_subtitle(table, cluster, len(jobs)),
        height=round(row_px(len(names)) * max(len(names), 4), 2),
        params={"selected": None},
    )


def _gangs_subtitle(table: pd.DataFrame, cluster: Cluster, jobs: int) -> str:
    served = table[table["gpus"] > 0]
    count, gain = served["job"].nunique(), served.drop_duplicates("job")["gain"].sum()
    said = f"{count} of {jobs} jobs have {int(served['gpus'].sum())} of {cluster.gpus} GPUs"
    said += f", summed gain {gain:.1f}" if gain > 0 else ""
    return said + (f"; the first {MOST_ROWS} jobs are drawn" if jobs > MOST_ROWS else "")


INSIDE, LATER, LET_IN, OUTSIDE = "service window", "window of a later plan", "let in onto fragments", "outside"
COLOURS = {INSIDE: theme.PALETTE[0], LATER: theme.PALETTE[4], LET_IN: theme.PALETTE[1], OUTSIDE: "#c9ced6"}
QUEUE_SIGNALS = ("place", "window", "let_in")
"""What a scheduler with such a queue records of the jobs in it, at each decision that looks at the queue: `place` from
1, `window` and, of jobs that were, `let_in`."""
MARK = " *"
"""Behind the sensitivity of a sensitive job: it is kept on one server."""


@unchecked
def service_window(queue: pd.DataFrame, *, gpus: int, title: str = "Service window of the queue") -> Drawing:
    """Draw the smallest requests of a queue, summed from its head, against the GPUs of the cluster.

    queue: one row for each job from the head on, columns job, least_gpus, summed_gpus, window (number of the plan in
    whose window it is, or true; 0 or false: in none), adjusted (let in behind the window), sensitivity, sensitive,
    latency_ratio. Parameter `selected` as in `gantt`.
    """
    table = queue.reset_index(drop=True)
    table["who"] = [_who(*row) for row in zip(table["window"], table["adjusted"], strict=True)]
    shown = table.head(MOST_ROWS)
    rows = len(shown)
    bars = shown.assign(row=np.arange(rows), low=shown["summed_gpus"] - shown["least_gpus"])
    columns = {
        "Sensitivity": [
            "" if pd.isna(rho) else f"{rho:.3f}{MARK if hot else '  '}"
            for rho, hot in zip(shown["sensitivity"], shown["sensitive"], strict=True)
        ],
        "Latency ratio": [f"{ratio:.3g}" for ratio in shown["latency_ratio"]],
    }
    opacity = alt.condition("!selected || datum.job === selected", alt.value(1), alt.value(theme.FADED))
    bar = row_bars(
        marks("bars"),
        rows,
        "who",
        present(COLOURS, shown["who"]),
        x=alt.X(
            "low:Q",
            title="Smallest requests, summed (GPUs)",
            scale=alt.Scale(zero=True, nice=False),
            axis=alt.Axis(format=",~r", tickMinStep=1, grid=False),
        ),
        x2="summed_gpus:Q",
        opacity=opacity,
        tooltip=[
            alt.Tooltip("job:N", title="Job"),
            alt.Tooltip("who:N", title="Is"),
            alt.Tooltip("least_gpus:Q", title="Smallest request (GPUs)"),
            alt.Tooltip("summed_gpus:Q", title="Summed (GPUs)"),
            alt.Tooltip("sensitivity:Q", title="Sensitivity", format=".3f"),
            alt.Tooltip("latency_ratio:Q", title="Latency ratio", format=".3f"),
        ],
    )
    total = marks("total")
    end = [
        total.mark_rule(color=theme.INK, strokeDash=[6, 4], strokeWidth=1.5).encode(x="gpus:Q"),
        total.mark_text(align="right", baseline="bottom", dy=-6).encode(x="gpus:Q", y=alt.value(0), text="text:N"),
    ]
    return drawn(
        bar,
        *end,
        *row_layers(opacity),
        message_layer(),
        data={
            "bars": bars,
            "total": pd.DataFrame({"gpus": [gpus], "text": [f"{gpus} GPUs"]}).head(rows),
            **row_texts(shown["job"].tolist(), columns),
            "message": message("" if rows else "Nobody waits"),
        },
        table=table,
        label=f"{title}: the jobs of the queue, their smallest requests summed, and who is inside the window.",
        title=title,
        subtitle=_window_subtitle(table),
        height=round(row_px(rows) * max(rows, 4), 2),
        params={"selected": None},
    )


def queue_at(signals: pd.DataFrame, least: dict[str, int], sigma: float, at_s: float) -> pd.DataFrame:
    """The queue of the last plan up to a time, as `service_window` takes it.

    signals: of a run that records place and window; least: the smallest request of each job; sigma: from which
    sensitivity on a job is sensitive.
    """
    before = signals[signals["time_s"] <= at_s]
    places = before[before["signal"] == "place"]
    places = places[places["decision"] == places["decision"].max()].sort_values("value", kind="stable")
    names = places["job"].tolist()
    now = before[before["decision"] == (places["decision"].iloc[0] if len(places) else -1)]

    def of(signal: str) -> pd.Series[float]:
        return now[now["signal"] == signal].set_index("job")["value"].reindex(names)

    rho = latest(before, "sensitivity").reindex(names)
    table = pd.DataFrame(
        {
            "place": np.arange(1, len(names) + 1),
            "job": names,
            "least_gpus": [least[name] for name in names],
            "window": of("window").fillna(0).astype(int).tolist(),
            "adjusted": of("let_in").fillna(0).gt(0).tolist(),
            "sensitivity": rho.tolist(),
            "sensitive": rho.gt(sigma).tolist(),
            "latency_ratio": of("latency_ratio").tolist(),
        }
    )
    table.insert(3, "summed_gpus", table["least_gpus"].cumsum())
    return table


def longest_queue_s(signals: pd.DataFrame) -> float:
    """The time of the first plan with as many jobs in the queue as any has."""
    waiting = signals[signals["signal"] == "place"].groupby("time_s")["job"].nunique()
    return float(waiting.index.to_numpy(float)[int(waiting.to_numpy().argmax())])


def _who(window: float, adjusted: bool) -> str:
    if window:
        return INSIDE if window == 1 else LATER
    return LET_IN if adjusted else OUTSIDE


def _window_subtitle(table: pd.DataFrame) -> str:
    """What the adjustment compares, and what the mark means; nothing without sensitivities."""
    known = table.dropna(subset=["sensitivity"])
    inside = known[known["who"] == INSIDE]
    if inside.empty:
        return ""
    notes = [f"mean sensitivity {inside['sensitivity'].mean():.2f} inside"]
    if len(known) == len(table):
        notes.append(f"{known['sensitivity'].mean():.2f} in the whole queue")
    if known["sensitive"].any():
        notes.append("*: sensitive, kept on one server")
    if len(table) > MOST_ROWS:
        notes.append(f"the first {MOST_ROWS} of {len(table)} jobs")
    return "; ".join(notes)
