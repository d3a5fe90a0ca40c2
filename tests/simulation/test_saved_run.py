"""A saved run of which a part is lost is refused by all who read it, with the file and the table."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import workbench
from workbench.cli import main
from workbench.simulation.run import Run
from workbench.simulation.schema import TABLES


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with rows in every table."""
    folder = tmp_path_factory.mktemp("f1") / "R"
    workbench.simulate("preset:gavel_example", "gavel.max_min_fairness").save(folder)
    return folder


def altered(saved: Path, folder: Path, file: str, old: str, new: str) -> Path:
    """A copy of the run, with a text replaced once in a file."""
    shutil.copytree(saved, folder)
    text = (folder / file).read_bytes().decode()
    assert old in text
    (folder / file).write_bytes(text.replace(old, new, 1).encode())
    return folder


@pytest.mark.parametrize("table", [table.name for table in TABLES])
def test_a_table_without_its_last_line_is_refused(
    table: str, saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(saved, tmp_path / "R")
    lines = (folder / f"{table}.csv").read_bytes().splitlines(keepends=True)
    assert len(lines) > 1, "the run has rows in every table"
    (folder / f"{table}.csv").write_bytes(b"".join(lines[:-1]))
    page = tmp_path / "p.html"
    readers = (["report", folder, "-o", page], ["explain", folder, "--job", "job 0", "--at", "10"], ["verify", folder])
    for argv in readers:
        assert main([str(part) for part in argv]) == 2
        said = capsys.readouterr().err
        assert f"{table}.csv: got another content (the table {table} with" in said and "internal error" not in said
    assert not page.exists()


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("scenario.json", '"steps": 28800.0', '"steps": 28801.0', r"scenario\.json.*the scenario"),
        ("run.json", '"seed": 0', '"seed": 1', r"run\.json: got another content"),
        ("run.json", '"end_s": ', '"end_s": 1', r"run\.json: got another content"),
        ("run.json", '"key": "', '"key": "0', r"run\.json: got another content"),
        ("decisions.csv", "0.0,", "0.5,", "the table decisions"),
    ],
)
def test_another_value_is_refused(file: str, old: str, new: str, said: str, saved: Path, tmp_path: Path) -> None:
    with pytest.raises(workbench.InputError, match=said):
        Run.load(altered(saved, tmp_path / "R", file, old, new))


def test_the_digest_is_of_what_files_say_and_not_of_their_bytes(saved: Path, tmp_path: Path) -> None:
    """Line ends and the layout of JSON may change; a run that is read and saved again has the same digests."""
    run, folder = Run.load(saved), shutil.copytree(saved, tmp_path / "R")
    for path in folder.glob("*.csv"):
        path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n"))
    for path in folder.glob("*.json"):
        path.write_text(json.dumps(json.loads(path.read_text())))
    again = Run.load(folder)
    assert again == run
    again.save(tmp_path / "again")
    assert (tmp_path / "again" / "run.json").read_bytes() == (saved / "run.json").read_bytes()
