"""The scheduler `hops`: rounds of several plans, charges and fallbacks by hand; runs that keep the limits."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.papers.hops.plan_support import job, scenario
from workbench.base.errors import InputError, ScenarioError
from workbench.papers.hops import scheduler
from workbench.papers.hops.algorithms import round_state
from workbench.papers.hops.scheduler import decision_s
from workbench.scheduling.solvers import TimeLimitError
from workbench.session.api import simulate, snapshot_at

FREE = {"profile_iterations": 0, "decision_s": 0.0}
"""Nothing is charged for profiles and plans."""


def runs(run, name):
    """(start, end) of the times in which a job runs, with its slots."""
    rows = run.timeline[(run.timeline["unit"] == name) & (run.timeline["kind"] == "run")]
    return sorted(zip(rows["start_s"], rows["end_s"], rows["node"], strict=True))


def test_who_gets_the_gpus_of_a_job_that_ends_and_until_when():
    """One server of 2, jobs of 2 GPUs, 2 steps/s: a ends at 50 s; b has waited, and begins at once, not at 300 s."""
    made = scenario([job("a", sizes=(2,)), job("b", sizes=(2,), steps=1000.0)], speeds=(1.0,))
    run = simulate(made, "hops", FREE)
    assert [part[:2] for part in runs(run, "a")] == [(0.0, 50.0)] * 2
    assert runs(run, "b")[0][0] == 50.0
    assert run.jobs.set_index("job")["finish_s"].to_dict() == pytest.approx({"a": 50.0, "b": 550.0})
    late = simulate(made, "hops", FREE, replan=False)
    assert runs(late, "b")[0][0] == 300.0


def test_plans_of_a_round_end_together():
    """b arrives at 100 s on an idle server; at 300 s c, which came at 200 s when all was busy, takes part again."""
    made = scenario([job("a", sizes=(2,), steps=2000.0), job("b", 100.0, (2,), 2000.0), job("c", 200.0, (2,), 2000.0)])
    run = simulate(made, "hops", FREE, until_s=400.0)
    assert [part[0] for part in runs(run, "b")] == [100.0, 100.0]
    assert {"a", "c"} & set(run.timeline[run.timeline["start_s"] == 300.0]["unit"])
    starts = run.timeline[run.timeline["kind"] == "run"].groupby("unit")["start_s"].min().to_dict()
    assert starts["c"] == 300.0  # two have the servers; at 300 s c has waited longest over its age
    assert run.decisions["time_s"].tolist()[:3] == [0.0, 100.0, 200.0]


def test_a_job_that_keeps_its_shape_keeps_its_server():
    made = scenario([job(name, sizes=(1,), steps=2000.0) for name in "abcd"])
    run = simulate(made, "hops", FREE)
    assert (run.events["event"] == "move").sum() == 0
    assert run.jobs["restarts"].max() == 0


def test_jobs_outside_the_window_wait_though_they_would_gain():
    """Window of 4 GPUs: a and b. c is outside; with the window off and lambda 0 all three may have one GPU each."""
    jobs = [
        job("a", sizes=(2,), steps=4000.0),
        job("b", sizes=(2,), steps=4000.0),
        job("c", sizes=(1, 4), steps=4000.0),
    ]
    made = scenario(jobs)
    inside = simulate(made, "hops", FREE, until_s=300.0)
    assert not runs(inside, "c")
    free = simulate(made, "hops", {**FREE, "lambda": 0.0, "service_window": False}, until_s=300.0)
    assert runs(free, "c")


def decided(made, **knobs):
    """The first decision on a scenario."""
    hops = scheduler.Hops()
    settled = hops.settle({**FREE, **knobs})
    return hops.decide(snapshot_at(made), hops.start(made, settled), settled, np.random.default_rng(0))[0]


def test_why_a_job_waits():
    """Servers of 2 GPUs. Of two, c is beyond the window of 4; x could have 2 + 1 of them, but a and b gain as much and
    come first; a gang of 3 has no room on one."""
    beyond = decided(scenario([job(name, sizes=(2,)) for name in "abc"]))
    assert {name: reason.code for name, reason in beyond.why.items()} == {"c": "outside"}
    passed = decided(scenario([job("a", sizes=(1,)), job("b", sizes=(2,)), job("x", sizes=(3,))]))
    assert passed.why["x"].code == "not_chosen"
    large = decided(scenario([job("a", sizes=(1,)), job("x", sizes=(3,))], speeds=(1.0,)))
    assert large.why["x"].code == "no_room"
    assert all(assignment.until_s == 300.0 for found in (beyond, passed, large) for assignment in found.assign)


def test_with_overlap_a_round_carries_out_what_was_planned_a_round_ago():
    """b arrives at 290 s; the plan of 300 s, the first one with it on GPUs of its own, is carried out at 600 s."""
    made = scenario([job("a", sizes=(2,), steps=4000.0), job("b", 290.0, (2,), 4000.0)], speeds=(1.0,))
    plain = simulate(made, "hops", FREE, until_s=1000.0)
    overlapped = simulate(made, "hops", FREE, overlap=True, until_s=1000.0)
    switched = [runs(run, "b")[0][0] if runs(run, "b") else None for run in (plain, overlapped)]
    assert None not in switched
    assert switched[1] == switched[0] + 300.0
    assert overlapped.reasons["text"].tolist()[:2] == [
        "until 5 min, when the next plan is carried out, all goes on as before",
        "a plan that is carried out at 10 min has GPUs for it",
    ]


def test_out_of_time_the_last_round_goes_on_and_the_decision_says_so(monkeypatch):
    made = scenario([job("a", sizes=(2,), steps=1500.0), job("b", sizes=(2,), steps=1500.0)], speeds=(1.0,))
    calls, real = [], round_state.make_plan

    def slow(*arguments):
        calls.append(1)
        if len(calls) > 1:
            raise TimeLimitError("hops_round", "1 s")
        return real(*arguments)

    monkeypatch.setattr(round_state, "make_plan", slow)
    run = simulate(made, "hops", FREE, until_s=700.0)
    assert [part[:2] for part in runs(run, "a")] == [(0.0, 700.0)] * 2
    assert run.decisions["status"].tolist() == ["optimal", "time_limit", "time_limit"]


# What is charged, recorded and said out loud --------------------------------------------------------------------------


def profiles(run):
    rows = run.timeline[run.timeline["kind"] == "profile"]
    return sorted(zip(rows["unit"], rows["start_s"], rows["end_s"], strict=True))


def test_a_job_is_profiled_before_it_enters_the_queue():
    """20 s to start and 30 iterations at 1 a second: 50 s on one GPU; then it runs, on the GPUs that are idle."""
    made = scenario([job("a", sizes=(2,), steps=400.0), job("b", 100.0, (1,), 100.0)])
    run = simulate(made, "hops", decision_s=0.0)
    assert profiles(run) == [("a #0", 0.0, 50.0), ("b #0", 100.0, 150.0)]
    assert runs(run, "a")[0][0] >= 50.0 and runs(run, "b")[0][0] >= 150.0
    started = run.events[(run.events["event"] == "start") | (run.events["event"] == "move")].groupby("unit")["time_s"]
    assert started.min().to_dict() == {"a #0": 0.0, "a": 50.0, "b #0": 100.0, "b": 150.0}
    late = simulate(made, "hops", decision_s=0.0, replan=False)
    assert late.events[late.events["unit"] == "a"]["time_s"].min() == 300.0, "without later plans: the next round"


def test_profiles_come_before_the_plan_and_displace_it():
    """One GPU: at 300 s b's profile has it, though a has run on it; a goes on when that is done."""
    made = scenario([job("a", sizes=(1,), steps=1000.0), job("b", 200.0, (1,), 100.0)], speeds=(1.0,), gpus=1)
    run = simulate(made, "hops", decision_s=0.0, until_s=600.0)
    assert profiles(run) == [("a #0", 0.0, 50.0), ("b #0", 300.0, 350.0)]


