"""GPUs over time, stacked: by type of accelerator, by entity, by what they are for."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.bars_in_rows import present
from workbench.analysis.charts.curves import TICKS
from workbench.analysis.charts.deadlines import BARS, GUARANTEED, PROFILING, SPOT
from workbench.analysis.charts.drawing import Drawing, Layer, drawn, marks, message, message_layer, unchecked
from workbench.analysis.charts.series import MOST_TIMES, bin_note, time_axis
from workbench.analysis.metrics.over_time import MOST_POINTS, at_change, held_gpus
from workbench.scenario.cluster import Cluster


@unchecked
def bands(frame: pd.DataFrame, *, title: str, x_title: str, y_title: str) -> Drawing:
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
        height=300,
    )


@unchecked
def utilisation(timeline: pd.DataFrame, *, cluster: Cluster, end_s: float, height: float = 280) -> Drawing:
    """Draw the GPUs held over time, types stacked in the cluster's order, with a line at the cluster's GPUs.

    Exact at every change; with more than `MOST_POINTS` of them exact means of equal bins, whose width the subtitle
    says.
    """
    held, width_s = held_gpus(timeline, end_s)
    names, unit = list(cluster.types), theme.time_unit(end_s)
    shades = list(theme.type_colours(names).values())
    key = alt.Color("accelerator:N", title="GPU type", scale=alt.Scale(domain=names, range=shades))
    areas = _stacked_types(held, names, end_s)
    return drawn(
        _stacked("held", unit, cluster.gpus, "GPUs in use").encode(color=key),
        *_ceiling(),
        message_layer(),
        data={"held": areas.assign(t=areas["time_s"] / unit.seconds), **_beside(held, cluster.gpus)},
        table=held,
        label="GPUs in use over time by accelerator type.",
        title="GPUs in use",
        subtitle=bin_note(width_s),
        height=height,
    )


def _stacked(data: str, unit: theme.TimeUnit, gpus: int, y_title: str) -> Any:
    """Areas from `low` to `high` over `t`, on an axis up to all GPUs that there are."""
    scale, axis = alt.Scale(domain=[0, gpus], nice=False), alt.Axis(tickMinStep=1, format=",~r")
    area = marks(data).mark_area(interpolate="step-after", line=False, strokeWidth=0)
    return area.encode(x=time_axis(unit), y=alt.Y("low:Q", title=y_title, scale=scale, axis=axis), y2="high:Q")


def _beside(found: pd.DataFrame, gpus: int) -> dict[str, pd.DataFrame]:
    """The data of the ceiling and of the message."""
    return {
        "capacity": pd.DataFrame({"gpus": [gpus], "text": [f"{gpus} GPUs"]}),
        "message": message("" if len(found) else "Nothing ran"),
    }


def _ceiling() -> list[Layer]:
    """A line at all GPUs that there are, and its text."""
    ceiling = marks("capacity")
    return [
        ceiling.mark_rule(color=theme.INK, strokeDash=[6, 4], strokeWidth=1.5).encode(y="gpus:Q"),
        ceiling.mark_text(align="right", baseline="bottom", dy=-3, dx=-2, clip=False).encode(
            x=alt.value(alt.ExprRef("width")), y="gpus:Q", text="text:N"
        ),
    ]


def _stacked_types(held: pd.DataFrame, names: list[str], last_s: float) -> pd.DataFrame:
    """Lower and upper edge of each type's area; the last value is drawn on to the end."""
    low: pd.Series[float] | float = 0.0
    tables = []
    for name in names:
        part = held[held["accelerator"] == name].reset_index(drop=True)
        if part.empty:
            continue
        end = part.tail(1).assign(time_s=last_s)
        part = pd.concat([part, end], ignore_index=True)
        high = part["gpus"] + low
        tables.append(part.assign(low=low, high=high))
        low = high
    if not tables:
        return held.assign(low=np.nan, high=np.nan)
    return pd.concat(tables, ignore_index=True)


IDLE = "idle"
COLOURS = {PROFILING: BARS[PROFILING], GUARANTEED: BARS[GUARANTEED], SPOT: BARS[SPOT], IDLE: theme.LANE}
"""From the bottom to the top."""


