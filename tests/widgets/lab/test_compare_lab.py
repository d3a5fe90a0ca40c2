"""The lab that sets schedulers side by side: what it asks for, and what it shows and says as runs end or fail."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import widgets.work.many
import workbench
from tests.widgets.lab.support import run, until
from widgets import CompareLab
from widgets.editors.core_panel import SHARING
from widgets.editors.scheduler_choice import short_titles
from widgets.work.drawing_pace import Paced
from widgets.work.workplace import Message
from workbench.analysis.charts.theme import time_unit
from workbench.analysis.explanation import explain
from workbench.analysis.metrics.declared import MAIN
from workbench.analysis.metrics.summary import amount
from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario
from workbench.session.many_runs import RunRequest, attempt
from workbench.simulation.run import Run

THREE = ["fifo", "las", "srtf"]
FIFO = "Usual: first in, first out"


class Waiter:
    """Stands in for the labs' process: keeps a batch until a test says which of its runs end."""

    def __init__(self) -> None:
        self.asked: list[tuple[Message, Callable[[Message], None]]] = []
        self.cancelled = 0

    def submit(self, request: Message, hear: Callable[[Message], None], asker: Any = None) -> None:
        self.asked.append((json.loads(json.dumps(request)), hear))

    def cancel(self, asker: Any = None) -> None:
        self.cancelled += 1

    def end(self, *numbers: int, done: bool = False) -> None:
        """These runs end, so soon after each other that the last one alone is drawn; done: and with them the batch."""
        request, hear = self.asked[-1]
        draw = Paced.ask
        for number in numbers:
            asked = request["requests"][number]
            scenario = Scenario.from_dict(request["scenarios"][asked["scenario"]])
            found = attempt(RunRequest(**{**asked, "scenario": scenario}))
            told = {"run": found} if isinstance(found, Run) else found.as_json()
            with mock.patch.object(Paced, "ask", draw if number == numbers[-1] else lambda paced: None):
                hear({"kind": "progress", "number": number, **told})
        if done:
            hear({"kind": "done", "wall_s": 1.0})

    def end_all(self) -> None:
        self.end(*range(len(self.asked[-1][0]["requests"])), done=True)


@pytest.fixture
def waiter(monkeypatch: pytest.MonkeyPatch) -> Waiter:
    found = Waiter()
    monkeypatch.setattr(widgets.work.many, "process_work", lambda: found)
    return found


def titles(lab: CompareLab) -> tuple[str, ...]:
    found: tuple[str, ...] = lab._results.pages.titles
    return found


def opened(lab: CompareLab) -> str:
    return titles(lab)[lab._results.pages.selected_index or 0]


def in_sight(lab: CompareLab) -> list[Any]:
    return [box for box in lab._results._stack.children if (box.layout.display, box.layout.visibility) == (None, None)]


def look_at(lab: CompareLab, tab: str) -> None:
    lab._results.pages.selected_index = titles(lab).index(tab)


def test_the_plan_of_the_scenario_is_what_it_opens_with(waiter: Waiter) -> None:
    lab = CompareLab()
    assert lab.scenario == workbench.preset("start_here") and len(lab.schedulers) == 5, "one of each paper"
    lab = CompareLab("compare_mixed")
    assert [name for name, _ in lab.schedulers] == [plan.scheduler for plan in lab.scenario.schedulers]
    assert (lab.state, lab.status) == ("ready", "Press Compare.")
    with pytest.raises(InputError, match="press Compare first"):
        _ = lab.comparison


def test_what_is_small_is_compared_as_it_is_opened_unless_something_was_set(waiter: Waiter) -> None:
    async def story() -> None:
        lab, edited, large = CompareLab("start_here", THREE), CompareLab("start_here"), CompareLab("compare_mixed")
        edited.set(THREE)
        await until(lambda: lab.state == "working")
        assert (edited.state, large.state) == ("edited", "ready")
        for other in (edited, large):
            other._compare_small()
        assert (edited.state, large.state) == ("edited", "ready")

    run(story)


