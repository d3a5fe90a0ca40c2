"""GPUs over time by what they are for: the logical clusters of a scheduler, stacked."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import numpy as np
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.deadlines import BARS, GUARANTEED, PROFILING, SPOT, pool_of, until_broken
from workbench.analysis.charts.drawing import Drawing, drawn, marks, message, message_layer
from workbench.analysis.charts.rows import present
from workbench.analysis.charts.series import bin_note, time_axis
from workbench.analysis.charts.steps import MOST_POINTS, at_change, held_gpus

IDLE = "idle"
COLOURS = {PROFILING: BARS[PROFILING], GUARANTEED: BARS[GUARANTEED], SPOT: BARS[SPOT], IDLE: theme.LANE}
"""From the bottom to the top."""


def pools_held(
    timeline: pd.DataFrame, jobs: pd.DataFrame, *, end_s: float, broken_s: Mapping[str, float] | None = None
) -> tuple[pd.DataFrame, float]:
    """GPUs held for profiling, by guaranteed jobs and by others: columns time_s, pool, gpus; the width of bins in s.

    A job counts by its verdict at the end of the run; one whose guarantee was broken at a time of `broken_s` (see
    `workbench.analysis.metrics.broken_s`) as guaranteed until then.
    """
    verdict = dict(zip(jobs["job"], jobs["verdict"], strict=True))
    pool = timeline["job"].map(lambda job: pool_of(verdict.get(job, "")))
    spans = timeline.rename(columns={"start_s": "start", "end_s": "end"})
    parts = until_broken(spans.assign(what=pool.where(timeline["kind"] != "profile", PROFILING)), broken_s or {})
    parts = parts.rename(columns={"start": "start_s", "end": "end_s"}).assign(accelerator=parts["what"])
    held, width_s = held_gpus(parts, end_s)
    return held.rename(columns={"accelerator": "pool"}), width_s


def pools(
    sizes: pd.DataFrame,
    *,
    gpus: int,
    end_s: float,
    width_s: float = 0.0,
    colours: Mapping[str, str] | None = None,
    title: str = "GPUs of the logical clusters",
    subtitle: str = "",
    y_title: str = "GPUs",
    height: float = 280,
) -> Drawing:
    """Draw clusters stacked over time, with a line at all GPUs that there are.

    sizes: columns time_s, pool, gpus (from then on); one that has no row at a time keeps its size. width_s: of bins, if
    these are means; with more than `MOST_POINTS` times exact means over equal bins are drawn.
    """
    look = {**COLOURS, **(colours or {})}
    names = list(present(look, sizes["pool"]))
    names += [name for name in dict.fromkeys(sizes["pool"]) if name not in look]
    shades = [look.get(name, theme.PALETTE[i % len(theme.PALETTE)]) for i, name in enumerate(names)]
    unit = theme.time_unit(end_s)
    areas, thinned_s = _stacked(sizes, names, end_s)
    area = (
        marks("pools")
        .mark_area(interpolate="step-after", line=False, strokeWidth=0)
        .encode(
            x=time_axis(unit),
            y=alt.Y(
                "low:Q",
                title=y_title,
                scale=alt.Scale(domain=[0, gpus], nice=False),
                axis=alt.Axis(tickMinStep=1, format=",~r"),
            ),
            y2="high:Q",
            color=alt.Color(
                "pool:N", title=None, scale=alt.Scale(domain=names, range=shades) if names else alt.Undefined
            ),
            tooltip=[alt.Tooltip("pool:N", title="Cluster"), alt.Tooltip("gpus:Q", title="GPUs", format=".3~r")],
        )
    )
    edge = marks("pools").mark_line(interpolate="step-after", strokeWidth=1, color=theme.PAPER)
    ceiling = marks("capacity")
    return drawn(
        area,
        edge.encode(x="t:Q", y="high:Q", detail="pool:N"),
        ceiling.mark_rule(color=theme.INK, strokeDash=[6, 4], strokeWidth=1.5).encode(y="gpus:Q"),
        ceiling.mark_text(align="right", baseline="bottom", dy=-3, dx=-2, clip=False).encode(
            x=alt.value(alt.ExprRef("width")), y="gpus:Q", text="text:N"
        ),
        message_layer(),
        data={
            "pools": areas.assign(t=areas["time_s"] / unit.seconds),
            "capacity": pd.DataFrame({"gpus": [gpus], "text": [f"{gpus} GPUs"]}),
            "message": message("" if len(sizes) else "Nothing ran"),
        },
        table=sizes.reset_index(drop=True),
        label=f"{title} over time, stacked: {', '.join(names)}.",
        title=title,
        subtitle="; ".join(filter(None, [subtitle, bin_note(max(width_s, thinned_s))])),
        height=height,
    )


def _stacked(sizes: pd.DataFrame, names: list[str], end_s: float) -> tuple[pd.DataFrame, float]:
    """Columns time_s, pool, gpus, low, high at every time of any cluster and at the end; the width of bins in s."""
    if sizes.empty:
        columns = ["time_s", "pool", "gpus", "low", "high"]
        return pd.DataFrame({name: pd.Series(dtype="str" if name == "pool" else float) for name in columns}), 0.0
    wide = sizes.pivot_table(index="time_s", columns="pool", values="gpus", aggfunc="last")
    wide = wide.ffill().fillna(0.0)[names]
    times = wide.index.to_numpy(dtype=np.float64)
    low = np.zeros(len(wide))
    tables, width_s = [], 0.0
    for name in names:
        own = wide[name].to_numpy(dtype=np.float64)
        at, gpus, width_s = at_change(times, own, end_s, MOST_POINTS)
        _, under, _ = at_change(times, low, end_s, MOST_POINTS)
        table = pd.DataFrame({"time_s": np.append(at, max(end_s, at[-1])), "pool": name})
        table["gpus"], table["low"] = np.append(gpus, gpus[-1]), np.append(under, under[-1])
        tables.append(table.assign(high=table["gpus"] + table["low"]))
        low = low + own
    return pd.concat(tables, ignore_index=True), width_s
