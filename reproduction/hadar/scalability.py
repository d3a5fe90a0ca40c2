"""How long a round takes to decide: Fig. 5 (section IV-B)."""

from __future__ import annotations

import pandas as pd

from reproduction.figure import Entry, PaperFigure, cell
from reproduction.hadar.settings import HadarSize
from reproduction.hadar.trace import GAVEL, HADAR, LINES
from reproduction.timing import by_jobs, decision_s
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.synthetic import generate

JOBS_PER_NODE = 32  # ours: a node of 4 GPUs of each of three types, so 2048 jobs on 768 GPUs
LIMIT_S = 420.0  # paper: IV-B, less than 7 minutes


def figure_5(size: HadarSize) -> PaperFigure:
    """CPU time of the first decision, on all jobs and an empty cluster, against the number of jobs."""
    lines = {line.name: line for line in LINES if line.name in (HADAR, GAVEL)}
    found = [
        (name, float(jobs), decision_s(_scenario(jobs), line.scheduler, line.knobs))
        for name, line in lines.items()
        for jobs in size.decided
    ]
    table = pd.DataFrame(found, columns=["line", "x", "y"])
    wide = table.pivot(index="x", columns="line", values="y")
    least, most = min(size.decided), max(size.decided)
    rows = (
        Entry(f"decision, Hadar, {most} jobs (paper: below, at some 2000)", "s", LIMIT_S, cell(wide, most, HADAR),
            "The paper prints a bound for its machine; here rounds with many free GPUs go to a linear "
            "programme.",
            "IV-B"),
        Entry(f"decision, Gavel, {most} jobs", "s", None, cell(wide, most, GAVEL),
            "The paper shows the curve without a number; ours merges jobs that are alike.", "IV-B"),
        Entry(f"Hadar / Gavel, {most} jobs", "1", None, cell(wide, most, HADAR) / cell(wide, most, GAVEL),
            "The paper says that the two scale alike, without a number; ours merges equal jobs for Gavel only.",
            "IV-B"),
        *(
            Entry(f"growth from {least} to {most} jobs, {name}", "1", None,
                cell(wide, most, name) / cell(wide, least, name),
                "The paper shows the curve without a number.", "IV-B")
            for name in lines
        ),
    )  # fmt: skip
    return PaperFigure("Fig. 5", "Scalability of a decision", rows, {"a": by_jobs(table)})


def _scenario(jobs: int) -> Scenario:
    """Jobs of one GPU or several at the start; the cluster grows with them."""
    nodes = max(1, round(jobs / JOBS_PER_NODE))
    return generate(f"v100={nodes}x4,p100={nodes}x4,k80={nodes}x4", jobs, multi_gpu=True, reference="v100")
