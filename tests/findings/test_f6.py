"""F6: a full disk or pipe is one line that names the file, an exit code other than 0, and nothing half done."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.simulation.support import make
from workbench import Scenario
from workbench.cli import main
from workbench.errors import InputError
from workbench.processes import how_ended
from workbench.scenario import json_schema

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full")
@pytest.mark.parametrize(
    "argv", [["presets", "start_here"], ["presets", "--json"], ["simulate", "none.json", "--json"]]
)
def test_standard_output_on_a_full_disk(argv: list[str]) -> None:
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "workbench", *argv], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120
        )
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and "error: standard output: got No space left on device" in lines[-1]
    assert len(lines) <= 2 and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "argv",
    [
        ["presets", "start_here", "-o", "OUT"],
        ["simulate", "preset:start_here", "--scheduler", "fifo", "--out", "OUT"],
        ["generate", "--cluster", "v100=1x4", "--jobs", "9", "-o", "OUT"],
    ],
    ids=lambda argv: argv[0],
)
def test_a_disk_that_is_full_names_the_file_and_leaves_nothing(
    argv: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    target = tmp_path / "target"
    argv = [each.replace("OUT", str(target)) for each in argv]
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        patch.setattr("pandas.DataFrame.to_csv", full)
        assert main(argv) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"error: {target}") and "No space left on device" in err and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_the_system_ended_is_told_in_words() -> None:
    assert how_ended(-signal.SIGKILL) == "was ended by the system, most likely for want of memory"
    assert how_ended(-signal.SIGTERM) == "was ended by signal 15" and how_ended(3) == "ended with code 3"


@pytest.mark.parametrize("speed", [1e-320, 9e-13, 2e12, 1e308])
def test_a_speed_that_no_measure_can_hold_is_refused(speed: float) -> None:
    data = make([{"steps": 3.0}]).to_dict()
    data["throughputs"][0]["steps_per_s"] = speed
    with pytest.raises(InputError, match=r"throughputs\[0\].steps_per_s: got .*; expected .*number [<>]= 1"):
        Scenario.from_dict(data)


def test_a_price_has_bounds_and_the_schema_says_them() -> None:
    data = make([{"steps": 3.0}]).to_dict()
    data["cluster"]["accelerators"][0]["price_per_hour"] = 1e308
    with pytest.raises(InputError, match=r"price_per_hour: got 1e\+308; expected a number <= 1"):
        Scenario.from_dict(data)
    text = json.dumps(json_schema())
    assert all(bound in text for bound in ('"maximum": 1000000.0', '"maximum": 1000000000000.0', "1e-12"))
