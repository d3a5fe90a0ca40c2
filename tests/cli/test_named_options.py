"""Errors of the library's functions name the option that was typed, not the argument that it became."""

from __future__ import annotations

import pytest

import workbench
from workbench.scenario.traces.public import FILES

TO_S = ["--cluster", "v100=1x1", "--from-s", "5", "--to-s", "2"]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["convert", "t", "--from", "nope"], "--from: got 'nope'; expected one of: chronus"),
        (["convert", "t", "--from", "gavel"], "--throughputs: got nothing; expected Gavel's throughputs"),
        (["convert", "t", "--from", "swf"], "--cluster: got nothing; expected types as NAME=NODESxGPUS"),
        (["convert", "t", "--from", "swf", *TO_S], "--to-s: got 2.0; expected a time after the begin of the window (5"),
        (["convert", "t", "--from", "swf", "--density", "500"], "--density: got 500.0; expected a percentage"),
        (["generate", "--cluster", "v100=1x1", "--mean-gap", "5"], "--mean-gap: got 5.0; expected arrivals poisson"),
    ],
)
def test_of_commands_that_make_scenarios(cli, tmp_path, argv, said):
    code, out, err = cli(*argv, "-o", tmp_path / "s.json")
    assert (code, out) == (2, "") and err.startswith(f"error: {said}")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--vary", "nope=1"], "--vary: got 'nope'; expected a knob that one of these has"),
        (["--vary", "round_s=60,60"], "--vary: got {'round_s': '60'}; expected each point once"),
        (["--store", " "], "--store: got ' '; expected the name of a file"),
        (["--out", " "], "--out: got ' '; expected the name of a folder"),
        (["--belief", "nope"], "--belief: got 'nope'; expected one of"),
    ],
)
def test_of_a_sweep(cli, argv, said):
    code, out, err = cli("sweep", "preset:start_here", "--scheduler", "fifo", *argv)
    assert (code, out) == (2, "") and err.startswith(f"error: {said}")


def test_one_scheduler_of_several(cli):
    for option in ("--scheduler", "--schedulers"):
        _, _, err = cli("sweep", "preset:start_here", option, "nope")
        assert err.startswith("error: --scheduler: got 'nope'; expected one of")


def test_a_report_of_what_is_no_saved_run(cli, tmp_path):
    code, _, err = cli("report", "preset:start_here", "-o", tmp_path / "x.html")
    assert code == 2 and err.startswith("error: preset:start_here: got no folder; expected the folder of a saved run")


def test_of_a_solve(cli):
    _, _, err = cli("solve", "preset:start_here", "--formulation", "gavel.makespan", "--time-limit", "0")
    assert err.startswith("error: --time-limit: got 0.0; expected seconds above 0")


