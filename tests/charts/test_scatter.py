"""Schedulers in a plane: who is ringed, whichever way is better, and what is said of those without a value."""

from __future__ import annotations

import pandas as pd
import pytest

from workbench.charts import scatter

FRAME = pd.DataFrame({"name": ["a", "b", "c", "d"], "x": [1.0, 2.0, 3.0, 2.5], "y": [3.0, 1.0, 0.5, 2.0]})


@pytest.mark.parametrize(
    ("better", "ringed"),
    [
        (("lower", "lower"), {"a", "b", "c"}),
        (("higher", "lower"), {"c"}),
        (("lower", "higher"), {"a"}),
        (("higher", "higher"), {"a", "c", "d"}),
    ],
)
def test_those_that_nobody_beats_are_ringed(better, ringed) -> None:
    drawing = scatter(FRAME, title="t", x_title="Mean JCT (h)", y_title="rho", better=better)
    points = drawing.data["points"]
    assert set(points[points["unbeaten"]]["name"]) == ringed
    assert set(drawing.table[drawing.table["unbeaten"]]["name"]) == ringed
    spec = drawing.named()
    titles = {
        layer["encoding"][axis]["title"] for layer in spec["layer"] for axis in "xy"
        if "title" in layer.get("encoding", {}).get(axis, {})
    }  # fmt: skip
    assert titles == {f"Mean JCT (h), {better[0]} is better", f"rho, {better[1]} is better"}


def test_a_scheduler_without_a_value_is_named_and_not_drawn() -> None:
    drawing = scatter(FRAME.assign(y=[3.0, None, 0.5, 2.0]), title="t", x_title="x", y_title="y")
    assert drawing.data["points"]["name"].tolist() == ["a", "c", "d"]
    assert "no value: b" in drawing.named()["title"]["subtitle"]
    assert len(drawing.table) == 4


def test_the_spread_over_seeds_is_a_cross_around_the_point() -> None:
    drawing = scatter(FRAME.assign(x_spread=0.5, y_spread=0.25), title="t", x_title="x", y_title="y")
    row = drawing.data["points"].iloc[0]
    assert (row["x0"], row["x1"], row["y0"], row["y1"]) == (0.5, 1.5, 2.75, 3.25)
    assert "crosses" in drawing.named()["title"]["subtitle"]
    assert "crosses" not in scatter(FRAME, title="t", x_title="x", y_title="y").named()["title"]["subtitle"]


def test_nothing_known_is_said_in_the_chart() -> None:
    empty = scatter(FRAME.head(0), title="t", x_title="x", y_title="y")
    assert empty.data["message"]["text"].tolist() == ["No values"]
