"""Small instances are solved in the kernel itself, while a slider is moved, also where no process and thread may be."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from typing import Any

import IPython.display
import pytest
from IPython.utils.capture import capture_output

import widgets.lab.before_after
import widgets.lab.lab
import widgets.lab.rows_panel
import widgets.lab.shell
import widgets.work.kernel
import widgets.work.page_request
import widgets.work.process
import workbench
from tests.widgets.lab.support import Waiter, run, until
from widgets import GavelLab
from widgets.editors.knob_panel import KnobPanel
from widgets.lab.row_slider import STEPS
from widgets.lab.rows_panel import HINT
from widgets.lab.words import first_cost
from widgets.parts.assets import vega_bundle
from widgets.work.kernel import KernelWork
from workbench.analysis import metrics
from workbench.analysis.explanation.compose import longest_wait_s
from workbench.base.errors import InputError
from workbench.scenario.presets import preset
from workbench.session.registry import find_formulation

pytestmark = pytest.mark.usefixtures("heard")


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


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that is busy is no reason to leave the kernel."""
    monkeypatch.setattr(widgets.work.kernel, "PATIENCE_S", 60.0)


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
    assert "Rows with numbers, decided at" in lab._formulation.rows._head.value
    change_a_row(lab)
    lab._vary.opened()
    lab._vary.run()
    assert "2 of 2 runs made" in lab._vary._said.text and "<b>on to off</b>: " in lab._vary._gains.value
    lab._frame.reset.click()
    assert lab.state == "done" and lab.run.knobs["round_s"] == 360.0
    lab._results._gantt.view.picked = {"job": "", "x": 45.0, "y": 1.5}
    assert lab._results.opened == "Model", "which is about it too"
    assert ">epigraph</abbr>[vision] (no job falls" in lab._formulation.rows._decisive.value
    for picked, about in (({"job": "game", "x": 45.0, "y": 2.5}, "game"), ({"x": 45.0, "y": 1.5}, ("gpu", "fast-0/1"))):
        lab._results.open("Schedule")
        lab._results._gantt.view.picked = picked
        assert lab._results.opened == "Why" and lab._results.explained._job.value == about
    told = lab._results.explained._reasons.told.value
    assert "fast-0/1 (v100) is idle at 45 min" in told and "<b>Rank</b>" in told and "<b>Rows</b>" in told
    assert isinstance(widgets.work.process.process_work(), KernelWork)


