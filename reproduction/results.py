"""Results that are kept: one small table for each exhibit, a line for each size, seed and measure.

A table appears whole or not at all, and a finished seed is never computed again: whoever is killed loses what was being
computed and nothing else.
"""

from __future__ import annotations

import io
import subprocess
from functools import lru_cache
from pathlib import Path

import pandas as pd

from workbench.base.errors import InputError
from workbench.base.files import write_text

FOLDER = Path(__file__).parent / "results"
COLUMNS = ("size", "seed", "measure", "unit", "paper", "ours", "cpu_s", "commit")
"""cpu_s: of the seed's whole figure (runs that it shares with one computed before in the same process are not counted
again); commit: `+` behind it where files had been changed."""
NOTES = ("name", "size", "commit", "at")
KEY = ["size", "seed"]
KINDS = {"size": str, "seed": int, "measure": str, "unit": str, "paper": float, "ours": float, "cpu_s": float}


@lru_cache(maxsize=256)
def _parsed(path: Path, *state: int) -> pd.DataFrame:
    """The table of a file in a state (when written, size, place)."""
    return pd.read_csv(path, dtype={**KINDS, "commit": str}, keep_default_na=False, na_values=[""])


class KeptResults:
    """The tables of a folder, which is made when something is put there."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.folder = folder

    def read(self, name: str) -> pd.DataFrame:
        """`COLUMNS` of an exhibit, no row where nothing was computed."""
        path = self._path(name)
        if not path.exists():
            return pd.DataFrame({column: pd.Series(dtype=KINDS.get(column, str)) for column in COLUMNS})
        state = path.stat()
        return _parsed(path, state.st_mtime_ns, state.st_size, state.st_ino).copy()

    def add(self, name: str, rows: pd.DataFrame) -> None:
        """One more seed, atomically; raises InputError for one that is there."""
        known = self.read(name)
        twice = rows[KEY].drop_duplicates().merge(known[KEY].drop_duplicates())
        if len(twice) or rows.duplicated([*KEY, "measure"]).any():
            at = f"{self._path(name)}, size {rows['size'].iloc[0]}"
            raise InputError(at, f"seed {rows['seed'].iloc[0]}", "a seed that is not kept, each measure once")
        whole = rows if known.empty else pd.concat([known, rows], ignore_index=True)
        text = io.StringIO()
        whole.sort_values(KEY, kind="stable")[list(COLUMNS)].to_csv(
            text, index=False, float_format="%.6g", lineterminator="\n"
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self._path(name), text.getvalue(), force=True)

    def seeds(self, name: str, size: str) -> list[int]:
        """Those that are finished, in order."""
        found = self.read(name)
        return sorted(set(found.loc[found["size"] == size, "seed"].tolist()))

    def gap(self, name: str) -> pd.DataFrame | None:
        """`reproduction.gap` of an exhibit with cpu_s and commit, None where it was not computed; raises InputError
        for a cause that is there twice."""
        path = self._path(f"gap.{name}")
        if not path.exists():
            return None
        found = pd.read_csv(path, dtype={"commit": str, "declared": str})
        twice = found[found.duplicated(["measure", "cause"])]
        if len(twice):
            raise InputError(str(path), ", ".join(twice[["measure", "cause"]].iloc[0]), "each cause of a measure once")
        return found

    def add_gap(self, name: str, lines: pd.DataFrame, cpu_s: float, commit: str) -> None:
        """One that was not computed before, atomically."""
        text = lines.assign(cpu_s=round(cpu_s, 1), commit=commit).to_csv(
            index=False, float_format="%.6g", lineterminator="\n"
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self._path(f"gap.{name}"), text, force=True)

    def notes(self) -> pd.DataFrame:
        """name, size, commit of what is kept, and at: the commit at which one of its seeds came out the same again."""
        path = self._path("checked")
        return pd.read_csv(path, dtype=str) if path.exists() else pd.DataFrame(columns=list(NOTES), dtype=str)

    def note(self, name: str, size: str, commit: str, at: str) -> None:
        """That it did at a commit, or, at none, that it did not."""
        known = self.notes()
        others = known[~known[list(NOTES[:3])].eq([name, size, commit]).all(axis=1)]
        rows = pd.concat([others, pd.DataFrame([(name, size, commit, at)] if at else [], columns=list(NOTES))])
        text = rows.sort_values(list(NOTES)).to_csv(index=False, lineterminator="\n")
        write_text(self._path("checked"), text, force=True)

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.csv"


def commit() -> str:
    """The commit of the files that compute, `+` behind it if some are changed; empty outside a repository."""
    here = Path(__file__).parents[1]
    try:
        head = subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], cwd=here, capture_output=True, text=True)
        watched = ["workbench", "reproduction", "datasets", ":!reproduction/results"]
        changed = subprocess.run(
            ["git", "status", "--porcelain", "--", *watched], cwd=here, capture_output=True, text=True
        )
    except FileNotFoundError:
        return ""
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")
