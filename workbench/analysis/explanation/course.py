"""What can be said of a job at a time whoever schedules: its state, since when, what was free, what came next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.base.errors import counted
from workbench.base.units import format_duration
from workbench.simulation.job_at_time import HOLDS, Fact, JobAtTime, State

DOES: Mapping[State, str] = {
    "running": "runs",
    "restarting": "restarts",
    "switching": "is switched to",
    "profiled": "is profiled",
    "consolidating": "consolidates its copies",
    "synchronising": "synchronises",
    "holding": "holds GPUs without work",
}


def headline(moment: JobAtTime) -> str:
    """What the job does, in one sentence."""
    at, job, row = clock(moment.at_s), moment.job, moment.row
    match moment.state:
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
            what = "waits for its next task" if moment.tasks and moment.stretch[0] > row["arrival_s"] else "waits"
            return f"At {at} {job} {what}: it has had no GPUs since {clock(moment.since_s)}{_why_none(moment)}."
    held = ", ".join(f"{node} x {count}" for node, count in moment.held.items())
    return f"At {at} {job} {DOES[moment.state]} on {held}, which it has had since {clock(moment.since_s)}."


def _why_none(moment: JobAtTime) -> str:
    """How it came to be without GPUs."""
    lost = [event for event in moment.events("preempt") if event["time_s"] == moment.since_s]
    if lost:
        return f" ({lost[-1]['reason']})"
    return ", when it arrived" if moment.since_s == moment.row["arrival_s"] else ""


def begun(moment: JobAtTime) -> list[str]:
    """How a job that has GPUs came by them."""
    if moment.state not in HOLDS or moment.tasks:
        return []
    found = [event for event in moment.events("start", "move") if event["time_s"] == moment.since_s]
    if not found:
        return []
    event = found[-1]
    said = f": {event['reason']}" if event["reason"] else ""
    moves = f"moved to {event['where']}" if event["event"] == "move" else f"was given {event['where']}"
    return [f"It {moves} at {clock(moment.since_s)}{said}."]


def capacity(moment: JobAtTime) -> tuple[str, bool]:
    """What was free of what a waiting job could use, and whether that was too little for its smallest gang."""
    if not moment.usable:
        return "It has no speed on any type of the cluster.", True
    short, needs = not moment.has_room, f"It needs {_sizes(moment)}"
    workers = moment.run.scenario.cluster.workers
    small = [f"{kind} ({workers[kind]} in all)" for kind in moment.too_small]
    held = [_free_of(moment, kind) for kind in moment.usable if kind not in moment.too_small]
    if not moment.mixed and all(workers[kind] < gpus for kind, gpus in moment.needs.items()):
        return f"{needs}, more than the cluster has of any one type on which it runs; free: {', '.join(held)}.", short
    verdict = "too few" if short else "enough in number"
    never = f"; too small for it: {', '.join(small)}" if small else ""
    return f"{needs}; free of the types on which it runs: {', '.join(held)}: {verdict}{never}.", short


def _sizes(moment: JobAtTime) -> str:
    """The fewest GPUs with which it may run, by type where types differ."""
    if len(set(moment.needs.values())) > 1:
        return ", ".join(f"{counted(gpus, 'GPU')} of {kind}" for kind, gpus in moment.needs.items())
    return counted(next(iter(moment.needs.values())), "GPU")


def _free_of(moment: JobAtTime, kind: str) -> str:
    down = moment.run.scenario.cluster.workers[kind] - moment.up[kind]
    return f"{moment.free[kind]} of {moment.up[kind]} {kind}{f' ({down} more down)' if down else ''}"


def undecided(moment: JobAtTime) -> str:
    """That nobody has decided on a waiting job since it came, lost its GPUs, or could have had others.

    With when somebody does; empty if somebody has.
    """
    arrival_s, call = float(moment.row["arrival_s"]), moment.call
    if call is None or call.time_s < arrival_s:
        return f"the scheduler has not been asked since it came; it {_asked_next(moment)}"
    if not moment.tasks and call.time_s < moment.since_s:
        return f"the scheduler has not been asked since it lost its GPUs; it {_asked_next(moment)}"
    if moment.tasks or call.time_s == moment.at_s or not moment.has_room:
        return ""
    if replace(moment, at_s=call.time_s).has_room:
        return ""
    return f"GPUs became free after the last decision, at {clock(call.time_s)}; the scheduler {_asked_next(moment)}"


def unrecorded(moment: JobAtTime) -> str:
    """That the run has not kept what the latest decision went by, and until when it has."""
    kept = int(moment.run.detail or 0)
    if not kept:
        return "The run has recorded no reasons and numbers (`detail`): of where GPUs were it knows, not of why."
    last_s = float(moment.run.decisions["time_s"].iloc[kept - 1])
    return (
        f"The run has recorded reasons and numbers of its first {counted(kept, 'decision')} (`detail`), "
        f"until {clock(last_s)}: of where GPUs were after that it knows, not of why."
    )


def _asked_next(moment: JobAtTime) -> str:
    times_s = moment.cells.column("decisions", "time_s")
    later = times_s[times_s > moment.at_s]
    return f"is asked next at {clock(later[0])}" if len(later) else "is not asked again in this run"


def afterwards(moment: JobAtTime) -> list[str]:
    """What came next in the run."""
    if moment.state in ("finished", "refused"):
        return []
    finish_s = float(moment.row["finish_s"])
    end = f"it finishes at {clock(finish_s)}" if finish_s == finish_s else "it has not finished when the run ends"
    if moment.state in HOLDS:
        until_s, done = moment.stretch[1], finish_s == finish_s
        if until_s >= (finish_s if done else moment.run.end_s):
            return [f"It keeps GPUs until it finishes, at {clock(finish_s)}." if done else "It runs to the run's end."]
        return [f"It has GPUs without a break until {clock(until_s)}; {end}."]
    if moment.next_start_s is None:
        return ["It gets no GPUs in the rest of this run."]
    wait = clock(moment.next_start_s - moment.at_s)
    return [f"It next has GPUs at {clock(moment.next_start_s)}, {wait} later; {end}."]


def facts(moment: JobAtTime) -> list[Fact]:
    """Numbers of the job then."""
    job, row = moment.spec, moment.row
    found = [Fact("arrival", float(row["arrival_s"]), "s")]
    if len(moment.sizes) > 1:
        found.append(Fact("GPUs it may run on", ", ".join(map(str, moment.sizes)), "GPUs"))
    else:
        found.append(Fact("GPUs asked for", float(job.gpus), "GPUs"))
    if job.weight != 1:
        found.append(Fact("weight", float(job.weight)))
    speeds = {kind: speed for kind, speed in moment.usable.items() if speed > 0 and kind not in moment.too_small}
    found += [Fact(f"speed on {kind}", speed, "steps/s") for kind, speed in speeds.items()]
    if moment.call is not None:
        found.append(Fact("last decision", moment.call.time_s, f"s ({moment.call.cause})"))
    return found


def clock(seconds: float) -> str:
    """A time for people."""
    return format_duration(float(seconds), parts=2)
