"""Calibration: logs of a scheduler of the tests' own, with its rule known and hidden; the verdict stands on answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import workbench
from tests.scenario.traces.slurm_dumps import NODES, dump, limited
from workbench.base.errors import InputError
from workbench.cli import main
from workbench.scenario.scenario import Scenario
from workbench.scenario.traces import convert

QOS = "Name|Priority|GraceTime|MaxTRESPU\nnormal|0|00:00:00|gres/gpu=8\n"


def log(folder: Path, *, known: bool, jobs: int = 150) -> Scenario:
    """A log of which one job of a user runs at a time; known: whether a file says so."""
    files = {"log": dump(*limited(jobs)), "nodes": NODES, "limits": QOS}
    for name, text in files.items():
        (folder / name).write_text(text)
    limits = [folder / "limits"] if known else []
    return convert("sacct", folder / "log", nodes=[folder / "nodes"], limits=limits)[0]


def test_a_log_whose_rules_are_known_is_calibrated(tmp_path: Path) -> None:
    """Waits are the log's, but for the scheduler's pace (the log's own starts at once)."""
    found = workbench.calibrate(log(tmp_path, known=True), phases=1)
    assert found.verdict == "calibrated" and found.reasons == []
    assert (found.waits["simulated_s"] - found.waits["recorded_s"]).abs().max() <= 60
    assert found.held_back.median_error < 0.1 and found.held_back.rank_correlation == pytest.approx(1)
    assert all(rival.median_error > 0.3 for rival in found.rivals.values())
    users = found.by("user").set_index("user")
    assert users.loc["a", "recorded_mean_s"] > 3 * users.loc["b", "recorded_mean_s"], "whom the limit holds back"
    assert set(found.waits["part"]) == {-1, 0, 1, 2, 3, 4} and len(found.unexplained()) == 0


def test_a_log_whose_limits_are_hidden_is_indicative(tmp_path: Path) -> None:
    found = workbench.calibrate(log(tmp_path, known=False), phases=1)
    assert found.verdict == "indicative" and "the held-back error of partition medians is" in found.reasons[0]
    assert set(found.unexplained()["user"]) == {"a"}, "those whom the limit held back"


def test_the_command_keeps_the_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the scenario, as its first note; once, however often it is calibrated; later answers begin with it."""
    path = tmp_path / "s.json"
    log(tmp_path, known=True, jobs=80).save(path)
    for _ in range(2):
        assert main(["calibrate", str(path), "--phases", "1", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
    assert list(told) == ["partitions", "held_back", "rivals", "verdict"]
    columns = ["name", "recorded_median_s", "simulated_median_s", "recorded_mean_s", "simulated_mean_s", "jobs"]
    assert [list(row) for row in told["partitions"]] == [columns] and told["partitions"][0]["jobs"] == 80
    assert {"median_error", "rank_correlation"} <= told["held_back"].keys()
    assert list(told["rivals"]) == ["yesterday", "fifo", "mean"]
    notes = Scenario.load(path).notes
    assert notes[0].startswith(f"Calibration: {told['verdict']}")
    assert not any(note.startswith("Calibration") for note in notes[1:])
    assert main(["simulate", str(path), "--scheduler", "slurm"]) == 0
    assert f"note: {notes[0][:40]}" in capsys.readouterr().err
    assert main(["calibrate", str(path), "--phases", "1", "-o", str(tmp_path / "t.json")]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Calibration: ") and "first come, first served" in text


def test_a_log_without_waits_is_refused() -> None:
    with pytest.raises(InputError, match="scenario: got 0 recorded waits; expected a log with at least 50 jobs"):
        workbench.calibrate("preset:start_here")
