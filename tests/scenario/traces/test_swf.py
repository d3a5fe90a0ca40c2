"""The Standard Workload Format: small samples, and its processors as GPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import ConversionSummary, convert, parse_cluster
from workbench.scenario.traces.deadlines import runtimes

HEADER = ("; Version: 2.2", "; MaxNodes: 10 (of two kinds)", "; MaxProcs: 160", ";", "; Note: made by hand")
ROWS = """\
1    100  10   3600  16  -1 -1  16  7200 -1 1  3 1 -1 1 -1 -1 -1
2    160   0    120   1  -1 -1   1   600 -1 0  4 1 -1 1 -1  1 30
3    170   5     50  -1  -1 -1  17   600 -1 5  4 1 -1 1 -1 -1 -1
4    170  -1     -1  -1  -1 -1  17   600 -1 5  4 1 -1 1 -1 -1 -1
5    180   0    100  32  -1 -1  32   600 -1 1 -1 1 -1 1 -1 -1 -1
5    180   0     40  32  -1 -1  32   600 -1 2 -1 1 -1 1 -1 -1 -1
5    220   0     60  32  -1 -1  32   600 -1 3 -1 1 -1 1 -1 -1 -1
6    300   0     60  -1  -1 -1  -1   600 -1 1  4 1 -1 1 -1 -1 -1
7    290   0   10.5   8  -1 -1   8   600 -1 -1 4 1 -1 0 -1 -1 -1
7    310   0     60   8  -1 -1   8   600 -1 1  4 1 -1 1 -1 -1 -1""".splitlines()


def line(**fields: Any) -> str:
    """A row with some fields exchanged, `f1` to `f18` as in the format's definition."""
    cells = ROWS[0].split()
    for name, value in fields.items():
        cells[int(name[1:]) - 1] = str(value)
    return " ".join(cells)


def read(folder: Path, *lines: str, cluster: str = "v100=4x8", **options: Any) -> tuple[Scenario, ConversionSummary]:
    (folder / "log.swf").write_text("\n".join(lines) + "\n")
    options = {"throughputs": None, "cluster": parse_cluster(cluster), **options}
    return convert("swf", folder / "log.swf", **options)


def test_ten_rows_by_hand(tmp_path: Path) -> None:
    """16 processors a node of the log, 8 GPUs a node of the cluster: half as many GPUs, rounded up."""
    scenario, report = read(tmp_path, *HEADER, *ROWS)
    assert [(job.name, job.user, job.gpus, job.arrival_s) for job in scenario.jobs] == [
        ("job-1", "user-3", 8, 0.0),
        ("job-2", "user-4", 1, 60.0),
        ("job-3", "user-4", 9, 70.0),
        ("job-5", None, 16, 80.0),
        ("job-7", "user-4", 4, 190.0),
    ]
    assert [job.attributes.get("dependency") for job in scenario.jobs[:3]] == [None, "afterany:1", None]
    assert [job.attributes.get("qos") for job in scenario.jobs] == ["1", "1", "1", "1", "0"], "0: interactive"
    assert runtimes(scenario) == pytest.approx([3600, 120, 50, 100, 10.5], rel=2e-2)
    assert (report.rows_read, report.rows_kept) == (10, 5)
    assert [(dropped.reason, dropped.count, dropped.lines) for dropped in report.dropped] == [
        ("run time 0 or unknown: it never ran", 1, (9,)),
        ("a part of a job (status 2, 3 or 4), which has a line of its own", 2, (11, 12)),
        ("processors neither held nor asked for", 1, (13,)),
        ("job id of an earlier row", 1, (15,)),
    ]
    assert "a node of the log (16 processors) is a node of 8 GPUs, rounded up" in report.notes
    assert "arrivals count from the file's first one, which is at 100 s there" in report.notes
    assert [note for note in report.notes if "1 failed, 1 cancelled, 1 unknown" in note]
    scenario.require_runnable()
    assert scenario.begins is None
    dated, report = read(tmp_path, "; UnixStartTime: 1075950000", *HEADER, *ROWS)
    assert dated.begins == "2004-02-05T03:01:40" and dated.jobs == scenario.jobs, "its first job came 100 s later"
    assert "time 0 of the file is UnixStartTime, 2004-02-05 03:00:00" in report.notes


@pytest.mark.parametrize(
    ("header", "cluster", "gpus"),
    [
        (("; MaxNodes: 10", "; MaxProcs: 160"), "v100=4x4", 4),
        (("; MaxNodes: 10", "; MaxProcs: 160"), "v100=4x16", 16),
        (("; MaxNodes: 3", "; MaxProcs: 100"), "v100=4x8", 4),  # 16 x 8 x 3 / 100 = 3.84
        (("; MaxNodes: 160", "; MaxProcs: 160"), "v100=4x8", 16),
        (("; MaxProcs: 160",), "v100=4x8", 16),
        (("; MaxNodes: 0", "; MaxProcs: 160"), "v100=4x8", 16),
        ((), "v100=4x8", 16),
    ],
)
def test_a_node_of_the_log_is_a_node_of_the_cluster(
    tmp_path: Path, header: tuple[str, ...], cluster: str, gpus: int
) -> None:
    scenario, report = read(tmp_path, *header, line(), cluster=cluster)
    assert [job.gpus for job in scenario.jobs] == [gpus]
    assert [note for note in report.notes if "of the log" in note]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (line(f1="x"), "job, submission or run time is not a finite number"),
        (line(f2="nan"), "job, submission or run time is not a finite number"),
        (line(f4="inf"), "job, submission or run time is not a finite number"),
        (line(f5="many"), "processors, status or user is not a finite number"),
        (line(f2=-1), "submitted before 0 or after 1e+10 s"),
        (line(f2="1e300"), "submitted before 0 or after 1e+10 s"),
        (line(f4=0), "run time 0 or unknown: it never ran"),
        (line(f4=-7), "run time not above 0 or over 1e+10 s"),
        (line(f5="1e300"), "number of processors not a whole number from 1 to 1000000"),
        (line(f5=1.5), "number of processors not a whole number from 1 to 1000000"),
        (line(f5=1000), "more GPUs than any type of the cluster has"),
        (line(f11=6), "status none of -1 to 5"),
        (line(f11=0.5), "status none of -1 to 5"),
        (line()[:-3], "17 fields instead of 18"),
        ("only", "1 field instead of 18"),
    ],
)
def test_a_bad_row_is_dropped_and_reported(tmp_path: Path, bad: str, reason: str) -> None:
    scenario, report = read(tmp_path, *HEADER, line(f1=8), bad, line(f1=9))
    assert [job.name for job in scenario.jobs] == ["job-8", "job-9"]
    (dropped,) = report.dropped
    assert (dropped.reason, dropped.count, dropped.lines) == (reason, 1, (7,))


def test_a_file_of_another_form(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no line but header lines"):
        read(tmp_path, *HEADER)
    with pytest.raises(InputError, match=r"3 fields in line 6.*Standard Workload Format"):
        read(tmp_path, *HEADER, "1 2 3", "4 5 6")
