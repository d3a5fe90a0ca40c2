"""Two measures against each other: who is beaten, by brute force, and what stands out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from workbench.analysis.charts import frontier, to_svg
from workbench.analysis.charts.scatter import unbeaten

FRAME = pd.DataFrame(
    {
        "name": ["a", "b", "c", "d"],
        "x": [1.0, 2.0, 3.0, 2.0],
        "y": [3.0, 2.0, 2.0, 2.5],
        "now": [False, True, False, False],
    }
)
TITLES = {"title": "Trade-off", "x_title": "Mean JCT (h)", "y_title": "Worst rho"}


def test_c_and_d_are_beaten_by_b() -> None:
    drawing = frontier(FRAME, **TITLES)
    assert drawing.named() == drawing.chart.to_dict(validate=True) and to_svg(drawing).startswith("<svg")
    assert drawing.table["unbeaten"].tolist() == [True, True, False, False]
    assert drawing.data["frontier"].to_numpy().tolist() == [[1.0, 3.0], [2.0, 2.0]]
    assert drawing.data["points"]["now"].tolist() == [False, True, False, False]
    assert drawing.named()["title"]["subtitle"].endswith("ring: the last one")


def test_more_may_be_better() -> None:
    drawing = frontier(FRAME.drop(columns="now"), **TITLES, better="higher")
    assert drawing.table["unbeaten"].tolist() == [True, False, True, True]
    assert "higher is better" in str(drawing.named())


@pytest.mark.parametrize("seed", range(5))
def test_unbeaten_by_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = (pd.Series(rng.integers(0, 5, 12).astype(float)) for _ in range(2))
    for better, sign in (("lower", 1), ("higher", -1)):
        cost = [(sign * a, sign * b) for a, b in zip(x, y, strict=True)]
        expected = [not any(p[0] <= q[0] and p[1] <= q[1] and p != q for p in cost) for q in cost]
        assert unbeaten(x, y, better) == expected  # type: ignore[arg-type]


def test_a_point_without_a_value_is_left_out() -> None:
    drawing = frontier(FRAME.assign(y=[float("nan"), 2.0, 2.0, 2.5]), **TITLES)
    assert drawing.table["name"].tolist() == ["b", "c", "d"]
    empty = frontier(FRAME.head(0), **TITLES)
    assert empty.data["message"]["text"].tolist() == ["No values"] and to_svg(empty).startswith("<svg")
