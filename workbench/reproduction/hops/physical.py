"""The physical cluster (section 4.2), simulated: Table 3, Figs. 9 and 10, and what the differences come from (ours)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pandas as pd

from workbench.api import simulate
from workbench.charts.curves import curve
from workbench.charts.groups import grouped_bars
from workbench.papers.hops.configurations import SIGMA
from workbench.reproduction.figure import Figure, Panel, Row, cell
from workbench.reproduction.hops.bound import least_makespan_s
from workbench.reproduction.hops.lines import (
    GAVEL,
    HOPS,
    MEASURES,
    QUEUE,
    SIA,
    THREE,
    UNITS,
    Line,
    busy_share,
    curve_options,
    of_jobs,
    over,
    runs_of,
    share_of_jobs,
    table,
)
from workbench.reproduction.hops.settings import HOUR, ROUND_S, Size, physical, with_sizes
from workbench.run import Run

PAPER = {  # Table 3
    HOPS: {"makespan": 9.51, "JCT": 3.2, "wait": 0.95, "max LR": 0.37, "fragments": 0.15},
    SIA: {"makespan": 11.68, "JCT": 4.41, "wait": 1.47, "max LR": 1.03, "fragments": 5.89},
    GAVEL: {"makespan": 14.46, "JCT": 5.92, "wait": 2.11, "max LR": 1.31, "fragments": 3.36},
}
RATIOS = ("makespan", "JCT", "wait", "max LR")
LENGTHS = "Job lengths are ours, scaled so that Hops's makespan is near the paper's"
WHY = {
    "makespan": "Under Sia too GPUs are held nearly all the time: no schedule can end so much sooner (4.2 reasons).",
    "JCT": "Jobs hardly wait here under any of them, as sizes are small and GPUs are not left idle (4.2 reasons).",
    "wait": "Least sizes are ours, and small: Sia lets hardly anyone wait; 4.2 reasons has larger ones.",
    "max LR": "Follows from the waits.",
    "fragments": "Counted once a round; Sia's come of gangs that find no node (none if they are split, 4.2 reasons).",
}
LEARNED, LEARNED_SIA = "Hops, learned speeds", "Sia, learned speeds"
SPLIT, QUICK_HOPS, QUICK_SIA = "Sia, gangs split", "Hops, 60 s", "Sia, 60 s"
FREE, PLAIN = "Hops, profiles for nothing", "Gavel, no queue"
VARIANTS = (
    Line(FREE, "hops", {"round_s": ROUND_S, "profile_iterations": 10, "profile_start_s": 0.0}),
    Line(QUICK_HOPS, "hops", {"round_s": 60.0}),
    Line(QUICK_SIA, "sia", {**QUEUE, "round_s": 60.0}),
    Line(SPLIT, "sia", {**QUEUE, "round_s": ROUND_S, "split": True}),
    Line(PLAIN, "gavel.max_min_fairness", {"round_s": ROUND_S}),
)


@cache
def runs(size: Size) -> Mapping[str, Run]:
    """The three schedulers on the same jobs."""
    return runs_of(physical(size.physical, size.length), THREE)


@cache
def learned(size: Size) -> Mapping[str, Run]:
    """Hops and Sia where both learn speeds by the three layers; decisions recorded in full."""
    return {
        name: simulate(physical(size.physical, size.length), line.scheduler, line.knobs, belief="layered")
        for name, line in zip((LEARNED, LEARNED_SIA), THREE, strict=False)
    }


def compared(
    found: pd.DataFrame, paper: Mapping[str, Mapping[str, float]], why: Mapping[str, str], source: str, lengths: str
) -> tuple[Row, ...]:
    """Rows of Tables 3 and 4: the measures of each scheduler, then the others' over Hops's."""
    plain = [
        Row(f"{measure}, {name}", UNITS[measure], numbers[measure], cell(found, name, measure),
            why["fragments"] if measure == "fragments" else f"{lengths}.", source)
        for name, numbers in paper.items()
        for measure in MEASURES
    ]  # fmt: skip
    ratios = [
        Row(f"{measure}, {other} / {HOPS}", "1", paper[other][measure] / paper[HOPS][measure],
            over(found, measure, other, HOPS), why[measure], source)
        for other in (SIA, GAVEL)
        for measure in RATIOS
    ]  # fmt: skip
    return (*plain, *ratios)


def table_3(size: Size) -> Figure:
    """Makespan, completion times, waits, worst latency ratio and fragments on 64 GPUs."""
    found = table(runs(size))
    bars = pd.DataFrame(
        [("makespan (h)", name, cell(found, name, "makespan")) for name in found.index]
        + [("mean JCT (h)", name, cell(found, name, "JCT")) for name in found.index]
        + [("mean wait (h)", name, cell(found, name, "wait")) for name in found.index],
        columns=["group", "series", "value"],
    )
    options = {"title": "64 GPUs, 25 jobs", "x_title": "Measure", "y_title": "Time (h)"}
    return Figure("Table 3", "The physical cluster, simulated", compared(found, PAPER, WHY, "Table 3", LENGTHS),
                  {"a": Panel(bars, grouped_bars, options)})  # fmt: skip


def figure_9(size: Size) -> Figure:
    """Shares of jobs up to a completion time and up to a latency ratio."""
    jct, ratio = of_jobs(runs(size), "jct_s", HOUR), of_jobs(runs(size), "latency_ratio")
    rows = tuple(
        Row(f"jobs with a latency ratio up to 0.37, {name}", "%", 100.0 if name == HOPS else None,
            100 * float((values <= 0.37).mean()),
            "All of Hops's jobs are, in the paper; of the others it shows the curve without numbers.", "4.2")
        for name, values in ratio.items()
    )  # fmt: skip
    panels = {
        "a": Panel(share_of_jobs(jct), curve, curve_options("Job completion times", "Completion time (h)")),
        "b": Panel(share_of_jobs(ratio), curve, curve_options("Latency ratios", "Latency ratio")),
    }
    return Figure("Fig. 9", "Completion times and latency ratios of jobs", rows, panels)


def reasons(size: Size) -> Figure:
    """What the ratios of Table 3 depend on: each row a measurement of ours, none in the paper."""
    scenario = physical(size.physical, size.length)
    found = runs(size)
    many = table({**found, **learned(size), **runs_of(scenario, VARIANTS)})
    least_h = least_makespan_s(scenario) / HOUR
    came_s = max(job.arrival_s for job in scenario.jobs)
    rows = [
        _row(f"least makespan of any schedule / {name}", least_h / cell(many, name, "makespan"),
             "A linear programme that leaves out gangs and servers: there is no more to be gained than this.")
        for name in found
    ]  # fmt: skip
    for name, run in found.items():
        until_s = came_s + 0.75 * (float(run.jobs["finish_s"].max()) - came_s)
        share = 100 * busy_share(run, came_s, until_s)
        why = "From the last arrival on, for three quarters of what is left: who wastes nothing cannot be overtaken."
        rows.append(Row(f"GPU time held while it is crowded, {name}", "%", None, share, why, "ours"))
    rows += [
        Row(f"restarts, {name}", "%", None, 100 * cell(many, name, "restarts"),
            "Of the GPU time held; 10 s each for all. The objective of Hops has no term for them, Sia's has.", "ours")
        for name in found
    ]  # fmt: skip
    pairs = [
        ("makespan", QUICK_SIA, QUICK_HOPS, "Rounds of one minute for both."),
        ("JCT", QUICK_SIA, QUICK_HOPS, "Rounds of one minute for both."),
        ("makespan", LEARNED_SIA, LEARNED, "Both learn speeds by the three layers, in place of being told."),
        ("JCT", LEARNED_SIA, LEARNED, "Both learn speeds by the three layers, in place of being told."),
        ("JCT", SIA, FREE, "Hops pays for profiles and Sia does not; here neither does."),
        ("JCT", PLAIN, HOPS, "Gavel with equal weights in place of latency ratios."),
        ("max LR", PLAIN, HOPS, "Gavel with equal weights in place of latency ratios."),
        ("max LR", SPLIT, HOPS, "Sia with gangs that are split over nodes, as in its published simulator."),
    ]
    rows += [
        _row(f"{measure}, {above} / {below}", over(many, measure, above, below), why)
        for measure, above, below, why in pairs
    ]
    rows.append(Row("fragments, Sia, gangs split", "GPUs", None, cell(many, SPLIT, "fragments"),
                    "Gangs that are split leave no fragments.", "ours"))  # fmt: skip
    for words, sizes in (
        ("sizes from the median up", lambda job: tuple(n for n in job.sizes if n >= job.gpus)),
        ("the median alone", lambda job: None),
    ):
        other = table(runs_of(with_sizes(scenario, sizes), THREE[:2]))
        why = f"With {words} for every job: how much there is to win depends on what users choose."
        rows += [
            _row(f"{measure}, {SIA} / {HOPS}, {words}", over(other, measure, SIA, HOPS), why)
            for measure in ("makespan", "JCT", "wait", "max LR")
        ]
    return Figure("4.2 reasons", "What the ratios depend on", tuple(rows))


def _row(measure: str, value: float, why: str) -> Row:
    return Row(measure, "1", None, value, why, "ours")


def figure_10(size: Size) -> Figure:
    """The paper: physical against simulated. Ours: Hops that learns speeds, as in a real cluster, against told ones."""
    scenario = physical(size.physical, size.length)
    pair = {HOPS: simulate(scenario, "hops", {"round_s": ROUND_S}), LEARNED: learned(size)[LEARNED]}
    found = table(pair)
    why = "The paper says that simulation and cluster are similar; nearest to it: speeds learned by the three layers."
    sensitive = (
        "What is measured of 16 GPUs on two servers stands for 2 GPUs there too (3.3), and moves (10); above sigma a "
        "job is kept on one server, however slow."
    )
    rows = (
        *(Row(f"{measure}, {LEARNED} / {HOPS}", "1", None,
              over(found, measure, LEARNED, HOPS), why, "Fig. 10")
          for measure in ("makespan", "JCT", "wait")),
        *(Row(f"jobs taken for sensitive at some time, {name}", "jobs", None, float(_sensitive(run)), sensitive, "ours")
          for name, run in pair.items()),
    )  # fmt: skip
    times = share_of_jobs(of_jobs(pair, "jct_s", HOUR))
    return Figure("Fig. 10", "Learned speeds against told ones", rows,
                  {"a": Panel(times, curve, curve_options("Job completion times", "Completion time (h)"))})  # fmt: skip


def _sensitive(run: Run) -> int:
    """How many jobs were ever above sigma."""
    rho = run.signals[run.signals["signal"] == "sensitivity"]
    return int((rho.groupby("job")["value"].max() > SIGMA).sum())