@pytest.mark.usefixtures("heard")
def test_runs_appear_as_they_end_and_are_those_of_compare(waiter: Waiter) -> None:
    lab = CompareLab("start_here", THREE)
    lab.compare()
    assert lab.state == "working"
    waiter.end(1)
    assert lab.status.startswith("Comparing: 1 of 3 runs") and len(in_sight(lab)) == 1
    assert all(box.layout.display is None for box in lab._results._stack.children), "each has its place already"
    assert "waiting" in lab._results._measures.value
    waiter.end(0)
    lab._results.refresh()
    assert lab._results._best.value == "<p>2 of 3 runs so far.</p>"
    assert "aria-label='best'" not in lab._results._measures.value
    waiter.end(2, done=True)
    assert lab.state == "done" and lab.status.startswith("Done: 3 schedulers, 3 runs")
    expected = workbench.compare("preset:start_here", THREE)
    assert lab.comparison.runs == expected.runs and lab.comparison.cases == expected.cases
    assert len(in_sight(lab)) == 3 and "waiting" not in lab._results._measures.value


def test_all_gantts_have_one_axis_selection_and_playback_and_every_tab_shows_something(waiter: Waiter) -> None:
    lab = CompareLab("start_here", THREE)
    lab.compare()
    waiter.end_all()
    pages = [lab._results._gantts[name] for name in THREE]
    ends = {page.drawing.data["span"]["t"].max() for page in pages if page.drawing is not None}
    longest = max(found.end_s for found in lab.comparison.runs)
    assert len(ends) == 1 and ends.pop() == pytest.approx(longest / time_unit(longest).seconds)
    keys = [text for page in pages for text in page.drawing.data["key"]["text"].unique()]  # type: ignore[union-attr]
    assert len(keys) == len({*keys}) and {"vision", "game", "translation", "preempted"} <= {*keys}, "each sign once"
    pages[1].view.picked = {"job": "game"}
    assert [page.view.selected for page in pages] == ["game"] * 3 and lab._results.selected == "game"
    called = {name: title for title, name in short_titles()}
    assert all(f"{called[name]}: " in lab._results._job.value for name in THREE), "as in the list of schedulers"
    assert pages[1].drawing is not None and pages[1].drawing.chart.to_dict()["title"]["text"] == called[THREE[1]]
    lab._results.playback.number = 1
    until_s = {page.view.params["until"] for page in pages}
    assert len(until_s) == 1 and None not in until_s
    pages[1].view.picked = {}
    assert {page.view.selected for page in pages} == {None}
    for tab in titles(lab):
        look_at(lab, tab)
    for page in (lab._results._jct, lab._results._latency, lab._results._trade_off._page):
        assert page.drawing is not None and len(page.drawing.table) >= 3
    drawn = set(lab._results._jct.drawing.table["run"])  # type: ignore[union-attr]
    assert drawn == {FIFO, "Least attained service", "Shortest remaining time first"}


def test_each_gantt_may_have_its_own_time_axis(waiter: Waiter) -> None:
    names = ["las", "gavel.max_min_fairness"]
    lab = CompareLab("start_here", names)
    lab.compare()
    waiter.end_all()
    lab._results._own_axes.value = True
    for name, found in zip(names, lab.comparison.runs, strict=True):
        drawing = lab._results._gantts[name].drawing
        assert drawing is not None
        assert drawing.data["span"]["t"].max() == pytest.approx(found.end_s / time_unit(found.end_s).seconds)
    assert len({found.end_s for found in lab.comparison.runs}) > 1
    lab._results._own_axes.value = False
    drawings = [lab._results._gantts[name].drawing for name in names]
    assert len({drawing.data["span"]["t"].max() for drawing in drawings if drawing is not None}) == 1


def test_a_measure_that_says_nothing_of_a_scheduler_is_not_called_unknown(waiter: Waiter) -> None:
    lab = CompareLab("compare_mixed", ["chronus", "srtf"])
    lab.compare()
    waiter.end_all()
    (row,) = re.findall(r"<tr><th[^>]*>(?:(?!</tr>).)*Broken guarantees.*?</tr>", lab._results._measures.value)
    cells = re.findall(r"<td[^>]*>(.*?)</td>", row)
    assert cells[0].isdigit() and cells[1] == "does not apply"
    assert "unknown" not in re.sub("<[^>]*>", "", lab._results._measures.value)


