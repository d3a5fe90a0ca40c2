"""Durations as people write them (`2 h 30 min`), held as seconds.

Files, tables and formulations hold seconds. Panels take and show text: `parse_duration` reads it, `format_duration`
writes it, and `parse_duration(format_duration(x)) == x` for every finite `x`.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal

EXPECTED = "a duration such as 90 s, 5 min, 2 h 30 min, 1.5 h or 3 d"

_SECONDS_PER_UNIT: dict[str, Decimal] = {
    spelling: Decimal(seconds)
    for seconds, spellings in {
        "0.001": "ms msec millisecond milliseconds",
        "1": "s sec secs second seconds",
        "60": "m min mins minute minutes",
        "3600": "h hr hrs hour hours",
        "86400": "d day days",
        "604800": "w week weeks",
    }.items()
    for spelling in spellings.split()
}
_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?"
_PART = re.compile(rf"\s*({_NUMBER})\s*([a-z]+)\s*,?\s*")
_BARE = re.compile(_NUMBER)
_CLOCK = re.compile(r"(\d+):([0-5]\d):([0-5]\d(?:\.\d*)?)")
_UNITS_SHOWN = (("d", 86400), ("h", 3600), ("min", 60))
_LARGEST_SPELT_S = 1e15  # beyond this (thirty million years) the parts say nothing


def parse_duration(text: str, *, unit: str = "s") -> float:
    """Return the seconds that `text` stands for; raise ValueError saying what is expected. unit: of a bare number."""
    cleaned = text.strip().lower().replace("\u2212", "-").replace("\u00a0", " ")
    sign = -1 if cleaned.startswith("-") else 1
    body = cleaned[1:].lstrip() if sign < 0 else cleaned
    seconds = _clock_or_bare(body, unit)
    if seconds is None:
        seconds = _sum_of_parts(body)
    if seconds is None or not math.isfinite(float(seconds)):
        raise ValueError(f"{text.strip()!r} is not {EXPECTED}")
    return sign * float(seconds)


def typed_over(text: str, over: str) -> str:
    """What is typed over a duration: a number alone with the unit that this ends with, else (none, empty) with `s`."""
    unit = (over.split() or [""])[-1]
    return f"{text} {unit if unit in _SECONDS_PER_UNIT else 's'}" if _BARE.fullmatch(text.strip().lower()) else text


def _clock_or_bare(body: str, unit: str) -> Decimal | None:
    if _BARE.fullmatch(body):
        return Decimal(body) * _SECONDS_PER_UNIT[unit]
    if match := _CLOCK.fullmatch(body):
        hours, minutes, seconds = match.groups()
        return Decimal(hours) * 3600 + Decimal(minutes) * 60 + Decimal(seconds)
    return None


def _sum_of_parts(body: str) -> Decimal | None:
    """`2 h 30 min` -> 9000; None when a part has no known unit or a unit comes twice."""
    total, position, seen = Decimal(0), 0, set[Decimal]()
    while position < len(body):
        part = _PART.match(body, position)
        if part is None or part.group(2) not in _SECONDS_PER_UNIT:
            return None
        unit = _SECONDS_PER_UNIT[part.group(2)]
        if unit in seen:
            return None
        seen.add(unit)
        total += Decimal(part.group(1)) * unit
        position = part.end()
    return total if seen else None


def format_duration(seconds: float, *, parts: int | None = None) -> str:
    """Write seconds as `2 h 30 min`.

    Exact by default. With `parts`, only that many units are kept from the largest down, the last one rounded: good
    for reading, not for editing. Not a number is empty, infinite is the sign for it.
    """
    if math.isnan(seconds):
        return ""
    if math.isinf(seconds):
        return "\u221e" if seconds > 0 else "-\u221e"
    if abs(seconds) >= _LARGEST_SPELT_S:
        return f"{float(seconds)!r} s"
    exact = abs(Decimal(repr(float(seconds))))
    amount = exact if parts is None else _rounded(exact, parts)
    sign = "-" if seconds < 0 and amount else ""
    words = []
    for unit, size in _UNITS_SHOWN:
        whole, amount = divmod(amount, size)
        if whole:
            words.append(f"{whole:f} {unit}")
    if amount or not words:
        words.append(f"{_plain(amount)} s")
    return sign + " ".join(words)


def clock(seconds: float) -> str:
    """A time as people say it: its two largest units."""
    return format_duration(float(seconds), parts=2)


def moment(seconds: float) -> str:
    """When something is, as people say it: to the second, however late in a run."""
    return format_duration(float(seconds), parts=4)


def _rounded(amount: Decimal, parts: int) -> Decimal:
    """Round to the smallest of the `parts` units that will be shown; under a minute, to three significant digits."""
    sizes = [size for _, size in _UNITS_SHOWN] + [1]
    largest = next((i for i, size in enumerate(sizes) if amount >= size), len(sizes))
    last = largest + max(1, parts) - 1
    if largest >= len(sizes) - 1:
        return Decimal(f"{amount:.3g}")
    if last < len(sizes):
        return (amount / sizes[last]).quantize(Decimal(1), rounding="ROUND_HALF_UP") * sizes[last]
    return amount.quantize(Decimal(1), rounding="ROUND_HALF_UP")


def _plain(amount: Decimal) -> str:
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
