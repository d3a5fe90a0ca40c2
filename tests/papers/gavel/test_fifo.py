"""FIFO as the paper's programme, and how it differs from the greedy FIFO that the authors run."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.baselines.mechanisms.support import look, make
from tests.papers.gavel.support import DATA, PAPER, by_assembly, dense, plain, solve_all, table
from workbench.base.errors import InputError
from workbench.baselines.fifo import greedy
from workbench.papers.gavel.formulations.fifo import FirstInFirstOut, fastest, places
from workbench.papers.gavel.instance import AllocationInstance
from workbench.session.registry import find_scheduler
from workbench.simulation.loop import run_loop

POLICY = FirstInFirstOut()
allocate = by_assembly(POLICY)
AWARE = pytest.mark.parametrize("aware", [True, False])


def test_the_papers_jobs_by_hand():
    """One V100, one K80; weights 3, 2, 1; relative speeds (1, 1/4), (1, 1/3), (1, 1/2).

    Job 0 on the V100 (3), job 1 on the K80 (2/3): 11/3. Instead job 2 on the K80 would add 1/2, and job 1 on the V100
    2 with 3/4 for job 0 on the K80.
    """
    found = solve_all(POLICY, plain(PAPER), {}, allocate, 11 / 3)
    assert found.values["allocation"] == {
        "job 0": {"v100": 1.0, "k80": 0.0},
        "job 1": {"v100": 0.0, "k80": 1.0},
        "job 2": {"v100": 0.0, "k80": 0.0},
    }


def test_agnostic_by_hand():
    """Time alone counts: jobs 0 and 1 run all of the time on one or the other of the two GPUs, 3 + 2."""
    found = solve_all(POLICY, plain(PAPER), {"heterogeneity_aware": False}, allocate, 5)
    assert table(found, PAPER).sum(axis=1) == pytest.approx([1, 1, 0])


def test_the_last_job_counts():
    """Numbered from 1, M - m would be 0 for it, and a free GPU would stay empty."""
    assert places(PAPER).tolist() == [3, 2, 1]
    data = dataclasses.replace(plain(PAPER), capacity=[3, 3])
    assert table(POLICY.run(data, {}), data)[2] == pytest.approx([1, 0])


def test_the_programme_lets_small_jobs_pass_a_large_one_where_the_greedy_line_waits():
    """Four GPUs: a job of 4, then three of 1. The programme runs the three (3 + 2 + 1 > 4), a quarter of the first too.

    That quarter needs the GPU the three leave: 4 / 4 + 6 = 7. The authors' greedy code runs the first alone.
    """
    scenario = make({"n": ("t", 4)}, [{"gpus": 4}, {}, {}, {}])
    data = POLICY.data(look(scenario), {})
    found = POLICY.run(data, {})
    assert found.objective == pytest.approx(7)
    assert POLICY.objective(data, np.array([[0.25], [1], [1], [1]]), {}) == pytest.approx(7)
    assert table(found, data)[1:3].ravel() == pytest.approx([1, 1])
    assert greedy(
        look(scenario), find_scheduler("fifo").settle({}), None, np.random.default_rng(0)
    ).shares.values.ravel().tolist() == [1, 0, 0, 0]


def test_fastest_is_a_type_on_which_the_job_can_run():
    data = AllocationInstance(("a",), ("x", "y"), [[9, 4]], [1], [1], [0, 2])
    assert fastest(data).tolist() == [4]
    assert POLICY.run(data, {}).objective == pytest.approx(1)


@AWARE
@given(data=DATA)
def test_optimum_equals_an_independent_one(aware, data):
    parts = dense(data, aware)
    able = (data.speed > 0) & (data.capacity > 0)[np.asarray(data.accelerator)]
    known = parts.throughput[:, : data.speed.size].max(axis=1) if not aware else (data.speed * able).max(axis=1)
    value = (len(data.jobs) - np.arange(len(data.jobs))) / known
    expected = -parts.best(value @ parts.throughput).fun
    solve_all(POLICY, plain(data), {"heterogeneity_aware": aware}, allocate, expected)


@given(seed_data=DATA, factor=st.floats(0.1, 10))
def test_speeds_of_a_job_may_have_any_unit(seed_data, factor):
    data = plain(seed_data)
    scale = np.linspace(1, factor, len(data.jobs))
    other = dataclasses.replace(
        data, speed=data.speed * scale[:, None], pair_speed=data.pair_speed * scale[data.pairs][:, :, None]
    )
    assert allocate(other, {}).solved.objective == pytest.approx(allocate(data, {}).solved.objective, rel=1e-6)


def test_bad_input_is_named():
    with pytest.raises(InputError, match=r"knobs of gavel\.fifo: got 'literal'"):
        POLICY.settle({"literal": True})


def test_the_scheduler_serves_in_the_order_of_arrival():
    """One GPU, equal jobs: the earlier arrival has all of the time until it is done."""
    scenario = make({"n": ("t", 1)}, [{"steps": 3600, "arrival_s": 10}, {"steps": 3600}, {"steps": 3600}])
    for model in ("assembly", "pyomo"):
        run = run_loop(scenario, find_scheduler("gavel.fifo"), {"model": model, "leftovers": "none"})
        assert run.jobs.sort_values("finish_s")["job"].tolist() == ["j1", "j2", "j0"]
