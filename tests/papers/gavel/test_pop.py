"""Random parts of the cluster: limits kept, what is lost, and the same answer every time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.papers.gavel.support import by_assembly
from workbench.papers.gavel.formulations.allocation import DividedTime, check
from workbench.papers.gavel.formulations.max_min_fairness import MaxMinFairness
from workbench.papers.gavel.instance import AllocationInstance
from workbench.papers.gavel.scheduler import by_parts, parts_of
from workbench.scenario.presets import preset
from workbench.session.api import snapshot_at
from workbench.session.registry import find_scheduler
from workbench.simulation.loop import simulate

GAVEL = MaxMinFairness()
allocate = by_assembly(GAVEL)


def different(jobs, seed=0):
    rng = np.random.default_rng(seed)
    speed = rng.uniform(1, 10, (jobs, 1)) * np.sort(rng.uniform(0.1, 1, (jobs, 3)), axis=1)
    names = tuple(f"j{i}" for i in range(jobs))
    gang = rng.choice([1, 2, 4], jobs)
    return AllocationInstance(names, ("k80", "p100", "v100"), speed, np.ones(jobs), gang, [jobs / 4] * 3)


def whole(data, knobs) -> DividedTime:
    return allocate(data)


@given(jobs=st.integers(1, 40), count=st.integers(1, 12))
def test_every_job_is_in_one_part_and_parts_are_of_one_size(jobs, count):
    parts = parts_of(jobs, count)
    assert sorted(np.concatenate(parts).tolist()) == list(range(jobs))
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    assert len(parts) == min(jobs, count)


@given(seed=st.integers(0, 50), count=st.integers(1, 5))
def test_limits_are_kept_and_the_objective_is_that_of_the_shares_and_no_better(seed, count):
    data = different(24, seed)
    found = by_parts(data, {"partitions": count}, whole, min)
    check(data, found.shares, "pop")
    assert found.solved.objective == pytest.approx(GAVEL.objective(data, found.shares, {}), rel=1e-6)
    assert found.solved.objective <= allocate(data).solved.objective * (1 + 1e-6)


def test_what_is_lost_gets_small_with_many_jobs():
    """Four parts of 32 and of 512 jobs, mean of five draws."""
    loss = {}
    for jobs in (32, 512):
        each = [(allocate(d).solved.objective, d) for d in (different(jobs, seed) for seed in range(5))]
        loss[jobs] = np.mean(
            [1 - by_parts(d, {"partitions": 4}, whole, min).solved.objective / best for best, d in each]
        )
    assert 0 <= loss[512] < loss[32] / 2
    assert loss[512] < 0.05


def test_pairs_within_a_part_keep_their_shares():
    speed = np.ones((4, 1))
    pairs = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    data = AllocationInstance(
        tuple("abcd"), ("t",), speed, [1] * 4, [1] * 4, [2], pairs=pairs, pair_speed=np.full((6, 2, 1), 0.9)
    )
    found = by_parts(data, {"partitions": 2}, whole, min)
    check(data, found.shares, "pop")
    assert found.solved.objective == pytest.approx(0.9)
    assert allocate(data).solved.objective == pytest.approx(0.9)


def test_a_simulation_by_parts_finishes_all_jobs():
    scenario = preset("hadar_lab")
    for name in ("gavel.max_min_fairness", "gavel.makespan", "gavel.max_throughput"):
        run = simulate(scenario, find_scheduler(name), {"partitions": 2})
        assert run.jobs["finish_s"].notna().all(), name


@pytest.mark.parametrize("name", ["gavel.max_min_fairness", "gavel.makespan", "gavel.max_throughput"])
def test_the_stated_model_is_divided_as_the_matrix_is(name):
    scheduler, snapshot = find_scheduler(name), snapshot_at(preset("hadar_lab"), 0.0)
    found = {
        (model, parts): scheduler.policy(snapshot, scheduler.settle({"partitions": parts, "model": model}), None)
        for model in ("assembly", "pyomo")
        for parts in (1, 3)
    }
    objective = {case: allocated.solved.objective for case, allocated in found.items()}
    for parts in (1, 3):
        assert objective["pyomo", parts] == pytest.approx(objective["assembly", parts], rel=1e-5)
    assert objective["pyomo", 1] != pytest.approx(objective["pyomo", 3], rel=1e-3)
