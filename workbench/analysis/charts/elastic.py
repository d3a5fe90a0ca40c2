"""Charts of Hops: weights by lambda, and the error of its estimator.

Each takes a table as `workbench.papers.hops.tables`, a run or an estimator's log makes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from workbench.analysis.charts.curves import curve
from workbench.analysis.charts.drawing import Drawing

HOUR_S = 3600.0


def weights(table: pd.DataFrame, jobs: Iterable[str]) -> Drawing:
    """Draw the weight of some jobs over lambda.

    table: one row for each job, a column priority (not drawn), and one for each lambda with its number as name.
    """
    some = table.drop(columns="priority").loc[list(jobs)].rename_axis("line").reset_index()
    return curve(
        some.melt("line", var_name="x", value_name="y").astype({"x": float}),
        title="Weight of a job by lambda",
        x_title="lambda",
        y_title="Weight over the largest",
        log_y=True,
        dots=False,
    )


def speed_errors(logs: Mapping[str, pd.DataFrame], *, title: str = "Error of believed speeds") -> Drawing:
    """Draw the mean error of believed speeds over what has been measured, a line for each estimator.

    logs: the columns measured_s, error (a share), by the estimator's name.
    """
    parts = [
        pd.DataFrame({"line": name, "x": log["measured_s"] / HOUR_S, "y": 100 * log["error"]})
        for name, log in logs.items()
    ]
    return curve(
        pd.concat(parts, ignore_index=True),
        title=title,
        x_title="Measured (h, all jobs together)",
        y_title="Mean error (%)",
        dots=False,
    )
