"""The schedule as a Gantt chart: rows are GPU slots, or jobs.

The specification depends on the rows, the unit of time and the height only; bars, labels and marks are data. Vega
parameters: `selected`, the name of a job or a list of them (null: none), fades all others; `until`, seconds (null: the
end), hides what comes later, for playback; `gpus`, a list of types and nodes, lights up their rows. All are plain
values that a widget sets; the mark that was clicked carries `job`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.drawing import PADDING_PX, Chart, Drawing, composed, message, unchecked, written
from workbench.analysis.charts.gantt_bars import lanes, lists_of, preemptions, thinned_bars, thinned_marks
from workbench.analysis.charts.gantt_data import (
    BAR_COLUMNS,
    MANY_JOBS,
    MANY_ROWS,
    MOST_HEIGHT_PX,
    ROW_PX,
    By,
    Colour,
    Colours,
    Frame,
    behind,
    corners,
    job_rows,
    job_rows_bars,
    key_table,
    labelled,
    life_marks,
    lost_at,
    names_px,
    round_grid,
    slot_bars,
    slot_rows,
    time_span,
)
from workbench.analysis.charts.gantt_layers import Margin, layers, overview_layers
from workbench.analysis.metrics.rounds import stops_s
from workbench.base.errors import InputError, counted
from workbench.base.units import format_duration
from workbench.scenario.cluster import Cluster
from workbench.simulation.run import Run
from workbench.simulation.schema import TIMELINE


@unchecked
def gantt(
    timeline: pd.DataFrame,
    jobs: pd.DataFrame,
    decisions: pd.DataFrame | None = None,
    events: pd.DataFrame | None = None,
    *,
    by: By = "slot",
    cluster: Cluster | None = None,
    rounds: bool = True,
    end_s: float | None = None,
    max_height: float = MOST_HEIGHT_PX,
    title: str | None = None,
    before: Drawing | None = None,
    colour: Colour | None = None,
    axis_s: float | None = None,
    keyed: Collection[str] = (),
) -> Drawing:
    """Draw who held which GPU when (`by="slot"`), or what each job got (`by="job"`).

    timeline, jobs, decisions, events: tables of a run; decisions give the grid of rounds (cause `round`, thinned to
    200), events where jobs were preempted (without them: where a job's interval ends and none follows). cluster: all
    slots and their order; without it only those that were used.
    end_s: end of the axis (default: the last end, finish or arrival). max_height in pixels: more rows become lower.
    before: such a drawing of another run; where its bars differ they are thin outlines, if it has the same rows.
    colour: what bars are coloured by (default: the job; in the view by job, the type). axis_s: seconds of the unit of
    the axis, 1, 60, 3600 or 86400 (default: in which it reads best). keyed: texts of the key that stand in another
    chart beside it.

    A restart or switch is drawn at least 2 pixels wide so that it is seen at all; everything else is to scale. Of more
    than `MOST_BARS` bars short neighbours are put together, and a note under the title says so; `table` has all, and
    `closer` those of a stretch. More than MANY_ROWS rows or MANY_JOBS jobs have an `overview`.
    """
    slots = lanes(timeline, cluster)
    types = theme.type_colours(slots["accelerator"].unique())
    span = time_span(timeline, jobs, end_s)
    count = len(slots) if by == "slot" else len(jobs)
    row_px = min(ROW_PX, max_height / max(count, 1))
    many = count > MANY_ROWS or len(jobs) > MANY_JOBS
    frame = Frame(max(count, 1), row_px if count else ROW_PX * 4, theme.time_unit(span[1] - span[0], axis_s), by, many)
    colours = Colours.by(colour or ("job" if by == "slot" else "type"), jobs, types)
    if by == "slot":
        bars = slot_bars(timeline, slots, colours, frame)
        rows, lines = kept_rows(tuple(slots.itertuples(index=False, name=None)), tuple(types.items()), frame)
        marks = lost_at(bars, preemptions(timeline, jobs, events))
        margin: Margin | None = Margin.of(slots)
        title = title or "Schedule by GPU"
    else:
        bars = job_rows_bars(timeline, jobs, colours, frame)
        rows, lines = job_rows(jobs, frame)
        lost = lost_at(bars, preemptions(timeline, jobs, events))
        marks, margin = pd.concat([lost, life_marks(jobs, frame)], ignore_index=True), None
        title = title or "Schedule by job"
    seconds = span[1] - span[0]
    few, note = thinned_bars(bars, seconds, frame.row_px)
    closer = partial(_closer, bars, jobs, frame) if note else None
    few = labelled(few, jobs, span, frame)
    marks = thinned_marks(marks, seconds, frame.row_px)
    grid, every = round_grid(decisions if rounds else None, span[1])
    names = names_px(jobs) if margin is None else margin.left_px(tuple(types))
    key = key_table(few, marks, every, colours, frame, names, keyed)
    few = few[BAR_COLUMNS]
    data = {
        "rows": rows,
        "lines": lines,
        "bars": few,
        "marks": marks,
        "rounds": grid,
        "span": corners(span, frame),
        "key": key,
        "before": outlines(before, rows, few),
        "message": message("" if len(bars) else "No jobs" if by == "job" and jobs.empty else "Nothing ran"),
    }
    last_s = float(timeline["end_s"].max()) if len(timeline) else 0.0
    label = (
        f"{title}: {counted(len(jobs), 'job')}, {counted(len(slots), 'GPU')}, until {format_duration(last_s, parts=2)}."
    )
    left = round(NAMES_ROOM * names, 1) if many else 0.0
    chart, as_written = _chart(frame, margin, left, title, note)
    own_stops_s = stops_s(timeline, decisions, span[1]).tolist()
    return Drawing(
        chart,
        data,
        behind(bars if note else few, jobs),
        label,
        PARAMS,
        own_stops_s,
        written=as_written,
        axis_s=frame.unit.seconds,
        overview=_overview(bars, span, frame, left) if many else None,
        closer=closer,
    )


def _closer(bars: pd.DataFrame, jobs: pd.DataFrame, frame: Frame, start_s: float, end_s: float) -> pd.DataFrame:
    """The bars of a stretch, of which fewer are put together than of the whole."""
    there = bars[(bars["end_s"] > start_s) & (bars["start_s"] < end_s)]
    few, _ = thinned_bars(there, end_s - start_s, frame.row_px)
    return labelled(few, jobs, (start_s, end_s), frame)[BAR_COLUMNS]


def _overview(bars: pd.DataFrame, span: tuple[float, float], frame: Frame, left_px: float) -> Drawing:
    """All of the schedule, low, with the stretch that is looked at; dragging marks another."""
    low = frame._replace(row_px=OVERVIEW_PX / frame.rows)
    few, _ = thinned_bars(bars, span[1] - span[0], low.row_px, OVERVIEW_BARS)
    data = {"bars": few[["job", "start_s", "end_s", "y0", "y1", "fill"]], "span": corners(span, low)}
    chart, as_written = _overview_chart(low, left_px)
    label = "The whole schedule: drag to mark what the chart above shows, double-click for all."
    return Drawing(chart, data, data["bars"], label, {"selected": None}, written=as_written)


@lru_cache(32)
def _overview_chart(frame: Frame, left_px: float) -> tuple[Chart, dict[str, Any]]:
    chart = composed(
        *overview_layers(frame, left_px), title="", height=round(frame.height, 2), params={"selected": None}
    )
    chart.title, chart.padding = alt.Undefined, {**PADDING_PX, "top": 0.0}
    return chart, written(chart)


def run_gantt(
    run: Run,
    *,
    by: By = "slot",
    end_s: float | None = None,
    max_height: float = MOST_HEIGHT_PX,
    title: str | None = None,
    before: Drawing | None = None,
    colour: Colour | None = None,
    axis_s: float | None = None,
    keyed: frozenset[str] = frozenset(),
) -> Drawing:
    """Draw a run's schedule on all of its cluster; arguments as in `gantt`, end_s: default the end of the run."""
    return gantt(
        run.timeline,
        run.jobs,
        run.decisions,
        run.events,
        by=by,
        cluster=run.scenario.cluster,
        end_s=run.end_s if end_s is None else end_s,
        max_height=max_height,
        title=title,
        before=before,
        colour=colour,
        axis_s=axis_s,
        keyed=keyed,
    )


def gantt_slot(cluster: Cluster, row: float) -> tuple[str, int] | None:
    """Node and slot of the view by slot at a place of its axis of rows; None beside them."""
    slots = lanes(pd.DataFrame(), cluster)
    if not 0 <= row < len(slots):
        return None
    node, slot = slots.iloc[int(row)][["node", "slot"]]
    return str(node), int(slot)


def left_px(cluster: Cluster) -> float:
    """Pixels of names left of the plot of the view by slot, for charts that are to stand under it."""
    slots = lanes(pd.DataFrame(), cluster)
    return Margin.of(slots).left_px(cluster.types)


@lru_cache(32)
def _chart(frame: Frame, margin: Margin | None, left_px: float, title: str, note: str) -> tuple[Chart, dict[str, Any]]:
    """The specification, also as written; a knob changes only the data, so that the same one is used again."""
    height = round(frame.height, 2)
    chart = composed(*layers(frame, margin, left_px), title=title, subtitle=note, height=height, params=PARAMS)
    return chart, written(chart)


@lru_cache(32)
def kept_rows(
    slots: tuple[tuple[Any, ...], ...], types: tuple[tuple[str, str], ...], frame: Frame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """`slot_rows`, which a knob leaves as they are."""
    return slot_rows(pd.DataFrame(slots, columns=LANE_COLUMNS), dict(types), frame)


PARAMS: Mapping[str, Any] = {"selected": None, "until": None, "at": None, "gpus": None, "rounds": None}
LANE_COLUMNS = ["row", "node", "slot", "accelerator"]
OVERVIEW_PX, OVERVIEW_BARS = 48.0, 3000
NAMES_ROOM = 1.2
"""Room for names left of two plots below each other, as part of what they are thought to need: fonts differ."""
OUTLINES = ["job", "start_s", "end_s", "y0", "y1", "fill"]


def outlines(before: Drawing | None, rows: pd.DataFrame, bars: pd.DataFrame) -> pd.DataFrame:
    """The bars of another drawing that are not among these, as the data set `before`; where rows are others, those of
    the nodes that are in both."""
    if before is None:
        return pd.DataFrame(columns=OUTLINES)
    old = before.data["bars"]
    old = old[old["kind"] == "run"]
    if not before.data["rows"].equals(rows):
        old = _with_nodes(old, before.data["rows"], rows)
    there = set(_outlined(bars))
    return pd.DataFrame([row for row in _outlined(old) if row not in there], columns=OUTLINES)


def _outlined(bars: pd.DataFrame) -> Iterable[tuple[Any, ...]]:
    places = [np.round(bars[name].to_numpy(float), 6).tolist() for name in ("y0", "y1")]
    return zip(*lists_of(bars, "job", "start_s", "end_s"), *places, *lists_of(bars, "fill"), strict=True)


def _with_nodes(bars: pd.DataFrame, old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Bars where their nodes are among other rows; without those of nodes that are gone, or whose GPUs are."""
    was, now = (rows[rows["column"] == "node"].set_index("node")[["y0", "y1"]] for rows in (old, new))
    if was.empty or bars.empty:
        return bars.iloc[:0]
    names = was.index[np.searchsorted(was["y0"].to_numpy(), bars["y0"].to_numpy(), side="right") - 1]
    first, then = was.loc[names].to_numpy(), now.reindex(names).to_numpy()
    moved = bars[["y0", "y1"]].to_numpy() + (then - first)[:, :1]
    fits = (bars["y1"].to_numpy() <= first[:, 1]) & (moved[:, 1] <= then[:, 1])  # not of a node that is gone: NaN
    found: pd.DataFrame = bars.assign(y0=moved[:, 0], y1=moved[:, 1]).loc[fits]
    return found


_Slot = tuple[str, int]
"""A GPU: node and number."""


@unchecked
def plan(
    rows: Sequence[Mapping[str, Any]],
    jobs: Iterable[str],
    cluster: Cluster,
    *,
    end_s: float | None = None,
    max_height: float = MOST_HEIGHT_PX,
    title: str = "Plan",
) -> Drawing:
    """Draw which job holds how many GPUs of each type when.

    rows: `plan` of a result, each with job, start_s, end_s, gpus (`{type: GPUs}`) and perhaps steps; jobs: all names in
    the scenario's order, for their colours; end_s, max_height: as in `gantt`. The plan does not say which GPU
    of a type it is: one that the job had just before, else the first free ones. Raises InputError for more GPUs than
    there are.
    """
    timeline = plan_timeline(rows, cluster)
    names = list(jobs)
    ends = timeline.groupby("job")["end_s"].max()
    known = pd.DataFrame({"job": names, "model": "", "arrival_s": 0.0, "finish_s": ends.reindex(names).to_numpy()})
    return gantt(timeline, known, cluster=cluster, end_s=end_s, max_height=max_height, title=title)


def plan_timeline(rows: Sequence[Mapping[str, Any]], cluster: Cluster) -> pd.DataFrame:
    """The `timeline` of a plan, as a run has it, with the GPUs' numbers chosen as `plan` says."""
    every = lanes(pd.DataFrame(), cluster)
    kind_of: dict[_Slot, str] = {(node, slot): kind for _, node, slot, kind in every.itertuples(index=False)}
    busy: dict[_Slot, tuple[str, float]] = {}  # who has the GPU, or had it last, and until when
    found: list[tuple[Any, ...]] = []
    for row in sorted(rows, key=lambda row: float(row["start_s"])):
        job, start_s, end_s = str(row["job"]), float(row["start_s"]), float(row["end_s"])
        total = sum(row["gpus"].values())
        for kind, count in row["gpus"].items():
            free = [gpu for gpu, of in kind_of.items() if of == kind and _until(busy, gpu) <= start_s]
            if len(free) < count:
                raise InputError(f"plan, job {job} at {start_s:g} s", f"{count} {kind}", f"at most {len(free)} free")
            chosen = sorted(free, key=lambda gpu: (busy.get(gpu) != (job, start_s), free.index(gpu)))[:count]
            for node, slot in chosen:
                busy[node, slot] = (job, end_s)
                steps = float(row.get("steps", 0.0)) / total
                found.append((node, slot, kind, job, job, "", "run", start_s, end_s, steps, 0.0, total))
    return TIMELINE.frame(found)


def _until(busy: Mapping[_Slot, tuple[str, float]], gpu: _Slot) -> float:
    return busy[gpu][1] if gpu in busy else 0.0
