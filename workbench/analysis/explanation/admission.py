"""Why a job of a run was guaranteed or not: what would have been accepted, and who stood in the way.

Asked again, with its explanation, of what the scheduler knew when it gave its verdict: the study `admission` of the
room that the scheduler is of, or is made of.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from workbench.base.errors import InputError
from workbench.base.units import clock
from workbench.scenario.rewards import Steps
from workbench.session.api import snapshot_at
from workbench.session.registry import find_study, rooms
from workbench.simulation.run import Run

STUDY = "admission"
"""What a room calls the study that answers."""


def has_verdicts(run: Run) -> bool:
    """Whether a run has verdicts, recorded what they were given by, and can be asked again: its scheduler has the knobs
    of one whose room has the study, as one of an own formulation or class has that is made of it."""
    if run.signals.empty or not (run.jobs["verdict"] != "").any():
        return False
    asked = [each for room in rooms() if STUDY in room.studies for each in room.schedulers]
    return any({knob.name for knob in each.knobs} - each.ways <= {*run.knobs} for each in asked)


def jobs_asked_about(run: Run) -> list[str]:
    """The jobs with deadlines that have a verdict."""
    given = run.jobs.loc[run.jobs["verdict"] != "", "job"].tolist()
    return [job for job in given if rewards_of(run, job)]


def admission(run: Run, job: str, at_s: float) -> tuple[str, ...]:
    """What a job's verdict came from, in sentences; empty for one that has none by then, or has no deadline.

    A question to the plan's model, which may take seconds. Where it cannot be asked, on clusters of several accelerator
    types or of a verdict of which no numbers were recorded, the sentence says so.
    """
    if not has_verdicts(run) or job not in jobs_asked_about(run) or verdict_s(run, job) > at_s:
        return ()
    try:
        found = find_study(STUDY)(snapshot_at(run.scenario, 0.0, offline=True), question(run, job))
    except InputError as error:
        return (f"What would have been accepted is not known: that needs {error.expected}.",)
    return sentences(run, found)


def question(run: Run, job: str) -> dict[str, Any]:
    """What the study is asked about a job of a run: what was recorded when the scheduler gave its verdict.

    at_s: when; later: who had a verdict at the same time after it; holding: who had GPUs; signals: {signal: {job:
    value}}; knobs: of the run. Raises InputError for a verdict of whose decision no signals were recorded.
    """
    events = run.events[run.events["event"] == "verdict"].drop_duplicates("job")
    own = events.index[events["job"] == job][0]
    at_s = float(events.loc[own, "time_s"])
    later = set(events.loc[(events["time_s"] == at_s) & (events.index > own), "job"])
    now = run.signals[(run.signals["time_s"] == at_s) & run.signals["value"].map(math.isfinite)]
    if now.empty:
        raise InputError("admission explained", job, "a verdict whose decision the run has recorded in detail")
    runs = run.timeline[run.timeline["kind"].isin(["run", "restart"])]
    return {
        "job": job,
        "at_s": at_s,
        "later": sorted(later),
        "holding": sorted(set(runs.loc[(runs["start_s"] <= at_s) & (runs["end_s"] > at_s), "job"])),
        "signals": {
            signal: dict(zip(of["job"], of["value"], strict=True)) for signal, of in now.groupby("signal", sort=False)
        },
        "knobs": {name: value for name, value in run.knobs.items() if value not in (math.inf, -math.inf)},
    }


def sentences(run: Run, found: Mapping[str, Any]) -> tuple[str, ...]:
    """What the study found, in words: the verdict first."""
    job = str(found["job"])
    verdict = str(run.jobs.set_index("job")["verdict"][job])
    reasons = run.events[(run.events["event"] == "verdict") & (run.events["job"] == job)]["reason"].tolist()
    lines = [f"{job}: {verdict.replace('_', ' ')}. {_sentence(reasons[0])}"]
    lines += [_sentence(reason) for reason in reasons[1:]]
    arrival_s, last_s = arrival_of(run, job), rewards_of(run, job)[-1][0]
    if found["guaranteed"] and verdict != "guaranteed" and len(reasons) == 1:
        lines.append("With all leases planned anew it would have been guaranteed; this way of planning does not try.")
    asked, first = verdict_s(run, job), float(found["start_s"])
    lines.append(
        f"The verdict was given {clock(asked - arrival_s)} after the arrival, from which its deadlines count; "
        f"its leases of {clock(found['lease_s'])} could begin {clock(first - arrival_s)} after the arrival."
    )
    if not found["guaranteed"]:
        lines.append(_earliest(found["earliest_s"], arrival_s, last_s))
        if found["in_the_way"]:
            lines.append(
                f"In the way: {', '.join(found['in_the_way'])}. "
                "Beside these alone it cannot be guaranteed either, beside fewer of them it could."
            )
    return tuple(lines)


def _earliest(earliest_s: float | None, arrival_s: float, last_s: float) -> str:
    if earliest_s is None:
        return "No deadline would do: the cluster never has its GPUs."
    return (
        f"The earliest deadline that would be accepted: {clock(earliest_s - arrival_s)} after its arrival "
        f"(its last one is {clock(last_s)})."
    )


def verdict_s(run: Run, job: str) -> float:
    """When a job had its first verdict."""
    own = (run.events["event"] == "verdict") & (run.events["job"] == job)
    return float(run.events.loc[own, "time_s"].iloc[0])


def rewards_of(run: Run, job: str) -> Steps:
    """A job's deadlines and rewards; empty without any."""
    return tuple(next(one.rewards or () for one in run.scenario.jobs if one.name == job))


def arrival_of(run: Run, job: str) -> float:
    """When a job arrives, in seconds."""
    return float(run.jobs.set_index("job")["arrival_s"][job])


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."
