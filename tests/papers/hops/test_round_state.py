"""What a decision records for charts: the queue with its window, and each job's gains once."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from tests.papers.hops import plan_support
from tests.papers.hops.plan_support import SEEDS, job, random_round, scenario
from workbench.papers.hops import scheduler
from workbench.papers.hops.algorithms import round_plan
from workbench.papers.hops.algorithms.gains import best_by_size
from workbench.papers.hops.algorithms.round_plan import fingerprint, make_plan, unbeatable
from workbench.papers.hops.formulations.round import HopsRound
from workbench.papers.hops.instance import HopsInstance, JobConfigurations
from workbench.papers.hops.lessons.tables import queue_table
from workbench.scenario.presets import preset
from workbench.scenario.scenario import Scenario
from workbench.session.api import simulate, snapshot_at

FREE = {"profile_iterations": 0, "decision_s": 0.0}


def decided(made, **knobs):
    """The first decision on a scenario, and the memory then."""
    hops = scheduler.Hops()
    settled = hops.settle({**FREE, **knobs})
    return hops.decide(snapshot_at(made), hops.start(made, settled), settled, np.random.default_rng(0))


def test_the_place_in_the_queue_and_the_window_by_hand():
    """Two servers of 2, three gangs of 2 and one of 1: the first two fill the window of 4 and the cluster."""
    names = ["a", "b", "c"]
    found = decided(scenario([job(name, sizes=(2,)) for name in names]))[0].signals
    assert found["place"] == {"a": 1.0, "b": 2.0, "c": 3.0}
    assert found["window"] == {"a": 1.0, "b": 1.0, "c": 0.0}
    assert "let_in" not in found


def test_a_later_plan_has_a_window_of_its_own():
    """One server of 4; a has waited. Its 2 GPUs and the 3 of x fill the first window, and only a fits. In the window of
    the plan for the 2 that are left stand x and b, whose 3 + 1 reach 4."""
    jobs = [job("a", sizes=(2,)), job("x", 100.0, (3,)), job("b", 100.0, (1,))]
    found = decided(scenario(jobs, speeds=(1.0,), gpus=4))[0]
    assert found.signals["place"] == {"a": 1.0, "x": 2.0, "b": 3.0}
    assert found.signals["window"] == {"a": 1.0, "x": 1.0, "b": 2.0}
    assert {assignment.unit for assignment in found.assign} == {"a", "b"}


def test_who_is_let_in_by_the_adjustment():
    """Two servers of 2; a has waited and has one of them. x and y, gangs of 3, fill the window of the next plan and
    find no room. Their sensitivity is 2, that of d behind them 1: below the queue's mean, and its GPU is idle."""
    made = scenario([job("a", sizes=(2,)), *(job(name, 100.0, (3,)) for name in "xyd")]).to_dict()
    made["jobs"][3].update(model="easy", gpus=1, gpu_choices=[1])
    alike = [row for row in made["throughputs"] if row.get("placement") != "unconsolidated"]
    made["throughputs"] += [{**row, "model": "easy"} for row in alike]
    found = decided(Scenario.from_dict(made))[0].signals
    assert found["window"] == {"a": 1.0, "x": 1.0, "y": 2.0, "d": 0.0} and found["let_in"] == {"d": 1.0}
    assert found["sensitivity"] == {"a": 2.0, "x": 2.0, "y": 2.0, "d": 1.0}
    assert found["gain"].keys() == {"a", "d"}
    assert "let_in" not in decided(Scenario.from_dict(made), adjust=False)[0].signals


def test_without_a_plan_there_is_no_queue():
    found = decided(scenario([]))[0].signals
    assert not {"place", "window", "let_in"} & found.keys()


def test_the_queue_of_a_preset_is_that_of_its_table():
    made = preset("hops_64")
    snapshot, knobs = snapshot_at(made), scheduler.Hops().settle(FREE)
    found, table = decided(made)[0].signals, queue_table(snapshot, knobs)
    order = sorted(found["place"], key=lambda name: found["place"][name])
    assert order == table["job"].tolist()
    assert [found["window"][name] == 1 for name in order] == table["window"].tolist()
    rho = table.set_index("job")["sensitivity"]
    assert all(value == pytest.approx(rho[name]) for name, value in found["sensitivity"].items())


