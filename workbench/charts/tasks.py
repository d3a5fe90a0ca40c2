"""Tasks of jobs in rounds by GPU: who computes and synchronises when, the barriers between rounds, who waits for whom.

A row is a GPU. A task's bar is its computing; the strip below it, which lies under the GPU's next task, is its
synchronising. A dashed line in the job's colour is a round's barrier, when all of its tasks have synchronised; it
spans the GPUs of that round and of the next one. A full line is the end of the job. Pointing at a task draws lines
to it from those for which it waits, and from it to those that wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from workbench.charts import theme
from workbench.charts.bars import lanes
from workbench.charts.drawing import Drawing, Layer, drawn, marks, message, message_layer
from workbench.charts.rows import row_layers, row_px, row_scale, row_texts
from workbench.cluster import Cluster
from workbench.errors import InputError

MOST_TASKS = 3000
"""Of more tasks those that start first are drawn; `table` has all."""
MOST_LINKS = 30_000
"""Lines between tasks; with more of them pointing at a task draws none."""
MOST_BARRIERS = 150
"""Of more barriers those of the selected job are drawn, and the ends of jobs."""
MOST_NAMED_JOBS = 14
"""Of more jobs none is in the legend; the tooltip names them."""
COLUMNS = ("job", "round", "task", "gpu", "start_s", "end_s", "synchronised_s")
TASK = r"(?P<name>.*) #(?P<round>\d+)\.(?P<task>\d+)"
"""How a run's timeline names a task's unit: `job #round.number`."""


def tasks(
    rows: Sequence[Mapping[str, Any]] | pd.DataFrame,
    jobs: Iterable[str],
    gpus: Iterable[str],
    *,
    end_s: float | None = None,
    title: str = "Tasks by GPU",
) -> Drawing:
    """Draw a schedule of tasks.

    rows: of each task job, round and task (from 0), gpu, start_s, end_s (the GPU is free) and synchronised_s, as
    `hare.exact` answers and `task_rows` reads from a run; jobs: all names in the scenario's order, for their colours;
    gpus: names of the rows, in order; end_s: end of the axis (default: when the last task has synchronised).
    Parameter `selected` as in `gantt`. Raises InputError for a task on a GPU or of a job that is not listed.
    """
    colour, lane = theme.job_colours(jobs), {gpu: number for number, gpu in enumerate(gpus)}
    table = pd.DataFrame(rows, columns=list(COLUMNS))
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
    lines = links(bars)
    last_s = float(table["synchronised_s"].max()) if len(table) else 0.0
    unit = theme.time_unit(end_s or last_s)
    used = {job: fill for job, fill in colour.items() if job in set(bars["job"])}
    notes = [f"the first {MOST_TASKS} of {len(table)} tasks"] if len(table) > MOST_TASKS else []
    notes += ["click a task for the barriers of its job"] if len(ends) > MOST_BARRIERS else []
    notes += ["too many tasks to draw who waits for whom"] if len(lines) > MOST_LINKS else []
    return drawn(
        *_layers(len(lane), unit, used, len(ends) > MOST_BARRIERS),
        message_layer(),
        data={
            "bars": bars,
            "barriers": ends.assign(stroke=ends["job"].map({j: theme.shade(f, 0.25) for j, f in colour.items()})),
            "links": lines if len(lines) <= MOST_LINKS else lines.head(0),
            "span": pd.DataFrame({"t": [0.0, end_s or last_s or 1.0]}),
            **row_texts(list(lane), {}),
            "message": message("" if len(bars) else "No tasks"),
        },
        table=table,
        label=f"{title}: {len(table)} tasks of {table['job'].nunique()} jobs on {len(lane)} GPUs, with the barriers of "
        "their rounds.",
        title=title,
        subtitle="; ".join(notes),
        height=round(row_px(len(lane)) * max(len(lane), 4), 2) if len(lane) > 6 else 44 * max(len(lane), 2),
        params={"selected": None},
    )


def task_rows(timeline: pd.DataFrame, cluster: Cluster) -> tuple[pd.DataFrame, list[str]]:
    """A run's tasks as `tasks` takes them, and the names of the cluster's GPUs.

    timeline: of a run in task sequences; a task that had not synchronised when the run ended has as much as it did.
    Raises InputError for a run that is none.
    """
    gpus = [f"{node}/{slot}" for _, node, slot, _ in lanes(pd.DataFrame(), cluster).itertuples(index=False)]
    held = timeline[timeline["kind"].isin(["run", "sync"])]
    parts = held["unit"].astype(str).str.extract(f"^{TASK}$")
    if parts["name"].isna().any():
        found = str(held["unit"][parts["name"].isna()].iloc[0])
        raise InputError("timeline", found, "tasks `job #round.number`: a run in sequences")
    held = held.assign(
        gpu=held["node"].astype(str) + "/" + held["slot"].astype(str),
        round=parts["round"].astype(int),
        task=parts["task"].astype(int),
    )
    by = ["job", "round", "task"]
    computed = held[held["kind"] == "run"].groupby(by, sort=False, observed=True)
    done = held.groupby(by, sort=False, observed=True)["end_s"].max().rename("synchronised_s")
    rows = computed.agg(gpu=("gpu", "last"), start_s=("start_s", "min"), end_s=("end_s", "max")).join(done)
    return rows.reset_index()[list(COLUMNS)], gpus


def in_sequences(timeline: pd.DataFrame) -> bool:
    """Whether a run's timeline is of tasks in rounds."""
    ran = timeline.loc[timeline["kind"] == "run", "unit"].astype(str)
    return len(ran) > 0 and bool(ran.str.fullmatch(TASK).all())


