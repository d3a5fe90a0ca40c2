"""Reasons that are seldom given: each in a case small enough to be followed by hand, or asked again."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import workbench
from tests.analysis.explanation.explain_support import scenario
from tests.fuzz.worlds import world as any_world
from workbench.baselines import sia, three_sigma
from workbench.papers.chronus import explain as chronus
from workbench.papers.hadar import explain as hadar
from workbench.papers.hops import explain as hops
from workbench.simulation.job_at_time import JobAtTime


def code(run: workbench.Run, job: str, at_s: float) -> str:
    """Of the reason that the scheduler gave for a job at a decision."""
    own = run.reasons[(run.reasons["job"] == job) & (run.reasons["time_s"] == at_s)]
    return str(own["code"].iloc[-1])


SLO: list[dict[str, Any]] = [
    {"name": "urgent", "steps": 2400.0, "rewards": [[2500.0, 100.0]]},
    {"name": "late", "steps": 2400.0, "rewards": [[2500.0, 100.0]]},
    {"name": "slow", "steps": 1200.0, "rewards": [[2500.0, 100.0]]},
    {"name": "never", "steps": 4000.0, "rewards": [[2500.0, 100.0]]},
]
"""Leases of 1200 s, two by 2500 s. On the V100 `urgent` needs both, `late` too; the K80 is half as fast: `slow` needs
both there, and `never` needs four leases even on the V100."""


def two_types(jobs: list[dict[str, Any]]) -> workbench.Scenario:
    """A V100 of 1 step/s and a K80 of 0.5."""
    speeds = {"v100": 1.0, "k80": 0.5}
    return workbench.Scenario.from_dict(
        {
            "format": "workbench-scenario/1",
            "cluster": {
                "accelerators": [{"name": kind} for kind in speeds],
                "nodes": [{"name": kind, "accelerator": kind, "gpus": 1} for kind in speeds],
            },
            "jobs": [{"model": "m", **job} for job in jobs],
            "throughputs": [
                {"model": "m", "accelerator": kind, "gpus": 1, "steps_per_s": speed} for kind, speed in speeds.items()
            ],
        }
    )


@pytest.mark.parametrize("knobs", [{}, {"plan_by": "greedy"}], ids=["programme", "greedy"])
def test_chronus_on_two_types_a_refusal_blames_others_only_where_they_stand_in_the_way(knobs: dict[str, Any]) -> None:
    """`late` is refused by `urgent` on the V100, and on the K80 by its own deadline: without `urgent` it is let in."""
    given = two_types(SLO)
    run = workbench.simulate(given, "chronus", profile=False, **knobs)
    verdicts = dict(zip(run.jobs["job"], run.jobs["verdict"], strict=True))
    assert verdicts == {"urgent": "guaranteed", "slow": "guaranteed", "late": "best_effort", "never": "best_effort"}
    late, never = (workbench.explain(run, job, 0.0) for job in ("late", "never"))
    assert code(run, "late", 0.0) == "refused" and late.binding.startswith("beside the jobs that are guaranteed")
    assert code(run, "never", 0.0) == "refused_alone" and never.binding.startswith("even with no other job")
    assert "it needs 4 leases and has 2 before its last deadline, where it is fastest" in never.reason
    for job, verdict in (("late", "guaranteed"), ("never", "best_effort")):
        alone = given.replace(jobs=[each for each in given.jobs if each.name == job])
        assert workbench.simulate(alone, "chronus", profile=False, **knobs).jobs["verdict"].tolist() == [verdict]


@pytest.mark.parametrize(("arrival_s", "given_as"), [(0.0, "guaranteed"), (100.0, "lease_lost")])
def test_chronus_a_lease_for_which_no_node_holds_the_gang_together_is_lost(arrival_s: float, given_as: str) -> None:
    """Three gangs of two on two nodes of three GPUs: counted they fit, together on a node only two of them do."""
    rewards = [[9000.0, 100.0]]
    jobs = [{"name": n, "gpus": 2, "steps": 2400.0, "arrival_s": arrival_s, "rewards": rewards} for n in "abc"]
    run = workbench.simulate(scenario(jobs, gpus=3, nodes=2), "chronus", profile=False, round_up=False)
    begin_s = 1200.0 if arrival_s else 0.0
    found = workbench.explain(run, "c", begin_s)
    assert code(run, "c", begin_s) == given_as and found.state == "waiting"
    assert found.binding == "no nodes hold its gang consolidated (placement)" and found.next_start_s == begin_s + 1200.0
    later = workbench.explain(run, "c", begin_s + 300.0)
    assert code(run, "c", begin_s + 300.0) == "lease_later" and later.binding.startswith("its SLO lease is lost")
    assert f": its SLO lease is lost: it is planned again at {begin_s / 60 + 20:g} min." in later.reason


def test_chronus_submission_control_holds_back_who_is_profiled_at_once_without_it() -> None:
    jobs = [{"name": "one", "user": "u"}, {"name": "two", "user": "u"}, {"name": "three", "user": "v"}]
    held, free = (
        workbench.simulate(scenario(jobs, gpus=8), "chronus", profile_s=60, submission_gpus=limit)
        for limit in (1, None)
    )
    found = workbench.explain(held, "two", 0.0)
    assert code(held, "two", 0.0) == "held_back" and found.binding.startswith("submission control")
    assert (found.state, found.next_start_s) == ("waiting", 60.0)
    assert workbench.explain(held, "three", 0.0).state == workbench.explain(free, "two", 0.0).state == "profiled"


WHOLE = [
    {"model": "m", "accelerator": "v100", "gpus": 4, "steps_per_s": 4.0},
    {"model": "n", "accelerator": "v100", "gpus": 1, "steps_per_s": 1.0},
]
"""`m` runs on four GPUs at once only, which no node of two has."""


def test_hadare_jobs_without_copies_come_first_and_who_waits_is_told_of_them() -> None:
    jobs = [{"name": "small", "model": "n"}, {"name": "wide", "gpus": 4}, {"name": "too", "gpus": 4}]
    run = workbench.simulate(scenario(jobs, gpus=2, nodes=2, throughputs=WHOLE), "hadare")
    found = {job: workbench.explain(run, job, 0.0) for job in ("small", "wide", "too")}
    assert [code(run, job, 0.0) for job in found] == ["whole_there", "unforked", "no_room"]
    assert found["wide"].binding.startswith("no node can run a copy of it")
    assert found["small"].binding.startswith("jobs of which no node can run a copy come first")
    assert found["too"].binding.startswith("no node can run a copy of it, so that it waits")
    assert found["too"].next_start_s == 1080.0, "the first round after `wide`, 900 s"


def test_hadare_whose_portion_for_the_free_nodes_is_no_whole_step_waits() -> None:
    """One step left, split among both nodes: the faster one, which `big` has, would do it; the K80 stays free."""
    jobs = [{"name": "big", "model": "m", "steps": 1000.0}, {"name": "tiny", "model": "n", "steps": 1.0}]
    speeds = {("m", "v100"): 1.0, ("m", "k80"): 0.0, ("n", "v100"): 0.01, ("n", "k80"): 0.004}
    given = two_types([]).to_dict() | {"jobs": jobs}
    given["throughputs"] = [
        {"model": model, "accelerator": kind, "gpus": 1, "steps_per_s": speed}
        for (model, kind), speed in speeds.items()
    ]
    made = workbench.Scenario.from_dict(given)
    run, other = (workbench.simulate(made, "hadare", until_s=1200.0, split=by) for by in ("all_copies", "running"))
    found = workbench.explain(run, "tiny", 0.0)
    assert code(run, "tiny", 0.0) == "no_step" and found.binding.endswith("and those that are free get none")
    assert found.state == "waiting" and JobAtTime(run, "tiny", 0.0).free == {"v100": 0, "k80": 1}
    assert found.next_start_s == 1080.0, "once `big` is done, in 1000 s"
    assert workbench.explain(other, "tiny", 0.0).state == "running"


def test_hadar_gangs_that_fit_by_number_but_on_no_server_are_told_so() -> None:
    """Three gangs of two on two servers of three GPUs, with no speed on two servers."""
    rows = [
        {"model": "m", "accelerator": "v100", "gpus": 2, "placement": placement, "steps_per_s": speed}
        for placement, speed in (("consolidated", 2.0), ("unconsolidated", 0.0))
    ]
    jobs = [{"name": name, "gpus": 2, "steps": 2400.0} for name in "abc"]
    rows.append({"model": "n", "accelerator": "v100", "gpus": 1, "steps_per_s": 1.0})
    run = workbench.simulate(scenario(jobs, gpus=3, nodes=2, throughputs=rows), "hadar")
    found = workbench.explain(run, "c", 0.0)
    assert code(run, "c", 0.0) == "no_servers" and found.binding.startswith("it was chosen on GPUs")
    rows[1]["steps_per_s"] = 1.0
    spread = workbench.simulate(scenario(jobs, gpus=3, nodes=2, throughputs=rows), "hadar")
    assert workbench.explain(spread, "c", 0.0).state == "running"


def test_hadar_who_can_earn_nothing_gets_what_is_left() -> None:
    """By `step` a job without rewards is worth nothing; one GPU is left, which `past` takes and `big` cannot use."""
    jobs = [{"name": "busy", "rewards": [[9000.0, 5.0]]}, {"name": "past"}, {"name": "big", "gpus": 2}]
    run = workbench.simulate(scenario(jobs, gpus=2), "hadar", utility="step")
    assert [code(run, job["name"], 0.0) for job in jobs] == ["positive_payoff", "left_over", "worth_nothing"]
    assert workbench.explain(run, "big", 0.0).binding.startswith("it can earn nothing any more")
    alone = workbench.simulate(scenario(jobs[2:], gpus=2), "hadar", utility="step")
    assert workbench.explain(alone, "big", 0.0).state == "running"


def test_three_sigma_only_the_most_urgent_are_planned() -> None:
    """One GPU, three equal jobs: the plan is made for the first, or for all of them."""
    given = scenario([{"name": f"j{i}"} for i in range(3)])
    few, all_ = (workbench.simulate(given, "three_sigma", until_s=600.0, most_jobs=most) for most in (1, 3))
    for job in ("j1", "j2"):
        assert code(few, job, 0.0) == "not_planned" and code(all_, job, 0.0) != "not_planned"
        assert workbench.explain(few, job, 0.0).binding.startswith("the plan is made for others")


@pytest.mark.parametrize(
    ("name", "number", "job", "expected"),
    [
        ("sia", 25, "j1", "restart"),
        ("three_sigma", 31, "j2", "no_nodes"),
        ("three_sigma", 19, "j5", "leftover"),
    ],
)
def test_reasons_found_in_random_worlds(name: str, number: int, job: str, expected: str) -> None:
    run = workbench.simulate(any_world(number), name, until_s=1200.0)
    found = workbench.explain(run, job, 0.0)
    assert code(run, job, 0.0) == expected
    assert (found.state == "waiting") == (expected != "leftover") and (found.binding or expected == "leftover")


def test_hops_who_comes_while_a_plan_is_charged_waits_for_the_next_round() -> None:
    """2 GPUs at 3e6 s for 512 charge 45 s; `two` comes in them, a GPU is idle, and by `replan` no plan is made."""
    jobs = [{"name": "one"}, {"name": "two", "arrival_s": 10.0}]
    charged: dict[str, Any] = {"profile_iterations": 0, "decision_s": 3e6, "until_s": 900.0}
    never, again = (
        workbench.simulate(scenario(jobs, gpus=2), "hops", replan=replan, **charged) for replan in (False, True)
    )
    found = workbench.explain(never, "two", 45.0)
    assert code(never, "two", 45.0) == "no_plan" and found.binding == "no plan is made before the next round"
    assert found.state == "waiting" and workbench.explain(again, "two", 45.0).state == "running"


@pytest.mark.parametrize("paper", [chronus, hadar, hops, sia, three_sigma])
def test_a_reason_is_read_behind_a_colon_and_has_none_itself(paper: ModuleType) -> None:
    tables = [table for name, table in vars(paper).items() if name in ("BINDING", "NO_COPY")]
    texts = [text for table in tables for text in table.values()]
    assert len(texts) > 3 and [text for text in texts if ": " in text] == []
