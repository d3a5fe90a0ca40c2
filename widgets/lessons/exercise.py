"""Exercises: a question about an instance of the student's own, an answer in a cell, a reply of the run.

A student's answer stands in a cell as code, `level.answer(8 / 11)`: so it is kept in the notebook, with or without
outputs, and `workbench grade` finds it there. A page without code (Voila) has a field instead, which keeps nothing.
"""

from __future__ import annotations

import ast
import html
import inspect
import math
import random
import zlib
from collections.abc import Callable, Mapping
from fractions import Fraction
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import ipywidgets as w

from widgets.lessons.prose import ASKS, RIGHT, WRONG, box, fold, prose
from widgets.parts.button import button
from widgets.parts.files import on_dashboard
from workbench.base.errors import InputError, WorkbenchError, counted

CLOSE = 1e-3
"""How far, of its size, a number may be from one that stands for a wrong idea."""
LONGEST = 120
"""Characters of an answer that are shown again."""
EMPTY = "Write your answer in the cell, in place of the three dots, and run it."
SEVERAL = "Commas part this into {}. A number has a point: `0.5`. A list has brackets: `[1, 2]`."
SOLVED = "Right."
NOT_YET = "Not yet."
NUMBERED = "exercise"
KINDS = {bool: "yes or no", Real: "a number", str: "a text", list | tuple: "a list", set: "a set", dict: "a dictionary"}
PLAIN = tuple(KINDS)


class Exercise:
    """A question whose answer is checked by what the workbench computes; at the end of a cell it shows itself.

    question: text with `code`, **strong** and $formulas$, or a function of the case that returns one.
    check: of the answer, True if it is right; a sentence says what is wrong with it.
    case: makes the student's own instance of a `random.Random`, which is seeded with the student's name; check, a
    solution and the ideas that are functions are handed it behind the answer. Without it all have the same.
    wrong: the reply to a usual wrong idea, by its value (a number: within 0.1 %) or by a predicate of the answer.
    hint: a sentence that leads on. solution: an answer that is right, or what returns one (of the case); because: why,
    in words. Both are left out of the students' copies of a page.
    every: the answer is an object that holds for every instance (a model, a function, a scheduler), and is graded on
    hidden instances too; otherwise on the student's own.
    name: by which it is graded; default: its number on the page.
    Raises InputError for an exercise without check or hint.
    """

    on_page: ClassVar[dict[str, Exercise]] = {}
    """The exercises of this kernel, by name, in order."""
    _who: ClassVar[str] = ""

    def __init__(
        self,
        question: str | Callable[..., str],
        check: Callable[..., bool | str],
        *,
        case: Callable[[random.Random], Any] | None = None,
        wrong: Mapping[Any, str] | None = None,
        hint: str,
        solution: Any = None,
        because: str = "",
        every: bool = False,
        name: str = "",
    ) -> None:
        if not callable(check):
            raise InputError("Exercise, check", check, "a function of the answer")
        self.question, self.check, self.wrong, self.hint = question, check, dict(wrong or {}), hint
        self.solution, self.because, self.every = solution, because, every
        self.case_of = case
        self.name = name or self._number()
        self.answered: Any = ...
        self.right = False
        self.on_page[self.name] = self

    def _number(self) -> str:
        same = (name for name, other in self.on_page.items() if _asked(other) == _asked(self))
        return next(same, f"{NUMBERED} {len(self.on_page) + 1}")

    # ---- what a student does ----

    @classmethod
    def student(cls, name: str = "") -> None:
        """Whose instances the exercises of this page are about from now on; without a name those of the page."""
        cls._who = str(name)

    @classmethod
    def whose(cls) -> str:
        """The student's name."""
        return cls._who

    @property
    def case(self) -> Any:
        """The student's own instance."""
        return self.made(self._who)

    def made(self, seed: str) -> Any:
        """The instance of a seed: the student's name, or what a teacher keeps."""
        return None if self.case_of is None else self.case_of(random.Random(f"{seed}/{self.name}"))

    def answer(self, *values: Any) -> Reply | w.VBox:
        """Check an answer; what is returned shows the reply, the hint and, after a try, the solution.

        On a page without code an empty answer shows a field for one. Several values are no answer, as `0,735` is two.
        """
        if len(values) > 1:
            return self._several(len(values))
        value = values[0] if values else ...
        return self._form() if value is ... and on_dashboard() else self._reply(value)

    def _form(self) -> w.VBox:
        field = w.Text(placeholder="A number, a word, a list as [1, 2]", layout=w.Layout(width="24em"))
        said = w.HTMLMath()

        def reply() -> None:
            value = as_typed(field.value)
            parted = isinstance(value, tuple) and not field.value.strip().startswith("(")
            said.value = (self._several(len(value)) if parted else self._reply(value))._repr_html_()

        return w.VBox([w.HBox([field, button("Check", "check", reply)]), said])

    def _reply(self, value: Any) -> Reply:
        self.answered, case = value, self.case
        self.right, said = self.judged(value, case)
        return Reply(self, value, case, self.right, said)

    def _several(self, count: int) -> Reply:
        self.answered, self.right = ..., False
        return Reply(self, ..., self.case, False, SEVERAL.format(counted(count, "value")))

    @classmethod
    def progress(cls) -> Progress:
        """Which exercises of the page are solved."""
        return Progress({name: each.right for name, each in cls.on_page.items()})

    # ---- what it is held to ----

    def judged(self, value: Any, case: Any) -> tuple[bool, str]:
        """Whether a value answers the question about a case, and what is said of it; an empty one does not."""
        if is_empty(value):
            return False, EMPTY
        try:
            found = self._of(self.check, value, case=case)
            if getattr(found, "shape", ()):  # a list met a number of numpy's
                raise TypeError("the check compared element by element")
            if not isinstance(found, str) and bool(found):
                return True, SOLVED
            idea = next((reply for idea, reply in self.wrong.items() if self._meant(idea, value, case)), "")
        except WorkbenchError as error:
            return False, f"The workbench says: {error}"
        except Exception as error:
            if isinstance(value, PLAIN):
                return (
                    False,
                    f"This could not be checked. You answered with {_kind(value)}: does the question ask for that?",
                )
            said = f"{type(error).__name__}: {error}"
            return False, f"This could not be checked. Is it of the kind that the question asks for? {said}"
        return False, idea or (found if isinstance(found, str) else "") or NOT_YET

    def solved(self, case: Any) -> Any:
        """The answer that is right for a case."""
        return self._of(self.solution, case=case) if callable(self.solution) else self.solution

    def _of(self, function: Callable[..., Any], *values: Any, case: Any) -> Any:
        return function(*values) if self.case_of is None else function(*values, case)

    def _meant(self, idea: Any, value: Any, case: Any) -> bool:
        if callable(idea):
            return bool(self._of(idea, value, case=case))
        if isinstance(idea, Real):
            return isinstance(value, Real) and math.isclose(idea, value, rel_tol=CLOSE)
        return bool(idea == value)

    # ---- how it looks ----

    def _repr_html_(self) -> str:
        text = self.question if isinstance(self.question, str) else self._of(self.question, case=self.case)
        number = zlib.crc32(f"{self._who}/{self.name}".encode()) % 10_000
        whose = f"for {html.escape(self._who)}, " if self._who else ""
        own = f" <small>({whose}instance {number:04d})</small>" if self.case_of else ""
        title = self.name.capitalize() if self.name.startswith(NUMBERED) else f"Exercise: {self.name}"
        return box(ASKS, f"<strong>{html.escape(title)}</strong>{own}", prose(text))

    def __repr__(self) -> str:
        return f"Exercise {self.name}: {'solved' if self.right else 'not solved yet'}"


