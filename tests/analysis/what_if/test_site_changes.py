"""Changes of a Slurm site by its own names, waits by partition and user, other demand: cases worked by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import workbench
from workbench.analysis import metrics
from workbench.analysis.calibration.note import notes_under
from workbench.analysis.metrics.paired import paired
from workbench.analysis.run_report import run_report
from workbench.analysis.what_if import Configuration, DensityTo, LoadTo, NodesBy, SeveralChanges, parse_change, pictures
from workbench.analysis.what_if.ask import ask, usual_demand
from workbench.analysis.what_if.report import wait_tables, what_if_report
from workbench.analysis.what_if.site_changes import LIMITS, SET, chosen, date_of
from workbench.analysis.what_if.words import OF_CALIBRATION, surprising, waited
from workbench.base.errors import InputError, ScenarioError
from workbench.baselines.mechanisms.slurm.limits import all_limits
from workbench.baselines.mechanisms.slurm.site import read_site
from workbench.cli import main
from workbench.scenario.scenario import Scenario
from workbench.session.many_runs import RunRequest
from workbench.simulation.run import Run

CONFIG = {"kind": "config", "SchedulerParameters": "BF_Interval=10, bf_resolution=10", "PriorityCalcPeriod": "00:01:00"}


def site(**more: Any) -> Scenario:
    """Racks r1 (a-0, a-1) and r2 (b-0), 4 GPUs a node; partition q is b-0 alone. Four jobs of ada in p, one of bob in
    q, each a whole node for 100 s; partition p's first three begin at once, the fourth waits for 100 s."""
    racks = [("a", 2, "r1", "p"), ("b", 1, "r2", "p,q")]
    jobs = [(f"p{i}", "ada", "p") for i in range(4)] + [("q0", "bob", "q")]
    facts = {"limit_s": 100.0, "account": "bio", "qos": "normal", "nodes": 1.0, "start_s": 5.0}
    names = {"config": CONFIG, "qos normal": {"kind": "qos", "name": "normal"}}
    data = {
        "cluster": {
            "accelerators": [{"name": "x"}],
            "nodes": [
                {"name": name, "accelerator": "x", "gpus": 4, "count": count}
                | {"attributes": {"rack": rack, "partitions": partitions}}
                for name, count, rack, partitions in racks
            ],
        },
        "jobs": [
            {"name": name, "model": "m", "steps": 100.0, "gpus": 4, "user": user, "arrival_s": float(i)}
            | {"attributes": {**facts, "partition": partition, "eligible_s": float(i)}}
            for i, (name, user, partition) in enumerate(jobs)
        ],
        "throughputs": [{"model": "m", "accelerator": "x", "gpus": 4, "steps_per_s": 1.0}],
        "entities": [
            {"name": "config site" if name == "config" else name, "attributes": a} for name, a in names.items()
        ],
        "begins": "2024-03-01T08:00:00",
    }
    return Scenario.from_dict({**data, **more})


def verdict_kept(scheduler: str = "slurm", scenario: Scenario | None = None) -> Scenario:
    """A site whose calibration came to `calibrated`, as a scheduler's."""
    found = (scenario or site()).replace(notes=["Calibration: calibrated; under slurm the mean wait is 20 s."])
    return found.replace(calibrated={"scheduler": scheduler, "key": found.key()})


def after(text: str, scenario: Scenario | None = None) -> Scenario:
    return parse_change(text).applied(Configuration(scenario or site(), "slurm")).scenario


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("a-0", ["a-0"]),
        ("a-[0-1], b-0", ["a-0", "a-1", "b-0"]),
        ("?-0", ["a-0", "b-0"]),
        ("rack=r1", ["a-0", "a-1"]),
        ("partition=q", ["b-0"]),
        ("partition=p", ["a-0", "a-1", "b-0"]),
    ],
)
def test_nodes_by_name_list_wildcard_and_attribute(text: str, nodes: list[str]) -> None:
    assert chosen(site(), text) == nodes
    change = parse_change(f"outage {text} from 2024-03-01 08:01 to 3 min, drain")
    assert parse_change(change.text) == change
    outages = change.applied(Configuration(site(), "slurm")).scenario.core.faults.list
    assert [(each.node, each.from_s, each.to_s, each.drain) for each in outages] == [(n, 60, 180, True) for n in nodes]


