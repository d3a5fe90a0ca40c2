"""What the columns of an editable table hold: reading what was typed, checking it, writing it."""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from typing import Any, Literal

from workbench.base.units import format_duration, parse_duration

_Kind = Literal["text", "int", "float", "choice", "bool", "duration"]
_NUMERIC: frozenset[_Kind] = frozenset({"int", "float", "duration"})
_TRUE, _FALSE = frozenset({"true", "yes", "y", "1", "x", "on"}), frozenset({"false", "no", "n", "0", "", "off"})
_DURATION_PARTS = 3
BOLD, NARROW, ARROW = 1.12, 0.82, 2.3
"""Widths in characters: a bold one, one of a long text, the arrow of a list of choices."""


@dataclasses.dataclass(frozen=True)
class EditColumn:
    """One column: what its cells hold and how it is named, explained and checked.

    A `duration` column takes and shows `2 h 30 min` and holds seconds. `minimum` and `maximum` are inclusive and in
    the column's own unit (seconds for durations). `width` is in characters.
    """

    name: str
    label: str = ""
    kind: _Kind = "text"
    unit: str = ""
    help: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    required: bool = True
    width: float | None = None

    @property
    def header(self) -> str:
        """`Arrival (s)`; a duration names its own units in each cell and so has none here."""
        label = self.label or self.name
        return f"{label} ({self.unit})" if self.unit and self.kind != "duration" else label

    def parse(self, text: str) -> Any:
        """Return the value that `text` stands for, None when empty; raise ValueError saying what is expected."""
        cleaned = text.replace("\u00a0", " ").strip()
        if self.kind == "bool":
            return _parse_bool(cleaned)
        if not cleaned:
            return None
        if self.kind == "int":
            return _parse_whole(cleaned)
        if self.kind == "float":
            return _parse_number(cleaned)
        if self.kind == "duration":
            return parse_duration(cleaned)
        return cleaned

    def error(self, value: Any) -> str:
        """Return what is wrong with a value of a cell, or an empty string."""
        if value is None or value == "":
            return "required" if self.required and self.kind != "bool" else ""
        if isinstance(value, str) and self.kind not in ("text", "choice"):
            return self._reading_error(value)
        if self.kind == "choice":
            return "" if value in self.choices else f"must be one of: {', '.join(self.choices)}"
        if self.kind in _NUMERIC:
            return self._number_error(value)
        if self.kind == "bool" and not isinstance(value, bool):
            return "expected yes or no"
        return ""

    def _reading_error(self, text: str) -> str:
        try:
            self.parse(text)
        except ValueError as problem:
            return str(problem)
        return ""

    def _number_error(self, value: Any) -> str:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            return "expected a finite number"
        if self.kind == "int" and value != int(value):
            return "expected a whole number"
        if self.minimum is not None and value < self.minimum:
            return f"must be at least {self.shown(self.minimum)}"
        if self.maximum is not None and value > self.maximum:
            return f"must be at most {self.shown(self.maximum)}"
        return ""

    def shown(self, value: Any) -> str:
        """Return a value as text for reading: numbers to six digits, durations to three units."""
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
            if self.kind == "duration":
                return format_duration(value, parts=_DURATION_PARTS)
            if isinstance(value, float):
                return _readable(value)
        return self.written(value)

    def written(self, value: Any) -> str:
        """Return a value as text for editing; `parse` reads exactly the same value back."""
        if value is None:
            return ""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (int, float)):
            if self.kind == "duration":
                return format_duration(value)
            if abs(value) < 1e15 and value == int(value):
                return str(int(value))
            return repr(float(value)) if abs(value) > 1e20 and value == float(value) else repr(value)
        return str(value)

    def blank(self) -> Any:
        """Return the value of this column in a new row where the template has none."""
        return {"bool": False, "text": ""}.get(self.kind)


def _parse_bool(text: str) -> bool:
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise ValueError(f"{text!r} is neither yes nor no")


def _parse_number(text: str) -> float:
    expected = "a number such as 2.5 or 1e6 (decimal point, no thousands separator)"
    try:
        number = float(text.replace("\u2212", "-"))
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or "_" in text:
        raise ValueError(f"{text!r} is not {expected}")
    return number


def _parse_whole(text: str) -> int:
    digits = text.replace("\u2212", "-").removeprefix("+")
    if digits.removeprefix("-").isascii() and digits.removeprefix("-").isdigit():
        return int(digits)
    try:
        number = _parse_number(text)
    except ValueError:
        number = math.nan
    if not number.is_integer():
        raise ValueError(f"{text!r} is not a whole number such as 8")
    return int(number)


def _readable(number: float) -> str:
    text = f"{number:.6g}"
    if "e" not in text:
        return text
    return f"{number:.0f}" if 1e6 <= abs(number) < 1e15 else text


def describe(column: EditColumn) -> dict[str, Any]:
    """Return what the page needs to know of a column."""
    return {
        "name": column.name,
        "header": column.header,
        "kind": column.kind,
        "help": column.help,
        "choices": list(column.choices),
        "required": column.required and column.kind != "bool",
        "width": max(column.width or _width(column), _head(column), _choice(column)),
    }


def _width(column: EditColumn) -> float:
    """Return a width in characters that fits what such a column usually holds."""
    usual = {"text": 12, "int": 6, "float": 8, "bool": 4, "duration": 14, "choice": 8}[column.kind]
    return max(usual, min(len(column.header), 16))


def _head(column: EditColumn) -> float:
    """The longest word of the heading, which wraps between words only; it is bold."""
    return max(len(word) for word in column.header.split() or [""]) * BOLD


def _choice(column: EditColumn) -> float:
    """The longest choice in full, and the arrow beside it. Long texts have many narrow letters."""
    return max((len(choice) * NARROW for choice in column.choices), default=0.0) + ARROW if column.choices else 0.0


def parse_clipboard(text: str) -> list[list[str]]:
    """Return the cells of copied text: tab-separated (spreadsheets), else separated by `;` or `,` if that is even.

    Quoted cells may contain line breaks and separators, as spreadsheets write them.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    if not text:
        return []
    if "\t" in text:
        return _split(text, "\t")
    for separator in (";", ","):
        cells = _split(text, separator)
        if len(cells[0]) > 1 and len({len(line) for line in cells}) == 1:
            return cells
    return _split(text, "\t")


def _split(text: str, separator: str) -> list[list[str]]:
    return [line or [""] for line in csv.reader(io.StringIO(text), delimiter=separator)]
