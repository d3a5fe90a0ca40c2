"""The queue with its service window: what a run recorded, summed by hand, and who is said to be where."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd
import pytest

from workbench.analysis.charts import longest_queue_s, queue_at, service_window, to_svg

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
