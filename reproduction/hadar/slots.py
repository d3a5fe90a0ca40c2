"""Length of a slot against utilisation: Fig. 11 (HadarE) and Fig. 12 (Hadar), section VI-D."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from reproduction.figure import Entry, PaperFigure, Plot
from reproduction.hadar.settings import CLUSTERS, HadarSize, physical
from reproduction.hadar.theorem3 import cru
from reproduction.line import Line
from workbench.analysis.charts.bar_charts import grouped_bars

LARGE_AWS, LARGE_LAB = ("M-8", "M-10", "M-12"), ("M-5", "M-8", "M-10", "M-12")
SMALL = ("M-1", "M-3", "M-4")
HADARE_BEST: Mapping[str, Mapping[str, float]] = {
    "aws": dict.fromkeys(LARGE_AWS, 360.0) | dict.fromkeys((*SMALL, "M-5"), 90.0),
    "lab": dict.fromkeys(LARGE_LAB, 360.0) | dict.fromkeys(SMALL, 90.0),
}
HADAR_BEST: Mapping[str, Mapping[str, float]] = {
    "aws": {"M-3": 360.0},  # the others: "90 or 180 seconds", without saying which
    "lab": dict.fromkeys(LARGE_LAB, 360.0) | dict.fromkeys(SMALL, 90.0),
}


def figure_11(size: HadarSize) -> PaperFigure:
    """HadarE's utilisation under slots of several lengths."""
    why = "Here a round costs 10 s for each job with several copies, whatever the model and the network (not varied)."
    line = Line("HadarE", "hadare", {"payoff": size.payoff}, size.belief)
    return _sweep(size, "Fig. 11", line, HADARE_BEST, why)


def figure_12(size: HadarSize) -> PaperFigure:
    """Hadar's utilisation under slots of several lengths."""
    why = (
        "Here a slot costs nothing by itself, only a move costs 10 s; the lab's slow PCIe is not modelled (not varied)."
    )
    return _sweep(size, "Fig. 12", Line("Hadar", "hadar", belief=size.belief), HADAR_BEST, why)


def _sweep(size: HadarSize, name: str, line: Line, best: Mapping[str, Mapping[str, float]], why: str) -> PaperFigure:
    found = [
        (cluster, mix, slot_s, 100 * cru(line.but(line.name, round_s=slot_s).run(given)))
        for cluster in CLUSTERS
        for mix in size.mixes
        for given in [physical(cluster, mix, size.scale)]
        for slot_s in size.slots_s
    ]
    table = pd.DataFrame(found, columns=["cluster", "mix", "slot_s", "cru"])
    top = table.loc[table.groupby(["cluster", "mix"], sort=False)["cru"].idxmax()]
    rows = tuple(
        Entry(f"best slot, {mix}, {CLUSTERS[cluster]}", "s", best[cluster].get(mix), slot_s,
            why if mix in best[cluster] else f"The paper says 90 or 180 s. {why}", "VI-D")
        for cluster, mix, slot_s in zip(top["cluster"], top["mix"], top["slot_s"], strict=True)
    )  # fmt: skip
    panels = {}
    for letter, (cluster, place) in zip("ab", CLUSTERS.items(), strict=True):
        part = table[table["cluster"] == cluster]
        bars = pd.DataFrame({"group": part["mix"], "series": part["slot_s"].map("{:g} s".format), "value": part["cru"]})
        options = {
            "title": f"{line.name} by length of a slot, {place}",
            "x_title": "Workload mix (number of jobs)",
            "y_title": "Node time computing (%)",
        }
        panels[letter] = Plot(bars, grouped_bars, options)
    return PaperFigure(name, f"{line.name}: length of a slot", rows, panels)
