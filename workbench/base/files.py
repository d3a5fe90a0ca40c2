"""Strict JSON, and writing files so that a reader sees either the old content or the whole new one."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from workbench.base.errors import InputError, Words, WorkbenchError, why


class NotJsonError(ValueError):
    """NaN or an infinity, which Python writes and JSON does not have. path: where it stands, as `jobs[0].steps`."""

    def __init__(self, path: str, word: str) -> None:
        super().__init__(f"{path or 'the whole'} is {word}, which JSON does not have")
        self.path, self.word = path, word


WANTED = {
    "Expecting value": "a value",
    "Expecting property name enclosed in double quotes": "a key in double quotes",
    "Expecting ',' delimiter": "a comma or a closing bracket",
    "Expecting ':' delimiter": "a colon",
    "Extra data": "the end",
    "Unterminated string starting at": "text with its closing quotation mark",
    "Invalid control character at": "text without line ends and tabs, which are \\n and \\t in JSON,",
    "Illegal trailing comma before end of object": "a key in double quotes",
    "Illegal trailing comma before end of array": "a value",
}
"""What should stand where a text is not JSON, by the parser's words."""
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""What the system says when there is no more room, or no more disk."""
SHOWN = 20
"""Letters that are shown of what stands there."""


def parse_json(text: str) -> Any:
    """What JSON text says. Anything else is a ValueError that says line, column, what is there and what should be.

    A key twice in one object and nesting too deep are ValueErrors too, and so are NaN and infinities (NotJsonError).
    """
    constants: list[_Constant] = []

    def keep(word: str) -> _Constant:
        constants.append(_Constant(word))
        return constants[-1]

    try:
        found = json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=keep)
        if constants:
            raise NotJsonError(_path_to(constants[0], found) or "", constants[0].word)
    except json.JSONDecodeError as error:
        raise ValueError(_not_json(error)) from None
    except RecursionError:
        raise ValueError("nested too deep") from None
    return found


def _not_json(error: json.JSONDecodeError) -> str:
    """What is there in place of JSON, and where."""
    if not error.doc.strip():
        return "nothing, an empty text"
    there = error.doc[error.pos : error.pos + SHOWN + 1].partition("\n")[0].rstrip()
    found = repr(there if len(there) <= SHOWN else f"{there[:SHOWN]}...")
    if not there:
        found = "the end of the line" if error.doc[error.pos :].strip() else "the end of the text"
    wanted = WANTED.get(error.msg, f"something else ({error.msg})")
    return f"{found} at line {error.lineno}, column {error.colno}, where {wanted} should stand"


class _Constant:
    """One of the words NaN, Infinity and -Infinity in a JSON text."""

    def __init__(self, word: str) -> None:
        self.word = word


def _path_to(wanted: _Constant, value: Any) -> str | None:
    """Where it stands in a value, as `.jobs[0].steps` without the first dot; None if it is not there."""
    if value is wanted:
        return ""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        below = _path_to(wanted, part)
        if below is not None:
            step = f"[{key}]" if isinstance(value, list) else str(key)
            return f"{step}{'' if below.startswith('[') or not below else '.'}{below}"
    return None


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"key {key!r} twice in one object")
        found[key] = value
    return found


def write_text(path: Path, text: str, *, force: bool = False) -> None:
    """Write a text file atomically (UTF-8); raises InputError if it exists and `force` is not set."""
    write_bytes(path, text.encode("utf-8"), force=force)


def write_bytes(path: Path, data: bytes, *, force: bool = False) -> None:
    """Write a file atomically; raises InputError if it exists and `force` is not set, or cannot be written."""
    refuse_to_overwrite(path, force=force)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise InputError(str(path), why(error), "a folder that exists and can be written to") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        if isinstance(error, OSError):
            raise not_written(path, error) from None
        raise


def not_written(path: Path | str, error: OSError) -> WorkbenchError:
    """The failure to write what was well begun: a full disk, a file that is too large, a disk that is gone."""
    return WorkbenchError(str(path), why(error), "room to write it; nothing is left half written")


@contextlib.contextmanager
def new_folder(path: Path, ours: Callable[[Path], bool], *, force: bool = False) -> Iterator[Path]:
    """A temporary folder beside `path` to fill; it takes the place of `path` when the block ends without an error.

    With `force` it replaces a folder of which `ours` says that we made it, and nothing else: InputError.
    """
    path = path.resolve()
    refuse_to_overwrite(path, force=force)
    if path.exists() and not (path.is_dir() and ours(path)):
        expected = "an empty folder or one that this command made: nothing else is overwritten"
        raise InputError(str(path), Words("a file or folder with other contents"), expected)
    try:
        temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    except OSError as error:
        raise InputError(str(path), why(error), "a folder that exists and can be written to") from None
    try:
        yield temporary
        os.chmod(temporary, 0o777 & ~_umask())
        old = temporary.with_name(temporary.name + ".old")
        if path.exists():
            os.replace(path, old)
        try:
            os.replace(temporary, path)
        except BaseException:
            if old.exists():
                os.replace(old, path)
            raise
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError) and error.errno in FULL:
            raise not_written(path, error) from None
        raise
    if old.is_dir():
        shutil.rmtree(old)


def refuse_to_overwrite(path: Path, *, force: bool) -> None:
    """Raise InputError if something stands at `path` already, unless `force`."""
    if path.exists() and not force:
        found = Words("a file or folder that exists")
        raise InputError(str(path), found, "a new name, or --force (force=True) to overwrite")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
