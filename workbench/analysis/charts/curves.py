"""Lines of a measure against load, size, what was learnt or what a sweep varied."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.drawing import Drawing, drawn, marks, message, message_layer, unchecked
from workbench.analysis.metrics.confidence import LEVEL, mean_interval
from workbench.analysis.metrics.declared import MARK, METRICS, metric
from workbench.base.errors import InputError, counted
from workbench.base.labels import value_text
from workbench.base.rounding import short_number

TRIANGLE_PX = 13.0
"""Height of a triangle: those of several lines at one load stand below each other."""
TICKS = alt.ExprRef("max(2, min(10, width / 80))")
MOST_PLACES = 8
"""Up to so many places on a logarithmic axis have their own ticks: round numbers between them say less."""
MOST_DIGITS = 5
"""Places have no ticks of their own if one of them needs more digits."""
ENDS_OF = {"lower": "low", "upper": "high"}
TOLD_ENDS = (alt.Tooltip("lower:N", title="Lower end"), alt.Tooltip("upper:N", title="Upper end"))


def _with_ends(points: pd.DataFrame) -> pd.DataFrame:
    """With the ends of intervals as texts, as Vega's format writes "null" of a point that has none."""
    texts = {name: points[end].map(lambda value: short_number(value, 4, "-")) for name, end in ENDS_OF.items()}
    return points.assign(**texts)


@unchecked
def curve(
    frame: pd.DataFrame,
    *,
    title: str,
    subtitle: str = "",
    x_title: str,
    y_title: str,
    log_x: bool = False,
    log_y: bool = False,
    whole_x: bool = False,
    dots: bool = True,
    colours: Mapping[str, str] | None = None,
    height: float = 300,
    zero: bool = True,
) -> Drawing:
    """Draw one line per name.

    frame: columns line, x, y, and if there are any low, high (a band), best (a text at a point, which is the best of
    its line) and saturated (a triangle at the top instead of a value: there the measure has no steady state). zero: a
    linear axis of y begins there. Titles carry the units. whole_x: x is a count,
    no ticks between whole numbers; subtitle: shown where nothing is saturated; colours: of the lines, by name.
    """
    table = frame.assign(
        low=frame.get("low", frame["y"]),
        high=frame.get("high", frame["y"]),
        best=frame.get("best", ""),
        saturated=frame.get("saturated", False),
    )
    names = list(dict.fromkeys(table["line"]))
    usual, dashes = theme.series_look(names)
    look = [(colours or {}).get(name, colour) for name, colour in zip(names, usual, strict=True)]
    # The legend shows the lines, not the pale bands of the first layer.
    legend = alt.Legend(
        symbolType="stroke",
        symbolOpacity=1,
        symbolStrokeWidth=3,
        columns=alt.ExprRef(theme.legend_columns(names)),
        labelLimit=theme.LEGEND_LABEL_PX,
    )
    colour = alt.Color("line:N", title=None, scale=alt.Scale(domain=names, range=look), legend=legend)
    places = sorted(set(table["x"].astype(float)))
    own = log_x and len(places) <= MOST_PLACES and all(float(f"{x:.{MOST_DIGITS}g}") == x for x in places)
    own_ticks = {"values": places} if own else {"tickCount": TICKS}
    x = alt.X(
        "x:Q",
        title=x_title,
        scale=_scale(log_x, zero=False, nice=False, padding=12 if dots else 0),
        axis=alt.Axis(grid=False, format=",~r", tickMinStep=1 if whole_x else 0, **own_ticks),
    )
    y = alt.Y(
        "y:Q",
        title=y_title,
        scale=_scale(log_y, zero=zero),
        axis=alt.Axis(labelExpr=theme.NUMBER_EXPR, tickCount=6),
    )
    known = table[~table["saturated"] & table["y"].notna()]
    banded = "low" in frame and bool(known["low"].notna().any())
    told = [
        alt.Tooltip("line:N", title="Line"),
        *(alt.Tooltip(f"{name}:Q", title=head, format=".4~r") for name, head in (("x", x_title), ("y", y_title))),
        *(TOLD_ENDS if banded else []),
    ]
    line = (
        marks("points")
        .mark_line(point={"size": 45, "filled": True} if dots else False)
        .encode(
            x=x,
            y=y,
            color=colour,
            strokeDash=alt.StrokeDash("line:N", title=None, scale=alt.Scale(domain=names, range=dashes), legend=legend),
            tooltip=told,
        )
    )
    # Edges, by which bands that lie over each other are told apart; and their ends at each point, on hover.
    ends = {"x": x, "y": alt.Y("low:Q", title=y_title), "y2": "high:Q", "color": colour}
    band = marks("points").mark_area(fillOpacity=0.15, strokeWidth=1.5, strokeOpacity=0.8).encode(**ends, stroke=colour)
    hover = marks("points").mark_rule(strokeWidth=14, opacity=0).encode(**ends, tooltip=told)
    top = (
        marks("saturated")
        .mark_point(shape="triangle-up", size=110, filled=True, opacity=1)
        .encode(x=x, y=alt.value(alt.ExprRef("datum.y_px")), color=colour)
    )
    named = (
        marks("points").transform_filter("datum.best").mark_text(dy=-12).encode(x=x, y=y, text="best:N", color=colour)
    )
    full = table[table["saturated"]]
    below = {name: TRIANGLE_PX * (i + 0.5) for i, name in enumerate(names)}
    layers = [
        *([band, hover] if banded else []),
        line,
        *([top] if len(full) else []),
        *([named] if known["best"].any() else []),
        message_layer(),
    ]
    return drawn(
        *layers,
        data={
            "points": _with_ends(known)[["line", "x", "y", "low", "high", "lower", "upper", "best"]],
            "saturated": full[["line", "x"]].assign(y_px=full["line"].map(below)),
            "message": message("" if len(table) else "No values"),
        },
        table=table,
        label=f"{title}: {y_title} against {x_title}, one line each for {', '.join(names)}.",
        title=title,
        subtitle="triangles at the top: saturated, no steady state" if len(full) else subtitle,
        height=height,
    )


