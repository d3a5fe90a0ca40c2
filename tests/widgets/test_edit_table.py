"""The table's logic without a page: reading, errors, paste, history, and what is sent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import ipywidgets
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.calls import calls_at_most
from widgets.parts.columns import parse_clipboard
from widgets.parts.edit_table import EditColumn, EditTable, TableRow

COLUMNS = [
    EditColumn("name", "Job"),
    EditColumn("model", "Model", "choice", choices=("resnet50", "a3c")),
    EditColumn("gpus", "GPUs", "int", minimum=1, maximum=8),
    EditColumn("arrival_s", "Arrival", "duration", unit="s", minimum=0, required=False),
    EditColumn("rate", "Throughput", "float", unit="steps/s", minimum=0),
    EditColumn("elastic", "Elastic", "bool"),
]


@pytest.fixture(autouse=True)
def fresh_kernel() -> Iterator[None]:
    yield
    ipywidgets.Widget.close_all()


def job(name: str, **changes: Any) -> TableRow:
    return {"name": name, "model": "a3c", "gpus": 2, "arrival_s": 5400, "rate": 0.5, "elastic": False} | changes


class Page:
    """Stands for the browser: holds the grid as edit_table.js would, from state and patches."""

    def __init__(self, table: EditTable) -> None:
        self.table = table
        self.patches: list[dict[str, Any]] = []
        self.load()
        table.send = self.receive

    def load(self) -> None:
        grid = self.table.get_state("_grid")["_grid"]
        self.version, self.order = grid["version"], grid["order"]
        self.rows = {row[0]: row for row in grid["rows"]}

    def receive(self, patch: dict[str, Any], buffers: object = None) -> None:
        assert patch["base"] == self.version, "a patch went missing"
        self.patches.append(patch)
        self.version = patch["version"]
        self.rows |= {row[0]: row for row in patch["rows"]}
        self.order = patch["order"] or self.order

    def ask(self, kind: str, row: int | None = None, **content: Any) -> None:
        number = None if row is None else self.order[row]
        self.table._on_message(self.table, {"kind": kind, "row": number, **content}, [])

    @property
    def texts(self) -> list[list[str]]:
        return [self.rows[number][1] for number in self.order]

    def in_step(self) -> bool:
        """Whether a page that opened now would show the same."""
        grid = self.table._grid
        return grid["version"] == self.version and [self.rows[n] for n in self.order] == grid["rows"]


@pytest.fixture
def table() -> EditTable:
    return EditTable(COLUMNS, [job("a"), job("b", gpus=4)], template={"model": "a3c", "gpus": 1, "rate": 1.0})


# ---- cells ----


@pytest.mark.parametrize(
    ("column", "text", "value"),
    [
        (EditColumn("c"), " a b ", "a b"),
        (EditColumn("c"), "", None),
        (EditColumn("c", kind="int"), "8", 8),
        (EditColumn("c", kind="int"), "8.0", 8),
        (EditColumn("c", kind="int"), "1e3", 1000),
        (EditColumn("c", kind="int"), "\u22128", -8),
        (EditColumn("c", kind="int"), "12345678901234567", 12345678901234567),
        (EditColumn("c", kind="float"), "\u00a02.5", 2.5),
        (EditColumn("c", kind="float"), "1e-3", 0.001),
        (EditColumn("c", kind="duration"), "2 h 30 min", 9000.0),
        (EditColumn("c", kind="bool"), "Yes", True),
        (EditColumn("c", kind="bool"), "", False),
        (EditColumn("c", kind="choice", choices=("x",)), "x", "x"),
    ],
)
def test_text_is_read_by_kind(column: EditColumn, text: str, value: Any) -> None:
    assert column.parse(text) == value
    assert type(column.parse(text)) is type(value)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("int", "2.5", "a whole number such as 8"),
        ("int", "many", "a whole number such as 8"),
        ("int", "1_000", "a whole number such as 8"),
        ("float", "1,5", "decimal point"),
        ("float", "nan", "a number such as"),
        ("float", "inf", "a number such as"),
        ("duration", "soon", "2 h 30 min"),
        ("bool", "perhaps", "neither yes nor no"),
    ],
)
def test_text_that_cannot_be_read_is_kept_with_an_error(kind: Any, text: str, expected: str) -> None:
    table = EditTable([EditColumn("c", kind=kind)], [{"c": None}])
    table.edit(0, "c", text)
    assert table.rows == [{"c": text}]
    assert repr(text) in table.errors["0.c"] and expected in table.errors["0.c"]
    assert not table.valid


@pytest.mark.parametrize(
    ("column", "value", "error"),
    [
        (EditColumn("c"), None, "required"),
        (EditColumn("c", required=False), None, ""),
        (EditColumn("c", kind="bool"), None, ""),
        (EditColumn("c", kind="int", minimum=1), 0, "must be at least 1"),
        (EditColumn("c", kind="float", maximum=2.5), 2.6, "must be at most 2.5"),
        (EditColumn("c", kind="duration", maximum=3600), 3601, "must be at most 1 h"),
        (EditColumn("c", kind="float"), math.nan, "expected a finite number"),
        (EditColumn("c", kind="int"), 2.5, "expected a whole number"),
        (EditColumn("c", kind="int"), True, "expected a finite number"),
        (EditColumn("c", kind="choice", choices=("x", "y")), "z", "must be one of: x, y"),
        (EditColumn("c", kind="bool"), 3, "expected yes or no"),
        (EditColumn("c", kind="int", minimum=1), 1, ""),
    ],
)
def test_values_are_checked_by_declaration(column: EditColumn, value: Any, error: str) -> None:
    assert column.error(value) == error
    assert EditTable([column], [{"c": value}]).valid == (not error)


@pytest.mark.parametrize(
    ("kind", "value", "shown", "written"),
    [
        ("float", 1 / 3, "0.333333", "0.3333333333333333"),
        ("float", 1234567.8, "1234568", "1234567.8"),
        ("float", 1e-9, "1e-09", "1e-09"),
        ("float", 2.0, "2", "2"),
        ("float", math.inf, "inf", "inf"),
        ("int", 12, "12", "12"),
        ("int", int(1e99), "1e+99", "1e+99"),
        ("duration", 1_000_000, "11 d 13 h 47 min", "11 d 13 h 46 min 40 s"),
        ("bool", True, "true", "true"),
        ("text", None, "", ""),
        ("int", "many", "many", "many"),
    ],
)
def test_numbers_are_readable_and_exact_when_edited(kind: Any, value: Any, shown: str, written: str) -> None:
    column = EditColumn("c", kind=kind)
    assert column.shown(value) == shown
    assert column.written(value) == written


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["float", "duration"]))
def test_written_numbers_read_back_exactly(value: float, kind: Any) -> None:
    column = EditColumn("c", kind=kind)
    assert column.parse(column.written(value)) == value


def test_headers_carry_units_except_durations() -> None:
    assert [column.header for column in COLUMNS[3:5]] == ["Arrival", "Throughput (steps/s)"]
    assert EditColumn("gpus").header == "gpus"


# ---- errors ----


def test_others_add_errors(table: EditTable) -> None:
    table.edit(1, "gpus", "many")
    own = dict(table.errors)
    table.extra_errors = {"": "no GPU is fast enough", "0.model": "not measured", "9.name": "gone"}
    assert len(own) == 1 and table.errors == {**table.extra_errors, **own}
    assert table._problems == ["2 cells to correct.", "no GPU is fast enough", "9.name: gone"]
    table.edit(1, "gpus", "2")
    table.extra_errors = {}
    assert table.valid and table._problems == []


def test_observers_see_rows_and_errors_that_belong_together(table: EditTable) -> None:
    seen: list[bool] = []
    table.observe(lambda _: seen.append(table.valid), "rows")
    table.edit(0, "gpus", "many")
    table.rows = [job("a")]
    assert seen == [False, True]


# ---- paste ----


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("a\tb\r\nc\td\r\n", [["a", "b"], ["c", "d"]]),
        ('"two\nlines"\t"say ""hi"""', [["two\nlines", 'say "hi"']]),
        ("a,b\nc,d", [["a", "b"], ["c", "d"]]),
        ("a;1,5\nb;2,5", [["a", "1,5"], ["b", "2,5"]]),
        ("one, two\nthree", [["one, two"], ["three"]]),
        ("a\n\nb", [["a"], [""], ["b"]]),
        ("", []),
    ],
)
def test_clipboard_text_becomes_cells(text: str, cells: list[list[str]]) -> None:
    assert parse_clipboard(text) == cells


