"""What a scheduler is told about speeds: the true ones, or those of an estimator with its knobs."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import ipywidgets as w

from widgets.editors.knob_panel import KnobPanel
from workbench.scheduling.estimators.registry import DEFAULT, ESTIMATORS, Estimator, Maker, maker

BELIEF = "Speeds known by"
"""The label of the control for the estimator."""
STYLE = {"description_width": "12em"}
KEPT = "Not part of the scenario's file."


class BeliefChoice:
    """A drop-down list of estimators, below it the knobs of the one that is chosen.

    changed: called after every change that a person made.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._quiet = False
        self.widget = w.Dropdown(
            options=[(found.title, found.name) for found in ESTIMATORS],
            value=DEFAULT,
            description=BELIEF,
            style=STYLE,
            layout=w.Layout(width="97%"),
        )
        self.widget.tooltip = f"What the scheduler goes by; jobs always run at the true speeds. {KEPT}"
        self.widget.add_class("wb-belief")
        self._help = w.HTML()
        self._knobs = KnobPanel(changed)
        self.box = w.VBox([self.widget, self._help, self._knobs.main, self._knobs.rest])
        self.widget.observe(self._on_choice, "value")
        self._offer()

    @property
    def belief(self) -> str:
        """The estimator by name, with the knobs that are not at their defaults; raises InputError for a wrong knob."""
        return Maker(self._estimator, self._knobs.values()).text

    def choose(self, belief: str) -> None:
        """Show an estimator by name, with its knobs; `changed` is not called. Raises InputError for one there is not.

        A knob that is not named is at its default.
        """
        made = maker(belief)
        before, self._quiet = self._quiet, True
        try:
            self.widget.value = made.estimator.name
        finally:
            self._quiet = before
        self._offer()
        self._knobs.set(made.knobs)

    @property
    def _estimator(self) -> Estimator:
        return next(found for found in ESTIMATORS if found.name == self.widget.value)

    def _on_choice(self, _: Any) -> None:
        if not self._quiet:
            self._offer()
            self._changed()

    def _offer(self) -> None:
        """The help and the knobs of the estimator that is chosen."""
        found = self._estimator
        self._knobs.show(found)
        self._knobs.rest.layout.display = None if found.knobs else "none"
        self._help.value = f"<p class='wb-note'>{html.escape(found.help)}</p>"