HOUR_S = 3600.0


def speed_errors(logs: Mapping[str, pd.DataFrame], *, title: str = "Error of believed speeds") -> Drawing:
    """Draw the mean error of believed speeds over what has been measured, a line for each estimator.

    logs: the columns measured_s, error (a share), by the estimator's name.
    """
    parts = [
        pd.DataFrame({"line": name, "x": log["measured_s"] / HOUR_S, "y": 100 * log["error"]})
        for name, log in logs.items()
    ]
    return curve(
        pd.concat(parts, ignore_index=True),
        title=title,
        x_title="Measured (h, all jobs together)",
        y_title="Mean error (%)",
        dots=False,
    )


def price_curve(table: pd.DataFrame) -> Drawing:
    """Draw the price of each type against how many of its GPUs are held, on a logarithmic axis.

    table: columns type, held, price.
    """
    frame = table.rename(columns={"type": "line", "held": "x", "price": "y"})
    colours = theme.type_colours(frame["line"].unique())
    return curve(
        frame,
        title="Price of a GPU as its pool fills",
        x_title="GPUs held",
        y_title="Utility per GPU and slot",
        log_y=True,
        whole_x=True,
        colours=colours,
        height=280,
    )


ENDS = ("seed", "status", "error", "wall_s")
MEASURES = frozenset(found.name for found in METRICS)
UNITS = {"s": "s", "gb": "GB", "gbps": "Gb/s", "gpus": "GPUs", "usd": "USD"}
"""By which ending of a name a column tells its unit."""


