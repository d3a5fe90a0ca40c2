"""What solve, simulate and compare say beside the numbers: notes, SLOs, pairs, beliefs; options of convert/generate."""

import json

import pytest

import workbench
from workbench.scheduling.estimators.layered import Layered
from workbench.scheduling.estimators.speed_error import speed_errors

SHARING = ("preset:gavel_sharing", "--formulation", "gavel.max_min_fairness", "--set", "space_sharing=on")


@pytest.fixture
def late(tmp_path):
    """The paper's three jobs, two of them with deadlines: job 0's cannot be met, job 1's can."""
    made = workbench.preset("gavel_example").to_dict()
    made["jobs"][0]["rewards"] = [[60.0, 1.0]]
    made["jobs"][1]["rewards"] = [[1e6, 1.0], [2e6, 0.0]]
    (tmp_path / "late.json").write_text(json.dumps(made))
    return tmp_path / "late.json"


def test_only_combinations_with_a_share_are_shown(cli, ask):
    allocation = workbench.solve("preset:gavel_sharing", "gavel.max_min_fairness", space_sharing=True).values[
        "allocation"
    ]
    jobs = {job.name for job in workbench.preset("gavel_sharing").jobs}
    having = [unit for unit, row in allocation.items() if any(row.values())]
    assert len(having) < len(allocation) and not jobs.issuperset(having)
    code, out, _ = cli("solve", *SHARING)
    head, _, tail = out.partition(f"{len(allocation) - len(having)} combinations (a job alone, or two")
    assert code == 0 and tail
    assert all(f"\n{unit}  " in head for unit in having[:5]) and "job-0  " in tail
    assert set(ask("solve", *SHARING)["result"]["allocation"]) == jobs.union(having)


def test_solve_refuses_sharing_where_nobody_may_share(refused):
    name = "gavel.max_min_fairness"
    argv = ("preset:gavel_example", "--set", "space_sharing=on")
    solved = refused("solve", *argv, "--formulation", name)
    assert solved == refused("simulate", *argv, "--scheduler", name)
    assert solved[:2] == (2, "invalid_input") and "core.space_sharing" in solved[2]


@pytest.mark.parametrize(
    ("formulation", "note"), [("gavel.min_cost_slo", "no job has a deadline"), ("gavel.hierarchical", "an entity")]
)
def test_what_a_policy_is_about_and_the_scenario_lacks_is_noted(cli, formulation, note):
    for command, option in (("solve", "--formulation"), ("simulate", "--scheduler")):
        _, _, err = cli(command, "preset:gavel_example", option, formulation)
        assert err.startswith(f"note: {formulation}: ") and note in err
    assert cli("solve", "preset:gavel_example", "--formulation", "gavel.max_min_fairness")[2] == ""


def test_packing_where_nobody_may_share_is_noted(cli):
    _, _, err = cli("simulate", "preset:gavel_example", "--scheduler", "gandiva")
    assert err.startswith("note: gandiva: no two jobs may share their GPUs")
    assert "share" not in cli("simulate", "preset:gavel_sharing", "--scheduler", "gandiva", "--until", "2 h")[2]


def test_slo_violations_are_shown_where_a_job_has_an_slo(cli, ask, late):
    argv = ("simulate", late, "--scheduler", "gavel.min_cost_slo")
    _, out, err = cli(*argv)
    assert "SLO violations " in out and "SLO violation rate" in out and "50.0 %" in out
    assert err == "note: gavel.min_cost_slo dropped the SLOs of 1 job at some time, as they could not all be met\n"
    metrics = ask(*argv)["metrics"]
    assert (metrics["slo_violations"], metrics["slo_violation_rate"]) == (1, 0.5)
    _, out, _ = cli("compare", late, "--schedulers", "fifo,las")
    assert out.count("50.0 %") >= 2 and "SLO violations" in out
    _, out, _ = cli("simulate", "preset:gavel_example", "--scheduler", "fifo")
    assert "SLO" not in out


def test_slos_that_cannot_be_met_are_named_in_full(cli, refused, tmp_path):
    made = workbench.preset("gavel_example").to_dict()
    for job in made["jobs"]:
        job["rewards"] = [[60.0, 1.0]]
    (tmp_path / "s.json").write_text(json.dumps(made))
    argv = ("solve", tmp_path / "s.json", "--formulation", "gavel.min_cost_slo")
    code, out, _ = cli(*argv, "--json")
    error = json.loads(out)["error"]
    assert code == 1 and json.loads(out)["status"] == "infeasible"
    assert all(f"job {n} needs" in error["value"] for n in range(3)) and "..." not in error["value"]
    assert "infeasible=drop" in error["expected"]
    assert "job 2 needs" in cli(*argv)[2]


