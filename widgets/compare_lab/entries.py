"""The list of schedulers that are compared, each with its knobs."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ipywidgets as w

from widgets.editors.knob_panel import KnobPanel
from widgets.editors.scheduler_choice import short_titles
from widgets.parts.button import button
from workbench.base.errors import InputError
from workbench.scheduling.contract import Scheduler
from workbench.session.registry import find_scheduler, schedulers

_Entry = tuple[str, dict[str, Any]]
"""A scheduler by name, with the knobs that are not at their defaults."""


class SchedulerList:
    """One row for each scheduler, and a button for one more. changed: called after every change that a person made."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._rows: list[_Row] = []
        self._add = button("Add a scheduler", "add-scheduler", self._on_add, icon="plus")
        self._list = w.VBox()
        self.box = w.VBox([self._list, self._add])
        self.box.add_class("wb-schedulers")

    @property
    def entries(self) -> list[_Entry]:
        """The schedulers; raises InputError for a knob that cannot be read."""
        return [row.entry for row in self._rows]

    def show(self, entries: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Show these schedulers; raises InputError for one there is not, and for a knob that it does not take."""
        old, rows = self._rows, []
        for place, (name, knobs) in enumerate(entries):
            was = old[place] if place < len(old) else None
            if was is not None and was.says(name, knobs):
                rows.append(was)  # who is about to click there finds it as it was
                continue
            row = _Row(name, knobs, self._changed, self._on_remove)
            row.knobs.value = was is not None and was.knobs.value and was.name == row.name
            rows.append(row)
        self._rows, gone = rows, [each for each in self._list.children if each not in [row.box for row in rows]]
        self._list.children = [row.box for row in rows]
        for box in gone:
            box.close()

    def _on_add(self) -> None:
        """One that is not there yet."""
        there = {row.name for row in self._rows}
        free = next((found.name for found in schedulers() if found.name not in there), schedulers()[0].name)
        self._rows.append(_Row(free, {}, self._changed, self._on_remove))
        self._list.children = (*self._list.children, self._rows[-1].box)
        self._changed()

    def _on_remove(self, row: _Row) -> None:
        self._rows.remove(row)
        row.box.layout.display = "none"  # taken out it would have those below it drawn anew, where clicks get lost
        self._changed()


class _Row:
    """A scheduler: which one, its knobs when they are wanted, and what of them is not at its default."""

    def __init__(
        self, name: str, knobs: Mapping[str, Any], changed: Callable[[], None], removed: Callable[[_Row], None]
    ) -> None:
        self._changed = changed
        self._settled = find_scheduler(name).settle(knobs)
        self._panel: KnobPanel | None = None
        self.choice = w.Dropdown(
            options=short_titles(), value=name, layout=w.Layout(flex="1 1 0", width="auto", min_width="0")
        )
        self.choice.add_class("wb-scheduler")
        self.choice.observe(lambda _: self._on_choice(), "value")
        self.knobs = w.ToggleButton(
            icon="sliders", layout=w.Layout(width="2.6em", flex="0 0 auto"), tooltip="Its knobs"
        )
        self.knobs.add_class("wb-row-knobs")
        self.knobs.observe(lambda _: self._open(), "value")
        remove = button("", "remove-scheduler", lambda: removed(self), "Take it off the list", icon="times")
        remove.layout = {"width": "2.6em", "flex": "0 0 auto"}
        self._said = w.HTML()
        self._held = w.VBox(layout=w.Layout(padding="0 0 6px 12px", display="none"))
        row = w.HBox([self.choice, self.knobs, remove], layout=w.Layout(overflow="hidden"))
        self.box = w.VBox([row, self._said, self._held], layout=w.Layout(overflow="hidden"))
        self._tell()

    @property
    def name(self) -> str:
        """The scheduler's name."""
        return str(self.choice.value)

    @property
    def entry(self) -> _Entry:
        """Name and changed knobs; raises InputError for one that cannot be read."""
        values = self._settled if self._panel is None else self._panel.values()
        return self.name, changed_knobs(find_scheduler(self.name), values)

    def says(self, name: str, knobs: Mapping[str, Any]) -> bool:
        """Whether it is of this scheduler with these knobs."""
        try:
            return self.entry == (name, changed_knobs(find_scheduler(name), find_scheduler(name).settle(knobs)))
        except InputError:
            return False

    def _on_choice(self) -> None:
        found = find_scheduler(self.name)
        self._settled = found.settle({})
        if self._panel is not None:
            self._panel.show(found)
        self._tell()
        self._changed()

    def _open(self) -> None:
        """Show or hide the knobs; their controls are made when first wanted."""
        if self._panel is None:
            self._panel = KnobPanel(self._on_knob)
            self._panel.show(find_scheduler(self.name), self._settled)
            self._held.children = [self._panel.main, self._panel.rest]
        self._held.layout.display = None if self.knobs.value else "none"

    def _on_knob(self) -> None:
        self._tell()
        self._changed()

    def _tell(self) -> None:
        try:
            changed = self.entry[1]
        except InputError:  # said beside the knob
            changed = {}
        text = ", ".join(f"{name} = {value}" for name, value in changed.items())
        self._said.value = f"<p class='wb-note wb-set-knobs'>{html.escape(text)}</p>" if text else ""
        self.choice.tooltip = f"{find_scheduler(self.name).title} ({self.name})"


def changed_knobs(scheduler: Scheduler, values: Mapping[str, Any]) -> dict[str, Any]:
    """The knobs that are not at their defaults, or not as the chosen `preset` sets them."""
    plain = scheduler.settle({})
    first = {"preset": values["preset"]} if "preset" in values and values["preset"] != plain.get("preset") else {}
    base = scheduler.settle(first)
    return {**first, **{name: value for name, value in values.items() if value != base[name] and name not in first}}
