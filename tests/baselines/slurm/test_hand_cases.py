"""Twelve cases worked by hand from Slurm's documented rules: who comes first, what a limit holds back, when a job that
waits will start, what backfill may put before it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

import workbench
from tests.baselines.slurm.made_site import CONFIG, beside, job, site_of, starts, why, with_config
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.slurm.asks import Ask
from workbench.baselines.mechanisms.slurm.free import RunningJob
from workbench.baselines.mechanisms.slurm.limits import all_limits
from workbench.baselines.mechanisms.slurm.priority import changing, decayed, fair_shares, priorities, standing
from workbench.baselines.mechanisms.slurm.site import SlurmSite, read_site
from workbench.baselines.slurm import SlurmMemory, _used_s
from workbench.scenario.scenario import Scenario


def test_1_a_shadow_time_is_kept() -> None:
    """SchedulerType=sched/backfill "will initiate lower-priority jobs if doing so does not delay the expected
    initiation time of any higher priority job" (slurm.conf(5)): `big` waits for `a`, whose limit ends at 300 s; `short`
    (limit 200 s) ends before, `long` (400 s) would not."""
    jobs = (job("big", 1, 60, 8, 60), job("long", 2, 60, 4, 400), job("short", 3, 60, 4, 200))
    scenario = site_of(job("a", 0, 300, 4, 300), *jobs)
    found = starts(scenario)
    assert found["a"] == 0 and found["short"] == 10, "the first cycle of backfill after it came"
    assert found["big"] == 300 and found["long"] > 300
    assert why(scenario, "big", 50) == "Resources (8 GPUs are not free at once)"
    assert why(scenario, "long", 50) == "Priority (big comes before it in its partition, and waits)"


def test_2_without_backfill_the_partition_waits() -> None:
    """SchedulerType=sched/builtin: "If any job in the partition can not be scheduled, no lower priority job in that
    partition will be scheduled" (slurm.conf(5)): `short` waits for `big`. bf_interval=-1: no backfill loop."""
    scenario = site_of(job("a", 0, 300, 4, 300), job("big", 1, 60, 8, 60), job("short", 3, 60, 4, 200))
    found = starts(scenario, backfill=False)
    assert found["big"] == 300 and found["short"] >= 360
    record = scenario.to_dict()
    for told, most in (("bf_interval=-1", math.inf), ("bf_interval=30s", 300)):
        record["entities"][0]["attributes"]["SchedulerParameters"] = told
        assert (starts(Scenario.from_dict(record))["short"] >= 360) == (most > 300), told


def test_a_job_that_never_started_holds_others_back_until_it_is_cancelled() -> None:
    """As `big` in the first case, from 1 s to 200 s, also if another node fails meanwhile; nothing is recorded of it.
    Where it could start, is of another type, needs more than there is or is gone as it comes, it is passed."""
    jobs = job("a", 0, 300, 4, 300), job("long", 2, 60, 4, 400)
    scenario = site_of(*jobs, entities=(beside("job-9", 8, end_s=200.0),))
    assert 200 <= starts(scenario)["long"] <= 210
    assert why(scenario, "long", 50) == "Priority (job-9 (never started) comes before it in its partition, and waits)"
    run = workbench.simulate(scenario, "slurm")
    assert {*run.signals["job"], *run.reasons["job"], *run.events["job"]} <= {"a", "long", ""}
    record = scenario.to_dict()
    group = record["cluster"]["nodes"][0]
    record["cluster"]["nodes"].append({**group, "name": "m", "attributes": {"partitions": "q"}})
    record["core"] = {"faults": {"list": [{"node": "m-0", "from_s": 50, "to_s": 60}]}}
    assert 200 <= starts(Scenario.from_dict(record))["long"] <= 210
    holds = (
        (beside("job-8", 1, eligible_s=150.0), beside("job-9", 8, end_s=200.0)),
        (beside("job-9", 8, types="Y,X", eligible_s=-5.0, end_s=200.0),),
    )
    for others in holds:
        assert 200 <= starts(site_of(*jobs, entities=others))["long"] <= 210, others
    passed = (beside("job-9", 4), beside("job-9", 8, types="y", end_s=200.0), beside("job-9", 16, end_s=2.5))
    for other in (*passed, beside("job-9", 8, end_s=1.0), beside("job-9", 8, end_s=0.5, eligible_s=0.25)):
        assert starts(site_of(*jobs, entities=(other,)))["long"] <= 5, other
    text = json.dumps(scenario.to_dict()).replace('"x"', '"X"').replace("recorded on x", "recorded on X")
    assert 200 <= starts(Scenario.from_dict(json.loads(text)))["long"] <= 210
    behind = job("a", 0, 300, 4, 300), job("big", 1, 60, 8, 60), job("short", 2, 60, 4, 60)
    assert starts(site_of(*behind, entities=(beside("job-9", 4, eligible_s=1.5),)))["short"] <= 10, "no plan for it"
    short = {"kind": "partition", "name": "p", "MaxTime": "00:10:00"}
    for limit_s, (first_s, last_s) in ((600.0, (200, 210)), (660.0, (0, 5))):
        other = beside("job-9", 8, end_s=200.0, limit_s=limit_s)
        assert first_s <= starts(site_of(*jobs, entities=(short, other)))["long"] <= last_s, "PartitionTimeLimit"
    run = workbench.simulate(site_of(jobs[0], job("over", 1, 60, 1, 660), entities=(short,)), "slurm")
    told = run.events[run.events["event"] == "verdict"]["reason"].tolist()
    assert told == ["its limit is beyond 10 min, partition p's MaxTime"]
    free = {"kind": "qos", "name": "free", "Flags": "DenyOnLimit,PartitionTimeLimit,PartitionMaxNodes"}
    may = starts(site_of(jobs[0], job("over", 1, 60, 1, 660, qos="free"), entities=(short, free)))
    assert may["over"] <= 5, "PartitionTimeLimit of its QOS"
    few = {"kind": "partition", "name": "p", "MaxNodes": 1}
    wide = beside("job-9", 8, end_s=200.0, nodes=2)
    either = site_of(entities=(few, few | {"name": "q", "MaxNodes": 2}, wide | {"partition": "p,q"}))
    assert [ask.beyond for ask in read_site(either).asks.values()] == [""], "the largest of several partitions"
    for nodes, (first_s, last_s) in ((few, (0, 5)), (few | {"MaxNodes": "UNLIMITED"}, (200, 210))):
        assert first_s <= starts(site_of(*jobs, entities=(nodes, wide), count=2, gpus=4))["long"] <= last_s, nodes
    for more, reasons in (({}, ["its 2 nodes are beyond 1, partition p's MaxNodes"]), ({"qos": "free"}, [])):
        run = workbench.simulate(
            site_of(job("w", 1, 60, 4, 60, nodes=2, **more), entities=(few, free), count=2), "slurm"
        )
        assert run.events[run.events["event"] == "verdict"]["reason"].tolist() == reasons, "PartitionNodeLimit"
    alone = workbench.simulate(site_of(jobs[0], entities=(beside("job-9", 8),)), "slurm")
    assert len(alone.decisions) == 2, "nothing is looked for while only those wait that start never"


