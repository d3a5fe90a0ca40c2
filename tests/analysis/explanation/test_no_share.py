"""Why a policy that divides time gives a job none of it: whose it is, by which order, and by how much."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench
from tests.analysis.explanation.asked_again import watch
from tests.analysis.explanation.explain_support import facts, scenario
from tests.analysis.explanation.test_lost_to import world
from workbench.simulation.schema import WORTH_ON

FOUR: list[dict[str, Any]] = [{"name": name, "gpus": gpus} for name, gpus in (("a", 2), ("b", 4), ("c", 1), ("d", 1))]
"""On four GPUs, places 4 to 1 per GPU: 2, 0.75, 2 and 1. `a`, `c` and `d` take all of them, though `b` came before."""


def test_fifo_says_who_is_worth_more_per_gpu_and_who_of_them_came_later() -> None:
    run = workbench.simulate(scenario(FOUR, gpus=4), "gavel.fifo")
    found = workbench.explain(run, "b", 0.0)
    least = "a GPU is worth, on v100, 0.75 with it, less than with a (2), c (2) and d (1)"
    assert found.binding == f"its share of time is 0: {least}"
    assert "By arrival c and d come after it, but are worth more per GPU." in found.sentences
    assert "By arrival (the lowest first) it is number 2 of 4" in found.reason and found.order == "arrival (s)"
    assert {one.job: one.comes for one in found.competitors} == {"a": "before", "c": "after", "d": "after"}
    assert facts(found)["worth per GPU on v100"] == pytest.approx(3 / 4)


def test_shortest_job_first_goes_by_the_time_left() -> None:
    """Of one GPU each, 600 s, 1200 s and 1800 s: places 3, 2 and 1, one GPU."""
    jobs = [{"name": name, "steps": steps} for name, steps in (("long", 1800.0), ("short", 600.0), ("mid", 1200.0))]
    run = workbench.simulate(scenario(jobs), "gavel.shortest_job_first")
    found = workbench.explain(run, "long", 0.0)
    assert found.binding == "its share of time is 0: a GPU is worth, on v100, 1 with it, less than with short (3)"
    assert "Without a share too, but worth no less on some type: mid." in found.sentences
    assert "By time left on its fastest type (the lowest first) it is number 3 of 3: 30 min." in found.sentences
    literal = workbench.simulate(scenario(jobs), "gavel.shortest_job_first", literal=True)
    only = workbench.explain(literal, "long", 0.0).binding
    assert only.endswith("as printed (literal) the policy serves one job, short; others get what the solver leaves")


def priced(jobs: list[dict[str, Any]]) -> workbench.Scenario:
    """One node of two GPUs; `m` does a step a second on each, `n` half a one."""
    rows = [
        {"model": model, "accelerator": "v100", "gpus": gpus, "steps_per_s": gpus * speed}
        for model, speed in (("m", 1.0), ("n", 0.5))
        for gpus in (1, 2)
    ]
    given = scenario(jobs, gpus=2, throughputs=rows).to_dict()
    given["cluster"]["accelerators"] = [{"name": "v100", "price_per_hour": 2.0}]
    return workbench.Scenario.from_dict(given)


def test_policies_of_cost_say_who_does_more_for_the_money_and_what_would_lower_the_ratio() -> None:
    jobs = [{"name": "slow", "model": "n"}, {"name": "fast"}, {"name": "other"}]
    found = workbench.explain(workbench.simulate(priced(jobs), "gavel.min_cost"), "slow", 0.0)
    assert found.binding.endswith("a GPU is worth, on v100, 0.25 with it, less than with fast (0.5) and other (0.5)")
    alone = workbench.simulate(priced(jobs[:2]), "gavel.min_cost", objective="ratio")
    ratio = workbench.explain(alone, "slow", 0.0).binding
    assert ratio.startswith("its share of time is 0: its worth of 0.25 per GPU of v100 would lower the ratio")
    assert ratio.endswith("v100 stays free, as nobody has GPUs without a share of them (knob Leftovers: none)")
    assert alone.decisions["objective"].iloc[0] == pytest.approx(0.5)


def test_hierarchical_who_comes_later_in_an_entity_that_serves_by_arrival_is_told_of_those_before() -> None:
    entities = [{"name": "queue", "policy": "fifo"}, {"name": "fair"}]
    jobs = [{"name": "one", "entity": "queue"}, {"name": "two", "entity": "queue"}, {"name": "three", "entity": "fair"}]
    watched = watch(scenario(jobs, entities=entities), "gavel.hierarchical")
    found = workbench.explain(watched.run, "two", 0.0)
    assert "its share of time is 0: in entity queue one came before it" in found.binding
    assert found.order == "arrival in entity queue (s)" and "number 2 of 2" in found.reason
    assert watched.share_again(watched.calls[0], "two", {"one"}) > 0
    assert watched.share_again(watched.calls[0], "two", {"three"}) == 0


def test_fifo_through_gavels_rounds_says_who_blocks_the_line_or_has_the_gpus() -> None:
    jobs = [{"name": "one", "gpus": 2}, {"name": "big", "gpus": 4}, {"name": "last"}]
    given, authors = scenario(jobs, gpus=4), {"preset": "authors"}
    run = workbench.simulate(given, "fifo", **authors)
    big, last = (workbench.explain(run, job, 0.0) for job in ("big", "last"))
    assert big.binding.startswith("its share of time is 0: by arrival one came before it and takes GPUs")
    assert last.binding.startswith("its share of time is 0: big came before it and finds no room, and nobody passes it")
    passed = workbench.simulate(given, "fifo", blocking=False, **authors)
    assert workbench.explain(passed, "last", 0.0).state == "running"


@pytest.mark.parametrize("name", ["gavel.fifo", "gavel.max_throughput", "gavel.min_cost"])
def test_without_those_who_are_worth_no_less_the_policy_gives_it_a_share(name: str) -> None:
    """Of all who come first by the recorded worths; of a type with two jobs of equal worth either may be the one."""
    checked = 0
    for seed in (0, 1, 3, 4):
        given = world(seed).to_dict()
        given["cluster"]["accelerators"] = [
            {**each, "price_per_hour": 1.0} for each in given["cluster"]["accelerators"]
        ]
        watched = watch(workbench.Scenario.from_dict(given), name, until_s=4000.0)
        signals = watched.run.signals[watched.run.signals["signal"].str.startswith(WORTH_ON)]
        for call in watched.calls:
            at_s = call.snapshot.now_s
            now = signals[signals["time_s"] == at_s]
            for job in dict.fromkeys(now["job"]) if at_s < watched.run.end_s else ():
                found = workbench.explain(watched.run, job, at_s)
                if found.state != "waiting" or "a GPU is worth" not in found.binding:
                    continue
                own = now[now["job"] == job].set_index("signal")["value"]
                rivals = now[(now["job"] != job) & (now["value"] >= now["signal"].map(own).fillna(np.inf) * (1 - 1e-9))]
                assert watched.share_again(call, job, ()) == 0
                assert watched.share_again(call, job, set(rivals["job"])) > 0, f"{job} at {at_s}: {found.reason}"
                assert any(f"{each} (" in found.binding for each in rivals["job"]), found.reason
                checked += 1
    assert checked > 3


def test_types_that_are_too_small_are_told_apart_from_those_that_are_taken() -> None:
    """Gangs of two: the two V100s are held, the one K80 could never hold one, and the P100 runs no such model."""
    rows = [
        {"model": "m", "accelerator": kind, "gpus": gpus, "steps_per_s": float(gpus)}
        for kind in ("v100", "k80")
        for gpus in (1, 2)
    ]
    given = {
        "format": "workbench-scenario/1",
        "cluster": {
            "accelerators": [{"name": kind} for kind in ("v100", "k80", "p100")],
            "nodes": [
                {"name": kind, "accelerator": kind, "gpus": gpus}
                for kind, gpus in (("v100", 2), ("k80", 1), ("p100", 2))
            ],
        },
        "jobs": [
            {"name": "one", "model": "m", "steps": 3600.0, "gpus": 2},
            {"name": "two", "model": "m", "steps": 3600.0, "gpus": 2},
            {"name": "small", "model": "m", "steps": 3600.0},
        ],
        "throughputs": rows,
    }
    run = workbench.simulate(workbench.Scenario.from_dict(given), "fifo", blocking=False)
    found = workbench.explain(run, "two", 60.0)
    needs = (
        "It needs 2 GPUs; free of the types on which it runs: 0 of 2 v100: too few; too small for it: k80 (1 in all)."
    )
    assert found.sentences[1] == needs and "p100" not in found.reason
    assert [one.job for one in found.competitors] == ["one"], "`small`, on the K80, has nothing that it could use"
    assert "speed on k80" not in facts(found)
    mixed = workbench.explain(workbench.simulate(run.scenario, "hadar"), "two", 60.0)
    assert "too small" not in mixed.reason, "Hadar may give a gang GPUs of both types"


def test_the_sizes_that_a_job_may_have_differ_by_type() -> None:
    rows = [
        {"model": "m", "accelerator": kind, "gpus": gpus, "steps_per_s": speed}
        for kind, gpus, speed in (("v100", 2, 2.0), ("k80", 1, 0.5))
    ]
    given = {
        "format": "workbench-scenario/1",
        "cluster": {
            "accelerators": [{"name": "v100"}, {"name": "k80"}],
            "nodes": [{"name": kind, "accelerator": kind, "gpus": gpus} for kind, gpus in (("v100", 2), ("k80", 1))],
        },
        "jobs": [
            {"name": name, "model": "m", "steps": 3600.0, "gpus": 2, "gpu_choices": [1, 2]} for name in ("a", "b", "c")
        ],
        "throughputs": rows,
        "scaling": {"law": "none"},
    }
    run = workbench.simulate(workbench.Scenario.from_dict(given), "hops", profile_iterations=0, until_s=900.0)
    waits = [found for job in "abc" if (found := workbench.explain(run, job, 100.0)).state == "waiting"]
    assert waits and all("It needs 2 GPUs of v100, 1 GPU of k80" in found.reason for found in waits)


def test_who_has_a_share_for_its_deadline_is_not_said_to_be_worth_more() -> None:
    """`slow` needs half of the time of a GPU for its deadline; `wide` asks for both and gets nothing of the rest."""
    jobs: list[dict[str, Any]] = [
        {"name": "slow", "model": "n", "steps": 900.0, "rewards": [[1850.0, 1.0]]},
        {"name": "fast"},
        {"name": "middle", "model": "n"},
    ]
    given = priced([{**jobs[0], "gpus": 2}, {**jobs[1], "gpus": 2}, {**jobs[2], "gpus": 2}])
    run = workbench.simulate(given, "gavel.min_cost_slo")
    found = workbench.explain(run, "middle", 0.0)
    assert found.state == "waiting" and "no more than with slow (0.25) and fast (0.5)" in found.binding


def test_gpus_that_come_back_are_not_held_against_what_the_last_decision_knew() -> None:
    """Nobody can run at 360 s, so that there are no shares, and those of 0 s are none of the job's any more."""
    faults = {"list": [{"node": "a-0", "from_s": 300.0, "to_s": 400.0}]}
    jobs = [{"name": "one", "gpus": 2}]
    run = workbench.simulate(scenario(jobs, gpus=1, nodes=2, core={"faults": faults}), "gavel.water_filling")
    found = workbench.explain(run, "one", 390.0)
    assert found.binding == "at the last decision, at 6 min, no type on which it runs had 2 GPUs on nodes that were up"
    assert "Its shares" not in found.reason


