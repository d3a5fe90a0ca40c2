"""Packages with a room of their own: written by `new-paper`, made a wheel, unpacked where a subprocess finds it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from workbench.cli import main

PROJECT = Path(__file__).parents[1]


def skeleton(name: str, folder: Path) -> Path:
    """The package that `workbench new-paper NAME` writes."""
    assert main(["new-paper", name, "--to", str(folder), "--json"]) == 0
    return folder / name


def wheel(name: str, source: Path, folder: Path, module: str | None = None) -> Path:
    """A wheel of the package in `source/<module>` whose entry point names the room; written without a network."""
    module = module or name
    path, info = folder / f"dlsched_{module}-0.1.0-py3-none-any.whl", f"dlsched_{module}-0.1.0.dist-info"
    texts = {
        "METADATA": f"Metadata-Version: 2.1\nName: dlsched-{module}\nVersion: 0.1.0\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "entry_points.txt": f"[workbench.papers]\n{name} = {module}\n",
    }
    files = sorted((source / module).rglob("*.py"))
    record = [*(found.relative_to(source).as_posix() for found in files), *(f"{info}/{each}" for each in texts)]
    texts["RECORD"] = "".join(f"{each},,\n" for each in [*record, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for found in files:
            archive.write(found, found.relative_to(source).as_posix())
        for each, text in texts.items():
            archive.writestr(f"{info}/{each}", text)
    return path


def installed(site: Path, *wheels: Path) -> None:
    """Unpack wheels into a folder as pip's `--target` does."""
    for each in wheels:
        with zipfile.ZipFile(each) as archive:
            archive.extractall(site)


def python(site: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run Python where the packages of a folder are installed; its exit code is as expected."""
    path = os.pathsep.join([str(PROJECT), str(site)])
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, cwd=site
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done
