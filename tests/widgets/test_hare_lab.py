"""The lab on Hare: a tab for its tasks, there for runs in sequences only, its knobs, and the pages beside the runs."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import widgets.lab.lab
import widgets.work.study_request
from tests.widgets.lab.support import Waiter, look_at, solve, titles
from widgets import GavelLab, HareLab
from widgets.lab.drawings import exact_plan
from widgets.pages.hare.bounds import BoundsPage
from widgets.pages.hare.schedules import FigureOnePage, SynchronisationPage
from widgets.pages.hare.weighted_jct import FIGURES, HareSetting, WeightedJctPage
from workbench.base.errors import InputError
from workbench.cli.lab_process import do_study
from workbench.papers.hare.algorithms.job_level import BASELINES
from workbench.papers.hare.formulations.exact import Exact
from workbench.papers.hare.instance import HareInstance
from workbench.scenario.presets import preset
from workbench.session.api import snapshot_at
from workbench.session.registry import find_study


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A lab with Fig. 1's example solved."""
    monkeypatch.chdir(tmp_path)
    waiter = Waiter()
    for module in (widgets.lab.lab, widgets.work.study_request):
        monkeypatch.setattr(module, "process_work", lambda: waiter)
    monkeypatch.setattr(widgets.lab.lab, "is_small", lambda scenario: False)
    lab = HareLab("hare_example")
    lab.waiter = waiter
    solve(lab, switching="free")
    return lab


def test_the_tab_of_tasks_is_there_for_task_sequences_only(lab: Any) -> None:
    assert {"Tasks", "Signals", "JCT"} <= set(titles(lab))
    solve(lab, scheduler="fifo")
    assert "Tasks" not in titles(lab)


def test_it_shows_every_task_of_the_run_and_the_best_schedule_of_the_example(lab: Any) -> None:
    drawn = look_at(lab, "Tasks")
    assert drawn.data["names"]["job"].tolist() == ["GPU1 node1-0/0", "GPU2 node2-0/0", "GPU3 node3-0/0"], "as Why says"
    plan = exact_plan(lab.run, drawn.table.to_dict("records"))
    assert plan.data["names"].equals(drawn.data["names"]), "and so the exact problem's plan"
    table = drawn.table
    made = preset("hare_example")
    asked = {job.name: int(job.steps) for job in made.jobs}
    assert table["job"].value_counts().to_dict() == asked
    ends = table.groupby("job")["synchronised_s"].max()
    assert ends.sum() == pytest.approx(8.5), "the sum of completion times that the text states for (c)"
    starts, barrier = table.query("job == 'J3' and round == 1")["start_s"], table.query("job == 'J3' and round == 0")
    assert starts.min() >= barrier["synchronised_s"].max()


def test_another_assignment_is_another_schedule(lab: Any) -> None:
    before = look_at(lab, "Tasks").table
    lab._results._by.value = "Tasks"
    lab._results._gantt.view.picked = {"job": "J2", "x": 3.03, "y": 0.5}
    lab._results._gantt.view.picked = {"x": 3.03, "y": 1.5}
    assert lab._results.about == ("gpu", "node2-0/0"), "an idle place is about its GPU, also among tasks"
    solve(lab, assignment="earliest_available")
    after = look_at(lab, "Tasks").table
    assert not after.equals(before) and after["synchronised_s"].max() > before["synchronised_s"].max()
    assert len(after) == len(before)


def test_switches_are_marked_where_they_cost_something(lab: Any) -> None:
    assert (look_at(lab, "Tasks").table["load"] == "").all()
    solve(lab, switching="custom", switch_s=0.25)
    table = look_at(lab, "Tasks").table
    spent = lab.run.timeline.loc[lab.run.timeline["kind"] == "switch"]
    assert len(spent) and table["switch_s"].sum() == pytest.approx((spent["end_s"] - spent["start_s"]).sum())
    assert set(table.loc[table["switch_s"] > 0, "load"]) == {"miss"}


# ---- pages beside the runs ----


