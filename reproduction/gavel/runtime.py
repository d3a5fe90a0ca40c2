"""How long the policies take: Fig. 12 (section 7.4)."""

from __future__ import annotations

import pandas as pd

from reproduction.figure import Entry, PaperFigure, cell
from reproduction.gavel.settings import GavelSize, sharing
from reproduction.timing import TITLE, by_jobs, decision_s
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.synthetic import generate

LAS, HIERARCHICAL = "LAS", "Hierarchical"
POLICIES = {LAS: "gavel.max_min_fairness", HIERARCHICAL: "gavel.hierarchical"}
ENTITIES = 5  # ours: the paper does not say how many
JOBS_PER_NODE = 24  # ours: two jobs for each GPU, a node of 4 of each of three types
LIMIT_S = 600.0  # paper: 7.4, under 10 minutes


def figure_12(size: GavelSize) -> PaperFigure:
    """CPU time of one decision against the number of active jobs."""
    found = []
    for shared, counts in ((False, size.jobs), (True, size.shared_jobs)):
        for jobs in counts:
            scenario = _scenario(jobs)
            for policy, name in POLICIES.items():
                line = f"{policy} with space sharing" if shared else policy
                found.append((line, float(jobs), decision_s(scenario, name, {"space_sharing": shared})))
    table = pd.DataFrame(found, columns=["line", "x", "y"])
    why = "The paper's bound is of its solver and machine; ours merges equal jobs, bottlenecks by duals."
    rows = tuple(
        Entry(f"{line}, {int(group['x'].max())} jobs (paper: below, at {at} jobs)", "s", LIMIT_S,
            float(group["y"].iloc[-1]), why, "7.4")
        for line, at in ((HIERARCHICAL, 2048), (f"{HIERARCHICAL} with space sharing", 512))
        for group in [table[table["line"] == line]]
    )  # fmt: skip
    slower = table.pivot(index="x", columns="line", values="y")
    most = max(size.jobs)
    rows = (*rows, Entry(f"{HIERARCHICAL} / {LAS}, {most} jobs", "1", None,
                       cell(slower, most, HIERARCHICAL) / cell(slower, most, LAS),
                       "The paper says that LAS is much cheaper.", "7.4"))  # fmt: skip
    return PaperFigure("Fig. 12", TITLE, rows, {"a": by_jobs(table)})


def _scenario(jobs: int) -> Scenario:
    nodes = max(1, round(jobs / JOBS_PER_NODE))
    made = generate(f"v100={nodes}x4,p100={nodes}x4,k80={nodes}x4", jobs, reference="v100").to_dict()
    made["entities"] = [{"name": f"entity {e}", "weight": e + 1.0} for e in range(ENTITIES)]
    for number, job in enumerate(made["jobs"]):
        job["entity"] = f"entity {number % ENTITIES}"
    return sharing(Scenario.from_dict(made, "Fig. 12"))
