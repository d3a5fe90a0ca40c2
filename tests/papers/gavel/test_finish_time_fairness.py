"""Finish-time fairness: by hand, independent optima, the search, its memory, properties, both solvers, golden model."""

import dataclasses

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, linprog

from tests.baselines.mechanisms.support import look, make
from tests.papers.gavel.support import (
    PAPER,
    by_assembly,
    dense,
    finish_data,
    isolated,
    keeps_the_limits,
    random_data,
    solve_all,
    table,
)
from workbench.base.errors import InputError
from workbench.papers.gavel.formulations.finish_time_fairness import (
    FinishTimeFairness,
    FinishTimeInstance,
    IsolatedAccount,
    build,
)
from workbench.papers.gavel.instance import seen
from workbench.scheduling.memory import plain
from workbench.scheduling.solvers import SolverFailedError, solve_model
from workbench.session.registry import find_scheduler

POLICY = FinishTimeFairness()
allocate = by_assembly(POLICY)
AWARE = pytest.mark.parametrize("aware", [True, False])
SEEDS = st.integers(0, 2**32 - 1)


def with_times(seed, pairs=True):
    """A random instance with a past: new jobs, jobs that are early, late, and hopelessly late."""
    rng = np.random.default_rng(seed)
    data = random_data(seed, pairs)
    isolated_s = rng.uniform(0, 200, len(data.jobs)) * (rng.random(len(data.jobs)) < 0.7)
    return data, finish_data(data, isolated_s * rng.choice([0.3, 1, 3, 100], len(data.jobs)), isolated_s)


def reference(data, times, aware=True, more=0.0):
    """The smallest rho by bisection with scipy, from the paper's formula; more: (rows,) added to the right sides."""
    parts = dense(data, aware)
    alone_s = times.isolated_s + data.steps / isolated(data, aware)

    def possible(rho):
        left_s = rho * alone_s - times.elapsed_s
        if (left_s <= 0).any():
            return False
        # The part of its need that every job gets, so that scipy's tolerance is on a number near 1.
        need, ones = data.steps / left_s, np.ones((len(left_s), 1))
        limits = np.block([[parts.limits, np.zeros((len(parts.limits), 1))], [-parts.throughput / need[:, None], ones]])
        right = np.concatenate([parts.right + more, np.zeros(len(need))])
        gain = np.append(np.zeros(parts.limits.shape[1]), -1.0)
        return -linprog(gain, limits, right, bounds=[*parts.bounds, (0, None)]).fun >= 1

    low, high = 0.0, 1.0
    while not possible(high):
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if possible(middle) else (middle, high)
    return high


@pytest.mark.parametrize("method", ["newton", "bisection"])
def test_the_papers_jobs_by_hand(method):
    """One V100 and one K80, speeds (4, 1), (3, 1), (2, 1), all new: rho = 11/12 for everybody, whatever the steps.

    By itself a job has a third of each: 5/3, 4/3, 1 steps/s, 2/3 of P = (2.5, 2, 1.5). Without a past rho is isolated
    throughput over throughput, so this is max-min fairness, whose level is 8/11 P: (2/3) / (8/11) = 11/12.
    """
    data = finish_data(PAPER)
    assert data.isolated == pytest.approx([5 / 3, 4 / 3, 1])
    found = solve_all(POLICY, data, {"method": method}, allocate, 11 / 12)
    assert list(found.values["rho"].values()) == pytest.approx([11 / 12] * 3)
    assert (found.sense, found.unit) == ("min", "1")


