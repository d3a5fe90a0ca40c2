"""The papers' evaluations at the tiny size, computed once for all tests of this folder, which one worker runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

import pytest

from reproduction.registry import reproductions
from reproduction.report import Done, run_all

MOST_CPU_S = 60.0  # of all papers at the tiny size, of which Chronus is about 10


@pytest.fixture(scope="session")
def evaluated() -> Callable[[str], list[Done]]:
    """Return a function from a paper's name to its figures; all papers together have `MOST_CPU_S`."""
    took_s: dict[str, float] = {}

    @cache
    def figures_of(paper: str) -> list[Done]:
        began = time.process_time()
        found = run_all("tiny", paper)
        took_s[paper] = time.process_time() - began
        print(f"tiny, {paper}: {took_s[paper]:.1f} s of CPU time")
        assert sum(took_s.values()) < MOST_CPU_S, took_s
        return found

    return figures_of


@pytest.fixture(scope="session")
def tiny(evaluated: Callable[[str], list[Done]]) -> list[Done]:
    """Return the figures of all papers."""
    return [done for paper in reproductions() for done in evaluated(paper.name)]
