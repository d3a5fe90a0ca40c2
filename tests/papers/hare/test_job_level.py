"""The baselines on Hare's instances: each by hand, their limits, and that Hare's schedule is better at scale."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from pytest import approx

from tests.papers.hare.list_support import instances, large
from workbench.base.errors import InputError
from workbench.papers.hare.algorithms.job_level import BASELINES, gavel_fifo, sched_allox, sched_homo, srtf
from workbench.papers.hare.algorithms.list_schedule import algorithm_1, fluid_start_s
from workbench.papers.hare.algorithms.schedule import TaskSchedule
from workbench.papers.hare.instance import HareInstance

TOY = [[1.5, 2.5, 1.5], [1.5, 2.0, 2.5], [0.5, 1.0, 1.5]]
"""Times of Fig. 1, reconstructed so that they give the totals of the paper's text."""


def test_fifo_waits_for_its_turn_and_takes_the_fastest_gpus() -> None:
    """J1 takes both GPUs; J2 waits for them, and J3, which would fit at 2 s, for J2."""
    data = HareInstance.made(
        [[2.0, 3.0, math.inf], [1.0, 4.0, math.inf], [1.0, 1.0, 0.5]],
        tasks=[1, 2, 1],
        rounds=[2, 1, 1],
        arrival_s=[0, 1, 2],
    )
    assert gavel_fifo(data).check().completion_s.tolist() == [4.0, 8.0, 4.5]
    assert gavel_fifo(data).gpu.tolist() == [0, 0, 0, 1, 2]


def test_a_gang_waits_for_its_slowest_task_every_round_and_keeps_its_gpus_meanwhile() -> None:
    data = HareInstance.made([[1.0, 3.0], [1.0, 1.0]], [[0.5, 0.5], [0.0, 0.0]], tasks=[2, 1], rounds=[2, 1])
    assert gavel_fifo(data).check().completion_s.tolist() == [7.0, 8.0]


def test_srtf_preempts_between_rounds() -> None:
    """J2, 2 s long, comes at 1 s; J1 has 6 s to go after its first round, ends then at 10 s instead of 8 s."""
    data = HareInstance.made([[2.0], [1.0]], rounds=[4, 2], arrival_s=[0.0, 1.0])
    assert srtf(data).check().completion_s.tolist() == [10.0, 4.0]
    assert gavel_fifo(data).completion_s.tolist() == [8.0, 10.0]


def test_srtf_passes_who_does_not_fit() -> None:
    data = HareInstance.made([[4.0, 4.0], [1.0, 1.0], [9.0, 9.0]], tasks=[1, 2, 1], arrival_s=[0.0, 1.0, 1.0])
    assert srtf(data).check().start_s.tolist() == [0.0, 10.0, 10.0, 1.0]


def test_sched_homo_goes_by_mean_times_and_weight_and_takes_any_gpu() -> None:
    """J1 takes 5 s on average, J2 3 s; with twice the weight J1 is first, on the first GPU, which is slow for it."""
    data = HareInstance.made([[9.0, 1.0], [3.0, 3.0]], weight=[2.0, 1.0])
    assert sched_homo(data).check().gpu.tolist() == [0, 1]
    one = HareInstance.made([[9.0], [3.0]], weight=[2.0, 1.0])
    assert sched_homo(one).start_s.tolist() == [3.0, 0.0]


@pytest.mark.parametrize("toy", [TOY, [[row[0], row[2], row[1]] for row in TOY]])
def test_figure_1b_one_gpu_for_each_job_gives_9_seconds(toy: list[list[float]]) -> None:
    found = sched_allox(HareInstance.made(toy, tasks=2, rounds=[1, 1, 2])).check()
    assert found.objective == approx(9.0) and len({*found.gpu.tolist()}) == 3


def test_allox_leaves_a_slow_gpu_idle_if_the_line_of_a_fast_one_is_sooner_done() -> None:
    data = HareInstance.made([[1.0, 10.0]] * 3)
    assert sorted(sched_allox(data).check().completion_s.tolist()) == [1.0, 2.0, 3.0]


@given(instances(jobs=3, gpus=3, sync=False, arrivals=False))
def test_without_arrivals_allox_is_the_best_of_all_lines(data: HareInstance) -> None:
    """Every way to line the jobs up on the GPUs, one GPU for each job; all weights 1."""
    seconds = np.bincount(data.round_job, data.round_tasks * data.round_part)[:, None] * data.train_s
    best = math.inf
    for gpus in itertools.product(range(len(data.gpus)), repeat=len(data.jobs)):
        for order in itertools.permutations(range(len(data.jobs))):
            ends = np.zeros(len(data.gpus))
            total = 0.0
            for job in order:
                ends[gpus[job]] += seconds[job, gpus[job]]
                total += ends[gpus[job]]
            best = min(best, total)
    assert sched_allox(data).completion_s.sum() == approx(best)


@pytest.mark.parametrize("name", BASELINES)
@given(data=instances())
def test_every_schedule_keeps_the_limits(name: str, data: HareInstance) -> None:
    if name != "Sched_Allox" and (data.runs.sum(axis=1) < data.tasks).any():
        with pytest.raises(InputError, match="start together"):
            BASELINES[name](data)
        return
    BASELINES[name](data).check()


def test_hare_s_schedule_is_better_than_all_of_them_at_scale() -> None:
    data = large(seed=1, jobs=100, gpus=80, tasks=4000)
    found: dict[str, Callable[[HareInstance], TaskSchedule]] = {**BASELINES}
    totals = {name: make(data).check().weighted_jct_s for name, make in found.items()}
    hare = algorithm_1(data, fluid_start_s(data)).weighted_jct_s
    assert all(hare < total for total in totals.values()), (hare, totals)


def test_without_jobs_there_is_nothing_to_do() -> None:
    empty = HareInstance.made(np.zeros((0, 2)), gpus=2)
    assert [make(empty).makespan_s for make in BASELINES.values()] == [0.0] * 4
