"""One table or figure of a paper, as we get it: numbers beside the paper's own, and what to draw."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import pandas as pd

from workbench.analysis.charts import Drawing, to_svg
from workbench.analysis.charts.bar_charts import grouped_bars
from workbench.analysis.charts.curves import curve
from workbench.base.rounding import short_number

COLUMNS = ("figure", "measure", "unit", "paper", "ours", "ratio", "note", "source")


class Entry(NamedTuple):
    """One measure.

    paper: the number that the paper prints, None where it prints none; ours: computed, NaN where there is none (`note`
    says so); note: what the paper says and how ours is made. It gives no reason: what a cause is worth says the
    exhibit's gap, and what may be one and is not varied its `unvaried`; source: where the paper says it.
    """

    measure: str
    unit: str
    paper: float | None
    ours: float
    note: str
    source: str


@dataclass(frozen=True, eq=False)
class Plot:
    """A table for plotting, and the chart function that draws it."""

    frame: pd.DataFrame
    chart: Callable[..., Drawing]
    options: Mapping[str, Any] = field(default_factory=dict)

    def drawing(self) -> Drawing:
        """The chart."""
        return self.chart(self.frame, **self.options)


def chart_of(frame: pd.DataFrame, title: str, x_title: str, y_title: str, **options: Any) -> Plot:
    """Bars of series in groups, or curves of lines: as its columns are."""
    chart = grouped_bars if "series" in frame else curve
    return Plot(frame, chart, {"title": title, "x_title": x_title, "y_title": y_title, **options})


@dataclass(frozen=True, eq=False)
class PaperFigure:
    """A table or figure of a paper. panels: by letter as in the paper, empty where there is nothing to draw."""

    name: str
    title: str
    rows: tuple[Entry, ...]
    panels: Mapping[str, Plot] = field(default_factory=dict)

    @property
    def table(self) -> pd.DataFrame:
        """Columns `COLUMNS`, one row per measure; ratio: ours over the paper's, NaN without either."""
        rows = [
            (self.name, row.measure, row.unit, _number(row.paper), row.ours, _ratio(row), row.note, row.source)
            for row in self.rows
        ]
        return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"paper": float, "ours": float, "ratio": float})

    def ours(self, measure: str) -> float:
        """Our number of a measure; raises KeyError for one that there is not."""
        return {row.measure: row.ours for row in self.rows}[measure]

    def _repr_html_(self) -> str:
        """What a notebook shows: the numbers, then the charts."""
        heading = html.escape(f"{self.name}: {self.title}")
        return f"<h4>{heading}</h4>{as_html(self.table.drop(columns='figure'))}{self._charts}"

    @cached_property
    def _charts(self) -> str:
        """Every panel as a picture, drawn once however often the figure is shown or written."""
        return "".join(_picture(panel.drawing()) for panel in self.panels.values())


def as_html(table: pd.DataFrame) -> str:
    """The table for a page; numbers with three digits, nothing for unknown ones."""
    head = "".join(f'<th style="text-align:left">{html.escape(name)}</th>' for name in table.columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.itertuples(index=False))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    whole = ";white-space:nowrap" if isinstance(value, float) else ""  # no line ends within 1.2e-05
    return f'<td style="text-align:left{whole}">{html.escape(_text(value))}</td>'


def cell(frame: pd.DataFrame, row: Any, column: Any) -> float:
    """The number in a row and a column of a table; raises KeyError if there is none."""
    return float(frame[column].astype(float).to_dict()[row])


def _text(value: Any) -> str:
    if isinstance(value, float):
        return short_number(value)
    return str(value)


def _picture(drawing: Drawing) -> str:
    svg, label = to_svg(drawing, width=640), html.escape(drawing.label)
    return f'<figure style="margin:1em 0;overflow-x:auto" role="img" aria-label="{label}">{svg}</figure>'


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _ratio(row: Entry) -> float:
    return math.nan if row.paper is None or row.paper == 0 else row.ours / row.paper
