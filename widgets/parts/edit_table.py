"""A table that people edit: typed columns, errors beside the wrong cell, paste from a spreadsheet, undo.

The page draws cells and takes keys (`edit_table.js`); everything that needs thought is here: reading what was typed,
checking it, pasting, adding rows, history. A value that cannot be read is kept as it was typed, with an error, until
somebody corrects it. Edits reach Python as one small message each, and the page gets back only the rows that changed.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import traitlets

from widgets.parts.assets import Scripted, program, style
from widgets.parts.columns import EditColumn, describe, parse_clipboard
from workbench.base.errors import counted
from workbench.base.units import typed_over

__all__ = ["EditColumn", "EditTable", "TableRow"]

_HISTORY = 200

TableRow = dict[str, Any]
_Errors = dict[str, str]
"""Messages by cell, `"row.column"` with rows counted from 0; the key `""` is for the table as a whole."""


class EditTable(Scripted):
    """An editable table of typed columns, usable by keyboard and screen reader.

    `rows` holds typed values (seconds for durations, None for empty); a cell that could not be read holds the text
    as typed, has an entry in `errors`, and makes `valid` false. Assigning `rows` shows them and starts a new history,
    unless `checkpoint` was called just before. `extra_errors` are those that somebody else found, who sees more than
    one cell. `changed(table)` is called after every change that a person
    made, and not for assignments from code. `selected` is the index of the current row, -1 for none: where Duplicate
    and Remove act. `followed(index)` is called when a person asks for a row elsewhere too, by its number or by the
    button called `follow`; editing a row asks for nothing.
    """

    _esm = program(Path(__file__).parent / "edit_table.js")
    _css = style()

    columns = traitlets.List(traitlets.Instance(EditColumn), help="What the columns are.")
    rows = traitlets.List(traitlets.Dict(), help="One dictionary per row.")
    errors = traitlets.Dict(help='Messages by "row.column"; "" is the table as a whole.', read_only=True)
    extra_errors = traitlets.Dict(help="Errors found elsewhere; shown with the table's own.")
    template = traitlets.Dict(help="Values of a new row.")
    max_rows = traitlets.Int(5000, help="No row is added beyond this many.")
    caption = traitlets.Unicode("").tag(sync=True)
    selected = traitlets.Int(-1).tag(sync=True)
    lit = traitlets.List(traitlets.Int(), help="Rows that are pointed out.").tag(sync=True)
    read_only = traitlets.Bool(False).tag(sync=True)
    height = traitlets.Unicode("24em", help="Rows beyond this height scroll.").tag(sync=True)
    follow = traitlets.Unicode("", help="Name of the button that follows the current row; empty: none.").tag(sync=True)
    follow_help = traitlets.Unicode("", help="What following a row means, shown on hover.").tag(sync=True)
    message = traitlets.Unicode("", help="What the last action did, read out to screen readers.").tag(sync=True)

    _columns = traitlets.List(traitlets.Dict()).tag(sync=True)
    _grid = traitlets.Dict().tag(sync=True)
    _can_undo = traitlets.Bool(False).tag(sync=True)
    _can_redo = traitlets.Bool(False).tag(sync=True)
    _problems = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(
        self,
        columns: Sequence[EditColumn],
        rows: Iterable[Mapping[str, Any]] = (),
        *,
        changed: Callable[[EditTable], None] | None = None,
        **traits: Any,
    ) -> None:
        """Show `rows`; keys that are no column are kept in the row and not shown."""
        self.changed = changed
        self.followed: Callable[[int], None] | None = None
        self._past: list[_State] = []
        self._future: list[_State] = []
        self._ids: list[int] = []
        self._numbers = itertools.count()
        self._committing = False
        self._done = 0  # the page's number of the last edit carried out
        self._cells: dict[int, tuple[TableRow, _Errors]] = {}
        self._sent: dict[int, tuple[TableRow, _Errors, list[Any]]] = {}
        super().__init__(columns=list(columns), **traits)
        self.rows = [dict(row) for row in rows]
        self._refresh()
        self.on_msg(self._on_message)

    @property
    def valid(self) -> bool:
        """Whether every cell can be read and nothing was found wrong."""
        return not self.errors

    # ---- actions: what buttons and keys do; code may call them too ----

    def edit(self, row: int, column: str, text: str) -> None:
        """Put typed text into a cell; a duration's number alone is in the unit that the cell shows."""
        place = self.columns[self._position(column)]
        self._commit(_filled(self.rows, [(row, place, self._in_unit(place, row, text))]), self._ids, answer=(row,))

    def _in_unit(self, column: EditColumn, row: int, text: str) -> str:
        """A duration's number alone with the unit that this row's cell shows."""
        shown = column.written(self.rows[row].get(column.name)) if row < len(self.rows) else ""
        return typed_over(text, shown) if column.kind == "duration" else text

    def paste(self, row: int, column: str, text: str) -> None:
        """Put copied cells in, from this cell on to the right and down, adding rows as needed.

        A first line that names columns says where each column goes instead. Numbers alone of a column of durations are
        all in the unit that the first of its cells shows.
        """
        lines = parse_clipboard(text)
        places = self._named_columns(lines)
        if places:
            lines = lines[1:]
        else:
            places = self.columns[self._position(column) :]
        fitting = lines[: self.max_rows - row]
        new = max(0, row + len(fitting) - len(self.rows))
        fills, units = [], {}
        for i, line in enumerate(fitting):
            for place, cell in zip(places, [] if line == [""] else line, strict=False):  # an empty line changes nothing
                fills.append((row + i, place, text := self._in_unit(place, row, cell)))
                if text != cell:
                    units[place.header] = text.split()[-1]
        rows = _filled([*self.rows, *(self._new_row() for _ in range(new))], fills)
        self._commit(rows, [*self._ids, *self._new_ids(new)], answer=range(row, row + len(fitting)))
        outside = sum(len(line) for line in lines[len(fitting) :])
        outside += sum(max(0, len(line) - len(places)) for line in fitting)
        left_out = f"; {counted(outside, 'value')} outside the table left out" if outside else ""
        read = "".join(f"; numbers alone of {header} are {unit}" for header, unit in units.items())
        self.message = f"Pasted {counted(len(fitting), 'row')}, {new} of them new{read}{left_out}."

    def add(self, after: int | None = None) -> None:
        """Add a row from the template, at the end or after a row."""
        self._insert(len(self.rows) if after is None else after + 1, self._new_row(), "Added")

    def duplicate(self, row: int) -> None:
        """Put a copy of a row below it."""
        self._insert(row + 1, dict(self.rows[row]), "Duplicated as")

    def remove(self, row: int) -> None:
        """Remove a row."""
        rows, ids = list(self.rows), list(self._ids)
        del rows[row], ids[row]
        next_row = min(row, len(rows) - 1)
        self._commit(rows, ids, focus=(next_row, None) if rows else None)
        self.selected = next_row
        self.message = f"Removed row {row + 1}."

    def undo(self) -> None:
        """Go back one step."""
        self._travel(self._past, self._future, "Undone.", "Nothing to undo.")

    def redo(self) -> None:
        """Go forward one step that was undone."""
        self._travel(self._future, self._past, "Done again.", "Nothing to redo.")

    @property
    def numbers(self) -> tuple[int, ...]:
        """The number of each row, which stays the same whatever happens to the row and those above it."""
        return tuple(self._ids)

    def checkpoint(self) -> None:
        """Make the present rows a step that undo returns to.

        Call it before assigning `rows` from code, and people can undo the assignment; without it an assignment
        starts a new history.
        """
        self._remember(_State(self.rows, self._ids))
        self._show_history()

    # ---- how actions are carried out ----

    def _commit(
        self,
        rows: list[TableRow],
        ids: list[int],
        *,
        answer: Iterable[int] = (),
        focus: tuple[int, str | None] | None = None,
        history: bool = True,
    ) -> None:
        """Replace the rows as one step; `answer` rows are sent back even if what was typed changed nothing."""
        before = _State(self.rows, self._ids)
        different = ids != before.ids or rows != before.rows
        if different:
            if history:
                self._remember(before)
            self._ids = ids
            self._committing = True
            try:
                self.rows = rows
            finally:
                self._committing = False
        self._publish(answer={ids[i] for i in answer}, focus=focus)
        self._show_history()
        if different and self.changed is not None:
            self.changed(self)

    def _insert(self, at: int, row: TableRow, what: str) -> None:
        if len(self.rows) >= self.max_rows:
            self.message = f"The table holds at most {self.max_rows} rows."
            return
        rows, ids = list(self.rows), list(self._ids)
        rows.insert(at, row)
        ids.insert(at, next(self._numbers))
        self._commit(rows, ids, focus=(at, self.columns[0].name if self.columns else None))
        self.selected = at
        self.message = f"{what} row {at + 1}."

    def _travel(self, source: list[_State], target: list[_State], done: str, nothing: str) -> None:
        if not source:
            self.message = nothing
            return
        target.append(_State(self.rows, self._ids))
        state = source.pop()
        self._commit(state.rows, state.ids, history=False)
        self.selected = min(self.selected, len(self.rows) - 1)
        self.message = done

    def _remember(self, state: _State) -> None:
        self._past.append(state)
        del self._past[:-_HISTORY]
        self._future.clear()

    def _show_history(self) -> None:
        self._can_undo, self._can_redo = bool(self._past), bool(self._future)

    def _new_row(self) -> TableRow:
        return {column.name: column.blank() for column in self.columns} | dict(self.template)

    def _new_ids(self, count: int) -> list[int]:
        return list(itertools.islice(self._numbers, count))

    def _position(self, column: str) -> int:
        return next(i for i, candidate in enumerate(self.columns) if candidate.name == column)

    def _named_columns(self, lines: list[list[str]]) -> list[EditColumn]:
        """Return the columns that the first of several lines names; none if any of its cells is no name."""
        if len(lines) < 2:
            return []
        known = {name.lower(): c for c in self.columns for name in (c.name, c.label, c.header) if name}
        found = [known.get(cell.strip().lower()) for cell in lines[0]]
        return [column for column in found if column is not None] if None not in found else []

    # ---- following changes ----

    @traitlets.observe("rows")
    def _on_rows(self, change: Mapping[str, Any]) -> None:
        if self._committing:
            self._committing = False  # an assignment made by another observer is not ours
            self._check()
            return
        if not (self._past and self._past[-1].rows is change["old"]):
            self._past.clear()
        self._future.clear()
        kept = self._ids[: len(self.rows)]
        self._ids = kept + self._new_ids(len(self.rows) - len(kept))
        self._refresh()
        self._show_history()

    @traitlets.observe("columns")
    def _on_columns(self, _: Any) -> None:
        self._cells.clear()
        self._sent.clear()
        self._columns = [describe(column) for column in self.columns]
        self._refresh()

    @traitlets.observe("extra_errors")
    def _on_extra_errors(self, _: Any) -> None:
        self._refresh()

    def _refresh(self) -> None:
        self._check()
        self._publish()

    def _check(self) -> None:
        """Find the errors of every cell; rows that are the same object as before are not checked again."""
        cells: dict[int, tuple[TableRow, _Errors]] = {}
        for number, row in zip(self._ids, self.rows, strict=True):
            seen = self._cells.get(number)
            cells[number] = seen if seen is not None and seen[0] is row else (row, self._row_errors(row))
        self._cells = cells
        found = {
            f"{i}.{column}": text for i, number in enumerate(self._ids) for column, text in cells[number][1].items()
        }
        self.set_trait("errors", {**self.extra_errors, **found})

    def _row_errors(self, row: TableRow) -> _Errors:
        return {c.name: text for c in self.columns if (text := c.error(row.get(c.name)))}

    # ---- talking to the page ----

    def _publish(
        self, *, answer: frozenset[int] | set[int] = frozenset(), focus: tuple[int, str | None] | None = None
    ) -> None:
        """Send the rows that changed since the last time, and the order if that changed."""
        by_row, problems = self._sorted_errors()
        sent: dict[int, tuple[TableRow, _Errors, list[Any]]] = {}
        fresh: list[list[Any]] = []
        for i, (number, row) in enumerate(zip(self._ids, self.rows, strict=True)):
            errors, last = by_row.get(i, {}), self._sent.get(number)
            if last is not None and last[0] is row and last[1] == errors:
                sent[number] = last
            else:
                sent[number] = (row, errors, self._drawn(number, row, errors))
            if sent[number] is not last or number in answer:
                fresh.append(sent[number][2])
        self._sent = sent
        base, order = self._grid.get("version", 0), list(self._ids)
        moved = order != self._grid.get("order")
        self._problems = problems
        if not (fresh or moved or focus):
            return
        self._grid = {"version": base + 1, "order": order, "rows": [drawn for _, _, drawn in sent.values()]}
        patch = {"kind": "patch", "base": base, "version": base + 1, "done": self._done, "rows": fresh}
        patch["order"] = order if moved else None
        if focus is not None:
            patch["focus"] = [order[focus[0]], focus[1]]
        self.send(patch)

    def _should_send_property(self, key: str, value: Any) -> bool:
        """Leave the grid to `_publish`: it is state for pages that open later, and patches for those that are open."""
        return key != "_grid" and super()._should_send_property(key, value)

    def _sorted_errors(self) -> tuple[dict[int, _Errors], list[str]]:
        """Return the errors by row, and in words those that belong to no cell."""
        names = {column.name for column in self.columns}
        by_row: dict[int, _Errors] = {}
        general: list[str] = []
        for place, text in self.errors.items():
            index, _, column = place.partition(".")
            if column in names and index.isdecimal() and int(index) < len(self.rows):
                by_row.setdefault(int(index), {})[column] = text
            else:
                general.append(f"{place}: {text}" if place else text)
        wrong = sum(map(len, by_row.values()))
        return by_row, ([f"{counted(wrong, 'cell')} to correct."] if wrong else []) + general

    def _drawn(self, number: int, row: TableRow, errors: _Errors) -> list[Any]:
        """Return a row as the page gets it: id, texts to read, texts to edit where they differ, errors."""
        values = [(column, row.get(column.name)) for column in self.columns]
        shown = [column.shown(value) for column, value in values]
        written = {
            str(i): text for i, (column, value) in enumerate(values) if (text := column.written(value)) != shown[i]
        }
        return [
            number,
            shown,
            written,
            {str(i): errors[c.name] for i, c in enumerate(self.columns) if c.name in errors},
        ]

    def _on_message(self, _: Any, content: Mapping[str, Any], __: Any) -> None:
        """Do what the page asks; a row that is gone by now is ignored."""
        kind, number = content.get("kind"), content.get("row")
        row = self._ids.index(number) if number in self._ids else None
        if kind == "resend":
            self.send_state("_grid")
        elif self.read_only:
            return
        elif kind == "undo":
            self.undo()
        elif kind == "redo":
            self.redo()
        elif kind == "add":
            self.add(row)
        elif row is None:
            return
        elif kind == "edit":
            self._done = content.get("edit", 0)
            self.edit(row, content["column"], content["text"])
        elif kind == "paste":
            self.paste(row, content["column"], content["text"])
        elif kind == "follow":
            if self.followed is not None:
                self.followed(row)
        elif kind == "duplicate":
            self.duplicate(row)
        elif kind == "remove":
            self.remove(row)


@dataclasses.dataclass(frozen=True)
class _State:
    """The rows at one moment, with the numbers by which the page knows them."""

    rows: list[TableRow]
    ids: list[int]


def _filled(rows: Sequence[TableRow], fills: Iterable[tuple[int, EditColumn, str]]) -> list[TableRow]:
    """Return the rows with texts read into their cells; text that cannot be read stays as it is."""
    filled = list(rows)
    own: set[int] = set()
    for i, column, text in fills:
        if i not in own:
            filled[i] = dict(filled[i])
            own.add(i)
        try:
            filled[i][column.name] = column.parse(text)
        except ValueError:
            filled[i][column.name] = text
    return filled
