"""An allocation X as a heat map: jobs (and pairs) by accelerator type, the share in every cell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.drawing import Drawing, drawn, marks, message, message_layer
from workbench.scheduling.decision import WorkerType

MOST_HEIGHT_PX = 600.0
ROW_PX = 28.0
NUMBER_FROM = 0.005
"""Smaller shares are cells without a number."""


def shares_at(shares: pd.DataFrame, *, decision: int | None = None, at_s: float | None = None) -> pd.DataFrame:
    """The rows of the shares table in force: at a decision, at a time, or at the end."""
    if decision is not None:
        shares = shares[shares["decision"] <= decision]
    if at_s is not None:
        shares = shares[shares["time_s"] <= at_s]
    return shares[shares["decision"] == shares["decision"].max()] if len(shares) else shares


def allocation(
    shares: pd.DataFrame,
    *,
    units: Sequence[str] | None = None,
    accelerators: Sequence[str] | None = None,
    selected: str | None = None,
    max_height: float = MOST_HEIGHT_PX,
    title: str = "Allocation: share of time",
) -> Drawing:
    """Draw the shares of one decision (`shares_at`), zeros included.

    Columns are accelerator types, or both placements of each (`v100`, `v100 spread`). units, accelerators: rows and
    columns in order (default: as they appear); units that have shares and are not among them (pairs) follow; selecting
    either job of a pair shows it. Parameter `selected` as in `gantt`.
    """
    rows = list(dict.fromkeys([*(units or []), *shares["unit"].tolist()]))
    kinds = [_worker_type(*place) for place in zip(shares["accelerator"], shares["placement"], strict=True)]
    columns = list(dict.fromkeys([*(accelerators or []), *kinds]))
    given = {(u, kind): s for u, kind, s in zip(shares["unit"], kinds, shares["share"], strict=True)}
    row_px = min(ROW_PX, max_height / max(len(rows), 1))
    every = max(1, math.ceil((theme.LABEL_PX + 1) / row_px))
    cells = [
        (unit, *_jobs_of(unit), accelerator, i, j, float(given.get((unit, accelerator), 0.0)))
        for i, unit in enumerate(rows)
        for j, accelerator in enumerate(columns)
    ]
    frame = pd.DataFrame(cells, columns=["unit", "job", "with_job", "accelerator", "row", "column", "share"])
    frame["text"] = [_number(share) if row_px >= theme.SMALL_PX else "" for share in frame["share"]]
    sums = frame.groupby("row", sort=False)["share"].sum()
    names = pd.DataFrame(
        {
            "job": [_jobs_of(unit)[0] for unit in rows],
            "with_job": [_jobs_of(unit)[1] for unit in rows],
            "text": [unit if i % every == 0 else "" for i, unit in enumerate(rows)],
            "row": range(len(rows)),
        }
    )
    heads = pd.DataFrame({"text": columns, "column": range(len(columns))})
    frame["total"] = frame["row"].map(sums)
    across, down = max(len(columns), 1), max(len(rows), 1)
    chosen = "!selected || datum.job === selected || datum.with_job === selected"
    opacity = alt.condition(chosen, alt.value(1), alt.value(theme.FADED))
    cell = (
        marks("cells")
        .transform_calculate(x1="datum.column + 1", y1="datum.row + 1")
        .mark_rect(stroke=theme.PAPER, strokeWidth=1 if row_px >= 6 else 0, cursor="pointer")
        .encode(
            x=alt.X("column:Q", scale=alt.Scale(domain=[0, across], nice=False), axis=None),
            x2="x1:Q",
            y=alt.Y("row:Q", scale=alt.Scale(domain=[0, down], nice=False, reverse=True), axis=None),
            y2="y1:Q",
            fill=alt.Fill(
                "share:Q",
                title="Share of time",
                scale=alt.Scale(domain=[0, 1], range=list(theme.SHARE_SCHEME), clamp=True),
                # Below the plot: at its side it would be taller than a plot of one row.
                legend=alt.Legend(
                    orient="bottom",
                    direction="horizontal",
                    titleOrient="left",
                    format=".1f",
                    gradientLength=LEGEND_PX,
                    tickCount=5,
                ),
            ),
            opacity=opacity,
            tooltip=[
                alt.Tooltip("unit:N", title="Job"),
                alt.Tooltip("accelerator:N", title="Accelerator"),
                alt.Tooltip("share:Q", title="Share of time", format=".4f"),
                alt.Tooltip("total:Q", title="On all types", format=".4f"),
            ],
        )
    )
    number = (
        marks("cells")
        .transform_filter("datum.text")
        .mark_text(baseline="middle", fontSize=theme.LABEL_PX if row_px >= 18 else theme.SMALL_PX - 1, cursor="pointer")
        .encode(
            x=_at("x", "datum.column + 0.5"),
            y=_at("y", "datum.row + 0.5"),
            text="text:N",
            color=alt.condition(f"datum.share > {DARK_FROM}", alt.value("#ffffff"), alt.value(theme.INK)),
            opacity=opacity,
        )
    )
    row_label = (
        marks("names")
        .mark_text(align="right", baseline="middle", limit=220, cursor="pointer")
        .encode(x=alt.value(-8), y=_at("y", "datum.row + 0.5"), text="text:N", opacity=opacity)
    )
    head = (
        marks("heads")
        .mark_text(align="center", baseline="bottom", fontWeight=600)
        .encode(x=_at("x", "datum.column + 0.5"), y=alt.value(-6), text="text:N")
    )
    return drawn(
        cell,
        number,
        row_label,
        head,
        message_layer(),
        data={"cells": frame, "names": names, "heads": heads, "message": message("" if len(frame) else "No shares")},
        table=frame[["unit", "accelerator", "share"]],
        label=f"{title} of each job on each accelerator type, from 0 to 1.",
        title=title,
        height=round(row_px * down, 2) if rows else 4 * ROW_PX,
        params={"selected": selected},
    )


LEGEND_PX = 200

DARK_FROM = 0.55
"""From this share on a cell is so dark that its number is white."""


def _at(axis: str, expression: str) -> Any:
    return alt.value(alt.ExprRef(f"scale('{axis}', {expression})"))


def _jobs_of(unit: str) -> tuple[str, str]:
    first, _, second = unit.partition(" + ")
    return first, second


def _number(share: float) -> str:
    if share == 0:
        return ""
    return f"{share:.2f}" if share >= NUMBER_FROM else "~0"


def _worker_type(accelerator: str, placement: str) -> str:
    """A column's name."""
    return WorkerType(accelerator, "unconsolidated" if placement == "unconsolidated" else None).name
