"""The GPUs of each job at a time, by type, beside its priority, weight and gain (Hops)."""

from __future__ import annotations

import altair as alt
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.bars_in_rows import MOST_ROWS, row_bars, row_layers, row_px, row_texts
from workbench.analysis.charts.drawing import Drawing, drawn, faded, marks, message, message_layer, unchecked
from workbench.analysis.charts.series import latest
from workbench.base.rounding import short_number
from workbench.scenario.cluster import Cluster


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
    opacity = faded()
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