@unchecked
def sweep(
    frame: pd.DataFrame,
    *,
    x: str,
    y: str = "mean_jct_s",
    title: str | None = None,
    x_title: str | None = None,
    level: float = LEVEL,
    log_x: bool = False,
    log_y: bool = False,
    height: float = 300,
) -> Drawing:
    """Draw a line (with a band) over numbers, or dots (with bars) over anything else, for each scheduler.

    frame: what `workbench.sweep` returns, or some of its rows; x: a column that was varied; y: a measure, or `wall_s`.
    Every other column that varies makes lines of its own, so that a mean is over seeds (and scenarios of one label)
    only. A scheduler that does not have the knob x is a level line. Bands are confidence intervals of that level
    (Student's t); a point of which a run has failed or lacks the value is left out, as its mean would be of others.
    Raises InputError for columns that are not there.
    """
    conditions = [name for name in frame.columns if name not in MEASURES and name not in ENDS]
    if x not in conditions:
        raise InputError("x", x, "a column that was varied: " + ", ".join(conditions))
    if y not in frame.columns or (y not in MEASURES and y != "wall_s"):
        raise InputError("y", y, "a measure of workbench.analysis.metrics, such as mean_jct_s, or wall_s")
    points, left_out = _points(frame, [name for name in conditions if name != x], x, y, level)
    y_title, by_y = _y_axis(y, points["high"].fillna(points["y"]).max())
    points = points.assign(**{name: points[name] / by_y for name in ("y", "low", "high")})
    several = int(points["runs"].max()) if len(points) else 0
    most = "" if several and (points["runs"] == several).all() else "up to "
    said = f"means of {most}{several} runs with their {100 * level:g} % confidence interval" if several > 1 else ""
    missing = f"{counted(left_out, 'point')} without a value or with a failed run left out" if left_out else ""
    points = points.assign(best=_best(points, y))
    starred = f"{MARK} best of its line" if points["best"].any() else ""
    subtitle = ", ".join(part for part in (said, starred, missing) if part)
    by_x, name = 1.0, x
    numbers = [isinstance(value, (int, float)) and not isinstance(value, bool) for value in points["x"]]
    is_line = all(numbers) and bool(np.isfinite(points["x"].astype(float)).all())
    if is_line:
        name, by_x = _x_axis(x, points["x"].astype(float).max())
    by = _bare(x_title or name)
    heading = title or f"{_bare(y_title)} by {by[0].lower() if by[1:2].islower() else by[0]}{by[1:]}"
    if not is_line:
        return _dots(points, heading, subtitle, x_title or name, y_title, log_y, height)
    return curve(
        points.assign(x=points["x"].astype(float) / by_x).sort_values("x", kind="stable"),
        title=heading,
        subtitle=subtitle,
        x_title=x_title or name,
        y_title=y_title,
        log_x=log_x,
        log_y=log_y,
        height=height,
        zero=False,
    )


SAME = 1e-9
"""Values that differ by less, relative to the best, are one."""


def _best(points: pd.DataFrame, y: str) -> pd.Series[str]:
    """At the best point of each line that is not level its value with a star, elsewhere nothing."""
    sign = {"lower": 1.0, "higher": -1.0}.get("lower" if y == "wall_s" else metric(y).better, math.nan)
    order = (sign * points["y"]).groupby(points["line"])
    least, most = order.transform("min"), order.transform("max")
    is_best = ((sign * points["y"]) == least) & (most - least > SAME * least.abs())
    texts = [f"{MARK} {short_number(value)}" if best else "" for value, best in zip(points["y"], is_best, strict=True)]
    return pd.Series(texts, points.index, dtype="str")


def _bare(title: str) -> str:
    """A title of an axis without its unit."""
    return title.partition(" (")[0]


def _points(frame: pd.DataFrame, others: Sequence[str], x: str, y: str, level: float) -> tuple[pd.DataFrame, int]:
    """Columns line, x, y (mean), low, high (NaN without an interval), runs; and how many points are left out."""
    values = frame[y].astype(float).where(frame["status"] == "done")
    table = pd.DataFrame({"line": _lines(frame, others), "x": frame[x].tolist(), "y": values.tolist()})
    everywhere = list(dict.fromkeys(table["x"][table["x"].notna()]))
    rows, left_out = [], 0
    for (line, at), group in table.groupby(["line", "x"], sort=False, dropna=False):
        if group["y"].isna().any():
            left_out += 1
            continue
        mean, half = mean_interval(group["y"], level)
        for place in everywhere if _lacks(at) else [at]:
            rows.append((line, place, mean, mean - half, mean + half, len(group)))
    points = pd.DataFrame(rows, columns=["line", "x", "y", "low", "high", "runs"])
    return points.astype({"line": "str", "y": float, "low": float, "high": float, "runs": "int64"}), left_out


