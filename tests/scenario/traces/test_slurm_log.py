"""A Slurm log as it was: nodes, attempts, mid-life, limits, absences, and what a row says besides."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.scenario.traces.slurm_dumps import HEADER, NODES, Ran, dump, queued, row, when
from workbench.analysis.calibration.waits import eligible_in
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.slurm.site import read_site
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import ConversionSummary, convert, parse_cluster


def read(folder: Path, text: str, *, nodes: str | None = NODES, **options: Any) -> tuple[Scenario, ConversionSummary]:
    (folder / "log").write_text(text)
    files = {name: options.pop(name) for name in ("limits", "shares", "config", "events", "ratios") if name in options}
    given: dict[str, Any] = {}
    for name, content in {"nodes": nodes, **files}.items():
        if content is not None:
            (folder / name).write_text(content)
            given[name] = folder / name if name == "ratios" else [folder / name]
    return convert("sacct", folder / "log", **given, **options)


def runs_as_recorded(scenario: Scenario) -> workbench.Run:
    """A run in which every job lasts to the second what the log says, on types where it ran."""
    run = workbench.simulate(scenario, "fifo", round_s=0)
    jobs, ran = run.jobs.set_index("job"), run.timeline[run.timeline["kind"] == "run"]
    for job in scenario.jobs:
        took = jobs.loc[job.name, "finish_s"] - jobs.loc[job.name, "first_start_s"]
        assert abs(took - (job.steps - job.steps_done)) < 1
        types = {*ran[ran["job"] == job.name]["accelerator"]}
        assert types <= {*job.model.removeprefix("recorded on ").split(" or ")}
    return run


def test_a_site_of_several_kinds_of_nodes(tmp_path: Path) -> None:
    """Nodes keep their names; slices and the CPUs of shared nodes are nodes of their own beside them."""
    jobs = (
        Ran("1", 0, 5, 600),
        Ran("2", 10, 10, 700, "gres/gpu=2", "v1", "small"),
        Ran("3", 20, 20, 800, "gres/gpu:a100_1g.5gb=2,gres/gpu=2", "m1", "small"),
        Ran("4", 30, 30, 900, "", "v1", "small"),
        Ran("5", 40, 40, 900, "", "c1", "cpu"),
    )
    drained = f"NodeName|TimeStart|TimeEnd|State\nv1|{when(100)}|{when(200)}|DRAIN\n"
    scenario, report = read(tmp_path, dump(*jobs), events=drained)
    assert [each.node for each in scenario.core.faults.list] == ["v1", "v1/cpu"]
    assert "1 node down or drained for a time: nothing starts there then" in report.notes
    assert [(node.name, node.accelerator, node.gpus) for node in scenario.cluster.each_node] == [
        ("a1", "a100", 8),
        ("a2", "a100", 8),
        ("v1", "v100", 4),
        ("v1/cpu", "cpu", 32),
        ("m1", "a100", 1),
        ("m1/a100_1g.5gb", "a100_1g.5gb", 7),
        ("m1/cpu", "cpu", 32),
    ]
    node = scenario.cluster.each_node[0].attributes
    assert dict(node) == {
        **{"partitions": "big", "features": "a100", "rack": "r1"},
        **{"cpus": 64, "memory_mb": 512000, "weight": 20},
    }
    assert [(job.name, job.model, job.gpus) for job in scenario.jobs] == [
        ("job-1", "recorded on a100", 8),
        ("job-2", "recorded on v100", 2),
        ("job-3", "recorded on a100_1g.5gb", 2),
        ("job-4", "recorded on cpu", 8),
    ]
    assert [(each.reason, each.count) for each in report.dropped] == [("no GPUs, on nodes without any", 1)]
    partition = next(each for each in scenario.entities if each.name == "partition big")
    assert partition.attributes["AllowAccounts"] == "bio,chem" and partition.attributes["PriorityTier"] == 5
    runs_as_recorded(scenario)


def test_what_a_row_says_is_in_its_job(tmp_path: Path) -> None:
    line = "sbatch --array=0-9%3 -d afterok:7 -J x -w a[1-2] --exclusive -HN1 --exclude=v1 --nice=50 "
    line += "-p big,small run|it.sh -d cifar10 -w 4 -x 3 --nice=5 --ntasks-per-node=4"  # the script's own
    other = Ran("10", 5, 6, 7, submit_line="sbatch -d singleton run.sh -p a,b --nice")
    scenario, report = read(tmp_path, dump(Ran("9_4", 0, 130, 600, eligible_s=100, submit_line=line), other))
    assert [
        note
        for note in report.notes
        if note.startswith("1 job waited for others by singleton: eligible when the log says")
    ]
    job = scenario.jobs[1]
    assert (job.name, job.user, job.arrival_s, job.steps) == ("job-9_4", "ada", 100.0, 600.0)
    assert dict(job.attributes) == {
        **{"submit_s": 0, "eligible_s": 100, "start_s": 130, "end_s": 730, "limit_s": 14400},
        **{"partition": "big", "account": "bio", "qos": "normal", "state": "COMPLETED", "started_by": "main"},
        **{"cpus": 8, "memory_mb": 65536, "nodes": 1, "billing": 8, "priority": 100},
        **{"array": "9", "array_most": 3, "dependency": "afterok:7"},
        **{"nodelist": "a[1-2]", "exclude": "v1", "nice": 50, "hosts": "a1"},
    }
    assert "1 job named several partitions: held to the one where they ran" in report.notes
    assert report.dropped == ()


def test_bars_in_constraints_and_in_the_command_stay_in_their_columns(tmp_path: Path) -> None:
    text = dump(Ran("1", 0, 0, 60, submit_line="sbatch a|b|c"), Ran("2", 0, 0, 60))
    rows = [line.split("|") for line in text.splitlines()]
    at = rows[0].index("Constraints")
    for cells, constraint in zip(rows[1:], ("ib|eth|opa", ""), strict=True):
        cells[at] = constraint
    for end in ("", "|"):
        scenario, report = read(tmp_path, "".join("|".join(cells) + f"{end}\n" for cells in rows))
        one, two = (dict(job.attributes) for job in scenario.jobs)
        assert one["features"] == "ib|eth|opa" and "features" not in two and report.dropped == ()
        assert one["priority"] == two["priority"] and "reservation" not in one


def test_each_attempt_of_a_requeued_job_is_what_it_was(tmp_path: Path) -> None:
    jobs = (
        Ran("7", 0, 10, 100, state="NODE_FAIL"),
        Ran("7", 110, 130, 50, state="REQUEUED"),
        Ran("7", 180, 300, 900),
        Ran("7", 180, 300, 900),
    )
    scenario, report = read(tmp_path, dump(*jobs))
    assert [(job.name, job.arrival_s, job.steps) for job in scenario.jobs] == [
        ("job-7 (attempt 1)", 0, 100),
        ("job-7 (attempt 2)", 110, 50),
        ("job-7", 180, 900),
    ]
    assert scenario.jobs[2].attributes["restarts"] == 2
    assert [(each.reason, each.lines) for each in report.dropped] == [("job id of an earlier row", (5,))]
    assert any(note.startswith("2 earlier attempts") for note in report.notes)
    late = (Ran("8", 0, 10, 100, state="REQUEUED"), Ran("8", 0, 300, 50))  # Submit and Eligible of the first
    scenario, _ = read(tmp_path, dump(*late))
    assert [(job.arrival_s, job.attributes["eligible_s"]) for job in scenario.jobs] == [(0, 0), (110, 110)]


def test_jobs_that_run_or_wait_at_the_begin_are_in_mid_life(tmp_path: Path) -> None:
    jobs = (
        Ran("1", 0, 0, 3600, host="a1"),
        Ran("2", 100, 100, 300, host="a2"),
        Ran("3", 200, 3600, 60, host="a1"),
        Ran("4", 1500, 1600, 60, host="a2"),
    )
    scenario, report = read(tmp_path, dump(*jobs), from_s=1000.0)
    first, third, fourth = scenario.jobs
    assert (first.steps, first.steps_done, first.attained_s, first.arrival_s) == (3600, 1000, 8000, 0)
    assert [(held.job, held.gpus) for held in scenario.running] == [("job-1", {"a1": 8})]
    assert (third.arrival_s, third.attributes["eligible_s"], third.steps_done) == (0, -800, 0)
    assert fourth.arrival_s == 500
    assert "at the begin 1 job ran, part of their run time behind them, and 1 waited" in report.notes
    assert [(each.reason, each.lines) for each in report.dropped] == [("arrives outside the window", (3,))]
    assert scenario.recorded is not None and scenario.recorded.end_s == 2660
    run = runs_as_recorded(scenario)
    assert run.jobs.set_index("job").loc["job-1", "finish_s"] == 2600


def test_a_job_on_two_types_of_one_machine_goes_on_where_there_is_room(tmp_path: Path) -> None:
    """One a100 and seven slices of m1 are more than either has there."""
    both = "gres/gpu:a100=1,gres/gpu:a100_1g.5gb=7,gres/gpu=8"
    scenario, report = read(
        tmp_path, dump(Ran("1", 0, 5, 600, both, "m1", "small"), Ran("2", 200, 300, 60)), from_s=100
    )
    assert [sum(each.gpus.values()) for each in scenario.running] == [8]
    assert any("where the log does not say how many GPUs of each node" in note for note in report.notes)


def test_a_log_cut_out_of_a_longer_one_begins_in_mid_life_by_itself(tmp_path: Path) -> None:
    """As `sacct -S` prints it: the jobs that ended before are not there, those that ran then are."""
    whole = queued(400)
    cut = whole[200].submit_s
    jobs = [job for job in whole if job.start_s + job.run_s >= cut]
    scenario, report = read(tmp_path, dump(Ran("x", 0, 0, cut + 5000, "gres/gpu:v100=1", "v1", "small"), *jobs))
    first = min(job.start_s + job.run_s for job in jobs)
    assert any(note.startswith("the log begins in mid-life") for note in report.notes)
    assert {held.job for held in scenario.running} == {
        "job-x",
        *(f"job-{job.name}" for job in jobs if job.start_s < first < job.start_s + job.run_s),
    }
    assert scenario.jobs[0].steps_done == first
    assert len(scenario.jobs) == len(jobs), "all but the one that ended then, and x"
    assert [(each.reason, each.count) for each in report.dropped] == [("over before the log begins", 1)]
    whole_scenario, report = read(tmp_path, dump(*whole))
    assert not whole_scenario.running and not any("mid-life" in note for note in report.notes)


def test_first_come_first_served_is_met_to_the_second(tmp_path: Path) -> None:
    """A dump of another scheduler with the same rule: every start as recorded."""
    scenario, _ = read(tmp_path, dump(*queued(200)))
    starts = runs_as_recorded(scenario).jobs.set_index("job")["first_start_s"]
    first = min(job.attributes["submit_s"] for job in scenario.jobs)
    assert first == 0
    assert {job.name: starts[job.name] for job in scenario.jobs} == {
        job.name: job.attributes["start_s"] for job in scenario.jobs
    }


def test_nodes_that_were_away_take_no_jobs_then(tmp_path: Path) -> None:
    events = (
        "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
        f"x||{when(-9)}|Unknown|Cluster Registered TRES||\n"
        f"x|a2|{when(-60)}|{when(500)}|DRAIN|ecc|root(0)\nx|a1|{when(2000)}|Unknown|DOWN|power|root(0)\n"
    )
    scenario, report = read(tmp_path, dump(*(Ran(str(i), 0, 0, 1000) for i in range(3))), events=events)
    assert [(o.node, o.from_s, o.to_s, o.drain) for o in scenario.core.faults.list] == [("a2", 0.0, 500.0, True)]
    assert "1 node down or drained for a time: nothing starts there then" in report.notes
    starts = runs_as_recorded(scenario).jobs["first_start_s"].tolist()
    assert starts == [0, 500, 1000]


def test_limits_shares_and_settings_are_entities(tmp_path: Path) -> None:
    limits = "Account|User|Share|GrpTRES|MaxJobs|QOS\nroot|||||\n bio||10|gres/gpu=24||\n  bio|ada|2||5|normal\n"
    shares = "Account|User|RawShares|NormShares|RawUsage|FairShare\nroot|||0|99|\n bio|ada|2|.1|77|.5\n"
    config = (
        "PriorityWeightAge       = 2000\nSchedulerParameters     = bf_interval=10,bf_window=240\nClusterName = alpha\n"
    )
    scenario, _ = read(tmp_path, dump(Ran("1", 0, 0, 60)), limits=limits, shares=shares, config=config)
    found = {each.name: dict(each.attributes) for each in scenario.entities}
    assert found["account bio"] == {
        **{"kind": "account", "name": "bio", "account": "bio", "parent": "root"},
        **{"Share": 10, "GrpTRES": "gres/gpu=24"},
    }
    assert found["user ada of bio"]["MaxJobs"] == 5 and found["user ada of bio"]["RawUsage"] == 77
    assert found["config alpha"]["SchedulerParameters"] == "bf_interval=10,bf_window=240"


def test_other_types_are_ratios_that_every_answer_leads_with(tmp_path: Path) -> None:
    ratios = "by,name,ran_on,to,ratio,low,high\nuser,ada,a100,v100,.5,.4,.6\n"
    ran = Ran("1", 0, 0, 600, "gres/gpu:a100=1,gres/gpu=1", "m1", "small")
    scenario, report = read(tmp_path, dump(ran, ran._replace(name="2", host="a1", partition="big")), ratios=ratios)
    job, other = scenario.jobs
    assert other.model == "recorded on a100", "its partition has no v100"
    assert scenario.table.matrix([job.model], [1], types=["a100", "v100", "a100_1g.5gb"]).tolist() == [[1, 0.5, 0]]
    assert scenario.notes[0] == report.assumed[0] and str(report).startswith("assumed, not recorded: 1 job (user ada)")
    two = dump(ran, ran._replace(name="3", tres="gres/gpu:v100=1,gres/gpu=1", host="v1"))
    told = [each for each in read(tmp_path, two)[1].notes if each.startswith("2 jobs asked for no type")]
    assert len(told) == 1
    for who, left in (("user,ada", "1 job"), ("user,bob", "2 jobs")):
        notes = read(tmp_path, two, ratios=ratios.replace("user,ada", who))[1].notes
        assert [each.partition(" asked for no type")[0] for each in notes if "for no type" in each] == [left]
    for bad in ("user,ada,a100,v100,2,3,4", "user,ada,a100,v100,2", "user,,a100,v100,2,1,3", "user,ada,*,v100,2,1,3"):
        with pytest.raises(InputError, match=r"low <= ratio <= high"):
            read(tmp_path, dump(Ran("1", 0, 0, 600)), ratios=f"by,name,ran_on,to,ratio,low,high\n{bad}\n")


def test_without_nodes_the_cluster_is_what_jobs_were_seen_to_hold(tmp_path: Path) -> None:
    scenario, report = read(
        tmp_path, dump(Ran("1", 0, 0, 60), Ran("2", 0, 60, 60), Ran("3", 0, 30, 60, host="a2")), nodes=None
    )
    assert [(node.name, node.gpus) for node in scenario.cluster.each_node] == [("a1", 8), ("a2", 8)]
    assert any(note.startswith("2 nodes with the GPUs that jobs of the log held at once") for note in report.notes)
    text = dump(Ran("1", 0, 0, 60)).replace("|a1|", "||")
    with pytest.raises(InputError, match=r"none known; expected --nodes"):
        read(tmp_path, text, nodes=None)
    with pytest.raises(InputError, match="nothing that can be read"):
        read(tmp_path, text, nodes="hello\n")
    with pytest.raises(InputError, match="nothing that can be read"):
        read(tmp_path, text, nodes=text)  # the log itself, which has a column NodeList too


def test_files_that_say_that_there_is_nothing_are_read(tmp_path: Path) -> None:
    """No reservation, and no event: a header alone."""
    text = dump(Ran("1", 0, 0, 60))
    events = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
    scenario, _ = read(tmp_path, text, config="No reservations in the system\n", events=events)
    assert scenario == read(tmp_path, text)[0]


def test_settings_that_the_scheduler_does_not_go_by_are_told(tmp_path: Path) -> None:
    config = "PriorityFlags = {}\nPriorityWeightTRES = (null)\nSchedulerParameters = bf_interval=30,{}\n"
    notes = [
        [
            note
            for note in read(tmp_path, dump(Ran("1", 0, 0, 60)), config=config.format(*given))[1].notes
            if "go by" in note
        ]
        for given in (("NO_FAIR_TREE", "bf_continue"), ("MAX_TRES,FAIR_TREE", "bf_busy_nodes,bf_window=60"))
    ]
    assert notes == [[], ["the scheduler slurm does not go by: MAX_TRES and bf_busy_nodes"]]
    config = "SelectTypeParameters = CR_CORE_MEMORY,CR_LLN\nPreemptMode = REQUEUE\nLicenses = matlab:4\n"
    config += "CompleteWait = 10 sec\nPriorityFlags = CALCULATE_RUNNING\n"
    partition = "PartitionName={} Nodes=a1 LLN={} OverSubscribe=EXCLUSIVE State=UP PreemptMode=OFF\n"
    qos = "Name|Priority|GraceTime|Flags|GrpTRESMins|GrpWall|MaxTRESRunMinsPU\n"
    qos += "high|1|00:00:00|DenyOnLimit,NoDecay|cpu=100||cpu=9\n"
    course = (
        "ReservationName=course StartTime=2024-03-02T08:00:00 EndTime=2024-03-02T10:00:00 Flags=WEEKLY,SPEC_NODES\n"
    )
    told = read(
        tmp_path,
        dump(Ran("1", 0, 0, 60)),
        config=config,
        nodes="NodeName=a1 Gres=gpu:a100:8 CPUs=64\n" + "".join(map(partition.format, "pqr", ("YES", "NO", "YES"))),
        limits=qos,
        events=course,
    )[1].notes
    (note,) = (note for note in told if "go by" in note)
    for said in ("CR_LLN", "PreemptMode=REQUEUE", "Licenses=matlab:4", "LLN=YES (partition p and partition r)",
                 "CompleteWait=10", "Flags=NoDecay (qos high)", "Flags=WEEKLY (reservation course)",
                 "MAXTRESRUNMINSPU=cpu=9 (qos high)"):  # fmt: skip
        assert said in note
    assert "GrpTRESMins=cpu=100 (qos high)" in note and "EXCLUSIVE" not in note and "CR_CORE" not in note
    assert "CALCULATE_RUNNING" not in note and "SPEC_NODES" not in note and "MAXWALL" not in note.upper()


def test_jobs_without_gpus_have_all_nodes_of_a_partition_that_has_some_with_gpus(tmp_path: Path) -> None:
    """c1 has no GPUs and m1 has; a job of small ran on either."""
    nodes = NODES.replace("PartitionName=small Nodes=v1,m1", "PartitionName=small Nodes=v1,m1,c1")
    jobs = (Ran("1", 0, 5, 600, "", "m1", "small"), Ran("2", 10, 10, 700, "", "c1", "small"))
    scenario, _ = read(tmp_path, dump(*jobs), nodes=nodes)
    on_cpus = {node.name: node.gpus for node in scenario.cluster.each_node if node.accelerator == "cpu"}
    assert on_cpus == {"v1/cpu": 32, "m1/cpu": 32, "c1": 64}
    _, report = read(tmp_path, dump(*jobs), nodes=nodes.replace("CPUs=32", "CPUs=1025", 1))
    assert "more than 1024 GPUs or CPUs of one node, left out: 1025 of v1/cpu" in report.notes
    run = workbench.simulate(scenario, "slurm")
    assert set(run.timeline["accelerator"]) == {"cpu"} and len(run.jobs) == 2


def test_nodes_that_came_later_take_nothing_before(tmp_path: Path) -> None:
    """A row of events without a node says which nodes the cluster had."""
    events = (
        "Cluster|NodeName|Cluster Nodes|TimeStart|TimeEnd|State|Reason\n"
        f"x||a1,v1,m1,c1|{when(0)}|{when(300)}||Cluster Registered TRES\n"
        f"x||a[1-2],v1,m1,c1|{when(300)}|Unknown||Cluster Registered TRES\n"
    )
    scenario, _ = read(tmp_path, dump(Ran("1", 0, 0, 60), Ran("2", 400, 400, 60)), events=events)
    assert [(each.node, each.from_s, each.to_s) for each in scenario.core.faults.list] == [("a2", 0, 300)]


def test_what_a_log_and_its_site_leave_unsaid_is_told(tmp_path: Path) -> None:
    """Columns, rules of the site, and the cut last line of a table."""
    text = dump(Ran("1", 0, 0, 60))
    _, report = read(tmp_path, text)
    assert not any("says nothing of" in note for note in report.notes)
    bare = text.replace("|Partition|", "|No|").replace("|SubmitLine", "|Never").replace("|Eligible|", "|Nor|")
    limits = "Account|User|Share|GrpTRES\nbio||10|gres/gpu=24\nchem||1"
    _, report = read(tmp_path, bare, limits=limits)
    told = "\n".join(report.notes)
    assert "the log says nothing of Eligible, Partition and SubmitLine (dep" in told and "of no partition" not in told
    assert "1 line of limits left out, not as long as its header" in told and "no file says what limits" not in told
    others = dump(Ran("1", 0, 0, 60), Ran("2", 0, 60, 60, user="eve"), Ran("3", 0, 120, 60, partition=""))
    _, report = read(tmp_path, others, limits="Account|User|Share|GrpTRES\nbio||10|\nbio|ada|1|\n")
    told = "\n".join(report.notes)
    assert "1 job of users that no file has: no limit of theirs holds" in told
    _, report = read(tmp_path, others, limits="Name|Priority|GraceTime\nquiet|5|\n")
    assert "3 jobs of QOS that no file has: no limit of theirs holds" in report.notes
    assert "1 job of no partition, which may run anywhere" in told and "of accounts" not in told


def test_limits_are_those_of_the_logs_own_cluster(tmp_path: Path) -> None:
    """sacctmgr lists all clusters of its database."""
    limits = "Cluster|Account|User|Share|GrpTRES\nx|bio||1|gres/gpu=24\ny|bio||1|gres/gpu=8\n"
    for config, most, said in (("ClusterName = y\n", 8, "y (ClusterName)"), ("", 24, "x (the first: no file")):
        scenario, report = read(
            tmp_path, dump(Ran("1", 0, 0, 60)), limits=limits, config=config + "PriorityMaxAge = 1-0\n"
        )
        account = next(each for each in scenario.entities if each.name == "account bio")
        assert account.attributes["GrpTRES"] == f"gres/gpu={most}"
        assert any(f"limits and shares of the cluster {said}" in note for note in report.notes)


def test_bad_rows_are_counted_and_told_never_fatal(tmp_path: Path) -> None:
    """Out of order, clocks that jump, over the limit, unknown partitions, twice, mixed encodings, a cut last line."""
    rows = [
        row(Ran("5", 500, 400, 60)),
        row(Ran("1", 0, 0, 5 * 3600)),
        row(Ran("2", 10, 10, 60, partition="gone")),
        row(Ran("2", 10, 10, 60, partition="gone")),
        row(Ran("3", 20, 20, 60, user="René")),
        row(Ran("6", 600, 600, 60, host="a[1-")).replace("04:00:00", "-1"),
        row(Ran("7", 700, 700, 60)).replace("04:00:00", "Partition_Limit"),
        row(Ran("8", 710, 710, 3600)).replace(when(4310), when(100)),
        row(Ran("9", 4 * 10**7, 4 * 10**7, 60, user="")).replace("|1|a1|", "|3|a1|"),
        row(Ran("10", 720, 720, 60)).replace(when(720), "Unknown").replace("Unknown", when(720), 1),
        row(Ran("11", 730, 730, 60, eligible_s=30, submit_line="sbatch -d afterok:11 run.sh")),
        row(Ran("12", 740, 740, 60)).replace("|100|", "|first|"),
        row(Ran("4", 30, 30, 60))[:40],
    ]
    text = "\n".join(["sacct: error: no usage", HEADER, *rows]).encode("latin-1")
    (tmp_path / "log").write_bytes(text)
    (tmp_path / "nodes").write_text(NODES)
    scenario, report = convert("sacct", tmp_path / "log", nodes=[tmp_path / "nodes"])
    assert [job.name for job in scenario.jobs] == [f"job-{number}" for number in (1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 9)]
    assert scenario.jobs[6].attributes["end_s"] == 4310, "not before it started"
    assert scenario.jobs[2].user == "René" and scenario.jobs[3].arrival_s == 400
    told = "\n".join(map(str, (*report.dropped, *report.notes)))
    for words in (
        "1 dropped: job id of an earlier row (line 6)",
        "columns instead of 22 (line 15)",
        "1 dropped: above the names of columns (line 1)",
        "the last line has no end",
        "1 job eligible before submission",
        "1 job named themselves, or jobs of larger numbers, to wait for",
        "1 job began nobody knows when: there is no wait to compare",
        "1 job eligible nobody knows when: since submission",
        "1 job with another number of nodes in NNodes than in NodeList, which counts",
        "1 job ended sooner than the run time allows (a clock jumped)",
        "1 job of nobody: no limit of a user holds them",
        "no file says what limits, priorities and backfill are (--limits, --config): under slurm no limit holds",
        "no job was submitted or began from 2024-03-04 08:12 to 2025-06-10 07:06: two logs, or a clock that jumped?",
        "1 line not in UTF-8, read as Latin-1",
        "1 job started before they were eligible",
        "cells that cannot be read, as if they were empty: Timelimit (1), Priority (1) and NodeList (1)",
        "1 job ran over a minute longer than the time limit",
        "partitions that the site does not have, kept where they ran: gone",
        "not in order of arrival",
    ):
        assert words in told, words
    (tmp_path / "log").write_text("\n".join([HEADER, row(Ran("1", 0, 0, 60, state="PENDING"))]))
    with pytest.raises(InputError, match=r"got 1 dropped: not ended: PENDING \(line 2\); expected at least one job"):
        convert("sacct", tmp_path / "log", nodes=[tmp_path / "nodes"])


def test_jobs_that_never_ran_and_those_left_out_are_told_to_slurm(tmp_path: Path) -> None:
    """Who was eligible: until the log's end, or until it was cancelled; not who was held, or gone before. Who ran
    without GPUs on nodes without any, where a file tells rules, also if a clock jumped. Times are of the scenario's
    begin."""
    waiting = row(
        Ran("3_[4-6%2]", 100, 0, 0, "gres/gpu=8", state="PENDING", submit_line="sbatch -d afterany:1 x", eligible_s=130)
    )
    queues = ("8_[1,3,5-9:2,...]", "9_[0-4,7-150000]", "10_[1,2x,y]", "14_[x]", "15_[5-1]")
    never = [row(Ran(name, 900, 0, 0, state="PENDING")) for name in queues]
    never.append(row(Ran("19", 900, 0, 0, "gres/gpu=x", state="PENDING")))
    gone = row(Ran("4", 200, 500, 0, state="CANCELLED by 1")).replace(when(500), "None", 1)
    held = row(Ran("5", 300, 0, 0, state="PENDING")).replace("|100|", "|0|")
    early = row(Ran("6", 200, 300, 0, state="CANCELLED by 1", eligible_s=300))
    early = early.replace(f"{when(300)}|{when(300)}|", f"{when(300)}|None|", 1)
    before = row(Ran("11", 10, 50, 0, state="CANCELLED by 1")).replace(f"{when(50)}|", "None|", 1)
    lost = row(Ran("13", 70, 300, 10, "", "c1", "cpu")).replace(f"{when(300)}|", "Unknown|", 1)
    parts = {"12": "gone", "16": "cpu", "17": "big,small", "18": ""}
    pending = (row(Ran(name, 100, 0, 0, "gres/gpu=4", partition=of, state="PENDING")) for name, of in parts.items())
    back = row(Ran("7", 70, 300, 10, "", "c1", "cpu")).replace(when(310), when(280))
    lines = dump(Ran("1", 50, 60, 600), Ran("2", 70, 80, 900, "", "c1", "cpu"))
    lines += "\n".join((waiting, gone, held, early, back, *never, before, *pending, lost))
    files = {"config": "ClusterName = c\nPriorityType = priority/basic\n", "nodes": NODES}
    lines = lines.replace(f"{when(0)}|{when(0)}", "Unknown|Unknown")
    scenario, report = read(tmp_path, lines + "\n", **files)
    assert read_site(scenario).enforced, "where no file says"
    none = files | {"config": f"{files['config']}AccountingStorageEnforce = none\n"}
    assert not read_site(read(tmp_path, lines + "\n", **none)[0]).enforced
    found = {each.name: each.attributes for each in scenario.entities if each.name.startswith("beside ")}
    keys = ("eligible_s", "start_s", "end_s", "types", "gpus", "partition")
    of_arrays = tuple(f"beside job-{number}_" for number in (8, 9, 10))
    arrays = [name.partition("-")[2] for name in found if name.startswith(of_arrays)]
    assert arrays == ["8_1", "8_3", "8_5", "8_7", "8_9", *(f"9_{i}" for i in range(22) if i not in (5, 6)), "10_1"]
    for name in arrays:
        assert found.pop(f"beside job-{name}")["array"] == name.partition("_")[0]
    assert {name: tuple(dict(facts).get(key) for key in keys) for name, facts in found.items()} == {
        **{f"beside job-3_{i}": (80.0, None, None, "a100", 8.0, "big") for i in (4, 5, 6)},
        "beside job-4": (150.0, None, 450.0, "a100", 8.0, "big"),
        "beside job-2": (20.0, 30.0, 930.0, "cpu", 8.0, "cpu"),
        "beside job-7": (20.0, 250.0, 260.0, "cpu", 8.0, "cpu"),
        "beside job-17": (50.0, None, None, "a100,v100", 4.0, "big,small"),
        "beside job-18": (50.0, None, None, "a100,v100", 4.0, None),
    }
    task = dict(found["beside job-3_4"])
    assert (task["array_most"], task["submit_s"], task["user"]) == (2, 50, "ada") and "dependency" not in task
    tasks, arrays = {"3_4", "3_5", "3_6", "17", "18"}, {*arrays}
    some: dict[str, tuple[dict[str, Any], set[str]]] = {
        "before 200 s": ({"to_s": 150}, {*tasks, "2", "7"}),
        "no file tells rules": ({"config": None}, {*tasks, "4", *arrays}),
        "nobody's queue": ({"sample": 1}, set()),
    }
    for what, (more, left) in some.items():
        entities = read(tmp_path, lines + "\n", **files | more)[0].entities
        assert {each.name.partition("-")[2] for each in entities if each.name.startswith("beside ")} == left, what
    assert [job.name for job in scenario.jobs] == ["job-1"]
    for told in (
        "33 jobs never started in the log",
        "2 lines of jobs that never started, held or never eligible",
        "1 line of jobs that never started whose number of GPUs cannot be read: in no queue",
        *(f"1 job never started, of partitions without {what} in the files: in no queue" for what in ("nodes", "GPUs")),
        "149979 tasks of arrays that never started beyond the first 20 of each",
        "1 array never started whose list of tasks sacct cut (`...`)",
        "3 arrays never started with tasks that cannot be read: these are not in it",
        "1 job ended sooner than the run time allows",
    ):
        assert [note for note in report.notes if note.startswith(told)], report.notes
    assert not [each for each in report.dropped if "step" in each.reason]
    assert workbench.simulate(scenario, "slurm").jobs["job"].tolist() == ["job-1"]
    rest = (row(Ran(name, 300, 0, 0, tres, state="PENDING")) for name, tres in (("2", "gres/gpu=8"), ("3", "")))
    lines = (dump(Ran("1", 50, 60, 600)) + "\n".join(rest)).replace(f"{when(0)}|{when(0)}", "Unknown|Unknown")
    scenario, report = read(tmp_path, lines, nodes=None, cluster=parse_cluster("a100=1x8,v100=1x4"))
    assert [each.attributes["types"] for each in scenario.entities] == ["a100,v100"], "asked for no type: any"
    assert "1 job never started, asked for no GPUs: in no queue" in report.notes
    assert len(workbench.simulate(scenario, "slurm").jobs) == 1


def test_tasks_that_a_throttle_held_were_in_the_queue_before_they_were_eligible(tmp_path: Path) -> None:
    """Three tasks of an array with %1 on the only node: sacct says that each was eligible as the one before it ended.
    Their age is the array's (sprio), so `10`, submitted at 50 s, comes after; each waits from the end before it."""
    host = {"tres": "gres/gpu:v100=4", "host": "v1", "partition": "small"}
    line = {"submit_line": "sbatch --array=1-3%1 x"}
    jobs = [Ran(f"9_{i}", 0, 100 * i, 100, **host, **line, eligible_s=100 * i) for i in range(3)]
    age = "ClusterName = c\nPriorityType = priority/multifactor\nPriorityWeightAge = 90000\nPriorityMaxAge = 00:15:00\n"
    age += "PriorityCalcPeriod = 00:00:10\n"
    scenario, _ = read(tmp_path, dump(*jobs[::-1], Ran("10", 50, 300, 60, **host)), config=age)
    assert [job.arrival_s for job in scenario.jobs] == [0, 0, 0, 50]
    run = workbench.simulate(scenario, "slurm")
    table = run.jobs.set_index("job").sort_values("first_start_s")
    assert (table["first_start_s"] // 10).tolist() == [0, 10, 20, 30]
    asks, recorded_s = read_site(scenario).asks, {job.name: job.attributes["eligible_s"] for job in scenario.jobs}
    since_s = eligible_in(run, asks, recorded_s)
    ends = {"job-9_1": table.loc["job-9_0", "finish_s"], "job-9_2": table.loc["job-9_1", "finish_s"]}
    assert since_s == {"job-9_0": 0, **ends, "job-10": 50}


def test_odd_cells_and_other_jobs_of_one_id_are_counted(tmp_path: Path) -> None:
    """A number that no machine has, one that is none, NUL bytes and 0 nodes end nothing and are told; an id that three
    jobs had was given out anew, it was not requeued; a command line that is too long to keep takes no job with it."""
    hour = 3600
    jobs = [Ran("7", 0, 0, hour), Ran("8", 10, 0, hour, host="a2", submit_line=f"sbatch {'x' * 300}")]
    others = [Ran("7", 2 * hour, 2 * hour, hour, user="bob"), Ran("7", 600, 3 * hour, hour)]
    again = [Ran("9", 0, hour, 60, state="REQUEUED"), Ran("9", hour + 60, 2 * hour, 60)]
    odd = [Ran(str(i), hour, hour, 60, host="a2") for i in range(20, 23)]
    lines = dump(*jobs, *others, *again, *odd).splitlines()
    for at, text in ((-3, "9" * 400), (-2, "nan")):
        lines[at] = lines[at].replace("|100|", f"|{text}|")
    lines[-1] = lines[-1].replace("|None|1|", "|None|0|") + "\0"
    scenario, report = read(tmp_path, "\n".join(lines) + "\n", keep=["SubmitLine"])
    names = ["job-7", "job-8", "job-9", "job-9 (attempt 1)", "job-20", "job-21", "job-22"]
    assert sorted(job.name for job in scenario.jobs) == sorted(names)
    assert [(each.reason, each.count) for each in report.dropped] == [("another job with the id of an earlier row", 2)]
    told = "\n".join(report.notes)
    for text in (
        "cells that cannot be read, as if they were empty: NNodes (1) and Priority (2)",
        "1 line with NUL bytes, which are left out",
        "1 earlier attempt of requeued jobs",
        "1 cell of SubmitLine over 200 letters or not printable: not kept, the jobs are",
    ):
        assert text in told, told


def test_a_row_is_of_the_latest_attempt_of_its_id(tmp_path: Path) -> None:
    """Submitted while an attempt ran: another job. A row of nobody may be anybody's; who has the id is kept. Rows may
    stand in any order."""
    again = [
        Ran("7", 0, 0, 100, state="REQUEUED"),
        Ran("7", 20, 60, 30),
        Ran("7", 100, 100, 100),
        Ran("7", 120, 300, 50),
    ]
    nobody = [
        Ran("8", 0, 0, 100, state="REQUEUED"),
        Ran("8", 100, 400, 100, user=""),
        Ran("8", 900, 900, 50, user="bob"),
    ]
    spans = {"job-7": (100, 100), "job-7 (attempt 1)": (0, 100), "job-8": (400, 100), "job-8 (attempt 1)": (0, 100)}
    for rows in itertools.permutations(again):
        scenario, report = read(tmp_path, dump(*rows, *nobody))
        assert {job.name: (job.attributes["start_s"], job.steps) for job in scenario.jobs} == spans
        assert [(each.reason, each.count) for each in report.dropped] == [
            ("another job with the id of an earlier row", 3)
        ]


def test_pseudonyms_are_stable_and_reversible_by_who_has_the_key(tmp_path: Path) -> None:
    limits = "Account|User|Share|GrpTRES\nbio||10|\nbio|ada|2|\n"
    text = dump(Ran("1", 0, 0, 600), Ran("2", 5, 5, 60, user="bob"), Ran("3", 5, 5, 60))
    options = {"limits": limits, "keep": ["Account"], "pseudonyms": tmp_path / "key"}
    one, report = read(tmp_path, text, **options)
    two, _ = read(tmp_path, text, **options)
    assert one == two and (tmp_path / "key").stat().st_mode & 0o077 == 0
    said = one.to_json() + json.dumps(report.as_json())
    assert not [name for name in ("ada", "bob", "bio", "chem", str(tmp_path), '"log"') if name in said]
    names = json.loads((tmp_path / "key").read_text())["names"]
    assert [names[job.user or ""] for job in one.jobs] == ["ada", "bob", "ada"]
    assert names[one.jobs[0].attributes["account"]] == "bio"
    real, report = read(tmp_path, text)
    assert [job.steps for job in one.jobs] == [job.steps for job in real.jobs]
    assert [
        any("pseudonyms" in note and "those of the log" in note for note in each.notes) for each in (real, one)
    ] == [True, False]
    (tmp_path / "key").chmod(0o644)
    with pytest.raises(InputError, match="a file that others may read"):
        read(tmp_path, text, **options)
    (tmp_path / "key").write_text("{}")
    with pytest.raises(InputError, match="another file"):
        read(tmp_path, text, **options)


def test_a_reservation_is_known_when_nobody_begins_into_it_any_more(tmp_path: Path) -> None:
    """08:30 to 09:30, limits are 4 h: job 1 began on a1 at 0 s and would have run into it; job 2, of the reservation,
    and job 3, on a2, tell nothing."""
    config = "ReservationName=course StartTime=2024-03-04T08:30:00 EndTime=2024-03-04T09:30:00 Nodes=a1 Users=ada\n"
    jobs = (Ran("1", 0, 0, 60), Ran("2", 600, 600, 60), Ran("3", 700, 900, 60, host="a2"))
    lines = [line.split("|") for line in dump(*jobs).splitlines()]
    at = lines[0].index("Reservation")
    lines[1][at], lines[2][at] = "lost", "course"
    scenario, report = read(tmp_path, "\n".join(map("|".join, lines)) + "\n", config=config)
    (kept,) = (each.attributes for each in scenario.entities if each.attributes["kind"] == "reservation")
    assert (kept["start_s"], kept["end_s"], kept["known_s"]) == (1800, 5400, 0)
    assert "jobs of reservations that no file tells of, as if they named none: lost (1)" in report.notes
    rows = "Name|TimeStart|TimeEnd|NodeName|Flags\ncourse|2024-03-04T08:30:00|2024-03-04T09:30:00|a1|\n"
    rows += "old|2024-03-04T08:00:00|2024-03-04T08:10:00||\n"
    same, report = read(tmp_path, "\n".join(map("|".join, lines)) + "\n", config=rows)
    (same_kept,) = (each.attributes for each in same.entities if each.attributes["kind"] == "reservation")
    assert same_kept.items() <= kept.items() and same_kept["Nodes"] == "a1", "as sacctmgr tells of it, once over"
    assert "reservations without the nodes that they kept (NodeNames), so they keep none: old" in report.notes