def test_what_ran_elsewhere_counts_in_limits_and_fair_share() -> None:
    """From 0 s to 100 s a job of ada's: her other one waits for MaxJobs; then bob, who has used nothing, is first. So
    he is when no call fell into its time, which without enforced limits counts until 360 s, and before the first."""
    accounts = [{"kind": "account", "name": name, "account": name, "parent": "root"} for name in ("root", "bio")]
    users = [{"kind": "user", "name": user, "user": user, "account": "bio", "RawShares": 1} for user in ("ada", "bob")]
    elsewhere = beside("job-8", 4, types="cpu", user="ada", eligible_s=0.0, start_s=0.0, end_s=100.0, partition="c")
    one = site_of(job("b", 1, 60, 8, 60), entities=(*accounts, users[0] | {"MaxJobs": 1}, elsewhere))
    assert 100 <= starts(one)["b"] <= 110
    at_once = elsewhere | {"name": "job-7", "start_s": 20.0, "end_s": 20.0}
    for end_s in (100.0, 8.0):
        jobs = job("a", 0, 5, 8, 60, user="cid"), job("b", 20, 60, 8, 60, user="bob")
        away = site_of(*jobs, entities=(*accounts, *users, elsewhere | {"end_s": end_s})).to_dict()
        away["core"] = {"faults": {"list": [{"node": "n-0", "from_s": 10, "to_s": 200}]}}
        assert 200 <= starts(Scenario.from_dict(away))["b"] <= 210, "it fails while no job of the scenario is there"
    two = site_of(job("b", 1, 60, 8, 60), entities=(*accounts, users[0] | {"MaxJobs": 1}, elsewhere, at_once))
    assert 100 <= starts(two)["b"] <= 110
    jobs = job("a", 0, 130, 8, 130, user="cid"), job("b", 1, 60, 8, 60), job("c", 2, 60, 8, 60, user="bob")
    for others, first in (((), "b"), ((elsewhere,), "c")):
        found = starts(site_of(*jobs, entities=(*accounts, *users, *others)))
        assert min("bc", key=found.__getitem__) == first
    record = site_of(*jobs, entities=(*accounts, *users, elsewhere | {"end_s": 50.0})).to_dict()
    for enforce, first in (
        ("associations,limits", "c"),
        ("none", "b"),
        (2.0, "c"),
        ("1,2", "c"),
        (1.0, "b"),
    ):  # of what ended before 60 s nothing is told
        record["entities"][0]["attributes"]["AccountingStorageEnforce"] = enforce
        found = starts(Scenario.from_dict(record))
        assert min("bc", key=found.__getitem__) == first, enforce
    jobs = job("a", 150, 850, 8, 850, user="cid"), job("b", 501, 60, 8, 60), job("c", 502, 60, 8, 60, user="bob")
    for start_s, end_s in ((260.0, 400.0), (10.0, 90.0)):
        record = site_of(
            *jobs, entities=(*accounts, *users, elsewhere | {"start_s": start_s, "end_s": end_s})
        ).to_dict()
        for enforce in ("associations,limits", "none"):
            record["entities"][0]["attributes"]["AccountingStorageEnforce"] = enforce
            found = starts(Scenario.from_dict(record))
            assert min("bc", key=found.__getitem__) == "c", (start_s, enforce)
    with pytest.raises(InputError, match=r"beside job-8 \(elsewhere\): end_s: got 50.0"):
        starts(site_of(*jobs, entities=(elsewhere | {"start_s": 60.0, "end_s": 50.0},)))
    for key, wrong in (
        ("eligible_s", "soon"),
        ("types", 3.0),
        ("gpus", 0.0),
        ("gpus", 1.5),
        ("gpus", "x"),
        ("end_s", "late"),
    ):
        with pytest.raises(InputError, match=rf"beside job-8: {key}: got '?{wrong}"):
            starts(site_of(*jobs, entities=(elsewhere | {key: wrong},)))


