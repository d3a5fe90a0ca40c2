"""The schedule that exact models begin from: feasible, no worse than Algorithm 1's, the same every time, and quick."""

import time

import numpy as np
from hypothesis import given, settings

from tests.papers.hare.exact_support import brute_force, small
from tests.papers.hare.list_support import instances
from workbench.papers.hare.algorithms.algorithm_1 import algorithm_1, fluid_start_s
from workbench.papers.hare.formulations.task_formulation import known_schedule
from workbench.papers.hare.instance import HareInstance


@settings(max_examples=60, deadline=None)
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


@settings(max_examples=20, deadline=None)
@given(data=small(jobs=1))
def test_a_job_alone_on_one_gpu_is_never_improved(data):
    one = HareInstance.made(data.train_s[:, data.runs[0]][:, :1], rounds=data.rounds, tasks=data.tasks)
    assert known_schedule(one).objective == brute_force(one)[0]


def test_its_search_stops():
    rng = np.random.default_rng(0)
    data = HareInstance.made(rng.uniform(1, 9, (60, 8)), rounds=10, tasks=4)
    began = time.process_time()
    known_schedule(data).check()
    assert time.process_time() - began < 5
