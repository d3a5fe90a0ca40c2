"""The first five days of the authors' own Philly files under Chronus and others, who misses how much (section 5.4).

1,270 of their jobs (`--sample 1270 --seed 0`) on 10 nodes of 8 GPUs. A run of both files takes minutes: the size
`authors` makes it, the others show the measures that are kept in `datasets/chronus_first_days.csv`.
"""

from __future__ import annotations

import csv
import math
from functools import cache
from pathlib import Path

import pandas as pd

from reproduction.chronus.lines import CHARGED, CHRONUS, EDF, GENIE, KNOWN, THEMIS
from reproduction.chronus.settings import DAY, NODE_GPUS, Size
from reproduction.figure import Figure, Panel, Row
from workbench.analysis.charts.bar_charts import grouped_bars
from workbench.analysis.metrics import summary
from workbench.scenario import traces
from workbench.scenario.data import fetch
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import builtin

WORKLOADS = ("P_MIX2", "P_SLO")
LINES = (CHRONUS, KNOWN, THEMIS, GENIE, EDF)
DAYS, NODES, JOBS = 5, 10, 1270
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


def scenario(path: Path) -> Scenario:
    """The jobs of one file, restarts charged as in the authors' simulator."""
    cluster = traces.parse_cluster(f"v100={NODES}x{NODE_GPUS}")
    return traces.convert("chronus", path, cluster=cluster, to_s=DAYS * DAY, sample=JOBS)[0]


def measured(workload: str, path: Path) -> pd.DataFrame:
    """A row for each of `LINES`: `COLUMNS`, NaN where there are no such jobs."""
    given, rows = scenario(path), []
    for line in LINES:
        found = summary(line.run(given))
        rows.append((workload, line.name, *(round(float(found[name]), 4) for name in MEASURES)))
    return pd.DataFrame(rows, columns=list(COLUMNS))


@cache
def kept() -> pd.DataFrame:
    """The same of both files, as kept with the project."""
    with (builtin.folder() / TABLE).open(encoding="utf-8", newline="") as file:
        return pd.DataFrame(csv.DictReader(file)).replace("", "nan").astype(dict.fromkeys(MEASURES, float))


def first_days(size: Size) -> Figure:
    """The kept measures, or those of a run with the authors' files."""
    files = zip(WORKLOADS, ("chronus_philly_mix2", "chronus_philly_slo"), strict=True)
    table = pd.concat([measured(name, fetch(file)) for name, file in files]) if size.public else kept()
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
            Row(
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
    title = f"The authors' Philly files, first {DAYS} days, {JOBS:,} jobs on {NODES} nodes of {NODE_GPUS} GPUs"
    return Figure("5.4 trace", title, tuple(rows), {"a": Panel(bars, grouped_bars, options)})
