"""What holds for every format of a trace that says how long jobs ran: encodings, order, windows, samples, rubbish."""

from __future__ import annotations

import gzip
import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import ConversionSummary, convert, parse_cluster
from workbench.scenario.traces.deadlines import runtimes

BEGIN = datetime(2024, 2, 28, 22, 0, 0)


def helios(name: int, at_s: int, gpus: int, run_s: int) -> str:
    when = BEGIN + timedelta(seconds=at_s)
    return f"{name},u1,vc1,{gpus},8,1,COMPLETED,{when},{when},{when},{run_s},0"


def swf(name: int, at_s: int, gpus: int, run_s: int) -> str:
    return f"{name} {at_s} 0 {run_s} {gpus} -1 -1 {gpus} 600 -1 1 3 1 -1 1 -1 -1 -1"


def sacct(name: int, at_s: int, gpus: int, run_s: int) -> str:
    when = (BEGIN + timedelta(seconds=at_s)).isoformat()
    elapsed = f"{run_s // 86400}-{run_s // 3600 % 24:02}:{run_s // 60 % 60:02}:{run_s % 60:02}"
    return f"{name}|u1|{when}|{elapsed}|COMPLETED|gres/gpu={gpus}|"


def tiresias(name: int, at_s: int, gpus: int, run_s: int) -> str:
    return f"{name},{gpus},{at_s},100,resnet50,{run_s},5"


FORMS = {
    "helios": (helios, "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue"),
    "swf": (swf, "; Version: 2.2"),
    "sacct": (sacct, "JobID|User|Submit|Elapsed|State|AllocTRES|ReqTRES"),
    "tiresias": (tiresias, "job_id,num_gpu,submit_time,iterations,model_name,duration,interval"),
}
JOBS = [(i, 600 * i, (1, 2, 4, 8)[i % 4], 3600 + i) for i in range(20)]

formats = pytest.mark.parametrize("form", FORMS)


def text_of(form: str, jobs: list[tuple[int, int, int, int]]) -> str:
    row, header = FORMS[form]
    return "\n".join([header, *(row(*job) for job in jobs)]) + "\n"


def read(folder: Path, form: str, content: str | bytes, **options: Any) -> tuple[Scenario, ConversionSummary]:
    data = content.encode() if isinstance(content, str) else content
    (folder / "trace").write_bytes(data)
    return convert(form, folder / "trace", **{"throughputs": None, "cluster": parse_cluster("v100=4x8"), **options})


@formats
def test_the_same_jobs_in_any_format(tmp_path: Path, form: str) -> None:
    """Names, GPUs, arrivals and run times of twenty jobs, across a leap day."""
    scenario, report = read(tmp_path, form, text_of(form, JOBS))
    assert [(job.name, job.arrival_s, job.gpus) for job in scenario.jobs] == [
        (f"job-{name}", float(at_s), gpus) for name, at_s, gpus, _ in JOBS
    ]
    assert runtimes(scenario) == pytest.approx([run_s for *_, run_s in JOBS], rel=1e-3)
    assert (report.rows_read, report.rows_kept, report.dropped) == (20, 20, ())
    scenario.require_runnable()


@formats
def test_byte_order_mark_and_line_ends_of_windows(tmp_path: Path, form: str) -> None:
    text = text_of(form, JOBS)
    plain, _ = read(tmp_path, form, text)
    other, report = read(tmp_path, form, b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode() + b"\r\n\r\n")
    assert (plain, report.dropped) == (other, ())
    packed = gzip.compress(text.encode())
    assert read(tmp_path, form, packed)[0] == plain
    with pytest.raises(InputError, match=r"trace: .*ended before"):
        read(tmp_path, form, packed[:-9])
    with pytest.raises(InputError, match=r"trace: .*(CRC|invalid|Error)"):
        read(tmp_path, form, packed[:-8] + bytes(8))


@pytest.mark.parametrize("form", [form for form in FORMS if form != "sacct"])
def test_a_file_in_latin_1_is_refused_with_a_hint(tmp_path: Path, form: str) -> None:
    with pytest.raises(InputError, match=r"trace: .*0xe9.*UTF-8 text"):
        read(tmp_path, form, text_of(form, JOBS).encode() + "1,René\n".encode("latin-1"))


