"""A button that copies a text."""

from __future__ import annotations

from pathlib import Path

import traitlets

from widgets.parts.assets import Scripted, program, style


class CopyButton(Scripted):
    """Puts `text` on the clipboard of whoever presses it, and says whether it is there."""

    _esm = program(Path(__file__).parent / "copy_button.js")
    _css = style()

    text = traitlets.Unicode("").tag(sync=True)
