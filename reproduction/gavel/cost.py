"""The cost policies of section 7.3: ResNet-50 and A3C jobs, paid by the hour, with SLOs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from reproduction.figure import Entry, PaperFigure
from reproduction.gavel.pairs import A3C, RESNET
from reproduction.gavel.settings import HOUR, PAPER_GPUS, GavelSize, gpus_of, measured
from reproduction.line import Line, rivalled
from workbench.analysis.metrics import summary
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.cluster_spec import parse_cluster
from workbench.scenario.traces.synthetic import SLO_FACTORS, Workload, draw_arrivals
from workbench.simulation.run import Run

DAYS = (0.5, 1.0, 2.0, 4.0, 8.0)  # paper: 7.3
REFRESH_S = 3600.0  # ours: not each round, as jobs last for days


def section_7_3_cost(size: GavelSize) -> PaperFigure:
    """Total cost and missed SLOs of three policies."""
    lines = (
        Line("throughput", "gavel.max_throughput"),
        Line("cost", "gavel.min_cost"),
        Line("cost with SLOs", "gavel.min_cost_slo", {"refresh_s": REFRESH_S / size.often}),
    )
    rows = [
        (line.name, *_paid(line.run(jobs_with_deadlines(size, seed))))
        for seed in size.seeds
        for line in rivalled(lines, size.rivals)
    ]
    found = pd.DataFrame(rows, columns=["line", "usd", "missed"]).groupby("line").mean()
    why = "The paper does not print its arrivals."
    usd, missed = found["usd"], 100 * found["missed"]
    return PaperFigure(
        "7.3 cost",
        "Cost of ResNet-50 and A3C jobs",
        (
            Entry("cost, throughput / cost policy", "1", 1.4, float(usd["throughput"] / usd["cost"]), why, "7.3"),
            Entry("cost, throughput / cost policy with SLOs", "1", 1.23,
                float(usd["throughput"] / usd["cost with SLOs"]), why, "7.3"),
            Entry("SLOs missed, cost policy", "%", 35.0, float(missed["cost"]), why, "7.3"),
            Entry("SLOs missed, cost policy with SLOs", "%", 0.0, float(missed["cost with SLOs"]),
                "Shares are computed anew every hour.", "7.3"),
        ),
    )  # fmt: skip


def jobs_with_deadlines(size: GavelSize, seed: int) -> Scenario:
    """Jobs of one GPU, half of each model, with a deadline each."""
    models, lengths, factors, gaps = (np.random.default_rng(part) for part in np.random.SeedSequence(seed).spawn(4))
    count = size.cost_jobs
    rows = measured(size.cluster)["throughputs"] if size.measured_speeds else None
    work = Workload.build(parse_cluster(size.cluster), "gavel", rows, "v100")
    gap_s = 24 * HOUR / (size.cost_per_day * gpus_of(size.cluster) / PAPER_GPUS)
    arrival_s = draw_arrivals(gaps, count, gap_s)
    duration_s = 24 * HOUR * lengths.choice(DAYS, count)
    factor = factors.choice(SLO_FACTORS, count)
    jobs = [
        work.job(f"job-{i}", str(models.choice([RESNET, A3C])), 1, float(duration_s[i]), float(arrival_s[i]))
        | {"rewards": [[float(factor[i] * duration_s[i]), 1.0]]}
        for i in range(count)
    ]
    return Scenario.from_dict({**work.scenario(jobs), "seed": seed}, "7.3 cost")


def _paid(run: Run) -> tuple[float, float]:
    """USD of all jobs, and the share of jobs that ended after their deadline."""
    jct_s = (run.jobs["finish_s"] - run.jobs["arrival_s"]).to_numpy(dtype=float)
    deadline_s = np.array([job.rewards[0][0] for job in run.scenario.jobs if job.rewards])
    return summary(run)["cost_usd"], float((jct_s > deadline_s).mean())
