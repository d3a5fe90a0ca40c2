"""A plan by GPU: which GPUs of a type a job gets, and plans that ask for too many."""

from __future__ import annotations

from typing import Any

import pytest
from chart_tables import CLUSTER

from workbench.analysis.charts import plan
from workbench.analysis.charts.gantt import plan_timeline
from workbench.analysis.charts.theme import job_colours
from workbench.base.errors import InputError


def slot(job: str, number: int, **gpus: int) -> dict[str, Any]:
    return {"job": job, "start_s": 10.0 * number, "end_s": 10.0 * number + 10, "gpus": gpus, "steps": 6.0}


def test_a_gang_of_two_types_holds_a_gpu_of_each_and_shares_out_its_steps() -> None:
    rows = plan_timeline([slot("x", 0, v100=2, k80=1)], CLUSTER)
    assert rows[["node", "slot", "accelerator"]].to_numpy().tolist() == [
        ["a-0", 0, "v100"],
        ["a-0", 1, "v100"],
        ["b-0", 0, "k80"],
    ]
    assert rows["steps"].tolist() == [2.0] * 3 and set(rows["gpus"]) == {3}


def test_a_job_keeps_its_gpu_from_slot_to_slot() -> None:
    rows = plan_timeline([slot("x", 0, v100=1), slot("y", 0, v100=1), slot("y", 1, v100=1)], CLUSTER)
    assert rows[rows["job"] == "y"]["slot"].tolist() == [1, 1]


def test_a_gpu_that_another_job_leaves_is_free() -> None:
    rows = plan_timeline([slot("x", 0, v100=2), slot("y", 1, v100=2)], CLUSTER)
    assert rows["slot"].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("rows", [[slot("x", 0, v100=3)], [slot("x", 0, v100=2), slot("y", 0, v100=1)]])
def test_more_gpus_than_there_are_is_an_error(rows: list[dict[str, Any]]) -> None:
    with pytest.raises(InputError, match=r"plan, job \w at 0 s"):
        plan_timeline(rows, CLUSTER)


def test_a_pause_is_marked_where_it_begins_and_the_end_of_a_job_is_not() -> None:
    drawing = plan([slot("y", 0, v100=1), slot("y", 2, v100=1)], ["x", "y"], CLUSTER, end_s=50.0)
    assert drawing.named() == drawing.chart.to_dict(validate=True)
    assert drawing.data["marks"][["mark", "time_s"]].to_numpy().tolist() == [["preempted", 10.0]]
    assert drawing.data["span"]["t"].max() == 50.0


def test_a_job_has_the_colour_of_its_place_in_the_scenario() -> None:
    bars = plan([slot("y", 0, v100=1)], ["x", "y"], CLUSTER).data["bars"]
    assert set(bars["fill"]) == {job_colours(["x", "y"])["y"]}


def test_an_empty_plan_can_be_drawn() -> None:
    assert plan([], ["x"], CLUSTER).data["message"]["text"].tolist() == ["Nothing ran"]
