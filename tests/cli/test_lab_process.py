"""The process that does a lab's work: its protocol, line by line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import psutil
import pyomo.environ as pyo
import pytest

import workbench
from tests.scenario.traces.slurm_dumps import NODES, dump, queued
from workbench.base.error_origin import fault, line_of
from workbench.cli.lab_process import ManyRuns, serve
from workbench.papers.gavel.formulations.max_min_fairness import MaxMinFairness
from workbench.scenario.presets import preset
from workbench.scenario.traces import convert, parse_cluster
from workbench.scheduling.estimators.by_name import maker
from workbench.scheduling.estimators.speed_error import ErrorLog
from workbench.session.many_runs import RunRequest, do
from workbench.simulation.loop import Observer
from workbench.simulation.run import Run


class LabProcess:
    """The program, spoken to by hand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.popen = subprocess.Popen(
            [sys.executable, "-m", "workbench.cli.lab_process"],
            env={**os.environ, "TMPDIR": str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )

    def say(self, **request: Any) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write(json.dumps(request) + "\n")
        self.popen.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """The next message that is no progress."""
        assert self.popen.stdout is not None
        while True:
            message: dict[str, Any] = json.loads(self.popen.stdout.readline())
            if message["kind"] != "progress":
                return message


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabProcess]:
    found = LabProcess(tmp_path_factory.mktemp("process"))
    assert found.hear() == {"kind": "ready"}
    yield found
    assert found.popen.stdin is not None
    found.popen.stdin.close()
    found.popen.wait(20)


def scenario(name: str = "start_here") -> dict[str, Any]:
    return preset(name).to_dict()


def test_a_simulation_is_handed_over_and_nothing_on_disk(process: LabProcess) -> None:
    process.say(id=7, kind="simulate", scenario=scenario(), scheduler="fifo", knobs={})
    message = process.hear()
    assert (message["id"], message["kind"]) == (7, "done") and message["wall_s"] > 0
    assert Run.from_message(message["run"]) == workbench.simulate("preset:start_here", "fifo")
    assert list(process.folder.iterdir()) == []


def test_seed_and_end_are_taken(process: LabProcess) -> None:
    process.say(id=8, kind="simulate", scenario=scenario(), scheduler="fifo", seed=5, until_s=600)
    run = Run.from_message(process.hear()["run"])
    assert (run.seed, run.end_s) == (5, 600)


def test_errors_of_a_belief_are_drawn_by_the_seed_of_the_run(process: LabProcess) -> None:
    name, belief = "gavel.max_min_fairness", "noisy:sd=1"
    process.say(id=10, kind="simulate", scenario=scenario("gavel_example"), scheduler=name, belief=belief, seed=5)
    run = Run.from_message(process.hear()["run"])
    assert run == workbench.simulate("preset:gavel_example", name, belief=belief, seed=5) and run.drew
    assert not run.jobs.equals(workbench.simulate("preset:gavel_example", name, belief=belief, seed=0).jobs)


@pytest.mark.parametrize("until_s", [600.0, 9e9])
def test_a_run_ends_at_the_earlier_of_a_time_and_a_window(process: LabProcess, until_s: float) -> None:
    ends = {"until_s": until_s, "window": (0, 0)}
    process.say(id=9, kind="simulate", scenario=scenario(), scheduler="fifo", **ends)
    expected = workbench.simulate("preset:start_here", "fifo", until_s=until_s, window=(0, 0))
    assert Run.from_message(process.hear()["run"]) == expected
    assert expected.end_s == min(until_s, workbench.simulate("preset:start_here", "fifo", window=(0, 0)).end_s)


def test_a_belief_is_taken_and_its_errors_come_with_the_run(process: LabProcess) -> None:
    process.say(id=3, kind="simulate", scenario=scenario(), scheduler="srtf", belief="pmi")
    message = process.hear()
    assert Run.from_message(message["run"]) == workbench.simulate("preset:start_here", "srtf", belief="pmi")
    log = ErrorLog(maker("pmi"), every=None)
    workbench.simulate("preset:start_here", "srtf", belief=log)
    assert message["belief"] == "pmi" and message["errors"] == log.table().to_dict("list")


def test_the_truth_has_no_errors_to_learn_from(process: LabProcess) -> None:
    for belief in ({}, {"belief": "oracle"}):
        process.say(id=4, kind="simulate", scenario=scenario(), scheduler="srtf", **belief)
        message = process.hear()
        assert (message["belief"], message["errors"]) == ("oracle", None)
        assert Run.from_message(message["run"]) == workbench.simulate("preset:start_here", "srtf")


