"""Gavel's trace and throughput files: small samples in the format, and the authors' own where they are at hand."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from workbench.base.errors import InputError
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import FORMATS, ConversionSummary, convert, parse_cluster

A, B = "('alpha (batch size 8)', {})", "('beta', {})"
SPEEDS: dict[str, Any] = {
    "v100": {
        A.format(1): {"null": 4.0, A.format(1): [2.5, 2.5], B.format(1): [3.0, 1.0]},
        B.format(1): {"null": 2.0, A.format(1): [1.0, 3.0], B.format(1): [0.0, 0.0]},
        A.format(2): {"null": 7.0, B.format(2): [5.0, 2.0], B.format(1): [5.0, 2.0]},
        B.format(2): {"null": 3.0, A.format(2): [2.0, 5.5]},
    },
    "v100_unconsolidated": {
        A.format(1): {"null": 4.0, B.format(1): [3.0, 1.0]},
        A.format(2): {"null": 5.0, B.format(2): [4.0, 1.5]},
        B.format(2): {"null": 2.5},
    },
    "k80": {A.format(1): {"null": 1.0}, B.format(1): {"null": 0.0}, A.format(2): {"null": 1.8}},
    "tpu": {A.format(1): {"null": 9.0}},
}


def line(model: str = "beta", steps: Any = 100, gpus: Any = 1, weight: Any = 1, slo: Any = -1, arrival: Any = 0) -> str:
    cells = [model, "python3 main.py", "folder", "--steps", "1", steps, gpus, weight, slo, arrival]
    return "\t".join(str(cell) for cell in cells)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    throughputs = tmp_path / "speeds.json"
    throughputs.write_text(json.dumps(SPEEDS))
    return tmp_path / "jobs.trace", throughputs


def read(files: tuple[Path, Path], *lines: str, **options: Any) -> tuple[Scenario, ConversionSummary]:
    files[0].write_text("\n".join(lines) + "\n")
    cluster = parse_cluster(options.pop("cluster", "v100=2x2,k80=1x2"))
    return convert("gavel", files[0], throughputs=files[1], cluster=cluster, **options)


def test_the_format_is_found_by_scanning() -> None:
    assert list(FORMATS) == ["chronus", "gavel", "helios", "philly", "sacct", "shockwave", "swf", "tiresias"]
    with pytest.raises(InputError, match="gavel"):
        convert("csv", "x")


def test_jobs_keep_what_the_rows_say(files: tuple[Path, Path]) -> None:
    scenario, report = read(files, line(), line("alpha (batch size 8)", 500, 2, 5, "-1.000000", "12.5"))
    first, second = scenario.jobs
    assert (first.name, first.model, first.steps, first.gpus, first.arrival_s) == ("job-0", "beta", 100, 1, 0)
    assert (second.name, second.gpus, second.weight, second.arrival_s) == ("job-1", 2, 5.0, 12.5)
    assert first.rewards is None
    assert (report.rows_read, report.rows_kept, report.dropped) == (2, 2, ())
    scenario.require_runnable()
    assert Scenario.from_json(scenario.to_json()) == scenario


def test_unconsolidated_types_become_placements(files: tuple[Path, Path]) -> None:
    scenario, _ = read(files, line("alpha (batch size 8)"))
    rows = {(r.accelerator, r.gpus, r.placement): r.steps_per_s for r in scenario.throughputs}
    assert rows == {
        ("v100", 1, "consolidated"): 4.0,
        ("v100", 2, "consolidated"): 7.0,
        ("v100", 2, "unconsolidated"): 5.0,
        ("k80", 1, "consolidated"): 1.0,
        ("k80", 2, "consolidated"): 1.8,
    }


def test_zeros_are_kept_as_cannot_run(files: tuple[Path, Path]) -> None:
    scenario, _ = read(files, line("beta"))
    assert scenario.table.row("beta", "k80", 1) == 0.0
    assert {row.model for row in scenario.throughputs} == {"beta"}


def test_each_unordered_pair_once_and_only_where_both_run(files: tuple[Path, Path]) -> None:
    scenario, report = read(files, line("alpha (batch size 8)"), line("beta"))
    pairs = [(p.model, p.with_model, p.gpus, p.placement, p.steps_per_s) for p in scenario.colocated]
    one, two = "alpha (batch size 8)", "beta"
    assert pairs == [(one, one, 1, "consolidated", 2.5), (one, two, 1, "consolidated", 3.0)]
    assert scenario.table.pair_row(two, one, "v100", 1) == (1.0, 3.0)
    assert not any("mirrored" in note for note in report.notes if note.startswith("2"))


def test_pairs_that_disagree_with_their_mirror_are_counted(files: tuple[Path, Path]) -> None:
    scenario, report = read(files, line("alpha (batch size 8)", gpus=2), line("beta", gpus=2))
    assert [(p.steps_per_s, p.with_steps_per_s) for p in scenario.colocated] == [(5.0, 2.0), (4.0, 1.5)]
    # One pair says 5.0 and 5.5 for the same speed, the unconsolidated one has no mirrored entry.
    assert "2 co-located pairs differ from their mirrored entry or have none: the first one is kept" in report.notes


def test_an_slo_is_a_multiple_of_the_duration_on_a_v100(files: tuple[Path, Path]) -> None:
    scenario, report = read(files, line(steps=100, slo=1.2), line(slo=7200))
    assert scenario.jobs[0].rewards == ((pytest.approx(1.2 * 100 / 2.0), 1.0),)
    assert scenario.jobs[1].rewards == ((7200.0, 1.0),)
    assert len([note for note in report.notes if "SLO" in note]) == 2


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (line().replace("\t", " "), "1 column instead of 10"),
        (line() + "\textra", "11 columns instead of 10"),
        (line(steps="many"), "total steps is not a finite number"),
        (line(steps="nan"), "total steps is not a finite number"),
        (line(steps="1_000"), "total steps is not a finite number"),
        (line(steps="1e400"), "total steps is not a finite number"),
        (line(steps=0), "total steps not above 0"),
        (line(steps=-5), "total steps not above 0"),
        (line(gpus=0), "scale factor not a whole number from 1 to 1000000"),
        (line(gpus=1.5), "scale factor not a whole number from 1 to 1000000"),
        (line(gpus=10**9), "scale factor not a whole number from 1 to 1000000"),
        (line(gpus=""), "scale factor is not a finite number"),
        (line(weight=0), "priority weight not from 1e-06 to 1e+06"),
        (line(slo=0), "SLO neither -1 nor above 0"),
        (line(slo=-2), "SLO neither -1 nor above 0"),
        (line(arrival=-1), "arrival not from 0 to 1e+10 s"),
        (line(arrival=1e30), "arrival not from 0 to 1e+10 s"),
        (line(arrival="inf"), "arrival is not a finite number"),
        (line(model=" "), "no job type"),
        (line(model="gamma"), "no throughput for its job type and scale factor"),
        (line(gpus=8), "no throughput for its job type and scale factor"),
    ],
)
def test_a_bad_row_is_dropped_and_reported(files: tuple[Path, Path], bad: str, reason: str) -> None:
    scenario, report = read(files, line(), "", bad, line())
    assert [job.name for job in scenario.jobs] == ["job-0", "job-2"]
    (dropped,) = report.dropped
    assert (dropped.reason, dropped.count, dropped.lines) == (reason, 1, (3,))
    assert (report.rows_read, report.rows_kept) == (3, 2)
    with pytest.raises(InputError, match="at least one job"):
        read(files, *[bad] * 3, line(model="gamma"))


def test_a_job_that_the_cluster_cannot_run_is_dropped(files: tuple[Path, Path]) -> None:
    both = (line("alpha (batch size 8)"), line("beta"))
    _, report = read(files, *both, cluster="k80=1x1")
    assert [(d.reason, d.lines) for d in report.dropped] == [("the cluster cannot run it", (2,))]
    gang = (line("alpha (batch size 8)"), line("alpha (batch size 8)", gpus=2))
    assert read(files, *gang, cluster="k80=1x1")[1].dropped[0].reason == "the cluster cannot run it"
    assert read(files, *gang, cluster="v100=1x1,k80=1x1")[1].dropped == ()


def test_only_the_first_lines_are_listed(files: tuple[Path, Path]) -> None:
    _, report = read(files, *[line(steps=0)] * 9, *[line()] * 10)
    assert report.dropped[0].count == 9
    assert report.dropped[0].lines == (1, 2, 3, 4, 5)
    assert "9 dropped: total steps not above 0 (line 1, 2, 3, 4, 5, ...)" in str(report)
    assert json.loads(json.dumps(report.as_json()))["dropped"][0]["lines"] == [1, 2, 3, 4, 5]


def test_window_and_sample(files: tuple[Path, Path]) -> None:
    lines = [line(arrival=10 * i) for i in range(20)]
    scenario, report = read(files, *lines, from_s=50, to_s=100)
    assert [(job.name, job.arrival_s) for job in scenario.jobs] == [(f"job-{i}", 10 * i - 50) for i in range(5, 10)]
    assert report.dropped[0].count == 15
    one, two, other = (read(files, *lines, sample=6, seed=seed)[0] for seed in (1, 1, 2))
    assert len(one.jobs) == 6
    assert one == two
    assert [job.name for job in one.jobs] != [job.name for job in other.jobs]
    assert [job.arrival_s for job in one.jobs] == sorted(job.arrival_s for job in one.jobs)
    every, report = read(files, *lines, sample=99)
    assert len(every.jobs) == 20
    assert "a sample of 99 jobs was asked for, there are 20: all are kept" in report.notes


def test_arrivals_count_from_the_first_in_the_file(files: tuple[Path, Path]) -> None:
    """Seconds since 1970 are no time to begin a scenario at; a window's begin is, and a sample keeps its place."""
    lines = [line(arrival=f"{1_500_000_000 + 10 * i}") for i in range(20)]
    scenario, report = read(files, *lines)
    assert [job.arrival_s for job in scenario.jobs] == [10 * i for i in range(20)]
    assert [note for note in report.notes if "1500000000 s" in note]
    early, _ = read(files, *lines, to_s=1_500_000_050)
    assert [job.arrival_s for job in early.jobs] == [0, 10, 20, 30, 40]
    later, report = read(files, *lines, from_s=1_500_000_095)
    assert [job.arrival_s for job in later.jobs] == [10 * i + 5 for i in range(10)]
    assert not [note for note in report.notes if "count from" in note]
    some, _ = read(files, *lines, sample=3, seed=1)
    assert {job.name: job.arrival_s for job in some.jobs}.items() <= {f"job-{i}": 10.0 * i for i in range(20)}.items()
    assert not [note for note in read(files, line())[1].notes if "count from" in note]


