"""Hold every scheduler's runs with default knobs on six small presets to what they were.

tools/golden compares the tables of this checkout's runs with tests/golden/digests.json, and tools/golden --against
COMMIT with those of a run of that commit. Exit status 1 names preset, scheduler and table of each difference. Rows
count in their order, numbers to 9 significant digits, wall times not at all.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIGESTS = ROOT / "tests" / "golden" / "digests.json"
RENAMES = "tools/renames.json"
"""What has another name since a commit: `{"schedulers": {old: new}, "presets": {}, "tables": {}, "columns": {}}`, a
column as `{"decisions.old": "decisions.new"}`. What that commit's own file says already has its new name there."""
PRESETS = ("start_here", "gavel_example", "hadar_example", "hare_example", "hops_example", "chronus_small")
WALL_TIMES = ("build_s", "solve_s")
GAINS = "decisions"
"""The table whose empty cells, and columns, may gain values (on the solve) without counting as a difference."""
REFUSED = "refused"
"""The one table, with one cell, of a scheduler that a preset does not fit: the class of the error."""
NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")

Table = dict[str, list[str]]
"""Cells by column."""
Key = tuple[str, str, str]
"""Preset, scheduler, table."""


def run_all(preset: str, folder: Path) -> None:
    """Save a run of every scheduler in a folder of its name; none of a preset that the tree has not.

    Runs inside either tree: public names only."""
    import workbench

    try:
        scenario = workbench.preset(preset)
    except workbench.WorkbenchError:
        return
    for scheduler in workbench.schedulers():
        into = folder / scheduler.name
        try:
            run = workbench.simulate(scenario, scheduler.name)
        except workbench.WorkbenchError as error:
            into.mkdir()
            (into / f"{REFUSED}.csv").write_text(f"error\n{type(error).__name__}\n")
        else:
            run.save(into)


def tables_of(tree: Path, preset: str, renames: Mapping[str, Mapping[str, str]]) -> dict[Key, Table]:
    """The tables of all runs on a preset in a tree, by the names of today."""
    old = {new: old for old, new in renames["presets"].items()}.get(preset, preset)
    command = [sys.executable, __file__, "--run", old]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*command, folder], cwd=tree, env=os.environ | {"PYTHONPATH": str(tree)}, check=True)
        return {
            (preset, renames["schedulers"].get(run, run), renames["tables"].get(table, table)): {
                renames["columns"].get(f"{table}.{name}", name).split(".")[-1]: cells
                for name, cells in _read(path).items()
            }
            for path in sorted(Path(folder).glob("*/*.csv"))
            for run, table in [(path.parent.name, path.stem)]
        }


