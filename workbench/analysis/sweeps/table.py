"""The results of a sweep as a data frame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from workbench.analysis.metrics import METRICS
from workbench.analysis.sweeps.planning import PlannedRun
from workbench.analysis.sweeps.store import Store


def results(runs: Sequence[PlannedRun], store: Store) -> pd.DataFrame:
    """One row for each run, in their order.

    Columns: scenario (its label), scheduler (its label: what it was called, else its name, with its knobs
    where that would not do), every knob that varies (missing where a scheduler does not have it), seed, status (done or
    failed), error (empty if done), wall_s, and every measure of `workbench.analysis.metrics` (NaN where unknown). Every
    run must be in the store.
    """
    varied = dict.fromkeys(knob for run in runs for knob in run.varied)
    measures = np.full((len(runs), len(METRICS)), np.nan)
    ends = []
    for row, run in enumerate(runs):
        outcome = store.find(run.key)
        if outcome is None:
            raise LookupError(f"run {run.key} has not ended")
        ends.append((outcome.status, outcome.error, outcome.wall_s))
        measures[row] = [outcome.measures.get(found.name, np.nan) for found in METRICS]
    head = {
        "scenario": [run.label for run in runs],
        "scheduler": [run.entry for run in runs],
        **{knob: [run.varied.get(knob) for run in runs] for knob in varied},
        "seed": [run.seed for run in runs],
        **{name: [end[i] for end in ends] for i, name in enumerate(("status", "error", "wall_s"))},
    }
    return pd.concat([pd.DataFrame(head), pd.DataFrame(measures, columns=[found.name for found in METRICS])], axis=1)
