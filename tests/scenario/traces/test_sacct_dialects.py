"""Parts of GPUs are types of their own, and every dialect of sacct is read."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.scenario.traces.slurm_dumps import HEADER as ALL
from tests.scenario.traces.slurm_dumps import NODES, Ran, dump, row, when
from workbench.base.errors import InputError
from workbench.baselines.mechanisms.slurm.site import read_site
from workbench.scenario.traces import convert, parse_cluster
from workbench.scenario.traces.dropped_rows import ConversionSummary
from workbench.scenario.traces.slurm_text import allotted

HEADER = "JobID|Submit|Elapsed|State|AllocTRES|ReqTRES"
PARTS = {
    "gres/gpu:1g.10gb=1,gres/gpu=1": ("1g.10gb", 1),
    "gres/gpu:a100_3g.20gb=1": ("a100_3g.20gb", 1),
    "gres/gpu=2,gres/gpu:nvidia_h100_80gb_hbm3_1g.10gb=2": ("nvidia_h100_80gb_hbm3_1g.10gb", 2),
    "gres/gpu:1g.5gb+me=1": ("1g.5gb+me", 1),
    "gres/shard=2": ("shard", 2),
    "gres/gpu=1,gres/shard:a100=4": ("shard", 4),
}
WHOLE = ("gres/gpu:a100=1", "gres/gpu:a100=2,gres/gpu=2,gres/shard=0", "gres/gpu=1,gres/gpumem=20G")


def read(
    folder: Path, tres: list[str], header: str = HEADER, submit: str = "2024-03-01T08:00:00", cluster: Any = None
) -> ConversionSummary:
    rows = [f"{i}|{submit}|01:00:00|COMPLETED|cpu=4,{each},mem=8G|" for i, each in enumerate(tres)]
    (folder / "log").write_text("\n".join([*([header] if header else []), *rows]))
    return convert("sacct", folder / "log", cluster=cluster or parse_cluster("a100=2x8"))[1]


def test_parts_of_gpus_are_types_of_their_own(tmp_path: Path) -> None:
    """On a cluster without such a type they are dropped, counted and told."""
    report = read(tmp_path, [*WHOLE, *PARTS])
    assert report.rows_kept == len(WHOLE)
    assert [(each.reason, each.count) for each in report.dropped] == [
        *((f"ran on {kind}, which the cluster lacks", 1) for kind, _ in list(PARTS.values())[:4]),
        ("ran on shard, which the cluster lacks", 2),
    ]
    parts = ({"name": kind, "accelerator": kind, "gpus": 8} for kind, _ in list(PARTS.values())[:5])
    nodes = [{"name": "a", "accelerator": "a100", "gpus": 8}, *parts]
    cluster = {"accelerators": [{"name": node["accelerator"]} for node in nodes], "nodes": nodes}
    assert read(tmp_path, [*WHOLE, *PARTS], cluster=cluster).rows_kept == len(WHOLE) + len(PARTS)


@pytest.mark.parametrize(
    "given",
    [
        {"header": HEADER.replace("AllocTRES|ReqTRES", "AllocGRES|ReqGRES"), "tres": "gpu:a100:1"},
        {"header": HEADER.replace("Elapsed", "ElapsedRaw"), "elapsed": "3600"},
        {"submit": "1709280000"},
        {"submit": "2024-03-01T08:00:00+0100"},
        {"submit": "2024-03-01T08:00:00Z"},
    ],
)
def test_other_ways_to_call_sacct_are_read(tmp_path: Path, given: dict[str, str]) -> None:
    said = {"header": HEADER, "tres": "gres/gpu:a100=1", "elapsed": "01:00:00", "submit": "2024-03-01T08:00:00"} | given
    row = f"7|{said['submit']}|{said['elapsed']}|COMPLETED|{said['tres']}|"
    (tmp_path / "log").write_text(f"{said['header']}\n{row}\n")
    scenario, _ = convert("sacct", tmp_path / "log", cluster=parse_cluster("a100=2x8"))
    assert [(job.model, job.steps) for job in scenario.jobs] == [("recorded on a100", 3600.0)]
    (tmp_path / "log").write_text(f"{row}\n")
    with pytest.raises(InputError, match="--columns"):
        convert("sacct", tmp_path / "log", cluster=parse_cluster("a100=2x8"))
    columns = said["header"].split("|")
    for text in (f"{row}\n{row[:20]}\n".encode(), f"{row}\n{row[:20]}\n".encode("utf-16")):
        (tmp_path / "log").write_bytes(text)
        found, report = convert("sacct", tmp_path / "log", cluster=parse_cluster("a100=2x8"), columns=columns)
        assert found.jobs == scenario.jobs and [each.lines for each in report.dropped] == [(2,)]


def test_what_is_damaged_is_read_as_far_as_it_goes_and_told(tmp_path: Path) -> None:
    """JSON cut within its third job (damaged in its middle it is refused: the rest would be lost), UTF-16 with half a
    pair of units, and CPUs of AllocTRES without a number."""
    cluster = parse_cluster("a100=2x8")

    def job(number: int) -> dict[str, Any]:
        times = {"submission": 1709280000, "elapsed": 3600}
        tres = {"allocated": [{"type": "gres", "name": "gpu:a100", "count": 1}]}
        return {"job_id": number, "time": times, "state": {"current": ["COMPLETED"]}, "tres": tres}

    path, whole = tmp_path / "log", json.dumps({"meta": {}, "jobs": [job(1), job(2), job(3)], "errors": []}, indent=1)
    notes = []
    third, end = whole.index('"job_id": 3'), whole.rindex("]")
    for text in (whole, *(whole[:cut] for cut in range(third, third + 200)), whole[:end], whole[: end + 1]):
        path.write_text(text)
        scenario, report = convert("sacct", path, cluster=cluster)
        count = 3 if len(text) >= end - 10 else 2
        assert [each.name for each in scenario.jobs] == ["job-1", "job-2", "job-3"][:count]
        notes.append([note for note in report.notes if f"of its list the first {count} jobs are read" in note])
    assert [len(found) for found in notes] == [0, *(1 for _ in notes[1:])]
    for text in (
        whole[: whole.index('"job_id": 1')],
        whole.replace('"job_id": 2', '"job_id" 2'),
        whole.replace('"job_id": 2', '"job_id": NaN'),
        whole.replace('"job_id": 2', '"job_id: 2'),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match="log"):
            convert("sacct", path, cluster=cluster)

    row = "|2024-03-01T08:00:00|01:00:00|COMPLETED|gres/gpu:a100=1,cpu=4x|"
    path.write_bytes(f"{HEADER}\n7{row}\n8{row}X\n".encode("utf-16").replace(b"X\0", b"\0\xdc"))
    scenario, report = convert("sacct", path, cluster=cluster)
    assert len(scenario.jobs) == 2 and "1 line with letters that are damaged" in report.notes
    assert "cells that cannot be read, as if they were empty: AllocTRES (2)" in report.notes

    whole = f"{HEADER}\n7{row}\ufffd\n8{row}"  # a letter that stands for a damaged one is one itself
    for data, told in (
        (whole.encode("utf-16"), []),
        (whole.encode() + b"\xe9", ["1 line not in UTF-8, read as Latin-1"]),
    ):
        path.write_bytes(data)
        report = convert("sacct", path, cluster=cluster)[1]
        assert [note for note in report.notes if "UTF-8" in note or "letters" in note] == told


def test_what_is_told_of_rows_is_told_of_those_that_are_kept(tmp_path: Path) -> None:
    """Not of another job with an earlier one's id, of one beyond a window, of one that never ran; but of one that
    waits in slurm's queue what it lacks there."""
    good = Ran("1", 100, 100, 60)
    odd = Ran("2+0", 200, 150, 60, eligible_s=150, submit_line="sbatch -p big,small -d singleton x")
    again = [row(odd._replace(name="1", user="bob")), row(odd._replace(name="9", submit_s=9000, start_s=8000))]
    never = row(odd._replace(name="3", state="CANCELLED", run_s=0)).replace("04:00:00", "soon")
    text = "\n".join([dump(good).rstrip("\n"), *again, never]) + "\n"
    (tmp_path / "log").write_text(text)
    (tmp_path / "nodes").write_text(NODES)
    _, report = convert("sacct", tmp_path / "log", nodes=[tmp_path / "nodes"], to_s=5000)
    assert report.rows_kept == 1 and len(report.dropped) == 3
    words = (
        "clock jumped",
        "before they were eligible",
        "several partitions",
        "waited for others",
        "cannot be read",
        "heterogeneous",
    )
    assert [note for note in report.notes for word in words if word in note] == []
    waits = row(Ran("4", 120, 4000, 0, state="PENDING")).replace("04:00:00", "soon")
    (tmp_path / "log").write_text(f"{text}{waits}\n")
    _, report = convert("sacct", tmp_path / "log", nodes=[tmp_path / "nodes"], to_s=5000)
    [told] = [note for note in report.notes for word in words if word in note]
    assert told == "cells that cannot be read, as if they were empty: Timelimit (1)"
    (tmp_path / "log").write_text(f"{dump(good)}{row(odd)}\n")
    _, report = convert("sacct", tmp_path / "log", nodes=[tmp_path / "nodes"])
    assert len([note for note in report.notes for word in words if word in note]) == 6


