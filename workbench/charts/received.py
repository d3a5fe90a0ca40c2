"""Time received against the target: does the round mechanism give what the allocation promises?"""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from workbench.charts import theme
from workbench.charts.drawing import Drawing, drawn, message, message_layer
from workbench.charts.series import time_axis
from workbench.charts.steps import Floats

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
        return _empty(columns)
    held = timeline[(timeline["unit"] != "") & (timeline["kind"] != "sync")]
    last_s = end_s if end_s is not None else max([float(decisions["time_s"].max()), *held["end_s"].tolist()])
    moments = np.unique(np.append(decisions["time_s"].to_numpy(float), last_s))
    had = {
        (str(unit), str(kind)): _Held.of(part["start_s"].to_numpy(float), part["end_s"].to_numpy(float))
        for (unit, kind), part in held.groupby(["unit", "accelerator"], sort=False)
    }
    changes = shares.drop_duplicates("decision")["time_s"].tolist()
    tables = []
    for since, until, (_, part) in zip(changes, [*changes[1:], last_s], shares.groupby("decision"), strict=True):
        ends = moments[(moments > since) & (moments <= until)]
        target = dict(zip(zip(part["unit"], part["accelerator"], strict=True), part["share"], strict=True))
        keys = list(dict.fromkeys([*target, *(key for key, times in had.items() if times.any(since, until))]))
        for key in keys:
            seconds = had[key].between(since, ends) if key in had else np.zeros(len(ends))
            tables.append(
                pd.DataFrame(
                    {
                        "time_s": ends,
                        "since_s": since,
                        "unit": key[0],
                        "accelerator": key[1],
                        "target": float(target.get(key, 0.0)),
                        "received": seconds / (ends - since),
                    }
                )
            )
    if not tables:
        return _empty(columns)
    found = pd.concat(tables, ignore_index=True).astype({"unit": "str", "accelerator": "str"})
    return found.sort_values("time_s", kind="stable").reset_index(drop=True)


class _Held:
    """The moments at which something is held: disjoint intervals, rising, and the seconds held before each."""

    def __init__(self, start: Floats, end: Floats) -> None:
        self.start, self.end = start, end
        self.before = np.concatenate(([0.0], np.cumsum(end - start)))

    @classmethod
    def of(cls, start: Floats, end: Floats) -> _Held:
        """From intervals that may overlap."""
        order = np.argsort(start, kind="stable")
        start, reach = start[order], np.maximum.accumulate(end[order])
        first = np.concatenate(([True], start[1:] > reach[:-1]))
        return cls(start[first], reach[np.append(np.flatnonzero(first)[1:] - 1, len(reach) - 1)])

    def until(self, times: Floats) -> Floats:
        """Seconds held before each time."""
        i = np.searchsorted(self.start, times, side="right")
        inside = np.where(i > 0, np.maximum(self.end[np.maximum(i - 1, 0)] - times, 0.0), 0.0)
        found: Floats = self.before[i] - inside
        return found

    def between(self, since: float, times: Floats) -> Floats:
        """Seconds held from `since` to each time."""
        return self.until(times) - self.until(np.array([since]))

    def any(self, since: float, until: float) -> bool:
        """Whether anything is held between the two."""
        return bool(self.between(since, np.array([until]))[0] > 0)


def _empty(columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame({name: [] for name in columns}).astype({"unit": "str", "accelerator": "str"})


def received(table: pd.DataFrame, job: str | None = None, *, height: float = 300, title: str | None = None) -> Drawing:
    """Draw `received_table`: for one job, received (solid) and target (dashed) by type; else received minus target.

    In the view of all jobs each line is one (job, type), coloured by type; they meet at 0 where every job gets what it
    was promised. With more than 300 moments every k-th is drawn. Parameter `selected` as in `gantt`.
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
    if job is None:
        base = alt.Chart(alt.NamedData("received")).mark_line(strokeWidth=1.6, interpolate="linear")
        chosen = "!selected || datum.job === selected || datum.with_job === selected"
        layers = [
            base.encode(
                x=time_axis(unit),
                y=alt.Y("short:Q", title="Received − target (share of time)", axis=alt.Axis(format="+.2~f")),
                color=alt.Color("accelerator:N", title="Accelerator", scale=scale),
                detail=["line:N", "since_s:Q"],
                opacity=alt.condition(chosen, alt.value(0.75), alt.value(0.08)),
            )
        ]
        heading = title or "Time received minus target, every job and type"
    else:
        long = pd.concat(
            [rows.assign(what="received", value=rows["received"]), rows.assign(what="target", value=rows["target"])],
            ignore_index=True,
        )
        rows = long.drop(columns=["short"])
        layers = [
            alt.Chart(alt.NamedData("received"))
            .mark_line(interpolate="linear")
            .encode(
                x=time_axis(unit),
                y=alt.Y("value:Q", title="Share of time since the last change", scale=alt.Scale(domain=[0, 1])),
                color=alt.Color("accelerator:N", title="Accelerator", scale=scale),
                strokeDash=alt.StrokeDash(
                    "what:N", title=None, scale=alt.Scale(domain=["received", "target"], range=[[1, 0], [6, 4]])
                ),
                detail=["line:N", "since_s:Q"],
            )
        ]
        heading = title or f"Time received by {job}"
    text = "" if len(part) else "No shares" if job is None or table.empty else f"No shares of {job}"
    return drawn(
        *layers,
        message_layer(),
        data={"received": rows, "message": message(text)},
        table=part.reset_index(drop=True),
        label=f"{heading}, over time.",
        title=heading,
        height=height,
        params={"selected": None},
    )


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
