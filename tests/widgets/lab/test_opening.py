"""What a lab opens with: presets, files, scenarios, and the scheduler that is named."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from ipywidgets import IntText, Widget
from ipywidgets.widgets.widget import _instances

import workbench
from tests.widgets.lab.support import Waiter, jobs
from widgets import CompareLab, GavelLab, HadarLab, HareLab, Lab, WhatIfLab
from widgets.lab.formulation_page import formulations_of
from widgets.lab.results import PAGES
from widgets.parts.lazy_widgets import lazy
from widgets.work.many import ManyWork
from workbench.base.errors import InputError
from workbench.scenario.presets import preset, presets, variants


@pytest.mark.parametrize("name", [name for name, _ in presets()])
def test_every_preset_opens_as_it_is(work: Waiter, name: str) -> None:
    lab = Lab("gavel", name)
    assert lab.scenario == preset(name)
    assert (lab.state, lab.status) == ("ready", "Loaded, not solved yet.")
    assert lab.scheduler in {found.name for found in workbench.schedulers()} and not work.asked


def test_a_lab_opens_and_resets_with_the_scheduler_that_is_named(work: Waiter) -> None:
    scenario = preset("hadar_lab").replace(
        schedulers=[{"scheduler": "hadar"}, {"scheduler": "hadare", "knobs": {"forks": 2}}, {"scheduler": "las"}]
    )
    lab = HadarLab(scenario, "hadare")
    assert lab.scheduler == "hadare" and lab.knobs["forks"] == 2 and lab.scenario == scenario
    lab.set("gavel.max_min_fairness")
    lab._frame.reset.click()
    assert lab.scheduler == "hadare" and lab.knobs["forks"] == 2
    lab.open(scenario)
    lab._frame.reset.click()
    assert lab.scheduler == "hadar", "what was opened since is opened as it says itself"
    assert HadarLab(scenario, "las").scheduler == "las"
    assert HadarLab("hadar_example", scheduler="hadare").scheduler == "hadare"
    assert formulations_of("hadar") and not formulations_of("hadare"), "it decides by none of its room's"
    with pytest.raises(InputError, match="nothing"):
        HadarLab(scenario, "nothing")


def test_what_opens_a_lab(work: Waiter, folder: Path) -> None:
    preset("hadar_example").save(folder / "mine.json")
    assert Lab("gavel", "hadar_example").scenario.name == "hadar_example"
    assert Lab("gavel", "preset:hadar_example").scenario.name == "hadar_example"
    assert Lab("gavel", "mine.json").scenario == Lab("gavel", folder / "mine.json").scenario == preset("hadar_example")
    with pytest.raises(InputError, match="did you mean start_here"):
        Lab("gavel", "strat_here")
    with pytest.raises(InputError, match="one of"):
        Lab("nobody")


def test_what_was_loaded_is_not_called_edited(work: Waiter) -> None:
    lab = GavelLab()
    jobs(lab).edit(0, "weight", "3")
    assert lab.status == "Edited, not solved."
    lab._frame.reset.click()
    assert (lab.state, lab.status) == ("ready", "Loaded, not solved yet.")
    lab.set(round_s=720)
    lab._frame.presets.value = "hadar_example"
    assert (lab.state, lab.status) == ("ready", "Loaded, not solved yet.")


def test_a_page_is_told_of_what_somebody_looks_at(work: Waiter, heard: None) -> None:
    lab, known = HareLab(), set(_instances)
    assert not _untold_in(lab.widget) and lab.widget.comm is not None
    first = set(_instances) - known
    assert 100 < len(first) < 250, "of some seven hundred"
    for page in PAGES[1:]:
        before = len(_instances)
        lab._results.open(page)
        assert len(_instances) > before and not _untold_in(lab.widget), page
    lab._beside._shown.show(lab._beside._boxes[1])  # a page of the paper's own
    assert not _untold_in(lab.widget)
    lab._frame.setup.value = True
    for number in range(len(lab._tabs.children)):
        lab._tabs.selected_index = number
        assert lab._tabs.children[number].children and not _untold_in(lab.widget)
    lab.set("chronus")
    assert not _untold_in(lab.widget)


def test_what_another_thread_makes_meanwhile_is_told(heard: None) -> None:
    made: list[Widget] = []
    first, second = threading.Event(), threading.Event()

    def beside() -> None:
        made.append(IntText())
        with lazy():
            first.set()
            second.wait(60)

    with lazy():
        thread = threading.Thread(target=beside)
        thread.start()
        assert first.wait(60)
    second.set()
    thread.join()
    assert made[0].comm is not None and IntText().comm is not None


@pytest.mark.parametrize("lab", [GavelLab, CompareLab, WhatIfLab])
def test_a_lab_offers_no_widget_of_which_no_page_is_told(
    work: Waiter, heard: None, lab: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To show a part of a lab that is not shown itself would show nothing."""
    monkeypatch.setattr(ManyWork, "warm", lambda self: None)
    found = {name: each for name, each in vars(lab()).items() if isinstance(each, Widget)}
    assert found and not [name for name, each in found.items() if each.comm is None and not name.startswith("_")]


def _untold_in(box: Widget) -> list[Widget]:
    """What is in a box of which a page is not told."""
    inside = [each for child in getattr(box, "children", ()) for each in _untold_in(child)]
    return [*inside, *([box] if box.comm is None else [])]


# The lab's list of presets: short, and with the variants of the preset that is shown


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


# Knobs, core and seed of a lab, from code and from the page


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
