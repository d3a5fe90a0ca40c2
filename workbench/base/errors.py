"""Errors a user can cause: each says where, what was found and what was expected."""

from __future__ import annotations

import functools
import inspect
import linecache
import math
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING
from typing import Any, NamedTuple, ParamSpec, TypeVar

from workbench.base.text import on_one_line, on_terminal

Made = TypeVar("Made")
Asked = ParamSpec("Asked")
MOST, MOST_OF_OURS = 120, 500
"""Characters of a value that a message shows: of a user's, and of one in our own words."""
MOST_NAMES, MOST_BESIDE = 32, 16
"""Names that a message lists in full, and beside the nearest."""


class Words(str):
    """A value told in our own words (`a folder that exists`): shown without quotation marks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


NOTHING = Words("nothing")


class Problem(NamedTuple):
    """One thing that is wrong with an input."""

    where: str
    value: Any
    expected: str

    def __str__(self) -> str:
        length = MOST_OF_OURS if isinstance(self.value, Words) else MOST
        return on_terminal(f"{self.where}: got {shorten(self.value, length)}; expected {self.expected}")


class WorkbenchError(Exception):
    """A stated failure. Shown to people as one message, never as a traceback.

    where: file and path, or the part of the program; value: what was found; expected: what would have been right.
    """

    status = "error"
    exit_code = 1

    def __init__(self, where: str, value: Any, expected: str) -> None:
        super().__init__(str(Problem(where, value, expected)))
        self.problem = Problem(where, value, expected)

    @property
    def where(self) -> str:
        return self.problem.where

    @property
    def value(self) -> Any:
        return self.problem.value

    @property
    def expected(self) -> str:
        return self.problem.expected

    def as_json(self) -> dict[str, Any]:
        """The object that the command line prints with `--json`."""
        error = {"where": self.where, "value": _plain(self.value), "expected": self.expected}
        return {"status": self.status, "error": error}

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> WorkbenchError:
        """The error that `as_json` told of, with the same status and text; what else its class knows is not in it.

        An `InputError` is one again, also a `ScenarioError` with all its problems. A text as value is in our own words:
        JSON does not tell a user's text from the description of what is no JSON.
        """
        status = str(found["status"])
        problems = [_problem(each) for each in found.get("problems", [found["error"]])]
        if status == InputError.status:
            return ScenarioError(problems) if len(problems) > 1 else InputError(*problems[0])
        error = WorkbenchError(*problems[0])
        error.status = status
        return error

    def _render_traceback_(self) -> list[str]:
        """What IPython shows of it in a notebook: the lines of cells that led to it, and the sentence."""
        errors = [self, self.__cause__] if self.__cause__ else [self]
        frames = (each for error in errors for each in traceback.walk_tb(error.__traceback__))
        cells = (
            (frame.f_code.co_filename, at) for frame, at in frames if frame.f_globals.get("__name__") == "__main__"
        )
        lines = [f"line {at}: {linecache.getline(file, at).strip()}" for file, at in dict.fromkeys(cells)]
        return [*lines, f"{type(self).__name__}: {self}"]

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied as it is, into another process too, whatever the arguments of its class."""
        return _restored, (type(self), self.args, self.__dict__)


class InputError(WorkbenchError):
    """Something the user gave is malformed, out of range or unknown."""

    status = "invalid_input"
    exit_code = 2


class UnknownNameError(InputError, KeyError):
    """A name that a mapping of ours does not have."""

    __str__ = Exception.__str__


class ScenarioError(InputError):
    """A scenario is not valid. `problems` lists everything found, the first one is the error's own."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(*problems[0])
        self.problems = tuple(problems)

    def __str__(self) -> str:
        shown = [str(problem) for problem in self.problems[:10]]
        if len(self.problems) > len(shown):
            shown.append(f"... and {len(self.problems) - len(shown)} more")
        return "\n".join(shown)

    def as_json(self) -> dict[str, Any]:
        """The first problem as the error; of several, all as `problems`."""
        found = super().as_json()
        if len(self.problems) > 1:
            found["problems"] = [
                {"where": where, "value": _plain(value), "expected": expected}
                for where, value, expected in self.problems
            ]
        return found


@contextmanager
def within(where: str) -> Iterator[None]:
    """An InputError raised inside stands there."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}, {error.where}", error.value, error.expected) from None


