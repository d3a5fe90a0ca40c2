"""The share of jobs up to a value of a measure, counted by hand."""

from __future__ import annotations

import math

from workbench.analysis.charts import cdf, cdf_table, to_svg

TITLES = {"title": "Latency ratio", "x_title": "Latency ratio"}


def test_a_value_counts_from_where_it_is_reached_and_missing_ones_never() -> None:
    assert cdf_table([3.0, 1.0, math.nan, 1.0]).to_numpy().tolist() == [[1.0, 0.5], [3.0, 0.75]]
    assert cdf_table([]).empty and cdf_table([math.nan]).empty


def test_lines_rise_from_0_and_reach_the_largest_value_of_all() -> None:
    drawing = cdf({"hops": [1.0, 3.0], "sia": [2.0, math.nan], "none": [math.nan]}, **TITLES)
    lines = drawing.data["lines"]
    assert lines[lines["run"] == "hops"][["value", "share"]].to_numpy().tolist() == [[0, 0], [1, 0.5], [3, 1], [3, 1]]
    assert lines[lines["run"] == "sia"][["value", "share"]].to_numpy().tolist() == [[0, 0], [2, 0.5], [3, 0.5]]
    assert drawing.table.to_numpy().tolist() == [["hops", 1.0, 0.5], ["hops", 3.0, 1.0], ["sia", 2.0, 0.5]]
    assert drawing.named() == drawing.chart.to_dict(validate=True)
    assert to_svg(drawing).startswith("<svg")


def test_without_values_it_says_so() -> None:
    for values in ({}, {"hops": []}, {"hops": [math.nan]}):
        drawing = cdf(values, **TITLES)
        assert drawing.data["message"]["text"].tolist() == ["No values"] and to_svg(drawing).startswith("<svg")
