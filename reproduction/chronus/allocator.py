"""The allocator (section 5.3): round-up and local search, by the share of jobs that are hostile to it. Fig. 8."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import pandas as pd

from reproduction.chronus.lines import CHRONUS, HOUR, bars, drawn, mean, ratio, row, said, sweep
from reproduction.chronus.missed import SAME, Gap
from reproduction.chronus.settings import NODE_GPUS, ChronusSize, WorkloadSetting, at, origin
from reproduction.figure import Entry, PaperFigure, Plot, chart_of
from reproduction.line import Line
from workbench.base.errors import counted
from workbench.papers.chronus.algorithms.consolidation import round_up

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


def _rows(found: pd.DataFrame, every: _Points, why: Callable[[str, float], str]) -> list[Entry]:
    """why: of a line's name and a share."""
    return [
        row(found, (name, share), "weighted_miss_rate", f"{MISSES}, {100 * share:g} % hostile, {name}",
            why(name, share), SECTION)
        for name, share in every
    ]  # fmt: skip


def figure_8a(size: ChronusSize) -> PaperFigure:
    """Round-up on and off."""
    every = _points(size, ROUNDING)
    found = sweep(every, size.seeds)
    rows = _rows(found, every, lambda _, share: _rounded(found, _hostile(size, share), size.seeds))
    for share in size.hostile:
        jct = ratio(found, (ON, share), (OFF, share))
        why = f"{said(jct)} The paper draws it and says nothing of it. {_longer(found, (ON, share), (OFF, share))}"
        measure = f"{JCT}, {100 * share:g} % hostile, with / without round-up"
        rows.append(Entry(measure, "1", None, sum(jct) / len(jct), why, SECTION))
    return PaperFigure("Fig. 8a", "Round-up", tuple(rows), _panels(found, every, "Round-up"))


def _both(found: pd.DataFrame, share: float, measure: str) -> tuple[float, float]:
    """A measure without and with round-up."""
    return mean(found, (OFF, share), measure), mean(found, (ON, share), measure)


def _rounded(found: pd.DataFrame, setting: WorkloadSetting, seeds: range) -> str:
    """What round-up does in a workload, in the paper and here: misses, broken guarantees, refusals, GPUs asked for."""
    share = setting.hostile
    gap = Gap.between(found, (OFF, share), (ON, share), "weighted_miss_rate")
    (broken, less), (refused, more) = (_both(found, share, name) for name in ("broken_guarantees", "unguaranteed"))
    return (
        "The paper draws it: lower with round-up, by less where more jobs are hostile; without it gangs find "
        f"no place on few nodes. {gap.said('without it')} Without / with it {broken:.1f} / {less:.1f} guarantees are "
        f"broken, {refused:.1f} / {more:.1f} jobs refused; GPUs asked for: {_demand(setting, seeds) - 1:+.1%}."
    )


def _demand(setting: WorkloadSetting, seeds: range) -> float:
    """GPUs of the jobs with deadlines rounded up, over those they ask for; NaN without such jobs."""
    gangs = [job.gpus for seed in seeds for job in setting.scenario(seed).jobs if job.rewards is not None]
    return sum(round_up(gang, NODE_GPUS) for gang in gangs) / sum(gangs) if gangs else math.nan


def _longer(found: pd.DataFrame, above: tuple[str, float], below: tuple[str, float]) -> str:
    """How much longer best effort takes at one point than at another, and where it does."""
    jct, waited = (
        mean(found, above, measure) - mean(found, below, measure)
        for measure in ("best_effort_jct_s", "best_effort_waited_s")
    )
    return _spent(waited, jct - waited)


def _spent(waited_s: float, held_s: float) -> str:
    """Whether jobs take longer or shorter without GPUs, or on them."""
    whole_s = waited_s + held_s
    if math.isnan(whole_s):
        return "No best-effort job tells."
    if abs(whole_s) <= SAME:
        return "Best effort takes as long."
    return f"Best effort takes {whole_s:+.0f} s on average: {waited_s:+.0f} s without GPUs, {held_s:+.0f} s on them."


def _best_effort(setting: WorkloadSetting, seeds: range) -> str:
    """How many jobs of a run have no deadline, and which of them a placement can change."""
    gangs = [job.gpus for seed in seeds for job in setting.scenario(seed).jobs if job.rewards is None]
    if not gangs:
        return "No job of a run is best effort from the start."
    small, single = (100 * sum(gang <= most for gang in gangs) / len(gangs) for most in (NODE_GPUS, 1))
    return (
        f"{len(gangs) / len(seeds):.0f} jobs of a run are best effort from the start, {small:.0f} % of them fit on a "
        f"node; the {single:.0f} % with one GPU are consolidated anywhere."
    )


def figure_8b(size: ChronusSize) -> PaperFigure:
    """Where best-effort jobs are placed."""
    every = _points(size, PLACEMENTS)
    found = sweep(every, size.seeds)
    rows = _rows(found, every, lambda name, share: _placed(found, name, share))
    for share in size.hostile:
        facts = _best_effort(_hostile(size, share), size.seeds)
        for name in (QUASI, SEARCH):
            jct = ratio(found, (name, share), (CONSOLIDATED, share))
            why = (
                f"{said(jct)} The paper: below 1, lowest with local search, no number; here below 1 in "
                f"{sum(one < 1 - SAME for one in jct)} of {counted(len(jct), 'seed')}. "
                f"{_longer(found, (name, share), (CONSOLIDATED, share))} {facts} {origin(_hostile(size, share))}."
            )
            measure = f"{JCT}, {100 * share:g} % hostile, {name} / {CONSOLIDATED}"
            rows.append(Entry(measure, "1", None, sum(jct) / len(jct), why, SECTION))
    return PaperFigure("Fig. 8b", "Placement of best effort", tuple(rows), _panels(found, every, "Placement"))


def _placed(found: pd.DataFrame, name: str, share: float) -> str:
    """What a placement (of the consolidated one: local search) does to wDMR, in the paper and here."""
    other = SEARCH if name == CONSOLIDATED else name
    gap = Gap.between(found, (other, share), (CONSOLIDATED, share), "weighted_miss_rate")
    refused, hostile = (mean(found, (other, share), measure) for measure in ("unguaranteed", "hostile_refused"))
    before, after = (mean(found, (x, share), "hostile_refused_miss_rate") for x in (CONSOLIDATED, other))
    rates = f", their wDMR {after:.3g} against {before:.3g}" if hostile > 0 else ""
    return (
        "The paper draws it: lowest with local search, as hostile jobs that round-up had refused are then in time. "
        f"{gap.said(f'with {other}, against {CONSOLIDATED},')} {hostile:.1f} of {refused:.1f} refused "
        f"jobs are hostile{rates}."
    )