def test_six_pairs_of_one_log_are_two_runs_side_by_side_each_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler that draws nothing: seeds make no other run. Both sides are with the processes at once."""
    asked, measured = list[tuple[int, int]](), list[int]()

    def made(requests: Sequence[RunRequest], make: Any, *, workers: int = 1, **_: Any) -> Any:
        asked.append((len(requests), workers))
        yield from ((number, make(request)) for number, request in enumerate(requests))

    def counted(run: Run, **more: Any) -> Any:
        measured.append(run.seed)
        return metrics.summary(run, **more)

    monkeypatch.setattr("workbench.session.many_runs.outcomes", made)
    monkeypatch.setattr("workbench.analysis.what_if.tables.summary", counted)
    found = workbench.what_if(site(), "fifo", "without rack=r1", seeds=range(6), workers=2)
    assert [pair for pair in asked if pair[0]] == [(2, 2)] and measured == [0, 0]
    assert len(found.runs[1]) == 6 and found.conclusions
    assert measured == [0, 0], "nor for other demand, of which there is none"


def test_in_each_pair_slurms_clocks_run_at_another_time_the_same_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file tells when, and waits depend on it: what one phase says of a change may be its chance alone."""

    def phases(**more: Any) -> list[list[float]]:
        changes = ["without rack=r1", "set config bf_interval=60"]
        question = ask(site(), "slurm", changes, **more)
        parts = [(each.knobs.get("phase_s", 0.0), each.scenario) for each in question.requests()]
        intervals = [read_site(scenario).settings["bf_interval"] for _, scenario in parts]
        found = [phase_s / interval for (phase_s, _), interval in zip(parts, intervals, strict=True)]
        assert sorted({*intervals}) == [10, 60]
        return [found[i : i + len(question.seeds)] for i in range(0, len(found), len(question.seeds))]

    eight = [0, 1 / 2, 1 / 4, 3 / 4, 1 / 8, 5 / 8, 3 / 8, 7 / 8]
    assert phases() == [eight] * 3, "as many as calibrate has"
    assert phases(seeds=[4, 7, 1]) == [eight[:3]] * 3 and phases(seeds=[3]) == [[0]] * 3
    assert phases(knobs={"phase_s": 5.0}, seeds=range(2)) == [[1 / 2] * 2, [1 / 2] * 2, [1 / 12] * 2]
    found = workbench.what_if(site(), "slurm", "without rack=r1")
    said = "\n".join(found.conclusions)
    assert "over 8 pairs" in said and "8 pairs of runs: when Slurm's clocks run, which no file tells, the seed" in said
    assert "about chance with these very jobs (when Slurm's clocks run" in said
    assert "gone: partition q (1 job) waits 6 min 36 s in all, today 1 min 39 s (by as much in each pair)." in said
    assert "gone: partition p (4 jobs) waits " in said and "95 % interval for all 2 partitions at once +" in said
    row = found.waits.set_index(["by", "name"]).loc[("partition", "p")]
    apart_s = [
        sum(now.jobs["waited_s"][:4]) - sum(was.jobs["waited_s"][:4])
        for was, now in zip(found.runs[0], found.runs[1], strict=True)
    ]
    wider = paired([0.0] * 8, apart_s, 0.975)
    assert (row["low_s"], row["high_s"]) == pytest.approx((wider.low, wider.high), rel=1e-6), "one of two partitions"
    waits = found.waits.set_index("by").loc["all", "before_total_s"]
    each = [workbench.simulate(site(), "slurm", {"phase_s": 10 * part}).jobs["waited_s"].sum() for part in eight]
    assert len({*each}) > 1 and waits == pytest.approx(sum(each) / 8)
    known = verdict_kept()
    set_ = workbench.what_if(known, "slurm", "without rack=r1", {"phase_s": 5.0}, seeds=range(2))
    assert OF_CALIBRATION in set_.conclusions and OF_CALIBRATION not in found.conclusions
    assert any(
        "nothing random plays a part here, and Slurm's clocks run in one phase" in text for text in set_.conclusions
    )
    monkeypatch.setattr("workbench.analysis.calibration.calibrate.PHASES", {})
    assert phases() == [[0]] * 3 and phases(seeds=range(2)) == [[0, 0]] * 3, "of very many jobs, as calibrate has it"
    given = site().to_dict()
    days = [{**job, "arrival_s": 20_000.0 * i} for i, job in enumerate(given["jobs"])]
    found = ask(site(jobs=days), "slurm", "without rack=r1", seeds=range(3), bootstrap=True).requests()
    assert [each.knobs.get("phase_s", 0.0) for each in found] == 2 * [0, 5, 2.5], "draws are runs of their own anyway"


def test_a_scheduler_that_knows_no_partitions_or_limits_is_not_praised_for_it() -> None:
    limit = {"name": "qos normal", "attributes": {"kind": "qos", "name": "normal", "MaxJobsPU": 1.0}}
    found = workbench.what_if(site(entities=[limit]), "slurm", ["scheduler srtf", "nodes x=+1"])
    told = "with the scheduler srtf: jobs are not held to the site's partitions and limits, as they are today: "
    assert [text for text in found.warnings if "are not held to" in text] == [f"{told}part of the difference is that."]
    assert workbench.what_if(site(), "srtf", ["scheduler fifo", "scheduler slurm"]).warnings == ()


