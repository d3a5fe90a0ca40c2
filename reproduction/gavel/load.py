"""Mean job completion time against load: Figs. 8, 9, 10, 16, 17, 18 and 20 (sections 7.3 and A.2)."""

from __future__ import annotations

import pandas as pd

from reproduction.figure import Entry, PaperFigure
from reproduction.gavel.settings import GavelSize
from reproduction.gavel.sweep import gains, highest, load_panel, multiple, points, share_panel, single, sweep
from reproduction.line import Line
from workbench.scheduling.knob import Value

LAS, FIFO, FTF = "gavel.max_min_fairness", "fifo", "gavel.finish_time_fairness"
AGNOSTIC, AWARE, SHARED = "agnostic", "Gavel", "Gavel with space sharing"
GANDIVA, ALLOX = "agnostic with Gandiva's packing", "AlloX"
HIGH, LOW = 5.0, 1.0  # code: weights of the two priorities
PRIORITY_SHARE = 0.2  # paper: 7.3

DATA = (
    "speeds are modelled but at authors*, the cluster is smaller but at authors_whole, the rates and which jobs are "
    "measured are ours but at authors_steady and authors_whole"
)
PAIRS = "in the built-in table only jobs of one GPU share, and no pair does more than 1.9 times one job's work"
EDGE = "highest steady load"
NOTE = f"The paper's number is the largest point's; unfinished jobs count until the end. Here {DATA}; {PAIRS}."
JCT = ("jct_h", "Job completion times", "Job completion time (h, logarithmic)")
RHO = ("rho", "Finish-time fairness of the jobs", "Finish-time fairness rho (1)")
"""What is distributed in panel (b), and its titles."""


def _lines(scheduler: str, shared: bool = True, **knobs: Value) -> list[Line]:
    """A policy without and with knowledge of speeds, and with space sharing."""
    found = [Line(AGNOSTIC, scheduler, {**knobs, "heterogeneity_aware": False}), Line(AWARE, scheduler, knobs)]
    return [*found, *([Line(SHARED, scheduler, {**knobs, "space_sharing": True})] if shared else [])]


def _curve(
    jobs: pd.DataFrame, slow: str, fast: str, paper: float | None, measure: str = "mean JCT", value: str = "least_h"
) -> list[Entry]:
    """A ratio of means point by point; the number that the paper prints is of the largest."""
    return [
        Entry(f"{measure}, {slow} / {fast}, {rate:g} jobs/h", "1", paper, float(ratio), NOTE, "7.3, A.2")
        for rate, ratio in gains(jobs, value, slow, fast).items()
    ]


def _unfinished(jobs: pd.DataFrame) -> list[Entry]:
    """Of each line and load: where it is none, the line sustains it."""
    shares = 100 * jobs["jct_h"].isna().groupby([jobs["line"], jobs["per_hour"]], sort=False).mean()
    why = "Measured jobs that had not finished when the last one came."
    names = [f"unfinished, {line}, {rate:g} jobs/h" for line, rate in shares.index]
    return [Entry(name, "%", None, float(share), why, "ours") for name, share in zip(names, shares, strict=True)]


def _figure(
    name: str, title: str, jobs: pd.DataFrame, rows: list[Entry], of: tuple[str, str, str] = JCT
) -> PaperFigure:
    panels = {"a": load_panel(points(jobs, "jct_h"), title), "b": share_panel(jobs, *of)}
    return PaperFigure(name, title, (*rows, *_unfinished(jobs)), panels)


def figure_8(size: GavelSize) -> PaperFigure:
    """LAS on continuous-single."""
    jobs = sweep(single(size), [*_lines(LAS), Line(GANDIVA, "gandiva"), Line(ALLOX, "allox")], size)
    rows = _curve(jobs, AGNOSTIC, AWARE, 3.5) + _curve(jobs, GANDIVA, SHARED, 2.2) + _curve(jobs, AWARE, ALLOX, 1.0)
    return _figure("Fig. 8", "Least attained service, single-GPU jobs", jobs, rows)


