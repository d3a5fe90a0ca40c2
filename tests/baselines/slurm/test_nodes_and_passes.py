"""Which nodes Slurm's jobs get, and which passes over its queue are made."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.baselines.slurm.made_site import CONFIG, beside, job, site_of, starts, with_config
from tests.scenario.traces.slurm_dumps import NODES, Ran, dump
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.slurm.asks import Ask
from workbench.baselines.mechanisms.slurm.free import rules_of
from workbench.baselines.mechanisms.slurm.passes import IdleCycle, PassOutcome, SchedulingPass
from workbench.baselines.mechanisms.slurm.site import RULES, read_site
from workbench.baselines.slurm import Slurm
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import convert


@pytest.mark.parametrize("rule", ["", *RULES])
def test_nodes_are_chosen_as_in_the_log(rule: str) -> None:
    """200 jobs of 1 to 8 GPUs on twelve nodes of 8, m heavier than n; on each the rule chooses. So does a run, once
    calibration has set it; another rule is an error."""
    rng, free, ends, jobs = random.Random(1), [8] * 12, list[tuple[float, int, int]](), list[dict[str, Any]]()
    for i in range(200):
        at_s, gpus, run_s = 60.0 * i, rng.choice([1, 1, 2, 4, 8]), rng.randrange(100, 900)
        for end in [end for end in ends if end[0] <= at_s]:
            ends.remove(end)
            free[end[1]] += end[2]
        fits = [node for node in range(12) if free[node] >= gpus]
        node = min(fits, key=lambda node: (node // 10, RULES.get(rule, 0) * free[node], node))
        free[node] -= gpus
        ends.append((at_s + run_s, node, gpus))
        hosts = f"n-{node}" if node < 10 else f"m-{node - 10}"
        times = {"eligible_s": at_s, "start_s": at_s, "end_s": at_s + run_s}
        jobs.append(job(f"{i:03}", at_s, run_s, gpus, 900, cpus=gpus, hosts=hosts, **times))
    record = site_of(*jobs, count=10).to_dict()
    light = record["cluster"]["nodes"][0]
    heavy = {**light, "name": "m", "count": 2, "attributes": {**light["attributes"], "weight": 9}}
    scenario = Scenario.from_dict(record | {"cluster": {**record["cluster"], "nodes": [heavy, light]}})
    if not rule:  # as Slurm has it
        chosen = workbench.simulate(scenario, "slurm").timeline.groupby("job")["node"].first()
        for each in record["jobs"]:
            each["attributes"]["hosts"] = chosen[each["name"]]
        scenario = Scenario.from_dict(record | {"cluster": {**record["cluster"], "nodes": [heavy, light]}})
    (early, seldom), (found, right) = rules_of(scenario, read_site(scenario), [60.0 * 20, math.inf])
    assert found == rule and right[rule] > 0.95, right
    assert early == "" and seldom != right, "too few choices tell nothing"
    calibrated = workbench.calibrate(scenario, phases=1)
    assert calibrated.folds["nodes"].tolist() == ["", *[rule] * 3], "the first part is judged by the 50 starts before"
    assert (f"Nodes are chosen by {rule}, as in" in calibrated.told_fit()) == bool(rule)
    kept = calibrated.kept(calibrated.kept(scenario))
    run = workbench.simulate(kept, "slurm").timeline.groupby("job")["node"].first()
    where = {job.name: job.attributes["hosts"] for job in scenario.jobs}
    assert sum(run[name] == host for name, host in where.items()) > 190
    del record["jobs"][0]["attributes"]["start_s"]  # nobody knows when it began
    again = Scenario.from_dict(record | {"cluster": scenario.to_dict()["cluster"]})
    assert rules_of(again, read_site(again))[0][0] == rule
    with pytest.raises(InputError, match="NodesChosen: got 'x'; expected one of the tightest fit"):
        workbench.simulate(with_config(scenario, CONFIG | {"NodesChosen": "x"}), "slurm")


def test_a_job_that_asked_for_no_type_waits_for_the_one_where_it_ran(tmp_path: Path) -> None:
    """Of two such jobs the log has one after the other on the one a100; four v100 are free in the run, and the second
    takes one only where a table says how fast it is there."""
    (tmp_path / "nodes").write_text(NODES)
    (tmp_path / "ratios").write_text("by,name,ran_on,to,ratio,low,high\npartition,small,a100,v100,1,1,1\n")
    first = Ran("1", 0, 0, 600, "gres/gpu:a100=1,gres/gpu=1", "m1", "small")
    (tmp_path / "log").write_text(dump(first, first._replace(name="2", submit_s=60, start_s=600)))
    files = {"nodes": [tmp_path / "nodes"]}
    held, freed = (
        convert("sacct", tmp_path / "log", **files, **more)[0] for more in ({}, {"ratios": tmp_path / "ratios"})
    )
    assert 600 <= starts(held)["job-2"] <= 660 and 60 <= starts(freed)["job-2"] <= 120


def test_a_job_that_names_no_nodes_gets_one_with_room_for_all() -> None:
    """3 GPUs on two nodes of 3: all on the first; 4 GPUs on both."""
    for gpus, nodes in ((3, ["n-0"]), (4, ["n-0", "n-1"])):
        run = workbench.simulate(site_of(job("j", 0, 60, gpus, 60, nodes=0), gpus=3, count=2), "slurm")
        assert sorted(run.timeline["node"].unique()) == nodes


def test_a_job_gets_the_tightest_fit() -> None:
    """When `a` has ended n-0 (64 CPUs free) and n-1 (24) are neighbours, n-3 is alone behind `c`: j and k go there, m
    to the tighter of the two; to the first one if it says --ntasks-per-node, by which both count alike."""
    jobs = [job("a", 0, 30, 4, 60), job("b", 5, 900, 1, 900, cpus=40), job("c", 15, 900, 4, 900)]
    jobs += [job("j", 40, 900, 1, 900, cpus=1), job("k", 50, 900, 3, 900, cpus=1)]
    for more, last in (({}, "n-1"), ({"tasks_per_node": 1}, "n-0")):
        run = workbench.simulate(site_of(*jobs, job("m", 60, 900, 1, 900, cpus=1, **more), gpus=4, count=4), "slurm")
        found = dict(zip(run.timeline["job"], run.timeline["node"], strict=True))
        assert found == {"a": "n-0", "b": "n-1", "c": "n-2", "j": "n-3", "k": "n-3", "m": last}


def drawn(seed: int, entities: tuple[dict[str, Any], ...]) -> Scenario:
    """40 jobs on three nodes, one of which is in one of two partitions alone."""
    rng, jobs = random.Random(seed), []
    for i in range(40):
        limit = rng.choice([600, 1500, 4000, 9000])
        gpus, user = rng.choice([1, 2, 4, 8, 12]), rng.choice(["ada", "bob", "eve"])
        more = {"nodes": 1 + (gpus == 12), "cpus": gpus * 4, "partition": rng.choice("pq"), "user": user}
        jobs.append(job(f"{i:02d}", rng.uniform(0, 3000), limit * rng.uniform(0.1, 1), gpus, limit, **more))
    record = site_of(*jobs, entities=entities, count=2).to_dict()
    nodes = record["cluster"]["nodes"]
    nodes.append({**nodes[0], "name": "m", "attributes": {"partitions": "q", "cpus": 64}})
    return Scenario.from_dict(record)


def test_where_nobody_is_told_why_the_same_start_and_fewer_passes_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    planned, passes = Slurm._planned, list[bool]()

    def noted(*given: Any, told: bool) -> PassOutcome:
        passes.append(told)
        return planned(*given, told=told)

    monkeypatch.setattr(Slurm, "_planned", staticmethod(noted))
    for seed in range(4):
        scenario = drawn(seed, ({"kind": "qos", "name": "normal", "MaxTRESPU": "gres/gpu=14"},))
        told, untold = (workbench.simulate(scenario, "slurm", detail=detail) for detail in (None, 0))
        assert told.jobs.equals(untold.jobs) and told.events.equals(untold.events)
        assert len(told.reasons) and untold.reasons.empty
    assert 50 < passes.count(False) < passes.count(True) / 2
    passes.clear()
    jobs = job("a", 0, 300, 4, 300), job("big", 1, 60, 8, 60)
    workbench.simulate(site_of(*jobs, entities=(beside("job-9", 4),)), "slurm", detail=0)
    assert len(passes) == 2, "none for one that never started, but could"


def test_a_cycle_that_is_left_out_would_have_been_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two partitions, a limit of users over both, a reservation, jobs beyond bf_window. Nor is it another if it goes
    on where nobody behind could start any more."""
    repeats, left_out = SchedulingPass._repeats, list[int]()
    still_could, stopped = SchedulingPass._still_could, set[str]()

    def noted(self: SchedulingPass, part: int, seen: IdleCycle) -> IdleCycle | None:
        found = repeats(self, part, seen)
        left_out.extend([part] if found else [])
        return found

    def could(self: SchedulingPass, ask: Ask, part: int) -> bool:
        found = still_could(self, ask, part)
        stopped.update(() if found else (ask.name,))
        return found

    entities = (
        {"kind": "qos", "name": "normal", "MaxTRESPU": "gres/gpu=14"},
        {"kind": "reservation", "name": "course", "Nodes": "n-0", "start_s": 4000, "end_s": 6000},
    )
    for seed in range(2):
        scenario, found = drawn(seed, entities), []
        for repeated, still in ((noted, could), (lambda *_: None, could), (lambda *_: None, lambda *_: True)):
            monkeypatch.setattr(SchedulingPass, "_repeats", repeated)
            monkeypatch.setattr(SchedulingPass, "_still_could", still)
            found.append(starts(scenario))
        assert found[0] == found[1] == found[2]
    assert len(left_out) > 20 and stopped


def test_who_never_started_and_named_two_partitions_holds_both_and_no_third() -> None:
    """`job-9` of p or q, whose nodes are half taken, is before `long` of q, and not in the queue of r."""
    jobs = [job(f"{name}0", 0, 300, 4, 300, partition=name) for name in "pqr"]
    jobs += [job("long", 2, 60, 4, 400, partition="q"), job("other", 2, 60, 4, 400, partition="r")]
    tiers = [
        {"kind": "partition", "name": name, "PriorityTier": tier, "MaxTime": 60} for name, tier in (("q", 5), ("r", 1))
    ]
    record = site_of(*jobs, entities=(*tiers, beside("job-9", 8, partition="p,q", end_s=200.0))).to_dict()
    group = record["cluster"]["nodes"][0]
    record["cluster"]["nodes"] += [{**group, "name": name, "attributes": {"partitions": name}} for name in "qr"]
    scenario = Scenario.from_dict(record)
    found = starts(scenario, backfill=False)
    assert found["long"] >= 200 and found["other"] <= 5, found
    both = read_site(scenario).partitions["p,q"]
    assert (both.tier, both.longest_s, both.name) == (5, math.inf, "p,q")
    assert read_site(scenario).machines_of("p,q").tolist() == [True, True, False]