def test_gains_by_size_are_the_best_of_the_configurations_that_a_job_is_offered():
    snapshot, knobs = snapshot_at(preset("hops_64")), HopsRound().settle({})
    data, kinds = HopsRound().data(snapshot, knobs), snapshot.nodes.kind.tolist()
    names, best = ("job-0", "job-4", "job-14"), defaultdict(float)
    for job_row, layout, gain in zip(data.job.tolist(), data.layout.tolist(), data.gain.tolist(), strict=True):
        where = data.named(data.layouts[layout])
        kind = kinds[snapshot.nodes.names.index(next(iter(where)))]
        key = (job_row, kind, sum(where.values()), len(where))
        best[key] = max(best[key], gain)
    every = best_by_size(data, snapshot, data.jobs)
    assert every == pytest.approx(dict(best)) and {row for row, *_ in every} == set(range(len(data.jobs)))
    mine = best_by_size(data, snapshot, names)
    assert mine == {size: gain for size, gain in every.items() if data.jobs[size[0]] in names}
    assert min(mine.values()) == pytest.approx(1.0)


def test_gains_are_recorded_until_a_round_has_begun_with_the_job():
    """a is there from the start, b comes at 100 s, has the two GPUs that are idle, and the next round begins at 300 s.
    Nothing is recorded at 600 s."""
    made = scenario([job("a", sizes=(1, 2), steps=2000.0), job("b", 100.0, (1,), 2000.0)])
    signals = simulate(made, "hops", FREE).signals
    gains = signals[signals["signal"].str.startswith("gain of ")]
    assert gains.groupby("job")["time_s"].unique().map(list).to_dict() == {
        "a": [0.0],
        "b": [100.0, 300.0],
    }
    mine = gains[gains["job"] == "a"].set_index("signal")["value"]
    assert {name: value for name, value in mine.items() if name.endswith("on 1")} == {
        f"gain of {gpus} x v100 on 1": gain for gpus, gain in ((1, 1.0), (2, 2.0))
    }


def test_gains_count_the_gpus_that_a_new_jobs_profile_has_just_been_given():
    """A round begins at 300 s, the first one with a. b comes then and is profiled on one of the four GPUs; but for that
    a might have had all of them."""
    jobs = [job("c", sizes=(1,), steps=1000.0), job("a", 100.0, (1, 4), 1000.0), job("b", 300.0, (1,))]
    run = simulate(scenario(jobs), "hops", {"decision_s": 0.0, "sigma": 2.0})
    profiles = run.timeline[run.timeline["kind"] == "profile"].set_index("job")["start_s"]
    assert profiles.to_dict() == {"c": 0.0, "a": 100.0, "b": 300.0}
    signals = run.signals[run.signals["time_s"] == 300.0].set_index(["signal", "job"])["value"]
    assert signals["gain of 4 x v100 on 2", "a"] == pytest.approx(4.0) and signals["gain", "a"] == pytest.approx(1.0)


def test_memory_forgets_jobs_that_are_gone():
    made = scenario([job("a", sizes=(1,)), job("b", sizes=(1,))])
    assert decided(made)[1].listed == ("a", "b")
    hops = scheduler.Hops()
    knobs = hops.settle(FREE)
    before = scheduler.HopsMemory(ages={"gone": 1.0}, listed=("gone",))
    assert hops.decide(snapshot_at(made), before, knobs, np.random.default_rng(0))[1].listed == ("a", "b")


# Plans without a solver: only where a solver would find nothing better


def two_jobs(first=1.0, second=2.0, idle=2, speed=1.0):
    both = [({"s": 1}, speed), ({"s": 2}, 1.8)]
    return HopsInstance.of(
        {"s": idle, "t": idle}, [JobConfigurations("a", first, both), JobConfigurations("b", second, both)]
    )