def test_a_scheduler_that_cannot_handle_the_scenario_says_why_in_its_row(waiter: Waiter) -> None:
    lab = CompareLab("start_here", ["fifo", ("gavel.max_min_fairness", {"space_sharing": True})])
    lab.compare()
    waiter.end_all()
    assert lab.state == "done" and "1 failed" in lab.status
    page = lab._results._measures.value
    assert "failed: Tick" in page and SHARING in page and page.count("wb-why") == 1
    assert "at the bottom of the tab For all:" in page and "For all" in lab._tabs.titles
    assert lab.comparison.labels == ("fifo",) and len(lab.comparison.failed) == 1


def test_the_best_of_each_measure_is_marked_and_warnings_stand_below(waiter: Waiter) -> None:
    lab = CompareLab("start_here", ["fifo", "las", "gavel.max_throughput", "hare"])
    lab.compare()
    waiter.end_all()
    best = lab.comparison.best()
    page = lab._results._measures.value
    called = {name: title for title, name in short_titles()}
    first = f"<p>One run each: Mean JCT is lowest with <b>{called[best['mean_jct_s'].idxmax()]}</b> ("
    assert lab._results._best.value.startswith(first)
    shown = [n for n in ("mean_jct_s", "makespan_s", "utilisation", "max_finish_time_fairness") if best[n].any()]
    assert shown and page.count("aria-label='best'") >= len(shown) and page.count("Runs each") == 1
    assert "Warning (Gavel: maximum total throughput): Rounds did not keep" in page and "(Hare) do not count" in page


def test_an_edit_makes_the_charts_old_and_undoing_it_new_again(waiter: Waiter) -> None:
    lab = CompareLab("start_here", THREE)
    lab.compare()
    waiter.end_all()
    lab.set(["fifo", "las"])
    assert (lab.state, lab.status) == ("edited", "Edited, not compared.")
    assert "before your last change" in lab._results._note.value
    lab.set(THREE)
    assert lab.state == "done" and not lab._results._note.value
    lab.set(["fifo"])
    assert lab.state == "edited"
    lab._frame.undo.click()
    assert lab.state == "done" and not lab._results._note.value


def test_an_edit_during_the_runs_is_said_when_they_end(waiter: Waiter) -> None:
    lab = CompareLab("start_here", THREE)
    lab.compare()
    lab.set(["fifo", "las"])
    assert lab.state == "edited"
    waiter.end_all()
    assert (lab.state, lab.status) == ("edited", "Edited since, not compared.") and not lab._bar.busy


def test_cancel_keeps_what_has_ended(waiter: Waiter) -> None:
    lab = CompareLab("start_here", THREE)
    lab.compare()
    waiter.end(2)
    lab._bar.cancel.click()
    assert (lab.state, lab.status) == ("cancelled", "Cancelled: 1 of 3 runs made.") and waiter.cancelled
    assert lab.comparison.labels == ("srtf",) and not lab._bar.busy
    assert (measures := lab._results._measures.value).count(">not run<") == 2 and "waiting" not in measures
    lab.compare()
    waiter.end_all()
    assert lab.state == "done"


def test_cancelled_before_any_run_ended_no_chart_of_the_comparison_before_stays(waiter: Waiter) -> None:
    lab = CompareLab("start_here", THREE)
    lab.compare()
    waiter.end_all()
    for name in titles(lab):
        look_at(lab, name)
    shown = lab._results
    pages = (shown._difference.box, shown._trade_off.box, shown._charts, shown._played)
    assert all(box.layout.display is None for box in pages) and not shown._none.value
    lab.set(["fifo", "las"])
    lab.compare()
    lab._bar.cancel.click()
    assert all(box.layout.display == "none" for box in pages) and not in_sight(lab)
    assert "No run to show yet; the page Measures" in shown._none.value and not shown._job.value
    lab.compare()
    waiter.end_all()
    assert all(box.layout.display is None for box in pages) and not shown._none.value


def test_a_seed_without_a_run_shows_no_other_seeds_charts(waiter: Waiter) -> None:
    lab = CompareLab("start_here", ["fifo", "las"])
    lab.set(seeds=2)
    lab.compare()
    first = [n for n, asked in enumerate(waiter.asked[-1][0]["requests"]) if asked["seed"] == lab.scenario.seed]
    waiter.end(*first)
    look_at(lab, "Measures")
    lab._results._seed.value = lab.scenario.seed + 1
    assert lab._results._charts.layout.display == "none" and "seed" in lab._results._none.value
    lab._results._seed.value = lab.scenario.seed
    assert lab._results._charts.layout.display is None and not lab._results._none.value


