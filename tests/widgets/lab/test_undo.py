"""Undo, Redo and Reset of a lab."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import widgets
from tests.widgets.lab.support import Waiter, jobs
from widgets import GavelLab
from widgets.lab import rows_panel
from widgets.lab.rows_text import found_at, texts
from workbench.analysis.chain import decisive_row
from workbench.base.rounding import short_number
from workbench.scenario.presets import preset


def test_undo_and_reset(work: Waiter) -> None:
    lab = GavelLab()
    assert lab._frame.undo.disabled
    start = lab.scenario
    jobs(lab).edit(0, "steps", "1000")
    lab.set(round_s=720)
    lab.set("las")
    lab.open(preset("gavel_example"))
    assert lab.scenario == preset("gavel_example")
    lab._frame.undo.click()
    assert lab.scheduler == "las" and lab.scenario.jobs[0].steps == 1000
    lab._frame.undo.click()
    assert lab.scheduler == "gavel.max_min_fairness" and lab.knobs["round_s"] == 720
    lab._frame.undo.click()
    assert lab.knobs["round_s"] == 360 and lab.scenario.jobs[0].steps == 1000
    lab._frame.undo.click()
    assert lab.scenario == start and lab._frame.undo.disabled
    lab._frame.undo.click()
    assert lab.scenario == start
    jobs(lab).edit(0, "steps", "5")
    lab._frame.reset.click()
    assert lab.scenario == preset("gavel_example"), "Reset goes to what was opened last"


def test_undo_compares_with_what_was_before_and_lets_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that Undo comes back to stands against what it stood against, never against the run that was undone."""
    monkeypatch.setattr(widgets.lab.before_after, "REST_S", 0.0)
    lab = GavelLab("start_here")
    compared, first = lab._results.compared, lab.run
    lab.set(round_s=720)
    second = lab.run
    lab.set(round_s=1800)
    lab._results.select("game")
    lab._frame.undo.click()
    assert lab.run.knobs["round_s"] == 720 and compared.before is first and lab._results.selected is None
    assert lab._results.about == "game" == lab._results.explained.job, "Model and Why are still about it, and say so"
    lab._frame.undo.click()
    assert compared.before is None and "Change something" in compared.said.value
    assert "★" not in compared.measures.value
    lab._frame.redo.click()
    assert compared.before is first
    assert re.search(r">Preemptions<.*?>9<.*?>6 ★<", compared.measures.value), "the better of both"
    moves = lab.run.jobs["moves"].sum()
    assert re.search(rf">Preemptions<.*?>9<.*?>6 \({moves} moves\)<", compared.short.value), "a change of GPUs is seen"
    lab._frame.redo.click()
    assert compared.before is not None and compared.before.knobs == second.knobs
    lab._frame.presenter.bar.drag, stood = 1, lab.run  # a slider is held, and rests on its way
    for round_s in (600, 720, 900, 1200, 1500, 600, 720):
        lab.set(round_s=round_s)
        assert compared.before is stood
    lab._frame.presenter.bar.drag = 0
    lab._frame.undo.click()
    assert lab.run.knobs == stood.knobs, "a drag is one step"
    assert compared.before is not None and compared.before.knobs == second.knobs, "and stands against what it did"


def test_undo_of_something_wrong_loses_nothing_else(work: Waiter) -> None:
    lab = GavelLab()
    jobs(lab).edit(0, "steps", "1000")
    jobs(lab).edit(0, "gpus", "none")
    assert lab.state == "invalid" and not lab._frame.undo.disabled
    jobs(lab).edit(1, "weight", "3")  # what is right beside it is a step each
    jobs(lab).add()  # also where it is wrong afterwards
    jobs(lab).edit(3, "steps", "none")
    jobs(lab).edit(2, "gpus", "2")
    for done in ((4, 3, 2), (4, 3, 1), (3, 3, 1), (3, 1, 1)):  # first what is wrong
        lab._frame.undo.click()
        assert lab.state == "edited" and lab.scenario.jobs[0].steps == 1000
        assert (len(lab.scenario.jobs), lab.scenario.jobs[1].weight, lab.scenario.jobs[2].gpus) == done
    lab._scenario.core._restart.value = "long"
    assert lab.state == "invalid"
    lab._frame.undo.click()
    assert lab.scenario.jobs[0].steps == 1000 and lab.state == "edited"


def test_awkward_values_survive_undo(work: Waiter) -> None:
    lab = GavelLab()
    lab.set(round_s=100 / 3, initial_time=1 / 7)
    before = lab.knobs
    lab.set(round_s=60)
    lab._frame.undo.click()
    assert lab.knobs == before and len(lab._frame.history.past) == 1