def test_new_nodes_are_of_the_partitions_of_the_first_or_of_those_that_are_named() -> None:
    added = after("nodes x=+1x8").cluster.each_node[-1]
    assert added.gpus == 8 and added.attributes["partitions"] == "p" and added.attributes["rack"] == "r1"
    for text, partitions in (("x=+2 in q,p", "p,q"), ("x=+2 in q", "q"), ("x=+2x8 in p,q", "p,q")):
        change = parse_change(f"nodes {text}")
        there = Counter(str(node.attributes["partitions"]) for node in after(change.text).cluster.each_node)
        assert parse_change(change.text) == change and there == Counter({"p": 2, "p,q": 1}) + Counter({partitions: 2})
    assert [node.name for node in after("nodes x=-1 in q").cluster.each_node] == ["a-0", "a-1"]
    data = site().to_dict()
    data["cluster"]["nodes"].append({"name": "c", "accelerator": "x", "gpus": 8, "count": 1})  # in no partition
    there = after("nodes x=+1", Scenario.from_dict(data)).cluster.nodes
    assert [(group.name, group.count) for group in there] == [("a", 3), ("b", 1), ("c", 1)]
    found = workbench.what_if(site(), "slurm", ["nodes x=+1", "nodes x=+1 in q"], seeds=[0])
    told = "new nodes are in partition p, as a-0 is; `nodes x=+1 in PARTITION,...` puts them elsewhere."
    assert [text for text in found.conclusions if "new nodes" in text] == [f"With 1 more x node: {told}"]
    assert any(text.startswith("With 1 more x node in q: mean wait") for text in found.conclusions)


def test_what_changes_nothing_and_what_a_user_has_in_several_accounts_is_told() -> None:
    """AccountingStorageEnforce=associations: no limit holds. Without weights priority depends on nothing."""
    config = {**CONFIG, "AccountingStorageEnforce": "associations", "PriorityWeightQOS": 5.0}
    users = [("ada", "bio"), ("ada", "chem"), ("bob", "bio")]
    facts = [
        ("config site", config),
        ("qos normal", {"kind": "qos", "name": "normal"}),
        *((f"user {u} of {a}", {"kind": "user", "name": u, "user": u, "account": a}) for u, a in users),
    ]

    def told(text: str, knobs: dict[str, Any] | None = None, **more: Any) -> list[str]:
        named = [(name, {**each, **(more if name == "config site" else {})}) for name, each in facts]
        scenario = site(entities=[{"name": name, "attributes": each} for name, each in named])
        change = parse_change(text)
        return change.remarks(change.applied(Configuration(scenario, "slurm", knobs or {})))

    both = "in each of the accounts bio and chem, as Slurm has it; `user ada of ACCOUNT` is one."
    none = "that changes nothing: by AccountingStorageEnforce (associations) no limit holds on this site."
    assert told("set qos normal MaxTRESPU=gres/gpu=1") == [none]
    assert told("set user ada GrpTRES=gres/gpu=4") == [both, none] and told("set user ada of bio MaxJobs=1") == [none]
    held = {"AccountingStorageEnforce": "Associations,Limits,QOS"}  # in any capitals
    assert told("set user ada GrpTRES=gres/gpu=4", **held) == [both] and told("set user bob MaxJobs=1", **held) == []
    off = "that changes nothing: the knob limits is off."
    assert told("set qos normal MaxTRESPU=gres/gpu=1", {"limits": False}, **held) == [off]
    for text in ("set qos normal Priority=7", "set config PriorityMaxAge=5 and set config PriorityWeightAge=1"):
        assert told(text) == []
    assert told("set config PriorityMaxAge=5") == ["that changes nothing: PriorityWeightAge is 0."]
    by_type = {"SchedulerType": "sched/Builtin"}
    assert told("set config bf_interval=20", **by_type) == ["that changes nothing: backfill does not run."]
    assert told("set config SchedulerType=sched/backfill and set config bf_interval=20", **by_type) == []
    alone = {"SchedulerParameters": "sched_interval=-1"}
    for name in ("default_queue_depth", "partition_job_depth", "batch_sched_delay"):
        assert told(f"set config {name}=5", **alone) == ["that changes nothing: the main scheduler does not run."]
    each = {
        "bf_interval=-1": [60],
        "sched_interval=-1": [10],
        "sched_interval=0": [10, 1],
        "SchedulerType=sched/builtin": [60],
        "bf_interval=9": [9, 60],
    }
    assert {name: read_site(after(f"set config {name}")).looks_s for name in each} == each
    nobody = r"neither backfill .* nor the main scheduler .* expected one of them to run"
    with pytest.raises(InputError, match=nobody):
        read_site(after("set config bf_interval=-1 and set config sched_interval=-1"))
    with pytest.raises(InputError, match=nobody):
        workbench.simulate(after("set config sched_interval=-1"), "slurm", backfill=False)
    first = "that changes nothing: by PriorityType (priority/basic) who came first is first."
    assert told("set config PriorityWeightQOS=9", PriorityType="priority/basic") == [first]
    named = [{"name": name, "attributes": each} for name, each in facts]
    said = workbench.what_if(site(entities=named), "slurm", "set qos normal MaxJobsPU=1", seeds=[0]).conclusions
    assert f"With MaxJobsPU of qos normal = 1: {none}" in said


