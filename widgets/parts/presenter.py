"""Presenting: a lab fills the window in large type, one of its panels at a time; leaving restores all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import traitlets

from widgets.parts.assets import Scripted, program, style


class Panel(NamedTuple):
    """What is shown at a time. kind: the part of the lab, which lab.css looks at; show: brings its tab to the front."""

    title: str
    kind: str
    show: Callable[[], None]


class PresenterBar(Scripted):
    """The button that begins it, and then the bar: back, which panel, on, leave.

    Keys: Alt+P begins with the focus in the lab, right and left, Page Down and Page Up go on and back (as a clicker
    does; arrows not in a control that has its own), space plays (see `Playback`), Escape leaves. It must stand in an
    element of class `wb-lab`, which is what fills the window.
    """

    _esm = program(Path(__file__).parent / "presenter.js")
    _css = style()

    on = traitlets.Bool(False, help="Whether the lab is being presented.").tag(sync=True)
    number = traitlets.Int(0, help="Index of the panel that is shown.").tag(sync=True)
    titles = traitlets.List(traitlets.Unicode(), help="Titles of the panels.").tag(sync=True)
    drag = traitlets.Int(0, help="A number for each time that a slider of the lab is taken hold of; 0: none is.").tag(
        sync=True
    )
    kinds = traitlets.List(traitlets.Unicode(), help="Kinds of the panels.").tag(sync=True)


class Presenter:
    """Shows the panels of a lab one at a time.

    panels: asked whenever they may have changed; keep: returns what puts back the tabs as they are when it is called.
    """

    def __init__(self, panels: Callable[[], Sequence[Panel]], keep: Callable[[], Callable[[], None]]) -> None:
        self.bar = PresenterBar()
        self.bar.add_class("wb-present")
        self._ask = panels
        self._keep = keep
        self._panels: Sequence[Panel] = ()
        self._restore: Callable[[], None] | None = None
        self.bar.observe(lambda _: self._on_number(), "number")
        self.bar.observe(lambda change: self._begin() if change["new"] else self._leave(), "on")

    def refresh(self) -> None:
        """The lab may have other panels now; the one that is shown stays if it is still there."""
        if not self.bar.on:
            return
        shown = self._panels[self.bar.number].title
        self._panels = self._ask()
        self._offer(next((i for i, panel in enumerate(self._panels) if panel.title == shown), 0))

    def come_to(self, title: str) -> None:
        """The lab shows the panel of that title by itself."""
        number = next((i for i, panel in enumerate(self._panels) if panel.title == title), None)
        if self.bar.on and number is not None:
            self.bar.number = number

    def _begin(self) -> None:
        self._restore = self._keep()
        self._panels = self._ask()
        first = next((i for i, panel in enumerate(self._panels) if panel.kind == "result"), 0)
        self._offer(first)

    def _offer(self, number: int) -> None:
        with self.bar.hold_sync():
            self.bar.titles = [panel.title for panel in self._panels]
            self.bar.kinds = [panel.kind for panel in self._panels]
            self.bar.number = number
        self._panels[number].show()

    def _on_number(self) -> None:
        if self.bar.on and 0 <= self.bar.number < len(self._panels):
            self._panels[self.bar.number].show()

    def _leave(self) -> None:
        if self._restore is not None:
            self._restore()
        self._restore = None
