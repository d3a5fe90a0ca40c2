"""What formulations share: a known schedule to begin from, and times and weights of any size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from tests.calls import calls_at_most
from tests.papers.hare.exact_support import brute_force, small
from tests.papers.hare.list_support import instances
from workbench.papers.hare.algorithms.list_schedule import algorithm_1, fluid_start_s
from workbench.papers.hare.formulations.exact import Exact
from workbench.papers.hare.formulations.interval_lp import IntervalLP
from workbench.papers.hare.formulations.relaxed import Relaxation, relax
from workbench.papers.hare.formulations.task_formulation import Units, known_schedule, units_of
from workbench.papers.hare.formulations.time_indexed import TimeIndexed
from workbench.papers.hare.formulations.time_indexed_lp import TimeIndexedLP
from workbench.papers.hare.instance import HareInstance
from workbench.papers.hare.lessons.three_jobs import SECONDS
from workbench.scheduling.solvers import Solver


@given(data=instances())
def test_it_keeps_all_limits_and_is_no_worse_than_algorithm_1(data):
    found = known_schedule(data).check()
    assert found.objective <= algorithm_1(data, fluid_start_s(data)).objective + 1e-9
    again = known_schedule(data)
    assert (again.start_s == found.start_s).all() and (again.gpu == found.gpu).all()


def test_it_is_close_to_the_best_on_small_instances():
    excess = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        data = HareInstance.made(rng.integers(1, 6, (3, 2)), rounds=rng.integers(1, 3, 3), tasks=[1, 2, 1])
        excess.append(known_schedule(data).objective / brute_force(data)[0] - 1)
    assert min(excess) >= -1e-12 and np.mean(excess) < 0.03


@given(data=small(jobs=1))
def test_a_job_alone_on_one_gpu_is_never_improved(data):
    one = HareInstance.made(data.train_s[:, data.runs[0]][:, :1], rounds=data.rounds, tasks=data.tasks)
    assert known_schedule(one).objective == brute_force(one)[0]


def test_its_search_stops():
    rng = np.random.default_rng(0)
    data = HareInstance.made(rng.uniform(1, 9, (60, 8)), rounds=10, tasks=4)
    with calls_at_most(1_200_000):
        known_schedule(data).check()


SCALES = ((1e-9, 250.0), (1e7, 1e-8))
"""Of times and of weights: the ends of what there is, both at once."""


BETWEEN = ((1e-6, 1.0), (1e-4, 1.0), (1e-9, 1.0), (1e7, 1.0), (0.37, 250.0), (1.0, 1e-8))


FORMULATIONS = (Exact(), TimeIndexed(), TimeIndexedLP(), IntervalLP(), Relaxation())


def toy(times: float = 1.0, weight: float = 1.0) -> HareInstance:
    """Fig. 1's jobs, the times of their tasks and their weights multiplied."""
    return HareInstance.made(np.array(SECONDS) * times, rounds=(1, 1, 2), tasks=2, weight=weight)


def short(times: float = 1.0, weight: float = 1.0) -> HareInstance:
    """The first two of these jobs, one with two rounds: every row of every model, and each solved in no time."""
    return HareInstance.made(np.array(SECONDS[:2]) * times, rounds=(1, 2), tasks=2, weight=weight)


@pytest.mark.parametrize("scales", [SCALES, pytest.param(BETWEEN, marks=pytest.mark.long)], ids=["ends", "between"])
@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda each: each.name)
def test_every_model_finds_the_same_in_any_unit_of_time_and_weight(formulation, scales):
    usual = formulation.run(short(), {})
    for times, weight in scales:
        found, worth = formulation.run(short(times, weight), {}), times * weight
        assert found.status == usual.status == "optimal"
        assert found.objective / worth == pytest.approx(usual.objective, rel=1e-6), (times, weight)
        assert found.bound / worth == pytest.approx(usual.bound, rel=1e-6), (times, weight)


def test_the_known_values_at_a_billionth():
    """Those of trying everything, the makespan among the best included; no bound is above them."""
    optimum, makespan = brute_force(short())
    data = short(1e-9)
    best = Exact().run(data, {"then_makespan": True})
    assert best.objective == pytest.approx(optimum * 1e-9) and best.bound == pytest.approx(optimum * 1e-9)
    assert best.values["makespan_s"] == pytest.approx(makespan * 1e-9)
    assert max(task["synchronised_s"] for task in best.values["tasks"]) == pytest.approx(makespan * 1e-9)
    assert [step["objective"] for step in best.iterations] == pytest.approx([optimum * 1e-9, makespan * 1e-9])
    for bound in (Relaxation(), TimeIndexedLP(), IntervalLP()):
        assert 0.5 * optimum * 1e-9 < bound.run(data, {}).bound <= optimum * 1e-9 * (1 + 1e-9), bound.name


def test_a_step_of_the_grid_is_in_seconds():
    found = TimeIndexed().run(toy(1e3), {"step_s": 500.0})
    assert found.values["step_s"] == pytest.approx(500.0) and found.values["exact"] is True
    assert found.objective == pytest.approx(8500)


def test_the_relaxation_that_algorithm_1_begins_with_scales_too():
    usual, large = relax(toy()), relax(toy(1e7, 1e3))
    assert large.bound == pytest.approx(usual.bound * 1e10)
    assert large.completion_s @ np.full(3, 1e3) == pytest.approx(large.bound)
    assert large.start_s.max() <= large.completion_s.max()


def test_weights_and_arrivals_are_converted_back():
    data = HareInstance.made(
        np.array(SECONDS) * 1e5, rounds=(1, 1, 2), tasks=2, weight=[10, 20, 30], arrival_s=[0, 1e5, 2e5]
    )
    found = Exact().run(data, {}).values
    ends = np.array(list(found["completion_s"].values()))
    assert found["weighted_jct_s"] == pytest.approx(data.weight @ (ends - data.arrival_s))


def test_who_listens_is_told_seconds():
    told = []
    found = Exact().run(toy(1e6), {}, Solver(time_limit_s=5, node_limit=20, on_progress=told.append))
    known = [step.incumbent for step in told if step.incumbent is not None]
    assert known and min(known) == pytest.approx(found.objective, rel=1e-3)


def test_units_are_powers_of_ten_and_one_for_an_instance_without_times():
    assert units_of(toy()) == Units(1.0, 1.0)
    assert units_of(toy(1e-6, 2e4)) == Units(1e-6, 1e4)
    assert units_of(HareInstance.made([[0.0]])) == Units()
    assert units_of(HareInstance.made([[100.0, None]])) == Units(100.0)


def test_a_model_is_built_and_read_with_the_same_known_schedule():
    """The search for it is not made twice."""
    data = toy()
    assert known_schedule(data) is known_schedule(data) is not known_schedule(toy())
