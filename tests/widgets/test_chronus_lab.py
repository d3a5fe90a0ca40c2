"""The lab on Chronus: leases, rewards, clusters, verdicts explained, and a deadline that turns a verdict round."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest

import widgets.lab.lab
import widgets.work.study_request
from tests.widgets.lab.support import Waiter, look_at, solve, titles
from widgets import ChronusLab, Lab
from workbench.scenario.presets import preset
from workbench.scenario.rewards import soft, strict
from workbench.scenario.scenario import Scenario
from workbench.session.api import snapshot_at
from workbench.session.registry import find_study

SOME = 2
"""Jobs of a verdict that are asked about: each answer is a search among leases."""


class Explaining(Waiter):
    """Answers studies as the labs' process does."""

    def explain(self) -> dict[str, Any]:
        request, hear = self.asked[-1]
        assert request["kind"] == "study"
        (asked,) = request["asked"]
        snapshot = snapshot_at(Scenario.from_dict(asked["scenario"]), 0.0, offline=True)
        found = find_study(request["study"])(snapshot, asked["given"])
        hear({"kind": "progress", "number": 0, "found": found})
        hear({"kind": "done", "wall_s": 0.0})
        return found


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Lab:
    """A lab with the example solved."""
    monkeypatch.chdir(tmp_path)
    waiter = Explaining()
    monkeypatch.setattr(widgets.lab.lab, "process_work", lambda: waiter)
    monkeypatch.setattr(widgets.lab.lab, "is_small", lambda scenario: False)
    monkeypatch.setattr(widgets.work.study_request, "process_work", lambda: waiter)
    lab = ChronusLab("chronus_example")
    lab.waiter = waiter
    solve(lab, scheduler="chronus")
    return lab


def open_admission(lab: Lab, job: str) -> dict[str, Any]:
    """Choose a job on the page and have it explained."""
    lab._results.select(job)
    lab._results.open("Measures")
    lab._results.open("Why")
    found: dict[str, Any] = lab.waiter.explain()
    return found


def verdicts(lab: Lab) -> dict[str, str]:
    return dict(zip(lab.run.jobs["job"], lab.run.jobs["verdict"], strict=True))


def test_clusters_and_admission_are_there_for_runs_that_have_some(lab: Lab) -> None:
    assert {"Leases", "Rewards", "Clusters"} < set(titles(lab))
    open_admission(lab, next(job.name for job in lab.scenario.jobs if job.rewards))
    assert lab._results.admission.box.layout.display is None
    told = re.fullmatch("<p><b>(.*?)</b>(.*?)</p>.*", lab._results.admission._verdict.value)
    assert told and told[1] not in told[2], "the verdict stands once, bold"
    solve(lab, scheduler="srtf")
    assert {"Leases", "Rewards"} < set(titles(lab)) and "Clusters" not in titles(lab)
    assert lab._results.admission.box.layout.display == "none"
    lab.open(preset("start_here"))
    solve(lab, scheduler="chronus")
    assert not {"Leases", "Rewards"} & set(titles(lab)), "no job has a deadline"


def test_a_guaranteed_job_of_the_run_meets_a_deadline_and_its_reward_stands_behind_its_row(lab: Lab) -> None:
    table = look_at(lab, "Leases").table
    met = set(table.loc[table["what"] == "deadline met", "job"])
    sure = {job for job, verdict in verdicts(lab).items() if verdict == "guaranteed"}
    assert sure and sure <= met
    jobs = {job.name: job for job in lab.scenario.jobs}
    assert set(table["job"]) == {name for name, job in jobs.items() if job.rewards}
    for row in lab.run.jobs.itertuples():
        steps = jobs[row.job].rewards
        if steps:
            took = row.finish_s - row.arrival_s
            earned = next((worth for at, worth in steps if took <= at + 1e-6), None)
            mark = table[(table["job"] == row.job) & (table["what"] == "deadline met")]
            assert mark["reward"].tolist() == ([] if earned is None else [earned])


def test_the_clusters_add_up_to_all_gpus_at_every_time(lab: Lab) -> None:
    table = look_at(lab, "Clusters").table
    assert set(table["cluster"]) == {"profiling", "guaranteed", "spot"}
    assert set(table.groupby("time_s")["gpus"].sum()) == {float(lab.scenario.cluster.gpus)}
    held, known = lab.run.timeline, verdicts(lab)
    assert table["time_s"].nunique() > 50
    for time_s, part in table.groupby("time_s"):
        now = held[(held["start_s"] <= time_s) & (held["end_s"] > time_s) & (held["kind"] != "profile")]
        running = sum(known[job] == "guaranteed" for job in now["job"])
        assert part.set_index("cluster")["gpus"]["guaranteed"] == running, "no guarantee was broken in this run"


def test_what_belongs_to_the_cluster_is_no_signal_of_a_job(lab: Lab) -> None:
    choice = lab._results._signal
    assert "remaining_s" in choice.options and not any(name.endswith("_gpus") for name in choice.options)


