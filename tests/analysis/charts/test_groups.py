"""Bars side by side for each group."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from workbench.analysis.charts import to_svg
from workbench.analysis.charts.bar_charts import grouped_bars

TITLES = {"title": "T", "x_title": "X", "y_title": "Y (s)"}
PLAIN = pd.DataFrame({"group": ["m2", "m2", "m10"], "series": ["b", "a", "b"], "value": [1.0, 2.0, math.nan]})
RANGED = PLAIN.assign(low=[0.5, math.nan, 1.0], high=[2.0, math.nan, 2.0])


@pytest.mark.parametrize("frame", [PLAIN, RANGED, PLAIN.head(0)], ids=["plain", "ranged", "empty"])
def test_a_drawing_is_valid_vega_lite_and_can_be_drawn(frame: pd.DataFrame) -> None:
    drawing = grouped_bars(frame, **TITLES)
    assert drawing.named() == drawing.chart.to_dict(validate=True)
    assert to_svg(drawing).startswith("<svg")


def test_only_known_values_are_bars_and_only_known_ranges_are_lines() -> None:
    drawing = grouped_bars(RANGED, **TITLES)
    assert drawing.data["bars"]["value"].tolist() == [1.0, 2.0]
    assert drawing.data["ranges"][["low", "high"]].values.tolist() == [[0.5, 2.0]]
    assert "least" in str(drawing.named()["title"])
    assert "least" not in str(grouped_bars(PLAIN, **TITLES).named()["title"])


def test_the_chart_says_what_its_ranges_are_and_only_if_one_is_drawn() -> None:
    named = grouped_bars(RANGED, **TITLES, covers="95 % interval of the mean").named()
    assert named["title"]["subtitle"] == "lines: 95 % interval of the mean"
    one_seed = PLAIN.assign(low=PLAIN["value"], high=PLAIN["value"])
    assert "lines" not in str(grouped_bars(one_seed, **TITLES).named()["title"])


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