def test_what_a_job_used_since_priorities_were_calculated() -> None:
    """At 100 s, every 60 s: of one that ended at 150 s since then, or its begin; where ends are not counted until
    100 s, the last time before."""
    site = read_site(site_of(job("a", 0, 100, 1, 100)))
    for since_s, end_s, calculated_s, used_s in (
        *((-50.0, 30.0, -math.inf, (30, 30)), (-50.0, 150.0, 100.0, (50, 0)), (120.0, 150.0, 100.0, (30, 0))),
        *((20.0, 90.0, 100.0, (0, 0)), (20.0, 230.0, 100.0, (130, 120))),
    ):
        due_s = calculated_s + 60 if calculated_s > 0 else -math.inf
        found = []
        for counts_ends in (True, False):
            known = replace(site, counts_ends=counts_ends)
            memory = SimpleNamespace(site=known, calculate_s=due_s, calculated_s=calculated_s)
            found.append(_used_s(cast(SlurmMemory, memory), cast(RunningJob, SimpleNamespace(since_s=since_s)), end_s))
        assert tuple(found) == used_s, (since_s, end_s)


def test_3_a_limit_of_a_user_in_a_qos_binds() -> None:
    qos = {"kind": "qos", "name": "normal", "MaxTRESPU": "gres/gpu=4"}
    scenario = site_of(
        job("a", 0, 100, 4, 100), job("b", 1, 100, 1, 100), job("c", 1, 100, 4, 100, user="bob"), entities=(qos,)
    )
    found = starts(scenario)
    assert found["a"] == 0 and 1 <= found["c"] <= 3 and 100 <= found["b"] <= 103
    assert starts(scenario, limits=False)["b"] <= 3
    nobodys = site_of(job("a", 0, 100, 4, 100, user=None), job("b", 1, 100, 4, 100, user=None), entities=(qos,))
    assert starts(nobodys)["b"] <= 3, "jobs that name no user are not one user's"
    told = "MaxTRESPU of QOS normal for its user ada: 4 of 4 GPUs are taken, and it asks for 1"
    alone = site_of(job("a", 0, 100, 4, 100), job("b", 1, 100, 1, 100), entities=(qos,))
    assert why(alone, "b", 50) == f"QOSMaxGRESPerUser ({told}): a limit, not lack of GPUs"
    assert told in workbench.chain(workbench.simulate(alone, "slurm"), "n-0/7", 50.0).text()


def test_reasons_are_those_of_squeue() -> None:
    """The words of Slurm 22.05 (job_reason_string), which are irregular for CPUs, memory and nodes."""
    each = "cpu=8,mem=8G,node=8,billing=8,gres/gpu=8"
    names = ("GrpTRES", "GrpTRESRunMins", "MaxTRESPU", "MaxTRESPA", "MaxTRES", "MaxTRESPerNode")
    qos: dict[str, Any] = {"kind": "qos", "name": "normal", **dict.fromkeys(names, each)}
    user = {"kind": "user", "name": "ada", "user": "ada", "account": "bio"} | {n: each for n in names if "PU" not in n}
    scenario = site_of(job("a", 0, 100, 1, 100), entities=(qos, user))
    said = " ".join([limit.code for limit, _ in all_limits(read_site(scenario))["a"]])
    assert said == (
        "QOSGrpCpuLimit QOSGrpMemLimit QOSGrpNodeLimit QOSGrpBilling QOSGrpGRES QOSGrpCPURunMinutesLimit "
        "QOSGrpMemoryRunMinutes QOSGrpNodeRunMinutes QOSGrpBillingRunMinutes QOSGrpGRESRunMinutes "
        "QOSMaxCpuPerUserLimit QOSMaxMemoryPerUser QOSMaxNodePerUserLimit QOSMaxBillingPerUser QOSMaxGRESPerUser "
        "MaxCpuPerAccount MaxMemoryPerAccount MaxNodePerAccount MaxBillingPerAccount MaxGRESPerAccount "
        "QOSMaxCpuPerJobLimit QOSMaxMemoryPerJob QOSMaxNodePerJobLimit QOSMaxBillingPerJob QOSMaxGRESPerJob "
        "QOSMaxCpuPerNode QOSMaxMemoryPerNode QOSMaxNodePerNode QOSMaxBillingPerNode QOSMaxGRESPerNode "
        "AssocGrpCpuLimit AssocGrpMemLimit AssocGrpNodeLimit AssocGrpBilling AssocGrpGRES "
        "AssocGrpCPURunMinutesLimit AssocGrpMemRunMinutes AssocGrpNodeRunMinutes AssocGrpBillingRunMinutes "
        "AssocGrpGRESRunMinutes AssocMaxCpuPerJobLimit AssocMaxMemPerJob AssocMaxNodePerJobLimit "
        "AssocMaxBillingPerJob AssocMaxGRESPerJob AssocMaxCpuPerNode AssocMaxMemPerNode AssocMaxNodePerNode "
        "AssocMaxBillingPerNode AssocMaxGRESPerNode"
    )


def test_4_a_limit_of_an_account_counts_the_accounts_below() -> None:
    """bio (a: 4 GPUs) and chem (b: 3) share the 6 of life; phys (c: 2) stands beside, with them under the 7 of root, of
    which a and c have 6: d, of phys, with 2 must wait for a, with 1 not."""
    entities = (
        {"kind": "account", "name": "root", "account": "root", "GrpTRES": "gres/gpu=7"},
        {"kind": "account", "name": "life", "account": "life", "parent": "root", "GrpTRES": "gres/gpu=6"},
        *({"kind": "account", "name": name, "account": name, "parent": "life"} for name in ("bio", "chem")),
        {"kind": "account", "name": "phys", "account": "phys", "parent": "root"},
    )
    jobs = [job("a", 0, 100, 4, 100), job("b", 1, 100, 3, 100), job("c", 2, 300, 2, 300), job("d", 3, 100, 2, 100)]
    for each, account in zip(jobs, ("bio", "chem", "phys", "phys"), strict=True):
        each["attributes"]["account"] = account
    scenario = site_of(*jobs, entities=entities)
    found = starts(scenario)
    assert found["a"] == 0 and 100 <= found["b"] <= 103 and found["c"] <= 5 and found["d"] >= 100, found
    assert why(scenario, "b", 50).startswith("AssocGrpGRES (GrpTRES of its account life: 4 of 6 GPUs are taken")
    assert why(scenario, "d", 50).startswith("AssocGrpGRES (GrpTRES of its account root: 6 of 7 GPUs are taken")
    jobs[3]["gpus"] = 1
    assert starts(site_of(*jobs, entities=entities))["d"] <= 10


