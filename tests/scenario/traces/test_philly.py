"""Philly's cluster_job_log: small samples in the format."""

from __future__ import annotations

import json
import random
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import ConversionSummary, convert, parse_cluster
from workbench.scenario.traces.deadlines import runtimes

DAY = "2017-10-09 "
DROP: Any = object()


def attempt(start: Any = "10:05:00", end: Any = "11:05:00", nodes: Any = ((1, 2),)) -> dict[str, Any]:
    """An attempt on one day, with so many GPUs on each node."""
    times = {
        key: DAY + at if isinstance(at, str) and ":" in at else at
        for key, at in (("start_time", start), ("end_time", end))
    }
    named = [{"ip": f"m{i}", "gpus": [f"gpu{j}" for j in range(count)]} for i, count in nodes]
    return {**times, "detail": named}


def job(name: Any = "application_1", **changes: Any) -> dict[str, Any]:
    made = {
        "status": "Pass",
        "vc": "ee9e8c",
        "jobid": name,
        "attempts": [attempt()],
        "submitted_time": DAY + "10:00:00",
        "user": "ce2f4c",
        **changes,
    }
    return {key: value for key, value in made.items() if value is not DROP}


def read(folder: Path, *jobs: Any, cluster: str = "v100=4x8", **options: Any) -> tuple[Scenario, ConversionSummary]:
    (folder / "log").write_text(json.dumps(jobs))
    options = {"throughputs": None, "cluster": parse_cluster(cluster), **options}
    return convert("philly", folder / "log", **options)


def test_gpus_of_the_first_attempt_and_the_time_to_the_last_end(tmp_path: Path) -> None:
    tries = [attempt("10:05:00", "10:15:00", [(1, 8), (2, 4)]), attempt("10:30:00", "12:05:30", [(1, 1)])]
    scenario, report = read(tmp_path, job("a", attempts=tries), job("b", submitted_time="2017-10-10 00:00:01"))
    one, two = scenario.jobs
    assert (one.name, one.user, one.gpus, one.arrival_s, one.rewards) == ("a", "ce2f4c", 12, 0.0, None)
    assert (two.name, two.gpus, two.arrival_s) == ("b", 2, 14 * 3600 + 1)
    assert runtimes(scenario) == pytest.approx([2 * 3600 + 30, 3600], rel=1e-3)
    assert (report.rows_read, report.rows_kept, report.dropped) == (2, 2, ())
    assert "time 0 of the file is its first submission, 2017-10-09 10:00:00" in report.notes
    assert Scenario.from_json(scenario.to_json()) == scenario
    scenario.require_runnable()


def test_killed_and_failed_jobs_are_kept_and_counted(tmp_path: Path) -> None:
    states = ("Killed", "Pass", "Failed", "Killed")
    scenario, report = read(tmp_path, *[job(str(i), status=state) for i, state in enumerate(states)])
    assert len(scenario.jobs) == 4
    assert [note for note in report.notes if "2 Killed, 1 Failed" in note]


