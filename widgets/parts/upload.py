"""A button that takes a file from whoever looks at a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as w
import traitlets

MOST_BYTES = 8_000_000
"""A larger file is not sent: a message above 10 MB breaks the page's connection, and no table shows so many jobs."""
LARGEST = f"{MOST_BYTES / 1e6:.0f} MB"


class Upload(anywidget.AnyWidget):
    """Take: told what was chosen, `{name, content}` with the content as a memoryview, in a list of one.

    refused: told the name of a file that was not sent, and why. The page itself refuses what is larger than
    `MOST_BYTES`; expected: what to do with such a file instead.
    """

    _esm = Path(__file__).parent / "upload.js"

    label = traitlets.Unicode("").tag(sync=True)
    hint = traitlets.Unicode("", help="Shown on hover.").tag(sync=True)
    accept = traitlets.Unicode("", help="Endings of file names that are offered, as `.json`; empty: all.").tag(
        sync=True
    )
    most_bytes = traitlets.Int(MOST_BYTES).tag(sync=True)

    def __init__(
        self,
        label: str,
        hint: str,
        take: Callable[[Sequence[Mapping[str, Any]]], None],
        refused: Callable[[str, str], None],
        *,
        expected: str,
        accept: str = "",
    ) -> None:
        layout = w.Layout(flex="0 0 auto", width="91px")
        super().__init__(label=label, hint=hint, accept=accept, layout=layout)
        self._take, self._refused, self._expected = take, refused, expected
        self.on_msg(self._hear)

    def _hear(self, _: Any, message: Mapping[str, Any], buffers: Sequence[Any]) -> None:
        name = Path(str(message.get("name"))).name
        if message.get("kind") == "file":
            self._take([{"name": name, "content": memoryview(buffers[0])}])
        elif message.get("kind") == "too_large":
            self._refused(
                name, f"got {int(message['bytes']) / 1e6:.1f} MB; expected at most {LARGEST} here; {self._expected}"
            )
        elif message.get("kind") == "unreadable":
            self._refused(name, f"got {message.get('why')}; expected a file that the browser can read")
