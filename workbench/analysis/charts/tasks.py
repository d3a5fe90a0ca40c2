"""Tasks of jobs in rounds by GPU: who computes and synchronises when, the barriers between rounds, who waits for whom.

A row is a GPU. A task's bar is its computing; the strip below it, which lies under the GPU's next task, is its
synchronising. A dashed line in the job's colour is a round's barrier, when all of its tasks have synchronised; it
spans the GPUs of that round and of the next one. A full line is the end of the job. Pointing at a task draws lines
to it from those for which it waits, and from it to those that wait for it.

Where a GPU switched to another job's task, a dark strip before it is the time that took, and a mark in its corner what
it found there: a dot its model, still in memory (a hit), a cross not (a miss), a square that this is not known.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import altair as alt
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.bars_in_rows import outline_layers, outlines_of, row_layers, row_px, row_scale, row_texts
from workbench.analysis.charts.drawing import (
    SELECTED,
    SHOWN,
    Chart,
    Drawing,
    Layer,
    begun,
    composed,
    faded,
    lit_rounds,
    marks,
    message,
    message_layer,
    playhead,
    so_far,
    unchecked,
    written,
    zoom,
)
from workbench.analysis.charts.gantt_bars import lanes
from workbench.base.errors import InputError, counted
from workbench.base.rounding import short_number
from workbench.scenario.cluster import Cluster
from workbench.scheduling.decision import task_parts

MOST_TASKS = 3000
"""Of more tasks those that start first are drawn; `table` has all."""
MOST_LINKS = 30_000
"""Lines between tasks; with more of them pointing at a task draws none."""
MOST_BARRIERS = 150
"""Of more barriers those of the selected job are drawn, and the ends of jobs."""
MOST_NAMED_JOBS = 14
"""Of more jobs none is in the legend; the tooltip names them."""
COLUMNS = ("job", "round", "task", "gpu", "start_s", "end_s", "synchronised_s")
TIMES = ("start_s", "end_s", "synchronised_s")
LOADS = {
    "hit": ("circle", "model in memory"),
    "miss": ("cross", "model loaded"),
    "unknown": ("square", "whether in memory not recorded"),
}
"""What a switch finds on its GPU: the shape of its mark, and in words."""
MARK_PX, MARK_ROOM_PX = 36.0, 9.0
"""Area of a mark, and how wide a task must be drawn to have one."""
LINE = 72
"""Characters of the subtitle that fit beside a page's other half."""
NOTE_PX = 16.0
"""A line of the subtitle."""
COMPACT = 0.6
"""Height of a compact chart's rows, as part of the usual one."""


