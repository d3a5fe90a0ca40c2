"""Numbers as people read them: as many digits as a reader can use, in full rather than as a power of ten."""

from __future__ import annotations

import math


def short_number(value: float, digits: int = 3, unknown: str = "") -> str:
    """A number with `digits` significant digits, or all of those before the point: 0.0123, 12.3, 1,235, 12,346.

    Three are enough for a sentence; tables whose rows are held against each other say four. unknown: for no number.
    """
    if math.isnan(value):
        return unknown
    if math.isinf(value):
        return "\u221e" if value > 0 else "-\u221e"
    text = f"{value or 0:,.{digits}g}"  # 0 has no sign
    return f"{value:,.0f}" if "e+" in text else text
