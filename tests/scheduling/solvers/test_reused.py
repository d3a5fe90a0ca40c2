"""HiGHS is made once for each thread and lent to every solve: no solve may notice the ones before it."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scheduling.solvers.test_solvers import knapsack
from workbench.scheduling.solvers import (
    Columns,
    InfeasibleError,
    KeptProgramme,
    Point,
    Programme,
    Solver,
    SolverFailedError,
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


METHODS = (Solver(method="simplex", presolve=False), Solver(method="interior"), Solver(tolerance=1e-9))


@pytest.mark.parametrize("solver", METHODS, ids=["simplex", "interior", "tolerance"])
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


def test_a_time_limit_counts_from_the_begin_of_its_own_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    """What HiGHS has left when it begins; its clock goes on from one linear programme to the next."""
    left_s, run = [], highs._run

    def seen(made: Any, *given: Any) -> None:
        left_s.append(made.getOptionValue("time_limit")[1] - made.getRunTime())
        run(made, *given)

    monkeypatch.setattr(highs, "_run", seen)
    large, limited, rng = random_programme(1, 100), Solver(time_limit_s=600.0), np.random.default_rng(0)
    for programme in (large, knapsack(20), large):
        solve_matrix(large)
        solve_matrix(programme, limited)
    kept = KeptProgramme(large, limited)
    for _ in range(3):
        assert kept.solve().solved.status == "optimal"
        kept.change(replace(large, cost=rng.integers(1, 5, 100).astype(float)))
    assert kept._highs.getRunTime() > 0
    assert left_s[1:6:2] + left_s[6:] == [pytest.approx(600.0, abs=1e-9)] * 6


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


# A programme kept in HiGHS gives what a new one gives, whatever changed before


def programme(matrix, cost, upper, row_upper, integer=None):
    rows, columns = matrix.shape
    row, column = np.nonzero(matrix)
    return Programme(
        cost=cost,
        matrix=Columns.of(row, column, matrix[row, column], (rows, columns)),
        row_lower=np.full(rows, -np.inf),
        row_upper=row_upper,
        lower=np.zeros(columns),
        upper=upper,
        integer=integer,
        maximise=True,
    )


@given(seed=st.integers(0, 2**32 - 1))
@pytest.mark.parametrize("method", ["auto", "simplex", "ipm"])
def test_changes_in_turn_equal_a_new_programme(method, seed):
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(1, 8)), int(rng.integers(1, 8))
    matrix, cost = rng.uniform(0.1, 2, (rows, columns)), rng.uniform(-1, 2, columns)
    upper, row_upper = rng.uniform(0.5, 3, columns), rng.uniform(0.5, 5, rows)
    kept = KeptProgramme(programme(matrix, cost, upper, row_upper), Solver(method=method))
    if rng.random() < 0.5:
        kept.begin(rng.integers(0, 2, columns), rng.integers(0, 2, rows))  # as many in the basis as there happen to be
    for _ in range(4):
        found = kept.solve()
        new = solve_matrix(programme(matrix, cost, upper, row_upper))
        assert found.solved.objective == pytest.approx(new.solved.objective, rel=1e-6, abs=1e-7)
        assert cost @ found.values == pytest.approx(found.solved.objective, rel=1e-6, abs=1e-7)
        assert found.solved.status == "optimal"
        row_upper = rng.uniform(0.5, 5, rows)
        some = np.flatnonzero(rng.random(columns) < 0.5)
        upper, matrix = upper.copy(), matrix.copy()
        upper[some] = rng.uniform(0.0, 3, len(some))
        matrix[:, int(rng.integers(columns))] = rng.uniform(0.1, 2, rows)
        kept.change(programme(matrix, cost, upper, row_upper))


def test_infeasible_after_a_change_is_said():
    kept = KeptProgramme(programme(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1)))
    assert kept.solve().solved.objective == pytest.approx(1)
    kept.change(programme(np.ones((1, 1)), np.ones(1), np.ones(1), -np.ones(1)))
    with pytest.raises(InfeasibleError):
        kept.solve()


def test_what_cannot_be_kept():
    whole = programme(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1), integer=np.ones(1, dtype=bool))
    with pytest.raises(SolverFailedError, match="whole"):
        KeptProgramme(whole)
    with pytest.raises(SolverFailedError, match="glpk"):
        KeptProgramme(programme(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1)), Solver("glpk"))
