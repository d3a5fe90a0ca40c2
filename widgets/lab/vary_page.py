"""One setting varied on the lab's own scenario, everything else as it is set: a run for each value, side by side."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import ipywidgets as w
import numpy as np
import pandas as pd

from widgets.editors.knob_panel import said, written
from widgets.editors.mistakes import refusal
from widgets.editors.setting_history import LabSetting, jsonable
from widgets.parts.button import button
from widgets.parts.chart_page import ChartPage
from widgets.parts.status_line import StatusLine
from widgets.work.workplace import Message, Workplace
from workbench.analysis.metrics import as_json, completions_of, gains, jct_s, summary
from workbench.analysis.metrics.declared import MAIN, METRICS
from workbench.base.arrays import FloatArray
from workbench.base.errors import InputError, WorkbenchError
from workbench.base.units import typed_over
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
    """What a lab has set but for one thing, and what that is called."""

    label: str
    setting: LabSetting


def variants_of(what: str, text: str, setting: LabSetting) -> tuple[Variant, ...]:
    """The runs to make for values as they are typed; raises InputError for one that cannot be."""
    parts = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not 1 <= len(parts) <= MOST_VALUES:
        raise InputError("Values", text, f"1 to {MOST_VALUES} values with commas between them")
    found, wrong = list[Variant](), dict[str, str]()
    for part in parts:
        try:
            found.append(_variant(what, part, setting))
        except InputError as error:
            wrong[part] = error.expected
    if wrong:
        raise InputError("Values", ", ".join(wrong), next(iter(wrong.values())))
    return tuple(found)


def _variant(what: str, text: str, setting: LabSetting) -> Variant:
    if what == REWARDS:
        return Variant(text, setting._replace(scenario=_reshaped(setting.scenario, text)))
    if what == SCHEDULER:
        found = find_scheduler(text)
        knobs = setting.knobs if found.name == setting.scheduler else found.settle({})
        return Variant(found.name, setting._replace(scheduler=found.name, knobs=knobs))
    scheduler = find_scheduler(setting.scheduler)
    knob = next(each for each in scheduler.knobs if each.name == what)
    if (choice := text.replace(" ", "_")) in (knob.choices or ()):
        text = choice  # in the words of the knob's own list
    value = knob.check(typed_over(text, written(knob, setting.knobs[what])) if knob.unit == "s" else text)
    kept = {} if what == "preset" else dict(setting.knobs)
    return Variant(said(knob, value), setting._replace(knobs=scheduler.settle({**kept, what: value})))


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
    """What can be varied: the knobs always in sight first, of these the round, which all schedulers have, and the one
    that sets others last."""
    offered = (knob for knob in scheduler.knobs if not _fixed(knob))
    knobs = sorted(offered, key=lambda knob: (not knob.main, LAST.index(knob.name) if knob.name in LAST else -1))
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
        named = [entry.scheduler for entry in setting.scenario.schedulers]
        return list(dict.fromkeys([setting.scheduler, *named, "fifo", "srtf"]))
    knob = next(each for each in find_scheduler(setting.scheduler).knobs if each.name == what)
    now = setting.knobs[what]
    return [said(knob, value) for value in _values(knob, now) if _goes(what, value, setting)] or [said(knob, now)]


def _goes(what: str, value: Value, setting: LabSetting) -> bool:
    """Whether a knob's value goes with the others and with the scenario."""
    scheduler = find_scheduler(setting.scheduler)
    try:
        knobs = scheduler.settle({**({} if what == "preset" else setting.knobs), what: value})
        scheduler.timing(knobs)
        scheduler.start(setting.scenario, knobs)
    except InputError:
        return False
    return True


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
    found = [knob.check(int(value) if knob.kind == "int" else value) for value in inside]
    return [None, *found] if now is None else found  # what is set is among them


def value_now(what: str, setting: LabSetting) -> str:
    """What is set, called as its variant is."""
    if what == REWARDS:
        return AS_SET
    if what == SCHEDULER:
        return setting.scheduler
    knob = next(each for each in find_scheduler(setting.scheduler).knobs if each.name == what)
    return said(knob, setting.knobs[what])


LAST = ("round_s", "preset")
MOST_MEASURES = 5
FIRST = ("weighted_miss_rate", "broken_guarantees", "unguaranteed", "best_effort_jct_s")
"""Measures of deadlines, which are drawn before `MAIN`."""
SAME = 1e-9


