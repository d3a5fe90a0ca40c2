"""Points in a plane of two measures: plans or runs and their frontier, schedulers by efficiency and fairness.

Labels stand beside their points so that none covers another or a point, however wide the plot is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from workbench.analysis.charts import theme
from workbench.analysis.charts.drawing import Drawing, drawn, marks, message, message_layer, unchecked
from workbench.base.arrays import BoolArray
from workbench.base.errors import counted

_Better = Literal["lower", "higher"]
SAME = 1e-9


def unbeaten(x: pd.Series[float], y: pd.Series[float]) -> list[bool]:
    """Which points no other one is as low as in both and lower than in one; equal ones both count."""
    points = np.column_stack([x.to_numpy(float), y.to_numpy(float)])
    return [not bool(((points <= point).all(axis=1) & (points < point - SAME).any(axis=1)).any()) for point in points]


@unchecked
def frontier(
    frame: pd.DataFrame,
    *,
    title: str,
    x_title: str,
    y_title: str,
) -> Drawing:
    """Draw a point for each row with its name, those that nobody beats filled and joined: lower is better in both.

    frame: columns name, x, y, and if there is one: now (the point that is to stand out).
    """
    known = frame.dropna(subset=["x", "y"])
    good = np.array(unbeaten(known["x"], known["y"]), dtype=bool)
    table = known.assign(unbeaten=good, now=known.get("now", False))
    ink, other = theme.PALETTE[0], theme.MUTED
    x = alt.X(
        "x:Q", title=f"{x_title}, lower is better",
        scale=alt.Scale(zero=False, nice=True, padding=30), axis=alt.Axis(format=",~r", tickCount=6),
    )  # fmt: skip
    y = alt.Y(
        "y:Q", title=f"{y_title}, lower is better",
        scale=alt.Scale(zero=False, nice=True, padding=20), axis=alt.Axis(format=",~r", tickCount=6),
    )  # fmt: skip
    line = marks("frontier").mark_line(color=ink, strokeWidth=1.5, strokeDash=[6, 4]).encode(x=x, y=y)
    point = (
        marks("points")
        .mark_point(size=110, filled=True, opacity=1, strokeWidth=1.5)
        .encode(
            x=x,
            y=y,
            fill=alt.condition("datum.unbeaten", alt.value(ink), alt.value(theme.PAPER)),
            stroke=alt.condition("datum.unbeaten", alt.value(ink), alt.value(other)),
            tooltip=[
                alt.Tooltip("name:N", title="Point"),
                alt.Tooltip("x:Q", title=x_title, format=".4~r"),
                alt.Tooltip("y:Q", title=y_title, format=".4~r"),
            ],
        )
    )
    ring = (
        marks("points")
        .transform_filter("datum.now")
        .mark_point(size=420, filled=False, color=theme.PALETTE[3], strokeWidth=3, opacity=1)
        .encode(x=x, y=y)
    )
    text = marks("points").mark_text(align="left", dx=12, dy=-9, baseline="middle").encode(x=x, y=y, text="name:N")
    return drawn(
        *([line] if good.any() else []),
        point,
        *([ring] if table["now"].any() else []),
        text,
        message_layer(),
        data={
            "points": table,
            "frontier": table[good].sort_values(["x", "y"])[["x", "y"]],
            "message": message("" if len(table) else "No values"),
        },
        table=table[["name", "x", "y", "unbeaten"]],
        label=f"{title}: {y_title} against {x_title}, a point each for {', '.join(map(str, table['name']))}.",
        title=title,
        subtitle="filled: no other point is better in both" + ("; ring: the last one" if table["now"].any() else ""),
        height=320,
    )


@unchecked
def agreement(jobs: pd.DataFrame, quantiles: pd.DataFrame, *, title: str, said: str) -> Drawing:
    """Draw simulated against recorded waits: a point a job, a line through the quantiles of each partition, and where
    both are equal.

    jobs: columns job, partition, recorded_s, simulated_s; quantiles: partition, quantile, recorded_s, simulated_s;
    said: what stands below the title.
    """
    names = sorted(set(jobs["partition"]))
    colours, _ = theme.series_look(names)
    most = max(jobs[["recorded_s", "simulated_s"]].to_numpy(float).max(initial=1.0), 1.0)
    axis = alt.Axis(labelExpr=theme.duration_expr("datum.value"), values=[at for at in TICKS_S if at <= 2 * most])
    scale = alt.Scale(type="symlog", constant=60, domain=[0, most * 1.1])
    x = alt.X("recorded_s:Q", title="recorded wait", scale=scale, axis=axis)
    y = alt.Y("simulated_s:Q", title="simulated wait", scale=scale, axis=axis)
    key = alt.Color("partition:N", title=None, scale=alt.Scale(domain=names, range=colours))
    points = marks("jobs").mark_point(size=14, filled=True, opacity=0.35).encode(
        x=x, y=y, color=key, tooltip=["job:N", "partition:N", "recorded_s:Q", "simulated_s:Q"]
    )  # fmt: skip
    line = marks("quantiles").mark_line(strokeWidth=2.5, point={"size": 50}).encode(
        x=x, y=y, color=key, order="quantile:Q", tooltip=["partition:N", "quantile:Q", "recorded_s:Q", "simulated_s:Q"]
    )  # fmt: skip
    equal = marks("equal").mark_line(color=theme.MUTED, strokeDash=[6, 4]).encode(x=x, y=y)
    return drawn(
        equal,
        points,
        line,
        message_layer(),
        data={
            "jobs": jobs,
            "quantiles": quantiles,
            "equal": pd.DataFrame({"recorded_s": [0.0, most], "simulated_s": [0.0, most]}),
            "message": message("" if len(jobs) else "No waits"),
        },
        table=quantiles,
        label=f"{title}: simulated against recorded waits of {counted(len(jobs), 'job')} in {', '.join(names)}.",
        title=title,
        subtitle=f"dashed: as recorded; {said}",
        height=320,
    )


TICKS_S = (0, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400)
CROSSES = "crosses: standard deviation over seeds,\nwhich may overlap though every seed shows the same difference"
SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross")
PAD_PX = 24.0
"""Of the plot at each end that no point lies in."""
POINT_PX, RING_PX = 8.0, 12.0
"""Radius of a point, and of the ring around it."""
HEIGHT_PX, TALLER = 340.0, 1.25
"""Of a plot, and how much higher one with numbers is: there are many points, or some at nearly the same place."""


@unchecked
def scatter(
    frame: pd.DataFrame,
    *,
    title: str,
    x_title: str,
    y_title: str,
    better: tuple[_Better, _Better] = ("lower", "lower"),
) -> Drawing:
    """Draw a point for each row, ringed if no other one is at least as good in both and better in one.

    Each has its name beside it. Where the names have no room there, points have numbers, with the names in a key below,
    and only those ringed their names too if these have room. frame: columns name, x, y, and if there are several seeds
    x_spread and y_spread (standard deviations, NaN: none), drawn as a cross; a row without x or y is left out and named
    under the title. better: which way is, of x and of y.
    """
    names = frame["name"].astype("str").tolist()
    spreads = {name: frame.get(name, pd.Series(np.nan, frame.index)).astype(float) for name in ("x_spread", "y_spread")}
    full = frame.assign(**spreads, name=frame["name"].astype("str"))
    known = full.dropna(subset=["x", "y"])
    sign = [1.0 if way == "lower" else -1.0 for way in better]
    good = unbeaten(known["x"].astype(float) * sign[0], known["y"].astype(float) * sign[1])
    points = known.assign(unbeaten=np.array(good, dtype=bool))
    points = points.assign(
        x0=points["x"] - points["x_spread"],
        x1=points["x"] + points["x_spread"],
        y0=points["y"] - points["y_spread"],
        y1=points["y"] + points["y_spread"],
    )
    numbered = {name: f"{number} {name}" for number, name in enumerate(names, start=1)}
    points, keyed = _labelled(points, numbered)
    height = HEIGHT_PX * TALLER if keyed else HEIGHT_PX
    scale = alt.Scale(zero=False, nice=False, padding=PAD_PX)
    axis = alt.Axis(format=",~r", tickCount=6)
    x = alt.X("x:Q", title=f"{x_title}, {better[0]} is better", scale=scale, axis=axis)
    y = alt.Y("y:Q", title=[f"{y_title},", f"{better[1]} is better"], scale=scale, axis=axis)
    colours, _ = theme.series_look(names)
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(names))]
    keys = [numbered[name] for name in names]
    key = (
        alt.Legend(
            orient="bottom",
            columns=alt.ExprRef(theme.legend_columns(keys)),
            symbolStrokeWidth=0.8,
            labelLimit=theme.LEGEND_LABEL_PX,
        )
        if keyed
        else None
    )
    base = marks("points")
    spread = {
        "x_spread": base.mark_rule(color=theme.MUTED).encode(x=alt.X("x0:Q"), x2="x1:Q", y=y),
        "y_spread": base.mark_rule(color=theme.MUTED).encode(x=x, y=alt.Y("y0:Q"), y2="y1:Q"),
    }
    far = base.transform_filter("datum.far").mark_rule(color=theme.MUTED, strokeWidth=1)
    layers = [  # none without a row: Vega would warn of an axis without an extent
        *(
            layer.transform_filter(f"isValid(datum.{name}) && datum.{name} > 0")
            for name, layer in spread.items()
            if (points[name] > 0).any()
        ),
        base.transform_filter("datum.unbeaten")
        .mark_point(size=430, filled=False, color=theme.INK, strokeWidth=1.8, opacity=1, shape="circle")
        .encode(x=x, y=y),
        *([far.encode(x=x, y=y, x2=_from("x", "dx"), y2=_from("y", "end_dy"))] if points["far"].any() else []),
        base.mark_point(size=130, filled=True, opacity=1, stroke=theme.INK, strokeWidth=0.8).encode(
            x=x,
            y=y,
            fill=alt.Fill("key:N", title=None, legend=key, scale=alt.Scale(domain=keys, range=colours)),
            shape=alt.Shape("key:N", title=None, legend=key, scale=alt.Scale(domain=keys, range=shapes)),
            tooltip=[
                alt.Tooltip("name:N", title="Scheduler"),
                alt.Tooltip("x:Q", title=x_title, format=".4~r"),
                alt.Tooltip("y:Q", title=y_title, format=".4~r"),
                alt.Tooltip("x_spread:Q", title="Standard deviation (x)", format=".3~r"),
                alt.Tooltip("y_spread:Q", title="Standard deviation (y)", format=".3~r"),
            ],
        ),
        *(
            base.mark_text(
                align=alt.ExprRef("datum.align"), baseline="middle", stroke=theme.PAPER, strokeWidth=halo_px
            ).encode(x=_from("x", "dx"), y=_from("y", "dy"), text="text:N")
            for halo_px in (4, 0)
        ),
        message_layer(),
    ]
    left_out = [name for name in names if name not in set(points["name"])]
    said = ["ringed: none better in both"]
    said += [CROSSES] if points["x_spread"].notna().any() else []
    said += [f"no value: {', '.join(left_out)}"] if left_out else []
    return drawn(
        *layers,
        data={"points": points, "message": message("" if len(points) else "No values")},
        table=full.assign(unbeaten=full["name"].isin(points[points["unbeaten"]]["name"])).reset_index(drop=True),
        label=f"{title}: {y_title} against {x_title}, a point each for {', '.join(names)}.",
        title=title,
        subtitle="; ".join(said),
        height=height,
    )


def _labelled(points: pd.DataFrame, numbered: Mapping[str, str]) -> tuple[pd.DataFrame, bool]:
    """The points with a text for each and where it stands, and whether a key must say what the numbers stand for."""
    names, good = points["name"].tolist(), points["unbeaten"].tolist()
    keys = [numbered[name] for name in names]
    numbers = [key.split()[0] for key in keys]
    some = [key if named else number for key, named, number in zip(keys, good, numbers, strict=True)]
    across, up = _shares(points, "x"), _shares(points, "y")
    down, radii = [1 - share for share in up], [RING_PX if ringed else POINT_PX for ringed in good]
    for texts in (names, some, numbers):
        plot_height = HEIGHT_PX if texts is names else HEIGHT_PX * TALLER
        found = places(across, down, texts, radii, plot_height, PAD_PX)
        if found is not None:
            break
    else:  # more at one place than there is room for numbers around it: the key and the tooltip tell them apart
        texts, found = [""] * len(names), [NOWHERE] * len(names)
    placed = pd.DataFrame(found, columns=list(LabelPlace._fields), index=points.index)
    return points.assign(text=texts, key=keys).join(placed), texts is not names


def _shares(points: pd.DataFrame, axis: str) -> list[float]:
    """Where the points are between the least and the greatest that the axis shows, from 0 to 1."""
    values, spread = points[axis].astype(float), points[f"{axis}_spread"].fillna(0.0)
    least, most = (values - spread).min(), (values + spread).max()
    shares = (values - least) / (most - least) if most > least else values * 0 + 0.5
    return [float(share) for share in shares]


def _from(axis: str, distance: str) -> Any:
    """So many pixels from the point."""
    return alt.value(alt.ExprRef(f"scale('{axis}', datum.{axis}) + datum.{distance}"))


WIDTHS_PX = (400.0, 1300.0)
"""The narrowest and the widest plot in which labels are apart."""
LINE_PX = theme.LABEL_PX + 3.0
RINGS_PX = (3.0, 15.0, 30.0, 48.0, 68.0, 90.0, 115.0)
"""From the edge of a point to its label; all but the first need a line."""
DIRECTIONS = (0, 180, 30, 150, -30, -150, 60, 120, -60, -120, 90, -90, 15, 165, -15, -165, 45, 135, -45, -135)
"""In degrees, against the clock from the right: the first that is free is taken."""

LINE_PARTS = (0.5, 0.65, 0.8, 0.95)
"""Where along a line it should touch neither another point nor a label."""


class LabelPlace(NamedTuple):
    """Of a label: pixels from its point to its edge or middle (`align` says which), down is positive.

    far: whether a line joins them; it ends at (dx, end_dy).
    """

    dx: float
    dy: float
    align: str
    far: bool
    end_dy: float


NOWHERE = LabelPlace(0.0, 0.0, "left", False, 0.0)
"""Of a point without a text."""


class Box(NamedTuple):
    """What is drawn around a place of the plot: the place's share of the width, and pixels from it; top and bottom."""

    at: float
    left: float
    right: float
    top: float
    bottom: float


