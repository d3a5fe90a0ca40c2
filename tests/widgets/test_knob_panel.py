"""Controls made from declared knobs: every knob of every scheduler can be shown, changed and read back exactly."""

from __future__ import annotations

import math
from typing import Any

import ipywidgets as w
import pytest
from ipywidgets.widgets import widget

from widgets.editors.knob_panel import Control, KnobPanel
from workbench.base.errors import InputError
from workbench.scheduling.contract import Scheduler
from workbench.scheduling.knob import Knob, Value
from workbench.session.registry import schedulers

every = pytest.mark.parametrize("scheduler", schedulers(), ids=lambda found: found.name)


def panel(scheduler: Scheduler, given: dict[str, Any] | None = None) -> tuple[KnobPanel, list[int]]:
    changes: list[int] = []
    made = KnobPanel(lambda: changes.append(1))
    made.show(scheduler, given)
    return made, changes


def some_values(knob: Knob) -> list[Value]:
    """The default, the ends of the range, and something awkward between."""
    if knob.choices is not None:
        return list(knob.choices)
    if knob.kind == "bool":
        return [True, False]
    found: list[Value] = [knob.default, *([None] if knob.optional else [])]
    if knob.kind == "str":
        return [*found, "v100, k80"]
    low = knob.minimum if math.isfinite(knob.minimum) else -7
    found += [int(low) if knob.kind == "int" else float(low)]
    if knob.kind == "float":
        found += [min(low + 1 / 3, knob.maximum), *([math.inf] if knob.maximum == math.inf else [knob.maximum])]
    return found


@every
def test_defaults_are_shown_and_read_back(scheduler: Scheduler) -> None:
    made, changes = panel(scheduler)
    assert made.values() == scheduler.settle({}) and changes == []
    assert {*made.main.children, *made.rest.children} - {made._none} == {c.box for c in made._controls.values()}
    assert (made._none.layout.display is None) == (len(made.main.children) == len(scheduler.knobs))


@every
def test_labels_help_and_every_value_is_shown_and_read_back_exactly(scheduler: Scheduler) -> None:
    made, changes = panel(scheduler)
    for knob in scheduler.knobs:
        labelled(made._controls[knob.name], knob)
        for value in [*some_values(knob), knob.default]:
            made.set({knob.name: value})
            assert made.values()[knob.name] == knob.check(value), (knob.name, value)
    assert changes == []


def labelled(control: Control, knob: Knob) -> None:
    assert knob.help in control.widget.tooltip, knob.name
    unit = "" if knob.unit in ("s", "1") else knob.unit
    assert unit.lower() in control.widget.description.lower() and "_" not in control.widget.description, knob.name
    if knob.unit == "s" and isinstance(control.widget, w.Text) and knob.default:
        assert control.widget.value[-1].isalpha(), f"{knob.name}: the unit is in the value, `6 min`, `10 s`"


def control_of(**declared: Any) -> tuple[Control, list[str]]:
    changes: list[str] = []
    return Control(Knob(**declared), lambda knob: changes.append(knob.name)), changes


def test_a_duration_is_typed_as_people_write_it() -> None:
    control, changes = control_of(name="round_s", default=360.0, help="h", unit="s", minimum=1.0)
    control.widget.value = "2 h 30 min"
    assert control.value() == 9000 and changes == ["round_s"]
    control.widget.value = "3"  # alone it has the unit that stood there, and says so
    assert control.value() == 180 and control.widget.value == "3 min" and changes == ["round_s"] * 2
    control.widget.value = "never"
    assert control.value() == math.inf
    control.widget.value = "0 s"
    with pytest.raises(InputError, match="Round"):
        control.value()
    assert "expected a duration of at least 1 s, such as 2 h 30 min; a number alone is min" in control._error.value
    control.widget.value = "-1"
    with pytest.raises(InputError, match="got '-1'"):
        control.value()
    control.widget.value = "soon"
    assert "expected a duration such as" in control._error.value
    control.set(60.0)
    assert control._error.value == "" and control.widget.value == "1 min"


