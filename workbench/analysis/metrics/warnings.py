"""What of a run should not be believed as it stands, in sentences for people."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from workbench.base.errors import counted
from workbench.base.labels import listed
from workbench.base.units import format_duration
from workbench.baselines.mechanisms.share_scheduler import ShareScheduler
from workbench.session.registry import definition_of
from workbench.simulation.intervals import Intervals, is_refused, left_s, over_s
from workbench.simulation.run import Run

FAR = 1.5
"""How many times what a log shows is far beyond it (ours)."""


def beyond_the_log(run: Run, intervals: Intervals | None = None) -> tuple[str, ...]:
    """A makespan or a utilisation far beyond what the log of a converted scenario shows, for the same jobs."""
    log, cluster = run.scenario.recorded, run.scenario.cluster
    if log is None:
        return ()
    end, said = over_s(run), []
    if end > FAR * log.end_s:
        then = "in the log the last one had ended" if log.ends_known else "without any waiting it would have ended"
        said.append(
            f"The last job ends after {format_duration(end, parts=2)}; {then} after "
            f"{format_duration(log.end_s, parts=2)}. Do not take waits and makespan for those of the logged cluster: "
            "look at the nodes, at the length of a round, and at the scenario's notes."
        )
    if np.isfinite(left_s(run)).all():
        intervals = intervals or Intervals.of(run)
        used = float(intervals.seconds[intervals.running].sum()) / (cluster.gpus * end)
        logged = log.gpu_s / (cluster.gpus * log.end_s)
        if used > FAR * logged:
            most = "" if log.ends_known else "at most "
            said.append(
                f"Utilisation is {100 * used:.1f} %; the log shows {most}{100 * logged:.1f} % on so many GPUs. Either "
                "its jobs were held back by what is not simulated here, or they run longer than recorded."
            )
    return tuple(said)


def short_of_a_round(run: Run) -> tuple[str, ...]:
    """Of a log most of whose jobs run for less than a round: their waits are those for the next round."""
    round_s = run.knobs.get("round_s")
    if run.scenario.recorded is None or not isinstance(round_s, (int, float)) or round_s <= 0:
        return ()
    gpus = run.cells.column("jobs", "gpus")
    took_s = (run.cells.column("jobs", "run_s") / gpus)[~np.isnan(run.cells.column("jobs", "finish_s"))]
    if not len(took_s) or (middle_s := float(np.median(took_s))) >= round_s:
        return ()
    return (
        f"Half of the jobs run for {format_duration(middle_s, parts=2)} or less, and jobs start only when a round of "
        f"{format_duration(float(round_s), parts=2)} begins: they wait mostly for the next round. Shorten round_s.",
    )


def refused(run: Run) -> tuple[str, ...]:
    """Of a log: jobs that it shows running and the scheduler refused."""
    if run.scenario.recorded is None or not (gone := run.cells.column("jobs", "job")[is_refused(run)].tolist()):
        return ()
    return (
        f"{run.scheduler} refused {counted(len(gone), 'job')} of the log ({listed(gone, 3)}) that could never start.",
    )


def warnings_of(run: Run, intervals: Intervals | None = None) -> tuple[str, ...]:
    """All sentences on a run, none where there is nothing to say; intervals: the run's, where there already."""
    return (*beyond_the_log(run, intervals), *short_of_a_round(run), *refused(run), *strayed(run), *slips(run))


def slips(run: Run) -> tuple[str, ...]:
    """What is most likely not meant: a session's own formulation by which nothing runs."""
    decided_by = definition_of(run) if run.code else None
    mine: Any = None if decided_by is None else decided_by.instead
    if mine is None:
        return run.slips
    shares, decisions = run.cells.count("shares"), run.cells.count("decisions")
    none = isinstance(decided_by, ShareScheduler) and not shares and run.detail is None and decisions > 0
    idle = f"{mine.name}: no job ever had a share, the best by its objective is to run nothing; what ran was left over."
    verdicts, asked = (
        run.cells.column("jobs", "verdict"),
        int((run.cells.column("decisions", "made_by") == "model").sum()),
    )
    promised = not (verdicts == "best_effort").any() or (verdicts == "guaranteed").any()
    refused = f"{mine.name} was asked in {counted(asked, 'decision')} whom to guarantee, and had no plan with any job."
    return (*run.slips, *([idle] if none else []), *([refused] if asked and not promised else []))


