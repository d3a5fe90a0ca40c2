"""Data frames as HTML tables, with escaped text."""

from __future__ import annotations

import html
from collections.abc import Sequence

import pandas as pd


def html_table(frame: pd.DataFrame) -> str:
    """A table with escaped text and rounded numbers."""

    def cell(value: object) -> str:
        if isinstance(value, float):
            return "" if pd.isna(value) else f"{value:,.6g}"
        return html.escape(str(value))

    def row(values: Sequence[object], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{cell(value)}</{tag}>" for value in values) + "</tr>"

    body = "".join(row(values, "td") for values in frame.itertuples(index=False, name=None))
    head = row([str(name) for name in frame.columns], "th")
    return f"<div class='wb-scroll'><table class='wb-data'><thead>{head}</thead><tbody>{body}</tbody></table></div>"
