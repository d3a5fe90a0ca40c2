"""Labels beside points: all of them, none on another or on a point, at every width of the plot."""

from __future__ import annotations

import random

import pytest

from workbench.analysis.charts import theme
from workbench.analysis.charts.scatter import LINE_PX, WIDTHS_PX, LabelPlace, places

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