@unchecked
def tasks(
    rows: Sequence[Mapping[str, Any]] | pd.DataFrame,
    jobs: Iterable[str],
    gpus: Iterable[str],
    *,
    end_s: float | None = None,
    title: str = "Tasks by GPU",
    switches: pd.DataFrame | None = None,
    note: str = "",
    compact: bool = False,
    legend: bool = True,
    axis_s: float | None = None,
    before: Drawing | None = None,
    types: Mapping[str, str] | None = None,
) -> Drawing:
    """Draw a schedule of tasks.

    rows: of each task job, round and task (from 0), gpu, start_s, end_s (the GPU is free) and synchronised_s, as
    `hare.exact` answers and `task_rows` reads from a run; jobs: all names in the scenario's order, for their colours;
    gpus: names of the rows, in order; end_s: end of the axis (default: when the last task has synchronised).
    switches: of tasks for which a GPU switched job, round, task, gpu, load (one of `LOADS`) and switch_s, if any;
    note: what the subtitle says first; compact: lower rows; legend: of the jobs, if they are few;
    axis_s as in `gantt`; before: such a drawing of the same GPUs: where its tasks differ they are thin outlines;
    types: of GPUs, said before their names.
    Parameters `selected` and `until` as in `gantt`.
    Raises InputError for a task on a GPU or of a job that is not listed.
    """
    colour, lane = theme.job_colours(jobs), {gpu: number for number, gpu in enumerate(gpus)}
    table = _with_switches(pd.DataFrame(rows, columns=list(COLUMNS)), switches)
    for column, known in (("gpu", lane), ("job", colour)):
        strange = table.loc[~table[column].isin(known), column]
        if len(strange):
            raise InputError(f"tasks, {column}", strange.iloc[0], f"one of the {len(known)} listed")
    every = table.assign(row=table["gpu"].map(lane).astype(int))
    found = every.sort_values("start_s", kind="stable").head(MOST_TASKS)
    bars = found.assign(
        id=found["job"] + " #" + found["round"].astype(str) + "." + found["task"].astype(str),
        fill=found["job"].map(colour),
        ink=found["job"].map({job: theme.text_on(fill) for job, fill in colour.items()}),
    ).reset_index(drop=True)
    ends = barriers(every)  # of all tasks: a round of which some are not drawn ends with its last one
    ends = ends.merge(bars[["job", "round"]].drop_duplicates(), on=["job", "round"])
    bars["waits_for"] = _waits_for(bars, ends)
    bars["found"] = _found_words(bars)
    lines = links(bars)
    last_s = float(table["synchronised_s"].max()) if len(table) else 0.0
    unit = theme.time_unit(end_s or last_s, axis_s)
    used = {job: fill for job, fill in colour.items() if job in set(bars["job"])}
    notes = [note] if note else []
    notes += ["dashed: end of a round; solid: of a job"] if legend and len(ends) else []
    notes += [f"the first {MOST_TASKS} of {len(table)} tasks"] if len(table) > MOST_TASKS else []
    notes += ["click a task for the barriers of its job"] if len(ends) > MOST_BARRIERS else []
    notes += ["too many tasks to draw who waits for whom"] if len(lines) > MOST_LINKS else []
    notes += _switch_notes(table)
    switched = len(table) > 0 and bool((table["load"] != "").any())
    look = (len(lane), unit, tuple(used.items()), len(ends) > MOST_BARRIERS, legend, switched, compact)
    chart, as_written = _chart(*look, title)
    return Drawing(
        chart,
        data={
            "bars": bars,
            "before": outlines_of(before, bars),
            "barriers": ends.assign(stroke=ends["job"].map({j: theme.shade(f, 0.25) for j, f in colour.items()})),
            "links": lines if len(lines) <= MOST_LINKS else lines.head(0),
            "span": pd.DataFrame({"t": [0.0, end_s or last_s or 1.0], "last": [False, True]}),
            **row_texts([" ".join(filter(None, [(types or {}).get(gpu), gpu])) for gpu in lane], {}),
            "message": message("" if len(bars) else "No tasks"),
            "note": _note(_lines(notes)),
        },
        table=table,
        label=f"{title}: {counted(len(table), 'task')} of {counted(table['job'].nunique(), 'job')} on "
        f"{counted(len(lane), 'GPU')}, with the barriers of "
        "their rounds.",
        params=PARAMS,
        stops=_stops(table, end_s),
        written=as_written,
        axis_s=unit.seconds,
    )


PARAMS: Mapping[str, Any] = {"selected": None, "until": None, "at": None, "rounds": None}


@lru_cache(32)
def _chart(
    rows: int,
    unit: theme.TimeUnit,
    used: tuple[tuple[str, str], ...],
    crowded: bool,
    legend: bool,
    switched: bool,
    compact: bool,
    title: str,
) -> tuple[Chart, dict[str, Any]]:
    """The specification, also as written; a knob changes only the data, so that the same one is used again."""
    chart = composed(
        *_layers(rows, unit, dict(used), crowded, legend=legend),
        *(_switch_layers(unit) if switched else []),
        message_layer(),
        _note_layer(),
        title=title,
        height=_height_px(rows, compact),
        params=PARAMS,
    )
    return chart, written(chart)


