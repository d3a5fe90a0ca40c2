"""The page Model: an algorithm's decision step by step, the exact problem beside it, symbols and their places."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pyomo.environ as pyo
import pytest

import workbench
from tests.simulation.support import with_tables
from tests.widgets.lab.support import Waiter, solve, until
from tests.widgets.lab.support import run as in_loop
from widgets import GavelLab, HadarLab
from widgets.lab import rows_panel
from widgets.lab.formulation_page import FormulationPage, steps
from widgets.lab.results import drawings
from widgets.lab.rows_panel import RIGHT, UNCHANGED, RowsPanel
from widgets.lab.rows_text import cell, found_at, in_none, notes, of_decision, refused, variables
from workbench.analysis.rows.edit import RowEdit
from workbench.analysis.rows.stated import solved
from workbench.base.errors import WorkbenchError
from workbench.scheduling.notation import numbered, values
from workbench.simulation.run import Run
from workbench.simulation.stop import RunCancelledError


def cells(page: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", page)[1:]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]


def test_a_decision_of_an_algorithm_is_told_job_by_job_in_its_order() -> None:
    run = workbench.simulate("preset:hadar_example", "hadar")
    page = steps(run, 700.0)
    reasons = run.reasons[run.reasons["decision"] == 0]
    assert [row[0] for row in cells(page)] == reasons["job"].tolist() == ["J1", "J2", "J3"]
    assert [html.unescape(row[-1]) for row in cells(page)] == reasons["text"].tolist()
    assert cells(page)[2][:3] == ["J3", "26", "26"], "outbid, of a utility at the prices of the round's start"
    assert "Decided at 0 s" in page
    prices = re.sub(r"<[^>]*>", "", page)
    assert "Price of v100 14.5" in prices and "utility per GPU and round" in prices, "they are of no single job"
    assert re.search("title='What a job, or one more copy of it, is worth: [^']*'>Payoff<", page)
    assert "Decided at 12 min" in steps(run, 720.0)
    assert re.findall("'wb-lit'><td[^>]*>J2", steps(run, 700.0, "J2")), "of whom the page is"
    assert "wb-lit" not in steps(run, 700.0, ("gpu", "v100-0/0"))
    assert [row[0] for row in cells(steps(workbench.simulate("preset:hare_example", "hare"), 0.0))] == [
        "J3",
        "J1",
        "J2",
    ]
    timed = with_tables(run, reasons=reasons.assign(text="as it was told: 670.198 s"))
    assert cells(steps(timed, 0.0))[0][-1] == "as it was told: 670.198 s", "a finished sentence is not written anew"


def test_a_row_that_a_later_decision_cannot_do_without_is_told_with_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its epigraph row job 2 bounds nothing once it is there alone, though it is not at 400 s."""
    run = workbench.simulate("preset:gavel_example", "gavel.max_min_fairness")
    found = solved(run, 400.0)
    moved = RowEdit.of(found, found.names.index("capacity[v100]"), 0.45)
    assert moved.steps()[-1].endswith("row.upper + (0.45 - 1)))  # <= 0.45 in the lab"), "to set another, no sum"
    edit = RowEdit.of(found, found.names.index("epigraph[job 2]"), None)
    assert "goes from 0.7273 to 1" in of_decision(edit.change(found)[0])[:120]
    with pytest.raises(WorkbenchError) as wrong:
        edit.simulated(run, "mine")
    assert "at 3 h 12 min, with 1 job there, nothing bounds the objective any more" in refused(wrong.value)
    monkeypatch.setattr(rows_panel, "aside", lambda work, hear: hear(work()))
    panel = RowsPanel(lambda _: None, lambda _: None, lambda *told: None, lambda _: None)
    panel.show(run, 400.0)
    panel._list.picked = panel._names.index("epigraph[job 2] 1")
    panel._on.value = False
    said = panel._said.value.partition("<details>")[0]
    assert "goes from 0.7273 to 1, which is better. job 2 would have no share at all.<" in said, "who pays"