@formats
@pytest.mark.parametrize("content", ["", "\n \n", "\ufeff"])
def test_an_empty_file_is_refused(tmp_path: Path, form: str, content: str) -> None:
    with pytest.raises(InputError, match="an empty file"):
        read(tmp_path, form, content)


@formats
def test_a_truncated_last_line_is_dropped(tmp_path: Path, form: str) -> None:
    text = text_of(form, JOBS)
    scenario, report = read(tmp_path, form, text[: text.rindex("\n", 0, -1) + 8])
    assert len(scenario.jobs) == 19
    assert [(dropped.count, dropped.lines) for dropped in report.dropped] == [(1, (21,))]


@formats
def test_unsorted_and_doubled_rows(tmp_path: Path, form: str) -> None:
    mixed = [JOBS[3], JOBS[1], JOBS[2], JOBS[1], JOBS[0]]
    scenario, report = read(tmp_path, form, text_of(form, mixed))
    assert [(job.name, job.arrival_s) for job in scenario.jobs] == [(f"job-{i}", 600.0 * i) for i in range(4)]
    assert [(dropped.reason, dropped.lines) for dropped in report.dropped] == [("job id of an earlier row", (5,))]
    assert "not in order of arrival: 3 jobs before the one above; sorted here" in report.notes


@formats
def test_window_and_sample(tmp_path: Path, form: str) -> None:
    text = text_of(form, JOBS)
    whole, _ = read(tmp_path, form, text, seed=1)
    window, report = read(tmp_path, form, text, seed=1, from_s=3000.0, to_s=6000.0)
    assert [(job.name, job.arrival_s) for job in window.jobs] == [(f"job-{i}", 600.0 * (i - 5)) for i in range(5, 10)]
    assert [(dropped.reason, dropped.count) for dropped in report.dropped] == [("arrives outside the window", 15)]
    one, two, other = (read(tmp_path, form, text, sample=6, seed=seed)[0] for seed in (1, 1, 2))
    assert one == two
    assert len(one.jobs) == len(other.jobs) == 6
    assert {job.name for job in one.jobs} != {job.name for job in other.jobs}
    every, report = read(tmp_path, form, text, seed=1, sample=21)
    assert (every.jobs, report.dropped) == (whole.jobs, ())
    assert "a sample of 21 jobs was asked for, there are 20: all are kept" in report.notes
    models = {job.name: job.model for job in whole.jobs}
    assert {job.name: job.model for job in (*window.jobs, *one.jobs)}.items() <= models.items()


@formats
def test_deadlines_and_density(tmp_path: Path, form: str) -> None:
    scenario, report = read(tmp_path, form, text_of(form, JOBS), workload="slo", density_percent=50)
    assert len(scenario.jobs) == 10 and all(len(job.rewards or ()) == 1 for job in scenario.jobs)
    assert report.notes[-2:] == (
        "density 50 %: 10 jobs of 20",
        "workload slo: 10 strict, 0 soft and 0 best-effort jobs, drawn anew",
    )


@formats
def test_options_that_make_no_sense(tmp_path: Path, form: str) -> None:
    text = text_of(form, JOBS)
    with pytest.raises(InputError, match=r"throughputs: .*no file of speeds"):
        read(tmp_path, form, text, throughputs="speeds.json")
    with pytest.raises(InputError, match="NAME=NODESxGPUS"):
        read(tmp_path, form, text, cluster=None)
    with pytest.raises(InputError, match="cluster"):
        read(tmp_path, form, text, cluster={"nodes": [{"gpus": "x"}]})
    if form == "tiresias":  # its models have built-in speeds, on types that are known
        with pytest.raises(InputError, match=r"cluster: got 'abacus'; expected a type on which .* run"):
            read(tmp_path, form, text, cluster=parse_cluster("abacus=1x8"))
    with pytest.raises(InputError, match="missing"):
        convert(form, tmp_path / "missing", throughputs=None, cluster=parse_cluster("v100=1x8"))