def test_of_limits_of_one_name_the_first_holds() -> None:
    """GrpTRES of the QOS (6) stands before that of the account (4), which still counts its jobs and so holds back those
    of another QOS; MaxTRES of the user (8) before the account's (2); the partition's QOS before the job's, unless that
    has OverPartQOS (resource_limits.html, acct_policy.c)."""
    account = {"kind": "account", "name": "bio", "account": "bio", "parent": "root", "MaxTRES": "gres/gpu=2"}
    account["GrpTRES"] = "gres/gpu=4"
    user = {"kind": "user", "name": "ada", "user": "ada", "account": "bio", "MaxTRES": "gres/gpu=8"}
    qos = {"kind": "qos", "name": "normal", "GrpTRES": "gres/gpu=6"}
    jobs = [job("a", 0, 100, 4, 100), job("b", 1, 100, 2, 100), job("c", 2, 100, 1, 100), job("d", 3, 100, 1, 100)]
    jobs[3]["attributes"]["qos"] = "other"
    found = starts(site_of(*jobs, entities=(account, user, qos)))
    assert found["a"] == 0 and found["b"] <= 5 and min(found["c"], found["d"]) >= 100, found
    assert why(site_of(*jobs, entities=(account, user, qos)), "c", 50).startswith(
        "QOSGrpGRES (GrpTRES of QOS normal: 6"
    )
    assert why(site_of(*jobs, entities=(account, user, qos)), "d", 50).startswith(
        "AssocGrpGRES (GrpTRES of its account"
    )
    of_p = {"kind": "qos", "name": "of p", "MaxTRESPU": "gres/gpu=8"}
    of_job = {"kind": "qos", "name": "normal", "MaxTRESPU": "gres/gpu=4"}
    partition = {"kind": "partition", "name": "p", "PriorityTier": 1, "QoS": "of p"}
    for more, late in (({}, False), ({"Flags": "OverPartQOS"}, True)):
        found = starts(site_of(*jobs[:2], entities=(partition, of_p, {**of_job, **more})))
        assert (found["b"] >= 100) == late, found


def test_5_most_jobs_of_a_user() -> None:
    user = {"kind": "user", "name": "ada", "user": "ada", "account": "bio", "MaxJobs": 2}
    scenario = site_of(*(job(str(i), 0, 100, 1, 100) for i in range(3)), entities=(user,))
    found = starts(scenario)
    assert why(scenario, max(found, key=lambda name: found[name]), 50).startswith(
        "AssocMaxJobsLimit (MaxJobs of its user"
    )
    assert sorted(found.values())[:2] == [0, 0] and 100 <= max(found.values()) <= 103


def test_6_minutes_that_are_left_to_limits() -> None:
    """GrpTRESRunMins gres/gpu=20: 4 GPUs x 4 min run, 1 x 5 min more would be 21; a job of 4 min is let. What has run
    is taken off when priorities are calculated, at 60 s, by priority/basic never."""
    qos = {"kind": "qos", "name": "normal", "GrpTRESRunMins": "gres/gpu=20"}
    scenario = site_of(job("a", 0, 240, 4, 240), job("b", 0, 60, 1, 300), job("c", 0, 60, 1, 240), entities=(qos,))
    found = starts(scenario)
    assert (found["a"], found["c"]) == (0, 0) and found["b"] > 0
    assert why(scenario, "b", 1).startswith(
        "QOSGrpGRESRunMinutes (GrpTRESRunMins of QOS normal: 16 of 20 GPUs x minutes"
    )
    for priority, at_s in (("multifactor", 60), ("basic", 240)):
        record = site_of(job("a", 0, 240, 4, 240), job("b", 0, 60, 1, 300), entities=(qos,)).to_dict()
        record["entities"][0]["attributes"]["PriorityType"] = f"priority/{priority}"
        assert at_s <= starts(Scenario.from_dict(record))["b"] <= at_s + 5, priority


def test_a_limit_of_a_type_counts_where_jobs_run_and_holds_back_those_that_asked_for_it() -> None:
    """Of type x at most 4 GPUs, or 8 x minutes: `any` asked for none, runs on 4 of it and is counted; `named` asked
    for it and waits for its end, or until 4 x 1 minute is left beside its own 2 x 2; `other`, which asked for none,
    does not (resource_limits.html)."""
    limits = {
        "GrpTRES": ("gres/gpu:x=4", 120),
        "GrpTRESRunMins": ("gres/gpu:x=8", 60),
        "MaxTRESPU": ("gres/gpu:X=4", 120),
    }
    for limit, (most, free_s) in limits.items():
        qos = {"kind": "qos", "name": "normal", limit: most}
        jobs = [job("any", 0, 120, 4, 120), job("named", 1, 60, 2, 120, asked="x"), job("other", 2, 60, 2, 120)]
        found = starts(site_of(*jobs, entities=(qos,)))
        assert found["any"] == 0 and found["other"] <= 5 and free_s <= found["named"] <= free_s + 5, limit
    alone = site_of(job("any", 0, 60, 4, 120), entities=({"kind": "qos", "name": "normal", "MaxTRES": "gres/gpu:x=2"},))
    assert starts(alone)["any"] == 0


