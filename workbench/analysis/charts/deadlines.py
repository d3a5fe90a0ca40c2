"""A Gantt chart by job with deadlines: which leases jobs have, what they were for, which deadlines were met."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.bars_in_rows import (
    outline_layers,
    outlines_of,
    present,
    row_bars,
    row_layers,
    row_px,
    row_scale,
    row_texts,
)
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
)
from workbench.base.errors import counted
from workbench.scenario.rewards import LOWEST

MOST_ROWS = 60
"""Of more jobs so many are drawn, the first."""
MOST_LEASES = 40
"""Boundaries of leases are drawn up to so many."""
PROFILING, GUARANTEED, SPOT, RUNS, RESTART = "profiling", "guaranteed", "spot", "runs", "restart"
BARS = {
    GUARANTEED: theme.PALETTE[0],
    SPOT: theme.PALETTE[6],
    PROFILING: theme.PALETTE[5],
    RUNS: theme.tint(theme.PALETTE[0], 0.5),
    RESTART: theme.MUTED,
}
SAYS = {
    PROFILING: "profiling: to measure how fast it is",
    GUARANTEED: "guaranteed: kept for it, so that it meets its deadline",
    SPOT: "best effort (spot): on GPUs left over, nothing is promised",
    RESTART: "restart: loads its checkpoint",
}
"""What leases are, in more words."""
HIT, MISSED, LATER, OPEN, EARLIEST, VERDICT = (
    "deadline met",
    "deadline missed",
    "later deadline",
    "not reached yet",
    "earliest that would do",
    "verdict",
)
MARKS = {
    HIT: ("circle", theme.PALETTE[2]),
    MISSED: ("cross", theme.PALETTE[3]),
    LATER: ("square", theme.GRID),
    OPEN: ("diamond", theme.PALETTE[4]),
    EARLIEST: ("triangle-up", theme.PALETTE[1]),
    VERDICT: ("triangle-down", theme.PAPER),
}
REWARD = "Reward"
SECONDS_EQUAL = 1e-6
"""A completion within so much of a deadline is at it."""


NO_LIVES = pd.DataFrame({"job": pd.Series(dtype="str"), "start": pd.Series(dtype=float), "end": pd.Series(dtype=float)})


class LeaseTables(NamedTuple):
    """What is drawn. bars: columns job, start, end, what; deadlines: columns job, at, outcome, reward; jobs: in order.

    texts: columns behind the plot, a text for each job by heading; lives: columns job, start, end, from a job's arrival
    to its completion. Times count in s, or in leases.
    """

    jobs: tuple[str, ...]
    bars: pd.DataFrame
    deadlines: pd.DataFrame
    texts: Mapping[str, Sequence[str]]
    lives: pd.DataFrame = NO_LIVES


def planned_leases(
    leases: Mapping[str, Sequence[int] | None],
    deadlines: Mapping[str, Sequence[int]],
    *,
    reward: Mapping[str, float] | None = None,
) -> LeaseTables:
    """What a plan of leases gives, in leases: lease k lies between k - 1 and k.

    leases: of each job, from 1, None for one that has none (`leases` of a result); deadlines: of each job, by the end
    of which lease; reward: for the column behind the plot.
    """
    bars = [
        (job, float(first - 1), float(last), RUNS)
        for job, own in leases.items()
        for first, last in _stretches(own or ())
    ]
    rows: list[tuple[str, float, str, float]] = []
    for job, by in deadlines.items():
        own = leases.get(job)
        done = float(max(own)) if own else math.inf
        rows += [(job, float(at), outcome, math.nan) for at, outcome in zip(by, _outcomes(by, done, True), strict=True)]
    texts = {} if reward is None else {REWARD: [f"{reward[job]:g}" for job in leases]}
    return LeaseTables(tuple(leases), _bars(bars), _marks(rows), texts)


def run_leases(
    timeline: pd.DataFrame,
    jobs: pd.DataFrame,
    rewards: Mapping[str, Sequence[Sequence[float]] | None],
    *,
    end_s: float,
    only: Sequence[str] | None = None,
    broken_s: Mapping[str, float] | None = None,
    miss_reward: float = LOWEST,
) -> LeaseTables:
    """What a run gave its jobs, in s: bars by what the GPUs were for, and how each deadline came out.

    rewards: of each job, `(deadline in s after arrival, reward)`; only: these jobs, in that order (default: all that
    have a deadline); broken_s: when guarantees were broken, see `workbench.analysis.metrics.slo`. A guaranteed job runs
    on guaranteed leases, so does one until its guarantee is broken, another that has a verdict runs on spot ones;
    without verdicts jobs just run. miss_reward: V_0 of Chronus, what a job gets that meets none of its deadlines.
    """
    names = [job for job in jobs["job"] if rewards.get(job)] if only is None else list(only)
    known = jobs.set_index("job").loc[names[: 2 * MOST_ROWS]]
    shown = list(known.index)
    part = timeline[timeline["job"].isin(shown) & timeline["kind"].isin(["run", "restart", "profile"])]
    verdicts = bool((jobs["verdict"] != "").any())
    what = {job: logical_cluster_of(verdict) if verdicts else RUNS for job, verdict in known["verdict"].items()}
    kinds = part["kind"].map({"restart": RESTART, "profile": PROFILING}).fillna(part["job"].map(what))
    spans = pd.DataFrame({"job": part["job"], "start": part["start_s"], "end": part["end_s"], "what": kinds})
    spans = until_broken(spans.drop_duplicates(), broken_s or {})
    rows: list[tuple[str, float, str, float]] = []
    worth: list[str] = []
    for job, arrival_s, finish_s in known[["arrival_s", "finish_s"]].itertuples():
        steps = rewards.get(job) or ()
        done = finish_s - arrival_s if finish_s == finish_s else math.inf
        over = math.isfinite(done)
        by = [float(deadline) for deadline, _ in steps]
        outcomes = _outcomes(by, done, over, end_s - arrival_s)
        values = [float(reward) for _, reward in steps]
        rows += [(job, arrival_s + at, how, value) for at, how, value in zip(by, outcomes, values, strict=True)]
        met = [value for how, value in zip(outcomes, values, strict=True) if how == HIT]
        missed = miss_reward if max(values, default=0.0) > miss_reward else 0.0  # as `metrics` count it
        worth.append(f"{met[0]:g}" if met else f"{missed:g}" if over and steps else "")
    texts: dict[str, Sequence[str]] = {"GPUs": [str(count) for count in known["gpus"]]}
    texts[REWARD] = worth
    until = known["finish_s"].fillna(end_s)
    lives = pd.DataFrame({"job": shown, "start": known["arrival_s"].to_numpy(), "end": until.to_numpy()})
    return LeaseTables(tuple(shown), _merged(spans), _marks(rows), texts, lives.astype({"job": "str"}))


@unchecked
def lease_gantt(
    table: LeaseTables,
    *,
    lease: float | None = None,
    start: float = 0.0,
    end: float | None = None,
    in_leases: bool = False,
    title: str = "Leases and deadlines",
    subtitle: str = "",
    axis_s: float | None = None,
    before: Drawing | None = None,
) -> Drawing:
    """Draw a row for each job: its leases as bars, its deadlines as marks whose shape and colour say what came of them.

    lease: length of a lease, for lines at the boundaries; start, end: where the axis begins, and what it reaches at
    least; in_leases: time counts in leases (`planned_leases`), not in s; axis_s as in `gantt`, and the parameters
    `selected` and `until`: what comes of a deadline is shown from when it is known; before: such a drawing of the same
    jobs: where its bars differ they are thin outlines.
    """
    count = min(len(table.jobs), MOST_ROWS)
    names = table.jobs[:count]
    row = {job: i for i, job in enumerate(names)}
    bars = table.bars[table.bars["job"].isin(row)]
    deadlines = table.deadlines[table.deadlines["job"].isin(row)]
    ends = (bars["end"], deadlines["at"], table.lives["end"])
    last = max([end or 0.0, *(time for column in ends for time in column.tolist())])
    unit = theme.TimeUnit("leases", 1.0) if in_leases else theme.time_unit(last, axis_s)
    per, lives = unit.seconds, table.lives[table.lives["job"].isin(row)]
    bars = bars.assign(row=bars["job"].map(row), x0=bars["start"] / unit.seconds, fill=bars["what"].map(BARS))
    points = deadlines.assign(row=deadlines["job"].map(row), x=deadlines["at"] / unit.seconds)
    points, done = _with_known(points, table), _done(table)
    points = points.sort_values("outcome", key=lambda column: column != LATER, kind="stable")  # those in front
    more = len(table.jobs) - count
    notes = [subtitle] if subtitle else []
    notes += [f"the first {count} of {len(table.jobs)} jobs"] if more > 0 else []
    length = 1.0 if in_leases else lease
    still_open = bool((points["outcome"] == OPEN).any())
    look = (_bar_kinds(bars["what"]), _mark_kinds(points), still_open)
    chart, as_written = _chart(unit, count, *look, title, "; ".join(notes))
    data = row_texts(names, {head: list(column)[:count] for head, column in table.texts.items()})
    known = data["texts"]["job"].map(done).fillna(0.0).where(data["texts"]["head"] == REWARD, 0.0)
    data["texts"] = data["texts"].assign(known=known)
    return Drawing(
        chart,
        data={
            "span": pd.DataFrame(
                {
                    "x": [start / per, last / per],
                    "row": [0, max(count, 1)],
                    "last": [False, True],
                    "later": bool((points["outcome"] == LATER).any()),
                }
            ),
            "boundaries": _lease_times(length, start, last, unit),
            "lives": lives.assign(row=lives["job"].map(row), x0=lives["start"] / per),
            "bars": bars,
            "before": outlines_of(before, bars, ("job", "row", "start", "end", "fill")),
            "deadlines": points,
            **data,
            "message": message("" if count else "No job has a deadline"),
        },
        table=_numbers(bars, deadlines, "leases" if in_leases else "s"),
        label=f"{title}: a row for each of {counted(count, 'job')}, its leases and its deadlines.",
        params=PARAMS,
        stops=_stops(bars, points, start, last),
        clock=unit.name if in_leases else "s",
        written=as_written,
        axis_s=None if in_leases else per,
    )


PARAMS: Mapping[str, Any] = {"selected": None, "until": None, "at": None, "rounds": None}


@lru_cache(32)
def _chart(
    unit: theme.TimeUnit,
    rows: int,
    bars: tuple[str, ...],
    marked: tuple[str, ...],
    still_open: bool,
    title: str,
    subtitle: str,
) -> tuple[Chart, dict[str, Any]]:
    """The specification, also as written; a knob changes only the data, so that the same one is used again.

    bars, marked: the kinds that the keys name; still_open: some deadline is not reached in the end.
    """
    of_none = "!isArray(selected) && !indata('lives', 'job', selected)"  # a job without deadlines has no row
    opacity = faded(f"({of_none}) || {SELECTED}")
    chart = composed(
        _axis(unit, rows),
        *_boundaries(),
        _life_layer(unit.seconds, opacity),
        _bar_layer(bars, unit, opacity),
        *outline_layers(unit.seconds, opacity),
        _mark_layer(marked, unit, still_open, opacity),
        lit_rounds(unit.seconds),
        playhead(unit.seconds),
        *row_layers(opacity, shown=SHOWN.format("known")),
        message_layer(),
        title=title,
        subtitle=subtitle,
        height=round(row_px(rows) * max(rows, 3), 2),
        params=PARAMS,
    )
    return chart, written(chart)


def _bar_kinds(found: pd.Series[str]) -> tuple[str, ...]:
    """What the key of the bars names: with one of guaranteed and spot leases both, so that it stays as a knob turns."""
    both = {GUARANTEED, SPOT} if found.isin([GUARANTEED, SPOT]).any() else set()
    return tuple(present(BARS, both.union(found)))


def _mark_kinds(points: pd.DataFrame) -> tuple[str, ...]:
    """What the key of the deadlines may name: all that can come of them, so that it stays as a knob turns."""
    found = set(points["outcome"])
    if found & {HIT, MISSED, LATER, OPEN}:
        found |= {HIT, MISSED, OPEN}
        found |= {LATER} if points[~points["outcome"].isin([EARLIEST, VERDICT])]["job"].duplicated().any() else set()
    return tuple(present(MARKS, found))


# Tables ---------------------------------------------------------------------------------------------------------------


def _outcomes(by: Sequence[float], done: float, over: bool, now: float = math.inf) -> list[str]:
    """Of each deadline what came of it; done: infinite for never, over: nothing can change it any more."""
    found, met = [], False
    for at in by:
        if met:
            found.append(LATER)
        elif done <= at + SECONDS_EQUAL:
            found.append(HIT)
            met = True
        else:
            found.append(MISSED if over or at < now else OPEN)
    return found


def logical_cluster_of(verdict: str) -> str:
    """The logical cluster of jobs with that verdict."""
    return GUARANTEED if verdict == "guaranteed" else SPOT


def until_broken(spans: pd.DataFrame, broken_s: Mapping[str, float]) -> pd.DataFrame:
    """What was spot in the end was guaranteed before; intervals that reach over that time are cut in two.

    spans: columns job, start, end, what, and perhaps more; broken_s: by job, see `workbench.analysis.metrics.broken_s`.
    """
    if not broken_s:
        return spans.reset_index(drop=True)
    cut_s = spans["job"].map(broken_s).where(spans["what"] == SPOT)
    before = spans[spans["start"] < cut_s].assign(what=GUARANTEED)
    before["end"] = np.minimum(before["end"], cut_s[before.index])
    after = spans[~(spans["end"] <= cut_s)]
    after = after.assign(start=np.fmax(after["start"], cut_s[after.index]))
    return pd.concat([before, after], ignore_index=True)


def _done(table: LeaseTables) -> dict[str, float]:
    """When each job is done, as far as it is: the end of its life, else of its last bar."""
    ends = table.lives if len(table.lives) else table.bars
    done: dict[str, float] = {}
    for job, end in zip(ends["job"].tolist(), ends["end"].tolist(), strict=True):
        done[job] = max(end, done.get(job, end))
    return done


def _with_known(points: pd.DataFrame, table: LeaseTables) -> pd.DataFrame:
    """Add `since`, from when on a mark is shown, and `known`, from when on what comes of it is.

    A deadline is shown from its job's arrival on; it is missed when it is over, met when the job is done. A verdict and
    what follows from it are shown when the verdict is given.
    """
    arrival = dict(zip(table.lives["job"].tolist(), table.lives["start"].tolist(), strict=True))
    marked = list(zip(*(points[name].tolist() for name in ("job", "at", "outcome")), strict=True))
    asked, done = {job: at for job, at, outcome in marked if outcome == VERDICT}, _done(table)
    since, known = [], []
    for job, at, outcome in marked:
        said, came = outcome in (VERDICT, EARLIEST), arrival.get(job, 0.0)
        since.append(asked.get(job, came) if said else came)
        known.append(since[-1] if said else at if outcome == MISSED else done.get(job, 0.0))
    return points.assign(since=np.array(since, float), known=np.array(known, float))


def _stops(bars: pd.DataFrame, points: pd.DataFrame, start: float, last: float) -> list[float]:
    """When a lease begins or ends or a deadline passes, and the end."""
    times = {*bars["start"].tolist(), *bars["end"].tolist(), *points["at"].tolist(), last}
    return sorted(time for time in times if start < time <= last)


def _stretches(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Neighbouring leases put together: first and last of each stretch."""
    found: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def _merged(spans: pd.DataFrame) -> pd.DataFrame:
    """Intervals of a job for the same thing that touch are one."""
    rows: list[tuple[str, float, float, str]] = []
    told = zip(*(spans[name].tolist() for name in ("job", "start", "end", "what")), strict=True)
    for job, start, end, what in sorted(told, key=lambda each: each[:3]):
        before = rows[-1] if rows else None
        if before is not None and before[0] == job and before[3] == what and start <= before[2] + SECONDS_EQUAL:
            rows[-1] = (job, before[1], max(before[2], end), what)
        else:
            rows.append((job, start, end, what))
    return _bars(rows)