@pytest.mark.parametrize("method", ["newton", "bisection"])
def test_two_jobs_with_a_past_by_hand(method):
    """One GPU, one step/s. a waited 100 s and has 10 steps left, b is new and has 100.

    Alone, at half the speed, a needs 20 s and b 200 s. With x for a: (100 + 10 / x) / 20 = 100 / (1 - x) / 200.
    """
    fields = (("a", "b"), ("t",), [[1], [1]], [1, 1], [1, 1], [1])
    data = FinishTimeInstance(*fields, steps=[10, 100], elapsed_s=[100, 0], isolated_s=[0, 0])
    x = brentq(lambda x: (100 + 10 / x) / 20 - 0.5 / (1 - x), 1e-6, 1 - 1e-6)
    found = solve_all(POLICY, data, {"method": method}, allocate, 0.5 / (1 - x))
    assert found.values["allocation"]["a"]["t"] == pytest.approx(x, rel=1e-5)
    # With 30 s of isolated time behind it, a's denominator is 50 s.
    later = dataclasses.replace(data, isolated_s=[30, 0])
    x = brentq(lambda x: (100 + 10 / x) / 50 - 0.5 / (1 - x), 1e-6, 1 - 1e-6)
    solve_all(POLICY, later, {"method": method}, allocate, 0.5 / (1 - x))


def test_agnostic_counts_one_speed_in_the_isolated_time_too():
    """Mean speeds of the paper's jobs are P on both types, so each job's two thirds of the time are rho = 1."""
    solve_all(POLICY, finish_data(PAPER), {"heterogeneity_aware": False}, allocate, 1.0)
    by_v100 = POLICY.run(finish_data(PAPER, [0, 0, 50]), {"heterogeneity_aware": False, "reference": "v100"})
    assert by_v100.objective == pytest.approx(
        reference(dataclasses.replace(PAPER, speed=np.repeat(PAPER.speed[:, :1], 2, axis=1)),
                  finish_data(PAPER, [0, 0, 50])), rel=1e-7
    )  # fmt: skip


@given(seed=SEEDS, aware=st.booleans(), method=st.sampled_from(["newton", "bisection"]))
def test_optimum_equals_an_independent_one(seed, aware, method):
    data, times = with_times(seed)
    assert seen(times, {"heterogeneity_aware": aware}).isolated == pytest.approx(isolated(data, aware))
    knobs = {"heterogeneity_aware": aware, "method": method}
    found = solve_all(POLICY, times, knobs, allocate, reference(data, times, aware))
    believed = found.values["rho" if aware else "believed_rho"]
    assert max(believed.values()) == pytest.approx(found.objective, rel=1e-12)
    assert list(found.values["rho"].values()) == pytest.approx(times.rho(table(found, times)))


@given(seed=SEEDS)
def test_newton_rises_to_the_optimum_and_proves_it(seed):
    """Every rho tried is a lower bound, each larger than the one before; few are needed."""
    _, data = with_times(seed)
    found = POLICY.run(data, {})
    tried = [row["rho"] for row in found.iterations]
    assert tried == sorted(set(tried)) and len(tried) <= 12
    assert found.bound == pytest.approx(min(tried[-1], found.objective), rel=1e-15)
    assert tried[-1] <= found.objective * (1 + 1e-9)
    assert found.gap <= 1e-7
    assert all(row["part"] <= 1 + 1e-7 for row in found.iterations)


@given(seed=SEEDS, factor=st.floats(1e-3, 1e3))
def test_units_of_time_and_of_steps_and_weights_do_not_matter(seed, factor):
    _, data = with_times(seed)
    expected = pytest.approx(allocate(data, {}).solved.objective, rel=1e-6)
    slower = dataclasses.replace(
        data, steps=data.steps * factor, elapsed_s=data.elapsed_s * factor, isolated_s=data.isolated_s * factor
    )
    assert allocate(slower, {}).solved.objective == expected
    smaller = dataclasses.replace(
        data, steps=data.steps * factor, speed=data.speed * factor, pair_speed=data.pair_speed * factor
    )
    assert allocate(smaller, {}).solved.objective == expected
    heavier = dataclasses.replace(data, weight=np.arange(1.0, len(data.jobs) + 1))
    assert allocate(heavier, {}).solved.objective == expected


