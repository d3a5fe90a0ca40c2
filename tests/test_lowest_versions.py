"""The lower bounds of `pyproject.toml` are true: the lowest versions are installed, and what is made works."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SMOKE = """
from pathlib import Path
import pandas, workbench
assert Path(workbench.__file__).is_relative_to(Path(pandas.__file__).parents[1]), workbench.__file__
scenario = workbench.preset("start_here")
run = workbench.simulate(scenario, "gavel.max_min_fairness")
for solver in ("highs", "glpk"):
    assert abs(workbench.solve(scenario, "gavel.max_min_fairness", solver=solver).objective - 1) < 1e-6
assert workbench.summary(run)["jobs_finished"] == 3
from workbench.analysis.charts import to_png, to_svg
for by in ("slot", "job"):
    assert len(to_svg(run.gantt(by=by))) > 1000 and to_png(run.gantt(by=by))[:4] == b"\\x89PNG"
from widgets import GavelLab
lab = GavelLab("start_here")
assert lab.scenario == scenario
print("works")
"""


def test_known_bounds_are_no_lower_than_what_works() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    # Pyomo without InvalidConstraintError, vl-convert without Vega-Lite 6.4, pandas that cannot round a chart's column,
    # HiGHS that goes on after its node limit; HiGHS 1.16 prints a banner on stdout.
    assert {"pyomo>=6.10.1", "vl-convert-python>=1.9", "pandas>=3.0", "highspy>=1.15,<1.16"} <= set(listed)


@pytest.mark.long
def test_the_lowest_versions_work(tmp_path: Path) -> None:
    uv, python = Path(sys.executable).parent / "uv", tmp_path / "venv" / "bin" / "python"
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, tmp_path / "venv"], check=True)
    install = [uv, "pip", "install", "--quiet", "--python", python, "--resolution", "lowest-direct", ROOT]
    subprocess.run(install, check=True)
    done = subprocess.run([python, "-I", "-c", SMOKE], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and done.stdout.endswith("works\n"), done.stderr
