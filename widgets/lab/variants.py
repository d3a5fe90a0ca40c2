"""What can be varied in a lab, knob by knob and besides: values to begin with, and the setting that each makes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from widgets.editors.knob_panel import written
from widgets.editors.setting import LabSetting
from workbench.base.errors import InputError
from workbench.scenario.rewards import soft, strict
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Scheduler
from workbench.scheduling.knob import Knob, Value
from workbench.session.registry import find_scheduler

MOST_VALUES = 12
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""What is suggested for a number without bounds, in multiples of what is set."""
REWARDS, SCHEDULER = "rewards of the jobs", "scheduler"
"""What can be varied besides knobs."""
AS_SET, ALL_STRICT, ALL_SOFT = "as set", "all strict", "all soft"


class Variant(NamedTuple):
    """One run to make: what it is called, and with what."""

    label: str
    setting: LabSetting


def variants_of(what: str, text: str, setting: LabSetting) -> tuple[Variant, ...]:
    """The runs to make for values as they are typed; raises InputError for one that cannot be."""
    parts = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not 1 <= len(parts) <= MOST_VALUES:
        raise InputError("Values", text, f"1 to {MOST_VALUES} values with commas between them")
    return tuple(_variant(what, part, setting) for part in parts)


def _variant(what: str, text: str, setting: LabSetting) -> Variant:
    if what == REWARDS:
        return Variant(text, setting._replace(scenario=_reshaped(setting.scenario, text)))
    if what == SCHEDULER:
        found = find_scheduler(text)
        knobs = setting.knobs if found.name == setting.scheduler else found.settle({})
        return Variant(found.name, setting._replace(scheduler=found.name, knobs=knobs))
    scheduler = find_scheduler(setting.scheduler)
    knob = next(each for each in scheduler.knobs if each.name == what)
    value = knob.check(text)
    kept = {} if what == "preset" else dict(setting.knobs)
    return Variant(_said(knob, value), setting._replace(knobs=scheduler.settle({**kept, what: value})))


def _reshaped(scenario: Scenario, how: str) -> Scenario:
    """The scenario with the rewards of all jobs that have a deadline made strict or soft from their first one."""
    shapes = {ALL_STRICT: strict, ALL_SOFT: soft}
    if how == AS_SET:
        return scenario
    if how not in shapes:
        raise InputError("Values", how, ", ".join((AS_SET, *shapes)))
    jobs = [
        job.model_copy(update={"rewards": shapes[how](job.rewards[0][0])}) if job.rewards else job
        for job in scenario.jobs
    ]
    return scenario.replace(jobs=jobs)


def offered_by(scheduler: Scheduler, scenario: Scenario) -> list[tuple[str, str]]:
    """What can be varied: the knobs always in sight first."""
    knobs = sorted((knob for knob in scheduler.knobs if not _fixed(knob)), key=lambda knob: not knob.main)
    found = [(knob.label, knob.name) for knob in knobs]
    found += [("Rewards of the jobs", REWARDS)] if any(job.rewards for job in scenario.jobs) else []
    return [*found, ("Scheduler", SCHEDULER)]


def _fixed(knob: Knob) -> bool:
    """A text without choices has no values to suggest."""
    return knob.kind == "str" and knob.choices is None


def suggested(what: str, setting: LabSetting) -> list[str]:
    """Values to begin with."""
    if what == REWARDS:
        return [AS_SET, ALL_STRICT, ALL_SOFT]
    if what == SCHEDULER:
        planned = [plan.scheduler for plan in setting.scenario.plan]
        return list(dict.fromkeys([setting.scheduler, *planned, "fifo", "srtf"]))
    knob = next(each for each in find_scheduler(setting.scheduler).knobs if each.name == what)
    return [_said(knob, value) for value in _values(knob, setting.knobs[what])]


def _values(knob: Knob, now: Value) -> Sequence[Value]:
    if knob.choices is not None:
        return knob.choices if not knob.optional or None in knob.choices else (None, *knob.choices)
    if knob.kind == "bool":
        return (True, False)
    number = float(now) if isinstance(now, (int, float)) else 0.0
    if not 0 < number < math.inf:
        bounded = math.isfinite(knob.minimum) and math.isfinite(knob.maximum)
        most = knob.maximum if bounded and knob.maximum <= 1 else 1.0
        raw: list[float] = [number, 0.25 * most, 0.5 * most, most] if knob.kind == "float" else [number, 1.0, 2.0, 4.0]
        raw = [value for value in raw if math.isfinite(value)]
    else:
        raw = [number * factor for factor in FACTORS]
    whole = [float(round(value)) if knob.kind == "int" else value for value in raw]
    inside = [value for value in dict.fromkeys(whole) if knob.minimum <= value <= knob.maximum]
    return [knob.check(int(value) if knob.kind == "int" else value) for value in inside]


def _said(knob: Knob, value: Value) -> str:
    """A value as it is typed."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else written(knob, value)


def value_now(what: str, setting: LabSetting) -> str:
    """What is set, called as its variant is."""
    if what == REWARDS:
        return AS_SET
    if what == SCHEDULER:
        return setting.scheduler
    knob = next(each for each in find_scheduler(setting.scheduler).knobs if each.name == what)
    return _said(knob, setting.knobs[what])