def test_the_signals_of_a_decision_by_hand():
    """Two servers of 2 GPUs, at 1 step/s per GPU, half when spread: sensitivity 2; ages by (9): steps over mean size,
    per GPU 1 step/s."""
    found = decided(scenario([job("a", sizes=(1, 2), steps=300.0), job("b", sizes=(2,), steps=400.0)])).signals
    assert found["age_s"] == {"a": pytest.approx(200.0), "b": pytest.approx(200.0)}
    assert found["latency_ratio"] == {"a": 0.0, "b": 0.0} == found["priority"]
    assert found["sensitivity"] == {"a": 2.0, "b": 2.0}
    assert found["weight"] == pytest.approx({"a": 0.01, "b": 0.01}), "(0 + bias)^1, bias 0.01"
    assert found["gain"] == pytest.approx({"a": 2.0, "b": 1.0})
    assert found["learning_rate"] == {"a": 2.0}, "b has one size"
    root = decided(scenario([job("a", sizes=(1, 2))]), learning_rate="square_root").signals
    assert root["learning_rate"] == {"a": pytest.approx(2**0.5)}
    assert "weight" not in decided(scenario([job("a")]), **{"lambda": "inf"}).signals


def test_a_plan_that_time_cut_short_says_so(monkeypatch):
    real = round_state.make_plan

    def cut(*arguments):
        found = real(*arguments)
        return replace(found, solved=replace(found.solved, status="time_limit", gap=0.25))

    monkeypatch.setattr(round_state, "make_plan", cut)
    found = decided(scenario([job("a")]), replan=False)
    assert found.solved.status == "time_limit" and found.solved.gap == 0.25
    assert found.why["a"].code == "incumbent" and "25.00%" in found.why["a"].text


