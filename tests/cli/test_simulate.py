"""simulate and compare: runs, their measures, and what is said about them."""

import io
import json
import sys

import pytest

import workbench
from workbench.cli import main


def test_simulate(ask):
    found = ask("simulate", "preset:start_here", "--scheduler", "fifo", "--set", "round_s=300", "--seed", "4")
    assert list(found) == ["scheduler", "knobs", "seed", "belief", "metrics", "notes", "rounds", "not_used", "wall_s"]
    assert (found["scheduler"], found["seed"], found["knobs"]["round_s"]) == ("fifo", 4, 300.0)
    metrics = found["metrics"]
    run = workbench.simulate("preset:start_here", "fifo", round_s=300, seed=4)
    expected = workbench.summary(run)
    for name in ("mean_jct_s", "median_jct_s", "makespan_s", "utilisation", "jobs_finished"):
        assert metrics[name] == pytest.approx(expected[name])
    assert found["rounds"] == expected["rounds"] > 0


def test_decisions_that_take_time(ask, capsys):
    options = ("simulate", "preset:start_here", "--scheduler", "las")
    late, now = ask(*options, "--charge-decisions", "1 min"), ask(*options)
    assert late["charge_decisions"] == 60.0 and "charge_decisions" not in now
    assert late["metrics"]["mean_jct_s"] > now["metrics"]["mean_jct_s"]
    assert main([*options, "--charge-decisions", "measured"]) == 0
    assert "Each decision takes what it took here (measured) of simulated time." in capsys.readouterr().out
    assert main([*options, "--charge-decisions", "soon"]) == 2


def test_a_belief_by_name(ask):
    options = ["simulate", "preset:gavel_sharing", "--scheduler", "gavel.max_min_fairness", "--until", "20 h"]
    options += ["--set", "space_sharing=on"]
    found = ask(*options, "--belief", "low_rank:profiled=0,rank=2")
    assert found["belief"] == "low_rank:profiled=0.0,rank=2" and ask(*options)["belief"] == "oracle"
    run = workbench.simulate(
        "preset:gavel_sharing", found["scheduler"], space_sharing=True, until_s=72_000.0, belief=found["belief"]
    )
    assert found["metrics"]["utilisation"] == pytest.approx(workbench.summary(run)["utilisation"])
    assert run != workbench.simulate("preset:gavel_sharing", found["scheduler"], space_sharing=True, until_s=72_000.0)


def test_unknown_numbers_are_null(ask):
    metrics = ask("simulate", "preset:start_here", "--scheduler", "fifo", "--until", "10 min")["metrics"]
    assert metrics["makespan_s"] is None and metrics["mean_jct_s"] is None
    assert metrics["jobs_unfinished"] == 3


def test_until_takes_seconds_and_durations(ask, tmp_path):
    for text in ("7200", "2 h", "120 min"):
        ask("simulate", "preset:start_here", "--scheduler", "fifo", "--until", text, "--out", tmp_path / "r", "--force")
        assert workbench.Run.load(tmp_path / "r").end_s == 7200


def test_simulate_for_people(cli, tmp_path):
    code, out, err = cli("simulate", "preset:start_here", "--scheduler", "fifo", "--out", tmp_path / "run")
    assert (code, err) == (0, "")
    assert "Makespan" in out and " min" in out and str(tmp_path / "run") in out
    assert all(len(line) < 120 for line in out.splitlines() if str(tmp_path) not in line)


def test_properties_that_are_not_read_are_named(cli, ask, tmp_path):
    made = workbench.preset("start_here").to_dict()
    made["jobs"][0]["weight"] = 3.0
    (tmp_path / "s.json").write_text(json.dumps(made))
    _, _, err = cli("simulate", tmp_path / "s.json", "--scheduler", "fifo")
    assert err == "note: not used by fifo: weight\n"
    assert ask("simulate", tmp_path / "s.json", "--scheduler", "fifo")["not_used"] == ["weight"]
    made["cluster"]["network_gbps"] = 25
    (tmp_path / "s.json").write_text(json.dumps(made))
    _, _, err = cli("compare", tmp_path / "s.json", "--schedulers", "fifo,gavel.max_min_fairness")
    notes = ["not used by fifo: weight", "not used by fifo, gavel.max_min_fairness: cluster.network_gbps"]
    assert err.splitlines() == [f"note: {note}" for note in notes]


