"""Tables of cells, darker where there is more: an allocation X, the gain matrix G, any measure by row and column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.bars_in_rows import row_px, row_scale, row_texts
from workbench.analysis.charts.drawing import Drawing, Marks, drawn, faded, marks, message, message_layer, unchecked
from workbench.scheduling.decision import PlacedType
from workbench.simulation.schema import GAIN_OF


@unchecked
def heat_map(frame: pd.DataFrame, *, title: str, row_title: str, column_title: str, value_title: str) -> Drawing:
    """Draw a square for each (row, column): frame has the columns row, column, value; missing values are black."""
    rows, columns = list(dict.fromkeys(frame["row"])), list(dict.fromkeys(frame["column"]))
    sides = {
        "x": alt.X(
            "column:N",
            title=column_title,
            sort=columns,
            axis=alt.Axis(labelAngle=-60, labelOverlap=False, labelLimit=230),
        ),
        "y": alt.Y("row:N", title=row_title, sort=rows, axis=alt.Axis(labelOverlap=False, labelLimit=230)),
    }
    squares: Marks = marks("cells")
    cells = squares.mark_rect().encode(
        **sides,
        color=alt.Color(
            "value:Q", title=value_title, scale=alt.Scale(domain=[0, 1], range=list(theme.SHARE_SCHEME)),
        ),
        tooltip=[
            alt.Tooltip("row:N", title=row_title),
            alt.Tooltip("column:N", title=column_title),
            alt.Tooltip("value:Q", title=value_title, format=".2f"),
        ],
    )  # fmt: skip
    missing = marks("missing").mark_rect(color="black").encode(**sides)
    return drawn(
        cells,
        missing,
        data={"cells": frame.dropna(subset=["value"]), "missing": frame[frame["value"].isna()][["row", "column"]]},
        table=frame,
        label=f"{title}: {value_title} for each {row_title} and {column_title}.",
        title=title,
        subtitle="black: cannot run" if frame["value"].isna().any() else "",
        height=560,
    )


MOST_HEIGHT_PX = 600.0
ROW_PX = 28.0
NUMBER_FROM = 0.005
"""Smaller shares are cells without a number."""


def shares_at(shares: pd.DataFrame, *, at_s: float | None = None) -> pd.DataFrame:
    """The rows of the shares table in force: at a time, or at the end."""
    if at_s is not None:
        shares = shares[shares["time_s"] <= at_s]
    return shares[shares["decision"] == shares["decision"].max()] if len(shares) else shares


@unchecked
def allocation(
    shares: pd.DataFrame,
    *,
    accelerators: Sequence[str] | None = None,
    title: str = "Allocation: share of time",
) -> Drawing:
    """Draw the shares of one decision (`shares_at`), zeros included.

    Columns are accelerator types, or both placements of each (`v100`, `v100 spread`); accelerators: in this order
    (default: as they appear). Selecting either job of a pair shows it. Parameter `selected` as in `gantt`.
    """
    rows = list(dict.fromkeys(shares["unit"]))
    kinds = [_placed_type(*place) for place in zip(shares["accelerator"], shares["placement"], strict=True)]
    columns = list(dict.fromkeys([*(accelerators or []), *kinds]))
    given = {(u, kind): s for u, kind, s in zip(shares["unit"], kinds, shares["share"], strict=True)}
    cell_px = min(ROW_PX, MOST_HEIGHT_PX / max(len(rows), 1))
    every = max(1, math.ceil((theme.LABEL_PX + 1) / cell_px))
    cells = [
        (unit, *_jobs_of(unit), accelerator, i, j, float(given.get((unit, accelerator), 0.0)))
        for i, unit in enumerate(rows)
        for j, accelerator in enumerate(columns)
    ]
    frame = pd.DataFrame(cells, columns=["unit", "job", "with_job", "accelerator", "row", "column", "share"])
    frame["text"] = [_number(share) if cell_px >= theme.SMALL_PX else "" for share in frame["share"]]
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
    opacity = faded(chosen)
    number = (
        marks("cells")
        .transform_filter("datum.text")
        .mark_text(
            baseline="middle", fontSize=theme.LABEL_PX if cell_px >= 18 else theme.SMALL_PX - 1, cursor="pointer"
        )
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
        _cells(across, down, cell_px, opacity),
        number,
        row_label,
        head,
        message_layer(),
        data={"cells": frame, "names": names, "heads": heads, "message": message("" if len(frame) else "No shares")},
        table=frame[["unit", "accelerator", "share"]],
        label=f"{title} of each job on each accelerator type, from 0 to 1.",
        title=title,
        height=round(cell_px * down, 2) if rows else 4 * ROW_PX,
        params={"selected": None},
    )


def _cells(across: int, down: int, cell_px: float, opacity: Any) -> Any:
    """A square for each share, and the legend of its colours."""
    return (
        marks("cells")
        .transform_calculate(x1="datum.column + 1", y1="datum.row + 1")
        .mark_rect(stroke=theme.PAPER, strokeWidth=1 if cell_px >= 6 else 0, cursor="pointer")
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
                alt.Tooltip("accelerator:N", title="GPU type"),
                alt.Tooltip("share:Q", title="Share of time", format=".4f"),
                alt.Tooltip("total:Q", title="On all types", format=".4f"),
            ],
        )
    )


LEGEND_PX = 200


def _at(axis: str, expression: str) -> Any:
    return alt.value(alt.ExprRef(f"scale('{axis}', {expression})"))


def _jobs_of(unit: str) -> tuple[str, str]:
    first, _, second = unit.partition(" + ")
    return first, second


def _number(share: float) -> str:
    if share == 0:
        return ""
    return f"{share:.2f}" if share >= NUMBER_FROM else "~0"


def _placed_type(accelerator: str, placement: str) -> str:
    """A column's name."""
    return PlacedType(accelerator, "unconsolidated" if placement == "unconsolidated" else None).name