def task_rows(timeline: pd.DataFrame, cluster: Cluster) -> tuple[pd.DataFrame, list[str]]:
    """A run's tasks as `tasks` takes them, and the names of the cluster's GPUs.

    timeline: of a run in task sequences; a task that had not synchronised when the run ended has as much as it did, and
    of one that a node's failure broke off only the last attempt is there.
    Raises InputError for a run that is none.
    """
    gpus = [f"{node}/{slot}" for _, node, slot, _ in lanes(pd.DataFrame(), cluster).itertuples(index=False)]
    held = timeline[timeline["kind"].isin(["run", "sync"])]
    parts = task_parts(held["unit"])
    if parts["job"].isna().any():
        found = str(held["unit"][parts["job"].isna()].iloc[0])
        raise InputError("timeline", found, "tasks `job #round.number`: a run in sequences")
    held = held.assign(
        gpu=held["node"].astype(str) + "/" + held["slot"].astype(str),
        round=parts["round"].astype(int),
        task=parts["task"].astype(int),
    )
    by = ["job", "round", "task"]
    held["synchronised_s"] = held.groupby(by, sort=False, observed=True)["end_s"].transform("max")
    computed = held[held["kind"] == "run"].sort_values("start_s", kind="stable").drop_duplicates(by, keep="last")
    return computed[list(COLUMNS)].reset_index(drop=True), gpus


def barriers(bars: pd.DataFrame) -> pd.DataFrame:
    """When each round has synchronised: columns job, round, time_s, last (its job's last round), and from `low` to
    `high` the rows of its tasks and of the next round's. bars: rows of `tasks` with the number of their `row`."""
    found: dict[tuple[str, int], tuple[float, int, int]] = {}
    columns = (bars[name].tolist() for name in ("job", "round", "synchronised_s", "row"))
    for job, number, time_s, row in zip(*columns, strict=True):
        until_s, low, high = found.get((job, number), (time_s, row, row))
        found[job, number] = max(until_s, time_s), min(low, row), max(high, row)
    rows = []
    keys = sorted(found)
    for key, after in itertools.zip_longest(keys, keys[1:]):
        time_s, low, high = found[key]
        last = after is None or after[0] != key[0]
        if not last:
            low, high = min(low, found[after][1]), max(high, found[after][2])
        rows.append((*key, time_s, low, high + 1, last))
    return pd.DataFrame(rows, columns=["job", "round", "time_s", "low", "high", "last"])


def links(bars: pd.DataFrame) -> pd.DataFrame:
    """From each task to those of its job's next round, which wait for it: columns job, id, t0, row0, t1, row1.

    Every line is there twice, under the `id` of either end. bars: as in `barriers`, with ids.
    """
    ends = bars[["job", "round", "id", "row", "start_s", "synchronised_s"]]
    before = ends.assign(round=ends["round"] + 1)
    pairs = before.merge(ends, on=["job", "round"], suffixes=("_0", "_1"))
    line = pd.DataFrame(
        {
            "job": pairs["job"],
            "t0": pairs["synchronised_s_0"],
            "row0": pairs["row_0"],
            "t1": pairs["start_s_1"],
            "row1": pairs["row_1"],
        }
    )
    return pd.concat([line.assign(id=pairs["id_0"]), line.assign(id=pairs["id_1"])], ignore_index=True)


def _waits_for(bars: pd.DataFrame, ends: pd.DataFrame) -> list[str]:
    """In words, for the tooltip: the round before and when it has synchronised; "-" for none."""
    until = {(job, number): time_s for job, number, time_s in ends[["job", "round", "time_s"]].itertuples(index=False)}
    pairs = zip(bars["job"], bars["round"], strict=True)
    before = [(number - 1, until.get((job, number - 1))) for job, number in pairs]
    return ["-" if end_s is None else f"round {number}, until {short_number(end_s, 4)} s" for number, end_s in before]


def _stops(table: pd.DataFrame, end_s: float | None) -> list[float]:
    """When something begins or ends, and the end of the axis, in seconds and in order."""
    times = {float(time_s) for column in TIMES for time_s in table[column]} | ({end_s} if end_s else set())
    return sorted(time_s for time_s in times if time_s > 0)