def _bars(rows: Iterable[tuple[str, float, float, str]]) -> pd.DataFrame:
    frame = pd.DataFrame(list(rows), columns=["job", "start", "end", "what"])
    return frame.astype({"job": "str", "start": float, "end": float, "what": "str"})


def _marks(rows: Iterable[tuple[str, float, str, float]]) -> pd.DataFrame:
    frame = pd.DataFrame(list(rows), columns=["job", "at", "outcome", "reward"])
    return frame.astype({"job": "str", "at": float, "outcome": "str", "reward": float})


def _lease_times(length: float | None, start: float, last: float, unit: theme.TimeUnit) -> pd.DataFrame:
    """Boundaries of leases, none where they would be a grey area."""
    if not length or not 0 < (last - start) / length <= MOST_LEASES:
        return pd.DataFrame({"x": np.zeros(0)})
    numbers = np.arange(math.ceil(start / length), math.floor(last / length) + 1)
    return pd.DataFrame({"x": numbers * length / unit.seconds})


def _numbers(bars: pd.DataFrame, deadlines: pd.DataFrame, unit: str) -> pd.DataFrame:
    """Bars and deadlines below each other."""
    of_bars = pd.DataFrame(
        {"job": bars["job"], "what": bars["what"], f"start_{unit}": bars["start"], f"end_{unit}": bars["end"]}
    )
    of_marks = pd.DataFrame(
        {"job": deadlines["job"], "what": deadlines["outcome"], f"end_{unit}": deadlines["at"]}
    ).assign(reward=deadlines["reward"])
    return pd.concat([of_bars, of_marks], ignore_index=True)


