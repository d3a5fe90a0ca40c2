"""Reset, presets and Load leave solving at once on, and the status says Done only of what is shown."""

from __future__ import annotations

from tests.widgets.lab.support import Waiter, jobs
from widgets import GavelLab
from workbench.scenario.presets import preset


def shows_what_is_set(lab: GavelLab) -> bool:
    return lab._run is not None and lab.run.scenario == lab.scenario and lab.run.scheduler == lab.scheduler


def test_solving_at_once_survives_reset_presets_and_load(work: Waiter) -> None:
    lab = GavelLab("start_here")
    assert (lab.state, len(work.asked)) == ("ready", 0)
    lab.solve()
    work.answer()
    assert lab.state == "done" and shows_what_is_set(lab)
    ways = {
        "reset": lab._frame.reset.click,
        "preset": lambda: setattr(lab._frame.presets, "value", "gavel_example"),
        "load": lambda: lab.open(preset("start_here")),
    }
    for name, way in ways.items():
        way()
        assert (lab.state == "done") == (lab._asked is None and shows_what_is_set(lab)), name
        if lab.state == "working":
            work.answer()
        assert lab.state == "done" and shows_what_is_set(lab), name
        jobs(lab).edit(0, "weight", f"{len(work.asked) + 1}")
        assert lab.state == "working" and not shows_what_is_set(lab), name
        work.answer()
        assert lab.state == "done" and shows_what_is_set(lab), name


def test_what_was_cancelled_is_not_begun_again_until_what_is_shown_is_set(work: Waiter) -> None:
    lab = GavelLab("start_here")
    lab.solve()
    work.answer()
    jobs(lab).edit(0, "weight", "3")
    lab._cancel()
    assert lab.state == "cancelled"
    jobs(lab).edit(0, "weight", "4")
    assert lab.state == "edited"
    lab._frame.reset.click()
    assert lab.state == "done" and shows_what_is_set(lab)
    jobs(lab).edit(0, "weight", "5")
    assert lab.state == "working"
