"""The papers' evaluations at the tiny size, computed once for all tests of this folder, which one worker runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from reproduction import PaperFigure
from reproduction.registry import reproductions
from tests.load import at_most

MOST_CPU_S = 50.0  # of each paper; the most is 26


@pytest.fixture(scope="session")
def evaluated() -> Callable[[str], list[PaperFigure]]:
    """Return a function from a paper's name to its figures; each has `MOST_CPU_S`."""

    @cache
    def figures_of(name: str) -> list[PaperFigure]:
        paper = next(each for each in reproductions() if each.name == name)
        with at_most(MOST_CPU_S):
            return [compute(paper.sizes["tiny"]) for compute in paper.figures]

    return figures_of
