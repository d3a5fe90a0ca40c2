"""Nodes that are drained: what runs there goes on, nothing starts; nodes with names of their own."""

from __future__ import annotations

import math
from typing import Any

import pytest

import workbench
from workbench.base.errors import ScenarioError
from workbench.scenario.scenario import Scenario
from workbench.simulation.conservation import check


def scenario(outages: list[dict[str, Any]], running: bool = False) -> Scenario:
    """Two nodes of one GPU; `a` takes 100 s from 0 s on, `b` 50 s from 10 s on."""
    group = {"name": "old", "accelerator": "x", "gpus": 1, "count": 2, "hosts": ["ox-1", "ox-2"]}
    jobs: list[dict[str, Any]] = [
        {"name": "a", "model": "m", "steps": 100.0},
        {"name": "b", "model": "m", "steps": 50.0, "arrival_s": 10.0},
        {"name": "c", "model": "m", "steps": 50.0, "arrival_s": 10.0},
    ]
    return Scenario.from_dict(
        {
            "cluster": {"accelerators": [{"name": "x"}], "nodes": [group]},
            "jobs": jobs,
            "throughputs": [{"model": "m", "accelerator": "x", "steps_per_s": 1.0}],
            "core": {"faults": {"list": outages}},
            "running": [{"job": "a", "gpus": {"ox-1": 1}}] if running else [],
        }
    )


def starts(found: workbench.Run) -> dict[str, tuple[str, float, float]]:
    ran = found.timeline[found.timeline["kind"] == "run"]
    columns = (ran[name].tolist() for name in ("job", "node", "start_s", "end_s"))
    return {job: (node, start_s, end_s) for job, node, start_s, end_s in zip(*columns, strict=True)}


def simulated(source: Scenario) -> workbench.Run:
    run = workbench.simulate(source, "fifo", round_s=0)
    assert check(run) == []
    return run


def test_a_drained_node_keeps_its_job_and_takes_no_other() -> None:
    run = simulated(scenario([{"node": "ox-1", "from_s": 5.0, "to_s": 120.0, "drain": True}]))
    assert starts(run) == {"a": ("ox-1", 0.0, 100.0), "b": ("ox-2", 10.0, 60.0), "c": ("ox-2", 60.0, 110.0)}
    fault = run.events[run.events["event"] == "fault"]
    assert fault["reason"].tolist() == ["drained: what runs there goes on"]


def test_without_draining_its_job_is_lost_and_begins_anew() -> None:
    run = simulated(scenario([{"node": "ox-1", "from_s": 5.0, "to_s": 120.0}]))
    assert run.jobs.set_index("job")["steps_lost"].to_dict() == {"a": 5.0, "b": 0.0, "c": 0.0}


def test_a_drained_node_that_fails_loses_its_job_and_what_is_free_is_down() -> None:
    drained = {"node": "ox-1", "from_s": 5.0, "to_s": 120.0, "drain": True}
    run = simulated(scenario([drained, {"node": "ox-1", "from_s": 50.0, "to_s": 90.0}]))
    down = run.timeline[run.timeline["kind"] == "down"]
    assert down[["start_s", "end_s"]].to_numpy().tolist() == [[50.0, 120.0]]
    assert run.jobs.set_index("job")["steps_lost"]["a"] == 50.0


def test_a_job_that_runs_at_the_start_is_not_thrown_off_a_drained_node() -> None:
    """FIFO, which is not told that it may stay, moves it; of a node that is down it is preempted."""
    told = []
    for drain in (True, False):
        run = simulated(scenario([{"node": "ox-1", "from_s": 0.0, "to_s": 120.0, "drain": drain}], running=True))
        told.append(run.events[(run.events["job"] == "a") & (run.events["time_s"] == 0)]["event"].tolist())
    assert told == [["arrival", "start", "move"], ["arrival", "preempt", "start"]]


IN_ROUNDS = {"chronus", "gandiva", "gavel", "hadare", "hare", "hops", "isolated", "sia"}
"""Whoever hands out the GPUs that are up anew in every round: what runs on a drained node ends with its round."""


def test_with_every_scheduler_who_runs_on_a_drained_node_goes_on() -> None:
    """Two nodes of 2 GPUs, each with a job until 1500 s; one is drained, and two jobs come that would take its GPUs."""
    steps = {"a": (0.0, 3000.0), "b": (0.0, 3000.0), "c": (500.0, 3000.0), "d": (500.0, 1000.0)}
    source = Scenario.from_dict(
        {
            "cluster": {
                "accelerators": [{"name": "x", "price_per_hour": 1.0}],
                "nodes": [{"name": "n", "accelerator": "x", "gpus": 2, "count": 2}],
            },
            "jobs": [
                {"name": name, "model": "m", "gpus": 2, "arrival_s": at_s, "steps": each}
                for name, (at_s, each) in steps.items()
            ],
            "throughputs": [
                {"model": "m", "accelerator": "x", "gpus": 2, "placement": word, "steps_per_s": speed}
                for word, speed in (("consolidated", 2.0), ("unconsolidated", 1.5))
            ],
            "core": {
                "restart": {"restart_s": 10.0},
                "faults": {"list": [{"node": "n-1", "from_s": 400.0, "to_s": 3000.0, "drain": True}]},
            },
        }
    )
    ends = {}
    for name in [each.name for each in workbench.schedulers()]:
        ran = workbench.simulate(source, name, detail=0).timeline.query(
            "node == 'n-1' and start_s < 3000 and kind == 'run'"
        )
        ends[name] = ran["end_s"].max()
    assert math.isnan(ends.pop("sched_allox"))  # one GPU for each job: both are on the other node
    assert min(ends.values()) > 400.0
    assert {name.split(".")[0] for name, end_s in ends.items() if end_s < 1500.0} == IN_ROUNDS


def test_names_of_nodes_are_used_as_far_as_they_go() -> None:
    data = scenario([]).to_dict()
    data["cluster"]["nodes"][0]["count"] = 3
    assert [node.name for node in Scenario.from_dict(data).cluster.each_node] == ["ox-1", "ox-2", "old-2"]
    data["cluster"]["nodes"][0]["hosts"] = ["ox-1", "ox-1"]
    with pytest.raises(ScenarioError, match=r"ox-1.*a name of its own"):
        Scenario.from_dict(data)
