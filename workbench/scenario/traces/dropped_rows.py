"""What a loader did with a file: rows read, rows kept, and why each other row was dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from workbench.base.errors import counted
from workbench.base.text import MOST_LETTERS

FIRST_LINES = 5

Raw = TypeVar("Raw")
Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True)
class Dropped:
    """Rows dropped for one reason; `lines` are the numbers of the first few, counted from 1."""

    reason: str
    count: int
    lines: tuple[int, ...]

    def __str__(self) -> str:
        more = ", ..." if self.count > len(self.lines) else ""
        where = f" (line {', '.join(map(str, self.lines))}{more})" if self.lines else ""
        return f"{self.count} dropped: {self.reason}{where}"


@dataclass(frozen=True, slots=True)
class ConversionSummary:
    """The account of one conversion. `notes` say what was read how, or left out beside whole rows; `assumed`, which
    comes first wherever it is told, what its user added to what was recorded."""

    source: str
    format: str
    rows_read: int
    rows_kept: int
    dropped: tuple[Dropped, ...] = ()
    notes: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The summary as plain objects."""
        return {
            "assumed": list(self.assumed),
            "source": self.source,
            "format": self.format,
            "rows_read": self.rows_read,
            "rows_kept": self.rows_kept,
            "dropped": [{"reason": d.reason, "count": d.count, "lines": list(d.lines)} for d in self.dropped],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        head = f"{self.source} ({self.format}): {self.rows_read} rows read, {self.rows_kept} kept"
        return "\n".join(
            [*self.assumed, head, *(f"  {d}" for d in self.dropped), *(f"  note: {note}" for note in self.notes)]
        )

    def lines(self) -> tuple[str, ...]:
        """The same line by line, as a scenario keeps it (`Scenario.notes`): the file without its folder."""
        head = f"{Path(self.source).name} ({self.format}): {self.rows_read} rows read, {self.rows_kept} kept"
        return (*self.assumed, head, *map(str, self.dropped), *self.notes)


@dataclass(slots=True)
class Drops:
    """Collects dropped rows while a file is read, and by line the cells of the columns that jobs keep as attributes;
    by column how many could not be kept."""

    keep: tuple[str, ...] = ()
    kept: dict[int, dict[str, float | str]] = field(default_factory=dict)
    unkept: Counter[str] = field(default_factory=Counter)
    _lines: dict[str, list[int]] = field(default_factory=dict)

    def add(self, reason: str, line: int) -> None:
        """Count one row as dropped."""
        self._lines.setdefault(reason, []).append(line)

    def add_all(self, reason: str, lines: Iterable[int]) -> None:
        """Count several rows as dropped for the same reason."""
        for line in lines:
            self.add(reason, line)

    @property
    def lines(self) -> set[int]:
        """The numbers of all rows that were dropped."""
        return {line for lines in self._lines.values() for line in lines}

    def sift(self, rows: Iterable[tuple[int, Raw]], read: Callable[[int, Raw], Kept | str]) -> Iterator[Kept]:
        """What `read(line, row)` makes of each row; one for which it gives a reason instead is dropped."""
        for line, row in rows:
            found = read(line, row)
            if isinstance(found, str):
                self.add(found, line)
            else:
                yield found

    def notes(self) -> Iterator[str]:
        """What jobs do not keep, by column."""
        odd = f"over {MOST_LETTERS} letters or not printable: not kept, the jobs are"
        yield from (f"{counted(some, 'cell')} of {name} {odd}" for name, some in self.unkept.items())

    def result(self) -> tuple[Dropped, ...]:
        """The reasons in the order in which they first occurred."""
        return tuple(
            Dropped(reason, len(lines), tuple(sorted(lines)[:FIRST_LINES])) for reason, lines in self._lines.items()
        )


def without_lines(counts: Mapping[tuple[str, int], int], left_out: Set[int]) -> Counter[str]:
    """How often each was counted, of what was counted by name and line, but in some lines."""
    found = Counter[str]()
    for (name, line), some in counts.items():
        found[name] += some * (line not in left_out)
    return found
