"""HadarE on the core: conservation, copies and nodes, whole steps, the knobs, and the paper's two clusters."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

import workbench
from reproduction.causes import gaps
from reproduction.hadar import physical
from reproduction.hadar.settings import SIZES
from workbench.analysis.contract_rules.schedulers import Watched
from workbench.analysis.metrics.summary import summary
from workbench.base.errors import InputError
from workbench.papers.hadar.lessons.theorem3 import cru, cru_by_round, premise, theorem3
from workbench.papers.hadar.scheduler import HadarE
from workbench.scenario.presets import HADARE_MIXES, hadare_mix
from workbench.scenario.scenario import Scenario
from workbench.scheduling.contract import Scheduler
from workbench.scheduling.decision import Decision, is_copy
from workbench.scheduling.snapshot import Snapshot
from workbench.session.registry import find_scheduler
from workbench.simulation.loop import run_loop
from workbench.simulation.run import Run
from workbench.simulation.stop import Until

SLOT_S = 100.0
OURS = {"payoff": "balanced"}
PAYOFFS = ["balanced", "remaining", "work", "utility"]
UTILITIES = ["effective_throughput", "neg_jct", "linear", "count", "step"]


def make(
    speeds: Mapping[str, list[float]], jobs: list[tuple[str, float]], gpus: int = 1, gang: int = 1, **core: Any
) -> Scenario:
    """One node of each type t0, t1, ...; speeds: {model: steps/s of one GPU on each}; jobs: (model, steps)."""
    count = len(next(iter(speeds.values())))
    return Scenario.from_dict(
        {
            "cluster": {
                "accelerators": [{"name": f"t{i}"} for i in range(count)],
                "nodes": [{"name": f"n{i}", "accelerator": f"t{i}", "gpus": gpus} for i in range(count)],
            },
            "jobs": [{"name": f"j{i}", "model": m, "steps": n, "gpus": gang} for i, (m, n) in enumerate(jobs)],
            "throughputs": [
                {"model": model, "accelerator": f"t{i}", "gpus": n, "steps_per_s": rate * n}
                for model, rates in speeds.items()
                for i, rate in enumerate(rates)
                for n in range(1, max(gpus, gang) + 1)
            ],
            "core": core,
        }
    )


def played(scenario: Scenario, **knobs: Any) -> Run:
    return run_loop(scenario, HadarE(), {"round_s": SLOT_S, "overhead_s": 0.0, "payoff": "balanced", **knobs})


def spans(run: Run, *kinds: str) -> list[tuple[str, str, str, float, float]]:
    """(unit, node, kind, start, end) of the timeline, in order of (unit, start)."""
    t = run.timeline[run.timeline.kind.isin(kinds)] if kinds else run.timeline
    rows = t[["unit", "node", "kind", "start_s", "end_s"]].itertuples(index=False, name=None)
    return sorted(rows, key=lambda row: (row[0], row[3]))


class Checked(Watched):
    """HadarE, and what it promises of every decision."""

    def __init__(self, inner: Scheduler, forks: int | None = None) -> None:
        super().__init__(inner)
        self.forks = forks

    def check(self, snapshot: Snapshot, decision: Decision) -> None:
        sizes = dict(zip(snapshot.nodes.names, snapshot.nodes.gpus.tolist(), strict=True))
        places = Counter((a.unit[0], next(iter(a.gpus))) for a in decision.assign if is_copy(a.unit))
        copies = Counter(a.unit[0] for a in decision.assign if is_copy(a.unit))
        forks = self.forks or len(sizes)
        assert all(count == 1 for count in places.values()), "two copies of a job on a node"
        assert all(count <= forks for count in copies.values())
        for a in decision.assign:
            if not is_copy(a.unit):
                continue
            [(node, gpus)] = a.gpus.items()
            job = snapshot.jobs.jobs[snapshot.jobs.at[str(a.unit[0])]]
            assert gpus == min(job.gpus, sizes[node])
            assert a.steps is not None and a.steps >= 1 and a.steps == int(a.steps), "no whole steps"
            assert 1 <= int(a.unit[1]) <= forks
        for name, count in copies.items():
            given_out = sum(a.steps or 0 for a in decision.assign if a.unit[0] == name)
            left = float(snapshot.jobs.steps_left[snapshot.jobs.at[str(name)]])
            assert given_out <= math.ceil(left) + 1e-6 and (count == 0 or given_out > 0)


# By hand -------------------------------------------------------------------------------------------------------------


def test_one_job_on_two_nodes_by_hand() -> None:
    """700 steps at 4 and 3 steps/s, slots of 50 s with 10 s of consolidation: 280, 280 and 140 steps."""
    run = played(make({"m": [4.0, 3.0]}, [("m", 700.0)]), round_s=50.0, overhead_s=10.0)
    assert spans(run) == [
        *(("j0 #1", "n0-0", kind, start, end) for kind, start, end in HAND),
        *(("j0 #2", "n1-0", kind, start, end) for kind, start, end in HAND),
    ]
    assert run.jobs.finish_s[0] == 130 and run.jobs.restarts[0] == 0 and run.jobs.preemptions[0] == 0


@pytest.mark.parametrize(
    ("knobs", "finish_s"),
    [({}, 117.5), ({"overhead_s": 0.0}, 100.0), ({"last_round": "all"}, 120.0), ({"forks": 1}, 175.0)],
)
def test_what_the_notebook_says_of_its_smallest_example(knobs: dict[str, Any], finish_s: float) -> None:
    run = workbench.simulate(make({"m": [4.0, 3.0]}, [("m", 700.0)]), "hadare", OURS, round_s=100.0, **knobs)
    assert run.jobs["finish_s"].tolist() == [approx(finish_s)]


HAND = [
    ("run", 0.0, 40.0),
    ("consolidate", 40.0, 50.0),
    ("run", 50.0, 90.0),
    ("consolidate", 90.0, 100.0),
    ("run", 100.0, 120.0),
    ("consolidate", 120.0, 130.0),
]


def test_a_node_that_is_slower_than_believed_leaves_steps_for_the_next_round() -> None:
    """A copy that is done early holds its node until consolidation; the fast node finishes up alone."""
    data = make({"m": [4.0, 4.0]}, [("m", 600.0)]).to_dict()
    data["cluster"]["nodes"][1]["speed"] = 0.5
    run = played(Scenario.from_dict(data), overhead_s=10.0)
    # 300 steps each: 75 s on n0, 180 of them in 90 s on n1; 120 left: 30 s on n0 alone, 25 s (15 + 10) as believed.
    assert ("j0 #1", "n0-0", "hold", 75.0, 90.0) in spans(run)
    assert ("j0 #2", "n1-0", "run", 0.0, 90.0) in spans(run)
    last = [span for span in spans(run, "run") if span[3] >= 100.0]
    assert {span[1] for span in last} == {"n0-0", "n1-0"}
    assert run.jobs.finish_s[0] == 140.0  # 60 steps at 2 steps/s, then 10 s


def test_the_last_round_is_run_by_the_fastest_node_alone_where_that_is_sooner() -> None:
    """208 steps after the first slot's 180 + 180: 8 left; alone 2 s, together 1 s and 10 s of consolidation."""
    scenario = make({"m": [4.0, 4.0]}, [("m", 728.0)])
    alone, both = played(scenario, overhead_s=10.0), played(scenario, overhead_s=10.0, last_round="all")
    assert [span[1:] for span in spans(alone, "run") if span[3] >= 100] == [("n0-0", "run", 100.0, 102.0)]
    assert len([span for span in spans(both, "run") if span[3] >= 100]) == 2
    assert (alone.jobs.finish_s[0], both.jobs.finish_s[0]) == (102.0, 111.0)