def test_a_wrong_edit_leaves_nothing_to_redo(work: Waiter) -> None:
    """What was undone before belongs to another past; Undo takes the wrong cell back, and Redo brings nothing else."""
    lab = GavelLab()
    jobs(lab).edit(0, "weight", "3")
    lab._frame.undo.click()
    assert not lab._frame.redo.disabled
    jobs(lab).edit(1, "gpus", "many")
    assert lab.state == "invalid" and lab._frame.redo.disabled and not lab._frame.undo.disabled
    lab._frame.undo.click()
    assert lab.state == "edited" and lab.scenario == preset("start_here") and lab._frame.redo.disabled
    lab._frame.redo.click()
    assert lab.scenario == preset("start_here")


def test_a_drag_is_one_step(work: Waiter) -> None:
    """A slider tells each value that it passes; Undo goes back to before it was taken hold of."""
    lab = GavelLab()

    def drag(number: int, *rounds_s: float) -> None:
        lab._frame.presenter.bar.drag = number  # as the page says
        for round_s in rounds_s:
            lab.set(round_s=round_s)

    drag(1, 420, 480, 600)
    drag(2, 660, 720)
    drag(0, 780, 840)
    for before in (780, 720, 600, 360):
        lab._frame.undo.click()
        assert lab.knobs["round_s"] == before
    assert lab._frame.undo.disabled
    drag(3, 420, 480)
    lab._frame.undo.click()
    drag(3, 540, 600)  # still in the same hand, but something was undone since
    lab._frame.undo.click()
    assert lab.knobs["round_s"] == 360


def test_redo(work: Waiter) -> None:
    lab = GavelLab()
    assert lab._frame.redo.disabled
    lab.set(round_s=720)
    lab.set("las")
    lab._frame.undo.click()
    lab._frame.undo.click()
    assert lab.knobs["round_s"] == 360 and not lab._frame.redo.disabled
    lab._frame.redo.click()
    assert lab.knobs["round_s"] == 720 and lab.scheduler == "gavel.max_min_fairness"
    lab._frame.redo.click()
    assert lab.scheduler == "las" and lab._frame.redo.disabled
    lab._frame.undo.click()
    jobs(lab).edit(0, "steps", "5")  # something else now: there is nothing to do again
    assert lab._frame.redo.disabled
    lab._frame.redo.click()
    assert lab.scenario.jobs[0].steps == 5 and lab.knobs["round_s"] == 720


def test_a_changed_row_is_a_step_and_what_drops_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_panel, "aside", lambda work, hear: hear(work()))
    monkeypatch.setattr(widgets.lab.before_after, "REST_S", 0.0)
    lab = GavelLab("start_here")
    lab._frame.begin()
    results, panel, frame = lab._results, lab._formulation.rows, lab._frame

    def seen() -> tuple[bool, float, bool, str, str]:
        """Whether the run is as it was, the row's number, whether it is in force; what is said of both runs."""
        results._later.flush()
        said = re.sub("<[^>]+>", "", results.compared.said.value)
        return results._run is lab.run, panel._value, panel._on.value, results._note.value, said

    panel.show(lab.run, 2700.0)
    panel._list.picked = [row[0] for row in panel._list.rows].index("(2) job_time[translation]")
    assert frame.undo.disabled, "to pick a row is to change nothing"
    panel._right.value = 0.45
    assert seen()[:3] == (False, 0.45, True) and not frame.undo.disabled
    panel._on.value = False
    frame.undo.click()
    assert seen()[:3] == (False, 0.45, True), "one step back"
    frame.undo.click()
    assert seen()[:3] == (True, 1.0, True) and frame.undo.disabled
    frame.redo.click()
    changed = results._run
    assert seen()[:3] == (False, 0.45, True)
    lab.set(round_s=720)
    is_run, _, _, note, said = seen()
    what = "job_time[translation] &lt;= 0.45 in place of 1"
    assert is_run and f"The changed row is as it was ({what}); Undo brings the change back." in note
    assert said.startswith(f"Against the run before ({what}, Round 6 min):"), "all that differs"
    frame.undo.click()
    assert seen()[:3] == (False, 0.45, True) and lab.knobs["round_s"] == 360
    assert changed is not None and results._run is not None and results._run.timeline.equals(changed.timeline)
    results._shaded.click()
    assert seen()[0] and panel._list.picked == -1 and f"as it was ({what}); Undo" in seen()[3]
    frame.undo.click()
    assert seen()[:3] == (False, 0.45, True) and panel._list.picked != -1
    frame.reset.click()
    assert seen()[:3] == (True, 1.0, True)


