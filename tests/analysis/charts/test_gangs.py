"""Who has how many GPUs at a time: counted by hand from a timeline, beside what the plan went by."""

from __future__ import annotations

import math

import pandas as pd
from chart_tables import CLUSTER, interval, timeline

from workbench.analysis.charts import gangs, gangs_at, to_svg

TIMELINE = timeline(
    interval("a-0", 0, "x", 0, 100, gpus=3),
    interval("a-0", 1, "x", 0, 100, gpus=3),
    interval("b-0", 0, "x", 0, 100, gpus=3),
    interval("b-0", 1, "y #0", 0, 40, "profile"),
    interval("b-0", 1, "y", 50, 60, "restart"),
    interval("b-0", 1, "y", 60, 200),
)
SIGNALS = pd.DataFrame(
    [
        (0, 0.0, "priority", "x", 1.0),
        (0, 0.0, "priority", "y", 2.0),
        (0, 0.0, "weight", "x", 3.0),
        (0, 0.0, "weight", "y", 4.0),
        (0, 0.0, "gain", "x", 2.5),
        (0, 0.0, "gain", "y", 1.5),
        (1, 100.0, "priority", "y", 5.0),
        (1, 100.0, "weight", "y", 9.0),
    ],
    columns=["decision", "time_s", "signal", "job", "value"],
)


def rows(at_s: float) -> list[list[object]]:
    table = gangs_at(TIMELINE, SIGNALS, at_s)
    assert list(table.columns) == ["job", "priority", "weight", "gain", "accelerator", "gpus"]
    found: list[list[object]] = table.astype(object).where(table.notna(), None).to_numpy().tolist()
    return found


def test_slots_are_counted_by_type_and_the_first_of_the_queue_comes_first() -> None:
    assert rows(55.0) == [
        ["y", 2.0, 4.0, 1.5, "k80", 1],
        ["x", 1.0, 3.0, 2.5, "v100", 2],
        ["x", 1.0, 3.0, 2.5, "k80", 1],
    ]


def test_a_profile_is_no_plan_and_who_has_nothing_gains_nothing() -> None:
    assert rows(10.0)[0] == ["y", 2.0, 4.0, None, "", 0]


def test_at_the_end_of_an_interval_its_gpus_are_given_back() -> None:
    assert rows(100.0) == [["y", 5.0, 9.0, 1.5, "k80", 1]]


def test_before_the_first_decision_there_is_nothing() -> None:
    drawing = gangs(gangs_at(TIMELINE, SIGNALS, -1.0), cluster=CLUSTER)
    assert drawing.data["message"]["text"].tolist() == ["No job has GPUs"] and to_svg(drawing).startswith("<svg")


def test_bars_of_several_types_stand_behind_each_other_and_products_beside_them() -> None:
    drawing = gangs(gangs_at(TIMELINE, SIGNALS, 55.0), cluster=CLUSTER)
    assert drawing.named() == drawing.chart.to_dict(validate=True) and to_svg(drawing).startswith("<svg")
    bars = drawing.data["bars"]
    assert bars[["job", "accelerator", "low", "high", "row"]].to_numpy().tolist() == [
        ["y", "k80", 0, 1, 0],
        ["x", "v100", 0, 2, 1],
        ["x", "k80", 2, 3, 1],
    ]
    texts = drawing.data["texts"]
    products = texts[texts["px"] == texts["px"].max()]["text"].tolist()
    assert products == ["6", "7.5"], "4 x 1.5 and 3 x 2.5"
    assert drawing.data["heads"]["text"].tolist() == ["Priority", "Weight W", "Gain G", "W x G"]
    assert drawing.named()["title"]["subtitle"] == "2 of 2 jobs have 4 of 4 GPUs, summed gain 4.0"


def test_without_weights_there_is_no_column_of_them() -> None:
    bare = SIGNALS[SIGNALS["signal"] != "weight"]
    table = gangs_at(TIMELINE, bare, 55.0)
    assert all(map(math.isnan, table["weight"]))
    assert gangs(table, cluster=CLUSTER).data["heads"]["text"].tolist() == ["Priority", "Gain G"]