def test_means_over_fewer_seeds_than_asked_for_are_said(waiter: Waiter) -> None:
    lab = CompareLab("start_here", ["fifo", "las"])
    lab.set(seeds=3)
    lab.compare()
    names = [asked["scheduler"] for asked in waiter.asked[-1][0]["requests"]]
    waiter.end(names.index("fifo"))
    waiter.end(*(n for n, name in enumerate(names) if name == "las"))
    assert lab._results._measures.value.count(" runs<") == lab._results._measures.value.count("1 of 3 runs<") == 1
    look_at(lab, "Vary")
    drawing = lab._results._trade_off._page.drawing
    assert drawing is not None
    assert list(drawing.data["points"]["name"]) == [f"{FIFO} (1 of 3 runs)", "Least attained service"]
    waiter.end(*(n for n, name in enumerate(names) if name == "fifo"), done=True)
    assert " runs<" not in lab._results._measures.value


def test_several_seeds_give_means_and_paired_ratios(waiter: Waiter) -> None:
    scenario = workbench.preset("start_here").replace(core={"faults": {"mtbf_s": 4000, "mttr_s": 600}})
    lab = CompareLab(scenario, ["fifo", "srtf"])
    lab.set(seeds=3)
    lab.compare()
    waiter.end_all()
    assert lab.comparison.runs == workbench.compare(scenario, ["fifo", "srtf"], seeds=[0, 1, 2], bootstrap=True).runs
    pair = lab.comparison.paired().set_index("measure").loc["mean_jct_s"]
    said = f"&times;&nbsp;{pair.ratio:.2f} ({pair.ratio_low:.2f}&nbsp;to {pair.ratio_high:.2f})"
    assert said in lab._results._measures.value and "Bonferroni" in lab._results._measures.value
    assert "Means of 3 seeds, their jobs drawn anew, which may" in lab._results._best.value
    unsure = {row.measure for row in lab.comparison.paired_as_read().itertuples() if row.unsure}
    best, page = lab.comparison.best(), lab._results._measures.value
    assert "mean_jct_s" in unsure and best["mean_jct_s"].any(), "the mean is lower, by chance as far as is shown"
    assert page.count("aria-label='best'") == sum(best[name].any() for name in {*MAIN} - unsure)
    assert (
        "best in its row, none where that may be chance (≈)" in page
        and "may be chance'>≈<" in page
        and f"× ratio to {FIFO}" in page
        and "the geometric mean of the seeds&#x27; (not the ratio of the means; the plain mean if one is 0)" in page
    )
    deviation_s = lab.comparison.spread()["mean_jct_s"]["srtf"]
    assert f"&plusmn;&nbsp;{amount(deviation_s, 's')}" in lab._results._measures.value
    assert list(lab._results._seed.options) == [0, 1, 2] and "one run each" not in page
    first = lab._results._gantts["fifo"].drawing
    lab._results._seed.value = 2
    assert lab._results._gantts["fifo"].drawing is not first
    look_at(lab, "Vary")
    drawing = lab._results._trade_off._page.drawing
    assert drawing is not None and drawing.data["points"]["x_spread"].gt(0).any()


def test_seeds_that_draw_nothing_give_ratios_alone(waiter: Waiter) -> None:
    lab = CompareLab("start_here", ["fifo", "las"])
    lab.set(seeds=3, bootstrap=False)
    lab.compare()
    waiter.end_all()
    said = lab._results._measures.value + lab._results._best.value
    assert "Every seed gave the same measures" in said and "&times;" in said
    more = lab.comparison.paired().set_index("measure").loc["preemptions"]
    assert more.difference > 0 and f">+{more.difference:g}</div>" in said, "a ratio to FIFO's none there is not"
    assert not any(word in said for word in ("&plusmn;", "Bonferroni", "Means of 3 seeds"))