def change_a_row(lab: GavelLab, to: float = 0.45) -> None:
    panel = lab._formulation.rows
    panel.show(lab.run, 2700.0)
    panel._list.picked = [row[0] for row in panel._list.rows].index("(2) job_time[translation]")
    panel._right.value = to
    assert lab._frame.history.present is not None and lab._frame.history.present.row is not None


def test_a_change_that_is_undone_before_its_rows_are_found_is_not_taken_up(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []
    held = False
    monkeypatch.setattr(rows_panel, "aside", lambda work, hear: waiting.append((work, hear)) if held else hear(work()))
    lab = GavelLab("start_here")
    panel, frame = lab._formulation.rows, lab._frame
    change_a_row(lab)
    lab.set(round_s=720)
    held = True
    frame.undo.click()
    frame.undo.click()
    held = False
    assert waiting
    for work, hear in waiting:
        hear(work())
    assert frame.history.present is not None and frame.history.present.row is None
    assert panel._has is None and lab._results._run is lab.run
    change_a_row(lab)


def test_a_change_is_taken_up_from_another_decision_and_what_is_listed_is_of_the_run_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rows_panel, "aside", lambda work, hear: hear(work()))
    lab = GavelLab("start_here")
    change_a_row(lab)
    lab._frame.undo.click()
    lab._formulation.rows.show(lab.run, 0.0)
    lab._frame.redo.click()
    panel, changed = lab._formulation.rows, lab._results._run
    assert panel._value == 0.45 and changed is not None and changed is not lab.run
    lab._frame.undo.click()
    panel.show(lab.run, 2700.0)
    panel._list.picked = [row[0] for row in panel._list.rows].index(gone := "(ours) epigraph[game]")
    panel._on.value = False
    for at_s, about in ((2700.0, "game"), (8340.0, "vision")):  # what is listed is of the run drawn, then
        panel.show(lab.run, at_s, about)
        changed = lab._results._run
        assert changed is not None and changed is not lab.run
        found = found_at(changed, at_s, True)
        assert "Rows with numbers of the changed run, decided at " in panel._head.value
        assert short_number(found.table.attrs["objective"]) in panel._head.value
        there = sorted(row[:5] for row in texts(found)[1])
        assert sorted(row[:5] for row in panel._list.rows if row[2] != "taken away") == there
        assert [row[2] for row in panel._list.rows if row[0] == gone] == ["taken away"]
        assert decisive_row(changed, about, at_s).text.partition(" (")[0] in re.sub(
            "<[^>]+>", "", panel._decisive.value
        )
        assert lab._results._lit.rounds_s == found.in_force
    panel._list.picked = [row[0] for row in panel._list.rows].index("(3) capacity[v100]")
    assert "Rows with numbers, decided" in panel._head.value and lab._results._run is lab.run
    assert panel._which.value.startswith("<b>capacity[v100]") and panel._seen is panel._found


def test_a_row_that_is_changed_while_another_run_is_solved_is_a_step_of_that_run(
    work: Waiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_panel, "aside", lambda work, hear: hear(work()))
    lab = GavelLab("start_here")
    lab.solve()
    work.answer()
    lab._cancelled = True  # from now on a change waits for Solve
    for edit, to, there in (
        (lambda: lab.set(round_s=720), 0.45, True),
        (lambda: jobs(lab).edit(2, "name", "speech"), 0.4, False),
    ):
        edit()
        lab.solve()
        change_a_row(lab, to)
        row = lab._frame.history.present.row
        work.answer()
        lab._results._later.flush()
        assert lab._frame.history.present.row is row, "kept, also where the run has no such row"
        assert (lab._results._run is not lab.run) is there
        assert ("The changed row is not in this run" in lab._results._note.value) is not there
    lab._frame.undo.click()
    assert lab._frame.history.present.row is None and lab.scenario.jobs[2].name == "speech"


@pytest.mark.parametrize("back", ["undo", "reset"])
def test_what_dropped_a_row_and_was_taken_back_is_not_said(
    work: Waiter, monkeypatch: pytest.MonkeyPatch, back: str
) -> None:
    monkeypatch.setattr(rows_panel, "aside", lambda work, hear: hear(work()))
    lab = GavelLab("start_here")
    lab.solve()
    work.answer()
    change_a_row(lab)
    lab._cancelled = True  # from now on a change waits for Solve
    lab.set(round_s=720)
    assert lab.state == "edited"
    getattr(lab._frame, back).click()
    lab._formulation.rows._back.click()
    assert lab.state == "done"
    lab.set(round_s=1800)
    lab.solve()
    work.answer()
    lab._results._later.flush()
    assert lab.run.knobs["round_s"] == 1800 and "as it was" not in lab._results._note.value