def test_a_clock_that_begins_late_is_noted(cli, tmp_path):
    made = workbench.preset("start_here").to_dict()
    for job in made["jobs"]:
        job["arrival_s"] = 1.5e9 + job.get("arrival_s", 0)
    (tmp_path / "s.json").write_text(json.dumps(made))
    _, _, err = cli("simulate", tmp_path / "s.json", "--scheduler", "fifo")
    assert err == "note: the first job arrives at 17361 d 3 h; makespan and utilisation count from 0\n"


@pytest.mark.parametrize(
    ("scheduler", "text", "knob", "value"),
    [
        ("fifo", "round_s=2 h", "round_s", 7200.0),
        ("fifo", "round_s=1 h 30 min", "round_s", 5400.0),
        ("fifo", "heterogeneity_aware=off", "heterogeneity_aware", False),
        ("fifo", "heterogeneity_aware=1", "heterogeneity_aware", True),
        ("las", "heterogeneity_aware=No", "heterogeneity_aware", False),
        ("gavel.max_min_fairness", "recompute_s=inf", "recompute_s", None),
        ("gavel.max_min_fairness", "refresh_s=1 d", "refresh_s", 86400.0),
    ],
)
def test_knobs_are_typed_as_people_write_them(ask, scheduler, text, knob, value):
    found = ask("simulate", "preset:start_here", "--scheduler", scheduler, "--set", text)
    assert found["knobs"][knob] == value


def test_standard_input(ask, refused, monkeypatch):
    def typed(data):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    typed(workbench.preset("start_here").to_json().encode())
    assert ask("validate", "-")["jobs"] == 3
    typed(b"\xff\xfe")
    assert main(["validate", "-"]) == 2
    typed(b"")
    assert main(["validate", "-"]) == 2


def test_compare(ask, tmp_path):
    out = tmp_path / "c"
    argv = ("compare", "preset:start_here", "--schedulers", "fifo,las", "--set", "las:round_s=300", "--seeds", "0:3")
    found = ask(*argv, "--out", out)
    assert list(found) == [
        "runs",
        "ended",
        "mean",
        "spread",
        "ratios_to",
        "ratios",
        "paired",
        "wall_s",
        "out",
        "notes",
        "belief",
    ]
    assert [(run["scheduler"], run["seed"]) for run in found["runs"]] == [
        (n, s) for n in ("fifo", "las") for s in range(3)
    ]
    assert found["runs"][3]["knobs"]["round_s"] == 300
    assert found["ratios_to"] == "fifo" and found["ratios"]["fifo"]["mean_jct_s"] == pytest.approx(1)
    assert found["spread"]["fifo"]["mean_jct_s"] == 0
    assert sorted(path.name for path in out.iterdir()) == [
        *(f"{name}-seed-{seed}" for name in ("fifo", "las") for seed in range(3)),
        "table.csv",
    ]
    assert workbench.Run.load(out / "las-seed-1").knobs["round_s"] == 300


def test_a_knob_without_a_scheduler_is_for_all_that_have_it(ask, cli):
    """`isolated` has no heterogeneity_aware; what names a scheduler goes before what names none."""
    names = "fifo,gavel.max_min_fairness,isolated"
    common = ("--set", "heterogeneity_aware=off", "--set", "round_s=0:30", "--set", "round_s=1 h")
    argv = ("compare", "preset:start_here", "--schedulers", names)
    found = ask(*argv, *common[:2], *common[4:], "--set", "fifo:round_s=300")
    knobs = {run["scheduler"]: run["knobs"] for run in found["runs"]}
    assert [knobs[name]["round_s"] for name in names.split(",")] == [300, 3600, 3600]
    assert not knobs["fifo"]["heterogeneity_aware"] and not knobs["gavel.max_min_fairness"]["heterogeneity_aware"]
    assert "heterogeneity_aware" not in knobs["isolated"]
    code, _, err = cli(*argv, *common)
    assert code == 2 and "--set" in err and "one value for round_s" in err