def test_a_variable_with_a_number_says_what_that_is_and_has_one_of_its_bounds_before_the_others() -> None:
    run = workbench.simulate("preset:hops_example", "hops")
    found = found_at(run, 1500.0)
    said = "GPUs that a configuration takes: 2 of fast-0"
    assert variables(found)["choose[images,4]"] == said and said in notes(found)
    earlier = "images is in none of them: what it has was decided before, at 22.1 s"
    assert in_none(found_at(run, 150.0), "images") == earlier and "22.1" not in in_none(found_at(run, 22.1), "images")
    many = pyo.ConcreteModel()
    many.x, many.y = pyo.Var(["a"], range(150)), pyo.Var(["a"], range(100))
    many.takes = pyo.Param(["a"], range(150), ["v100"], initialize=1.0)
    told = notes(found._replace(numbered=numbered(many)))
    assert "What each x and y is<" in told and told.count("takes: 1") == 200 and "and 50 more" in told
    bounds, below = found.names[:-12], dict(name.split(" ") for name in found.names[-12:])
    upper = dict(name.split(" ") for name in bounds if name.startswith("choose["))
    assert len(upper) == sum(name.startswith("choose[") for name in bounds) == 12
    assert (upper["choose[images,3]"], upper["choose[images,4]"]) == ("1", "-1"), "of two the one that binds"
    assert {name: str(-int(sense)) for name, sense in upper.items()} == below, "the other can be picked, too"
    shares = found_at(workbench.simulate("preset:start_here", "gavel.max_min_fairness"), 900.0).names[-4:]
    assert shares == [f"share[{of}" for of in ("vision,v100] 1", "vision,v100] -1", "game,v100] -1", "game,k80] 1")]


def test_a_bound_that_is_picked_stays_as_the_time_and_what_binds_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_panel, "aside", lambda work, hear: hear(work()))
    told: list[str] = []
    panel = RowsPanel(lambda _: None, lambda _: None, lambda run, base, words: told.append(words), lambda _: None)
    run = workbench.simulate("preset:start_here", "gavel.max_min_fairness")
    panel.show(run, 900.0)
    panel._list.picked = panel._names.index(row := "share[game,k80] -1")
    for at_s in (1800.0, 2520.0):
        panel.show(run, at_s)
        assert panel._names[panel._list.picked] == row
    panel._list.picked = panel._names.index(row := "share[vision,v100] -1")
    panel._take(0.4, "0.4")
    assert panel._names[panel._list.picked] == row and panel.drawn is not None and "0.4" in told[-1]


def test_what_is_carried_over_was_decided_before_and_a_programme_has_rows_instead() -> None:
    run = workbench.simulate("preset:chronus_small", "chronus")
    assert "Decided at 0 s" in steps(run, 300.0), "the decision at 300 s is carried over"
    later = steps(run, 1200.0)
    assert ">now<" in later, "a next lease in 0 s"
    said = re.sub(r"<[^>]*>", "", later)
    assert "6 GPUs in guaranteed leases, 2 GPUs left for best effort" in said and "1 job waiting to be profiled" in said
    assert "held back" not in later, "nothing is held"
    assert all(row[-1] for row in cells(steps(run, 6000.0))), "why they have what they have was said before"
    assert steps(workbench.simulate("preset:start_here", "gavel.max_min_fairness"), 3000.0) == ""
    slos = workbench.preset("chronus_small")
    single = steps(workbench.simulate(slos.replace(jobs=slos.jobs[:1]), "chronus"), 0.0)
    assert "GPUs left for best effort" in single.partition("<table")[0], "of the cluster, not of the one job's row"


def test_the_exact_problem_is_asked_once_beside_a_small_run_and_an_old_answer_is_not_shown(work: Waiter) -> None:
    lab = HadarLab("hadar_example")
    lab.waiter = work
    lab._results.open("Model")
    solve(lab)
    asked = [number for number, (request, _) in enumerate(work.asked) if request["kind"] == "exact"]
    assert len(asked) == 1
    lab._describe()
    assert sum(request["kind"] == "exact" for request, _ in work.asked) == 1
    hear = work.asked[asked[0]][1]
    lab.set(round_s=600)
    answer = {"kind": "done", "sentence": "The best is 12.", "leaves_out": "nothing", "schedule": []}
    answer |= {"formulation": "hadar.offline", "scheduler": "hadar"}
    hear(answer)
    assert "The best is 12" not in lab._formulation._found.value
    lab._solve_exactly()
    work.asked[-1][1](answer)
    assert "The best is 12" in lab._formulation._found.value and lab._formulation._exact.disabled, "there is no other"


