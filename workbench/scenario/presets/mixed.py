"""Every kind of job at once, for comparing schedulers that do not all read the same of a job (ours)."""

from __future__ import annotations

import numpy as np

from workbench.scenario.presets.catalogue import Data, register
from workbench.scenario.presets.parts import HOUR, cluster_of, entries_of, node_groups, streams
from workbench.scenario.rewards import SOFT_STEPS
from workbench.scenario.throughput import Scaling
from workbench.scenario.traces.synthetic import Workload

JOBS = 20
WINDOW_S = HOUR
HOURS = (1.0, 4.0)
GANGS, SHARES = (1, 2, 4, 8), (0.1, 0.1, 0.3, 0.5)
POWER = Scaling(law="power", efficiency=0.9)  # fills the gangs of 16 that the tables lack
STRICT, SOFT, ELASTIC, WEIGHTED = "strict", "soft", "elastic", "weighted"
KINDS = ("plain", STRICT, ELASTIC, SOFT, WEIGHTED)
"""In turn, so that there are as many of each."""
WEIGHT = 4.0
FACTORS = (1.3, 2.5)
"""Of the first deadline, in runtimes on the fastest type."""


@register
def compare_mixed() -> Data:
    """Every kind of job at once: 60 GPUs of three types; 20 jobs, some elastic, with deadlines or weights (ours)."""
    cluster = cluster_of(node_groups(("v", "v100", 5, 4), ("p", "p100", 5, 4), ("k", "k80", 5, 4)))
    work = Workload.build(cluster, "gavel", None, "v100", POWER)
    pick, gang, length, when, due = streams(7, 5)
    models = pick.choice(list(work.models), JOBS).tolist()
    gangs = gang.choice(GANGS, JOBS, p=SHARES).tolist()
    hours = HOURS[0] * (HOURS[1] / HOURS[0]) ** length.random(JOBS)
    arrivals = np.sort(when.uniform(0.0, WINDOW_S, JOBS)).round(0)
    factors = due.uniform(*FACTORS, JOBS)
    jobs = []
    for i, (model, gpus) in enumerate(zip(models, gangs, strict=True)):
        kind = KINDS[i % len(KINDS)]
        job = work.job(f"{kind}-{i}", model, gpus, float(hours[i]) * HOUR, float(arrivals[i]))
        first_s = round(float(factors[i] * hours[i]) * HOUR, 0)
        jobs.append({**job, **_extra(kind, job["gpus"], first_s)})
    core = {"restart": {"law": "fixed", "restart_s": 10.0}}
    schedulers = entries_of("gavel.max_min_fairness", "hadar", "hops", "hare", "chronus", "srtf")
    return {**work.scenario(jobs), "seed": 7, "core": core, "schedulers": schedulers}


def _extra(kind: str, gpus: int, first_s: float) -> Data:
    """What makes a job of its kind."""
    if kind in (STRICT, SOFT):
        steps = SOFT_STEPS[:1] if kind == STRICT else SOFT_STEPS
        return {"rewards": [[round(first_s * factor, 0), reward] for factor, reward in steps]}
    if kind == ELASTIC:
        return {"gpu_choices": sorted({max(1, gpus // 2), gpus, 2 * gpus})}
    return {"weight": WEIGHT} if kind == WEIGHTED else {}
