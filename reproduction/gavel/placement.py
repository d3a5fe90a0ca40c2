"""What placement does to jobs of several GPUs (section 3.1), by the authors' measured speeds."""

from __future__ import annotations

import pandas as pd

from reproduction.figure import Entry, PaperFigure, cell
from reproduction.gavel.load import LAS
from reproduction.gavel.settings import HOUR, GavelSize, authors_trace, measured
from reproduction.line import Line

TYPES = ("v100", "p100", "k80")
BLIND, SENSITIVE = "blind to placement", "placement-sensitive"
LINES = (Line(BLIND, LAS), Line(SENSITIVE, LAS, {"placement_sensitive": True}))


def placement(size: GavelSize) -> PaperFigure:
    """Speeds of gangs spread over nodes over those on one, by type, and what it is worth to a policy to know it."""
    spread = spread_over_one(size.physical)
    means = spread.groupby("accelerator")["ratio"].mean().to_frame()
    why = "All models and gangs that the authors measured in both ways; the paper says so without a number."
    rows = [
        Entry(f"speed spread over nodes / on one, {kind}, mean", "1", None, cell(means, kind, "ratio"), why, "3.1")
        for kind in TYPES
    ]
    rows.append(
        Entry("what spreading leaves of the speed, k80 / v100", "1", None,
            cell(means, "k80", "ratio") / cell(means, "v100", "ratio"), why, "3.1")
    )  # fmt: skip
    trace = authors_trace("gavel_max_min_fairness")
    jct_h = {
        line.name: float((run["finish_s"] - run["arrival_s"]).mean(skipna=False)) / HOUR
        for line in LINES
        for run in (line.run(trace).jobs,)
    }
    known = "The paper states the extension and evaluates it nowhere; the authors' trace, nodes of four GPUs."
    rows.append(Entry(f"mean JCT, {BLIND} / {SENSITIVE}", "1", None, jct_h[BLIND] / jct_h[SENSITIVE], known, "3.1"))
    return PaperFigure("3.1 placement", "Placement of jobs of several GPUs", tuple(rows))


def spread_over_one(cluster: str) -> pd.DataFrame:
    """model, gpus, accelerator and ratio: speed on nodes of their own over that on the fewest nodes, both above 0."""
    table = pd.DataFrame(measured(cluster)["throughputs"])
    wide = table.pivot_table(index=["model", "gpus", "accelerator"], columns="placement", values="steps_per_s")
    wide = wide[(wide["consolidated"] > 0) & (wide["unconsolidated"] > 0)].reset_index()
    several = wide[wide["gpus"] > 1]
    return several.assign(ratio=several["unconsolidated"] / several["consolidated"])
