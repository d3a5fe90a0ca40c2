"""One decision of a run, step by step: who was there, what was computed, what each got, who has which GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.analysis.explanation.compose import explained, own_statement
from workbench.base.errors import InputError, counted
from workbench.base.labels import listed
from workbench.base.units import format_duration
from workbench.scheduling.solvers.solve_report import SAID
from workbench.simulation.job_at_time import HOLDS, JobAtTime, Link
from workbench.simulation.run import Run

OF_ONE_JOB = frozenset({"choice", "slot", "plan", "promise", "lease", "placement"})
"""Links of a chain that are about the job in question."""
ASKED: Mapping[str, str] = {
    "round": "a round began",
    "fault": "a node had failed",
    "repair": "a node had come back",
    "completion": "a job was done",
    "arrival": "a job had come",
    "lease_end": "a lease had ended",
    "idle": "GPUs were idle",
    "timer": "it had asked to be",
}
"""Why a scheduler was asked, by the cause of the decision."""
MOST_TOLD = 12
"""Jobs whose turn is told."""


@dataclass(frozen=True)
class OneDecision:
    """at_s: when it was made; until_s: when the next one was, or the run ended; summary: in one sentence."""

    at_s: float
    until_s: float
    summary: str
    links: tuple[Link, ...]


def one_decision(run: Run, at: float) -> OneDecision:
    """The latest decision of a run by a time in seconds.

    Raises InputError for a time before the first, or that the run does not have.
    """
    names = run.jobs["job"].tolist()
    call = JobAtTime(run, names[0], at).call if names else None
    if call is None:
        raise InputError("at", at, "a time by which something was decided")
    jobs = {name: JobAtTime(run, name, call.time_s) for name in names}
    there = jobs[names[0]].present
    have = [name for name in there if jobs[name].state in HOLDS]
    wait = [name for name in there if name not in have]
    later = run.decisions["time_s"][run.decisions["time_s"] > call.time_s]
    until_s = float(later.iloc[0]) if len(later) else run.end_s
    row = run.decisions[run.decisions["decision"] == call.number].iloc[0]
    gangs = listed((f"{name} for {counted(jobs[name].spec.gpus, 'GPU')}" for name in there), MOST_TOLD) or "nobody"
    asked = ASKED.get(call.cause, call.cause)
    links = [Link("there", f"{gangs}. The scheduler was asked, as {asked}. {SAID[row['made_by']]}")]
    if there:
        lead = jobs[next(iter(have), there[0])]
        links += [
            link for link in explained(lead, own_statement(run, call.time_s)).links if link.step not in OF_ONE_JOB
        ]
        links += [Link("turns", _turns(jobs, [*have, *wait])), lead.placement()]
    went = f"GPUs go to {listed(have)}" if have else "nobody gets GPUs"
    rest = f"{', and ' if have else '; '}{listed(wait)} {'waits' if len(wait) == 1 else 'wait'}" if wait else ""
    when = format_duration(call.time_s, parts=2)
    return OneDecision(call.time_s, until_s, f"In the decision of {when} {went}{rest}.", tuple(links))


def _turns(jobs: Mapping[str, JobAtTime], names: list[str]) -> str:
    """What each job got, and the scheduler's reason for what it has now, where it gave one."""
    told = []
    for name in names[:MOST_TOLD]:
        held, said = listed(f"{node} x {gpus}" for node, gpus in jobs[name].held.items()), jobs[name].said
        fresh = held and jobs[name].since_s == jobs[name].at_s
        does = f"gets {held}" if fresh else f"keeps {held}" if held else "waits"
        told.append(f"{name} {does}{f' ({said.text})' if said is not None else ''}")
    left = [f"{len(names) - MOST_TOLD} more"] if len(names) > MOST_TOLD else []
    return "; ".join([*told, *left]) + "."