def test_a_problem_that_has_not_changed_is_not_solved_again(monkeypatch):
    """a and b share a server of 3 at 2 and 1 of it: nobody waits, so no priority grows."""
    calls, real = [], round_state.make_plan
    monkeypatch.setattr(round_state, "make_plan", lambda *given: calls.append(1) or real(*given))
    made = scenario([job(n, sizes=(1, 2), steps=4000.0) for n in "ab"], speeds=(1.0,), gpus=3)
    run = simulate(made, "hops", FREE, until_s=1500.0)
    assert len(calls) == 1 and len(run.decisions) == 5
    assert run.decisions["status"].tolist() == ["optimal", "", "", "", ""]
    assert (run.decisions["solve_s"].iloc[1:] == 0).all() and (run.decisions["made_by"].iloc[1:] == "kept").all()
    assert run.decisions["objective"].nunique() == 1


# Promises on random scenarios -----------------------------------------------------------------------------------------


@st.composite
def crowds(draw):
    """A few jobs of one or several sizes on two servers of 2, with different lengths."""
    sizes = st.lists(st.integers(1, 4), min_size=1, max_size=3, unique=True).map(lambda found: tuple(sorted(found)))
    count = draw(st.integers(1, 6))
    return [job(f"j{i}", sizes=draw(sizes), steps=draw(st.integers(50, 900)) * 1.0 + i / 8) for i in range(count)]


def first_plan(jobs, **knobs):
    """The decision of a first plan alone, after all have waited for 300 s, and its snapshot."""
    made = scenario(jobs)
    hops = scheduler.Hops()
    settled = hops.settle({**FREE, "replan": False, "gap": 0.0, "sigma": 2.0, **knobs})
    snapshot = snapshot_at(made, 300.0)
    decision, _ = hops.decide(snapshot, hops.start(made, settled), settled, np.random.default_rng(0))
    return decision, snapshot


@given(jobs=crowds(), power=st.sampled_from([0.0, 1.0, 2.0, np.inf]), window=st.booleans())
def test_no_server_gives_more_than_it_has(jobs, power, window):
    decision, snapshot = first_plan(jobs, service_window=window, **{"lambda": power})
    for node, has in zip(snapshot.nodes.names, snapshot.nodes.gpus.tolist(), strict=True):
        assert sum(a.gpus.get(node, 0) for a in decision.assign) <= has
    for a in decision.assign:
        assert sum(a.gpus.values()) in snapshot.jobs.jobs[snapshot.jobs.at[a.unit]].sizes


