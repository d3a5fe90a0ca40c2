"""The physical cluster (section 4.2), simulated: Table 3, Figs. 9 and 10, and what the differences come from (ours)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pandas as pd

from reproduction.figure import Entry, PaperFigure, cell, chart_of
from reproduction.hops.bound import least_makespan_s
from reproduction.hops.lines import (
    GAVEL,
    HOPS,
    MEASURES,
    QUEUE,
    SIA,
    UNITS,
    busy_share,
    of_jobs,
    over,
    runs_of,
    share_panel,
    table,
    three,
)
from reproduction.hops.settings import HOUR, ROUND_S, HopsSize, from_median, physical, with_sizes
from reproduction.information import ESTIMATORS, LAYERED
from reproduction.line import Line
from workbench.papers.hops.algorithms.configurations import SIGMA
from workbench.scenario.scenario import Scenario
from workbench.scheduling.estimators.by_name import maker
from workbench.scheduling.estimators.speed_error import ErrorLog, speed_errors
from workbench.session.api import simulate
from workbench.simulation.run import Run

PAPER = {  # Table 3
    HOPS: {"makespan": 9.51, "JCT": 3.2, "wait": 0.95, "max LR": 0.37, "fragments": 0.15},
    SIA: {"makespan": 11.68, "JCT": 4.41, "wait": 1.47, "max LR": 1.03, "fragments": 5.89},
    GAVEL: {"makespan": 14.46, "JCT": 5.92, "wait": 2.11, "max LR": 1.31, "fragments": 3.36},
}
CALIBRATED = f"{MEASURES[0]}, {HOPS}"
"""The number of Tables 3 and 4 near which job lengths are scaled: listed, and beside no number of the paper."""
LENGTHS = "Job lengths are ours, scaled to the paper's makespan of Hops at full size"
LEARNED, LEARNED_SIA = "Hops, learned speeds", "Sia, learned speeds"
SPLIT, QUICK_HOPS, QUICK_SIA = "Sia, gangs split", "Hops, 60 s", "Sia, 60 s"
FREE, PLAIN, TYPES = "Hops, profiles for nothing", "Gavel, no queue", "Hops, told types only"
VARIANTS = (
    Line(FREE, "hops", {"round_s": ROUND_S, "profile_iterations": 10, "profile_start_s": 0.0}),
    Line(QUICK_HOPS, "hops", {"round_s": 60.0}),
    Line(QUICK_SIA, "sia", {**QUEUE, "round_s": 60.0}),
    Line(SPLIT, "sia", {**QUEUE, "round_s": ROUND_S, "split": True}),
    Line(PLAIN, "gavel.max_min_fairness", {"round_s": ROUND_S}),
    Line(TYPES, "hops", {"round_s": ROUND_S}, "oracle"),
)


def workload(size: HopsSize) -> Scenario:
    """The jobs of section 4.2."""
    found = physical(size.physical, size.length, size.seed)
    if size.hosts_alike:
        nodes = [group.model_dump(mode="json") | {"speed": 1.0} for group in found.cluster.nodes]
        found = found.replace(cluster={**found.to_dict()["cluster"], "nodes": nodes})
    return with_sizes(found, from_median) if size.median_up else found


@cache
def runs(size: HopsSize) -> Mapping[str, Run]:
    """The three schedulers on the same jobs."""
    return runs_of(workload(size), three(size))


@cache
def learned(size: HopsSize) -> Mapping[str, Run]:
    """Hops and Sia where both learn speeds by the three layers; decisions recorded in full."""
    return {
        name: simulate(workload(size), line.scheduler, line.knobs, belief=ESTIMATORS[LAYERED])
        for name, line in zip((LEARNED, LEARNED_SIA), three(size), strict=False)
    }


def compared(
    found: pd.DataFrame, paper: Mapping[str, Mapping[str, float]], source: str, lengths: str
) -> tuple[Entry, ...]:
    """Rows of Tables 3 and 4: the measures of each scheduler, then the others' over Hops's."""
    plain = [
        Entry(f"{measure}, {name}", UNITS[measure], numbers[measure], cell(found, name, measure),
            _why_fragments(name, cell(found, name, measure)) if measure == "fragments" else f"{lengths}.", source)
        for name, numbers in paper.items()
        for measure in MEASURES
    ]  # fmt: skip
    plain[0] = plain[0]._replace(measure=f"{CALIBRATED} (calibrated)", paper=None, note=f"Not reproduced: {lengths}.")
    ratios = [
        Entry(f"{measure}, {other} / {HOPS}", "1", paper[other][measure] / paper[HOPS][measure],
            over(found, measure, other, HOPS), none_if_zero(found, measure, HOPS, why), source)
        for other in (SIA, GAVEL)
        for measure, why in _whys(found, paper, other).items()
    ]  # fmt: skip
    return (*plain, *ratios)


def none_if_zero(found: pd.DataFrame, measure: str, below: str, why: str) -> str:
    """Why a ratio is what it is: if it is over nothing there is none."""
    return why if cell(found, below, measure) else f"No ratio: it is 0 under {below}."


def _whys(found: pd.DataFrame, paper: Mapping[str, Mapping[str, float]], other: str) -> dict[str, str]:
    """By measure, why the ratio of a scheduler to Hops is what it is, from what was measured here."""
    held = {name: f"{cell(found, name, 'allocated'):.0%}" for name in (other, HOPS)}
    ours = {name: f"{60 * cell(found, name, 'wait'):.1f}" for name in (other, HOPS)}
    theirs = {name: f"{60 * paper[name]['wait']:.0f}" for name in (other, HOPS)}
    part = cell(found, other, "wait") / cell(found, other, "JCT")
    part_paper = paper[other]["wait"] / paper[other]["JCT"]
    return {
        "makespan": f"{held[other]} of the GPU time is held under {other}, {held[HOPS]} under {HOPS}. 4.2 reasons has "
        "what no schedule on 64 GPUs can end before.",
        "JCT": f"Mean wait {ours[other]} min under {other}, {ours[HOPS]} under {HOPS}; in the paper {theirs[other]} "
        f"and {theirs[HOPS]}.",
        "wait": f"Least sizes are ours: {part:.0%} of a completion time is waiting under {other}, in the paper "
        f"{part_paper:.0%}. 4.2 reasons has larger sizes.",
        "max LR": "One job's wait over its run time: 4.2 reasons has gangs that are split, and larger sizes.",
    }


def _why_fragments(name: str, gpus: float) -> str:
    """Where fragments come from, if there are any."""
    if not gpus:
        return "Counted once a round; here there are none."
    split = " Gangs that find no node leave GPUs idle: 4.2 reasons has gangs that are split." if name == SIA else ""
    return f"Counted once a round.{split}"


def table_3(size: HopsSize) -> PaperFigure:
    """Makespan, completion times, waits, worst latency ratio and fragments on 64 GPUs."""
    found = table(runs(size))
    words = {"makespan": "makespan (h)", "JCT": "mean JCT (h)", "wait": "mean wait (h)"}
    bars = [(words[measure], name, cell(found, name, measure)) for measure in words for name in found.index]
    frame = pd.DataFrame(bars, columns=["group", "series", "value"])
    panel = chart_of(frame, f"64 GPUs, {size.physical} jobs", "Measure", "Time (h)")
    rows = compared(found, PAPER, "Table 3", LENGTHS)
    return PaperFigure("Table 3", "The physical cluster, simulated", rows, {"a": panel})


def figure_9(size: HopsSize) -> PaperFigure:
    """Shares of jobs up to a completion time and up to a latency ratio."""
    jct, ratio = of_jobs(runs(size), "jct_s", HOUR), of_jobs(runs(size), "latency_ratio")
    rows = [
        Entry(f"jobs with a latency ratio up to 0.37, {name}", "%", 100.0 if name == HOPS else None,
            100 * float((values <= 0.37).mean()),
            "All of Hops's jobs are, in the paper; of the others it shows the curve without numbers.", "4.2")
        for name, values in ratio.items()
    ]  # fmt: skip
    rows += [
        Entry(f"mean {words}, {name} / {HOPS}", "1", None, float(of[name].mean() / of[HOPS].mean()),
            "The paper: Hops's curve is better, without a number; a mean is the area before a curve.", "Fig. 9")
        for words, of in (("JCT", jct), ("latency ratio", ratio))
        for name in (SIA, GAVEL)
    ]  # fmt: skip
    panels = {
        "a": share_panel(jct, "Job completion times", "Completion time (h)"),
        "b": share_panel(ratio, "Latency ratios", "Latency ratio"),
    }
    return PaperFigure("Fig. 9", "Completion times and latency ratios of jobs", tuple(rows), panels)


def reasons(size: HopsSize) -> PaperFigure:
    """What the ratios of Table 3 depend on: each row a measurement of ours, none in the paper."""
    scenario = workload(size)
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
        why = "For three quarters of what is left then; only near 100 % does it show that nobody can end much sooner."
        rows.append(Entry(f"GPU time held from the last arrival on, {name}", "%", None, share, why, "ours"))
    rows += [
        Entry(f"restarts, {name}", "%", None, 100 * cell(many, name, "restarts"),
            "Of the GPU time held; 10 s each for all. The objective of Hops has no term for them, Sia's has.",
            "ours")
        for name in found
    ]  # fmt: skip
    pairs = [
        ("makespan", TYPES, HOPS, "What knowing single servers is worth to Hops; Sia and Gavel look at types alone."),
        ("makespan", SIA, TYPES, "Both are told the speeds of types only."),
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
        _row(f"{measure}, {above} / {below}", over(many, measure, above, below),
             none_if_zero(many, measure, below, why))
        for measure, above, below, why in pairs
    ]  # fmt: skip
    rows.append(Entry("fragments, Sia, gangs split", "GPUs", None, cell(many, SPLIT, "fragments"),
                    "Beside the fragments of Sia in Table 3, where gangs are not split.", "ours"))  # fmt: skip
    for words, sizes in (("sizes from the median up", from_median), ("the median alone", lambda job: None)):
        other = table(runs_of(with_sizes(scenario, sizes), three(size)[:2]))
        why = f"With {words} for every job: how much there is to win depends on what users choose."
        rows += [
            _row(f"{measure}, {SIA} / {HOPS}, {words}", over(other, measure, SIA, HOPS),
                 none_if_zero(other, measure, HOPS, why))
            for measure in ("makespan", "JCT", "wait", "max LR")
        ]  # fmt: skip
    return PaperFigure("4.2 reasons", "What the ratios depend on", tuple(rows))


def _row(measure: str, value: float, why: str) -> Entry:
    return Entry(measure, "1", None, value, why, "ours")


def figure_10(size: HopsSize) -> PaperFigure:
    """The paper: physical against simulated. Ours: Hops that learns speeds, as in a real cluster, against told ones."""
    scenario = workload(size)
    pair = {HOPS: simulate(scenario, "hops", {"round_s": ROUND_S}), LEARNED: learned(size)[LEARNED]}
    found = table(pair)
    why = "The paper says that simulation and cluster are similar; nearest to it: speeds learned by the three layers."
    sensitive = (
        "What is measured of 16 GPUs on two servers stands for 2 GPUs there too (3.3), and moves (10); above sigma a "
        "job is kept on one server, however slow."
    )
    rows = (
        *(Entry(f"{measure}, {LEARNED} / {HOPS}", "1", 1.0 if measure == "JCT" else None,
              over(found, measure, LEARNED, HOPS), none_if_zero(found, measure, HOPS, why), "Fig. 10")
          for measure in ("makespan", "JCT", "wait")),
        *(Entry(f"jobs taken for sensitive at some time, {name}", "jobs", None, float(_sensitive(run)),
                sensitive, "ours")
          for name, run in pair.items()),
    )  # fmt: skip
    panel = share_panel(of_jobs(pair, "jct_s", HOUR), "Job completion times", "Completion time (h)")
    return PaperFigure("Fig. 10", "Learned speeds against told ones", rows, {"a": panel})


@cache
def _errors(size: HopsSize, unstable: bool) -> pd.DataFrame:
    """How far the three layers are off in Hops's run, by time; of the jobs whose loading is unstable, or of the others.

    Columns of `ErrorLog.table`. Errors are over all configurations of the jobs' models and sizes.
    """
    scenario = workload(size)
    varying = {model.name for model in scenario.models if model.load_s}
    part = scenario.replace(jobs=[job for job in scenario.jobs if (job.model in varying) == unstable])
    log = ErrorLog(maker(ESTIMATORS[LAYERED]), None, lambda _, belief: speed_errors(part, belief))
    Line(LEARNED, "hops", {"round_s": ROUND_S}, log).run(scenario)
    return log.table()


def figure_6(size: HopsSize) -> PaperFigure:
    """How near predicted speeds of jobs whose loading is stable are, over all configurations."""
    error = _errors(size, unstable=False)["error"]
    why = (
        "Hosts of unknown speed, and built-in speeds, which grow with GPUs by a power law (ours), not by the paper's "
        "formula; the paper measures two models and does not say after how much training."
    )
    rows = tuple(
        Entry(f"accuracy, stable loading, {when}", "%", None, 100 * (1 - float(error.iloc[at])), why, "4.1")
        for when, at in (("when jobs have been profiled", 0), ("at the end", -1))
    )
    return PaperFigure("Fig. 6", "Accuracy of predictions", rows)


def figure_7(size: HopsSize) -> PaperFigure:
    """The errors of predicted speeds when jobs have been profiled and at the end of the run, and their curve."""
    rows, lines = [], []
    for name, unstable in (("unstable loading", True), ("stable loading", False)):
        found = _errors(size, unstable)
        first, last = (float(found["error"].iloc[at]) for at in (0, -1))
        why = "The paper draws it without a number. Built-in speeds; unknown at first: servers, and times of loading."
        rows += [
            Entry(f"mean error, {name}, at the end / at first", "1", None, last / first, why, "4.1"),
            Entry(f"mean error, {name}, at first", "%", None, 100 * first, why, "4.1"),
            Entry(f"mean error, {name}, at the end", "%", None, 100 * last, why, "4.1"),
        ]
        lines.append(pd.DataFrame({"line": name, "x": found["measured_s"] / HOUR, "y": 100 * found["error"]}))
    curves = pd.concat(lines, ignore_index=True)
    panel = chart_of(curves, "Errors of predicted speeds", "Time measured (h)", "Mean error (%)")
    return PaperFigure("Fig. 7", "Predictions as measurements accumulate", tuple(rows), {"b": panel})


def _sensitive(run: Run) -> int:
    """How many jobs were ever above sigma."""
    rho = run.signals[run.signals["signal"] == "sensitivity"]
    return int((rho.groupby("job")["value"].max() > SIGMA).sum())
