"""Curves, what was measured and what a sweep varied, by hand; heat maps, bands that add up."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import workbench
from workbench.analysis import charts
from workbench.analysis.charts import Drawing, speed_errors, theme, to_svg
from workbench.analysis.charts.areas import bands
from workbench.analysis.charts.curves import curve
from workbench.analysis.charts.heat_maps import heat_map
from workbench.analysis.metrics.confidence import mean_interval, ratio_as_read, t_quantile
from workbench.base.errors import InputError

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
    "errors": lambda: speed_errors({"layers": LOG}),
    "errors of pairs": lambda: speed_errors({"rank": LOG}, title="Error of believed speeds of pairs"),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_valid_vega_lite_and_can_be_drawn(name: str) -> None:
    drawing = DRAWINGS[name]()
    assert drawing.named() == drawing.chart.to_dict(validate=True)
    assert to_svg(drawing).startswith("<svg")


def fields(drawing: Drawing) -> list[list[str]]:
    """What hovering tells, layer by layer."""
    told = [layer["encoding"].get("tooltip", []) for layer in drawing.named()["layer"]]
    return [[each["field"] for each in each_layer] for each_layer in told if each_layer]


def test_a_saturated_point_is_a_mark_without_a_value() -> None:
    drawing = curve(FULL, **TITLES)
    assert drawing.data["saturated"][["line", "x"]].to_dict("records") == [{"line": "b", "x": 2.0}]
    layers = drawing.named()["layer"]
    assert fields(drawing) == [["line", "x", "y", "lower", "upper"]] * 2, "of a band and of a dot in it"
    assert layers[0]["mark"]["strokeWidth"] > 0, "bands over each other have edges"
    assert len(drawing.data["points"]) == 3 and drawing.data["points"]["y"].notna().all()
    assert "saturated" in str(drawing.named()["title"]) and "saturated" not in str(
        curve(STEADY, **TITLES).named()["title"]
    )


def test_a_logarithmic_axis_has_its_ticks_where_the_points_are_while_they_are_few() -> None:
    few = pd.DataFrame({"line": "a", "x": [120.0, 3.0, 30.0], "y": 1.0})
    many = pd.DataFrame({"line": "a", "x": [float(n) for n in range(1, 20)], "y": 1.0})
    found = [curve(frame, **TITLES, log_x=True).named()["layer"][0]["encoding"]["x"] for frame in (few, many)]
    axes = [each["axis"] for each in found]
    assert all("zero" not in each["scale"] for each in found), "Vega-Lite warns of it"
    assert axes[0]["values"] == [3.0, 30.0, 120.0] and "tickCount" not in axes[0]
    measured = few.assign(x=few["x"] * 0.293395734212)  # its ticks would be labelled with every digit
    assert "values" not in curve(measured, **TITLES, log_x=True).named()["layer"][0]["encoding"]["x"]["axis"]
    assert "values" not in axes[1] and "tickCount" in axes[1]


def test_what_cannot_run_together_is_black() -> None:
    drawing = DRAWINGS["heat map"]()
    assert drawing.data["missing"].to_dict("records") == [{"row": "a", "column": "b"}]
    assert len(drawing.data["cells"]) == 1


LOG = pd.DataFrame({"measured_s": [0.0, 7200.0], "error": [0.2, 0.05]})


def points(name: str) -> list[list[object]]:
    found: list[list[object]] = DRAWINGS[name]().data["points"][["line", "x", "y"]].to_numpy().tolist()
    return found


def test_errors_are_per_cent_over_measured_hours() -> None:
    assert DRAWINGS["errors of pairs"]().label.startswith("Error of believed speeds of pairs: Mean error (%)")
    assert points("errors") == [["layers", 0.0, 20.0], ["layers", 2.0, 5.0]]


HOUR = 3600.0


def results(*rows, **columns):
    """Results as `workbench.sweep` returns them: (scheduler, knob round_s, seed, mean_jct_s or None if it failed)."""
    made = [
        ("s", scheduler, round_s, seed, "failed" if jct is None else "done", "", 1.0, math.nan if jct is None else jct)
        for scheduler, round_s, seed, jct in rows
    ]
    names = ["scenario", "scheduler", "round_s", "seed", "status", "error", "wall_s", "mean_jct_s"]
    return pd.DataFrame(made, columns=names).assign(**columns)


TWO = results(
    ("a", 3600.0, 0, 2 * HOUR), ("a", 3600.0, 1, 4 * HOUR), ("a", 3600.0, 2, 6 * HOUR),
    ("a", 7200.0, 0, 1 * HOUR), ("a", 7200.0, 1, 1 * HOUR), ("a", 7200.0, 2, 4 * HOUR),
    ("b", math.nan, 0, 5 * HOUR), ("b", math.nan, 1, 5 * HOUR), ("b", math.nan, 2, 5 * HOUR),
)  # fmt: skip


def rows(drawing):
    return [tuple(row) for row in drawing.table[["line", "x", "y", "low", "high", "runs"]].itertuples(index=False)]


def test_means_and_intervals_by_hand_in_hours():
    """Of 2, 4, 6: mean 4, deviation 2, t of 2 degrees of freedom 4.302653, so 4.302653 * 2 / sqrt 3 to each side."""
    drawing = charts.sweep(TWO, x="round_s", y="mean_jct_s")
    found = {(line, x): (y, low, high, runs) for line, x, y, low, high, runs in rows(drawing)}
    half = 4.302652729911275 * 2 / math.sqrt(3)
    assert found["a", 60.0] == pytest.approx((4, 4 - half, 4 + half, 3))
    half = 4.302652729911275 * math.sqrt(3) / math.sqrt(3)
    assert found["a", 120.0] == pytest.approx((2, 2 - half, 2 + half, 3))
    spec = drawing.named()
    assert spec["title"]["text"] == "Mean JCT by round"
    assert spec["title"]["subtitle"] == "means of 3 runs with their 95 % confidence interval, \u2605 best of its line"
    assert drawing.table["best"].tolist() == ["", "", "\u2605 2", ""], "of a level line none"
    assert spec["layer"][2]["encoding"]["y"]["scale"]["zero"] is False
    line = spec["layer"][1]["encoding"]
    assert (line["x"]["title"], line["y"]["title"]) == ("round (min)", "Mean JCT (h)")


def test_a_scheduler_without_the_knob_is_a_level_line():
    assert [row[1:] for row in rows(charts.sweep(TWO, x="round_s")) if row[0] == "b"] == [
        (60.0, 5, 5, 5, 3),
        (120.0, 5, 5, 5, 3),
    ]


def test_lines_are_told_apart_by_all_that_varies_but_the_seed():
    frame = pd.concat([TWO.assign(keep=True, most=2.0), TWO.assign(keep=False, most=2.0)], ignore_index=True)
    assert set(charts.sweep(frame, x="round_s").table["line"]) == {
        "a, keep=True", "a, keep=False", "b, keep=True", "b, keep=False",
    }  # fmt: skip
    by_scheduler = charts.sweep(TWO, x="scheduler")
    assert {row[0] for row in rows(by_scheduler)} == {"round_s=3600", "round_s=7200", "every run"}
    assert set(charts.sweep(TWO.assign(scenario=["s", "t", "u"] * 3), x="round_s").table["line"]) == {
        f"{scheduler}, scenario={scenario}" for scheduler in "ab" for scenario in "stu"
    }


def test_a_point_with_a_failed_run_is_left_out_and_said():
    frame = results(("a", 60.0, 0, 10.0), ("a", 60.0, 1, None), ("a", 90.0, 0, 20.0), ("a", 90.0, 1, 30.0))
    drawing = charts.sweep(frame, x="round_s")
    assert [row[:3] for row in rows(drawing)] == [("a", 90.0, 25.0)]
    assert "1 point without a value or with a failed run left out" in drawing.named()["title"]["subtitle"]
    nothing = charts.sweep(frame.head(2), x="round_s")
    assert len(nothing.table) == 0 and nothing.data["message"]["text"].tolist() == ["No values"]


def test_one_seed_has_no_interval():
    frame = results(("a", 60.0, 0, 10.0), ("a", 90.0, 0, 20.0))
    drawing = charts.sweep(frame, x="round_s")
    assert drawing.table["low"].isna().all() and drawing.table["y"].tolist() == [10, 20]
    assert drawing.named()["title"]["subtitle"] == "\u2605 best of its line"
    assert fields(drawing) == [["line", "x", "y"]] and drawing.named()["layer"][0]["mark"]["type"] == "line"
    assert fields(charts.sweep(frame.astype({"round_s": str}), x="round_s")) == [["line", "x", "y"]]
    one_more = pd.concat([frame, results(("a", 90.0, 1, 30.0))])
    for some in (charts.sweep(one_more, x="round_s"), charts.sweep(one_more.astype({"round_s": str}), x="round_s")):
        assert fields(some)[-1] == ["line", "x", "y", "lower", "upper"]
        assert some.data["points"]["lower"].tolist() == ["-", "-38.53"], "a word for no number, not null"


def test_texts_and_truths_are_dots_with_bars():
    frame = TWO.assign(order=np.where(TWO["round_s"] == 3600, "first", "second")).drop(columns="round_s")
    drawing = charts.sweep(frame, x="order")
    kinds = [layer["mark"]["type"] for layer in drawing.named()["layer"]]
    assert kinds == ["rule", "point", "text"] and set(drawing.table["x"]) == {"first", "second"}
    truths = charts.sweep(frame.assign(order=frame["order"] == "first"), x="order").table
    assert list(truths[["line", "x"]].itertuples(index=False, name=None)) == [
        ("a", "True"), ("a", "False"), ("b", "False"),
    ]  # fmt: skip


def test_units_of_other_measures():
    frame = results(("a", 60.0, 0, 10.0), utilisation=0.5, cost_usd=2.0, restarts=3)
    assert charts.sweep(frame, x="round_s", y="wall_s").table["y"].tolist() == [1.0]
    titles = [
        charts.sweep(frame, x="round_s", y=y).named()["layer"][0]["encoding"]["y"]["title"]
        for y in ("wall_s", "utilisation", "cost_usd", "restarts")
    ]
    assert titles == ["Wall time of the run (s)", "Utilisation (share)", "Cost (USD)", "Restarts"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [({"x": "nothing"}, "round_s"), ({"x": "seed"}, "varied"), ({"x": "round_s", "y": "scheduler"}, "a measure")],
)
def test_columns_that_are_not_there(options, expected):
    with pytest.raises(InputError, match=expected):
        charts.sweep(TWO, **options)


def test_two_lines_make_a_chart():
    found = workbench.sweep("preset:start_here", ["las", "fifo"], vary={"round_s": [60, 720]}, seeds=[0, 1])
    drawing = charts.sweep(found, x="round_s", y="mean_jct_s")
    assert len(drawing.table) == 4 and drawing.table["low"].equals(drawing.table["high"]), "seeds change nothing here"


@pytest.mark.parametrize("freedom", [1, 2, 5, 30, 1000])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_quantiles_are_those_of_scipy_stats(level, freedom):
    assert t_quantile(level, freedom) == pytest.approx(stats.t.ppf((1 + level) / 2, freedom), rel=1e-9)


def test_intervals_hold_as_often_as_they_say():
    random = np.random.default_rng(3)
    mean, half = np.array([mean_interval(random.normal(7, 2, 4), 0.9) for _ in range(4000)]).T
    assert np.mean(np.abs(mean - 7) <= half) == pytest.approx(0.9, abs=0.02)
    assert ratio_as_read(0.94, 0.88, 0.998) == ("0.940", "0.880", "0.998")
    assert ratio_as_read(0.94, 0.88, 1.001) == ("0.94", "0.88", "1.00")
    assert ratio_as_read(1.003, 1.002, 1.004) == ("1.003", "1.002", "1.004"), "a mean is in its interval as read, too"
    assert ratio_as_read(0.9, 0.5, 1 - 1e-12) == ("0.9000", "0.5000", "< 1.0000")
    assert ratio_as_read(1.00004, 1.00001, 1.00007) == ("1.0000", "> 1.0000", "1.0001")
    assert ratio_as_read(2.0, math.nan, math.nan)[0] == "2.00"
    assert math.isnan(mean_interval([3.0])[1]) and mean_interval([3.0])[0] == 3.0


def test_a_legend_has_as_many_names_in_a_row_as_there_is_room_for():
    """Four schedulers beside an open drawer: two, and the third is not cut."""
    names = ["Gavel: max-min fairness", "Shortest remaining time first", "Gavel: finish-time fairness", "Hops: plans"]
    widest = max(map(theme.text_px, names)) + theme.LEGEND_GAP_PX
    found = {int(count): int(px) for px, count in re.findall(r">= (\d+) \? (\d+) :", theme.legend_columns(names))}
    assert [*found] == [4, 3, 2] and found[2] < 540 < found[3] < 3 * widest < found[4]
    assert theme.legend_columns(["x" * 500]) == "1"
