"""What 03_hadare says of its smallest example and does not run itself."""

from __future__ import annotations

from typing import Any

import pytest

import workbench
from workbench.scenario.scenario import Scenario

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


@pytest.mark.parametrize(
    ("knobs", "finish_s"),
    [({}, 117.5), ({"overhead_s": 0.0}, 100.0), ({"last_round": "all"}, 120.0), ({"forks": 1}, 175.0)],
)
def test_the_hand_example(knobs: dict[str, Any], finish_s: float) -> None:
    run = workbench.simulate(PAIR, "hadare", {"payoff": "balanced"}, round_s=100.0, **knobs)
    assert run.jobs["finish_s"].tolist() == [pytest.approx(finish_s)]
