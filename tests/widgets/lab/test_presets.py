"""The lab's list of presets: short, and with the variants of the preset that is shown."""

from __future__ import annotations

import pytest

import workbench
from tests.widgets.lab.support import Waiter
from widgets import Lab
from workbench.base.errors import InputError
from workbench.scenario.presets import preset, presets, variants


def listed(lab: Lab) -> list[str]:
    return [name for _, name in lab._frame.presets.options]


def test_the_variants_of_the_preset_that_is_shown_stand_below_it(work: Waiter) -> None:
    names = ["", *(name for name, _ in presets())]
    lab = Lab("gavel")
    assert listed(lab) == names
    lab._frame.presets.value = "hadar_aws"
    at = names.index("hadar_aws") + 1
    assert listed(lab) == [*names[:at], *variants("hadar_aws"), *names[at:]]
    lab._frame.presets.value = "hadar_aws_M-8"
    assert lab.scenario == preset("hadar_aws_M-8") and lab._frame.presets.value == ""
    assert listed(lab) == [*names[:at], *variants("hadar_aws"), *names[at:]]
    lab._frame.presets.value = "start_here"
    assert listed(lab) == names and lab.scenario == preset("start_here")
    assert not work.asked, "nobody pressed Solve"


def test_variants_open_by_name_wherever_presets_do(work: Waiter) -> None:
    assert Lab("gavel", "hadar_lab_M-1").scenario == workbench.load("preset:hadar_lab_M-1") == preset("hadar_lab_M-1")
    with pytest.raises(InputError, match="preset:hadar_lab_M-1"):
        workbench.load("hadar_lab_M-1")
    assert not work.asked, "nobody pressed Solve"