def test_of_all_copies_those_that_do_not_run_keep_their_portions() -> None:
    """One node is taken by the shorter job; the other job's copy there would have had a third of its steps."""
    scenario = make({"m": [2.0, 1.0], "k": [0.0, 1.0]}, [("m", 150.0), ("k", 90.0)])
    running, waiting = played(scenario), played(scenario, split="all_copies")
    assert spans(running, "run")[0] == ("j0 #1", "n0-0", "run", 0.0, 75.0)
    assert spans(waiting, "run")[0] == ("j0 #1", "n0-0", "run", 0.0, 50.0)
    assert running.jobs.finish_s.tolist() == [75.0, 90.0]
    assert waiting.jobs.finish_s[0] == approx(100 + 50 / 3, abs=1.0)


def test_within_a_slot_a_copy_ends_with_a_whole_step() -> None:
    scenario = make({"m": [0.335, 0.214]}, [("m", 100.0)])
    run = played(scenario, dispatch="slot")
    first = run.timeline[(run.timeline.start_s < SLOT_S) & (run.timeline.kind == "run")]
    assert sorted(first.steps) == approx([21.0, 33.0])
    assert run.jobs.steps_done[0] == approx(100.0)


def test_a_copy_holds_as_many_gpus_as_its_node_has() -> None:
    scenario = make({"m": [1.0, 1.0]}, [("m", 4000.0)], gpus=2, gang=3)
    run = played(scenario)
    assert set(run.timeline.gpus) == {2} and run.jobs.finish_s[0] == approx(1000.0)


