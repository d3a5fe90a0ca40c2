"""Helios's cluster_log.csv: small samples in the format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import ConversionSummary, convert, parse_cluster
from workbench.scenario.traces.deadlines import runtimes

HEADER = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue"
ROWS = """\
11,uXBbc,vcJkd,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-10 04:55:09,36848,0
12,uVMrF,vchbv,4,16,1,FAILED,2020-06-09 18:41:27,2020-06-09 18:41:27,2020-06-09 18:45:36,249,0
13,uzqls,vcpDC,1,1,1,CANCELLED,2020-06-09 18:41:28,2020-06-09 18:41:28,2020-06-17 14:15:21,675233,0
14,uVMrF,vchbv,0,16,1,COMPLETED,2020-06-09 18:42:00,2020-06-09 18:42:00,2020-06-09 18:43:00,60,0
15,uVMrF,vchbv,16,64,2,TIMEOUT,2020-06-09 19:41:01,2020-06-09 20:41:01,2020-06-09 21:41:01,3600,3600
16,uVMrF,vchbv,0,16,1,FAILED,2020-06-09 19:42:00,2020-06-09 19:42:00,2020-06-09 19:43:00,60,0
17,uVMrF,vchbv,2,8,1,SUSPENDED,2020-06-09 19:43:00,2020-06-09 19:43:00,2020-06-09 19:44:00,60,0
18,uVMrF,vchbv,2,8,1,CANCELLED,2020-06-09 19:44:00,2020-06-09 19:44:00,2020-06-09 19:44:00,0,0
19,uVMrF,vchbv,8,8,1,NODE_FAIL,2020-06-10 18:41:01,2020-06-10 18:41:01,2020-06-10 18:41:31,30,0
19,uVMrF,vchbv,8,8,1,COMPLETED,2020-06-10 18:41:02,2020-06-10 18:41:02,2020-06-10 18:41:32,30,0""".splitlines()
COLUMNS = HEADER.split(",")


def line(**cells: Any) -> str:
    assert cells.keys() <= set(COLUMNS)
    return ",".join(str(cell) for cell in {**dict(zip(COLUMNS, ROWS[0].split(","), strict=True)), **cells}.values())


def read(folder: Path, *lines: str, cluster: str = "v100=4x8", **options: Any) -> tuple[Scenario, ConversionSummary]:
    (folder / "log.csv").write_text("\n".join(lines) + "\n")
    options = {"throughputs": None, "cluster": parse_cluster(cluster), **options}
    return convert("helios", folder / "log.csv", **options)


def test_ten_rows_by_hand(tmp_path: Path) -> None:
    scenario, report = read(tmp_path, HEADER, *ROWS)
    assert [(job.name, job.user, job.gpus, job.arrival_s, job.rewards) for job in scenario.jobs] == [
        ("job-11", "uXBbc", 1, 0.0, None),
        ("job-12", "uVMrF", 4, 26.0, None),
        ("job-13", "uzqls", 1, 27.0, None),
        ("job-15", "uVMrF", 16, 3600.0, None),
        ("job-19", "uVMrF", 8, 86400.0, None),
    ]
    assert runtimes(scenario) == pytest.approx([36848, 249, 675233, 3600, 30], rel=1e-3)
    assert (report.rows_read, report.rows_kept) == (10, 5)
    assert [(dropped.reason, dropped.count, dropped.lines) for dropped in report.dropped] == [
        ("0 GPUs", 2, (5, 7)),
        ("not ended: SUSPENDED", 1, (8,)),
        ("run time 0: it never ran", 1, (9,)),
        ("job id of an earlier row", 1, (11,)),
    ]
    assert "time 0 of the file is its first submission, 2020-06-09 18:41:01" in report.notes
    assert [note for note in report.notes if "1 FAILED, 1 CANCELLED, 1 TIMEOUT, 1 NODE_FAIL" in note]
    assert Scenario.from_json(scenario.to_json()) == scenario
    scenario.require_runnable()


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (line(gpu_num=-1), "gpu_num not a whole number from 1 to 1000000"),
        (line(gpu_num=1.5), "gpu_num not a whole number from 1 to 1000000"),
        (line(gpu_num="1e300"), "gpu_num not a whole number from 1 to 1000000"),
        (line(gpu_num="nan"), "gpu_num is not a finite number"),
        (line(gpu_num=""), "gpu_num is not a finite number"),
        (line(gpu_num=33), "more GPUs than any type of the cluster has"),
        (line(state="RUNNING"), "state none of COMPLETED, CANCELLED, FAILED, TIMEOUT, NODE_FAIL, SUSPENDED"),
        (line(submit_time=""), "submit_time is not YYYY-MM-DD HH:MM:SS, 1990 to 2099"),
        (line(submit_time="2020-06-31 18:41:01"), "submit_time is not YYYY-MM-DD HH:MM:SS, 1990 to 2099"),
        (line(submit_time="2020-06-09T18:41:01"), "submit_time is not YYYY-MM-DD HH:MM:SS, 1990 to 2099"),
        (line(submit_time="1970-01-01 00:00:00"), "submit_time is not YYYY-MM-DD HH:MM:SS, 1990 to 2099"),
        (line(duration="inf"), "duration is not a finite number"),
        (line(duration="1e300"), "run time not above 0 or over 1e+10 s"),
        (line(job_id=""), "no job_id"),
        (line(user=""), "no user"),
        (line(user="u" * 191), "user over 190 letters, not printable, or with ' + ' or ' #1'"),
        (line() + ",extra", "13 columns instead of 12"),
        (line()[:40], "8 columns instead of 12"),
    ],
)
def test_a_bad_row_is_dropped_and_reported(tmp_path: Path, bad: str, reason: str) -> None:
    scenario, report = read(tmp_path, HEADER, line(job_id=1), bad, line(job_id=2))
    assert [job.name for job in scenario.jobs] == ["job-1", "job-2"]
    (dropped,) = report.dropped
    assert (dropped.reason, dropped.count, dropped.lines) == (reason, 1, (3,))


def test_a_header_without_a_column_that_is_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no single gpu_num, state"):
        read(tmp_path, HEADER.replace("gpu_num", "gpus").replace("state", "status"), *ROWS)
    with pytest.raises(InputError, match="2 dropped: 0 GPUs"):
        read(tmp_path, HEADER, line(gpu_num=0), line(gpu_num=0))


def test_cells_between_quotation_marks_may_hold_commas_and_line_breaks(tmp_path: Path) -> None:
    """As R and pandas write them: every cell quoted, and a name of two lines in a column that is not read."""
    quoted = [",".join(f'"{cell}"' for cell in row.split(",")) for row in (HEADER, line(job_id=1))]
    rows = [line(job_id=2, vc='"two\nlines, and a ""comma"""'), line(job_id=3), line(job_id=4, gpu_num="x")]
    scenario, report = read(tmp_path, *quoted, *rows)
    assert [(job.name, job.user) for job in scenario.jobs] == [(f"job-{i}", "uXBbc") for i in (1, 2, 3)]
    assert [(dropped.reason, dropped.lines) for dropped in report.dropped] == [("gpu_num is not a finite number", (6,))]


@pytest.mark.parametrize("stray", ['"open', '"shut"late', '"'])
def test_a_stray_quotation_mark_costs_its_own_row_only(tmp_path: Path, stray: str) -> None:
    rows = [line(job_id=1), line(job_id=2, vc=stray), line(job_id=3), line(job_id=4, vc='a"b'), line(job_id=5)]
    scenario, report = read(tmp_path, HEADER, *rows)
    assert [job.name for job in scenario.jobs] == ["job-1", "job-3", "job-4", "job-5"]
    assert [(dropped.reason, dropped.lines) for dropped in report.dropped] == [("a quotation mark out of place", (3,))]


def test_a_head_without_rows_is_told_as_such_whatever_the_types(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"log\.csv: got no rows; expected at least one job"):
        read(tmp_path, HEADER, cluster="v100=8x4, k80=4x8")
