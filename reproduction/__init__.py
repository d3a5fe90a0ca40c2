"""The papers' evaluations, figure by figure: what they report and what we get.

One module or package per paper, found by name (`reproduction.registry`). Each has `TITLE`, `SIZES` (settings
by name: `tiny` runs in CI, `full` is as near to the paper as two cores allow) and `FIGURES`, functions from a size to a
`Figure`. `python -m reproduction --size full --out DIR` runs them all.
"""

from reproduction.figure import COLUMNS, Figure, Panel, Row

__all__ = ["COLUMNS", "Figure", "Panel", "Row"]