@pytest.mark.parametrize(
    ("preset", "scheduler", "jobs"),
    [("hadar_example", "hadar", {"J1", "J2", "J3"}), ("hare_example", "hare", {"J1", "J2", "J3"}),
     ("chronus_small", "chronus", {"nightly", "retrain", "rush", "tune"})],
)  # fmt: skip
def test_the_exact_problem_s_plan_is_drawn_on_the_axis_of_the_run(preset: str, scheduler: str, jobs: set[str]) -> None:
    run = workbench.simulate(f"preset:{preset}", scheduler)
    rows = workbench.exact(run).as_json()["schedule"]
    page = FormulationPage(
        lambda: None, lambda: None, lambda lit: None, lambda row: None, lambda run, before, said: None
    )
    page._run = run
    page.ask_exact(run)
    done = {"kind": "done", "sentence": "The best.", "leaves_out": "nothing", "schedule": rows}
    page.hear_exact(run, {**done, "formulation": "hare.exact", "scheduler": scheduler})
    assert page._picture is not None and page._picture._drawing is not None
    drawn = page._picture._drawing
    assert set(drawn.table["job"]) == jobs and drawn.axis_s == drawings().kept_axis_s(drawn, run.end_s)
    page.forget()
    assert page._picture.layout.display == "none"


def test_the_row_that_decides_where_a_job_runs_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 45 min the shares of 30 min are in force, and by them game runs as vision is to be as far as others."""
    monkeypatch.setattr(rows_panel, "aside", lambda work, hear: hear(work()))
    panel = RowsPanel(lambda lit: None, lambda row: None, lambda run, before, words: None, lambda statement: None)
    panel.show(workbench.simulate("preset:start_here", "gavel.max_min_fairness"), 2700.0)
    assert "Rows with numbers, decided at 30 min, still hold at 45 min, until " in panel._head.value
    panel.mark("game")
    said = {row[0] for row in panel._list.rows if row[-1] == "yes, decisive"}
    assert said == {"(ours) epigraph[vision]", "(ours) epigraph[translation]"}
    others = {row[0] for row in panel._list.rows if row[-1] == "yes, not decisive"}
    assert others == {"(ours) epigraph[game]", "(2) job_time[game]", "(2) job_time[translation]", "(3) capacity[v100]"}
    assert re.search(">Decisive</span> for game at 45 min:</b> .*>epigraph</abbr>.vision. ", panel._decisive.value)
    panel.mark(("gpu", "fast-0/1"))
    assert re.search(">Decisive</span> for fast-0/1 at 45 min:</b> .*>epigraph</abbr>.vision. ", panel._decisive.value)
    panel.mark(None)
    assert {row[-1] for row in panel._list.rows} == {"yes", ""} and panel._decisive.value == ""


def test_a_job_that_no_row_decides_says_so_and_the_job_of_the_page_why_is_marked(
    work: Waiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """game comes at 10 min, and nothing is decided anew until 12 min."""
    late: list[Callable[[], None]] = []
    monkeypatch.setattr(rows_panel, "aside", lambda work, hear: late.append(lambda: hear(work())))
    lab = GavelLab("start_here")
    lab.waiter = work
    solve(lab)
    results, panel = lab._results, lab._formulation.rows

    def said(at: str) -> str:
        results.explained._at.value = at
        results.open("Model")
        while late:
            with suppress(RunCancelledError):  # the one of the job before
                late.pop()()
        return re.sub("<[^>]+>", "", panel._decisive.value)

    results.open("Why")
    assert results.selected is None and results.explained.job == "vision"
    assert said("45 min").startswith("Decisive for vision at 45 min: "), "nobody has chosen it yet, but Why is about it"
    results.open("Why")
    results.explained._job.value = "game"
    none = "no row alone. Each that binds was loosened or taken away from 0 s on and the problem solved again: "
    assert said("11 min") == f"Decisive for game at 11 min: {none}game still waits."
    assert said("5 min") == "Decisive: game is not there at 5 min."


def test_what_a_row_is_about_lights_up_in_picture_and_tables(work: Waiter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs, types and the rounds of its decision: in the picture, in each table of the run and in the Set-up."""
    monkeypatch.setattr(rows_panel, "aside", lambda work, hear: hear(work()))
    lab = GavelLab("start_here")
    lab.waiter = work
    solve(lab)
    results, panel = lab._results, lab._formulation.rows
    results._later.flush()
    panel.show(lab.run, 2700.0)
    rows = [row[0] for row in panel._list.rows]
    panel._list.picked = rows.index("(ours) epigraph[game]")
    assert results._gantt.view.params["rounds"] == [1800.0, 5760.0]
    assert "decision; faded: other jobs" in results._key.value
    assert "<tr class='wb-lit'><td class='wb-left-aligned'>game<" in results.compared.jobs.value
    assert results.compared.jobs.value.count("wb-lit") == 1
    assert [lab._scenario.jobs.rows[at]["name"] for at in lab._scenario.jobs.lit] == ["game"]
    timeline = lab.run.timeline
    mine = timeline[(timeline["job"] == "game") & (timeline["start_s"] < 5760) & (timeline["end_s"] > 1800)]
    assert results._lit.rows(timeline) == mine.index.tolist()
    made = lab.run.decisions["time_s"]
    assert results._lit.rows(lab.run.decisions) == made[(made >= 1800) & (made < 5760)].index.tolist()
    results._table.which.value = "timeline"
    assert "wb-lit" in results._table.text.value
    panel._list.picked = rows.index("(3) capacity[k80]")
    kinds = lab._scenario.editors.tables["cluster.accelerators"]
    assert [kinds.rows[at]["name"] for at in kinds.lit] == ["k80"]
    assert results._shaded.description == "Pointed out: capacity[k80]" and results._shaded.layout.display is None
    assert "framed: its decision; tinted: k80<" in results._key.value, "all jobs are in it: none is faded"
    results._by.value = "By job"
    assert "framed: its decision<" in results._key.value, "no row is a GPU's"
    results._by.value = "By GPU"
    results._shaded.click()
    assert panel._list.picked == -1 and results._shaded.layout.display == "none" and results._key.value == ""
    assert results._gantt.view.params["rounds"] is None and not kinds.lit and not lab._scenario.jobs.lit
    assert "wb-lit" not in results.compared.jobs.value + results._table.text.value


