"""A full disk or pipe is one line that names the file, an exit code other than 0, and nothing half done."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.simulation.support import make
from workbench import Scenario
from workbench.base.errors import InputError
from workbench.base.processes import how_ended
from workbench.cli import main
from workbench.scenario.scenario import json_schema

FULL = Path("/dev/full")
PROJECT = Path(__file__).parents[2]


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


FILLING = """
import contextlib, io, json, os, resource, shutil, sys
from pathlib import Path
import widgets.editors.scenario_file as lab
import workbench
from workbench.analysis.charts import gantt, save
from workbench.cli import main
from workbench.base.errors import WorkbenchError

def told(do):
    err = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
        resource.setrlimit(resource.RLIMIT_FSIZE, (1500, resource.RLIM_INFINITY))
        try:
            code = do()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    found = code, err.getvalue(), sorted(os.listdir())
    for path in map(Path, os.listdir()):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return found

def file_of_lab():
    scenario = workbench.preset("gavel_physical")
    file = lab.ScenarioFile(lambda: scenario, lambda found: None, str)
    file.name.value = "OUT"
    file.save()
    assert file.said.tone == "bad"
    return print(file.said.text, file=sys.stderr) or 1

def chart():
    drawing = gantt(run.timeline, run.jobs, run.decisions, run.events)
    try:
        save(drawing, "OUT.html")
    except WorkbenchError as error:
        return print(error, file=sys.stderr) or 1

if __name__ == "__main__":
    run = workbench.Run.load(sys.argv[1])
    found = {" ".join(argv): told(lambda: main(argv)) for argv in json.loads(sys.argv[2])}
    print(json.dumps({**found, "Save of a lab": told(file_of_lab), "Export of a chart": told(chart)}))
"""
"""Commands and pages with no room for a file of more than 1,500 bytes: the system itself says so."""


def test_no_room_for_any_file_that_is_written(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    run, folder, trace = tmp_path / "run", tmp_path / "here", tmp_path / "trace.swf"
    folder.mkdir()
    workbench.simulate(workbench.preset("start_here"), "fifo").save(run)
    rows = (f"{i} {i} -1 600 1 -1 -1 1 600 -1 1 1 1 1 1 1 -1 -1" for i in range(1, 60))
    trace.write_text("\n".join(rows) + "\n")
    convert = ["convert", str(trace), "--from", "swf", "--cluster", "v100=1x4"]
    commands = [
        ["report", str(run), "-o", "OUT.html"],
        [*convert, "-o", "OUT"],
        [*convert, "-o", "OUT", "--report", "small.json"],
        ["sweep", "preset:start_here", "--scheduler", "fifo", "--store", "OUT"],
        ["compare", "preset:start_here", "--schedulers", "fifo,las", "--out", "OUT"],
        ["solve", "preset:gavel_physical", "--formulation", "gavel.max_min_fairness", "--solver", "glpk"],
    ]
    done = subprocess.run(
        [sys.executable, "-c", FILLING, str(run), json.dumps(commands)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    for what, (code, err, left) in json.loads(done.stdout).items():
        assert code == 1 and left == [], (what, code, left, err)
        last = err.splitlines()[-1]
        assert ("OUT" in last or "problem.glp" in last) and ("File too large" in last or "I/O error" in last), last
        assert "Traceback" not in err


def test_a_sweep_goes_on_where_the_disk_was_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rows that the store has are whole, and the same command makes the others."""
    pytest.importorskip("resource")
    argv = ["sweep", "preset:start_here", "--scheduler", "fifo", "--seeds", "0:40", "--store", str(tmp_path / "s.db")]
    limit = "import resource, sys\nresource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
    code = f"{limit}from workbench.cli import main\nsys.exit(main({argv}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "s.db: got disk I/O" in done.stderr
    assert main([*argv, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["kept"] > 0 and found["made"] > 0 and found["kept"] + found["made"] == 40


def test_a_process_that_the_system_ended_is_told_in_words() -> None:
    assert how_ended(-signal.SIGKILL) == "was ended by the system, most likely for want of memory"
    assert how_ended(-signal.SIGTERM) == "was ended by signal 15" and how_ended(3) == "ended with code 3"


@pytest.mark.parametrize("speed", [1e-320, 9e-13, 2e12, 1e308])
def test_a_speed_that_no_measure_can_hold_is_refused(speed: float) -> None:
    data = make([{"steps": 3.0}]).to_dict()
    data["throughputs"][0]["steps_per_s"] = speed
    with pytest.raises(InputError, match=r"throughputs\[0\].steps_per_s: got .*; expected .*number [<>]= 1"):
        Scenario.from_dict(data)


LEAVES = {
    "jobs[0].steps": (1e-7, 1e23),
    "jobs[0].steps_done": (1e23,),
    "jobs[0].attained_s": (1e17,),
    "jobs[0].rewards": ([[1e11, 1.0]], [[1.0, 1e7]]),
    "jobs[0].arrival_s": (1e11,),
    "throughputs[0].sync_s": (1e11,),
    "cluster.network_gbps": (1e-7, 1e7),
    "cluster.accelerators[0].memory_gb": (1e-7, 1e7),
    "cluster.accelerators[0].tflops": (1e-7, 1e7),
    "cluster.accelerators[0].pcie_scaling": (1e-7, 1e7),
    "cluster.accelerators[0].link_gbps": (1e-7, 1e7),
    "models[0].parameters_gb": (1e7,),
    "models[0].model_gb": (1e7,),
    "models[0].memory_gb": (1e7,),
    "models[0].load_s": ([[1.1, 1.0, 0.0]], [[1.0, 1e11, 0.0]], [[1.0, 1.0, 1e11]]),
    "entities[0].quota_gpus": (10**7,),
    "recorded.end_s": (1e11,),
    "recorded.gpu_s": (1e17,),
}


def test_every_number_of_a_scenario_has_bounds() -> None:
    """Those that the table tries are refused; no number in the schema is without a largest value."""
    for path, values in LEAVES.items():
        for value in values:
            data = make([{"steps": 3.0}]).to_dict()
            data |= {"models": [{"name": data["jobs"][0]["model"]}], "entities": [{"name": "e"}]}
            data["recorded"] = {"end_s": 1.0, "ends_known": True, "gpu_s": 1.0}
            at: Any = data
            *way, last = path.replace("]", "").replace("[", ".").split(".")
            for step in way:
                at = at[int(step) if step.isdigit() else step]
            at[last] = value
            with pytest.raises(InputError, match=re.escape(path) + r".*; expected .*number [<>]= "):
                Scenario.from_dict(data)

    def without(schema: Any, path: str) -> list[str]:
        if isinstance(schema, list):
            return [found for number, part in enumerate(schema) for found in without(part, f"{path}[{number}]")]
        if not isinstance(schema, dict):
            return []
        unbounded = schema.get("type") in ("number", "integer") and not {"maximum", "exclusiveMaximum"} & set(schema)
        return [path] * unbounded + [found for key in schema for found in without(schema[key], f"{path}.{key}")]

    assert without(json_schema(), "") == []


def test_a_price_has_bounds_and_the_schema_says_them() -> None:
    data = make([{"steps": 3.0}]).to_dict()
    data["cluster"]["accelerators"][0]["price_per_hour"] = 1e308
    with pytest.raises(InputError, match=r"price_per_hour: got 1e\+308; expected a number <= 1"):
        Scenario.from_dict(data)
    text = json.dumps(json_schema())
    assert all(bound in text for bound in ('"maximum": 1000000.0', '"maximum": 1000000000000.0', "1e-12"))