def test_a_number_alone_is_in_the_unit_that_it_is_typed_over(table: EditTable) -> None:
    for text, seconds in (
        ("12 min", 720.0),
        ("15", 900.0),
        ("2 h 30 s", 7230.0),
        ("1e1", 10.0),
        ("", None),
        ("7", 7.0),
    ):
        table.edit(1, "arrival_s", text)
        assert table.rows[1]["arrival_s"] == seconds, text
    table.edit(0, "arrival_s", "2 h")
    table.paste(0, "arrival_s", "30 s\n1.5\n2\n")  # all that are pasted: of the first row
    assert [row["arrival_s"] for row in table.rows] == [30.0, 5400.0, 7200.0]
    assert table.message == "Pasted 3 rows, 1 of them new; numbers alone of Arrival are h."


def test_paste_fills_adds_rows_and_keeps_what_is_wrong(table: EditTable) -> None:
    table.paste(1, "gpus", "3\t5 min\nlots\tsoon\t2\tyes\textra\n")
    assert table.rows[1] == job("b", gpus=3, arrival_s=300)
    assert table.rows[2] == {
        "name": "",
        "model": "a3c",
        "gpus": "lots",
        "arrival_s": "soon",
        "rate": 2,
        "elastic": True,
    }
    assert set(table.errors) == {"2.name", "2.gpus", "2.arrival_s"}
    assert table.message == "Pasted 2 rows, 1 of them new; 1 value outside the table left out."
    table.undo()
    assert table.rows == [job("a"), job("b", gpus=4)] and table.valid


