"""Files for whoever looks at a page: on a dashboard the server's disk is not theirs, so files go to the browser."""

from __future__ import annotations

import os
from pathlib import Path

import anywidget
import ipywidgets as w


def on_dashboard() -> bool:
    """Whether this kernel serves a Voila page, whose visitors may not write files here."""
    return os.environ.get("SERVER_SOFTWARE", "").startswith("voila/")


class Download(anywidget.AnyWidget):
    """Sends files to the page, which saves them as downloads; it must be on the page, and takes no room there."""

    _esm = Path(__file__).parent / "download.js"

    def __init__(self) -> None:
        super().__init__(layout=w.Layout(width="0", height="0", margin="0"))

    def give(self, name: str, content: bytes) -> None:
        """Save `content` as a download called `name` (what stands before the last slash is dropped)."""
        self.send({"kind": "file", "name": Path(name).name}, buffers=[content])
