"""Measures per round of a scheduler that also decides within its rounds."""

from __future__ import annotations

import numpy as np
import pytest

import workbench
from workbench.scenario.presets import preset


def test_decisions_within_a_round_are_no_rounds_of_their_own() -> None:
    """Hops plans again within a round: a round is counted with its first decision, and changed if any of them did."""
    whole = preset("hops_64")
    run = workbench.simulate(whole.replace(jobs=whole.jobs[:6]), "hops", round_s=300.0, detail=0)
    found, table = workbench.summary(run), run.decisions
    number = np.floor(table["time_s"] / 300.0 + 1e-9)
    first = table[~number.duplicated()]
    idle = (first["up_gpus"] - first["busy_gpus"]).where(first["waiting_jobs"] > 0, 0)
    assert len(first) < len(table) and found["decisions"] == len(table)
    assert found["rounds"] == len(first)
    assert found["fragments_gpus"] == pytest.approx(idle.mean())
    assert found["changed_rounds"] == pytest.approx(number[table["changed"]].nunique() / len(first))
    assert 0 < found["changed_rounds"] <= 1
