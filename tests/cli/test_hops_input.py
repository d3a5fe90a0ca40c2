"""Hops on the command line: what its input may not be, and what it says when a solver's time runs out."""

import json

import pytest

from workbench.papers.hops.algorithms import round_state
from workbench.scheduling.solvers import TimeLimitError

SOLVE = ("solve", "s.json", "--formulation", "hops.round")
SIMULATE = ("simulate", "s.json", "--scheduler", "hops")


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """Two servers of two GPUs, jobs a (1 or 2 GPUs) and b (2); writes `s.json` with changes."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"model": "m", "accelerator": "v100", "gpus": n, "placement": word, "steps_per_s": n * part}
        for n in range(1, 5)
        for word, part in (("consolidated", 1.0), ("unconsolidated", 0.5))
    ]
    cluster = {
        "accelerators": [{"name": "v100", "link_gbps": 100.0}],
        "nodes": [{"name": "n", "accelerator": "v100", "gpus": 2, "count": 2}],
        "network_gbps": 100.0,
    }
    jobs = [
        {"name": "a", "model": "m", "steps": 100, "gpus": 1, "gpu_choices": [1, 2]},
        {"name": "b", "model": "m", "steps": 100, "gpus": 2},
    ]
    models = [{"name": "m", "parameters_gb": 0.1}]

    def write(job=(), accelerator=()):
        jobs[0].update(job)
        cluster["accelerators"][0].update(accelerator)
        made = {"cluster": cluster, "models": models, "jobs": jobs, "throughputs": rows}
        (tmp_path / "s.json").write_text(json.dumps(made))

    write()
    return write


@pytest.mark.parametrize("command", [SOLVE, SIMULATE])
@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"job": {"gpu_choices": []}}, "jobs[0].gpu_choices: got []"),
        ({"job": {"gpus": 8, "gpu_choices": [8, 9]}}, "8 or 9 GPUs in the cluster"),
        ({"accelerator": {"link_gbps": 0}}, "link_gbps: got 0"),
    ],
)
def test_bad_scenarios_are_refused_in_one_message(desk, cli, command, change, named):
    """Empty and impossible requirement sets, bandwidths that there are not."""
    desk(**change)
    code, out, err = cli(*command)
    assert (code, out) == (2, "") and named in err and "Traceback" not in err


@pytest.mark.parametrize("command", [SOLVE, SIMULATE])
@pytest.mark.parametrize("value", ["1", "-0.1", "nan"])
def test_a_gap_outside_0_to_1_is_refused(desk, cli, command, value):
    code, out, err = cli(*command, "--set", f"gap={value}")
    assert (code, out) == (2, "") and f"error: --set gap={value}: knob gap: got" in err


@pytest.mark.parametrize("value", ["1", "2.5"])
def test_so_is_one_given_to_the_solver(desk, cli, value):
    code, out, err = cli(*SOLVE, "--gap", value)
    assert (code, out) == (2, "") and f"gap of the solver: got {float(value)}" in err


def test_without_a_bandwidth_the_layered_belief_is_refused_by_name(desk, cli):
    desk(accelerator={"link_gbps": None})
    code, _, err = cli(*SIMULATE, "--belief", "layered")
    assert code == 2 and "v100.link_gbps: got None" in err
    assert cli(*SIMULATE)[0] == 0, "the true speeds need none"


def test_decisions_out_of_time_are_said(desk, cli, monkeypatch):
    calls, real = [], round_state.make_plan

    def slow(*arguments):
        calls.append(1)
        if len(calls) == 1:
            return real(*arguments)
        raise TimeLimitError("hops_round", "1 s")

    monkeypatch.setattr(round_state, "make_plan", slow)
    desk(job={"steps": 1000, "gpus": 2, "gpu_choices": [2]})
    code, _, err = cli(*SIMULATE, "--set", "profile_iterations=0", "--until", "500")
    assert code == 0
    assert "hops ran out of its time limit at 1 decision of" in err
    assert "0 took the best plan until then, 1 found none" in err
    monkeypatch.setattr(round_state, "make_plan", real)
    assert "time limit" not in cli(*SIMULATE)[2]
