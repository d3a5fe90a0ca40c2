"""The papers' evaluations, exhibit by exhibit: what they show, what we get, and whether it holds.

One package per paper, found by name (`reproduction.registry`). Each has `TITLE`, `SIZES` (settings by name: `tiny` runs
in CI, `full` is as near to the paper as two cores allow, `authors` takes the authors' own data where they are public)
and `EXHIBITS`. `python -m reproduction run gavel.fig8 --size full` computes one and keeps the result in `results/`;
`python -m reproduction table` shows them all, each with its verdict by the rule of `reproduction.exhibits`. `gap` parts
what a measure of ours is away from the paper's into causes, `first_difference` finds where a run leaves the authors'.
"""

from reproduction.causes import gap
from reproduction.figure import COLUMNS, Entry, PaperFigure, Plot
from reproduction.gavel.authors_rounds import first_difference

__all__ = ["COLUMNS", "Entry", "PaperFigure", "Plot", "first_difference", "gap"]
