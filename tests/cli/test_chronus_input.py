"""Chronus on the command line: what its input may not be, by file and by knob; two types of GPUs."""

import json

import pytest

SOLVE = ("solve", "s.json", "--formulation", "chronus.leases")


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """One node of 8 GPUs and a job that takes one lease; writes `s.json` with changes."""
    monkeypatch.chdir(tmp_path)
    cluster = {
        "accelerators": [{"name": "v100"}],
        "nodes": [{"name": "n", "accelerator": "v100", "gpus": 8}],
    }
    rows = [{"model": "m", "accelerator": "v100", "gpus": 8, "steps_per_s": 1.0}]
    job = {"name": "a", "model": "m", "gpus": 8, "steps": 1200, "rewards": [[2400, 100]]}

    def write(types=(), **changes):
        more = [{"name": kind} for kind in types]
        nodes = [{"name": f"n-{kind}", "accelerator": kind, "gpus": 8} for kind in types]
        speeds = [{**rows[0], "accelerator": kind, "steps_per_s": 0.5} for kind in types]
        made = {
            "cluster": {"accelerators": cluster["accelerators"] + more, "nodes": cluster["nodes"] + nodes},
            "jobs": [{**job, **changes}, {**job, "name": "b"}],
            "throughputs": rows + speeds,
        }
        (tmp_path / "s.json").write_text(json.dumps(made))

    write()
    return write


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rewards": [[-5, 100]]}, "jobs[0].rewards[0][0] -5 a number >= 0"),
        ({"rewards": [[10, 50], [20, 80]]}, "job a: rewards that do not increase with the deadline"),
        ({"rewards": [[20, 80], [10, 50]]}, "rising deadlines"),
        ({"rewards": []}, "at least one"),
        ({"rewards": [[0, 100]]}, "job a: rewards with deadlines above 0 s after the arrival"),
        ({"gpus": 9}, "9 GPUs in the cluster"),
        ({"gpus": 0}, "jobs[0].gpus 0 a number >= 1"),
    ],
)
def test_a_job_that_cannot_be_is_named(desk, refused, changes, said):
    desk(**changes)
    code, _, error = refused(*SOLVE)
    assert code == 2 and said in error


@pytest.mark.parametrize(
    ("knob", "said"),
    [
        ("slo_lease_s=0", "knob slo_lease_s 0 a whole number >= 1"),
        ("slo_lease_s=-1200", "knob slo_lease_s -1200"),
        ("slo_lease_s=1.5", "knob slo_lease_s 1.5"),
        ("reserve_overhead=1200", "seconds of a lease kept for resuming 1200 0 to 1199"),
        ("miss_reward=200", "job a, reward 100.0 at least the reward of a miss, 200"),
        ("highest_reward=1", "knob highest_reward 1.0 a number above the reward of a miss, 1"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_knob_that_cannot_be_is_named(desk, refused, knob, said):
    code, _, error = refused(*SOLVE, "--set", knob)
    assert code == 2 and said in error


def test_a_lease_that_is_no_multiple_of_the_best_effort_lease(desk, refused):
    code, _, error = refused("simulate", "s.json", "--scheduler", "chronus", "--set", "be_lease_s=500")
    assert code == 2 and "SLO lease 1200 a multiple of the best-effort lease, 500 s" in error


def test_a_deadline_just_after_the_arrival_is_a_miss_and_says_why(desk, ask):
    desk(rewards=[[1, 100]])
    result = ask(*SOLVE)["result"]
    assert result["leases"] == {"a": None, "b": [1]}
    assert result["cannot_meet"] == {"a": "it needs 1 lease and has 0 before its last deadline"}


def test_on_two_types_the_answer_says_as_what_each_job_runs(desk, ask):
    """Both jobs need all GPUs of a type; b could wait, but a has to be fast."""
    desk(types=("k80",), rewards=[[1200, 100]])
    found = ask(*SOLVE)
    assert found["objective"] == 200 and found["status"] == "optimal"
    assert found["result"]["choice"]["a"] == {"accelerator": "v100", "node_gpus": 8, "gpus": 8}
