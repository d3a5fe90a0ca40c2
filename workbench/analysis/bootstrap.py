"""What varies between the runs of a what-if or a comparison: the seed alone, or the jobs themselves, drawn anew.

The seed of a run decides what a scheduler draws, node failures and noise of measurements. Where none of these play a
part, runs that differ in the seed alone are equal, and an interval over them says nothing. A log is one draw of what
might have been submitted; the bootstrap makes others of it (Künsch's, with blocks that do not overlap): the log is cut
into days of 24 h from its first arrival, and each day of a draw is one of the log's, drawn with replacement, with all
of its jobs at their time of day. What is left at the end, less than a day, begins a day drawn of all. So whatever was
submitted within a day stays together: bursts, a user's jobs, the jobs of an array, which have one time of submission.

A log of fewer than `FEWEST` days is cut into hours instead, which takes longer bursts apart; one of fewer than `FEWEST`
hours is not drawn at all. Both are said where the answer is (`varied`, `left_out`). A comparison is of schedulers, not
of a log, and draws such a scenario's jobs one by one instead (`other_jobs`): what differs is then which jobs come, in
which order and how soon after each other.
"""

from __future__ import annotations

import numpy as np

from workbench.base.errors import InputError, counted
from workbench.scenario.job import Job
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.density import moved, numbered

DAY_S, HOUR_S = 86_400.0, 3600.0
FEWEST, MANY = 3, 7
"""Of fewer blocks hardly any draw differs from the log; of fewer than many, intervals are too narrow (ours)."""
SEED = "the seed of scheduler, node failures and noise"
_STREAM = 7


def block_s(scenario: Scenario) -> float:
    """The length of the blocks that a scenario's draws consist of; 0 if its jobs come within too short a time."""
    span_s = _span_s(_loose(scenario))
    return next((length_s for length_s in (DAY_S, HOUR_S) if span_s >= FEWEST * length_s), 0.0)


def drawn(scenario: Scenario, seed: int) -> Scenario:
    """Another log made of the scenario's blocks. A job that comes once keeps its name, copies are numbered from 2.

    Jobs that hold GPUs at the start stay as they are. A scenario without blocks (`block_s`) stays as it is.
    """
    length_s, jobs = block_s(scenario), _loose(scenario)
    if not length_s:
        return scenario
    begin_s, span_s = min(job.arrival_s for job in jobs), _span_s(jobs)
    whole = int(span_s // length_s)
    blocks: list[list[Job]] = [[] for _ in range(whole + 1)]
    for job in jobs:
        blocks[int((job.arrival_s - begin_s) // length_s)].append(job)
    rng = np.random.default_rng([_STREAM, seed])
    made: list[Job] = []
    names, used = {job.name for job in scenario.jobs}, set[str]()
    while not made:  # all blocks drawn may be empty ones
        for place in range(whole + 1):
            pick = int(rng.integers(whole if place < whole else whole + 1))
            shift_s = (place - pick) * length_s
            for job in blocks[pick]:
                arrival_s = max(job.arrival_s + shift_s, begin_s)
                if place < whole or arrival_s <= begin_s + span_s:
                    name = numbered(job.name, names) if job.name in used else job.name
                    names.add(name)
                    used.add(name)
                    made.append(moved(job, arrival_s, name))
    held = {running.job for running in scenario.running}
    return scenario.replace(jobs=[*(job for job in scenario.jobs if job.name in held), *made])


def other_jobs(scenario: Scenario, seed: int) -> Scenario:
    """Other jobs like the scenario's: blocks of it (`drawn`), or, where it has none, as many single jobs.

    Each of these is one of the scenario's, with all that it has, and comes after the one before it by a gap that is one
    of the scenario's gaps between arrivals; jobs and gaps are drawn with replacement. Names and jobs that hold GPUs as
    in `drawn`.
    """
    jobs = sorted(_loose(scenario), key=lambda job: job.arrival_s)
    if block_s(scenario) or len(jobs) < 2:
        return drawn(scenario, seed)
    arrivals_s = [job.arrival_s for job in jobs]
    rng = np.random.default_rng([_STREAM, seed])
    picks = rng.integers(len(jobs), size=len(jobs))
    gaps_s = np.append(0.0, rng.choice(np.diff(arrivals_s), size=len(jobs) - 1))
    names, used = {job.name for job in scenario.jobs}, set[str]()
    made: list[Job] = []
    for pick, arrival_s in zip(picks.tolist(), (arrivals_s[0] + np.cumsum(gaps_s)).tolist(), strict=True):
        name = numbered(jobs[pick].name, names) if jobs[pick].name in used else jobs[pick].name
        names.add(name)
        used.add(name)
        made.append(moved(jobs[pick], arrival_s, name))
    held = {running.job for running in scenario.running}
    return scenario.replace(jobs=[*(job for job in scenario.jobs if job.name in held), *made])


def other_jobs_said(scenario: Scenario) -> str:
    """What differs between runs with `other_jobs`, in a sentence."""
    blocks = _blocks(scenario)
    how = f"its {blocks}" if blocks else "as many of its jobs and of the gaps between their arrivals"
    return (
        f"The first run has the scenario's own jobs, each other one draws of them: {how}, some twice, some not at all."
    )


def varied(scenario: Scenario, bootstrap: bool, chance: str = SEED) -> str:
    """What varies between the pairs, in words; chance: what else than the jobs."""
    if not bootstrap:
        return f"{chance}; the jobs are the same in every run"
    blocks = _blocks(scenario)
    if not blocks:
        few = f"all jobs come within less than {FEWEST} hours, too short a log to draw parts of it"
        return f"{chance}; the jobs are the same in every run, as {few}"
    return (
        f"the jobs, and with them {chance}. The first pair has the log itself, which is what is shown; the others have "
        f"draws of it: its {blocks}, some twice, some not at all, each with all of its jobs, so that "
        "a user's jobs and arrays in it stay together"
    )


def left_out(scenario: Scenario, bootstrap: bool, chance: str = SEED) -> str:
    """What the intervals are about and what they leave out, in words; chance: as in `varied`."""
    rest = "how users react to a change, and errors of the speeds and run times"
    blocks = _blocks(scenario) if bootstrap else ""
    if not blocks:
        return f"The intervals are about chance with these very jobs ({chance}); they leave out other jobs, {rest}."
    cut = "" if block_s(scenario) == DAY_S else "what takes longer than an hour to come or go (the log has few days), "
    few = f" So few {blocks.split()[1]} make them too narrow." if int(blocks.split()[0]) < MANY else ""
    return f"The intervals are about other draws of this log's {blocks}; they leave out {cut}other months, {rest}.{few}"


def check_bootstrap(bootstrap: bool) -> None:
    """Raise InputError for what is neither true nor false."""
    if not isinstance(bootstrap, bool):
        raise InputError("bootstrap", bootstrap, "True (the log is drawn anew) or False (the seed alone varies)")


def _loose(scenario: Scenario) -> list[Job]:
    """The jobs that do not hold GPUs at the start."""
    held = {running.job for running in scenario.running}
    return [job for job in scenario.jobs if job.name not in held]


def _span_s(jobs: list[Job]) -> float:
    """From the first to the last arrival."""
    arrivals = [job.arrival_s for job in jobs]
    return max(arrivals) - min(arrivals) if arrivals else 0.0


def _blocks(scenario: Scenario) -> str:
    """How many whole blocks there are, in words; empty for none."""
    length_s = block_s(scenario)
    if not length_s:
        return ""
    return counted(int(_span_s(_loose(scenario)) // length_s), "day" if length_s == DAY_S else "hour")