def test_paste_with_a_heading_goes_to_the_columns_it_names(table: EditTable) -> None:
    table.paste(0, "name", "GPUs\tthroughput (steps/s)\tname\n1\t2.5\tx\n8\t3\ty\nbad\t1\tz\n")
    assert [(row["name"], row["gpus"], row["rate"]) for row in table.rows] == [
        ("x", 1, 2.5),
        ("y", 8, 3),
        ("z", "bad", 1),
    ]


def test_paste_stops_at_the_largest_size(table: EditTable) -> None:
    table.max_rows = 3
    table.paste(0, "name", "\n".join(f"n{i}" for i in range(10)))
    assert [row["name"] for row in table.rows] == ["n0", "n1", "n2"]
    assert "7 values outside the table left out" in table.message
    table.add()
    assert len(table.rows) == 3 and "at most 3 rows" in table.message


# ---- rows and history ----


def test_rows_come_and_go_and_come_back(table: EditTable) -> None:
    start = table.rows
    table.add(0)
    assert [row["name"] for row in table.rows] == ["a", "", "b"]
    assert table.rows[1]["gpus"] == 1 and table.selected == 1
    table.duplicate(2)
    assert table.rows[3] == job("b", gpus=4) and table.selected == 3
    table.remove(3)
    table.remove(0)
    assert [row["name"] for row in table.rows] == ["", "b"]
    for _ in range(4):
        table.undo()
    assert table.rows == start and not table._can_undo
    table.undo()
    assert table.message == "Nothing to undo."
    table.redo()
    assert [row["name"] for row in table.rows] == ["a", "", "b"]
    table.edit(0, "name", "c")
    assert not table._can_redo, "a new edit ends what could be done again"


def test_removing_the_last_row_leaves_an_empty_table(table: EditTable) -> None:
    table.remove(0)
    table.remove(0)
    assert table.rows == [] and table.selected == -1
    table.add()
    assert table.selected == 0


def test_an_edit_that_changes_nothing_is_no_step(table: EditTable) -> None:
    calls: list[int] = []
    table.changed = lambda t: calls.append(len(t.rows))
    table.edit(0, "gpus", "2.0")
    assert not table._can_undo and calls == []
    table.edit(0, "gpus", "3")
    assert table._can_undo and calls == [2]