def test_a_count_that_may_be_none_has_a_slider_that_goes_along() -> None:
    control, changes = control_of(name="forks", default=None, help="h", kind="int", minimum=2, optional=True, main=True)
    assert control.slider is not None and control.slider.value == math.inf and control.value() is None
    assert [text for text, _ in control.slider.options][:2] == ["2", "3"]
    assert control.slider.options[-1] == ("not set", math.inf), "without a limit is the most"
    control.slider.value = 4
    assert control.value() == 4 and control.widget.value == "4" and changes == ["forks"]
    control.widget.value = "13"  # not on the slider: the nearest, and the value stays
    assert control.slider.value == 12 and control.value() == 13
    control.widget.value = "1"  # too few: the slider stays
    assert control.slider.value == 12 and "expected" in control._error.value
    control.set(None)
    assert control.slider.value == math.inf and control.value() is None
    control.slider.value = 3
    control.slider.value = math.inf
    assert control.widget.value == "" and control.value() is None


def test_a_duration_in_sight_has_a_slider_that_goes_along() -> None:
    control, changes = control_of(name="round_s", default=360.0, help="h", unit="s", minimum=60.0, main=True)
    assert control.slider is not None and control.slider.value == 360.0
    offered = [value for _, value in control.slider.options]
    assert offered[0] == 60.0 and 360.0 in offered and offered == sorted(offered)
    control.slider.value = 1800.0
    assert control.value() == 1800.0 and control.widget.value == "30 min" and changes == ["round_s"]
    control.widget.value = "29 min"  # not on the slider: the nearest, and the value stays
    assert control.slider.value == 1800.0 and control.value() == 1740.0 and changes == ["round_s"] * 2
    control.set(math.inf)
    assert control.value() == math.inf


def test_an_optional_knob_may_be_empty() -> None:
    control, _ = control_of(name="refresh_s", default=None, help="h", unit="s", minimum=1.0, optional=True)
    assert control.value() is None and control.widget.placeholder == "not set"
    control.widget.value = "1 h"
    assert control.value() == 3600
    for empty in ("", "none", "not set", "-"):
        control.widget.value = empty
        assert control.value() is None
    listed, _ = control_of(name="x", default=None, help="h", kind="str", choices=("a",), optional=True)
    assert listed.widget.options == (("not set", None), ("a", "a")), "in a list it is called as elsewhere"


def test_kinds_of_controls() -> None:
    kinds = [
        (w.Dropdown, {"default": "a", "kind": "str", "choices": ("a", "b")}),
        (w.Checkbox, {"default": True, "kind": "bool"}),
        (w.IntSlider, {"default": 2, "kind": "int", "minimum": 1, "maximum": 9}),
        (w.Text, {"default": 2, "kind": "int", "minimum": 1, "maximum": 10**9}),
        (w.Text, {"default": 0.005, "minimum": 0, "maximum": 1}),  # a FloatSlider's page would make it 0.01
        (w.Text, {"default": 0.5, "minimum": 0}),
        (w.Text, {"default": None, "minimum": 0, "maximum": 1, "optional": True}),
    ]
    for kind, declared in kinds:
        control, _ = control_of(name="x", help="h", **declared)
        assert type(control.widget) is kind and control.value() == declared["default"]


def test_a_number_between_two_ends_has_a_slider_that_leaves_it_alone() -> None:
    control, _ = control_of(name="p", help="h", default=-0.5, minimum=-1, maximum=1, main=True)
    assert type(control.slider) is w.SelectionSlider and control.slider.value == -0.5
    control.set(-0.512)
    assert (control.value(), control.slider.value) == (-0.512, -0.5)
    control.slider.value = 0.25
    assert control.value() == 0.25


def test_a_preset_sets_the_others() -> None:
    scheduler = next(s for s in schedulers() if s.presets)
    made, changes = panel(scheduler)
    name = next(choice for choice in scheduler.presets if scheduler.presets[choice])
    made._controls["preset"].widget.value = name
    assert changes == [1] and made.values() == scheduler.settle({"preset": name})


@pytest.mark.usefixtures("heard")  # which counts widgets that are open
def test_controls_of_schedulers_before_stay_out_of_sight_and_are_used_again() -> None:
    first, second = schedulers()[:2]
    made, _ = panel(first)
    made.show(second)
    in_sight = {child for box in (made.main, made.rest) for child in box.children if child.layout.display is None}
    assert in_sight - {made._none} == {control.box for control in made._controls.values()}
    kept = len(widget._instances)
    for _ in range(5):
        made.show(second)
        made.show(first)
    assert len(widget._instances) == kept


def test_showing_the_same_scheduler_keeps_its_controls() -> None:
    scheduler = schedulers()[0]
    made, _ = panel(scheduler)
    before = made.main.children
    made.show(scheduler, {})
    assert made.main.children == before
