"""What stands in a saved notebook in the place of a lab: its last picture and numbers, in an output of their own above
it. The lab itself, where there is a kernel, hides them.
"""

from __future__ import annotations

import asyncio
import html
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import ipywidgets as w

if TYPE_CHECKING:
    from workbench.analysis.charts import Drawing

REST_S = 2.0
"""A lab that has shown the same for so long is worth a picture: not each step of a slider."""
Seen = Callable[[], tuple["Sequence[Drawing]", str]]


class StillPicture:
    """seen: the charts that a lab shows, and HTML of its numbers. hide: a widget that hides it, to stand in the lab."""

    def __init__(self, title: str, seen: Seen) -> None:
        self._title, self._seen = title, seen
        self._name = f"wb-still-{uuid.uuid4().hex}"
        self._output: Any = None
        self._coming: asyncio.TimerHandle | None = None
        self.hide = w.HTML(f"<style>.{self._name} {{ display: none; }}</style>", layout=w.Layout(display="none"))

    def display(self) -> None:
        """Take its place, in the cell that is being run."""
        from IPython.display import HTML, display

        self._output = display(HTML(""), display_id=True)

    def fill(self) -> None:
        """Show what the lab shows now: a picture takes longer than all of a small lab, which is put out before."""
        self._wait_no_more()
        if self._output is not None:
            from IPython.display import HTML

            self._output.update(HTML(self._html()))

    def changed(self) -> None:
        """The lab shows something else; where nothing waits for a while it stays as it is."""
        self._wait_no_more()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._coming = loop.call_later(REST_S, self.fill)

    def _wait_no_more(self) -> None:
        if self._coming is not None:
            self._coming.cancel()
            self._coming = None

    def _html(self) -> str:
        from widgets.parts.gantt_view import picture

        drawings, numbers = self._seen()
        note = "" if drawings else "<p>Nothing had been solved yet.</p>"
        pictures = "".join(picture("", drawing) for drawing in drawings)
        head = f"<p><b>{html.escape(self._title)}</b>, as it was last; run the cell to work with it.</p>"
        return f"<div class='{self._name}'>{head}{note}{pictures}{numbers}</div>"