# Layers ---------------------------------------------------------------------------------------------------------------


def _x(field: str, **more: Any) -> alt.X:
    return alt.X(field, scale=alt.Scale(nice=False, zero=False), **more)


def _axis(unit: theme.TimeUnit, rows: int) -> Layer:
    """The two scales, from the data set `span`."""
    step = 1 if unit.name == "leases" else 0
    count = alt.ExprRef("max(2, min(12, width / 80))")
    ticks = alt.Axis(grid=False, format=",~r", tickMinStep=step, tickCount=count, **theme.BESIDE_TICKS)
    return (
        marks("span")
        .mark_point(opacity=0)
        .encode(
            x=_x("x:Q", title=f"Time ({unit.name})" if step == 0 else "Time (leases)", axis=ticks),
            y=alt.Y("row:Q", scale=row_scale(rows), axis=None),
        )
    )


def _boundaries() -> list[Layer]:
    return [marks("boundaries").mark_rule(color=theme.GRID, strokeWidth=1).encode(x="x:Q")]


def _life_layer(per: float, opacity: Any) -> Layer:
    """A thin line while a job is there."""
    return (
        marks("lives")
        .transform_filter(begun("start"))
        .transform_calculate(y="datum.row + 0.5", x1=f"{so_far('end')} / {per:g}")
        .mark_rule(color=theme.MUTED, strokeWidth=1.5)
        .encode(x="x0:Q", x2="x1:Q", y="y:Q", opacity=opacity)
    )


