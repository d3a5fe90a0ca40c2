"""Bars in rows: schedules against the best bound, GPUs counted from a timeline, a queue summed by hand."""

from __future__ import annotations

import math
from itertools import pairwise

import pandas as pd
import pytest
from chart_tables import CLUSTER, interval, timeline

from workbench.analysis import charts
from workbench.analysis.charts import gangs, gangs_at, longest_queue_s, queue_at, service_window, to_svg
from workbench.base.errors import InputError

BOUNDS = {"weak": 6.0, "strong": 8.0}


def test_the_line_is_the_best_bound_and_ratios_are_over_it() -> None:
    drawing = charts.bound(BOUNDS, {"heuristic": 10.0, "optimum": 8.0})
    assert drawing.data["best"]["value"].tolist() == [8.0]
    assert drawing.table["over_bound"].tolist() == [0.75, 1.0, 1.25, 1.0]
    assert drawing.table["kind"].tolist() == ["bound", "bound", "schedule", "schedule"]
    texts = drawing.data["texts"]["text"].tolist()
    assert texts == ["6", "8", "10", "8", "0.750", "1.000", "1.250", "1.000"]


def test_its_label_counts_in_words_and_names_a_best_bound_only_if_there_is_one() -> None:
    labels = [charts.bound(bounds, {"x": 9.0}, title="T").label for bounds in (BOUNDS, {"low": 6.0}, {})]
    assert labels == [
        "T: 2 lower bounds and 1 schedule, the best bound 8.",
        "T: 1 lower bound and 1 schedule, the best bound 6.",
        "T: 0 lower bounds and 1 schedule.",
    ]


def test_large_values_are_written_out() -> None:
    texts = charts.bound({"low": 59739.07}, {"one": 80292.6}).data["texts"]["text"].tolist()
    assert texts == ["59,739", "80,293", "1.000", "1.344"]


def test_of_nothing_a_sentence_stands_in_the_chart() -> None:
    assert charts.bound({}, {}).data["message"]["text"].tolist() == ["Nothing to compare"]


def test_a_schedule_below_a_bound_is_an_error_but_not_for_rounding() -> None:
    charts.bound(BOUNDS, {"optimum": 8.0 - 1e-9})
    with pytest.raises(InputError, match="at least 8, the best lower bound"):
        charts.bound(BOUNDS, {"wrong": 7.9})


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_are_finite(value: float) -> None:
    with pytest.raises(InputError, match="bound, x"):
        charts.bound({"x": value}, {})