def test_equal_problems_have_equal_fingerprints():
    base = fingerprint(two_jobs(), 1.0)
    assert base == fingerprint(two_jobs(), 1.0)
    assert base == fingerprint(two_jobs(2.0, 4.0), 1.0), "only the ratios of the weights matter"
    for other in (two_jobs(second=3.0), two_jobs(idle=1), two_jobs(speed=0.9)):
        assert fingerprint(other, 1.0) != base
    assert fingerprint(two_jobs(), 0.0) == fingerprint(two_jobs(second=3.0), 0.0), "lambda 0: all weights are 1"
    assert fingerprint(two_jobs(), np.inf) == fingerprint(two_jobs(second=3.0), np.inf), "the same order"
    assert fingerprint(two_jobs(), np.inf) != fingerprint(two_jobs(second=0.5), np.inf)


def test_a_plan_in_which_all_have_their_best_stays():
    data = HopsInstance.of(
        {"s": 2, "t": 2},
        [JobConfigurations(name, 1.0, [({"s": 2}, 2.0), ({"t": 2}, 2.0), ({"t": 1}, 1.0)]) for name in "ab"],
    )
    best, mixed = {0: ((0, 2),), 1: ((1, 2),)}, {0: ((0, 2),), 1: ((1, 1),)}
    plan = unbeatable(data, best)
    assert plan is not None and {row: placed.layout for row, placed in plan.items()} == best
    assert unbeatable(data, mixed) is None, "b could have more"
    assert unbeatable(data, {0: ((0, 2),)}) is None, "b waits"
    assert unbeatable(data, {}) is None
    both_on_s = {0: ((0, 2),), 1: ((0, 2),)}
    assert unbeatable(data, both_on_s) is None, "two GPUs cannot be given out twice"


@given(seed=SEEDS)
def test_what_stays_is_an_optimum(seed):
    """From the optimum for any weights; brute force is the judge."""
    data = random_round(seed, least_idle=2)
    plan = make_plan(data, {"lambda": 0.0, "gap": 0.0}).plan
    stay = unbeatable(data, {row: placed.layout for row, placed in plan.items()})
    if stay is not None:
        gain = np.zeros(len(data.jobs))
        for row, placed in stay.items():
            gain[row] = placed.gain
        for power in (0.0, 1.0, 3.0):
            assert plan_support.value(data, gain, power) == pytest.approx(plan_support.best(data, power))


@pytest.mark.parametrize("power", [1.0, np.inf])
def test_no_solver_is_asked_then(power, monkeypatch):
    data = HopsInstance.of({"s": 2}, [JobConfigurations("a", 1.0, [({"s": 2}, 2.0), ({"s": 1}, 1.0)])])
    found = make_plan(data, {"lambda": power})
    monkeypatch.setattr(round_plan, "serve", lambda *arguments: pytest.fail("a solver was asked"))
    again = make_plan(data, {"lambda": power}, previous={0: found.plan[0].layout})
    assert again.plan == found.plan and again.solved.status == "optimal"
    assert again.solved.objective == pytest.approx(found.solved.objective)


@given(seed=SEEDS)
def test_the_start_changes_no_optimum(seed):
    """From any plan that fits, with the solver's start or without, printed and aggregated alike."""
    data = random_round(seed)
    before = make_plan(data, {"lambda": 0.0}).plan
    previous = {row: placed.layout for row, placed in before.items()}
    for model in ("printed", "aggregated"):
        knobs = {"lambda": 1.0, "gap": 0.0, "form": model}
        values = [
            make_plan(data, {**knobs, "start": start}, previous=previous).solved.objective for start in (True, False)
        ]
        assert values[0] == pytest.approx(values[1], abs=1e-6)


def test_the_formulation_starts_from_the_previous_round():
    from workbench.papers.hops.formulations.round import HopsRound

    data = replace(two_jobs(), previous={0: ((0, 1),)})
    formulation = HopsRound()
    for model in ("printed", "aggregated"):
        knobs = formulation.settle({"gap": 0.0, "form": model})
        with_start, without = (formulation.run(data, {**knobs, "start": start}) for start in (True, False))
        assert with_start.objective == pytest.approx(without.objective)
