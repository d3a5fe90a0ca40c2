"""Chronus against six others (section 5.4, Fig. 9), and why the numbers are as they are, one change at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from reproduction.chronus.lines import (
    ALL,
    CHARGED,
    CHRONUS,
    CODED,
    EDF,
    GENIE,
    KNOWN,
    OTHERS,
    bars,
    drawn,
    mean,
    points,
    row,
    said,
    sweep,
    values,
)
from reproduction.chronus.profiler import HEADROOM
from reproduction.chronus.settings import TRACES, ChronusSize, WorkloadSetting, at, origin
from reproduction.figure import Entry, PaperFigure, Plot
from reproduction.line import Line, rivalled
from workbench.analysis.charts.bar_charts import grouped_bars
from workbench.analysis.charts.curves import curve

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


def ratio(found: pd.DataFrame, x: str, name: str, below: str, measure: str) -> list[float]:
    """One scheduler over another, seed by seed; NaN where the other's is 0 or one is unknown."""
    pairs = zip(values(found, (name, x), measure), values(found, (below, x), measure), strict=True)
    return [up / down if down else math.nan for up, down in pairs]


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
    rows = []
    for x in xs:
        for line in ALL[1:]:
            numbers = ratio(found, x, line.name, CHRONUS.name, "best_effort_jct_s")
            rows.append(
                Entry(
                    f"{JCT}, {x}, {line.name} / Chronus",
                    "1",
                    None,
                    _mean(numbers),
                    f"{said(numbers)} The paper, drawn: above 1 for all six others, Themis as in Gavel.",
                    SECTION,
                )
            )
    return rows


def _lead(found: pd.DataFrame, xs: list[str], names: tuple[str, ...]) -> list[Entry]:
    """How Chronus stands to the best of the six."""
    rows = []
    for name in names:
        gaps = [
            min(mean(found, (other.name, x), "weighted_miss_rate") for other in OTHERS)
            - mean(found, (name, x), "weighted_miss_rate")
            for x in xs
        ]
        rows.append(
            Entry(
                f"{MISSES}, best of the six - {name}, least over all points",
                "1",
                None,
                min(gaps),
                "The paper says that Chronus always is the best: above 0. On the authors' own files: 5.4 trace.",
                SECTION,
            )
        )
        rows.append(
            Entry(
                f"{MISSES}, best of the six - {name}, greatest over all points",
                "1",
                None,
                max(gaps),
                f"Lowest or not, over {len(xs)} points.",
                SECTION,
            )
        )
    return rows