def _height_px(rows: int, compact: bool) -> float:
    """Of the plot."""
    if compact:
        return round(row_px(rows) * rows * COMPACT, 2) if rows > 6 else 30.0 * max(rows, 2)
    return round(row_px(rows) * max(rows, 4), 2) if rows > 6 else 36.0 * max(rows, 2)


def _with_switches(table: pd.DataFrame, switches: pd.DataFrame | None) -> pd.DataFrame:
    """Tasks with load and switch_s of the switch to each, "" and 0 where there was none.

    A task that began again elsewhere after a failure has the switch to the GPU where it was done.
    """
    if switches is None:
        return table.assign(load="", switch_s=0.0)
    by = ["job", "round", "task", "gpu"]
    last = switches[[*by, "load", "switch_s"]].drop_duplicates(by, keep="last")
    found = table.merge(last, how="left", on=by)
    strange = found.loc[~found["load"].isin(LOADS) & found["load"].notna(), "load"]
    if len(strange):
        raise InputError("tasks, load", strange.iloc[0], f"one of {', '.join(LOADS)}")
    return found.assign(load=found["load"].fillna("").astype(str), switch_s=found["switch_s"].fillna(0.0))


def _found_words(bars: pd.DataFrame) -> list[str]:
    """In words, for the tooltip: what a switch cost, and what it found; "-" for none."""
    pairs = zip(bars["load"], bars["switch_s"], strict=True)
    return [f"{short_number(seconds, 4)} s, {LOADS[load][1]}" if load else "-" for load, seconds in pairs]


def _switch_notes(table: pd.DataFrame) -> list[str]:
    """How many switches there were, how long they took, and how many were hits."""
    switched = table[table["load"] != ""]
    if switched.empty:
        return []
    counts = switched["load"].value_counts()
    parts = [f"{words} ({shape}) {counts[load]}" for load, (shape, words) in LOADS.items() if load in counts]
    found = f": {', '.join(parts)}" if set(counts.index) != {"unknown"} else ""
    took = short_number(switched["switch_s"].sum())
    return [f"\u25a0 switched to another job {counted(len(switched), 'time')}, {took} s in all{found}"]


def _lines(notes: list[str]) -> str:
    """In one line if it is short: a longer one would make the plot of a narrow page narrower still."""
    return ("; " if len("; ".join(notes)) <= LINE else "\n").join(notes)


def _note(text: str) -> pd.DataFrame:
    """The subtitle, which is data as it tells of the run: lines, and where they stand above the plot."""
    lines = text.split("\n") if text else []
    above = [-NOTE_PX * (len(lines) - at) + NOTE_PX / 2 for at in range(len(lines))]
    return pd.DataFrame({"text": pd.Series(lines, dtype="str"), "py": pd.Series(above, dtype="float64")})


def _note_layer() -> Layer:
    """The subtitle."""
    return (
        marks("note")
        .mark_text(clip=False, align="left", baseline="middle", fontSize=theme.LABEL_PX, color=theme.MUTED)
        .encode(text="text:N", x=alt.value(0), y=alt.value(alt.ExprRef("datum.py")))
    )


def _switch_layers(unit: theme.TimeUnit) -> list[Layer]:
    """The time of each switch, and a mark for what it found where the task is wide enough."""
    per = f"{unit.seconds:g}"
    switched = (
        marks("bars")
        .transform_filter(f"datum.load && ({SHOWN.format('start_s - datum.switch_s')})")
        .transform_calculate(
            x0=f"(datum.start_s - datum.switch_s) / {per}",
            x1=f"{so_far('start_s')} / {per}",
            y0="datum.row + 0.06",
            y1="datum.row + 0.76",
        )
    )
    opacity = faded(SELECTED)
    strip = switched.mark_rect(fill=theme.INK, clip=True).encode(
        x=alt.X("x0:Q"), x2="x1:Q", y=alt.Y("y0:Q"), y2="y1:Q", opacity=opacity
    )
    width = f"scale('x', {so_far('end_s')} / {per}) - scale('x', datum.x1)"
    mark = switched.mark_point(strokeWidth=1, clip=True, xOffset=5, yOffset=5).encode(
        x=alt.X("x1:Q"),
        y=alt.Y("y0:Q"),
        fill=alt.value(theme.PAPER),
        stroke=alt.value(theme.INK),
        opacity=opacity,
        size=alt.value(alt.ExprRef(f"{width} > {MARK_ROOM_PX} ? {MARK_PX} : 0")),
        shape=alt.Shape(
            "load:N",
            scale=alt.Scale(domain=list(LOADS), range=[shape for shape, _ in LOADS.values()]),
            legend=None,  # it would have no symbols: Vega-Lite takes their size for data; the subtitle says it in words
        ),
    )
    return [strip, mark]


