"""Pages beside a lab's runs, on its page Vary: what a paper's lab shows besides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol

import ipywidgets as w

from widgets.parts.one_in_sight import OneInSight
from widgets.parts.status_line import StatusLine
from workbench.scenario.scenario import Scenario

RUN = "This lab's run"


class Host(Protocol):
    """The lab, as such a page knows it."""

    @property
    def scenario(self) -> Scenario:
        """The scenario as the tables have it; raises ScenarioError while a cell is wrong."""
        ...

    def open(self, scenario: Scenario) -> None:
        """Show another scenario."""
        ...


class SidePage(Protocol):
    """A page with its title; `opened` is called whenever somebody looks at it."""

    title: str
    box: w.Widget

    def opened(self) -> None:
        """Bring it up to date."""
        ...


MakePage = Callable[[Host], SidePage]


def pages_of(paper: str) -> Sequence[MakePage]:
    """What makes the pages of a paper's lab, `PAGES` of the package `widgets.pages.<paper>`; most papers have none."""
    name = f"widgets.pages.{paper}"
    pages: Sequence[MakePage] = import_module(name).PAGES if find_spec(name) else ()
    return pages


def two_columns(controls: Sequence[w.Widget], charts: Sequence[w.Widget], said: StatusLine) -> w.HBox:
    """Such a page: its controls, and beside them what goes on, above the charts."""
    left, right = w.VBox(list(controls)), w.VBox([said, *charts])
    box = w.HBox([left, right])
    for part, name in ((said, "page-status"), (left, "page-controls"), (right, "page-charts"), (box, "page")):
        part.add_class(f"wb-{name}")
    return box


class PageChoice:
    """Pages in the place of one: what shows the lab's own runs, and those of the paper to choose from.

    own, opened: the first, and what is called when somebody looks at it.
    """

    def __init__(self, own: w.Widget, opened: Callable[[], None], pages: Sequence[SidePage]) -> None:
        self._opened = [opened, *(page.opened for page in pages)]
        self._boxes = [own, *(page.box for page in pages)]
        options = [(text, number) for number, text in enumerate([RUN, *(page.title for page in pages)])]
        self.choice = w.ToggleButtons(options=options)
        self.choice.style.button_width = "auto"
        self.choice.add_class("wb-beside")
        self.choice.layout.display = None if pages else "none"
        self.choice.observe(lambda _: self._turn(), "value")
        self._shown = OneInSight([own])
        self.box = w.VBox([self.choice, self._shown])

    def _turn(self) -> None:
        self._shown.show(self._boxes[self.choice.value])
        self.opened()

    def opened(self) -> None:
        """Bring what is in sight up to date."""
        self._opened[self.choice.value]()