def _as_said(column: str, unit: theme.TimeUnit) -> str:
    """An expression that writes a time of the data as people read it."""
    return f"datum.{column} + ' leases'" if unit.name == "leases" else theme.duration_expr(f"datum.{column}")


NARROW = "width < 450"
"""Then both keys have several lines."""
KEY_OFFSET = 22
"""So keys end above the heads of the texts on the right."""


def _bar_layer(kinds: Sequence[str], unit: theme.TimeUnit, opacity: Any) -> Layer:
    when = f"{_as_said('start', unit)} + ' – ' + {_as_said('end', unit)}"
    return row_bars(
        marks("bars")
        .transform_filter(begun("start"))
        .transform_calculate(
            x1=f"{so_far('end')} / {unit.seconds:g}", when=when, said=f"{json.dumps(SAYS)}[datum.what] || datum.what"
        ),
        None,
        "what",
        present(BARS, kinds),
        x=alt.X("x0:Q"),
        x2="x1:Q",
        opacity=opacity,
        orient="top",
        key={"columns": alt.ExprRef(f"{NARROW} ? 2 : 4"), "offset": KEY_OFFSET},
        tooltip=[
            alt.Tooltip("job:N", title="Job"),
            alt.Tooltip("said:N", title="Lease"),
            alt.Tooltip("when:N", title="From – to"),
        ],
    )