def answer(lab: Any) -> list[dict[str, Any]]:
    """Answer the study that was asked last, as the labs' process does; returns the answers."""
    request, hear = lab.waiter.asked[-1]
    assert request["kind"] == "study"
    given = copy.deepcopy(studied(json.dumps(request)))
    for message in given:
        hear(message)
    return [message["found"] for message in given if message["kind"] == "progress"]


@cache
def studied(request: str) -> list[dict[str, Any]]:
    """What the labs' process says to a request; several tests ask the same."""
    given: list[dict[str, Any]] = []
    do_study(json.loads(request), lambda message: given.append(dict(message)))
    return given


def page_of(lab: Any, kind: type) -> Any:
    (found,) = [page for page in lab._pages if type(page) is kind]
    return found


def test_only_hares_lab_has_them(lab: Any) -> None:
    titles = ["Fig. 1", "Fig. 4: synchronisation", "Figs. 14-19: weighted JCT", "Bounds"]
    assert [page.title for page in lab._pages] == titles
    assert GavelLab()._pages == []


def test_nothing_is_asked_until_a_page_is_opened_and_once_for_the_same(lab: Any) -> None:
    choice, before = lab._beside.choice, len(lab.waiter.asked)
    lab._results.open("Vary")
    choice.value = 1
    assert len(lab.waiter.asked) == before + 1
    choice.value = 0
    choice.value = 1
    assert len(lab.waiter.asked) == before + 1


def test_figure_1_has_the_totals_of_the_text_is_played_and_follows_the_table(lab: Any) -> None:
    page = page_of(lab, FigureOnePage)
    page.opened()
    answer(lab)
    assert [one["objective"] for one in page.gantts.schedules] == pytest.approx([10.5, 9.0, 8.5])
    assert [one["makespan_s"] for one in page.gantts.schedules][::2] == pytest.approx([4.5, 3.0])
    assert "10.5 s" in page._said.text and "19%" in page._said.text
    gantts = page.gantts
    assert [len(one.drawing.table) for one in gantts.pages] == [8, 8, 8]
    assert gantts.playback.last > 5 and gantts.playback.until_s is None and gantts.playback.label == "up to 4.5 s"
    gantts.playback.number = 0
    assert [one.view.params["until"] for one in gantts.pages] == [0.5] * 3, "J3 has a task of 0.5 s on GPU1"
    assert all("until" in one.drawing.params for one in gantts.pages), "they are played together"
    page.table.edit(0, "GPU1", "3")  # J1 goes elsewhere, but in (a), where it has GPU1
    sums = [one["objective"] for found in answer(lab) for one in found["schedules"]]
    assert sums[0] == pytest.approx(10.5 + 1.5) and sums[2] <= sums[1] <= sums[0]


def test_a_time_that_cannot_be_is_refused_in_words(lab: Any) -> None:
    page = page_of(lab, FigureOnePage)
    page.opened()
    asked = len(lab.waiter.asked)
    page.table.edit(1, "GPU2", "-1")
    assert page._said.state == "invalid" and "marked" in page._said.text and len(lab.waiter.asked) == asked
    page.table.edit(1, "GPU2", "2")
    page.table.edit(1, "job", "J1")
    assert page._said.state == "invalid" and "three names" in page._said.text
    page._reset()
    assert len(lab.waiter.asked) > asked and page._said.state == "working"


def test_figure_4_starts_a_relaxed_round_where_there_is_room(lab: Any) -> None:
    page = page_of(lab, SynchronisationPage)
    page.opened()
    answer(lab)
    tables = [one.drawing.table.query("job == 'n'") for one in page.gantts.pages]
    assert tables[0]["start_s"].nunique() == 1 and tables[0]["gpu"].nunique() == 3, "together, on a GPU each"
    assert tables[1]["start_s"].min() == 1.0 and tables[1]["gpu"].nunique() == 2, "when the first is free"
    assert tables[2]["round"].nunique() > 1, "smaller rounds"
    ends = [table["synchronised_s"].max() for table in tables]
    assert ends == pytest.approx([6.0, 4.0, 4.5]) and "n is complete after 6 s, 4 s, 4.5 s" in page._said.text


