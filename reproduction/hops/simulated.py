"""The simulated cluster of 512 GPUs (sections 4.3 to 4.6): Table 4, Figs. 11 to 13."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import pandas as pd

from reproduction.figure import Entry, PaperFigure, cell, chart_of
from reproduction.hops.lines import GAVEL, HOPS, SIA, of_jobs, runs_of, share_panel, table, three
from reproduction.hops.physical import compared
from reproduction.hops.settings import HOUR, RATE, ROUND_S, HopsSize, simulated
from reproduction.line import Line
from workbench.analysis.metrics import throughput_over_time
from workbench.scenario.scenario import Scenario
from workbench.simulation.run import Run

PAPER = {  # Table 4
    HOPS: {"makespan": 10.48, "JCT": 2.24, "wait": 0.87, "max LR": 3.22, "fragments": 0.45},
    SIA: {"makespan": 12.36, "JCT": 3.79, "wait": 1.68, "max LR": 78.5, "fragments": 56.0},
    GAVEL: {"makespan": 15.42, "JCT": 4.04, "wait": 2.24, "max LR": 70.43, "fragments": 18.0},
}
LENGTHS = "Job lengths are ours, scaled to the paper's makespan of Hops at full size, 512 GPUs"
FTF = Line("Hops, FTF", "hops", {"round_s": ROUND_S, "priority": "ftf", "lambda": 2.0})
PAPER_RHO = {FTF.name: 2.15, SIA: 28.27, GAVEL: 32.01}
PAPER_WAIT = {
    FTF.name: "it is not printed",
    **{name: f"{60 * PAPER[name]['wait']:.0f} (Table 4)" for name in (SIA, GAVEL)},
}
EVERY_S = 60.0
"""ours: the paper samples the throughput every 10 s."""


def workload(size: HopsSize) -> Scenario:
    """Of sections 4.3 and 4.4."""
    return simulated(size.simulated, size.shrink, length=size.length, seed=size.seed)


def swept(size: HopsSize, rate: int = RATE) -> Scenario:
    """Of sections 4.5 and 4.6; rate: jobs an hour at 512 GPUs."""
    return simulated(size.sweep, size.sweep_shrink, rate, size.length, size.seed)


@cache
def runs(size: HopsSize) -> Mapping[str, Run]:
    """The three schedulers on the same jobs, 100 an hour at 512 GPUs."""
    return runs_of(workload(size), three(size))


def table_4(size: HopsSize) -> PaperFigure:
    """The measures of Table 3 on 512 GPUs, or a part of them at the smaller sizes."""
    found = table(runs(size))
    return PaperFigure("Table 4", "The simulated cluster", compared(found, PAPER, "Table 4", LENGTHS))


def figure_11(size: HopsSize) -> PaperFigure:
    """Throughput of the cluster over time."""
    until_s = max(job.arrival_s for job in workload(size).jobs)
    at = np.arange(0.0, max(float(run.jobs["finish_s"].max()) for run in runs(size).values()), EVERY_S)
    parts, mean = [], {}
    for name, run in runs(size).items():
        steps = throughput_over_time(run)
        rate = steps["value"].to_numpy()[np.searchsorted(steps["time_s"].to_numpy(), at, side="right") - 1]
        mean[name] = float(rate[at <= until_s].mean())
        parts.append(pd.DataFrame({"line": name, "x": at / HOUR, "y": rate}))
    why = "While jobs arrive; the paper shows the curves without numbers and calls the gain significant."
    rows = tuple(
        Entry(f"throughput, {HOPS} / {name}", "1", None, mean[HOPS] / mean[name], why, "Fig. 11")
        for name in (SIA, GAVEL)
    )
    title, curves = "Throughput of the cluster", pd.concat(parts, ignore_index=True)
    panel = chart_of(curves, title, "Time (h)", "Jobs at the speed of their fastest type", dots=False)
    return PaperFigure("Fig. 11", title, rows, {"a": panel})


def figure_12(size: HopsSize) -> PaperFigure:
    """Latency ratios, and finish-time fairness with its own priority and lambda = 2 for Hops."""
    fair = {
        FTF.name: FTF.run(workload(size)),
        SIA: runs(size)[SIA],
        GAVEL: runs(size)[GAVEL],
    }
    rho, ratio = of_jobs(fair, "finish_time_fairness"), of_jobs(runs(size), "latency_ratio")
    wait_min = {name: float(run.jobs["waited_s"].mean()) / 60 for name, run in fair.items()}
    why = {name: f"Mean wait {wait_min[name]:.1f} min; in the paper {text}." for name, text in PAPER_WAIT.items()}
    rows = (
        *(Entry(f"max rho, {name}", "1", PAPER_RHO[name], float(values.max()), why[name], "4.4")
          for name, values in rho.items()),
        *(Entry(f"max rho, {name} / {FTF.name}", "1", PAPER_RHO[name] / PAPER_RHO[FTF.name],
              float(rho[name].max() / rho[FTF.name].max()), why[name], "4.4") for name in (SIA, GAVEL)),
        *(Entry(f"jobs with rho above 1, {name}", "%", None, 100 * float((values > 1).mean()),
              "The paper says far fewer under Hops, without a number.", "4.4") for name, values in rho.items()),
    )  # fmt: skip
    panels = {
        "a": share_panel(ratio, "Latency ratios", "Latency ratio"),
        "b": share_panel(rho, "Finish-time fairness", "rho"),
    }
    return PaperFigure("Fig. 12", "Latency ratios and finish-time fairness", rows, panels)


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
    found = runs_of(swept(size), rivals)
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
    titles = "Completion times by rate of arrivals", "Jobs an hour (logarithmic)", "Mean completion time (h)"
    panels = {
        "a": share_panel(ratio, "Latency ratios by priority", "Latency ratio"),
        "b": chart_of(pd.DataFrame(long, columns=["line", "x", "y"]), *titles, log_x=True),
    }
    return PaperFigure("Fig. 13", "Priorities, and the rate of arrivals", tuple(rows), panels)


def by_rate(size: HopsSize) -> pd.DataFrame:
    """Mean completion time (h) by rate of arrivals at 512 GPUs and scheduler."""
    rates = [rate for rate in size.rates if rate != RATE]
    found = {rate: table(runs_of(swept(size, rate), three(size)))["JCT"].to_dict() for rate in rates}
    return pd.DataFrame.from_dict(found, orient="index")
