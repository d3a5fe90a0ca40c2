"""A result that the log makes impossible, or that less capacity cannot bring, is warned of in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import workbench
from workbench.analysis.metrics import summary
from workbench.analysis.run_report import run_report
from workbench.cli import main
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import convert, parse_cluster

HEADER = "JobID|Submit|Start|End|Elapsed|State|AllocTRES"
DAY = "2024-03-01T"


def log(folder: Path, jobs: list[tuple[str, str, int]], columns: str = HEADER) -> Scenario:
    """Jobs with start, end and length (s) on one A100 of eight, all submitted at 8."""
    rows = []
    for i, (start, end, seconds) in enumerate(jobs):
        cells = [
            str(i),
            f"{DAY}08:00:00",
            f"{DAY}{start}",
            f"{DAY}{end}",
            f"{seconds // 3600:02}:{seconds // 60 % 60:02}",
        ]
        cells[-1] += f":{seconds % 60:02}"
        named = dict(zip(HEADER.split("|"), [*cells, "COMPLETED", "gres/gpu:a100=1"], strict=True))
        rows.append("|".join(named[name] for name in columns.split("|")))
    (folder / "log").write_text("\n".join([columns, *rows]))
    return convert("sacct", folder / "log", cluster=parse_cluster("a100=1x8"))[0]


def test_a_makespan_far_beyond_the_log_is_warned_of_wherever_the_run_is_told(tmp_path: Path, capsys: Any) -> None:
    """Forty jobs of a minute had ended after six; in rounds of half an hour the last eight end after two hours."""
    scenario = log(tmp_path, [("08:00:00", f"08:0{1 + i // 8}:00", 60) for i in range(40)])
    assert summary(workbench.simulate(scenario, "las", round_s=60)).warnings == ()
    run = workbench.simulate(scenario, "las", round_s=1800)
    warning, of_rounds = summary(run).warnings
    assert of_rounds.startswith("Half of the jobs run for 1 min or less, and jobs start only when a round of 30 min")
    assert "ends after 2 h 1 min; in the log the last one had ended after 5 min" in warning
    assert warning in run_report(run).replace("&#x27;", "'") and "2 h 1 min; in the log" in run._repr_html_()  # type: ignore[operator]
    scenario.save(tmp_path / "s.json")
    assert main(["simulate", str(tmp_path / "s.json"), "--scheduler", "las", "--set", "round_s=1800", "--json"]) == 0
    told = capsys.readouterr()
    assert f"warning: {warning}" in told.err and json.loads(told.out)["metrics"]["warnings"] == [warning, of_rounds]


def test_without_ends_the_log_shows_no_more_than_when_no_job_waits(tmp_path: Path) -> None:
    jobs = [("08:00:00", f"08:0{1 + i // 8}:00", 60) for i in range(40)]
    scenario = log(tmp_path, jobs, "JobID|Submit|Elapsed|State|AllocTRES")
    warning, _ = summary(workbench.simulate(scenario, "las", round_s=1800)).warnings
    assert "without any waiting it would have ended after 1 min" in warning


def test_a_utilisation_far_beyond_the_log_is_warned_of(tmp_path: Path) -> None:
    """Two jobs of an hour, of which the log ran the second nine hours later: 2.8 % of 8 GPUs, and 25 % here."""
    scenario = log(tmp_path, [("08:00:00", "09:00:00", 3600), ("16:00:00", "17:00:00", 3600)])
    (warning,) = summary(workbench.simulate(scenario, "fifo")).warnings
    assert "Utilisation is 25.0 %; the log shows 2.8 %" in warning


def slow_k80() -> Scenario:
    """Four jobs of an hour on V100, ten on K80; three V100 and a K80, which takes the fourth job."""
    speeds = [{"model": "m", "accelerator": name, "steps_per_s": rate} for name, rate in (("v100", 10), ("k80", 1))]
    jobs = [{"name": f"j{i}", "model": "m", "steps": 36000} for i in range(4)]
    cluster = parse_cluster("v100=3x1,k80=1x1")
    return Scenario.from_dict({"cluster": cluster, "jobs": jobs, "throughputs": speeds})


@pytest.mark.parametrize("change", ["faults k80-0=0:90000", "nodes k80=-1"])
def test_less_capacity_that_shortens_things_is_warned_of(change: str) -> None:
    """Without the K80 the fourth job waits an hour and has a V100: the makespan falls from ten hours to two."""
    found = workbench.what_if(slow_k80(), "fifo", change)
    says = [text for text in found.conclusions if text.startswith("Warning: with ")]
    assert says == [f"Warning: {text}" for text in found.warnings]
    assert any("makespan goes from" in text and "Less capacity seldom helps" in text for text in says)
    assert any("utilisation goes from" in text and "loss of GPUs explains no more" in text for text in says)


def test_more_capacity_and_other_policies_are_not_warned_of() -> None:
    found = workbench.what_if(slow_k80(), "fifo", ["nodes v100=+1", "scheduler srtf"])
    assert found.warnings == ()
