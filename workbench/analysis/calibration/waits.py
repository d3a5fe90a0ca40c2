"""The waits of a log's jobs, from eligible to start: as recorded, and in a run."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Mapping
from datetime import datetime

import pandas as pd

from workbench.analysis.calibration.note import LEAST_WAITS
from workbench.base.errors import InputError, Words, WorkbenchError
from workbench.baselines.mechanisms.slurm.asks import Ask, ask_of, wait_for_arrays
from workbench.baselines.mechanisms.slurm.site import SlurmSite
from workbench.scenario.scenario import Scenario
from workbench.session.many_runs import Outcome
from workbench.simulation.run import Run


def since_s(scenario: Scenario) -> int:
    """Which second of its day a log begins with; 0 where it does not say when that was."""
    begins = datetime.fromisoformat(scenario.begins) if scenario.begins else datetime.min
    return begins.hour * 3600 + begins.minute * 60 + begins.second


def recorded_waits(scenario: Scenario) -> pd.DataFrame:
    """The jobs whose wait the log has; those that ran at the begin had none in it."""
    found = []
    begin_s = since_s(scenario)
    for job in scenario.jobs:
        facts = job.attributes
        start_s, eligible_s = (facts.get(name) for name in ("start_s", "eligible_s"))
        if isinstance(start_s, (int, float)) and isinstance(eligible_s, (int, float)) and start_s >= 0:
            submit_s = float(facts.get("submit_s", eligible_s))
            partition, hour = str(facts.get("partition", "")), int((begin_s + eligible_s) // 3600 % 24)
            waits = (float(eligible_s), max(float(start_s) - eligible_s, 0.0), float(eligible_s) - submit_s)
            found.append((job.name, partition, str(facts.get("account", "")), job.user or "", job.gpus, hour, *waits))
    columns = ["job", "partition", "account", "user", "size", "hour", "eligible_s", "recorded_s", "held_s"]
    if len(found) < LEAST_WAITS:
        expected = "a log with at least 50 jobs that say when they were eligible and started"
        raise InputError("scenario", Words(f"{len(found)} recorded waits"), expected)
    return pd.DataFrame(found, columns=columns).sort_values("eligible_s", kind="stable", ignore_index=True)


def simulated_waits(run: Outcome, site: SlurmSite, recorded: pd.DataFrame) -> list[float]:
    """The wait of each job in a run, in seconds; raises the failure in its place."""
    if isinstance(run, WorkbenchError):
        raise run
    known_s = dict(zip(recorded["job"], recorded["eligible_s"].tolist(), strict=True))
    eligible_s = pd.Series(eligible_in(run, site.asks, known_s))
    starts_s = run.jobs.set_index("job")["first_start_s"]
    return (starts_s[eligible_s.index] - eligible_s).clip(lower=0.0).tolist()


def eligible_in(run: Run, asks: Mapping[str, Ask], recorded_s: Mapping[str, float]) -> dict[str, float]:
    """When each job was eligible in a run: not before the log has it, and the jobs on which it depends had ended there;
    where the log has it so, when its array's throttle let it there (recorded_s, and found: by job, in s)."""
    jobs = run.jobs[["job", "first_start_s", "finish_s"]].fillna({"finish_s": math.inf}).itertuples(index=False)
    span_s = {job: (start_s, finish_s) for job, start_s, finish_s in jobs}
    arrays, found, after_s = dict[str, list[str]](), dict[str, float](), dict[str, float]()
    for name in recorded_s:
        ask = asks[name]
        ends = [span_s[other][1] for _, other in ask.after if other in span_s]
        after_s[name] = max((end for end in ends if end < math.inf), default=-math.inf)
        found[name] = max(recorded_s[name], after_s[name])
        if ask.array and ask.array_most < math.inf and not math.isnan(span_s[name][0]):
            arrays.setdefault(ask.array, []).append(name)
    for names in arrays.values():
        if all(recorded_s[name] <= asks[name].since_s for name in names):
            continue
        names.sort(key=lambda name: span_s[name])
        most, done_s = int(asks[names[0]].array_most), list[float]()
        for i, name in enumerate(names):
            free_s = done_s[i - most] if i >= most else -math.inf
            found[name] = max(asks[name].since_s, after_s[name], free_s)
            insort(done_s, span_s[name][1])
    return found


def held_s(run: Run) -> dict[str, float]:
    """For how long after its arrival each job that a log's dependency or throttle held was so in a run, in seconds."""
    known = {job.name: job for job in run.scenario.jobs if isinstance(job.attributes.get("eligible_s"), (int, float))}
    if not any({"dependency", "array_most"} & job.attributes.keys() for job in known.values()):
        return {}
    recorded_s = {name: float(job.attributes["eligible_s"]) for name, job in known.items()}
    # of the site nothing counts here, which a scheduler but slurm need not be able to read
    asks = {job.name: ask_of(job, {}, frozenset(), {}, 0) for job in run.scenario.jobs}
    wait_for_arrays(asks)
    eligible_s = eligible_in(run, asks, recorded_s)
    return {name: max(at_s - known[name].arrival_s, 0.0) for name, at_s in eligible_s.items()}
