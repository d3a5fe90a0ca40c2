"""Solve and Cancel, progress, and the status in words."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as w

from widgets.parts.status_line import StatusLine
from widgets.work.work import Message
from workbench.base.units import format_duration

TONES = {"invalid": "bad", "failed": "bad", "ready": "note", "edited": "note"}


class SolveBar:
    """The row above the charts.

    state: ready, edited, invalid, working, done, failed or cancelled; busy: something is being solved, which may be
    what was set before the last edit.
    """

    def __init__(
        self,
        solve: Callable[[], None],
        cancel: Callable[[], None],
        does: str = "Solve",
        tooltip: str = "Solve and simulate",
    ) -> None:
        self.solve = w.Button(description=does, icon="play", button_style="primary", tooltip=tooltip)
        self.cancel = w.Button(description="Cancel", icon="stop", tooltip="Stop what is running")
        self._bar = w.FloatProgress(min=0.0, max=1.0, layout=w.Layout(width="auto", flex="1 1 3em"))
        self._status = StatusLine(layout=w.Layout(flex="1 1 100%"))
        for widget, name in ((self.solve, "solve"), (self.cancel, "cancel"), (self._status, "status")):
            widget.add_class(f"wb-{name}")
        self.solve.on_click(lambda _: solve())
        self.cancel.on_click(lambda _: cancel())
        self.box = w.HBox([self.solve, self.cancel, self._bar, self._status])
        self.box.add_class("wb-solve-bar")
        self.state, self._busy = "", True
        self.busy = False
        self.say("ready", f"Press {does}.")

    @property
    def text(self) -> str:
        """What the status says."""
        return str(self._status.text)

    @property
    def busy(self) -> bool:
        """Whether something is being solved."""
        return self._busy

    @busy.setter
    def busy(self, busy: bool) -> None:
        if busy == self._busy:
            return
        self._busy = busy
        self.cancel.disabled = not busy
        self._bar.value = 0.0
        self._bar.layout.visibility = "visible" if busy else "hidden"

    def say(self, state: str, text: str) -> None:
        """Show a state with its text; Solve can be pressed unless the input is wrong."""
        self.state = state
        with self._status.hold_sync():
            self._status.text, self._status.tone, self._status.state = text, TONES.get(state, ""), state
        self.solve.disabled = state == "invalid"

    def far(self, share: float) -> None:
        """Show how far it is, 0 to 1."""
        self._bar.value = share

    def progress(self, message: Message) -> None:
        """Show how far a simulation is; the text stays if it is about an edit made since."""
        jobs = max(int(message["jobs"]), 1)
        self._bar.value = message["finished"] / jobs
        if self.state == "working":
            time = format_duration(float(message["now_s"]), parts=2)
            finished, decisions = message["finished"], message["decisions"]
            self.say("working", f"{finished} of {jobs} jobs finished at {time}, {decisions} decisions")
