"""convert and generate, and a real trace from conversion to comparison."""

import io
import re
import sys

import pytest

import workbench
from tests.calls import decisions_at_most
from tests.cli.support import CLUSTER, strict
from workbench.cli import make
from workbench.scenario import traces
from workbench.scenario.traces import deadlines


def test_generate(cli, ask, tmp_path):
    argv = ("generate", "--cluster", "v100=2x4,k80=2x4", "--jobs", 12, "--seed", 5, "--multi-gpu", "--slo")
    answer = ask(*argv, "--arrivals", "poisson", "--mean-gap", "5 min", "-o", tmp_path / "g.json")
    assert answer == {"output": str(tmp_path / "g.json"), "jobs": 12, "gpus": {"v100": 8, "k80": 8}}
    made = workbench.load(tmp_path / "g.json")
    assert made.seed == 5 and all(job.rewards for job in made.jobs)
    code, out, _ = cli(*argv, "--arrivals", "poisson", "--mean-gap", "300", "-o", "-")
    assert code == 0 and workbench.Scenario.from_json(out) == made


@pytest.fixture
def gavel(shared):
    folder = shared / "data" / "gavel"
    if not folder.is_dir():
        pytest.skip("no Gavel trace beside the project")
    return folder


def test_convert(cli, ask, gavel, tmp_path):
    argv = ("convert", gavel / "minimize_makespan.trace", "--from", "gavel", "--cluster", CLUSTER)
    argv += ("--throughputs", gavel / "simulation_throughputs.json", "--sample", 10, "--seed", 2)
    answer = ask(*argv, "-o", tmp_path / "s.json", "--report", tmp_path / "r.json")
    assert answer["jobs"] == answer["report"]["rows_kept"] == 10
    assert strict((tmp_path / "r.json").read_text()) == answer["report"]
    assert len(workbench.load(tmp_path / "s.json").jobs) == 10
    code, out, err = cli(*argv, "-o", "-")
    assert code == 0 and workbench.Scenario.from_json(out) == workbench.load(tmp_path / "s.json")
    assert "10 kept" in err and "not in the sample" in err


def test_main_job_on_a_real_trace(ask, gavel, tmp_path):
    """From Gavel's trace to a comparison (other tests hold the numbers against Gavel's own)."""
    target = tmp_path / "s.json"
    argv = ("convert", gavel / "minimize_makespan.trace", "--from", "gavel", "--cluster", CLUSTER)
    with decisions_at_most(600):
        ask(*argv, "--throughputs", gavel / "simulation_throughputs.json", "-o", target)
        assert ask("validate", target)["jobs"] == 100
        name = "gavel.max_min_fairness"
        fifo = ask("simulate", target, "--scheduler", "fifo", "--out", tmp_path / "fifo")
        fair = ask("simulate", target, "--scheduler", name, "--set", "preset=authors")
    assert fifo["metrics"]["jobs_finished"] == fair["metrics"]["jobs_finished"] == 100
    both = ask("compare", target, "--schedulers", f"fifo,{name}", "--set", f"{name}:preset=authors")
    assert [run["metrics"] for run in both["runs"]] == [fifo["metrics"], fair["metrics"]]
    assert both["ratios"][name]["makespan_s"] < 1
    assert workbench.Run.load(tmp_path / "fifo").scenario == workbench.load(target)


TRACE = "\n".join(
    "A3C\tpython3 main.py\tfolder\t--steps\t1\t100\t1\t1\t-1\t" + at for at in ("1500000000", "1500000060")
)
SPEEDS = """{"v100": {"('A3C', 1)": {"null": 2.0}}}"""


