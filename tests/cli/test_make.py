"""convert and generate, and a real trace from conversion to comparison."""

import io
import sys
import time

import pytest

import workbench
from tests.cli.support import CLUSTER, strict


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
    began = time.perf_counter()
    argv = ("convert", gavel / "minimize_makespan.trace", "--from", "gavel", "--cluster", CLUSTER)
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
    assert time.perf_counter() - began < 60


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
