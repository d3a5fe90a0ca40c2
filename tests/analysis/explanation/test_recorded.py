"""What a run has recorded of its decisions, and that no more and nothing older is told."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench
from tests.analysis.explanation.asked_again import watch
from tests.analysis.explanation.explain_support import scenario
from tests.analysis.explanation.test_lost_to import world
from tests.fuzz.worlds import world as any_world
from workbench.analysis.explanation.compose import CAPACITY, NOT_RECORDED
from workbench.base.errors import counted
from workbench.simulation.job_at_time import JobAtTime

CALLS = 12
"""So many decisions of a run, about, are looked at."""
SAID = ("hops", "chronus", "hadar", "hare", "gavel.max_min_fairness", "srtf", "three_sigma", "genie")


@pytest.mark.parametrize("name", SAID)
def test_what_is_said_of_a_job_at_a_decision_is_what_is_told_of_it_then(name: str) -> None:
    """Also in the same words as before, when its GPUs came or went in between."""
    checked = 0
    for given in (world(0), any_world(1)):
        watched = watch(given, name, until_s=6000.0)
        last = {call.snapshot.now_s: call for call in watched.calls if call.snapshot.now_s < watched.run.end_s}
        for at_s, call in list(last.items())[:: max(1, len(last) // CALLS)]:
            for job, reason in call.decision.why.items():
                job_at = JobAtTime(watched.run, job, at_s)
                if job_at.state in ("finished", "refused"):
                    continue
                said = job_at.said
                assert said is not None, f"{job} at {at_s} of {given.name}: {reason}"
                assert (said.code, said.text) == (reason.code, reason.text)
                checked += 1
    assert checked > 3


@pytest.mark.parametrize("name", ["allox", "chronus", "genie", "hadare", "sched_allox"])
def test_after_the_decisions_recorded_in_detail_no_reason_or_number_is_told_as_the_present_one(name: str) -> None:
    """Until then all is as in a run that has recorded everything."""
    later = 0
    for seed in (0, 1):
        whole = workbench.simulate(world(seed), name, until_s=4000.0)
        kept = len(whole.decisions) // 3
        part = workbench.simulate(world(seed), name, until_s=4000.0, detail=kept)
        until_s = float(whole.decisions["time_s"].iloc[kept])
        for at_s in (0.3 * until_s, 0.9 * until_s, until_s, (until_s + whole.end_s) / 2):
            for job in whole.jobs["job"]:
                found, known = workbench.explain(part, job, at_s), workbench.explain(whole, job, at_s)
                if at_s < until_s or found.state in ("not_arrived", "finished"):
                    assert found == known
                    continue
                assert "The scheduler's reason" not in found.reason and not found.order, found.reason
                assert f"of its first {counted(kept, 'decision')} (`detail`)" in found.reason
                undecided = found.binding == known.binding and found.binding.startswith(("the scheduler has", "GPUs"))
                assert undecided or found.binding in ("", CAPACITY, NOT_RECORDED), found.binding
                later += 1
    assert later > 5


def test_a_run_keeps_what_it_has_recorded(tmp_path: Path) -> None:
    given = scenario([{"name": "one"}, {"name": "two"}])
    run, none = (workbench.simulate(given, "las", round_s=300, detail=n) for n in (2, 0))
    run.save(tmp_path / "run")
    again = workbench.Run.load(tmp_path / "run")
    assert again == run and again.detail == 2 and run != none
    assert again.key() == none.key(), "it says nothing of what happened"
    text = workbench.explain(none, "two", 60.0).reason
    assert "The run has recorded no reasons and numbers (`detail`)" in text
    early, late = (workbench.explain(again, "two", at_s).reason for at_s in (60.0, 700.0))
    assert "detail" not in early and "of its first 2 decisions (`detail`), until 5 min" in late
