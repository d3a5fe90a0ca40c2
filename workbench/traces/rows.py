"""What every loader does alike: read text, read numbers, keep a window of arrivals, draw a sample."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from workbench.errors import InputError, Words, why
from workbench.files import parse_json
from workbench.traces.report import Drops, Report

STANDARD = "-"
"""Stands for standard input."""


class Arriving(Protocol):
    """A row of a trace: its line and when its job arrives, in the file's time."""

    @property
    def line(self) -> int: ...

    @property
    def arrival_s(self) -> float: ...


Row = TypeVar("Row", bound=Arriving)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def read_text(path: str | Path, expected: str) -> str:
    """The file's text, or what standard input has (`-`); raises InputError if it cannot be read as UTF-8."""
    try:
        if str(path) == STANDARD:
            return sys.stdin.buffer.read().decode("utf-8-sig")
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(source_name(path), why(error), expected) from None


def source_name(path: str | Path) -> str:
    """What messages and reports call a source."""
    return "standard input" if str(path) == STANDARD else str(path)


def read_json(path: str | Path, expected: str) -> Any:
    """The file's JSON; raises InputError if it is none, names a key twice or holds NaN or infinities."""
    text = read_text(path, expected)
    try:
        return parse_json(text)
    except ValueError as error:
        raise InputError(source_name(path), why(error), expected) from None


def number(text: str) -> float | None:
    """A finite decimal number, None for anything else (also for nan, inf, 1_000 and hexadecimal)."""
    value = float(text) if _NUMBER.fullmatch(text.strip()) else math.nan
    return value if math.isfinite(value) else None


def check_seed(seed: int) -> None:
    """Raise InputError if the seed is not one that a scenario may have."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise InputError("seed", seed, "a whole number, at least 0 and below 2**63")


def check_cut(from_s: float | None, to_s: float | None, sample: int | None, seed: int) -> None:
    """Raise InputError if the window, the sample or its seed makes no sense."""
    check_seed(seed)
    for name, value in (("from_s", from_s), ("to_s", to_s)):
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise InputError(name, value, "seconds, at least 0")
    if to_s is not None and to_s <= (from_s or 0.0):
        raise InputError("to_s", to_s, f"a time after from_s ({from_s or 0.0:g})")
    if sample is not None and sample < 1:
        raise InputError("sample", sample, "at least one job")


def draw_sample(count: int, sample: int | None, seed: int) -> list[int]:
    """Positions of a uniform sample without replacement, in file order; all of them if there are not more."""
    if sample is None or sample >= count:
        return list(range(count))
    return sorted(np.random.default_rng(seed).choice(count, size=sample, replace=False).tolist())


def in_window(rows: Sequence[Row], from_s: float | None, to_s: float | None, drops: Drops) -> list[Row]:
    """The rows that arrive from `from_s` (included) to `to_s` (excluded); the others go to `drops`."""
    low, high = from_s or 0.0, math.inf if to_s is None else to_s
    drops.add_all("arrives outside the window", (row.line for row in rows if not low <= row.arrival_s < high))
    return [row for row in rows if low <= row.arrival_s < high]


def sampled(rows: Sequence[Row], sample: int | None, seed: int, drops: Drops) -> list[Row]:
    """The rows of a sample, in their order; the others go to `drops`."""
    chosen = set(draw_sample(len(rows), sample, seed))
    drops.add_all("not in the sample", (row.line for i, row in enumerate(rows) if i not in chosen))
    return [row for i, row in enumerate(rows) if i in chosen]


def account(source: str, format: str, kept: Sequence[Row], drops: Drops) -> Report:
    """The report without notes; raises InputError, saying why each row was dropped, if none is kept."""
    dropped = drops.result()
    if not kept:
        raise InputError(source, Words("; ".join(map(str, dropped)) or "no rows"), "at least one job that can be kept")
    return Report(source, format, len(kept) + sum(reason.count for reason in dropped), len(kept), dropped)