def test_assignment_starts_a_new_history_unless_checkpointed(table: EditTable) -> None:
    calls: list[object] = []
    table.changed = calls.append
    table.edit(0, "gpus", "3")
    before = table.rows
    table.checkpoint()
    table.rows = [job("x")]
    table.undo()
    assert table.rows == before
    table.rows = [job("y")]
    assert not table._can_undo and not table._can_redo
    assert len(calls) == 2, "assignments are not what a person did"


def test_history_is_bounded(table: EditTable) -> None:
    for i in range(300):
        table.edit(0, "name", f"n{i}")
    assert len(table._past) == 200


def test_callback_may_assign_rows_while_an_edit_is_under_way(table: EditTable) -> None:
    page = Page(table)

    def cap(change: Mapping[str, Any]) -> None:
        table.rows = [{**row, "gpus": min(row["gpus"], 3)} for row in change["new"]][:1]

    table.observe(cap, "rows")
    page.ask("edit", 0, column="gpus", text="7")
    assert [row["gpus"] for row in table.rows] == [3]
    assert page.in_step() and page.texts[0][2] == "3"


# ---- what is sent ----


def test_an_edit_sends_one_row_and_answers_even_when_nothing_changed(table: EditTable) -> None:
    page = Page(table)
    page.ask("edit", 1, column="gpus", text="8")
    page.ask("edit", 1, column="gpus", text="8.0", edit=7)
    assert [patch["done"] for patch in page.patches] == [0, 7], "the page is told which of its edits this answers"
    assert [len(patch["rows"]) for patch in page.patches] == [1, 1]
    assert all(patch["order"] is None for patch in page.patches)
    assert page.texts[1][2] == "8" and page.in_step()


def test_page_stays_in_step_whatever_happens(table: EditTable) -> None:
    page = Page(table)
    page.ask("edit", 0, column="rate", text="0.12345678")
    assert page.rows[page.order[0]][1:] == [
        ["a", "a3c", "2", "1 h 30 min", "0.123457", "false"],
        {"4": "0.12345678"},
        {},
    ]
    page.ask("paste", 1, column="gpus", text="1\tsoon\n2\t3 d")
    assert page.rows[page.order[1]][3].keys() == {"3"}
    page.ask("duplicate", 0)
    page.ask("remove", 2)
    page.ask("add")
    assert page.patches[-1]["focus"] == [page.order[-1], "name"]
    page.ask("undo")
    page.ask("redo")
    table.extra_errors = {"0.name": "taken"}
    table.rows = [job("z"), *table.rows]
    assert page.in_step()
    table.columns = COLUMNS[:2]
    assert page.in_step() and page.texts[0] == ["z", "a3c"]


def test_messages_about_rows_that_are_gone_or_to_a_table_for_reading_do_nothing(table: EditTable) -> None:
    page = Page(table)
    before = table.rows
    table._on_message(table, {"kind": "edit", "row": 999, "column": "gpus", "text": "1"}, [])
    table._on_message(table, {"kind": "remove", "row": None}, [])
    table.read_only = True
    page.ask("edit", 0, column="gpus", text="1")
    page.ask("add")
    assert table.rows is before and not page.patches


def test_columns_are_described_to_the_page(table: EditTable) -> None:
    gpus = table._columns[2]
    assert (gpus["header"], gpus["kind"], gpus["required"]) == ("GPUs", "int", True)
    assert table._columns[1]["choices"] == ["resnet50", "a3c"]
    assert not table._columns[5]["required"], "an empty tick box is an answer"


def test_grid_is_not_sent_whole(table: EditTable) -> None:
    assert not table._should_send_property("_grid", {})
    assert table._should_send_property("caption", "x")


def test_five_hundred_rows_take_an_edit_quickly() -> None:
    columns = [EditColumn(f"c{i}", kind="float" if i else "text") for i in range(8)]
    rows = [{"c0": f"r{r}"} | {f"c{i}": r * i / 7 for i in range(1, 8)} for r in range(500)]
    table = EditTable(columns, rows)
    page = Page(table)
    with calls_at_most(300_000):
        for i in range(20):
            page.ask("edit", i * 20, column="c3", text=str(i + 0.5))
    assert {len(patch["rows"]) for patch in page.patches} == {1} and page.in_step()
