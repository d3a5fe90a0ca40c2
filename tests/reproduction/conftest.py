"""The papers' evaluations at the tiny size, computed once for all tests of this folder, which one worker runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from reproduction.registry import reproductions
from reproduction.report import Done, run_all
from tests.load import at_most

MOST_CPU_S = 50.0  # of each paper; the most is 13


@pytest.fixture(scope="session")
def evaluated() -> Callable[[str], list[Done]]:
    """Return a function from a paper's name to its figures; each has `MOST_CPU_S`."""

    @cache
    def figures_of(paper: str) -> list[Done]:
        with at_most(MOST_CPU_S):
            return run_all("tiny", paper)

    return figures_of


@pytest.fixture(scope="session")
def tiny(evaluated: Callable[[str], list[Done]]) -> list[Done]:
    """Return the figures of all papers."""
    return [done for paper in reproductions() for done in evaluated(paper.name)]
