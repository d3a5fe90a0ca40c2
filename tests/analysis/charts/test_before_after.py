"""What a change made of a few measures: whatever the interval and the width, each bar's text is in the picture."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import vl_convert

from workbench.analysis.charts import before_after, theme
from workbench.analysis.charts.drawing import VEGA_LITE

COLUMNS = ["change", "label", "before", "after", "low", "high", "text", "today_text"]
ROWS = [
    ("c", "Mean JCT", 100.0, 60.0, -300.0, 220.0, "1 h 43 min (−28 min)", "2 h 11 min"),
    ("c", "Makespan", 100.0, 104.0, 0.0, 9.0, "17 h 13 min (+6 h 14 min)", "10 h 59 min"),
    ("c", "Utilisation", 50.0, 55.0, np.nan, np.nan, "83.9 % (+7.08 points)", "76.8 %"),
]


def texts(scene: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All items of text marks that belong to the plot itself."""
    for item in scene.get("items", ()):
        if scene["marktype"] == "text" and scene.get("role") == "mark":
            yield item
        elif scene["marktype"] == "group" and scene.get("role") in ("frame", None):
            for mark in item.get("items", ()):
                yield from texts(mark)


@pytest.mark.parametrize("width", [240, 450, 900])
@pytest.mark.parametrize("high", [5.0, 220.0, 5000.0])
def test_the_text_behind_a_long_interval_is_inside_the_plot(width: int, high: float) -> None:
    frame = pd.DataFrame([(*ROWS[0][:5], high, *ROWS[0][6:]), *ROWS[1:]], columns=COLUMNS)
    spec = before_after(frame, names={"c": "2 fewer nodes"}).spec(width)
    found = vl_convert.vegalite_to_scenegraph(json.dumps(spec), VEGA_LITE)
    behind = [item for item in texts(found["scenegraph"]) if item.get("align") == "left"]
    assert {item["text"] for item in behind} == {text for row in ROWS for text in row[-2:]}
    for item in behind:
        assert item["x"] + item["dx"] + theme.text_px(item["text"]) <= width + 1e-6, item


def test_an_interval_below_nothing_is_drawn_from_0_and_told_as_it_is() -> None:
    drawing = before_after(pd.DataFrame(ROWS, columns=COLUMNS))
    row = drawing.data["bars"].set_index(["measure", "side"]).loc[("Mean JCT", "c")]
    assert row["begins"] == 0 and row["low"] == -200
