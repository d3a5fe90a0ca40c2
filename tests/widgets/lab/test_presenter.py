"""Presenting a lab: which panels there are, that each is brought to the front, and that leaving restores all."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.widgets.lab.support import Waiter
from widgets import GavelLab, HareLab, Lab, Scene
from widgets.lab.results import PAGES
from workbench.base.errors import InputError


def shown(lab: Lab) -> str:
    bar = lab._frame.presenter.bar
    return str(bar.titles[bar.number])


def go_to(lab: Lab, title: str) -> None:
    lab._frame.presenter.bar.number = lab._frame.presenter.bar.titles.index(title)


def test_every_page_is_a_panel_and_no_part_of_the_drawer(work: Waiter) -> None:
    lab = GavelLab()
    lab._frame.presenter.bar.on = True
    assert lab._frame.presenter.bar.titles == [*PAGES] and set(lab._frame.presenter.bar.kinds) == {"result"}


def test_it_begins_with_the_schedule_and_opens_the_page_of_each_panel(work: Waiter) -> None:
    lab = GavelLab()
    lab.solve()
    work.answer()
    lab._frame.presenter.bar.on = True
    assert shown(lab) == "Schedule"
    for name in PAGES:
        go_to(lab, name)
        assert lab._results.opened == name
    for name in PAGES:  # by the lab itself, as by a click on a bar
        lab._results.open(name)
        assert shown(lab) == name


def test_leaving_stays_on_the_page_that_was_shown(work: Waiter) -> None:
    lab = HareLab()
    lab.solve()
    work.answer()
    lab._results.open("Queue")
    lab._frame.presenter.bar.on = True
    for number in range(len(lab._frame.presenter.bar.titles)):
        lab._frame.presenter.bar.number = number
    lab._frame.presenter.bar.on = False
    assert lab._results.opened == "Vary"


def test_the_scenes_of_the_teachers_plan(work: Waiter) -> None:
    """Whatever way a scene is come to it is set as told; what is set by hand stays until then; leaving undoes all."""
    plan = (Path(__file__).parents[3] / "docs/teaching/01_gavel.md").read_text(encoding="utf-8")
    made: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", plan, re.DOTALL)[0], made)
    lab = made["lab"]
    before, bar = lab.knobs, lab._frame.presenter.bar
    bar.on = True
    assert set(bar.kinds) == {"scene"} and len(bar.titles) == len(lab._scenes)

    def at(number: int) -> tuple[Any, ...]:
        bar.number = number
        return lab.knobs["heterogeneity_aware"], lab.knobs["round_s"], lab._results.opened

    found = [at(number) for number in range(4)]
    first = (before["heterogeneity_aware"], before["round_s"], "Schedule")
    assert found == [first, (False, before["round_s"], "Schedule"), (True, 1800, "Schedule"), (True, 1800, "Model")]
    lab.set(round_s=600)
    assert lab.knobs["round_s"] == 600
    assert [at(number) for number in (2, 1, 0)] == found[2::-1]
    assert "fair share" in lab._said.value
    lab.solve()
    work.answer()
    assert lab._results.compared.measure_html("mean_jct_s") in lab._said.value and "<b>" in lab._said.value
    bar.on = False
    assert lab.knobs == before
    lab.scenes([])
    bar.on = True
    assert bar.titles[:5] == list(PAGES)


@pytest.mark.parametrize(
    "wrong, where",
    [
        ({"page": "Schedul"}, "scene 2, page"),
        ({"control": "guarantee"}, "scene 2, control"),
        ({"number": "jct"}, "scene 2, number"),
        ({"knobs": {"round_s": -1}}, "knob round_s"),
    ],
)
def test_a_scene_that_cannot_be_is_told_at_once(work: Waiter, wrong: dict[str, Any], where: str) -> None:
    lab = GavelLab()
    with pytest.raises(InputError, match=where):
        lab.scenes([Scene("good"), Scene("bad", **wrong)])
    assert lab._scenes == []
