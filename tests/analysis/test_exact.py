"""A paper's algorithm beside the exact problem that it is for."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import workbench
from tests.simulation.support import make
from workbench import InputError
from workbench.papers.hadar.formulations.offline import Offline
from workbench.papers.hare.formulations.exact import Exact


def test_hadar_beside_p1() -> None:
    """Two jobs of one GPU each for three and one rounds, on one GPU: the short one first, 2 x T + 2 - (1 + 4) slots."""
    scenario = make([{"steps": 3 * 360.0}, {"steps": 360.0}])
    run = workbench.simulate(scenario, "hadar")
    found = workbench.exact(run)
    slots = round(run.end_s / 360.0)
    assert (slots, found.status, found.best) == (4, "optimal", 2 * 4 + 2 - (1 + 4))
    finish = [round(each / 360.0) for each in run.jobs["finish_s"]]
    assert found.own == 2 * 4 + 2 - sum(finish) and found.gap == abs(found.own - 5) / 5
    assert found.schedule["job"].tolist() == ["j0", "j0", "j0", "j1"] and "slot" in found.schedule
    assert found.schedule["start_s"].tolist()[-1] == 0.0
    assert found.sentence.startswith("hadar.offline: the optimum is 5 slots; hadar comes to")
    assert "Not in the problem: costs of restarts" in found._repr_html_()


def test_a_run_is_worth_what_its_completions_are() -> None:
    run = workbench.simulate("preset:hadar_example", "hadar")
    found = workbench.exact(run, time_limit_s=60.0)
    assert found.best is not None and found.own <= found.best + 1e-6 and found.gap is not None
    asked = {"slot_s": run.knobs["round_s"], "slots": round(run.end_s / run.knobs["round_s"])}
    again = workbench.solve(run.scenario, "hadar.offline", **asked, utility=run.knobs["utility"])
    assert again.objective == pytest.approx(found.best)


def test_hare_beside_hare_sched() -> None:
    """One job of one task for 2 s and one for 1 s on one GPU: 1 + 3 at best, and no better within any limit."""
    scenario = make([{"steps": 2.0}, {"steps": 1.0}])
    found = workbench.exact(scenario, "hare")
    assert found.best == pytest.approx(4.0) and found.own == pytest.approx(4.0, abs=0.01)
    assert found.sense == "min" and found.gap == pytest.approx(0.0, abs=0.01)
    assert set(found.schedule["job"]) == {"j0", "j1"} and "gpu" in found.schedule


def test_what_was_not_solved_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    solved = Exact.run

    def stopped(*given: Any) -> Any:
        return dataclasses.replace(solved(*given), status="time_limit", bound=3.0)

    with monkeypatch.context() as patched:
        patched.setattr(Exact, "run", stopped)
        late = workbench.exact(make([{"steps": 2.0}, {"steps": 1.0}]), "hare")
    assert (late.best, late.status, late.bound) == (None, "time_limit", 3.0) and late.found == pytest.approx(4.0)
    assert late.sentence.startswith("hare.exact was not solved within 20 s: the best schedule found comes to")
    assert "none is below" in late.sentence
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
    with pytest.raises(InputError, match=r"at one time `workbench.solve\(scenario, 'chronus.leases'"):
        workbench.exact(run.scenario, "chronus")
    with pytest.raises(InputError, match="expected none with a run, which has its own"):
        workbench.exact(run, "hadar")
    with pytest.raises(InputError, match="expected the one to simulate"):
        workbench.exact(run.scenario)
    with pytest.raises(InputError, match="time_limit_s: got 0"):
        workbench.exact(run.scenario, "hadar", time_limit_s=0)
    cut = workbench.simulate(make([{"steps": 3600.0}]), "hare", until_s=60.0)
    with pytest.raises(InputError, match="1 jobs that have not finished"):
        workbench.exact(cut)
