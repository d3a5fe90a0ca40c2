"""The note on a scenario's calibration, and of what it holds: a verdict is of the scheduler (of an own one, its code),
knobs and site that were held against the log, and beside answers of anything else stands that there is none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from workbench.base.labels import listed
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces.timed import ASSUMED
from workbench.session.registry import scheduler_named
from workbench.simulation.run import Run

NOTE = "Calibration: "
PHASE = "phase_s"
"""The one knob that a verdict is not bound to: it is of several phases."""
LEAST_WAITS = 50


def calibration_of(scenario: Scenario, scheduler: str, knobs: Mapping[str, Any], code: str) -> str:
    """How near a log's simulated waits were to the recorded ones, in a sentence: the scenario's note, if it is of this
    scheduler (code: `Scheduler.code`) with these knobs on this site and these jobs. Empty where no waits are recorded
    and none is there."""
    note, of = next((text for text in scenario.notes if text.startswith(NOTE)), ""), scenario.calibrated
    if not note:
        more = "`workbench calibrate` says how near simulated waits are to the recorded ones."
        return f"{NOTE}none yet; {more}" if is_recorded(scenario) else ""
    if of is None:
        return f"{NOTE}none: of what the verdict in the scenario is, nobody knows: calibrate again."
    if of.scheduler != scheduler:
        return f"{NOTE}none of {scheduler}: the verdict in the scenario is of {of.scheduler}."
    if of.code != code:
        return f"{NOTE}none of {scheduler} as it is written now: the verdict in the scenario is of other code."
    known = scheduler_named(scheduler)
    default = {} if known is None else known.settle({})
    if other := [f"{name}={knobs[name]}" for name in knobs if name != PHASE and knobs[name] != default.get(name)]:
        return f"{NOTE}none with {listed(other)}: the verdict in the scenario is of {scheduler} without."
    if of.key != scenario.key():
        return f"{NOTE}none of this site and these jobs: they were changed since."
    return note


def trust(calibration: str) -> str:
    """In a word what `calibration_of` says, to stand beside figures: `calibrated`, `indicative`, `not calibrated`."""
    words = re.split("[ ;:(,]+", calibration.removeprefix(NOTE))
    return {"none": "not calibrated"}.get(words[0], words[0])


def notes_under(*runs: Run) -> tuple[str, ...]:
    """The scenario's notes, beside runs of it: what is assumed, then of calibration what holds of each, once."""
    notes, lead = runs[0].scenario.notes, assumed(runs[0].scenario)
    if any(text.startswith(NOTE) for text in notes):
        lead += dict.fromkeys(calibration_of(run.scenario, run.scheduler, run.knobs, run.code) for run in runs)
    return (*lead, *(text for text in notes if not text.startswith((NOTE, ASSUMED))))


def assumed(scenario: Scenario) -> list[str]:
    """The notes on speeds that no log says: answers lead with them."""
    return [text for text in scenario.notes if text.startswith(ASSUMED)]


def is_recorded(scenario: Scenario) -> bool:
    """Whether the log says of jobs when they began."""
    return any("start_s" in job.attributes for job in scenario.jobs[:LEAST_WAITS])