def test_the_beliefs_error_is_told(cli, ask):
    argv = ("simulate", "preset:gavel_sharing", "--scheduler", "gavel.max_min_fairness", "--until", "1 h", "--belief")
    found = ask(*argv, "low_rank:profiled=0,rank=2")
    assert found["belief_error"] > 0.01 and "belief_error" not in ask(*argv, "oracle")
    assert f"off by {100 * found['belief_error']:.3g} %" in cli(*argv, "low_rank:profiled=0,rank=2")[1]


def test_the_error_of_learned_speeds_is_told_where_no_jobs_may_share(cli, ask):
    argv = ("simulate", "preset:hops_64", "--scheduler", "hops", "--until", "20 min", "--belief")
    scenario = workbench.preset("hops_64")
    expected = 100 * float(speed_errors(scenario, Layered(scenario, seed=scenario.seed)).mean())
    assert 100 * ask(*argv, "layered")["belief_error"] == pytest.approx(expected) and expected > 1
    assert f"(Three layers (Hops)); speeds are off by {expected:.3g} %" in cli(*argv, "layered")[1]
    assert "Speeds known: low_rank (Low rank (Gavel)); no speeds of pairs to estimate" in cli(*argv, "low_rank")[1]


def test_what_the_belief_reads_is_used(cli, ask):
    argv = ("simulate", "preset:hops_64", "--scheduler", "hops", "--until", "20 min", "--belief")
    assert ask(*argv, "oracle")["not_used"] == ["models.load_s", "cluster.network_gbps"]
    assert ask(*argv, "layered")["not_used"] == [] and "not used" not in cli(*argv, "layered:transfer=on")[2]


def test_compare_takes_a_belief(ask, refused):
    options = ["compare", "preset:gavel_sharing", "--schedulers", "gavel.max_min_fairness", "--until", "30 h"]
    options += ["--set", "gavel.max_min_fairness:space_sharing=on"]
    believed = ask(*options, "--belief", "low_rank:profiled=0,rank=2")
    assert believed["belief_error"] > 0.01
    assert refused(*options, "--belief", "magic")[:2] == (2, "invalid_input")
    both = ask(*options, "--belief", "oracle", "--belief", "low_rank")["runs"]
    assert [run["belief"] for run in both] == ["oracle", "low_rank"]
    assert believed["runs"][0]["metrics"] != both[0]["metrics"]


def test_one_scheduler_twice_with_other_knobs(ask, refused):
    name = "gavel.max_min_fairness"
    argv = ["compare", "preset:gavel_example", "--schedulers", f"a={name},b={name}"]
    found = ask(*argv, "--set", "b:partitions=2")
    assert [(run["label"], run["scheduler"]) for run in found["runs"]] == [("a", name), ("b", name)]
    assert refused("compare", "preset:gavel_example", "--schedulers", f"{name},{name}")[0] == 2
    assert refused("compare", "preset:gavel_example", "--schedulers", f"a={name},b=")[0] == 2


def test_jobs_may_share_in_a_generated_scenario(ask, refused, tmp_path):
    argv = ("generate", "--cluster", "v100=2x1,p100=2x1,k80=2x1", "--jobs", 5)
    ask(*argv, "-o", tmp_path / "s.json", "--space-sharing")
    ask(*argv, "-o", tmp_path / "alone.json")
    assert workbench.load(tmp_path / "s.json").core.space_sharing
    assert not workbench.load(tmp_path / "alone.json").core.space_sharing


def test_a_model_without_rows_is_named_once(refused, cli, tmp_path):
    made = workbench.preset("gavel_sharing").to_dict()
    model = made["colocated"][0]["model"]
    made["throughputs"] = [row for row in made["throughputs"] if row["model"] != model]
    (tmp_path / "s.json").write_text(json.dumps(made))
    _, _, err = cli("validate", tmp_path / "s.json")
    assert sum("colocated[" in line for line in err.splitlines()) == 1 and model in err


def test_nobody_there_is_said(cli, tmp_path):
    made = workbench.preset("gavel_example").to_dict()
    for job in made["jobs"]:
        job["arrival_s"] = 100.0
    (tmp_path / "s.json").write_text(json.dumps(made))
    _, out, _ = cli("solve", tmp_path / "s.json", "--formulation", "gavel.max_min_fairness", "--at", "0")
    assert "\nno jobs\n" in out