@given(jobs=crowds(), power=st.sampled_from([1.0, 3.0, np.inf]))
def test_lambda_0_has_the_most_gain(jobs, power):
    def gain(value):
        return sum(first_plan(jobs, service_window=False, **{"lambda": value})[0].signals.get("gain", {}).values())

    assert gain(0.0) >= gain(power) - 1e-6


@given(jobs=crowds())
def test_lambda_infinity_never_lets_a_lower_class_displace_a_higher_one(jobs):
    """The gains of the k first of the queue are those of a plan with nobody else, for each k."""
    whole, _ = first_plan(jobs, service_window=False, **{"lambda": np.inf})
    priority, gain = whole.signals["priority"], whole.signals.get("gain", {})
    for least in set(priority.values()):
        kept = [one for one in jobs if priority[one["name"]] >= least]
        alone = first_plan(kept, service_window=False, **{"lambda": np.inf})[0].signals.get("gain", {})
        got = [gain.get(one["name"], 0.0) for one in kept if priority[one["name"]] == least]
        assert sum(got) == pytest.approx(
            sum(alone.get(one["name"], 0.0) for one in kept if priority[one["name"]] == least), abs=1e-5
        )


@given(jobs=crowds())
def test_the_window_skips_nobody(jobs):
    """Who is outside comes after all who are inside, and those inside reach the 4 GPUs only with the last of them."""
    decision, snapshot = first_plan(jobs)
    order = sorted(range(len(jobs)), key=lambda row: -decision.signals["priority"][snapshot.jobs.names[row]])
    names = [snapshot.jobs.names[row] for row in order]
    inside = [decision.signals["window"][name] == 1 for name in names]
    assert inside == sorted(inside, reverse=True)
    least = [snapshot.jobs.jobs[snapshot.jobs.at[name]].sizes[0] for name in names]
    assert sum(least[: sum(inside) - 1]) < 4
    assert all(inside) or sum(least[: sum(inside)]) >= 4


@given(jobs=crowds(), seed=st.integers(0, 99))
def test_the_order_of_the_job_list_does_not_matter(jobs, seed):
    """Priorities differ (lengths do): the same queue, and a plan of the same value."""
    mixed = [jobs[i] for i in np.random.default_rng(seed).permutation(len(jobs))]
    one, two = first_plan(jobs)[0], first_plan(mixed)[0]
    assert one.signals["priority"] == pytest.approx(two.signals["priority"])
    assert (one.solved is None) == (two.solved is None)
    if one.solved is not None:
        assert one.solved.objective == pytest.approx(two.solved.objective)
    assert one.signals["sensitivity"].keys() == two.signals["sensitivity"].keys()


def test_each_priority_serves_its_first():
    """One server of 2. Short waits less but is shorter; old has had 1e6 GPU-seconds."""
    jobs = [job("long", sizes=(2,), steps=9000.0), job("short", sizes=(2,), steps=90.0, attained_s=1e6)]
    first = {
        priority: next(iter(first_plan_of(jobs, priority))) for priority in ("latency_ratio", "las", "sjf", "srtf")
    }
    assert first == {"latency_ratio": "short", "las": "long", "sjf": "short", "srtf": "short"}


def first_plan_of(jobs, priority):
    """The jobs that a plan of one server of 2 serves, with lambda = infinity."""
    made = scenario(jobs, speeds=(1.0,))
    hops = scheduler.Hops()
    settled = hops.settle({**FREE, "priority": priority, "lambda": "inf"})
    decision, _ = hops.decide(snapshot_at(made, 60.0), hops.start(made, settled), settled, np.random.default_rng(0))
    return [a.unit for a in decision.assign]


# Bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "knob, value",
    [
        ("lambda", -1.0),
        ("gap", 1.0),
        ("gap", -0.1),
        ("priority", "age"),
        ("learning_rate", "cubic"),
        ("round_s", 0.0),
        ("refresh_s", -1.0),
        ("time_limit_s", 0.0),
        ("most_sizes", 0),
    ],
)
def test_knobs_out_of_range_are_refused_by_name(knob, value):
    with pytest.raises(InputError, match=knob):
        decided(scenario([job("a")]), **{knob: value})


def test_a_job_without_sizes_and_one_larger_than_the_cluster_are_refused():
    with pytest.raises(ScenarioError, match="gpu_choices"):
        scenario([{**job("a"), "gpu_choices": []}])
    with pytest.raises(ScenarioError, match="a"):
        simulate(scenario([job("a", sizes=(8,))]), "hops")


def test_the_model_at_the_sizes_of_the_paper():
    """Section 4.7: below 1 s under 100 GPUs, within 10 s up to 500, about 6 and 17 s at 1000 and 1500 with 5 %."""
    assert decision_s(64, 6.0) == 0.0
    assert decision_s(512, 6.0) == 6.0
    assert 6.0 <= decision_s(1024, 6.0) <= 8.0
    assert decision_s(1504, 6.0) == 17.0
    assert decision_s(1504, 0.0) == 0.0


def starts(run, name):
    rows = run.timeline[(run.timeline["unit"] == name) & (run.timeline["kind"] == "run")]
    return sorted(set(rows["start_s"]))


# Seconds for which a plan of these 2 GPUs is charged: c (2 / 512)^2 = 50.
C = 50.0 * 256**2
UNPROFILED = {"profile_iterations": 0}


def test_until_the_plan_is_made_jobs_go_on_as_before():
    """One server of 2, equal jobs. a waits 50 s for its first plan, so at 300 s it is still ahead of b, which waited
    10 s; at 600 s b is ahead, and gets the server at 650 s, when that plan has been made. Uncharged, a has not waited
    at all, and b has the server at 300 s."""
    made = scenario([job("a", sizes=(2,), steps=4000.0), job("b", 290.0, (2,), 4000.0)], speeds=(1.0,))
    free = simulate(made, "hops", UNPROFILED, decision_s=0.0, until_s=800.0)
    paid = simulate(made, "hops", UNPROFILED, decision_s=C, until_s=800.0)
    assert (starts(free, "a")[0], starts(free, "b")[0]) == (0.0, 300.0)
    assert (starts(paid, "a")[0], starts(paid, "b")[0]) == (50.0, 650.0)
    held = paid.timeline[(paid.timeline["unit"] == "a") & (paid.timeline["kind"] == "run")]
    assert held["end_s"].tolist() == [650.0] * 2, "a has kept the GPUs while the plan was made"


def test_a_charge_longer_than_a_round_ends_with_it():
    made = scenario([job("a", sizes=(2,), steps=400.0)], speeds=(1.0,))
    run = simulate(made, "hops", UNPROFILED, decision_s=100 * C)
    assert starts(run, "a")[0] == 300.0


def test_with_overlap_nothing_is_charged():
    made = scenario([job("a", sizes=(2,), steps=400.0)], speeds=(1.0,))
    assert starts(simulate(made, "hops", UNPROFILED, decision_s=C, overlap=True), "a")[0] == 0.0


def test_what_needs_no_new_plan_is_not_charged():
    """a alone has its best from 50 s on; at 300 s the problem is the one solved before."""
    made = scenario([job("a", sizes=(2,), steps=1400.0)], speeds=(1.0,))
    run = simulate(made, "hops", UNPROFILED, decision_s=C)
    assert run.decisions["time_s"].tolist() == [0.0, 50.0, 300.0, 600.0]
    assert run.jobs["finish_s"].tolist() == [pytest.approx(750.0)]


@pytest.mark.parametrize("name, value", [("decision_s", -1.0), ("profile_iterations", -1), ("profile_start_s", -1.0)])
def test_bad_charges_are_refused(name, value):
    made = scenario([job("a", sizes=(2,))], speeds=(1.0,))
    with pytest.raises(InputError, match=name):
        simulate(made, "hops", {name: value})