def figure_9(size: GavelSize) -> PaperFigure:
    """LAS on continuous-multiple."""
    jobs = sweep(multiple(size), [*_lines(LAS), Line(GANDIVA, "gandiva")], size)
    rows = _curve(jobs, AGNOSTIC, AWARE, 2.2) + _curve(jobs, GANDIVA, SHARED, 2.2)
    return _figure("Fig. 9", "Least attained service, jobs of 1 to 8 GPUs", jobs, rows)


def _ftf(name: str, title: str, jobs: pd.DataFrame, jct: float | None, rho: float | None) -> PaperFigure:
    fairness = _curve(jobs, AGNOSTIC, AWARE, rho, "mean finish-time fairness", "rho")
    return _figure(name, title, jobs, _curve(jobs, AGNOSTIC, AWARE, jct) + fairness, RHO)


def figure_10(size: GavelSize) -> PaperFigure:
    """Finish-time fairness on continuous-multiple."""
    jobs = sweep(multiple(size), _lines(FTF, shared=False), size)
    return _ftf("Fig. 10", "Finish-time fairness, jobs of 1 to 8 GPUs", jobs, 3.0, 2.8)


def figure_17(size: GavelSize) -> PaperFigure:
    """Finish-time fairness on continuous-single."""
    jobs = sweep(single(size), _lines(FTF, shared=False), size)
    return _ftf("Fig. 17", "Finish-time fairness, single-GPU jobs", jobs, None, None)


def _fifo(name: str, title: str, jobs: pd.DataFrame, *paper: float | None) -> PaperFigure:
    of = zip(((AGNOSTIC, AWARE), (AGNOSTIC, SHARED), (AWARE, SHARED)), paper, strict=True)
    return _figure(name, title, jobs, [row for lines, number in of for row in _curve(jobs, *lines, number)])


def figure_16(size: GavelSize) -> PaperFigure:
    """FIFO on continuous-single: the greedy line in Gavel's rounds, and with packing, as the authors run it."""
    jobs = sweep(single(size), _lines(FIFO, preset="authors"), size)
    return _fifo("Fig. 16", "First in, first out, single-GPU jobs", jobs, 2.7, 3.8, 1.4)


def figure_18(size: GavelSize) -> PaperFigure:
    """FIFO on continuous-multiple; of this trace the paper prints only what sharing adds."""
    jobs = sweep(multiple(size), _lines(FIFO, preset="authors"), size)
    return _fifo("Fig. 18", "First in, first out, jobs of 1 to 8 GPUs", jobs, None, None, 1.1)


def loads(size: GavelSize) -> PaperFigure:
    """The load that each of three policies sustains with and without knowledge of speeds, on both traces."""
    policies = {
        "LAS": _lines(LAS, shared=False),
        "FIFO": _lines(FIFO, shared=False, preset="authors"),
        "finish-time fairness": _lines(FTF, shared=False),
    }
    traces = {"jobs of one GPU": single(size), "jobs of 1 to 8 GPUs": multiple(size)}
    why = "The paper draws it higher; a rate is steady where all measured jobs end before the last one comes."
    rows = []
    for policy, lines in policies.items():
        for jobs, load in traces.items():
            rate = {line.name: highest(load, line, size) for line in lines}
            measure = f"highest steady rate, {AWARE} / {AGNOSTIC}, {policy}, {jobs}"
            rows.append(Entry(measure, "1", None, rate[AWARE] / rate[AGNOSTIC], why, "7.3, A.2"))
    return PaperFigure("7.3 load", "How many jobs may come in an hour", tuple(rows))


def figure_20(size: GavelSize) -> PaperFigure:
    """LAS with a fifth of the jobs at high priority."""
    title = "Least attained service with priorities"
    jobs = sweep(multiple(size, PRIORITY_SHARE), _lines(LAS, shared=False), size)
    rows, panels = [], {}
    for letter, kind, weight, paper in (("a", "high priority", HIGH, 1.5), ("b", "low priority", LOW, 2.7)):
        of = jobs[jobs["weight"] == weight]
        rows += _curve(of, AGNOSTIC, AWARE, paper, f"mean JCT of {kind} jobs")
        panels[letter] = load_panel(points(of, "jct_h"), f"{title}: {kind}")
    return PaperFigure("Fig. 20", title, (*rows, *_unfinished(jobs)), panels)