@pytest.mark.parametrize("nothing", [None, "", "None"])
def test_a_missing_time_is_one_of_three_words(tmp_path: Path, nothing: Any) -> None:
    bad = (
        job("a", submitted_time=nothing),
        job("b", attempts=[attempt(start=nothing)]),
        job("c", attempts=[attempt(end=nothing)]),
        job("d", attempts=[attempt(), attempt(end=nothing)]),
    )
    scenario, report = read(tmp_path, *bad, job("e", attempts=[attempt(end=nothing), attempt(start=nothing)]))
    assert [kept.name for kept in scenario.jobs] == ["e"], "times in between are not read"
    assert [(d.reason, d.lines) for d in report.dropped] == [
        ("no submitted_time", (1,)),
        ("no start_time of its first attempt", (2,)),
        ("no end_time of its last attempt: still running", (3, 4)),
    ]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (job(attempts=[]), "no attempts: it never ran"),
        (job(attempts=None), "attempts are not a list of objects"),
        (job(attempts=[7]), "attempts are not a list of objects"),
        (job(attempts=[attempt(nodes=[])]), "0 GPUs"),
        (job(attempts=[attempt(nodes=[(1, 0), (2, 0)])]), "0 GPUs"),
        (job(attempts=[attempt() | {"detail": None}]), "detail of its first attempt is not a list of nodes"),
        (job(attempts=[attempt() | {"detail": [{"ip": "m1"}]}]), "a node without a list of GPUs"),
        (job(attempts=[attempt(nodes=[(i, 8) for i in range(5)])]), "more GPUs than any type of the cluster has"),
        (job(attempts=[attempt(end="10:05:00")]), "run time not above 0 or over 1e+10 s"),
        (job(attempts=[attempt(end="09:00:00")]), "run time not above 0 or over 1e+10 s"),
        (job(attempts=[attempt(end="25:00:00")]), "a time that is not YYYY-MM-DD HH:MM:SS, 1990 to 2099"),
        (job(attempts=[attempt(end=7)]), "a time that is not YYYY-MM-DD HH:MM:SS, 1990 to 2099"),
        (job(submitted_time="2017-10-09T10:00:00"), "a time that is not YYYY-MM-DD HH:MM:SS, 1990 to 2099"),
        (job(submitted_time="1970-01-01 00:00:00"), "a time that is not YYYY-MM-DD HH:MM:SS, 1990 to 2099"),
        (job(status="Running"), "status none of Pass, Killed, Failed"),
        (job(user=""), "no user"),
        (job(name=5), "no jobid"),
        (job(name="first"), "job id of an earlier row"),
        (job(user=DROP), "not an object with jobid, user, status, submitted_time, attempts"),
        ("text", "not an object with jobid, user, status, submitted_time, attempts"),
    ],
)
def test_a_bad_job_is_dropped_and_reported(tmp_path: Path, bad: Any, reason: str) -> None:
    scenario, report = read(tmp_path, job("first"), bad, job("last"))
    assert [kept.name for kept in scenario.jobs] == ["first", "last"]
    (dropped,) = report.dropped
    assert (dropped.reason, dropped.count, dropped.lines) == (reason, 1, (2,))
    with pytest.raises(InputError, match="at least one job"):
        read(tmp_path, job(user=""), job(status="?"))


def test_models_are_drawn_from_the_seed_whatever_is_kept(tmp_path: Path) -> None:
    moments = [(datetime(2017, 10, 9) + timedelta(minutes=i)).strftime("%Y-%m-%d %H:%M:%S") for i in range(400)]
    jobs = [job(str(i), submitted_time=at) for i, at in enumerate(moments)]
    full, again, other = (read(tmp_path, *jobs, seed=seed)[0] for seed in (1, 1, 2))
    assert full == again
    of = {kept.name: kept.model for kept in full.jobs}
    assert of != {kept.name: kept.model for kept in other.jobs}
    counts = Counter(of.values())
    assert set(counts) == {"InceptionNet", "ResNet", "GAN"}, "2 GPUs for an hour: class M"
    assert min(counts.values()) > 100, "of 400 jobs 133 for each of three models, give or take"
    for options in ({"sample": 50}, {"from_s": 3600.0, "to_s": 7200.0}):
        some, _ = read(tmp_path, *jobs, seed=1, **options)
        assert {kept.name: kept.model for kept in some.jobs}.items() <= of.items()
    window, report = read(tmp_path, *jobs, from_s=3600, to_s=7200)
    assert [kept.name for kept in window.jobs] == [str(i) for i in range(60, 120)]
    assert window.jobs[1].arrival_s == 60.0
    assert [(d.reason, d.count) for d in report.dropped] == [("arrives outside the window", 340)]


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", "null", '{"jobs": []}', "[" * 100_000])
def test_a_file_that_is_no_such_log(tmp_path: Path, text: str) -> None:
    (tmp_path / "log").write_text(text)
    with pytest.raises(InputError, match="cluster_job_log"):
        convert("philly", tmp_path / "log", throughputs=None, cluster=parse_cluster("v100=1x8"))


def test_rubbish_is_always_one_clear_error(tmp_path: Path) -> None:
    rng = random.Random(0)
    good = json.dumps([job("a"), job("b")]).encode()
    refused = 0
    for _ in range(200):
        data = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        (tmp_path / "log").write_bytes(bytes(data))
        try:
            convert("philly", tmp_path / "log", throughputs=None, cluster=parse_cluster("v100=1x8"))
        except InputError as error:
            refused += 1
            assert error.expected
    assert refused > 0


def test_the_authors_log(shared: Path) -> None:
    """The whole log, where it is at hand: every job is accounted for."""
    path = shared / "data" / "philly" / "cluster_job_log"
    if not path.is_file():
        pytest.skip("no Philly log beside the project")
    scenario, report = convert("philly", path, throughputs=None, cluster=parse_cluster("v100=120x8"))
    assert report.rows_read == len(json.loads(path.read_text()))
    assert report.rows_kept == len(scenario.jobs) > 0
    scenario.require_runnable()