def test_a_clock_that_was_set_back_is_told_and_one_requeued_job_is_none(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text(NODES)

    def told(*jobs: Ran) -> list[str]:
        (tmp_path / "log").write_text(dump(*jobs))
        notes = convert("sacct", tmp_path / "log", nodes=[tmp_path / "nodes"])[1].notes
        return [note for note in notes if "ids rise" in note]

    jobs = [Ran(str(100 + n), 60 * n, 60 * n, 30) for n in range(40)]
    late = jobs[20]._replace(submit_s=9000, start_s=9000)
    assert told(*jobs) == [] == told(*jobs[:20], late, *jobs[21:])
    hourly = [each._replace(submit_s=60 * each.submit_s, start_s=60 * each.start_s) for each in jobs]
    array = [each._replace(submit_s=20 * 3600 + n, start_s=20 * 3600 + n) for n, each in enumerate(jobs[20:30])]
    assert told(*hourly[:20], *array, *hourly[30:]) == [], "a burst between long gaps: Submit never falls"
    back = [each._replace(submit_s=each.submit_s - 3600, start_s=each.start_s - 3600) for each in jobs[30:]]
    when = "from about job 130 on (2024-03-04 07:30) ids rise and Submit is 1 h earlier"
    assert told(*jobs[:30], *back) == [f"{when}: a clock set back, or two logs?"]


def test_what_no_cluster_can_have_been_is_told_and_changes_none(tmp_path: Path) -> None:
    """2 GPUs on 99 nodes, by NNodes on one; a start before the submission, which a clock that was set back makes, by
    End too; a node that no file has; a log that is there twice, once from before jobs ended."""
    ghost = row(Ran("2", 20, 30, 600, "gres/gpu:a100=2,gres/gpu=2", "ghost[01-99]"))
    early = row(Ran("3", 40, -460, 60)).replace(when(-400), when(100))
    waits = row(Ran("4", 50, 0, 0, state="PENDING")).replace(f"{when(0)}|{when(0)}", "Unknown|Unknown")
    later = row(Ran("5", 45, -460, 60)).replace(when(-400), when(200))
    text = dump(Ran("1", 0, 5, 600)) + "\n".join([ghost, early, waits, later]) + "\n"
    (tmp_path / "nodes").write_text(NODES)
    soon = row(Ran("2", 20, 30, 10, state="RUNNING")), waits.replace("4|", "3|", 1).replace(when(50), when(40))
    (tmp_path / "log").write_text("\n".join([ALL, *soon, *text.splitlines()[1:], text]))
    scenario, report = convert("sacct", tmp_path / "log", nodes=[tmp_path / "nodes"])
    jobs = {job.name: job for job in scenario.jobs}
    assert {"job-1", "job-2", "job-3", "job-5"} == {*jobs} and {
        node.accelerator for node in scenario.cluster.each_node
    } == {*("a100", "v100", "a100_1g.5gb")}
    assert scenario.cluster.gpus == 2 * 8 + 4 + 1 + 7 and jobs["job-2"].model == "recorded on a100"
    assert jobs["job-2"].attributes["nodes"] == 1 and "hosts" not in jobs["job-2"].attributes
    assert [jobs["job-3"].attributes[name] for name in ("eligible_s", "start_s", "end_s")] == [40, 40, 100]
    assert jobs["job-2"].steps == 600 and [e.name for e in scenario.entities if "beside" in e.name] == ["beside job-4"]
    told = (
        "1 job on more nodes by NodeList than NNodes or its GPUs: NNodes counts, where it ran is unknown",
        "1 job started before they were eligible (a clock jumped): waited 0 s",
        "2 jobs started before submission (a clock jumped): at End less the run time",
        "1 job never started in the log: slurm has them in its queue as long as that had, and starts none",
    )
    assert not {*told} - {*report.notes}
    (tmp_path / "log").write_text(text.replace("ghost[01-99]", "new[1-2]").replace("|1|new", "|2|new"))
    more, report = convert("sacct", tmp_path / "log", nodes=[tmp_path / "nodes"])
    assert more.cluster.gpus == scenario.cluster.gpus + 2
    told = "\n".join(report.notes)
    assert "2 nodes of the log that no file has (new1 and new2) beside its 5: 2 GPUs more" in told
    assert "no file says how many" not in told
    both = dump(Ran("1", 3600, 0, 7200), Ran("2", 5400, 7200, 60), Ran("3", 10800, 7260, 60), Ran("3", 10800, 7320, 90))
    wide = row(Ran("4", 7400, 7500, 60, host="a[1-8]"))
    again = dump(Ran("5", 20000, 20000, 60, state="REQUEUED"), Ran("5", 20000, 0, 0, state="PENDING"))
    again = again.replace(f"{when(0)}|{when(0)}", "Unknown|Unknown")
    (tmp_path / "log").write_text(f"{both}{wide}\n{both}{again}")
    more, report = convert("sacct", tmp_path / "log")
    assert [(job.name, job.attributes["start_s"], job.steps) for job in more.jobs] == [
        *(("job-1", -3600, 7200), ("job-2", 3600, 60)),
        *(("job-3 (attempt 1)", 3660, 60), ("job-3", 3720, 90), ("job-4", 3900, 60), ("job-5", 16400, 60)),
    ]
    assert more.cluster.gpus == 8, "where runs stay when they were, and each counts once"
    assert "beside job-5" in {entity.name for entity in more.entities}, "it waits again"


def test_what_slurm_does_not_take_of_its_site_is_told_and_left_out(tmp_path: Path) -> None:
    """Numbers, times and resources of settings, limits and shares, rows of events, and a file that was cut; of a list
    of resources what can be read is kept (gres with a suffix, weights that are not whole), of parameters the leading
    digits, and -1 is for ever."""
    files = {
        "config": "Configuration data as of 2024-03-04T08:00:00\nPriorityWeightAge = banana\nPriorityMaxAge = -1\n"
        "PriorityDecayHalfLife = 7-0\nSchedulerParameters = bf_interval=0,bf_window=x,bf_resolution=30,defer,"
        "sched_interval=²,bf_max_job_test=1000001,bf_min_age_reserve=1.5\nFairShareDampeningFactor = 0\n"
        "PriorityWeightTRES = CPU=1000,Mem=x,GRES/gpu=1500.5\nPriorityFavorSmall = 1\n"
        "PriorityCalcPeriod = UNLIMITED\nPriorityType = priority/banana\nAccountingStorageEnforce = limits,qoz\n",
        "limits": "Name|GraceTime|MaxTRESPU|GrpTRES|MaxJobsPU\nnormal|00:00:00|gres/gpu=-3|"
        "cpu=x,gres/gpu=8,gres/tmpdisk=2K,gres/gpu:a100=.5|3\n",
        "shares": "Account|User|RawShares|RawUsage\nbio||parent|-5\nbio|ada|1|banana\n",
        "events": "NodeName|TimeStart|TimeEnd\na1|nonsense|Unknown\na1|2024-03-04T09:00:00|2024-03-04T08:30:00\n"
        "ghost-9|2024-03-04T09:00:00|2024-03-04T10:00:00\n",
    }
    for name, text in {"log": dump(Ran("1", 0, 0, 60)), "nodes": NODES, **files}.items():
        (tmp_path / name).write_text(text)
    given: dict[str, Any] = {name: [tmp_path / name] for name in ("nodes", *files)}
    scenario, report = convert("sacct", tmp_path / "log", **given)
    assert [note for note in report.notes if "does not take" in note or "odd events" in note or "been cut" in note] == [
        "config may have been cut: scontrol ends it with whether slurmctld is up",
        "15 values that Slurm does not take, or that cannot be read, left out: GrpTRES=cpu=x (qos normal), GrpTRES="
        "gres/gpu:a100=.5 (qos normal), MaxTRESPU=gres/gpu=-3 (qos normal), RawUsage=-5 (account bio), RawUsage=banana "
        "(user ada), AccountingStorageEnforce=limits,qoz, FairShareDampeningFactor=0, PriorityCalcPeriod=UNLIMITED, "
        "PriorityType=priority/banana, PriorityWeightAge=banana, PriorityWeightTRES=Mem=x, bf_interval=0 and 3 more",
        "odd events: 1 without a time at which they begin, 1 that end before they begin and 1 of nodes that no file "
        "has (ghost-9)",
    ]
    (tmp_path / "config").write_text(files["config"] + "Slurmctld(primary) at head is UP\n")
    whole = convert("sacct", tmp_path / "log", **given | {"nodes": []})[1].notes
    assert not any("been cut" in note or "ghost" in note for note in whole), "of no nodes at all none is missing"
    site = read_site(scenario)
    names = (
        "PriorityMaxAge",
        "PriorityWeightAge",
        "bf_min_age_reserve",
        "bf_window",
        "bf_resolution",
        "PriorityCalcPeriod",
    )
    assert [site.settings[name] for name in names] == [math.inf, 0, 1, 1440, 30, 300] and site.favors_small
    assert site.tres_weight == {"cpu": 1000, "gres/gpu": 1500.5}
    assert site.qos["normal"].tres == {"GrpTRES": {"gres/gpu": 8, "gres/tmpdisk": 2048}} and site.qos[
        "normal"
    ].jobs == {"MaxJobsPU": 3}


def test_what_cannot_be_read_of_nodes_and_when_they_were_away_is_told_and_left_out(tmp_path: Path) -> None:
    """Of six events three are left (Slurm writes REBOOT and MAINT of nodes that are down, too), and of a node what can
    be read; a flag of a QOS that nobody knows is told as well."""
    files = {
        "nodes": NODES.replace("gpu:v100:4 CPUs=32 RealMemory=256000", "gpu:v100:x CPUs=32.5 RealMemory=lots")
        .replace("Weight=20", "Weight=²0")
        .replace("m1 Gres", "m1 State=drng Gres")
        .replace("c1 CPUs=64", "c1 CPUs=64 State=FROBNICATED")
        .replace("Nodes=c1", "Nodes=c[1")
        .replace("Nodes=v1,m1", "Nodes=v1,m1,z9 QoS=ghost MaxNodes=few"),
        "limits": "Name|GraceTime|GrpTRES|Flags\nnormal|00:00:00||DenyOnLimit,Relative\n",
        "config": "ReservationName=r StartTime=soon EndTime=2024-03-04T09:00:00 Nodes=a1\n"
        "ReservationName=s StartTime=2024-03-04T08:00:00 EndTime=2024-03-04T09:00:00 Nodes=a1,y7 Flags=MAINT,ODD\n",
        "events": "NodeName|TimeStart|TimeEnd|State\na1|2024-03-04T09:00:00|2024-03-04T09:30:00|FROBNICATED\n"
        "a1|2024-03-04T09:00:00|nonsense|DOWN\na1|2024-03-04T09:00:00|2024-03-04T09:30:00|IDLE\n"
        "a[1|2024-03-04T09:00:00|2024-03-04T09:30:00|DOWN\na2|2024-03-04T08:01:00|2024-03-04T08:02:00|IDLE+DRAIN\n"
        "a2|2024-03-04T08:03:00|2024-03-04T08:04:00|REBOOT^\na2|2024-03-04T08:05:00|2024-03-04T08:06:00|MAINT\n",
    }
    for name, text in {"log": dump(Ran("1", 0, 0, 600)), **files}.items():
        (tmp_path / name).write_text(text)
    scenario, report = convert("sacct", tmp_path / "log", **{name: [tmp_path / name] for name in files})
    odd = "does not take", "odd events", "not go by"
    assert [note for note in report.notes if any(word in note for word in odd)] == [
        "11 values that Slurm does not take, or that cannot be read, left out: weight=²0 (node a1 and node a2), gres="
        "gpu:v100:x (node v1), cpus=32.5 (node v1), realmemory=lots (node v1), state=FROBNICATED (node c1), MaxNodes="
        "few (partition small), nodes=c[1 (partition cpu), soon to 2024-03-04T09:00:00 (reservation r), NODENAME=a[1 "
        "(event), QoS=ghost (partition small) and nodes=y7 (reservation s)",
        "odd events: 1 in the state FROBNICATED, in which no node is away, 1 without a time at which they end and 1 in "
        "the state IDLE, in which no node is away",
        "the scheduler slurm does not go by: Flags=Relative (qos normal) and Flags=ODD (reservation s)",
    ]
    assert "2 nodes without GPUs, CPUs or memory in any file: v1 and z9" in report.notes
    assert [(each.node, each.from_s) for each in scenario.core.faults.list] == [("a2", 60), ("a2", 180), ("a2", 300)]
    assert "1 node down or drained, without a job in the log: left out" in report.notes
    kept = [entity.name for entity in scenario.entities if entity.attributes["kind"] == "reservation"]
    assert kept == ["reservation s"]
    assert allotted({"AllocGRES": "gpu:v100:x"}) == "the number of GPUs in AllocGRES cannot be read"


def test_what_slurm_conf_says_of_all_its_nodes_and_partitions(tmp_path: Path) -> None:
    """DEFAULT is no name, what follows has what it says, later lines of it too; ALL is every node of all files.
    A state UNKNOWN there is none, of `scontrol show nodes -o` it is one; who sleeps to save power is there."""
    (tmp_path / "slurm.conf").write_text(
        "NodeName=DEFAULT CPUs=32 RealMemory=512000 Gres=gpu:a100:8 State=UNKNOWN\nNodeName=a[1-2]\n"
        "NodeName=DEFAULT CPUs=64\nNodeName=b1 Gres=gpu:v100:4 State=UNKNOWN\n"
        "PartitionName=DEFAULT MaxTime=60 State=UP\n"
        "PartitionName=big Nodes=ALL\nPartitionName=small Nodes=b1 MaxTime=30\n"
    )
    c1 = "NodeName=c1 Gres=gpu:v100:2 CPUs=8 RealMemory=1000 State=IDLE+CLOUD+POWERED_DOWN\n"
    (tmp_path / "more").write_text(f"{c1}NodeName=d1 CPUAlloc=0 CPUTot=8 Gres=gpu:v100:2 State=UNKNOWN Weight=1\n")
    (tmp_path / "log").write_text(dump(Ran("1", 0, 0, 600)))
    scenario, report = convert("sacct", tmp_path / "log", nodes=[tmp_path / "slurm.conf", tmp_path / "more"])
    assert [
        (node.name, node.accelerator, node.gpus, node.attributes["cpus"], node.attributes["partitions"])
        for node in scenario.cluster.each_node
    ] == [
        *(("a1", "a100", 8, 32, "big"), ("a2", "a100", 8, 32, "big")),
        *(("b1", "v100", 4, 64, "small,big"), ("c1", "v100", 2, 8, "big")),
    ]
    partitions = read_site(scenario).partitions
    assert {name: each.longest_s for name, each in partitions.items()} == {"big": 3600, "small": 1800}
    assert not [note for note in report.notes if "without GPUs" in note]
    assert "1 node down or drained, without a job in the log: left out" in report.notes
