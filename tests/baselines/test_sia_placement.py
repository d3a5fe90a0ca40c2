"""Where Sia places what it has chosen: a gang that fits a node is not split, unless the knob `split` says so."""

from __future__ import annotations

from typing import Any

import pytest

import workbench
from workbench.scenario.scenario import Scenario


def three_of_three() -> Scenario:
    """Two nodes of 4 GPUs of one type for two gangs of 3 and one of 2; n GPUs do n steps/s however they are placed."""
    rows = [
        {"model": "m", "accelerator": "x", "gpus": n, "placement": word, "steps_per_s": float(n)}
        for n in (2, 3, 6)
        for word in ("consolidated", "unconsolidated")
    ]
    cluster = {"accelerators": [{"name": "x"}], "nodes": [{"name": "a", "accelerator": "x", "gpus": 4, "count": 2}]}
    jobs: list[dict[str, Any]] = [
        {"name": f"j{i}", "model": "m", "gpus": n, "steps": 60.0 * n} for i, n in enumerate((3, 3, 2))
    ]
    return Scenario.from_dict({"cluster": cluster, "jobs": jobs, "throughputs": rows})


def test_a_gang_that_fits_a_node_waits_for_one_though_enough_gpus_are_idle() -> None:
    run = workbench.simulate(three_of_three(), "sia", round_s=60.0)
    assert run.jobs["finish_s"].tolist() == pytest.approx([60.0, 60.0, 120.0])
    assert run.decisions["busy_gpus"].iloc[0] == 6 and workbench.summary(run)["fragments_gpus"] == pytest.approx(1.0)


def test_with_the_knob_it_is_split_over_nodes() -> None:
    run = workbench.simulate(three_of_three(), "sia", round_s=60.0, split=True)
    assert run.jobs["finish_s"].tolist() == pytest.approx([60.0, 60.0, 60.0])
    assert set(run.timeline.loc[run.timeline["job"] == "j2", "node"]) == {"a-0", "a-1"}


def test_a_gang_larger_than_a_node_is_on_as_few_as_can_hold_it() -> None:
    whole = three_of_three()
    large = whole.replace(jobs=[whole.jobs[0].model_copy(update={"gpus": 6, "steps": 360.0})])
    run = workbench.simulate(large, "sia", round_s=60.0)
    assert run.jobs["finish_s"].tolist() == pytest.approx([60.0])
    assert run.timeline.groupby("node")["slot"].nunique().tolist() == [4, 2]