def test_each_verdict_is_explained_and_the_explanation_agrees_with_it(lab: Lab) -> None:
    page, known = lab._results.admission, verdicts(lab)
    asked = [job.name for job in lab.scenario.jobs if job.rewards]
    assert known[str(lab._results.explained.job)] == "best_effort", "people ask first about a job that was refused"
    some = [[job for job in asked if known[job] == verdict][:SOME] for verdict in dict.fromkeys(map(known.get, asked))]
    assert len(some) > 1
    for job in itertools.chain(*some):
        found = open_admission(lab, job)
        assert found["guaranteed"] == (known[job] == "guaranteed"), job
        assert f"<b>{job}: {known[job].replace('_', ' ')}</b>" in page._verdict.value
        if not found["guaranteed"]:
            assert "earliest deadline that would be accepted" in page._verdict.value and not page._accept.disabled
            table = page.page.drawing.table
            mark = table[table["what"] == "earliest that would do"]
            assert mark["end_s"].tolist() == [found["earliest_s"]] and set(mark["job"]) == {job}


def test_setting_the_earliest_deadline_turns_a_refusal_into_a_guarantee_and_undo_brings_it_back(lab: Lab) -> None:
    before = {job.name: job.rewards for job in lab.scenario.jobs}
    refused = [job for job, verdict in verdicts(lab).items() if verdict == "best_effort" and before[job]]
    assert refused
    for job in refused[:SOME]:
        open_admission(lab, job)
        lab._results.admission._accept.click()
        assert lab.state == "working", "it is solved at once"
        lab.waiter.answer()
        assert verdicts(lab)[job] == "guaranteed", job
        lab._frame.undo.click()
        lab.waiter.answer()
        assert verdicts(lab)[job] == "best_effort"
    assert {job.name: job.rewards for job in lab.scenario.jobs} == before


def test_a_deadline_just_before_the_earliest_one_is_refused(lab: Lab) -> None:
    job = next(job for job, verdict in verdicts(lab).items() if verdict == "best_effort" and rewards(lab)[job])
    earliest_s = open_admission(lab, job)["earliest_s"] - lab.run.jobs.set_index("job").loc[job, "arrival_s"]
    for last_s, verdict in ((earliest_s - 1.5, "best_effort"), (earliest_s + 1.5, "guaranteed")):
        lab._scenario.editors.set_rewards({job: strict(last_s)})
        lab.waiter.answer()
        assert verdicts(lab)[job] == verdict


def rewards(lab: Lab) -> dict[str, Any]:
    return {job.name: job.rewards for job in lab.scenario.jobs}


def test_the_editor_says_the_verdict_and_dragging_to_the_right_turns_it(lab: Lab) -> None:
    job = next(job for job, verdict in verdicts(lab).items() if verdict == "best_effort" and rewards(lab)[job])
    lab._results.select(job)
    editor = lab._results.rewards
    assert "<b>best effort</b>" in editor._outcome.value
    later = [[3 * at, worth] for at, worth in rewards(lab)[job]]
    editor.curve._on_message(editor.curve, {"kind": "steps", "job": job, "steps": later}, [])
    lab.waiter.answer()
    assert "<b>guaranteed</b>" in editor._outcome.value


def test_an_older_question_is_not_answered_on_the_page_of_a_newer_one(lab: Lab) -> None:
    page = lab._results.admission
    first, second = [job.name for job in lab.scenario.jobs if job.rewards][:2]
    open_admission(lab, first)
    lab._results.select(second)
    late = lab.waiter.asked[-1]
    lab._results.select(first)
    request, hear = late
    assert request["asked"][0]["given"]["job"] == second
    snapshot = snapshot_at(lab.scenario, 0.0, offline=True)
    hear(
        {"kind": "progress", "number": 0, "found": find_study(request["study"])(snapshot, request["asked"][0]["given"])}
    )
    assert page._verdict.value == ""
    lab.waiter.explain()
    assert f"<b>{first}:" in page._verdict.value


def test_a_verdict_leaves_when_another_run_or_no_job_is_asked_about(lab: Lab) -> None:
    page, job = lab._results.admission, next(job.name for job in lab.scenario.jobs if job.rewards)
    open_admission(lab, job)
    page.show(None)  # as for a GPU
    assert page.box.layout.display == "none"
    solve(lab, scheduler="chronus")
    page.show(job)
    assert page.box.layout.display is None and page._verdict.value == "", "until its own answer is there"
    lab.open(preset("chronus_small"))
    solve(lab, scheduler="chronus")
    lab._results.open("Why")
    asked = lab._results.explained
    asked._job.value, asked._at.value = "rush", "20 min"
    assert "rush waits" in asked._reasons.told.value
    assert asked._otherwise._faster.layout.display == "none", "no GPUs are faster where all are alike"


def test_all_soft_and_all_strict_change_what_jobs_earn(lab: Lab) -> None:
    editor = lab._results.rewards
    first = {job: steps[0][0] for job, steps in rewards(lab).items() if steps}
    editor._reshape_all(soft)
    lab.waiter.answer()
    assert {line.split(",")[0] for line in look_at(lab, "Rewards").table["line"]} == {"soft"}
    editor._reshape_all(strict)
    lab.waiter.answer()
    assert {line.split(",")[0] for line in look_at(lab, "Rewards").table["line"]} == {"strict"}
    assert {job: steps[0][0] for job, steps in rewards(lab).items() if steps} == first


def test_the_knobs_of_leases_are_always_in_sight(lab: Lab) -> None:
    names = {child._dom_classes[0] for child in lab._knobs.main.children}
    assert {"wb-knob-slo_lease_s", "wb-knob-plan_by", "wb-knob-round_up"} <= names
    slider = lab._knobs._controls["slo_lease_s"].slider
    assert slider is not None and 600.0 in [value for _, value in slider.options]
    slider.value = 600.0
    assert lab.knobs["slo_lease_s"] == 600
