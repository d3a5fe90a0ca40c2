"""Priorities (section 4.5) and arrival rates (section 4.6): Fig. 13."""

from __future__ import annotations

import pandas as pd

from reproduction.figure import Entry, PaperFigure, Plot, cell
from reproduction.hops.lines import GAVEL, HOPS, SIA, of_jobs, runs_of, share_panel, table, three
from reproduction.hops.settings import RATE, ROUND_S, HopsSize, simulated
from reproduction.line import Line
from workbench.analysis.charts.curves import curve

LR = "LR"
NAMES = {"latency_ratio": LR, "las": "LAS", "sjf": "SJF", "srtf": "SRTF"}
SAID = {
    name: (3.0, "The paper says 3.") if name == LR else (80.0, "The paper says more than 80 for many jobs.")
    for name in NAMES.values()
}
"""Of the paper's worst latency ratios: a number to compare with, and its words."""


def figure_13(size: HopsSize) -> PaperFigure:
    """Hops with other priorities; mean completion times against the rate of arrivals."""
    rivals = [Line(name, "hops", {"round_s": ROUND_S, "priority": key}) for key, name in NAMES.items()]
    found = runs_of(simulated(size.sweep, size.sweep_shrink, length=size.length, seed=size.seed), rivals)
    ratio = of_jobs(found, "latency_ratio")
    rows = [
        Entry(f"max LR, priority {name}", "1", paper, float(values.max()),
            f"{text} Here {int((values > paper).sum())} of {len(values)} jobs have more; least sizes are ours.",
            "4.5")
        for name, values in ratio.items()
        for paper, text in (SAID[name],)
    ]  # fmt: skip
    times = by_rate(size)
    gaps = {name: times[name] - times[HOPS] for name in (SIA, GAVEL)}
    rows += [
        Entry(f"mean JCT, {name} / {HOPS}, {rate} an hour", "1", None,
            cell(times, rate, name) / cell(times, rate, HOPS), "The paper shows the curves without numbers.", "4.6")
        for name in gaps
        for rate in times.index
    ]  # fmt: skip
    rows += [
        Entry(f"mean JCT, {name} less {HOPS}, most over least rate", "h", None, float(gap.iloc[-1] - gap.iloc[0]),
            "The paper: the difference grows with the rate, without a number.", "4.6")
        for name, gap in gaps.items()
    ]  # fmt: skip
    long = [(name, float(rate), cell(times, rate, name)) for name in times.columns for rate in times.index]
    options = {
        "title": "Completion times by rate of arrivals", "x_title": "Jobs an hour (logarithmic)",
        "y_title": "Mean completion time (h)", "log_x": True,
    }  # fmt: skip
    panels = {
        "a": share_panel(ratio, "Latency ratios by priority", "Latency ratio"),
        "b": Plot(pd.DataFrame(long, columns=["line", "x", "y"]), curve, options),
    }
    return PaperFigure("Fig. 13", "Priorities, and the rate of arrivals", tuple(rows), panels)


def by_rate(size: HopsSize) -> pd.DataFrame:
    """Mean completion time (h) by rate of arrivals at 512 GPUs and scheduler."""
    rates = [rate for rate in size.rates if rate != RATE]
    found = {
        rate: table(runs_of(simulated(size.sweep, size.sweep_shrink, rate, size.length, size.seed), three(size)))[
            "JCT"
        ].to_dict()
        for rate in rates
    }
    return pd.DataFrame.from_dict(found, orient="index")