def test_a_job_that_no_node_can_run_a_copy_of_runs_whole() -> None:
    data = make({"m": [1.0]}, [("m", 500.0), ("m", 50.0)], gpus=2).to_dict()
    data["cluster"]["nodes"][0]["count"] = 2
    data["jobs"][0] |= {"gpus": 4, "model": "big"}
    data["throughputs"].append({"model": "big", "accelerator": "t0", "gpus": 4, "steps_per_s": 4.0})
    run = played(Scenario.from_dict(data))
    assert run.jobs.finish_s.tolist() == [125.0, 225.0]  # the other one waits for a round
    assert set(run.timeline.unit) == {"j0", "j1 #1", "j1 #2"}


def test_a_node_that_fails_loses_what_its_copy_did_since_the_last_consolidation() -> None:
    """Until 200 s both nodes did 100 steps a round each; n1 fails in the third round after 50 s of it."""
    faults = {"list": [{"node": "n1-0", "from_s": 250.0, "to_s": 260.0}]}
    run = played(make({"m": [1.0, 1.0]}, [("m", 700.0)], faults=faults))
    assert run.jobs.steps_lost[0] == 50.0
    assert run.jobs.finish_s[0] == 400.0  # 500 done at 300 s, then 100 more each
    assert run.jobs.preemptions[0] == 0  # the other copy went on


def test_a_job_is_preempted_when_none_of_its_copies_goes_on() -> None:
    """The second job is shorter: it takes both nodes at 100 s, and the first one gets them back at 200 s."""
    data = make({"m": [1.0, 1.0]}, [("m", 900.0), ("m", 200.0)]).to_dict()
    data["jobs"][1]["arrival_s"] = 50.0
    run = played(Scenario.from_dict(data))
    assert run.jobs.preemptions.tolist() == [1, 0] and run.jobs.finish_s.tolist() == [550.0, 200.0]


# Laws ----------------------------------------------------------------------------------------------------------------


@st.composite
def worlds(draw: st.DrawFn) -> Scenario:
    """Up to four nodes of types of their own, gangs, arrivals, restarts, a node that fails."""
    nodes = draw(st.integers(1, 4))
    gpus, gang = draw(st.sampled_from([(1, 1), (2, 1), (3, 2)]))
    rate = st.sampled_from([0.3, 1.0, 2.5, 7.0])
    speeds = {name: draw(st.lists(rate, min_size=nodes, max_size=nodes)) for name in "ab"}
    jobs = draw(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0.5, 3000.0)), min_size=1, max_size=4))
    core: dict[str, Any] = {"restart": {"restart_s": draw(st.sampled_from([0.0, 7.0]))}}
    if draw(st.booleans()):
        core["faults"] = {"list": [{"node": "n0-0", "from_s": 130.0, "to_s": 170.0}]}
    data = make(speeds, jobs, gpus, gang, **core).to_dict()
    for job in data["jobs"]:
        job["arrival_s"] = draw(st.sampled_from([0.0, 0.0, 60.0, 250.0]))
        rewards = draw(st.sampled_from([None, [[1.0, 9.0]], [[150.0, 5.0], [900.0, 2.0]], [[1e5, 1.0]]]))
        if rewards:
            job["rewards"] = rewards
    return Scenario.from_dict(data)