def test_limits_of_each_job_alone() -> None:
    """Beyond them a job can never start: it is refused. 6 GPUs on two nodes are 3 on each; no limit is no long one."""
    qos = {"kind": "qos", "name": "normal", "MaxTRESPerNode": "gres/gpu=3", "MaxWall": "01:00:00"}
    jobs = [job("both", 0, 60, 6, 3600, nodes=2), job("four", 0, 60, 4, 3600), job("long", 0, 60, 1, 3660)]
    free = job("free", 0, 60, 1, 60)
    del free["attributes"]["limit_s"]
    assert read_site(site_of(*jobs, entities=(qos | {"MaxWall": 60},))).qos["normal"].wall_s == 3600
    with pytest.raises(InputError, match="qos normal: MaxWall"):
        read_site(site_of(*jobs, entities=(qos | {"MaxWall": "long"},)))
    run = workbench.simulate(site_of(*jobs, free, entities=(qos,), count=2), "slurm")
    told = run.events[run.events["event"] == "verdict"].set_index("job")["reason"]
    assert dict(told) == {
        "four": "MaxTRESPerNode of QOS normal for any job: at most 3 GPUs, and it asks for 4",
        "long": "MaxWall of QOS normal for any job: at most 60 minutes, and it asks for 61",
    }


def test_a_job_that_ran_in_the_log_beyond_a_limit_is_not_held_to_it_but_to_what_a_what_if_sets() -> None:
    qos = {"kind": "qos", "name": "normal", "MaxTRES": "gres/gpu=2"}
    ran = job("ran", 0, 60, 4, 60, start_s=0.0)
    assert starts(site_of(ran, entities=(qos,)))["ran"] == 0
    assert math.isnan(starts(site_of(ran, entities=({**qos, "as_set": "MaxTRES gres/gpu"},)))["ran"])
    assert math.isnan(starts(site_of(job("new", 0, 60, 4, 60), entities=(qos,)))["new"])


def test_7_a_throttle_of_an_array() -> None:
    """`--array=0-2%2` "will limit the number of simultaneously running tasks from this job array to" 2 (sbatch(1)): the
    third task waits for the end of one, at 100 s."""
    tasks = [job(f"job-9_{i}", 0, 100, 1, 100, array="9", array_most=2) for i in range(3)]
    found = starts(site_of(*tasks))
    assert why(site_of(*tasks), "job-9_2", 50).startswith(
        "JobArrayTaskLimit (2 tasks of its array 9 run, at most 2 may"
    )
    assert sorted(found.values())[:2] == [0, 0] and 100 <= max(found.values()) <= 103


def test_8_afterok_waits_for_success() -> None:
    """ "After the specified jobs have successfully executed (ran to completion with an exit code of zero)" (sbatch(1)
    --dependency), of an array after all of its tasks (job_array.html): by how the log saw them end. Otherwise never
    (squeue(1): DependencyNeverSatisfied), and so who follows; but for one that ran in the log all the same. Of a list
    with `?` one is enough: when, is the log's to say."""
    scenario = site_of(job("job-1", 0, 100, 1, 100), job("job-2", 5, 10, 1, 100, dependency="afterok:1"))
    found = starts(scenario)
    assert why(scenario, "job-2", 50).startswith("Dependency (job-1 (afterok), on which it depends, has not ended)")
    assert 100 <= found["job-2"] <= 103
    tasks = [job(f"job-1_{i}", 0, 50 * i, 1, 100, array="1", state="COMPLETED") for i in (1, 2)]
    last = [job(f"job-{i}", 5, 10, 1, 100, dependency=f"afterok:{i - 1}") for i in (2, 3)]
    any_ = job("job-4", 5, 10, 1, 100, dependency="afterany:1")
    ok = job("job-5", 5, 10, 1, 100, dependency="afterok:4")
    found = starts(site_of(*tasks, *last, any_, entities=(beside("job-1_3", 1, array="1"),)))
    assert 100 <= found["job-2"] <= 103 and found["job-3"] > found["job-2"]
    for failed in tasks:
        failed["attributes"]["state"] = "TIMEOUT"
        run = workbench.simulate(site_of(*tasks, *last, any_, ok), "slurm")
        told = run.events[run.events["event"] == "verdict"].set_index("job")["reason"]
        name = failed["name"]
        assert dict(told) == {
            "job-2": f"{name}, after whose success it may start, had none",
            "job-3": "job-2, after whose success it may start, had none",
        }
        assert 100 <= run.jobs.set_index("job")["first_start_s"]["job-4"] <= 103
        ran = starts(site_of(*tasks, job("job-2", 5, 10, 1, 100, dependency="afterok:1", start_s=5.0), last[1]))
        assert 100 <= ran["job-2"] <= 103 and ran["job-3"] > ran["job-2"]
        failed["attributes"]["state"] = "RUNNING"
    loop = [job(f"job-{i}", 0, 10, 1, 100, dependency=f"afterany:{other}") for i, other in ((2, 3), (3, 2), (4, 4))]
    found = starts(site_of(*loop))
    assert found["job-2"] == found["job-4"] == 0 and 10 <= found["job-3"] <= 13
    one = job("job-2", 5, 10, 1, 100, dependency="afterok:1_1?afterok:1_2")
    assert starts(site_of(*tasks, one))["job-2"] <= 8


