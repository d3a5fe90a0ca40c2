"""A lab's pages: selection, numbers and exports, playback, and which charts there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import widgets
import workbench
from tests.widgets.lab.support import Waiter, jobs, look_at
from widgets import GavelLab, HadarLab
from widgets.lab.drawings import signal_names, signals_alike
from widgets.lab.highlight import Highlight
from widgets.lab.results import CHARTS, PICTURE
from widgets.lab.words import held, of_job
from workbench import simulate
from workbench.analysis import metrics
from workbench.base.rounding import short_number
from workbench.base.units import format_duration

LABS = {
    "GavelLab": ("start_here", "By GPU"),
    "HareLab": ("hare_example", "Tasks"),
    "ChronusLab": ("chronus_example", "Leases"),
}
"""The picture with which each begins."""


def test_one_selection_for_charts_and_tables(work: Waiter) -> None:
    lab = GavelLab()
    lab.solve()
    work.answer()
    look_at(lab, "JCT")
    lab._results._gantt.view.picked = {"job": "game"}
    assert jobs(lab).selected == 1 and "<b>game</b>" in lab._results._job.value
    jobs(lab)._on_message(jobs(lab), {"kind": "follow", "row": jobs(lab).numbers[2]}, [])
    assert lab._results._gantt.view.selected == "translation" and "follow translation" in jobs(lab).message
    assert lab._results._pages["JCT"].view.selected == "translation"
    look_at(lab, "Received")
    assert lab._results._pages["Received"].view.selected == "translation", "also of one that is opened later"
    jobs(lab).followed(2)
    assert lab._results._gantt.view.selected is None, "once more lets it go"
    jobs(lab).add()
    jobs(lab).followed(3)
    assert lab._results._gantt.view.selected is None and "did not run" in jobs(lab).message
    lab._results._gantt.view.picked = {}


def test_a_warning_of_the_run_stands_below_its_gantt_chart(work: Waiter) -> None:
    lab = GavelLab(scheduler="gavel.max_throughput")
    lab.solve()
    work.answer()
    _, picture, said = lab._results.stage.children
    note = lab._results._note
    assert note in said.children
    assert picture.children == (lab._results._gantt.picture,)
    assert note.value.startswith("<p class='wb-note'>Warning: Rounds did not keep to the shares of time: translation")
    lab.set("gavel.max_min_fairness")
    lab.solve()
    work.answer()
    assert lab.state == "done" and note.value == ""


def test_editing_the_jobs_leaves_the_selection_in_the_charts_alone(work: Waiter) -> None:
    lab = GavelLab()
    jobs(lab).followed(0)
    assert "Solve first" in jobs(lab).message
    lab.solve()
    work.answer()
    for selected in (None, "game"):
        lab._results.select(selected)
        jobs(lab).selected = 2  # where the cursor is
        jobs(lab).edit(2, "weight", "2")
        assert lab._results._gantt.view.selected == selected
    work.answer()
    assert lab._results._gantt.view.selected == "game"


def test_numbers_and_exports_of_every_chart(work: Waiter, folder: Path) -> None:
    lab = GavelLab()
    lab.solve()
    work.answer()
    results = lab._results
    none = ("Rewards", "Clusters", "Plan", "Window", "Gains", "Latency", "Prices", "Signals", "Entities", "Estimator")
    for name in (PICTURE, *CHARTS):
        if name in (*none, "Trade-off"):
            assert name not in results.titles  # the first scenario and scheduler have none
            continue
        results.open(name)
        assert results.opened == "Measures" and results._charts.shown is results._boxes[name]
        page = results._pages.get(name, results._gantt)
        assert page._table.value == ""
        page._numbers.value = True
        assert "<table" in page._table.value
        page._format.value = "csv"
        page.export()
        page.export()
        assert len(list(folder.glob(f"{page._file}-*.csv"))) == 2
        assert str(folder) in page._said.text
    for suffix in ("png", "svg", "html"):
        results._gantt._format.value = suffix
        results._gantt.export()
        assert (folder / f"gantt-1.{suffix}").stat().st_size > 1000


def test_the_table_has_first_the_columns_that_matter(work: Waiter) -> None:
    lab = GavelLab("start_here")
    lab.solve()
    work.answer()
    table = lab._results._table
    lab._results.open("Schedule")
    assert ">Finish<" in table.text.value and not any(f">{head}<" in table.text.value for head in ("Steps", "Weight"))
    table.all.value = True
    assert all(f">{column}<" in table.text.value for column in ("Finish", "Steps", "Weight", "Model"))
    assert "wb-note" not in table.text.value, "of a whole table nothing is to be said"
    lab._results._gantt.view.picked = {"job": "game"}
    assert table.text.value.startswith("<p class='wb-note'>only game</p>")
    lab._results._gantt.view.picked = {}
    table.which.value, table.all.value = "events", False
    assert table.all.layout.display == "none", "it has few"
    first, *rest = workbench.preset("hare_example").jobs
    whole = workbench.preset("hare_example").replace(jobs=[first.model_copy(update={"tasks_per_round": None}), *rest])
    table.which.value = "jobs"
    table.show(workbench.simulate(whole, "hare"), None, Highlight(), lab._results._measured[2])
    assert re.findall(r">(\d+(?: a task)?)</td>", table.text.value)[:3] == ["1", "1 a task", "1 a task"]


def test_playback_shows_less_and_then_all_again(work: Waiter) -> None:
    lab = GavelLab()
    lab.solve()
    work.answer()
    results = lab._results
    assert results._gantt.view.params == {"until": None}
    results.playback.number = 0
    first_s = float(lab.run.decisions["time_s"].iloc[1])
    assert results._gantt.view.params == {"until": first_s}
    assert f"up to {format_duration(first_s)}" in results.playback.label
    lab.set(round_s=720)
    work.answer()
    assert results._gantt.view.params == {"until": None}


def test_charts_with_nothing_to_show_are_left_out_and_the_open_one_stays(work: Waiter) -> None:
    lab = GavelLab()
    lab.solve()
    work.answer()
    results = lab._results
    assert {"Allocation", "Received"} < set(results.titles) and not {"Prices", "Entities"} & set(results.titles)
    for opened, stays in (("Queue", "Queue"), ("Received", "JCT")):
        lab.set("gavel.max_min_fairness")
        work.answer()
        results.open(opened)
        list_before, boxes, lists = results._chart, results._charts.children, results._listed.children
        lab.set("fifo")
        work.answer()
        assert not {"Allocation", "Received"} & set(results.titles) and results.opened == "Measures"
        assert results._chart.value == stays and results._charts.shown is results._boxes[stays]
        # A page that still makes the view of one would fail if it were taken out.
        assert results._charts.children[: len(boxes)] == boxes and results._listed.children[: len(lists)] == lists
        assert list_before.layout.display == "none" and results._listed.shown is results._chart
        assert list_before.options.index("GPUs in use") != results._chart.options.index("GPUs in use")
        list_before.index = list_before.options.index("GPUs in use")  # a page says the number, of the list it had then
        assert results._chart.value == "GPUs in use" and results._charts.shown is results._boxes["GPUs in use"]


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("name", LABS)
def test_every_lab_has_the_same_five_pages_and_begins_with_its_papers_picture(name: str, work: Waiter) -> None:
    scenario, picture = LABS[name]
    lab = getattr(widgets, name)(scenario)
    lab.solve()
    work.answer()
    assert lab._results.pages.titles == ("Schedule", "Model", "Why", "Measures", "Vary")
    assert lab._results._by.options[0] == lab._results._by.value == picture
    assert lab._results._gantt.drawing is not None and not lab._frame.setup.value
    lab._results.open("By job")
    lab._results.show(lab.run)
    assert lab._results._by.value == "By job", "what was chosen stays"
    results, many = lab._results, name == "ChronusLab"
    assert (results._many.layout.display is None) == many == (len(results._gantt.picture.children) > 1)
    if many:
        results._colour.value, results._find.value = "outcome", "1"
        named = [job for job in lab.run.jobs["job"] if "1" in job]
        assert results._gantt.view.selected == named and f"{len(named)} jobs have 1" in results._hits.value
        assert "finished" in results._gantt.drawing.data["key"]["text"].tolist()
        results._find.value = named[0]
        assert results.selected == named[0] and results._gantt.picture._overview.selected == named[0]
        results._find.value = "1"
        results._shaded.click()
        assert results.selected == named[0] and not results._find.value + results._hits.value
        assert results._shaded.layout.display == "none"


def test_a_closed_list_tells_two_rules_of_one_name_apart() -> None:
    """Twenty letters are seen where it is narrow."""
    seen = [title[:20] for title, _ in GavelLab()._choice.widget.options]
    assert len(set(seen)) == len(seen)


def test_what_checkpoints_and_migrations_a_schedule_takes_is_measured(work: Waiter) -> None:
    lab = GavelLab("start_here")
    lab.solve()
    work.answer()
    lab._results.open("Measures")
    assert lab.run.jobs["moves"].sum() > 0 and ">Moves<" in lab._results.compared.measures.value


def test_the_job_with_the_largest_finish_time_fairness_is_named(work: Waiter) -> None:
    """Among the measures, and the fairness of each job beside its time and in the table of jobs."""
    lab = GavelLab("start_here")
    lab.solve()
    work.answer()
    found = metrics.per_job(lab.run)[["job", "finish_time_fairness"]].to_numpy().tolist()
    worst, most = max(found, key=lambda each: each[1])
    compared = lab._results.compared
    assert f">{short_number(most)} ({worst})<" in compared.measures.value
    for text in (compared.jobs.value, lab._results._table.text.value):
        rows = re.findall("<tr><td.*?</tr>", text)
        assert all(
            f">{job}<" in row and f">{short_number(rho)}<" in row for (job, rho), row in zip(found, rows, strict=True)
        )


def test_the_allocation_opens_at_the_first_decision_with_all_jobs(work: Waiter) -> None:
    lab = GavelLab("gavel_example")
    lab.solve()
    work.answer()
    results = lab._results
    results.open("Allocation")
    page, jobs = results._pages["Allocation"], set(lab.run.jobs["job"])
    assert page.drawing is not None and set(page.drawing.table["unit"]) == jobs
    results.playback.number = results.playback.last - 1
    assert len(set(page.drawing.table["unit"])) < len(jobs)


def test_recorded_signals_and_entities_have_charts(work: Waiter) -> None:
    lab = GavelLab()
    lab._scenario.editors.tables["entities"].add()
    lab._scenario.editors.tables["jobs"].edit(0, "entity", lab._scenario.editors.tables["entities"].rows[0]["name"])
    lab.set("gavel.finish_time_fairness")
    lab.solve()
    work.answer()
    results = lab._results
    results.open("Signals")
    drawing = results._pages["Signals"].drawing
    assert drawing is not None and set(drawing.table["signal"]) == {"rho"}
    assert set(drawing.table["job"]) == set(lab.run.jobs["job"])
    results.open("Entities")
    drawing = results._pages["Entities"].drawing
    assert drawing is not None and lab._scenario.editors.tables["entities"].rows[0]["name"] in set(
        drawing.table["group"]
    )


def test_prices_have_a_chart_of_their_own(work: Waiter) -> None:
    lab = HadarLab("hadar_example")
    lab.set("hadar")
    lab.solve()
    work.answer()
    results = lab._results
    results.open("Prices")
    drawing = results._pages["Prices"].drawing
    assert drawing is not None and set(drawing.table["series"]) == {"v100", "p100", "k80"}
    results.open("Signals")
    drawing = results._pages["Signals"].drawing
    assert drawing is not None and set(drawing.table["signal"]) == {"payoff", "utility"}


def test_received_of_one_job_is_a_part_of_received_of_all(work: Waiter) -> None:
    lab = GavelLab("gavel_physical")
    lab.solve()
    work.answer()
    results = lab._results
    results.open("Received")
    page = results._pages["Received"]
    assert page.drawing is not None
    whole = page.drawing.table
    job = lab.run.jobs["job"].iloc[7]
    results.select(job)
    part = whole[whole["unit"] == job].reset_index(drop=True)
    assert len(part) and page.drawing.table.equals(part)


def test_a_bar_is_told_with_its_restart_and_what_the_job_holds_there() -> None:
    """Hops gives speech one GPU at first, and after a pause two, of which the bar is one."""
    run = workbench.simulate("preset:hops_example", "hops")
    told = "fast-0/1 (rtx3090), one of 2 GPUs, from 15 min (restart until 15 min 10 s) to 20 min 14 s"
    assert held(run, "fast-0/1", 1060.0) == told
    assert held(run, "slow-0/1", 500.0) == "slow-0/1 (rtx3090) from 5 min 25 s to 10 min"
    run = workbench.simulate("preset:start_here", "gavel.max_min_fairness")
    assert of_job(run, "game", "").endswith("lost its GPUs 2 times, moved at once 5 times"), "a sixth is after a loss"


# Which signals the tab Signals shows together at first: those that can be read on one axis


@pytest.mark.parametrize(
    ("preset", "scheduler", "names", "alike"),
    [
        ("hadar_example", "hadar", ["payoff", "utility"], True),
        ("hadar_lab", "hadare", ["copies", "last_round_steps", "payoff"], False),  # up to 5, and tens of thousands
        ("start_here", "fifo", [], True),
    ],
)
def test_signals_of_one_magnitude_are_alike(preset: str, scheduler: str, names: list[str], alike: bool) -> None:
    run = simulate(f"preset:{preset}", scheduler)
    assert sorted(signal_names(run)) == names and signals_alike(run) is alike