def test_each_limit_that_can_be_set_holds_and_no_other_can_be_set() -> None:
    """MaxTRESPU is of a QOS; MaxJobs of users, whose default an account's is; GrpJobs of all."""
    names = {"qos normal": {"name": "normal"}, "account bio": {"account": "bio"}}
    names |= {"user ada of bio": {"user": "ada", "account": "bio"}, "config site": CONFIG}
    every = [{"name": name, "attributes": {"kind": name.split()[0], **each}} for name, each in names.items()]
    known = site(entities=every)
    for of in ("qos normal", "account bio", "user ada"):
        for name in LIMITS.intersection(SET[of.split()[0]]):
            text = f"set {of} {name}={'gres/gpu=4' if 'TRES' in name else '1'}"
            found = all_limits(read_site(after(text, known)))["p0"]
            assert [limit.as_set for limit, _ in found if limit.name == name] == [True], text
            more = f"set {of} {name}={'gres/gpu=6' if 'TRES' in name else '2'}"
            own = [{**e, "attributes": e["attributes"] | {name: text.rpartition(f"{name}=")[2]}} for e in every]
            held = site(
                entities=[mine if mine["name"].startswith(of) else e for e, mine in zip(every, own, strict=True)]
            )
            for low, then in ((known, True), (after(text, known), True), (held, False)):
                found = all_limits(read_site(after(more, low)))["p0"]
                assert [limit.as_set for limit, _ in found if limit.name == name] == [then], "raised: who ran may run"
    assert workbench.simulate(after("set user ada GrpJobs=1", known), "slurm").jobs["waited_s"].max() == 297
    for text, kind in (
        ("user ada MaxTRESPU=gres/gpu=4", "qos"),
        ("user ada maxjobspu=1", "qos"),
        ("account bio MaxTRESPA=gres/gpu=4", "qos"),
        ("account bio MaxJobs=1", "user"),
        ("qos normal MaxJobs=1", "user"),
        ("account bio MaxWall=4", "qos or user"),
    ):
        with pytest.raises(InputError, match=f"expected one of .*; Max[A-Za-z]+ is of a {kind}"):
            parse_change(f"set {text}")


def two_types(*on_y: int) -> Scenario:
    """The site, b-0 of type y, on which some of its jobs ran; the second asked for it."""
    data = site().to_dict()
    data["cluster"]["accelerators"].append({"name": "y"})
    data["cluster"]["nodes"][1]["accelerator"] = "y"
    data["cluster"]["nodes"].append({"name": "c", "accelerator": "y", "gpus": 4, "attributes": {"partitions": "r"}})
    data["throughputs"].append({**data["throughputs"][0], "model": "recorded on y", "accelerator": "y"})
    for number in on_y:
        data["jobs"][number]["model"] = "recorded on y"
    data["jobs"][1]["attributes"]["asked"] = "y"
    return Scenario.from_dict(data)


def test_who_is_refused_for_the_type_on_which_it_ran_is_told_so() -> None:
    """Without b-0, of type y, p0 and q0 that ran there start no more; partition p has x left, and p0 asked for none."""
    said = workbench.what_if(two_types(0, 1, 4), "slurm", "without b-0", seeds=[0]).conclusions
    assert [text for text in said if "asked for no type" in text] == [
        "With b-0 gone: 1 of these asked for no type of GPU: Slurm may start them on x of partition p. Here a job runs "
        "only on types where it ran in the log; `workbench convert --ratios` adds others."
    ]


def test_a_rack_that_goes_makes_others_wait_and_who_has_no_other_is_refused() -> None:
    down = [{"node": "a-0", "from_s": 500.0, "to_s": 600.0}]
    left = after("without rack=r1", site(core={"faults": {"list": down}}))
    assert [node.name for node in left.cluster.each_node] == ["b-0"] and left.core.faults.list == ()
    found = workbench.what_if(site(), "slurm", ["without rack=r1", "without rack=r2"], demand=[140])
    waits = found.waits.set_index(["change", "by", "name"])
    assert waits.loc[("without rack=r1", "all", "all jobs"), "before_total_s"] == pytest.approx(200, abs=40)
    assert waits.loc[("without rack=r1", "all", "all jobs"), "after_total_s"] == pytest.approx(1000, abs=60)
    assert waits.loc[("without rack=r1", "partition", "q"), "after_median_s"] >= 90
    assert waits.loc[("without rack=r2", "partition", "p"), "jobs"] == 4
    alone = ["jobs", "only_before", "only_after"]
    assert waits.loc[("without rack=r2", "partition", "q"), alone].tolist() == [0, 1, 0]
    assert ("partition q", "0 (1 today alone)") in [row[:2] for row in waited(found, found.question.changes[1])]
    said = "\n".join(found.conclusions)
    assert said.startswith("Calibration: none yet") and "(not calibrated)" in wait_tables(found)
    assert "With rack=r2 gone: jobs refused goes from 0 jobs to 1 job" in said and "user ada" in wait_tables(found)
    lead = next(text for text in found.conclusions if text.startswith("With rack=r2 gone"))
    assert lead == (
        "With rack=r2 gone: 1 job can no longer run; averages and waits below are of the jobs that run on both sides."
    )
    assert found.demand["percent"].tolist() == [140, 140] and "At 140 % of the demand, mean wait is" in said
    assert (found.demand["changed_s"] > found.demand["today_s"]).iloc[0] and len(found.runs) == 6
    assert "With rack=r2 gone: 1 job can start no more: no nodes of partition q that are large enough for it" in said
    refused = found.runs[2][0].jobs.set_index("job")["verdict"]
    assert refused["q0"] == "refused" and (refused.drop("q0") == "").all()
    gone = workbench.explain(found.runs[2][0], "q0", 50.0)
    assert "no nodes of partition q that are large enough for it" in gone.text()