COLUMNS = ["job", "accelerator", "gpus", "servers", "gain"]
DARK_FROM = 0.55
"""From this share, or part of the largest gain, on a cell is so dark that its number is white."""
MOST_ROWS = 60
"""Of more jobs the first so many are drawn."""


def is_gain(signals: pd.DataFrame) -> pd.Series[bool]:
    """Which rows of a run's signals are gains of configurations."""
    return signals["signal"].str.startswith(GAIN_OF).astype(bool)


def gains_table(signals: pd.DataFrame) -> pd.DataFrame:
    """The gains that a run has recorded last for each job: columns `COLUMNS`, in the order in which they were."""
    rows = signals[is_gain(signals)]
    rows = rows[rows["decision"] == rows.groupby("job")["decision"].transform("max")]
    said = {name: _configuration(name) for name in rows["signal"].unique()}
    found = [
        (job, *said[name], gain) for name, job, gain in zip(rows["signal"], rows["job"], rows["value"], strict=True)
    ]
    return pd.DataFrame(found, columns=COLUMNS)


@unchecked
def gain_matrix(table: pd.DataFrame, *, selected: str | None = None, had: pd.DataFrame | None = None) -> Drawing:
    """Draw G: a row for each job, and in each column the best that it may have with so many GPUs.

    table: `COLUMNS`; selected: then the rows are the types and numbers of servers that this job may have; had: columns
    job, accelerator, gpus, servers of configurations to be framed, those that jobs have had. Parameter `selected` as in
    `gantt`.
    """
    chosen = selected if selected is not None and selected in set(table["job"]) else None
    part = table if chosen is None else table[table["job"] == chosen]
    framed = table.head(0) if had is None else had[had["job"].isin(part["job"])]
    if chosen is not None:
        types = {kind: i for i, kind in enumerate(dict.fromkeys(part["accelerator"]))}
        order = pd.DataFrame({"kind": part["accelerator"].map(types), "servers": part["servers"]})
        part = part.loc[order.sort_values(["kind", "servers"], kind="stable").index]
    frame, framed = (found.assign(name=_names(found, chosen)) for found in (part, framed))
    every = list(dict.fromkeys(frame["name"]))
    names, sizes = every[:MOST_ROWS], sorted(set(frame["gpus"]))
    row, column = ({value: i for i, value in enumerate(values)} for values in (names, sizes))
    frame = frame[frame["name"].isin(row)]
    best = frame.sort_values("gain", ascending=False, kind="stable").drop_duplicates(["name", "gpus"])
    place = {"row": best["name"].map(row), "column": best["gpus"].map(column)}
    best = best.assign(**place, kind=_kinds(best)).sort_values(["row", "column"])
    frames = framed[framed["name"].isin(row) & framed["gpus"].isin(column)].drop_duplicates(["name", "gpus"])
    frames = frames.assign(row=frames["name"].map(row), column=frames["gpus"].map(column))
    most = float(best["gain"].max()) if len(best) else 1.0
    best["text"] = [f"{gain:.1f}" if gain < 100 else f"{gain:.0f}" for gain in best["gain"]]
    of = "each job" if chosen is None else chosen
    title = f"Gain of {of} by number of GPUs" + ("" if chosen is None else ", type and servers")
    return drawn(
        *_layers(len(names), len(sizes), most),
        message_layer(),
        data={
            "cells": best,
            "frames": frames[["job", "row", "column"]],
            "sizes": pd.DataFrame({"text": [str(size) for size in sizes], "column": range(len(sizes))}),
            "names": row_texts(names, {})["names"].rename(columns={"job": "text"}),
            "message": message("" if len(best) else "No gains"),
        },
        table=part[COLUMNS].reset_index(drop=True),
        label=f"{title}: speed over that of the job's slowest configuration, one row each for {', '.join(names)}.",
        title=title,
        subtitle=_subtitle(len(frames) > 0, len(every)),
        height=round(row_px(len(names)) * max(len(names), 1), 2),
        params={"selected": None},
    )


