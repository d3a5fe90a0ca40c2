"""Controls for knobs, made from their declarations: units in labels, help on hover, errors beside the control."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import ipywidgets as w

from workbench.base.errors import InputError
from workbench.base.units import format_duration, parse_duration
from workbench.scheduling.knob import Knob, Value

STYLE = {"description_width": "12em"}
WIDE = {"width": "97%"}
MOST_SLIDER_VALUES = 1000
"""Whole numbers over a wider range are typed."""
SOURCES = {"paper": "from the paper", "code": "from the authors' code", "ours": "our choice"}
NEVER = "never"
ROUND_S = (1, 2, 5, 10, 15, 20, 30, *(60 * n for n in (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 45)))
ROUND_S += tuple(3600 * n for n in (1, 2, 3, 4, 6, 8, 12, 24))
"""Durations that a slider offers."""
SLIDER_RANGE = 6.0
"""A slider goes from the default divided by this to the default times this."""
NO_LIMIT = math.inf
"""What a slider has for none: it stands last."""
UNSET = "not set"
"""Of a knob without a value, as no limit: `none` would read as none of what it limits."""
COUNTS = (*range(1, 11), 12, 15, 20, 30, 50, 100)
"""Whole numbers that a slider offers beside one that may be none, and so is typed."""
STEPS = 40
"""Of a slider over a range that was asked for, or that a knob has."""
NUMBERS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, math.inf)
"""What a slider offers beside a number from 0 to infinity, which is typed."""


class Knobbed(Protocol):
    """What has knobs: a scheduler or an estimator."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def knobs(self) -> tuple[Knob, ...]:
        """What can be set."""
        ...

    def settle(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """Every knob's value; raises InputError for what it does not take."""
        ...


Chosen = str | tuple[str, float, float]
"""A knob that is to be in sight, by name, perhaps with the ends of its slider."""


class KnobPanel:
    """One control per knob of a scheduler or an estimator. `main` holds those always in sight, `rest` the others.

    changed: called after every change that a person made; chosen: the knobs to have in sight, in this order, of the
    schedulers that have them, instead of those that are declared so.
    """

    def __init__(self, changed: Callable[[], None], chosen: Sequence[Chosen] = ()) -> None:
        self.main, self.rest = w.VBox(), w.VBox()
        self._chosen = {each if isinstance(each, str) else each[0]: each for each in chosen}
        self._live = False
        self.scheduler: Knobbed | None = None
        self._none = w.HTML("<p class='wb-note'>No further knobs.</p>")
        self._changed = changed
        self._controls: dict[str, Control] = {}
        self._made: dict[int, tuple[Knobbed, dict[str, Control]]] = {}
        self._quiet = False
        self.rest.children = [self._none]

    def show(self, scheduler: Knobbed, given: Mapping[str, Any] | None = None) -> None:
        """Offer a scheduler's knobs, set as given, the others to their defaults."""
        values = scheduler.settle(given or {})
        if scheduler is not self.scheduler:
            self.scheduler = scheduler
            for control in self._controls.values():
                control.box.layout.display = "none"  # it stays in the page: see `OneInSight`
            if id(scheduler) not in self._made:
                made = {knob.name: Control(knob, self._on_change) for knob in self._in_sight(scheduler)}
                self._made[id(scheduler)] = scheduler, made
                self.main.children += tuple(control.box for control in made.values() if control.main)
                self.rest.children += tuple(control.box for control in made.values() if not control.main)
            self._controls = self._made[id(scheduler)][1]
            for control in self._controls.values():
                control.box.layout.display = None
                control.live(self._live)
            self._none.layout.display = None if all(control.main for control in self._controls.values()) else "none"
        self.set(values)

    def live(self, live: bool) -> None:
        """Whether sliders tell every value that the pointer passes, or the one where it is let go."""
        if live != self._live:
            self._live = live
            for control in self._controls.values():
                control.live(live)

    @property
    def in_sight(self) -> list[str]:
        """The names of the knobs that are always in sight."""
        return [name for name, control in self._controls.items() if control.main]

    def point_out(self, name: str) -> None:
        """Give the control of that knob, and no other, the class `wb-pointed`."""
        for each, control in self._controls.items():
            (control.box.add_class if each == name else control.box.remove_class)("wb-pointed")

    def _in_sight(self, scheduler: Knobbed) -> list[Knob]:
        """The knobs as they are to be shown: those that were chosen first; raises InputError for a range outside."""
        known = {knob.name: knob for knob in scheduler.knobs}
        own = [name for name in self._chosen if name in known]
        if not own:
            return list(scheduler.knobs)
        found = [_ranged(known.pop(name), self._chosen[name]) for name in own]
        return found + [replace(knob, main=False) for knob in known.values()]

    def set(self, values: Mapping[str, Any]) -> None:
        """Show these values."""
        before, self._quiet = self._quiet, True
        try:
            for name, value in values.items():
                if name in self._controls:
                    self._controls[name].set(value)
        finally:
            self._quiet = before

    def values(self, but: Container[str] = ()) -> dict[str, Value]:
        """The value of every knob but some; raises InputError for one that cannot be read."""
        return {name: control.value() for name, control in self._controls.items() if name not in but}

    def _on_change(self, knob: Knob) -> None:
        if self._quiet or self.scheduler is None:
            return
        if knob.name == "preset":
            self.set(self.scheduler.settle({"preset": self._controls["preset"].value()}))
        self._changed()


class Control:
    """One knob's control with its error beside it; a duration or a count may have a slider besides."""

    def __init__(self, knob: Knob, changed: Callable[[Knob], None]) -> None:
        self._knob = knob
        self.main = knob.main
        self._changed = changed
        self.widget = _control(knob)
        self.widget.tooltip = f"{knob.help} ({SOURCES[knob.source]}; {knob.expected()})"
        self._error: w.HTML | None = None
        self.slider = _slider(knob)
        parts = [self.widget] if self.slider is None else [self.widget, self.slider]
        self.box = w.VBox(parts, layout=w.Layout(overflow="hidden"))
        self.box.add_class(f"wb-knob-{knob.name}")
        self._following = False
        self._unit = "s"
        self._keep_unit()
        self.widget.observe(self._on_value, "value")
        if self.slider is not None:
            self.slider.tooltip = self.widget.tooltip
            self.slider.observe(self._on_slide, "value")

    def live(self, live: bool) -> None:
        """Whether its slider tells every value that the pointer passes."""
        for widget in (self.widget, self.slider):
            if isinstance(widget, (w.IntSlider, w.SelectionSlider)):
                widget.continuous_update = live

    def _keep_unit(self) -> None:
        """A number alone is in the unit that stands in the field last."""
        if isinstance(self.widget, w.Text) and (shown := self.widget.value.split())[1:]:
            self._unit = shown[-1]

    def _on_value(self, _: Any) -> None:
        if self.check() and self._knob.unit == "s" and isinstance(value := self.value(), (int, float)):
            whole = written(self._knob, value)
            if whole != self.widget.value:
                self.widget.value = whole  # a number alone now says its unit; heard again
                return
            self._keep_unit()
        self._follow()
        self._changed(self._knob)

    def _on_slide(self, change: Mapping[str, Any]) -> None:
        if not self._following:
            none = self._knob.optional and change["new"] == NO_LIMIT
            self.widget.value = written(self._knob, None if none else change["new"])

    def _follow(self) -> None:
        """Move the slider to the nearest of its values."""
        if self.slider is None:
            return
        try:
            value = self.value()
        except InputError:
            return
        offered = [number for _, number in self.slider.options]
        near = offered[-1] if value is None else _nearest(value, offered)
        if near in offered:
            self._following = True
            self.slider.value = near
            self._following = False

    def set(self, value: Value) -> None:
        """Show a value."""
        self.widget.value = written(self._knob, value) if isinstance(self.widget, w.Text) else value
        self._keep_unit()
        self.check()
        self._follow()

    def value(self) -> Value:
        """The knob's value; raises InputError saying what is expected."""
        shown = self.widget.value
        if isinstance(self.widget, w.Text):
            shown = self._parsed(str(shown).strip())
        try:
            return self._knob.check(shown)
        except InputError as error:
            if self._knob.unit != "s" or not isinstance(self.widget, w.Text):
                raise InputError(self._knob.label, error.value, error.expected) from None
            raise InputError(self._knob.label, self.widget.value, self._expected()) from None

    def _expected(self) -> str:
        """Durations that are allowed, as they are typed here."""
        ends = {"at least": self._knob.minimum, "at most": self._knob.maximum}
        bounds = [f"{word} {format_duration(end_s, parts=2)}" for word, end_s in ends.items() if math.isfinite(end_s)]
        of, none = f" of {' and '.join(bounds)}" if bounds else "", " or none" if self._knob.optional else ""
        return f"a duration{of}{none}, such as 2 h 30 min; a number alone is {self._unit}"

    def _parsed(self, text: str) -> Any:
        if self._knob.optional and text.lower() in ("", UNSET, "none", "-"):
            return None
        if self._knob.kind == "str":
            return text
        if self._knob.unit == "s" and text.lower() not in ("inf", NEVER, "\u221e"):
            try:
                return parse_duration(text, unit=self._unit)
            except ValueError as error:
                raise InputError(self._knob.label, text, str(error).partition(" is not ")[2] or str(error)) from None
        return {NEVER: math.inf, "\u221e": math.inf}.get(text.lower(), text)

    def check(self) -> bool:
        """Whether the value can be read; otherwise say beside it what is expected."""
        try:
            self.value()
        except InputError as error:
            if self._error is None:
                self._error = w.HTML()
                self.box.children += (self._error,)
            text = html.escape(f"expected {error.expected}")
            self._error.value = f"<div class='wb-control-error' role='alert'>{text}</div>"
            return False
        if self._error is not None:
            self._error.value = ""
        return True


def _control(knob: Knob) -> Any:
    label, common = knob.label, {"style": STYLE, "layout": WIDE}
    if knob.choices is not None:
        options = [(said(knob, choice), choice) for choice in _choices(knob)]
        return w.Dropdown(options=options, value=knob.default, description=label, **common)
    if knob.kind == "bool" and not knob.optional:
        return w.Checkbox(value=bool(knob.default), description=label, indent=False, layout=WIDE)
    if knob.kind == "int" and not knob.optional and knob.maximum - knob.minimum <= MOST_SLIDER_VALUES:
        low, high = int(knob.minimum), int(knob.maximum)
        return w.IntSlider(value=knob.default, min=low, max=high, description=label, continuous_update=False, **common)
    # No FloatSlider: the page moves a value between its steps to the nearest, and says so as if a person had.
    return w.Text(
        value=written(knob, knob.default),
        description=label,
        placeholder=UNSET if knob.optional else "",
        continuous_update=False,
        **common,
    )


def _choices(knob: Knob) -> tuple[Value, ...]:
    choices = knob.choices or ()
    return choices if not knob.optional or None in choices else (None, *choices)


def _slider(knob: Knob) -> Any:
    """A slider over usual values, for a knob always in sight that is a duration, an optional count or a number; None
    for other knobs."""
    offered = _usual(knob) if knob.main and knob.choices is None else []
    if not offered:
        return None
    at = offered[-1] if knob.default is None else _nearest(knob.default, offered)
    return w.SelectionSlider(
        options=[(_offer(knob, number), number) for number in offered],
        value=at if at in offered else offered[0],
        description=knob.label,  # for a screen reader: the field beside it shows it
        readout=False,
        continuous_update=False,
        style=STYLE,
        layout=WIDE,
    )


def _usual(knob: Knob) -> list[float]:
    """The values that a slider offers."""
    default = knob.default
    if knob.usual is not None:
        first, last, step = knob.usual
        return [round(first + step * place, 9) for place in range(1 + round((last - first) / step))]
    if knob.unit == "s" and isinstance(default, (int, float)) and 0 < default < math.inf:
        low, high = max(knob.minimum, default / SLIDER_RANGE), min(knob.maximum, default * SLIDER_RANGE)
        return sorted({*(float(s) for s in ROUND_S if low <= s <= high), float(default)})
    if knob.kind == "int" and knob.optional and default is None:
        return [*(float(count) for count in COUNTS if knob.minimum <= count <= knob.maximum), NO_LIMIT]
    if knob.kind == "float" and not knob.unit and not knob.optional and isinstance(default, (int, float)):
        low, high = knob.minimum, knob.maximum
        if low == 0 and high == math.inf:
            return sorted({*NUMBERS, float(default)})
        if math.isfinite(low) and math.isfinite(high):
            return sorted(
                {*(round(low + (high - low) * place / STEPS, 9) for place in range(STEPS + 1)), float(default)}
            )
    return []


def _ranged(knob: Knob, chosen: Chosen) -> Knob:
    """The knob in sight, its slider from one number to another if that was asked for; raises InputError."""
    if isinstance(chosen, str):
        return replace(knob, main=True)
    _, low, high = chosen
    where = f"knobs, {knob.name}"
    if knob.choices is not None or knob.kind not in ("int", "float") or not low < high:
        raise InputError(where, f"{low!r} to {high!r}", "a knob that is a number, and a range that rises")
    for end in (low, high):
        knob.check(end)
    step = (high - low) / STEPS
    if knob.kind == "int":
        step = max(1, round(step))
        high = low + step * ((high - low) // step)
    return replace(knob, main=True, usual=(low, high, step))


def _offer(knob: Knob, number: float) -> str:
    return UNSET if knob.optional and number == NO_LIMIT else written(knob, number)


def _nearest(value: Value, offered: Sequence[float]) -> float | None:
    """The number that is nearest, of numbers that rise: by ratio to a number > 0; None for what is no number."""
    if value is None:
        return NO_LIMIT
    if not isinstance(value, (int, float)):
        return None
    if value in offered:
        return value
    if value <= 0:
        return min(offered, key=lambda number: abs(number - value))
    above_0 = [number for number in offered if number > 0]
    most = min(value, above_0[-1])
    return min(above_0, key=lambda number: abs(math.log(number / most)))


def written(knob: Knob, value: Value) -> str:
    """A value as text that reads back exactly."""
    if value is None:
        return ""
    if isinstance(value, float) and math.isinf(value):
        return NEVER if knob.unit == "s" else "inf"
    if knob.unit == "s" and isinstance(value, (int, float)):
        return format_duration(float(value))
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def said(knob: Knob, value: Value) -> str:
    """A value as it is typed, or as the knob's list has it; of a switch on or off."""
    if isinstance(value, bool):
        return "on" if value else "off"
    text = UNSET if value is None else written(knob, value)
    return text if knob.choices is None else text.replace("_", " ")
