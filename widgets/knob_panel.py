"""Controls for knobs, made from their declarations: units in labels, help on hover, errors beside the control."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets as w

from workbench.errors import InputError
from workbench.knob import Knob, Value
from workbench.papers.paper import Scheduler
from workbench.units import format_duration, parse_duration

STYLE = {"description_width": "7em"}
WIDE = w.Layout(width="97%")
SLIDER_STEPS = 20
SOURCES = {"paper": "from the paper", "code": "from the authors' code", "ours": "our choice"}


class KnobPanel:
    """One control per knob of a scheduler. `main` holds those always in sight, `rest` the others.

    changed: called after every change that a person made.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self.main, self.rest = w.VBox(), w.VBox()
        self._changed = changed
        self._controls: dict[str, Control] = {}
        self._scheduler: Scheduler | None = None
        self._quiet = False

    def show(self, scheduler: Scheduler, given: Mapping[str, Any] | None = None) -> None:
        """Offer a scheduler's knobs, set as given, the others to their defaults."""
        self._scheduler = scheduler
        self._controls = {knob.name: Control(knob, self._on_change) for knob in scheduler.knobs}
        self.set(scheduler.settle(given or {}))
        boxes = {name: control.box for name, control in self._controls.items()}
        self.main.children = [boxes[k.name] for k in scheduler.knobs if k.main]
        others = [boxes[k.name] for k in scheduler.knobs if not k.main]
        self.rest.children = others or [w.HTML("<p class='wb-note'>No further knobs.</p>")]

    def set(self, values: Mapping[str, Any]) -> None:
        """Show these values."""
        self._quiet = True
        try:
            for name, value in values.items():
                if name in self._controls:
                    self._controls[name].set(value)
        finally:
            self._quiet = False

    def values(self) -> dict[str, Value]:
        """Every knob's value; raises InputError for one that cannot be read."""
        return {name: control.value() for name, control in self._controls.items()}

    @property
    def valid(self) -> bool:
        """Whether every control holds a value that its knob takes."""
        return all(control.check() for control in self._controls.values())

    def _on_change(self, knob: Knob) -> None:
        if self._quiet or self._scheduler is None:
            return
        if knob.name == "preset":
            self.set(self._scheduler.settle({"preset": self._controls["preset"].value()}))
        self._changed()


class Control:
    """One knob's control with its error beside it."""

    def __init__(self, knob: Knob, changed: Callable[[Knob], None]) -> None:
        self._knob = knob
        self.widget = _control(knob)
        self.widget.tooltip = f"{knob.help} ({SOURCES[knob.source]}; {knob.expected()})"
        self._error = w.HTML()
        self.box = w.VBox([self.widget, self._error], layout=w.Layout(overflow="hidden"))
        self.box.add_class(f"wb-knob-{knob.name}")

        def on_value(_: Any) -> None:
            self.check()
            changed(knob)

        self.widget.observe(on_value, "value")

    def set(self, value: Value) -> None:
        """Show a value."""
        if isinstance(self.widget, w.Text):
            self.widget.value = _written(self._knob, value)
        else:
            self.widget.value = value
        self.check()

    def value(self) -> Value:
        """The knob's value; raises InputError saying what is expected."""
        shown = self.widget.value
        if isinstance(self.widget, w.Text) and self._knob.kind != "str":
            shown = self._parsed(str(shown).strip())
        return self._knob.check(shown)

    def _parsed(self, text: str) -> Any:
        if self._knob.optional and text.lower() in ("", "none", "-"):
            return None
        if self._knob.unit == "s" and text.lower() not in ("inf", "never"):
            try:
                return parse_duration(text)
            except ValueError as error:
                raise InputError(f"knob {self._knob.name}", text, str(error)) from None
        return {"never": "inf"}.get(text.lower(), text)

    def check(self) -> bool:
        """Whether the value can be read; otherwise say beside it what is expected."""
        try:
            self.value()
        except InputError as error:
            self._error.value = f"<div class='wb-error-note' role='alert'>{html.escape(error.expected)}</div>"
            return False
        self._error.value = ""
        return True


def _label(knob: Knob) -> str:
    words = knob.name.removesuffix("_s").replace("_", " ")
    text = words[0].upper() + words[1:]
    return f"{text} ({knob.unit})" if knob.unit and knob.unit != "s" else text


def _control(knob: Knob) -> Any:
    label, common = _label(knob), {"style": STYLE, "layout": WIDE}
    if knob.choices is not None:
        options = [(str(choice), choice) for choice in knob.choices]
        return w.Dropdown(options=options, value=knob.default, description=label, **common)
    if knob.kind == "bool":
        return w.Checkbox(value=bool(knob.default), description=label, indent=False, layout=WIDE)
    bounded = math.isfinite(knob.minimum) and math.isfinite(knob.maximum) and not knob.optional
    if knob.kind == "int" and bounded:
        return w.IntSlider(
            value=knob.default,
            min=int(knob.minimum),
            max=int(knob.maximum),
            description=label,
            continuous_update=False,
            **common,
        )
    if knob.kind == "float" and bounded and knob.unit != "s":
        step = (knob.maximum - knob.minimum) / SLIDER_STEPS
        return w.FloatSlider(
            value=knob.default,
            min=knob.minimum,
            max=knob.maximum,
            step=step,
            description=label,
            continuous_update=False,
            **common,
        )
    placeholder = "none" if knob.optional else ""
    return w.Text(
        value=_written(knob, knob.default),
        description=label,
        placeholder=placeholder,
        continuous_update=False,
        **common,
    )


def _written(knob: Knob, value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and math.isinf(value):
        return "never" if knob.unit == "s" else "inf"
    if knob.unit == "s" and isinstance(value, (int, float)):
        return format_duration(float(value))
    return f"{value:g}" if isinstance(value, float) else str(value)
