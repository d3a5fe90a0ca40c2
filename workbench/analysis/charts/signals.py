"""What a scheduler went by, job by job, and what entities had of the cluster."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.curves import bands
from workbench.analysis.charts.drawing import Drawing, drawn, marks, message, message_layer
from workbench.analysis.charts.series import bin_note, time_axis
from workbench.analysis.charts.steps import held_gpus
from workbench.base.labels import words_of

MOST_NAMED = 21
"""With more jobs than colours a legend would name several alike: there is none."""
MOST_TIMES = 400
"""Moments drawn; with more decisions than this, every k-th."""
MOST_BANDS = 50


def signals(table: pd.DataFrame, jobs: pd.DataFrame, *, end_s: float, height: float = 280) -> Drawing:
    """Draw recorded numbers as step lines, one for each job and signal.

    table: columns signal, job, time_s, value, each in force until the job's next one, its end or `end_s`. Several
    signals share the axis and differ by line pattern. Parameter `selected` as in `gantt`.
    """
    names = list(dict.fromkeys(table["signal"]))
    spoken = ", ".join(map(words_of, names))
    colours = theme.job_colours(jobs["job"])
    shown = [job for job in colours if job in set(table["job"])]
    unit = theme.time_unit(end_s)
    lines = _with_ends(_thinned(table), jobs, end_s)
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
        height=height,
        params={"selected": None},
    )


def _with_ends(table: pd.DataFrame, jobs: pd.DataFrame, end_s: float) -> pd.DataFrame:
    """The last value of each line again where it ends."""
    table = table[["signal", "job", "time_s", "value"]].sort_values("time_s", kind="stable")
    finish_s = jobs.set_index("job")["finish_s"].fillna(end_s).clip(upper=end_s)
    last = table.drop_duplicates(["signal", "job"], keep="last")
    last = last.assign(time_s=np.maximum(last["job"].map(finish_s), last["time_s"]))
    return pd.concat([table, last], ignore_index=True)


def _thinned(table: pd.DataFrame) -> pd.DataFrame:
    times = np.unique(table["time_s"].to_numpy(float))
    every = -(-len(times) // MOST_TIMES)
    return table if every <= 1 else table[table["time_s"].isin(times[::every])]


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


def latest(signals: pd.DataFrame, signal: str) -> pd.Series[float]:
    """The last value of a signal for each job, of rows in the order of time."""
    rows = signals[signals["signal"] == signal].drop_duplicates("job", keep="last")
    return rows.set_index("job")["value"]
