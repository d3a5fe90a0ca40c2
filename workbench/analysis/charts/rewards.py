"""What completing in time is worth: rewards as steps over the time after arrival, of single jobs and of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.deadlines import SECONDS_EQUAL
from workbench.analysis.charts.drawing import Drawing, Layer, drawn, faded, marks, message, message_layer, unchecked
from workbench.base.errors import counted
from workbench.scenario.rewards import LOWEST

BEYOND = 1.2
"""How far a curve is drawn, in multiples of the last deadline of all."""
STRICT, SOFT, NONE = "strict", "soft", "best effort"
IN_TIME, LATE, MISSED = "first deadline met", "a later one met", "missed"
OUTCOMES = {
    IN_TIME: ("circle", theme.PALETTE[2]),
    LATE: ("diamond", theme.PALETTE[1]),
    MISSED: ("cross", theme.PALETTE[3]),
}
_Steps = Sequence[Sequence[float]] | None
"""`(deadline in s after arrival, reward)`, None for best effort."""


def reward_curves(
    rewards: Mapping[str, _Steps],
    *,
    done_s: Mapping[str, float] | None = None,
) -> Drawing:
    """Draw the reward of each job, or kind of job, as a step line over its completion time after arrival.

    done_s: when each was done, in s after its arrival, for those to be marked; missing or NaN: not done. A completion
    exactly at a deadline counts as meeting it.
    """
    last_s = max([deadline for steps in rewards.values() for deadline, _ in steps or ()], default=60.0)
    last_s = max([last_s, *((done_s or {}).values())]) * BEYOND
    unit = theme.time_unit(last_s)
    table = _table(rewards, last_s)
    points = pd.DataFrame(
        [(name, at, *_outcome(rewards[name], at)) for name, at in (done_s or {}).items() if at == at],
        columns=["line", "time_s", "outcome", "reward"],
    )
    return _drawn(
        table.assign(x=table["time_s"] / unit.seconds),
        points.assign(x=points["time_s"].astype(float) / unit.seconds),
        x_title=f"Completion after arrival ({unit.name})",
        title="Reward by completion time",
    )


def reward_classes(
    rewards: Mapping[str, _Steps],
    *,
    done_s: Mapping[str, float] | None = None,
) -> Drawing:
    """Draw one line for each shape of reward among jobs: time counts in multiples of a job's first deadline.

    Jobs whose rewards fall alike are a class: strict (one deadline), soft (several). done_s as in `reward_curves`: a
    mark for each job that was done, at what it was worth.
    """
    shapes = {name: _shape(steps) for name, steps in rewards.items() if steps}
    counts: dict[tuple[tuple[float, float], ...], int] = {}
    for shape in shapes.values():
        counts[shape] = counts.get(shape, 0) + 1
    counts = dict(sorted(counts.items(), key=lambda item: len(item[0])))
    names = _class_names(counts)
    of_class = {name: names[shape] for name, shape in shapes.items()}
    done = [
        (of_class[name], name, done_s[name] / float(steps[0][0]), *_outcome(steps, done_s[name]))
        for name, steps in rewards.items()
        if done_s is not None and steps and name in done_s and done_s[name] == done_s[name]
    ]
    last = max([shape[-1][0] for shape in counts], default=1.0)
    furthest = last * 2
    table = _table({names[shape]: shape for shape in counts}, furthest)
    points = pd.DataFrame(done, columns=["line", "job", "time", "outcome", "reward"])
    beyond = int((points["time"].astype(float) > furthest).sum())
    rest = sum(not steps for steps in rewards.values())
    notes = ["strict: one deadline, soft: several"] if counts else []
    notes += [f"{counted(rest, 'best-effort job')} without a deadline"] if rest else []
    notes += [f"at the right edge: {counted(beyond, 'job')} done later still"] if beyond else []
    return _drawn(
        table.rename(columns={"time_s": "time"}).assign(x=table["time_s"]),
        points.assign(x=points["time"].astype(float).clip(upper=furthest)),
        x_title="Completion after arrival (multiples of the first deadline)",
        title="Rewards of the jobs, by class",
        subtitle="; ".join(notes),
    )


def _shape(steps: Sequence[Sequence[float]]) -> tuple[tuple[float, float], ...]:
    """Deadlines as multiples of the first one, so that jobs of one class are alike."""
    first = float(steps[0][0])
    return tuple((round(float(deadline) / first, 4), float(reward)) for deadline, reward in steps)


def _class_names(counts: Mapping[tuple[tuple[float, float], ...], int]) -> dict[tuple[tuple[float, float], ...], str]:
    """`soft, 12 jobs`; with several shapes of a kind their rewards tell them apart."""
    kinds = {shape: STRICT if len(shape) == 1 else SOFT for shape in counts}
    alike = list(kinds.values())

    def name(shape: tuple[tuple[float, float], ...]) -> str:
        worth = f" ({', '.join(f'{reward:g}' for _, reward in shape)})" if alike.count(kinds[shape]) > 1 else ""
        return f"{kinds[shape]}{worth}, {counted(counts[shape], 'job')}"

    made: dict[tuple[tuple[float, float], ...], str] = {}
    for shape in counts:
        text, number = name(shape), 2
        while text in made.values():  # the same rewards at other deadlines
            text, number = f"{name(shape)} #{number}", number + 1
        made[shape] = text
    return made


def _table(rewards: Mapping[str, _Steps], last: float) -> pd.DataFrame:
    """Columns line, time_s, reward: the reward after each time (a completion at the time itself has the one before)."""
    rows: list[tuple[str, float, float]] = []
    for name, steps in rewards.items():
        starts = [0.0, *(float(deadline) for deadline, _ in steps or ())]
        worth = [*(float(reward) for _, reward in steps or ()), LOWEST]
        rows += [(name, at, reward) for at, reward in zip(starts, worth, strict=True)]
        rows.append((name, last, worth[-1]))
    return pd.DataFrame(rows, columns=["line", "time_s", "reward"])


def _outcome(steps: _Steps, done_s: float) -> tuple[str, float]:
    """What came of a completion so long after the arrival, by the steps themselves: shapes are rounded."""
    for number, (deadline, reward) in enumerate(steps or ()):
        if done_s <= deadline + SECONDS_EQUAL:
            return (IN_TIME if number == 0 else LATE), float(reward)
    return MISSED, LOWEST


@unchecked
def _drawn(lines: pd.DataFrame, points: pd.DataFrame, *, x_title: str, title: str, subtitle: str = "") -> Drawing:
    names = list(dict.fromkeys(lines["line"]))
    colours, dashes = theme.series_look(names)
    columns = alt.ExprRef(theme.legend_columns(names))
    legend = alt.Legend(symbolType="stroke", symbolOpacity=1, symbolStrokeWidth=3, columns=columns)
    x = alt.X(
        "x:Q",
        title=x_title,
        scale=alt.Scale(zero=True, nice=False),
        axis=alt.Axis(grid=False, format=",~r", tickCount=alt.ExprRef("max(2, min(12, width / 80))")),
    )
    y = alt.Y("reward:Q", title="Reward", scale=alt.Scale(zero=True), axis=alt.Axis(format=",~r", tickCount=6))
    line = (
        marks("lines")
        .mark_line(interpolate="step-after")
        .encode(
            x=x,
            y=y,
            color=alt.Color("line:N", title=None, scale=alt.Scale(domain=names, range=colours), legend=legend),
            strokeDash=alt.StrokeDash("line:N", title=None, scale=alt.Scale(domain=names, range=dashes), legend=legend),
        )
    )
    layers: list[Layer] = [line]
    if len(points):
        layers.append(_points(points, x, y))
    return drawn(
        *layers,
        message_layer(),
        data={
            "lines": lines,
            "points": points,
            "message": message("" if len(names) else "No job has a deadline"),
        },
        table=(pd.concat([lines, points], ignore_index=True) if len(points) else lines).drop(columns="x"),
        label=f"{title}: a falling step line each for {', '.join(names) or 'nothing'}.",
        title=title,
        subtitle=subtitle,
        height=260,
        params={"selected": None},
    )


def _points(points: pd.DataFrame, x: alt.X, y: alt.Y) -> Layer:
    kinds = [kind for kind in OUTCOMES if kind in set(points["outcome"])]
    shapes, colours = [OUTCOMES[kind][0] for kind in kinds], [OUTCOMES[kind][1] for kind in kinds]
    legend = alt.Legend(orient="bottom", symbolStrokeWidth=1)
    return (
        marks("points")
        .mark_point(size=110, filled=True, strokeWidth=1.5, cursor="pointer")
        .encode(
            x=x,
            y=y,
            fill=alt.Fill("outcome:N", title=None, scale=alt.Scale(domain=kinds, range=colours), legend=legend),
            shape=alt.Shape("outcome:N", title=None, scale=alt.Scale(domain=kinds, range=shapes), legend=legend),
            stroke=alt.value(theme.INK),
            opacity=faded(),
            tooltip=[
                alt.Tooltip(f"{'job' if 'job' in points else 'line'}:N", title="Job"),
                alt.Tooltip("x:Q", title="Done at", format=".3~r"),
                alt.Tooltip("reward:Q", title="Reward"),
                alt.Tooltip("outcome:N", title="Outcome"),
            ],
        )
    )
