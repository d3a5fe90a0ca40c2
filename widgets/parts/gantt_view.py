"""Schedules in a notebook's cell, with playback: play, pause, scrub; one selection for all of them."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

import ipywidgets as w
import numpy as np

from widgets.parts.picture import Picture
from widgets.parts.playback import UNTIL, Playback, rounds_of
from widgets.parts.startup import quick_imports
from workbench.base.errors import InputError
from workbench.simulation.run import Run

if TYPE_CHECKING:
    from workbench.analysis.charts import Drawing
    from workbench.analysis.charts.gantt_data import By

STILL = "wb-still"
PIXELS = 2
"""Of a picture, per pixel of the page."""


class GanttView:
    """Shows runs, or charts that play, below each other; the end of a cell is all that it needs.

    shown: runs, drawn on one axis of time, and drawings with the parameter `until` (`charts.gantt`, `plan`, `tasks`,
    `lease_gantt`, `admission`); by: rows of the runs, `slot` or `job`; titles: of the runs, in order (default: of the
    chart). A click on a bar follows its job in all of them. A picture of the whole schedules stands on the page until
    the charts are drawn, and stays where there is no kernel: in an exported page, or a notebook that was only opened.
    Raises InputError for nothing to show, a chart that does not play, charts whose times count different things, or
    another number of titles than runs.
    """

    def __init__(self, *shown: Run | Drawing, by: By = "slot", titles: Sequence[str] | None = None) -> None:
        self.drawings = _drawings(shown, by, titles)
        pictures = [Picture(drawing.label) for drawing in self.drawings]
        self.views = [picture.view for picture in pictures]
        for one, view, drawing in zip(pictures, self.views, self.drawings, strict=True):
            view.still = f"{STILL}-{view.model_id}"
            one.show(drawing, selected=None)
            view.on_job(self.select)
        self.playback = Playback(self.views)
        drawn = zip(shown, self.drawings, strict=True)
        own = [rounds_of(one) if isinstance(one, Run) else drawing.stops for one, drawing in drawn]
        stops_s = np.unique(np.concatenate(own))
        self.playback.show(stops_s.tolist(), self.drawings[0].clock)
        self.widget = w.VBox([*([w.HBox([self.playback])] if self.playback.last else []), *pictures])
        self.widget.add_class("wb-played")

    def select(self, job: str | None) -> None:
        """Follow a job in every chart, or none."""
        for view in self.views:
            view.selected = job

    def _ipython_display_(self) -> None:
        from IPython.display import display

        shown = zip(self.views, self.drawings, strict=True)
        display({"text/html": "".join(picture(view.still, drawing) for view, drawing in shown)}, raw=True)
        live = self.widget._repr_mimebundle_() or {}
        display({**live, "text/plain": "\n".join(drawing.label for drawing in self.drawings)}, raw=True)


def _drawings(shown: Sequence[Run | Drawing], by: By, titles: Sequence[str] | None) -> list[Drawing]:
    with quick_imports():
        from workbench.analysis import charts
    runs = [one for one in shown if isinstance(one, Run)]
    if not shown:
        raise InputError("GanttView", "nothing", "at least one run or drawing")
    if titles is not None and len(titles) != len(runs):
        raise InputError("GanttView, titles", len(titles), f"{len(runs)}, one for each run")
    end_s, heads = max((run.end_s for run in runs), default=0.0), iter(titles or ())
    found = [
        charts.run_gantt(one, by=by, end_s=end_s, title=next(heads, None)) if isinstance(one, Run) else one
        for one in shown
    ]
    for place, drawing in enumerate(found):
        if not isinstance(drawing, charts.Drawing):
            raise InputError(f"GanttView, {place + 1}", drawing, "a run or a drawing")
        if UNTIL not in drawing.params:
            raise InputError(f"GanttView, {place + 1}", drawing.label, "a chart that plays, with the parameter `until`")
        if drawing.clock != found[0].clock:
            raise InputError(f"GanttView, {place + 1}", drawing.clock, f"times in {found[0].clock}, as in the first")
    return found


def picture(name: str, drawing: Drawing) -> str:
    """The whole schedule as a picture, as wide as the page lets it be."""
    from workbench.analysis.charts import to_png

    png = to_png(drawing, scale=PIXELS)
    width = int.from_bytes(png[16:20], "big") // PIXELS  # where the format has it
    code, text = base64.b64encode(png).decode("ascii"), html.escape(drawing.label, quote=True)
    look = f'width="{width}" style="max-width: 100%; display: block"'
    return f'<img class="{STILL} {name}" alt="{text}" {look} src="data:image/png;base64,{code}">'
