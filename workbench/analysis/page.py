"""The parts of a page of HTML that can be mailed: it holds everything it shows and loads nothing.

Charts are pictures (SVG, or PNG where that is smaller) inside the page, so it looks the same everywhere and prints on
about one sheet of A4. All text is escaped, whoever wrote it.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from workbench.analysis.charts import Drawing
from workbench.analysis.charts.export import to_png, to_svg
from workbench.base.errors import InputError
from workbench.base.files import write_text
from workbench.version import VERSION

MOST_SVG = 400_000
"""Characters of a picture in SVG; one with more is a PNG."""
WIDTH_PX, HALF_PX = 900.0, 470.0
"""Of a chart's plot, across the page and half of it."""

CSS = """
@page { size: A4; margin: 11mm; }
body { font: 14px/1.4 "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif; color: #222;
  margin: 1.5em auto; max-width: 1000px; padding: 0 1em; }
h1 { font-size: 22px; margin: 0 0 2px; } h2 { font-size: 16px; margin: 14px 0 4px; }
p { margin: 4px 0; } .small { color: #5f6670; font-size: 12px; }
table { border-collapse: collapse; width: 100%; } th { text-align: left; font-weight: 600; }
td, th { padding: 2px 8px 2px 0; border-bottom: 1px solid #dde1e6; vertical-align: top; overflow-wrap: break-word; }
td.n, th.n { text-align: right; overflow-wrap: normal; }
td.n + td:not(.n), th.n + th:not(.n) { padding-left: 8px; }
.two { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 4px 24px; }
img { width: 100%; height: auto; display: block; } ul { margin: 4px 0; padding-left: 20px; }
figure { margin: 6px 0; break-inside: avoid; }
@media (min-width: 641px) { td.n { white-space: nowrap; } }
@media (max-width: 640px) { .two { grid-template-columns: minmax(0, 1fr); } section { overflow-x: auto; } }
@media print { body { margin: 0; padding: 0; max-width: none; font-size: 9.5px; } h1 { font-size: 17px; }
  h2 { font-size: 12.5px; margin: 7px 0 2px; } td, th { padding: 0.5px 6px 0.5px 0; } .small { font-size: 9.5px; }
  figure { margin: 2px 0; } }
"""


def check_name(path: str | Path) -> None:
    """Raise InputError unless the name of a page ends in .html."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise InputError(str(path), Path(path).suffix, "a name that ends in .html")


def save(content: str, path: str | Path, *, force: bool = False) -> None:
    """Write a page; raises InputError as `check_name` does, or if the file exists and `force` is not set."""
    check_name(path)
    write_text(Path(path), content, force=force)


def figure(drawing: Drawing, width: float = WIDTH_PX) -> str:
    """A chart as a picture."""
    svg = to_svg(drawing, width=width)
    if len(svg) <= MOST_SVG:
        kind, data = "svg+xml", svg.encode("utf-8")
    else:
        kind, data = "png", to_png(drawing, width=width, scale=1.5)
    encoded = base64.b64encode(data).decode("ascii")
    return f'<figure><img alt="{escaped(drawing.label)}" src="data:image/{kind};base64,{encoded}"></figure>'


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values."""
    return (
        "<table>"
        + "".join(f"<tr><th>{escaped(name)}</th><td>{escaped(value)}</td></tr>" for name, value in rows)
        + "</table>"
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """A table; right: positions of the columns that stand to the right."""
    at = set(right)

    def cells(values: Sequence[str], tag: str) -> str:
        kinds = [' class="n"' if place in at else "" for place in range(len(values))]
        found = zip(values, kinds, strict=True)
        return "<tr>" + "".join(f"<{tag}{kind}>{escaped(value)}</{tag}>" for value, kind in found) + "</tr>"

    body = "".join(cells(row, "td") for row in rows)
    return f"<table><thead>{cells(columns, 'th')}</thead><tbody>{body}</tbody></table>"


def section(title: str, content: str) -> str:
    """A part with a heading; content: HTML."""
    return f"<section><h2>{escaped(title)}</h2>{content}</section>"


def points(sentences: Iterable[str]) -> str:
    """Sentences, one below the other."""
    return f"<ul>{''.join(f'<li>{escaped(sentence)}</li>' for sentence in sentences)}</ul>"


def two_columns(left: str, right: str) -> str:
    """Two parts beside each other, below each other on a narrow screen; both HTML."""
    return f'<div class="two"><div>{left}</div><div>{right}</div></div>'


def foot(more: str) -> str:
    """What made the page, and `more` (text)."""
    text = ", ".join(part for part in (f"Simulated with the scheduling workbench {VERSION}", more) if part)
    return f'<p class="small">{escaped(text)}. Times are simulated, not measured on a cluster.</p>'


def escaped(value: Any) -> str:
    """The value as text that is never markup."""
    return html.escape(str(value), quote=True)


def whole(title: str, under: str, parts: Iterable[str]) -> str:
    """The page; title and under (the line below it): text, parts: HTML."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escaped(title)}</title>'
    lock = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    rule = f'<meta http-equiv="Content-Security-Policy" content="{lock}">'
    body = f'<h1>{escaped(title)}</h1><p class="small">{escaped(under)}</p>{"".join(parts)}'
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head}{rule}<style>{CSS}</style></head>\n<body>{body}</body></html>\n'
    )
