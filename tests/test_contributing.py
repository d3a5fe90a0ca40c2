"""The walk in CONTRIBUTING.md, a sixth paper from nothing to a lab, goes as it stands there."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.package_support import PROJECT, installed, python, wheel
from workbench.cli import main

BLOCKS = re.findall(
    r"^```(sh|diff|text|python)\n(.*?)^```$",
    (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Write a formulation")[0],
    flags=re.DOTALL | re.MULTILINE,
)


def test_a_sixth_paper_from_nothing_to_a_lab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(PROJECT / "pyproject.toml", tmp_path)  # as in the project's folder
    monkeypatch.chdir(tmp_path)
    site, script = tmp_path / "site", []
    site.mkdir()
    assert [kind for kind, _ in BLOCKS] == ["sh", "diff", "text", "diff", "python", "python", "python"]
    for kind, text in BLOCKS:
        if kind == "diff":
            first, *lines = text.splitlines()
            changed = tmp_path / first.removeprefix("# ")
            before, after = ("\n".join(line[1:] for line in lines if line[0] == sign) for sign in "-+")
            assert changed.read_text(encoding="utf-8").count(before) == 1
            changed.write_text(changed.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")
            installed(site, wheel("sixth", tmp_path / "sixth", tmp_path))
        elif kind == "text":
            failed = python(
                site, "-c", "from sixth import ROOM; from workbench.testing import check; check(ROOM)", code=1
            )
            assert text.strip() in re.sub(r"\(\S*(sixth/form\S+)\)", r"(sixth/\1)", failed.stderr.splitlines()[-1])
        elif kind == "python":
            script.append(text)
        else:
            carry_out(text, tmp_path, site)
            told = [line.strip() for line in capsys.readouterr().out.partition("Next:\n")[2].splitlines()]
            assert told == text.splitlines()[1:], "what new-paper prints is what stands here"
    said = python(site, "-c", "\n".join(script)).stdout
    assert "the job that is worst off is as well off as can be" in said


def carry_out(commands: str, folder: Path, site: Path) -> None:
    """The commands, pip's by unpacking a wheel: there is no network."""
    for program, *arguments in map(shlex.split, commands.splitlines()):
        if program == "workbench":
            assert main(arguments) == 0
        elif program == "pip":
            assert arguments == ["install", "--no-deps", "--no-build-isolation", "-e", "sixth"]
            installed(site, wheel("sixth", folder / "sixth", folder))
        else:
            python(site, "-m", program, "-q", "-p", "no:cacheprovider", *(str(folder / each) for each in arguments))
