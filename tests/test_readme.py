"""What the README shows runs as it stands: the Python in one go, the commands that need no file of somebody else's."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from workbench.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)


def commands() -> Iterator[list[str]]:
    """The workbench's commands, those on several lines joined."""
    for block in blocks("sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words and words[0].endswith("workbench"):
                yield words[1:]


def test_the_python() -> None:
    names: dict[str, Any] = {}
    assert len(blocks("python")) == 3
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), names)
    table, shares = (eval(block.strip().splitlines()[-1], names) for block in blocks("python")[1:])
    assert isinstance(table, pd.DataFrame)
    assert list(table["scheduler"]) == ["shortest_first", "shortest_first most_jobs=10", "srtf"]
    assert (table["jobs_unfinished"] == 0).all()
    assert table["mean_jct_s"][0] < table["mean_jct_s"][1], "fewer jobs at once take longer"
    assert max(shares["vision"].values()) <= 0.3 + 1e-9


def test_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    shown = list(commands())
    assert {words[0] for words in shown} == {"convert", "simulate", "compare"}
    ours = [words for words in shown if any(word.startswith("preset:") for word in words)]
    assert ours
    for words in ours:
        assert main(words) == 0, capsys.readouterr().err


def test_what_the_text_names_is_there() -> None:
    import workbench

    for name in set(re.findall(r"`(?:workbench\.)?([A-Z][A-Za-z]+)`", README)) - {"None"}:
        assert hasattr(workbench, name), name
    for path in re.findall(r"`((?:workbench|notebooks|datasets)/[\w./]+)`", README):
        assert (ROOT / path).exists(), path
