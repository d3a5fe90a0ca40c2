"""Another network and other batches by hand, and what they do to Hare's completion times."""

from __future__ import annotations

from typing import Any

import pytest
from pytest import approx

from workbench import simulate, summary
from workbench.base.errors import InputError
from workbench.papers.hare.lessons.vary import at_bandwidth, at_batch
from workbench.scenario.scenario import Scenario


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
