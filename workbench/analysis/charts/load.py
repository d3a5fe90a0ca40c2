"""A measure against the load, a line for each scheduler."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from workbench.analysis.charts.curves import curve
from workbench.analysis.charts.drawing import Drawing


def load_curve(
    measures: Mapping[float, pd.DataFrame], measure: str, *, y_title: str, title: str = "By load", factor: float = 1.0
) -> Drawing:
    """Draw a measure of each scheduler over the rate of arrivals.

    measures: `Comparison.measures` by jobs an hour: columns scheduler and `measure`, one row for each scheduler and
    seed (of several seeds their mean, with a band from the least to the greatest); factor: what a value is multiplied
    by for the unit of y_title.
    """
    parts = [table[["scheduler", measure]].assign(x=float(rate)) for rate, table in measures.items()]
    every = pd.concat(parts, ignore_index=True)
    every["value"] = every[measure].astype(float) * factor
    grouped = every.groupby(["scheduler", "x"], sort=False)["value"]
    points = grouped.agg(y="mean", low="min", high="max").reset_index().rename(columns={"scheduler": "line"})
    return curve(points, title=title, x_title="Jobs an hour (logarithmic)", y_title=y_title, log_x=True)