@pytest.mark.usefixtures("work")
def test_a_symbol_is_marked_where_it_stands_and_has_its_values(work: Waiter) -> None:
    lab = GavelLab("start_here")
    lab._results.open("Model")
    at = next(number for number, (request, _) in enumerate(work.asked) if request["kind"] == "describe")
    request, hear = work.asked[at]
    from workbench.cli.lab_process import described

    hear({"kind": "done", **described(request)})
    page = lab._formulation
    statement = page._statement.value
    of_share = re.findall(r"<div class='wb-equations([^']*)'[^>]*><small>\((.*?)\) (\w+)<", statement)
    said = re.search("title='([^']*)'[^>]*><small>.3. capacity<", statement)
    assert said and "z_k: scale factor" in said[1] and "X_kj: share of time" in said[1], "what its symbols mean"
    marked = {part for classes, _, part in of_share if "wb-in-share" in classes.split()}
    assert {"job_time", "capacity"} <= marked
    assert "<span class='wb-part-share'>m.share</span>" in statement
    assert "<tr class='wb-part-share' tabindex='0'>" in page._symbols.value
    assert ".wb-formulation:has(.wb-part-share:is(:hover, :focus-visible)) .wb-values-share { display: block; }" in (
        page._symbols.value
    )
    assert re.search(r"wb-values-gpus'><b>.*?</b>.*: v100: 2; k80: 1<", page._values.value)
    assert "6 to be decided" in page._values.value and page._values in page.box.children
    assert "throughput(m, X): " in html.unescape(statement).replace("( ", "(").replace(" ,", ",")
    found = solved(workbench.simulate("preset:start_here", "gavel.max_min_fairness"), 2700.0)
    page._hear_rows(found)
    pairs = zip(found.compiled.columns, found.point.values.tolist(), strict=True)
    share = values(found.model, pairs)["share"]
    assert re.fullmatch(r"(\w+, \w+: [\d.e-]+(; )?){6}", share) and share in page._values.value