@AWARE
@pytest.mark.parametrize("late_s", [1e3, 1e6, 1e9])
def test_a_job_so_late_that_its_rho_is_fixed(aware, late_s):
    """Almost nothing of its rho can change, so it runs all of the time, and the others still run."""
    data = dataclasses.replace(finish_data(PAPER, [late_s, 0, 0]), steps=[1e-3, 240, 200])
    knobs = {"heterogeneity_aware": aware}
    for found in (POLICY.run(data, knobs), POLICY.run(data, {**knobs, "method": "bisection"})):
        assert found.status == "optimal"
        assert found.objective >= late_s / seen(data, knobs).terms.alone_s[0]
        assert found.objective == pytest.approx(allocate(data, knobs).solved.objective, rel=1e-8)
        assert all(np.isfinite(list(found.values["rho"].values())))
        keeps_the_limits(data, table(found, data))


def test_steps_left_from_one_to_a_thousand_million():
    rng = np.random.default_rng(3)
    names, speed = tuple(map(str, range(15))), rng.uniform(1, 10, (15, 2))
    steps = 10.0 ** rng.uniform(0, 9, 15)
    times = {"elapsed_s": rng.uniform(0, 1e6, 15), "isolated_s": rng.uniform(0, 1e6, 15)}
    data = FinishTimeInstance(names, ("x", "y"), speed, np.ones(15), np.ones(15), [3, 2], steps=steps, **times)
    expected = POLICY.run(data, {})
    assert expected.status == "optimal"
    for knobs in ({}, {"optimum": "interior"}, {"method": "bisection"}):
        assert allocate(data, knobs).solved.objective == pytest.approx(expected.objective, rel=1e-7)


def test_a_rho_that_no_allocation_reaches_is_refused():
    """a is 100 s old, and would have had 50 s + 10 s by itself: rho > 100 / 60."""
    data = FinishTimeInstance(("a",), ("t",), [[1]], [1], [1], [1], steps=[10], elapsed_s=[100], isolated_s=[50])
    with pytest.raises(InputError, match=r"rho: got 1\.5; expected more than 1\.66666667"):
        build(data.at(largest=1.5))


def test_programmes_that_are_too_inexact_are_an_error():
    """Prices that are wrong lead nowhere, which is said and not passed over."""
    from workbench.papers.gavel.formulations.finish_time_fairness import TriedRho, search

    data = finish_data(PAPER)
    bad = TriedRho(np.zeros((3, 2)), 7.0, 0.5, np.zeros(3), allocate(data, {}).solved)
    with pytest.raises(SolverFailedError, match="rho 7 found"):
        search(data.terms, "newton", 1e-8, lambda rho: bad)


def test_a_student_may_solve_for_a_rho_of_their_own():
    data = finish_data(PAPER)
    for rho, reached in ((0.9, False), (11 / 12 + 1e-6, True), (2.0, True)):
        model = build(data.at(largest=rho))
        solve_model(model)
        found = POLICY.read(model, data, {})
        assert (model.lacking.value <= 0) == reached == (found.objective <= rho * (1 + 1e-9))


@pytest.mark.parametrize(("elapsed_s", "by_hand"), [(0.0, [0.55, 11 / 60]), ([0, 0, 50], None), ([90, 10, 0], None)])
def test_what_a_gpu_row_is_worth_in_rho(elapsed_s, by_hand):
    """No programme has rho as its objective. The last one has e = 0 as its own, so that its duals add up to 0: those of
    the needs to 1, those of all limits to -1. As e falls by sum_m y_m D_m / l_m with rho, rho falls by a limit's dual
    over that sum where the limit is raised: with new jobs, whose l_m is rho D_m, by rho times its dual."""
    data = finish_data(PAPER, elapsed_s)
    rho = POLICY.run(data, {}).objective
    model = build(data.at(largest=rho))
    model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    solve_model(model)
    needs = np.array([abs(model.dual[row]) for row in model.finish_time.values()])
    limits = np.array([model.dual[row] for part in (model.job_time, model.capacity) for row in part.values()])
    right = np.append(np.ones(len(data.jobs)), data.capacity)
    assert [needs.sum(), limits @ right] == pytest.approx([1.0, -1.0])
    falls = limits / float(needs @ (data.terms.alone_s / data.terms.left_s(rho)))
    for row, step in enumerate(np.eye(len(right)) * 1e-5):
        measured = (reference(PAPER, data, more=step) - reference(PAPER, data, more=-step)) / 2e-5
        assert falls[row] == pytest.approx(measured, abs=1e-4)
    if by_hand:
        assert falls == pytest.approx(rho * limits)
        assert -falls[-2:] == pytest.approx(by_hand)