def test_the_command_prints_waits_by_partition_and_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ratio = "assumed, not recorded: 1 job (any) may also run on z, 0.6 times as fast"
    assumed = site().replace(notes=["read", ratio])
    workbench.simulate(assumed, "slurm").save(tmp_path / "run")
    asked = ["report", str(tmp_path / "run"), "--change", "without rack=r1", "--seeds", "0:2"]
    assert main([*asked, "-o", str(tmp_path / "a.html")]) == 0
    out = capsys.readouterr().out
    assert out.startswith(ratio) and (page := (tmp_path / "a.html").read_text()).index(ratio) < page.index("With rack")
    assert main(["report", str(tmp_path / "run"), "-o", str(tmp_path / "b.html")]) == 0
    assert capsys.readouterr().out.startswith(ratio)
    assert (page := (tmp_path / "b.html").read_text()).index(ratio) < page.index("What was run")
    assumed.save(tmp_path / "s.json")
    assert main(["simulate", str(tmp_path / "s.json"), "--scheduler", "slurm"]) == 0
    assert ratio in capsys.readouterr().err, "though another note comes first"
    head, *rows = out.partition("Waits, with rack=r1 gone (not calibrated):\n")[2].splitlines()
    assert head.startswith("Wait of") and "Median today  Median changed  95th percentile today" in head
    assert [row.split("  ")[0] for row in rows[:5]] == [
        "all jobs",
        *(f"partition {name}" for name in "pq"),
        "user ada",
        "user bob",
    ]


def test_jobs_that_a_lost_node_refuses_count_on_neither_side() -> None:
    """Racks r2 takes q0 with it, which waits for nobody; the four of p begin at 0, 1 and, a node less, 100 s later."""
    found = workbench.what_if(site(), "slurm", "without rack=r2", seeds=[0], demand=[100])
    waits = found.waits.set_index(["by", "name"])
    ran = workbench.simulate(site(), "slurm").jobs.set_index("job")
    four = ran["waited_s"].drop("q0").sum()
    assert waits.loc[("all", "all jobs"), ["jobs", "only_before"]].tolist() == [4, 1]
    assert waits.loc[("all", "all jobs"), "before_total_s"] == pytest.approx(four)
    rows = found.differences.set_index("measure")
    assert rows.loc["mean_wait_s", "before"] == pytest.approx(four / 4) == found.demand["today_s"][0]
    assert "weighted_jct_s" not in rows.index, "no job has a weight"
    jct = (ran["finish_s"] - ran["arrival_s"]).drop("q0").mean()
    assert rows.loc["mean_jct_s", "before"] == pytest.approx(jct) and rows.loc["jobs_refused", "after"] == 1
    back = workbench.what_if(after("without rack=r2"), "slurm", "nodes x=+1", seeds=[0])
    assert all("cannot run" not in text for text in back.conclusions), "the new node is of p alone"


def test_of_jobs_that_a_change_adds_or_drops_none_can_run_no_longer() -> None:
    """Of the two of q that are refused one is new; averages are then also of jobs that one side alone has."""
    changes = [f"density {percent} and without rack=r2" for percent in (200, 50)]
    found = workbench.what_if(site(), "slurm", changes, seeds=[0])
    for percent, jobs, runs in ((200, 8, found.runs[1]), (50, 1, found.runs[2])):
        said = [text for text in found.conclusions if text.startswith(f"With {percent} %")][:2]
        assert "gone: 1 job can no longer run; averages below are without the jobs that one side alone" in said[0]
        assert "gone: 1 job can start no more: no nodes of partition q" in said[1]
        ran = runs[0].jobs[runs[0].jobs["verdict"] != "refused"]
        rows = found.differences[found.differences["change"].str.startswith(f"density {percent}")].set_index("measure")
        assert len(ran) == jobs and rows.loc["mean_jct_s", "after"] == (ran["finish_s"] - ran["arrival_s"]).mean()


