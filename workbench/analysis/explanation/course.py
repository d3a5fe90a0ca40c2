"""What can be said of a job at a time whoever schedules: its state, since when, what was free, what came next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.base.errors import counted
from workbench.base.labels import listed
from workbench.base.units import clock, format_duration
from workbench.simulation.job_at_time import HOLDS, Fact, JobAtTime, JobState

DOES: Mapping[JobState, str] = {
    "running": "runs",
    "restarting": "restarts",
    "switching": "is being switched in",
    "profiled": "is profiled",
    "consolidating": "consolidates its copies",
    "synchronising": "synchronises",
    "holding": "holds GPUs without work",
}


def headline(job_at: JobAtTime) -> str:
    """What the job does, in one sentence."""
    at, job, row = format_duration(job_at.at_s, parts=3), job_at.job, job_at.row
    match job_at.state:
        case "not_arrived":
            return f"At {at} {job} has not arrived: it comes at {clock(row['arrival_s'])}."
        case "finished":
            took, waited = clock(row["finish_s"] - row["arrival_s"]), clock(row["waited_s"])
            return (
                f"At {at} {job} is done: it finished at {clock(row['finish_s'])}, after {took}, {waited} of it without "
                "GPUs."
            )
        case "refused":
            return f"At {at} {job} is gone: it was refused."
        case "waiting":
            what = "waits for its next task" if job_at.tasks and job_at.stretch[0] > row["arrival_s"] else "waits"
            return f"At {at} {job} {what}: it has had no GPUs since {clock(job_at.since_s)}{_why_none(job_at)}."
    held = ", ".join(f"{node} x {count}" for node, count in job_at.held.items())
    return f"At {at} {job} {DOES[job_at.state]} on {held}, {_since(job_at, 'which it has had since')}."


def in_short(job_at: JobAtTime, binding: str) -> str:
    """What the job does, and what decided that, in one sentence."""
    at = format_duration(job_at.at_s, parts=3)
    if job_at.state == "waiting":
        does = "waits for its next task" if job_at.tasks and job_at.spans else "waits"
    elif job_at.state in HOLDS:
        does = f"{DOES[job_at.state]} on {held_in_words(job_at)}"
    else:
        return headline(job_at)
    how_long = "" if format_duration(job_at.since_s, parts=3) == at else f", {_since(job_at, 'since')}"
    return f"At {at} {job_at.job} {does}{how_long}{f': {binding}' if binding else ''}."


def _since(job_at: JobAtTime, word: str) -> str:
    """Since when it has what it has; of tasks on several GPUs, which begin one by one, the first."""
    one_by_one = job_at.tasks and len(job_at.held) > 1
    first = "" if not one_by_one else "the first " if word == "since" else "the first of "
    return f"{first}{word} {clock(job_at.since_s)}"


def held_in_words(job_at: JobAtTime) -> str:
    """The GPUs that a job has, `1 k80 of slow-0`."""
    kinds = {node.name: node.accelerator for node in job_at.run.scenario.cluster.each_node}
    return listed(f"{gpus} {kinds[node]} of {node}" for node, gpus in job_at.held.items())


def _why_none(job_at: JobAtTime) -> str:
    """How it came to be without GPUs."""
    lost = [event for event in job_at.events("preempt") if event["time_s"] == job_at.since_s]
    if lost:
        return f" ({lost[-1]['reason']})"
    return ", when it arrived" if job_at.since_s == job_at.row["arrival_s"] else ""


def begun(job_at: JobAtTime) -> list[str]:
    """How a job that has GPUs came by them."""
    if job_at.state not in HOLDS or job_at.tasks:
        return []
    found = [event for event in job_at.events("start", "move") if event["time_s"] == job_at.since_s]
    if not found:
        return []
    event = found[-1]
    said = f": {event['reason']}" if event["reason"] else ""
    moves = f"moved to {event['where']}" if event["event"] == "move" else f"was given {event['where']}"
    return [f"It {moves} at {clock(job_at.since_s)}{said}."]


def capacity(job_at: JobAtTime) -> tuple[str, bool]:
    """What was free of what a waiting job could use, and whether that was too little for its smallest gang."""
    if not job_at.usable:
        return "It has no speed on any type of the cluster.", True
    short, needs = not job_at.has_free_gpus, f"It needs {_sizes(job_at)}"
    capacity = job_at.run.scenario.cluster.capacity
    small = [f"{kind} ({capacity[kind]} in all)" for kind in job_at.too_small]
    held = [_free_of(job_at, kind) for kind in job_at.usable if kind not in job_at.too_small]
    if not job_at.mixed and all(capacity[kind] < gpus for kind, gpus in job_at.needs.items()):
        return f"{needs}, more than the cluster has of any one type on which it runs; free: {', '.join(held)}.", short
    verdict = "too few" if short else "enough in number"
    never = f"; too small for it: {', '.join(small)}" if small else ""
    return f"{needs}; free of the types on which it runs: {', '.join(held)}: {verdict}{never}.", short


def _sizes(job_at: JobAtTime) -> str:
    """The fewest GPUs with which it may run, by type where types differ."""
    if len(set(job_at.needs.values())) > 1:
        return ", ".join(f"{counted(gpus, 'GPU')} of {kind}" for kind, gpus in job_at.needs.items())
    return counted(next(iter(job_at.needs.values())), "GPU")


def _free_of(job_at: JobAtTime, kind: str) -> str:
    down = job_at.run.scenario.cluster.capacity[kind] - job_at.up[kind]
    return f"{job_at.free[kind]} of {job_at.up[kind]} {kind}{f' ({down} more down)' if down else ''}"


def undecided(job_at: JobAtTime) -> str:
    """That nobody has decided on a waiting job since it came, lost its GPUs, or could have had others.

    With when somebody does; empty if somebody has.
    """
    arrival_s, call = float(job_at.row["arrival_s"]), job_at.call
    if call is None or call.time_s < arrival_s:
        return f"the scheduler has not been asked since it came; it {_asked_next(job_at)}"
    if not job_at.tasks and call.time_s < job_at.since_s:
        return f"the scheduler has not been asked since it lost its GPUs; it {_asked_next(job_at)}"
    if job_at.tasks or call.time_s == job_at.at_s or not job_at.has_free_gpus:
        return ""
    if replace(job_at, at_s=call.time_s).has_free_gpus:
        return ""
    return f"GPUs became free after the last decision, at {clock(call.time_s)}; the scheduler {_asked_next(job_at)}"


def unrecorded(job_at: JobAtTime) -> str:
    """That the run has not kept what the latest decision went by, and until when it has."""
    kept = int(job_at.run.detail or 0)
    if not kept:
        return "The run has recorded no reasons and numbers (`detail`): of where GPUs were it knows, not of why."
    last_s = float(job_at.run.decisions["time_s"].iloc[kept - 1])
    return (
        f"The run has recorded reasons and numbers of its first {counted(kept, 'decision')} (`detail`), "
        f"until {clock(last_s)}: of where GPUs were after that it knows, not of why."
    )


def _asked_next(job_at: JobAtTime) -> str:
    times_s = job_at.cells.column("decisions", "time_s")
    later = times_s[times_s > job_at.at_s]
    return f"is asked next at {clock(later[0])}" if len(later) else "is not asked again in this run"


def afterwards(job_at: JobAtTime) -> list[str]:
    """What came next in the run."""
    if job_at.state in ("finished", "refused"):
        return []
    finish_s = float(job_at.row["finish_s"])
    end = f"it finishes at {clock(finish_s)}" if finish_s == finish_s else "it has not finished when the run ends"
    if job_at.state in HOLDS:
        until_s, done = job_at.stretch[1], finish_s == finish_s
        if until_s >= (finish_s if done else job_at.run.end_s):
            return [f"It keeps GPUs until it finishes, at {clock(finish_s)}." if done else "It runs to the run's end."]
        return [f"It has GPUs without a break until {clock(until_s)}; {end}."]
    if job_at.next_start_s is None:
        return ["It gets no GPUs in the rest of this run."]
    wait = clock(job_at.next_start_s - job_at.at_s)
    return [f"It next has GPUs at {clock(job_at.next_start_s)}, {wait} later; {end}."]


def facts(job_at: JobAtTime) -> list[Fact]:
    """Numbers of the job then."""
    job, row = job_at.spec, job_at.row
    found = [Fact("arrival", float(row["arrival_s"]), "s")]
    if len(job_at.sizes) > 1:
        found.append(Fact("GPUs it may run on", ", ".join(map(str, job_at.sizes)), "GPUs"))
    else:
        found.append(Fact("GPUs asked for", float(job.gpus), "GPUs"))
    if job.weight != 1:
        found.append(Fact("weight", float(job.weight)))
    speeds = {kind: speed for kind, speed in job_at.usable.items() if speed > 0 and kind not in job_at.too_small}
    found += [Fact(f"speed on {kind}", speed, "steps/s") for kind, speed in speeds.items()]
    if job_at.call is not None:
        found.append(Fact("last decision", job_at.call.time_s, f"s ({job_at.call.cause})"))
    return found
