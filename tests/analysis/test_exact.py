"""A paper's algorithm beside the exact problem that it is for."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

import workbench
from tests.simulation.support import make
from workbench import InputError
from workbench.papers.hadar.formulations.offline import Offline


def test_hadar_beside_p1() -> None:
    """Two jobs of one GPU each for three and one rounds, on one GPU: the short one first, 2 x T + 2 - (1 + 4) slots, of
    half as many slots again as the run's 4."""
    scenario = make([{"steps": 3 * 360.0}, {"steps": 360.0}])
    run = workbench.simulate(scenario, "hadar")
    found = workbench.exact(run)
    slots = round(run.end_s / 360.0)
    assert (slots, found.status, found.best) == (4, "optimal", 2 * 6 + 2 - (1 + 4))
    finish = [round(each / 360.0) for each in run.jobs["finish_s"]]
    assert found.own == 2 * 6 + 2 - sum(finish) and found.gap is None
    assert found.schedule["job"].tolist() == ["j0", "j0", "j0", "j1"] and "slot" in found.schedule
    assert found.schedule["start_s"].tolist()[-1] == 0.0
    assert found.sentence.startswith(
        "hadar.offline: the most utility of all jobs together that any plan comes to is 9 slots; "
    )
    assert "Not in the problem: costs of restarts" in found._repr_html_()


def test_a_run_is_worth_what_its_completions_are() -> None:
    run = workbench.simulate("preset:hadar_example", "hadar")
    found = workbench.exact(run, time_limit_s=60.0)
    assert found.best is not None and found.own <= found.best + 1e-6
    asked = {"slot_s": run.knobs["round_s"], "slots": math.ceil(1.5 * run.end_s / run.knobs["round_s"])}
    again = workbench.solve(run.scenario, "hadar.offline", **asked, utility=run.knobs["utility"], require_all=True)
    assert again.objective == pytest.approx(found.best)


def test_the_best_plan_ends_all_jobs_and_may_end_later_than_the_run() -> None:
    """In `start_here` the plan of P1 that may leave jobs out is worth more without `vision`; of those as printed, with
    all jobs in them, the best that ends when the run does is worth 7 slots less than the best."""
    run = workbench.simulate("preset:start_here", "hadar")
    found = workbench.exact(run)
    assert set(found.schedule["job"]) == set(run.jobs["job"]) and found.schedule["end_s"].max() > run.end_s
    assert found.sentence.endswith("hadar comes to 57 slots, 7 slots less.")


def test_a_part_is_told_of_a_utility_that_has_a_zero_of_its_own() -> None:
    """`count`: two jobs are worth 2 in any plan that completes both."""
    found = workbench.exact(make([{"steps": 3 * 360.0}, {"steps": 360.0}]), "hadar", utility="count")
    assert (found.best, found.own, found.gap) == (2, 2, 0.0) and "utility" not in found.leaves_out


def test_hare_beside_hare_sched() -> None:
    """One job of one task for 2 s and one for 1 s on one GPU: 1 + 3 at best, and no better within any limit."""
    scenario = make([{"steps": 2.0}, {"steps": 1.0}])
    found = workbench.exact(scenario, "hare")
    assert found.best == pytest.approx(4.0) and found.own == pytest.approx(4.0, abs=0.01)
    assert found.sense == "min" and found.gap == pytest.approx(0.0, abs=0.01)
    assert set(found.schedule["job"]) == {"j0", "j1"} and "gpu" in found.schedule
    off = replace(found, own=4.0031416, gap=0.0031416 / 4.0).sentence
    assert off.endswith("hare comes to 4.00314 s x weight, 0.00314 s x weight (0.08 %) more.")


def test_chronus_beside_its_lease_programme() -> None:
    """On one GPU, leases of 1200 s: who comes first is promised leases 1 and 2, worth 10, and keeps them; of those that
    come at 60 s one needs lease 2, worth 30, the other leases 2 and 3, worth 50. Known ahead: the last alone."""
    jobs = [
        {"steps": 2400.0, "rewards": [[2400.0, 10.0]]},
        {"steps": 1200.0, "arrival_s": 60.0, "rewards": [[2340.0, 30.0]]},
        {"steps": 2400.0, "arrival_s": 60.0, "rewards": [[3600.0, 50.0]]},
    ]
    scenario = make(jobs)
    knobs = {"slo_lease_s": 1200, "profile": False}
    run = workbench.simulate(scenario, "chronus", knobs)
    found = workbench.exact(run)
    assert (found.formulation, found.status, found.sense) == ("chronus.leases", "optimal", "max")
    assert (found.best, found.own, found.gap) == (1 + 1 + 50, 10 + 1 + 1, pytest.approx(40 / 52))  # a miss is worth 1
    assert run.jobs["finish_s"].tolist() == [2400.0, 3600.0, 6000.0]
    assert found.schedule.to_dict("records") == [
        {"job": "j2", "slot": 2, "gpus": 1, "start_s": 1200.0, "end_s": 2400.0},
        {"job": "j2", "slot": 3, "gpus": 1, "start_s": 2400.0, "end_s": 3600.0},
    ]
    assert "best-effort" in found.leaves_out


