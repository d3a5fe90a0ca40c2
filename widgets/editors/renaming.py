"""A row gets another name: whatever names the row follows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from widgets.parts.edit_table import EditTable


def names_of(table: EditTable) -> dict[int, str]:
    """The name of each row by its number; none for a row without a name, or with one that another row has too."""
    names = [str(row.get("name") or "") for row in table.rows]
    seen = Counter(names)
    return {number: name for number, name in zip(table.numbers, names, strict=True) if name and seen[name] == 1}


def renamed_rows(table: EditTable, column: str, new: Mapping[str, str]) -> int:
    """Exchange names in a column; how many cells changed. Undo within the table takes it back."""
    rows = [{**row, column: new[row[column]]} if row.get(column) in new else row for row in table.rows]
    count = sum(a is not b for a, b in zip(rows, table.rows, strict=True))
    if count:
        table.checkpoint()
        table.rows = rows
    return count


def renamed_parts(parts: Mapping[str, Any], key: str, new: Mapping[str, str]) -> tuple[dict[str, Any], int]:
    """The parts of a scenario that have no table with the names of a table's rows exchanged, and how many were.

    key: the table. Nodes of a row called `a` are called `a`, or `a-0`, `a-1`.
    """
    count = 0

    def named(name: str) -> str:
        nonlocal count
        stem, dash, number = name.rpartition("-") if key == "cluster.nodes" and name not in new else (name, "", "")
        count += stem in new
        return f"{new[stem]}{dash}{number}" if stem in new else name

    found = dict(parts)
    if key == "cluster.accelerators" and "colocated" in parts:
        found["colocated"] = [{**row, "accelerator": named(row["accelerator"])} for row in parts["colocated"]]
    if key == "jobs" and "running" in parts:
        found["running"] = [{**row, "job": named(row["job"])} for row in parts["running"]]
    if key == "cluster.nodes" and "running" in parts:
        found["running"] = [
            {**row, "gpus": {named(name): gpus for name, gpus in row["gpus"].items()}} for row in parts["running"]
        ]
    faults = parts.get("core", {}).get("faults", {})
    if key == "cluster.nodes" and faults.get("list"):
        outages = [{**row, "node": named(row["node"])} for row in faults["list"]]
        found["core"] = {**parts["core"], "faults": {**faults, "list": outages}}
    return found, count