class VaryPage:
    """A page that makes a run for each of several values.

    setting: what is set now, None while something is wrong; work: who works for a scheduler of that name.
    """

    def __init__(self, setting: Callable[[], LabSetting | None], work: Callable[[str], Workplace]) -> None:
        self._setting, self._work = setting, work
        self._base: LabSetting | None = None
        self._now = ""
        self._todo: list[Variant] = []
        self._found: list[tuple[str, Mapping[str, Any]]] = []
        self._failed: list[str] = []
        self._jct_s: dict[str, FloatArray] = {}
        self._count = 0
        self._number = 0
        self._scheduler = ""
        self._quiet = False
        self._what = w.Dropdown(description="Vary", layout=w.Layout(width="17em"), style={"description_width": "3em"})
        self._values = w.Text(
            description="Values", layout=w.Layout(flex="1 1 11em"), style={"description_width": "4em"},
            continuous_update=False,
        )  # fmt: skip
        self._values.tooltip = "With commas between them, as in the knob's own field"
        tip, stop_tip = "A run for each value, on this scenario", "Stop; what is done is shown"
        self._run = button("Run", "vary-run", self.run, tip, icon="play")
        self._cancel = button("Cancel", "vary-stop", self.cancel, stop_tip, icon="stop", disabled=True)
        self._what.add_class("wb-vary-what")
        self._values.add_class("wb-vary-values")
        for each in (self._run, self._cancel):
            each.layout.width = "6.5em"
        self._said = StatusLine()
        self._said.add_class("wb-vary-said")
        self._gains = w.HTML()
        self._gains.add_class("wb-gains")
        self.page = ChartPage("comparison", "vary")
        self._what.observe(lambda _: None if self._quiet else self._on_what(), "value")
        row = w.HBox([self._what, self._values, self._run, self._cancel])
        row.add_class("wb-tools")
        self.page.box.layout.display = "none"
        self.box = w.VBox([row, self._said, self.page.box, self._gains])
        self.box.add_class("wb-vary")

    # Choosing --------------------------------------------------------------------------------------------------------

    def opened(self, at_once: bool = False) -> None:
        """Offer what the scheduler that is chosen now has to vary; a choice stays while it is there.

        at_once: the first runs are made unasked, as they are quick.
        """
        setting = self._setting()
        if setting is None:
            self._say("bad", "Correct what is marked in Set-up first.")
            return
        offered = offered_by(find_scheduler(setting.scheduler), setting.scenario)
        if offered != list(self._what.options):
            before, self._quiet = self._what.value, True
            self._what.options = offered
            self._what.value = before if before in [name for _, name in offered] else offered[0][1]
            self._quiet = False
            self._suggest()
        elif setting.scheduler != self._scheduler:
            self._suggest()
        self._scheduler = setting.scheduler
        if at_once and self._base is None:
            self.run()
        else:
            self._say_stale(setting)

    def _suggest(self) -> None:
        setting = self._setting()
        if setting is not None:
            self._values.value = ", ".join(suggested(str(self._what.value), setting))

    def _on_what(self) -> None:
        """Another knob is chosen: runs and chart of the one before go."""
        self._suggest()
        self.cancel()
        self._number += 1
        self._base, self._run.disabled, self._cancel.disabled = None, False, True
        self.page.box.layout.display, self._gains.value = "none", ""
        if (setting := self._setting()) is not None:
            self._say_stale(setting)

    def _say_stale(self, setting: LabSetting) -> None:
        if self._base is not None and not self._todo and not self._cancel.disabled:
            return
        if self._base is not None and self._base != setting:
            self._say("note", "The chart was made with what was set before: Run makes it anew.")
        elif self._base is None:
            self._say("note", "Run makes one run for each value, with everything else as it is set.")

    # Running ---------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Make the runs, one after the other."""
        setting = self._setting()
        if setting is None:
            self._say("bad", "Correct what is marked in Set-up first.")
            return
        try:
            todo = variants_of(str(self._what.value), str(self._values.value), setting)
        except InputError as error:
            self._say("bad", refusal(error) + ("" if self._base is None else ". The chart is of the values before."))
            return
        self._number += 1
        self._base, self._now = setting, value_now(str(self._what.value), setting)
        self._todo, self._count, self._found, self._failed = list(todo), len(todo), [], []
        self._jct_s = {}
        self._run.disabled, self._cancel.disabled = True, False
        self._next()

    def cancel(self) -> None:
        """Stop, and show what is done."""
        self._todo = []
        if self._base is not None:
            self._work(self._base.scheduler).cancel(self)

    def _next(self) -> None:
        if not self._todo:
            self._end("")
            return
        variant = self._todo[0]
        self._say("", f"{self._done + 1} of {self._count}: {variant.label} ...")
        setting = variant.setting
        request = {
            "kind": "measure",
            "scenario": setting.scenario.to_dict(),
            "scheduler": setting.scheduler,
            "knobs": jsonable(setting.knobs),
            "belief": setting.belief,
        }
        number = self._number
        self._work(setting.scheduler).submit(request, lambda message: self._hear(number, message), self)

    @property
    def _done(self) -> int:
        return self._count - len(self._todo)

    def _hear(self, number: int, message: Message) -> None:
        if number != self._number:
            return
        if message["kind"] == "progress":
            if self._todo:
                jobs = f"{message['finished']} of {message['jobs']} jobs finished"
                self._say("", f"{self._done + 1} of {self._count}: {self._todo[0].label}, {jobs}")
            return
        if message["kind"] == "cancelled":
            self._todo = []
            self._end("Cancelled. ")
            return
        variant = self._todo.pop(0)
        if message["kind"] == "done":
            own = message.get("run")  # of an own scheduler
            measures = message["measures"] if own is None else as_json(summary(own))
            self._found.append((variant.label, measures))
            done_s = np.array(message["jct_s"], dtype=np.float64) if own is None else jct_s(own)
            self._jct_s[variant.label] = done_s
        else:
            self._failed.append(f"{variant.label}: {refusal(WorkbenchError.from_json(message))}")
        self._show()
        self._next()

    def _end(self, said: str) -> None:
        self._run.disabled, self._cancel.disabled = False, True
        text = f"{said}{len(self._found)} of {self._count} runs made."
        self._say("bad" if self._failed else "", " ".join([text, *self._failed]))

    def _show(self) -> None:
        """Draw what there is: the measures in which the runs differ, those of deadlines first."""
        if not self._found:
            return
        from workbench.analysis import charts

        frame = pd.DataFrame([measures_row(label, measures) for label, measures in self._found])
        shown = differing(frame)
        labels, units = {m.name: m.label for m in METRICS}, {m.name: m.unit for m in METRICS}
        what = {name: label for label, name in self._what.options}[self._what.value]
        drawing = charts.variants(
            frame[["value", *shown]],
            title=f"{what}, varied",
            x_title=what,
            labels=labels,
            units={name: "" if unit == "1" else unit for name, unit in units.items()},
            now=self._now,
        )
        self.page.box.layout.display = None
        self.page.show(replace(drawing, table=frame), None)
        self._gains.value = self._who_gains()

    def _who_gains(self) -> str:
        """Who gains and who pays with each value, against what is set now, or the first of them. HTML."""
        base = self._now if self._now in self._jct_s else next(iter(self._jct_s), None)
        if base is None or self._base is None:
            return ""
        names = [job.name for job in self._base.scenario.jobs]
        said = {
            label: gains(completions_of(names, self._jct_s[base], other))
            for label, other in self._jct_s.items()
            if label != base
        }
        lines = [f"<b>{html.escape(f'{base} to {name}')}</b>: {html.escape(text)}" for name, text in said.items()]
        return "".join(f"<p>{line}</p>" for line in lines)

    def _say(self, tone: str, text: str) -> None:
        with self._said.hold_sync():
            self._said.tone, self._said.text = tone, text


def measures_row(label: str, measures: Mapping[str, Any]) -> dict[str, Any]:
    """A run as a row: its value, and each metric, NaN where it is unknown."""
    known = {m.name: measures.get(m.name) for m in METRICS}
    return {"value": label, **{name: math.nan if value is None else float(value) for name, value in known.items()}}


def differing(frame: pd.DataFrame) -> list[str]:
    """The few measures to draw: those in which runs differ, of deadlines first; if none does, the first there are."""
    names = [name for name in (*FIRST, *MAIN) if frame[name].notna().any()]
    differ = [name for name in names if _spread(frame[name]) > SAME]
    return (differ or names)[:MOST_MEASURES]


def _spread(values: pd.Series[float]) -> float:
    most = float(values.abs().max())
    gone = bool(values.isna().any())
    return 1.0 if gone else (float(values.max() - values.min()) / most if most > 0 else 0.0)
