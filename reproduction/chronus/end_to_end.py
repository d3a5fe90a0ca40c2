"""Chronus against six others (section 5.4, Fig. 9)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from reproduction.chronus.lines import (
    ALL,
    CHARGED,
    CHRONUS,
    CODED,
    HOUR,
    KNOWN,
    OTHERS,
    bars,
    drawn,
    mean,
    points,
    ratio,
    row,
    said,
    sweep,
)
from reproduction.chronus.settings import ChronusSize, WorkloadSetting, at, origin
from reproduction.figure import Entry, PaperFigure, chart_of
from reproduction.line import Line, rivalled

SECTION = "5.4"
MISSES, JCT = "wDMR", "JCT of best effort"
WORKLOADS = ("slo", "mix1", "mix2")
SAYS = {
    "slo": "The paper, drawn: Chronus lowest, then GENIE, 3Sigma and EDF.",
    "mix1": "The paper, drawn: EDF and 3Sigma are about as good as Chronus.",
    "mix2": "The paper, drawn: Chronus lowest by far, the others see strict deadlines only.",
}
_Points = Mapping[tuple[str, str], tuple[WorkloadSetting, Line]]


def _name(trace: str, workload: str) -> str:
    return f"{trace}_{workload.upper()}"


def schedulers(size: ChronusSize) -> tuple[Line, ...]:
    """All that are compared."""
    own = (line.but(line.name, **CODED) if size.coded and line in (CHRONUS, KNOWN) else line for line in ALL)
    return rivalled(own, size.rivals)


def workloads(size: ChronusSize) -> dict[tuple[str, str], tuple[WorkloadSetting, Line]]:
    """All schedulers on all workloads."""
    return {
        (line.name, _name(trace, workload)): (at(size, trace, workload=workload), line)
        for trace in size.traces
        for workload in WORKLOADS
        for line in schedulers(size)
    }


def _mean(numbers: list[float]) -> float:
    known = [value for value in numbers if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def _misses(found: pd.DataFrame, every: _Points, why: Mapping[str, str]) -> list[Entry]:
    return [
        row(found, (name, x), "weighted_miss_rate", f"{MISSES}, {x}, {name}",
            f"{why[x]} {CHARGED.get(name, 'Run times known')}. {origin(setting)}.", SECTION)
        for (name, x), (setting, _) in every.items()
    ]  # fmt: skip


def _jct(found: pd.DataFrame, xs: list[str]) -> list[Entry]:
    paper, rows = "The paper, drawn: above 1 for all six others, Themis as in Gavel.", []
    for x in xs:
        for line in (CHRONUS, *ALL[2:]):
            numbers = ratio(found, (line.name, x), (KNOWN.name, x))
            measure = f"{JCT}, {x}, {line.name} / {KNOWN.name}"
            rows.append(Entry(measure, "1", None, _mean(numbers), f"{said(numbers)} {paper}", SECTION))
    return rows


def _lead(found: pd.DataFrame, xs: list[str]) -> list[Entry]:
    """How Chronus stands to the best of the six, profiles charged and run times known."""
    best = "Of few seeds below 0 for whoever is best, as it is the least of many: the claims go by point and rival."
    rows = []
    for name in (CHRONUS.name, KNOWN.name):
        gaps = [
            min(mean(found, (other.name, x), "weighted_miss_rate") for other in OTHERS)
            - mean(found, (name, x), "weighted_miss_rate")
            for x in xs
        ]
        of = f"{MISSES}, best of the six - {name}, {{}} over all points".format
        rows.append(Entry(of("least"), "1", None, min(gaps), best, SECTION))
        rows.append(Entry(of("greatest"), "1", None, max(gaps), f"Lowest or not, over {len(xs)} points.", SECTION))
    return rows


def figure_9ab(size: ChronusSize) -> PaperFigure:
    """SLO, MIX1 and MIX2."""
    every = workloads(size)
    found = sweep(every, size.seeds)
    xs = [_name(trace, workload) for trace in size.traces for workload in WORKLOADS]
    why = {_name(trace, workload): SAYS[workload] for trace in size.traces for workload in WORKLOADS}
    mixed = [x for x in xs if not x.endswith("SLO")]
    rows = (*_misses(found, every, why), *_lead(found, xs), *_jct(found, mixed))
    misses = bars(found, "weighted_miss_rate", {key: key for key in every})
    jct_h = bars(found, "best_effort_jct_s", {key: key for key in every if key[1] in mixed}, 1 / HOUR)
    panels = {
        "a": chart_of(misses, "Weighted deadline miss rate", "Workload", "wDMR", height=340),
        "b": chart_of(jct_h, "Best effort", "Workload", "Mean JCT (h)", height=340),
    }
    return PaperFigure("Fig. 9a-b", "Schedulers on the workloads", rows, drawn(panels))


def figure_9cf(size: ChronusSize) -> PaperFigure:
    """Densities of 80 to 160 %, of MIX2."""
    every = {
        (line.name, f"{trace}_MIX2 at {density} %"): (at(size, trace, density=density), line)
        for trace in size.traces
        for density in size.densities
        for line in schedulers(size)
    }
    found = sweep(every, size.seeds)
    rows = _lead(found, list(dict.fromkeys(x for _, x in every)))
    panels = {}
    for trace, letters in zip(size.traces, ("ce", "df"), strict=False):
        xs = [f"{trace}_MIX2 at {density} %" for density in size.densities]
        why = dict.fromkeys(xs, "The paper, drawn: it grows with density for all.")
        of_trace = {key: point for key, point in every.items() if key[1] in xs}
        rows += [*_misses(found, of_trace, why), *_jct(found, xs)]
        for name in (line.name for line in ALL):
            first, *_, last = (mean(found, (name, x), "weighted_miss_rate") for x in xs)
            measure = f"{MISSES}, {trace}_MIX2, {size.densities[-1]} % - {size.densities[0]} %, {name}"
            rows.append(Entry(measure, "1", None, last - first, "The paper: above 0 for all.", SECTION))
        names = {
            (line.name, x): (line.name, density) for line in ALL for density, x in zip(size.densities, xs, strict=True)
        }
        misses, jct_h = (
            points(found, measure, names, scale).drop(columns=["low", "high"])
            for measure, scale in (("weighted_miss_rate", 1.0), ("best_effort_jct_s", 1 / HOUR))
        )
        density = "Job density (%)"
        panels[letters[0]] = chart_of(misses, f"{trace}_MIX2: misses", density, "wDMR")
        panels[letters[1]] = chart_of(jct_h, f"{trace}_MIX2: best effort", density, "Mean JCT (h)")
    return PaperFigure("Fig. 9c-f", "Job density", tuple(rows), drawn(panels))
