"""The bounds: none above any schedule, how close they are, their golden models, what each is called."""

import json

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.papers.hare.exact_support import brute_force, small
from tests.papers.hare.list_support import instances, large
from tests.papers.hare.test_exact import TWO
from workbench.base.errors import InputError
from workbench.papers.hare.algorithms.list_schedule import algorithm_1, fluid_start_s
from workbench.papers.hare.algorithms.schedule import in_order
from workbench.papers.hare.formulations import interval_lp, relaxed, time_indexed
from workbench.papers.hare.formulations.interval_lp import IntervalLP
from workbench.papers.hare.formulations.relaxed import Relaxation, relax
from workbench.papers.hare.formulations.time_indexed_lp import TimeIndexedLP
from workbench.papers.hare.instance import HareInstance
from workbench.scheduling.solvers import Solver, SolverFailedError, solve_model

BOUNDS = (
    (Relaxation(), {}),
    (Relaxation(), {"whole": False}),
    (Relaxation(), {"cuts": False, "tangents": 3}),
    (TimeIndexedLP(), {}),
    (TimeIndexedLP(), {"step_s": 1.3}),
    (IntervalLP(), {}),
    (IntervalLP(), {"intervals": 2}),
    (IntervalLP(), {"intervals": 5}),
)
EVERY = pytest.mark.parametrize(("bound", "knobs"), BOUNDS, ids=lambda each: getattr(each, "name", str(each)))


@EVERY
@given(data=small())
def test_no_bound_is_above_the_optimum(bound, knobs, data):
    found = bound.run(data, knobs)
    assert found.status == "optimal"
    assert 0 < found.objective <= brute_force(data)[0] * (1 + 1e-7) + 1e-6


@EVERY
@given(data=instances(), order=st.randoms(use_true_random=False))
def test_no_bound_is_above_any_schedule(bound, knobs, data, order):
    """Schedules of random GPUs and random orders of jobs, and Algorithm 1's."""
    value = bound.run(data, knobs).objective
    rng = np.random.default_rng(order.randint(0, 10**6))
    for _ in range(5):
        gpu = np.array([rng.choice(np.flatnonzero(data.runs[job])) for job in data.task_job.tolist()])
        rank = rng.permutation(len(data.jobs))
        schedule = in_order(data, gpu, np.lexsort((data.task_round, rank[data.task_job]))).check()
        assert value <= schedule.objective * (1 + 1e-7) + 1e-6
    assert value <= algorithm_1(data, fluid_start_s(data)).objective * (1 + 1e-7) + 1e-6


@EVERY
def test_each_says_which_bound_it_is_and_is_worth_its_completions(bound, knobs):
    found = bound.run(TWO, knobs)
    json.dumps(found.values, allow_nan=False)
    names = {"hare.relaxation": "Hare_Sched_RL", "hare.time_indexed_lp": "time-indexed LP"}
    assert found.values["lower_bound"] == names.get(bound.name, "interval-indexed LP")
    assert found.values["completion_s"].keys() == {"J1", "J2"}
    assert 2 * found.values["completion_s"]["J1"] + found.values["completion_s"]["J2"] == pytest.approx(found.objective)
    assert "bound" in bound.reading
    assert bound.run(HareInstance.made([], gpus=1), knobs).objective == 0.0


def test_completions_that_are_not_worth_the_bound_are_an_error():
    with pytest.raises(SolverFailedError, match="completions worth 14"):
        relaxed.bound_result(TWO, 13.0, np.array([5.0, 4.0]), "mine", {})


@given(data=small())
def test_whole_tasks_bound_no_worse_than_split_ones_and_cuts_only_help(data):
    values = {
        (whole, cuts): relax(data, whole=whole, cuts=cuts).bound for whole in (True, False) for cuts in (True, False)
    }
    assert values[True, True] >= max(values[True, False], values[False, True]) - 1e-6
    assert min(values[True, False], values[False, True]) >= values[False, False] - 1e-6


@given(data=small())
def test_more_tangents_never_lower_the_relaxation_where_they_are_added_to_others(data):
    few, many = (solve_model(relaxed.build(data, whole=False, tangents=n)).objective for n in (4, 8))
    assert many >= few - 1e-6


