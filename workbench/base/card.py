"""How an object looks at the end of a notebook cell: lines, a table, lines below; in the notebook's own colours."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

LEFT = ' style="text-align: left"'
"""Jupyter sets cells to the right, as numbers stand; names do not."""


def card(
    head: str,
    rows: Iterable[Sequence[str]],
    columns: Sequence[str] = (),
    more: Iterable[str] = (),
    mind: Iterable[str] = (),
) -> str:
    """The HTML; everything given is text. Without columns the rows are facts: a name and what it is.

    mind: lines under the first one, to be read before the table; more: lines below it.
    """
    body = "".join(f"<tr>{_cells(row, facts=not columns)}</tr>" for row in rows)
    heads = "".join(f"<th{'' if n else LEFT}>{_escaped(name)}</th>" for n, name in enumerate(columns))
    top = f"<thead><tr>{heads}</tr></thead>" if columns else ""
    return f"{_lines([head, *mind])}<table>{top}<tbody>{body}</tbody></table>{_lines(more)}"


def _lines(given: Iterable[str]) -> str:
    return "".join(f"<p>{_escaped(line)}</p>" for line in given if line)


def _cells(row: Sequence[str], facts: bool) -> str:
    if facts:
        return f"<th{LEFT}>{_escaped(row[0])}</th><td{LEFT}>{_escaped(row[1])}</td>"
    return "".join(f"<td{'' if n else LEFT}>{_escaped(value)}</td>" for n, value in enumerate(row))


def _escaped(text: str) -> str:
    return html.escape(text, quote=True)
