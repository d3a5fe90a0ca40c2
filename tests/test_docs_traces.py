"""docs/traces.md: its commands run on its samples, and it tells of every format, column and public file."""

from __future__ import annotations

import importlib
import re
import shlex
from pathlib import Path

import pytest

import workbench
from workbench.cli import main
from workbench.scenario.traces import builtin, formats, public
from workbench.scenario.traces.timed import GROUPS

PAGE = (Path(__file__).parents[1] / "docs" / "traces.md").read_text(encoding="utf-8")
SAMPLES = dict(re.findall(r"^```text (\S+)\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE))
EXAMPLES = re.findall(r"^```sh\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)


def commands(example: int) -> list[str]:
    return EXAMPLES[example].replace("\\\n", " ").splitlines()


def run(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    """One command of the page; `$(workbench ...)` is run first."""
    inner = re.search(r"\$\(workbench ([^)]*)\)", line)
    if inner:
        line = line.replace(inner[0], run(f"workbench {inner[1]}", capsys).strip())
    assert main(shlex.split(line)[1:]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in SAMPLES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_example_of_slurm(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for line in commands(0):
        run(line, capsys)
    assert [(job.name, job.gpus) for job in workbench.load("mine.json").jobs] == [("job-4711", 2), ("job-4712_1", 8)]
    assert '"rows_read": 5' in (folder / "report.json").read_text()


def test_the_example_of_helios(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for line in commands(1):
        run(line, capsys)
    assert [job.name for job in workbench.load("hour.json").jobs] == ["job-1425511", "job-1425512"]


def test_the_example_with_a_public_trace(
    folder: Path, shared: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (shared / "data" / "chronus").is_dir():
        pytest.skip("no public traces beside the project")
    monkeypatch.setenv(public.VARIABLE, str(shared / "data"))
    for line in commands(2):
        run(line, capsys)
    assert len(workbench.load("mix2.json").jobs) == 200
    assert len(EXAMPLES) == 3


def test_every_format_is_described_with_the_columns_that_are_read() -> None:
    table = re.findall(r"^\| `(\w+)` \| ", PAGE, flags=re.MULTILINE)
    assert table == list(formats())
    parts = dict(re.findall(r"^### (.*?)\n(.*?)(?=^##)", PAGE, flags=re.DOTALL | re.MULTILINE))
    for name in formats():
        module = importlib.import_module(f"workbench.scenario.traces.{name}")
        (section,) = (text for title, text in parts.items() if f"`{name}`" in title)
        columns = (*getattr(module, "COLUMNS", ()), *getattr(module, "OPTIONAL", ()), *getattr(module, "KEYS", ()))
        assert [column for column in columns if column not in section] == []


def test_every_public_file_and_every_group_of_types_is_listed() -> None:
    rows = re.findall(r"^\| (\w+) \| [^|]+ \| (\w+/\S+) \| (\w+) \|$", PAGE, flags=re.MULTILINE)
    assert rows == [(entry.name, entry.file, entry.licence) for entry in public.FILES.values()]
    assert [entry.url for entry in public.ELSEWHERE.values() if entry.url not in PAGE] == []
    for group in GROUPS[1:]:
        assert ", ".join(builtin.types(group)) in " ".join(PAGE.split()), group


def test_the_command_for_slurm_asks_for_all_that_is_read() -> None:
    from workbench.scenario.traces.sacct import COMMAND

    assert f"--format={COMMAND} " in PAGE
