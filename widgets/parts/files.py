"""Files from and to whoever looks at a page: on a dashboard the server's disk is not theirs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ipywidgets as w
import traitlets

from widgets.parts.assets import Scripted, program
from workbench.base.errors import counted


def on_dashboard() -> bool:
    """Whether this kernel serves a Voila page, whose visitors may not write files here."""
    return os.environ.get("SERVER_SOFTWARE", "").startswith("voila/")


class Download(Scripted):
    """Sends files to the page, which saves them as downloads; it must be on the page, and takes no room there."""

    _esm = program(Path(__file__).parent / "download.js")

    def __init__(self) -> None:
        super().__init__(layout=w.Layout(width="0", height="0", margin="0"))

    def give(self, name: str, content: bytes) -> None:
        """Save `content` as a download called `name` (what stands before the last slash is dropped)."""
        self.send({"kind": "file", "name": Path(name).name}, buffers=[content])


MOST_BYTES = 8_000_000
"""A larger file is not sent: a message above 10 MB breaks the page's connection, and no table shows so many jobs."""
LARGEST = f"{MOST_BYTES / 1e6:.0f} MB"


class Upload(Scripted):
    """Take: told what was chosen at once, each as `{name, content}` with the content as a memoryview.

    several: whether more than one file may be. refused: told the name of a file (or how many) that was not sent, and
    why. The page itself refuses what is larger than `MOST_BYTES` in all; expected: what to do with such a file instead.
    """

    _esm = program(Path(__file__).parent / "upload.js")

    label = traitlets.Unicode("").tag(sync=True)
    hint = traitlets.Unicode("", help="Shown on hover.").tag(sync=True)
    accept = traitlets.Unicode("", help="Endings of file names that are offered, as `.json`; empty: all.").tag(
        sync=True
    )
    several = traitlets.Bool(False).tag(sync=True)
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
        several: bool = False,
    ) -> None:
        layout = w.Layout(flex="0 0 auto", width="auto", min_width="91px")
        super().__init__(label=label, hint=hint, accept=accept, several=several, layout=layout)
        self._take, self._refused, self._expected = take, refused, expected
        self.on_msg(self._hear)

    def _hear(self, _: Any, message: Mapping[str, Any], buffers: Sequence[Any]) -> None:
        names = [Path(str(name)).name for name in message.get("names", ())]
        name = names[0] if len(names) == 1 else counted(len(names), "file")
        if message.get("kind") == "files":
            found = zip(names, buffers, strict=True)
            self._take([{"name": name, "content": memoryview(content)} for name, content in found])
        elif message.get("kind") == "too_large":
            self._refused(
                name, f"got {int(message['bytes']) / 1e6:.1f} MB; expected at most {LARGEST} here; {self._expected}"
            )
        elif message.get("kind") == "unreadable":
            self._refused(name, f"got {message.get('why')}; expected a file that the browser can read")
