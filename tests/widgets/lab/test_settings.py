"""Knobs, core and seed of a lab, from code and from the page."""

from __future__ import annotations

import pytest

import workbench
from tests.widgets.lab.support import Waiter, jobs
from widgets import GavelLab
from workbench.base.errors import InputError


def test_a_preset_of_knobs_from_code_and_page(work: Waiter) -> None:
    lab = GavelLab()
    lab.set(preset="authors")
    expected = workbench.find_scheduler(lab.scheduler).settle({"preset": "authors"})
    assert lab.knobs == expected
    lab.set(preset="authors", round_s=60)
    assert lab.knobs == {**expected, "round_s": 60}
    with pytest.raises(InputError):
        lab.set(nonsense=1)
    with pytest.raises(InputError):
        lab.set("nobody")
    assert lab.knobs == {**expected, "round_s": 60}


def test_core_and_seed_are_part_of_the_scenario(work: Waiter) -> None:
    lab = GavelLab()
    lab._scenario.core._restart.value = "30 s"
    lab._scenario.core._seed.value = "7"
    assert lab.scenario.core.restart.restart_s == 30 and lab.scenario.seed == 7
    assert lab.state == "edited"


def test_what_the_scheduler_ignores_is_said(work: Waiter) -> None:
    lab = GavelLab()
    jobs(lab).edit(0, "weight", "2")
    assert lab._note.value == ""
    lab.set("las")
    assert "makes no use of: weights" in lab._note.value
