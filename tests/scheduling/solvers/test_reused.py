"""HiGHS is made once for each thread and lent to every solve: no solve may notice the ones before it."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

from tests.scheduling.solvers.test_solvers import knapsack
from workbench.scheduling.solvers import (
    Columns,
    InfeasibleError,
    KeptProgramme,
    Point,
    Programme,
    Solver,
    highs,
    solve_matrix,
)


def random_programme(seed: int, columns: int = 40) -> Programme:
    """The most valuable x in [0, 1] under a few dense limits; many of its optima are degenerate."""
    rng = np.random.default_rng(seed)
    rows = columns // 4
    row, column = np.divmod(np.arange(rows * columns), columns)
    matrix = Columns.of(row, column, rng.integers(1, 4, rows * columns), (rows, columns))
    most = np.full(rows, columns / 3)
    ones = np.ones(columns)
    return Programme(
        rng.integers(1, 5, columns).astype(float), matrix, np.full(rows, -np.inf), most, 0 * ones, ones, maximise=True
    )


def in_new_thread(programme: Programme, solver: Solver) -> Point:
    """The solve of a thread that has solved nothing before."""
    found: list[Point] = []
    thread = threading.Thread(target=lambda: found.append(solve_matrix(programme, solver)))
    thread.start()
    thread.join()
    return found[0]


METHODS = (Solver(method="simplex", presolve=False), Solver(method="interior"), Solver(tolerance=1e-9), Solver(seed=7))


@pytest.mark.parametrize("solver", METHODS, ids=["simplex", "interior", "tolerance", "seed"])
def test_a_solve_gives_the_same_point_after_others_with_other_options(solver: Solver) -> None:
    for seed in range(10):
        programme = random_programme(seed)
        alone = in_new_thread(programme, solver)
        for other in METHODS:
            solve_matrix(random_programme(seed + 100, 60), other)
        whole = replace(random_programme(seed + 200), integer=np.ones(40, dtype=bool))
        solve_matrix(whole)
        after = solve_matrix(programme, solver)
        assert after.values.tolist() == alone.values.tolist()
        assert after.solved.passes == alone.solved.passes


def test_a_time_limit_counts_from_the_begin_of_its_own_solve() -> None:
    large, spent_s = random_programme(1, 600), 0.0
    while spent_s < 2.0:
        spent_s += solve_matrix(large).solved.solve_s
    small = random_programme(2, 8)
    assert solve_matrix(small, Solver(time_limit_s=0.5)).solved.status == "optimal"
    hard = solve_matrix(knapsack(300, 60), Solver(time_limit_s=0.8)).solved  # time for a first feasible point
    assert hard.status == "time_limit" and hard.solve_s < 0.8 + spent_s / 2
    kept, rng, spent_s = (
        KeptProgramme(random_programme(1, 300), Solver(time_limit_s=0.6)),
        np.random.default_rng(0),
        0.0,
    )
    while spent_s < 0.9:
        kept.change(replace(random_programme(1, 300), cost=rng.integers(1, 5, 300).astype(float)))
        spent_s += (solved := kept.solve().solved).solve_s
        assert solved.status == "optimal"


def test_a_listener_may_solve_while_a_solve_is_under_way_and_hears_no_later_solve() -> None:
    heard: list[float] = []
    inner = random_programme(3)
    expected = solve_matrix(inner).solved.objective

    def listen(_: str) -> None:
        heard.append(solve_matrix(inner).solved.objective)

    outer = random_programme(4)
    assert solve_matrix(outer, Solver(on_log=listen)).solved.objective == solve_matrix(outer).solved.objective
    assert set(heard) == {expected}
    before = len(heard)
    solve_matrix(random_programme(5))
    assert len(heard) == before


def test_a_solve_that_fails_leaves_nothing_behind() -> None:
    programme = random_programme(6)
    expected = solve_matrix(programme).values.tolist()
    impossible = replace(programme, row_lower=programme.row_upper + 1e3, row_upper=programme.row_upper + 1e4)
    with pytest.raises(InfeasibleError):
        solve_matrix(impossible)
    assert solve_matrix(programme).values.tolist() == expected


def test_highs_is_made_once_for_many_solves_of_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    library, made = highs.library(), 0
    real = library.Highs

    def make() -> object:
        nonlocal made
        made += 1
        return real()

    def solve_all() -> None:
        for seed in range(5):
            solve_matrix(random_programme(seed))

    monkeypatch.setattr(library, "Highs", make)
    thread = threading.Thread(target=solve_all)
    thread.start()
    thread.join()
    assert made == 1