class Reply(NamedTuple):
    """What a page says to an answer."""

    exercise: Exercise
    value: Any
    case: Any
    right: bool
    said: str

    def _repr_html_(self) -> str:
        hint = fold("Hint", prose(self.exercise.hint))
        if is_empty(self.value):
            return box(ASKS, prose(self.said), hint)
        if self.right:
            return box(RIGHT, prose(f"✓ **{self.said}** {self.exercise.because}"))
        answered = f"<p style='margin: 0.3em 0'><strong>✗</strong> <code>{html.escape(_short(self.value))}</code></p>"
        return box(WRONG, answered, prose(self.said), hint, self._solution())

    def _solution(self) -> str:
        if self.exercise.solution is None:
            return ""
        code = f"<pre>{html.escape(_long(self.exercise.solved(self.case)))}</pre>"
        return fold("Solution", prose(self.exercise.because), code)

    def __repr__(self) -> str:
        return f"{self.exercise!r}. {self.said}"


class Progress(dict[str, bool]):
    """Whether each exercise is solved, by name."""

    def _repr_html_(self) -> str:
        marks = "".join(f"<li>{'✓' if done else '○'} {html.escape(name)}</li>" for name, done in self.items())
        total = f"{sum(self.values())} of {counted(len(self), 'exercise')} solved"
        return box(RIGHT if all(self.values()) else ASKS, f"<strong>{total}</strong>", f"<ul>{marks}</ul>")


def _asked(exercise: Exercise) -> Any:
    """What is the same when a cell runs again: the text of a question, or the code that makes it."""
    return getattr(exercise.question, "__code__", exercise.question)


def is_empty(value: Any) -> bool:
    """Whether nothing is answered yet."""
    return value is ... or value is None or (isinstance(value, str) and not value.strip())


def as_typed(text: str) -> Any:
    """What was typed as Python's data, a fraction as its value, else the text itself."""
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        pass
    try:
        return float(Fraction(text.replace(" ", "")))
    except (ValueError, ZeroDivisionError):
        return text.strip()


def _kind(value: Any) -> str:
    """What data are, in words."""
    return next(words for kind, words in KINDS.items() if isinstance(value, kind))


def plain(value: Any) -> Any:
    """Numbers and arrays of numpy as Python's, also in a list."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return type(value)(map(plain, value)) if type(value) in (list, tuple, set) else value


def _short(value: Any) -> str:
    text = getattr(value, "__name__", "") or repr(plain(value))
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def _long(value: Any) -> str:
    """A solution as a reader wants it: of a function its text."""
    if inspect.isfunction(value):
        return inspect.getsource(value)
    return repr(plain(value))