def test_ratios_are_to_the_scheduler_that_a_person_chooses(waiter: Waiter) -> None:
    lab = CompareLab("start_here", THREE)
    lab.set(seeds=2)
    lab.compare()
    against = lab._results._against
    waiter.end(5)
    assert against.value == "srtf", "all that there is"
    waiter.end(0, 1, 2, 3, 4, done=True)
    assert against.value == "fifo" and against.layout.display is None
    assert f"its ratio to {FIFO}" in lab._results._measures.value
    against.value = "srtf"
    said = lab._results._measures.value
    assert "its ratio to Shortest" in said
    ratios = lab.comparison.paired("srtf").set_index(["scheduler", "measure"])["ratio"]
    assert f"&times;&nbsp;{ratios['fifo', 'mean_jct_s']:.2f}" in said
    lab.set(["srtf", "fifo"])
    lab.compare()
    waiter.end_all()
    assert against.value == "srtf"  # it stays while it is there


def test_each_scheduler_runs_with_two_beliefs_where_two_are_chosen(waiter: Waiter) -> None:
    lab = CompareLab("start_here", ["fifo", "hops"])
    lab._beside.value = "paper"
    lab.compare()
    waiter.end_all()
    expected = workbench.compare("preset:start_here", ["fifo", "hops"], belief=["oracle", "paper"])
    assert lab.comparison.runs == expected.runs and lab.comparison.labels == expected.labels
    assert lab.comparison.beliefs["hops, paper"] == "nodes"
    assert "Hops: prior-weighted plans, oracle: True speeds of GPU types" in lab._results._measures.value
    lab.set(belief=["nodes", "noisy:sd=0.5"])
    assert lab._beside.value == "noisy:sd=0.5" and lab._scenario.belief.belief == "nodes"
    lab.compare()
    waiter.end_all()
    assert set(lab.comparison.beliefs.values()) == {"nodes", "noisy:sd=0.5"}
    lab.set(belief="oracle")
    assert lab._beside.value == ""
    with pytest.raises(InputError, match="or two of them"):
        lab.set(belief=["oracle", "nodes", "pmi"])


def test_the_difference_names_winners_losers_and_when_they_part(waiter: Waiter) -> None:
    lab = CompareLab("start_here", ["fifo", "srtf"])
    lab.compare()
    waiter.end_all()
    look_at(lab, "Why")
    page = lab._results._difference
    found = workbench.analysis.metrics.job_differences(*lab.comparison.runs)
    drawing = page._page.drawing
    assert drawing is not None and drawing.table["job"].tolist() == found.sort_values("difference_s")["job"].tolist()
    sooner = int((found["sooner"] == "after").sum())
    assert f"{sooner} job" in page._said.value and "The schedules part at" in page._said.value
    lab._results.select("game")
    assert page._reasons._at.label == "1 h 30 min, when it first has other GPUs", "why, in the words of a lab's page"
    before, after = lab.comparison.runs
    for one, made in zip(page._reasons._reasons, (before, after), strict=True):
        assert explain(made, "game", 5400.0).summary.partition(". ")[0] in one.told.value
    page._which[1].value = "fifo"
    assert "never part" in page._said.value and "first has" not in page._reasons._at.label
    lab._results.select(None)
    drawing_before = page._page.drawing
    page._page.view.picked = {"job": "game"}
    assert lab._results.selected == "game" and page._page.drawing is drawing_before


def test_the_difference_is_of_the_first_two_whichever_ends_first_until_a_person_chooses(waiter: Waiter) -> None:
    lab = CompareLab("start_here", THREE)
    which = lab._results._difference._which
    lab.compare()
    for number in (2, 1, 0):
        waiter.end(number)
    assert [choice.value for choice in which] == ["fifo", "las"]
    which[0].value = "srtf"
    lab.set(seeds=2)
    lab.compare()
    waiter.end(0, 2)
    assert [choice.value for choice in which] == ["fifo", "las"], "srtf has no run yet"
    waiter.end(4)
    assert [choice.value for choice in which] == ["srtf", "las"]


def test_what_each_scheduler_reads_and_what_it_leaves_aside(waiter: Waiter) -> None:
    lab = CompareLab("compare_mixed")
    lab.compare()
    page = lab._results._reads.value.replace("<wbr>", "")
    for label, name in ((name, name) for name, _ in lab.schedulers):
        row = page[page.index(f"title='{label}'") :].split("</tr>")[0]
        assert row.count("ignores") == len(workbench.ignored(lab.scenario, name))
        assert row.count("with other knobs") == (2 if name == "hadar" else 0)
    assert "Elastic sizes" in page and "Deadlines" in page


