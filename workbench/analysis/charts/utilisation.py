"""GPUs in use over time, by accelerator type."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.drawing import Drawing, drawn, marks, message, message_layer
from workbench.analysis.charts.series import bin_note, time_axis
from workbench.analysis.charts.steps import MOST_POINTS, held_gpus
from workbench.scenario.cluster import Cluster


def utilisation(
    timeline: pd.DataFrame,
    *,
    cluster: Cluster | None = None,
    end_s: float | None = None,
    most_points: int = MOST_POINTS,
    height: float = 280,
    title: str = "GPUs in use",
) -> Drawing:
    """Draw the GPUs held over time, types stacked in the cluster's order, with a line at the cluster's GPUs.

    Exact at every change; with more than `most_points` of them exact means of equal bins, whose width the subtitle
    says. Without a cluster the types come as they first appear, and there is no line.
    """
    held, width_s = held_gpus(timeline, end_s, most_points)
    names = list(cluster.types) if cluster is not None else list(held["accelerator"].unique())
    colour = theme.type_colours(names)
    last_s = max([end_s or 0.0, *timeline["end_s"].tolist()])
    unit = theme.time_unit(last_s)
    stacked = _stacked(held, names, last_s)
    areas = stacked.assign(t=stacked["time_s"] / unit.seconds)
    total = cluster.gpus if cluster is not None else 0
    data = {
        "held": areas,
        "capacity": pd.DataFrame({"gpus": [total], "text": [f"{total} GPUs"]}).head(1 if total else 0),
        "message": message("" if len(held) else "Nothing ran"),
    }
    area = (
        marks("held")
        .mark_area(interpolate="step-after", line=False, strokeWidth=0)
        .encode(
            x=time_axis(unit),
            y=alt.Y(
                "low:Q",
                title="GPUs in use",
                scale=alt.Scale(domain=[0, total], nice=False) if total else alt.Scale(zero=True),
                axis=alt.Axis(tickMinStep=1, format=",~r"),
            ),
            y2=alt.Y2("high:Q"),
            color=alt.Color(
                "accelerator:N",
                title="Accelerator",
                scale=alt.Scale(domain=names, range=list(colour.values())) if names else alt.Undefined,
            ),
        )
    )
    ceiling = marks("capacity")
    layers = [
        area,
        ceiling.mark_rule(color=theme.INK, strokeDash=[6, 4], strokeWidth=1.5).encode(y="gpus:Q"),
        ceiling.mark_text(align="right", baseline="bottom", dy=-3, dx=-2, clip=False).encode(
            x=alt.value(alt.ExprRef("width")), y="gpus:Q", text="text:N"
        ),
        message_layer(),
    ]
    return drawn(
        *layers,
        data=data,
        table=held,
        label=f"{title} over time by accelerator type.",
        title=title,
        subtitle=bin_note(width_s),
        height=height,
    )


def _stacked(held: pd.DataFrame, names: list[str], last_s: float) -> pd.DataFrame:
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
