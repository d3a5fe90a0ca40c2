"""Hare_Sched on a grid: against trying everything, rounded both ways, both solvers, the golden model, the edges."""

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given

from tests.papers.hare.exact_support import brute_force, small
from tests.papers.hare.test_exact import TWO
from workbench.base.errors import InputError
from workbench.papers.hare.formulations import time_indexed
from workbench.papers.hare.formulations.exact import Exact
from workbench.papers.hare.formulations.task_formulation import known_schedule
from workbench.papers.hare.formulations.time_grid import choose_step, on_grid
from workbench.papers.hare.formulations.time_indexed import TimeIndexed, build, grid_of, read_schedule
from workbench.papers.hare.instance import HareInstance
from workbench.scheduling.solvers import Solver, solve_model

COUNTS = TimeIndexed()


@pytest.mark.parametrize("solver", ["highs", "glpk"])
def test_two_jobs_by_hand(solver):
    """The instance and its 16 are explained in test_exact."""
    found = COUNTS.run(TWO, {}, Solver(solver))
    assert (found.status, found.objective, found.bound) == ("optimal", pytest.approx(16), pytest.approx(16))
    assert found.values["step_s"] == 1.0 and found.values["exact"] is True


@given(data=small())
def test_the_optimum_is_that_of_trying_everything(data):
    """Times are multiples of 1/4 or less; where the grid takes them all, it has the optimum, else it has it between."""
    best, _ = brute_force(data)
    found = COUNTS.run(data, {})
    if found.values["exact"]:
        assert (found.status, found.objective) == ("optimal", pytest.approx(best, abs=1e-6))
    assert found.bound <= best + 1e-6 and found.objective >= best - 1e-6


@given(data=small(tasks=6))
def test_a_coarse_grid_has_the_optimum_between_its_bound_and_its_schedule(data):
    best, _ = brute_force(data)
    found = COUNTS.run(data, {"step_s": 0.7})
    assert found.bound - 1e-6 <= best <= found.objective + 1e-6
    assert found.values["exact"] is False
    assert [step["rounding"] for step in found.iterations] == ["up", "down"]
    up, down = found.iterations
    assert up["schedule"] <= up["on_grid"] + 1e-6  # each task as early as it can, where the grid rounds up
    assert down["on_grid"] <= best + 1e-6
    assert found.objective == min(up["schedule"], down["schedule"])


@given(data=small(tasks=6))
def test_a_finer_grid_brings_bound_and_schedule_together(data):
    gaps = [COUNTS.run(data, {"step_s": step}).gap for step in (0.9, 0.125)]
    assert gaps[1] <= gaps[0] + 1e-9


def test_rounding_one_way_only():
    data = HareInstance.made([[1.1, 2.3], [0.9, 1.7]], rounds=2)
    up, down = (COUNTS.run(data, {"step_s": 0.4, "rounding": way}) for way in ("up", "down"))
    assert up.bound is None and up.gap is None and up.status == "feasible"
    assert down.bound <= up.objective + 1e-9 and down.bound < down.objective
    best = Exact().run(data, {}).objective
    assert down.bound <= best + 1e-6 and min(up.objective, down.objective) >= best - 1e-6


def test_the_step_is_the_longest_of_which_all_times_are_multiples():
    def step(*times, slots=80, **more):
        data = HareInstance.made([list(times)], **more)
        return choose_step(data, known_schedule(data), None, slots)

    assert step(4.0, 6.0) == pytest.approx(2.0)
    assert step(4.0, 6.0, sync_s=[[0.5, 0]]) == pytest.approx(0.5)
    assert step(4.0, 6.0, rounds=2, last_part=0.5) == pytest.approx(1.0)
    assert step(0.4, 0.6) == pytest.approx(0.2)
    assert step(1 / 0.4, 1.5) == pytest.approx(0.5)  # seconds from steps/s, with their rounding
    assert step(1.0, 1.0, arrival_s=5000) == pytest.approx(1.0)  # the grid begins with the first arrival
    # The job ends by 3: 3,000 steps of 1 ms are too many for 80 slots, but not for 600.
    assert step(1.0, 1.001, rounds=3) == pytest.approx(3 / 80)
    assert step(1.0, 1.001, rounds=3, slots=600) == pytest.approx(0.001)
    assert step(1.0, np.pi) == pytest.approx(1.0 / 80)


def test_a_step_is_above_zero():
    with pytest.raises(InputError, match="step_s"):
        on_grid(TWO, 0.0, "up", known_schedule(TWO))


def test_the_known_schedule_is_a_solution_of_both_models():
    for seed, step in ((0, 1.0), (1, 0.7), (2, 2.5)):
        rng = np.random.default_rng(seed)
        data = HareInstance.made(
            rng.integers(1, 5, (3, 3)),
            rng.integers(0, 3, (3, 3)),
            rounds=rng.integers(1, 3, 3),
            tasks=rng.integers(1, 4, 3),
            arrival_s=rng.integers(0, 4, 3),
        )
        for rounding in ("up", "down"):
            grid = on_grid(data, step, rounding, known_schedule(data))
            model = build(grid)
            for row in model.component_data_objects(pyo.Constraint):
                assert row.lslack() >= -1e-6 and row.uslack() >= -1e-6, (seed, rounding, row.name)
            read_schedule(model, grid).check()


def test_golden_model_of_two_jobs(same_as_golden):
    same_as_golden(build(grid_of(TWO, {}, "up")), "time_indexed_two_jobs.lp")


def test_a_model_too_large_is_refused_with_the_alternatives(monkeypatch):
    monkeypatch.setattr(time_indexed, "MOST_VARIABLES", 5)
    with pytest.raises(InputError, match=r"hare\.time_indexed: got .* variables for 4 tasks in 7 slots; .*interval_lp"):
        COUNTS.run(TWO, {})


def test_fifteen_tasks_are_proven():
    rng = np.random.default_rng(8)
    data = HareInstance.made(
        rng.integers(1, 6, (5, 3)), rng.integers(0, 3, (5, 3)), rounds=3, tasks=1, weight=rng.integers(1, 4, 5)
    )
    found = COUNTS.run(data, {})
    assert data.task_count == 15 and found.status == "optimal"
    assert found.objective <= known_schedule(data).objective + 1e-6


def test_a_task_that_takes_no_time_is_kept_apart_by_the_schedule_not_by_the_grid():
    data = HareInstance.made([[2.0], [0.0]], arrival_s=[0, 1])
    found = COUNTS.run(data, {"step_s": 1.0})
    assert found.values["exact"] is False
    assert found.bound <= 2 + 2 <= found.objective + 1e-9
    assert Exact().run(data, {}).objective == pytest.approx(4.0)


def test_the_model_is_solved_without_a_start_too():
    grid = grid_of(TWO, {}, "up")
    model = build(grid)
    assert solve_model(model).objective == pytest.approx(16)