def test_a_pair_without_a_speed_alone_is_left_out(files: tuple[Path, Path]) -> None:
    speeds = {"v100": {A.format(1): {"null": 4.0, B.format(1): [3.0, 1.0]}}, "k80": {B.format(1): {"null": 1.0}}}
    files[1].write_text(json.dumps(speeds))
    scenario, report = read(files, line("alpha (batch size 8)"), line())
    assert scenario.colocated == ()
    assert "1 co-located pairs are left out: one of the two has no throughput alone on that type" in report.notes


@pytest.mark.parametrize(
    ("options", "where"),
    [({"sample": 0}, "sample"), ({"from_s": -1}, "from_s"), ({"from_s": 5, "to_s": 5}, "to_s"), ({"seed": -1}, "seed")],
)
def test_a_window_or_sample_that_makes_no_sense(files: tuple[Path, Path], options: dict[str, Any], where: str) -> None:
    with pytest.raises(InputError) as caught:
        read(files, line(), **options)
    assert caught.value.where == where


@pytest.mark.parametrize(("columns", "says"), [(7, "older 7-column"), (9, "older 9-column"), (12, "Shockwave")])
def test_other_forms_are_refused_by_name(files: tuple[Path, Path], columns: int, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        read(files, "\t".join(["1"] * columns))
    assert "line 1" in caught.value.where


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_an_empty_trace(files: tuple[Path, Path], text: str) -> None:
    with pytest.raises(InputError, match="10 columns"):
        read(files, text)


def test_windows_line_ends_and_a_byte_order_mark(files: tuple[Path, Path]) -> None:
    files[0].write_bytes(b"\xef\xbb\xbf" + (line() + "\r\n" + line() + "\r\n").encode())
    scenario, _ = convert("gavel", files[0], throughputs=files[1], cluster=parse_cluster("v100=1x1"))
    assert [job.model for job in scenario.jobs] == ["beta", "beta"]


@pytest.mark.parametrize(
    ("text", "where", "expected"),
    [
        ("", "speeds.json", "throughputs"),
        ("{", "speeds.json", "throughputs"),
        ("[]", "speeds.json", "throughputs"),
        ("{}", "speeds.json", "throughputs"),
        ('{"v100": {}, "v100": {}}', "speeds.json", "throughputs"),
        ('{"v100": []}', "speeds.json: v100", "an object"),
        ('{"v100": {"beta": {"null": 1}}}', "speeds.json: v100", "a key such as"),
        ("""{"v100": {"(__import__('os'), 1)": {"null": 1}}}""", "speeds.json: v100", "a key such as"),
        ("""{"v100": {"('beta', 0)": {"null": 1}}}""", "speeds.json: v100", "a key such as"),
        ("""{"v100": {"('beta', 1)": {"null": -1}}}""", """v100."('beta', 1)".null""", "finite number"),
        ("""{"v100": {"('beta', 1)": {"null": NaN}}}""", "speeds.json", "throughputs"),
        ("""{"v100": {"('beta', 1)": {"null": 1e999}}}""", ".null", "finite number"),
        ("""{"v100": {"('beta', 1)": {"null": true}}}""", ".null", "finite number"),
        ("""{"v100": {"('beta', 1)": {"null": "1"}}}""", ".null", "finite number"),
        ("""{"v100": {"('beta', 1)": {"('beta', 1)": [1]}}}""", "('beta', 1)", "two speeds"),
        ("""{"v100": {"('beta', 1)": {"('beta', 1)": [1, "x"]}}}""", "[1]", "finite number"),
        ("[" * 100_000, "speeds.json", "throughputs"),
    ],
)
def test_malformed_throughputs(files: tuple[Path, Path], text: str, where: str, expected: str) -> None:
    files[1].write_text(text)
    with pytest.raises(InputError) as caught:
        read(files, line())
    assert where in caught.value.where
    assert expected in caught.value.expected


def test_missing_files_throughputs_and_cluster(files: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match="jobs"):
        convert("gavel", files[0], throughputs=files[1], cluster=parse_cluster("v100=1x1"))
    files[0].write_text(line())
    with pytest.raises(InputError, match="throughputs"):
        convert("gavel", files[0], throughputs=None, cluster=parse_cluster("v100=1x1"))
    with pytest.raises(InputError, match="cluster"):
        convert("gavel", files[0], throughputs=files[1], cluster=None)
    with pytest.raises(InputError, match="cluster"):
        convert("gavel", files[0], throughputs=files[1], cluster={"nodes": [{"gpus": "x"}]})
    files[0].write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="Gavel trace"):
        convert("gavel", files[0], throughputs=files[1], cluster=parse_cluster("v100=1x1"))


