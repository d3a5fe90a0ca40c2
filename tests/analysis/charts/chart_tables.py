"""Small tables of a run, written by hand."""

from __future__ import annotations

import math
import re
from typing import Any

import pandas as pd

from workbench.scenario.cluster import Cluster
from workbench.simulation.schema import DECISIONS, JOBS, SHARES, TIMELINE

ROUND_S = 360.0
CLUSTER = Cluster.model_validate(
    {
        "accelerators": [{"name": "v100"}, {"name": "k80"}],
        "nodes": [{"name": "a", "accelerator": "v100", "gpus": 2}, {"name": "b", "accelerator": "k80", "gpus": 2}],
    }
)
HOSTILE = (
    "a\"b'c",
    "x.y[0]",
    "</script><script>alert(1)</script>",
    "жоб ü 漢字 <b>&amp;",
    "it's \\ back\u2028line",
    "${x} #{y} {{z}}",
)


def interval(
    node: str, slot: int, unit: str, start_s: float, end_s: float, kind: str = "run", steps: float = 10.0, gpus: int = 1
) -> tuple[Any, ...]:
    """A row of the timeline; `a + b` is a pair, nothing is a node that is down."""
    job, _, other = unit.partition(" + ")
    accelerator = "v100" if node.startswith("a") else "k80"
    job = re.sub(r" #\d+$", "", job)
    return (node, slot, accelerator, unit, job, other, kind, start_s, end_s, steps, 2 * steps if other else 0.0, gpus)


def timeline(*rows: tuple[Any, ...]) -> pd.DataFrame:
    return TIMELINE.frame(rows)


def jobs(**finish_s: float | None) -> pd.DataFrame:
    """Jobs that arrive at 0 and finish when stated (None: never)."""
    return jobs_named(finish_s)


def jobs_named(finish_s: dict[str, float | None], arrival_s: float = 0.0) -> pd.DataFrame:
    texts = {"model": "resnet50", "entity": "", "size_class": "", "verdict": ""}
    count = len(finish_s)
    columns: dict[str, list[Any]] = {c.name: [texts.get(c.name, 0)] * count for c in JOBS.columns}
    columns["job"] = list(finish_s)
    columns["arrival_s"] = [arrival_s] * count
    columns["finish_s"] = [math.nan if end is None else end for end in finish_s.values()]
    return JOBS.frame(columns)


def decisions(*times_s: float) -> pd.DataFrame:
    return DECISIONS.frame(
        [(i, t, "round", 3, i, 4, 4, True, "optimal", 1.0, 1.0, 0.0, 0.1, 0.1, "model") for i, t in enumerate(times_s)]
    )


def shares(*rows: tuple[int, float, str, str, float]) -> pd.DataFrame:
    return SHARES.frame([(*row[:4], "", row[4]) for row in rows])


def everything() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Timeline, jobs and decisions with every kind of interval, a gang, a pair and a preemption."""
    r = ROUND_S
    rows = timeline(
        *(interval("a-0", slot, "j0", 0, 3 * r, gpus=2) for slot in (0, 1)),
        interval("b-0", 0, "j1", 0, 2 * r),
        interval("a-0", 0, "j1", 3 * r, 3 * r + 30, "restart"),
        interval("a-0", 0, "j1", 3 * r + 30, 6 * r),
        interval("b-0", 1, "j2", 0, r),
        interval("b-0", 1, "j2", r, 2 * r),
        interval("b-0", 1, "j2", 3 * r, 4 * r, "profile"),
        interval("b-0", 1, "j2", 4 * r, 4 * r + 5, "switch"),
        interval("b-0", 1, "j2", 4 * r + 5, 5 * r, "hold"),
        interval("b-0", 1, "j2", 5 * r, 6 * r, "consolidate"),
        interval("b-0", 1, "j2", 5 * r, 5 * r + 60, "sync"),
        interval("b-0", 0, "", 4 * r, 6 * r, "down"),
        interval("a-0", 1, "j2 + j0", 6 * r, 7 * r),
    )
    return rows, jobs(j0=7 * r, j1=6 * r, j2=None), decisions(*(r * i for i in range(7)))
