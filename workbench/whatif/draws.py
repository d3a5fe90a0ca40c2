"""What varies between the runs of a what-if: the seed alone, or the trace itself, drawn anew from its own jobs.

The seed of a run decides what a scheduler draws, node failures and noise of measurements. Where none of these play a
part, runs that differ in the seed alone are equal, and an interval over them says nothing. A trace is one draw of what
might have been submitted; the bootstrap makes others of it: every arrival keeps its time, and what arrives is drawn
with replacement from the trace's jobs (Efron's bootstrap over jobs, ours in keeping the arrivals).
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from workbench.errors import InputError
from workbench.scenario import Scenario

STATED = {
    False: "the seed of scheduler, node failures and noise; the trace is the same in every run",
    True: (
        "the trace: every arrival keeps its time, and what arrives is drawn with replacement from the trace's jobs "
        "(both sides get the same draw), and with it the seed of scheduler, node failures and noise; "
        "an interval is then for the mean over such traces"
    ),
}
"""What varies without and with the bootstrap, in words."""
_STREAM = 7


class Draw(NamedTuple):
    """A scenario to run, and of each of its jobs which job of the trace it is."""

    scenario: Scenario
    of: dict[str, str]


def drawn(scenario: Scenario, seed: int, bootstrap: bool) -> Draw:
    """The scenario that both sides of one pair run; a resampled job is named after the one it is drawn from.

    Jobs that hold GPUs at the start stay as they are. Raises InputError for a `bootstrap` that is neither true nor
    false.
    """
    check_bootstrap(bootstrap)
    if not bootstrap:
        return Draw(scenario, {job.name: job.name for job in scenario.jobs})
    held = {running.job for running in scenario.running}
    places = [place for place, job in enumerate(scenario.jobs) if job.name not in held]
    chosen = np.random.default_rng([_STREAM, seed]).integers(max(len(places), 1), size=len(places)).tolist()
    jobs, of, times = list(scenario.jobs), {name: name for name in held}, Counter[str]()
    for place, pick in zip(places, chosen, strict=True):
        body = scenario.jobs[places[pick]]
        times[body.name] += 1
        name = _unused(f"{body.name}~{times[body.name]}", of)
        of[name] = body.name
        jobs[place] = body.model_copy(update={"name": name, "arrival_s": scenario.jobs[place].arrival_s})
    return Draw(scenario.replace(jobs=jobs), of)


def check_bootstrap(bootstrap: bool) -> None:
    """Raise InputError for what is neither true nor false."""
    if not isinstance(bootstrap, bool):
        raise InputError("bootstrap", bootstrap, "True (the trace is drawn anew) or False (the seed alone varies)")


def _unused(name: str, taken: dict[str, str]) -> str:
    while name in taken:
        name += "~"
    return name
