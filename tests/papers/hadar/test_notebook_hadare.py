"""What 03_hadare says beside what its last cell asserts: the hand example, the exercises, the numbers in its text."""

from __future__ import annotations

from typing import Any

import pytest

import workbench
from reproduction.hadar.theorem3 import cru, cru_by_round, premise
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


def test_exercise_4_and_more_copies_than_nodes() -> None:
    found = {forks: measured("hadar_lab", forks=forks) for forks in range(1, 8)}
    assert min(found, key=lambda forks: found[forks]["mean_jct_s"]) == 2
    assert found[5]["mean_jct_s"] == found[6]["mean_jct_s"] == found[7]["mean_jct_s"]
    assert found[5]["makespan_s"] == found[7]["makespan_s"] < found[4]["makespan_s"]


def test_dear_consolidation_wants_one_copy_and_slots_of_an_hour_want_two() -> None:
    free = workbench.preset("hadar_lab_M-12").replace(core={})
    dear, long = (
        {
            forks: workbench.simulate(free, "hadare", {"payoff": "balanced"}, forks=forks, **knobs)
            for forks in range(1, 7)
        }
        for knobs in ({"overhead_s": 120.0}, {"overhead_s": 0.0, "round_s": 3600.0})
    )
    assert max(dear, key=lambda forks: cru(dear[forks])) == 1
    assert premise(workbench.simulate(free, "hadare", {"payoff": "balanced"}, overhead_s=0.0)) and not premise(long[5])
    assert cru(long[1]) < cru(long[2]) < 0.8
    assert [cru(long[forks]) for forks in range(3, 7)] == pytest.approx([cru(long[2])] * 4)


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


def test_what_is_said_of_the_payoffs() -> None:
    found = {p: measured("hadar_lab_M-12", payoff=p) for p in ("balanced", "remaining", "work", "utility")}
    others = [measured("hadar_lab_M-12", name) for name in ("hadar", "gavel.max_min_fairness")]
    ends = {name: value["makespan_s"] for name, value in found.items()}
    assert sorted(ends, key=ends.__getitem__) == ["work", "balanced", "remaining", "utility"]
    assert sorted(found, key=lambda p: found[p]["mean_jct_s"]) == ["remaining", "balanced", "utility", "work"]
    hadar_s = others[0]["makespan_s"]
    assert 0.2 < (hadar_s - ends["remaining"]) / (hadar_s - ends["balanced"]) < 0.5
    assert found["work"]["mean_jct_s"] > max(other["mean_jct_s"] for other in others)
    on_aws = [measured("hadar_aws_M-12", payoff="remaining"), measured("hadar_aws_M-12", "hadar")]
    assert on_aws[0]["makespan_s"] > on_aws[1]["makespan_s"]


def test_what_believing_the_estimate_costs() -> None:
    known, blind = (
        summary(workbench.simulate("preset:hadar_lab", "hadare", {"payoff": "balanced"}, belief=b))
        for b in (None, "pmi")
    )
    whole, mean = (blind[measure] / known[measure] for measure in ("makespan_s", "mean_jct_s"))
    assert 1 < whole < 1.1 and whole < mean < 1.3


def test_the_estimate_takes_the_second_slowest_node_for_the_fastest() -> None:
    scenario = workbench.preset("hadar_lab")
    nodes, job, estimate = [node.name for node in scenario.cluster.machines], scenario.jobs[0], Pmi(scenario)
    guess = {node: estimate.on_nodes(job, {node: 1}) for node in nodes}
    true = {node: scenario.table.on_nodes(job.model, {node: 1}) for node in nodes}
    assert max(guess, key=guess.__getitem__) == sorted(nodes, key=true.__getitem__)[1] == "a2000-0"
