"""Solve and Cancel, progress, and the status in words."""

from __future__ import annotations

import html
from collections.abc import Callable

import ipywidgets as w

from widgets.work import Message
from workbench.units import format_duration


class SolveBar:
    """The row above the charts. `state` is one of ready, edited, invalid, working, done, failed, cancelled."""

    def __init__(self, solve: Callable[[], None], cancel: Callable[[], None]) -> None:
        self.solve = w.Button(description="Solve", icon="play", button_style="primary", tooltip="Solve and simulate")
        self.cancel = w.Button(description="Cancel", icon="stop", disabled=True, tooltip="Stop what is running")
        self._bar = w.FloatProgress(min=0.0, max=1.0, layout=w.Layout(width="12em"))
        self._status = w.HTML(layout=w.Layout(flex="1 1 auto"))
        for widget, name in ((self.solve, "solve"), (self.cancel, "cancel"), (self._status, "status")):
            widget.add_class(f"wb-{name}")
        self.solve.on_click(lambda _: solve())
        self.cancel.on_click(lambda _: cancel())
        self.box = w.HBox([self.solve, self.cancel, self._bar, self._status])
        self.box.add_class("wb-solve-bar")
        self.state = "ready"
        self.say("ready", "Press Solve.")

    def say(self, state: str, text: str) -> None:
        """Show a state with its text, and switch the buttons to it."""
        self.state = state
        tone = "wb-bad" if state in ("invalid", "failed") else "wb-note" if state in ("ready", "edited") else ""
        self._status.value = (
            f"<div role='status' aria-live='polite' class='{tone}' data-state='{state}'>{html.escape(text)}</div>"
        )
        self.solve.disabled = state in ("working", "invalid")
        self.cancel.disabled = state != "working"
        self._bar.value = {"done": 1.0, "working": self._bar.value}.get(state, 0.0)

    def progress(self, message: Message) -> None:
        """Show how far a simulation is."""
        jobs = max(int(message["jobs"]), 1)
        self._bar.value = message["finished"] / jobs
        time = format_duration(float(message["now_s"]), parts=2)
        self.say("working", f"{message['finished']} of {jobs} jobs finished at {time}, round {message['decisions']}")