def test_a_file_that_bears_the_name_of_an_argument_keeps_it(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster").write_text("")
    argv = ("convert", "cluster", "--from", "swf", "--cluster", "v100=1x1", "-o", "s.json")
    assert cli(*argv)[2].startswith("error: cluster: got an empty file")


def test_json_names_it_too_and_what_has_no_option_is_named_as_in_the_help(refused):
    assert refused("convert", "t", "--from", "nope", "-o", "s.json")[2].startswith("--from nope one of")
    assert refused("data", "nope")[2] == f"NAME nope one of {', '.join(FILES)}"


RANGE = "expected a number >= 0 and <= 1,000,000,000 s"
SMALL = "preset:start_here"
SIMULATE = ("simulate", SMALL, "--scheduler", "fifo")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ((*SIMULATE, "--set", "round_s=soon"), f"--set round_s=soon: knob round_s: got 'soon'; {RANGE}"),
        ((*SIMULATE, "--set", "zz=1"), "--set zz=1: knobs of fifo: got 'zz'; expected one of preset"),
        ((*SIMULATE, "--belief", "low_rank:rank=2,profiled=9"), "--belief low_rank:rank=2,profiled=9: knob profiled"),
        ((*SIMULATE, "--belief", "low_rank:zz=9"), "--belief low_rank:zz=9: knobs of belief low_rank: got 'zz'"),
        (
            ("compare", SMALL, "--schedulers", "a=fifo,b=las", "--set", "a:round_s=1", "--set", "b:round_s=x"),
            "--set b:round_s=x: knob round_s: got 'x'",
        ),
        (("sweep", SMALL, "--scheduler", "fifo", "--vary", "round_s=1,x"), "--vary round_s=1,x: knob round"),
        (
            ("solve", SMALL, "--formulation", "gavel.max_min_fairness", "--set", "zz=1"),
            "--set zz=1: knobs of gavel.max_min_fairness: got 'zz'",
        ),
        (
            ("explain", SMALL, "--scheduler", "fifo", "--job", "vision", "--at", "0", "--more-type", "zz"),
            "--more-type: got 'zz'; expected one of v100, k80",
        ),
        (("generate", "--cluster", "zz=1x1", "-o", "s.json"), "--cluster: got 'zz'; expected a type on which"),
        (("validate", ""), "SCENARIO: got ''; expected"),
        (("list", "zz"), "NAME: got 'zz'; expected one of"),
    ],
)
def test_of_knobs_and_others(cli, argv, said):
    code, out, err = cli(*argv)
    assert (code, out) == (2, "") and err.startswith(f"error: {said}")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The folder of a saved run, and one of a run without jobs."""
    folder, small = tmp_path_factory.mktemp("saved"), workbench.preset("start_here")
    workbench.simulate(small, "fifo").save(folder / "run")
    workbench.simulate(small.replace(jobs=[], schedulers=[]), "fifo").save(folder / "empty")
    return folder


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("nodes v100=x", ": nodes: got 'v100=x'; expected v100=+8"),
        ("nodes zz=+1", ": nodes: got 'zz'; expected an accelerator type"),
        ("nodes v100=-9", ": nodes: got 'v100=-9'; expected at most the 1 node"),
        ("scheduler zz", ": scheduler: got 'zz'; expected one of"),
        ("knob zz=1", ": knobs of fifo: got 'zz'; expected one of"),
        ("knob round_s=soon", f": knob round_s: got 'soon'; {RANGE}"),
        ("restart 1e99", ": core.restart.restart_s: got 1e+99; expected a number <= 1,000,000\n"),
        ("faults zz=0:10", ": core.faults.list[0].node: got 'zz'; expected the name of a node"),
        ("bla", ": got 'bla'; expected a text that begins with one of: nodes"),
    ],
)
def test_of_a_change(cli, saved, tmp_path, change, said):
    code, out, err = cli("report", saved / "run", "-o", tmp_path / "x.html", "--change", "load 1.5", "--change", change)
    assert (code, out) == (2, "") and err.startswith(f"error: --change '{change}'{said}")
    assert list(tmp_path.iterdir()) == []


# --- No jobs ----------------------------------------------------------------------------------------------------------


NONE = ": jobs: got no jobs; expected at least one job: without any nothing runs\n"


@pytest.mark.parametrize(
    "argv",
    [
        ("simulate", "s.json", "--scheduler", "fifo"),
        ("compare", "s.json", "--schedulers", "fifo"),
        ("sweep", "s.json", "--scheduler", "fifo"),
        ("explain", "s.json", "--scheduler", "fifo", "--job", "a", "--at", "0"),
    ],
)
def test_a_scenario_without_jobs_is_said_before_anything_runs(cli, tmp_path, monkeypatch, argv):
    monkeypatch.chdir(tmp_path)
    workbench.preset("start_here").replace(jobs=[], schedulers=[]).save("s.json")
    monkeypatch.setattr("workbench.session.api.run_loop", lambda *_, **__: pytest.fail("something ran"))
    assert cli(*argv) == (2, "", f"error: s.json{NONE}")


@pytest.mark.parametrize("argv", [("report", "-o", "x.html"), ("explain", "--job", "a", "--at", "0")])
def test_a_saved_run_without_jobs_has_nothing_to_tell(cli, saved, tmp_path, monkeypatch, argv):
    monkeypatch.chdir(tmp_path)
    folder = saved / "empty"
    assert cli(argv[0], folder, *argv[1:]) == (2, "", f"error: {folder}{NONE}")


def test_a_folder_that_is_no_run(cli, tmp_path):
    _, _, err = cli("explain", tmp_path, "--job", "a", "--at", "0")
    told = "got a folder without run.json; expected a scenario, or the folder of a saved run"
    assert err == f"error: {tmp_path}: {told}\n"