def change_a_row(lab: GavelLab) -> None:
    """A row lights up the jobs with a coefficient in it; moved, the schedule follows; its cell does the same."""
    rows, results, before = lab._formulation.rows, lab._results, lab.run
    names = [row[0] for row in rows._list.rows]
    assert names.count("(3) capacity[v100]") == 1 and not [
        name for name in names if "[" not in name and "level" not in name
    ]
    for name, jobs in (("job_time[game]", ["game"]), ("capacity[v100]", ["vision", "game", "translation"])):
        rows._list.picked = next(at for at, text in enumerate(names) if text.endswith(name))
        assert results._gantt.view.selected == jobs
    assert results._gantt.view.params["gpus"] == ["v100"] and [each for _, each in rows._right.options][
        :: 2 * STEPS
    ] == [0.0, 4.0]
    before_s = results.explained.at_s
    rows._right.value = 1.0
    assert results.explained.at_s == before_s != longest_wait_s(results._run, results.explained.job or "")
    assert results.compared.said.value.startswith("<p><span class='wb-note'>Against the run before this change:</span>")
    assert "is not left idle" in rows._said.value, "shares of less than there is, and a picture that is full"
    assert "In the decision at 30 min alone: &quot;the level of" in rows._said.value
    assert "pay" in results.compared.said.value and results.compared.before is before
    assert "In every decision of the run, from its start: capacity[v100] &lt;= 1 in place of 2." in results._note.value
    assert lab.status.startswith("Row changed: ") and lab.state == "done"
    rows._as_code.value = True
    code, given = rows._code.value.split("\n\n\nbeside = CompareLab(")
    assert given.startswith("'preset:start_here', [('gavel.max_min_fairness', {'round_s': 600.0}), ('mine', ")
    step, seen, rest = code.partition("  # <= 1 in the lab")
    assert seen and re.findall(r"\b1\b", step + rest) == ["1"], "a number stands once, and what it was in the lab"
    assert '"Another right side of capacity[v100]"' in code
    exec(code, {})
    mine = workbench.simulate("preset:start_here", "mine", {"round_s": 600.0})
    assert mine.timeline.equals(results._run.timeline) and not mine.timeline.equals(before.timeline)
    results.compared._since_s -= 60.0  # it was looked at for a minute
    rows._right.value = 3.0
    assert (
        "<p>No run can keep this change: at 30 min, with 3 jobs there, it would take 1.32 times the GPUs "
        "there are of v100; more of them are had under Set-up. The schedule is again the one without a change.</p>"
    ) in rows._said.value and results._run is before
    assert "Against the run before (capacity[v100] &lt;= 1 in place of 2):" in results.compared.said.value
    assert rows._as_code.disabled and rows._code.layout.display == "none", "no cell for what no run keeps"
    rows._on.value = False
    rows._back.click()
    assert rows._said.value == HINT and results._run is before and results._note.value == ""
    assert not rows._as_code.disabled and rows._code.layout.display is None
    assert lab.status.startswith("Done: ")
    results.select("game")
    assert results._gantt.view.selected == "game" and results._gantt.view.params["gpus"] is None
    assert [names[at] for at in rows._list.marked][:2] == ["(2) job_time[game]", "(3) capacity[v100]"]


def test_a_change_is_said_to_be_solved_but_not_while_a_slider_is_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = GavelLab("start_here")
    said: list[str] = []
    say = lab._bar.say
    monkeypatch.setattr(lab._bar, "say", lambda state, text: (said.append(state), say(state, text)))
    lab.set(round_s=600)
    assert said[0] == "working" and said[-1] == "done"
    said.clear()
    lab._frame.presenter.bar.drag = 1
    lab.set(round_s=900)
    assert set(said) == {"done"} and lab.run.knobs["round_s"] == 900


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
    assert (
        said in compared.said.value
        and "Against the run before (Round 6 min):" in compared.said.value
        and ("gain" in said or "pay" in said)
    )
    assert "Run before" in compared.measures.value and "Run before" in compared.jobs.value
    compared.pin.value, pinned = True, lab.run
    assert seen.drawing.data["before"].empty and "Pinned" in compared.said.value
    for round_s in (600, 360):
        lab.set(round_s=round_s)
        assert compared.before is pinned
    assert "Pinned run" in compared.measures.value and "Pinned run" in compared.short.value
    compared.pin.value = False
    assert "Run before" in compared.measures.value and "inned" not in compared.said.value
    compared.pin.value = True
    lab.set(round_s=900)
    assert not seen.drawing.data["before"].empty and compared.alone.layout.display is None
    drawn, changed = list[bool](), compared._changed
    monkeypatch.setattr(compared, "_changed", lambda: (changed(), drawn.append(seen.drawing.data["before"].empty)))
    compared.alone.click()  # the run alone: nothing stays pinned, no outlines, no differences
    assert drawn == [True], "drawn once, without outlines"
    assert seen.drawing.data["before"].empty and not compared.pin.value and compared.alone.layout.display == "none"
    assert "Run before" not in compared.measures.value and "Pinned run" not in compared.measures.value
    lab.set(round_s=1800, round_end="last_job")
    lab.set(round_end="fixed")
    assert "Against the run before (Round end last job):" in compared.said.value, "as the knob's list has it"
    lab._frame.reset.click()
    assert lab.run.knobs["round_s"] == 360 and compared.before is None and "Change something" in compared.said.value
    lab.set(round_s=1800)
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