def places(
    x: Sequence[float], y: Sequence[float], texts: Sequence[str], radii: Sequence[float], height: float, pad: float
) -> list[LabelPlace] | None:
    """A place for each text (empty: needs none) beside its point, or None if they do not all find one.

    x, y: where the points are, as shares of the plot without `pad` pixels at each end, from the left and from above.
    radii: of the points, in pixels; no label covers a point.
    """
    tops = [pad + share * (height - 2 * pad) for share in y]
    points = [Box(share, -r, r, top - r, top + r) for share, top, r in zip(x, tops, radii, strict=True)]
    free = [
        _clear([offer for offer in _offers(*of) if _inside(offer.text, height, pad)], points, pad)
        for of in zip(x, tops, texts, radii, strict=True)
    ]
    taken: list[Box] = []
    chosen: dict[int, LabelPlace] = {}
    for number in sorted((n for n, text in enumerate(texts) if text), key=lambda n: len(free[n])):
        fit = _clear(free[number], taken, pad)
        if not fit:
            return None
        others = [*taken, *(box for at, box in enumerate(points) if at != number)]
        best = next((offer for offer in fit if not _hit(offer.line, others, pad).any()), fit[0])
        chosen[number] = best.place
        taken += [best.text, *best.line]
    return [chosen.get(number, NOWHERE) for number in range(len(texts))]


