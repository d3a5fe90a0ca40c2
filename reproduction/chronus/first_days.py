"""The authors' own Philly files: what is in them (section 4.1), and their first five days under Chronus and others, who
misses how much (section 5.4).

1,270 of their jobs (`--sample 1270 --seed 0`) on 10 nodes of 8 GPUs, as many of them a node and a day as there are on
their 120. A run of both files takes minutes: the size `authors` makes it, `authors_half` and `authors_twice` on half
and on twice the nodes; the others show the measures that are kept in `datasets/chronus_first_days.csv`.
"""

from __future__ import annotations

import csv
import math
from functools import cache
from pathlib import Path

import pandas as pd

from reproduction.chronus.lines import CHARGED, CHRONUS, EDF, GENIE, KNOWN, THEMIS
from reproduction.chronus.settings import DAY, NODE_GPUS, ChronusSize
from reproduction.figure import Entry, PaperFigure, Plot
from workbench.analysis.charts.bar_charts import grouped_bars
from workbench.analysis.charts.curves import curve
from workbench.analysis.metrics import summary
from workbench.scenario import traces
from workbench.scenario.presets.parts import HOUR
from workbench.scenario.public_traces import fetch
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import builtin

WORKLOADS = ("P_MIX2", "P_SLO")
FILES = ("chronus_philly_mix2", "chronus_philly_slo")
LINES = (CHRONUS, KNOWN, THEMIS, GENIE, EDF)
DAYS, NODES, NODE_JOBS = 5, 10, 127
TABLE = "chronus_first_days.csv"
MEASURES = (
    "weighted_miss_rate",
    "best_effort_jct_s",
    "mean_profiling_delay_s",
    "guaranteed",
    "unguaranteed",
    "broken_guarantees",
)
COLUMNS = ("workload", "line", *MEASURES)


def scenario(path: Path, nodes: int = NODES) -> Scenario:
    """The jobs of one file, restarts charged as in the authors' simulator."""
    cluster = traces.parse_cluster(f"v100={nodes}x{NODE_GPUS}")
    return traces.convert("chronus", path, cluster=cluster, to_s=DAYS * DAY, sample=NODE_JOBS * nodes)[0]


def measured(workload: str, path: Path, nodes: int = NODES) -> pd.DataFrame:
    """A row for each of `LINES`: `COLUMNS`, NaN where there are no such jobs."""
    given, rows = scenario(path, nodes), []
    for line in LINES:
        found = summary(line.run(given))
        rows.append((workload, line.name, *(round(float(found[name]), 4) for name in MEASURES)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


@cache
def kept() -> pd.DataFrame:
    """The same of both files, as kept with the project."""
    with (builtin.folder() / TABLE).open(encoding="utf-8", newline="") as file:
        return pd.DataFrame(csv.DictReader(file)).replace("", "nan").astype(dict.fromkeys(MEASURES, float))


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
    """GPUs that are asked for by hour, of the Philly trace."""
    jobs, _ = _rows_of(FILES[0])
    hours = range(int(jobs["arrival_s"].max() // HOUR) + 1)
    asked = jobs.groupby(jobs["arrival_s"] // HOUR)["gpus"].sum().reindex(hours, fill_value=0)
    why = "The paper draws it without a number. Arrivals that do not depend on each other would have about 1."
    counts = jobs.groupby(jobs["arrival_s"] // HOUR)["gpus"].size().reindex(hours, fill_value=0)
    rows = (
        Entry(
            "variance / mean of the jobs that come in an hour",
            "1",
            None,
            float(counts.var() / counts.mean()),
            why,
            "4.1",
        ),
        Entry("GPUs asked for, busiest hour / mean hour", "1", None, float(asked.max() / asked.mean()), why, "4.1"),
    )
    frame = pd.DataFrame({"line": "P_MIX2", "x": [float(hour) for hour in hours], "y": asked.to_numpy(dtype=float)})
    options = {"title": "GPUs asked for", "x_title": "Hour", "y_title": "GPUs", "dots": False}
    return PaperFigure("Fig. 5b", "Bursts of submissions", rows, {"b": Plot(frame, curve, options)})


def days_scale(size: ChronusSize) -> str:
    """Of the authors' first days."""
    jobs, nodes = NODE_JOBS * size.days_nodes, size.days_nodes
    return f"{DAYS} days of the authors' 14, {jobs:,} jobs on {nodes} nodes of their 120: a run takes minutes"


def first_days(size: ChronusSize) -> PaperFigure:
    """The kept measures, or those of a run with the authors' files."""
    files = zip(WORKLOADS, FILES, strict=True)
    nodes = size.days_nodes if size.public else NODES
    table = pd.concat([measured(name, fetch(file), nodes) for name, file in files]) if size.public else kept()
    rows = []
    for row in table.itertuples(index=False):
        values = dict(zip(COLUMNS, row, strict=True))
        told = [
            f"{label} {values[name]:.4g}"
            for name, label in (
                ("best_effort_jct_s", "mean JCT of best effort (s)"),
                ("mean_profiling_delay_s", "mean profiling delay (s)"),
                ("unguaranteed", "unguaranteed jobs"),
                ("broken_guarantees", "broken guarantees"),
            )
            if not math.isnan(float(values[name]))
        ]
        why = ". ".join([CHARGED.get(str(values["line"]), "Run times known"), ", ".join(told)]).removesuffix(". ")
        rows.append(
            Entry(
                f"wDMR, {values['workload']}, {values['line']}",
                "1",
                None,
                float(values["weighted_miss_rate"]),
                f"{why}.",
                "5.4",
            )
        )
    bars = table.rename(columns={"line": "series", "workload": "group", "weighted_miss_rate": "value"})
    bars = bars[["series", "group", "value"]].assign(low=bars["value"], high=bars["value"])
    options = {"title": "Weighted deadline miss rate", "x_title": "The authors' files", "y_title": "wDMR"}
    title = (
        f"The authors' Philly files, first {DAYS} days, {NODE_JOBS * nodes:,} jobs on {nodes} nodes of {NODE_GPUS} GPUs"
    )
    return PaperFigure("5.4 trace", title, tuple(rows), {"a": Plot(bars, grouped_bars, options)})