@pytest.mark.parametrize(("limit_s", "finished"), [(600.0, 3), (0.0, 0)])
def test_a_trial_says_how_far_it_came_in_a_while(process: LabProcess, limit_s: float, finished: int) -> None:
    process.say(id=6, kind="cost", scenario=scenario(), scheduler="fifo", limit_s=limit_s)
    found = process.hear()
    assert (found["kind"], found["finished"], found["jobs"]) == ("done", finished, 3) and found["wall_s"] > 0


def test_a_formulation_is_described(process: LabProcess) -> None:
    knobs = {
        "heterogeneity_aware": False,
        "round_s": 60,
    }  # knobs of the scheduler that the formulation has not are left
    process.say(id=9, kind="describe", formulation="gavel.max_min_fairness", scenario=scenario(), knobs=knobs)
    found = process.hear()
    assert found["kind"] == "done" and "variables" in found["size"]
    assert "def build" in found["source"] and "$$" in found["statement"] and found["symbols"]
    assert found["values"]["gpus"] == "v100: 2; k80: 1" and found["values"]["share"] == "6 to be decided"


@pytest.mark.parametrize(
    ("request_", "where"),
    [
        ({"kind": "simulate", "scenario": {"cluster": 3}, "scheduler": "fifo"}, "lab: "),
        ({"kind": "simulate", "scenario": scenario(), "scheduler": "nobody"}, "scheduler"),
        ({"kind": "simulate", "scenario": scenario(), "scheduler": "fifo", "knobs": {"no": 1}}, "knobs of fifo"),
        ({"kind": "simulate", "scenario": scenario(), "scheduler": "fifo", "belief": "nobody"}, "belief"),
        ({"kind": "simulate", "scenario": scenario(), "scheduler": "fifo", "belief": 3}, "belief"),
        (
            {"kind": "simulate", "scenario": scenario(), "scheduler": "fifo", "belief": "low_rank:rank=0"},
            "knob rank",
        ),
        (
            {"kind": "simulate", "scenario": scenario(), "scheduler": "fifo", "belief": "layered"},
            "cluster.network_gbps",
        ),
        ({"kind": "describe", "scenario": scenario(), "formulation": "nothing"}, "formulation"),
        ({"kind": "describe"}, "the labs' process"),
    ],
)
def test_what_is_wrong_is_answered_and_the_process_goes_on(
    process: LabProcess, request_: dict[str, Any], where: str
) -> None:
    process.say(id=1, **request_)
    message = process.hear()
    assert message["kind"] == "error" and message["error"]["where"].startswith(where)
    assert message["error"]["expected"]


def test_a_bug_of_the_process_itself_is_told_as_ours(process: LabProcess) -> None:
    process.say(id=1, kind="simulate", scheduler="fifo")
    error = process.hear()["error"]
    assert error["where"] == "scheduler fifo" and error["value"] == "KeyError: 'scenario'"
    assert "report it" in error["expected"]


def test_a_bug_of_ours_that_a_users_code_meets_is_printed_and_told_with_its_line(
    capfd: pytest.CaptureFixture[str],
) -> None:
    try:
        line_of(cast("Any", None))
    except AttributeError as error:
        told = fault(error, "asked")
    assert re.fullmatch(rf"asked \({re.escape(os.path.relpath(__file__))}:\d+\)", told.where)
    assert "report it" in told.expected and "in line_of" in capfd.readouterr().err


def test_a_mistake_in_a_rooms_code_is_told_with_its_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    told: list[Any] = []
    monkeypatch.setattr(MaxMinFairness, "build", lambda self, data, knobs: pyo.Sett())
    asked = {"kind": "describe", "scenario": scenario(), "formulation": "gavel.max_min_fairness"}
    serve(asked, told.append, ManyRuns())
    where = rf"formulation gavel.max_min_fairness \({re.escape(os.path.relpath(__file__))}:\d+\)"
    assert re.fullmatch(where, told[0]["error"]["where"]) and "Sett" in told[0]["error"]["value"]
    assert told[0]["error"]["expected"] == "no mistake in its code" and not capfd.readouterr().err


def hear_many(process: LabProcess) -> tuple[dict[int, dict[str, Any]], dict[str, Any]]:
    """What is told of each run, by number, and the last message."""
    assert process.popen.stdout is not None
    told = {}
    while (message := json.loads(process.popen.stdout.readline()))["kind"] == "progress":
        told[message["number"]] = message
    return told, message