KNOBS = st.fixed_dictionaries(
    {
        "forks": st.sampled_from([None, 1, 2, 3, 9]),
        "overhead_s": st.sampled_from([0.0, 5.0]),
        "payoff": st.sampled_from(PAYOFFS),
        "utility": st.sampled_from(UTILITIES),
        "split": st.sampled_from(["running", "all_copies"]),
        "dispatch": st.sampled_from(["remaining", "slot"]),
        "last_round": st.sampled_from(["fastest", "all"]),
    }
)


@given(scenario=worlds(), knobs=KNOBS)
def test_steps_are_conserved_and_every_decision_keeps_its_promises(scenario: Scenario, knobs: dict[str, Any]) -> None:
    knobs = {"round_s": SLOT_S, **knobs}
    run = run_loop(scenario, Checked(HadarE(), knobs["forks"]), knobs, stop=Until(200_000.0))
    assert run.jobs.finish_s.notna().all()
    done = run.timeline.groupby("job").steps.sum()
    lost = dict(zip(run.jobs.job, run.jobs.steps_lost, strict=True))
    for job in scenario.jobs:
        assert done[job.name] - lost[job.name] == approx(job.steps, rel=1e-6)
    assert run == run_loop(scenario, HadarE(), knobs, stop=Until(200_000.0))


@given(scenario=worlds(), payoff=st.sampled_from(PAYOFFS))
def test_without_forking_no_job_is_on_two_nodes(scenario: Scenario, payoff: str) -> None:
    run = played(scenario, forks=1, overhead_s=5.0, payoff=payoff)
    assert "consolidate" not in set(run.timeline.kind)
    for _, rows in run.timeline[run.timeline.job != ""].groupby("job"):
        held = rows.sort_values("start_s")[["node", "start_s", "end_s"]].itertuples(index=False, name=None)
        end, where = -1.0, ""
        for node, start_s, end_s in held:
            assert start_s >= end - 1e-9 or node == where
            end, where = max(end, end_s), node


@given(scenario=worlds(), more=st.integers(0, 5), payoff=st.sampled_from(PAYOFFS))
def test_more_forks_than_nodes_change_nothing(scenario: Scenario, more: int, payoff: str) -> None:
    nodes = len(scenario.cluster.each_node)
    full, beyond = (played(scenario, forks=forks, payoff=payoff) for forks in (nodes, nodes + more))
    assert full.timeline.equals(beyond.timeline) and full.jobs.equals(beyond.jobs)


@given(
    rates=st.lists(st.lists(st.sampled_from([1.0, 2.5, 7.0]), min_size=3, max_size=3), min_size=2, max_size=2),
    steps=st.lists(st.integers(800, 5000), min_size=1, max_size=4),
    payoff=st.sampled_from(PAYOFFS),
)
def test_theorem_3_of_nodes_that_are_assigned(rates: list[list[float]], steps: list[int], payoff: str) -> None:
    """With copies for all nodes none is left without one, but in the last round; and nobody has more of them."""
    scenario = make({"a": rates[0], "b": rates[1]}, [("ab"[i % 2], float(n)) for i, n in enumerate(steps)])
    runs = {forks: played(scenario, forks=forks, payoff=payoff) for forks in range(1, 6)}
    assert premise(runs[3])
    assert (cru_by_round(runs[3])["assigned"][:-1] > 1.0 - 1e-9).all()
    assert theorem3(runs).holds_assigned.all()


# The paper's clusters ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["hadar_aws", "hadar_lab"])
def test_theorem_3_on_the_papers_clusters(name: str) -> None:
    scenario = workbench.preset(name).replace(core={})
    runs = {forks: run_loop(scenario, HadarE(), {**OURS, "forks": forks, "overhead_s": 0.0}) for forks in range(1, 7)}
    assert premise(runs[5])
    table = theorem3(runs)
    assert table.holds_assigned.all() and table.holds_busy.all()
    assert table.assigned.is_monotonic_increasing and table.assigned[4] == 1.0
    inner = {forks: cru_by_round(runs[forks])["assigned"][:-1] for forks in (1, 5)}
    assert (inner[5] > 1.0 - 1e-9).all() and (inner[1] < 1.0 - 1e-9).any()
    assert runs[5].timeline.equals(runs[6].timeline)


