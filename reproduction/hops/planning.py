"""How long a plan takes (section 4.7): Fig. 14 with and without a gap, Fig. 15 by jobs and by GPUs."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np
import pandas as pd

from reproduction.figure import Entry, PaperFigure, chart_of
from reproduction.hops.settings import RATE, HopsSize, resized, simulated
from workbench.papers.hops.algorithms.round_plan import make_plan
from workbench.papers.hops.instance import HopsInstance
from workbench.papers.hops.scheduler import Hops
from workbench.scenario.presets import preset
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Knobs
from workbench.scheduling.solvers import Solver, TimeLimitError
from workbench.session.api import snapshot_at

GAP, LARGE_GAP, LARGE = 0.01, 0.05, 1000  # paper: 4.7
OURS = "CPU seconds of one core, HiGHS, servers taken together; the paper: Gurobi, server by server"


class Timed(NamedTuple):
    """A plan: CPU seconds, the gap it proved (NaN: none in time), jobs in the window, columns of the printed model."""

    seconds: float
    gap: float
    window: int
    configurations: int


def timed(scenario: Scenario, at_s: float, gap: float, limit_s: float) -> Timed:
    """The first plan for all jobs that have arrived by then, from a snapshot to each one's GPUs."""
    knobs = {**Hops().settle({}), "gap": gap}
    snapshot = snapshot_at(scenario, at_s)
    began = time.process_time()
    data = HopsInstance.from_snapshot(snapshot, knobs)
    proven = _gap(data, knobs, limit_s)
    return Timed(time.process_time() - began, proven, len(data.jobs), len(data.job))


def _gap(data: HopsInstance, knobs: Knobs, limit_s: float) -> float:
    try:
        solved = make_plan(data, knobs, Solver(time_limit_s=limit_s)).solved
    except TimeLimitError:
        return math.nan
    return math.nan if solved.gap is None else float(solved.gap)


def figure_14(size: HopsSize) -> PaperFigure:
    """Plans at several moments of the arrivals, all jobs waiting, with a gap of 1 % and without."""
    scenario = simulated(size.simulated, size.plan_shrink)
    last_s = scenario.jobs[-1].arrival_s
    moments = [last_s * (n + 1) / size.moments for n in range(size.moments)]
    found = {gap: [timed(scenario, at_s, gap, size.limit_s) for at_s in moments] for gap in (GAP, 0.0)}
    near = found[GAP]
    rows = (
        Entry("plan with a gap of 1 %, longest", "s", 10.0, max(plan.seconds for plan in near),
            f"The paper: most within 10 s. {OURS}.", "4.7"),
        Entry("plan without a gap, longest", "s", None, max(plan.seconds for plan in found[0.0]),
            f"Stopped after {size.limit_s:g} s of wall time; the paper shows up to minutes without a number.", "4.7"),
        Entry("plans whose gap is below 0.5 %, of those with 1 %", "%", None,
            100 * float(np.mean([plan.gap < GAP / 2 for plan in near])),
            "The paper says most; ours is the gap that is proven.", "4.7"),
    )  # fmt: skip
    names = {GAP: "gap 1 %", 0.0: "no gap"}
    points = [(names[gap], float(n + 1), plan.seconds) for gap, plans in found.items() for n, plan in enumerate(plans)]
    frame = pd.DataFrame(points, columns=["line", "x", "y"])
    panel = chart_of(frame, "CPU time of a plan", "Moment", "CPU time (s)", whole_x=True)
    return PaperFigure("Fig. 14", "Plans with and without a gap", rows, {"a": panel})


def figure_15(size: HopsSize) -> PaperFigure:
    """Plans by the number of jobs that wait, which the window bounds, and by the size of the cluster."""
    whole = preset(f"hops_512_{RATE}")
    base = whole.replace(cluster=resized(whole, 1 / size.plan_shrink))
    waiting = {count: _all_waiting(base, count, GAP, size.limit_s) for count in size.waiting}
    first, last = (waiting[count] for count in (min(waiting), max(waiting)))
    before = sorted(waiting)[-2]
    clusters = {}
    for gpus in size.gpus:
        grown = whole.replace(cluster=resized(whole, gpus / whole.cluster.gpus))
        jobs = max(1, round(gpus * len(whole.jobs) / whole.cluster.gpus))
        for gap in (GAP, LARGE_GAP):
            clusters[gap, gpus] = _all_waiting(grown, jobs, gap, size.limit_s)
    rows = [
        Entry(f"jobs in the window, of {max(waiting)}", "jobs", None, float(last.window),
            "The paper has no number; smallest requests add up to the GPUs.", "4.7"),
        Entry(f"jobs in the window, {max(waiting)} waiting over {before}", "1", None,
            last.window / waiting[before].window,
            f"The paper: the time is stable from {LARGE} jobs on, as the window is.", "4.7"),
        Entry(f"plan, most jobs over {before}", "1", None, last.seconds / waiting[before].seconds,
            f"The paper: stable from {LARGE} jobs on. {OURS}.", "4.7"),
        Entry(f"plan, {max(waiting)} jobs over {min(waiting)}", "1", None, last.seconds / first.seconds,
            f"The paper shows the curve. {OURS}.", "Fig. 15"),
    ]  # fmt: skip
    paper = {(LARGE_GAP, 1024): 6.0, (LARGE_GAP, 1504): 17.0, (GAP, 512): 10.0}
    rows += [
        Entry(f"plan, {gpus} GPUs, gap {gap:.0%}", "s", paper.get((gap, gpus)), plan.seconds,
            f"{'The paper: within 10 s' if (gap, gpus) == (GAP, 512) else 'The paper shows the curve'}. {OURS}.",
            "4.7")
        for (gap, gpus), plan in clusters.items()
    ]  # fmt: skip
    by_jobs = [("window", float(n), float(plan.window)) for n, plan in waiting.items()]
    by_jobs += [("CPU time (ms)", float(n), 1000 * plan.seconds) for n, plan in waiting.items()]
    by_gpus = [(f"gap {gap:.0%}", float(gpus), plan.seconds) for (gap, gpus), plan in clusters.items()]
    frames = [pd.DataFrame(points, columns=["line", "x", "y"]) for points in (by_jobs, by_gpus)]
    titles = "A plan by the jobs that wait", "Jobs (logarithmic)", "Jobs in the window, and CPU time (ms)"
    panels = {
        "a": chart_of(frames[0], *titles, log_x=True),
        "b": chart_of(frames[1], "A plan by the size of the cluster", "GPUs", "CPU time (s)"),
    }
    return PaperFigure("Fig. 15", "Scalability of a plan", tuple(rows), panels)


def _all_waiting(scenario: Scenario, jobs: int, gap: float, limit_s: float) -> Timed:
    """The plan when so many jobs wait: the scenario's, and as often again as need be."""
    span_s, own = scenario.jobs[-1].arrival_s, len(scenario.jobs)
    made = [
        job.model_copy(update={"name": f"{job.name}-{time_}", "arrival_s": job.arrival_s + time_ * span_s})
        for time_ in range(-(-jobs // own))
        for job in scenario.jobs
    ][:jobs]
    return timed(scenario.replace(jobs=made), made[-1].arrival_s + 1.0, gap, limit_s)