def test_a_verdict_is_of_the_scheduler_the_knobs_and_the_site_it_was_made_on(tmp_path: Path) -> None:
    """Beside answers of anything else stands that there is none, on the page, in tables, and where a run is shown."""
    known, change = verdict_kept(), "without rack=r1"
    cases: list[tuple[Scenario, str, dict[str, Any], str]] = [
        (known, "las", {}, "none of las: the verdict in the scenario is of slurm."),
        (known, "slurm", {"limits": False}, "none with limits=False: the verdict in the scenario is of slurm without."),
        (known.replace(entities=[]), "slurm", {}, "none of this site and these jobs: they were changed since."),
        (verdict_kept("mine"), "slurm", {}, "none of slurm: the verdict in the scenario is of mine."),
        (
            known.replace(calibrated=None),
            "slurm",
            {"limits": False},
            "none: of what the verdict in the scenario is, nobody knows: calibrate again.",
        ),
    ]
    for scenario, scheduler, knobs, told in cases:
        found = workbench.what_if(scenario, scheduler, change, knobs, seeds=[0])
        assert found.conclusions[0] == f"Calibration: {told}" == notes_under(found.runs[0][0])[0]
        assert "(not calibrated)" in wait_tables(found) and OF_CALIBRATION not in found.conclusions
        shown = (what_if_report(found), found.runs[0][0]._repr_html_(), run_report(found.runs[0][0]))
        assert all(f"Calibration: {told}" in page and "mean wait is 20 s" not in page for page in shown)
    found = workbench.what_if(known, "slurm", [change, "scheduler las"], {"phase_s": 4.0}, seeds=[0])
    assert known.notes[0] in found.conclusions and OF_CALIBRATION in found.conclusions
    assert "gone (calibrated)" in wait_tables(found), "what the change itself changes is all right"
    assert "las (calibrated today, las is not)" in wait_tables(found)
    known.save(tmp_path / "s.json")
    assert Scenario.load(tmp_path / "s.json") == known
    sides = workbench.compare(known, ["slurm", "las"])
    assert sides.notes == (*known.notes, f"Calibration: {cases[0][-1]}")
    assert all(note in sides._repr_html_() for note in sides.notes)


def test_an_outage_is_added_to_todays_and_lengthens_waits() -> None:
    scenario = site(core={"faults": {"list": [{"node": "b-0", "from_s": 500.0, "to_s": 600.0}]}})
    found = workbench.what_if(scenario, "slurm", "outage a-* from 2024-03-01 08:00 to 2024-03-01 08:05")
    assert [each.node for each in found.runs[1][0].scenario.core.faults.list] == ["b-0", "a-0", "a-1"]
    total = found.waits.set_index("by").loc["all"]
    assert total["after_total_s"] > total["before_total_s"] and found.warnings == ()
    assert any(
        "The last job ends at 2024-03-01 08:06, today at 2024-03-01 08:03." in said for said in found.conclusions
    )


def test_an_outage_that_outlasts_the_log_and_waits_that_capacity_does_not_explain_are_told() -> None:
    """q0 can stand on b-0 alone, which is away for an hour, when the others are done; waits are then put the other way
    round: of fewer nodes less, of more nodes more."""
    asked = ["outage b-0 from 2024-03-01 08:00 to 2024-03-01 09:00", "without a-0", "nodes x=+1 in p"]
    found = workbench.what_if(two_types(4), "slurm", asked, seeds=[0])
    (said,) = (text for text in found.conclusions if "the outage ends" in text)
    assert " after today's last job, and 1 job can end only then: means and makespan below" in said
    assert not any("asked for no type" in text for text in found.conclusions), "q has no other"
    (said,) = (
        text
        for text in workbench.what_if(two_types(0), "slurm", asked[0], seeds=[0]).conclusions
        if "asked for no type" in text
    )
    assert "1 of these asked for no type of GPU: Slurm may start them on x and y of partition p." in said
    assert found.warnings == () and "Job by job, with b-0 down from 2024-03-01 08:00 to …" in str(
        pictures.by_job(found, asked[0]).named()
    )
    for change, factor in zip(asked[1:], (0.5, 2.0), strict=True):
        found.waits.loc[found.waits["change"] == change, "after_total_s"] = factor * found.waits["before_total_s"]
    fewer, more = surprising(found)
    assert fewer.startswith("with a-0 gone: all jobs together wait ") and "capacity is only taken away" in fewer
    assert more.startswith("with 1 more x node in p: longer waits in partition p (") and more.endswith(
        "though capacity is only added. 3 jobs there asked for no type of GPU. Here a job runs only on types where it "
        "ran in the log; `workbench convert --ratios` adds others."
    )
    mean = (found.differences["change"] == asked[1]) & (found.differences["measure"] == "mean_wait_s")
    found.differences.loc[mean, "difference"] = -found.differences["before"]
    found.waits.loc[found.waits["change"] == asked[2], "after_total_s"] = 1.05 * found.waits["before_total_s"]
    (fewer,) = surprising(found)
    assert "Less capacity seldom helps" in fewer and "all jobs together" not in fewer, "said once"
    alone = site(jobs=site().to_dict()["jobs"][4:])
    for change in (asked[0], "nodes x=+1", "nodes x=-1"):
        found = workbench.what_if(alone, "fifo", change, until_s=2.0 if "nodes" in change else None)
        assert found.warnings == () and "unknown" not in " ".join(found.conclusions), "nobody else waits"