def test_a_type_that_the_throughputs_lack(files: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match=r"cluster, type: got 'a100'; expected types that the throughputs have: .*k80"):
        read(files, line(), cluster="v100=1x1,a100=8x1")


def test_rubbish_is_always_one_clear_error(files: tuple[Path, Path]) -> None:
    rng = random.Random(0)
    good = line().encode()
    for _ in range(300):
        data = bytearray(b"\n".join([good] * 3))
        for _ in range(rng.randint(1, 12)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        files[0].write_bytes(bytes(data))
        try:
            convert("gavel", files[0], throughputs=files[1], cluster=parse_cluster("v100=1x1"))
        except InputError as error:
            assert error.expected


def test_a_line_names_a_cluster() -> None:
    cluster = parse_cluster("v100=8x4, k80=2x8,v100=1x2,mine=1x1")
    nodes = [(n["name"], n["accelerator"], n["count"], n["gpus"]) for n in cluster["nodes"]]
    assert nodes == [("v100", "v100", 8, 4), ("k80", "k80", 2, 8), ("v100.2", "v100", 1, 2), ("mine", "mine", 1, 1)]
    assert [a["name"] for a in cluster["accelerators"]] == ["v100", "k80", "mine"]
    assert [a.get("price_per_hour") for a in cluster["accelerators"]] == [2.48, 0.45, None]
    made = Scenario.from_dict({"cluster": cluster, "jobs": [], "throughputs": []})
    assert made.cluster.capacity == {"v100": 34, "k80": 16, "mine": 1}


@pytest.mark.parametrize(
    "text", ["", "v100", "v100=8", "v100=0x4", "v100=8x0", "v100=8x4,", "v100=-1x4", "=1x1", "a b=1x1"]
)
def test_a_line_that_names_none(text: str) -> None:
    with pytest.raises(InputError, match="8 nodes of 4 GPUs"):
        parse_cluster(text)


@pytest.mark.parametrize(
    ("trace", "jobs", "gangs"),
    [
        ("minimize_makespan", 100, {1: 71, 2: 6, 4: 23}),
        ("max_min_fairness", 96, {1: 59, 2: 19, 4: 18}),
        ("cs36_n400_lam900_s0", 400, {1: 400}),
        ("gt_n120_l0_s0", 120, {1: 120}),
        ("tiny_n14_l400_s7_m", 14, {1: 10, 4: 4}),
    ],
)
def test_the_authors_traces(shared: Path, trace: str, jobs: int, gangs: dict[int, int]) -> None:
    folder = shared / "data" / "gavel"
    cluster = parse_cluster("v100=8x1,p100=16x1,k80=24x1")
    scenario, report = convert(
        "gavel", folder / f"{trace}.trace", throughputs=folder / "simulation_throughputs.json", cluster=cluster
    )
    assert (report.rows_read, report.rows_kept, report.dropped) == (jobs, jobs, ())
    sizes = [job.gpus for job in scenario.jobs]
    assert {size: sizes.count(size) for size in sorted(set(sizes))} == gangs
    assert [job.name for job in scenario.jobs] == [f"job-{i}" for i in range(jobs)]
    scenario.require_runnable()
    raw = json.loads((folder / "simulation_throughputs.json").read_text())
    for job in scenario.jobs[:20]:
        key = f"('{job.model}', {job.gpus})"
        expected = [raw[name].get(key, {"null": 0.0})["null"] for name in scenario.cluster.types]
        assert scenario.table.matrix([job.model], [job.gpus]).tolist() == [expected]
    text = scenario.to_json()
    assert len(text) < 2_000_000
    assert Scenario.from_json(text) == scenario