def test_own_schedulers_take_part(waiter: Waiter) -> None:
    async def story() -> None:
        @workbench.scheduler("test-compare-own", round_s=60)
        def decide(snapshot: Any, memory: Any, knobs: Any, rng: Any) -> Any:
            """Gives nobody anything."""
            return workbench.Decision(), None

        lab = CompareLab("start_here", ["test-compare-own", "fifo"])
        lab.compare()
        waiter.end_all()
        await until(lambda: lab.state == "done")
        assert [case.label for case, _ in lab.comparison.failed] == ["test-compare-own"]
        assert "simulation at" in lab._results._measures.value  # stalled, in its row

    run(story)


def test_the_list_can_be_edited_by_hand(waiter: Waiter) -> None:
    lab = CompareLab("start_here", ["fifo", "las"])
    rows = lab._list._rows
    rows[0].knobs.value = True
    panel = rows[0]._panel
    assert panel is not None
    panel.set({"round_s": 60.0})
    panel._on_change(next(knob for knob in workbench.find_scheduler("fifo").knobs if knob.name == "round_s"))
    assert lab.schedulers == [("fifo", {"round_s": 60.0}), ("las", {})] and lab.state == "edited"
    assert "round_s = 60.0" in rows[0]._said.value
    rows[1].choice.value = "srtf"
    assert lab.schedulers[1] == ("srtf", {})
    lab._list._add.click()
    assert len(lab.schedulers) == 3
    lab._list._rows[2].choice.value = "srtf"
    assert lab.state == "invalid" and "once" in lab.status
    lab._list._on_remove(lab._list._rows[2])
    assert lab.state == "edited"
    boxes = lab._list._list.children  # those beside what is gone, or as it was, stay: a click on them is not lost
    lab._list.show(lab._list.entries)
    assert boxes[2].layout.display == "none" and lab._list._list.children == boxes[:2]
    lab._list.show([])
    lab._on_change()
    assert lab.state == "invalid" and "at least one" in lab.status


def test_save_writes_the_schedulers_as_the_plan_and_load_brings_them_back(waiter: Waiter, tmp_path: Path) -> None:
    """Loading what was just saved leaves the charts as new."""
    lab = CompareLab("start_here", ["fifo", ("las", {"round_s": 60.0})])
    lab.compare()
    waiter.end_all()
    lab._frame.file.save()
    text = (tmp_path / "scenario.json").read_bytes()
    saved = Scenario.from_json(text.decode())
    assert [(plan.scheduler, dict(plan.knobs)) for plan in saved.schedulers] == lab.schedulers
    assert CompareLab(str(tmp_path / "scenario.json")).schedulers == lab.schedulers
    lab._frame.file.load([{"name": "scenario.json", "content": memoryview(text)}])
    assert lab.schedulers == [("fifo", {}), ("las", {"round_s": 60.0})]
    assert lab.scenario.schedulers and lab.state == "done" and not lab._results._note.value
    other = saved.replace(name="another")
    lab._frame.file.load([{"name": "other.json", "content": memoryview(other.to_json().encode())}])
    assert lab.state == "ready" and "before your last change" in lab._results._note.value


def test_playback_stays_where_it_is_while_runs_end(waiter: Waiter) -> None:
    lab = CompareLab("start_here", THREE)
    lab.compare()
    waiter.end(0)
    playback = lab._results.playback
    assert playback.until_s is None
    waiter.end(1)
    assert playback.until_s is None, "at the end it stays at the end"
    playback.number, playback.playing = 2, True
    stood_s = playback.until_s
    drawn = lab._results._gantts["fifo"].drawing
    waiter.end(2, done=True)
    assert playback.until_s == stood_s is not None and playback.playing
    assert {lab._results._gantts[name].view.params["until"] for name in THREE} == {stood_s}
    ends = {run.end_s for run in lab.comparison.runs}
    assert len(ends) > 1 or lab._results._gantts["fifo"].drawing is drawn, "drawn again only for another axis"
    lab.set(seeds=2)
    lab.compare()
    waiter.end_all()
    assert playback.until_s is None and not playback.playing, "of another comparison it stands at the end"


