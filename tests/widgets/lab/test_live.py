"""Small instances are solved in the kernel itself, while a slider is moved, also where no process and thread may be."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest

import widgets.lab.before_after
import widgets.lab.formulation_page
import widgets.lab.lab
import widgets.work.kernel
import widgets.work.process
import widgets.work.question
import workbench
from tests.widgets.lab.support import Waiter
from widgets import GavelLab
from widgets.editors.knob_panel import KnobPanel
from widgets.parts.assets import vega_bundle
from widgets.work.kernel import KernelWork
from workbench.analysis import metrics
from workbench.base.errors import InputError
from workbench.scenario.presets import preset
from workbench.session.registry import find_formulation


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that allows neither processes nor threads, and has no vl-convert but what it once made."""
    vega_bundle()

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("emscripten does not support processes")

    def refuse_thread(_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr(threading.Thread, "start", refuse_thread)
    monkeypatch.setattr(widgets.work.process, "_process_work", None)
    monkeypatch.setitem(sys.modules, "vl_convert", None)


def test_a_lab_opens_solved_and_follows_its_slider_without_process_and_thread(alone: None) -> None:
    lab = GavelLab("start_here", knobs=[("round_s", 60, 1260)])
    assert lab.state == "done" and lab.run == workbench.simulate("preset:start_here", "gavel.max_min_fairness")
    control = lab._knobs._controls["round_s"]
    assert [each.main for each in lab._knobs._controls.values()].count(True) == 1 and control.slider.continuous_update
    offered = [value for _, value in control.slider.options]
    assert (offered[0], offered[-1], len(offered)) == (60, 1260, 41)
    for value in (90.0, 600.0):
        control.slider.value = value
        assert lab.state == "done" and lab.run.knobs["round_s"] == value
    lab._results.open("Model")
    assert "Rows with numbers, as decided at" in lab._formulation._rows.value
    lab._vary.opened()
    lab._vary.run()
    assert "2 of 2 runs made" in lab._vary._said.text and "<b>paper to authors</b>: " in lab._vary._gains.value
    lab._frame.reset.click()
    assert lab.state == "done" and lab.run.knobs["round_s"] == 360.0
    assert isinstance(widgets.work.process.process_work(), KernelWork)


def test_the_run_before_stays_as_outlines_and_a_sentence_says_who_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widgets.lab.before_after, "REST_S", 0.0)
    lab = GavelLab("start_here")
    first, seen, compared = lab.run, lab._results._gantt, lab._results.compared
    assert seen.drawing is not None and seen.drawing.data["before"].empty and "Change something" in compared.said.value
    lab.set(round_s=1800)
    ghost = seen.drawing.data["before"]
    assert compared.before is first and not ghost.empty and '"round_s": 1800' in seen.view.of
    assert ghost["end_s"].max() <= first.end_s and set(ghost["job"]) <= {"vision", "game", "translation"}
    said = metrics.gains(metrics.job_differences(first, lab.run))
    assert said in compared.said.value and ("gain" in said or "pay" in said)
    assert "Before" in compared.measures.value and "Before" in compared.jobs.value
    compared.pin.value, pinned = True, lab.run
    assert seen.drawing.data["before"].empty and "Pinned" in compared.said.value
    for round_s in (600, 360):
        lab.set(round_s=round_s)
        assert compared.before is pinned
    lab.open(preset("gavel_example"))
    assert compared.before is None and seen.drawing.data["before"].empty


def test_what_takes_long_goes_on_in_the_process_and_is_no_longer_tried_here(
    monkeypatch: pytest.MonkeyPatch, work: Waiter
) -> None:
    monkeypatch.setattr(widgets.lab.lab, "is_small", widgets.work.kernel.is_small)
    monkeypatch.setattr(widgets.work.kernel, "PATIENCE_S", 0.0)
    lab = GavelLab("start_here")
    assert lab.state == "working" and len(work.asked) == 1
    work.answer(wall_s=3.0)
    assert lab.state == "done" and not lab._knobs._live
    lab.set(round_s=720)
    assert lab.state == "working" and len(work.asked) == 2 and not lab._is_live(lab._read())
    work.answer(wall_s=0.2)
    assert lab._is_live(lab._read())
    lab.open(preset("gavel_physical"))
    assert not lab._is_live(lab._read()) and not lab._knobs._live


def test_a_range_that_cannot_be() -> None:
    wrong = {
        ("utility", 0, 1): "a knob that is a number",
        ("slot_s", 0, 60): "a number >= 1",
        ("slot_s", 3, 3): "rises",
    }
    for knob, says in wrong.items():
        with pytest.raises(InputError, match=says):
            KnobPanel(lambda: None, ["slots", knob]).show(find_formulation("hadar.offline"))


def test_rows_are_those_of_the_run_that_was_asked_for_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another run ends while the rows of the first are solved."""
    asked: list[Any] = []
    monkeypatch.setattr(widgets.lab.formulation_page, "aside", lambda work, hear: asked.append((work, hear)))
    page = widgets.lab.formulation_page.FormulationPage(lambda: None, lambda: None)
    for scheduler in ("gavel.max_min_fairness", "gavel.fifo"):
        page.show_rows(workbench.simulate("preset:start_here", scheduler), 0.0)
    for name in ("", "gavel.fifo"):
        work, hear = asked.pop()
        hear(work())
        assert name in page._rows.value
    assert not asked