@formats
def test_rubbish_is_one_clear_error_or_a_counted_drop(tmp_path: Path, form: str) -> None:
    rng = random.Random(0)
    good = text_of(form, JOBS[:4]).encode()
    refused = dropped = 0
    for _ in range(150):
        data = bytearray(good)
        for _ in range(rng.randint(1, 8)):
            data[rng.randrange(len(data))] = rng.choice((rng.randrange(256), rng.randrange(32, 127)))
        try:
            scenario, report = read(tmp_path, form, bytes(data))
        except InputError as error:
            refused += 1
            assert error.expected
        else:
            dropped += bool(report.dropped)
            assert report.rows_kept == len(scenario.jobs) == report.rows_read - sum(d.count for d in report.dropped)
    assert refused > 0
    assert dropped > 0


NUMBER = {"helios": (10, ","), "swf": (3, " "), "sacct": (3, "|"), "tiresias": (5, ",")}
"""The column of the run time of each format, and what stands between columns."""


@formats
@pytest.mark.parametrize("value", ["nan", "inf", "-60", "1e400", "9" * 5000, "\0", ""])
def test_a_run_time_that_is_none_costs_its_row_only(tmp_path: Path, form: str, value: str) -> None:
    column, separator = NUMBER[form]
    cells = FORMS[form][0](*JOBS[5]).split(separator)
    cells[column] = value
    scenario, report = read(tmp_path, form, text_of(form, JOBS[:5]) + separator.join(cells) + "\n")
    assert len(scenario.jobs) == 5
    assert [(dropped.count, dropped.lines) for dropped in report.dropped] == [(1, (7,))]


@formats
@pytest.mark.parametrize("line", ["x" * 10_000_000, '"' + "x" * 10_000_000], ids=["long", "long and quoted"])
def test_a_line_of_megabytes_costs_its_row_only(tmp_path: Path, form: str, line: str) -> None:
    scenario, report = read(tmp_path, form, text_of(form, JOBS[:5]) + line + "\n" + FORMS[form][0](*JOBS[5]) + "\n")
    assert len(scenario.jobs) == 6
    assert [(dropped.count, dropped.lines) for dropped in report.dropped] == [(1, (7,))]


@formats
def test_a_file_of_bytes_and_one_without_rows_are_refused(tmp_path: Path, form: str) -> None:
    with pytest.raises(InputError, match=r"UTF-8 text|no single JobID"):
        read(tmp_path, form, random.Random(0).randbytes(5000))
    with pytest.raises(InputError, match=r"no rows|no line but header lines"):
        read(tmp_path, form, FORMS[form][1] + "\n")


def test_a_trace_of_chronus_is_not_read_in_seconds(tmp_path: Path) -> None:
    header = FORMS["tiresias"][1] + ",expect_time_list"
    with pytest.raises(InputError, match="one of Chronus's"):
        read(tmp_path, "tiresias", f"{header}\n{tiresias(*JOBS[0])},60\n")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("7,0,0,1,vgg16,60,1", "0 GPUs"),
        ("7,1,0,1,gpt,60,1", "no built-in speeds of its model_name"),
        ("7,1,x,1,vgg16,60,1", "submit_time or duration is not a finite number"),
        ("7,1,0,1,vgg16,nan,1", "submit_time or duration is not a finite number"),
        ("7,1,-1,1,vgg16,60,1", "submitted before 0 or after 1e+10 s"),
        ("7,1,0,1,vgg16,-60,1", "run time not above 0 or over 1e+10 s"),
        (",1,0,1,vgg16,60,1", "no job_id"),
    ],
)
def test_a_bad_row_of_tiresias_is_dropped(tmp_path: Path, row: str, reason: str) -> None:
    scenario, report = read(tmp_path, "tiresias", text_of("tiresias", JOBS[:1]) + row + "\n")
    assert [(job.name, job.model) for job in scenario.jobs] == [("job-0", "ResNet")]
    assert [(dropped.reason, dropped.lines) for dropped in report.dropped] == [(reason, (3,))]


def test_a_trace_that_needs_no_file_of_speeds_is_read_without_one(tmp_path: Path) -> None:
    source = tmp_path / "a.swf"
    source.write_text("1 0 0 60 1 -1 -1 1 -1 -1 1 1 1 1 1 1 -1 -1\n")
    scenario, report = convert("swf", source, cluster=parse_cluster("v100=1x1"))
    assert [job.gpus for job in scenario.jobs] == [1] and report.rows_kept == 1
