"""What a run of `slurm` owes its log, read from the log's text alone: types, run times, makespan."""

from __future__ import annotations

import csv
import io
import re
from datetime import datetime, timedelta

from workbench.scenario.traces.slurm_text import seconds
from workbench.simulation.run import Run

MOST_MAKESPAN = 1.1


def faults(run: Run, log: str) -> tuple[int, list[str]]:
    """How many jobs of a log of `sacct -P` were compared that began in it, and those that ran on other types or for
    another time (1 s), or never; and a makespan that is too long."""
    rows = csv.DictReader(io.StringIO(log), delimiter="|", quoting=csv.QUOTE_NONE)
    recorded = {(row["JobID"], row["Start"]): row for row in rows if "gres/gpu:" in row["AllocTRES"]}
    kinds = {node.name: node.accelerator for node in run.scenario.cluster.each_node}
    where = run.timeline.groupby("job")["node"].agg(set).to_dict()
    begin = datetime.fromisoformat(str(run.scenario.begins))
    compared, found, end_s = 0, list[str](), 0.0
    for job, ran in zip(run.scenario.jobs, run.jobs.itertuples(), strict=True):
        start_s = float(job.attributes["start_s"])
        key = job.name.removeprefix("job-").partition(" ")[0], (begin + timedelta(seconds=start_s)).isoformat()
        if start_s < 0 or key not in recorded:  # in mid-life, or without GPUs
            continue
        row, on = recorded[key], {kinds[node] for node in where.get(job.name, ())}
        elapsed_s = seconds(row["Elapsed"])
        assert elapsed_s is not None
        compared, end_s = compared + 1, max(end_s, start_s + elapsed_s)
        may = set(re.findall(r"gres/gpu:([^=]+)=", row["AllocTRES"]))
        if not on or not on <= may:
            found.append(f"{job.name} on {sorted(on)}, recorded {sorted(may)}")
        if not abs(ran.finish_s - ran.first_start_s - elapsed_s) <= 1:
            found.append(f"{job.name} for {ran.finish_s - ran.first_start_s:g} s, recorded {elapsed_s:g} s")
    if run.jobs["finish_s"].max() > MOST_MAKESPAN * end_s:
        found.append(f"all done after {run.jobs['finish_s'].max():g} s, recorded {end_s:g} s")
    return compared, found