ROUNDS = 2.0
"""Rounds that a job may be behind on a type where a mechanism follows: rounds are whole, and others have their turn."""
SHARED, WHO = ("time_s", "unit", "accelerator", "share"), ("job", "with_job")
PART = 0.25
"""Part of its time that it may be behind (ours): what gangs lose that do not fit into one round together is less."""


class Behind(NamedTuple):
    """What a job had of a type, in seconds: promised by shares (X integrated over the time from the first share on to
    the job's end), received (it held GPUs of the type then; a gang counts once, a pair for each of its jobs), that
    time."""

    job: str
    accelerator: str
    promised_s: float
    received_s: float
    life_s: float


def behind(run: Run) -> list[Behind]:
    """By (job, accelerator), the most behind first."""
    cells, end_s = run.cells, run.end_s
    shares, line = cells.columns("shares"), cells.columns("timeline")
    finish_s = np.fmin(cells.column("jobs", "finish_s"), end_s)  # of unfinished ones the run's end
    ends = dict(zip(cells.column("jobs", "job"), finish_s.tolist(), strict=True))
    starts = [*np.unique(shares["time_s"]).tolist(), end_s]
    until_s = dict(itertools.pairwise(starts))
    since_s: dict[str, float] = {}
    promised_s: dict[tuple[str, str], float] = {}
    received_s: dict[tuple[str, str], float] = {}
    for at_s, unit, kind, share in zip(*(shares[name].tolist() for name in SHARED), strict=True):
        for job in unit.split(" + "):
            since_s[job] = min(at_s, since_s.get(job, at_s))
            given_s = share * max(min(until_s[at_s], ends[job]) - at_s, 0.0)
            promised_s[job, kind] = promised_s.get((job, kind), 0.0) + given_s
    lists = {name: line[name][cells.taken].tolist() for name in ("job", "with_job", "accelerator", "start_s", "end_s")}
    held = (zip(lists[who], lists["accelerator"], lists["start_s"], lists["end_s"], strict=True) for who in WHO)
    for job, kind, start_s, stop_s in dict.fromkeys(itertools.chain(*held)):
        if (job, kind) in promised_s:
            had_s = max(stop_s - max(start_s, since_s[job]), 0.0)
            received_s[job, kind] = received_s.get((job, kind), 0.0) + had_s
    found = [
        Behind(job, kind, promised_s[job, kind], received_s.get((job, kind), 0.0), ends[job] - since_s[job])
        for job, kind in sorted(promised_s)
    ]
    return sorted(found, key=lambda each: each.received_s - each.promised_s)


def strayed(run: Run) -> tuple[str, ...]:
    """A sentence if jobs had much less of a type than their share: by over `ROUNDS` rounds and `PART` of their time.

    It names the job of which the largest part is missing. A job may have had more of another type for it. Nothing is
    said of a run that records the shares of some decisions only (`detail`).
    """
    round_s = run.knobs.get("round_s")
    if run.detail is not None and run.detail < run.cells.count("decisions"):
        return ()  # later shares are not in the run
    if not isinstance(round_s, (int, float)) or round_s <= 0 or not run.cells.count("shares"):
        return ()
    short_s = [(each, each.promised_s - each.received_s) for each in behind(run)]
    bad = {each: by_s / each.life_s for each, by_s in short_s if by_s > max(ROUNDS * round_s, PART * each.life_s)}
    if not bad:
        return ()
    worst = max(bad, key=bad.__getitem__)
    share, had = (f"{100 * part_s / worst.life_s:.3g} %" for part_s in (worst.promised_s, worst.received_s))
    others = len({each.job for each in bad}) - 1
    too = f" So it is with {counted(others, 'other job')}." if others else ""
    return (
        f"Rounds did not keep to the shares of time: {worst.job} ran on {worst.accelerator} for {had} of its "
        f"time, its share was {share}.{too}",
    )