@unchecked
def logical_clusters(sizes: pd.DataFrame, *, gpus: int, end_s: float, subtitle: str = "") -> Drawing:
    """Draw clusters stacked over time, with a line at all GPUs that there are.

    sizes: columns time_s, cluster, gpus (from then on); one that has no row at a time keeps its size. With
    more than `MOST_POINTS` times exact means over equal bins are drawn.
    """
    look, title = COLOURS, "GPUs of the logical clusters"
    names = list(present(look, sizes["cluster"]))
    names += [name for name in dict.fromkeys(sizes["cluster"]) if name not in look]
    shades = [look.get(name, theme.PALETTE[i % len(theme.PALETTE)]) for i, name in enumerate(names)]
    key = alt.Color("cluster:N", title=None, scale=alt.Scale(domain=names, range=shades) if names else alt.Undefined)
    tips = [alt.Tooltip("cluster:N", title="Cluster"), alt.Tooltip("gpus:Q", title="GPUs", format=".3~r")]
    unit = theme.time_unit(end_s)
    areas, thinned_s = _stacked_clusters(sizes, names, end_s)
    edge = marks("logical_clusters").mark_line(interpolate="step-after", strokeWidth=1, color=theme.PAPER)
    return drawn(
        _stacked("logical_clusters", unit, gpus, "GPUs").encode(color=key, tooltip=tips),
        edge.encode(x="t:Q", y="high:Q", detail="cluster:N"),
        *_ceiling(),
        message_layer(),
        data={"logical_clusters": areas.assign(t=areas["time_s"] / unit.seconds), **_beside(sizes, gpus)},
        table=sizes.reset_index(drop=True),
        label=f"{title} over time, stacked: {', '.join(names)}.",
        title=title,
        subtitle="; ".join(filter(None, [subtitle, bin_note(thinned_s)])),
        height=280,
    )


def _stacked_clusters(sizes: pd.DataFrame, names: list[str], end_s: float) -> tuple[pd.DataFrame, float]:
    """Columns time_s, cluster, gpus, low, high at every time of any cluster and at the end; the width of bins in s."""
    if sizes.empty:
        columns = ["time_s", "cluster", "gpus", "low", "high"]
        return pd.DataFrame({name: pd.Series(dtype="str" if name == "cluster" else float) for name in columns}), 0.0
    wide = sizes.pivot_table(index="time_s", columns="cluster", values="gpus", aggfunc="last")
    wide = wide.ffill().fillna(0.0)[names]
    times = wide.index.to_numpy(dtype=np.float64)
    low = np.zeros(len(wide))
    tables, width_s = [], 0.0
    for name in names:
        own = wide[name].to_numpy(dtype=np.float64)
        at, gpus, width_s = at_change(times, own, end_s, MOST_POINTS)
        _, under, _ = at_change(times, low, end_s, MOST_POINTS)
        table = pd.DataFrame({"time_s": np.append(at, max(end_s, at[-1])), "cluster": name})
        table["gpus"], table["low"] = np.append(gpus, gpus[-1]), np.append(under, under[-1])
        tables.append(table.assign(high=table["gpus"] + table["low"]))
        low = low + own
    return pd.concat(tables, ignore_index=True), width_s


MOST_BANDS = 50


def entities(timeline: pd.DataFrame, jobs: pd.DataFrame, *, end_s: float) -> Drawing:
    """Draw each entity's part of the GPUs in use, coloured by entity, with a band for each of up to `MOST_BANDS` jobs.

    Jobs without an entity are one by themselves. A pair's GPU counts half for each. Of more than `MOST_TIMES` changes
    exact means over equal bins are drawn.
    """
    unit = theme.time_unit(end_s)
    owner = dict(zip(jobs["job"], jobs["entity"].where(jobs["entity"] != "", jobs["job"]), strict=True))
    place = {name: i for i, name in enumerate(dict.fromkeys(owner.values()))}
    used = timeline[timeline["job"] != ""]
    second = used.assign(job=used["with_job"].where(used["with_job"] != "", used["job"]))
    halves = pd.concat([used, second], ignore_index=True)
    part = halves["job"] if len(owner) <= MOST_BANDS else halves["job"].map(owner)
    held, width_s = held_gpus(halves.assign(accelerator=part), end_s, MOST_TIMES)
    found = held.assign(group=held["accelerator"].map(lambda name: owner.get(name, name)))
    found = found.assign(place=found["group"].map(place), x=found["time_s"] / unit.seconds, value=found["gpus"] / 2)
    found = found.sort_values(["place", "accelerator", "x"], kind="stable").rename(columns={"accelerator": "part"})
    note = f", {bin_note(width_s)}" if width_s else ""
    return bands(
        found[["x", "group", "part", "value"]],
        title=f"GPUs in use, by entity{note}",
        x_title=f"Time ({unit.name})",
        y_title="Part of the GPUs in use",
    )
