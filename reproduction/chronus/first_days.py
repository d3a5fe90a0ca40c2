"""The authors' own Philly files: what is in them (section 4.1), and spans of five days under Chronus and others, who
misses how much (section 5.4).

On 10 nodes of 8 GPUs, as many jobs a node and a day as on their 120, drawn. A run of both files takes one to three
minutes: the size `authors` makes it, `authors_half` and `authors_twice` on half and on twice the nodes; the others show
what is kept of it.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd

from reproduction.chronus.lines import CHARGED, CHRONUS, EDF, GENIE, KNOWN, PAPERS_THEMIS, THEMIS
from reproduction.chronus.settings import DAY, NODE_GPUS, ChronusSize
from reproduction.figure import Entry, PaperFigure, chart_of
from reproduction.results import KeptResults
from workbench.analysis.metrics import summary
from workbench.scenario import traces
from workbench.scenario.presets.parts import HOUR
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.public import fetch

WORKLOADS = ("P_MIX2", "P_SLO")
FILES = ("chronus_philly_mix2", "chronus_philly_slo")
LINES = (CHRONUS, KNOWN, PAPERS_THEMIS, THEMIS, GENIE, EDF)
DAYS, NODES = 5, 10
SPANS: tuple[tuple[float | None, int], ...] = ((None, 102), (4.5, 92), (9.0, 83))
"""ours: of the seeds, one after the other, the day from which five are taken (None: the file's first job) and the jobs
that are drawn of them for a node, another draw for each seed: as many as each file has for a node of 120."""
SPANS_LOAD = "1.06 to 1.31"
"""Of the files in these spans: GPU time of the jobs that arrive, over that of 960 GPUs."""
MEASURES = {
    "best_effort_jct_s": "mean JCT of best effort (s)",
    "mean_profiling_delay_s": "mean profiling delay (s)",
    "unguaranteed": "unguaranteed jobs",
    "broken_guarantees": "broken guarantees",
}
"""What is told beside wDMR, in words."""


def scenario(path: Path, nodes: int = NODES, seed: int = 0) -> Scenario:
    """The jobs of one file, restarts charged as in the authors' simulator."""
    cluster, (day, jobs) = traces.parse_cluster(f"v100={nodes}x{NODE_GPUS}"), SPANS[seed % len(SPANS)]
    from_s, to_s = None if day is None else day * DAY, ((day or 0.0) + DAYS) * DAY
    cut: dict[str, Any] = {"from_s": from_s, "to_s": to_s, "sample": jobs * nodes, "seed": seed}
    return traces.convert("chronus", path, cluster=cluster, **cut)[0]


def _rows_of(name: str) -> tuple[pd.DataFrame, int]:
    """Jobs of an authors' file by their row: arrival_s, gpus, kind; and how many rows the file has."""
    made, report = traces.convert("chronus", fetch(name), cluster=traces.parse_cluster("v100=120x8"))
    kinds = {0: "best effort", 1: "strict"}
    found = [(job.arrival_s, job.gpus, kinds.get(len(job.rewards or ()), "soft")) for job in made.jobs]
    return pd.DataFrame(found, columns=["arrival_s", "gpus", "kind"]), report.rows_read


SHARES = {"P_MIX2": {"strict": 30.0, "soft": 60.0, "best effort": 10.0}, "P_SLO": {"strict": 100.0}}
"""paper: Table 1, in %."""


def table_1(size: ChronusSize) -> PaperFigure:
    """Jobs and kinds of jobs of the two workloads whose files are public."""
    rows = []
    for workload, name in zip(WORKLOADS, FILES, strict=True):
        jobs, read = _rows_of(name)
        why = f"Rows of the authors' file; {read - len(jobs)} of them are for 0 GPUs and are not run."
        rows.append(Entry(f"jobs, {workload}", "jobs", 30940.0, float(read), why, "Table 1"))
        rows += [
            Entry(f"{kind} jobs, {workload}", "%", share, 100 * float((jobs["kind"] == kind).mean()), why, "Table 1")
            for kind, share in SHARES[workload].items()
        ]
    return PaperFigure("Table 1", "Workloads", tuple(rows))


def figure_5(size: ChronusSize) -> PaperFigure:
    """GPUs that are asked for by hour, of the Philly trace; against arrivals that do not depend on each other, whose
    variance is, of as many jobs an hour, the sum of the squares of what they ask for."""
    jobs, _ = _rows_of(FILES[0])
    hours = range(int(jobs["arrival_s"].max() // HOUR) + 1)
    asked = jobs.groupby(jobs["arrival_s"] // HOUR)["gpus"].sum().reindex(hours, fill_value=0)
    why = "The paper draws it without a number"
    alone = float((jobs["gpus"] ** 2).sum()) / len(hours)
    rows = (
        Entry(
            "GPUs asked for in an hour, variance / of independent jobs",
            "1",
            None,
            float(asked.var()) / alone,
            f"{why}; of jobs that come independently it is about 1.",
            "4.1",
        ),
        Entry(
            "GPUs asked for, busiest hour / mean hour", "1", None, float(asked.max() / asked.mean()), f"{why}.", "4.1"
        ),
    )
    frame = pd.DataFrame({"line": "P_MIX2", "x": [float(hour) for hour in hours], "y": asked.to_numpy(dtype=float)})
    panel = chart_of(frame, "GPUs asked for", "Hour", "GPUs", dots=False)
    return PaperFigure("Fig. 5b", "Bursts of submissions", rows, {"b": panel})


def spans_scale(size: ChronusSize) -> str:
    """Of the authors' days."""
    spans = ", ".join(f"{jobs * size.days_nodes:,} jobs from day {day or 0:g} on" for day, jobs in SPANS)
    return (
        f"{DAYS} days of the authors' 14 on {size.days_nodes} nodes of their 120, a draw takes seconds to minutes; "
        f"seed by seed {spans}, as many a node as in the files, whose load is {SPANS_LOAD} there, and again in other "
        "draws: the interval is over the spans"
    )


def _misses(size: ChronusSize) -> dict[tuple[str, str], tuple[float, str]]:
    """Misses (wDMR) by file and line, and what else is told: of a run of a seed's span, else as kept of the first."""
    if not size.public:
        kept = KeptResults().read("chronus.first_days").query("size == 'authors' and seed == 0")
        ours = kept.set_index("measure")["ours"].to_dict()
        return {(of, line.name): (ours[f"wDMR, {of}, {line.name}"], "") for of in WORKLOADS for line in LINES}
    found = {}
    for workload, file in zip(WORKLOADS, FILES, strict=True):
        given = scenario(fetch(file), size.days_nodes, size.seeds[0])
        for line in LINES:
            of = summary(line.run(given))
            known = {label: float(of[name]) for name, label in MEASURES.items()}
            told = ", ".join(f"{label} {value:.4g}" for label, value in known.items() if not math.isnan(value))
            found[workload, line.name] = (round(float(of["weighted_miss_rate"]), 4), told)
    return found


def first_days(size: ChronusSize) -> PaperFigure:
    """The kept measures of the first days, or those of a run of a seed's span with the authors' files."""
    found = _misses(size)
    rows = [
        Entry(f"wDMR, {of}, {line}", "1", None, ours,
            f"{'. '.join(filter(None, [CHARGED.get(line, 'Run times known'), told]))}.", "5.4")
        for (of, line), (ours, told) in found.items()
    ]  # fmt: skip
    bars = pd.DataFrame(
        [(line, of, *[ours] * 3) for (of, line), (ours, _) in found.items()],
        columns=["series", "group", "value", "low", "high"],
    )
    panel = chart_of(bars, "Weighted deadline miss rate", "The authors' files", "wDMR")
    _, jobs = SPANS[size.seeds[0] % len(SPANS) if size.public else 0]
    nodes = size.days_nodes if size.public else NODES
    title = f"The authors' Philly files, {DAYS} days, {jobs * nodes:,} jobs on {nodes} nodes of {NODE_GPUS} GPUs"
    return PaperFigure("5.4 trace", title, tuple(rows), {"a": panel})