def _mark_layer(kinds: Sequence[str], unit: theme.TimeUnit, still_open: bool, opacity: Any) -> Layer:
    shapes, colours = [MARKS[kind][0] for kind in kinds], [MARKS[kind][1] for kind in kinds]
    stay = [kind for kind in kinds if kind != OPEN or still_open]
    shown = f"isValid(until) ? {json.dumps(kinds)} : {json.dumps(stay)}"  # "not yet" only while it plays
    if LATER in kinds:  # an expression of the data: the chart is not built anew as the last of them comes or goes
        some, none = ([kind for kind in each if kind != LATER] for each in (kinds, stay))
        shown = f"data('span')[0].later ? ({shown}) : isValid(until) ? {json.dumps(some)} : {json.dumps(none)}"
    columns = alt.ExprRef(f"{NARROW} ? 1 : width < 600 ? 2 : 4")  # beside the key of the bars
    legend = alt.Legend(symbolStrokeWidth=1, columns=columns, values=alt.ExprRef(shown), offset=KEY_OFFSET)
    return (
        marks("deadlines")
        .transform_filter(SHOWN.format("since"))
        .transform_calculate(
            y="datum.row + 0.5",
            now=f"({SHOWN.format('known')}) ? datum.outcome : '{OPEN}'",
            when=_as_said("at", unit),
        )
        .mark_point(filled=True, stroke=theme.INK, strokeWidth=1.2, cursor="pointer", clip=False)
        .encode(
            x="x:Q",
            y="y:Q",
            shape=alt.Shape("now:N", title=None, scale=alt.Scale(domain=kinds, range=shapes), legend=legend),
            color=alt.Color("now:N", title=None, scale=alt.Scale(domain=kinds, range=colours), legend=legend),
            size=alt.condition(f"datum.now === '{LATER}'", alt.value(55), alt.value(120)),
            opacity=opacity,
            tooltip=[
                alt.Tooltip("job:N", title="Job"),
                alt.Tooltip("now:N", title="Deadline"),
                alt.Tooltip("when:N", title="At"),
                alt.Tooltip("reward:Q", title="Reward if done by then"),
            ],
        )
    )