def test_a_round_that_is_too_wide_for_a_gang_is_missing_with_its_reason(lab: Any) -> None:
    """Five tasks on three GPUs cannot start together; they can go one after the other, and in smaller rounds."""
    page = page_of(lab, SynchronisationPage)
    wide = [job.model_copy(update={"tasks_per_round": 5}) for job in lab.scenario.jobs[:1]]
    lab.open(lab.scenario.replace(jobs=[*wide, *lab.scenario.jobs[1:]]))
    page.opened()
    page.jobs.value = ""
    (found,) = answer(lab)
    assert [one["title"][:3] for one in found["schedules"]] == ["(b)", "(c)"]
    assert set(found["cannot"]) == {"(a) scale-fixed"} and "at most 3 GPUs" in page._missing.value
    assert page._said.state == "done" and "scale-fixed cannot be" in page._said.text
    assert [each.box.layout.display for each in page.gantts.pages] == [None, None, "none"]
    assert "s x weight" in " ".join(page.gantts.pages[0].drawing.data["note"]["text"])
    page.jobs.value = "hare_synchronisation"
    answer(lab)
    assert page._missing.value == "" and len(page.gantts.schedules) == 3
    assert [each.box.layout.display for each in page.gantts.pages] == [None] * 3


def test_the_synchronisations_of_the_labs_own_jobs(lab: Any) -> None:
    page = page_of(lab, SynchronisationPage)
    page.opened()
    page.jobs.value = ""
    (found,) = answer(lab)
    assert found["jobs"] == [job.name for job in lab.scenario.jobs]
    more = found["schedules"][2]["objective"]
    page.more.value = 1.0
    (found,) = answer(lab)
    assert found["schedules"][2]["objective"] >= more
    lab._scenario.editors.tables["jobs"].edit(0, "weight", "-2")
    page.opened()
    assert page._said.state == "invalid" and "Set-up" in page._said.text


def test_bounds_are_below_every_schedule_and_the_ratio_stands_beside_the_claim(lab: Any) -> None:
    page = page_of(lab, BoundsPage)
    page.opened()
    answer(lab)
    table = page.page.drawing.table
    bounds, schedules = (table.loc[table["kind"] == kind].set_index("name")["value"] for kind in ("bound", "schedule"))
    assert len(bounds) == 3 and bounds.max() <= 8.5 == schedules.min()
    assert schedules["Algorithm 1, as printed"] == 11.0
    assert f"{8.5 / bounds.max():.3g} times" in page._said.text and "= 15," in page._said.text


def test_a_bound_that_the_size_forbids_is_missing_with_its_reason(lab: Any) -> None:
    lab.open(preset("hare_testbed"))
    page = page_of(lab, BoundsPage)
    page.opened()
    answer(lab)
    assert (page.page.drawing.table["kind"] == "bound").sum() == 1
    assert "at most 20,000" in page._missing.value


def test_weighted_jct_follows_what_is_dragged(lab: Any) -> None:
    page = page_of(lab, WeightedJctPage)
    page.opened()
    found = answer(lab)
    data = HareInstance.from_snapshot(snapshot_at(HareSetting().scenario(), offline=True), Exact().settle({}))
    assert found[0]["values"]["SRTF"] == pytest.approx(BASELINES["SRTF"](data).weighted_jct_s)
    table = page.bars.drawing.table.set_index("name")["value"]
    assert table["Hare"] == pytest.approx(found[0]["values"]["Hare"] / 3600) and table.iloc[0] <= table.iloc[1:].min()
    curve = page.curve.drawing.table
    assert set(curve["line"]) == {"Hare", *BASELINES} and {16.0, 24.0} < set(curve["x"])
    page.controls["gpus"].value = 24
    again = answer(lab)
    at_24 = curve[(curve["line"] == "Hare") & (curve["x"] == 24.0)]["y"].iloc[0]
    assert again[0]["values"]["Hare"] / 3600 == pytest.approx(at_24), "the figure had it already"
    assert len(page.gantt.drawing.table) == again[0]["tasks"]


@pytest.mark.parametrize("number", FIGURES)
def test_every_figure_has_the_value_that_is_set_and_others(lab: Any, number: str) -> None:
    page = page_of(lab, WeightedJctPage)
    page.figure.value = number
    if lab.waiter.asked[-1][0]["kind"] != "study":
        page.opened()
    answer(lab)
    curve = page.curve.drawing.table
    hare = curve[curve["line"] == "Hare"]
    assert hare["x"].is_monotonic_increasing and len(hare) >= 3
    assert page._said.state == "done" and "Claimed" in page._said.text


