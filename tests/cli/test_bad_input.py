"""What is wrong on a command line is one error that says where, what and what was expected."""

import json
import os
from pathlib import Path

import pytest

import workbench
from tests.cli.support import CLUSTER

SIMULATE = ("simulate", "preset:start_here", "--scheduler", "fifo")
SOLVE = ("solve", "preset:start_here", "--formulation", "gavel.max_min_fairness")
COMPARE = ("compare", "preset:start_here", "--schedulers", "fifo,las")
GENERATE = ("generate", "--cluster", "v100=1x4")

LATE = {"round_s": "soon"}

BAD = [
    ((), "COMMAND"),
    (("bogus",), "simulate"),
    (("list", "--bogus"), "workbench list --bogus arguments that the command has (`workbench list --help`)"),
    (("simulate",), "--scheduler"),
    (("simulate", "preset:start_here"), "--scheduler"),
    ((*SIMULATE, "--seed"), "--seed"),
    ((*SIMULATE, "--see", "3"), "--see"),
    (("validate", "missing.json"), "missing.json"),
    (("validate", "."), "readable"),
    (("validate", "preset:nope"), "start_here"),
    (("validate", "bad.json"), "bad.json"),
    (("validate", "twice.json"), "twice"),
    (("validate", "inner.json"), "inner.json: jobs[1].steps -Infinity a finite number"),
    (("validate", "nan.json"), "nan.json: seed NaN a finite number"),
    (("validate", "latin.json"), "UTF-8"),
    (("validate", "extra.json"), "no such key"),
    (("validate", "nowhere.json"), "nowhere.json: jobs[3].gpus 64 64 GPUs in the cluster"),
    (("presets", "nope"), "start_here"),
    (("presets", "-o", "x.json"), "preset to write"),
    (("simulate", "preset:start_here", "--scheduler", "nope"), "fifo"),
    (("solve", "preset:start_here", "--formulation", "fifo"), "fifo, a scheduler"),
    ((*SIMULATE, "--set", "round_s"), "knob=value"),
    ((*SIMULATE, "--set", "=1"), "knob=value"),
    ((*SIMULATE, "--set", "round_s=-1"), "round_s"),
    ((*SIMULATE, "--set", "round_s=inf"), "knob round_s inf a number >= 0 and <= 1,000,000,000 s"),
    ((*SIMULATE, "--set", "round_s=2 parsecs"), "a duration such as 2 h 30 min"),
    ((*SIMULATE, "--set", "heterogeneity_aware=2"), "true or false"),
    ((*SIMULATE, "--set", "round_s=1", "--set", "round_s=2"), "one value"),
    ((*SIMULATE, "--seed", "x"), "whole number"),
    ((*SIMULATE, "--seed", "-1"), "whole number"),
    ((*SIMULATE, "--seed", "9223372036854775808"), "2^63"),
    ((*SIMULATE, "--until", "soon"), "2 h 30 min"),
    ((*SIMULATE, "--until", "-5"), "seconds"),
    ((*SIMULATE, "--until", "inf"), "seconds"),
    ((*SIMULATE, "--out", "taken"), "--out taken a file or folder that exists a new name, or --force to overwrite"),
    ((*SIMULATE, "--out", ""), "--out  the name of a folder"),
    (("validate", ""), "the name of a file"),
    (("validate", "planned.json"), "planned.json: schedulers[0].scheduler"),
    (("compare", "planned.json"), "schedulers[0].scheduler"),
    (("validate", "knobs.json"), "knobs.json: schedulers[1].knobs.round_s soon a number"),
    ((*SIMULATE, "--out", "taken", "--force"), "empty folder"),
    ((*SIMULATE, "--out", "missing/run"), "folder that exists"),
    ((*SIMULATE, "--out", "bad.json/run"), "folder that exists"),
    ((*SOLVE, "--at", "later"), "--at"),
    ((*SOLVE, "--solver", "gurobi"), "highs, glpk"),
    ((*SOLVE, "--gap", "wide"), "a number"),
    ((*SOLVE, "--gap", "-1"), "from 0"),
    ((*SOLVE, "--set", "heterogeneity_aware=maybe"), "true or false"),
    (("compare", "preset:start_here", "--schedulers", "fifo,,las"), "names"),
    (("compare", "preset:start_here", "--schedulers", "fifo,nope"), "gavel.fifo"),
    (("compare", "preset:start_here", "--schedulers", "fifo,fifo"), "once"),
    (
        (*COMPARE, "--set", "nope=1"),
        "a knob that one of the schedulers has (`workbench list NAME` shows them): fifo, las",
    ),
    ((*COMPARE, "--set", "nope"), "knob=value"),
    ((*COMPARE, "--set", "srtf:round_s=1"), "fifo, las"),
    ((*COMPARE, "--set", "las:nope=1"), "las"),
    ((*COMPARE, "--seeds", "3:3"), "0:3"),
    ((*COMPARE, "--seeds", "a:b"), "0:3"),
    ((*COMPARE, "--seeds", "1,1"), "each once"),
    ((*COMPARE, "--workers", "0"), "from 1"),
    ((*COMPARE, "--out", "taken"), "--force"),
    (("compare", "preset:start_here", "--set", "fifo:round_s=1"), "--schedulers"),
    (("compare", "unplanned.json"), "names none"),
    (GENERATE, "-o"),
    ((*GENERATE, "-o", "bad.json"), "--force"),
    ((*GENERATE, "-o", " "), "the name of a file"),
    ((*GENERATE, "-o", "x.json", "--arrivals", "static", "--mean-gap", "900"), "arrivals poisson with it"),
    ((*GENERATE, "-o", "missing/x.json"), "folder that exists"),
    ((*GENERATE, "-o", "taken", "--force"), "a file"),
    ((*GENERATE, "-o", "x.json", "--jobs", "0"), "from 1"),
    ((*GENERATE, "-o", "x.json", "--arrivals", "daily"), "static, poisson"),
    ((*GENERATE, "-o", "x.json", "--durations", "long"), "gandiva, short"),
    ((*GENERATE, "-o", "x.json", "--priority-share", "2"), "0 to 1"),
    ((*GENERATE, "-o", "x.json", "--group", "nope"), "gavel"),
    (("generate", "--cluster", "v100=4", "-o", "x.json"), "NAME=NODESxGPUS"),
    (("convert", "bad.json", "--from", "gavel", "--throughputs", "bad.json", "-o", "x.json"), "NAME=NODESxGPUS"),
    (
        ("convert", "missing.trace", "--from", "gavel", "--throughputs", "t", "--cluster", CLUSTER, "-o", "x.json"),
        "missing.trace",
    ),
    (("convert", "t", "--from", "gavel", "-o", "x.json", "--sample", "0"), "from 1"),
    (("convert", "t", "--from", "gavel", "-o", "x.json", "--report", ""), "--report  the name of a file"),
    (
        ("convert", "-", "--from", "gavel", "--throughputs", "-", "--cluster", CLUSTER, "-o", "x.json"),
        "a file, when the trace comes from standard input",
    ),
    (("convert", "t", "--from", "gavel", "-o", "x.json", "--report", "x.json"), "another file"),
    (("convert", "t", "--from", "gavel", "-o", "x.json", "--workload", "mix3"), "slo, mix1, mix2"),
    (("convert", "t", "--from", "gavel", "-o", "x.json", "--density", "0"), "above 0 and at most 200"),
    (("convert", "t", "--from", "gavel", "-o", "x.json", "--density", "nan"), "a number"),
    (("convert", "t", "--from", "chronus", "-o", "x.json"), "NAME=NODESxGPUS"),
    (("convert", "bad.json", "--from", "chronus", "--cluster", "v100=1x8", "-o", "x.json"), "a Chronus trace"),
    (("convert", "t", "--from", "chronus", "--throughputs", "t", "-o", "x.json"), "no file of speeds"),
    (("convert", "bad.json", "--from", "philly", "--cluster", "v100=1x8", "-o", "x.json"), "cluster_job_log"),
]


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with files of every bad kind, as the current one."""
    monkeypatch.chdir(tmp_path)
    good = workbench.preset("start_here").to_dict()
    big = {**good["jobs"][0], "name": "nowhere", "gpus": 64}
    texts = {
        "bad.json": "{",
        "twice.json": '{"jobs": [], "jobs": []}',
        "nan.json": '{"seed": NaN}',
        "inner.json": json.dumps({"jobs": [good["jobs"][0], {**good["jobs"][1], "steps": -float("inf")}]}),
        "extra.json": json.dumps({**good, "colour": "red"}),
        "nowhere.json": json.dumps({**good, "jobs": [*good["jobs"], big]}),
        "unplanned.json": json.dumps({**good, "schedulers": []}),
        "planned.json": json.dumps({**good, "schedulers": [{"scheduler": "fiffo"}]}),
        "knobs.json": json.dumps({**good, "schedulers": [{"scheduler": "las"}, {"scheduler": "las", "knobs": LATE}]}),
    }
    for name, text in texts.items():
        Path(name).write_text(text)
    Path("latin.json").write_bytes(b'{"name": "\xe9"}')
    Path("taken").mkdir()
    Path("taken", "thesis.txt").write_text("mine")
    return tmp_path


@pytest.mark.parametrize(("argv", "expected"), BAD, ids=[" ".join(argv) or "nothing" for argv, _ in BAD])
def test_bad_input(desk, refused, argv, expected):
    before = sorted(desk.rglob("*"))
    code, status, error = refused(*argv)
    assert (code, status) == (2, "invalid_input")
    assert expected in error
    assert sorted(desk.rglob("*")) == before
    assert Path("taken", "thesis.txt").read_text() == "mine"


def test_every_problem_of_a_scenario_is_told(desk, cli):
    good = workbench.preset("start_here").to_dict()
    good["jobs"][0]["steps"] = -1
    good["jobs"][1]["colour"] = "red"
    Path("two.json").write_text(json.dumps(good))
    _, _, err = cli("validate", "two.json")
    assert "two.json: jobs[0].steps" in err and "two.json: jobs[1].colour" in err


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to(desk, refused):
    Path("taken").chmod(0o500)
    assert refused(*SIMULATE, "--out", "taken/run")[:2] == (2, "invalid_input")


def test_force_replaces_what_we_made(tmp_path, ask):
    target = tmp_path / "run"
    target.mkdir()
    for name in ("fifo", "las"):
        ask("simulate", "preset:start_here", "--scheduler", name, "--out", target, "--force")
        assert workbench.Run.load(target).scheduler == name
    ask(*COMPARE, "--out", target, "--force")
    assert sorted(path.name for path in target.iterdir()) == ["fifo-seed-0", "las-seed-0", "table.csv"]
    ask("presets", "start_here", "-o", tmp_path / "s.json")
    ask("presets", "gavel_example", "-o", tmp_path / "s.json", "--force")
    assert workbench.load(tmp_path / "s.json").name == "gavel_example"