def test_of_a_log_answers_show_more_demand_too_and_new_nodes_have_names_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`a-[1-2]-2` would be a list of names to Slurm, and to the next change."""
    data = site(recorded={"end_s": 3600.0, "ends_known": True, "gpu_s": 1.0}).to_dict()
    data["cluster"]["nodes"][0] |= {"name": "a-[1-2]", "hosts": ["a-1", "a-2"]}
    known = Scenario.from_dict(data)
    names = [node.name for node in after("nodes x=+1 and nodes x=+2 and without x-more-2", known).cluster.each_node]
    assert names == ["a-1", "a-2", "x-more-1", "x-more-3", "b-0"]
    other = [node.name for node in after("nodes x=+1 and nodes x=+2x8", known).cluster.each_node]
    assert other == ["a-1", "a-2", "x-more-1", "b-0", "x-more+-0", "x-more+-1"]
    many = [known.jobs[0].model_copy(update={"name": f"j{number}"}) for number in range(15_001)]
    long = known.replace(jobs=many, recorded=known.recorded)
    assert usual_demand(long, "slurm") == ()  # three times a long log's runs
    assert ask(known, "slurm", "without a-1").demand == (110, 125) and ask(known, "las", "without a-1").demand == ()
    workbench.simulate(known, "slurm").save(tmp_path / "run")
    asked = ["report", str(tmp_path / "run"), "--change", "without a-1", "--seeds", "0", "-o", str(tmp_path / "a.html")]
    assert main(asked) == 0
    told = capsys.readouterr()
    assert "6 runs, two in three of them with 110 and 125 % of the jobs (--demand none leaves these out)" in told.err
    assert "At 125 % of the demand, mean wait is" in told.out
    assert main([*asked, "--force", "--demand", "none"]) == 0
    told = capsys.readouterr()
    assert "6 runs" not in told.err and "of the demand" not in told.out


def test_what_ran_on_nodes_that_go_waits() -> None:
    held = site(running=[{"job": "p0", "gpus": {"a-1": 4}}])
    assert after("without a-1", held).running == () and len(after("without a-0", held).running) == 1
    assert after("nodes x=-1", held).running == held.running
    assert [node.name for node in after("without a-0", held).cluster.each_node] == ["a-1", "b-0"]


def test_limits_and_settings_are_set_and_taken_away() -> None:
    found = workbench.what_if(site(), "slurm", ["set qos normal MaxTRESPU=gres/gpu=4", "set config bf_interval=60"])
    waits = found.waits[found.waits["by"] == "user"].set_index(["change", "name"])["after_total_s"]
    assert waits["set qos normal MaxTRESPU=gres/gpu=4", "ada"] == pytest.approx(600, abs=40), "one after the other"
    limited = after("set qos normal MaxTRESPU=gres/gpu=4")
    assert after("set qos normal MaxTRESPU=none", limited) == site()
    two = site(entities=[{"name": "config site", "attributes": CONFIG | {"SchedulerParameters 2": "bf_interval=9"}}])
    slow = after("set config bf_interval=60", two).entities[0].attributes
    assert [slow[name] for name in slow if "Parameters" in name] == [" bf_resolution=10,bf_interval=60"]
    never = workbench.simulate(after("set qos normal MaxTRESPU=gres/gpu=2"), "slurm")
    assert set(never.jobs["verdict"]) == {"refused"} and "asks for 4" in never.events["reason"].iloc[-1]


def test_a_job_whose_reservation_is_over_is_refused() -> None:
    scenario = site()
    late = scenario.jobs[3].model_copy(update={"attributes": {**scenario.jobs[3].attributes, "reservation": "course"}})
    kept = {"kind": "reservation", "name": "course", "Nodes": "a-0", "start_s": 0.0, "end_s": 60.0, "known_s": 0.0}
    entities = [*scenario.to_dict()["entities"], {"name": "course", "attributes": kept}]
    data = {**scenario.to_dict(), "entities": entities}
    data["jobs"][3] = {**data["jobs"][3], "attributes": dict(late.attributes)}
    run = workbench.simulate(Scenario.from_dict(data), "slurm")
    assert run.jobs.set_index("job")["verdict"].tolist() == ["", "", "", "refused", ""]


def test_several_changes_at_once_and_times_of_the_log_move_with_their_jobs() -> None:
    both = parse_change("density 140 and nodes x=+1")
    assert both == SeveralChanges((DensityTo(140), NodesBy("x", 1))) and parse_change(both.text) == both
    more = both.applied(Configuration(site(), "slurm")).scenario
    assert len(more.jobs) == 7 and more.cluster.gpus == 16
    faster = LoadTo(2.0).applied(Configuration(site(), "slurm")).scenario.jobs
    assert [job.attributes["eligible_s"] for job in faster] == [job.arrival_s for job in faster] == [0, 0.5, 1, 1.5, 2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("without c-9", "nodes of the cluster, as gpu"),
        ("without *", "one node left"),
        ("outage a-0 from 1 h", "rack=r3 from"),
        ("outage a-0 from 1 h to 1 min", "an end after it"),
        ("outage a-0 from 2020-01-01 to 1 h", "at or after"),
        ("outage a-0 from 2024-03-01T08:00+01:00 to 1 h", "without a zone"),
        ("set qos nobody MaxTRESPU=gres/gpu=4", "there|an entity of the scenario: qos normal"),
        ("set account bio GrpJobs=1", "expected an entity of the scenario: none, as no file tells of one"),
        ("set config SchedulerType=backfill", "expected one of sched/backfill, sched/builtin, or none"),
        ("set qos normal GrpWall=4", "one of Priority"),
        ("set rack r1 x=4", "one of config, partition"),
        ("set qos normal MaxTRESPU=gres/gpu=many", "got 'gres/gpu=many'; expected resources that the scheduler"),
        ("set qos normal MaxTRESPU=gres/gppu=4", "resources that the scheduler"),
        ("set qos normal MaxJobsPU=few", "expected a whole number from 0, or none"),
        ("set config bf_interval=0", "expected a whole number from 1 to 10800, or -1: it does not run, or none"),
        ("set config bf_window=50000", "expected a whole number from 1 to 43200, or none"),
        ("set config PriorityCalcPeriod=0", "minutes or .* above 0, or none"),
        ("set qos normal MaxWall=soon", "minutes or "),
        ("set config PriorityMaxAge=x", "minutes or "),
        ("set partition q MaxTime=soon", "minutes or "),
        ("without rack=r3", "rack may be r1 and r2"),
        ("without switch=s1", "no node says its switch"),
        ("density 120 and nowhere", "begins with one of"),
    ],
)
def test_what_cannot_be_is_told(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        after(text)


def test_what_would_change_nothing_or_leave_jobs_nowhere_is_told() -> None:
    """An outage after the log's end; the last nodes of a type on which a job ran."""
    ended = site(recorded={"end_s": 3600.0, "ends_known": True, "gpu_s": 1.0})
    with pytest.raises(InputError, match="a begin before the log's end, 2024-03-01 09:00: else nothing changes"):
        after("outage a-0 from 2 h to 3 h", ended)
    assert after("outage a-0 from 59 min to 3 h", ended).core.faults.list
    data = site().to_dict()
    data["cluster"]["accelerators"].append({"name": "y"})
    data["cluster"]["nodes"].append({"name": "c", "accelerator": "y", "gpus": 4})
    data["throughputs"].append({**data["throughputs"][0], "model": "recorded on y", "accelerator": "y"})
    data["jobs"][0]["model"] = "recorded on y"
    two = Scenario.from_dict(data)
    with pytest.raises(InputError, match=r"expected y nodes left, or an outage .*: 1 job ran on y alone"):
        after("without c-0", two)
    assert len(after("without b-0", two).cluster.each_node) == 3