def test_labels_that_the_list_cannot_show_and_wrong_seeds_are_refused(waiter: Waiter) -> None:
    lab = CompareLab("start_here", THREE)
    for act in (lab.set, lambda given: lab.open(lab.scenario, given)):
        with pytest.raises(InputError, match="labels are for workbench"):
            act({"old": "las"})
    wrong: tuple[Any, ...] = (0, True, 31, 1.5)
    for each in wrong:
        with pytest.raises(InputError, match="seeds"):
            lab.set(seeds=each)
    assert [name for name, _ in lab.schedulers] == THREE and lab._seeds.value == 1


def test_a_wrong_cell_and_a_table_without_jobs_are_said_and_cannot_be_compared(waiter: Waiter) -> None:
    lab = CompareLab("start_here", THREE)
    table = lab._scenario.jobs
    table.rows = [{**table.rows[0], "gpus": 0}, *table.rows[1:]]
    lab._on_change()
    assert lab.state == "invalid" and "Jobs, row 1, GPUs" in lab.status and lab._bar.solve.disabled
    lab.compare()
    assert not waiter.asked
    table.rows = []
    lab._on_change()
    assert lab.status == "Jobs: got nothing; expected at least one job in the table" and lab._bar.solve.disabled
    assert lab.scenario.jobs == (), "it can be saved as it is"


def test_undo_and_redo_go_through_schedulers_jobs_and_runs_each(waiter: Waiter) -> None:
    lab = CompareLab("start_here", ["fifo", "las"])
    start = lab.scenario
    assert lab._frame.undo.disabled and lab._frame.redo.disabled
    lab._list._rows[0].knobs.value = True
    lab.set(["fifo", ("las", {"round_s": 60.0})])
    lab._scenario.editors.tables["jobs"].edit(0, "steps", "1000")
    lab.set(seeds=3)
    lab._scenario.editors.tables["jobs"].edit(0, "gpus", "none")
    assert lab.state == "invalid"
    lab._frame.undo.click()
    assert lab.state == "edited" and lab.scenario.jobs[0].steps == 1000 and lab._seeds.value == 3
    lab._frame.undo.click()
    assert lab._seeds.value == 1
    lab._frame.undo.click()
    assert lab.scenario == start and lab.schedulers == [("fifo", {}), ("las", {"round_s": 60.0})]
    lab._frame.undo.click()
    assert lab.schedulers == [("fifo", {}), ("las", {})] and lab._frame.undo.disabled
    assert lab._list._rows[0].knobs.value, "knobs that were open stay open"
    for _ in range(3):
        lab._frame.redo.click()
    assert lab._seeds.value == 3 and lab.scenario.jobs[0].steps == 1000 and lab._frame.redo.disabled
    lab.open(workbench.preset("gavel_example"))
    lab._frame.undo.click()
    assert lab.scenario.jobs[0].steps == 1000


def test_it_is_presented_tab_by_tab_beginning_with_the_schedules(waiter: Waiter) -> None:
    lab = CompareLab("start_here", THREE)
    bar = lab._frame.presenter.bar
    bar.on = True
    assert bar.titles == ["Schedule"] and "Press Compare" in lab._results._none.value, "what to do is said"
    lab.compare()
    assert bar.titles == [*titles(lab)], "what is set up is not presented"
    waiter.end_all()
    bar.on = False
    look_at(lab, "Measures")
    bar.on = True
    assert bar.titles[bar.number] == "Schedule" and opened(lab) == "Schedule"
    bar.number = bar.titles.index("Vary")
    assert opened(lab) == "Vary" and lab._results._trade_off._page.drawing is not None
    bar.on = False
    assert opened(lab) == "Measures"


def test_long_labels_are_in_lines_and_whole_on_hover(waiter: Waiter) -> None:
    plain = {"heterogeneity_aware": False, "blocking": False}
    lab = CompareLab("start_here", [("fifo", {**plain, "round_s": 60.0}), ("fifo", {**plain, "round_s": 3600.0})])
    lab.compare()
    waiter.end_all()
    (first, page), _ = lab._results._gantts.items()
    assert page.drawing is not None
    lines = page.drawing.chart.to_dict()["title"]["text"]
    said = first.replace("fifo", FIFO, 1)
    assert len(lines) > 1 and " ".join(lines) == said and max(map(len, lines)) <= 30
    look_at(lab, "Why")
    chosen = lab._results._difference._which
    assert [choice.tooltip for choice in chosen] == list(lab._results._gantts)
