"""A month of a Slurm site from its log to an answer: convert, calibrate, six pairs of runs, the page."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.case import Work

GPUS_OF_A_NODE, DAYS, JOBS_OF_A_NODE, LOAD = 8, 30, 120, 0.94
CHANGE = "outage rack=a100-r1 from 7 d to 14 d, drain"


def slurm_month(bootstrap: bool) -> Callable[[int], Work]:
    """A benchmark of so many jobs, 15 of a GPU (30,000 on 2,000), which the tests' own scheduler has scheduled before.

    bootstrap: whether pairs differ in their days, which makes twelve runs; by seed, as Slurm draws nothing, two.
    """

    def prepare(jobs: int) -> Work:
        from tests.scenario.traces.slurm_month import demand, schedule, written

        folder, nodes = tempfile.TemporaryDirectory(), jobs // JOBS_OF_A_NODE
        files = written(Path(folder.name), schedule(demand(jobs, DAYS, nodes, LOAD, 1), nodes), nodes)

        def work() -> str:
            import workbench
            from workbench.scenario.traces import convert

            processes = os.cpu_count() or 1
            log = files["log"][0]
            scenario, _ = convert("sacct", log, nodes=files["nodes"], limits=files["limits"], config=files["config"])
            found = workbench.calibrate(scenario, processes=processes)
            scenario = found.kept(scenario)
            answer = workbench.what_if(
                scenario, "slurm", CHANGE, seeds=range(6), bootstrap=bootstrap, processes=processes
            )
            answer.report(Path(folder.name, "answer.html"), force=True)
            return f"{found.verdict}, {nodes * GPUS_OF_A_NODE} GPUs, {len(answer.question.seeds)} pairs"

        return work

    return prepare
