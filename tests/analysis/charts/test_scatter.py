"""Schedulers in a plane: who is ringed, whichever way is better; who is beaten, by brute force; who has no value."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pandas as pd
import pytest

from workbench.analysis.charts import Drawing, frontier, scatter, theme, to_svg
from workbench.analysis.charts.scatter import LINE_PX, WIDTHS_PX, LabelPlace, places, unbeaten

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
        axis: layer["encoding"][axis]["title"] for layer in spec["layer"] for axis in "xy"
        if "title" in layer.get("encoding", {}).get(axis, {})
    }  # fmt: skip
    assert titles == {"x": f"Mean JCT (h), {better[0]} is better", "y": ["rho,", f"{better[1]} is better"]}


def test_a_scheduler_without_a_value_is_named_and_not_drawn() -> None:
    drawing = scatter(FRAME.assign(y=[3.0, None, 0.5, 2.0]), title="t", x_title="x", y_title="y")
    assert drawing.data["points"]["name"].tolist() == ["a", "c", "d"]
    assert "no value: b" in drawing.named()["title"]["subtitle"]
    assert len(drawing.table) == 4


def test_the_spread_over_seeds_is_a_cross_around_the_point() -> None:
    drawing = scatter(FRAME.assign(x_spread=0.5, y_spread=0.25), title="t", x_title="x", y_title="y")
    row = drawing.data["points"].iloc[0]
    assert (row["x0"], row["x1"], row["y0"], row["y1"]) == (0.5, 1.5, 2.75, 3.25)
    first, second = drawing.named()["title"]["subtitle"]
    assert first.endswith("crosses: standard deviation over seeds,")
    assert second == "which may overlap though every seed shows the same difference", "they say nothing of a difference"
    assert "crosses" not in scatter(FRAME, title="t", x_title="x", y_title="y").named()["title"]["subtitle"]


def test_nothing_known_is_said_in_the_chart() -> None:
    empty = scatter(FRAME.head(0), title="t", x_title="x", y_title="y")
    assert empty.data["message"]["text"].tolist() == ["No values"]


def crowd(count: int) -> pd.DataFrame:
    """Schedulers of which most are alike, and one that is better in x, one in y."""
    near = [{"name": f"gavel.scheduler_{n}", "x": 3.0 + 0.01 * n, "y": 3.0} for n in range(count - 2)]
    return pd.DataFrame([*near, {"name": "srtf", "x": 1.0, "y": 4.0}, {"name": "themis", "x": 4.0, "y": 1.0}])


def test_few_schedulers_have_their_names_beside_their_points() -> None:
    drawing = scatter(FRAME, title="t", x_title="x", y_title="y")
    assert drawing.data["points"]["text"].tolist() == ["a", "b", "c", "d"]
    assert all(layer["encoding"]["fill"]["legend"] is None for layer in pointed(drawing))


def test_many_have_numbers_with_a_key_and_those_ringed_their_names_too() -> None:
    drawing = scatter(crowd(30), title="t", x_title="x", y_title="y")
    points = drawing.data["points"].set_index("name")
    assert points.loc["gavel.scheduler_5", "text"] == "6"
    assert points.loc[["srtf", "themis"], "text"].tolist() == ["29 srtf", "30 themis"]
    (layer,) = pointed(drawing)
    for channel in ("fill", "shape"):
        assert layer["encoding"][channel]["legend"]["orient"] == "bottom"
        assert layer["encoding"][channel]["scale"]["domain"][5] == "6 gavel.scheduler_5"
    looks = zip(*(layer["encoding"][channel]["scale"]["range"] for channel in ("fill", "shape")), strict=True)
    assert len(set(looks)) == 30, "no two look alike"


def test_as_many_at_one_place_as_have_no_room_for_numbers_are_told_apart_by_the_key() -> None:
    same = pd.DataFrame({"name": [f"s{n}" for n in range(150)], "x": 1.0, "y": 1.0})
    drawing = scatter(same, title="t", x_title="x", y_title="y")
    assert set(drawing.data["points"]["text"]) == {""}
    assert pointed(drawing)[0]["encoding"]["fill"]["legend"]


def pointed(drawing: Drawing) -> list[dict[str, Any]]:
    """The layers with the points themselves."""
    layers = drawing.named()["layer"]
    return [layer for layer in layers if "shape" in layer.get("encoding", {})]


PLANS = pd.DataFrame(
    {
        "name": ["a", "b", "c", "d"],
        "x": [1.0, 2.0, 3.0, 2.0],
        "y": [3.0, 2.0, 2.0, 2.5],
        "now": [False, True, False, False],
    }
)
TITLES = {"title": "Trade-off", "x_title": "Mean JCT (h)", "y_title": "Worst rho"}


def test_c_and_d_are_beaten_by_b() -> None:
    drawing = frontier(PLANS, **TITLES)
    assert drawing.named() == drawing.chart.to_dict(validate=True) and to_svg(drawing).startswith("<svg")
    assert drawing.table["unbeaten"].tolist() == [True, True, False, False]
    assert drawing.data["frontier"].to_numpy().tolist() == [[1.0, 3.0], [2.0, 2.0]]
    assert drawing.data["points"]["now"].tolist() == [False, True, False, False]
    assert drawing.named()["title"]["subtitle"].endswith("ring: the last one")


@pytest.mark.parametrize("seed", range(5))
def test_unbeaten_by_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = (pd.Series(rng.integers(0, 5, 12).astype(float)) for _ in range(2))
    cost = list(zip(x, y, strict=True))
    expected = [not any(p[0] <= q[0] and p[1] <= q[1] and p != q for p in cost) for q in cost]
    assert unbeaten(x, y) == expected


def test_a_point_without_a_value_is_left_out() -> None:
    drawing = frontier(PLANS.assign(y=[float("nan"), 2.0, 2.0, 2.5]), **TITLES)
    assert drawing.table["name"].tolist() == ["b", "c", "d"]
    empty = frontier(PLANS.head(0), **TITLES)
    assert empty.data["message"]["text"].tolist() == ["No values"] and to_svg(empty).startswith("<svg")


# Labels beside points: all of them, none on another or on a point, at every width of the plot

PAD, HEIGHT, RADIUS = 24.0, 425.0, 8.0
Rectangle = tuple[float, float, float, float]


def drawn(x: list[float], y: list[float], texts: list[str], found: list[LabelPlace], width: float) -> list[Rectangle]:
    """Left, right, top and bottom of each text in a plot of that width."""
    rectangles = []
    for across, down, text, place in zip(x, y, texts, found, strict=True):
        wide = theme.text_px(text)
        left = PAD + across * (width - 2 * PAD) + place.dx - {"left": 0, "center": wide / 2, "right": wide}[place.align]
        middle = PAD + down * (HEIGHT - 2 * PAD) + place.dy
        rectangles.append((left, left + wide, middle - LINE_PX / 2, middle + LINE_PX / 2))
    return rectangles


def overlap(a: Rectangle, b: Rectangle) -> bool:
    slack = 1e-6
    return a[0] < b[1] - slack and b[0] < a[1] - slack and a[2] < b[3] - slack and b[2] < a[3] - slack


@pytest.mark.parametrize("seed", range(6))
def test_thirty_numbers_are_apart_at_every_width_also_in_a_crowd(seed: int) -> None:
    draw = random.Random(seed)
    x = [0.2 + 0.15 * draw.random() if n < 12 else draw.random() for n in range(30)]
    y = [0.7 + 0.1 * draw.random() if n < 12 else draw.random() for n in range(30)]
    x[5], y[5] = x[4], y[4]
    texts = [str(n + 1) for n in range(30)]
    found = places(x, y, texts, [RADIUS] * 30, HEIGHT, PAD)
    assert found is not None
    for width in (WIDTHS_PX[0], 517.0, 640.0, 960.0, WIDTHS_PX[1]):
        rectangles = drawn(x, y, texts, found, width)
        for number, one in enumerate(rectangles):
            assert not any(overlap(one, other) for other in rectangles[:number]), (width, texts[number])
            assert one[0] >= 0 and one[1] <= width and one[2] >= 0 and one[3] <= HEIGHT
            for across, down in zip(x, y, strict=True):
                point = (PAD + across * (width - 2 * PAD), PAD + down * (HEIGHT - 2 * PAD))
                box = (point[0] - RADIUS, point[0] + RADIUS, point[1] - RADIUS, point[1] + RADIUS)
                assert not overlap(one, box), (width, texts[number])


def test_a_label_alone_stands_beside_its_point_without_a_line() -> None:
    (place,) = places([0.5], [0.5], ["fifo"], [RADIUS], HEIGHT, PAD) or []
    assert (place.align, place.dy, place.far) == ("left", 0, False) and place.dx > RADIUS
    (place,) = places([1.0], [0.5], ["fifo"], [RADIUS], HEIGHT, PAD) or []
    assert (place.align, place.far) == ("right", False), "there is no room to the right of it"


def test_what_has_no_room_is_not_placed_and_an_empty_text_needs_none() -> None:
    long = "gavel.max_min_fairness space_sharing=True, placement_sensitive=True"
    assert places([0.5], [0.5], [long], [RADIUS], HEIGHT, PAD) is None
    assert places([0.5, 0.5], [0.5, 0.5], ["fifo", ""], [RADIUS] * 2, HEIGHT, PAD) is not None
    assert places([], [], [], [], HEIGHT, PAD) == []