TIMELINE = timeline(
    interval("a-0", 0, "x", 0, 100, gpus=3),
    interval("a-0", 1, "x", 0, 100, gpus=3),
    interval("b-0", 0, "x", 0, 100, gpus=3),
    interval("b-0", 1, "y #0", 0, 40, "profile"),
    interval("b-0", 1, "y", 50, 60, "restart"),
    interval("b-0", 1, "y", 60, 200),
)
WEIGHED = pd.DataFrame(
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
    table = gangs_at(TIMELINE, WEIGHED, at_s)
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
    drawing = gangs(gangs_at(TIMELINE, WEIGHED, -1.0), cluster=CLUSTER)
    assert drawing.data["message"]["text"].tolist() == ["No job has GPUs"] and to_svg(drawing).startswith("<svg")


def test_bars_of_several_types_stand_behind_each_other_and_products_beside_them() -> None:
    drawing = gangs(gangs_at(TIMELINE, WEIGHED, 55.0), cluster=CLUSTER)
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
    bare = WEIGHED[WEIGHED["signal"] != "weight"]
    table = gangs_at(TIMELINE, bare, 55.0)
    assert all(map(math.isnan, table["weight"]))
    assert gangs(table, cluster=CLUSTER).data["heads"]["text"].tolist() == ["Priority", "Gain G"]


SIGNALS = pd.DataFrame(
    [
        (0, 0.0, "place", "b", 1.0),
        (0, 0.0, "place", "a", 2.0),
        (0, 0.0, "window", "b", 1.0),
        (0, 0.0, "window", "a", 1.0),
        (0, 0.0, "sensitivity", "a", 1.1),
        (0, 0.0, "latency_ratio", "a", 0.0),
        (0, 0.0, "latency_ratio", "b", 0.0),
        (1, 60.0, "place", "c", 1.0),
        (1, 60.0, "place", "b", 2.0),
        (1, 60.0, "place", "a", 3.0),
        (1, 60.0, "place", "d", 4.0),
        (1, 60.0, "window", "c", 1.0),
        (1, 60.0, "window", "b", 2.0),
        (1, 60.0, "window", "a", 0.0),
        (1, 60.0, "window", "d", 0.0),
        (1, 60.0, "let_in", "a", 1.0),
        (1, 60.0, "sensitivity", "b", 2.0),
        (1, 60.0, "sensitivity", "c", 1.4),
        (1, 60.0, "latency_ratio", "a", 0.5),
        (1, 60.0, "latency_ratio", "b", 0.6),
        (1, 60.0, "latency_ratio", "c", 0.75),
        (1, 60.0, "latency_ratio", "d", 0.25),
        (2, 90.0, "priority", "a", 3.0),
    ],
    columns=["decision", "time_s", "signal", "job", "value"],
)
LEAST = {"a": 2, "b": 1, "c": 4, "d": 8}


def test_the_queue_is_that_of_the_last_plan_up_to_the_time() -> None:
    assert queue_at(SIGNALS, LEAST, 1.4, 59.0)["job"].tolist() == ["b", "a"]
    for at_s in (60.0, 1000.0):
        table = queue_at(SIGNALS, LEAST, 1.4, at_s)
        assert table["job"].tolist() == ["c", "b", "a", "d"]
        assert table["summed_gpus"].tolist() == [4, 5, 7, 15]
        assert table["window"].tolist() == [1, 2, 0, 0] and table["adjusted"].tolist() == [False, False, True, False]
        assert table["latency_ratio"].tolist() == [0.75, 0.6, 0.5, 0.25]


def test_a_sensitivity_stays_known_and_counts_as_sensitive_above_sigma_only() -> None:
    table = queue_at(SIGNALS, LEAST, 1.4, 60.0).set_index("job")
    assert table["sensitivity"].dropna().to_dict() == {"c": 1.4, "b": 2.0, "a": 1.1}
    assert table["sensitive"].to_dict() == {"c": False, "b": True, "a": False, "d": False}


def test_before_the_first_plan_nobody_waits() -> None:
    drawing = service_window(queue_at(SIGNALS, LEAST, 1.4, -1.0), gpus=4)
    assert drawing.data["message"]["text"].tolist() == ["Nobody waits"] and to_svg(drawing).startswith("<svg")


def test_each_job_is_where_its_plan_put_it() -> None:
    drawing = service_window(queue_at(SIGNALS, LEAST, 1.4, 60.0), gpus=4)
    assert drawing.named() == drawing.chart.to_dict(validate=True) and to_svg(drawing).startswith("<svg")
    bars = drawing.data["bars"]
    assert bars[["job", "low", "summed_gpus"]].to_numpy().tolist() == [
        ["c", 0, 4],
        ["b", 4, 5],
        ["a", 5, 7],
        ["d", 7, 15],
    ]
    assert bars["who"].tolist() == [
        "service window",
        "window of a later plan",
        "let in onto fragments",
        "outside",
    ]
    assert drawing.data["total"]["gpus"].tolist() == [4]


def test_a_table_of_true_and_false_says_the_same() -> None:
    queue = pd.DataFrame(
        {
            "job": ["a", "b", "c"],
            "least_gpus": [2, 2, 1],
            "summed_gpus": [2, 4, 5],
            "window": [True, False, False],
            "adjusted": [True, True, False],
            "sensitivity": [1.5, 1.0, 2.0],
            "sensitive": [True, False, True],
            "latency_ratio": [0.3, 0.2, 0.1],
        }
    )
    drawing = service_window(queue, gpus=2)
    assert drawing.data["bars"]["who"].tolist() == ["service window", "let in onto fragments", "outside"]
    texts = drawing.data["texts"]
    assert texts["text"].tolist() == ["1.500 *", "1.000  ", "2.000 *", "0.3", "0.2", "0.1"]
    subtitle = drawing.named()["title"]["subtitle"]
    assert "mean sensitivity 1.50 inside; 1.50 in the whole queue" in subtitle and "sensitive" in subtitle


def test_the_longest_queue_is_the_first_of_equals() -> None:
    assert longest_queue_s(SIGNALS) == 60.0
    again = pd.concat([SIGNALS, SIGNALS[SIGNALS["decision"] == 1].assign(decision=3, time_s=200.0)])
    assert longest_queue_s(again) == 60.0


@pytest.mark.parametrize("jobs", [30, 250])
def test_a_long_queue_is_drawn_from_its_head_in_a_height_that_can_be_seen(jobs: int) -> None:
    names = [f"j{i}" for i in range(jobs)]
    queue = pd.DataFrame({"job": names, "least_gpus": 1, "window": 1, "adjusted": False, "sensitive": False})
    queue = queue.assign(summed_gpus=range(1, jobs + 1), sensitivity=1.0, latency_ratio=0.0)
    drawing = service_window(queue, gpus=64)
    assert len(drawing.data["bars"]) == min(jobs, 100) and len(drawing.table) == jobs
    assert drawing.named()["height"] <= 620 + 1
    rows = drawing.data["names"]["row"].tolist()
    px = drawing.named()["height"] / min(jobs, 100)
    assert min(b - a for a, b in pairwise(rows)) * px >= 14, "names do not overlap"
    assert ("first 100 of 250" in drawing.named()["title"]["subtitle"]) == (jobs == 250)
