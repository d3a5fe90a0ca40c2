"""Data frames as HTML tables, with escaped text."""

from __future__ import annotations

import html
import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from workbench.base.labels import head_of
from workbench.base.rounding import short_number
from workbench.base.units import format_duration


def as_read(frame: pd.DataFrame) -> pd.DataFrame:
    """A table with heads as people read them, times (columns in `_s`) as `2 h 30 min`, counts by name as `2 v100`."""

    def text(value: object) -> object:
        return ", ".join(f"{count} {name}" for name, count in value.items()) if isinstance(value, dict) else value

    def told(name: str, column: pd.Series[Any]) -> list[object]:
        if name.endswith("_s") and not name.endswith("_per_s"):
            return [format_duration(float(each), parts=2) for each in column]
        return [text(each) for each in column]

    return pd.DataFrame({head_of(name).removesuffix(" (s)"): told(name, frame[name]) for name in map(str, frame)})


def html_table(
    frame: pd.DataFrame,
    meanings: Mapping[str, str] | None = None,
    *,
    scrolls: bool = True,
    rows: Sequence[str] | None = None,
    lit: Collection[int] = (),
    hints: Sequence[str] = (),
) -> str:
    """A table with escaped text and rounded numbers, numbers to the right.

    meanings: of columns, shown on hover; scrolls: a long table scrolls in a box of its own; rows: a class of each row
    that can be pointed at, also by the keyboard (empty: none); lit: rows that are pointed out; hints: what the first
    cell of each row means, shown on hover (empty: nothing).
    """
    number = [pd.api.types.is_numeric_dtype(column) for _, column in frame.items()]

    def cell(value: object) -> str:
        if value is None:
            return ""
        if isinstance(value, float):
            return short_number(value, 6)
        return html.escape(str(value))

    def row(at: int, values: Sequence[object], name: str) -> str:
        cells = zip(values, number, strict=True)
        begin = f"<tr class='{name}' tabindex='0'>" if name else "<tr class='wb-lit'>" if at in lit else "<tr>"
        hint = f" title='{html.escape(hints[at], quote=True)}'" if hints and hints[at] else ""
        texts = [f"<td class='{_align(right)}'>{cell(value)}</td>" for value, right in cells]
        return begin + "".join(texts).replace("<td", f"<td{hint}", 1) + "</tr>"

    def head(name: str, right: bool) -> str:
        meaning = (meanings or {}).get(name, "")
        title = f" title='{html.escape(meaning)}'" if meaning else ""
        return f"<th scope='col' class='{_align(right)}'{title}>{html.escape(name)}</th>"

    names = rows if rows is not None else [""] * len(frame)
    body = "".join(map(row, itertools.count(), frame.itertuples(index=False, name=None), names))
    top = "".join(head(str(name), right) for name, right in zip(frame.columns, number, strict=True))
    return (
        f"<div class='wb-scroll{'' if scrolls else ' wb-whole'}' tabindex='0' role='region' aria-label='Table'>"
        "<table class='wb-data'>"
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _align(right: bool) -> str:
    return "wb-right-aligned" if right else "wb-left-aligned"
