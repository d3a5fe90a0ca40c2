"""The allocator (section 5.3): round-up and local search, by the share of jobs that are hostile to it. Fig. 8."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from workbench.charts.groups import grouped_bars
from workbench.reproduction.chronus.lines import CHRONUS, HOUR, Line, bars, drawn, mean, said, sweep, values
from workbench.reproduction.chronus.settings import Setting, Size, at, origin
from workbench.reproduction.figure import Figure, Panel, Row

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
Points = Mapping[tuple[str, float], tuple[Setting, Line]]


def _points(size: Size, lines: Mapping[str, Line]) -> Points:
    return {(name, share): (at(size, hostile=share), line) for share in size.hostile for name, line in lines.items()}


def _panels(found: pd.DataFrame, every: Points, what: str) -> Mapping[str, Panel]:
    names = {key: (key[0], f"{100 * key[1]:g} %") for key in every}
    options: dict[str, Any] = {"x_title": "Hostile among jobs of several GPUs"}
    jct = {**options, "title": f"{what}: best effort", "y_title": "Mean JCT (h)"}
    misses = {**options, "title": f"{what}: misses", "y_title": MISSES}
    panels = {
        "a": Panel(bars(found, "weighted_miss_rate", names), grouped_bars, misses),
        "b": Panel(bars(found, "best_effort_jct_s", names, 1 / HOUR), grouped_bars, jct),
    }
    return drawn(panels)


def _rows(found: pd.DataFrame, every: Points, why: str) -> list[Row]:
    rows = []
    for name, share in every:
        misses = values(found, (name, share), "weighted_miss_rate")
        rows.append(
            Row(
                f"{MISSES}, {100 * share:g} % hostile, {name}",
                "1",
                None,
                sum(misses) / len(misses),
                f"{said(misses)} {why}",
                SECTION,
            )
        )
    return rows


def _jct_ratio(found: pd.DataFrame, above: tuple[str, float], below: tuple[str, float]) -> list[float]:
    pairs = zip(values(found, above, "best_effort_jct_s"), values(found, below, "best_effort_jct_s"), strict=True)
    return [up / down for up, down in pairs]


def figure_8a(size: Size) -> Figure:
    """Round-up on and off."""
    every = _points(size, ROUNDING)
    found = sweep(every, size.seeds)
    rows = _rows(found, every, "The paper draws it: lower with round-up, by less where more jobs are hostile.")
    for share in size.hostile:
        ratio = _jct_ratio(found, (ON, share), (OFF, share))
        broken = [mean(found, (name, share), "broken_guarantees") for name in (OFF, ON)]
        rows.append(
            Row(
                f"{JCT}, {100 * share:g} % hostile, with / without round-up",
                "1",
                None,
                sum(ratio) / len(ratio),
                f"{said(ratio)} Guarantees broken without {broken[0]:.1f}, with {broken[1]:.1f}: where "
                "GPUs are scattered, a plan that does not round up cannot be carried out.",
                SECTION,
            )
        )
    return Figure("Fig. 8a", "Round-up", tuple(rows), _panels(found, every, "Round-up"))


def figure_8b(size: Size) -> Figure:
    """Where best-effort jobs are placed."""
    every = _points(size, PLACEMENTS)
    found = sweep(every, size.seeds)
    rows = _rows(found, every, "The paper draws it: lowest with local search.")
    for share in size.hostile:
        for name in (QUASI, SEARCH):
            ratio = _jct_ratio(found, (name, share), (CONSOLIDATED, share))
            rows.append(
                Row(
                    f"{JCT}, {100 * share:g} % hostile, {name} / {CONSOLIDATED}",
                    "1",
                    None,
                    sum(ratio) / len(ratio),
                    f"{said(ratio)} The paper: below 1, lowest with local search. {origin(at(size))}.",
                    SECTION,
                )
            )
    return Figure("Fig. 8b", "Placement of best effort", tuple(rows), _panels(found, every, "Placement"))
