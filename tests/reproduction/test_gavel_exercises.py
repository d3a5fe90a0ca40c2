"""What the later exercises of 01_gavel say."""

from __future__ import annotations

from typing import Any

import pytest

import workbench
from workbench.scenario.scenario import Scenario


def test_exercise_5_the_largest_total_starves_a_job() -> None:
    most = workbench.solve("preset:gavel_example", "gavel.max_throughput")
    fair = workbench.solve("preset:gavel_example", "gavel.max_min_fairness")
    assert most.objective == pytest.approx(5.0)
    equal = {"job 0": 2.5, "job 1": 2.0, "job 2": 1.5}
    total = sum(level * equal[job] for job, level in fair.values["normalized_throughput"].items())
    assert round(total, 2) == 4.36
    assert min(most.values["normalized_throughput"].values()) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("name", ["gavel.max_min_fairness", "gavel.water_filling"])
def test_exercise_6_a_heavy_job_has_half_of_the_capacity(name: str) -> None:
    types = {"fast": 2.0, "slow": 1.0}
    data: dict[str, Any] = {
        "cluster": {
            "accelerators": [{"name": kind} for kind in types],
            "nodes": [{"name": kind, "accelerator": kind, "gpus": 1} for kind in types],
        },
        "jobs": [{"name": f"job {i}", "model": "m", "steps": 100} for i in range(2)],
        "throughputs": [{"model": "m", "accelerator": kind, "steps_per_s": speed} for kind, speed in types.items()],
    }
    levels = workbench.solve(Scenario.from_dict(data), name).values["normalized_throughput"]
    assert list(levels.values()) == pytest.approx([1.0, 1.0])
    data["jobs"].append({"name": "job 2", "model": "m", "steps": 100, "weight": 2.0})
    levels = workbench.solve(Scenario.from_dict(data), name).values["normalized_throughput"]
    assert list(levels.values()) == pytest.approx([0.5, 0.5, 1.0])
