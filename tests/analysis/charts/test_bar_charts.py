"""Bars of measures: side by side in groups, of a setting varied, and before and after a change, whatever the width."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import vl_convert

from workbench.analysis.charts import before_after, theme, to_svg, variants
from workbench.analysis.charts.bar_charts import PANEL_PX, grouped_bars
from workbench.analysis.charts.drawing import VEGA_LITE

TITLES = {"title": "T", "x_title": "X", "y_title": "Y (s)"}
PLAIN = pd.DataFrame({"group": ["m2", "m2", "m10"], "series": ["b", "a", "b"], "value": [1.0, 2.0, math.nan]})
RANGED = PLAIN.assign(low=[0.5, math.nan, 1.0], high=[2.0, math.nan, 2.0])


def test_only_known_values_are_bars_and_only_known_ranges_are_lines() -> None:
    drawing = grouped_bars(RANGED, **TITLES)
    assert drawing.data["bars"]["value"].tolist() == [1.0, 2.0]
    assert drawing.data["ranges"][["low", "high"]].values.tolist() == [[0.5, 2.0]]
    assert drawing.named()["title"]["subtitle"] == "lines: from the least to the greatest"
    named = grouped_bars(RANGED, **TITLES, covers="95 % interval of the mean").named()
    assert named["title"]["subtitle"] == "lines: 95 % interval of the mean"
    one_seed = PLAIN.assign(low=PLAIN["value"], high=PLAIN["value"])
    for without in (PLAIN, one_seed):
        assert "lines" not in str(grouped_bars(without, **TITLES).named()["title"])


def test_labels_slant_only_where_neighbours_would_touch() -> None:
    def angle(*groups: str) -> int:
        frame = pd.DataFrame({"group": groups, "series": "a", "value": 1.0})
        found: int = grouped_bars(frame, **TITLES).named()["layer"][0]["encoding"]["x"]["axis"]["labelAngle"]
        return found

    assert angle("VGG19", "ResNet50", "FastGCN", "GraphSAGE") == 0
    assert angle("dynamic", "a name that is much longer", "b") == 0, "there is room for one long name"
    assert (
        angle("VGG19", "ResNet50", "Inception V3", "Bert_base", "Transformer", "DeepSpeech", "FastGCN", "SAGE") == -30
    )
    assert angle() == 0


def test_up_to_thirteen_series_have_a_colour_of_their_own() -> None:
    """The bars of one group have nothing else to be told apart by."""
    series = [f"s{i}" for i in range(13)]
    frame = pd.DataFrame({"group": "g", "series": series, "value": 1.0})
    colours = grouped_bars(frame, **TITLES).named()["layer"][0]["encoding"]["color"]["scale"]["range"]
    assert len(set(colours)) == 13


def test_groups_and_series_keep_their_order() -> None:
    encoding = grouped_bars(PLAIN, **TITLES).named()["layer"][0]["encoding"]
    assert encoding["x"]["sort"] == ["m2", "m10"]
    assert encoding["xOffset"]["sort"] == encoding["color"]["scale"]["domain"] == ["b", "a"]


def test_without_values_it_says_so() -> None:
    assert grouped_bars(PLAIN.head(0), **TITLES).data["message"]["text"].tolist() == ["No values"]
    assert grouped_bars(PLAIN.tail(1), **TITLES).data["message"]["text"].tolist() == ["No values"]


FRAME = pd.DataFrame(
    {"value": ["5 min", "20 min", "1 h"], "rate": [0.1, 0.4, math.nan], "mean_jct_s": [3600.0, 1800.0, 0.0]}
)


def test_a_bar_is_as_high_as_its_part_of_the_largest_of_its_measure() -> None:
    bars = variants(FRAME, title="t", x_title="x").data["bars"]
    high = (bars["y1"] - bars["y0"]).tolist()
    assert high == pytest.approx([PANEL_PX / 4, PANEL_PX, 0, PANEL_PX, PANEL_PX / 2, 0])
    assert bars.groupby("measure")["y1"].nunique().tolist() == [1, 1], "the bars of a measure stand on one line"


def test_numbers_are_written_with_their_units_and_what_is_missing_is_said() -> None:
    drawing = variants(
        FRAME, title="t", x_title="x", labels={"rate": "Misses"}, units={"mean_jct_s": "s", "rate": "share"}
    )
    assert drawing.data["bars"]["text"].tolist() == ["10.0 %", "40.0 %", "no value", "1 h", "30 min", "★ 0 s"]
    assert drawing.data["heads"]["text"].tolist() == ["Misses", "mean_jct_s"]
    assert drawing.table.equals(FRAME)


def test_what_is_set_is_marked_and_named() -> None:
    drawing = variants(FRAME, title="t", x_title="x", now="20 min")
    assert drawing.data["bars"]["now"].tolist() == [False, True, False] * 2
    assert drawing.named()["title"]["subtitle"].startswith("coloured: 20 min, as it is set; ")
    assert variants(FRAME, title="t", x_title="x", now="7 min").named()["title"]["subtitle"] == "★ best in its row"
    fill = drawing.named()["layer"][1]["encoding"]["fill"]
    assert {fill["value"], fill["condition"]["value"]} < {*theme.SERIES_PALETTE}, "of no job"
    tied = variants(FRAME.assign(mean_jct_s=[0.0, 1800.0, 0.0]), title="t", x_title="x")
    assert [text[0] for text in tied.data["bars"]["text"][3:]] == ["★", "1", "★"]
    assert tied.named()["title"]["subtitle"] == "★ best in its row, several where they are equal"
    same = variants(FRAME.assign(mean_jct_s=1800.0), title="t", x_title="x")
    assert "★" not in "".join(same.data["bars"]["text"]) and "subtitle" not in same.named()["title"], "no best"


def test_values_stay_in_their_order() -> None:
    assert variants(FRAME, title="t", x_title="x").named()["layer"][1]["encoding"]["x"]["sort"] == [
        "5 min",
        "20 min",
        "1 h",
    ]


def test_without_runs_a_sentence_stands_in_the_chart() -> None:
    assert "Nothing was varied" in to_svg(variants(FRAME.head(0)[["value"]], title="t", x_title="x"))


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