def test_a_saved_notebook_has_the_last_picture_and_the_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    put_out: list[Any] = []

    class Output:
        update = staticmethod(put_out.append)

    def display(shown: Any, display_id: bool = False, raw: bool = False) -> Output:
        put_out.append(shown)
        return Output()

    async def story() -> None:
        lab = GavelLab("start_here")
        lab._ipython_display_()
        place, whole, first = put_out
        assert place.data == "", "its picture, above the lab, takes longer than the lab"
        assert whole["application/vnd.jupyter.widget-view+json"]["model_id"] == lab.widget.model_id
        assert whole["text/plain"] == "Gavel lab", "what stands there without a kernel"
        assert "<img " in first.data and "Makespan" in first.data
        name = first.data.partition("class='")[2].partition("'")[0]
        assert f".{name} {{ display: none; }}" in lab.widget.children[-1].value
        for round_s in (600, 720):
            lab.set(round_s=round_s)
        await until(lambda: len(put_out) == 4)
        assert put_out[3].data != first.data and name in put_out[3].data and "12 min" not in first.data

    monkeypatch.setattr(IPython.display, "display", display)
    monkeypatch.setattr(widgets.lab.shell, "REST_S", 0.01)
    run(story)


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
    monkeypatch.setattr(widgets.lab.rows_panel, "aside", lambda work, hear: asked.append((work, hear)))
    page = widgets.lab.rows_panel.RowsPanel(*[lambda *_: None] * 4)
    for scheduler in ("gavel.max_min_fairness", "gavel.fifo"):
        page.show(workbench.simulate("preset:start_here", scheduler), 0.0)
    for name in ("", "Gavel: first in, first out"):
        work, hear = asked.pop()
        hear(work())
        assert name in page._head.value
    assert not asked


def test_what_a_cell_sets_before_the_lab_is_seen_is_how_it_opens() -> None:
    """Then it is a change: against the run before, and Undo comes back."""
    lab = GavelLab()
    lab.set(round_s=720)
    assert lab._results.compared.before is not None
    with capture_output():
        lab._ipython_display_()
    assert lab._frame.undo.disabled and lab._results.compared.before is None
    assert "Change something" in lab._results.compared.said.value
    lab.set(round_s=360)
    assert not lab._frame.undo.disabled and lab._results.compared.before is not None
    with capture_output():
        lab._ipython_display_()
    assert not lab._frame.undo.disabled, "shown a second time it is as it was"


def test_the_picture_comes_before_the_numbers_and_they_soon_after() -> None:
    async def story() -> None:
        lab = GavelLab("start_here")
        await until(lambda: lab.state == "done" and lab._results.compared.short.value)
        before = lab._results.compared.short.value
        lab.set(round_s=720)
        assert lab.state == "done" and '"round_s": 720' in lab._results._gantt.view.of, "solved here, and drawn"
        assert lab._results.compared.short.value == before
        await until(lambda: lab._results.compared.short.value != before)
        assert "Difference" in lab._results.compared.short.value
        await until(lambda: lab._formulation.box.children)
        assert lab._results.opened == "Schedule", "the pages that are looked at next are made while nobody waits"

    run(story)


def test_a_large_scenario_says_what_its_first_solve_costs() -> None:
    async def story() -> None:
        lab = GavelLab("gavel_physical")
        await until(lambda: "A solve takes" in lab.status)
        assert lab.state == "ready" and lab.status.startswith("Loaded, not solved yet. A solve takes ")

    run(story)
    done = {"wall_s": 0.5, "finished": 4, "jobs": 40}
    assert first_cost(done) == " A solve takes about 5 s, as 0.50 s got 4 of 40 jobs done."
    assert first_cost({**done, "finished": 0}) == " A solve takes long: after 0.50 s none of 40 jobs was done."
    assert first_cost({**done, "finished": 40}) == " A solve takes 0.5 s."
