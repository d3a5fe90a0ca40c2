"""A measure over load, by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from workbench.analysis.charts import load_curve, to_svg


def measures(*rows: tuple[str, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["scheduler", "mean_jct_s"])


def test_a_line_for_each_scheduler_with_the_spread_of_its_seeds() -> None:
    found = {2: measures(("a", 3600.0), ("a", 7200.0), ("b", 1800.0)), 4: measures(("a", 3600.0), ("b", 5400.0))}
    drawing = load_curve(found, "mean_jct_s", y_title="Mean JCT (h)", factor=1 / 3600)
    assert drawing.named() == drawing.chart.to_dict(validate=True) and to_svg(drawing).startswith("<svg")
    points = drawing.data["points"].set_index(["line", "x"])[["y", "low", "high"]]
    assert points.loc[("a", 2.0)].tolist() == pytest.approx([1.5, 1.0, 2.0])
    assert points.loc[("b", 2.0)].tolist() == pytest.approx([0.5, 0.5, 0.5])
    assert points["y"].tolist() == pytest.approx([1.5, 0.5, 1.0, 1.5])