@unchecked
def admission(
    timeline: pd.DataFrame,
    jobs: pd.DataFrame,
    rewards: Mapping[str, Sequence[Sequence[float]] | None],
    *,
    job: str,
    in_the_way: Sequence[str] = (),
    verdict_s: float | None = None,
    earliest_s: float | None = None,
    lease_s: float | None = None,
    end_s: float,
    broken_s: Mapping[str, float] | None = None,
    title: str,
) -> Drawing:
    """Draw a job, above those that stood in its way, with the earliest deadline that would have been accepted.

    Tables and rewards as in `run_leases`; verdict_s: when it was given; earliest_s: that deadline; both from the start
    of the run, None for nothing to mark.
    """
    table = run_leases(timeline, jobs, rewards, end_s=end_s, only=[job, *in_the_way], broken_s=broken_s)
    known = ((verdict_s, VERDICT), (earliest_s, EARLIEST))
    more = _marks([(job, at_s, what, math.nan) for at_s, what in known if at_s is not None])
    table = table._replace(deadlines=pd.concat([table.deadlines, more], ignore_index=True))
    said = f"in the way: {', '.join(in_the_way)}" if in_the_way else ""
    start_s = float(table.lives["start"].min())
    return lease_gantt(table, lease=lease_s, start=start_s, title=title, subtitle=said)
