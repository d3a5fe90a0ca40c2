"""What a command prints: one JSON value, or short aligned tables; messages for people go to stderr."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.base.errors import WorkbenchError, why
from workbench.base.rounding import short_number
from workbench.base.text import on_terminal


@dataclass(frozen=True)
class Answer:
    """A command's answer: the value for `--json`, what makes the text for people, and the exit code."""

    data: Any
    text: Callable[[], str]
    exit_code: int = 0


def show(answer: Answer | Mapping[str, Any], as_json: bool) -> None:
    """Print an answer on stdout."""
    if isinstance(answer, Answer):
        text = json_text(answer.data) if as_json else on_terminal(answer.text())
    else:
        text = json_text(answer)
    with contextlib.suppress(AttributeError, ValueError):  # not a text file that can be reconfigured
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        if text:
            print(text.rstrip("\n"))
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        silence()
        raise UnwrittenAnswer("standard output", why(error), "room for the answer") from None


class UnwrittenAnswer(WorkbenchError):
    """The answer could not be written; nothing more goes to standard output."""


def silence() -> None:
    """Have nothing more written to standard output, not even at exit."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())


def say(text: str) -> None:
    """A message for people; nobody there to read it is no error."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            print(on_terminal(text), file=sys.stderr, flush=True)


def json_text(value: Any) -> str:
    """Indented JSON; infinite and unknown numbers are null."""
    return json.dumps(plain(value), indent=1, allow_nan=False)


def plain(value: Any) -> Any:
    """The value in JSON's types; keys are text, infinite and unknown numbers None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, str) or value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "tolist"):  # a number or an array of numpy
        return plain(value.tolist())
    if isinstance(value, Iterable):
        return [plain(item) for item in value]
    return str(value)


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A table; the first `left` columns are aligned to the left, the others to the right."""
    table = [list(header), *(list(row) for row in rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    lines = (
        "  ".join(
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in table
    )
    return "\n".join(line.rstrip() for line in lines)


def known_as(labelled: Mapping[str, tuple[str, Mapping[str, Any]]]) -> list[str]:
    """A line for each label that does not itself say which scheduler it is. labelled: name and knobs by label."""
    lines = []
    for label, (name, knobs) in labelled.items():
        if not label.startswith(name):
            settings = ", ".join(f"{knob}={value}" for knob, value in knobs.items())
            lines.append(f"{label} is {name} {settings}".rstrip())
    return lines


def short(value: Any) -> str:
    """A number for a table: four digits, nothing for unknown."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return short_number(value, 4, unknown="-")
    return str(value)