def test_low_heterogeneity_brings_the_others_near(lab: Any) -> None:
    """Fig. 16: the gaps grow with heterogeneity, and where all GPUs are equal Sched_Homo is close to Hare."""
    page = page_of(lab, WeightedJctPage)
    page.figure.value = "16"
    answer(lab)
    curve = page.curve.drawing.table.pivot(index="x", columns="line", values="y")
    gap = curve["Sched_Homo"] / curve["Hare"]
    assert gap.is_monotonic_increasing and gap.iloc[0] < 1.25 < gap.iloc[-1]


def test_what_is_dragged_can_be_opened_and_reset(lab: Any) -> None:
    page = page_of(lab, WeightedJctPage)
    page.controls["level"].value = "low"
    page.controls["gbps"].value = 10.0
    page._open()
    assert lab.scenario.cluster.capacity == {"v100": 16} and lab.scenario.cluster.network_gbps == 10.0
    assert len(lab.scenario.jobs) == 24 and lab.state != "done"
    asked = len(lab.waiter.asked)
    page._reset()
    assert page.chosen == HareSetting() and len(lab.waiter.asked) == asked + 1, "one question, not one for each control"


def test_of_many_gpus_and_jobs_the_figure_waits_for_the_button(lab: Any) -> None:
    page = page_of(lab, WeightedJctPage)
    page.controls["gpus"].value = 160
    assert len(lab.waiter.asked[-1][0]["asked"]) == 2 + 4, "24 jobs are few"
    page.controls["jobs"].value = 200
    assert len(lab.waiter.asked[-1][0]["asked"]) == 2, "what is set, and its bound"
    page.whole.click()
    assert len(lab.waiter.asked[-1][0]["asked"]) == 2 + 4


def test_an_older_answer_is_not_shown(lab: Any) -> None:
    page = page_of(lab, WeightedJctPage)
    page.opened()
    older = lab.waiter.asked[-1]
    page.controls["gpus"].value = 8
    older[1]({"kind": "progress", "number": 0, "found": {}})
    older[1]({"kind": "error", "status": "error", "error": {"where": "x", "value": 1, "expected": "y"}})
    assert page._said.state == "working" and page.bars.drawing is None
    lab.waiter.asked[-1][1](
        {"kind": "error", "status": "error", "error": {"where": "seed", "value": 1, "expected": "y"}}
    )
    assert page._said.state == "failed" and page._said.text == "seed: got 1; expected y"


def test_a_study_of_another_shape_is_refused() -> None:
    snapshot = snapshot_at(preset("hare_testbed"), 0.0, offline=True)
    with pytest.raises(InputError, match="J1 and J2 of one round"):
        find_study("hare.figure_1")(snapshot, {})
    with pytest.raises(InputError, match="interval-indexed"):
        find_study("hare.against_bounds")(snapshot, {"which": "none"})
    with pytest.raises(InputError, match="Gavel_FIFO"):
        find_study("hare.weighted_jct")(snapshot, {"show": "FIFO"})
    with pytest.raises(InputError, match=r"hare\.figure_1"):
        find_study("hare.figure_9")


def test_a_scheme_that_cannot_be_is_missing_with_its_reason() -> None:
    """Whole jobs need a GPU for each task of a round; Hare and AlloX do not."""
    two = preset("hare_example")
    nodes = [node.model_dump(mode="json") for node in two.cluster.nodes][:1]
    kinds = [kind.model_dump(mode="json") for kind in two.cluster.accelerators][:1]
    rows = [row.model_dump(mode="json") for row in two.throughputs if row.accelerator == kinds[0]["name"]]
    one = two.replace(cluster={"accelerators": kinds, "nodes": nodes}, throughputs=rows)
    found = find_study("hare.weighted_jct")(snapshot_at(one, 0.0, offline=True), {})
    assert set(found["values"]) == {"Hare", "Sched_Allox"} and set(found["cannot"]) == {*BASELINES} - {"Sched_Allox"}
