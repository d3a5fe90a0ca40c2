"""The tables of `datasets/`: accelerator types, models, throughputs and co-located pairs, one group per paper.

`datasets/README.md` says where every number comes from. Rows are dicts with the keys of a scenario file.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from workbench.base.errors import InputError

PACKAGE = Path(__file__).parents[2]
_Row = dict[str, Any]
_NUMBERS = {
    **dict.fromkeys(("gpus", "batch_size", "nodes"), int),
    **dict.fromkeys(("steps_per_s", "with_steps_per_s", "sync_s", "memory_gb", "tflops", "pcie_scaling"), float),
    **dict.fromkeys(("link_gbps", "price_per_hour", "parameters_gb", "model_gb"), float),
}
_ACCELERATOR_KEYS = ("name", "price_per_hour", "memory_gb", "tflops", "pcie_scaling", "link_gbps")


def folder() -> Path:
    """Where the tables are: inside an installed package, else beside the source tree's package.

    Raises InputError if neither is there.
    """
    for candidate in candidates():
        if (candidate / "throughputs.csv").is_file():
            return candidate
    raise InputError("datasets", [str(c) for c in candidates()], "the project's tables in one of these folders")


def candidates() -> tuple[Path, ...]:
    """The folders that `folder` looks into, in order: a wheel carries the first, an editable install has the second."""
    return (PACKAGE / "datasets", PACKAGE.parent / "datasets")


def accelerator(name: str) -> _Row:
    """Price, memory and speed facts of a type; only its name if the tables do not know it."""
    known = {row["name"]: row for row in _table("accelerators.csv")}
    row = known.get(name, {"name": name})
    return {key: row[key] for key in _ACCELERATOR_KEYS if key in row}


def groups() -> list[str]:
    """The groups of models, one per paper."""
    return list(dict.fromkeys(row["group"] for row in _table("models.csv")))


def models(group: str, names: Collection[str] | None = None) -> list[_Row]:
    """Facts of a group's models, of all of them or of those named."""
    return [row for row in _rows("models.csv", group) if names is None or row["name"] in names]


def facts(model: str) -> list[_Row]:
    """What the groups say of a model of that name, one row for each that has it."""
    return [row for row in _table("models.csv") if row["name"] == model]


def types(group: str) -> list[str]:
    """The accelerator types that a group has throughputs on."""
    return list(dict.fromkeys(row["accelerator"] for row in _rows("throughputs.csv", group)))


def throughputs(group: str, types: Collection[str], names: Collection[str] | None = None) -> list[_Row]:
    """Throughput rows of a group on some accelerator types."""
    rows = _rows("throughputs.csv", group)
    return [row for row in rows if row["accelerator"] in types and (names is None or row["model"] in names)]


def colocated(group: str, types: Collection[str], names: Collection[str] | None = None) -> list[_Row]:
    """Co-located pairs of a group on some accelerator types, both models among those named."""
    rows = _rows("colocated.csv", group)
    both = (row for row in rows if row["accelerator"] in types)
    return [row for row in both if names is None or (row["model"] in names and row["with_model"] in names)]


def _rows(file: str, group: str) -> Iterator[_Row]:
    """Copies of a group's rows without the columns that a scenario does not have."""
    if group not in groups():
        raise InputError("group", group, f"one of: {', '.join(groups())}")
    for row in _table(file, group):
        yield {key: value for key, value in row.items() if key not in ("group", "source")}


@cache
def _table(file: str, group: str = "") -> tuple[_Row, ...]:
    """A table, or a group's rows of it (its first column), with numbers as numbers; empty cells are left out."""
    with (folder() / file).open("r", encoding="utf-8", newline="") as lines:
        reader = csv.reader(lines)
        header = next(reader)
        kinds = [_NUMBERS.get(name, str) for name in header]
        return tuple(_typed(header, kinds, cells) for cells in reader if group in ("", cells[0]))


def _typed(header: list[str], kinds: list[type], cells: list[str]) -> _Row:
    return {name: kind(cell) for name, kind, cell in zip(header, kinds, cells, strict=True) if cell}
