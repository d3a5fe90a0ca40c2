"""A chart with what belongs to it: its numbers as a table, and its export to a file beside the notebook."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import ipywidgets as w

from widgets.parts.button import button
from widgets.parts.files import Download, on_dashboard
from widgets.parts.html_table import html_table
from widgets.parts.picture import Picture
from widgets.parts.status_line import StatusLine
from workbench.base.errors import WorkbenchError, counted
from workbench.base.labels import head_of
from workbench.simulation.schema import TABLES

if TYPE_CHECKING:
    from workbench.analysis.charts import Drawing

ROWS_SHOWN = 200
OURS = frozenset(column.name for table in TABLES for column in table.columns)
"""Columns that are named as in code; others may be a job's or a type's."""
FORMATS = ("png", "svg", "html", "csv")


class ChartPage:
    """A view with its tools, below it in `box`. name: what the export is called on the button; file: what its files are
    called."""

    def __init__(self, name: str, file: str) -> None:
        self.picture = Picture(name)
        self.view = self.picture.view
        self.view.add_class(f"wb-view-{file}")
        self.drawing: Drawing | None = None
        self._name, self._file = name, file
        self.tools = w.VBox()
        self.box = w.VBox([self.picture, self.tools])

    def show(self, drawing: Drawing, selected: str | list[str] | None, of: str = "") -> None:
        """Draw, with a job selected, or several; of: as `VegaView` has it."""
        if self.drawing is None:
            self._make_tools()
        self.drawing = drawing
        self.picture.show(drawing, selected=selected, of=of)
        self._show_numbers()

    def _make_tools(self) -> None:
        """What belongs to the chart, made when there is one: a lab has twenty pages, of which few are opened."""
        self._table, self._said = w.HTML(), StatusLine()
        self._numbers = w.ToggleButton(
            description="Show the numbers",
            icon="table",
            tooltip=f"{self._name} as a table",
            layout=w.Layout(width="auto"),
        )
        self._numbers.add_class("wb-numbers")
        self._numbers.observe(lambda _: self._show_numbers(), "value")
        self._format = w.Dropdown(options=FORMATS, layout=w.Layout(width="5em"), tooltip="Format of the file")
        self._format.add_class("wb-format")
        hint = f"Write {self._name} to a file{'' if on_dashboard() else ' beside the notebook'}"
        export = button(f"Export {self._name}", "export", self.export, hint, icon="download")
        self._download = Download() if on_dashboard() else None
        hidden = [self._download] if self._download is not None else []
        row = w.HBox([self._numbers, self._format, export, self._said, *hidden])
        row.add_class("wb-chart-tools")
        self.tools.children = [row, self._table]

    def export(self) -> None:
        """Write the chart under a name that is still free; on a dashboard the browser gets it instead."""
        if self.drawing is None:
            return
        suffix = str(self._format.value)
        try:
            if self._download is None:
                text = f"Written to {self._written_beside(self.drawing, suffix)}"
            else:
                name = f"{self._file}.{suffix}"
                self._download.give(name, _content(self.drawing, name))
                text = f"Saved as a download, {name}"
        except WorkbenchError as error:
            self._said.tone, self._said.text = "bad", str(error)
        else:
            self._said.tone, self._said.text = "note", text

    def _written_beside(self, drawing: Drawing, suffix: str) -> Path:
        from workbench.analysis import charts

        path = next(p for i in range(1, 10_000) if not (p := Path(f"{self._file}-{i}.{suffix}").absolute()).exists())
        charts.save(drawing, path)
        return path

    def _show_numbers(self) -> None:
        """The table behind the chart, while it is wanted."""
        if self.drawing is None or not self._numbers.value:
            self._table.value = ""
            return
        table = self.drawing.table
        more = f", the first {ROWS_SHOWN} shown (Export as csv has all)" if len(table) > ROWS_SHOWN else ""
        read = table.head(ROWS_SHOWN).rename(
            columns=lambda name: head_of(name) if name in OURS or "_" in name else name
        )
        self._table.value = f"<p class='wb-note'>{counted(len(table), 'row')}{more}</p>" + html_table(read)


def _content(drawing: Drawing, name: str) -> bytes:
    """The file of that name."""
    from workbench.analysis import charts

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        charts.save(drawing, path)
        return path.read_bytes()
