"""Chronus's trace files: small samples in the format, and the authors' own where it is at hand."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import ConversionSummary, convert, parse_cluster
from workbench.scenario.traces.chronus import MODELS
from workbench.scenario.traces.deadlines import count_kinds, runtimes
from workbench.scenario.traces.timed import models
from workbench.session.registry import find_scheduler

HEADER = (
    "job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,"
    "expect_time_list,expect_value_list,best_effort,job_type"
)
SAMPLE = "7,vc_a,4,5601,5530,resnet101,96,5,159-189-229-289,10-8-5-2,0,soft"
CELLS = dict(zip(HEADER.split(","), SAMPLE.split(","), strict=True))


def line(**cells: Any) -> str:
    assert cells.keys() <= CELLS.keys()
    return ",".join(str(cell) for cell in {**CELLS, **cells}.values())


def strict(**cells: Any) -> str:
    return line(**{"expect_time_list": "119", "expect_value_list": "10", "job_type": "strict", **cells})


def best(**cells: Any) -> str:
    return line(**{"expect_time_list": "60", "expect_value_list": "10", "job_type": "best", "best_effort": 1, **cells})


def read(folder: Path, *lines: str, cluster: str = "v100=4x8", **options: Any) -> tuple[Scenario, ConversionSummary]:
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    options = {"throughputs": None, "cluster": parse_cluster(cluster), **options}
    return convert("chronus", folder / "t.csv", **options)


def test_jobs_keep_what_the_rows_say(tmp_path: Path) -> None:
    rows = (line(), strict(job_id=8, submit_time=5602, num_gpu=1), best(job_id=9, submit_time=5603, user="b"))
    scenario, report = read(tmp_path, HEADER, *rows)
    soft, one, effort = scenario.jobs
    assert (soft.name, soft.user, soft.gpus, soft.model, soft.arrival_s) == ("job-7", "vc_a", 4, "ResNet", 0.0)
    assert soft.rewards == ((159 * 60, 100.0), (189 * 60, 80.0), (229 * 60, 50.0), (289 * 60, 20.0))
    assert (one.arrival_s, one.rewards) == (60.0, ((119 * 60.0, 100.0),))
    assert (effort.arrival_s, effort.user, effort.rewards) == (120.0, "b", None)
    assert (report.rows_read, report.rows_kept, report.dropped) == (3, 3, ())
    assert "rewards are taken times 10: the paper's largest is 100, the file's 10" in report.notes
    assert Scenario.from_json(scenario.to_json()) == scenario
    scenario.require_runnable()


def test_a_job_lasts_as_long_as_in_the_trace(tmp_path: Path) -> None:
    """Also gangs of sizes without a speed of their own, and those over several nodes."""
    rows = [line(job_id=i, num_gpu=gpus) for i, gpus in enumerate((1, 2, 3, 8, 12, 20, 32))]
    scenario, report = read(tmp_path, HEADER, *rows)
    assert runtimes(scenario) == pytest.approx([96 * 60.0] * 7, rel=1e-4)
    assert "1 job with a number of GPUs that the built-in speeds lack: a power law fills it" in report.notes


def test_every_model_has_built_in_speeds(tmp_path: Path) -> None:
    assert set(MODELS.values()) <= set(models())
    names = [*MODELS, *models()]
    scenario, _ = read(tmp_path, HEADER, *[line(job_id=i, model_name=name) for i, name in enumerate(names)])
    assert [job.model for job in scenario.jobs] == [*MODELS.values(), *models()]


def test_an_unsorted_trace_is_sorted_and_said_to_be(tmp_path: Path) -> None:
    rows = [line(job_id=i, submit_time=at) for i, at in enumerate((30, 10, 20, 10, 40))]
    scenario, report = read(tmp_path, HEADER, *rows)
    assert [(job.name, job.arrival_s) for job in scenario.jobs] == [
        ("job-1", 0.0),
        ("job-3", 0.0),
        ("job-2", 600.0),
        ("job-0", 1200.0),
        ("job-4", 1800.0),
    ]
    assert "not in order of arrival: 2 jobs before the one above; sorted here" in report.notes
    assert not [note for note in read(tmp_path, HEADER, line())[1].notes if "order" in note]


def test_larger_rewards_are_taken_as_written(tmp_path: Path) -> None:
    scenario, report = read(tmp_path, HEADER, line(expect_value_list="100-80-50-20"), strict(job_id=8))
    assert [[reward for _, reward in job.rewards or ()] for job in scenario.jobs] == [[100, 80, 50, 20], [10]]
    assert not [note for note in report.notes if "times 10" in note]


def test_jobs_that_must_miss_are_kept_and_counted(tmp_path: Path) -> None:
    _, report = read(tmp_path, HEADER, strict(expect_time_list="95"), strict(job_id=8, expect_time_list="96"))
    assert "1 job with the last deadline before the run time is over, kept" in report.notes


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (line(num_gpu=0), "0 GPUs"),
        (line(num_gpu=-1), "num_gpu not a whole number from 1 to 1000000"),
        (line(num_gpu=1.5), "num_gpu not a whole number from 1 to 1000000"),
        (line(num_gpu="x"), "num_gpu is not a finite number"),
        (line(num_gpu=33), "more GPUs than any type of the cluster has"),
        (line(submit_time=-1), "submitted before 0 or after 1e+10 s"),
        (line(submit_time="1e300"), "submitted before 0 or after 1e+10 s"),
        (line(submit_time="nan"), "submit_time is not a finite number"),
        (line(duration=0), "run time not above 0 or over 1e+10 s"),
        (line(duration=-5), "run time not above 0 or over 1e+10 s"),
        (line(duration=""), "duration is not a finite number"),
        (line(model_name="gpt"), "no built-in speeds of its model_name"),
        (line(job_id=""), "no job_id"),
        (line(job_id="a + b"), "job_id over 190 letters, not printable, or with ' + ' or ' #1'"),
        (line(job_id="a #1.2"), "job_id over 190 letters, not printable, or with ' + ' or ' #1'"),
        (line(user=""), "no user"),
        (line(user="u" * 191), "user over 190 letters, not printable, or with ' + ' or ' #1'"),
        (line(job_id=1), "job id of an earlier row"),
        (line(best_effort=2), "job_type not strict, soft or best, or best_effort not 0 or 1"),
        (line(job_type="hard"), "job_type not strict, soft or best, or best_effort not 0 or 1"),
        (line(best_effort=1), "job_type and best_effort disagree"),
        (best(best_effort=0), "job_type and best_effort disagree"),
        (line(job_type="strict"), "a strict job with several deadlines"),
        (line(expect_time_list="1-2-3"), "deadlines and rewards are not equally many numbers of at least 0"),
        (line(expect_time_list="1-2-3-x"), "deadlines and rewards are not equally many numbers of at least 0"),
        (strict(expect_value_list="-10"), "deadlines and rewards are not equally many numbers of at least 0"),
        (strict(expect_time_list="0"), "a deadline not after the arrival"),
        (strict(expect_time_list="1e300"), "a deadline over 1e+10 s"),
        (line(expect_time_list="159-159-229-289"), "deadlines that do not rise"),
        (line(expect_value_list="10-8-9-2"), "rewards that increase with time"),
        (line() + ",extra", "13 columns instead of 12"),
        ("only", "1 column instead of 12"),
    ],
)
def test_a_bad_row_is_dropped_and_reported(tmp_path: Path, bad: str, reason: str) -> None:
    scenario, report = read(tmp_path, HEADER, line(job_id=1), "", bad, line(job_id=2))
    assert [job.name for job in scenario.jobs] == ["job-1", "job-2"]
    (dropped,) = report.dropped
    assert (dropped.reason, dropped.count, dropped.lines) == (reason, 1, (4,))
    assert (report.rows_read, report.rows_kept) == (3, 2)


def test_the_dummy_deadline_of_best_effort_is_not_read(tmp_path: Path) -> None:
    assert read(tmp_path, HEADER, best(expect_time_list="x", expect_value_list=""))[0].jobs[0].rewards is None


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ((), "empty file"),
        ((line(),), "no single job_id"),
        (("job_id,num_gpu,submit_time,iterations,model_name,duration,interval", "1,1,1,1,vgg16,1,1"), "user, expect"),
        ((HEADER + ",job_id", line()), "no single job_id"),
        ((HEADER,), "no rows"),
        ((HEADER, line(num_gpu=0), line(num_gpu=0)), "2 dropped: 0 GPUs"),
    ],
)
def test_a_file_that_is_no_such_trace(tmp_path: Path, lines: tuple[str, ...], says: str) -> None:
    with pytest.raises(InputError, match=says):
        read(tmp_path, *lines)


def test_options_that_make_no_sense(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"throughputs: .*no file of speeds"):
        read(tmp_path, HEADER, line(), throughputs="speeds.json")
    with pytest.raises(InputError, match=r"cluster: got 'k80'; expected a type on which .* run, one of: v100"):
        read(tmp_path, HEADER, line(), cluster="k80=1x8")
    _, report = read(tmp_path, HEADER, line(), cluster="v100=1x8,k80=1x8")
    assert "no job runs on k80: there are no built-in speeds of its models" in report.notes
    with pytest.raises(InputError, match="seed"):
        read(tmp_path, HEADER, line(), seed=-1)


def test_windows_line_ends_spaces_and_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf" + f"{HEADER}\r\n{line()}\r\n".replace(",", " , ").encode())
    scenario, report = convert("chronus", tmp_path / "t.csv", throughputs=None, cluster=parse_cluster("v100=1x8"))
    assert (len(scenario.jobs), report.dropped) == (1, ())


@pytest.fixture
def authors(shared: Path) -> Path:
    path = shared / "data" / "chronus" / "trace_job_Philly_MIX2.csv"
    if not path.is_file():
        pytest.skip("no Chronus trace beside the project")
    return path


def test_the_authors_trace(authors: Path) -> None:
    """Philly under MIX2, Table 1: 30,940 jobs, counted here from the file by a reader of another make."""
    path = authors
    scenario, report = convert("chronus", path, throughputs=None, cluster=parse_cluster("v100=120x8"))
    with path.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    wanted = [row for row in rows if row["num_gpu"] != "0"]
    assert (report.rows_read, report.rows_kept) == (30940, 30746) == (len(rows), len(wanted))
    (dropped,) = report.dropped
    assert (dropped.reason, dropped.count, dropped.lines) == ("0 GPUs", 194, (226, 308, 376, 413, 584))
    first = min(int(row["submit_time"]) for row in wanted)
    by_name = {job.name: job for job in scenario.jobs}
    for row in wanted:
        job = by_name[f"job-{row['job_id']}"]
        assert (job.gpus, job.user) == (int(row["num_gpu"]), row["user"])
        assert job.arrival_s == 60 * (int(row["submit_time"]) - first)
        times, values = (row[name].split("-") for name in ("expect_time_list", "expect_value_list"))
        steps = tuple((60.0 * int(t), 10.0 * int(v)) for t, v in zip(times, values, strict=True))
        assert job.rewards == (None if row["best_effort"] == "1" else steps)
    minutes = {f"job-{row['job_id']}": 60.0 * int(row["duration"]) for row in wanted}
    assert runtimes(scenario) == pytest.approx([minutes[job.name] for job in scenario.jobs], rel=2e-4)
    assert [job.arrival_s for job in scenario.jobs] == sorted(job.arrival_s for job in scenario.jobs)
    scenario.require_runnable()


@pytest.mark.parametrize(
    ("rows", "kept"), [(5000, 4968), pytest.param(30940, 30746, marks=pytest.mark.long)], ids=["its first rows", "all"]
)
@pytest.mark.parametrize(
    ("workload", "shares", "percent"),
    [("slo", (1, 0, 0), 80), ("mix1", (0.7, 0, 0.3), 120), ("mix2", (0.3, 0.6, 0.1), 160)],
)
def test_the_authors_trace_at_other_workloads_and_densities(
    authors: Path, tmp_path: Path, workload: str, shares: tuple[float, ...], percent: float, rows: int, kept: int
) -> None:
    """Table 1 and Fig. 9c to 9f: of the jobs with GPUs so many percent, drawn kinds within 1 % (of all of them)."""
    options = {"workload": workload, "density_percent": percent, "seed": 1}
    trace = tmp_path / authors.name
    trace.write_text("".join(authors.read_text().splitlines(keepends=True)[: rows + 1]))
    scenario, report = convert("chronus", trace, throughputs=None, cluster=parse_cluster("v100=120x8"), **options)
    count = len(scenario.jobs)
    assert (report.rows_kept, count) == (kept, round(kept * percent / 100))
    assert np.array(count_kinds(scenario)) / count == pytest.approx(shares, abs=1 / np.sqrt(kept))
    first = [job.rewards[0][0] if job.rewards else np.nan for job in scenario.jobs]
    factors = np.array(first) / runtimes(scenario)
    assert np.nanmin(factors) >= 1.2 * (1 - 1e-9)
    assert np.nanmax(factors) <= 2.0 * (1 + 1e-9)
    assert np.nanmean(factors) == pytest.approx(1.6, abs=0.01)


def test_the_plan_compares_what_the_paper_compares(tmp_path: Path) -> None:
    """Section 4.3: YARN-CS with a quota for jobs with deadlines, EDF, 3Sigma, GENIE, Tiresias and Themis."""
    entries = read(tmp_path, HEADER, SAMPLE)[0].schedulers
    names = ["chronus", "edf", "three_sigma", "genie", "tiresias", "themis", "yarn_cs"]
    assert [entry.scheduler for entry in entries] == names
    for entry in entries:
        find_scheduler(entry.scheduler).settle(entry.knobs)
    assert entries[-1].knobs == {"queues": "slo"}


# --- Converted traces of Chronus charge what the authors' simulator charges for a resume.

TRACE = """job_id,user,num_gpu,submit_time,model_name,duration,expect_time_list,expect_value_list,best_effort,job_type
7,u,4,5601,resnet101,96,159,10,0,strict
"""


def test_convert_from_chronus_sets_the_cost_of_a_restart(tmp_path: Path) -> None:
    """30 s x (1 + log2 GPUs): 30, 60, 90 and 150 s on 1, 2, 4 and 16 GPUs."""
    (tmp_path / "t.csv").write_text(TRACE, encoding="utf-8")
    scenario, report = convert("chronus", tmp_path / "t.csv", cluster=parse_cluster("v100=1x8"))
    assert [scenario.core.restart.seconds(gpus) for gpus in (1, 2, 4, 16)] == [30, 60, 90, 150]
    assert any("restart" in note for note in report.notes)
