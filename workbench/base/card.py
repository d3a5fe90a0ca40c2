"""How an object looks at the end of a notebook cell: lines, a table, lines below; in the notebook's own colours."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

LEFT = ' style="text-align: left"'
"""Jupyter sets cells to the right, as numbers stand."""


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
    rows = list(rows)
    sides = [LEFT, *("" if _numbers(row[n] for row in rows) else LEFT for n in range(1, len(columns)))]
    body = "".join(f"<tr>{_cells(row, sides if columns else [])}</tr>" for row in rows)
    heads = "".join(f"<th{side}>{_escaped(name)}</th>" for name, side in zip(columns, sides, strict=False))
    top = f"<thead><tr>{heads}</tr></thead>" if columns else ""
    return f"{_lines([head, *mind])}<table>{top}<tbody>{body}</tbody></table>{_lines(more)}"


def folded(title: str, body: str) -> str:
    """HTML that is read by who opens it; the title is text."""
    return f"<details><summary>{_escaped(title)}</summary>{body}</details>"


def _lines(given: Iterable[str]) -> str:
    return "".join(f"<p>{_escaped(line)}</p>" for line in given if line)


def _numbers(column: Iterable[str]) -> bool:
    """Whether some of a column's cells are numbers, so that all stand on the right."""
    return any(cell[:1].isdigit() for cell in column)


def _cells(row: Sequence[str], sides: Sequence[str]) -> str:
    """The cells of a row; sides: of each column, none: a fact."""
    if not sides:
        return f"<th{LEFT}>{_escaped(row[0])}</th><td{LEFT}>{_escaped(row[1])}</td>"
    return "".join(f"<td{side}>{_escaped(value)}</td>" for side, value in zip(sides, row, strict=True))


def _escaped(text: str) -> str:
    return html.escape(text, quote=True)
