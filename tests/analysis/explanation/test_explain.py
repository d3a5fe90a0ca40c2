"""What is told of a job whoever schedules: state, since when, what was free, who held it, what came next."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

import workbench
from tests.analysis.explanation.explain_support import facts, scenario
from workbench.analysis.explanation import alone, longest_wait_s
from workbench.base.units import parse_duration
from workbench.scheduling.estimators.oracle import Oracle
from workbench.scheduling.estimators.pmi import Pmi
from workbench.session.registry import find_explainer, is_own, schedulers
from workbench.simulation.job_at_time import JobAtTime

TWO = [{"name": "one"}, {"name": "two", "arrival_s": 600.0}]
"""An hour each on one GPU: FIFO runs `one` from 0 to 3600 s and `two` from then on."""
MANY_SECONDS = re.compile(r"[^;]*(?<![\w.,])(?:[6-9]\d|\d{3,}|\d{1,3}(?:,\d{3})+)(?:\.\d+)? s\b")
"""A time that a person would read in minutes or hours."""


@pytest.fixture(scope="module")
def fifo() -> workbench.Run:
    return workbench.simulate(scenario(TWO), "fifo", round_s=300)


def test_a_job_that_waits_says_since_when_for_what_and_behind_whom(fifo: workbench.Run) -> None:
    found = workbench.explain(fifo, "two", 1200.0)
    assert found.state == "waiting" and found.next_start_s == 3600.0
    assert found.sentences[0] == "At 20 min two waits: it has had no GPUs since 10 min, when it arrived."
    assert "It needs 1 GPU; free of the types on which it runs: 0 of 1 v100: too few." in found.sentences
    assert "By arrival (the lowest first) it is number 2 of 2: 10 min." in found.sentences
    assert found.binding == "one holds GPUs on which it could run, and who runs keeps its GPUs"
    assert found.sentences[-1] == "It next has GPUs at 1 h, 40 min later; it finishes at 2 h."
    (other,) = found.competitors
    assert (other.job, other.role, other.gpus, other.since_s, other.until_s) == ("one", "holds", "1 v100", 0.0, 3600.0)
    assert other.value == 0.0 and other.comes == "before"
    assert facts(found)["speed on v100"] == 1.0


def test_a_job_that_runs_says_since_when_and_whom_it_won_against(fifo: workbench.Run) -> None:
    found = workbench.explain(fifo, "one", 1200.0)
    assert found.state == "running" and found.next_start_s is None
    assert found.sentences[:2] == (
        "At 20 min one runs on a-0 x 1, which it has had since 0 s.",
        "It was given a-0 x 1 at 0 s: next in line, 1 GPU of v100.",
    )
    assert found.sentences[-1] == "It keeps GPUs until it finishes, at 1 h."
    (other,) = found.competitors
    assert (other.job, other.role, other.comes) == ("two", "waits", "after") and math.isnan(other.since_s)


def test_before_arrival_and_after_completion_there_is_nobody_to_lose_to(fifo: workbench.Run) -> None:
    early, late = workbench.explain(fifo, "two", 599.0), workbench.explain(fifo, "one", 3600.0)
    assert (early.state, late.state) == ("not_arrived", "finished")
    assert early.reason.startswith("At 9 min 59 s two has not arrived: it comes at 10 min.")
    assert late.reason == "At 1 h one is done: it finished at 1 h, after 1 h, 0 s of it without GPUs."
    assert early.competitors == late.competitors == ()
    assert workbench.explain(fifo, "two", 600.0).state == "waiting"


def test_who_has_arrived_after_the_last_decision_is_told_when_the_next_one_is() -> None:
    run = workbench.simulate(scenario([{"name": "one"}, {"name": "late", "arrival_s": 610.0}], gpus=2), "las")
    found = workbench.explain(run, "late", 615.0)
    assert found.binding == "the scheduler has not been asked since it came; it is asked next at 12 min"


def test_a_failed_node_is_the_reason_and_is_not_free() -> None:
    faults = {"list": [{"node": "a-0", "from_s": 600.0, "to_s": 1800.0}]}
    run = workbench.simulate(scenario([{"name": "one"}], core={"faults": faults}), "fifo", round_s=300)
    found = workbench.explain(run, "one", 1000.0)
    assert "since 10 min (a-0 failed)" in found.sentences[0]
    assert "0 of 0 v100 (1 more down): too few" in found.reason and found.next_start_s == 1800.0


def test_the_time_of_an_interval_includes_its_start_and_not_its_end(fifo: workbench.Run) -> None:
    states = [JobAtTime(fifo, "two", at_s).state for at_s in (3599.0, 3600.0, 7199.0, 7200.0)]
    assert states == ["waiting", "running", "running", "finished"]
    ended = workbench.simulate(scenario(TWO), "fifo", until_s=1800.0)
    assert JobAtTime(ended, "one", 1800.0).state == "running" and JobAtTime(ended, "two", 1800.0).state == "waiting"
    assert "It runs to the run's end." in workbench.explain(ended, "one", 1800.0).reason


def test_the_longest_wait_is_where_an_explanation_is_worth_most(fifo: workbench.Run) -> None:
    assert longest_wait_s(fifo, "two") == 600.0 and longest_wait_s(fifo, "one") == 0.0
    ended = workbench.simulate(scenario(TWO), "fifo", until_s=1800.0)
    assert longest_wait_s(ended, "two") == 600.0


@pytest.mark.parametrize(
    ("job", "at", "expected"),
    [("three", 0.0, "a job of the run: one, two"), ("one", -1.0, "seconds from 0 to the run's end, 7200")]
    + [("one", at, "seconds from 0") for at in (7201.0, math.nan, math.inf, True, "noon")],
)
def test_a_job_or_time_that_the_run_does_not_have_is_an_error(fifo, job, at, expected) -> None:
    with pytest.raises(workbench.InputError, match=expected):
        workbench.explain(fifo, job, at)


def test_what_is_no_run_is_an_error() -> None:
    with pytest.raises(workbench.InputError, match="expected a run"):
        workbench.explain("fifo", "one", 0.0)  # type: ignore[arg-type]
    with pytest.raises(workbench.InputError, match="expected a run"):
        workbench.one_more("fifo", "one", 0.0)  # type: ignore[arg-type]


def test_a_saved_run_is_explained_in_the_same_words(fifo: workbench.Run, tmp_path: Path) -> None:
    run = workbench.simulate("preset:start_here", "hadar")
    run.save(tmp_path / "run")
    again = workbench.Run.load(tmp_path / "run")
    for at_s in (0.0, 2000.0, 4000.0):
        assert workbench.explain(run, "vision", at_s) == workbench.explain(again, "vision", at_s)
    assert len(run.reasons) > 0


def test_reasons_are_recorded_when_they_change_and_only_in_detail() -> None:

    @workbench.scheduler("talks", round_s=100)
    def decide(snapshot, memory, knobs, rng):
        """Says a, a, b, nothing, b of a job, then lets it run."""
        said = {0: "a", 1: "a", 2: "b", 4: "b"}.get(int(snapshot.now_s // 100))
        why = {} if said is None else {"one": workbench.Reason("because", said)}
        begins = snapshot.now_s == 500 or "one" in snapshot.ended
        assign = (workbench.Assignment("one", {"a-0": 1}, snapshot.now_s + 100),) if begins else ()
        return workbench.Decision(assign, why=why), memory

    run = workbench.simulate(scenario([{"name": "one"}]), "talks", until_s=700.0)
    assert set(run.reasons["job"]) == {"one"} and set(run.reasons["code"]) == {"because"}
    assert run.reasons[["decision", "text"]].to_numpy().tolist() == [[0, "a"], [2, "b"], [4, "b"]]
    assert "given at 3 min 20 s: b." in workbench.explain(run, "one", 350.0).reason
    assert " b." not in workbench.explain(run, "one", 650.0).reason, "it said that of a job that waited"
    assert len(workbench.simulate(scenario([{"name": "one"}]), "talks", until_s=700.0, detail=1).reasons) == 1


def test_html_json_and_text_say_the_same_and_names_are_escaped() -> None:
    run = workbench.simulate(scenario([{"name": "<b>"}, {"name": "two"}]), "fifo")
    found = workbench.explain(run, "two", 60.0)
    page = found._repr_html_()
    assert "<td>&lt;b&gt;</td>" in page and "<b>" not in page
    told = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert told["state"] == "waiting" and told["competitors"][0]["job"] == "<b>" and told["binding"] == found.binding
    assert all(sentence in found.text() for sentence in told["sentences"])
    assert list(found.facts_table().columns) == ["Fact", "Value", "Unit"]


def test_one_more_node_from_then_on_starts_the_job_then(fifo: workbench.Run) -> None:
    found = workbench.one_more(fifo, "two", 1200.0)
    assert (found.accelerator, found.gpus, found.same_past) == ("v100", 1, True)
    assert (found.start_s, found.finish_s) == (1200.0, 4800.0)
    assert (found.before_start_s, found.before_finish_s) == (3600.0, 7200.0)
    assert "would have GPUs at 20 min and would be done at 1 h 20 min (1 h and 2 h in the run" in found.text()
    at_once = workbench.one_more(fifo, "two", 600.0, accelerator="v100", gpus=2)
    assert at_once.start_s == 600.0
    for bad in ({"accelerator": "k80"}, {"gpus": 0}, {"gpus": True}):
        with pytest.raises(workbench.InputError):
            workbench.one_more(fifo, "two", 600.0, **bad)


def test_a_job_alone_starts_when_it_comes(fifo: workbench.Run) -> None:
    found = alone(fifo, "two")
    assert (found.start_s, found.finish_s) == (600.0, 4200.0)
    assert (found.before_start_s, found.before_finish_s) == (3600.0, 7200.0)
    assert found.text().startswith("With no other job on the cluster two would have GPUs at 10 min and would be done")


def test_gpus_that_became_free_between_two_rounds_wait_for_the_next_one() -> None:
    """`one` is done at 100 s; FIFO in rounds of 300 s is asked at 300 s again."""
    jobs = [{"name": "one", "steps": 100.0}, {"name": "two"}]
    run = workbench.simulate(scenario(jobs), "fifo", round_s=300)
    assert "holds GPUs" in workbench.explain(run, "two", 50.0).binding
    later = workbench.explain(run, "two", 150.0)
    assert later.binding == "GPUs became free after the last decision, at 0 s; the scheduler is asked next at 5 min"
    assert later.next_start_s == 300.0


def test_one_more_node_has_the_belief_of_the_run() -> None:
    """By name it is kept with the run; an object has to be given again."""
    run = workbench.simulate("preset:hadar_lab", "hadare", belief="pmi", until_s=6000.0)
    job = run.jobs["job"].iloc[-1]
    assert workbench.one_more(run, job, 4000.0).same_past
    with pytest.raises(workbench.InputError, match="only if it was one"):
        workbench.one_more(run, job, 4000.0, belief="pmi")
    own = workbench.simulate(run.scenario, "hadare", belief=Pmi, until_s=6000.0)
    with pytest.raises(workbench.InputError, match="the object that the run was made with"):
        workbench.one_more(own, job, 4000.0)
    assert workbench.one_more(own, job, 4000.0, belief=Pmi).same_past


def test_one_more_node_says_if_the_past_was_another_one() -> None:
    """Another object than the one that the run was made with."""
    run = workbench.simulate("preset:hadar_lab", "hadare", belief=Pmi, until_s=6000.0)
    unlike = workbench.one_more(run, run.jobs["job"].iloc[-1], 4000.0, belief=Oracle)
    assert not unlike.same_past and "went differently" in unlike.text()


def test_every_shipped_scheduler_says_what_it_goes_by() -> None:
    assert [each.name for each in schedulers() if not is_own(each.name) and find_explainer(each.name) is None] == []


def test_a_scheduler_of_ones_own_is_explained_by_its_reasons() -> None:

    @workbench.scheduler("lazy", round_s=600)
    def decide(snapshot, memory, knobs, rng):
        """Nothing in the first hour."""
        if snapshot.now_s < 3600:
            return workbench.Decision(why={"one": workbench.Reason("rest", "nobody works in the first hour")}), memory
        return workbench.Decision((workbench.Assignment("one", {"a-0": 1}, snapshot.now_s + 600),)), memory

    run = workbench.simulate(scenario([{"name": "one"}]), "lazy")
    found = workbench.explain(run, "one", 1000.0)
    assert "The scheduler's reason, given at 0 s: nobody works in the first hour." in found.sentences
    assert found.binding == "the scheduler's choice: GPUs were free, and it gave the job none"


@pytest.mark.parametrize("scheduler", [each.name for each in schedulers() if not is_own(each.name)])
def test_every_job_of_every_scheduler_is_explained_at_any_time(scheduler: str) -> None:
    run = workbench.simulate("preset:start_here", scheduler)
    for part in (0.0, 0.13, 0.37, 1.0):
        for job in run.jobs["job"]:
            found = workbench.explain(run, job, run.end_s * part)
            assert len(found.sentences) >= 1 and all(found.sentences)
            assert not MANY_SECONDS.findall(found.text()), found.text()
            if found.state not in ("not_arrived", "finished", "refused"):
                assert len(found.sentences) >= 3 and found.facts
            if found.state == "waiting":
                assert found.binding
            json.dumps(found.as_json(), allow_nan=False)
            assert found._repr_html_()


@pytest.mark.parametrize(
    ("preset", "names"),
    [
        ("chronus_example", ("chronus", "edf", "genie")),
        ("hare_example", ("hare",)),
        ("hops_64", ("hops",)),
        ("gavel_sharing", ("gavel.max_min_fairness", "gandiva")),
    ],
)
def test_the_papers_own_presets_too(preset: str, names: tuple[str, ...]) -> None:
    for name in names:
        run = workbench.simulate(f"preset:{preset}", name, until_s=4000.0)
        for job in run.jobs["job"].iloc[:: max(1, len(run.jobs) // 4)]:
            at_s = longest_wait_s(run, job)
            found = workbench.explain(run, job, at_s)
            assert found.state != "waiting" or found.binding, f"{name}, {job} at {at_s}"
        assert not (told := MANY_SECONDS.findall("; ".join(run.reasons["text"]))), told


@pytest.mark.parametrize(("preset", "scheduler"), [("chronus_small", "chronus"), ("hare_example", "hare")])
def test_reasons_of_a_late_run_name_moments_after_they_were_given(preset: str, scheduler: str) -> None:
    """A moment without its minutes is over, and of two that read alike the second reason would not be recorded."""
    early, later_s = workbench.preset(preset), 86400 + 4 * 3600
    jobs = [job.model_copy(update={"arrival_s": job.arrival_s + later_s}) for job in early.jobs]
    reasons = workbench.simulate(early.replace(jobs=jobs), scheduler).reasons
    told = reasons["text"].str.findall(r"(?:until|to) ((?:\d[\d.]* (?:d|h|min|s)\b ?)+)").str[-1].dropna()
    assert not (many := MANY_SECONDS.findall("; ".join(reasons["text"]))), many
    assert len(told) >= 3 and all(parse_duration(text.strip()) > reasons["time_s"][row] for row, text in told.items())


def test_tasks_that_are_switched_in_do_not_run_yet_and_begin_one_by_one() -> None:
    run = workbench.simulate("preset:hare_example", "hare", switching="default")
    there = "J2 is being switched in on 1 GPU3 of node3-0 and 1 GPU1 of node1-0, the first since 1.5 s: "
    assert workbench.explain(run, "J2", 2.75).summary.startswith(f"At 2.75 s {there}")
    idle = workbench.chain(run, "node2-0/0", 2.99, again=False).summary
    assert "J2 is being switched in on node3-0 and node1-0" in idle
