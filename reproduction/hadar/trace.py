"""The trace-driven evaluation (section IV): Fig. 3 (GRU), Fig. 4 (jobs done over time), rounds and their length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pandas as pd

from reproduction.figure import Entry, PaperFigure, cell, chart_of
from reproduction.hadar.settings import HOUR, SLOT_S, HadarSize, simulated
from reproduction.line import Line, rivalled
from workbench.analysis.metrics import summary
from workbench.base.units import format_duration
from workbench.session.api import simulate
from workbench.simulation.run import Run

HADAR, THROUGHPUT = "Hadar", "Hadar, effective throughput"
EVERY, LEAVE, WAITING = "Hadar, every round", "Hadar, idle GPUs left", "Hadar, waiting jobs only"
GAVEL, TIRESIAS, YARN = "Gavel", "Tiresias", "YARN-CS"
LINES = (
    Line(HADAR, "hadar"),
    Line(GAVEL, "gavel.max_min_fairness"),
    Line(TIRESIAS, "tiresias"),
    Line(YARN, "yarn_cs"),
)
READINGS = (
    *LINES[:2],
    Line(THROUGHPUT, "hadar", {"utility": "effective_throughput"}),
    Line(EVERY, "hadar", {"reschedule": "all"}),
    Line(LEAVE, "hadar", {"idle_gpus": "leave"}),
    Line(WAITING, "hadar", {"reschedule": "waiting"}),
)
"""Hadar by default, then with one of the readings that the paper leaves open taken in another way."""
WHY = {
    HADAR: "The paper does not name its utility: the least mean JCT is asked for, not the least TTD",
    THROUGHPUT: "The paper's example of a utility: jobs of fast models come first, long slow ones last",
    EVERY: "As Algorithm 1 is printed: all jobs are decided on in every round",
    LEAVE: "As Algorithm 2 is printed: a job not worth the price waits, even if GPUs idle",
    WAITING: "Running jobs keep their GPUs",
    GAVEL: "Gavel's policy is not named (here: least attained service)",
    TIRESIAS: "Tiresias is blind to types, and some models are many times slower on a K80",
    YARN: "YARN-CS is blind to types and never preempts",
}
CHANGED = "rounds that change an allocation, "
TIMES = (
    # (of what, line, against, number in the paper)
    ("TTD", YARN, 1.67),
    ("TTD", TIRESIAS, 1.35),
    ("TTD", GAVEL, 1.21),
    ("median", GAVEL, 1.20),
    ("median", TIRESIAS, 1.40),
)


def _why(size: HadarSize, name: str) -> str:
    speeds = "batch sizes are" if size.measured_speeds else "speeds are (measured ones: gap of Fig. 4)"
    return f"{WHY[name]}; {speeds} ours, and so are the jobs' gangs."


@cache
def run(line: Line, size: HadarSize) -> Run:
    """A line on the jobs of section IV, all there at the start."""
    return replace(line, belief=size.belief).run(simulated(size))


def runs(size: HadarSize) -> Mapping[str, Run]:
    """A run of each line on the same jobs."""
    return {line.name: run(line, size) for line in rivalled(LINES, size.rivals)}


def measures(runs: Mapping[str, Run]) -> pd.DataFrame:
    """By line: TTD and median (h), gru and computing (shares), changed (share of rounds)."""
    rows = {}
    for name, run in runs.items():
        found, finish_h = summary(run), run.jobs["finish_s"] / HOUR
        rows[name] = {
            "TTD": float(finish_h.max(skipna=False)),
            "median": float(finish_h.median(skipna=False)),
            "gru": found["gru"],
            "computing": found["gru"] / found["allocated"],
            "changed": found["changed_rounds"],
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def figure_3(size: HadarSize) -> PaperFigure:
    """GPU resource utilisation, in the two ways in which the paper's sentence can be read."""
    table = measures(runs(size))
    whole = "The paper draws bars without numbers; of all GPUs until the last job ends."
    held = "The paper draws bars without numbers; read as the part of their run time in which jobs compute."
    rows = (
        *(Entry(f"GRU, {name}", "%", None, 100 * cell(table, name, "gru"), whole, "Fig. 3") for name in table.index),
        *(
            Entry(f"computing / held, {name}", "%", None, 100 * cell(table, name, "computing"), held, "Fig. 3")
            for name in table.index
        ),
    )
    ways = {"gru": "of all GPUs until the last job ends", "computing": "of the GPU time that jobs hold"}
    bars = pd.DataFrame(
        [(text, name, 100 * cell(table, name, key)) for key, text in ways.items() for name in table.index],
        columns=["group", "series", "value"],
    )
    panel = chart_of(bars, "GPU resource utilisation", "Part", "GPU time computing (%)")
    return PaperFigure("Fig. 3", "GPU resource utilisation (GRU)", rows, {"a": panel})


