"""The papers' evaluations at the tiny size, computed once for all tests of this folder, which one worker runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import pandas as pd
import pytest

from reproduction import PaperFigure
from reproduction.registry import reproductions
from reproduction.results import COLUMNS as KEPT
from tests.calls import decisions_at_most

MOST_DECISIONS = 12_000  # of each paper


@pytest.fixture(scope="session")
def evaluated() -> Callable[[str], list[PaperFigure]]:
    """Return a function from a paper's name to its figures; each has `MOST_DECISIONS`."""

    @cache
    def figures_of(name: str) -> list[PaperFigure]:
        paper = next(each for each in reproductions() if each.name == name)
        with decisions_at_most(MOST_DECISIONS):
            return [compute(paper.sizes["tiny"]) for compute in paper.figures]

    return figures_of


def cells(values: dict[str, list[float]]) -> pd.DataFrame:
    """Results of one size, a value for each seed."""
    lines = [("s", seed, name, "1", math.nan, ours, 1.0, "c") for name, row in values.items()
             for seed, ours in enumerate(row)]  # fmt: skip
    return pd.DataFrame(lines, columns=list(KEPT))
