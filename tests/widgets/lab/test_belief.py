"""What the scheduler of a lab is told about speeds: the choice, its knobs, and the tab of an estimator's errors."""

from __future__ import annotations

import pytest

import workbench
from tests.widgets.lab.support import Waiter, jobs, run, until
from widgets import GavelLab, HopsLab, Lab
from workbench.base.errors import InputError
from workbench.scenario.presets import preset
from workbench.scheduling.estimators.by_name import maker


def solved(lab: Lab, work: Waiter) -> Lab:
    lab.solve()
    work.answer()
    return lab


def test_a_lab_begins_with_the_truth_and_takes_an_estimator_with_its_knobs(work: Waiter) -> None:
    lab = GavelLab()
    assert lab.belief == "oracle"
    lab.solve()
    assert work.asked[-1][0]["belief"] == "oracle"
    lab.set(belief="low_rank: profiled=0.5, rank=10")
    assert lab.belief == "low_rank:profiled=0.5" and lab.state == "edited"
    lab._scenario.belief._knobs._controls["rank"].widget.value = 3
    lab.solve()
    assert lab.belief == work.asked[-1][0]["belief"] == "low_rank:profiled=0.5,rank=3"
    lab.set("las")
    assert lab.belief == "low_rank:profiled=0.5,rank=3", "it holds for every scheduler alike"


def test_the_list_offers_every_estimator_with_a_line_of_help(work: Waiter) -> None:
    lab = GavelLab()
    choice = lab._scenario.belief
    for title, name in choice.widget.options:
        choice.widget.value = name
        assert lab.belief == name and maker(name).estimator.title == title
        assert maker(name).estimator.help in choice._help.value
        assert [knob.name for knob in maker(name).estimator.knobs] == list(choice._knobs._controls)


def test_the_note_on_what_is_not_read_minds_the_estimator(work: Waiter) -> None:
    lab = HopsLab("hops_64")
    assert "makes no use of: loading times, network" in lab._note.value
    lab._scenario.belief.choose("layered")
    lab._on_change()
    assert lab._note.value == ""


def test_another_estimator_is_an_edit_that_undo_takes_back_and_reset_too(work: Waiter) -> None:
    lab = solved(GavelLab(), work)
    lab._wall_s = 60.0  # too slow to be solved at once
    lab._scenario.belief.widget.value = "pmi"
    assert lab.state == "edited" and "before your last change" in lab._results._note.value
    lab._frame.undo.click()
    assert (lab.belief, lab.state, lab._results._note.value) == ("oracle", "done", "")
    lab._frame.redo.click()
    assert (lab.belief, lab.state) == ("pmi", "edited")
    lab._frame.reset.click()
    assert lab.belief == lab._scenario.belief.widget.value == "oracle"
    lab._frame.undo.click()
    assert lab.belief == "pmi"


def test_a_change_is_solved_at_once_where_that_is_quick(work: Waiter) -> None:
    lab = solved(GavelLab(), work)
    lab._scenario.belief.widget.value = "pmi"
    assert lab.state == "working" and work.asked[-1][0]["belief"] == "pmi"
    work.answer()
    assert lab.state == "done" and lab.run == workbench.simulate("preset:start_here", lab.scheduler, belief="pmi")


def test_a_wrong_knob_of_an_estimator_is_said_and_undone(work: Waiter) -> None:
    lab = GavelLab()
    lab.set(belief="low_rank:references=7")
    lab._scenario.belief._knobs._controls["references"].widget.value = "many"
    assert lab.state == "invalid" and lab.status.startswith("References: ")
    with pytest.raises(InputError, match="References"):
        _ = lab.belief
    lab._frame.undo.click()
    assert lab.belief == "low_rank:references=7" and lab.state == "edited"


@pytest.mark.parametrize(
    ("text", "where"), [("nobody", "belief"), ("layered:speed=1", "knobs of belief layered"), (3, "belief")]
)
def test_an_estimator_that_there_is_not_changes_nothing(work: Waiter, text: str, where: str) -> None:
    lab = GavelLab()
    with pytest.raises(InputError) as found:
        lab.set("las", belief=text)
    assert found.value.where == where and (lab.belief, lab.scheduler) == ("oracle", "gavel.max_min_fairness")


def test_it_is_no_part_of_the_scenario_or_its_file(work: Waiter) -> None:
    lab = GavelLab()
    before = lab._to_save()
    lab.set(belief="pmi")
    assert lab._to_save() == before
    lab.open(preset("gavel_example"))
    assert lab.belief == "oracle", "what is opened is shown as it was saved"


def test_the_tab_of_the_estimator_is_there_for_one_that_learns(work: Waiter) -> None:
    lab = solved(GavelLab(), work)
    assert "Estimator" not in lab._results.titles
    lab.set(belief="pmi")
    work.answer()
    lab._results.open("Estimator")
    drawing = lab._results._pages["Estimator"].drawing
    assert drawing is not None and set(drawing.table["line"]) == {"pmi"}
    assert drawing.table["x"].iloc[0] == 0.0 and drawing.table["x"].is_monotonic_increasing
    assert drawing.table["y"].iloc[-1] < 0.1 * drawing.table["y"].iloc[0], "what ran is known"
    assert "Error of believed speeds" in drawing.named()["title"]["text"]
    lab.open(lab.scenario.replace(colocated=[]))
    lab.set(belief="low_rank")
    solved(lab, work)
    assert "Estimator" not in lab._results.titles, "no pairs, nothing to learn of them"


def test_speeds_of_pairs_have_errors_of_their_own(work: Waiter) -> None:
    scenario = preset("gavel_physical")
    core = {**scenario.to_dict()["core"], "space_sharing": True}
    at_once = [job.model_copy(update={"arrival_s": 0.0, "steps": job.steps / 10}) for job in scenario.jobs[:40]]
    lab = GavelLab(scenario.replace(jobs=at_once, core=core))
    lab.set(space_sharing=True, belief="low_rank:profiled=0")
    solved(lab, work)
    lab._results.open("Estimator")
    drawing = lab._results._pages["Estimator"].drawing
    assert drawing is not None and "Error of believed speeds of pairs" in drawing.named()["title"]["text"]
    assert drawing.table["y"].iloc[-1] < drawing.table["y"].iloc[0]


def test_runs_with_other_estimators_are_told_apart(work: Waiter) -> None:
    lab = solved(GavelLab(), work)
    for belief in ("pmi", "oracle", "pmi"):
        lab.set(belief=belief)
        work.answer()
    lab._results.open("Trade-off")
    drawing = lab._results._pages["Trade-off"].drawing
    assert drawing is not None
    assert drawing.table["name"].tolist() == ["oracle", "pmi"]


def test_the_real_worker_learns_or_says_what_is_missing() -> None:
    async def story() -> None:
        lab = HopsLab("start_here")
        lab.set("hops", profile_iterations=0, belief="layered")
        lab.solve()
        await until(lambda: lab.state == "failed")
        assert lab.status.startswith("cluster.network_gbps: got None; expected Gbit/s") and "\n" not in lab.status
        lab.set(belief="pmi")
        lab.solve()
        await until(lambda: lab.state == "done")
        assert "Estimator" in lab._results.titles
        jobs(lab).edit(0, "steps", "1000")
        await until(lambda: lab.state == "done" and lab.run.scenario.jobs[0].steps == 1000)
        expected = workbench.simulate(lab.scenario, "hops", lab.knobs, belief="pmi")
        assert lab.run == expected

    run(story)
