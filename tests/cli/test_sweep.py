"""The command sweep: the table, JSON, the store, failures, progress, what it refuses."""

import pytest

import workbench
from workbench.analysis.sweeps import SweepProgress
from workbench.cli.sweep import line

SMALL = "preset:start_here"


def test_a_grid_as_a_table(cli, tmp_path):
    grid = (SMALL, "--scheduler", "las,fifo", "--vary", "round_s=6 min,12 min", "--seeds", "0:2")
    code, out, err = cli("sweep", *grid, "--store", tmp_path / "s.db")
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert lines[0].startswith("8 runs: 8 made in ") and lines[0].endswith(" 0 from the store")
    assert lines[2].split()[:4] == ["scheduler", "round_s", "seed", "mean_jct_s"]
    rows = [row.split()[:3] for row in lines[3:11]]
    assert rows == [[s, r, seed] for s in ("las", "fifo") for r in ("360", "720") for seed in "01"]
    assert lines[-3:] == [f"kept in {tmp_path / 's.db'}", "", "Speeds known: oracle"]
    code, out, _ = cli("sweep", *grid, "--store", tmp_path / "s.db", "--workers", "2")
    assert code == 0 and out.startswith("8 runs: 0 made") and "8 from the store" in out


def test_json_has_every_run_with_its_measures(ask, tmp_path):
    answer = ask("sweep", SMALL, "--scheduler", "a=fifo,b=las", "--vary", "blocking=on,off", "--set", "a:round_s=60",
                 "--until", "1 h", "--out", tmp_path / "runs")  # fmt: skip
    assert (answer["rows"], answer["made"], answer["kept"], answer["failed"]) == (3, 3, 0, 0)
    told = [(run["label"], run["knobs"], run["seed"], run["status"]) for run in answer["runs"]]
    assert told == [("a", {"blocking": True}, 0, "done"), ("a", {"blocking": False}, 0, "done"),
                    ("b", {"blocking": None}, 0, "done")]  # fmt: skip
    assert [run["scheduler"] for run in answer["runs"]] == ["fifo", "fifo", "las"]
    assert (
        answer["belief"] == "oracle"
        and ask("sweep", SMALL, "--scheduler", "hops", "--until", "60")["belief"] == "nodes"
    )
    assert answer["runs"][0]["metrics"]["jobs"] == 3 and answer["runs"][0]["wall_s"] > 0
    assert len(list((tmp_path / "runs").iterdir())) == 3


def test_the_schedulers_of_a_plan_are_called_by_their_names_and_knobs(ask, tmp_path):
    plan = [{"scheduler": "fifo", "knobs": {}}, {"scheduler": "fifo", "knobs": {"round_s": 60.0}}]
    workbench.preset("start_here").replace(schedulers=plan).save(tmp_path / "mine.json")
    answer = ask("sweep", tmp_path / "mine.json", "--until", "60")
    told = [(run["label"], run["scheduler"]) for run in answer["runs"]]
    assert told == [("fifo", "fifo"), ("fifo round_s=60.0", "fifo")]


def test_several_scenarios_are_told_apart(ask, cli, tmp_path):
    cli("presets", "start_here", "-o", tmp_path / "mine.json")
    answer = ask("sweep", SMALL, tmp_path / "mine.json", "--scheduler", "fifo")
    assert [run["scenario"] for run in answer["runs"]] == [SMALL, str(tmp_path / "mine.json")]
    assert answer["made"] == 1, "the same scenario: one run"


def test_a_failed_run_is_said_and_ends_with_1(cli, ask, tmp_path):
    grid = (SMALL, "--scheduler", "gavel.max_min_fairness", "--vary", "space_sharing=off,on", "--store", tmp_path / "s")
    code, out, err = cli("sweep", *grid)
    assert code == 1 and "2 runs: 2 made" in out and "1 failed" in out
    assert err.startswith("failed: 1 run: core.space_sharing: got False")
    code, out, _ = cli("sweep", *grid, "--retry-failed")
    assert code == 1 and "1 made" in out and "1 from the store" in out


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["--vary", "round_s"], "knob=value,value"),
        (["--vary", "round_s=1,,2"], "knob=value,value"),
        (["--vary", "round_s=60", "--vary", "round_s=90"], "once"),
        (["--vary", "round_s=soon"], "a number"),
        (["--vary", "lamda=1"], "a knob that one of these has"),
        (["--vary", "round_s=60", "--set", "round_s=90"], "another knob"),
        (["--store", "/nowhere/s.db"], "a folder that exists"),
        (["--workers", "0"], "from 1"),
        (["--dask", "tcp://127.0.0.1:9", "--seeds", "x"], "seeds such as"),
    ],
)
def test_refuses(refused, argv, expected):
    code, status, said = refused("sweep", SMALL, "--scheduler", "fifo", *argv)
    assert (code, status) == (2, "invalid_input") and expected in said


def test_a_scenario_twice_and_knobs_for_a_plan_are_refused(refused):
    assert "each scenario once" in refused("sweep", SMALL, SMALL, "--scheduler", "fifo")[2]
    assert "--scheduler with it" in refused("sweep", SMALL, "--set", "round_s=60")[2]


def test_the_line_of_progress():
    assert line(SweepProgress(8, 2)) == "[######..................] 2 of 8 runs"
    assert line(SweepProgress(8, 2, done=1, failed=1, elapsed_s=60.0)) == (
        "[############............] 4 of 8 runs, 1 failed, 2 min left"
    )
    assert line(SweepProgress(1, 1)) == "[########################] 1 of 1 run"