@pytest.mark.parametrize("name", ["hadar_aws", "hadar_lab"])
def test_forking_shortens_the_whole_and_the_jobs(name: str) -> None:
    """As in Figs. 8 to 10, against HadarE without forks and Gavel. No bound on time is beaten."""
    scenario = workbench.preset(name)
    forked, single = (run_loop(scenario, HadarE(), {**OURS, "forks": forks}) for forks in (None, 1))
    gavel = workbench.simulate(scenario, "gavel.max_min_fairness")
    ours, other, theirs = (summary(run) for run in (forked, single, gavel))
    for measure in ("makespan_s", "mean_jct_s"):
        assert ours[measure] < min(other[measure], theirs[measure])
    assert ours["cru"] > max(other["cru"], theirs["cru"])
    table = scenario.table
    nodes = scenario.cluster.each_node
    fastest = [max(table.on_nodes(job.model, {node.name: 1}) for node in nodes) for job in scenario.jobs]
    least_s = sum(job.steps / rate for job, rate in zip(scenario.jobs, fastest, strict=True)) / len(nodes)
    assert ours["makespan_s"] > least_s


@pytest.mark.parametrize("cluster", ["aws", "lab"])
def test_every_mix_is_sooner_done_than_under_hadar_and_gavel(cluster: str) -> None:
    """Of `balanced` (ours), for both measures, at the presets' lengths; the paper's payoff is not on every mix."""
    for mix in HADARE_MIXES:
        scenario = hadare_mix(cluster, mix)
        ours = summary(run_loop(scenario, HadarE(), OURS))
        for name in ("hadar", "gavel.max_min_fairness"):
            theirs = summary(workbench.simulate(scenario, name))
            assert ours["makespan_s"] < theirs["makespan_s"] and ours["mean_jct_s"] < theirs["mean_jct_s"], mix


def test_what_the_other_payoffs_give_up() -> None:
    scenario = hadare_mix("lab", "M-12")
    soon, work, between = (
        summary(run_loop(scenario, HadarE(), {"payoff": payoff})) for payoff in ("remaining", "work", "balanced")
    )
    hadar = summary(workbench.simulate(scenario, "hadar"))
    assert soon["mean_jct_s"] < between["mean_jct_s"] < hadar["mean_jct_s"] < work["mean_jct_s"]
    assert work["makespan_s"] < between["makespan_s"] < min(hadar["makespan_s"], soon["makespan_s"])


def test_consolidation_costs_time_and_long_slots_pay_for_it_less_often() -> None:
    scenario = workbench.preset("hadar_aws").replace(core={})
    free, dear = (run_loop(scenario, HadarE(), {**OURS, "overhead_s": overhead}) for overhead in (0.0, 30.0))
    assert summary(free)["makespan_s"] < summary(dear)["makespan_s"]
    spent = {
        slot: (lambda t: float((t.end_s - t.start_s)[t.kind == "consolidate"].sum()))(
            run_loop(scenario, HadarE(), {**OURS, "round_s": slot, "overhead_s": 30.0}).timeline
        )
        for slot in (90.0, 180.0, 360.0, 540.0)
    }
    assert list(spent.values()) == sorted(spent.values(), reverse=True)


def test_cru_counts_the_last_slot_in_full() -> None:
    run = played(make({"m": [1.0, 1.0]}, [("m", 250.0)]))
    assert cru_by_round(run).busy.tolist() == approx([1.0, 0.25]) and cru(run) == approx(0.625)
    assert cru(run, last=False) == 1.0 and summary(run)["cru"] == 1.0  # the metric ends with the last job


def test_reasons_name_the_ids_of_copies() -> None:
    run = played(make({"m": [4.0, 3.0]}, [("m", 700.0), ("m", 7.0)]), max_job_count=10, payoff="remaining")
    reasons = run.events[run.events.event == "start"].set_index("unit").reason
    assert reasons["j1 #1"] == "1 copy (id 11): 7 training steps on n0-0 (payoff 1)"
    assert reasons["j0 #2"].startswith("2 copies (ids 20, 10): ")  # in the order of the nodes
    assert reasons["j0 #2"].count("left over, and no other job") == 1, "j1 misses no step once it has the fast node"