def test_a_run_may_be_better_by_what_the_problem_leaves_out() -> None:
    """A job of 600 s due at 900 s fits no lease of 1200 s, which is the programme's smallest; best effort meets it."""
    scenario = make([{"steps": 600.0, "rewards": [[900.0, 10.0]]}])
    found = workbench.exact(scenario, "chronus", slo_lease_s=1200, profile=False)
    assert (found.best, found.own, found.beyond, found.gap) == (1.0, 10.0, True, -9.0)
    assert "better than the optimum by what the problem leaves out" in found.sentence


def test_copies_beat_the_best_of_p1_so_hadare_has_no_exact_problem() -> None:
    """One job of 20 rounds on one GPU, and two nodes: P1 takes 20 slots, two copies end it in 10 rounds."""
    scenario = make([{"steps": 20 * 360.0}], gpus={"n": 1, "m": 1})
    best = workbench.exact(workbench.simulate(scenario, "hadar"))
    assert best.best is not None and best.schedule["end_s"].max() == 20 * 360.0
    copies = workbench.simulate(scenario, "hadare", overhead_s=0.0)
    assert copies.jobs["finish_s"].item() <= 10 * 360.0 + 1
    with pytest.raises(InputError, match=r"exact problem of hadare: got copies of a job.*hadar, whose problem"):
        workbench.exact(copies)


def test_out_of_time_the_best_schedule_found_and_the_bound_are_told() -> None:
    """Thirty tasks on one GPU: the bound is far from any schedule after half a second, as after an hour."""
    late = workbench.exact(
        make([{"steps": 4.0 + i % 3, "weight": 1.0 + 0.37 * i} for i in range(6)]), "hare", time_limit_s=0.5
    )
    assert (late.best, late.status) == (None, "time_limit")
    assert (
        late.found is not None and late.bound is not None and 0 < late.bound < late.found and len(late.schedule) == 30
    )
    assert late.sentence.startswith("hare.exact was not solved within 0.5 s: the best schedule found comes to")
    assert "none is below" in late.sentence


def test_what_was_not_solved_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    large = workbench.exact("preset:start_here", "hare")
    assert large.sentence == (
        "hare.exact was not solved, as it is too large (120 tasks; it takes at most 40 tasks); hare comes to 20,978.7."
    )
    assert large.schedule.empty and large.gap is None

    def out_of_time(*_: Any) -> Any:
        raise workbench.analysis.exact.TimeLimitError("hadar_offline", "20 s")

    monkeypatch.setattr(Offline, "run", out_of_time)
    none = workbench.exact(make([{"steps": 360.0}]), "hadar")
    assert none.sentence.startswith("hadar.offline was not solved within 20 s, and no bound is known; hadar comes to")


def test_what_cannot_be_asked() -> None:
    run = workbench.simulate(make([{"steps": 360.0}]), "fifo")
    with pytest.raises(InputError, match="exact problem of fifo: got An algorithm decides"):
        workbench.exact(run)
    with pytest.raises(InputError, match=r"at one time `workbench.solve\(scenario, 'hops.round'"):
        workbench.exact(run.scenario, "hops")
    with pytest.raises(InputError, match="expected none with a run, which has its own"):
        workbench.exact(run, "hadar")
    with pytest.raises(InputError, match="expected the one to simulate"):
        workbench.exact(run.scenario)
    with pytest.raises(InputError, match="time_limit_s: got 0"):
        workbench.exact(run.scenario, "hadar", time_limit_s=0)
    cut = workbench.simulate(make([{"steps": 3600.0}]), "hare", until_s=60.0)
    with pytest.raises(InputError, match="1 job not finished"):
        workbench.exact(cut)