def test_a_row_is_named_when_its_own_slider_is_in_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who sees the name of a row drags its number, not that of the row before."""
    monkeypatch.setattr(rows_panel, "aside", lambda work, hear: hear(work()))
    panel = RowsPanel(lambda lit: None, lambda row: None, lambda *edited: None, lambda statement: None)
    panel.show(workbench.simulate("preset:start_here", "gavel.max_min_fairness"), 2700.0)
    rights: list[object] = []
    panel._which.observe(lambda _: rights.append(getattr(panel._slides.shown, "value", None)), "value")
    names = [row[0] for row in panel._list.rows]
    for row in ("(3) capacity[v100]", "(2) job_time[game]", "(3) capacity[v100]"):
        panel._list.picked = names.index(row)
    assert rights == [2.0, 1.0, 2.0]


def test_while_a_number_is_dragged_no_row_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten solves or more would be in the picture's way: they begin at rest, and the next move cuts them off."""
    tried: list[Callable[[], bool]] = []
    monkeypatch.setattr(rows_panel, "aside", lambda work, hear: hear(work()))
    monkeypatch.setattr(rows_panel, "decisive_row", lambda *asked: tried.append(asked[-1]))

    async def story() -> None:
        looked: list[object] = []
        panel = RowsPanel(lambda lit: None, lambda row: None, lambda *told: looked.append(told), lambda solved: None)
        panel.show(workbench.simulate("preset:start_here", "gavel.max_min_fairness"), 2700.0, "vision")
        await until(lambda: tried)
        panel._list.picked = [row[0] for row in panel._list.rows].index("(3) capacity[v100]")
        for right in (1.5, 1.4, 1.3):
            panel._right.value = right
            await asyncio.sleep(0.15)
        assert len(looked) == 3 and len(tried) == 1 and tried[0]()
        await until(lambda: len(tried) == 2)
        assert not tried[1]()

    in_loop(story)


def test_a_number_of_a_row_is_dragged_and_the_cell_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row of game's level is made of its weight, gang, speeds: a weight twice as large in every decision."""
    monkeypatch.setattr(rows_panel, "aside", lambda work, hear: hear(work()))
    looked: list[tuple[Run, Run | None, str]] = []
    panel = RowsPanel(lambda lit: None, lambda row: None, lambda *told: looked.append(told), lambda statement: None)
    run = workbench.simulate("preset:start_here", "gavel.max_min_fairness")
    panel.show(run, 2700.0)
    as_it_was = panel._list.rows
    panel._list.picked = [row[0] for row in panel._list.rows].index("(ours) epigraph[game]")
    assert {"Right side", "weight (game)", "scale factor (game)"} < {*panel._what.options}
    panel._right.value = 1.0
    assert looked
    panel._what.value = "weight (game)"
    (then, before, words), looked[:] = looked[-1], []
    assert then is run and before is None and "is as it was (epigraph[game] <= 1 " in words, "none is changed any more"
    numbers = [number for _, number in panel._right.options]
    assert (panel._right.value, panel._number.value, panel._on.disabled) == (1.0, "1", True)
    assert (numbers[0], numbers[-1]) == (0.05, 2.0)
    away = panel._right
    panel._what.value = RIGHT
    away.value = away.options[0][1]  # what a page says of a slider that is out of sight by now
    panel._what.value = "weight (game)"
    assert panel._right is away and away.value == 1.0
    assert not looked and panel._said.value == rows_panel.HINT
    panel._number.value = "two"
    assert not looked and "expected a number, got &#x27;two&#x27;" in panel._said.value
    panel._number.value = "5"
    assert (
        looked.pop()[2] == "In every decision of the run, from its start: weight[game] times 5 (here 5 in place of 1)."
    )
    assert panel._right.value == 2.0, "beyond its end"
    panel._number.value = "1.2345678"
    assert looked.pop()[2] and panel._number.value == "1.2345678", "as it was typed"
    panel._number.value = "-1"
    assert "goes from 1 to 0" in panel._said.value
    looked.clear()
    panel._right.value = 1.95
    panel._right.value = 2.0
    looked[:] = looked[-1:]
    [(then, before, words)] = looked
    per_share = [float(rows[panel._list.picked][2].split()[1]) for rows in (as_it_was, panel._list.rows)]
    assert per_share[0] == pytest.approx(2 * per_share[1], rel=1e-5), "the numbers of the problem as it is now"
    assert (
        before is run
        and words == "In every decision of the run, from its start: weight[game] times 2 (here 2 in place of 1)."
    )
    assert "In the decision at 30 min alone: &quot;the level of" in panel._said.value
    assert "share[game,v100] " in panel._said.value.partition("<details>")[2], "folded"
    panel._as_code.value = True
    space: dict[str, object] = {}
    exec(panel._code.value.split("\n\nbeside")[0], space)
    assert workbench.simulate(run.scenario, "mine").timeline.equals(then.timeline)
    assert not then.timeline.equals(run.timeline)
    panel._back.click()
    assert looked[-1] == (run, None, "") and panel._right.value == 1.0 and panel._number.value == "1"
    assert panel._list.rows == as_it_was
    assert panel._code.value == UNCHANGED, "no cell that does nothing"
    long = next(edit for edit in panel._numbers.values() if float(f"{edit.before:.3g}") != edit.before)
    panel._what.value = long.about
    assert float(panel._number.value) == pytest.approx(long.before, rel=5e-3) and len(panel._number.value) < 6
    panel._on_typed()
    assert panel._value == long.before, "three digits are shown, all of it is meant"
    panel._what.value = "Right side"
    assert not panel._on.disabled


