"""Best effort on MIX2 (section 5.4, Fig. 9b): what the authors' program does and the paper does not say, one thing at a
time.

Their program (`code/alg/scheduler/time_aware_with_lease.py` of ChronusArtifact) takes a run time as 1.1 times the
profiled one plus the overhead of a restart in each lease; of plans that are worth the same it takes one with few GPUs
in the first lease once jobs have been refused; and what no SLO lease takes goes to everyone, guaranteed jobs that have
no lease now last. (It also puts refused jobs that could end within the SLO lease before all best effort; they are few,
and the line by remaining time has them early anyway.)
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from reproduction.chronus.first_days import FILES, scenario
from reproduction.chronus.lines import CHRONUS, CODED, KNOWN, PAPERS_THEMIS, THEMIS
from reproduction.chronus.settings import NODE_GPUS, ChronusSize, at, origin
from reproduction.figure import Entry, PaperFigure
from workbench.analysis.metrics import summary
from workbench.base.arrays import FloatArray
from workbench.scenario.throughput import Placement
from workbench.scenario.traces.public import fetch
from workbench.scheduling.estimators.oracle import Oracle
from workbench.scheduling.snapshot import JobView

MORE, OVERHEAD_MIN, LEASE_MIN = 1.1, 0.5, 20.0
"""code: of an estimate; minutes of a checkpoint and a restart of one GPU, once in a lease of so many."""


class Longer(Oracle):
    """Speeds by which a run takes as long as the authors' program estimates."""

    def speeds(self, jobs: JobView, placement: Placement = "consolidated") -> FloatArray:
        """(jobs x types) steps/s of each job's gang."""
        times = [MORE * (1 + (1 + math.log2(gpus)) * OVERHEAD_MIN / LEASE_MIN) for gpus in jobs.gpus.tolist()]
        slower: FloatArray = super().speeds(jobs, placement) / np.array(times).reshape(-1, 1)
        return slower


LATE, SPARE, ESTIMATES = "late first leases", "spare GPUs for everyone", "longer estimates"
BOTH = f"Chronus, {LATE}, {SPARE}"
LINES = (
    KNOWN.but("Chronus"),
    replace(KNOWN, name=f"Chronus, {ESTIMATES}", belief=Longer),
    KNOWN.but(f"Chronus, {LATE}", first_lease="late"),
    KNOWN.but(f"Chronus, {SPARE}", spare="everyone"),
    KNOWN.but(BOTH, **CODED),
    replace(KNOWN.but(f"{BOTH}, {ESTIMATES}", **CODED), belief=Longer),
    KNOWN.but("Chronus, best effort by GPU time", be_order="remaining_gpu_time"),
    CHRONUS.but(f"{BOTH}, profiles charged", **CODED),
)
"""Run times are known, as in the authors' end-to-end runs, but in the last."""


def best_effort(size: ChronusSize) -> PaperFigure:
    """Mean JCT of best effort under Themis over that under Chronus, and the misses of each."""
    mixed = at(size, workload="mix2")
    seed, where = size.seeds[0], origin(mixed)
    if size.public:
        where = f"Some days of the authors' file, {size.days_nodes} nodes of {NODE_GPUS} GPUs"
    given = scenario(fetch(FILES[0]), size.days_nodes, seed) if size.public else mixed.scenario(seed)
    found = {line.name: summary(line.run(given)) for line in (*LINES, THEMIS, PAPERS_THEMIS)}
    jct_s = {name: float(of["best_effort_jct_s"]) for name, of in found.items()}
    rows = [
        Entry(f"JCT of best effort, {themis.name} / {line.name}", "1", None, jct_s[themis.name] / jct_s[line.name],
            f"{where}. The paper, drawn: above 1.", "5.4")
        for themis in (PAPERS_THEMIS, THEMIS)
        for line in LINES
    ]  # fmt: skip
    rows += [
        Entry(f"{label}, {name}", "1" if label == "wDMR" else "jobs", None, float(of[measure]), f"{where}.", "5.4")
        for name, of in found.items()
        for label, measure in (("wDMR", "weighted_miss_rate"), ("broken guarantees", "broken_guarantees"))
        if not math.isnan(float(of[measure]))
    ]
    return PaperFigure("5.4 best effort", "Best effort on MIX2, and the authors' program", tuple(rows))