def require_fields(where: str, kind: Any, in_turn: Sequence[Any], by_name: Iterable[str]) -> None:
    """Raise InputError for a name that is no field of a dataclass, and for one without a default that is not given."""
    known, names = kind.__dataclass_fields__, [*by_name]
    for name in names:
        if name not in known:
            raise InputError(where, name, f"a field, {one_of(name, known)}")
    needed = [name for name, field in known.items() if field.default is field.default_factory is MISSING]
    _require_all(where, needed, [*[*known][: len(in_turn)], *names])


def told_of_arguments(function: Callable[Asked, Made]) -> Callable[Asked, Made]:
    """A function that raises InputError for an argument which it does not have, naming those it has, and for one that
    it needs.
    """
    parameters = inspect.signature(function).parameters
    known, name_of = tuple(parameters), function.__name__
    needed = [name for name, each in parameters.items() if each.default is each.empty]

    @functools.wraps(function)
    def checked(*args: Asked.args, **given: Asked.kwargs) -> Made:
        for name, value in given.items():
            if name not in known:
                others = "workers" in known and name in ("processes", "max_workers", "n_jobs")
                expected = f"workers={value!r}" if others else one_of(name, known)
                raise InputError(name_of, Words(f"{name}={value!r}"), expected)
        _require_all(name_of, needed, (*known[: len(args)], *given.keys()))
        return function(*args, **given)

    return checked


def _require_all(where: str, needed: Iterable[str], given: Sequence[str]) -> None:
    for name in needed:
        if name not in given:
            raise InputError(where, Words(f"no argument {name}"), f"{where}({', '.join(needed)})")


def why(error: Exception) -> Words:
    """What an error of the system or a parser says, without the file's name (that is said where)."""
    if isinstance(error, UnicodeDecodeError):
        return Words(f"no UTF-8 text (byte {error.start + 1} is 0x{error.object[error.start]:02x})")
    return Words(getattr(error, "strerror", None) or str(error).strip())


def raised(error: BaseException) -> Words:
    """An exception of a user's own code on one line: `KeyError: 'three'`."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Words(on_one_line(" ".join(text.split())))


def mistake(error: BaseException) -> Words:
    """The same, with the place that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" (line {frames[-1].lineno} of {frames[-1].name})" if frames else ""
    return Words(raised(error) + place)


def counted(number: int | Sequence[int], noun: str) -> str:
    """`1 GPU`, `2 GPUs`; of several numbers, of which one is meant, `2 or 4 GPUs`."""
    numbers = [number] if isinstance(number, int) else list(number)
    return f"{' or '.join(map(str, numbers))} {noun}" + ("" if numbers[-1] == 1 else "s")


def one_of(name: Any, known: Iterable[str]) -> str:
    """What was expected in place of a name that is not known: `one of fifo, las (did you mean las?)`.

    Of more than `MOST_BESIDE` only the nearest are named; where none is near, the first `MOST_NAMES`.
    """
    names = list(dict.fromkeys(known))
    near = _nearest(name, names) if isinstance(name, str) else []
    meant = f" (did you mean {', '.join(near[:-1])}{' or ' if near[1:] else ''}{near[-1]}?)" if near else ""
    if near and len(names) > MOST_BESIDE:
        return f"one of {len(names)} names{meant}"
    if len(names) <= MOST_NAMES:
        return f"one of {', '.join(names)}{meant}" if names else "nothing (there are none)"
    return f"one of {', '.join(names[:MOST_NAMES])}, ... ({len(names)} in all)"


def _nearest(name: str, names: Sequence[str]) -> list[str]:
    """The names that a mistyped one may stand for, the nearest first; capitals do not matter."""
    from difflib import get_close_matches

    by_small = {known.lower(): known for known in reversed(names)}
    near = get_close_matches(name.lower(), by_small)
    below = [small for small in by_small if small.startswith(f"{name.lower()}.")]
    return [by_small[small] for small in near or below[::-1][:3]]


def shorten(value: Any, length: int = MOST) -> str:
    """The value as text on one line, cut to `length` characters."""
    return _cut(repr(value), length)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."


def _plain(value: Any) -> str | int | float | bool | None:
    """The value as a JSON scalar; what is none, as text. Our own words are whole."""
    if isinstance(value, Words):
        return str.__str__(value)
    if isinstance(value, str):
        return _cut(str(value), MOST)
    if value is None or isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return shorten(value)


def _problem(found: Mapping[str, Any]) -> Problem:
    """A problem as JSON has it."""
    value = found["value"]
    return Problem(str(found["where"]), Words(value) if isinstance(value, str) else value, str(found["expected"]))


def _restored(kind: type[WorkbenchError], args: tuple[Any, ...], state: Mapping[str, Any]) -> WorkbenchError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error