def _layers(rows: int, unit: theme.TimeUnit, colour: Mapping[str, str], crowded: bool, *, legend: bool) -> list[Layer]:
    """From the back to the front: axes, computing, synchronising, barriers, names, lines of who waits."""
    opacity = faded(SELECTED)
    hover = alt.selection_point(name="hover", on="pointerover", clear="pointerout", fields=["id"], empty=False)
    computing, synchronising, name = _task_layers(rows, unit, colour, opacity, hover, legend=legend)
    barrier, waits = _barriers(unit, crowded, opacity), _waits(unit, hover)
    played = [lit_rounds(unit.seconds), playhead(unit.seconds)]
    ghost = outline_layers(unit.seconds, opacity, 0.06, 0.76)
    return [_axes(unit), computing, synchronising, *ghost, barrier, name, waits, *played, *row_layers(alt.value(1))]


def _axes(unit: theme.TimeUnit) -> Layer:
    """The axis of time, which zooms."""
    return (
        marks("span")
        .transform_calculate(x=f"datum.t / {unit.seconds:g}")
        .mark_point(opacity=0)
        .encode(
            x=alt.X(
                "x:Q",
                title=f"Time ({unit.name})",
                scale=alt.Scale(nice=False, zero=True),
                axis=alt.Axis(
                    format=",~r",
                    grid=True,
                    tickCount=alt.ExprRef("max(2, min(12, width / 80))"),
                    **theme.BESIDE_TICKS,
                ),
            )
        )
        .add_params(zoom())
    )