def test_dates_and_limits_need_what_says_them() -> None:
    undated = Scenario.from_dict({**site().to_dict(), "begins": None})
    assert undated.key() == site().key() and date_of(undated, 5.0) == ""
    with pytest.raises(InputError, match="does not say when it begins"):
        after("outage a-0 from 2024-03-01 to 1 h", undated)
    with pytest.raises(InputError, match="a scheduler that reads MaxTRESPU, as slurm; las does not"):
        parse_change("set qos normal MaxTRESPU=gres/gpu=4").applied(Configuration(site(), "las"))
    for bad in ("yesterday", "2024-03-01T08:00:00Z", "0001-01-01"):
        with pytest.raises(ScenarioError, match="a date and time without a zone"):
            site(begins=bad)


def test_names_are_taken_as_sacctmgr_and_slurm_conf_spell_them() -> None:
    """In any capitals, long or short; a bare number is minutes."""
    spelt = {
        "set QOS Normal maxtresperuser=gres/gpu=4": "set qos normal MaxTRESPU=gres/gpu=4",
        "set config PriorityWeightFairshare=5": "set config PriorityWeightFairShare=5",
        "set partition Q MaxTime=2": "set partition q MaxTime=00:02:00",
    }
    parts = [{"name": f"partition {name}", "attributes": {"kind": "partition", "name": name}} for name in "pq"]
    names = {"config site": CONFIG, "qos normal": {"kind": "qos", "name": "normal"}}
    known = site(entities=[*parts, *({"name": name, "attributes": each} for name, each in names.items())])
    for theirs, ours in spelt.items():
        one, other = (read_site(after(text, known)) for text in (theirs, ours))
        assert (one.qos, one.partitions, one.settings) == (other.qos, other.partitions, other.settings)
    assert read_site(after("set config PriorityWeightFairshare=5", known)).settings["PriorityWeightFairShare"] == 5
    assert read_site(after("set partition Q MaxTime=2", known)).partitions["q"].longest_s == 120
