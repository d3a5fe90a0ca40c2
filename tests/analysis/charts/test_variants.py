"""A setting varied: bars in proportion within each measure, numbers in words."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from workbench.analysis.charts import to_svg, variants
from workbench.analysis.charts.bar_charts import PANEL_PX

FRAME = pd.DataFrame(
    {"value": ["5 min", "20 min", "1 h"], "rate": [0.1, 0.4, math.nan], "mean_jct_s": [3600.0, 1800.0, 0.0]}
)


def test_a_bar_is_as_high_as_its_part_of_the_largest_of_its_measure() -> None:
    bars = variants(FRAME, title="t", x_title="x").data["bars"]
    high = (bars["y1"] - bars["y0"]).tolist()
    assert high == pytest.approx([PANEL_PX / 4, PANEL_PX, 0, PANEL_PX, PANEL_PX / 2, 0])
    assert bars.groupby("measure")["y1"].nunique().tolist() == [1, 1], "the bars of a measure stand on one line"


def test_numbers_are_written_with_their_units_and_what_is_missing_is_said() -> None:
    drawing = variants(FRAME, title="t", x_title="x", labels={"rate": "Misses"}, units={"mean_jct_s": "s"})
    assert drawing.data["bars"]["text"].tolist() == ["0.1", "0.4", "no value", "1 h", "30 min", "0 s"]
    assert drawing.data["heads"]["text"].tolist() == ["Misses", "mean_jct_s"]
    assert drawing.table.equals(FRAME)


def test_what_is_set_is_marked_and_named() -> None:
    drawing = variants(FRAME, title="t", x_title="x", now="20 min")
    assert drawing.data["bars"]["now"].tolist() == [False, True, False] * 2
    assert "20 min" in drawing.named()["title"]["subtitle"]
    assert "subtitle" not in variants(FRAME, title="t", x_title="x", now="7 min").named()["title"]


def test_values_stay_in_their_order() -> None:
    assert variants(FRAME, title="t", x_title="x").named()["layer"][1]["encoding"]["x"]["sort"] == [
        "5 min",
        "20 min",
        "1 h",
    ]


def test_without_runs_a_sentence_stands_in_the_chart() -> None:
    assert "Nothing was varied" in to_svg(variants(FRAME.head(0)[["value"]], title="t", x_title="x"))
