"""What it is worth to know speeds better (sections III and V-A): Hadar, Gavel and HadarE, each told by estimators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from reproduction.figure import Entry, PaperFigure
from reproduction.hadar.physical import HADARE
from reproduction.hadar.settings import CLUSTERS, SLOT_S, HadarSize, physical, simulated
from reproduction.hadar.trace import GAVEL, HADAR
from reproduction.information import BOOTSTRAPPED, ERRORS, LAYERED, PMI, TYPES, beliefs, errors_panel, rows
from reproduction.line import Line
from workbench.analysis.metrics import summary
from workbench.scenario.scenario import Scenario

ON_TYPES = (Line(HADAR, "hadar"), Line(GAVEL, "gavel.max_min_fairness"))
FORKED = Line(HADARE, "hadare", {"payoff": "utility", "round_s": SLOT_S})
AT_FIRST = "The paper: (10) is good enough to decide by from the beginning, and what is measured replaces it."


def information(size: HadarSize) -> PaperFigure:
    """Mean JCT by what is told, over that of who is told the true speeds of types.

    Hadar and Gavel on the jobs of the sweep over rounds (section IV), HadarE on the mixes (VI-C), mean over these.
    """
    known = beliefs((TYPES, LAYERED, BOOTSTRAPPED, PMI), ERRORS[:1] if size.name == "tiny" else ERRORS, size.seed)
    jobs = simulated(size.round_jobs, size.round_nodes, size.seed)
    jct = {(line.name, told): at for line in ON_TYPES for told, at in _jct_s(line, [jobs], known).items()}
    forked = {
        (f"{HADARE}, {name}", told): at
        for cluster, name in CLUSTERS.items()
        for told, at in _jct_s(FORKED, [physical(cluster, mix) for mix in size.mixes], known).items()
    }
    made: list[Entry] = [*rows("JCT", jct, TYPES), *rows("JCT", forked, TYPES, "V-A", AT_FIRST)]
    panel = errors_panel({**jct, **forked}, TYPES)
    return PaperFigure("What is known", "What it is worth to know speeds better", tuple(made), {"a": panel})


def _jct_s(line: Line, scenarios: Iterable[Scenario], known: Mapping[str, str]) -> dict[str, float]:
    """By what is told, the mean JCT; of several scenarios the geometric mean, so that none counts for more."""
    given = list(scenarios)
    return {
        told: float(
            np.exp(np.mean([np.log(summary(replace(line, belief=belief).run(each))["mean_jct_s"]) for each in given]))
        )
        for told, belief in known.items()
    }
