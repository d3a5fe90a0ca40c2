"""Length of a slot against utilisation: Fig. 11 (HadarE) and Fig. 12 (Hadar), section VI-D."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from reproduction.figure import Entry, PaperFigure, Plot
from reproduction.hadar.settings import CLUSTERS, HadarSize, physical
from reproduction.line import Line
from workbench.analysis.charts.bar_charts import grouped_bars
from workbench.papers.hadar.lessons.theorem3 import cru

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
    line = Line("HadarE", "hadare", {"payoff": size.payoff}, size.belief)
    return _sweep(size, "Fig. 11", line, HADARE_BEST, why)


def figure_12(size: HadarSize) -> PaperFigure:
    """Hadar's utilisation under slots of several lengths."""
    why = "Here a slot costs nothing by itself, only a move costs 10 s; the lab's slow PCIe is not modelled."
    return _sweep(size, "Fig. 12", Line("Hadar", "hadar", belief=size.belief), HADAR_BEST, why)


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
            said = " or ".join(f"{slot_s:g}" for slot_s in at)
            rows += [
                Entry(f"CRU, slots of {said} s / of {other:g} s, {CLUSTERS[cluster]}, mean of {', '.join(mixes)}", "1",
                    None, float((of[at].max(axis=1) / of[other]).mean()), f"The paper's best slot. {why}", "VI-D")
                for other in size.slots_s if other not in at
            ]  # fmt: skip
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
    return PaperFigure(name, f"{line.name}: length of a slot", tuple(rows), panels)
