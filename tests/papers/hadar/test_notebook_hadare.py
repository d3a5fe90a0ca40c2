"""What 03_hadare says and does not run itself: the hand example, the exercises, the numbers in its text."""

from __future__ import annotations

from typing import Any

import pytest

import workbench
from reproduction.hadar.theorem3 import cru_by_round
from workbench.analysis.metrics.summary import Summary, summary
from workbench.papers.hadar.algorithms.forking import copy_ids
from workbench.papers.hadar.algorithms.tracker import split
from workbench.scenario.scenario import Scenario
from workbench.scheduling.estimators.pmi import Pmi

PAIR = Scenario.from_dict(
    {
        "cluster": {
            "accelerators": [{"name": "fast"}, {"name": "slow"}],
            "nodes": [{"name": name, "accelerator": name, "gpus": 1} for name in ("fast", "slow")],
        },
        "jobs": [{"name": "job", "model": "m", "steps": 700}],
        "throughputs": [
            {"model": "m", "accelerator": "fast", "steps_per_s": 4.0},
            {"model": "m", "accelerator": "slow", "steps_per_s": 3.0},
        ],
    }
)


def measured(name: str, scheduler: str = "hadare", **knobs: Any) -> Summary:
    given = {**({"payoff": "balanced"} if scheduler == "hadare" else {}), **knobs}  # as on the page
    return summary(workbench.simulate(f"preset:{name}", scheduler, **given))


@pytest.mark.parametrize(
    ("knobs", "finish_s"),
    [({}, 117.5), ({"overhead_s": 0.0}, 100.0), ({"last_round": "all"}, 120.0), ({"forks": 1}, 175.0)],
)
def test_the_hand_example_and_exercise_1(knobs: dict[str, Any], finish_s: float) -> None:
    run = workbench.simulate(PAIR, "hadare", {"payoff": "balanced"}, round_s=100.0, **knobs)
    assert run.jobs["finish_s"].tolist() == [pytest.approx(finish_s)]


def test_under_hadar_two_of_five_nodes_are_idle_from_the_beginning() -> None:
    assert cru_by_round(workbench.simulate("preset:hadar_lab_M-3", "hadar"))["assigned"].max() == pytest.approx(0.6)


def test_under_hadare_no_node_is_without_a_copy_until_the_last_round() -> None:
    run = workbench.simulate("preset:hadar_lab_M-3", "hadare", {"payoff": "balanced"})
    assert (cru_by_round(run)["assigned"][:-1] > 1.0 - 1e-9).all()


def test_the_split_by_hand_and_exercise_2() -> None:
    assert split(10, [4, 3, 2]).tolist() == [5, 3, 2] and split(11, [5, 3, 1]).tolist() == [6, 4, 1]


def test_exercise_3() -> None:
    assert copy_ids(0, 2, 4) == (4, 8)
    assert not set(copy_ids(0, 2, 4)) & set(copy_ids(3, 2, 4))


def test_exercise_5() -> None:
    scenario = workbench.preset("hadar_lab_M-1")
    speeds = [
        scenario.table.on_nodes("MM: Encoder-Decoder Transformer", {n.name: 1}) for n in scenario.cluster.machines
    ]
    assert 1.5 < sum(speeds) / max(speeds) < 2
    alone_s = scenario.jobs[0].steps / max(speeds)
    forked_s = measured("hadar_lab_M-1", overhead_s=0.0)["makespan_s"]
    assert 0.95 < alone_s / forked_s / (sum(speeds) / max(speeds)) <= 1 + 1e-9


def test_exercise_6() -> None:
    """Nothing with one job, more with many jobs than with few."""
    alone, few, many = (
        measured(name, split="all_copies")["makespan_s"] / measured(name)["makespan_s"]
        for name in ("hadar_lab_M-1", "hadar_lab", "hadar_lab_M-12")
    )
    assert alone == 1 and 1.05 < few < many < 1.6


def test_on_aws_remaining_loses_all_that_forking_gains() -> None:
    on_aws = [measured("hadar_aws_M-12", payoff="remaining"), measured("hadar_aws_M-12", "hadar")]
    assert on_aws[0]["makespan_s"] > on_aws[1]["makespan_s"]


def test_the_estimate_takes_the_second_slowest_node_for_the_fastest() -> None:
    scenario = workbench.preset("hadar_lab")
    nodes, job, estimate = [node.name for node in scenario.cluster.machines], scenario.jobs[0], Pmi(scenario)
    guess = {node: estimate.on_nodes(job, {node: 1}) for node in nodes}
    true = {node: scenario.table.on_nodes(job.model, {node: 1}) for node in nodes}
    assert max(guess, key=guess.__getitem__) == sorted(nodes, key=true.__getitem__)[1] == "a2000-0"
