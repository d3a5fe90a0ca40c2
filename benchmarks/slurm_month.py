"""Days of a Slurm site from its log to an answer: convert, calibrate, six pairs of runs, the page."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from benchmarks.case import Work

GPUS_OF_A_NODE, JOBS_OF_A_NODE, JOBS_OF_A_DAY, LOAD = 8, 120, 1000, 0.94
LEAST_NODES, LEAST_DAYS = 5, 2
"""A node of each type, and more than a day to draw from."""
CHANGE = "outage rack=a100-r1 from {:g} d to {:g} d, drain"


def slurm_month(jobs: int) -> Work:
    """A benchmark of so many jobs, which the tests' own scheduler has scheduled: 30,000 in 30 days on 2,000 GPUs.

    With fewer jobs there are fewer nodes and days: a decision a minute while somebody waits costs the same then. Pairs
    differ in their days, which makes twelve runs; by seed, as of so many jobs Slurm's clocks run in one phase, there
    would be two.
    """
    from tests.scenario.traces.slurm_month import demand, schedule, written

    folder = tempfile.TemporaryDirectory()
    nodes, days = max(LEAST_NODES, jobs // JOBS_OF_A_NODE), max(LEAST_DAYS, jobs // JOBS_OF_A_DAY)
    files = written(Path(folder.name), schedule(demand(jobs, days, nodes, LOAD, 1), nodes), nodes)
    change = CHANGE.format(7 * days / 30, 14 * days / 30)

    def work() -> str:
        import workbench
        from workbench.scenario.traces import convert

        workers = os.cpu_count() or 1
        log = files["log"][0]
        scenario, _ = convert("sacct", log, nodes=files["nodes"], limits=files["limits"], config=files["config"])
        found = workbench.calibrate(scenario, workers=workers)
        scenario = found.kept(scenario)
        answer = workbench.what_if(
            scenario, "slurm", change, seeds=range(6), bootstrap=True, demand=(), workers=workers
        )
        answer.report(Path(folder.name, "answer.html"), force=True)
        return f"{found.verdict}, {nodes * GPUS_OF_A_NODE} GPUs, {len(answer.question.seeds)} pairs"

    return work
