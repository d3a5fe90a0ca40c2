"""A chart and, where it is too dense to be read whole, its overview below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets as w
import traitlets

from widgets.parts.lazy_widgets import lazy
from widgets.parts.vega_view import VegaView

if TYPE_CHECKING:
    from workbench.analysis.charts import Drawing


class Picture(w.VBox):
    """A view of a drawing; if it has an overview, a stretch that is dragged on it is what the view shows.

    What was put together in the drawing is drawn apart as far as the stretch lets it. name: for a screen reader, until
    something is drawn.
    """

    def __init__(self, name: str) -> None:
        self.view = VegaView(aria_label=name, layout=w.Layout(width="100%"))
        self._overview: VegaView | None = None
        self._link: w.Link | None = None
        self._drawing: Drawing | None = None
        super().__init__([self.view])
        self.view.observe(lambda _: self._come_closer(), "window")

    def open(self) -> None:
        """Have a page told of it, and of the link that nothing in it refers to."""
        super().open()
        self._tell_link()

    def _tell_link(self) -> None:
        if self._link is not None and self.comm is not None:
            self._link.open()

    def show(self, drawing: Drawing, *, selected: Any = traitlets.Undefined, of: str = "") -> None:
        """Draw; the stretch that is looked at stays if there is still an overview. Arguments as `VegaView.show`."""
        self._drawing = drawing
        data = dict(drawing.data)
        with self.view.hold_sync():
            self.view.aria_label = drawing.label
            if drawing.overview is None:
                self.view.window = {}
            if (bars := self._closer_bars()) is not None:
                data["bars"] = bars
            self.view.show(drawing.named(), data, selected=selected, of=of)
        if drawing.overview is not None:
            self._show_overview(drawing.overview)
        if self._overview is not None:
            self._overview.layout.display = "none" if drawing.overview is None else None

    def _show_overview(self, drawing: Drawing) -> None:
        if self._overview is None:
            self._overview = VegaView(pick_fields=[], layout=w.Layout(width="100%"))
            self._overview.add_class("wb-overview")
            with lazy():
                self._link = w.jslink((self.view, "window"), (self._overview, "window"))
            traitlets.dlink((self.view, "selected"), (self._overview, "selected"))
            self.children = [self.view, self._overview]
            self._tell_link()
        self._overview.aria_label = drawing.label
        self._overview.show(drawing.named(), drawing.data)

    def _closer_bars(self) -> Any:
        """The bars of the stretch that is looked at; None where those of the whole are as good."""
        drawing, seen = self._drawing, self.view.window.get("t")
        if drawing is None or drawing.closer is None or drawing.axis_s is None or seen is None:
            return None
        return drawing.closer(*(float(end) * drawing.axis_s for end in seen))

    def _come_closer(self) -> None:
        if self._drawing is not None and self._drawing.closer is not None:
            bars = self._closer_bars()
            self.view.set_data("bars", self._drawing.data["bars"] if bars is None else bars)
