"""A programme kept in HiGHS gives what a new one gives, whatever changed before."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.scheduling.solvers import (
    Columns,
    InfeasibleError,
    KeptProgramme,
    Programme,
    Solver,
    SolverFailedError,
    solve_matrix,
)


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
