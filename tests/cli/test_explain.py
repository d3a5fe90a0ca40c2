"""explain: why a job waits, of a scenario and of a saved run; exact: an algorithm beside the problem that it is for."""

from __future__ import annotations

import dataclasses

import workbench

KEYS = ["scheduler", "job", "at_s", "state", "summary", "sentences", "binding", "facts", "order", "competitors"]
KEYS += ["next_start_s", "admission", "one_more", "alone"]
FIFO = ("--scheduler", "fifo", "--job", "translation", "--at", "1 h")


def test_explain_a_scenario(ask):
    found = ask("explain", "preset:start_here", *FIFO)
    assert list(found) == KEYS
    run = workbench.simulate("preset:start_here", "fifo")
    nothing_else = {"admission": [], "one_more": None, "alone": None}
    assert {**workbench.explain(run, "translation", 3600.0).as_json(), **nothing_else} == found
    assert found["state"] == "waiting" and found["competitors"][0]["job"] == "vision"


def test_text_for_people_and_one_more_node(cli):
    code, out, err = cli("explain", "preset:start_here", *FIFO, "--more")
    assert code == 0 and err == ""
    assert out.startswith("At 1 h translation waits: it has had no GPUs since 30 min, when it arrived.\n")
    assert "With one more node of 1 GPU v100 from 1 h on translation would have GPUs at 1 h" in out


def test_knobs_seed_and_belief_reach_the_simulation(ask):
    found = ask("explain", "preset:start_here", *FIFO, "--set", "blocking=off", "--seed", "3", "--belief", "oracle")
    assert "who does not fit is passed" in " ".join(found["sentences"])
    more = ask("explain", "preset:start_here", *FIFO, "--more")["one_more"]
    assert more["start_s"] == 3600.0 and more["same_past"] is True


def test_a_saved_run_is_read_and_has_its_own_scheduler(ask, cli, tmp_path):
    workbench.simulate("preset:start_here", "las").save(tmp_path / "run")
    found = ask("explain", tmp_path / "run", "--job", "game", "--at", "3000")
    assert found["scheduler"] == "las"
    for option in (("--scheduler", "fifo"), ("--seed", "1"), ("--set", "a=b")):
        code, _, err = cli("explain", tmp_path / "run", "--job", "game", "--at", "3000", *option)
        assert code == 2 and err.startswith(f"error: {option[0]}: got") and "a saved run, which has its own" in err


def test_a_run_of_a_scheduler_that_is_not_there_is_explained_but_not_simulated_again(ask, cli, tmp_path):
    dataclasses.replace(workbench.simulate("preset:start_here", "las"), scheduler="mine").save(tmp_path / "run")
    argv = ("explain", tmp_path / "run", "--job", "game", "--at", "3000")
    assert ask(*argv)["scheduler"] == "mine"
    for option in (["--more"], ["--alone"], ["--more-type", "k80"]):
        code, _, err = cli(*argv, *option)
        assert code == 2 and err.startswith(f"error: {tmp_path / 'run'}: scheduler: got 'mine'; expected one of")


def test_what_is_missing_or_wrong_is_said(cli):
    for argv, expected in (
        (
            ("preset:start_here", "--job", "game", "--at", "0"),
            "error: --scheduler: got nothing; expected the scheduler",
        ),
        (("preset:start_here", "--scheduler", "fifo", "--at", "0"), "expected --job"),
        (
            ("preset:start_here", "--scheduler", "fifo", "--job", "x", "--at", "0"),
            "error: --job: got 'x'; expected a job",
        ),
        (("preset:start_here", "--scheduler", "fifo", "--job", "game", "--at", "9 d"), "expected seconds from 0 to"),
        (("preset:start_here", "--scheduler", "no", "--job", "game", "--at", "0"), "expected one of"),
        (("nowhere", "--job", "game", "--at", "0"), "error: nowhere: got No such file or directory"),
    ):
        code, out, err = cli("explain", *argv)
        assert code == 2 and out == "" and expected in err, argv


def test_an_infeasible_solve_names_its_rows(cli, tmp_path):
    jobs = [{"name": name, "model": "m", "steps": 1200.0, "rewards": [[1300.0, 100.0]]} for name in ("one", "two")]
    scenario = workbench.Scenario.from_dict(
        {
            "format": "workbench-scenario/1",
            "cluster": {"accelerators": [{"name": "v100"}], "nodes": [{"name": "a", "accelerator": "v100", "gpus": 1}]},
            "jobs": jobs,
            "throughputs": [{"model": "m", "accelerator": "v100", "gpus": 1, "steps_per_s": 1.0}],
        }
    )
    scenario.save(tmp_path / "two.json")
    argv = ("solve", tmp_path / "two.json", "--formulation", "chronus.leases", "--set", "all_guaranteed=on")
    code, _, err = cli(*argv)
    assert code == 1 and "these rows cannot hold together: " in err and "capacity[" in err
    from tests.cli.support import strict

    code, out, _ = cli(*argv, "--json")
    told = strict(out)
    assert told["status"] == "infeasible" and told["conflict"]["minimal"] is True and len(told["conflict"]["rows"]) >= 3


def test_an_algorithm_beside_its_problem(ask, cli, refused, tmp_path):
    said = ask("exact", "preset:hadar_example", "--scheduler", "hadar", "--time-limit", "60")
    assert said["formulation"] == "hadar.offline" and said["best"] >= said["own"] and said["time_limit_s"] == 60.0
    assert said["schedule"][0].keys() >= {"job", "slot", "gpus", "start_s", "end_s"}
    workbench.simulate("preset:start_here", "hare").save(tmp_path / "run")
    code, out, _ = cli("exact", tmp_path / "run")
    assert code == 0 and out.startswith("hare.exact was not solved, as it is too large (120 tasks;")
    assert "Not in the problem: what switching costs" in out
    assert "An algorithm decides" in str(refused("exact", "preset:start_here", "--scheduler", "fifo")[2])


def test_the_chain_of_a_gpu(ask, cli):
    where = ("chain", "preset:start_here", "--scheduler", "gavel.max_min_fairness", "--gpu", "fast-0/1")
    found = ask(*where, "--at", "45 min", "--recorded")
    assert [link["step"] for link in found["links"]] == ["share", "rank", "placement"]
    assert found["asked"] == "vision" and found["rows"] == [] and found["otherwise"] == ""
    code, out, _ = cli(*where, "--at", "45 min", "--job", "game", "--recorded")
    assert code == 0 and out.startswith("fast-0/1 (v100) is idle at 45 min: vision needs 2 GPUs of v100 at once")
    code, _, err = cli(*where[:-1], "fast-0/7", "--at", "45 min")
    assert code == 2 and err.startswith("error: --gpu: got 'fast-0/7'; expected one of fast-0/0, fast-0/1, slow-0/0")


def test_the_rows_of_a_run(ask, cli):
    where = ("rows", "preset:start_here", "--at", "45 min", "--scheduler")
    found = ask(*where, "gavel.max_min_fairness")
    assert found["at_s"] == 1800.0 and found["rows"][3]["row"].endswith("share[translation,v100] <= 2")
    code, out, _ = cli(*where, "gavel.max_min_fairness")
    assert code == 0 and out.startswith("gavel.max_min_fairness, decided at 1800 s\nrow")
    code, _, err = cli(*where, "hare")
    assert code == 2 and "An algorithm decides" in err
