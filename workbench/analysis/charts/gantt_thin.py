"""Fewer marks where a Gantt chart has more than a page can draw, and a note that says what was put together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from workbench.analysis.charts import theme
from workbench.base.units import format_duration

MOST_BARS = 25_000
"""A canvas draws so many in about a second."""
MOST_MARKS = 4_000
WIDEST_PX = 2600.0
"""The widest plot that is thought of: what is closer than a pixel of it cannot be told apart."""
SEVERAL = "several"
"""The kind of a bar that stands for bars of different kinds."""
GREY = "#8a929c"

_ALIKE = {"where": "", "accelerator": "", "job": "", "with_job": "", "model": "", "kind": SEVERAL, "held": 0}
_ALIKE |= {"fill": GREY, "stroke": theme.PAPER}
"""Columns that a bar keeps if all that it stands for agree, and what it has otherwise."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Thinned(NamedTuple):
    """Bars to draw, and what was done to them in words (empty: nothing)."""

    bars: pd.DataFrame
    note: str


def thinned_bars(bars: pd.DataFrame, span_s: float, row_px: float, most: int = MOST_BARS) -> Thinned:
    """At most `most` bars, or one for each row of pixels if that is more.

    Time is cut into equal pieces; bars shorter than a piece that begin in the same one, on the same row, become one,
    which keeps its colour if they agree in it and is grey otherwise. The piece is the shortest that is enough, of
    those that double from a pixel on. Longer bars stay as they are.
    """
    if len(bars) <= most:
        return Thinned(bars, "")
    bars = _on_pixels(bars, row_px)
    lane = pd.factorize(pd.MultiIndex.from_frame(bars[["y0", "y1"]]))[0].astype(np.int64)
    start, end = bars["start_s"].to_numpy(float), bars["end_s"].to_numpy(float)
    order = np.lexsort((start, lane))
    lane, start, end = lane[order], start[order], end[order]
    short_s = span_s / WIDEST_PX
    first = _firsts(lane, start, end, short_s)
    while len(first) > most and short_s <= span_s:
        short_s *= 2
        first = _firsts(lane, start, end, short_s)
    found = _put_together(bars.iloc[order], first)
    note = f"{len(bars):,} bars drawn as {len(found):,}: neighbours shorter than {format_duration(short_s, parts=1)}"
    return Thinned(found, f"{note} are one, grey if of different jobs")


def _on_pixels(bars: pd.DataFrame, row_px: float) -> pd.DataFrame:
    """Where several rows share a pixel, bars lie on whole pixels."""
    if row_px >= 1:
        return bars
    pixel = np.floor(bars["y0"].to_numpy(float) * row_px + 1e-9)
    return bars.assign(y0=pixel / row_px, y1=(pixel + 1) / row_px)


def _firsts(lane: Ints, start: Floats, end: Floats, short_s: float) -> Ints:
    """Where bars sorted by lane and start begin anew: at a long bar, after one, in the next piece of time."""
    long, piece = end - start >= short_s, np.floor(start / short_s)
    apart = long[1:] | long[:-1] | (lane[1:] != lane[:-1]) | (piece[1:] != piece[:-1])
    return np.flatnonzero(np.concatenate(([True], apart)))


def _put_together(bars: pd.DataFrame, first: Ints) -> pd.DataFrame:
    """One bar from each of `first` to the next."""
    count = np.diff(np.append(first, len(bars)))
    found = bars.iloc[first].copy()
    found["end_s"] = np.maximum.reduceat(bars["end_s"].to_numpy(float), first)
    for name in ("steps", "with_steps"):
        found[name] = np.add.reduceat(bars[name].to_numpy(float), first)
    for name, otherwise in _ALIKE.items():
        if name in bars:
            codes = pd.factorize(bars[name])[0]
            differ = np.minimum.reduceat(codes, first) != np.maximum.reduceat(codes, first)
            found[name] = found[name].mask(differ, otherwise)
    found.loc[found["fill"] == GREY, "kind"] = SEVERAL
    found["unit"] = found["unit"].mask(count > 1, [f"{n} bars" for n in count])
    return found.sort_values("start_s", kind="stable").reset_index(drop=True)


def thinned_marks(marks: pd.DataFrame, span_s: float, row_px: float, most: int = MOST_MARKS) -> pd.DataFrame:
    """Of marks of preemption on one row of pixels the first in each piece of time, so that at most `most` are left.

    The pieces are the shortest that are enough, as with bars; other marks stay.
    """
    lost = marks[marks["mark"] == "preempted"]
    row, piece_s, kept = (lost["y0"] * row_px).floordiv(1), span_s / WIDEST_PX, lost
    while len(kept) > most and piece_s <= span_s:
        kept = lost[~pd.DataFrame({"piece": (lost["time_s"] / piece_s).floordiv(1), "row": row}).duplicated()]
        piece_s *= 2
    return pd.concat([kept, marks[marks["mark"] != "preempted"]], ignore_index=True) if kept is not lost else marks


def rows_together(row_px: float) -> int:
    """How many rows share a pixel."""
    return max(1, int(1 / row_px))
