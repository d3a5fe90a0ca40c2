"""How fast jobs run where they did not: a table that its user vouches for, and every answer leads with.

CSV with the columns by, name, ran_on, to, ratio, low, high: jobs whose attribute `by` (`partition`, `user`, `account`,
...) is `name` (`*`: any) and that ran on the type `ran_on` run on the type `to` ratio times as fast, surely from low to
high times. Of several rows for a job and a type the first holds.
"""

from __future__ import annotations

from pathlib import Path

from workbench.base.errors import InputError
from workbench.scenario.traces.dropped_rows import Drops
from workbench.scenario.traces.timed import Ratio
from workbench.scenario.traces.trace_file import number, read_table, source_name

COLUMNS = ("by", "name", "ran_on", "to", "ratio", "low", "high")
EXPECTED = f"CSV with the columns {', '.join(COLUMNS)} and numbers 0 < low <= ratio <= high"


def read_ratios(path: str | Path) -> list[Ratio]:
    """The rows; raises InputError for one that is none: a ratio that is left out would be another answer."""
    drops, found = Drops(), []
    for line, cells in read_table(path, EXPECTED, COLUMNS, drops).rows:
        ratio, low, high = (number(cells[name]) or 0.0 for name in COLUMNS[4:])
        if not 1e-3 <= low <= ratio <= high <= 1e3 or not all(cells[name] for name in COLUMNS[:4]):
            raise InputError(f"{source_name(path)}, line {line}", ",".join(cells.values()), EXPECTED)
        found.append(Ratio(cells["by"], cells["name"], cells["ran_on"], cells["to"], ratio, low, high))
    if drops.result() or not found:
        raise InputError(source_name(path), "; ".join(map(str, drops.result())) or "no rows", EXPECTED)
    return found