def test_compare_takes_the_plan(cli):
    code, out, _ = cli("compare", "preset:start_here", "--until", "1 h")
    assert code == 0
    assert all(entry.scheduler in out for entry in workbench.preset("start_here").schedulers)


def test_compare_goes_on_when_a_scheduler_fails_and_says_so(cli):
    """GPUs cannot be shared in pairs here, so that policy has no run; the exit code is that of a stated failure."""
    names = ("--schedulers", "fifo,sharing=gavel.max_min_fairness,las", "--set", "sharing:space_sharing=on")
    code, out, err = cli("compare", "preset:start_here", *names, "--json")
    found = json.loads(out)
    assert code == 1 and [run["scheduler"] for run in found["runs"]] == ["fifo", "las"]
    (row,) = found["failed"]
    assert (row["label"], row["scheduler"], row["seed"]) == ("sharing", "gavel.max_min_fairness", 0)
    assert row["status"] == "invalid_input"
    assert row["error"]["where"] == "core.space_sharing" and "failed: sharing, seed 0" in err
    code, out, _ = cli("compare", "preset:start_here", *names)
    assert code == 1 and "fifo" in out and "gavel" not in out


def test_compare_asks_for_processes(ask, monkeypatch):
    """That they make the same runs is held by tests/analysis/test_comparison.py."""
    asked = []
    run_all = workbench.analysis.comparison.run_all
    monkeypatch.setattr(
        workbench.analysis.comparison,
        "run_all",
        lambda requests, workers, ended: asked.append(workers) or run_all(requests, 1, ended),
    )
    for option in ([], ["--workers", "2"]):
        ask("compare", "preset:start_here", "--schedulers", "fifo,las", *option)
    assert asked == [1, 2]


OWN = """
import workbench

@workbench.scheduler("one_by_one", round_s=360)
def decide(snapshot, memory, knobs, rng):
    jobs, nodes = snapshot.jobs, snapshot.nodes
    node = max(range(len(nodes.names)), key=lambda i: nodes.free[i])
    lease = workbench.Assignment(jobs.names[0], {nodes.names[node]: jobs.gpus[0]}, snapshot.now_s + 360)
    return workbench.Decision((lease,)), memory
"""


def test_a_scheduler_of_a_file_on_the_command_line(ask, refused, tmp_path, monkeypatch):
    """Only there: a saved run of it needs the file named again; what is wrong in it is told with its line."""
    own = {}
    monkeypatch.setattr("workbench.session.registry._OWN", own)
    mine, run = tmp_path / "mine.py", tmp_path / "run"
    mine.write_text(OWN)
    named = f"{mine}:one_by_one"
    found = ask("simulate", "preset:start_here", "--scheduler", named, "--out", run)
    assert found["scheduler"] == "one_by_one" and found["metrics"]["jobs_finished"] == 3
    rows = ask("compare", "preset:start_here", "--schedulers", f"mine={named},fifo", "--workers", "2")["runs"]
    assert [(row["label"], row["scheduler"]) for row in rows] == [("mine", "one_by_one"), ("fifo", "fifo")]
    own.clear()
    page, change = tmp_path / "page.html", ["--change", "load 1.1"]
    assert "one_by_one" in refused("report", run, "-o", page, *change)[2]
    assert ask("report", run, "--scheduler", named, "-o", page, *change)["changes"] == ["load 1.1"]
    today = tmp_path / "today"
    ask("simulate", "preset:start_here", "--scheduler", "fifo", "--out", today)
    asked = ask("report", today, "--scheduler", named, "-o", page, "--force")
    assert asked["changes"] == ["scheduler one_by_one"]
    for text, name, told in (
        ("1 / 0", "a", "ZeroDivisionError: division by zero (line 1)"),
        ("\nx =", "a", "SyntaxError: invalid syntax (mine.py, line 2)"),
        ("", "a", '@workbench.scheduler("a")'),
    ):
        mine.write_text(text)
        assert told in refused("simulate", "preset:start_here", "--scheduler", f"{mine}:{name}")[2]
    mine.unlink()
    assert "no file" in refused("simulate", "preset:start_here", "--scheduler", named)[2]