def test_equal_weights_per_work_on_one_gpu_make_the_relaxation_exact():
    """Every order is best there, and (9) with the sum of all work is what all orders obey."""
    data = HareInstance.made([[2.0], [3.0], [5.0]], weight=[2, 3, 5])
    assert relax(data, whole=True).bound == pytest.approx(2 * 2 + 3 * 5 + 5 * 10)


def test_a_job_alone_is_bounded_by_what_it_needs():
    """Three rounds of five tasks on GPUs of 2 and 3 s: 6 s a round, and synchronising 1 s."""
    data = HareInstance.made([[2.0, 3.0]], [[1.0, 1.0]], rounds=3, tasks=5)
    for bound, knobs in BOUNDS:
        if knobs.get("cuts", True) and "step_s" not in knobs:
            assert bound.run(data, knobs).objective == pytest.approx(21.0), bound.name


def test_how_close_the_bounds_are_on_small_instances():
    """As parts of the optimum, in the mean: the time grid is closest, then whole tasks, the interval programme last."""
    found = {name: [] for name in ("time", "whole", "split", "interval")}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        data = HareInstance.made(
            rng.integers(1, 6, (3, 2)), rng.integers(0, 2, (3, 2)), rounds=rng.integers(1, 3, 3), tasks=[1, 2, 1]
        )
        best, _ = brute_force(data)
        for name, bound, knobs in (
            ("time", TimeIndexedLP(), {}),
            ("whole", Relaxation(), {"cuts": False}),
            ("split", Relaxation(), {"whole": False, "cuts": False}),
            ("interval", IntervalLP(), {}),
        ):
            found[name].append(bound.run(data, knobs).objective / best)
    mean = {name: float(np.mean(parts)) for name, parts in found.items()}
    assert 0.93 < mean["time"] <= 1
    assert mean["split"] <= mean["whole"] < mean["time"]
    assert mean["whole"] > 0.7 and 0.7 < mean["interval"] < mean["time"]


@pytest.mark.parametrize(
    ("file", "make"),
    [
        ("relaxed", lambda: relaxed.build(TWO, tangents=3)),
        ("time_indexed_lp", lambda: TimeIndexedLP().build(TWO, {})),
        ("interval_lp", lambda: interval_lp.build(TWO, 4)),
    ],
)
def test_golden_models_of_two_jobs(file, make, same_as_golden):
    same_as_golden(make(), f"{file}_two_jobs.lp")


def test_the_last_interval_has_no_end():
    """With one it would be no bound: whatever work does not fit would have to be done before."""
    model = interval_lp.build(TWO, 4)
    last = max(model.INTERVALS)
    assert not [index for index in model.capacity if index[-1] == last]
    assert not [index for index in model.in_parallel if index[-1] == last]


def test_models_too_large_are_refused_with_the_alternative(monkeypatch):
    monkeypatch.setattr(relaxed, "MOST_PAIRS", 7)
    with pytest.raises(InputError, match=r"got 8 pairs of a task and a GPU that can run it; .*hare\.interval_lp"):
        Relaxation().run(TWO, {})
    monkeypatch.setattr(time_indexed, "MOST_VARIABLES", 5)
    with pytest.raises(InputError, match=r"hare\.time_indexed_lp: got .*interval_lp"):
        TimeIndexedLP().run(TWO, {})


def test_the_interval_programme_bounds_twelve_thousand_tasks():
    data = large()
    found = IntervalLP().run(data, {})
    schedule = algorithm_1(data, fluid_start_s(data)).objective
    assert 0.9 < found.objective / schedule <= 1


def test_the_relaxation_stopped_early_is_a_bound_still():
    rng = np.random.default_rng(1)
    data = HareInstance.made(rng.integers(1, 9, (6, 4)), rounds=2, tasks=2)
    model = relaxed.build(data)
    solved = solve_model(model, Solver(gap=0.5))
    found = relaxed.read_relaxed(model, data, solved.bound)
    assert found.bound <= pyo.value(model.weighted_completion) + 1e-9
    assert found.assigned.sum(axis=1) == pytest.approx(np.ones(data.task_count))
