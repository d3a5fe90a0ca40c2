"""LimitRows of programmes as rows, their duals and rates: held against solving again with the limit moved, and GLPK."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from workbench.scheduling.solvers import Columns, InfeasibleError, Programme, Solver, UnboundedError, solve_matrix
from workbench.scheduling.solvers.limits import LimitRows

WORST = 1e-5
"""How far two routes to a slope may be apart."""


def random_programme(seed: int) -> Programme:
    """A small linear programme with a finite optimum, of whole numbers, so that it is often degenerate."""
    rng = np.random.default_rng(seed)
    columns, rows = int(rng.integers(2, 5)), int(rng.integers(2, 6))
    dense = rng.integers(-2, 4, (rows, columns)).astype(float)
    point = rng.integers(0, 3, columns).astype(float)  # feasible by construction
    body = dense @ point
    kind = rng.integers(0, 4, rows)  # <=, >=, =, both
    slack = rng.integers(0, 3, rows)
    lower = np.where(kind == 0, -math.inf, body - np.where(kind == 2, 0, slack))
    upper = np.where(kind == 1, math.inf, body + np.where(kind == 2, 0, slack))
    row, column = np.nonzero(dense)
    return Programme(
        cost=rng.integers(-3, 4, columns).astype(float),
        matrix=Columns.of(row, column, dense[row, column], (rows, columns)),
        row_lower=lower,
        row_upper=upper,
        lower=np.where(rng.random(columns) < 0.8, 0.0, -2.0),
        upper=np.full(columns, 4.0),
        maximise=bool(rng.integers(2)),
        offset=float(rng.integers(-1, 2)),
    )


def best(limits: LimitRows, number: int, by: float, solver: Solver) -> float | None:
    """The best value with one right-hand side moved; None where there is none."""
    moved = limits.moved(limits.programme, number, by)
    if (moved.row_lower > moved.row_upper).any() or (moved.lower > moved.upper).any():
        return None  # GLPK does not read it
    try:
        return solve_matrix(moved, solver).solved.value
    except (InfeasibleError, UnboundedError):
        return None


@pytest.mark.parametrize("seed", range(40))
def test_rows_are_the_programme(seed: int) -> None:
    programme = random_programme(seed)
    point = solve_matrix(programme)
    limits = LimitRows.of(programme, point)
    assert limits.dual is not None
    sides = np.isfinite([programme.row_lower, programme.row_upper]).sum()
    equal = np.isfinite(programme.row_lower) & (programme.row_lower == programme.row_upper)
    assert len(limits.sense) == sides - equal.sum() + 2 * len(programme.cost)
    assert np.all(limits.sense * (limits.right - limits.left) >= -1e-6)
    # strong duality and complementary slackness
    value = float(limits.dual @ limits.right) + programme.offset
    assert value == pytest.approx(point.solved.value, abs=1e-6)
    assert np.abs(limits.dual[~limits.met]).max(initial=0.0) < 1e-9
    # dual feasibility: the duals put together every cost
    cost = np.zeros(len(programme.cost))
    by_column = np.repeat(np.arange(len(cost)), np.diff(limits.matrix.indptr))
    np.add.at(cost, by_column, limits.dual[limits.matrix.indices] * limits.matrix.data)
    assert cost == pytest.approx(programme.cost, abs=1e-7)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("name", ["highs", "glpk"])
def test_rates_are_what_solving_again_gives(seed: int, name: str) -> None:
    """Each rate holds at half of its range, on either side, and no further than its range; GLPK asked, too."""
    programme, solver = random_programme(seed), Solver(name=name)  # type: ignore[arg-type]
    point = solve_matrix(programme)
    limits = LimitRows.of(programme, point)
    assert limits.dual is not None
    now = point.solved.value
    numbers = range(len(limits.sense)) if name == "highs" else np.flatnonzero(limits.met).tolist()[:4]
    for number in numbers:
        rates = limits.rates(number)
        low, high = sorted((rates.left, rates.right))
        assert low - WORST <= limits.dual[number] <= high + WORST
        for step, rate, reach in ((-1.0, rates.left, rates.left_range), (1.0, rates.right, rates.right_range)):
            if math.isinf(rate):
                assert reach == 0.0
                assert best(limits, number, step * 0.1, solver) is None
                continue
            near = min(reach / 2, 0.5)
            assert near > 1e-6, "a rate that holds nowhere is none"
            moved = best(limits, number, step * near, solver)
            assert moved is not None
            assert (moved - now) / (step * near) == pytest.approx(rate, abs=WORST)
            if math.isfinite(reach):
                beyond = best(limits, number, step * (reach + 0.5), solver)
                assert beyond is None or abs(beyond - now - step * rate * (reach + 0.5)) > 1e-4


def test_a_kink_has_two_rates() -> None:
    """max x + y, x + y <= 1 written twice: one more on one of them brings nothing, one less costs all of it."""
    matrix = Columns.of([0, 0, 1, 1], [0, 1, 0, 1], [1.0] * 4, (2, 2))
    no, ones = np.full(2, -math.inf), np.ones(2)
    programme = Programme(np.ones(2), matrix, no, ones, np.zeros(2), np.full(2, math.inf), maximise=True)
    rates = LimitRows.of(programme, solve_matrix(programme)).rates(0)
    assert (rates.left, rates.right, rates.unique) == (pytest.approx(1.0), 0.0, False)
    assert (rates.left_range, rates.right_range) == (pytest.approx(1.0), math.inf)


def test_whole_numbers_have_no_duals() -> None:
    programme = random_programme(3)
    whole = Programme(**{**vars(programme), "integer": np.ones(len(programme.cost), dtype=bool)})
    assert LimitRows.of(whole, solve_matrix(whole)).dual is None


def test_what_is_left_by_rounding_of_large_numbers_still_holds_a_step_back() -> None:
    """max x, x - y <= 0, y <= 1e6: half a millionth off is above 1e-7, so not met, yet no room for a step."""
    programme = Programme(
        cost=np.array([1.0, 0.0]),
        matrix=Columns.of([0, 0], [0, 1], [1.0, -1.0], (1, 2)),
        row_lower=np.array([-math.inf]),
        row_upper=np.zeros(1),
        lower=np.zeros(2),
        upper=np.array([math.inf, 1e6]),
        maximise=True,
    )
    point = solve_matrix(programme)
    limits = LimitRows.of(programme, replace(point, values=np.array([1e6 - 5e-7, 1e6])))
    assert (limits.met[0], limits.tight[0]) == (False, True)
    assert limits.rates(0)[:2] == pytest.approx((1.0, 1.0)) and limits.rates(3)[:2] == pytest.approx((1.0, 1.0))