def test_9_a_reservation_ahead_keeps_long_jobs_away() -> None:
    """ "As the reservation time approaches, only jobs that can complete by the reservation time will be initiated"
    (reservations.html; squeue(1): ReqNodeNotAvail): from 200 to 500 s the node is kept, a limit of 100 s fits before,
    one of 300 s waits until it is over."""
    reservation = {"kind": "reservation", "name": "course", "Nodes": "n-0", "start_s": 200, "end_s": 500}
    scenario = site_of(job("long", 0, 50, 1, 300), job("short", 0, 50, 1, 100), entities=(reservation,))
    found = starts(scenario)
    assert why(scenario, "long", 100).startswith("ReqNodeNotAvail (nodes are reserved, and by its limit of 5 min")
    assert found["short"] <= 10 and 500 <= found["long"] <= 530


def test_of_a_reservation_that_comes_again_the_last_one_counts_and_an_unknown_one_is_none() -> None:
    """`late` waits for the second one, 800 to 1100 s; nothing is known of that of `odd`."""
    course = {"kind": "reservation", "name": "course", "Nodes": "n-0"}
    again = tuple({**course, "start_s": begin, "end_s": end} for begin, end in ((200, 500), (800, 1100)))
    late, odd = job("late", 600, 50, 1, 100, reservation="course"), job("odd", 0, 50, 1, 100, reservation="lost")
    found = starts(site_of(late, odd, entities=again))
    assert found["odd"] <= 10 and 800 <= found["late"] <= 830


def test_more_nodes_are_of_the_partition_and_as_many_as_the_job_asks_for() -> None:
    """`b` wants 4 GPUs on each of two nodes and waits for `a`; with two such nodes more at 50 s it starts at once."""
    run = workbench.simulate(site_of(job("a", 0, 300, 8, 300), job("b", 1, 60, 8, 60, nodes=2)), "slurm")
    assert run.jobs["first_start_s"].isna().tolist() == [False, True], "on one node it never can"
    two = site_of(job("a", 0, 300, 16, 300, nodes=2), job("b", 1, 60, 8, 60, nodes=2), count=2)
    found = workbench.one_more(workbench.simulate(two, "slurm"), "b", 50.0)
    assert (found.nodes, found.gpus) == (2, 4) and found.before_start_s == 300
    assert found.start_s is not None and 50 <= found.start_s <= 53
    assert found.text().startswith("With 2 more nodes of 4 GPUs x each from 50 s on b would have GPUs at ")


def test_10_a_partition_of_a_higher_tier_comes_first() -> None:
    """Jobs of a higher PriorityTier "will be evaluated by the scheduler before pending jobs in a partition with a lower
    PriorityTier value" (slurm.conf(5)): `high` has the node before `low`, which came first."""
    tier = {"kind": "partition", "name": "q", "PriorityTier": 9}
    node = {"attributes": {"partitions": "p,q", "cpus": 64}}
    jobs = (job("a", 0, 100, 8, 100), job("low", 1, 50, 8, 60), job("high", 2, 50, 8, 60, partition="q"))
    found = starts(site_of(*jobs, entities=(tier,), **node))
    assert 100 <= found["high"] <= 103 and found["low"] >= 150


def test_11_cpus_and_memory_of_a_node_are_held() -> None:
    """64 CPUs: 40 and 30 do not fit together, although GPUs are free; nor do 300 and 300 GB of 512."""
    for what, most in ((("cpus", 40.0, 30.0), 64), (("memory_mb", 3e5, 3e5), 5e5)):
        name, one, two = what
        node: dict[str, Any] = {"attributes": {"partitions": "p", name: most}}
        scenario = site_of(job("a", 0, 100, 1, 100, **{name: one}), job("b", 0, 100, 1, 100, **{name: two}), **node)
        assert 100 <= max(starts(scenario).values()) <= 103


def shares() -> tuple[SlurmSite, tuple[Ask, ...]]:
    """Accounts a (30 shares, users u and v) and b (10 shares, user w)."""
    entities = (
        {"kind": "account", "name": "a", "account": "a", "parent": "root", "Share": 30},
        {"kind": "account", "name": "b", "account": "b", "parent": "root", "Share": 10},
        {"kind": "user", "name": "u", "user": "u", "account": "a", "Share": 1, "RawUsage": 600},
        {"kind": "user", "name": "v", "user": "v", "account": "a", "Share": 1, "RawUsage": 100},
        {"kind": "user", "name": "w", "user": "w", "account": "b", "Share": 1, "RawUsage": 100},
        {"kind": "qos", "name": "high", "Priority": 100},
        {"kind": "qos", "name": "normal", "Priority": 10},
    )
    jobs = (job("1", 0, 10, 1, 60, user="u", account="a", cpus=32), job("2", 0, 10, 1, 60, user="w", account="b"))
    site = read_site(site_of(*jobs, entities=entities))
    return site, tuple(site.asks.values())


