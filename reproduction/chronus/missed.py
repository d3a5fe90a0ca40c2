"""Whose rewards are missed: those of refused jobs or of the others, so that a difference of wDMR has an address."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from reproduction.chronus.settings import NODE_GPUS
from workbench.analysis.metrics.slo import Verdicts, reward_shares
from workbench.base.errors import counted
from workbench.papers.chronus.algorithms.consolidation import is_friendly
from workbench.simulation.run import Run

PARTS = {
    "weighted_miss_rate": "refused_part",
    "strict_miss_rate": "strict_refused_part",
    "soft_miss_rate": "soft_refused_part",
}
"""Of each miss rate the part that jobs without a guarantee miss; what is left is missed by all others."""
SAME = 1e-9
"""Differences up to so much are rounding."""


def missed(run: Run) -> dict[str, float]:
    """`PARTS`, NaN without jobs of the kind; of the refused jobs hostile to consolidation number and miss rate."""
    shares, refused = reward_shares(run), Verdicts.of(run).turned_down
    deadlines = np.array([len(job.rewards or ()) for job in run.scenario.jobs])
    hostile = np.array([not is_friendly(job.gpus, NODE_GPUS) for job in run.scenario.jobs])
    found: dict[str, float] = {}
    for part, kind in zip(PARTS.values(), (deadlines > 0, deadlines == 1, deadlines > 1), strict=True):
        found[part] = float((1 - shares[kind & refused]).sum() / kind.sum()) if kind.any() else math.nan
    own = (deadlines > 0) & refused & hostile
    found["hostile_refused"] = float(own.sum())
    found["hostile_refused_miss_rate"] = float(1 - shares[own].mean()) if own.any() else math.nan
    return found


@dataclass(frozen=True)
class Gap:
    """How much higher a miss rate is at one point than at another, on average of the seeds that know both.

    refused: the part of it by refused jobs; higher: seeds in which it is higher; seeds: that know both.
    """

    whole: float
    refused: float
    higher: int
    seeds: int

    @classmethod
    def between(cls, found: pd.DataFrame, above: Hashable, below: Hashable, measure: str) -> Gap:
        """found: of `lines.sweep`; above, below: points of it; measure: of `PARTS`."""
        rows = {x: found.loc[[at == x for at in found["x"]]].set_index("seed") for x in (above, below)}
        whole = (rows[above][measure] - rows[below][measure]).dropna()
        part = (rows[above][PARTS[measure]] - rows[below][PARTS[measure]]).dropna()
        return cls(float(whole.mean()), float(part.mean()), int((whole > SAME).sum()), len(whole))

    def said(self, where: str) -> str:
        """As a sentence; where: the point above, as in `without it`."""
        if not self.seeds:
            return f"Here no job tells {where}."
        others = self.whole - self.refused
        if all(abs(part) <= SAME for part in (self.refused, others)):
            return f"Here {where} the same."
        return (
            f"Here {where} {_signed(self.whole)}, higher in {self.higher} of {counted(self.seeds, 'seed')}: "
            f"{_signed(self.refused)} by refused jobs, {_signed(others)} by the others."
        )


def _signed(value: float) -> str:
    return f"{value:+.2g}" if abs(value) > SAME else "0"
