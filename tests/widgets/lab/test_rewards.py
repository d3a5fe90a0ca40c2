"""The rewards of jobs, edited in a lab: by dragging, by shapes and in the table, each one step back with Undo."""

from __future__ import annotations

from typing import Any

import pytest

from tests.widgets.lab.support import Waiter, jobs, titles
from widgets import GavelLab, Lab
from workbench.scenario.presets import preset
from workbench.scenario.rewards import soft, strict


@pytest.fixture
def lab(work: Waiter) -> Lab:
    """A lab on jobs with deadlines, solved; job-0 is soft with more time than it takes, job-7 best effort."""
    made = preset("chronus_example")
    given = {"job-0": soft(200_000.0), "job-7": None}
    jobs = [job.model_copy(update={"rewards": given.get(job.name, job.rewards)}) for job in made.jobs]
    lab = GavelLab(made.replace(jobs=jobs))
    lab.set("srtf")
    lab.solve()
    work.answer()
    return lab


def rewards(lab: Lab) -> dict[str, Any]:
    return {job.name: job.rewards for job in lab.scenario.jobs}


def drag(lab: Lab, job: str, *steps: list[float]) -> None:
    """What the page sends when somebody lets go of a step."""
    curve = lab._results.rewards.curve
    curve._on_message(curve, {"kind": "steps", "job": job, "steps": list(steps)}, [])


def press(lab: Lab, css: str) -> None:
    found = [
        w for line in lab._results.rewards.box.children for w in getattr(line, "children", ()) if css in w._dom_classes
    ]
    found[0].click()


def test_a_dragged_step_changes_that_job_and_is_solved_and_undone(lab: Lab, work: Waiter) -> None:
    before, asked = rewards(lab), len(work.asked)
    drag(lab, "job-0", [3000.0, 100.0], [4000.0, 60.0])
    assert rewards(lab) == {**before, "job-0": ((3000.0, 100.0), (4000.0, 60.0))}
    assert jobs(lab).rows[0]["deadline_s"] == 4000.0, "the table follows"
    assert len(work.asked) == asked + 1 and lab.state == "working", "a quick run is made at once"
    work.answer()
    assert lab.run.scenario.jobs[0].rewards == ((3000.0, 100.0), (4000.0, 60.0))
    lab._frame.undo.click()
    assert rewards(lab) == before
    lab._frame.redo.click()
    assert rewards(lab)["job-0"] == ((3000.0, 100.0), (4000.0, 60.0))


def test_a_job_becomes_strict_soft_and_best_effort(lab: Lab) -> None:
    first_s = rewards(lab)["job-0"][0][0]
    press(lab, "wb-strict")
    assert rewards(lab)["job-0"] == strict(first_s)
    press(lab, "wb-soft")
    assert rewards(lab)["job-0"] == soft(first_s)
    press(lab, "wb-best-effort")
    assert rewards(lab)["job-0"] is None and jobs(lab).rows[0]["deadline_s"] is None
    press(lab, "wb-add-step")
    assert len(rewards(lab)["job-0"]) == 1, "a first deadline"


def test_steps_are_added_behind_the_last_and_taken_away(lab: Lab) -> None:
    last_s, worth = rewards(lab)["job-0"][-1]
    press(lab, "wb-add-step")
    assert rewards(lab)["job-0"][-1] == (pytest.approx(1.2 * last_s), worth / 2)
    press(lab, "wb-remove")
    press(lab, "wb-remove")
    assert len(rewards(lab)["job-0"]) == 3


def test_a_step_behind_one_that_is_worth_less_than_a_miss_is_not_worth_more(lab: Lab) -> None:
    first_s = rewards(lab)["job-0"][0][0]
    drag(lab, "job-0", [first_s, 0.5])
    lab._results.select("job-0")
    press(lab, "wb-add-step")
    assert rewards(lab)["job-0"] == ((first_s, 0.5), (pytest.approx(1.2 * first_s), 0.5))


def test_all_jobs_become_strict_in_one_step_and_best_effort_ones_stay(lab: Lab) -> None:
    before = rewards(lab)
    press(lab, "wb-all-strict")
    assert rewards(lab) == {job: steps and strict(steps[0][0]) for job, steps in before.items()}
    lab._frame.undo.click()
    assert rewards(lab) == before


def test_an_edit_in_the_table_moves_all_steps(lab: Lab) -> None:
    before = rewards(lab)["job-0"]
    jobs(lab).edit(0, "deadline_s", "2 h")
    after = rewards(lab)["job-0"]
    assert after[-1] == (7200.0, 20.0) and [worth for _, worth in after] == [worth for _, worth in before]
    assert after[0][0] / after[-1][0] == pytest.approx(before[0][0] / before[-1][0])


def test_a_wrong_deadline_in_the_table_is_marked_there(lab: Lab) -> None:
    jobs(lab).edit(0, "deadline_s", "soon")
    assert lab.state == "invalid" and "Jobs, row 1" in lab.status


def test_the_curve_shows_the_selected_job_and_what_became_of_it(lab: Lab) -> None:
    editor = lab._results.rewards
    run = lab.run.jobs.set_index("job")
    for job in ("job-2", "job-0"):
        lab._results.select(job)
        assert editor.curve.job == job
        assert editor.curve.done_s == run.loc[job, "finish_s"] - run.loc[job, "arrival_s"]
        assert editor.curve.steps == [list(step) for step in rewards(lab)[job]]
    assert "deadline 1 of 4 met" in editor._outcome.value
    editor._job.value = "job-7"
    assert lab._results.selected == "job-7" and "Best effort" in editor._outcome.value


def test_there_is_nothing_to_edit_where_no_job_has_a_deadline(work: Waiter) -> None:
    lab = GavelLab()
    lab.solve()
    work.answer()
    assert not {"Leases", "Rewards"} & set(titles(lab))


def test_an_axis_has_room_to_drag_the_last_deadline_to_the_right(lab: Lab) -> None:
    curve = lab._results.rewards.curve
    assert curve.span_s > 1.5 * curve.steps[-1][0] and curve.highest == 100.0
