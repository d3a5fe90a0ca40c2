"""What runs came to, kept in one SQLite file: a row for each run, written at once, by its key
(`workbench.simulation.run.run_key`).

    PRAGMA application_id = APPLICATION; PRAGMA user_version = FORMAT
    runs(key, scenario, scheduler, knobs, seed, belief, until_s, jobs_window, version, status, error, measures, wall_s)

scenario is `Scenario.key()`; knobs, jobs_window and measures are JSON (`measures ->> 'mean_jct_s'` in SQL), a measure
that is unknown is null there. A row is one transaction: whoever is killed leaves whole rows behind. SQLite's own
journal does that, not its write-ahead log, which fails on network folders. Everyone may read a store at any time; one
sweep at a time makes runs for it, and holds SQLite's lock on the empty file `STORE.lock` meanwhile. The system ends the
lock with the process, however that ends, so the file may stay where it is.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from workbench.base.errors import InputError, Words, WorkbenchError, why

APPLICATION = 0x57425357
"""How SQLite marks the file as ours: `WBSW` in ASCII."""
FORMAT = 1
"""Version of the table below."""
PATIENCE_S = 30.0
"""How long to wait while another process writes."""
EXPECTED = "a store that a sweep made, or a new name"
LOCK = ".lock"
MEMORY = ":memory:"

COLUMNS = {
    "key": "TEXT PRIMARY KEY",
    "scenario": "TEXT NOT NULL",
    "scheduler": "TEXT NOT NULL",
    "knobs": "TEXT NOT NULL",
    "seed": "INTEGER NOT NULL",
    "belief": "TEXT",
    "until_s": "REAL",
    "jobs_window": "TEXT",
    "version": "TEXT NOT NULL",
    "status": "TEXT NOT NULL CHECK (status IN ('done', 'failed'))",
    "error": "TEXT NOT NULL",
    "measures": "TEXT NOT NULL",
    "wall_s": "REAL NOT NULL",
}

Status = Literal["done", "failed"]


@dataclass(frozen=True)
class Measured:
    """What a run came to. error: why it failed, else empty; measures: by name, NaN where unknown, none if it failed;
    wall_s: how long it took, s of wall time; drew: whether it drew random numbers (None: not known any more)."""

    status: Status
    error: str
    measures: Mapping[str, float]
    wall_s: float
    drew: bool | None = None


class Store:
    """The file, open in a `with` block. Without a path it is in memory, and gone at the end.

    Raises InputError for a file that is no store or of another format; WorkbenchError where it cannot be read or
    written: locked for longer than `PATIENCE_S`, damaged, no space left.
    """

    def __init__(self, path: str | Path | None) -> None:
        if path is not None and (not isinstance(path, (str, Path)) or not str(path).strip()):
            raise InputError("store", path, "the name of a file")
        self.path = MEMORY if path is None else str(Path(path))
        if path is not None and not Path(path).absolute().parent.is_dir():
            raise InputError(self.path, Words("a folder that is not there"), "a folder that exists")

    def __enter__(self) -> Self:
        new = self.path != MEMORY and not os.path.exists(self.path)
        with _errors_of(self.path):
            self._file = sqlite3.connect(self.path, timeout=PATIENCE_S, isolation_level=None)
        try:
            with _errors_of(self.path):
                self._begin()
        except BaseException:
            self._file.close()
            if new and os.path.getsize(self.path) == 0:  # nobody else has begun to fill it
                os.unlink(self.path)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """No other sweep makes runs for this store meanwhile; raises WorkbenchError, at once, if one is doing so.

        For a store in memory there is nobody else.
        """
        if self.path == MEMORY:
            yield
            return
        name = os.path.realpath(self.path) + LOCK
        with _errors_of(name), contextlib.closing(sqlite3.connect(name, timeout=0.0, isolation_level=None)) as lock:
            try:
                lock.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                if not _is_locked(error):
                    raise
                expected = "one sweep at a time on a store: try again when that has ended, or take another store"
                raise WorkbenchError(self.path, Words("a store that another sweep is writing"), expected) from None
            yield

    def find(self, key: str) -> Measured | None:
        """What the run of that key came to; None if it is not there."""
        with _errors_of(self.path):
            query = "SELECT status, error, measures, wall_s FROM runs WHERE key = ?"
            found = self._file.execute(query, (key,)).fetchone()
        if found is None:
            return None
        status, error, measures, wall_s = found
        return Measured(status, error, self._measures(key, measures), wall_s)

    def status(self, key: str) -> Status | None:
        """Whether the run of that key is done or has failed; None if it is not there."""
        with _errors_of(self.path):
            found = self._file.execute("SELECT status FROM runs WHERE key = ?", (key,)).fetchone()
        return None if found is None else found[0]

    def keep(self, key: str, facts: Mapping[str, str | int | float | None], outcome: Measured) -> None:
        """Write a run's row. One that is done stays as it is, one that failed is replaced.

        facts: the columns from scenario to version.
        """
        measures = {name: value if math.isfinite(value) else _word(value) for name, value in outcome.measures.items()}
        row = {
            **facts,
            "key": key,
            "status": outcome.status,
            "error": outcome.error,
            "measures": json.dumps(measures, allow_nan=False),
            "wall_s": outcome.wall_s,
        }
        values = ", ".join(f":{name}" for name in COLUMNS)
        change = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name != "key")
        with _errors_of(self.path):
            self._file.execute(
                f"INSERT INTO runs ({', '.join(COLUMNS)}) VALUES ({values}) "
                f"ON CONFLICT (key) DO UPDATE SET {change} WHERE runs.status = 'failed'",
                row,
            )

    def _begin(self) -> None:
        """Check whose file it is; make the table in a file that is empty."""
        self._file.execute("BEGIN IMMEDIATE")  # of several that begin at once, one makes the table
        application, version = (self._pragma(name) for name in ("application_id", "user_version"))
        tables = self._file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables == application == version == 0:
            self._file.execute(f"PRAGMA application_id = {APPLICATION}")
            self._file.execute(f"PRAGMA user_version = {FORMAT}")
            columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
            self._file.execute(f"CREATE TABLE runs ({columns}) WITHOUT ROWID")
        elif application != APPLICATION:
            raise InputError(self.path, Words("an SQLite file of another program"), EXPECTED)
        elif version != FORMAT:
            expected = f"format {FORMAT}, which this version of the workbench reads, or a new name"
            raise InputError(self.path, Words(f"a store of format {version}"), expected)
        self._file.execute("COMMIT")
        self._file.execute(f"SELECT {', '.join(COLUMNS)} FROM runs LIMIT 0")

    def _pragma(self, name: str) -> int:
        return int(self._file.execute(f"PRAGMA {name}").fetchone()[0])

    def _measures(self, key: str, text: str) -> dict[str, float]:
        try:
            return {str(name): math.nan if value is None else float(value) for name, value in json.loads(text).items()}
        except (AttributeError, TypeError, ValueError) as error:
            raise InputError(f"{self.path}: run {key}: measures", why(error), "numbers by name, as JSON") from None


@contextlib.contextmanager
def _errors_of(path: str) -> Iterator[None]:
    """Errors of SQLite as ours."""
    try:
        yield
    except sqlite3.Error as error:
        code = _code(error)
        if code == "SQLITE_NOTADB":
            raise InputError(path, Words("a file of another kind"), EXPECTED) from None
        if code == "SQLITE_CANTOPEN":
            raise InputError(path, why(error), "a file that can be written") from None
        if _is_locked(error):
            expected = f"no other program that holds it for longer than {PATIENCE_S:g} s"
            raise WorkbenchError(path, Words("a locked store"), expected) from None
        raise WorkbenchError(path, why(error), "a store that can be read and written, and room for it") from None


def _code(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", "")


def _is_locked(error: sqlite3.Error) -> bool:
    return _code(error).startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _word(value: float) -> str | None:
    """An unknown number as null, an infinite one as text."""
    return None if math.isnan(value) else str(value)