class _Offer(NamedTuple):
    """A place, what the text covers there, and what its line does."""

    place: LabelPlace
    text: Box
    line: list[Box]


def _offers(at: float, top: float, text: str, radius: float) -> Iterator[_Offer]:
    """Places around a point, the nearest first."""
    wide = theme.text_px(text)
    for ring in RINGS_PX:
        far = ring > RINGS_PX[0]
        for degrees in DIRECTIONS:
            across, up = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
            align = "center" if abs(across) < 0.1 else "left" if across > 0 else "right"
            dx, end_dy = round((radius + ring) * across, 1), round(-(radius + ring) * up, 1)
            dy = round(end_dy - LINE_PX / 2 * up, 1)  # the edge of the text, not its middle, is at the ring
            left = dx - {"left": 0.0, "center": wide / 2, "right": wide}[align]
            box = Box(at, left, left + wide, top + dy - LINE_PX / 2, top + dy + LINE_PX / 2)
            spots = ((dx * part, top + end_dy * part) for part in LINE_PARTS) if far else ()
            line = [Box(at, spot - 1, spot + 1, height - 1, height + 1) for spot, height in spots]
            yield _Offer(LabelPlace(dx, dy, align, far, end_dy), box, line)


def _inside(box: Box, height: float, pad: float) -> bool:
    ends = [(pad + box.at * (width - 2 * pad), width) for width in WIDTHS_PX]
    across = all(middle + box.left >= 0 and middle + box.right <= width for middle, width in ends)
    return across and box.top >= 0 and box.bottom <= height


def _clear(offers: Sequence[_Offer], others: Sequence[Box], pad: float) -> list[_Offer]:
    """Those whose text covers nothing of the others."""
    hit = _hit([offer.text for offer in offers], others, pad)
    return [offer for offer, is_hit in zip(offers, hit.tolist(), strict=True) if not is_hit]


def _hit(boxes: Sequence[Box], others: Sequence[Box], pad: float) -> BoolArray:
    """Which of the boxes cover part of another one at some width: how far apart two are grows evenly with the width."""
    if not boxes or not others:
        return np.zeros(len(boxes), dtype=bool)
    at, left, right, top, bottom = (column[:, None] for column in np.array(boxes).T)
    at2, left2, right2, top2, bottom2 = np.array(others).T
    apart = np.array([(width - 2 * pad) * (at - at2) for width in WIDTHS_PX])
    beside = (apart.min(axis=0) + left < right2) & (apart.max(axis=0) + right > left2)
    found: BoolArray = (beside & (top < bottom2) & (bottom > top2)).any(axis=1)
    return found