def test_a_gang_that_no_type_alone_holds_is_told_so_and_who_holds_its_gpus() -> None:
    """`wide` needs three GPUs of two V100s and one K80, which `srtf` does not give it together."""
    rows = [
        {"model": "m", "accelerator": kind, "gpus": gpus, "steps_per_s": float(gpus)}
        for kind in ("v100", "k80")
        for gpus in (1, 3)
    ]
    nodes = [{"name": kind, "accelerator": kind, "gpus": gpus} for kind, gpus in (("v100", 2), ("k80", 1))]
    jobs = [{"name": "one"}, {"name": "wide", "gpus": 3}]
    given = scenario(jobs).to_dict() | {"throughputs": rows}
    given["cluster"] = {"accelerators": [{"name": "v100"}, {"name": "k80"}], "nodes": nodes}
    run = workbench.simulate(workbench.Scenario.from_dict(given), "srtf", until_s=600.0)
    found = workbench.explain(run, "wide", 60.0)
    assert "It needs 3 GPUs, more than the cluster has of any one type on which it runs; free: " in found.reason
    assert [one.job for one in found.competitors] == ["one"]


def test_who_blocks_the_line_did_not_fit_then_if_gpus_became_free_since() -> None:
    """At 360 s `big` does not fit beside `short`, which is done at 400 s; FIFO is asked again at 720 s."""
    jobs = [
        {"name": "short", "gpus": 2, "steps": 800.0},
        {"name": "big", "gpus": 4, "arrival_s": 10.0},
        {"name": "last", "arrival_s": 20.0},
    ]
    run = workbench.simulate(scenario(jobs, gpus=4), "fifo", round_s=360)
    before, after = (workbench.explain(run, "last", at_s).binding for at_s in (380.0, 450.0))
    assert before == "by arrival big waits before it and does not fit, and nobody passes it"
    assert (
        after == "by arrival big waits before it and did not fit at the last decision, at 6 min, and nobody passes it"
    )
