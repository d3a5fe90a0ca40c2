"""Fairness over entities while jobs arrive: Figs. 11 and 21 (sections 7.3 and A.2)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from reproduction.figure import Entry, PaperFigure, Plot, chart_of
from reproduction.gavel.settings import GavelSize, static
from workbench.analysis.charts.areas import bands
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.synthetic import generate
from workbench.session.api import solve

CLUSTER = "v100=1x3,p100=1x3,k80=1x3"  # paper: Fig. 11
ENTITIES, EVERY = 3, 4  # paper: Fig. 11, entities of weights 1, 2, 3; a job every 4 time steps
AWARE, PARTITION = "Gavel", "static partition"
X_STEP = "Time step"


def _scenario(size: GavelSize, seed: int, policy: str) -> Scenario:
    """Jobs of one GPU, one every 4 s (a time step is a second here), `entity_jobs` for one entity after the other."""
    each = size.entity_jobs
    jobs = ENTITIES * each
    if size.measured_speeds:
        made = static(CLUSTER, jobs, seed, multi_gpu=False, measured_speeds=True).to_dict()
    else:
        made = generate(CLUSTER, jobs, seed, reference="v100").to_dict()
    made["entities"] = [{"name": f"entity {e}", "weight": e + 1.0, "policy": policy} for e in range(ENTITIES)]
    for number, job in enumerate(made["jobs"]):
        job |= {"entity": f"entity {number // each}", "arrival_s": float(EVERY * number)}
    return Scenario.from_dict(made, "Fig. 11")


def _timeline(scenario: Scenario, aware: bool = True) -> pd.DataFrame:
    """Throughput of each job over an equal share's, solved after each arrival: columns x, group, part, value.

    A job that has not arrived has 0; the last allocation stands for another `EVERY` steps.
    """
    entity = {job.name: job.entity for job in scenario.jobs}
    rows = []
    for job in scenario.jobs:
        found = solve(scenario, "gavel.hierarchical", at=job.arrival_s, heterogeneity_aware=aware)
        throughput = found.values["normalized_throughput"]
        times = [job.arrival_s] + ([job.arrival_s + EVERY] if job is scenario.jobs[-1] else [])
        rows += [(x, entity[name], name, throughput.get(name, 0.0)) for x in times for name in entity]
    return pd.DataFrame(rows, columns=["x", "group", "part", "value"])


def _entity_rows(last: list[dict[str, float]], source: str) -> list[Entry]:
    """Ratios of the entities' throughputs when all jobs are there; the paper's are the weights'."""
    ratios = [(level["entity 1"] / level["entity 0"], level["entity 2"] / level["entity 0"]) for level in last]
    why = "The paper's are as the weights."
    return [
        Entry(
            f"throughput of entity {e} / entity 0, all jobs there", "1", float(e + 1), float(np.mean(of)), why, source
        )
        for e, of in zip((1, 2), zip(*ratios, strict=True), strict=True)
    ]


def _last(timeline: pd.DataFrame) -> dict[str, float]:
    """Throughput of each entity at the end."""
    end = timeline[timeline["x"] == timeline["x"].max()]
    return {str(name): float(part["value"].sum()) for name, part in end.groupby("group")}


def figure_11(size: GavelSize) -> PaperFigure:
    """Fairness over entities and over the jobs of each."""
    scenarios = [_scenario(size, seed, "fairness") for seed in size.seeds]
    aware = [_timeline(scenario) for scenario in scenarios]
    agnostic = [_timeline(scenario, aware=False) for scenario in scenarios]
    total = pd.concat([_total(aware, AWARE), _total(agnostic, PARTITION)], ignore_index=True)
    sums = total.groupby("line")["y"].sum()
    rows = [
        Entry("throughput lost by a static partition", "%", 17.0, 100 * float(1 - sums[PARTITION] / sums[AWARE]),
            "The mean over all time steps; the built-in speeds are modelled.",
            "7.3"),
        *_entity_rows([_last(timeline) for timeline in aware], "7.3, Fig. 11a"),
    ]  # fmt: skip
    titles = "Total throughput", X_STEP, "Throughput over an equal share's (1)"
    panels = {
        "a": Plot(aware[0], bands, {"title": "Part of each job", "x_title": X_STEP, "y_title": "Part of the total"}),
        "b": chart_of(total, *titles, dots=False),
    }
    return PaperFigure("Fig. 11", "Fairness over three entities of weights 1, 2 and 3", tuple(rows), panels)


def figure_21(size: GavelSize) -> PaperFigure:
    """Fairness over entities, FIFO inside each."""
    timelines = [_timeline(_scenario(size, seed, "fifo")) for seed in size.seeds]
    rows = _entity_rows([_last(timeline) for timeline in timelines], "A.2, Fig. 21")
    options = {"title": "Part of each job", "x_title": X_STEP, "y_title": "Part of the total"}
    panels = {"a": Plot(timelines[0], bands, options)}
    return PaperFigure("Fig. 21", "Fairness over entities, first in first out inside", tuple(rows), panels)


def _total(timelines: list[pd.DataFrame], name: str) -> pd.DataFrame:
    """Mean over the seeds of the total throughput: columns line, x, y."""
    totals = [timeline.groupby("x")["value"].sum() for timeline in timelines]
    mean = pd.concat(totals, axis=1).mean(axis=1)
    return pd.DataFrame({"line": name, "x": mean.index.to_numpy(dtype=float), "y": mean.to_numpy()})
