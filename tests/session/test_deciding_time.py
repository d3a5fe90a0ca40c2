"""Decisions that take time: by hand, with every scheduler, and a run that is made again."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench
from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario
from workbench.session.registry import is_own, schedulers
from workbench.session.replay import replay
from workbench.simulation.conservation import check
from workbench.simulation.run import Run

TASKS = {"hare", "sched_allox"}
"""They decide on sequences of tasks."""


def two_jobs(arrivals: tuple[float, float] = (0.0, 50.0), steps: float = 100.0) -> Scenario:
    """Of one GPU, a step a second."""
    return Scenario.from_dict(
        {
            "cluster": {"accelerators": [{"name": "v"}], "nodes": [{"name": "n", "accelerator": "v", "gpus": 1}]},
            "jobs": [
                {"name": name, "model": "m", "steps": steps, "arrival_s": at}
                for name, at in zip("ab", arrivals, strict=True)
            ],
            "throughputs": [{"model": "m", "accelerator": "v", "steps_per_s": 1.0}],
        }
    )


def finishes(run: Run) -> list[float]:
    return run.jobs["finish_s"].tolist()


def test_event_by_event_each_start_is_later_by_a_decision() -> None:
    """a: asked at 0, runs 10 to 110. Of b it is told at 50, when nobody is free; b: asked at 110, runs 120 to 220."""
    run = workbench.simulate(two_jobs(), "fifo", round_s=0, charge_decisions=10)
    assert finishes(run) == pytest.approx([110.0, 220.0], abs=0.01)
    assert run.charge_decisions == 10.0 and run.conditions == ["Each decision takes 10 s of simulated time."]
    page = str(run._repr_html_())
    assert run.conditions[0] in page and "Speeds known: oracle." in page


def test_who_arrives_while_a_decision_is_made_is_told_of_after_it() -> None:
    """b comes at 5, before the decision of 0 is carried out at 10; of a it is told first, the other one waits."""
    run = workbench.simulate(two_jobs((0.0, 5.0)), "fifo", round_s=0, charge_decisions=10)
    assert finishes(run) == pytest.approx([110.0, 220.0], abs=0.01)


def test_in_rounds_what_runs_goes_on_until_the_decision_is_carried_out() -> None:
    """Alone with the GPU a job loses the first decision only; with two that take turns a turn is late, not lost."""
    alone = two_jobs().replace(jobs=two_jobs().jobs[:1])
    assert finishes(workbench.simulate(alone, "gavel.max_min_fairness", round_s=30, charge_decisions=10)) == [110.0]
    run = workbench.simulate(two_jobs((0.0, 0.0)), "gavel.max_min_fairness", round_s=50, charge_decisions=10)
    starts = run.timeline[run.timeline["kind"] == "run"].sort_values("start_s")["start_s"].tolist()
    assert starts[0] == 10.0 and starts[1] == 60.0 and max(finishes(run)) == pytest.approx(210.0)


def test_a_decision_longer_than_its_round_is_carried_out_in_a_later_one() -> None:
    run = workbench.simulate(two_jobs((0.0, 0.0)), "gavel.max_min_fairness", round_s=30, charge_decisions=40)
    assert run.timeline["start_s"].min() == 40.0 and max(finishes(run)) < 400.0


@pytest.mark.parametrize("charge_s", [7.0, 500.0])
@pytest.mark.parametrize("scheduler", [each.name for each in schedulers() if not is_own(each.name)])
def test_every_scheduler_ends_and_keeps_the_limits(scheduler: str, charge_s: float) -> None:
    if scheduler in TASKS:
        with pytest.raises(InputError, match="sequences of tasks"):
            workbench.simulate("preset:start_here", scheduler, charge_decisions=charge_s)
        return
    run = workbench.simulate("preset:start_here", scheduler, charge_decisions=charge_s)
    assert run.jobs["finish_s"].notna().all() and check(run) == []


def test_a_decision_that_takes_no_time_changes_nothing() -> None:
    told, charged = (workbench.simulate("preset:start_here", "hops", charge_decisions=s) for s in (None, 0.0))
    assert told.timeline.equals(charged.timeline) and told.key() != charged.key()


def test_a_charged_run_is_saved_compared_and_made_again(tmp_path: Path) -> None:
    found = workbench.compare("preset:start_here", ["las", "srtf"], charge_decisions=30.0)
    assert {run.charge_decisions for run in found.runs} == {30.0}
    run = found["las"]
    run.save(tmp_path / "run")
    assert Run.load(tmp_path / "run") == run
    again = replay(run, run.end_s).run
    assert again.timeline.equals(run.timeline)
    measured = workbench.simulate("preset:start_here", "las", charge_decisions="measured")
    assert measured.jobs["finish_s"].notna().all()
    with pytest.raises(InputError, match="measured length"):
        replay(measured, 60.0)


@pytest.mark.parametrize("charge", [-1.0, True, float("nan"), float("inf"), "wall"])
def test_what_is_no_charge_is_refused(charge: object) -> None:
    with pytest.raises(InputError, match="charge_decisions"):
        workbench.simulate("preset:start_here", "las", charge_decisions=charge)  # type: ignore[arg-type]
