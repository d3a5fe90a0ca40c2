"""The states of a lab: when it solves by itself, what the status says, and which answers are shown."""

from __future__ import annotations

import pytest

import widgets.lab.lab
import workbench
from tests.calls import calls_at_most
from tests.simulation.support import with_tables
from tests.widgets.lab.support import Waiter, jobs
from widgets import GavelLab, Lab
from widgets.lab import words
from widgets.what_if_lab.answer import AnswerPages
from workbench.base.errors import InputError, ScenarioError
from workbench.scenario.presets import preset


def test_solved_only_when_asked_until_it_is_known_to_be_quick(work: Waiter) -> None:
    lab = GavelLab()
    jobs(lab).edit(0, "steps", "1000")
    assert lab.state == "edited" and not work.asked
    lab.solve()
    work.answer(wall_s=10)
    assert lab.state == "done"
    jobs(lab).edit(0, "steps", "2000")
    assert lab.state == "edited" and len(work.asked) == 1, "ten seconds is too slow to do by itself"
    assert "before your last change" in lab._results._note.value
    lab.solve()
    work.answer(wall_s=0.1)
    jobs(lab).edit(0, "steps", "3000")
    assert lab.state == "working" and len(work.asked) == 3
    work.answer()
    lab.open(preset("gavel_physical"))
    assert lab.state == "working" and len(work.asked) == 4, "to open a scenario is a change too"
    lab._asked_at -= 10
    jobs(lab).edit(0, "steps", "3000")
    assert lab.state == "edited" and len(work.asked) == 4, "this one is known to be slow"


def test_wrong_cells_wait_to_be_mended(work: Waiter) -> None:
    lab = GavelLab()
    lab.solve()
    work.answer()
    done = lab.status
    jobs(lab).edit(0, "gpus", "0")
    assert lab.state == "invalid" and lab._bar.solve.disabled
    assert lab.status == "Jobs, row 1, GPUs: must be at least 1"
    assert "before your last change" in lab._results._note.value
    with pytest.raises(ScenarioError):
        _ = lab.scenario
    lab.solve()
    assert len(work.asked) == 1
    jobs(lab).edit(0, "gpus", "2")  # as it was: what the charts show is what is set
    assert (lab.state, lab.status) == ("done", done) and not lab._bar.solve.disabled
    assert lab._results._note.value == "" and len(work.asked) == 1


def test_an_empty_table_of_jobs_is_said_and_cannot_be_solved(work: Waiter) -> None:
    lab = GavelLab(preset("start_here").replace(jobs=[]))
    assert lab.status == "Jobs: got nothing; expected at least one job in the table" and lab._bar.solve.disabled
    lab.solve()
    assert not work.asked
    lab.open(preset("start_here"))
    assert lab.state == "ready"


def test_a_wrong_knob_says_so(work: Waiter) -> None:
    lab = GavelLab()
    lab._knobs._controls["round_s"].widget.value = "soon"
    assert lab.state == "invalid" and lab.status.startswith("Round: got 'soon'; expected a duration such as")
    lab.set(round_s=60)
    assert lab.state == "edited" and lab.knobs["round_s"] == 60


def test_what_is_edited_while_it_works_has_the_last_word(work: Waiter) -> None:
    lab = GavelLab()
    lab.solve()
    jobs(lab).edit(0, "gpus", "0")
    work.asked[0][1]({"kind": "progress", "now_s": 1.0, "decisions": 1, "finished": 1, "jobs": 3})
    assert lab.state == "invalid" and not lab._bar.cancel.disabled and lab._bar._bar.value > 0
    work.answer(0)
    assert lab.state == "invalid" and lab._bar.solve.disabled and lab._bar.cancel.disabled
    assert "before your last change" in lab._results._note.value
    jobs(lab).edit(0, "gpus", "1")
    assert lab.state == "working"  # it is quick by now
    work.answer(1, wall_s=9)
    lab.solve()
    jobs(lab).edit(0, "steps", "1234")
    assert lab.state == "edited"
    work.answer(2, wall_s=9)
    assert (lab.state, lab.status) == ("edited", "Edited since, not solved.")
    assert lab.run.scenario.jobs[0].steps != 1234