def _read(path: Path) -> Table:
    with path.open(newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    cells = [[f"{float(c) + 0.0:.9g}" if NUMBER.fullmatch(c) else c for c in row] for row in rows]
    return {name: [row[i] for row in cells] for i, name in enumerate(names) if name not in WALL_TIMES}


def digest(key: Key, table: Table) -> str:
    """The first 16 hexadecimal digits of SHA-256 of the table as CSV; why where there was no run."""
    if key[2] == REFUSED:
        return table["error"][0]
    found = hashlib.sha256()
    for row in ([*table], *zip(*table.values(), strict=True)):
        found.update((",".join(json.dumps(cell) for cell in row) + "\n").encode())
    return found.hexdigest()[:16]


def difference(old: Table | None, new: Table | None, gains: bool = False) -> str:
    """What differs between two tables, in words; empty if nothing. gains: cells empty before may have any value now."""
    if old is None or new is None:
        return "only now" if old is None else "only before"
    told = [f"no column {name} now" for name in old if name not in new]
    told += [f"a new column {name}" for name in new if name not in old and not gains]
    both = [name for name in old if name in new]
    if both != [name for name in new if name in old]:
        told.append("columns in another order")
    moved = {name: _moved(old[name], new[name], gains) for name in both}
    if rows := set().union(*moved.values()):
        was, now = (max(map(len, table.values())) for table in (old, new))
        named = ", ".join(f"{name} ({len(found)})" for name, found in moved.items() if found)
        told.append(f"{len(rows)} of {was} rows{f' (now {now})' if now != was else ''}: {named}")
    return "; ".join(told)


def _moved(old: list[str], new: list[str], gains: bool) -> set[int]:
    """The rows in which a column differs."""
    pairs = enumerate(zip_longest(old, new))
    return {i for i, (a, b) in pairs if a != b and not (gains and a == "" and b is not None)}


@contextmanager
def tree_of(commit: str) -> Iterator[Path]:
    """A folder with the files of a commit, while the context lasts."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, commit], cwd=ROOT, check=True)
        try:
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


def _renames(tree: Path) -> dict[str, dict[str, str]]:
    """What is called otherwise in a tree than in this checkout."""
    ours: dict[str, dict[str, str]] = json.loads((ROOT / RENAMES).read_text())
    theirs = json.loads((tree / RENAMES).read_text()) if (tree / RENAMES).exists() else {}
    return {kind: {a: b for a, b in names.items() if a not in theirs.get(kind, {})} for kind, names in ours.items()}


def runs(trees: Sequence[Path], presets: Sequence[str]) -> list[dict[Key, Table]]:
    """The tables of all runs in each tree, two presets at a time."""
    with ThreadPoolExecutor(2) as executor:
        tasks = [[executor.submit(tables_of, tree, preset, _renames(tree)) for preset in presets] for tree in trees]
        return [{key: table for task in each for key, table in task.result().items()} for each in tasks]


def write(found: Mapping[Key, str]) -> None:
    """Write tests/golden/digests.json, a line for each run."""
    of: dict[str, dict[str, dict[str, str]]] = {}
    for (preset, run, name), text in found.items():
        of.setdefault(preset, {}).setdefault(run, {})[name] = text
    lines = {p: ",\n".join(f"{json.dumps(run)}: {json.dumps(of[p][run])}" for run in of[p]) for p in of}
    DIGESTS.write_text("{" + ",\n".join(f"{json.dumps(p)}: {{\n{text}}}" for p, text in lines.items()) + "}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 1 if anything differs."""
    parser = argparse.ArgumentParser(prog="tools/golden", description=__doc__)
    parser.add_argument("--preset", choices=PRESETS, help="compare this one only")
    parser.add_argument("--write", action="store_true", help="write tests/golden/digests.json anew")
    parser.add_argument("--against", metavar="COMMIT", help="compare with this commit's runs; tells columns and rows")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.run:
        run_all(asked.run[0], Path(asked.run[1]))
        return 0
    presets = [asked.preset] if asked.preset and not asked.write else PRESETS
    if asked.against:
        with tree_of(asked.against) as tree:
            old, new = runs((tree, ROOT), presets)
        without = [preset for preset in presets if not any(key[0] == preset for key in old)]
        print(
            *(f"{preset}: not in {asked.against}, not compared" for preset in without),
            sep="\n",
            end="\n" * bool(without),
        )
        both = [key for key in {**old, **new} if key[0] not in without]
        told = {key: difference(old.get(key), new.get(key), key[2] == GAINS) for key in both}
    else:
        now = {key: digest(key, table) for key, table in runs((ROOT,), presets)[0].items()}
        if asked.write:
            write(now)
        said = json.loads(DIGESTS.read_text())
        was = {(p, run, name): text for p in presets for run in said[p] for name, text in said[p][run].items()}
        told = {key: "" if was.get(key) == now.get(key) else "differs" for key in {**was, **now}}
    differing = [" ".join([*key, text]) for key, text in told.items() if text]
    print(*differing, f"{len(told) - len(differing)} of {len(told)} tables are equal", sep="\n")
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
