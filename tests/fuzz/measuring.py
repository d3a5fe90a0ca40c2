"""Whether a run's numbers are numbers: finite where they must be, every metric as the timeline gives it another way."""

from __future__ import annotations

import math

import numpy as np

from workbench.analysis.metrics.declared import METRICS
from workbench.analysis.metrics.summary import summary
from workbench.analysis.verification import rederived, same
from workbench.simulation.run import Run

MAY_MISS = {"jobs": {"first_start_s", "finish_s"}, "decisions": {"objective", "bound", "gap", "build_s", "solve_s"}}
"""Columns of a run's tables that may be missing; all other numbers are finite."""


def check_numbers(run: Run) -> None:
    """Assert that no table has a number missing or infinite that may not be, and that the metrics are right."""
    for name in ("timeline", "jobs", "decisions", "shares", "events"):
        table = run.table(name)
        for column in table.select_dtypes("float").columns:
            found = table[column].to_numpy()
            good = np.isfinite(found) | (np.isnan(found) & (column in MAY_MISS.get(name, ())))
            assert good.all(), f"{name}.{column} is {found[~good][0]}"
    finished = run.jobs["finish_s"].notna()
    assert (finished <= run.jobs["first_start_s"].notna()).all(), "finished without a start"
    assert (run.shares["share"].between(0, 1 + 1e-6)).all(), "a share beyond all of the time"
    _check_metrics(run)


def _check_metrics(run: Run) -> None:
    found, again = dict(summary(run)), rederived(run)
    for metric in METRICS:
        value, expected = found[metric.name], again.get(metric.name, math.nan)
        assert not math.isinf(value), f"{metric.name} is infinite"
        assert metric.unit != "share" or not (value < -1e-9 or value > 1 + 1e-9), f"{metric.name} is {value}"
        assert same(value, expected), f"{metric.name} is {value}, not {expected}"
