"""The schedule as a Gantt chart: rows are GPU slots, or jobs.

The specification depends on the rows, the unit of time and the height only; bars, labels and marks are data. Vega
parameters: `selected`, the name of a job (null: none), fades all others; `until`, seconds (null: the end), hides what
comes later, for playback. Both are plain values that a widget sets; the mark that was clicked carries `job`.
"""

from __future__ import annotations

from functools import lru_cache

import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.bars import lanes, preemptions
from workbench.analysis.charts.drawing import Chart, Drawing, composed, message
from workbench.analysis.charts.gantt_data import (
    BAR_COLUMNS,
    MOST_HEIGHT_PX,
    ROW_PX,
    By,
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
    spoken,
    time_span,
)
from workbench.analysis.charts.gantt_layers import Margin, layers
from workbench.analysis.charts.gantt_thin import thinned_bars, thinned_marks
from workbench.analysis.metrics.rounds import moments_s
from workbench.scenario.cluster import Cluster
from workbench.simulation.run import Run


def gantt(
    timeline: pd.DataFrame,
    jobs: pd.DataFrame,
    decisions: pd.DataFrame | None = None,
    events: pd.DataFrame | None = None,
    *,
    by: By = "slot",
    cluster: Cluster | None = None,
    rounds: bool = True,
    selected: str | None = None,
    until_s: float | None = None,
    end_s: float | None = None,
    max_height: float = MOST_HEIGHT_PX,
    title: str | None = None,
) -> Drawing:
    """Draw who held which GPU when (`by="slot"`), or what each job got (`by="job"`).

    timeline, jobs, decisions, events: tables of a run; decisions give the grid of rounds (cause `round`, thinned to
    200), events where jobs were preempted (without them: where a job's interval ends and none follows). cluster: all
    slots and their order; without it only those that were used. selected, until_s: first values of the parameters.
    end_s: end of the axis (default: the last end, finish or arrival). max_height in pixels: more rows become lower.

    A restart or switch is drawn at least 2 pixels wide so that it is seen at all; everything else is to scale. Of more
    than `MOST_BARS` bars short neighbours are put together, and a note under the title says so; `table` has all.
    """
    colour = theme.job_colours(jobs["job"])
    slots = lanes(timeline, cluster)
    types = theme.type_colours(slots["accelerator"].unique())
    span = time_span(timeline, jobs, end_s)
    count = len(slots) if by == "slot" else len(jobs)
    row_px = min(ROW_PX, max_height / max(count, 1))
    frame = Frame(max(count, 1), row_px if count else ROW_PX * 4, theme.time_unit(span[1] - span[0]), by)
    if by == "slot":
        bars = slot_bars(timeline, slots, colour, frame)
        rows, lines = slot_rows(slots, types, frame)
        marks = lost_at(bars, preemptions(timeline, jobs, events))
        margin: Margin | None = Margin.of(slots, frame)
        title = title or "Schedule by GPU"
    else:
        bars = job_rows_bars(timeline, jobs, types, frame)
        rows, lines = job_rows(jobs, frame)
        lost = lost_at(bars, preemptions(timeline, jobs, events))
        marks, margin = pd.concat([lost, life_marks(jobs, frame)], ignore_index=True), None
        title = title or "Schedule by job"
    seconds = span[1] - span[0]
    few, note = thinned_bars(bars, seconds, frame.row_px)
    few = labelled(few, jobs, span, frame)[BAR_COLUMNS]
    marks = thinned_marks(marks, seconds, frame.row_px)
    grid, every = round_grid(decisions if rounds else None, span[1])
    names = names_px(jobs) if margin is None else margin.left_px(tuple(types))
    key = key_table(few, marks, every, colour if by == "slot" else types, by, names)
    data = {
        "rows": rows,
        "lines": lines,
        "bars": few,
        "marks": marks,
        "rounds": grid,
        "span": corners(span, frame),
        "key": key,
        "message": message("" if len(bars) else "No jobs" if by == "job" and jobs.empty else "Nothing ran"),
    }
    label = f"{title}: {len(jobs)} jobs, {len(slots)} GPUs, {spoken(span[1])}."
    chart = _chart(frame, margin, title, note, selected, until_s)
    params = {"selected": selected, "until": until_s}
    moments = moments_s(timeline, decisions, span[1]).tolist()
    return Drawing(chart, data, behind(bars, jobs), label, params, moments)


def run_gantt(
    run: Run,
    *,
    by: By = "slot",
    end_s: float | None = None,
    max_height: float = MOST_HEIGHT_PX,
    title: str | None = None,
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
    )


def left_px(cluster: Cluster) -> float:
    """Pixels of names left of the plot of the view by slot, for charts that are to stand under it."""
    slots = lanes(pd.DataFrame(), cluster)
    row_px = min(ROW_PX, MOST_HEIGHT_PX / max(len(slots), 1))
    return Margin.of(slots, Frame(len(slots), row_px, theme.time_unit(1.0), "slot")).left_px(cluster.types)


@lru_cache(32)
def _chart(
    frame: Frame, margin: Margin | None, title: str, note: str, selected: str | None, until_s: float | None
) -> Chart:
    """The specification; a knob changes only the data, so that the same one is used again."""
    params = {"selected": selected, "until": until_s}
    return composed(*layers(frame, margin), title=title, subtitle=note, height=round(frame.height, 2), params=params)
