"""Small Slurm sites, made by hand."""

from __future__ import annotations

from typing import Any

import workbench
from workbench.scenario.scenario import Scenario
from workbench.simulation.conservation import check

CONFIG = {
    **{"kind": "config", "name": "alpha", "PriorityCalcPeriod": "00:01:00", "PriorityMaxAge": "00:30:00"},
    **{"PriorityDecayHalfLife": "00:10:00", "PriorityWeightAge": 2000, "PriorityWeightQOS": 3000},
    **{"PriorityWeightFairShare": 5000, "PriorityWeightJobSize": 1000, "PriorityWeightPartition": 1000},
    "SchedulerParameters": "bf_interval=10,bf_resolution=30,bf_window=240,sched_interval=15",
}


def job(name: str, at_s: float, run_s: float, gpus: int, limit_s: float, **more: Any) -> dict[str, Any]:
    """A job of partition p that holds no CPUs; more: its user, and attributes."""
    user = more.pop("user", "ada")
    facts = {"partition": "p", "limit_s": limit_s, "account": "bio", "qos": "normal", "nodes": 1, **more}
    return {
        **{"name": name, "model": "recorded on x", "arrival_s": at_s, "steps": run_s, "gpus": gpus, "user": user},
        "attributes": facts,
    }


def site_of(*jobs: dict[str, Any], entities: tuple[dict[str, Any], ...] = (), **node: Any) -> Scenario:
    """One node of 8 GPUs (or as `node` says) in partition p."""
    group = {"name": "n", "accelerator": "x", "gpus": 8, "attributes": {"partitions": "p", "cpus": 64}} | node
    records = [CONFIG, {"kind": "partition", "name": "p", "PriorityTier": 1}, *entities]
    return Scenario.from_dict(
        {
            "cluster": {"accelerators": [{"name": "x"}], "nodes": [group]},
            "jobs": list(jobs),
            "entities": [{"name": f"{i} {each['kind']}", "attributes": each} for i, each in enumerate(records)],
            "throughputs": [
                {"model": "recorded on x", "accelerator": "x", "gpus": gpus, "steps_per_s": 1.0}
                for gpus in range(1, 17)
            ],
        }
    )


def starts(scenario: Scenario, **knobs: Any) -> dict[str, float]:
    run = workbench.simulate(scenario, "slurm", **knobs)
    assert check(run) == []
    return {name: float(at_s) for name, at_s in zip(run.jobs["job"], run.jobs["first_start_s"], strict=True)}


def why(scenario: Scenario, name: str, at_s: float) -> str:
    """What decided, as `explain` says it."""
    return workbench.explain(workbench.simulate(scenario, "slurm"), name, at_s).binding


def beside(name: str, gpus: int, **more: Any) -> dict[str, Any]:
    """A job of a log that is none of the scenario's."""
    facts = {"kind": "beside", "name": name, "gpus": gpus, "types": "x", "partition": "p", "limit_s": 60.0, "nodes": 1}
    return {**facts, "user": "bob", "account": "bio", "qos": "normal", "eligible_s": 1.0, **more}


def with_config(scenario: Scenario, config: dict[str, Any]) -> Scenario:
    records = scenario.to_dict()
    records["entities"][0]["attributes"] = config
    return Scenario.from_dict(records)