def test_rows_beside_an_algorithm_move_the_schedule_or_say_why_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chronus carries its last plan on; with 5 GPUs for the first lease it does not guarantee retrain, but tune."""

    def aside(work: Callable[[], Any], hear: Callable[[Any], None]) -> None:
        try:
            found = work()
        except WorkbenchError as error:
            found = error
        hear(found)

    monkeypatch.setattr(rows_panel, "aside", aside)
    looked: list[tuple[Run, Run | None, str]] = []
    panel = RowsPanel(lambda lit: None, lambda row: None, lambda *told: looked.append(told), lambda statement: None)
    run = workbench.simulate("preset:chronus_small", "chronus")
    panel.show(run, 1300.0, "rush")
    assert panel._decisive.value == f"<p class='wb-note'>{rows_panel.BESIDE}</p>"
    assert "" in panel._names, "the row that keeps a sum has none"
    assert "; rush is in none of them<" in panel._head.value and not panel._list.marked, "it is still to be profiled"
    assert panel._list.picked == -1, "nor is the row that keeps a sum, which has no name, picked"
    panel.mark("retrain")
    assert "; marked: the rows of retrain<" in panel._head.value and panel._list.marked
    panel._list.picked = [row[0] for row in panel._list.rows].index("(3, 6, erratum) capacity[1,1]")
    panel._number.value = "7"
    assert looked[-1][0].timeline.equals(run.timeline) and panel._list.rows[panel._list.picked][3] == "1"
    panel._number.value = "5"
    promised = looked[-1][0].jobs.set_index("job")["verdict"]
    assert [*promised.index[promised == "guaranteed"]] == ["nightly", "tune"]
    panel._number.value = "-1"
    assert "No point satisfies" in panel._said.value
    assert rows_panel.UNSOLVED in panel._head.value and not panel._list.rows, "of the run drawn, which admits without"
    panel._on.value = False
    assert panel._list.rows[panel._list.picked][2:] == ["taken away", "", "", ""]
    assert "chronus.leases" in cell(panel._edit(), run) and looked[-1][0].timeline.equals(run.timeline)
    for at_s, preset, scheduler, why in (
        (0.0, "chronus_small", "chronus", "at this time its algorithm had no problem to solve"),
        (0.0, "hadar_example", "hadare", "no problem is stated for what its algorithm decides"),
        (0.0, "hare_example", "hare", "the problem that its algorithm stands for has 148 rows here, too many to solve"),
    ):
        panel.show(workbench.simulate(f"preset:{preset}", scheduler), at_s)
        assert why in panel._head.value and not panel._list.rows
    panel.show(workbench.simulate("preset:chronus_small", "chronus", {"slo_lease_s": 600}), 600.0)
    assert "makes another schedule even without a change" in panel._head.value