def test_answers_to_what_was_replaced_are_not_shown(work: Waiter) -> None:
    lab = GavelLab()
    lab.solve()
    lab.solve()  # the same again: it is being done
    assert len(work.asked) == 1
    lab.set(round_s=720)
    lab.solve()
    assert len(work.asked) == 2 and lab.state == "working"
    work.answer(0)
    assert lab.state == "working" and lab._run is None
    work.answer(1)
    assert lab.state == "done" and lab.run.knobs["round_s"] == 720


def test_a_new_request_does_not_wait_for_a_slow_one(work: Waiter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widgets.lab.lab, "PATIENCE_S", -1.0)
    lab = GavelLab()
    lab.solve()
    lab.set(round_s=720)
    lab.solve()
    assert work.cancelled == 1 and lab.state == "working"


def test_failures_are_one_line_and_the_lab_goes_on(work: Waiter) -> None:
    lab = GavelLab()
    lab.solve()
    work.asked[0][1](
        {"kind": "error", "status": "error", "error": {"where": "solver", "value": "glpk", "expected": "highs"}}
    )
    assert (lab.state, lab.status) == ("failed", "solver: got glpk; expected highs")
    lab.solve()
    work.answer()
    assert lab.state == "done"


def test_a_chart_that_cannot_be_drawn_does_not_hang_the_lab(work: Waiter, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = GavelLab()
    monkeypatch.setattr(lab._results, "show", lambda *run: 1 / 0)
    lab.solve()
    with pytest.raises(ZeroDivisionError):
        work.answer()
    assert lab.state == "failed" and "not drawn" in lab.status and lab.run is not None


def test_a_scenario_that_forbids_sharing_is_told_by_the_name_of_its_control(work: Waiter) -> None:
    lab = GavelLab()
    lab.set(space_sharing=True)
    lab.solve()
    with pytest.raises(InputError) as found:
        work.answer()
    work.asked[-1][1]({"kind": "error", **found.value.as_json()})
    assert lab._scenario.core._sharing.description in lab.status and "tab Knobs" in lab.status


@pytest.mark.parametrize(
    ("statuses", "said"),
    [(["optimal", "feasible"], "feasible"), (["feasible", "time_limit"], "time limit"), (["optimal", ""], "optimal")],
)
def test_the_worst_status_of_the_decisions_is_told(statuses: list[str], said: str) -> None:
    run = workbench.simulate("preset:start_here", "gavel.max_min_fairness")
    decisions = run.decisions.head(2).assign(status=statuses, gap=0.0)
    assert said in words.done(with_tables(run, decisions=decisions), 1.0)


def test_a_lab_of_many_jobs_answers_at_once(work: Waiter) -> None:
    one = preset("gavel_simulated")
    many = [job.model_copy(update={"name": f"{job.name}-{i}"}) for i in range(7) for job in one.jobs][:400]
    lab = Lab("gavel", one.replace(jobs=many))
    with calls_at_most(700_000):
        for i in range(5):
            jobs(lab).edit(200 + i, "steps", str(1000 + i))
    assert lab.scenario.jobs[204].steps == 1004


def test_what_answers_what_was_set_before_is_grey_and_told_on_each_page_of_the_answer() -> None:
    answer = AnswerPages()
    for old in (True, False):
        answer.outdated(old)
        assert all(page.children[0].value.startswith("<p") == old for page in (answer.measures, answer.jobs))
        assert [("wb-old" in page._dom_classes) for page in (answer.schedule, answer.measures, answer.jobs)] == [
            old
        ] * 3


# Reset, presets and Load leave solving at once on, and the status says Done only of what is shown


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
