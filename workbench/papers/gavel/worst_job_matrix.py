"""The best that the worst-off job can get, as a sparse matrix: several policies differ only in what a step/s counts."""

from __future__ import annotations

import numpy as np

from workbench.papers.gavel.matrix import Grid, Rows
from workbench.scenario.throughput import FloatArray
from workbench.scheduling.solvers import Programme


def worst_job(grid: Grid, scale: FloatArray, name: str) -> Programme:
    """Maximise t, `t <= scale_m throughput(m, X)` for all jobs; scale: (classes,), 1 / (steps/s).

    Columns: X, then t. Rows: (2) of each class, (3) of each accelerator type, then the epigraph of each class.
    """
    classes, level = np.arange(len(grid.first)), len(grid)
    rows = Rows(grid, more=1)
    rows.add(
        np.concatenate([grid.speed_class, classes]),
        np.concatenate([grid.speed_column, np.full(len(classes), level)]),
        np.concatenate([-scale[grid.speed_class] * grid.speed, np.ones(len(classes))]),
        upper=np.zeros(len(classes)),
    )
    return rows.programme(np.append(np.zeros(level), 1.0), name, maximise=True, lower=[-np.inf])
