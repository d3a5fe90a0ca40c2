"""The selection of a round: dynamic programme, recursion, brute force, model and linear programme against another."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.papers.hadar.algorithm_2 import recursive
from workbench.base.errors import InputError
from workbench.papers.hadar.algorithms import selection
from workbench.papers.hadar.algorithms.dual_subroutine import select
from workbench.papers.hadar.algorithms.prices import price
from workbench.papers.hadar.algorithms.selection import Knapsack, exact, relaxed
from workbench.papers.hadar.formulations.round import HadarRound, RoundInstance
from workbench.scheduling.solvers import solve_matrix


@st.composite
def problems(draw, priced=None, most_jobs=5):
    """A few jobs with a few options each on one to three types; priced: whether prices rise within the round."""
    types = draw(st.integers(1, 3))
    capacity = np.array(draw(st.lists(st.integers(0, 5), min_size=types, max_size=types)))
    free = np.array([draw(st.integers(0, int(c))) for c in capacity])
    jobs = draw(st.integers(0, most_jobs))
    job, gpus, value, charge = [], [], [], []
    for number in range(jobs):
        for _ in range(draw(st.integers(0, 3))):
            row = draw(st.lists(st.integers(0, 4), min_size=types, max_size=types).filter(any))
            job.append(number)
            gpus.append(row)
            value.append(draw(st.integers(-20, 100)) / 4)
            charge.append(float(draw(st.integers(1, 6))))
    curves = None
    if draw(st.booleans()) if priced is None else priced:
        curves = tuple(price(0.25, 8.0, int(c), int(c) - np.arange(f + 1)) for c, f in zip(capacity, free, strict=True))
    rows = np.array(gpus, dtype=np.int64).reshape(len(job), types)
    return Knapsack(jobs, free, np.array(job, dtype=np.int64), rows, np.array(value), np.array(charge), curves)


def brute_force(problem):
    """The largest sum over every combination of options, jobs paying the prices of their turn."""
    best = 0.0
    for picked in itertools.product(*([None, *span] for span in problem.spans)):
        left, total = problem.free.copy(), 0.0
        for option in picked:
            if option is None:
                continue
            if (problem.gpus[option] > left).any():
                break
            each = 0.0
            if problem.price is not None:
                each = sum(
                    int(w) * p[int(f)] for w, p, f in zip(problem.gpus[option], problem.price, left, strict=True)
                )
            total += problem.value[option] - problem.charge[option] * each
            left = left - problem.gpus[option]
        else:
            best = max(best, total)
    return best


def check(problem, found):
    """Limits are kept, and the payoffs are those of the turn."""
    left = problem.free.copy()
    for job, option in enumerate(found.choice.tolist()):
        if option < 0:
            assert found.payoff[job] == 0
            continue
        assert problem.job[option] == job
        assert found.payoff[job] == pytest.approx(problem.payoff(option, left))
        left = left - problem.gpus[option]
    assert (left >= 0).all()


@settings(max_examples=200)
@given(problems())
def test_dynamic_programme_recursion_and_brute_force_agree(problem):
    dynamic, printed = exact(problem), recursive(problem)
    check(problem, dynamic)
    check(problem, printed)
    assert dynamic.objective == pytest.approx(brute_force(problem), abs=1e-9)
    assert dynamic.bound == pytest.approx(dynamic.objective, abs=1e-9)
    assert printed.objective == pytest.approx(dynamic.objective, abs=1e-9)


@given(problems(priced=False))
def test_at_the_prices_of_the_start_the_dynamic_programme_is_the_model(problem):
    names = tuple(f"t{kind}" for kind in range(len(problem.free)))
    jobs = tuple(f"j{job}" for job in range(problem.jobs))
    data = RoundInstance(names, problem.free, jobs, problem.job, problem.gpus, problem.value)
    whole, parts = (HadarRound().run(data, {"relaxed": part}).objective for part in (False, True))
    assert exact(problem).objective == pytest.approx(whole, abs=1e-6)
    assert parts >= whole - 1e-6


@given(problems(priced=False))
def test_the_linear_programme_made_whole_keeps_the_limits_and_says_what_it_lost(problem):
    found, best = relaxed(problem), exact(problem).objective
    check(problem, found)
    assert found.objective <= best + 1e-6 <= found.bound + 2e-6
    if found.status == "optimal":
        assert found.objective == pytest.approx(best, abs=1e-4)
    if found.gap is not None:
        assert best - found.objective <= found.gap * max(found.objective, 0) + 1e-6


def test_passing_a_job_over_can_be_better():
    """The first job alone would earn 3, the two after it 2 each on the same two GPUs."""
    gpus = np.array([[2], [1], [1]])
    problem = Knapsack(3, np.array([2]), np.arange(3), gpus, np.array([3.0, 2.0, 2.0]), np.ones(3))
    assert exact(problem).choice.tolist() == [-1, 1, 2]


def test_equal_sums_take_the_first_option_and_no_more_jobs_than_needed():
    gpus = np.array([[1, 0], [0, 1], [1, 0]])
    problem = Knapsack(2, np.array([1, 1]), np.array([0, 0, 1]), gpus, np.array([2.0, 2.0, 0.0]), np.ones(3))
    assert exact(problem).choice.tolist() == [0, -1]


def test_later_jobs_pay_more_within_a_round():
    """One GPU of two costs 1, then 2: the second job, worth 1.5, would have run at the first price."""
    curve = (price(1.0, 4.0, 2, [2, 1, 0]),)
    gpus, value = np.array([[1], [1]]), np.array([3.0, 1.5])
    problem = Knapsack(2, np.array([2]), np.arange(2), gpus, value, np.ones(2), curve)
    assert exact(problem).payoff.tolist() == [2.0, 0.0]


def test_lines_16_to_21_as_printed_schedule_nobody():
    curve = (price(0.1, 4.0, 2, [2, 1, 0]),)
    problem = Knapsack(2, np.array([2]), np.arange(2), np.array([[1], [1]]), np.array([9.0, 9.0]), np.ones(2), curve)
    assert recursive(problem, compare="cost").choice.tolist() == [-1, -1]
    assert (recursive(problem).choice >= 0).all()


def test_the_method_is_chosen_by_the_number_of_states(monkeypatch):
    rng = np.random.default_rng(0)
    jobs, types = 600, 3
    gpus = np.eye(types, dtype=np.int64)[rng.integers(types, size=jobs)]
    value = rng.uniform(1.0, 2.0, jobs)
    small = Knapsack(jobs, np.array([5, 5, 5]), np.arange(jobs), gpus, value, np.ones(jobs))
    large = Knapsack(jobs, np.array([150, 150, 150]), np.arange(jobs), gpus, value, np.ones(jobs))
    assert select(small).solve_s < 5 and select(small).objective == pytest.approx(relaxed(small).objective)
    found = select(large)
    assert (found.choice == relaxed(large).choice).all() and found.status == "optimal"
    order = [np.sort(value[gpus[:, kind] > 0])[::-1][:150].sum() for kind in range(types)]
    assert found.objective == pytest.approx(sum(order))

    ways = []
    monkeypatch.setattr(selection, "solve_matrix", lambda *given: ways.append(given[1].method) or solve_matrix(*given))
    most = selection.SIMPLEX_UP_TO
    for jobs in (most, most + 1):
        many = Knapsack(
            jobs, np.array([jobs // 2]), np.arange(jobs), np.ones((jobs, 1), np.int64), np.ones(jobs), value
        )
        assert relaxed(many).objective == pytest.approx(jobs // 2)
    assert ways == ["auto", "ipm"], "the interior point method where it is faster"


def test_where_prices_rise_the_linear_programme_is_feasible_only():
    """At the start both jobs pay 1; within the round the second pays 2: 3.5 by the programme, 2.5 really."""
    curve = (price(1.0, 4.0, 2, [2, 1, 0]),)
    problem = Knapsack(2, np.array([2]), np.arange(2), np.array([[1], [1]]), np.array([3.0, 2.5]), np.ones(2), curve)
    dynamic, linear = exact(problem), relaxed(problem)
    assert (dynamic.method, dynamic.status, dynamic.objective) == ("dp", "optimal", pytest.approx(2.5))
    assert (linear.method, linear.status, linear.objective) == ("lp", "feasible", pytest.approx(3.5))


def test_nothing_to_choose():
    empty = Knapsack(0, np.array([3]), np.zeros(0, np.int64), np.zeros((0, 1), np.int64), np.zeros(0), np.zeros(0))
    for solve in (exact, relaxed, recursive):
        assert solve(empty).objective == 0


def test_dynamic_programming_that_needs_too_much_memory_is_refused():
    jobs = 2000
    gpus, value = np.ones((jobs, 3), dtype=np.int64), np.ones(jobs)
    problem = Knapsack(jobs, np.array([99, 99, 99]), np.arange(jobs), gpus, value, value)
    with pytest.raises(InputError, match=r"method: got dp, with 2e\+09 sums"):
        select(problem, "dp")
