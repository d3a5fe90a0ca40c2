"""Every measure of a summary is worked out a second time, from the timeline and the events alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.simulation.support import make, with_tables
from workbench.analysis.metrics import METRICS
from workbench.cli import main
from workbench.simulation.run import Run

FAULTS = {"core": {"faults": {"list": [{"node": "n-0", "from_s": 50.0, "to_s": 90.0}]}, "restart": {"restart_s": 5.0}}}
WITH_FAULTS = make([{"steps": 200.0, "gpus": 2}, {"steps": 100.0, "arrival_s": 20.0}], 2, **FAULTS)
RUNS: dict[str, tuple[Any, str]] = {
    "faults": (WITH_FAULTS, "las"),
    "hare": ("preset:hare_example", "hare"),
    "hadare": ("preset:start_here", "hadare"),
    "verdicts": ("preset:start_here", "chronus"),
    "rounds": ("preset:gavel_example", "gavel.max_min_fairness"),
}


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    return {name: workbench.simulate(scenario, scheduler) for name, (scenario, scheduler) in RUNS.items()}


def verified(run: Run, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    run.save(folder, force=True)
    code = main(["verify", str(folder), "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", RUNS)
def test_both_ways_agree(name: str, runs: dict[str, Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = verified(runs[name], tmp_path / "R", capsys)
    assert code == 0 and found["disagree"] == []
    assert {metric.name for metric in METRICS} | {"conservation"} <= set(found["agree"])


@pytest.mark.parametrize(
    ("name", "table", "column", "more", "measures"),
    [
        (
            "rounds",
            "jobs",
            "finish_s",
            10.0,
            {"mean_jct_s", "mean_finish_time_fairness"},
        ),
        ("rounds", "jobs", "waited_s", 10.0, {"mean_wait_s", "max_wait_s", "max_latency_ratio"}),
        ("rounds", "jobs", "first_start_s", -10.0, {"mean_first_start_s"}),
        ("rounds", "jobs", "preemptions", 1, {"preemptions", "max_preemptions"}),
        ("rounds", "decisions", "busy_gpus", -1, {"fragments_gpus"}),
        ("faults", "jobs", "steps_lost", 10.0, {"lost_work"}),
        ("faults", "jobs", "restarts", 1, {"restarts"}),
        ("faults", "jobs", "moves", 1, {"moves"}),
        ("hare", "timeline", "steps", 1.0, {"conservation: steps"}),
    ],
)
def test_a_table_that_is_not_what_happened_is_told(
    name: str, table: str, column: str, more: float, measures: set[str], runs: dict[str, Run], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """The folder is whole, so that only the second way finds it: measures with both values, exit code 1."""
    frame = runs[name].table(table).copy()
    frame.loc[0, column] += more
    code, found = verified(with_tables(runs[name], **{table: frame}), tmp_path / "R", capsys)
    told = {each["name"]: each for each in found["disagree"]}
    assert code == 1 and measures <= set(told)
    assert all(each["summary"] != each["again"] for each in told.values() if "again" in each)
    assert main(["verify", str(tmp_path / "R")]) == 1
    assert all(measure in capsys.readouterr().out for measure in list(measures)[:1])


def test_a_decision_that_is_said_to_have_changed_something(
    runs: dict[str, Run], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    decisions = runs["rounds"].decisions.copy()
    decisions["changed"] = ~decisions["changed"]
    code, found = verified(with_tables(runs["rounds"], decisions=decisions), tmp_path / "R", capsys)
    assert code == 1 and [each["name"] for each in found["disagree"]] == ["changed_rounds"]
