"""The page Why of a lab: which job, which time, and what it says."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import workbench
from tests.calls import calls_at_most
from tests.widgets.lab.support import Waiter
from widgets import GavelLab
from widgets.lab import explain_page, reasons, why
from widgets.lab.explain_page import ExplainPage
from widgets.lab.reasons import ReasonsBeside
from widgets.lab.words import hinted
from workbench.analysis.charts import theme
from workbench.analysis.explanation import explain, longest_wait_s, one_more
from workbench.base.units import clock
from workbench.simulation.slot_at_time import SlotAtTime


def opened(work: Waiter) -> GavelLab:
    lab = GavelLab()
    lab.solve()
    work.answer()
    lab._results.open("Why")
    return lab


def test_it_opens_where_the_jobs_longest_wait_began(work: Waiter) -> None:
    lab = opened(work)
    page = lab._results.explained
    assert page._job.value == "vision"
    said = re.sub("</?abbr[^>]*>", "", page._reasons.told.value)
    assert "vision waits: on v100 translation (priority 2) came before it" in said
    lab._results.select("game")
    assert page._job.value == "game" and "game" in page._reasons.told.value
    page._job.value = "translation"
    assert lab._results.selected == "translation", "chosen here is chosen everywhere"
    assert "translation" in page._reasons.told.value


def test_time_follows_playback_to_the_round_it_shows_last(work: Waiter) -> None:
    lab = opened(work)
    results, page = lab._results, lab._results.explained
    times_s = lab.run.decisions["time_s"].tolist()
    for number in (0, 3):
        results.playback.number = number
        assert page._at.value == f"{times_s[number] / 60:g} min"
    results.playback.number = results.playback.last
    assert "since" in page._reasons.told.value and longest_wait_s(lab.run, "vision") > 0


def test_a_time_is_typed_and_what_cannot_be_is_said(work: Waiter) -> None:
    page = opened(work)._results.explained
    page._at.value = "1 h"
    assert "At 1 h vision" in page._reasons.told.value and page._said.text == ""
    page._at.value = "soon"
    assert "'soon' is not a duration" in page._said.text and page._said.tone == "bad"
    page._at.value = "9 d"
    until = "is not from 0 to the run's end, 2 h 42 min; a number alone is h"
    assert page._said.text == f"Expected a time of the run: 9 d {until}" and page._at.value == "9 d"
    page._at.value = "60"
    assert page._said.text == f"Expected a time of the run: 2 d 12 h {until}"
    page._at.value = "1"
    assert page._at.value == "1 h" and page._said.text == "", "a number alone is in the unit of the last time that was"
    page._at.value = "10 min"
    assert page._said.text == "" and "At 10 min vision" in page._reasons.told.value


def test_a_number_alone_is_in_the_unit_that_is_shown_and_the_picture_follows(work: Waiter) -> None:
    """The picture shows the round in which the time lies, with its line at the time, while Why or Model is open."""
    lab = opened(work)
    results, page = lab._results, lab._results.explained
    results.playback.number = 5
    assert (page._at.value, results.playback.until_s) == ("36 min", 42 * 60)
    assert results._gantt.view.params["at"] == 36 * 60
    page._at.value = "45"
    assert page._at.value == "45 min" and "At 45 min vision" in page._reasons.told.value
    assert results.playback.until_s == 48 * 60 and results._gantt.view.params["at"] == 45 * 60
    page._at.value = "0"
    page._at.value = "12"
    assert page._at.value == "12 min", "nor is it seconds after 0"
    results.open("Schedule")
    assert results._gantt.view.params["at"] is None


def test_the_time_stays_with_another_job_unless_it_was_not_there(work: Waiter) -> None:
    lab = opened(work)
    page = lab._results.explained
    page._at.value = "45 min"
    page._job.value = "game"
    assert page._at.value == "45 min" and page._said.text == ""
    ends_s = lab.run.jobs.set_index("job")["finish_s"]
    first, last = ends_s.idxmin(), ends_s.idxmax()
    page._job.value = last
    late = ends_s[first] + 60
    page._at.value = f"{late:.0f} s"
    page._job.value = first
    assert page._said.text.startswith("Not at ") and f": {first} was done at " in page._said.text
    assert page.at_s == longest_wait_s(lab.run, first)


def test_a_time_that_was_asked_for_stays_in_the_next_run_until_playback_moves(work: Waiter) -> None:
    lab = opened(work)
    results, page = lab._results, lab._results.explained
    results.select("game")
    asked_s = page.at_s
    lab.set(round_s=720)
    work.answer()
    assert (page._job.value, page.at_s) == ("game", asked_s) and asked_s != longest_wait_s(lab.run, "game")
    page._at.value = "45 min"
    lab.set(round_s=360)
    work.answer()
    assert page._at.value == "45 min" and results._gantt.view.params["at"] == 45 * 60
    results.playback.number = 2
    assert page._at.value != "45 min"
    page._at.value = f"{lab.run.end_s - 60:g} s"
    lab._scenario.editors.tables["jobs"].remove(0)
    work.answer()
    assert page.at_s < lab.run.end_s, "it is no time of the shorter run"


def test_after_a_click_on_a_bar_why_is_about_its_job_then(work: Waiter) -> None:
    lab = opened(work)
    results, page = lab._results, lab._results.explained
    results._gantt.view.picked = {"job": "game", "x": 45.0, "y": 0.5}
    assert page._job.value == "game" and page.at_s == 45 * 60
    results._gantt.view.picked = {"job": "", "x": 45.0, "y": 1.5}
    assert page._job.value == ("gpu", "fast-0/1")
    results._gantt.view.picked = {"job": "", "x": 45.0, "y": 0.5}
    assert page._job.value == "translation", "what stands on a bar is no empty place"
    results._gantt.view.picked = {"job": "game", "x": 46.0, "y": 0.5}
    assert page._job.value == "game", "also after a GPU was asked about"


def test_another_run_is_explained_anew_and_names_are_escaped(work: Waiter) -> None:
    lab = opened(work)
    page = lab._results.explained
    before = page._reasons.told.value
    lab._scenario.editors.tables["jobs"].edit(0, "name", "<i>")
    lab.set("fifo")
    work.answer()
    assert page._reasons.told.value != before and "<i>" not in page._reasons.told.value
    page._job.value = "<i>"
    assert "&lt;i&gt;" in page._reasons.told.value


def test_words_of_papers_say_on_hover_what_they_mean_where_they_stand_first() -> None:
    said = hinted("train (2): rewards <i>, rewards again, spotted (11), by rho, job_time[epigraph], most (11)", "hops")
    meant = re.findall("<abbr title='([^']+)'>([^<]+)</abbr>", said)
    assert [word for _, word in meant] == ["rewards", "(equation 11)", "rho", "epigraph"], "Hops has no equation (2)"
    assert said.endswith("most (equation 11)")
    assert "too few (equation 8, s.t.)" in re.sub("<[^>]+>", "", hinted("too few (8, s.t.)", "hadar"))
    assert "&lt;i&gt;" in said and "<i>" not in said
    assert "by mistake" in hinted("a plan (4, erratum)", "chronus").partition(">(equation 4, erratum)</abbr>")[0]
    assert "abbr" in hinted("(2)", "gavel.max_min_fairness") and "abbr" not in hinted("(2)", "fifo")


def test_one_more_node_is_simulated_aside_and_answers_below(work: Waiter) -> None:
    lab = opened(work)
    page = lab._results.explained
    row = page._otherwise
    kinds = lab.run.scenario.cluster.types
    assert row._kind.options == tuple(kinds)
    row._more.click()
    assert row._more.disabled and not row._cancel.disabled
    request, _ = work.asked[-1]
    assert len(request["scenario"]["cluster"]["nodes"]) == len(lab.run.scenario.cluster.nodes) + 1
    work.answer(wall_s=2.0)
    at_s = longest_wait_s(lab.run, "vision")
    expected = replace(one_more(lab.run, "vision", at_s, accelerator=row._kind.value), wall_s=2.0)
    told = re.findall(" Of all jobs: ([^;]*)", row._answer.value)
    assert told and told[0].startswith("vision "), "who gains and who pays, not the job alone"
    assert expected.text() in row._answer.value and not row._more.disabled and row._cancel.disabled
    page._at.value = "1 h"
    assert row._answer.value == "", "it was of another time"


def test_the_job_alone_and_cancel(work: Waiter) -> None:
    lab = opened(work)
    row = lab._results.explained._otherwise
    row._alone.click()
    assert [job["name"] for job in work.asked[-1][0]["scenario"]["jobs"]] == ["vision"]
    work.answer()
    assert row._answer.value.startswith(
        "<h4>Without the other jobs?</h4><p>With no other job on the cluster vision would"
    )
    row._alone.click()
    row._cancel.click()
    assert row._said.text == "Cancelled." and not row._alone.disabled and work.cancelled > 0
    row._alone.click()
    lab._results.select("game")
    assert not row._alone.disabled and row._cancel.disabled and row._said.text == ""
    work.answer()
    assert row._answer.value == "", "nobody waits for that answer any more"


def test_why_not_on_faster_gpus_and_what_would_make_it_run_now(work: Waiter, monkeypatch) -> None:
    """At 45 min game is on the K80, as its turn came there first; vision would run with 1.96 times its weight."""
    page = opened(work)._results.explained
    monkeypatch.setattr(explain_page, "aside", lambda work, hear: hear(work()))
    page._job.value = "game"
    page._at.value = "45 min"
    page._otherwise._faster.click()
    said = page._otherwise._answer.value
    assert (
        "game is not on v100, 2 times as fast for it: it had had nothing of its share of k80 since 30 min, when shares"
        in said
    )
    assert said.startswith("<h4>Why not on faster GPUs?</h4><p>At 45 min game is not on v100")
    tried = "game would not be there with what was tried: a weight of 0.1, "
    assert f"the decision of 30 min, which computes shares of time anew, {tried}" in said
    moved = "With epigraph[vision] taken away, game would run on 1 v100 of fast-0, and translation would have fast-0/1"
    assert said.endswith(f"times its wait.</p><p>{moved} (v100).</p>"), "as what is decisive says"
    page._job.value = "vision"
    page._at.value = "45 min"
    now = page._otherwise._now
    now.click()
    said = page._otherwise._answer.value
    assert said.startswith("<h4>What would make vision run now?</h4>") and "with a weight of 1.96 in place of 1" in said
    assert "faster" not in said, "the former answer is gone"
    page._at.value = "1 min"
    assert now.description == "What would make vision run at 42 min, when it waited longest?", "it runs"
    now.click()
    assert page._at.value == "42 min" and now.description == "What would make vision run now?"
    assert page._otherwise._answer.value.startswith("<h4>What would make vision run now?</h4>")
    page._job.value = ("gpu", "fast-0/1")
    page._at.value = "45 min"
    assert now.description == "What would make vision run now?", "the GPU is idle"
    now.click()
    assert "with a weight of 1.96 in place of 1" in page._otherwise._answer.value
    assert page._job.value == ("gpu", "fast-0/1")
    tries = page._otherwise._try_it
    assert tries.description == "Try it: weight 1.96 for vision in the whole run" and tries.layout.display is None
    tries.click()
    assert work.asked[-1][0]["scenario"]["jobs"][0]["weight"] == 1.96


def test_nobody_is_asked_why_a_job_on_its_fastest_gpus_is_on_no_faster_ones(work: Waiter) -> None:
    page = opened(work)._results.explained
    page._at.value = "45 min"
    offered = {}
    for job in ("game", "translation"):
        page._job.value = job
        offered[job] = page._otherwise._faster.layout.display is None
    assert offered == {"game": True, "translation": False}


def test_a_decision_is_told_step_by_step(work: Waiter) -> None:
    lab = opened(work)
    page = lab._results.explained
    page._job.value, page._at.value = reasons.DECISION, "45 min"
    told = page._reasons.told.value
    assert "In the decision of 42 min GPUs go to game and translation, and vision waits." in told
    steps = [told.index(f"<b>{step}</b>") for step in ("There", "Shares", "Rank", "Turns", "Placement")]
    assert steps == sorted(steps) and told.count("class='wb-strip'") == 3
    assert page._otherwise.again.layout.display == "none"
    lab._results.playback.number = 0
    assert "In the decision of 0 s GPUs go to vision." in page._reasons.told.value


def test_a_missed_deadline_is_said_first() -> None:
    run = workbench.simulate("preset:chronus_small", "chronus")
    late = "<p><b>rush missed its deadline of 1 h 35 min: it was 49 min 30 s late, with the verdict best effort"
    assert why.page_of(explain(run, "rush", 6975.0), run).startswith(late)
    assert "missed" not in why.page_of(explain(run, "nightly", 3000.0), run).partition("</p>")[0]
    assert "missed its first deadline of 1 h 30 min" in why.page_of(explain(run, "tune", 6975.0), run)
    early = workbench.simulate("preset:chronus_small", "chronus", until_s=1300.0)
    for job in early.jobs["job"]:
        assert "missed" not in why.page_of(explain(early, job, 1300.0), early).partition("</p>")[0]
    due_s = 3600.0 + 35 * 60.0
    for until_s, is_over in ((due_s - 1, False), (due_s, True)):
        part = workbench.simulate("preset:chronus_small", "chronus", until_s=until_s)
        said = why.page_of(explain(part, "rush", until_s), part)
        assert ("rush missed its deadline of 1 h 35 min: it was never done" in said) == is_over
    assert "deadline" not in why.page_of(explain(run, "rush", 600.0), run).partition("</p>")[0], "before it comes"
    assert "rush will miss its deadline of 1 h 35 min: it will be 49 " in why.page_of(explain(run, "rush", 4000.0), run)


def test_a_strip_has_the_colour_of_each_type_that_a_job_has_at_once() -> None:
    run = workbench.simulate("preset:hadar_example", "hadar")
    mixed = why.page_of(explain(run, "J1", 300.0), run)
    colours = theme.type_colours(run.scenario.cluster.types)
    both = f"background:{colours['v100']};color:#ffffff;box-shadow:inset 0 -4px {colours['k80']}'"
    assert f"{both} title='v100 × 2, k80 × 1, 0 s to 12 min'" in mixed
    for kind in ("v100", "k80"):
        assert f"<i style='background:{colours[kind]}'></i> {kind}" in mixed, "the colours are named below"
    later = why.page_of(explain(run, "J1", 300.0), run, within_s=(0.0, 9 * 3600.0))
    _, done_s = why.lived_s(run, "J1")
    assert f"title='done, {clock(done_s)} to 9 h'" in later and "done, " not in mixed


def test_what_is_being_tried_has_its_place_from_the_start(work: Waiter, monkeypatch) -> None:
    """So that neither the list of a GPU nor the page of a job moves once rows have been tried."""
    late: list[Callable[[], None]] = []
    monkeypatch.setattr(reasons, "aside", lambda work, hear: late.append(lambda: hear(work())))
    page = opened(work)._results.explained
    while late:
        late.pop()()
    page.look_at("", "fast-0/1", 2700.0)
    page.opened()
    before = page._reasons.told.value
    assert "<ol class='wb-links'><li><b>Rows</b>: each row that binds is being loosened or taken away" in before
    late.pop()()
    after = page._reasons.told.value
    assert "<b>Rows</b> that are met in the problem solved at 30 min" in after
    assert after.count("<li>") == before.count("<li>") and "or taken away" not in after
    page._job.value = "game"
    before = page._reasons.told.value
    assert ">Decisive</span>:</b> each row that binds is being loosened or taken away, " in before
    late.pop()()
    assert re.search(">Decisive</span>:</b> .*>epigraph</abbr>.vision. .no job falls", page._reasons.told.value)
    assert page._reasons.told.value.count("'wb-decisive'") == before.count("'wb-decisive'") == 1
    monkeypatch.setattr(reasons, "decisive_row", lambda *_: None)
    page._job.value = "vision"
    late.pop()()
    assert ">Decisive</span>:</b> none to show." in page._reasons.told.value


def test_a_time_that_cannot_be_asks_nothing(work: Waiter) -> None:
    page = opened(work)._results.explained
    count = len(work.asked)
    page._at.value = "soon"
    page._otherwise._alone.click()
    assert len(work.asked) == count and "'soon' is not a duration" in page._otherwise._said.text


def test_a_hundred_jobs_are_explained_in_a_blink(work: Waiter) -> None:
    from workbench import preset, simulate

    run = simulate(preset("hops_512"), "gavel.max_min_fairness", until_s=7200.0)
    assert len(run.jobs) == 100
    page = ExplainPage(lambda job: None, lambda: None, lambda scheduler: Waiter(), lambda job, weight: None)
    page.show_run(run)
    with calls_at_most(42_000):
        page.opened()
    assert page._reasons.told.value


def test_of_a_gpu_questions_are_about_who_has_it(work: Waiter) -> None:
    lab = opened(work)
    page = lab._results.explained
    page.look_at("", "slow-0/0", 2700.0)
    page.opened()
    assert "has game at 45 min" in page._reasons.told.value and page._otherwise.again.layout.display is None
    page._otherwise._faster.click()
    assert "game is not on v100" in page._otherwise._answer.value
    page.look_at("", "fast-0/1", 2700.0)
    page.opened()
    assert "is idle at 45 min" in page._reasons.told.value and page._otherwise.again.layout.display == "none"


def test_a_time_near_one_that_was_clicked_is_in_the_run_and_on_its_bar() -> None:
    """Three digits of 225.67 s are 226 s, which a run of 225.675 s does not have; bars end between seconds too."""
    data = workbench.preset("start_here").to_dict()
    for job in data["jobs"]:
        job["steps"] *= 1.003 / 40
        job["arrival_s"] = job.get("arrival_s", 0.0) / 40
    run = workbench.simulate(workbench.Scenario.from_dict(data), "fifo", round_s=0.0)
    assert 225.5 < run.end_s < 226
    page = ExplainPage(lambda job: None, lambda: None, lambda scheduler: Waiter(), lambda job, weight: None)
    page.show_run(run)
    for row in run.timeline.itertuples():
        gpu = f"{row.node}/{row.slot}"
        for at_s in (row.start_s, row.end_s - 0.01):
            page.look_at(row.job, gpu, at_s)
            assert SlotAtTime(run, gpu, page.at_s).unit == row.unit, (at_s, page._at.value)
            assert abs(page.at_s - at_s) < 0.5
    page.look_at("", "", run.end_s)
    assert page._typed_s() == run.end_s


def test_reasons_beside_each_other_say_whose_time_it_is() -> None:
    """A run that ended before has its last time; what went wrong with one question is not said of the next."""
    scenario = workbench.preset("start_here")
    runs = (workbench.simulate(scenario, "las"), workbench.simulate(scenario, "las", until_s=60.0))
    beside = ReasonsBeside(lambda job: None)
    beside.show(runs, ("all", "cut"))
    heads, done = [head.value for head in beside._heads], clock(runs[0].jobs["finish_s"].iloc[0])
    assert heads == [
        f"<h4>all: vision is done at {done}</h4>",
        "<h4>cut: vision is not done; the run ends at 1 min</h4>",
    ]
    strips = [re.sub("&[^;]*;", "", one.told.value) for one in beside._reasons]
    ends = [
        re.findall("<div class='wb-strip-ends'><small>(.*?)</small>.*?<small>([^<]*)</small></div>", s) for s in strips
    ]
    assert ends == [[("0 s", done)]] * 2, "both lines of time have one axis"
    assert "wb-decisive" not in "".join(strips), "LAS has no rows to try"
    assert [f"title='end of the run, 1 min to {done}'" in strip for strip in strips] == [False, True]
    beside._say_bad("rows failed")
    beside.select("game")
    assert beside._said.text == ""
    beside.show((runs[1], runs[1]), ("one", "two"))
    assert beside._at.label == "1 min", "the job has not begun by then"
    beside.select("vision")
    assert beside._at.label == "0 s, when it begins"
    asked = [beside._reasons[1].show(runs[1], "vision", 0.0, (0.0, end_s)) for end_s in (90.0, 120.0, 120.0)]
    assert asked == [True, True, False], "the axis follows the other run"