def barriers(bars: pd.DataFrame) -> pd.DataFrame:
    """When each round has synchronised: columns job, round, time_s, last (its job's last round), and from `low` to
    `high` the rows of its tasks and of the next round's. bars: rows of `tasks` with the number of their `row`."""
    rounds = bars.groupby(["job", "round"], sort=False)
    ends = rounds.agg(time_s=("synchronised_s", "max"), low=("row", "min"), high=("row", "max")).reset_index()
    ends = ends.sort_values(["job", "round"], kind="stable").reset_index(drop=True)
    following = ends.groupby("job")[["low", "high"]].shift(-1)
    ends["last"] = following["low"].isna()
    ends["low"] = following["low"].fillna(ends["low"]).clip(upper=ends["low"]).astype(int)
    ends["high"] = following["high"].fillna(ends["high"]).clip(lower=ends["high"]).astype(int) + 1
    return ends


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
    """In words, for the tooltip: the round before and when it has synchronised."""
    until = {(job, number): time_s for job, number, time_s in ends[["job", "round", "time_s"]].itertuples(index=False)}
    pairs = zip(bars["job"], bars["round"], strict=True)
    before = [(number - 1, until.get((job, number - 1))) for job, number in pairs]
    return ["" if time_s is None else f"round {number}, until {time_s:.4g} s" for number, time_s in before]


def _layers(rows: int, unit: theme.TimeUnit, colour: Mapping[str, str], crowded: bool) -> list[Layer]:
    """From the back to the front: axes, computing, synchronising, barriers, names, lines of who waits."""
    per = f"{unit.seconds:g}"
    opacity = alt.condition("!selected || datum.job === selected", alt.value(1), alt.value(theme.FADED))
    y = alt.Y("y0:Q", scale=row_scale(rows), axis=None)
    hover = alt.selection_point(name="hover", on="pointerover", clear="pointerout", fields=["id"], empty=False)
    axes = (
        marks("span")
        .transform_calculate(x=f"datum.t / {per}")
        .mark_point(opacity=0)
        .encode(
            x=alt.X(
                "x:Q",
                title=f"Time ({unit.name})",
                scale=alt.Scale(nice=False, zero=True),
                axis=alt.Axis(format=",~r", grid=True, tickCount=alt.ExprRef("max(2, min(12, width / 80))")),
            )
        )
        .add_params(
            alt.selection_interval(
                name="zoom",
                bind="scales",
                encodings=["x"],
                zoom="wheel![event.altKey]",
                translate="[pointerdown, window:pointerup] > window:pointermove!",
                clear="dblclick",
            )
        )
    )
    shown = marks("bars").transform_calculate(
        x0=f"datum.start_s / {per}",
        x1=f"datum.end_s / {per}",
        x2=f"datum.synchronised_s / {per}",
        y0="datum.row + 0.06",
        y1="datum.row + 0.76",
        y2="datum.row + 0.94",
    )
    tips = [
        alt.Tooltip("id:N", title="Task"),
        alt.Tooltip("gpu:N", title="GPU"),
        alt.Tooltip("start_s:Q", title="Starts (s)", format=".4~r"),
        alt.Tooltip("end_s:Q", title="Has computed (s)", format=".4~r"),
        alt.Tooltip("synchronised_s:Q", title="Has synchronised (s)", format=".4~r"),
        alt.Tooltip("waits_for:N", title="Waits for"),
    ]
    left, right = "scale('x', datum.x0)", "scale('x', datum.x1)"
    named = alt.Legend(orient="bottom", symbolStrokeWidth=0.5) if 0 < len(colour) <= MOST_NAMED_JOBS else None
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
        shown.transform_filter("datum.synchronised_s > datum.end_s")
        .mark_rect(stroke=theme.INK, strokeWidth=0.4, fillOpacity=0.55, clip=True)
        .encode(
            x=alt.X("x1:Q"), x2="x2:Q", y=alt.Y("y1:Q"), y2="y2:Q", fill=alt.Fill("job:N"), opacity=opacity,
            tooltip=tips,
        )
    )  # fmt: skip
    size = theme.LABEL_PX if row_px(rows) >= theme.LABEL_PX + 8 else theme.SMALL_PX
    short, room = "datum.round + '.' + datum.task", f"{right} - {left} > 0.62 * {size} * "
    middle = alt.value(alt.ExprRef(f"({left} + {right}) / 2"))
    name = shown.mark_text(
        clip=True,
        baseline="middle",
        fontSize=alt.ExprRef(f"{room} length({short}) ? {size} : 0"),
    ).encode(
        x=middle,
        y=alt.value(alt.ExprRef("scale('y', datum.row + 0.42)")),
        text=alt.value(alt.ExprRef(f"{room} length(datum.id) ? datum.id : {short}")),
        color=alt.Color("ink:N", scale=None, legend=None),
        opacity=opacity,
    )
    barrier = (
        marks("barriers")
        .transform_filter("datum.last || datum.job === selected" if crowded else "true")
        .transform_calculate(x=f"datum.time_s / {per}")
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
                alt.Tooltip("time_s:Q", title="Has synchronised (s)", format=".4~r"),
            ],
        )
    )
    waits = (
        marks("links")
        .transform_filter(hover)
        .mark_rule(stroke=theme.WARN, strokeWidth=2, clip=True)
        .encode(
            x=alt.value(alt.ExprRef(f"scale('x', datum.t0 / {per})")),
            x2=alt.value(alt.ExprRef(f"scale('x', datum.t1 / {per})")),
            y=alt.value(alt.ExprRef("scale('y', datum.row0 + 0.42)")),
            y2=alt.value(alt.ExprRef("scale('y', datum.row1 + 0.42)")),
        )
    )
    return [axes, computing, synchronising, barrier, name, waits, *row_layers(alt.value(1))]
