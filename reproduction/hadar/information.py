"""What it is worth to know speeds better (sections III and V-A): Hadar, Gavel and HadarE, each told by estimators."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from reproduction.figure import Entry, PaperFigure
from reproduction.hadar.physical import HADARE
from reproduction.hadar.settings import CLUSTERS, SLOT_S, HadarSize, physical, simulated
from reproduction.hadar.trace import GAVEL, HADAR
from reproduction.information import BOOTSTRAPPED, ESTIMATORS, LAYERED, PMI, TYPES, beliefs, errors_panel, rows
from reproduction.line import Line
from workbench.analysis.metrics import summary
from workbench.base.arrays import FloatArray
from workbench.scenario.scenario import Scenario
from workbench.scheduling.estimators.by_name import maker
from workbench.scheduling.estimators.speed_error import ErrorLog

ON_TYPES = (Line(HADAR, "hadar"), Line(GAVEL, "gavel.max_min_fairness"))
FORKED = Line(HADARE, "hadare", {"payoff": "utility", "round_s": SLOT_S})
AT_FIRST = "The paper: (10) is good enough to decide by from the beginning, and what is measured replaces it."


def information(size: HadarSize) -> PaperFigure:
    """Mean JCT by what is told, over that of who is told the true speeds of types.

    Hadar and Gavel on the jobs of section IV, HadarE on the mixes (VI-C), mean over these.
    """
    known = beliefs((TYPES, LAYERED, BOOTSTRAPPED, PMI), size.name, size.seed)
    jobs = simulated(size)
    jct = {(line.name, told): _mean(at) for line in ON_TYPES for told, at in _jct_s(line, [jobs], known).items()}
    mixes = {cluster: [physical(cluster, mix, size.seed) for mix in size.mixes] for cluster in CLUSTERS}
    by_mix = {name: _jct_s(FORKED, mixes[cluster], known) for cluster, name in CLUSTERS.items()}
    forked = {(f"{HADARE}, {name}", told): _mean(at) for name, of in by_mix.items() for told, at in of.items()}
    made: list[Entry] = [*rows("JCT", jct, TYPES), *rows("JCT", forked, TYPES, "V-A", AT_FIRST)]
    for cluster, name in CLUSTERS.items():
        worst = float((by_mix[name][PMI] / by_mix[name][TYPES]).max())
        made += [
            Entry(f"JCT of the worst mix, {HADARE}, {name}, told {PMI} / told {TYPES}", "1", None,
                worst, AT_FIRST, "V-A"),
            Entry(f"mean error of speeds, {HADARE}, {name}, told {PMI}, at the end / after a round", "1", None,
                error_left(mixes[cluster]), AT_FIRST, "V-A"),
        ]  # fmt: skip
    panel = errors_panel({**jct, **forked}, TYPES)
    return PaperFigure("What is known", "What it is worth to know speeds better", tuple(made), {"a": panel})


def error_left(scenarios: Iterable[Scenario]) -> float:
    """The mean error of speeds by (10) after the last measurements over that after the first ones, before which they
    have no unit: sums over the scenarios in which something is measured; NaN where nothing is, or nothing was off."""
    first = last = 0.0
    for each in scenarios:
        log = ErrorLog(maker(ESTIMATORS[PMI]))
        replace(FORKED, belief=log).run(each)
        table = log.table()
        errors: list[float] = table.loc[table["observations"] > 0, "error"].tolist()
        if errors:
            first, last = first + errors[0], last + errors[-1]
    return last / first if first else math.nan


def _jct_s(line: Line, scenarios: Sequence[Scenario], known: Mapping[str, str]) -> dict[str, FloatArray]:
    """By what is told, the mean JCT of each scenario."""
    return {
        told: np.array([summary(replace(line, belief=belief).run(each))["mean_jct_s"] for each in scenarios])
        for told, belief in known.items()
    }


def _mean(jct_s: FloatArray) -> float:
    """The geometric mean, so that none counts for more."""
    return float(np.exp(np.log(jct_s).mean()))
