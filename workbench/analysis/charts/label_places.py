"""Where labels stand beside their points, so that none covers another or a point, however wide the plot is drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.analysis.charts import theme

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


def _hit(boxes: Sequence[Box], others: Sequence[Box], pad: float) -> npt.NDArray[np.bool_]:
    """Which of the boxes cover part of another one at some width: how far apart two are grows evenly with the width."""
    if not boxes or not others:
        return np.zeros(len(boxes), dtype=bool)
    at, left, right, top, bottom = (column[:, None] for column in np.array(boxes).T)
    at2, left2, right2, top2, bottom2 = np.array(others).T
    apart = np.array([(width - 2 * pad) * (at - at2) for width in WIDTHS_PX])
    beside = (apart.min(axis=0) + left < right2) & (apart.max(axis=0) + right > left2)
    found: npt.NDArray[np.bool_] = (beside & (top < bottom2) & (bottom > top2)).any(axis=1)
    return found
