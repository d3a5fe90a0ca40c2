"""The allocator (section 5.3): round-up and local search, by the share of jobs that are hostile to it. Fig. 8."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from reproduction.chronus.lines import CHRONUS, HOUR, bars, drawn, ratio, row, said, sweep
from reproduction.chronus.settings import ChronusSize, WorkloadSetting, at, origin
from reproduction.figure import Entry, PaperFigure, Plot, chart_of
from reproduction.line import Line

SECTION = "5.3"
MISSES, JCT = "wDMR", "JCT of best effort"
OFF, ON = "without round-up", "with round-up"
CONSOLIDATED, QUASI, SEARCH = "consolidated", "quasi-consolidated", "local search"
ROUNDING = {OFF: CHRONUS.but(OFF, round_up=False), ON: CHRONUS}
PLACEMENTS = {
    CONSOLIDATED: CHRONUS.but(CONSOLIDATED, be_placement="consolidated"),
    QUASI: CHRONUS.but(QUASI, be_placement="quasi"),
    SEARCH: CHRONUS,
}
_Points = Mapping[tuple[str, float], tuple[WorkloadSetting, Line]]


def _hostile(size: ChronusSize, share: float) -> WorkloadSetting:
    """Drawn: no file has jobs of such sizes."""
    return at(size, from_file=False, hostile=share)


def _points(size: ChronusSize, lines: Mapping[str, Line]) -> _Points:
    return {(name, share): (_hostile(size, share), line) for share in size.hostile for name, line in lines.items()}


def _panels(found: pd.DataFrame, every: _Points, what: str) -> Mapping[str, Plot]:
    names = {key: (key[0], f"{100 * key[1]:g} %") for key in every}
    misses, jct_h = bars(found, "weighted_miss_rate", names), bars(found, "best_effort_jct_s", names, 1 / HOUR)
    hostile = "Hostile among jobs of several GPUs"
    panels = {
        "a": chart_of(misses, f"{what}: misses", hostile, "wDMR"),
        "b": chart_of(jct_h, f"{what}: best effort", hostile, "Mean JCT (h)"),
    }
    return drawn(panels)


def _rows(found: pd.DataFrame, every: _Points, why: str) -> list[Entry]:
    """Misses of each line at each share."""
    return [
        row(found, (name, share), "weighted_miss_rate", f"{MISSES}, {100 * share:g} % hostile, {name}", why, SECTION)
        for name, share in every
    ]


def figure_8a(size: ChronusSize) -> PaperFigure:
    """Round-up on and off."""
    every = _points(size, ROUNDING)
    found = sweep(every, size.seeds)
    rows = _rows(found, every, "The paper draws it: lower with round-up, by less where more jobs are hostile.")
    for share in size.hostile:
        jct = ratio(found, (ON, share), (OFF, share))
        why = f"{said(jct)} The paper draws it and says nothing of it."
        measure = f"{JCT}, {100 * share:g} % hostile, with / without round-up"
        rows.append(Entry(measure, "1", None, sum(jct) / len(jct), why, SECTION))
    return PaperFigure("Fig. 8a", "Round-up", tuple(rows), _panels(found, every, "Round-up"))


def figure_8b(size: ChronusSize) -> PaperFigure:
    """Where best-effort jobs are placed."""
    every = _points(size, PLACEMENTS)
    found = sweep(every, size.seeds)
    rows = _rows(found, every, "The paper draws it: lowest with local search.")
    for share in size.hostile:
        for name in (QUASI, SEARCH):
            jct = ratio(found, (name, share), (CONSOLIDATED, share))
            paper = "The paper: below 1, lowest with local search, no number."
            why = f"{said(jct)} {paper} {origin(_hostile(size, share))}."
            measure = f"{JCT}, {100 * share:g} % hostile, {name} / {CONSOLIDATED}"
            rows.append(Entry(measure, "1", None, sum(jct) / len(jct), why, SECTION))
    return PaperFigure("Fig. 8b", "Placement of best effort", tuple(rows), _panels(found, every, "Placement"))
