"""One look for every chart: colours that the colour-blind tell apart, type sizes for a lecture hall, units of time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

INK = "#222222"
MUTED = "#5f6670"
GRID = "#c9ced6"
LANE = "#eef0f3"
LIT = "#c3c8d0"
"""Background of rows, and of those that are pointed out: grey, as no job is, be it faded."""
PAPER = "#ffffff"
WARN = "#a50026"
FADED = 0.2
"""Opacity of what is not selected."""

FONT = "Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"
LABEL_PX, TITLE_PX, HEAD_PX = 14, 15, 18
SMALL_PX = 12
"""Smallest type, only inside bars and cells that are too low for LABEL_PX."""

WIDTH_PX = 960
"""Width of a chart's plot when nothing else says (static export)."""

LEGEND_LABEL_PX, LEGEND_GAP_PX = 420, 40
"""The most that a name in a long legend may take, and what its symbol and the gap to the next take beside it."""
BESIDE_PX = 110
"""What stands beside a plot: the y axis with its title, and the padding."""

PALETTE = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#f0e442")
"""Okabe and Ito's colours without black, in the order in which jobs take them."""

TYPE_PALETTE = ("#332288", "#44aa99", "#882255", "#ddcc77", "#88ccee", "#999933", "#cc6677", "#117733")
"""Paul Tol's muted colours, for accelerator types: another set, so that a type is not taken for a job."""
OFTEN = ("v100", "p100", "k80", "t4", "a100")
"""Types whose colour is their place here."""

SERIES_PALETTE = ("#8a3fc4", "#7f4a12", "#d6187f", INK, "#a583de", "#5d6b14", "#7d838c")
"""For series (schedulers, runs, measures): a set of their own (ours), so that none is taken for a job or a type."""

DASHES = ((1, 0), (7, 3), (2, 3), (9, 3, 2, 3), (16, 4))
"""Line patterns, the second channel of series: as many as are mostly compared."""

