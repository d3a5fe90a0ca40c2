"""Presenting a lab: which panels there are, that each is brought to the front, and that leaving restores all."""

from __future__ import annotations

from tests.widgets.lab.support import Waiter
from widgets import GavelLab, HareLab, Lab
from widgets.lab.results import PAGES


def shown(lab: Lab) -> str:
    bar = lab._frame.presenter.bar
    return str(bar.titles[bar.number])


def go_to(lab: Lab, title: str) -> None:
    lab._frame.presenter.bar.number = lab._frame.presenter.bar.titles.index(title)


def test_every_page_and_every_part_of_the_drawer_is_a_panel(work: Waiter) -> None:
    lab = GavelLab()
    lab._frame.presenter.bar.on = True
    assert lab._frame.presenter.bar.titles == [*PAGES, "Cluster", "Jobs", "Throughputs", "Knobs"]
    assert lab._frame.presenter.bar.kinds == ["result"] * 5 + ["editors"] * 4


def test_it_begins_with_the_schedule_and_opens_the_page_of_each_panel(work: Waiter) -> None:
    lab = GavelLab()
    lab.solve()
    work.answer()
    lab._frame.presenter.bar.on = True
    assert shown(lab) == "Schedule"
    for name in PAGES:
        go_to(lab, name)
        assert lab._results.opened == name
    for number, name in enumerate(lab._tabs.titles):
        go_to(lab, name)
        assert lab._tabs.selected_index == number and lab._frame.setup.value


def test_leaving_opens_what_was_open(work: Waiter) -> None:
    lab = HareLab()
    lab.solve()
    work.answer()
    lab._tabs.selected_index = 2
    lab._results.open("Queue")
    lab._frame.presenter.bar.on = True
    for number in range(len(lab._frame.presenter.bar.titles)):
        lab._frame.presenter.bar.number = number
    assert lab._frame.setup.value
    lab._frame.presenter.bar.on = False
    assert (lab._tabs.selected_index, lab._results.opened, lab._frame.setup.value) == (2, "Measures", False)
