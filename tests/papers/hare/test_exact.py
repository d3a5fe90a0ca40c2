"""Hare_Sched: by hand, against trying everything, both solvers, cuts, tie-break, the golden model, the edges."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench
from tests.papers.hare.exact_support import brute_force, small
from workbench.base.errors import InputError
from workbench.papers.hare.algorithms.list_schedule import algorithm_1, fluid_start_s
from workbench.papers.hare.algorithms.schedule import TaskSchedule
from workbench.papers.hare.formulations import exact
from workbench.papers.hare.formulations.exact import Exact, build, read_schedule
from workbench.papers.hare.formulations.task_formulation import (
    TaskFormulation,
    known_schedule,
    schedule_of,
    schedule_result,
)
from workbench.papers.hare.formulations.windows import alone_s, earliest, no_later_than, tails, windows
from workbench.papers.hare.instance import HareInstance
from workbench.papers.hare.lessons.three_jobs import SECONDS
from workbench.scheduling.solvers import Solver, SolverFailedError, solve_model

EXACT = Exact()
SOLVER = pytest.mark.parametrize("solver", ["highs", "glpk"])
TWO = HareInstance.made(
    [[2, 3], [1, 2]], [[1, 1], [0, 1]], rounds=[2, 1], tasks=[1, 2], weight=[2, 1], arrival_s=[0, 1]
)
FIG_1 = HareInstance.made(np.array(SECONDS), rounds=(1, 1, 2), tasks=2)


@SOLVER
def test_two_jobs_by_hand(solver):
    """J1 alone on GPU1 computes 0 to 2, synchronises to 3, again to 6. J2 comes at 1: one task in GPU1's gap 2 to 3,
    the other on GPU2 from 1 to 3, synchronised at 4. 2 x 6 + 4 = 16; with J2's tasks both on GPU1 J1 ends at 7.
    """
    found = EXACT.run(TWO, {}, Solver(solver))
    assert (found.status, found.objective, found.sense) == ("optimal", pytest.approx(16), "min")
    assert brute_force(TWO) == (16.0, 6.0)
    assert found.values["completion_s"] == {"J1": 6.0, "J2": 4.0}


@given(data=small())
def test_the_optimum_is_that_of_trying_everything(data):
    found = EXACT.run(data, {})
    assert found.status == "optimal"
    assert found.objective == pytest.approx(brute_force(data)[0], abs=1e-6)


@given(data=small(tasks=6))
def test_of_the_best_schedules_the_one_that_ends_first(data):
    found = EXACT.run(data, {"then_makespan": True})
    assert (found.objective, found.values["makespan_s"]) == pytest.approx(brute_force(data), abs=1e-6)
    assert [step["of"] for step in found.iterations] == ["weighted completion time", "makespan"]


@given(data=small(tasks=5))
def test_neither_the_cuts_nor_the_solver_change_the_optimum(data):
    values = [
        EXACT.run(data, {"cuts": cuts}, Solver(name)).objective for cuts in (True, False) for name in ("highs", "glpk")
    ]
    assert values == pytest.approx([values[0]] * 4, abs=1e-6)


@given(
    work=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 5)), min_size=1, max_size=5),
)
def test_one_gpu_without_synchronisation_serves_the_shortest_weighted_work_first(work):
    """Smith's rule: the order of T/w is best on one machine."""
    data = HareInstance.made([[time] for time, _ in work], weight=[weight for _, weight in work])
    ends = itertools.accumulate(time for time, _ in sorted(work, key=lambda each: each[0] / each[1]))
    weights = [weight for _, weight in sorted(work, key=lambda each: each[0] / each[1])]
    expected = sum(weight * end for weight, end in zip(weights, ends, strict=True))
    assert EXACT.run(data, {}).objective == pytest.approx(expected)


def test_more_gpus_of_a_type_than_tasks_are_left_out_of_the_model_but_not_of_the_data():
    many = HareInstance.made([[1.0] * 30, [2.0] * 30], tasks=[2, 1])
    assert len(build(many, known_schedule(many)).GPUS) == 3
    assert len(build(many, cuts=False).GPUS) == 30
    assert EXACT.run(many, {}).objective == pytest.approx(1 + 2)


def test_the_values_tell_the_whole_schedule():
    found = EXACT.run(TWO, {}).values
    json.dumps(found, allow_nan=False)
    assert [(task["job"], task["round"], task["task"]) for task in found["tasks"]] == [
        ("J1", 0, 0),
        ("J1", 1, 0),
        ("J2", 0, 0),
        ("J2", 0, 1),
    ]
    assert max(task["synchronised_s"] for task in found["tasks"]) == found["makespan_s"] == 6.0


def test_golden_model_of_two_jobs(same_as_golden):
    same_as_golden(build(TWO, known_schedule(TWO)), "exact_two_jobs.lp")


def test_thousands_of_tasks_are_refused_before_the_model_is_made():
    data = HareInstance.made(np.ones((100, 8)), rounds=10, tasks=4)
    with pytest.raises(InputError, match=r"hare\.exact: got 4,000 tasks; expected at most 40 tasks: .*interval_lp"):
        EXACT.run(data, {})


def test_values_that_are_worse_than_the_solver_says_are_an_error():
    with pytest.raises(SolverFailedError, match=r"a schedule of 16'; expected the 15 of its objective"):
        best = EXACT.run(TWO, {}).values["tasks"]
        gpu = np.array([0 if task["gpu"] == "GPU1" else 1 for task in best])
        schedule_of(TWO, gpu, np.array([task["start_s"] for task in best]), 15.0, "mine")


