"""A plan of an offline formulation as a Gantt chart by GPU."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from workbench.analysis.charts.bars import lanes
from workbench.analysis.charts.drawing import Drawing
from workbench.analysis.charts.gantt import gantt
from workbench.base.errors import InputError
from workbench.scenario.cluster import Cluster
from workbench.simulation.schema import TIMELINE

Slot = tuple[str, int]
"""A GPU: node and number."""


def plan(
    rows: Sequence[Mapping[str, Any]],
    jobs: Iterable[str],
    cluster: Cluster,
    *,
    end_s: float | None = None,
    title: str = "Plan",
) -> Drawing:
    """Draw which job holds how many GPUs of each type when.

    rows: `plan` of a result, each with job, start_s, end_s, gpus (`{type: GPUs}`) and perhaps steps; jobs: all names in
    the scenario's order, for their colours. The plan does not say which GPU of a type it is: one that the job had just
    before, else the first free ones. Raises InputError for more GPUs than there are.
    """
    timeline = plan_timeline(rows, cluster)
    names = list(jobs)
    ends = timeline.groupby("job")["end_s"].max()
    known = pd.DataFrame({"job": names, "model": "", "arrival_s": 0.0, "finish_s": ends.reindex(names).to_numpy()})
    return gantt(timeline, known, cluster=cluster, end_s=end_s, title=title)


def plan_timeline(rows: Sequence[Mapping[str, Any]], cluster: Cluster) -> pd.DataFrame:
    """The `timeline` of a plan, as a run has it, with the GPUs' numbers chosen as `plan` says."""
    every = lanes(pd.DataFrame(), cluster)
    kind_of: dict[Slot, str] = {(node, slot): kind for _, node, slot, kind in every.itertuples(index=False)}
    busy: dict[Slot, tuple[str, float]] = {}  # who has the GPU, or had it last, and until when
    found: list[tuple[Any, ...]] = []
    for row in sorted(rows, key=lambda row: float(row["start_s"])):
        job, start_s, end_s = str(row["job"]), float(row["start_s"]), float(row["end_s"])
        total = sum(row["gpus"].values())
        for kind, count in row["gpus"].items():
            free = [gpu for gpu, of in kind_of.items() if of == kind and _until(busy, gpu) <= start_s]
            if len(free) < count:
                raise InputError(f"plan, job {job} at {start_s:g} s", f"{count} {kind}", f"at most {len(free)} free")
            chosen = sorted(free, key=lambda gpu: (busy.get(gpu) != (job, start_s), free.index(gpu)))[:count]
            for node, slot in chosen:
                busy[node, slot] = (job, end_s)
                steps = float(row.get("steps", 0.0)) / total
                found.append((node, slot, kind, job, job, "", "run", start_s, end_s, steps, 0.0, total))
    return TIMELINE.frame(found)


def _until(busy: Mapping[Slot, tuple[str, float]], gpu: Slot) -> float:
    return busy[gpu][1] if gpu in busy else 0.0
