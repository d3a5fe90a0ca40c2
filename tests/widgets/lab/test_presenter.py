"""Presenting a lab: which panels there are, that each is brought to the front, and that leaving restores the tabs."""

from __future__ import annotations

from tests.widgets.lab.support import Waiter, titles
from widgets import GavelLab, HareLab, Lab


def shown(lab: Lab) -> str:
    bar = lab._frame.presenter.bar
    return str(bar.titles[bar.number])


def go_to(lab: Lab, title: str) -> None:
    lab._frame.presenter.bar.number = lab._frame.presenter.bar.titles.index(title)


def test_every_panel_is_one_part_of_the_lab_and_before_a_run_there_is_no_schedule(work: Waiter) -> None:
    lab = GavelLab()
    lab._frame.presenter.bar.on = True
    assert lab._frame.presenter.bar.titles == ["Scheduler", "Cluster", "Jobs", "Throughputs", "Knobs"]
    assert shown(lab) == "Scheduler"
    lab.solve()
    work.answer()
    found = lab._frame.presenter.bar.titles
    assert found == ["Scheduler", "Cluster", "Jobs", "Throughputs", "Knobs", "Schedule", *titles(lab)]
    assert lab._frame.presenter.bar.kinds == ["scheduler"] + ["editors"] * 4 + ["schedule"] + ["result"] * len(
        titles(lab)
    )


def test_it_begins_with_the_schedule_and_opens_the_tab_of_each_panel(work: Waiter) -> None:
    lab = GavelLab()
    lab.solve()
    work.answer()
    lab._frame.presenter.bar.on = True
    assert shown(lab) == "Schedule"
    for name in titles(lab):
        go_to(lab, name)
        assert lab._results.opened == name
        page = lab._results._pages.get(name)
        assert page is None or page.drawing is not None, "an opened chart is drawn"
    for number, name in enumerate(lab._tabs.titles):
        go_to(lab, name)
        assert lab._tabs.selected_index == number


def test_leaving_opens_the_tabs_again_that_were_open(work: Waiter) -> None:
    lab = HareLab()
    lab.solve()
    work.answer()
    lab._tabs.selected_index = 2
    lab._results.open("Queue")
    lab._body.selected_index = 3
    lab._frame.presenter.bar.on = True
    for number in range(len(lab._frame.presenter.bar.titles)):
        lab._frame.presenter.bar.number = number
    assert lab._frame.presenter.bar.kinds[-1] == "side" and lab._body.selected_index == len(lab._pages)
    lab._frame.presenter.bar.on = False
    assert (lab._tabs.selected_index, lab._results.opened, lab._body.selected_index) == (2, "Queue", 3)


def test_a_run_with_other_tabs_keeps_the_panel_or_goes_to_the_first(work: Waiter) -> None:
    lab = GavelLab()
    lab.solve()
    work.answer()
    lab._frame.presenter.bar.on = True
    for panel, stays in (("Queue", "Queue"), ("Received", "Scheduler")):
        lab.set("gavel.max_min_fairness")
        work.answer()
        go_to(lab, panel)
        lab.set("fifo")
        work.answer()
        assert "Received" not in lab._frame.presenter.bar.titles and shown(lab) == stays
