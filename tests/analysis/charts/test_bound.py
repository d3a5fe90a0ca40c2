"""Schedules against bounds: the line is the best bound, and a schedule below it is an error."""

from __future__ import annotations

import math

import pytest

from workbench.analysis import charts
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


def test_it_is_valid_and_a_picture_can_be_made_also_of_nothing() -> None:
    for drawing in (charts.bound(BOUNDS, {"heuristic": 10.0}), charts.bound({}, {}), charts.bound({}, {"x": 1.0})):
        assert drawing.named() == drawing.chart.to_dict(validate=True)
        assert drawing._repr_png_().startswith(b"\x89PNG")
    assert charts.bound({}, {}).data["message"]["text"].tolist() == ["Nothing to compare"]


def test_a_schedule_below_a_bound_is_an_error_but_not_for_rounding() -> None:
    charts.bound(BOUNDS, {"optimum": 8.0 - 1e-9})
    with pytest.raises(InputError, match="at least 8, the best lower bound"):
        charts.bound(BOUNDS, {"wrong": 7.9})


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_are_finite(value: float) -> None:
    with pytest.raises(InputError, match="bound, x"):
        charts.bound({"x": value}, {})
