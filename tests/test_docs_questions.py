"""docs/: Python runs as it stands and gives what is said, commands and paths exist, papers.md names what is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

import workbench
from tests.test_architecture import ROOMS
from workbench.cli import main
from workbench.session.registry import formulations, is_own, schedulers

ROOT = Path(__file__).parents[1]
QUESTIONS, PAPERS, HOUSE, OWN = (
    (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("questions", "papers", "architecture", "own_formulations")
)
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


def test_the_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in BLOCK.findall(QUESTIONS):
        exec(compile(block, "questions.md", "exec"), names)
    assert len(names["table"]) == 8 and (names["table"]["status"] == "done").all()
    assert (tmp_path / "runs.db").is_file()
    assert not names["comparison"].failed
    (told,) = re.findall(r'`belief=(\{"hops": "\w+"\})`', QUESTIONS)
    compared = workbench.compare(names["scenario"], ["hops", "las"], belief=ast.literal_eval(told))
    assert not compared.failed and compared.table["belief"].nunique() == 2


def test_the_commands_are_commands(capsys: pytest.CaptureFixture[str]) -> None:
    shown = set(re.findall(r"`workbench (\w+)", QUESTIONS))
    assert shown == {
        "calibrate",
        "chain",
        "compare",
        "exact",
        "explain",
        "report",
        "rows",
        "simulate",
        "sweep",
        "verify",
    }
    for name in shown:
        assert main([name, "--help"]) == 0
        used = set(re.findall(rf"`workbench {name} [^`]*`", QUESTIONS.replace("\n", " ")))
        options = set(re.findall(r"--[a-z-]+", " ".join(used)))
        assert options <= set(re.findall(r"--[a-z-]+", capsys.readouterr().out)), name


def test_the_papers_page_names_what_is_there() -> None:
    known = {found.name for found in (*formulations(), *schedulers())}
    shown = set(re.findall(r"`([a-z]+(?:\.[a-z_]+|_[a-z]+)?)`", PAPERS)) - {"low_rank", "pmi", "layered"}
    assert shown <= known, shown - known
    for path in re.findall(r"`(notebooks/[\w.]+)`", PAPERS + QUESTIONS):
        assert (ROOT / path).is_file(), path


def test_what_the_core_can_express() -> None:
    names: dict[str, Any] = {}
    for block in BLOCK.findall(HOUSE):
        exec(compile(block, "architecture.md", "exec"), names)
    assert names["took_s"] == 7000 / 7
    assert sorted(map(max, names["sizes"])) == [2, 2, 4], "jobs run at several of their sizes"


def test_formulations_of_ones_own() -> None:
    """Each example stands by itself, but for what the first two import."""
    names: dict[str, Any] = {}
    blocks = BLOCK.findall(OWN)
    for block in blocks:
        exec(compile(block, "own_formulations.md", "exec"), names)
    declared = re.findall(r'@workbench.formulation\("(\w+)", base="(\w+)', OWN)
    assert [paper for _, paper in declared] == ["gavel", "hadar", "hops", "hare", "chronus"]
    assert is_own("most_jobs") and names["run"].scheduler == "most_jobs"
    for name, _ in declared:
        assert is_own(name) and workbench.find_formulation(name).own


def test_the_rooms_and_paths_of_the_architecture_page_are_there() -> None:
    rooms = re.findall(r"^\| `(\w+)/` \|", HOUSE, flags=re.MULTILINE)
    assert rooms == list(ROOMS)
    for path in re.findall(r"(?:^|[ ,])((?:widgets|[a-z]+)/[\w/]+(?:\.py|/))", HOUSE, flags=re.MULTILINE):
        found = ROOT / path if path.startswith("widgets/") else ROOT / "workbench" / path
        assert found.exists(), path
