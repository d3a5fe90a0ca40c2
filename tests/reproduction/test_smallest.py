"""The smallest counterexamples: looked at once more by other means, and those before them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product, takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reproduction import PaperFigure
from reproduction.chronus.guarantee import broken, guarantee
from reproduction.hadar.theorem2 import theorem2, theorem2_sides
from reproduction.hare.lemma_2 import lemma_2, lemma_2_instances, lemma_2_sides, relaxed_starts
from reproduction.hops.starving import starving, waits
from reproduction.smallest import Looked, one_gpu, smallest
from workbench.papers.hare.formulations.relaxed import Relaxation
from workbench.papers.hare.instance import HareInstance
from workbench.session.api import simulate


@pytest.mark.parametrize("search", [lemma_2, theorem2, starving, guarantee])
def test_the_page_on_the_papers_has_what_the_search_finds(search: Callable[[Any], PaperFigure]) -> None:
    first, *_, held = search(None).rows
    page = (Path(__file__).resolve().parents[2] / "docs" / "papers.md").read_text(encoding="utf-8")
    assert f"| {first.note.removesuffix('.')} | {held.ours:g} |" in page


@pytest.mark.parametrize("values", [(), (0.5, 0.7)])
def test_a_search_that_finds_none_has_no_smallest_counterexample(values: tuple[float, ...]) -> None:
    with pytest.raises(LookupError, match=f"x: none of {len(values)} instances"):
        smallest("x", "t", "c", "s", [Looked(1, 1, value, "") for value in values])


def test_lemma_2_fails_for_three_jobs_on_one_gpu_and_for_no_fewer() -> None:
    times, weights = ((1,), (1,), (2,)), (1, 1, 1)
    assert lemma_2_sides(times, weights) == (2.0, 1.0)
    before = list(takewhile(lambda each: each != (times, weights), lemma_2_instances()))
    *_, unknown, held = lemma_2(None).rows
    known = [each for each in before if relaxed_starts(*each)]  # of the others nothing is said to hold
    assert (held.ours, unknown.ours) == (len(known), len(before) - len(known)) and min(held.ours, unknown.ours) > 0
    assert all(left <= right * (1 + 1e-9) for left, right in (lemma_2_sides(*each) for each in known[::7]))


@pytest.mark.parametrize(("times", "weights"), [(((1,), (1,), (2,)), (1, 1, 1)), (((1, 2), (2, 3), (3, 1)), (3, 2, 1))])
def test_the_brute_force_relaxation_is_that_of_the_solver(
    times: tuple[tuple[int, ...], ...], weights: tuple[int, ...]
) -> None:
    """Its square is cut by tangents, so the solver's bound lies a little below."""
    starts = relaxed_starts(times, weights)
    data = HareInstance.made(np.array(times, dtype=float), weight=np.array(weights, dtype=float))
    found = Relaxation().run(data, {"cuts": False, "whole": True}).objective
    costs = []
    for where in product(range(len(times[0])), repeat=len(times)):
        done = sum(weights[i] * times[i][gpu] for i, gpu in enumerate(where))
        for gpu in set(where):
            mine = [i for i, at in enumerate(where) if at == gpu]
            pairs = sum(times[i][gpu] * times[k][gpu] for i in mine for k in mine if i < k)
            done += pairs * min(weights[i] / times[i][gpu] for i in mine)
        costs.append(done)
    assert starts is not None and found == pytest.approx(min(costs), rel=0.01)


def test_theorem2_fails_from_a_worth_of_five_on() -> None:
    assert theorem2_sides(1, (1, 5)) == pytest.approx((5.0, 2 * np.log(10.0)))
    assert all(left <= right for left, right in (theorem2_sides(1, (1, worth)) for worth in range(1, 5)))


def test_a_job_waits_four_times_as_long_as_it_runs_and_would_not_in_the_other_order() -> None:
    def longest(minutes: tuple[int, ...]) -> float:
        return waits(simulate(one_gpu(minutes, (0, 0)), "hops", profile_iterations=0, profile_start_s=0.0, detail=0))

    assert longest((4, 1)) == pytest.approx(4.0) and longest((1, 4)) == pytest.approx(0.25)


def test_a_restart_breaks_a_guarantee_that_holds_without() -> None:
    given = (20, 40), (20, 60), (20, 0)
    assert broken(*given, 30.0) == 1 and broken(*given, 0.0) == 0