SHARE_SCHEME = ("#f7fbff", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
"""One hue from light to dark, for shares from 0 to 1."""


class TimeUnit(NamedTuple):
    """A unit of a time axis."""

    name: str
    seconds: float


_UNITS = (TimeUnit("s", 1.0), TimeUnit("min", 60.0), TimeUnit("h", 3600.0), TimeUnit("days", 86400.0))
_UP_TO_S = (300.0, 3 * 3600.0, 4 * 86400.0, math.inf)


def time_unit(span_s: float, seconds: float | None = None) -> TimeUnit:
    """The unit of so many seconds, or in which an axis of so long a span reads best: s up to 5 min, min up to 3 h, h up
    to 4 days."""
    if seconds is not None:
        return next(unit for unit in _UNITS if unit.seconds == seconds)
    return next((unit for unit, limit in zip(_UNITS, _UP_TO_S, strict=True) if span_s <= limit), _UNITS[0])


def job_colours(jobs: Iterable[str]) -> dict[str, str]:
    """A colour for each job by its place in the scenario: the palette, then its tints, then its shades, then again."""
    cycle = (*PALETTE, *(tint(c, 0.5) for c in PALETTE), *(shade(c, 0.4) for c in PALETTE))
    return {job: cycle[i % len(cycle)] for i, job in enumerate(jobs)}


def type_colours(types: Iterable[str]) -> dict[str, str]:
    """A colour for each accelerator type: those of the papers have the same everywhere, others what is left."""
    names = list(types)
    known = {name: OFTEN.index(name) for name in names if name in OFTEN}
    left = [i for i in range(len(TYPE_PALETTE)) if i not in known.values()] or [0]
    others = [name for name in names if name not in known]
    place = known | {name: left[i % len(left)] for i, name in enumerate(others)}
    return {name: TYPE_PALETTE[place[name]] for name in names}


def series_look(names: Sequence[str]) -> tuple[list[str], list[list[int]]]:
    """A colour and a line pattern for each series; both change from one to the next, after seven to darker colours."""
    cycle = (*SERIES_PALETTE, *(shade(colour, 0.4) for colour in SERIES_PALETTE if colour != INK))
    colours = [cycle[i % len(cycle)] for i in range(len(names))]
    return colours, [list(DASHES[i % len(DASHES)]) for i in range(len(names))]


def tint(colour: str, by: float) -> str:
    """The colour mixed with `by` (0 to 1) of white."""
    return _mixed(colour, 255, by)


def shade(colour: str, by: float) -> str:
    """The colour mixed with `by` (0 to 1) of black."""
    return _mixed(colour, 0, by)


@lru_cache
def text_on(colour: str) -> str:
    """Black or white, whichever contrasts more with the colour."""
    return "#ffffff" if contrast("#ffffff", colour) > contrast("#000000", colour) else "#111111"


def contrast(a: str, b: str) -> float:
    """Contrast of two colours as WCAG defines it, from 1 to 21."""
    light, dark = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _parts(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _mixed(colour: str, end: int, by: float) -> str:
    return "#" + "".join(f"{round(part + (end - part) * by):02x}" for part in _parts(colour))


def _luminance(colour: str) -> float:
    def linear(part: int) -> float:
        x = part / 255
        return x / 12.92 if x <= 0.04045 else float(((x + 0.055) / 1.055) ** 2.4)

    red, green, blue = (linear(part) for part in _parts(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


BESIDE_TICKS: dict[str, Any] = {
    "titleX": -12,
    "titleY": 7,
    "titleAlign": "right",
    "titleBaseline": "top",
    "titleAnchor": "start",
}
"""Of a horizontal axis: its title stands to the left of its first tick, below the names of rows, and takes no line."""


@lru_cache(4096)
def text_px(text: str, size: float = LABEL_PX) -> float:
    """About how wide a text is drawn, in pixels (wide scripts count double)."""
    return sum(1.0 if ord(letter) > 0x2E80 else 0.57 for letter in text) * size


def legend_columns(names: Sequence[str]) -> str:
    """A Vega expression: as many names side by side in a legend as there is room for.

    In the container, not in the plot, which Vega makes narrower after it has measured the legend.
    """
    room = f"(isFinite(containerSize()[0]) ? containerSize()[0] - {BESIDE_PX} : width)"
    wide = [min(text_px(name), LEGEND_LABEL_PX) + LEGEND_GAP_PX for name in names]
    needed = {count: sum(max(wide[column::count]) for column in range(count)) for count in range(2, len(names) + 1)}
    return "".join(f"{room} >= {px:.0f} ? {count} : " for count, px in sorted(needed.items(), reverse=True)) + "1"


NUMBER_EXPR = "datum.value != 0 && abs(datum.value) < 0.0001 ? format(datum.value, '.2~e') : format(datum.value, ',~r')"
"""A Vega expression for the label of a tick: 1e-8 and not 0.00000001."""


def duration_expr(seconds: str) -> str:
    """A Vega expression that writes the seconds in another expression as `2 h 30 min 5 s`; under a minute `12.5 s`."""
    t = f"round({seconds})"
    parts = (
        f"({t} >= 86400 ? floor({t}/86400) + ' d ' : '')",
        f"(floor({t} % 86400 / 3600) > 0 ? floor({t} % 86400 / 3600) + ' h ' : '')",
        f"(floor({t} % 3600 / 60) > 0 ? floor({t} % 3600 / 60) + ' min ' : '')",
        f"({t} % 60 > 0 ? {t} % 60 + ' s' : '')",
    )
    return f"({seconds} < 60 ? format({seconds}, '.3~r') + ' s' : trim({' + '.join(parts)}))"


def config() -> dict[str, Any]:
    """The Vega-Lite configuration of every chart."""
    axis = {
        "labelFont": FONT,
        "titleFont": FONT,
        "labelFontSize": LABEL_PX,
        "titleFontSize": TITLE_PX,
        "titleFontWeight": 600,
        "titlePadding": 8,
        "labelColor": INK,
        "titleColor": INK,
        "domainColor": MUTED,
        "tickColor": MUTED,
        "gridColor": GRID,
        "gridOpacity": 0.7,
        "labelOverlap": True,
        "labelLimit": 170,
    }
    return {
        # Vega would describe every mark: slow, and it trips over some names. The label of the drawing describes it.
        "aria": False,
        "background": PAPER,
        "font": FONT,
        "view": {"stroke": None},
        "axis": axis,
        "title": {
            "font": FONT,
            "fontSize": HEAD_PX,
            "fontWeight": 600,
            "color": INK,
            "anchor": "start",
            "frame": "group",
            "subtitleFont": FONT,
            "subtitleFontSize": LABEL_PX,
            "subtitleColor": MUTED,
            "subtitlePadding": 4,
        },
        "legend": {
            "labelFont": FONT,
            "titleFont": FONT,
            "labelFontSize": LABEL_PX,
            "titleFontSize": LABEL_PX,
            "titleFontWeight": 600,
            "labelColor": INK,
            "titleColor": INK,
            "labelLimit": 260,
            "symbolSize": 160,
            "symbolStrokeWidth": 2.5,
            "orient": "top",
            "direction": "horizontal",
            "titleOrient": "left",
            "columnPadding": 16,
        },
        "text": {"font": FONT, "fontSize": LABEL_PX, "color": INK},
        "line": {"strokeWidth": 2.5},
    }