def test_convert_reads_standard_input_and_begins_at_0(ask, monkeypatch, tmp_path):
    """An epoch's seconds would make makespan and utilisation senseless."""
    (tmp_path / "t.json").write_text(SPEEDS)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TRACE.encode())))
    argv = ("convert", "-", "--from", "gavel", "--cluster", "v100=1x1", "--throughputs", tmp_path / "t.json")
    report = ask(*argv, "-o", tmp_path / "s.json")["report"]
    made = workbench.load(tmp_path / "s.json")
    assert [job.arrival_s for job in made.jobs] == [0, 60]
    assert (report["source"], report["rows_kept"], made.name) == ("standard input", 2, "standard input")
    assert "arrivals count from the file's first one, which is at 1500000000 s there" in report["notes"]
    assert (
        workbench.summary(workbench.simulate(made, "fifo", round_s=1))["makespan_s"] == 110
    )  # 50 s each on one GPU, from 60 s


CHRONUS = """\
job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time_list,expect_value_list,best_effort,job_type
2,vc_b,0,9,760,alexnet,106,6,235,10,0,strict
1,vc_a,2,7,5530,vgg16,96,5,159-189-229-289,10-8-5-2,0,soft
0,vc_a,1,5,5530,vgg16,60,5,60,10,1,best
"""


def test_convert_knows_the_formats_and_workloads_that_there_are():
    assert re.split(", | or ", make.FORMATS) == list(traces.formats())
    assert tuple(deadlines.WORKLOADS) == make.WORKLOADS


def test_convert_never_overwrites_what_it_reads(cli, tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("job_id,num_gpu,submit_time,model_name,duration\n1,1,0,vgg19,600\n")
    before = (tmp_path / "t.csv").read_bytes()
    (tmp_path / "link.csv").symlink_to("t.csv")
    monkeypatch.chdir(tmp_path)
    argv = ("convert", "t.csv", "--from", "tiresias", "--cluster", "v100=1x4", "--force")
    for option, target in (("-o", "t.csv"), ("-o", "./link.csv"), ("--report", tmp_path / "t.csv")):
        code, out, err = cli(*argv, *(() if option == "-o" else ("-o", "s.json")), option, target)
        assert (code, out) == (2, "") and err.startswith(f"error: {option} {target}: got") and "that are read" in err
        assert (tmp_path / "t.csv").read_bytes() == before
    assert cli(*argv, "-o", "s.json")[0] == cli(*argv, "-o", "s.json")[0] == 0, "another file may be overwritten"


def test_convert_a_chronus_trace(ask, tmp_path):
    (tmp_path / "t.csv").write_text(CHRONUS)
    argv = ("convert", tmp_path / "t.csv", "--from", "chronus", "--cluster", "v100=2x8")
    report = ask(*argv, "-o", tmp_path / "s.json", "--report", tmp_path / "r.json")["report"]
    made = workbench.load(tmp_path / "s.json")
    assert [(job.name, job.arrival_s, len(job.rewards or ())) for job in made.jobs] == [
        ("job-0", 0.0, 0),
        ("job-1", 120.0, 4),
    ]
    assert (report["rows_read"], report["rows_kept"]) == (3, 2)
    assert report["dropped"] == [{"reason": "0 GPUs", "count": 1, "lines": [2]}]
    assert strict((tmp_path / "r.json").read_text()) == report
    done = ask("simulate", tmp_path / "s.json", "--scheduler", "fifo")
    assert done["metrics"]["jobs_finished"] == 2


def test_convert_at_a_density_under_a_workload(ask, tmp_path):
    (tmp_path / "t.csv").write_text(CHRONUS)
    argv = ("convert", tmp_path / "t.csv", "--from", "chronus", "--cluster", "v100=2x8", "--seed", 4)
    argv += ("--workload", "slo")
    alone = ask(*argv, "-o", tmp_path / "alone.json")["report"]
    assert alone["notes"][-1] == "workload slo: 2 strict, 0 soft and 0 best-effort jobs, drawn anew"
    report = ask(*argv, "--density", "150", "-o", tmp_path / "s.json")["report"]
    made = workbench.load(tmp_path / "s.json")
    assert len(made.jobs) == 3 and all(len(job.rewards) == 1 for job in made.jobs)
    assert len({job.rewards for job in made.jobs}) == 3, "a copy draws a deadline of its own"
    assert report["notes"][-2:] == [
        "density 150 %: 3 jobs of 2",
        "workload slo: 3 strict, 0 soft and 0 best-effort jobs, drawn anew",
    ]
