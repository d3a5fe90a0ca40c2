"""The evaluation on physical clusters, simulated: CRU, TTD and JCT (section VI-C, Figs. 8 to 10), and CRU by the length
of a slot (VI-D, Figs. 11 and 12)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from itertools import product

import pandas as pd

from reproduction.figure import Entry, PaperFigure, chart_of
from reproduction.hadar.settings import CLUSTERS, M_5, SLOT_S, HadarSize, physical
from reproduction.line import Line, rivalled
from workbench.papers.hadar.lessons.theorem3 import cru

MIX = "Workload mix (number of jobs)"
GAVEL, HADAR, HADARE = "Gavel", "Hadar", "HadarE"
LINES = (
    Line(GAVEL, "gavel.max_min_fairness"),
    Line(HADAR, "hadar"),
    Line(HADARE, "hadare", {"payoff": "utility"}),
)
"""HadarE with the paper's mechanism, Hadar's utility less the price; with our payoff: the gaps."""
AHEAD = "The paper: Hadar is ahead in every mix; of one job both are alike here"
SPEEDS = "speeds and lengths are drawn for each seed"


@cache
def measured(size: HadarSize) -> pd.DataFrame:
    """By cluster, mix and scheduler: cru (%), ttd_s, and jct_s (mean), least_s, most_s and range_s over the jobs."""
    found = []
    for cluster in CLUSTERS:
        for mix in size.mixes:
            given = physical(cluster, mix, size.seed, size.length)
            for line in rivalled(LINES, size.rivals):
                asked = line.but(HADARE, payoff=size.payoff) if line.name == HADARE else line
                run = replace(asked, belief=size.belief).run(given, round_s=SLOT_S)
                finish_s = run.jobs["finish_s"].astype(float)
                jct_s = finish_s - run.jobs["arrival_s"].astype(float)
                ends = (finish_s.max(skipna=False), jct_s.mean(skipna=False), jct_s.min(), jct_s.max())
                found.append((cluster, mix, line.name, 100 * cru(run), *(float(end) for end in ends)))
    names = ["cluster", "mix", "scheduler", "cru", "ttd_s", "jct_s", "least_s", "most_s"]
    table = pd.DataFrame(found, columns=names)
    return table.assign(range_s=table["most_s"] - table["least_s"])


def figure_8(size: HadarSize) -> PaperFigure:
    """Cluster resource utilisation, the last slot in full."""
    paper = {
        (HADAR, GAVEL): ({"aws": 1.20, "lab": 1.21}, "VI-C", f"Neither forks; {SPEEDS}."),
        (HADARE, GAVEL): ({"aws": 1.56, "lab": 1.62}, "VI-C", f"HadarE forks, Gavel does not; {SPEEDS}."),
        (HADARE, HADAR): ({"aws": 1.30, "lab": 1.34}, "I", f"HadarE forks, Hadar does not; {SPEEDS}."),
    }
    means = "The paper does not say how it averages: this is the ratio of the mean utilisations."
    rows = [
        Entry(f"CRU, {name} / {other}, {CLUSTERS[cluster]}, {words}", "1", number,
            ratio(size, cluster, "cru", name, other), note or why, source)
        for words, ratio, note in (("mean over mixes", _gain, ""), ("of the means", _of_means, means))
        for (name, other), (numbers, source, why) in paper.items()
        for cluster, number in numbers.items()
    ]  # fmt: skip
    return _figure(size, "Fig. 8", "Cluster resource utilisation (CRU)", tuple(rows), "cru", "Node time computing (%)")


def figure_9(size: HadarSize) -> PaperFigure:
    """Total time duration of a mix."""
    length = "Calibrated: jobs are scaled to the paper's 4,200 s here, and twice as long in the gap."
    other = "Scaled by the AWS number alone."
    every = f"{AHEAD}; the paper's own seconds of M-5 give 1.08 on AWS and 1.18 in the lab."
    rows = [
        Entry("TTD, Gavel, M-5, AWS (calibrated)", "s", None, _one(size, "aws", "ttd_s", GAVEL), length, "VI-C"),
        Entry("TTD, Hadar, M-5, AWS", "s", 3900.0, _one(size, "aws", "ttd_s", HADAR),
            "The paper does not name its utility.",
            "VI-C"),
        Entry("TTD, Gavel, M-5, lab", "s", 3300.0, _one(size, "lab", "ttd_s", GAVEL), other, "VI-C"),
        Entry("TTD, Hadar, M-5, lab", "s", 2800.0, _one(size, "lab", "ttd_s", HADAR), other, "VI-C"),
    ]  # fmt: skip
    rows += _by_mix(size, "TTD", "ttd_s", GAVEL, HADAR, every, {"aws": 1.18, "lab": 1.15})
    ratios = (
        (GAVEL, HADAR, {"aws": 1.17, "lab": 1.16}, "VI-C",
         f"Neither forks, and Hadar asks for the least mean JCT here, not for the least TTD; {SPEEDS}."),
        (GAVEL, HADARE, {"aws": 1.79, "lab": 2.12}, "VI-C",
         f"HadarE forks, Gavel does not; the paper's sentence names both, its introduction tells which; {SPEEDS}."),
        (HADAR, HADARE, {"aws": 1.5, "lab": 1.8}, "I",
         f"The paper: by more than 50 % and 80 %; HadarE forks, Hadar does not; {SPEEDS}."),
    )  # fmt: skip
    for slow, fast, numbers, source, why in ratios:
        for cluster, paper in numbers.items():
            measure = f"TTD, {slow} / {fast}, {CLUSTERS[cluster]}, mean over mixes"
            rows.append(Entry(measure, "1", paper, _gain(size, cluster, "ttd_s", slow, fast), why, source))
    return _figure(size, "Fig. 9", "Total time duration (TTD)", tuple(rows), "ttd_s", "TTD (s)")


def figure_10(size: HadarSize) -> PaperFigure:
    """Mean job completion time, with the least and the greatest of the mix."""
    late = "The paper's greatest JCT is below its TTD of the same mix, although all jobs are there at the start."
    rows = [
        Entry("greatest JCT, Gavel, M-5, AWS (calibrated)", "s", None, _one(size, "aws", "most_s", GAVEL),
            "Its TTD, to which lengths are scaled; the paper has 4,200 s of that and 3,159 s of this.", "VI-C"),
        Entry("greatest JCT, Hadar, M-5, AWS", "s", 2918.0, _one(size, "aws", "most_s", HADAR), late, "VI-C"),
        Entry("least JCT, Hadar, M-5, AWS", "s", 1210.0, _one(size, "aws", "least_s", HADAR), f"The {SPEEDS}.", "VI-C"),
        Entry("least JCT, Gavel, M-5, AWS", "s", 1283.0, _one(size, "aws", "least_s", GAVEL), f"The {SPEEDS}.", "VI-C"),
    ]  # fmt: skip
    every = f"{AHEAD}; {SPEEDS}."
    rows += _by_mix(size, "JCT", "jct_s", GAVEL, HADAR, every, {"aws": 1.23, "lab": 1.43})
    ratios = (
        (GAVEL, HADAR, {"aws": 1.17, "lab": 1.23}, "VI-C", f"Neither forks; {SPEEDS}."),
        (GAVEL, HADARE, {"aws": 2.23, "lab": 2.76}, "VI-C", f"HadarE forks, Gavel does not; {SPEEDS}."),
        (HADAR, HADARE, {"aws": 1.90, "lab": 2.24}, "I", f"HadarE forks, Hadar does not; {SPEEDS}."),
    )
    for slow, fast, numbers, source, why in ratios:
        for cluster, paper in numbers.items():
            measure = f"JCT, {slow} / {fast}, {CLUSTERS[cluster]}, mean over mixes"
            rows.append(Entry(measure, "1", paper, _gain(size, cluster, "jct_s", slow, fast), why, source))
    short = "The paper: narrower in every mix of several jobs; here short ones are done first."
    for other in (GAVEL, HADAR):
        rows += _by_mix(size, "range of JCT", "range_s", HADARE, other, short)
    return _figure(size, "Fig. 10", "Job completion time (JCT)", tuple(rows), "jct_s", "Mean JCT (s)",
                   {"low": "least_s", "high": "most_s"})  # fmt: skip


def _gain(size: HadarSize, cluster: str, value: str, above: str, below: str) -> float:
    """Mean over the mixes of one scheduler's measure over another's."""
    wide = _wide(size, cluster, value)
    return float((wide[above] / wide[below]).mean())


def _of_means(size: HadarSize, cluster: str, value: str, above: str, below: str) -> float:
    means = _wide(size, cluster, value).mean()
    return float(means[above] / means[below])


def _one(size: HadarSize, cluster: str, value: str, scheduler: str) -> float:
    """A measure of mix M-5."""
    return float(_wide(size, cluster, value)[scheduler].to_dict()[M_5])


def _by_mix(
    size: HadarSize, words: str, value: str, above: str, below: str, why: str, printed: Mapping[str, float] = {}
) -> list[Entry]:
    """One scheduler's measure over another's, mix by mix of several jobs. printed: of M-5, by cluster."""
    return [
        Entry(f"{words}, {above} / {below}, {CLUSTERS[cluster]}, mix {mix}", "1",
            printed.get(cluster) if mix == M_5 else None, wide[above][mix] / wide[below][mix], why, "VI-C")
        for cluster in CLUSTERS
        for wide in [_wide(size, cluster, value).to_dict()]
        for mix in size.mixes if mix != "M-1"
    ]  # fmt: skip


def _wide(size: HadarSize, cluster: str, value: str) -> pd.DataFrame:
    """A measure by mix and scheduler."""
    table = measured(size)
    return table[table["cluster"] == cluster].pivot(index="mix", columns="scheduler", values=value)


def _figure(
    size: HadarSize,
    name: str,
    title: str,
    rows: tuple[Entry, ...],
    value: str,
    y_title: str,
    ends: dict[str, str] | None = None,
) -> PaperFigure:
    """A panel for each cluster. ends: columns of the ranges."""
    panels = {}
    for letter, (cluster, words) in zip("ab", CLUSTERS.items(), strict=True):
        part = measured(size)[measured(size)["cluster"] == cluster]
        chosen = {"group": "mix", "series": "scheduler", "value": value, **(ends or {})}
        bars = pd.DataFrame({new: part[old].to_numpy() for new, old in chosen.items()})
        panels[letter] = chart_of(bars, f"{title}, {words}", MIX, y_title)
    return PaperFigure(name, title, rows, panels)


Best = Mapping[tuple[str, tuple[str, ...]], tuple[float, ...]]
"""By cluster and mixes the slots (s) with the highest utilisation there."""
SHORT, LONG = (90.0,), (360.0,)
HADARE_BEST: Best = {
    ("aws", ("M-1", "M-3", "M-4", "M-5")): SHORT,
    ("aws", ("M-8", "M-10", "M-12")): LONG,
    ("lab", ("M-1", "M-3", "M-4")): SHORT,
    ("lab", ("M-5", "M-8", "M-10", "M-12")): LONG,
}
HADAR_BEST: Best = {
    ("aws", ("M-3",)): LONG,
    ("aws", ("M-1", "M-4", "M-5", "M-8", "M-10", "M-12")): (90.0, 180.0),  # "90 or 180 seconds", not said which
    ("lab", ("M-1", "M-3", "M-4")): SHORT,
    ("lab", ("M-5", "M-8", "M-10", "M-12")): LONG,
}


def figure_11(size: HadarSize) -> PaperFigure:
    """HadarE's utilisation under slots of several lengths."""
    why = "Here a round costs 10 s for each job with several copies, whatever the model and the network."
    line = Line(HADARE, "hadare", {"payoff": size.payoff}, size.belief)
    return _sweep(size, "Fig. 11", line, HADARE_BEST, why)