def configurations_had(timeline: pd.DataFrame) -> pd.DataFrame:
    """The configurations on which jobs have run: columns job, accelerator, gpus, servers, run_s, the longest first."""
    runs = timeline[timeline["kind"] == "run"]
    gangs = runs.groupby(["job", "start_s", "end_s"], sort=False).agg(
        accelerator=("accelerator", "first"), gpus=("gpus", "first"), servers=("node", "nunique")
    )
    gangs = gangs.reset_index().assign(run_s=lambda found: found["end_s"] - found["start_s"])
    found = gangs.groupby(["job", "accelerator", "gpus", "servers"], sort=False)["run_s"].sum().reset_index()
    return found.sort_values("run_s", ascending=False, kind="stable").reset_index(drop=True)


def _configuration(name: str) -> tuple[str, int, int]:
    """Type, GPUs and servers of a signal's name."""
    gang, servers = name.removeprefix(GAIN_OF).rsplit(" on ", 1)
    gpus, kind = gang.split(" x ", 1)
    return kind, int(gpus), int(servers)


def _names(table: pd.DataFrame, chosen: str | None) -> Sequence[str]:
    return table["job"].tolist() if chosen is None else _kinds(table)


def _kinds(table: pd.DataFrame) -> list[str]:
    """Type and number of servers in words."""
    pairs = zip(table["accelerator"], table["servers"], strict=True)
    return [f"{kind}, {servers} server{'s' if servers > 1 else ''}" for kind, servers in pairs]


def _subtitle(framed: bool, rows: int) -> str:
    notes = ["speed over the job's slowest"]
    notes += ["framed: what it has run at"] if framed else []
    return "; ".join([*notes, *([f"the first {MOST_ROWS} of {rows} jobs"] if rows > MOST_ROWS else [])])


def _layers(rows: int, columns: int, most: float) -> list[Any]:
    """Cells with their numbers, frames, and the names of rows and columns."""
    opacity = faded()
    across = alt.Scale(domain=[0, max(columns, 1)], nice=False)
    sides = {"x": alt.X("column:Q", scale=across, axis=None), "y": alt.Y("row:Q", scale=row_scale(rows), axis=None)}
    ends = {"x2": "x1:Q", "y2": "y1:Q"}
    cell = (
        marks("cells")
        .transform_calculate(x1="datum.column + 1", y1="datum.row + 1")
        .mark_rect(stroke=theme.PAPER, strokeWidth=1, cursor="pointer")
        .encode(
            **sides,
            **ends,
            fill=alt.Fill(
                "gain:Q",
                title="Gain",
                scale=alt.Scale(domain=[1, max(most, 1.1)], range=list(theme.SHARE_SCHEME), clamp=True),
                legend=alt.Legend(orient="bottom", direction="horizontal", titleOrient="left", gradientLength=200),
            ),
            opacity=opacity,
            tooltip=[
                alt.Tooltip("job:N", title="Job"),
                alt.Tooltip("gpus:Q", title="GPUs"),
                alt.Tooltip("kind:N", title="On"),
                alt.Tooltip("gain:Q", title="Gain", format=".3f"),
            ],
        )
    )
    frame = (
        marks("frames")
        .transform_calculate(x1="datum.column + 1", y1="datum.row + 1")
        .mark_rect(fill=None, stroke=theme.PALETTE[3], strokeWidth=3, cursor="pointer")
        .encode(**sides, **ends, opacity=opacity)
    )
    dark = f"(datum.gain - 1) / {max(most, 1.1) - 1} > {DARK_FROM}"
    number = (
        marks("cells")
        .mark_text(
            baseline="middle", fontSize=theme.SMALL_PX if row_px(rows) >= theme.SMALL_PX else 8, cursor="pointer"
        )
        .encode(
            x=alt.value(alt.ExprRef("scale('x', datum.column + 0.5)")),
            y=alt.value(alt.ExprRef("scale('y', datum.row + 0.5)")),
            text="text:N",
            color=alt.condition(dark, alt.value("#ffffff"), alt.value(theme.INK)),
            opacity=opacity,
        )
    )
    name = (
        marks("names")
        .mark_text(align="right", baseline="middle", limit=220)
        .encode(x=alt.value(-8), y=alt.value(alt.ExprRef("scale('y', datum.row + 0.5)")), text="text:N")
    )
    head = (
        marks("sizes")
        .mark_text(align="center", baseline="bottom", fontWeight=600)
        .encode(x=alt.value(alt.ExprRef("scale('x', datum.column + 0.5)")), y=alt.value(-6), text="text:N")
    )
    return [cell, frame, number, name, head]
