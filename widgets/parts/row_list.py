"""A table of which a row may be picked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import traitlets

from widgets.parts.assets import Scripted, program, style


class RowList(Scripted):
    """Rows of texts; a click, or Enter after the arrow keys, picks one, and Escape lets it go.

    heads: of the columns, those from `numbers` on stand to the right; picked: the number of a row, -1 for none; marked:
    numbers of rows that are pointed out; meanings: of heads, and of words in the columns of text, shown on hover.
    """

    _esm = program(Path(__file__).parent / "row_list.js")
    _css = style()

    heads = traitlets.List(traitlets.Unicode()).tag(sync=True)
    rows = traitlets.List(traitlets.List(traitlets.Unicode()), help="A text for each column.").tag(sync=True)
    numbers = traitlets.Int(0).tag(sync=True)
    label = traitlets.Unicode("Rows", help="What a screen reader calls it.").tag(sync=True)
    meanings = traitlets.Dict(value_trait=traitlets.Unicode()).tag(sync=True)
    picked = traitlets.Int(-1).tag(sync=True)
    marked = traitlets.List(traitlets.Int()).tag(sync=True)

    def show(self, heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: int, picked: int) -> None:
        """Show other rows, one of them picked, in one message."""
        with self.hold_sync():
            self.heads, self.rows, self.numbers = list(heads), [list(row) for row in rows], numbers
            self.picked, self.marked = picked, []
