"""Whether the reason that is told is the true one: asked again with the job alone, and worked out from the equations.

A reason that blames other jobs has to vanish with them; one that lies in the job or in the cluster does not."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench
from tests.analysis.explanation.asked_again import Call, Watched, watch
from tests.analysis.explanation.explain_support import facts, scenario
from tests.analysis.explanation.test_lost_to import world
from tests.fuzz.worlds import world as any_world
from workbench.analysis.explanation.compose import CAPACITY, NOT_RECORDED
from workbench.base.errors import counted
from workbench.simulation.job_at_time import JobAtTime

OTHERS = {
    "hadar": {"outbid"},
    "hadare": {"others_there"},
    "hops": {"not_chosen", "outside"},
    "three_sigma": {"later", "not_chosen", "made_room"},
    "sia": {"not_chosen", "no_nodes"},
}
"""Codes of reasons that blame other jobs."""
ITSELF = {
    "hadar": {"no_room"},
    "hadare": {"nodes_down"},
    "hops": set[str](),
    "three_sigma": {"no_option"},
    "sia": {"no_configuration", "restart"},
}
"""Codes of reasons that hold without any other job; for Hadar as all jobs are decided on together."""
WORLDS = (world(0), any_world(8), any_world(14))
MOMENTS = 3


def waiting(watched: Watched) -> list[tuple[Call, JobAtTime]]:
    """Some decisions with a job that waits after them."""
    last = {call.snapshot.now_s: call for call in watched.calls if call.snapshot.now_s < watched.run.end_s}
    chosen = list(last.items())[:: max(1, len(last) // MOMENTS)]
    moments = [(call, JobAtTime(watched.run, job, at_s)) for at_s, call in chosen for job in call.snapshot.jobs.names]
    return [(call, job_at) for call, job_at in moments if job_at.state == "waiting"]


@pytest.mark.parametrize("name", list(OTHERS))
def test_a_reason_that_blames_others_is_gone_without_them_and_no_other_one_is(name: str) -> None:
    seen: Counter[str] = Counter()
    for given in WORLDS:
        watched = watch(given, name, until_s=4000.0)
        for call, job_at in waiting(watched):
            found = workbench.explain(watched.run, job_at.job, job_at.at_s)
            code = "" if job_at.said is None else job_at.said.code
            alone = job_at.job in watched.again(call, set(call.snapshot.jobs.names) - {job_at.job})
            where = f"{given.name}, {job_at.job} at {job_at.at_s}: {found.reason}"
            if code in OTHERS[name] | ITSELF[name]:
                assert alone == (code in OTHERS[name]), where
                assert found.binding and not found.binding.startswith(("the scheduler's choice", "the number")), where
                seen[code] += 1
            elif name != "hops":
                raise AssertionError(f"{code!r} is neither: {where}")
    assert seen.keys() & OTHERS[name]


def test_hadars_prices_and_payoffs_are_those_of_the_equations_and_no_other_choice_pays_more() -> None:
    """One node of four GPUs, jobs of one size each, no restarts: an option a job. Utility T + 1 - JCT in slots.

    By (5) to (7) with the default eta, D_0 = OPT / 2: T sum_r c_r Umin = U(T) / 2. All choices are tried.
    """
    slot_s, gpus = 360.0, 4
    shapes = [(1800.0, 3), (3600.0, 1), (7200.0, 2), (1080.0, 1), (5400.0, 4)]
    jobs = [{"name": f"j{i}", "steps": s * w, "gpus": w} for i, (s, w) in enumerate(shapes)]
    run = workbench.simulate(scenario(jobs, gpus=gpus, core={"restart": {"restart_s": 0.0}}), "hadar", round_s=slot_s)
    rounds, gang = np.array([s / slot_s for s, _ in shapes]), np.array([w for _, w in shapes])
    work = sum(s * w for s, w in shapes) / gpus / slot_s
    horizon = np.ceil(rounds.max() + work)
    utility = horizon + 1 - rounds
    most = (utility / gang).max()
    unscaled = (1.0 / (rounds * gang)).min() / 4.0
    least = unscaled / max(horizon * gpus * unscaled / 0.5, unscaled / most)

    def total(chosen: tuple[int, ...]) -> float:
        held, paid = 0, 0.0
        for job in chosen:
            paid += utility[job] - rounds[job] * gang[job] * least * (most / least) ** (held / gpus)
            held += int(gang[job])
        return float(paid)

    every = [c for n in range(len(jobs) + 1) for c in itertools.combinations(range(len(jobs)), n)]
    fits = [c for c in every if gang[list(c)].sum() <= gpus]
    best = max(fits, key=total)
    told = {job["name"]: workbench.explain(run, str(job["name"]), 0.0) for job in jobs}
    assert {name for name, found in told.items() if found.state == "running"} == {f"j{job}" for job in best}
    for row, found in enumerate(told.values()):
        if found.state == "waiting":
            assert facts(found)["payoff"] == pytest.approx(utility[row] - rounds[row] * gang[row] * least)
            assert found.binding.endswith("the payoffs add up to more without it (8)")
            assert max(total(c) for c in fits if row in c) < total(best)
    assert float(run.decisions["objective"].iloc[0]) == pytest.approx(total(best))


def test_hops_the_window_ends_with_the_job_at_which_requests_reach_all_gpus() -> None:
    """Of all who wait when a plan is made, by priority and arrival: the requests of those before one outside add up."""
    checked = 0
    for given in (world(0), world(2), world(3)):
        watched = watch(given, "hops")
        total = sum(given.cluster.capacity.values())
        for _, job_at in waiting(watched):
            at_s = job_at.at_s
            if job_at.said is None or job_at.said.at_s != at_s or job_at.said.code not in ("outside", "no_idle"):
                continue
            if job_at.said.code == "no_idle":
                assert not any(job_at.free.values())
                continue
            found, by_rank = workbench.explain(watched.run, job_at.job, at_s), job_at.by_arrival.rank
            place = job_at.signals("place")
            priority = job_at.signals("priority")
            assert place is not None and priority is not None
            line = sorted(place[1], key=lambda job: (-priority[1][job], by_rank[job]))
            before = line[: line.index(job_at.job)]
            assert facts(found)["place"] == len(before) + 1
            gangs = {job.name: min(job.sizes) for job in given.jobs}
            assert sum(gangs[job] for job in before) >= total, found.reason
            checked += 1
    assert checked >= 3


def test_hops_who_is_in_a_plan_that_is_still_charged_is_told_when_it_begins() -> None:
    """2 GPUs at 6 s (2 / 512)^2 for 512: 3e6 s for 512 make 45 s, in which nobody runs yet."""
    jobs = [{"name": name} for name in ("one", "two", "three")]
    run = workbench.simulate(scenario(jobs, gpus=2), "hops", profile_iterations=0, decision_s=3e6, until_s=400.0)
    first, last = workbench.explain(run, "one", 10.0), workbench.explain(run, "three", 10.0)
    assert first.binding == "a plan has GPUs for it, which is not carried out yet"
    assert "a plan that is carried out at 45 s has GPUs for it" in first.reason and first.next_start_s == 45.0
    assert last.binding.endswith("outside the service window (§3.6)")
    assert workbench.explain(run, "three", 100.0).binding.startswith("no GPU is idle")


def test_hare_the_tasks_named_are_on_that_gpu_until_the_next_task_starts() -> None:
    run, checked = workbench.simulate(world(0), "hare"), 0
    rows = run.timeline[run.timeline["kind"].isin(["run", "switch"])]
    for at_s in sorted(set(run.timeline["start_s"]))[::80]:
        for job in run.jobs["job"]:
            found = workbench.explain(run, job, at_s)
            if found.state != "waiting" or "tasks of others" not in found.reason.replace("1 task ", "1 tasks "):
                continue
            own = rows[(rows["job"] == job) & (rows["start_s"] > at_s)].sort_values("start_s").iloc[0]
            there = rows[(rows["node"] == own["node"]) & (rows["slot"] == own["slot"])]
            before = there[(there["end_s"] > at_s) & (there["start_s"] < own["start_s"])]
            assert found.next_start_s == own["start_s"] and set(before["job"]) and job not in set(before["job"])
            assert before["end_s"].max() == pytest.approx(own["start_s"]), found.reason
            assert all(unit in found.reason for unit in list(dict.fromkeys(before["unit"]))[:3])
            checked += 1
    assert checked


def test_hare_who_waits_for_a_node_that_is_down_is_told_so_and_no_task_is_blamed() -> None:
    faults = {"list": [{"node": "a-0", "from_s": 1000.0, "to_s": 2000.0}]}
    run = workbench.simulate(scenario([{"name": "one"}], core={"faults": faults}), "hare")
    found = workbench.explain(run, "one", 1500.0)
    assert found.binding == "the nodes on which it runs are down"
    assert "starts on a-0/0 at 33 min 20 s, once that node is back." in found.reason and "of others" not in found.reason


CHRONUS: tuple[tuple[int, dict[str, Any]], ...] = ((0, {}), (2, {"profile": False}))


def test_chronus_verdicts_and_waits_that_blame_others_are_others_alone_it_fares_better() -> None:
    seen: Counter[str] = Counter()
    for seed, knobs in CHRONUS:
        given = world(seed)
        run = workbench.simulate(given, "chronus", knobs)
        verdicts = dict(zip(run.jobs["job"], run.jobs["verdict"], strict=True))
        alone = {
            job.name: workbench.simulate(given.replace(jobs=(job,)), "chronus", knobs).jobs.iloc[0]
            for job in given.jobs
            if job.gpus <= 4
        }
        own = run.reasons[
            run.reasons["code"].isin(["refused", "refused_alone", "spot_waits", "first_lease", "later_lease"])
        ]
        for at_s, job, code in zip(own["time_s"], own["job"], own["code"], strict=True):
            found = workbench.explain(run, job, at_s)
            if found.state != "waiting" or job not in alone:
                continue
            seen[code] += 1
            if code == "refused":
                assert alone[job]["verdict"] == "guaranteed", found.reason
            elif code == "refused_alone":
                assert alone[job]["verdict"] == verdicts[job] == "best_effort", found.reason
            elif code == "first_lease":
                assert (found.next_start_s or 0.0) % float(run.knobs["slo_lease_s"]) == 0.0, found.reason
            else:
                assert found.next_start_s is None or alone[job]["first_start_s"] < found.next_start_s, found.reason
    assert seen["refused_alone"] and seen["spot_waits"], seen


def test_chronus_in_line_are_only_those_who_are_profiled_and_best_effort() -> None:
    jobs: list[dict[str, Any]] = [{"name": "one"}, {"name": "two"}, {"name": "three", "arrival_s": 400.0}]
    run = workbench.simulate(scenario(jobs), "chronus", profile_s=60)
    new = workbench.explain(run, "three", 600.0)
    assert new.order == "" and "best-effort jobs" not in new.reason and "infinite" not in new.reason


def test_chronus_who_loses_its_gpus_to_a_fault_is_given_others_in_the_next_cycle() -> None:
    """The scheduler is asked at the fault, 16 GPUs are free, and best-effort leases begin at multiples of 300 s."""
    run = workbench.simulate(any_world(1), "chronus", until_s=2000.0)
    events = run.events[run.events["job"] == "j4"]
    lost = events[events["reason"] == "n1-0 failed"].iloc[0]
    found = workbench.explain(run, "j4", float(lost["time_s"]))
    assert "begin together, at the next multiple" in found.binding and found.next_start_s == 1200.0


def test_who_chooses_no_sizes_is_told_its_whole_gang() -> None:
    """A job that could also run on one GPU: Hops may give it that, FIFO only the four that it asks for."""
    jobs = [{"name": "one", "gpus": 2}, {"name": "two", "gpus": 4, "gpu_choices": [1, 2, 4]}]
    run = workbench.simulate(scenario(jobs, gpus=4), "fifo")
    found = workbench.explain(run, "two", 60.0)
    assert "It needs 4 GPUs; free of the types on which it runs: 2 of 4 v100: too few." in found.sentences
    assert facts(found)["GPUs asked for"] == 4.0
    assert "GPUs it may run on" in facts(workbench.explain(workbench.simulate(run.scenario, "hops"), "two", 60.0))


# What a run has recorded of its decisions, and that no more and nothing older is told

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
