"""Slurm's accounting as `sacct --parsable2` prints it: small samples in the format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import ConversionSummary, convert, parse_cluster
from workbench.scenario.traces.deadlines import runtimes
from workbench.scenario.traces.sacct import DATES
from workbench.scenario.traces.slurm_text import gres, host_list, hosts, megabytes, resources, seconds, timestamp

HEADER = "JobID|User|Submit|Start|End|Elapsed|State|AllocTRES|ReqTRES"
DAY = "2024-03-01T"
ROWS = f"""\
100|ada|{DAY}08:00:00|{DAY}08:00:05|{DAY}09:00:05|01:00:00|COMPLETED|cpu=8,gres/gpu:v100=2,gres/gpu=2,node=1|gres/gpu=2
100.batch||{DAY}08:00:05|{DAY}08:00:05|{DAY}09:00:05|01:00:00|COMPLETED|cpu=8,gres/gpu=2,node=1|
100.0||{DAY}08:00:06|{DAY}08:00:06|{DAY}09:00:05|00:59:59|COMPLETED|cpu=8,gres/gpu=2,node=1|
101_4|bob|{DAY}08:10:00|{DAY}08:10:00|2024-03-03T09:10:00|2-01:00:00|CANCELLED by 1000|cpu=8,gres/gpu=8|gres/gpu=8
102|bob|{DAY}08:20:00|{DAY}08:20:00|Unknown|00:40:00|RUNNING|cpu=8,gres/gpu=8|gres/gpu=8
103_[5-9%2]|bob|{DAY}08:20:00|Unknown|Unknown|00:00:00|PENDING||gres/gpu=8
104|bob|{DAY}08:30:00|None|{DAY}08:31:00|00:00:00|CANCELLED by 1000||gres/gpu=8
105|eve|{DAY}08:40:00|{DAY}08:40:00|{DAY}08:50:00|00:10:00|OUT_OF_MEMORY||cpu=1,gres/gpu:v100=3
106|eve|{DAY}08:41:00|{DAY}08:41:00|{DAY}08:51:00|00:10:00|COMPLETED|cpu=4,mem=8G,node=1|cpu=4
107+1|eve|{DAY}08:42:00|{DAY}08:42:00|{DAY}08:42:30|00:30|TIMEOUT|cpu=4,gres/gpu:a100=1,gres/gpu:v100=1|""".splitlines()


def line(**cells: Any) -> str:
    columns = HEADER.split("|")
    assert cells.keys() <= set(columns)
    return "|".join(str(cell) for cell in {**dict(zip(columns, ROWS[0].split("|"), strict=True)), **cells}.values())


def read(
    folder: Path, *lines: str, cluster: str | None = "v100=4x8,a100=1x1", **options: Any
) -> tuple[Scenario, ConversionSummary]:
    (folder / "sacct.txt").write_text("\n".join(lines) + "\n")
    options = {"throughputs": None, "cluster": cluster and parse_cluster(cluster), **options}
    return convert("sacct", folder / "sacct.txt", **options)


def test_ten_rows_by_hand(tmp_path: Path) -> None:
    scenario, report = read(tmp_path, HEADER, *ROWS)
    assert [(job.name, job.user, job.gpus, job.arrival_s) for job in scenario.jobs] == [
        ("job-100", "ada", 2, 0.0),
        ("job-101_4", "bob", 8, 600.0),
        ("job-102", "bob", 8, 1200.0),
        ("job-105", "eve", 3, 2400.0),
        ("job-107+1", "eve", 2, 2520.0),
    ]
    assert runtimes(scenario) == pytest.approx([3600, 176400, 2400, 600, 30])
    assert (report.rows_read, report.rows_kept) == (10, 5)
    assert [(dropped.reason, dropped.count, dropped.lines) for dropped in report.dropped] == [
        ("a job step, not a job", 2, (3, 4)),
        ("not ended: PENDING", 1, (7,)),
        ("run time 0: it never ran", 1, (8,)),
        ("0 GPUs", 1, (10,)),
    ]
    assert [note for note in report.notes if note.startswith("1 job still ran")]
    assert "time 0 of the file is its first submission, 2024-03-01 08:00:00" in report.notes
    assert [note for note in report.notes if "1 CANCELLED, 1 OUT_OF_MEMORY, 1 TIMEOUT" in note]
    scenario.require_runnable()


def test_states_are_counted_of_the_jobs_that_are_kept(tmp_path: Path) -> None:
    """Neither of a row with the name of another one, nor of one outside the window."""
    rows = [line(JobID=name, State="TIMEOUT", Submit=f"{DAY}{at}:00:00") for name, at in (("1", "08"), ("1", "08"))]
    _, report = read(
        tmp_path,
        HEADER,
        *rows,
        line(JobID="2", State="FAILED", Submit=f"{DAY}12:00:00", Start=f"{DAY}12:00:00"),
        to_s=3600.0,
    )
    assert report.rows_kept == 1
    assert [note.rpartition(": ")[2] for note in report.notes if "did not end well" in note] == ["1 TIMEOUT"]


def test_jobs_run_as_long_as_recorded_on_the_type_that_the_row_names_alone(tmp_path: Path) -> None:
    """Whether or not a type has built-in speeds; without a type on any."""
    types = ["gres/gpu:k80=1", "gres/gpu:Tesla_V100=2", "gres/gpu:h100=1", "gres/gpu=4", "gres/gpu:k80=1,gres/gpu:p=1"]
    rows = [line(JobID=i, AllocTRES=tres, ReqTRES="") for i, tres in enumerate(types)]
    scenario, report = read(tmp_path, HEADER, *rows, cluster="tesla_V100=1x8,K80=1x8")
    sizes = [job.gpus for job in scenario.jobs]
    assert sizes == [1, 2, 4] and {job.steps for job in scenario.jobs} == {3600.0}
    speeds = scenario.table.matrix([job.model for job in scenario.jobs], sizes)
    assert speeds.tolist() == [[0, 1], [1, 0], [1, 1]]
    assert [(dropped.reason, dropped.lines) for dropped in report.dropped] == [
        ("ran on h100, which the cluster lacks", (4,)),
        ("ran on p, which the cluster lacks", (6,)),
    ]
    told = "jobs run as long as recorded, on the type where they ran and on no other: K80 (1), tesla_V100 (1)"
    assert told in report.notes
    assert "1 job with no single type in the trace: may run on any, as long as recorded on each" in report.notes


def test_zones_and_preemption_are_told(tmp_path: Path) -> None:
    rows = line(JobID="1", Submit="2024-03-01T08:00:00+0100", State="PREEMPTED"), line(JobID="2", Submit="1709280000")
    notes = read(tmp_path, HEADER, *rows)[1].notes
    assert "times have a zone: dates and hours are UTC's here, also those of a question" in notes
    assert "1 run ended by preemption, which slurm here has not" in notes
    assert not [note for note in read(tmp_path, HEADER, line())[1].notes if "zone" in note]


def test_two_types_that_differ_in_case_alone_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'a100, A100'; expected types that differ in more than case"):
        read(tmp_path, HEADER, line(), cluster="a100=1x8,A100=1x8")


def test_what_slurm_prints_as_plain_values() -> None:
    assert hosts("a100-[01-03,07],cpu1,r[1-2]n[01-02]") == [
        *("a100-01", "a100-02", "a100-03", "a100-07", "cpu1"),
        *("r1n01", "r1n02", "r2n01", "r2n02"),
    ]
    assert hosts("n[1-999999999]") == hosts("n[b-c]") == hosts("") == []
    assert host_list(["a100-01", "a100-02", "a100-07", "cpu1", "x"]) == "a100-[01-02,07],cpu1,x"
    assert gres("gpu:a100:8(S:0-1),gpu:1g.10gb:7,shard:4,bandwidth:1") == {"a100": 8, "1g.10gb": 7, "shard": 4}
    assert (gres("gpu:2"), gres("(null)"), gres("gpu:v100:2(IDX:0-1)")) == ({"gpu": 2}, {}, {"v100": 2})
    assert resources("cpu=8,mem=125G,gres/gpu:V100=2,gres/gpu") == {
        "cpu": 8,
        "mem": 128000,
        "gres/gpu:v100": 2,
        "gres/gpu": None,
    }
    assert [megabytes(text) for text in ("32000M", "62.50Gn", "512K", "4000Mc", "x")] == [32000, 64000, 0.5, 4000, None]
    texts = ("00:00:07", "2-03:04:05", "100-00:00:00", "05:06", "1-12", "UNLIMITED", "-01:00:00", "INVALID", "")
    assert [seconds(text) for text in texts] == [7, 183845, 8640000, 306, 129600, float("inf"), None, None, None]
    zones = ("2024-03-01T08:00:00", "2024-03-01T09:00:00+0100", "2024-03-01T08:00:00Z", "1709280000")
    assert len({timestamp(text) for text in zones}) == 1
    assert [timestamp(text) for text in ("Unknown", "1970-01-01T00:00:00", "2024-02-30T00:00:00", "7")] == [None] * 4


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (line(Submit="Unknown"), f"Submit {DATES}"),
        (line(Submit="170928"), f"Submit {DATES}"),
        (line(AllocTRES="gres/gpu:a100_3g.20gb=1,gres/gpu=1"), "ran on a100_3g.20gb, which the cluster lacks"),
        (line(AllocTRES="gres/shard=2,gres/gpu=1"), "ran on shard, which the cluster lacks"),
        (line(Elapsed=""), "Elapsed is not [D-]HH:MM:SS"),
        (line(Elapsed="999999-23:59:59"), "run time not above 0 or over 1e+10 s"),
        (line(State="PENDING"), "not ended: PENDING"),
        (line(State="DONE"), "State is none that sacct knows"),
        (line(State=""), "State is none that sacct knows"),
        (line(AllocTRES="gres/gpu=9999999"), "number of GPUs not a whole number from 1 to 1000000"),
        (line(AllocTRES="gres/gpu=33"), "more GPUs than any type of the cluster has"),
        (line(AllocTRES="gres/gpumem=40G,gres/gpuutil=90", ReqTRES="cpu=1"), "0 GPUs"),
        *(
            (line(AllocTRES=f"cpu=1,{tres}"), "the number of GPUs in AllocTRES cannot be read")
            for tres in ("gres/gpu=nan", "gres/gpu=", "gres/gpu", "gres/gpu:v100", "gres/gpu=-1", "gres/gpu=2K")
        ),
        (line(AllocTRES="", ReqTRES="gres/gpu:a100:2"), "the number of GPUs in ReqTRES cannot be read"),
        (line(JobID=""), "no JobID"),
        (line(User="u" * 191), "User over 190 letters, not printable, or with ' + ' or ' #1'"),
        (line(JobID=1), "job id of an earlier row"),
        (line() + "|extra", "10 columns instead of 9"),
        (line()[:60], "5 columns instead of 9"),
    ],
)
def test_a_bad_row_is_dropped_and_reported(tmp_path: Path, bad: str, reason: str) -> None:
    scenario, report = read(tmp_path, HEADER, line(JobID=1), bad, line(JobID=2))
    assert [job.name for job in scenario.jobs] == ["job-1", "job-2"]
    (dropped,) = report.dropped
    assert (dropped.reason, dropped.count, dropped.lines) == (reason, 1, (3,))


def test_columns_in_any_order_and_start_and_end_instead_of_elapsed(tmp_path: Path) -> None:
    rows = [
        "State|ReqTRES|JobID|Submit|Start|End",
        f"COMPLETED|gres/gpu=1|1|{DAY}08:00:00|{DAY}08:10:00|{DAY}09:10:00",
        f"COMPLETED|gres/gpu=1|2|{DAY}08:00:00|{DAY}08:10:00|Unknown",
        f"COMPLETED|gres/gpu=1|3|{DAY}08:00:00|{DAY}08:10:00|{DAY}08:00:00",
    ]
    scenario, report = read(tmp_path, *rows)
    assert [(job.name, job.user) for job in scenario.jobs] == [("job-1", None)]
    assert runtimes(scenario) == pytest.approx([3600], rel=1e-3)
    assert [(dropped.reason, dropped.lines) for dropped in report.dropped] == [
        (f"Start or End {DATES}", (3,)),
        ("run time not above 0 or over 1e+10 s", (4,)),
    ]


def test_a_line_that_ends_in_a_bar_as_with_parsable(tmp_path: Path) -> None:
    scenario, report = read(tmp_path, HEADER + "|", line() + "|")
    assert (len(scenario.jobs), report.dropped) == (1, ())


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("JobID|Submit|Elapsed|State", "neither AllocTRES nor ReqTRES"),
        (
            "4711|2024-03-01T08:00:00|01:00:00|COMPLETED|gres/gpu=1",
            "no single JobID.*names of the columns .or --columns",
        ),
        ("JobID|Submit|State|ReqTRES|Start", "neither Elapsed nor Start and End"),
        ("JobID|Elapsed|State|ReqTRES", "no single Submit"),
        ("JobID|Submit|Elapsed|State|ReqTRES|ReqTRES", "no single ReqTRES"),
        ("JobID,Submit,Elapsed,State,ReqTRES", "no single JobID, Submit, State"),
    ],
)
def test_a_header_that_lacks_something(tmp_path: Path, header: str, says: str) -> None:
    with pytest.raises(InputError, match=f"(?=.*parsable2).*{says}"):
        read(tmp_path, header, *ROWS)
