"""Fig. 1: the totals that the text states; another network and other batches by hand."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from pytest import approx

import workbench
from workbench import simulate, summary
from workbench.base.errors import InputError
from workbench.papers.hare.algorithms.list_schedule import algorithm_1, fluid_start_s
from workbench.papers.hare.algorithms.studies import dedicated, oblivious
from workbench.papers.hare.algorithms.vary import at_bandwidth, at_batch
from workbench.papers.hare.formulations.exact import Exact
from workbench.papers.hare.instance import HareInstance
from workbench.papers.hare.lessons.three_jobs import MAKESPANS_S, TOTALS_S, three_jobs
from workbench.scenario.scenario import Scenario
from workbench.session.api import snapshot_at


def test_the_totals_of_the_text():
    data = three_jobs()
    a, b = oblivious(data, (0, 2)), dedicated(data)  # (c), the optimum, is checked behind the page 05_hare
    assert [each.check().objective for each in (a, b)] == [*TOTALS_S[:2]] and a.makespan_s == MAKESPANS_S["a"]


def test_oblivious_by_hand():
    """J3's two rounds take 1.5 s each on GPU2 and GPU3, J2 3 s on GPU1; J1 then takes 1.5 s, or 2.5 s with GPU2."""
    data = three_jobs()
    found = oblivious(data, (0, 2))
    assert found.completion_s.tolist() == [4.5, 3.0, 3.0] and found.start_s[:2].tolist() == [3.0, 3.0]
    assert oblivious(data, (0, 1)).completion_s[0] == 5.5


def test_a_dedicated_gpu_runs_all_tasks_of_its_job():
    found = dedicated(three_jobs())
    assert [len(set(tasks)) for tasks in found.sequences] == [4, 2, 2]
    assert found.completion_s.tolist() == [3.0, 4.0, 2.0]
    assert dedicated(HareInstance.made([[None, 2], [1, 1]])).gpu.tolist() == [1, 0]


def test_dedicated_gpus_for_more_jobs_than_there_are():
    with pytest.raises(InputError, match="2 jobs on 1 GPU"):
        dedicated(HareInstance.made([[1], [1]]))


def test_the_preset_is_the_same_instance():
    scenario = workbench.preset("hare_example")
    exact = Exact()
    data = exact.data(snapshot_at(scenario, 0, offline=True), exact.settle({}))
    assert data.train_s == approx(three_jobs().train_s)
    assert (data.rounds.tolist(), data.tasks.tolist()) == ([1, 1, 2], [2, 2, 2])
    assert "reconstructed" in scenario.description


def world(**rest: Any) -> Scenario:
    """Two GPUs; a step computes 1 s, a gang of two synchronises 0.5 s: measured for model m, derived for model n."""
    return Scenario.from_dict(
        {
            "cluster": {
                "accelerators": [{"name": "t"}],
                "nodes": [{"name": "n", "accelerator": "t", "gpus": 2}],
                "network_gbps": 10.0,
            },
            "jobs": [{"name": "j", "model": "m", "gpus": 2, "steps": 60}, {"name": "k", "model": "n", "steps": 40}],
            "throughputs": [
                {"model": "m", "accelerator": "t", "gpus": 1, "steps_per_s": 1.0},
                {"model": "m", "accelerator": "t", "gpus": 2, "steps_per_s": 2 / 1.5, "sync_s": 0.5},
                {"model": "n", "accelerator": "t", "gpus": 1, "steps_per_s": 1.0},
                {"model": "n", "accelerator": "t", "gpus": 2, "steps_per_s": 2 / 1.5},
                {"model": "n", "accelerator": "t", "gpus": 4, "steps_per_s": 0.0},
            ],
            "models": [{"name": "m", "batch_size": 32}],
            **rest,
        }
    )


def speeds(scenario: Scenario) -> list[float]:
    return [row.steps_per_s for row in scenario.throughputs]


def test_a_faster_network_shortens_synchronisation_only() -> None:
    found = at_bandwidth(world(), 25.0)
    assert speeds(found) == approx([1.0, 2 / 1.2, 1.0, 2 / 1.2, 0.0])
    assert found.throughputs[1].sync_s == approx(0.2) and found.cluster.network_gbps == 25.0
    assert speeds(at_bandwidth(world(), 10.0)) == approx(speeds(world()))


def test_larger_batches_compute_longer_and_synchronise_less_often() -> None:
    found = at_batch(world(), 2.0)
    assert speeds(found) == approx([0.5, 2 / 2.5, 0.5, 2 / 2.5, 0.0])
    assert found.throughputs[1].sync_s == 0.5 and [job.steps for job in found.jobs] == [30, 20]
    assert found.models[0].batch_size == 64
    assert speeds(at_batch(found, 0.5)) == approx(speeds(world()))


def test_both_shorten_a_gang_s_time_under_hare() -> None:
    """30 rounds of 1.5 s; at 25 Gbit/s of 1.2 s; with twice the batch 15 rounds of 2.5 s."""
    alone = world(jobs=[{"name": "j", "model": "m", "gpus": 2, "steps": 60}])
    for scenario, jct_s in ((alone, 45.0), (at_bandwidth(alone, 25.0), 36.0), (at_batch(alone, 2.0), 37.5)):
        assert summary(simulate(scenario, "hare", switching="free"))["mean_jct_s"] == approx(jct_s)


def test_what_cannot_be_is_refused() -> None:
    cluster = {key: value for key, value in world().to_dict()["cluster"].items() if key != "network_gbps"}
    with pytest.raises(InputError, match=r"cluster\.network_gbps"):
        at_bandwidth(world(cluster=cluster), 25.0)
    with pytest.raises(InputError, match="gbps"):
        at_bandwidth(world(), 0.0)
    with pytest.raises(InputError, match="batch"):
        at_batch(world(), float("nan"))


def test_together_the_pairs_of_the_third_job_leave_the_first_gpu_idle_for_half_of_their_time():
    run = simulate("preset:hare_example", "hare", switching="free", synchronisation="scale_fixed")
    assert run.jobs["finish_s"].sum() == approx(10)
    pairs = run.timeline[run.timeline["job"] == "J3"]
    assert pairs.groupby("node")["end_s"].max().to_dict() == {"node1-0": 1.5, "node2-0": 2.0}
    held = pairs.assign(busy_s=pairs["end_s"] - pairs["start_s"]).groupby("node")["busy_s"].sum()
    assert held.to_dict() == {"node1-0": 1.0, "node2-0": 2.0}
    apart = simulate("preset:hare_example", "hare", switching="free")
    assert apart.jobs["finish_s"].sum() == approx(8.5)
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