def test_many_runs_are_told_each_by_itself_and_one_that_fails_ends_no_other(process: LabProcess) -> None:
    common = {"scenario": 0, "knobs": {}, "seed": 5}
    requests = [
        {**common, "scheduler": "srtf", "belief": "pmi"},
        {**common, "scheduler": "nobody"},
        {**common, "scheduler": "las", "scenario": 1, "until_s": 600},
    ]
    both = [scenario(), scenario("gavel_example")]
    for _ in range(2):
        process.say(id=12, kind="many", workers=2, scenarios=both, requests=requests)
        told, last = hear_many(process)
        assert (last["id"], last["kind"]) == (12, "done") and set(told) == {0, 1, 2}
        assert Run.from_message(told[0]["run"]) == workbench.simulate("preset:start_here", "srtf", seed=5, belief="pmi")
        assert Run.from_message(told[2]["run"]) == workbench.simulate(
            "preset:gavel_example", "las", seed=5, until_s=600
        )
        assert told[1]["error"]["where"] == "scheduler" and told[1]["status"] == "invalid_input"


def test_many_runs_alike_but_for_a_seed_that_draws_nothing_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counted(request: RunRequest, observers: Iterable[Observer]) -> Run:
        made.append(request.seed)
        return do(request, observers)

    monkeypatch.setattr("workbench.session.many_runs.do", counted)
    common = {"scenario": 0, "knobs": {}, "scheduler": "las", "window": [0, 1]}  # as JSON has a window
    requests = [{**common, "seed": seed} for seed in (3, 1, 2)]
    told: list[dict[str, Any]] = []
    ManyRuns(alone=True).do({"workers": 1, "scenarios": [scenario()], "requests": requests}, told.append)
    assert made == [3] and [(each["number"], each["run"].seed) for each in told[:-1]] == [(0, 3), (1, 1), (2, 2)]


def test_small_runs_of_many_start_no_process_large_ones_do(process: LabProcess) -> None:
    small, few = scenario(), workbench.preset("start_here")
    jobs = [few.jobs[0].model_copy(update={"name": f"job {number}"}) for number in range(301)]
    large = few.replace(jobs=jobs).to_dict()
    common = {"knobs": {}, "scheduler": "fifo", "seed": 0, "until_s": 3600.0}
    for scenarios, begun in (([small], 0), ([small, large, small], 2)):
        requests = [{**common, "scenario": number} for number in range(len(scenarios))]
        process.say(id=13, kind="many", workers=2, scenarios=scenarios, requests=requests)
        assert set(hear_many(process)[0]) == set(range(len(scenarios)))
        children = psutil.Process(process.popen.pid).children(recursive=True)
        assert len([child for child in children if "spawn_main" in " ".join(child.cmdline())]) == begun


def test_a_log_of_slurm_is_read_with_the_files_of_its_site_in_any_order(process: LabProcess, tmp_path: Path) -> None:
    """As `convert` reads them; two logs, and files without one, are told."""
    texts = {"a.txt": NODES, "log.txt": dump(*queued(4)), "q.txt": "Name|GraceTime|MaxTRESPU\nnormal|0|gres/gpu=8\n"}
    paths = [tmp_path / name for name in texts]
    for path in paths:
        path.write_text(texts[path.name])
    asked = {"kind": "convert", "format": "sacct", "throughputs": None, "sample": None}
    process.say(id=9, **asked, paths=[*map(str, paths)], cluster=None)
    message = process.hear()
    found, _ = convert("sacct", paths[1], nodes=paths[:1], limits=paths[2:])
    assert message["name"] == "log.txt" and message["scenario"] == found.to_dict()
    process.say(id=9, **asked, paths=[*map(str, paths[1:])], cluster=parse_cluster("a100=2x8"))
    found, _ = convert("sacct", paths[1], limits=paths[2:], cluster=parse_cluster("a100=2x8"))
    assert process.hear()["scenario"] == found.to_dict()
    (tmp_path / "b.txt").write_text(texts["log.txt"])
    for given, told in ((["a.txt", "q.txt"], "no log"), (["log.txt", "b.txt"], "2 logs (log.txt and b.txt)")):
        process.say(id=9, **asked, paths=[str(tmp_path / name) for name in given], cluster=None)
        error = process.hear()["error"]
        assert error["where"] == "2 files" and error["value"] == told


def test_progress_is_told() -> None:
    from workbench.cli.lab_process import progress_json
    from workbench.simulation.loop import RunProgress

    assert json.loads(json.dumps(progress_json(RunProgress(1.0, 2, 3, 4, 5, 6))))["finished"] == 3


def test_what_libraries_print_does_not_reach_the_protocol() -> None:
    program = (
        "import os, sys, workbench.cli.lab_process as lab_process\n"
        "target = lab_process._private_stdout()\n"
        "lab_process.warm_up = lambda: (os.system('echo from C'), print('from Python', flush=True))\n"
        "lab_process.main(target=target)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        assert json.loads(process.stdout.readline()) == {"kind": "ready"}
        process.stdin.close()
        assert process.stdout.read() == ""
        assert "from C" in (said := process.stderr.read()) and "from Python" in said
