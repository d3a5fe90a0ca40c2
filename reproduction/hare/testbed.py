"""The testbed (section 7.2): Fig. 12, total weighted completion times, and Fig. 13, their distribution.

We have no testbed: the paper's simulator is Hare's plan, and its testbed is the shared core, which carries plans out
and charges switches.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from reproduction.figure import Entry, PaperFigure, chart_of
from reproduction.hare.schemes import (
    ALLOX,
    FIFO,
    HARE,
    HOMO,
    INTERVAL,
    OTHERS,
    PRINTED,
    SCHEMES,
    SRTF,
    hare,
    measured,
    ratios,
    said,
    schemes,
    weighted_min,
)
from reproduction.hare.settings import MINUTE, HareSize, cut, problem, testbed
from workbench.analysis.metrics import summary
from workbench.analysis.metrics.confidence import mean_interval
from workbench.papers.hare.instance import HareInstance
from workbench.scenario.scenario import Scenario
from workbench.session.api import simulate

BEST, WORST = 1 / (1 - 0.476), 1 / (1 - 0.753)
"""7.2: Hare reduces the total weighted JCT by 47.6 % to 75.3 %, against the best and the worst of the others."""
DONE = {HARE: 90.5, ALLOX: 66.7, HOMO: 56.5}
"""7.2: per cent of the jobs that complete within 25 minutes."""
WITHIN_MIN = 25.0
GAVEL = "Gavel's own FIFO policy"
ON_CORE = {FIFO: "fifo", SRTF: "srtf", HOMO: "sched_homo", ALLOX: "sched_allox", GAVEL: "gavel.fifo"}
"""Schedulers of the shared core that stand for the paper's names; Gavel's own policy moves running jobs."""
WHY = {
    FIFO: "Blind to lengths: 7.3 reasons.",
    SRTF: "It knows speeds and lengths, but neither weights nor overlap of synchronising with other tasks: 7.3 "
    "reasons.",
    HOMO: "It takes GPUs blind to types: 7.3 reasons has them in the order of their speed.",
    ALLOX: "One GPU for each job: no parallel tasks, and it goes by lengths and not by weights: 7.3 reasons.",
}


@cache
def plans(size: HareSize) -> pd.DataFrame:
    """Mean weighted completion time (min) of every scheme, a row for each seed."""
    return pd.DataFrame([measured(_problem(size, seed), stronger=size.stronger) for seed in size.seeds])


def _problem(size: HareSize, seed: int) -> HareInstance:
    return cut(problem(testbed(seed, size.testbed_jobs), seed, size.rounds), size.tasks, size.sync)


@cache
def completion_min(size: HareSize) -> dict[str, np.ndarray]:
    """Completion times (min) of all jobs of all seeds, by scheme."""
    found: dict[str, list[np.ndarray]] = {name: [] for name in SCHEMES}
    for seed in size.seeds:
        data = _problem(size, seed)
        for name, scheme in schemes(size.stronger).items():
            found[name].append((scheme(data).completion_s - data.arrival_s) / MINUTE)
    return {name: np.sort(np.concatenate(parts)) for name, parts in found.items()}


def core_min(scenario: Scenario, scheduler: str, **knobs: object) -> float:
    """Mean weighted completion time (min) of a run on the shared core."""
    weight = sum(job.weight for job in scenario.jobs)
    return summary(simulate(scenario, scheduler, knobs, detail=0))["weighted_jct_s"] / weight / MINUTE


@cache
def carried_out(size: HareSize) -> pd.DataFrame:
    """Hare on the core over its plan, a row for each seed.

    there: all jobs there at the start, so that the plan is the same and only switches add; default: the same with
    switches of the default design; replanned: plans at arrivals, without knowing jobs to come. By name: others on the
    core over that.
    """
    rows = []
    for seed in size.seeds:
        comes = testbed(seed, size.testbed_jobs)
        there = comes.replace(jobs=[job.model_copy(update={"arrival_s": 0.0}) for job in comes.jobs])
        planned_min, planned_there_min = (
            weighted_min(hare(problem(each, seed, size.rounds))) for each in (comes, there)
        )
        own_min = core_min(comes, "hare", most_rounds=size.rounds)
        rows.append(
            {
                "there": core_min(there, "hare", most_rounds=size.rounds) / planned_there_min,
                "default": core_min(there, "hare", most_rounds=size.rounds, switching="default") / planned_there_min,
                "replanned": own_min / planned_min,
                **{name: core_min(comes, known) / own_min for name, known in ON_CORE.items()},
            }
        )
    return pd.DataFrame(rows)


def figure_12(size: HareSize) -> PaperFigure:
    """Total weighted completion time of the five schemes; how far plan and execution are apart."""
    found, core = plans(size), carried_out(size)
    best, worst = ratios(found, "best"), ratios(found, "worst")
    ours = "lengths, parallel tasks and weights that are ours, as the paper does not print them: 7.3 reasons"
    jobs = f"{size.testbed_jobs} jobs of {ours}"
    slower, behind = ratios(found, PRINTED), ratios(found, "best", PRINTED)
    rows = [
        Entry("weighted JCT, best of the others / Hare", "1", BEST, best.mean(), f"{said(best)} {jobs}.", "7.2"),
        Entry("weighted JCT, worst of the others / Hare", "1", WORST, worst.mean(), f"{said(worst)} {jobs}.", "7.2"),
        *(
            Entry(f"weighted JCT, {name} / Hare", "1", None, ratios(found, name).mean(),
                f"{said(ratios(found, name))} {WHY[name]}", "Fig. 12 (drawn)")
            for name in OTHERS
        ),
        Entry("weighted JCT, Hare as printed / Hare", "1", None, slower.mean(),
            f"{said(slower)} Line 12 of Algorithm 1 as printed, to the GPU that is free first: with our jobs "
            "Hare is then behind, in the paper it is ahead.", "Algorithm 1"),
        Entry("weighted JCT, best of the others / Hare as printed", "1", None, behind.mean(),
            f"{said(behind)} The paper's Hare is ahead; the row above has what line 12 is worth.", "7.2, Algorithm 1"),
        Entry("weighted JCT, Hare carried out / planned, all jobs there at the start", "1", 1.05, core["there"].mean(),
            f"{said(core['there'])} The paper's testbed and simulator are at most 5 % apart; here only what switches "
            "cost, by Table 3's Hare column, sets them apart.", "7.3"),
        Entry("the same with the default design's switches", "1", None, core["default"].mean(),
            f"{said(core['default'])} Seconds a switch; coarse rounds switch less often than single steps would.",
            "Table 3"),
        Entry("weighted JCT, Hare replanned at arrivals / planned with all arrivals known", "1", None,
            core["replanned"].mean(),
            f"{said(core['replanned'])} The paper's Hare knows all arrivals; on the core it knows none ahead.",
            "ours"),
        *(
            Entry(f"weighted JCT, {name} / Hare, both on the shared core", "1", None, core[name].mean(),
                f"{said(core[name])} The core's gangs are of one type each and have no mixed rounds, and Hare does not "
                "know arrivals.", "ours")
            for name in ON_CORE
        ),
    ]  # fmt: skip
    bars = pd.DataFrame(
        [("in the plan", name, mean, mean - half, mean + half)
         for name in (HARE, *OTHERS) for mean, half in [mean_interval(found[name])]],
        columns=["group", "series", "value", "low", "high"],
    )  # fmt: skip
    titles = f"Testbed: {size.testbed_jobs} jobs on 15 GPUs", "Completion of the jobs", "Mean weighted JCT (min)"
    return PaperFigure("Fig. 12", "The testbed", tuple(rows), {"a": chart_of(bars, *titles, covers=INTERVAL)})


def figure_13(size: HareSize) -> PaperFigure:
    """Shares of jobs that are done by a time."""
    times = completion_min(size)
    at_min = float(np.quantile(times[HARE], DONE[HARE] / 100, method="inverted_cdf"))
    length = (
        f"At {at_min:.1f} min, by when Hare has done {DONE[HARE]:g} %, as within {WITHIN_MIN:g} min in the paper; "
        "lengths are ours: 7.3 reasons"
    )
    rows = (
        *(
            Entry(f"jobs done when {DONE[HARE]:g} % are under Hare, {name}", "%", DONE.get(name),
                100 * float((values <= at_min).mean()), f"{length}.", "7.2")
            for name, values in times.items() if name not in (HARE, PRINTED)
        ),
        *(
            Entry(f"jobs done within {WITHIN_MIN:g} min, {name}", "%", DONE.get(name),
                100 * float((values <= WITHIN_MIN).mean()), "Lengths and load are ours: compare the rows above.", "7.2")
            for name, values in times.items() if name != PRINTED
        ),
    )  # fmt: skip
    parts = [
        pd.DataFrame({"line": name, "x": times[name], "y": np.arange(1, len(times[name]) + 1) / len(times[name])})
        for name in (HARE, *OTHERS)
    ]
    titles = "Completion times on the testbed", "Completion time (min)", "Share of jobs"
    panel = chart_of(pd.concat(parts, ignore_index=True), *titles, dots=False, log_x=True)
    return PaperFigure("Fig. 13", "Completion times of jobs", rows, {"a": panel})
