"""Limits that no file tells, by what accounts and QOS have at once: in a log, and in runs that do not know them.

What limits count (GrpTRES, GrpJobs, MaxTRESPU, MaxJobs ...) are GPUs and jobs at once: where one binds, the log never
goes beyond it, and a run that does not know it stays beyond for as long as there are jobs; where none does, a run is
beyond the log's peak as shortly as peaks last. So one is told of an account or QOS with many jobs that, itself or by
one of its users, is beyond for a twentieth of the time (ours). A fiftieth is enough where the log was near its peak
for long, and three times as long as the run near its own: at a ceiling (ours). Accounts of a tree that share one are
looked at together, where a file tells the tree. A limit that hardly binds cannot be seen so.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from workbench.baselines.mechanisms.slurm.site import SlurmSite
from workbench.scenario.scenario import Scenario
from workbench.scenario.throughput import FloatArray
from workbench.scenario.traces.slurm_site import CPU

LEAST_OF_GROUP, MOST_BEYOND = 50, 0.05
NEAR, LEAST_NEAR, LONGER, MOST_BEYOND_CEILING = 0.9, 0.05, 3.0, 0.02
"""What is near a peak, as a part of it; at a ceiling an account is so long near it in the log, and so much longer."""
PEAKS = ["group", "user", "what", "recorded", "simulated", "beyond", "near", "simulated_near"]
HELD = {"account": "account", "qos": "QOS"}
"""By what limits hold jobs, and their users' in it: attributes of jobs, and the words for them."""


def told_hidden(peaks: pd.DataFrame) -> Iterator[str]:
    """A sentence on each of those that seem to have a limit which no file tells."""
    ceiling = (peaks["near"] > LEAST_NEAR) & (peaks["near"] > LONGER * peaks["simulated_near"])
    ceiling &= (peaks["user"] == "") & (peaks["beyond"] > MOST_BEYOND_CEILING)
    most = peaks[ceiling | (peaks["beyond"] > MOST_BEYOND)].sort_values("beyond", ascending=False, kind="stable")
    most = most.drop_duplicates("group")  # who is beyond for longest, first, and nobody twice
    for peak in most[(most["user"] == "") | ~most["user"].duplicated()].to_dict("records"):
        who = f"user {peak['user']} in {peak['group']}" if peak["user"] else peak["group"]
        here = f"{who} has up to {peak['simulated']:g} {peak['what']} at once, in the log never more than"
        yield f"{here} {peak['recorded']:g}: a limit that no file tells?"


def peaks_of(scenario: Scenario, site: SlurmSite, runs: list[pd.DataFrame]) -> pd.DataFrame:
    """By account (and those above it) and QOS, and their users in it, with many jobs: the most GPUs and jobs at once,
    recorded and simulated; for which part of the time it is more than recorded, and for which near the most, recorded
    and simulated. runs: the tables `jobs` of some."""
    jobs = [job for job in scenario.jobs if job.model != f"recorded on {CPU}"]
    kept = [job for job in jobs if {"start_s", "end_s"} <= {*job.attributes}]
    groups: dict[tuple[str, str], list[int]] = {}
    for i, job in enumerate(kept):
        for name in [f"{word} {job.attributes[key]}" for key, word in HELD.items() if key in job.attributes]:
            for user in {"", job.user or ""}:
                groups.setdefault((name, user), []).append(i)
        for name in site.above.get(site.asks[job.name].account, ())[1:]:
            if name != "root":
                groups.setdefault((f"account {name}", ""), []).append(i)
    amounts = {"GPUs": np.array([float(job.gpus) for job in kept]), "jobs": np.ones(len(kept))}
    recorded = np.array([(job.attributes["start_s"], job.attributes["end_s"]) for job in kept], float).reshape(-1, 2)
    names = [job.name for job in kept]
    simulated = [run.set_index("job")[["first_start_s", "finish_s"]].reindex(names).to_numpy(float) for run in runs]
    rows = []
    for group, its in sorted(groups.items()):
        for what, amount in amounts.items() if len(its) >= LEAST_OF_GROUP else ():
            log, *found = (_at_once(times_s[its], amount[its]) for times_s in (recorded, *simulated))
            most, *peaks = (held.max(initial=0) for _, held in (log, *found))
            beyond = np.mean([_part(run, most) for run in found])
            near = np.mean([_part(run, NEAR * peak) for run, peak in zip(found, peaks, strict=True)])
            rows.append((*group, what, most, max(peaks), beyond, _part(log, NEAR * most), near))
    return pd.DataFrame(rows, columns=PEAKS)


def _at_once(times_s: FloatArray, amount: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How long (s) so much is held at once, from the first start to the last end. times_s: start and end of each job
    (jobs, 2), of one that did not run not finite."""
    ran = np.isfinite(times_s).all(axis=1)
    changes = np.stack([amount, -amount], axis=1)[ran]
    at_s, place = np.unique(times_s[ran], return_inverse=True)
    held: FloatArray = np.bincount(place.ravel(), changes.ravel(), len(at_s)).cumsum().astype(float)
    return np.diff(at_s), held[:-1]


def _part(at_once: tuple[FloatArray, FloatArray], most: float) -> float:
    """For which part of the time more than so much is held."""
    span_s, held = at_once
    return float(span_s[held > most].sum() / max(span_s.sum(), 1.0))