def test_the_known_schedule_is_a_solution_of_the_model():
    """So that a solver can begin from it: every row holds with its values."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        data = HareInstance.made(
            rng.integers(1, 5, (3, 2))[:, [0, 0, 1]],
            rng.integers(0, 2, (3, 2))[:, [0, 0, 1]],
            rounds=rng.integers(1, 3, 3),
            tasks=rng.integers(1, 4, 3),
        )
        known = known_schedule(data)
        model = build(data, known)
        for row in model.component_data_objects(exact.pyo.Constraint):
            assert row.lslack() >= -1e-6 and row.uslack() >= -1e-6, row.name
        assert read_schedule(model, data).objective == pytest.approx(known.objective)


def test_a_time_limit_gives_no_worse_than_the_known_schedule():
    known = known_schedule(FIG_1)
    found = EXACT.run(FIG_1, {}, Solver(node_limit=1))
    assert found.status in ("feasible", "optimal") and found.objective <= known.objective + 1e-6
    assert found.bound <= found.objective + 1e-6


def test_jobs_to_come_are_known():
    scenario = workbench.preset("hare_example")
    later = scenario.jobs[2].model_copy(update={"arrival_s": 2.0})
    found = workbench.solve(scenario.replace(jobs=(*scenario.jobs[:2], later)), "hare.exact")
    assert min(task["start_s"] for task in found.values["tasks"] if task["job"] == "J3") >= 2.0
    assert found.status == "optimal"


def test_solved_model_without_a_known_schedule():
    model = build(TWO)
    solve_model(model)
    assert read_schedule(model, TWO).objective == pytest.approx(16)


def test_a_solve_that_stops_by_itself_says_so(monkeypatch):
    """Fig. 1's eight tasks, of which a proof takes seconds; the first bound comes before any limit."""
    monkeypatch.setattr(exact, "PROVEN_TASKS", 7)
    monkeypatch.setattr(exact, "LIMIT_S", 0.5)
    found = EXACT.run(FIG_1, {})
    assert found.status == "time_limit" and found.bound < found.objective <= known_schedule(FIG_1).objective + 1e-6


@pytest.mark.parametrize(("rounds", "limit_s"), [((2, 2, 3), None), ((2, 2, 4), exact.LIMIT_S)])
def test_only_more_than_fifteen_tasks_have_a_limit_and_the_one_asked_for_goes_first(monkeypatch, rounds, limit_s):
    given = []

    def seen(self, data, knobs, solver):
        given.append(solver.time_limit_s)
        return schedule_result(known_schedule(data))

    monkeypatch.setattr(TaskFormulation, "find", seen)
    data = HareInstance.made(np.ones((3, 3)), rounds=rounds, tasks=(2, 2, 2))
    EXACT.run(data, {})
    EXACT.run(data, {}, Solver(time_limit_s=1.5))
    assert data.task_count in (14, 16) and given == [limit_s, 1.5]


# Windows: exact for a job alone, and no best schedule is outside

SLACK = 1e-6


@given(data=small(jobs=1, tasks=8))
def test_a_job_alone_completes_exactly_at_its_earliest(data):
    first, soonest = earliest(data)
    best, _ = brute_force(data)
    assert float(data.weight @ soonest) == pytest.approx(best)
    assert first[0] == data.arrival_s[0] and (np.diff(first) >= 0).all()


def test_a_round_alone_by_hand():
    """Five tasks on GPUs of 2 and 3 s: 2, 4, 6 and 3, 6; with 10 s to synchronise on the first, 12 and 3, 6, 9, 12."""
    assert alone_s(HareInstance.made([[2, 3]], tasks=5)).tolist() == [6.0]
    assert alone_s(HareInstance.made([[2, 3]], [[10, 0]], tasks=5)).tolist() == [12.0]
    assert alone_s(HareInstance.made([[2, None]], [[1, 0]], tasks=2)).tolist() == [5.0]


def test_what_follows_a_round_is_the_rounds_after_it():
    data = HareInstance.made([[2, 3]], [[1, 1]], rounds=3, tasks=2, last_part=0.5)
    assert tails(data).tolist() == [4.0 + 2.0, 2.0, 0.0]


@given(data=small())
def test_some_best_schedule_is_within_its_windows(data):
    """The one found without them, with each task as early as it can be."""
    known = known_schedule(data)
    best = Exact().run(data, {"cuts": False}).values["tasks"]
    gpus = {gpu.name: number for number, gpu in enumerate(data.gpus)}
    plan = TaskSchedule(data, [gpus[task["gpu"]] for task in best], [task["start_s"] for task in best])
    for found in (windows(data, known), windows(data)):
        rounds = data.task_round
        assert (plan.start_s >= found.first_s[rounds] - SLACK).all()
        assert (plan.start_s <= found.last_s[rounds] + SLACK).all()
        assert (plan.round_end_s <= found.end_s + SLACK).all()
        assert (plan.completion_s >= found.soonest_s - SLACK).all()
        assert (plan.completion_s <= found.latest_s + SLACK).all()
        assert plan.makespan_s <= found.horizon_s + SLACK


@given(data=small(jobs=4, tasks=12))
def test_no_schedule_without_needless_waiting_ends_after_the_bound(data):
    for insertion in (False, True):
        assert algorithm_1(data, fluid_start_s(data), insertion=insertion).makespan_s <= no_later_than(data) + SLACK
    assert known_schedule(data).makespan_s <= windows(data).horizon_s + SLACK


def test_no_jobs_no_windows():
    found = windows(HareInstance.made([], gpus=0))
    assert (len(found.first_s), found.horizon_s, found.released_s) == (0, 0.0, 0.0)
