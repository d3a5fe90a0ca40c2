"""The job selector (section 5.2): leases, objective, the unguaranteed, latency. Fig. 7."""

from __future__ import annotations

from reproduction.chronus.lines import CHRONUS, CODED, HOUR, bars, mean, points, row, sweep
from reproduction.chronus.settings import ChronusSize, WorkloadSetting, at, origin, times
from reproduction.figure import Entry, PaperFigure, chart_of
from reproduction.line import Line

SECTION = "5.2"
BEST_EFFORT_LEASE_S = 300
LONGEST_S = 10.0
MISSES = "wDMR"
WORKLOADS = ("slo", "mix1", "mix2")


def of_lease(minutes: int) -> Line:
    """Chronus with SLO leases of so many minutes; best-effort leases as in the paper unless they have to be shorter."""
    lease_s = 60 * minutes
    return CHRONUS.but(f"{minutes} min", slo_lease_s=lease_s, be_lease_s=min(BEST_EFFORT_LEASE_S, lease_s))


def figure_7a(size: ChronusSize) -> PaperFigure:
    """Length of SLO leases."""
    setting = at(size)
    coded = CODED if size.coded else {}
    every = {minutes: (setting, of_lease(minutes).but(f"{minutes} min", **coded)) for minutes in size.lease_min}
    found = sweep(every, size.seeds)
    rows = []
    for minutes in every:
        leases, restarts = f"leases of {minutes} min", mean(found, minutes, "restarts")
        why = f"{restarts:.0f} restarts; in the paper lowest between 15 and 30 min."
        rows.append(row(found, minutes, "weighted_miss_rate", f"{MISSES}, {leases}", why, SECTION))
        why, label = "In the paper the length does not matter above 15 min.", f"JCT of best effort, {leases}"
        rows.append(row(found, minutes, "best_effort_jct_s", label, why, SECTION, "h", scale=1 / HOUR))
    best = min(every, key=lambda minutes: mean(found, minutes, "weighted_miss_rate"))
    rows.append(
        Entry("length of the lease with the lowest wDMR", "min", None, float(best),
            f"The paper: 15 to 30 min. Here a job runs for {_mean_runtime_s(setting, size.seeds) / HOUR:.1f} h on "
            f"average and is resumed in 30 s. {origin(setting)}.", SECTION)
    )  # fmt: skip
    names = {minutes: (MISSES, minutes) for minutes in every}
    panel = chart_of(points(found, "weighted_miss_rate", names), "Length of SLO leases", "Lease (min)", "wDMR")
    return PaperFigure("Fig. 7a", "Length of SLO leases", tuple(rows), {"a": panel})


def _mean_runtime_s(setting: WorkloadSetting, seeds: range) -> float:
    """Seconds that a job of the workload runs on its whole gang, over all seeds."""
    found: list[float] = []
    for seed in seeds:
        made = setting.scenario(seed)
        speed = made.table.matrix([job.model for job in made.jobs], [job.gpus for job in made.jobs])[:, 0]
        found += [job.steps / rate for job, rate in zip(made.jobs, speed.tolist(), strict=True)]
    return sum(found) / len(found)


OBJECTIVE, FEASIBLE, GREEDY = "objective", "feasibility only", "greedy (ours)"


def figure_7b(size: ChronusSize) -> PaperFigure:
    """With the objective against any plan that is feasible, and against leases that are never planned again."""
    setting, coded = at(size), CODED if size.coded else {}
    every = {
        OBJECTIVE: (setting, CHRONUS.but(OBJECTIVE, **coded)),
        FEASIBLE: (setting, CHRONUS.but(FEASIBLE, plan_by="feasibility", **coded)),
        GREEDY: (setting, CHRONUS.but(GREEDY, plan_by="greedy", **coded)),
    }
    found = sweep(every, size.seeds)
    why = "The paper: much higher without the objective, for soft jobs above all, no number."
    kinds = {"weighted_miss_rate": MISSES, "strict_miss_rate": f"{MISSES}, strict", "soft_miss_rate": f"{MISSES}, soft"}
    rows = [
        row(found, name, measure, f"{label}, {name}", "Not in the paper." if name == GREEDY else why, SECTION)
        for measure, label in kinds.items()
        for name in every
    ]
    frame = bars(found, "soft_miss_rate", {name: ("soft", name) for name in every})
    panel = chart_of(frame, "Objective", "Plan", "wDMR of soft jobs")
    return PaperFigure("Fig. 7b", "Objective against feasibility", tuple(rows), {"a": panel})


def figure_7c(size: ChronusSize) -> PaperFigure:
    """What becomes of jobs that were refused a guarantee."""
    every = {
        f"{trace}_{workload.upper()}": (at(size, trace, workload=workload), CHRONUS)
        for trace in size.traces
        for workload in WORKLOADS
    }
    found = sweep(every, size.seeds)
    rows = []
    for name, (setting, _) in every.items():
        why = f"{mean(found, name, 'unguaranteed'):.0f} jobs; the paper: very high, no number. {origin(setting)}."
        label = f"{MISSES} of the unguaranteed, {name}"
        rows.append(row(found, name, "unguaranteed_miss_rate", label, why, SECTION))
    frame = bars(found, "unguaranteed_miss_rate", {name: ("unguaranteed", name) for name in every})
    panel = chart_of(frame, "Jobs without a guarantee", "Workload", "wDMR")
    return PaperFigure("Fig. 7c", "Jobs without a guarantee", tuple(rows), {"a": panel})


def figure_7d(size: ChronusSize) -> PaperFigure:
    """Seconds of the longest plan, the cluster and the jobs growing together."""
    every = {scale: (times(at(size), scale), CHRONUS) for scale in size.scales}
    found = sweep(every, size.seeds[:1])
    why = "One seed, wall time; the paper: below 10 s (Gurobi, 96 nodes and more)."
    rows = [
        Entry(f"longest plan, {setting.nodes} nodes, {setting.jobs} jobs", "s", None, mean(found, scale, "plan_s"),
            why, SECTION)
        for scale, (setting, _) in every.items()
    ]  # fmt: skip
    slowest = max(every, key=lambda scale: mean(found, scale, "plan_s"))
    rows.append(
        Entry("longest plan of all", "s", LONGEST_S, mean(found, slowest, "plan_s"),
            f"The paper's is an upper limit: less than. {origin(every[slowest][0])}.", SECTION)
    )  # fmt: skip
    names = {scale: ("longest plan", setting.nodes * 8) for scale, (setting, _) in every.items()}
    panel = chart_of(points(found, "plan_s", names), "Latency of plans", "GPUs", "Seconds", whole_x=True)
    return PaperFigure("Fig. 7d", "Latency of plans", tuple(rows), {"a": panel})
