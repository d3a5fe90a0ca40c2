"""Shortest job first: the order, the literal form, independent optima, both solvers, the matrix, the golden model."""

import numpy as np
import pytest
from hypothesis import given

from tests.baselines.mechanisms.support import look, make
from tests.papers.gavel.support import DATA, PAPER, by_assembly, dense, solve_all, stepped, table
from workbench.papers.gavel.formulations.shortest_job_first import NAME, ShortestJobFirst, in_line, value
from workbench.papers.gavel.instance import StepsInstance
from workbench.session.registry import find_scheduler
from workbench.simulation.loop import run_loop

POLICY = ShortestJobFirst()
allocate = by_assembly(POLICY)
AWARE = pytest.mark.parametrize("aware", [True, False])


def test_the_order_by_hand():
    """400, 240 and 200 steps take 100 s, 80 s and 100 s on the V100: job 1 first, then job 0 before job 2 (a tie)."""
    data = stepped(PAPER)
    assert in_line(data).tolist() == [1, 0, 2]
    assert value(data).tolist() == [2, 3, 1]


def test_the_papers_jobs_by_hand():
    """Job 1 on the V100 (3), and on the K80 job 2 (1 x 1/2) or job 0 (2 x 1/4), which is the same: 3.5."""
    found = solve_all(POLICY, stepped(PAPER), {}, allocate, 3.5)
    assert found.values["allocation"]["job 1"] == {"v100": 1.0, "k80": 0.0}


def test_agnostic_order_by_hand():
    """400 / 2.5 = 160 s, 240 / 2 = 120 s, 200 / 1.5 = 133 s by mean speeds; by the K80's, 400, 240 and 200 s."""
    data = stepped(PAPER)
    assert in_line(data.agnostic()).tolist() == [1, 2, 0]
    assert in_line(data.agnostic("k80")).tolist() == [2, 1, 0]
    found = solve_all(POLICY, data, {"heterogeneity_aware": False, "reference": "k80"}, allocate, 5)
    assert table(found, data).sum(axis=1) == pytest.approx([0, 1, 1])


def test_the_literal_form_by_hand():
    """The shortest job takes 80 s on the V100; nothing is said about the others."""
    found = solve_all(POLICY, stepped(PAPER), {"literal": True}, allocate, 80)
    assert (found.sense, found.unit) == ("min", "s")
    assert found.values["allocation"]["job 1"]["v100"] == pytest.approx(1)


def test_the_literal_form_counts_what_a_gang_may_really_get():
    """a (4 GPUs on a type of 2) has at most half of the time: 100 / (10 / 2) = 20 s, so b with 15 s is shortest.

    By n / max T it would be a, with 10 s: the order of the default form takes the paper's fastest type as it is.
    """
    data = StepsInstance(("a", "b"), ("t",), [[10], [2]], [1, 1], [4, 1], [2], steps=[100, 30])
    assert in_line(data).tolist() == [0, 1]
    found = solve_all(POLICY, data, {"literal": True}, allocate, 15)
    assert found.values["allocation"]["b"]["t"] == pytest.approx(1)


@AWARE
@given(data=DATA)
def test_optimum_equals_an_independent_one(aware, data):
    parts = dense(data, aware)
    able = (data.speed > 0) & (data.capacity > 0)[np.asarray(data.accelerator)]
    known = parts.throughput[:, : data.speed.size].max(axis=1) if not aware else (data.speed * able).max(axis=1)
    order = sorted(range(len(data.jobs)), key=lambda row: (data.steps[row] / known[row], row))
    place = np.array([len(order) - order.index(row) for row in range(len(order))])
    expected = -parts.best(place / known @ parts.throughput).fun
    solve_all(POLICY, stepped(data), {"heterogeneity_aware": aware}, allocate, expected)


@AWARE
@given(data=DATA)
def test_the_literal_optimum_equals_the_best_of_as_many_programmes(aware, data):
    parts = dense(data, aware)
    expected = min(data.steps[row] / -parts.best(parts.throughput[row]).fun for row in range(len(data.jobs)))
    solve_all(POLICY, stepped(data), {"heterogeneity_aware": aware, "literal": True}, allocate, expected)


def test_steps_left_count_in_a_snapshot():
    scenario = make({"n": ("t", 1)}, [{"steps": 1000}, {"steps": 900}])
    assert value(POLICY.data(look(scenario), {})).tolist() == [1, 2]
    assert value(POLICY.data(look(scenario, left={"j0": 100}), {})).tolist() == [2, 1]


@pytest.mark.parametrize("knobs", [{}, {"literal": True}, {"model": "pyomo"}, {"model": "pyomo", "literal": True}])
def test_the_scheduler_serves_the_shortest_first(knobs):
    """One GPU, three jobs: the shortest is done first, and a shorter one that arrives later passes the longest."""
    jobs = [{"steps": 20_000}, {"steps": 2_000}, {"steps": 3_000, "arrival_s": 1000}]
    run = run_loop(make({"n": ("t", 1)}, jobs), find_scheduler(NAME), {**knobs, "leftovers": "none"})
    assert run.jobs.sort_values("finish_s")["job"].tolist() == ["j1", "j2", "j0"]
