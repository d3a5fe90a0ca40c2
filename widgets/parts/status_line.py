"""What goes on, in one line of words."""

from __future__ import annotations

from pathlib import Path

import traitlets

from widgets.parts.assets import Scripted, program


class StatusLine(Scripted):
    """One line of words, read out when it changes. tone: `bad`, `note` or nothing; state: for whoever looks it up;
    asked: a question more, for whose answer the page that it stands on is scrolled to its top.
    """

    _esm = program(Path(__file__).parent / "status.js")

    text = traitlets.Unicode("").tag(sync=True)
    tone = traitlets.Unicode("").tag(sync=True)
    state = traitlets.Unicode("").tag(sync=True)
    asked = traitlets.Int(0).tag(sync=True)
