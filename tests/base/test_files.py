"""A reader sees the old content or the whole new one, and nothing is overwritten unasked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from workbench.base.errors import InputError, WorkbenchError
from workbench.base.files import NotJsonError, new_folder, parse_json, refuse_to_overwrite, write_bytes, write_text


def ANY(path: Path) -> bool:
    """Every folder may be replaced."""
    return True


def test_text_is_written_as_utf8(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "π\n")
    assert (tmp_path / "a.txt").read_bytes() == "π\n".encode()
    assert os.listdir(tmp_path) == ["a.txt"]


def test_files_get_the_usual_permissions(tmp_path: Path) -> None:
    write_text(tmp_path / "ours", "x")
    (tmp_path / "plain").write_text("x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode
    with new_folder(tmp_path / "folder", ANY):
        pass
    (tmp_path / "usual").mkdir()
    assert (tmp_path / "folder").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize("make", ["file", "folder"])
def test_nothing_is_overwritten_unasked(make: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old") if make == "file" else path.mkdir()
    with pytest.raises(InputError, match="force"):
        write_text(path, "new")
    with pytest.raises(InputError, match="force"), new_folder(path, ANY):
        pytest.fail("the block must not run")
    refuse_to_overwrite(path, force=True)
    refuse_to_overwrite(tmp_path / "y", force=False)


def test_force_overwrites(tmp_path: Path) -> None:
    write_bytes(tmp_path / "x", b"old")
    write_bytes(tmp_path / "x", b"new", force=True)
    assert (tmp_path / "x").read_bytes() == b"new"


def test_a_file_is_no_folder_to_replace(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("old")
    with pytest.raises(InputError, match="nothing else is overwritten"), new_folder(tmp_path / "x", ANY, force=True):
        raise AssertionError("not reached")
    assert (tmp_path / "x").read_text() == "old"


def test_a_folder_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.mkdir()
    (path / "old").write_text("old")
    with new_folder(path, ANY, force=True) as folder:
        (folder / "new").write_text("new")
        assert os.listdir(path) == ["old"]
    assert os.listdir(path) == ["new"] and os.listdir(tmp_path) == ["x"]


def test_a_folder_that_cannot_be_filled_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "x", ANY) as folder:
        (folder / "half").write_text("half")
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_moved_brings_the_old_one_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.mkdir()
    (path / "old").write_text("old")
    replace = os.replace

    def fails(source: Any, target: Any) -> None:
        if Path(target) == path and not str(source).endswith(".old"):
            raise OSError("no")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="no"), new_folder(path, ANY, force=True) as folder:
        (folder / "new").write_text("new")
    assert os.listdir(path) == ["old"] and os.listdir(tmp_path) == ["x"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_text(tmp_path / "x", "old")

    def fails(*_: object) -> None:
        raise OSError("no")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(WorkbenchError, match="/x: got no; expected room"):
        write_text(tmp_path / "x", "new", force=True)
    assert (tmp_path / "x").read_text() == "old" and os.listdir(tmp_path) == ["x"]


def test_a_missing_parent_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="folder that exists"):
        write_text(tmp_path / "no" / "x", "new")
    with pytest.raises(InputError, match="folder that exists"), new_folder(tmp_path / "no" / "x", ANY):
        pytest.fail("the block must not run")


@pytest.mark.parametrize(
    ("text", "path", "word"),
    [
        ("NaN", "", "NaN"),
        ('{"a": [0, {"b": [[1], [Infinity]]}], "c": NaN}', "a[1].b[1][0]", "Infinity"),
        ("[[-Infinity]]", "[0][0]", "-Infinity"),
    ],
)
def test_what_json_does_not_have_is_named_with_its_place(text: str, path: str, word: str) -> None:
    with pytest.raises(NotJsonError) as caught:
        parse_json(text)
    assert (caught.value.path, caught.value.word) == (path, word)
    assert parse_json('{"a": "NaN"}') == {"a": "NaN"}, "a text is no number"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello", "'hello' at line 1, column 1, where a value should stand"),
        ('{"a": 1,\n "b": nope}', "'nope}' at line 2, column 7, where a value should stand"),
        ("{a: 1}", "'a: 1}' at line 1, column 2, where a key in double quotes should stand"),
        ("[1 2]", "'2]' at line 1, column 4, where a comma or a closing bracket should stand"),
        ('{"a" 1}', "'1}' at line 1, column 6, where a colon should stand"),
        ("[1] [2]", "'[2]' at line 1, column 5, where the end should stand"),
        ('{"a": 1', "the end of the text at line 1, column 8, where a comma or a closing bracket should stand"),
        ('["' + "x" * 50, f"'\"{'x' * 19}...' at line 1, column 2, where text with its closing quotation mark"),
        ('["a\nb"]', "the end of the line at line 1, column 4, where text without line ends"),
        (" \n", "nothing, an empty text"),
    ],
)
def test_what_is_no_json_is_told_with_line_column_and_what_should_be_there(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=r"where|empty") as caught:
        parse_json(text)
    assert str(caught.value).startswith(said)