def figure_4(size: HadarSize) -> PaperFigure:
    """Jobs completed over time: total time duration (TTD), and the time by which half of the jobs are done."""
    table = measures(runs(size))
    rows = [
        Entry("TTD, Hadar", "h", 40.0, cell(table, HADAR, "TTD"), _why(size, HADAR), "IV-B"),
        Entry("TTD, YARN-CS", "h", 68.0, cell(table, YARN, "TTD"), _why(size, YARN), "IV-B"),
    ]
    rows += [_ahead(size, table, measure, against, HADAR, paper) for measure, against, paper in TIMES]
    curves = pd.concat([_completed(run, name) for name, run in runs(size).items()], ignore_index=True)
    panel = chart_of(curves, "Jobs completed over time", "Time (h)", "Share of jobs", dots=False)
    return PaperFigure("Fig. 4", "Jobs completed over time", tuple(rows), {"a": panel})


def _ahead(size: HadarSize, table: pd.DataFrame, measure: str, against: str, own: str, paper: float) -> Entry:
    """How many times as long another takes."""
    why = _why(size, own if against == GAVEL or measure == "median" else against)
    ratio = cell(table, against, measure) / cell(table, own, measure)
    return Entry(f"{measure}, {against} / {own}", "1", paper, ratio, why, "IV-B")


def changed_rounds(size: HadarSize) -> PaperFigure:
    """How many rounds change some job's GPUs."""
    table = measures(runs(size))
    row = Entry(CHANGED + HADAR, "%", 30.0, 100 * cell(table, HADAR, "changed"),
              "All jobs are decided on where one comes or ends, none in the rounds between.", "IV-B")  # fmt: skip
    other = Entry(CHANGED + GAVEL, "%", None, 100 * cell(table, GAVEL, "changed"),
                "The paper does not print it; rounds are how Gavel realises its shares.", "IV-B")  # fmt: skip
    return PaperFigure("IV rounds", "Rounds that change an allocation", (row, other))


def readings(size: HadarSize) -> PaperFigure:
    """What Hadar is ahead of Gavel by, and how often it changes something, with the paper read in other ways."""
    table = measures({line.name: run(line, size) for line in READINGS})
    rows = [
        _ahead(size, table, measure, GAVEL, own, paper)
        for own in table.index.drop(GAVEL)
        for measure, against, paper in TIMES
        if against == GAVEL
    ]
    rows += [
        Entry(CHANGED + name, "%", 30.0, 100 * cell(table, name, "changed"), _why(size, name), "IV-B")
        for name in table.index.drop(GAVEL)
    ]
    return PaperFigure("IV readings", "Hadar read in other ways", tuple(rows))


LENGTHS = (90.0, 360.0)  # paper: IV, "from 6 minutes to 1.5 minutes to yield the best results"


def round_length(size: HadarSize) -> PaperFigure:
    """Hadar under rounds of several lengths: by each measure one of the paper's against a shorter or longer one."""
    scenario = simulated(size)
    found = []
    for round_s in size.rounds_s:
        run = simulate(scenario, "hadar", round_s=round_s, belief=size.belief, detail=0)
        of = summary(run)
        found.append((round_s, of["makespan_s"] / HOUR, of["median_jct_s"] / HOUR, of["gru"]))
    table = pd.DataFrame(found, columns=["round_s", "TTD", "median JCT", "GRU"]).set_index("round_s")
    inside = [round_s for round_s in size.rounds_s if LENGTHS[0] <= round_s <= LENGTHS[1]]
    rows = []
    for name in table.columns:
        for other, own in product([each for each in size.rounds_s if each not in inside], inside):
            above, below = (own, other) if name == "GRU" else (other, own)  # above 1: the paper's length is better
            measure = f"{name}, rounds of {format_duration(above)} / of {format_duration(below)}"
            ratio = cell(table, above, name) / cell(table, below, name)
            rows.append(Entry(measure, "1", None, ratio,
                            "The paper: 1.5 to 6 min are best; which, depends on workload, GPUs and measure.",
                            "IV"))  # fmt: skip
    table /= table.loc[SLOT_S]
    long = [(name, round_s / 60, cell(table, round_s, name))
            for name in table.columns for round_s in sorted(size.rounds_s)]  # fmt: skip
    points = pd.DataFrame(long, columns=["line", "x", "y"])
    titles = "Hadar by length of a round", "Length of a round (min)", f"Ratio to {format_duration(SLOT_S)}"
    return PaperFigure("IV round length", "Length of a round", tuple(rows), {"a": chart_of(points, *titles)})


def _completed(run: Run, name: str) -> pd.DataFrame:
    """Share of the jobs that are done by a time (h), as the corners of a staircase: line, x, y."""
    ends = np.sort(run.jobs["finish_s"].dropna().to_numpy(dtype=float)) / HOUR
    done = np.arange(len(ends) + 1) / len(run.jobs)
    return pd.DataFrame({"line": name, "x": np.repeat(ends, 2), "y": np.repeat(done, 2)[1:-1]})