def figure_12(size: HadarSize) -> PaperFigure:
    """Hadar's utilisation under slots of several lengths."""
    why = "Here a slot costs nothing by itself, only a move costs 10 s; the lab's slow PCIe is not modelled."
    return _sweep(size, "Fig. 12", Line(HADAR, "hadar", belief=size.belief), HADAR_BEST, why)


def _sweep(size: HadarSize, name: str, line: Line, best: Best, why: str) -> PaperFigure:
    found = [
        (cluster, mix, slot_s, 100 * cru(line.but(line.name, round_s=slot_s).run(given)))
        for cluster in CLUSTERS
        for mix in size.mixes
        for given in [physical(cluster, mix, size.seed, size.length)]
        for slot_s in size.slots_s
    ]
    table = pd.DataFrame(found, columns=["cluster", "mix", "slot_s", "cru"])
    by_slot = table.pivot(index=["cluster", "mix"], columns="slot_s", values="cru")
    rows = []
    for (cluster, named), slots in best.items():
        mixes, at = [mix for mix in named if mix in size.mixes], [slot_s for slot_s in slots if slot_s in size.slots_s]
        if mixes and at:
            of = by_slot.loc[[(cluster, mix) for mix in mixes]]
            either = "either, " if len(slots) > 1 else ""
            rows += [
                Entry(f"CRU, {either}slots of {own:g} s / of {other:g} s, {CLUSTERS[cluster]}, mean of "
                    f"{', '.join(mixes)}", "1", None, float((of[own] / of[other]).mean()),
                    f"The paper's best slot. {why}", "VI-D")
                for own, other in product(at, size.slots_s) if other not in at
            ]  # fmt: skip
    panels = {}
    for letter, (cluster, place) in zip("ab", CLUSTERS.items(), strict=True):
        part = table[table["cluster"] == cluster]
        bars = pd.DataFrame({"group": part["mix"], "series": part["slot_s"].map("{:g} s".format), "value": part["cru"]})
        panels[letter] = chart_of(bars, f"{line.name} by length of a slot, {place}", MIX, "Node time computing (%)")
    return PaperFigure(name, f"{line.name}: length of a slot", tuple(rows), panels)