def test_isolated_time_grows_by_the_isolated_throughput_then_in_force():
    """One GPU, one step/s. Two jobs: 1/2 each, so 30 steps are 60 s; with a third 1/3 each, and 10 more are 30 s."""
    jobs = [{"steps": 100}, {"steps": 100}, {"steps": 100, "arrival_s": 100}]
    scenario = make({"a": ("t", 1)}, jobs)
    scheduler = find_scheduler("gavel.finish_time_fairness")
    knobs = scheduler.settle({})
    policy = scheduler.policy
    first = policy(look(scenario, 0.0), knobs, None)
    assert first.memory.accounts == {"j0": IsolatedAccount(0.0, 100.0, 0.5), "j1": IsolatedAccount(0.0, 100.0, 0.5)}
    second = policy(look(scenario, 100.0, left={"j0": 70.0, "j1": 50.0}), knobs, first.memory)
    third_of_a_step = pytest.approx(1 / 3)
    assert second.memory.accounts["j0"] == (pytest.approx(60.0), 70.0, third_of_a_step)
    assert second.memory.accounts["j1"] == (pytest.approx(100.0), 50.0, third_of_a_step)
    assert second.memory.accounts["j2"] == (0.0, 100.0, third_of_a_step)
    third = policy(look(scenario, 200.0, left={"j0": 60.0, "j1": 50.0}, gone=["j2"]), knobs, second.memory)
    assert set(third.memory.accounts) == {"j0", "j1"}
    assert third.memory.accounts["j0"] == (pytest.approx(90.0), 60.0, 0.5)
    assert third.memory.accounts["j1"] == (pytest.approx(100.0), 50.0, 0.5)
    # t = 200 and D = 90 + 60 / 0.5, 100 + 50 / 0.5 for both.
    x = brentq(lambda x: (200 + 60 / x) / 210 - (200 + 50 / (1 - x)) / 200, 1e-6, 1 - 1e-6)
    assert third.solved.objective == pytest.approx((200 + 60 / x) / 210)
    again = policy(look(scenario, 200.0, left={"j0": 60.0, "j1": 50.0}, gone=["j2"]), knobs, second.memory)
    assert plain(third.memory) == plain(again.memory)


def test_the_isolated_time_of_an_agnostic_policy_is_as_it_sees_it():
    scenario = make({"a": ("fast", 1), "b": ("slow", 1)}, [{"steps": 100}], {"fast": 3.0, "slow": 1.0})
    scheduler = find_scheduler("gavel.finish_time_fairness")
    for knobs, speed in (({}, 2.0), ({"heterogeneity_aware": False, "reference": "fast"}, 3.0)):
        found = scheduler.policy(look(scenario), scheduler.settle(knobs), None)
        assert found.memory.accounts["j0"].steps_per_s == pytest.approx(speed)


def test_a_job_that_cannot_run_for_a_while_keeps_its_account():
    scenario = make({"a": ("t", 2), "b": ("t", 1)}, [{"gpus": 2}, {}])
    scheduler = find_scheduler("gavel.finish_time_fairness")
    knobs = scheduler.settle({})
    before = scheduler.policy(look(scenario), knobs, None).memory
    during = scheduler.policy(look(scenario, 60.0, down=["a-0"], left={"j0": 980.0}), knobs, before)
    assert during.shares.units == ("j1",)
    assert during.memory.accounts["j0"] == before.accounts["j0"]
    after = scheduler.policy(look(scenario, 90.0, left={"j0": 980.0}), knobs, during.memory).memory
    assert after.accounts["j0"].isolated_s == pytest.approx(20 / before.accounts["j0"].steps_per_s)