def test_12_half_life_fair_tree_and_the_parts_of_a_priority() -> None:
    """After 600 s, one half-life, 600 is 300 (Slurm's .693 for ln 2 and its steps of a second: .4998); a's LevelFS
    .75 / .875 is below b's .25 / .125, so w ranks first; then v before u."""
    site, (one, _) = shares()
    usage = {user: account.usage for user, account in site.users.items()}
    later = decayed(site, usage, [(one, 60.0)], 600.0)
    assert later["w", "b"] == pytest.approx(50, rel=2e-3)
    assert later["u", "a"] == pytest.approx(300 + 32 * 60 * 0.933, rel=2e-3)
    forever = replace(site, settings={**site.settings, "PriorityDecayHalfLife": 0.0})
    assert decayed(forever, usage, [], 600.0) == usage, "0 is no decay (slurm.conf(5))"
    fair = fair_shares(site, usage)
    assert fair == {("w", "b"): 1.0, ("v", "a"): pytest.approx(2 / 3), ("u", "a"): pytest.approx(1 / 3)}
    ((age, share),), parts = changing(site, [one], fair, 900.0), standing(site)[one.name]
    assert age == 1000 and share == pytest.approx(5000 / 3) and parts.qos == 300
    assert parts.job_size == 1000 * (1 / 1 + 32 / 64) / 2 and parts.partition == 1000
    found = priorities(site, [one], fair, 900.0, standing(site))
    assert found[one.name] == pytest.approx(age + share + sum(parts[:4]))
    nice = replace(one, nice=100.0)
    assert priorities(site, [nice], fair, 900.0, standing(site))[one.name] == found[one.name] - 100
    small = standing(replace(site, favors_small=True))[one.name]
    assert small.job_size == 250 and small.tres == 0
    assert standing(replace(site, over_time=True))[one.name].job_size == 1000, "all nodes, by a limit of one minute"


def test_13_the_tres_part_of_a_priority() -> None:
    """PriorityWeightTRES in slurm.conf(5)'s own spelling: of each resource weight x asked / what the partition has.
    16 of 128 CPUs, 64 of 1000 GB, 2 of 16 GPUs in q (both nodes): 125 + 128 + 375 + 25; in p (one of them) twice
    that, so p's job is before q's, which came first."""
    more = {"cpus": 16, "memory_mb": 65536, "asked": "x"}
    jobs = [job("a", 0, 100, 8, 100, partition="q"), job("b", 0, 100, 8, 100, partition="q")]
    jobs += [job("q", 1, 100, 2, 100, partition="q", **more), job("p", 2, 100, 2, 100, **more)]
    node = {"partitions": "q", "cpus": 64, "memory_mb": 512000}
    partition = {"kind": "partition", "name": "q", "PriorityTier": 1}
    record = site_of(*jobs, entities=(partition,), attributes={**node, "partitions": "p,q"}).to_dict()
    group = record["cluster"]["nodes"][0]
    record["cluster"]["nodes"].append({**group, "name": "m", "attributes": node})
    record["entities"][0]["attributes"]["PriorityWeightTRES"] = "CPU=1000,Mem=2000,GRES/gpu=3000,GRES/gpu:x=200"
    scenario = Scenario.from_dict(record)
    parts = standing(read_site(scenario))
    assert [parts[name].tres for name in "qp"] == pytest.approx([653, 1306])
    del record["jobs"][2]["attributes"]["asked"]
    assert standing(read_site(Scenario.from_dict(record)))["q"].tres == pytest.approx(628), "a type it did not ask for"
    run = workbench.simulate(scenario, "slurm")
    said = run.signals[run.signals["time_s"] == 3].set_index("job")["value"]
    assert said["p"] - said["q"] == pytest.approx(653), "told at the first pass after they came"


def test_what_comes_and_ends_between_passes_is_told_at_the_next() -> None:
    """The main scheduler looks at 0, then not before 3 s: b ends at 1, c and d come at 1.5 and 2, all told at 3."""
    jobs = [job("a", 0, 100, 1, 100), job("b", 0, 1, 7, 100)]
    jobs += [job("c", 1.5, 50, 7, 100), job("d", 2, 50, 7, 100)]
    run = workbench.simulate(site_of(*jobs), "slurm")
    times_s = run.decisions["time_s"]
    assert times_s[times_s < 4].tolist() == [0, 3]
    assert run.jobs["first_start_s"].tolist()[:3] == [0, 0, 3]


def test_features_and_lists_of_nodes_bind() -> None:
    """`b` asks for nvlink and waits for `a`, although m is free; so do those that name n, or exclude m. A feature that
    no node has any more binds nobody."""
    facts = {"partitions": "p", "cpus": 64}
    groups = [
        {"name": name, "accelerator": "x", "gpus": 8, "attributes": {**facts, "features": feature}}
        for name, feature in (("n", "nvlink,gen4"), ("m", "ib,gen4"))
    ]
    first = job("a", 0, 100, 8, 100, features="nvlink")
    waits = [{"features": "nvlink&gen4"}, {"features": "[nvlink*1]"}, {"nodelist": "n-0"}, {"exclude": "m-0"}]
    goes = [{"features": "nvlink|ib"}, {"features": "(nvlink|ib)&gen4"}, {"features": "lost"}, {"exclude": "n-0"}]
    for bound in (*waits, *goes):
        scenario = site_of(first, job("b", 1, 10, 8, 20, **bound))
        found = Scenario.from_dict(scenario.to_dict() | {"cluster": {"accelerators": [{"name": "x"}], "nodes": groups}})
        at_s = starts(found)["b"]
        assert (100 <= at_s <= 103) if bound in waits else at_s <= 5, bound


def test_for_whom_backfill_keeps_nodes() -> None:
    """`big` is to have node 0 from 300 s, by limit to 900 s, `next` node 1 from 600 s, into which `x` would run: it
    waits, unless nodes are kept for one job alone of a partition or an array, for none of the QOS, or not yet."""
    jobs = (
        *(job("a", 0, 300, 8, 300), job("e", 0, 600, 4, 600), job("big", 1, 600, 8, 600, array="7")),
        *(job("next", 2, 60, 8, 60, array="7", qos="quiet"), job("x", 3, 30, 4, 700)),
    )
    quiet = {"kind": "qos", "name": "quiet"}

    def found(parameters: str = "", flags: str = "") -> float:
        more = CONFIG | {"SchedulerParameters": f"{CONFIG['SchedulerParameters']}{parameters}"}
        scenario = site_of(*jobs, entities=(quiet | ({"Flags": flags} if flags else {}),), count=2)
        return starts(with_config(scenario, more))["x"]

    assert found() >= 600 and found(",bf_max_job_array_resv=2") >= 600 and found(",bf_job_part_count_reserve=2") >= 600
    for parameter in (",bf_job_part_count_reserve=1", ",bf_max_job_array_resv=1", ",bf_min_age_reserve=900"):
        assert found(parameter) <= 20, parameter
    assert found(flags="DenyOnLimit,NoReserve") <= 20