def figure_9ab(size: ChronusSize) -> PaperFigure:
    """SLO, MIX1 and MIX2."""
    every = workloads(size)
    found = sweep(every, size.seeds)
    xs = [_name(trace, workload) for trace in size.traces for workload in WORKLOADS]
    why = {_name(trace, workload): SAYS[workload] for trace in size.traces for workload in WORKLOADS}
    mixed = [x for x in xs if not x.endswith("SLO")]
    rows = (*_misses(found, every, why), *_lead(found, xs, (CHRONUS.name, KNOWN.name)), *_jct(found, mixed))
    options = {"x_title": "Workload", "height": 340}
    panels = {
        "a": Plot(
            bars(found, "weighted_miss_rate", {key: key for key in every}),
            grouped_bars,
            {**options, "title": "Weighted deadline miss rate", "y_title": MISSES},
        ),
        "b": Plot(
            bars(found, "best_effort_jct_s", {key: key for key in every if key[1] in mixed}, 1 / 3600),
            grouped_bars,
            {**options, "title": "Best effort", "y_title": "Mean JCT (h)"},
        ),
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
    rows = _lead(found, list(dict.fromkeys(x for _, x in every)), (CHRONUS.name, KNOWN.name))
    panels = {}
    for trace, letters in zip(size.traces, ("ce", "df"), strict=False):
        xs = [f"{trace}_MIX2 at {density} %" for density in size.densities]
        why = dict.fromkeys(xs, "The paper, drawn: it grows with density for all.")
        of_trace = {key: point for key, point in every.items() if key[1] in xs}
        rows += [*_misses(found, of_trace, why), *_jct(found, xs)]
        more = {
            line.name: mean(found, (line.name, xs[-1]), "weighted_miss_rate")
            - mean(found, (line.name, xs[0]), "weighted_miss_rate")
            for line in ALL
        }
        rows += [
            Entry(
                f"{MISSES}, {trace}_MIX2, {size.densities[-1]} % - {size.densities[0]} %, {name}",
                "1",
                None,
                gap,
                "The paper: above 0 for all.",
                SECTION,
            )
            for name, gap in more.items()
        ]
        names = {
            (line.name, x): (line.name, density) for line in ALL for density, x in zip(size.densities, xs, strict=True)
        }
        options: dict[str, Any] = {"x_title": "Job density (%)"}
        panels[letters[0]] = Plot(
            points(found, "weighted_miss_rate", names).drop(columns=["low", "high"]),
            curve,
            {**options, "title": f"{trace}_MIX2: misses", "y_title": MISSES},
        )
        panels[letters[1]] = Plot(
            points(found, "best_effort_jct_s", names, 1 / 3600).drop(columns=["low", "high"]),
            curve,
            {**options, "title": f"{trace}_MIX2: best effort", "y_title": "Mean JCT (h)"},
        )
    return PaperFigure("Fig. 9c-f", "Job density", tuple(rows), drawn(panels))


def changes(size: ChronusSize) -> dict[str, Line]:
    """Chronus with one thing changed."""
    return {
        "as it is": CHRONUS,
        "run times known": KNOWN,
        "profiling headroom 4": CHRONUS.but("profiling headroom 4", profile_headroom=HEADROOM),
        "no submission control": CHRONUS.but("no submission control", submission_gpus=None),
        "progress of the profile lost": CHRONUS.but("progress of the profile lost", profile_progress=False),
        "leases of 5 min": CHRONUS.but("leases of 5 min", slo_lease_s=300),
        "run times known, leases of 5 min": KNOWN.but("known, 5 min", slo_lease_s=300),
        "overhead of 120 s reserved": CHRONUS.but("overhead of 120 s reserved", reserve_overhead=120),
        "best effort by GPU time": CHRONUS.but("best effort by GPU time", be_order="remaining_gpu_time"),
    }


def reasons(size: ChronusSize) -> PaperFigure:
    """Why: Chronus on MIX2 with one thing changed; the load of the jobs changed for it and two others."""
    lines = changes(size)
    every: dict[Any, tuple[WorkloadSetting, Line]] = {
        (name, trace): (at(size, trace), line) for trace in size.traces for name, line in lines.items()
    }
    trace = size.traces[0]
    loads = {factor: factor * TRACES[trace].load for factor in (0.5, 2.0)}
    for factor, load in loads.items():
        for line in (CHRONUS, KNOWN, EDF, GENIE):
            every[(f"{line.name}, run times x {factor:g}", trace)] = (at(size, trace, load=load), line)
    found = sweep(every, size.seeds)
    rows = []
    for (name, of), (setting, _) in every.items():
        facts = {
            measure: mean(found, (name, of), measure)
            for measure in ("mean_profiling_delay_s", "unguaranteed", "broken_guarantees")
        }
        told = [
            f"{label} {value:.4g}"
            for label, value in zip(
                ("mean profiling delay (s)", "unguaranteed jobs", "broken guarantees"), facts.values(), strict=True
            )
            if not math.isnan(value)
        ]
        why = f"{origin(setting)}{': ' if told else ''}{', '.join(told)}."
        rows.append(row(found, (name, of), "weighted_miss_rate", f"{MISSES}, {of}_MIX2, {name}", why, "ours"))
    return PaperFigure("5.4 reasons", "What the misses depend on", tuple(rows))
