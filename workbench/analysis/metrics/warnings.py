"""What of a run should not be believed as it stands, in sentences for people."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd

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
    gpus = run.jobs["gpus"].to_numpy(dtype=float)
    took_s = (run.jobs["run_s"].to_numpy(dtype=float) / gpus)[run.jobs["finish_s"].notna()]
    if not len(took_s) or (middle_s := float(np.median(took_s))) >= round_s:
        return ()
    return (
        f"Half of the jobs run for {format_duration(middle_s, parts=2)} or less, and jobs start only when a round of "
        f"{format_duration(float(round_s), parts=2)} begins: they wait mostly for the next round. Shorten round_s.",
    )


def refused(run: Run) -> tuple[str, ...]:
    """Of a log: jobs that it shows running and the scheduler refused."""
    if run.scenario.recorded is None or not (gone := run.jobs.loc[is_refused(run), "job"].tolist()):
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
        return ()
    none = isinstance(decided_by, ShareScheduler) and run.shares.empty and run.detail is None and len(run.decisions) > 0
    idle = f"{mine.name}: no job ever had a share, the best by its objective is to run nothing; what ran was left over."
    return (idle,) if none else ()


ROUNDS = 2.0
"""Rounds that a job may be behind on a type where a mechanism follows: rounds are whole, and others have their turn."""
SHARED, WHO = ("time_s", "unit", "accelerator", "share"), ("job", "with_job")
PART = 0.25
"""Part of its time that it may be behind (ours): what gangs lose that do not fit into one round together is less."""


def behind(run: Run) -> pd.DataFrame:
    """By (job, accelerator), the most behind first: the seconds that shares promised, those had, and those of both.

    Columns: promised_s (X integrated over the time from the first share on to the job's end), received_s (it held GPUs
    of the type then; a gang counts once, a pair for each of its jobs), life_s (that time).
    """
    shares, end_s = run.shares, run.end_s
    if shares.empty:
        return pd.DataFrame(columns=["job", "accelerator", "promised_s", "received_s", "life_s"])
    ends = run.jobs.set_index("job")["finish_s"].fillna(end_s).clip(upper=end_s).to_dict()
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
    line = run.timeline[~run.timeline["kind"].isin(["down", "sync"])]
    lists = {name: line[name].tolist() for name in ("job", "with_job", "accelerator", "start_s", "end_s")}
    held = (zip(lists[who], lists["accelerator"], lists["start_s"], lists["end_s"], strict=True) for who in WHO)
    for job, kind, start_s, stop_s in dict.fromkeys(itertools.chain(*held)):
        if (job, kind) in promised_s:
            had_s = max(stop_s - max(start_s, since_s[job]), 0.0)
            received_s[job, kind] = received_s.get((job, kind), 0.0) + had_s
    pairs = sorted(promised_s)
    found = pd.DataFrame(pairs, columns=["job", "accelerator"])
    found["promised_s"], found["received_s"] = (
        [of.get(pair, 0.0) for pair in pairs] for of in (promised_s, received_s)
    )
    found["life_s"] = [ends[job] - since_s[job] for job, _ in pairs]
    short = found["promised_s"] - found["received_s"]
    return found.iloc[np.argsort(-short.to_numpy(), kind="stable")].reset_index(drop=True)


def strayed(run: Run) -> tuple[str, ...]:
    """A sentence if jobs had much less of a type than their share: by over `ROUNDS` rounds and `PART` of their time.

    It names the job of which the largest part is missing. A job may have had more of another type for it. Nothing is
    said of a run that records the shares of some decisions only (`detail`).
    """
    round_s = run.knobs.get("round_s")
    if run.detail is not None and run.detail < len(run.decisions):
        return ()  # later shares are not in the run
    if not isinstance(round_s, (int, float)) or round_s <= 0 or not len(run.shares):
        return ()
    found = behind(run)
    short_s = found["promised_s"] - found["received_s"]
    part = short_s / found["life_s"]
    bad = (short_s > ROUNDS * round_s) & (part > PART)
    if not bad.any():
        return ()
    worst = found.iloc[int(np.argmax(np.where(bad, part, 0.0)))]
    share, had = (f"{100 * worst[name] / worst['life_s']:.3g} %" for name in ("promised_s", "received_s"))
    others = found["job"][bad].nunique() - 1
    too = f" So it is with {counted(others, 'other job')}." if others else ""
    return (
        f"Rounds did not keep to the shares of time: {worst['job']} ran on {worst['accelerator']} for {had} of its "
        f"time, its share was {share}.{too}",
    )
