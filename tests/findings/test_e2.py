"""E2: beside the other distribution named `workbench` an import says so, and how to get out."""

from __future__ import annotations

import subprocess
import sys
import timeit
from pathlib import Path

import workbench

ROOT = Path(__file__).parents[2]


def imported(site: Path) -> subprocess.CompletedProcess[str]:
    code = f"import sys; sys.path.insert(0, {str(site)!r}); import workbench; print(workbench.__file__)"
    return subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)


def test_import_beside_the_other_distribution_says_so(tmp_path: Path) -> None:
    (tmp_path / "workbench").mkdir()
    for name in ("__init__.py", "version.py"):
        (tmp_path / "workbench" / name).write_bytes((ROOT / "workbench" / name).read_bytes())
    (tmp_path / "dlsched_workbench-1.0.dist-info").mkdir()
    assert imported(tmp_path).stdout == f"{tmp_path / 'workbench' / '__init__.py'}\n"
    (tmp_path / "workbench-0.8.506.dist-info").mkdir()
    refused = imported(tmp_path)
    assert refused.returncode == 1 and refused.stderr.strip().splitlines()[-1].startswith(
        "ImportError: another project"
    )
    assert "workbench-0.8.506" in refused.stderr and "`pip install dlsched-workbench`" in refused.stderr


def test_the_check_costs_next_to_nothing() -> None:
    site = str(next(Path(path) for path in sys.path if path.endswith("site-packages")))
    assert min(timeit.repeat(lambda: workbench._refuse_other(site), number=10, repeat=5)) / 10 < 1e-3


def test_the_readme_says_what_to_install() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "`pip install dlsched-workbench`" in text and "`pip install workbench` gets another project" in text
