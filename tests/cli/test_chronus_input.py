"""Chronus on the command line: what its input may not be, by file and by knob."""

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

    def write(**changes):
        made = {"cluster": cluster, "jobs": [{**job, **changes}, {**job, "name": "b"}], "throughputs": rows}
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
