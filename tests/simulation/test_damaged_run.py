"""A run folder that is damaged in whatever way is refused in words; what is believed is the run that was saved.

`WORKBENCH_FUZZ_FOLDERS` sets how many folders are damaged (default 60).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import workbench
from tests.simulation.support import with_tables
from workbench.cli import main
from workbench.simulation.run import Run
from workbench.simulation.schema import TABLES

Rng = np.random.Generator
FOLDERS = int(os.environ.get("WORKBENCH_FUZZ_FOLDERS", "60"))
CELLS = (
    "",
    "0",
    "1",
    "-1",
    "9" * 400,
    "9" * 5000,
    "1e999",
    "nan",
    "x",
    "True",
    "gone",
    "job 0 + gone",
    "\x00",
    '"',
    "é",
)


@pytest.fixture(scope="module")
def run() -> Run:
    return workbench.simulate("preset:gavel_example", "gavel.max_min_fairness")


@pytest.fixture(scope="module")
def saved(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("f4") / "R"
    run.save(folder)
    return folder


@pytest.mark.parametrize(
    ("file", "column", "value"),
    [
        ("jobs", None, None),
        ("timeline", "slot", "9" * 400),
        ("timeline", "slot", "9" * 5000),
        ("jobs", "gpus", "-" + "9" * 30),
        ("shares", "unit", "nobody"),
        ("timeline", "job", "nobody"),
        ("events", "job", "nobody"),
        ("shares", "accelerator", "nothing"),
        ("timeline", "kind", "rest"),
    ],
)
def test_what_was_an_internal_error_is_a_stated_one(
    file: str, column: str | None, value: str, saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """jobs.csv with its head only, a whole number that no machine holds, what nobody knows."""
    folder = shutil.copytree(saved, tmp_path / "R")
    table = pd.read_csv(folder / f"{file}.csv", dtype=str, keep_default_na=False)
    if column is None:
        table = table.head(0)
    else:
        table.loc[0, column] = value
    table.to_csv(folder / f"{file}.csv", index=False)
    for argv in (["report", folder, "-o", tmp_path / "p.html"], ["explain", folder, "--job", "job 0", "--at", "10"]):
        assert main([str(part) for part in argv]) == 2
        said = capsys.readouterr().err
        assert f"{file}.csv" in said and "internal error" not in said and len(said) < 1000


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("jobs", "job", "nobody"),
        ("timeline", "node", "nowhere"),
        ("timeline", "with_job", "nobody"),
        ("timeline", "kind", "rest"),
        ("shares", "unit", "job 0 + nobody"),
        ("shares", "accelerator", "nothing"),
        ("signals", "decision", 10**6),
        ("reasons", "job", "nobody"),
    ],
)
def test_a_run_that_names_what_it_does_not_have_is_refused(
    table: str, column: str, value: Any, run: Run, tmp_path: Path
) -> None:
    """Even where the digests are those of the tables."""
    frame = run.table(table).copy()
    frame.loc[0, column] = value
    with_tables(run, **{table: frame}).save(tmp_path / "R")
    with pytest.raises(workbench.InputError, match=rf"{table}\.csv: {column}: got .*{str(value).split(' + ')[-1]}"):
        Run.load(tmp_path / "R")


def test_no_damage_is_believed(run: Run, saved: Path, tmp_path: Path) -> None:
    rng, refused = np.random.default_rng(16), 0
    for _ in range(FOLDERS):
        folder = shutil.copytree(saved, tmp_path / "R")
        told = damage(folder, rng)
        try:
            found = Run.load(folder)
        except workbench.InputError as error:
            refused += 1
            assert str(folder) in str(error) and "\n" not in str(error.value), told
        else:
            assert found._head() == run._head(), told
            for table in TABLES:
                pd.testing.assert_frame_equal(found.table(table.name), run.table(table.name), check_exact=True)
        shutil.rmtree(folder)
    assert refused > 0.8 * FOLDERS


def damage(folder: Path, rng: Rng) -> str:
    """Damage one file of a saved run; returns what was done."""
    path = folder / str(rng.choice(sorted(each.name for each in folder.iterdir())))
    how = DAMAGES[int(rng.integers(len(DAMAGES)))]
    data = how(path.read_bytes(), rng)
    if data is None:
        path.unlink()
    else:
        path.write_bytes(data)
    return f"{how.__name__} of {path.name}"


def gone(data: bytes, rng: Rng) -> None:
    return None


def cut_lines(data: bytes, rng: Rng) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(lines[: rng.integers(len(lines))])


def line_gone(data: bytes, rng: Rng) -> bytes:
    lines = data.splitlines(keepends=True)
    del lines[rng.integers(len(lines))]
    return b"".join(lines)


def line_twice(data: bytes, rng: Rng) -> bytes:
    lines = data.splitlines(keepends=True)
    at = int(rng.integers(len(lines)))
    return b"".join([*lines[: at + 1], *lines[at:]])


def lines_swapped(data: bytes, rng: Rng) -> bytes:
    lines = data.splitlines(keepends=True)
    a, b = rng.integers(len(lines), size=2)
    lines[a], lines[b] = lines[b], lines[a]
    return b"".join(lines)


def cut_bytes(data: bytes, rng: Rng) -> bytes:
    return data[: rng.integers(len(data))]


def junk_bytes(data: bytes, rng: Rng) -> bytes:
    at, more = int(rng.integers(len(data))), rng.bytes(int(rng.integers(1, 20)))
    return data[:at] + more + data[at + int(rng.integers(3)) * len(more) :]


def bit_turned(data: bytes, rng: Rng) -> bytes:
    found = bytearray(data)
    found[rng.integers(len(found))] ^= 1 << int(rng.integers(8))
    return bytes(found)


def cell_retyped(data: bytes, rng: Rng) -> bytes:
    return _with_cell(data, rng, lambda cells, at: str(rng.choice(CELLS)).encode())


def cell_of_another(data: bytes, rng: Rng) -> bytes:
    return _with_cell(data, rng, lambda cells, at: cells[int(rng.integers(len(cells)))])


def cell_gone(data: bytes, rng: Rng) -> bytes:
    return _with_cell(data, rng, lambda cells, at: None)


def cell_twice(data: bytes, rng: Rng) -> bytes:
    return _with_cell(data, rng, lambda cells, at: cells[at] + b"," + cells[at])


def line_ends(data: bytes, rng: Rng) -> bytes:
    return data.replace(b"\r\n", b"\n")


def _with_cell(data: bytes, rng: Rng, change: Callable[[list[bytes], int], bytes | None]) -> bytes:
    lines = data.splitlines(keepends=True)
    row = int(rng.integers(len(lines)))
    cells = lines[row].rstrip(b"\r\n").split(b",")
    at = int(rng.integers(len(cells)))
    cell = change(cells, at)
    cells[at : at + 1] = [] if cell is None else [cell]
    lines[row] = b",".join(cells) + b"\r\n"
    return b"".join(lines)


DAMAGES: tuple[Callable[[bytes, Rng], bytes | None], ...] = (
    gone, cut_lines, line_gone, line_twice, lines_swapped, cut_bytes, junk_bytes, bit_turned, cell_retyped,
    cell_of_another, cell_gone, cell_twice, line_ends,
)  # fmt: skip
