"""What the notebook 05_hare says in its text and exercises."""

import itertools

import pytest

from workbench.papers.hare.algorithms.algorithm_1 import algorithm_1, fluid_start_s
from workbench.papers.hare.formulations.exact import Exact
from workbench.papers.hare.instance import HareInstance
from workbench.papers.hare.lessons.three_jobs import SECONDS
from workbench.scenario.presets import preset
from workbench.session.api import simulate


def test_with_weight_3_the_third_job_is_done_first_and_the_schedule_before_would_cost_more():
    data = HareInstance.made(SECONDS, rounds=(1, 1, 2), tasks=2, weight=(1, 1, 3))
    found, before_s = Exact().run(data, {}), [3, 2.5, 3]  # the ends of the page's interleaved schedule
    assert found.objective == pytest.approx(12.5) and data.weight @ before_s == 14.5
    assert found.values["completion_s"]["J3"] == pytest.approx(2)


def test_together_the_pairs_of_the_third_job_leave_the_first_gpu_idle_for_half_of_their_time():
    run = simulate("preset:hare_example", "hare", switching="free", synchronisation="scale_fixed")
    assert run.jobs["finish_s"].sum() == pytest.approx(10)
    pairs = run.timeline[run.timeline["job"] == "J3"]
    assert pairs.groupby("node")["end_s"].max().to_dict() == {"node1-0": 1.5, "node2-0": 2.0}
    held = pairs.assign(busy_s=pairs["end_s"] - pairs["start_s"]).groupby("node")["busy_s"].sum()
    assert held.to_dict() == {"node1-0": 1.0, "node2-0": 2.0}
    apart = simulate("preset:hare_example", "hare", switching="free")
    assert apart.jobs["finish_s"].sum() == pytest.approx(8.5)
    priced = simulate("preset:hare_example", "hare", synchronisation="scale_fixed")
    assert 10 < priced.jobs["finish_s"].sum() < 10.1


def test_on_one_gpu_without_synchronising_smiths_rule_is_optimal():
    seconds, rounds, weight = (3.0, 1.0, 2.0), (1, 2, 1), (1.0, 2.0, 3.0)
    data = HareInstance.made([[s] for s in seconds], rounds=rounds, tasks=1, weight=weight)
    whole = [s * r for s, r in zip(seconds, rounds, strict=True)]

    def cost(order: tuple[int, ...]) -> float:
        ends = itertools.accumulate(whole[job] for job in order)
        return sum(weight[job] * end for job, end in zip(order, ends, strict=True))

    smith = tuple(sorted(range(3), key=lambda job: whole[job] / weight[job]))
    assert cost(smith) == min(map(cost, itertools.permutations(range(3))))
    assert algorithm_1(data, fluid_start_s(data)).objective == cost(smith)


def test_the_rounds_of_the_testbed():
    rounds = [job.steps / job.tasks_per_round for job in preset("hare_testbed").jobs]
    assert (min(rounds), max(rounds)) == (747, 35631)
