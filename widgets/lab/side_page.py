"""Pages that stand beside a lab's runs, over its whole width: what a paper's lab shows besides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol

import ipywidgets as w

from workbench.scenario.scenario import Scenario

RUN = "Run"


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


def beside(body: w.Widget, pages: Sequence[SidePage]) -> w.Widget:
    """The lab's own body, in a row of tabs with its pages if it has any."""
    if not pages:
        return body
    tabs = w.Tab([body, *(page.box for page in pages)], titles=(RUN, *(page.title for page in pages)))
    tabs.add_class("wb-pages")

    def on_tab(change: dict[str, object]) -> None:
        number = change["new"]
        if isinstance(number, int) and number > 0:
            pages[number - 1].opened()

    tabs.observe(on_tab, "selected_index")
    return tabs
