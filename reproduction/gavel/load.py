"""Mean job completion time against load: Figs. 8, 9, 10, 16, 17, 18 and 20 (sections 7.3 and A.2)."""

from __future__ import annotations

import pandas as pd

from reproduction.figure import Entry, PaperFigure, Plot
from reproduction.gavel.settings import GavelSize
from reproduction.gavel.sweep import gains, highest, load_panel, multiple, points, share_panel, single, sweep
from reproduction.line import Line
from workbench.scheduling.knob import Value

LAS, FIFO, FTF = "gavel.max_min_fairness", "fifo", "gavel.finish_time_fairness"
AGNOSTIC, AWARE, SHARED = "agnostic", "Gavel", "Gavel with space sharing"
GANDIVA, ALLOX = "agnostic with Gandiva's packing", "AlloX"
HIGH, LOW = 5.0, 1.0  # code: weights of the two priorities
PRIORITY_SHARE = 0.2  # paper: 7.3

DATA = "speeds are modelled but at the size authors, the cluster is smaller but at authors_whole, the rates are ours"
PAIRS = "in the built-in table only jobs of one GPU share, and no pair does more than 1.9 times one job's work"
EDGE = "highest steady load"
UP_TO = "The paper's number is that of the largest; unfinished jobs count until the end"
JCT_X = "Job completion time (h, logarithmic)"


def _lines(scheduler: str, shared: bool = True, **knobs: Value) -> list[Line]:
    """A policy without and with knowledge of speeds, and with space sharing."""
    found = [Line(AGNOSTIC, scheduler, {**knobs, "heterogeneity_aware": False}), Line(AWARE, scheduler, knobs)]
    return [*found, *([Line(SHARED, scheduler, {**knobs, "space_sharing": True})] if shared else [])]


def _curve(
    jobs: pd.DataFrame, slow: str, fast: str, paper: float | None, source: str, why: str, of: str = ""
) -> list[Entry]:
    """Point by point; the number that the paper prints is of the largest."""
    measure = f"mean JCT{of}, {slow} / {fast}"
    return [
        Entry(f"{measure}, {rate:g} jobs/h", "1", paper, float(ratio), why, source)
        for rate, ratio in gains(jobs, "least_h", slow, fast).items()
    ]


def _unfinished(jobs: pd.DataFrame) -> list[Entry]:
    """Of each line and load: where it is none, the line sustains it."""
    shares = 100 * jobs["jct_h"].isna().groupby([jobs["line"], jobs["per_hour"]], sort=False).mean()
    why = "Measured jobs that had not finished when the last one came."
    names = [f"unfinished, {line}, {rate:g} jobs/h" for line, rate in shares.index]
    return [Entry(name, "%", None, float(share), why, "ours") for name, share in zip(names, shares, strict=True)]


def _jct_panels(jobs: pd.DataFrame, title: str) -> dict[str, Plot]:
    return {
        "a": load_panel(points(jobs, "jct_h"), title),
        "b": share_panel(jobs, "jct_h", "Job completion times", JCT_X),
    }


def _las(name: str, title: str, jobs: pd.DataFrame, paper_gain: float, others: tuple[str, ...]) -> PaperFigure:
    rows = [
        *_curve(jobs, AGNOSTIC, AWARE, paper_gain, "7.3", f"{UP_TO}, and {DATA}."),
        *_curve(jobs, GANDIVA, SHARED, 2.2, "7.3", f"{UP_TO}; {PAIRS}."),
        *(row for other in others for row in _curve(jobs, AWARE, other, 1.0, "7.3 (essentially matches)", f"{UP_TO}.")),
        *_unfinished(jobs),
    ]  # fmt: skip
    return PaperFigure(name, title, tuple(rows), _jct_panels(jobs, title))


def figure_8(size: GavelSize) -> PaperFigure:
    """LAS on continuous-single."""
    lines = [*_lines(LAS), Line(GANDIVA, "gandiva"), Line(ALLOX, "allox")]
    jobs = sweep(single(size), lines, size)
    return _las("Fig. 8", "Least attained service, single-GPU jobs", jobs, 3.5, (ALLOX,))