def test_how_many_jobs_of_a_partition_the_main_scheduler_tries() -> None:
    """`k` is held back by a limit; with partition_job_depth=1 `z` behind it is not looked at."""
    tight = {"kind": "qos", "name": "tight", "MaxJobsPU": 1}
    scenario = site_of(
        *(job("h", 0, 100, 1, 100, qos="tight"), job("k", 1, 10, 1, 10, qos="tight"), job("z", 2, 10, 1, 10)),
        entities=(tight,),
    )
    assert starts(scenario, backfill=False)["z"] <= 5
    one = CONFIG | {"SchedulerParameters": "partition_job_depth=1"}
    assert starts(with_config(scenario, one), backfill=False)["z"] >= 100
    for off, at_s in (("sched_interval=-1", 40), ("sched_interval=61", 0)):  # job_scheduler.c, `_schedule`
        alone = with_config(scenario, CONFIG | {"SchedulerParameters": f"{off},bf_interval=40"})
        assert starts(alone, phase_s=40)["h"] == at_s
    tasks = [job(f"job-9_{i}", 0, 100, 1, 100, array="9", array_most=1) for i in range(4)]
    for depth, name in (
        ("default_queue_depth=2,sched_interval=900", "z"),
        ("partition_job_depth=2,bf_interval=900", "v"),
        ("bf_max_job_test=2,batch_sched_delay=900", "y"),
        ("bf_max_job_user=2,batch_sched_delay=900", "x"),
        ("bf_max_job_part=2,batch_sched_delay=900", "w"),
    ):
        few = with_config(site_of(*tasks, job(name, 2, 10, 1, 10)), CONFIG | {"SchedulerParameters": depth})
        assert starts(few)[name] <= 30, "of an array that waits one record is looked at"


def test_a_setting_that_slurm_does_not_take_is_refused() -> None:
    """By name, with what is expected; where one stands twice the first counts, of parameters the leading digits."""
    scenario = site_of(job("x", 0, 60, 8, 60), job("y", 1, 60, 8, 60))
    texts = "bf_interval=0", "bf_resolution=²", "bf_resolution=0", "bf_window=43201", "bf_window=0", "bf_max_job_test=²"
    odd: dict[Any, str] = dict.fromkeys((*texts, "bf_max_job_test=2000000"), "SchedulerParameters")
    odd |= {"00:00:00": "PriorityCalcPeriod", 0.01: "PriorityCalcPeriod", 0.5: "PriorityWeightAge"}
    odd |= {5e9: "PriorityWeightQOS", 1.5: "FairShareDampeningFactor", "banana": "PriorityMaxAge"}
    for value, name in odd.items():
        with pytest.raises(InputError, match=f"config: {name}.*expected (a whole number|minutes)"):
            read_site(with_config(scenario, CONFIG | {name: value}))
    scenario = with_config(scenario, CONFIG | {"SchedulerParameters": "BF_Max_Job_Test=7s,bf_max_job_test=8"})
    assert read_site(scenario).settings["bf_max_job_test"] == 7
    ages = {"PriorityCalcPeriod": 1, "PriorityDecayHalfLife": "1-12", "PriorityMaxAge": "0-5"}
    told = read_site(with_config(scenario, CONFIG | ages)).settings
    assert [told[name] for name in ages] == [60, 129600, 18000], "a number is of minutes, as in slurm.conf(5)"
    assert starts(scenario)["y"] <= 90


def test_shares_of_a_parent() -> None:
    """u with Fairshare=parent is first of a; with a's shares `parent`, u (1/12 over 6/8) and v (1/12 over 1/8) stand
    beside b (10/12 over 1/8). The older way: u has F of a. RawShares count where no file tells Share."""
    rows: list[dict[str, Any]] = [
        {"kind": "account", "name": "a", "account": "a", "parent": "root", "Share": 30},
        {"kind": "account", "name": "b", "account": "b", "parent": "root", "Share": 10},
        {"kind": "user", "name": "u", "user": "u", "account": "a", "Share": 1, "RawUsage": 600},
        {"kind": "user", "name": "v", "user": "v", "account": "a", "Share": 1, "RawUsage": 100},
        {"kind": "user", "name": "w", "user": "w", "account": "b", "Share": 1, "RawUsage": 100},
    ]

    def found(at: int, share: str, tree: bool = True) -> list[float]:
        mine = tuple(row | ({"Share": share} if i == at else {}) for i, row in enumerate(rows))
        site = replace(read_site(site_of(job("1", 0, 1, 1, 1), entities=mine)), fair_tree=tree)
        shares = fair_shares(site, {user: one.usage for user, one in site.users.items()})
        return [shares[user] for user in (("u", "a"), ("v", "a"), ("w", "b"))]

    assert found(2, "parent") == pytest.approx([2 / 3, 1 / 3, 1])
    assert found(0, "parent") == pytest.approx([1 / 3, 2 / 3, 1])
    assert found(2, "parent", tree=False)[0] == pytest.approx(2 ** -(0.875 / 0.75))
    raw = tuple({"RawShares" if key == "Share" else key: value for key, value in row.items()} for row in rows)
    assert read_site(site_of(job("1", 0, 1, 1, 1), entities=raw)).promised["a"] == 0.75