def _lines(frame: pd.DataFrame, others: Sequence[str]) -> list[str]:
    """The name of each row's line: its scheduler, and what else differs between rows."""
    varying = [name for name in others if name != "scheduler" and frame[name].nunique(dropna=False) > 1]
    names = []
    for row in range(len(frame)):
        cells = {name: frame[name].iloc[row] for name in varying}
        parts = [f"{name}={value_text(value)}" for name, value in cells.items() if not _lacks(value)]
        scheduler = [str(frame["scheduler"].iloc[row])] if "scheduler" in others else []
        names.append(", ".join([*scheduler, *parts]) or "every run")
    return names


def _lacks(value: object) -> bool:
    """Whether a scheduler does not have the knob."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _y_axis(y: str, most: float) -> tuple[str, float]:
    """Title with the unit, and what values are divided by for it."""
    if y == "wall_s":
        return "Wall time of the run (s)", 1.0
    found = metric(y)
    if found.unit == "s":
        unit = theme.time_unit(0.0 if np.isnan(most) else most)
        return f"{found.label} ({unit.name})", unit.seconds
    says_it = found.unit == "1" or found.unit in found.label.lower()  # "Restarts (restarts)" says it twice
    return found.label if says_it else f"{found.label} ({found.unit})", 1.0


def _x_axis(x: str, most: float) -> tuple[str, float]:
    """Title with the unit that the name of a column ends in, and what values are divided by for it."""
    name, _, ending = x.rpartition("_")
    if not name or ending not in UNITS:
        return x, 1.0
    if ending == "s":
        unit = theme.time_unit(most)
        return f"{name} ({unit.name})", unit.seconds
    return f"{name} ({UNITS[ending]})", 1.0


def _scale(log: bool, *, zero: bool = True, **more: Any) -> alt.Scale:
    """Linear with or without zero; of a logarithmic one Vega-Lite warns where zero is spoken of."""
    return alt.Scale(type="log", **more) if log else alt.Scale(type="linear", zero=zero, **more)


@unchecked
def _dots(
    points: pd.DataFrame, title: str, subtitle: str, x_title: str, y_title: str, log_y: bool, height: float
) -> Drawing:
    """A dot for each line at each text, side by side, its interval a bar."""
    shown = points.assign(x=points["x"].astype("str"))
    names, values = list(dict.fromkeys(shown["line"])), list(dict.fromkeys(shown["x"]))
    x = alt.X("x:N", title=x_title, sort=values, scale=alt.Scale(type="band"), axis=alt.Axis(labelAngle=0, grid=False))
    across = alt.XOffset("line:N", sort=names)
    scale = _scale(log_y)
    y = alt.Y("y:Q", title=y_title, scale=scale, axis=alt.Axis(format=",~r", tickCount=6))
    legend = (
        alt.Legend(columns=alt.ExprRef(theme.legend_columns(names)), labelLimit=theme.LEGEND_LABEL_PX)
        if len(names) > 1
        else None
    )
    looks = alt.Scale(domain=names, range=theme.series_look(names)[0])
    colour = alt.Color("line:N", title=None, scale=looks, legend=legend)
    tooltip = [
        alt.Tooltip("line:N", title="Line"),
        alt.Tooltip("x:N", title=x_title),
        alt.Tooltip("y:Q", title=y_title, format=".4~r"),
        *(TOLD_ENDS if points["low"].notna().any() else []),
    ]
    dot = marks("points").mark_point(filled=True, size=90, opacity=1)
    bar = marks("points").transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2.5)
    return drawn(
        bar.encode(x=x, xOffset=across, y=alt.Y("low:Q", title=y_title, scale=scale), y2="high:Q", color=colour),
        dot.encode(x=x, xOffset=across, y=y, color=colour, tooltip=tooltip),
        message_layer(),
        data={"points": _with_ends(shown), "message": message("" if len(shown) else "No values")},
        table=shown,
        label=f"{title}: {y_title} for {', '.join(values)}, a dot each for {', '.join(names)}.",
        title=title,
        subtitle=subtitle,
        height=height,
    )