def figure_9(size: GavelSize) -> PaperFigure:
    """LAS on continuous-multiple."""
    lines = [*_lines(LAS), Line(GANDIVA, "gandiva")]
    jobs = sweep(multiple(size), lines, size)
    return _las("Fig. 9", "Least attained service, jobs of 1 to 8 GPUs", jobs, 2.2, ())


def _ftf(name: str, title: str, jobs: pd.DataFrame, jct: float | None, rho: float | None, source: str) -> PaperFigure:
    why = f"{UP_TO}, and {DATA}."
    rows = (
        *_curve(jobs, AGNOSTIC, AWARE, jct, source, why),
        *(
            Entry(f"mean finish-time fairness, {AGNOSTIC} / {AWARE}, {rate:g} jobs/h", "1", rho, float(ratio),
                "As of the completion times; unknown where a job is unfinished.", source)
            for rate, ratio in gains(jobs, "rho", AGNOSTIC, AWARE).items()
        ),
        *_unfinished(jobs),
    )  # fmt: skip
    panels = {
        "a": load_panel(points(jobs, "jct_h"), title),
        "b": share_panel(jobs, "rho", "Finish-time fairness of the jobs", "Finish-time fairness rho (1)"),
    }
    return PaperFigure(name, title, rows, panels)


def figure_10(size: GavelSize) -> PaperFigure:
    """Finish-time fairness on continuous-multiple."""
    jobs = sweep(multiple(size), _lines(FTF, shared=False), size)
    return _ftf("Fig. 10", "Finish-time fairness, jobs of 1 to 8 GPUs", jobs, 3.0, 2.8, "7.3")


def figure_17(size: GavelSize) -> PaperFigure:
    """Finish-time fairness on continuous-single."""
    jobs = sweep(single(size), _lines(FTF, shared=False), size)
    return _ftf("Fig. 17", "Finish-time fairness, single-GPU jobs", jobs, None, None, "A.2 (no number)")


def _fifo(name: str, title: str, jobs: pd.DataFrame, paper: tuple[float | None, float | None, float]) -> PaperFigure:
    rows = (
        *_curve(
            jobs,
            AGNOSTIC,
            AWARE,
            paper[0],
            "7.3",
            f"The agnostic line draws a type with room, and {DATA}.",
        ),
        *_curve(jobs, AGNOSTIC, SHARED, paper[1], "7.3", f"{UP_TO}, and {PAIRS}."),
        *_curve(jobs, AWARE, SHARED, paper[2], "7.3", f"Pairs that gain over half share; {PAIRS}."),
        *_unfinished(jobs),
    )
    return PaperFigure(name, title, rows, _jct_panels(jobs, title))


def figure_16(size: GavelSize) -> PaperFigure:
    """FIFO on continuous-single: the greedy line in Gavel's rounds, and with packing, as the authors run it."""
    jobs = sweep(single(size), _lines(FIFO, preset="authors"), size)
    return _fifo("Fig. 16", "First in, first out, single-GPU jobs", jobs, (2.7, 3.8, 1.4))


def figure_18(size: GavelSize) -> PaperFigure:
    """FIFO on continuous-multiple; of this trace the paper prints only what sharing adds."""
    jobs = sweep(multiple(size), _lines(FIFO, preset="authors"), size)
    return _fifo("Fig. 18", "First in, first out, jobs of 1 to 8 GPUs", jobs, (None, None, 1.1))


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
    names = {HIGH: "high priority", LOW: "low priority"}
    why = f"{UP_TO}, weights 5 and 1 are the authors' code's, and {DATA}."
    of = {weight: jobs[jobs["weight"] == weight] for weight in names}
    rows = (
        *_curve(of[HIGH], AGNOSTIC, AWARE, 1.5, "7.3", why, f" of {names[HIGH]} jobs"),
        *_curve(of[LOW], AGNOSTIC, AWARE, 2.7, "7.3", why, f" of {names[LOW]} jobs"),
        *_unfinished(jobs),
    )
    panels = {
        letter: load_panel(points(of[weight], "jct_h"), f"{title}: {names[weight]}")
        for letter, weight in (("a", HIGH), ("b", LOW))
    }
    return PaperFigure("Fig. 20", title, rows, panels)
