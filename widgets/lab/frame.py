"""What every lab has around it: the line at the top, the way back and forth between its settings, and presenting."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Generic

import ipywidgets as w

from widgets.editors.mistakes import what_is_wrong
from widgets.editors.scenario_file import FILE, ScenarioFile
from widgets.editors.setting import AnySetting, History
from widgets.lab.opening import preset_names
from widgets.lab.solve_bar import SolveBar
from widgets.parts.presenter import Panel, Presenter
from workbench.scenario.presets import preset
from workbench.scenario.scenario import Scenario

CSS = (Path(__file__).parent / "lab.css").read_text(encoding="utf-8")


class LabBase:
    """What a notebook may ask of every lab."""

    widget: w.VBox
    _bar: SolveBar

    @property
    def state(self) -> str:
        """What the status line says in one word: ready, edited, invalid, working, done, failed or cancelled."""
        return self._bar.state

    @property
    def status(self) -> str:
        """What the status line says."""
        return self._bar.text

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self.widget)


class Frame(Generic[AnySetting]):
    """The line at the top: presets, the scenario's file, Undo, Redo, Reset, Present.

    open: told the scenario of a preset or a file; save: the scenario for a file, raises WorkbenchError while something
    is wrong; reset: opens again what was opened last; go_to: puts a setting into the controls; panels, keep: as
    `Presenter` has them; more: controls that only this lab has.
    """

    def __init__(
        self,
        title: str,
        *,
        open: Callable[[Scenario], None],
        save: Callable[[], Scenario],
        reset: Callable[[], None],
        go_to: Callable[[AnySetting], None],
        panels: Callable[[], Sequence[Panel]],
        keep: Callable[[], Callable[[], None]],
        more: Sequence[w.Widget] = (),
    ) -> None:
        self._open, self._go_to = open, go_to
        self.history: History[AnySetting] = History()
        self.file = ScenarioFile(save, open, what_is_wrong)
        self.presenter = Presenter(panels, keep)
        self.presets = w.Dropdown(
            options=preset_names(),
            value="",
            layout=w.Layout(width="auto", flex="1 1 6em", min_width="6em", max_width="11em"),
            tooltip="Open a preset",
        )
        self.presets.observe(lambda change: self._on_preset(change["new"]), "value")
        self.undo = _tool("Undo", "undo", "Back to before the last change", self._on_undo)
        self.redo = _tool("Redo", "repeat", "Do again what was undone", self._on_redo)
        self.reset = _tool("Reset", "refresh", "Back to the scenario that was opened last", reset)
        heading = w.HTML(f"<h2>{html.escape(title)}</h2>")
        controls = [self.presets, *self.file.controls, self.undo, self.redo, self.reset]
        self.top = w.HBox([heading, *controls, *more, self.presenter.bar, self.file.said])
        self.top.add_class("wb-top")

    def heard(self, setting: AnySetting | None) -> bool:
        """What the controls hold now, None while something is wrong. Returns whether it is another right setting."""
        other = self.history.heard(setting)
        self.undo.disabled, self.redo.disabled = not self.history.can_undo, not self.history.can_redo
        return other

    def offer_presets(self, scenario: Scenario) -> None:
        """Offer the presets, with the variants of the one that is open."""
        self.presets.options = preset_names(scenario.name)

    def _on_undo(self) -> None:
        self._travel(self.history.undo())

    def _on_redo(self) -> None:
        self._travel(self.history.redo())

    def _travel(self, setting: AnySetting | None) -> None:
        if setting is not None:
            self._go_to(setting)

    def _on_preset(self, name: str) -> None:
        if name:
            self.presets.value = ""
            self.file.name.value = FILE
            self._open(preset(name))


def sides(left: w.VBox, right: w.VBox) -> w.HBox:
    """What is set, on the left, and what came of it, on the right."""
    left.add_class("wb-left")
    right.add_class("wb-right")
    body = w.HBox([left, right])
    body.add_class("wb-body")
    return body


def whole(*rows: w.Widget, css: str = "", name: str = "") -> w.VBox:
    """A lab from its rows. css: style beside that of all labs; name: a class of its own."""
    style = w.HTML(f"<style>{CSS}{css}</style>", layout=w.Layout(display="none"))
    found = w.VBox([style, *rows])
    found.add_class("wb-lab")
    if name:
        found.add_class(name)
    return found


def panels_of(tabs: w.Tab, kind: str, front: Callable[[], None] = lambda: None) -> list[Panel]:
    """A panel for each tab. kind: as `Panel` has it; front: brings the row of tabs itself in sight."""

    def show(number: int) -> None:
        front()
        tabs.selected_index = number

    return [Panel(title, kind, partial(show, number)) for number, title in enumerate(tabs.titles)]


def kept_open(*rows: w.Tab) -> Callable[[], None]:
    """What opens the tabs again that are open now."""
    numbers = [tabs.selected_index for tabs in rows]

    def restore() -> None:
        for tabs, number in zip(rows, numbers, strict=True):
            tabs.selected_index = number

    return restore


def _tool(text: str, icon: str, tooltip: str, act: Callable[[], None]) -> Any:
    """A button of the line at the top."""
    button = w.Button(description=text, icon=icon, tooltip=tooltip, layout=w.Layout(width="auto"))
    button.on_click(lambda _: act())
    button.add_class(f"wb-{text.lower()}")
    return button