def _task_layers(
    rows: int, unit: theme.TimeUnit, colour: Mapping[str, str], opacity: Any, hover: alt.Parameter, *, legend: bool
) -> list[Layer]:
    """What a task computes, what it synchronises, and its name."""
    per = f"{unit.seconds:g}"
    y = alt.Y("y0:Q", scale=row_scale(rows), axis=None)
    shown = (
        marks("bars")
        .transform_filter(begun())
        .transform_calculate(
            x0=f"datum.start_s / {per}",
            x1=f"{so_far('end_s')} / {per}",
            x2=f"{so_far('synchronised_s')} / {per}",
            y0="datum.row + 0.06",
            y1="datum.row + 0.76",
            y2="datum.row + 0.94",
            starts=theme.duration_expr("datum.start_s"),
            computed=theme.duration_expr("datum.end_s"),
            synchronised=theme.duration_expr("datum.synchronised_s"),
        )
    )
    tips = [
        alt.Tooltip("id:N", title="Task"),
        alt.Tooltip("gpu:N", title="GPU"),
        alt.Tooltip("starts:N", title="Starts"),
        alt.Tooltip("computed:N", title="Has computed"),
        alt.Tooltip("synchronised:N", title="Has synchronised"),
        alt.Tooltip("waits_for:N", title="Waits for"),
        alt.Tooltip("found:N", title="Switch"),
    ]
    left, right = "scale('x', datum.x0)", "scale('x', datum.x1)"
    above = alt.ExprRef(f"8 + {NOTE_PX} * max(1, length(data('note')))")  # the subtitle is between it and the plot
    named = alt.Legend(symbolStrokeWidth=0.5, offset=above) if legend and 0 < len(colour) <= MOST_NAMED_JOBS else None
    fill = alt.Fill(
        "job:N", title=None, scale=alt.Scale(domain=list(colour), range=list(colour.values())), legend=named
    )
    computing = (
        shown.mark_rect(
            stroke=theme.PAPER,
            strokeWidth=alt.ExprRef(f"{right} - {left} > 5 ? 0.8 : 0"),
            cursor="pointer",
            clip=True,
        )
        .encode(x=alt.X("x0:Q"), x2="x1:Q", y=y, y2="y1:Q", fill=fill, opacity=opacity, tooltip=tips)
        .add_params(hover)
    )
    synchronising = (
        shown.transform_filter("datum.x2 > datum.x1")
        .mark_rect(stroke=theme.INK, strokeWidth=0.4, fillOpacity=0.55, clip=True)
        .encode(
            x=alt.value(alt.ExprRef(right)),  # where nothing synchronises, a field would have no extent to warn of
            x2=alt.value(alt.ExprRef("scale('x', datum.x2)")),
            y=alt.Y("y1:Q"),
            y2="y2:Q",
            fill=alt.Fill("job:N"),
            opacity=opacity,
            tooltip=tips,
        )
    )
    size = theme.LABEL_PX if row_px(rows) >= theme.LABEL_PX + 8 else theme.SMALL_PX
    short, beside = "datum.round + '.' + datum.task", "(datum.load ? 3 : 0)"  # a mark needs room beside the name
    longer = f"{right} - {left} > 0.62 * {size} * "
    middle = alt.value(alt.ExprRef(f"({left} + {right}) / 2"))
    name = shown.mark_text(
        clip=True,
        baseline="middle",
        fontSize=alt.ExprRef(f"{longer} (length({short}) + {beside}) ? {size} : 0"),
    ).encode(
        x=middle,
        y=alt.value(alt.ExprRef("scale('y', datum.row + 0.42)")),
        text=alt.value(alt.ExprRef(f"{longer} (length(datum.id) + {beside}) ? datum.id : {short}")),
        color=alt.Color("ink:N", scale=None, legend=None),
        opacity=opacity,
    )
    return [computing, synchronising, name]


def _barriers(unit: theme.TimeUnit, crowded: bool, opacity: Any) -> Layer:
    """Where a round of a job ends; crowded: of its last round alone, but for the job that is selected."""
    return (
        marks("barriers")
        .transform_filter("datum.last || datum.job === selected" if crowded else "true")
        .transform_filter(SHOWN.format("time_s"))
        .transform_calculate(x=f"datum.time_s / {unit.seconds:g}", at=theme.duration_expr("datum.time_s"))
        .mark_rule(strokeWidth=1 if crowded else 2, strokeDash=alt.ExprRef("datum.last ? [] : [5, 3]"), clip=True)
        .encode(
            x=alt.X("x:Q"),
            y=alt.Y("low:Q"),
            y2="high:Q",
            stroke=alt.Stroke("stroke:N", scale=None, legend=None),
            opacity=opacity,
            tooltip=[
                alt.Tooltip("job:N", title="Job"),
                alt.Tooltip("round:Q", title="Round"),
                alt.Tooltip("at:N", title="Has synchronised"),
            ],
        )
    )


def _waits(unit: theme.TimeUnit, hover: alt.Parameter) -> Layer:
    """Lines to the tasks that the one under the pointer waits for."""
    return (
        marks("links")
        .transform_filter(hover)
        .transform_filter(SHOWN.format("t1"))
        .mark_rule(stroke=theme.WARN, strokeWidth=2, clip=True)
        .encode(
            x=alt.value(alt.ExprRef(f"scale('x', datum.t0 / {unit.seconds:g})")),
            x2=alt.value(alt.ExprRef(f"scale('x', datum.t1 / {unit.seconds:g})")),
            y=alt.value(alt.ExprRef("scale('y', datum.row0 + 0.42)")),
            y2=alt.value(alt.ExprRef("scale('y', datum.row1 + 0.42)")),
        )
    )
