"""Curves with bands and saturated points, heat maps, bands that add up."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import pandas as pd
import pytest

from workbench.analysis.charts import Drawing, to_svg
from workbench.analysis.charts.areas import bands
from workbench.analysis.charts.curves import curve
from workbench.analysis.charts.heat_maps import heat_map

TITLES = {"title": "T", "x_title": "X (h)", "y_title": "Y (s)"}
STEADY = pd.DataFrame({"line": ["a", "a", "b", "b"], "x": [1.0, 2.0, 1.0, 2.0], "y": [1.0, 2.0, 3.0, math.nan]})
FULL = STEADY.assign(low=STEADY["y"] - 0.1, high=STEADY["y"] + 0.1, saturated=STEADY["y"].isna())
CELLS = pd.DataFrame({"row": ["a", "a"], "column": ["a", "b"], "value": [0.5, math.nan]})
PARTS = pd.DataFrame({"x": [0.0, 0.0, 1.0, 1.0], "group": "e", "part": ["a", "b", "a", "b"], "value": [1.0, 0, 1, 2]})
DRAWINGS: Mapping[str, Callable[[], Drawing]] = {
    "curve": lambda: curve(STEADY, **TITLES),
    "curve with bands and saturation": lambda: curve(FULL, **TITLES, log_x=True, log_y=True, dots=False),
    "empty curve": lambda: curve(STEADY.head(0), **TITLES),
    "heat map": lambda: heat_map(CELLS, title="T", row_title="R", column_title="C", value_title="V"),
    "bands": lambda: bands(PARTS, **TITLES),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_valid_vega_lite_and_can_be_drawn(name: str) -> None:
    drawing = DRAWINGS[name]()
    assert drawing.named() == drawing.chart.to_dict(validate=True)
    assert to_svg(drawing).startswith("<svg")


def test_a_saturated_point_is_a_mark_without_a_value() -> None:
    drawing = curve(FULL, **TITLES)
    assert drawing.data["saturated"][["line", "x"]].to_dict("records") == [{"line": "b", "x": 2.0}]
    assert len(drawing.data["points"]) == 3 and drawing.data["points"]["y"].notna().all()
    assert "saturated" in str(drawing.named()["title"]) and "saturated" not in str(
        curve(STEADY, **TITLES).named()["title"]
    )


def test_a_logarithmic_axis_has_its_ticks_where_the_points_are_while_they_are_few() -> None:
    few = pd.DataFrame({"line": "a", "x": [120.0, 3.0, 30.0], "y": 1.0})
    many = pd.DataFrame({"line": "a", "x": [float(n) for n in range(1, 20)], "y": 1.0})
    axes = [
        curve(frame, **TITLES, log_x=True).chart.to_dict()["layer"][0]["encoding"]["x"]["axis"] for frame in (few, many)
    ]
    assert axes[0]["values"] == [3.0, 30.0, 120.0] and "tickCount" not in axes[0]
    measured = few.assign(x=few["x"] * 0.293395734212)  # its ticks would be labelled with every digit
    assert "values" not in curve(measured, **TITLES, log_x=True).chart.to_dict()["layer"][0]["encoding"]["x"]["axis"]
    assert "values" not in axes[1] and "tickCount" in axes[1]


def test_what_cannot_run_together_is_black() -> None:
    drawing = DRAWINGS["heat map"]()
    assert drawing.data["missing"].to_dict("records") == [{"row": "a", "column": "b"}]
    assert len(drawing.data["cells"]) == 1