@pytest.mark.parametrize(
    ("knobs", "what"),
    [
        ({"forks": 0}, "knob forks: got 0"),
        ({"forks": 1.5}, "knob forks"),
        ({"round_s": 0}, "knob round_s: got 0"),
        ({"round_s": -360.0}, "knob round_s"),
        ({"overhead_s": -1.0}, "knob overhead_s"),
        ({"overhead_s": 360.0}, "less than a slot"),
        ({"split": "halves"}, "knob split"),
        ({"max_job_count": 2}, "at least the number of jobs"),
    ],
)
def test_bad_knobs_are_refused(knobs: dict[str, Any], what: str) -> None:
    with pytest.raises(InputError, match=what):
        run_loop(workbench.preset("hadar_aws"), HadarE(), knobs)


@pytest.mark.parametrize("rewarded", [[0], [0, 1, 2, 3, 4]])
def test_jobs_whose_deadlines_have_passed_run_on_what_is_left(rewarded: list[int]) -> None:
    """Deadlines of 4000 s that some jobs miss, and jobs that never had one: a utility of 0."""
    data = workbench.preset("hadar_aws").to_dict()
    for row in rewarded:
        data["jobs"][row]["rewards"] = [[4000, 5]]
    run = run_loop(Scenario.from_dict(data), Checked(HadarE()), {"payoff": "utility", "utility": "step"})
    assert run.jobs.finish_s.notna().all()
    assert run.jobs.finish_s.max() > 4000.0 > run.jobs.finish_s[0]


@pytest.mark.parametrize(
    ("knobs", "read"),
    [
        ({}, set()),
        ({**OURS, "utility": "step"}, set()),
        ({"payoff": "utility"}, set()),
        ({"payoff": "utility", "utility": "linear"}, {"weight"}),
        ({"payoff": "utility", "utility": "step"}, {"rewards"}),
    ],
)
def test_weights_and_rewards_matter_where_a_utility_reads_them(knobs: dict[str, Any], read: set[str]) -> None:
    scheduler = HadarE()
    assert scheduler.about(scheduler.settle(knobs)) == {"arrival_s", "steps", "gpus"} | read


def test_the_premise_names_a_job_that_no_node_can_run_a_copy_of() -> None:
    data = make({"m": [1.0]}, [("m", 500.0), ("m", 50.0)], gpus=2).to_dict()
    data["cluster"]["nodes"][0]["count"] = 2
    data["jobs"][0] |= {"gpus": 4, "model": "big"}
    data["throughputs"].append({"model": "big", "accelerator": "t0", "gpus": 4, "steps_per_s": 4.0})
    with pytest.raises(InputError, match="job j0: got 'no node that can run a copy of it'"):
        premise(played(Scenario.from_dict(data)))


def test_theorem_3_asks_for_runs_that_it_can_compare() -> None:
    run = played(make({"m": [1.0, 1.0]}, [("m", 250.0)]), forks=1)
    with pytest.raises(InputError, match="at least as many copies of each job as nodes"):
        theorem3({1: run})
    with pytest.raises(InputError, match="at least one run"):
        theorem3({})
    with pytest.raises(InputError, match="round_s"):
        cru_by_round(workbench.simulate(workbench.preset("hadar_aws"), "srtf", round_s=0))


# --- HadarE is the paper's mechanism unless told otherwise; ours has rows of its own; what is calibrated says so.


def test_the_default_payoff_is_hadars_utility_less_the_price():
    assert find_scheduler("hadare").settle({})["payoff"] == "utility"
    mix = workbench.preset("hadar_aws_M-3")
    assert workbench.simulate(mix, "hadare") == workbench.simulate(mix, "hadare", payoff="utility")


def test_no_row_mixes_the_mechanisms_and_ours_stands_in_gaps_alone():
    used = {line.name: line.knobs.get("payoff") for line in physical.LINES if line.scheduler == "hadare"}
    assert used == {"HadarE": "utility"}
    for name in ("fig8", "fig9", "fig10"):
        ours = {cause: of for cause, of in gaps()[f"hadar.{name}"].fields.items() if "(ours)" in cause}
        assert list(ours.values()) == [{"payoff": "balanced"}] and all(cause.startswith("probe") for cause in ours)


def test_what_was_calibrated_is_not_reproduced():
    rows = physical.figure_9(SIZES["tiny"]).table.set_index("measure")
    row = rows.loc["TTD, Gavel, M-5, AWS (calibrated)"]
    assert math.isnan(row["paper"]) and math.isnan(row["ratio"]) and "Calibrated" in row["note"]
